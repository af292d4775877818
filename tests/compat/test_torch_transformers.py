"""Models of the transformers library, built small from their configurations with random weights:
the numbers of eager torch through `gx.load` with a fixed and with a free batch size, and through
`torch.compile(backend="ge_xdsl")`. Nothing is downloaded."""

import warnings

import numpy as np
import pytest
from torch_runs import normal, torch

import ge_xdsl as gx

transformers = pytest.importorskip("transformers", reason="transformers is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")

IDS = torch.randint(0, 90, (2, 7), generator=torch.Generator().manual_seed(0))
IMAGE = {"pixel_values": normal(2, 3, 32, 32)}
TEXT = {"input_ids": IDS, "use_cache": False}
MASKED = {"input_ids": IDS, "attention_mask": (IDS > 15).long()}
ENDS = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
COMMON = {
    "vocab_size": 90, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
    "intermediate_size": 32, **ENDS,
}  # fmt: skip
SHARED = {**COMMON, "num_key_value_heads": 1}
VISION = {
    "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32,
    "image_size": 32, "patch_size": 8,
}  # fmt: skip

MODELS = {
    "ResNetForImageClassification": (
        "ResNetConfig",
        {"embedding_size": 8, "hidden_sizes": [8, 16], "depths": [1, 2], "num_labels": 5},
        IMAGE,
    ),
    "MobileNetV1ForImageClassification": (
        "MobileNetV1Config",
        {"depth_multiplier": 0.25, "image_size": 32},
        IMAGE,
    ),
    "MobileNetV2ForImageClassification": (
        "MobileNetV2Config",
        {"depth_multiplier": 0.35, "image_size": 32},
        IMAGE,
    ),
    "ViTForImageClassification": ("ViTConfig", VISION, IMAGE),
    "ConvNextForImageClassification": (
        "ConvNextConfig",
        {"hidden_sizes": [8, 16], "depths": [1, 1], "num_stages": 2},
        IMAGE,
    ),
    "SwinForImageClassification": (
        "SwinConfig",
        {
            "image_size": 32, "patch_size": 2, "embed_dim": 8, "depths": [2, 1],
            "num_heads": [2, 2], "window_size": 4,
        },
        IMAGE,
    ),
    "CLIPVisionModel": ("CLIPVisionConfig", VISION, IMAGE),
    "BertModel": ("BertConfig", COMMON, MASKED),
    "DistilBertModel": (
        "DistilBertConfig",
        {"vocab_size": 90, "dim": 16, "n_layers": 1, "n_heads": 2, "hidden_dim": 32},
        MASKED,
    ),
    "T5EncoderModel": (
        "T5Config",
        {
            "vocab_size": 90, "d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 2,
            "num_heads": 2, **ENDS,
        },
        {"input_ids": IDS},
    ),
    "GPT2LMHeadModel": (
        "GPT2Config",
        {"vocab_size": 90, "n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 32, **ENDS},
        TEXT,
    ),
    "LlamaForCausalLM": ("LlamaConfig", SHARED, TEXT),
    "MistralForCausalLM": ("MistralConfig", {**SHARED, "sliding_window": 4}, TEXT),
    "Qwen2ForCausalLM": ("Qwen2Config", SHARED, TEXT),
    "Qwen3ForCausalLM": ("Qwen3Config", {**SHARED, "head_dim": 8}, TEXT),
}  # fmt: skip
"""Class of the model -> class of its configuration, its arguments, the keywords of a call."""


@pytest.fixture(autouse=True)
def fresh_compiler(monkeypatch):
    monkeypatch.delenv("ASCEND_GE_PY_PASS_PATH", raising=False)
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def built(name):
    """The model with weights that keep its numbers near 1, and the keywords of a call."""
    config, options, keywords = MODELS[name]
    torch.manual_seed(0)
    model = getattr(transformers, name)(getattr(transformers, config)(**options)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                torch.nn.init.normal_(parameter, std=(2 / parameter[0].numel()) ** 0.5)
    return model, keywords


def tensors(result):
    leaves = torch.utils._pytree.tree_leaves(result.to_tuple())
    return [leaf.numpy() for leaf in leaves if isinstance(leaf, torch.Tensor)]


def same(found, expected):
    assert len(found) == len(expected)
    for got, wanted in zip(found, expected, strict=True):
        assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
        scale = np.abs(wanted).max()
        assert scale > 1e-3, "a result of zeros shows nothing"
        assert np.abs(got - wanted).max() <= 1e-4 * scale


@pytest.mark.parametrize("name", MODELS)
@torch.no_grad()
def test_compiled(name):
    model, keywords = built(name)
    expected = tensors(model(**keywords))
    same(tensors(torch.compile(model, backend="ge_xdsl")(**keywords)), expected)


@pytest.mark.parametrize("name", MODELS)
@torch.no_grad()
def test_exported(name):
    """With a free batch size, run with that of the example and with another one."""
    model, keywords = built(name)
    free = {0: torch.export.Dim("batch", min=1, max=64)}
    shapes = {k: free if isinstance(v, torch.Tensor) else None for k, v in keywords.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.export.export(model, (), keywords, dynamic_shapes=shapes)
    module = gx.load(program)
    gx.optimize(module)
    for rows in (2, 1):
        given = {k: v[:rows] for k, v in keywords.items() if isinstance(v, torch.Tensor)}
        outputs = gx.run(module, {k: v.numpy() for k, v in given.items()})
        same(list(outputs.values()), tensors(model(**{**keywords, **given})))


@pytest.mark.parametrize("name", ["MobileNetV2ForImageClassification", "Qwen2ForCausalLM"])
@torch.no_grad()
def test_exported_with_a_fixed_batch(name):
    model, keywords = built(name)
    module = gx.load(torch.export.export(model, (), keywords))
    gx.optimize(module)
    given = {k: v.numpy() for k, v in keywords.items() if isinstance(v, torch.Tensor)}
    same(list(gx.run(module, given).values()), tensors(model(**keywords)))


@torch.no_grad()
def test_a_cache_of_keys_and_values():
    """The state of a generation, which is part of the result."""
    model, _ = built("LlamaForCausalLM")
    compiled = torch.compile(model, backend="ge_xdsl")
    start, found = model(input_ids=IDS), compiled(input_ids=IDS)
    following = IDS[:, :1]
    expected = model(input_ids=following, past_key_values=start.past_key_values)
    again = compiled(input_ids=following, past_key_values=found.past_key_values)
    same([again.logits.numpy()], [expected.logits.numpy()])
