"""`torch.compile(backend="ge_xdsl")`: numbers of eager torch, recompilation, state, user passes."""

import copy
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ge_xdsl import torch_backend
from ge_xdsl.errors import CompileError

torch = pytest.importorskip("torch", reason="torch is not installed")
nn, F = torch.nn, torch.nn.functional


@pytest.fixture(autouse=True)
def graphs(monkeypatch):
    """The graphs compiled in a test, in order; torch starts without any."""
    torch._dynamo.reset()
    made = []
    start = torch_backend.CompiledGraph.__init__

    def noting(self, *args):
        start(self, *args)
        made.append(self)

    monkeypatch.setattr(torch_backend.CompiledGraph, "__init__", noting)
    monkeypatch.delenv("ASCEND_GE_PY_PASS_PATH", raising=False)
    yield made
    torch._dynamo.reset()


def normal(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def compiled(function, **options):
    return torch.compile(function, backend="ge_xdsl", **options)


def close(found, expected):
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


def op_types(graph):
    return set(graph.report.after)


def test_is_a_backend_by_name():
    assert "ge_xdsl" in torch._dynamo.list_backends()


def network():
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 8, 3, padding=1, groups=8), nn.Hardswish(), nn.AdaptiveAvgPool2d(1),
        nn.Flatten(), nn.Linear(8, 5),
    ).eval()  # fmt: skip


@torch.no_grad()
def test_convolutional_network(graphs):
    model, x = network(), normal(2, 3, 32, 32)
    close(compiled(model)(x), model(x))
    assert "Conv2D" in op_types(graphs[0])


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("gradients", [False, True])
def test_transformer_block(graphs, norm_first, activation, gradients):
    """Without gradients torch captures the block as one fused operator."""
    model = nn.TransformerEncoderLayer(
        32, 4, 64, batch_first=True, norm_first=norm_first, activation=activation
    ).eval()
    x = normal(2, 7, 32)
    with torch.set_grad_enabled(gradients):
        close(compiled(model)(x), model(x))
    assert {"SoftmaxV2", "LayerNormV4"} <= set(graphs[0].report.before)


@torch.no_grad()
def test_fused_attention(graphs):
    model, x = nn.MultiheadAttention(32, 4, batch_first=True).eval(), normal(2, 7, 32)
    close(compiled(model)(x, x, x, need_weights=False)[0], model(x, x, x, need_weights=False)[0])
    assert "SoftmaxV2" in graphs[0].report.before


@torch.no_grad()
def test_new_shapes(graphs):
    """The first shape is compiled as it is, the second one with an unknown batch for the rest."""
    model = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 4)).eval()
    fast = compiled(model)
    for size in (3, 5, 6, 9):
        x = normal(size, 8, seed=size)
        close(fast(x), model(x))
    assert len(graphs) == 2


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.qkv = nn.Embedding(50, 32), nn.Linear(32, 96)
        self.register_buffer("scale", torch.tensor(0.5))

    def forward(self, ids, *, mask=None, gain=1.0):
        batch, length = ids.shape
        hidden = self.words(ids)
        heads = [t.view(batch, length, 4, 8).transpose(1, 2) for t in self.qkv(hidden).chunk(3, -1)]
        y = F.scaled_dot_product_attention(*heads, is_causal=True)
        y = y.transpose(1, 2).reshape(batch, length, 32) * self.scale * gain
        return {"y": y if mask is None else torch.where(mask[..., None], y, 0.0), "n": length}


@torch.no_grad()
def test_embedding_attention_keywords_and_structures():
    model = Attention().eval()
    fast = compiled(model, dynamic=True)
    ids = torch.randint(0, 50, (3, 9), generator=torch.Generator().manual_seed(1))
    for tokens in (ids, ids[:2, :5]):
        for keywords in ({}, {"gain": 2.0, "mask": tokens > 20}):
            found, expected = fast(tokens, **keywords), model(tokens, **keywords)
            close(found["y"], expected["y"])
            assert found["n"] == expected["n"]


def test_writes_in_place():
    """Arguments and buffers that a function writes are written; results are apart."""

    class Counter(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros(4))

        def forward(self, x):
            self.count += 1
            x[0] = 7
            y = x * self.count
            y[:, 1].mul_(2)
            return y, y.t(), x.view(-1)

    eager, fast = Counter(), Counter()
    run = compiled(fast)
    for step in range(3):
        x = normal(4, 4, seed=step)
        other = x.clone()
        expected, found = eager(x), run(other)
        close(found, expected)
        close((other, fast.count), (x, eager.count))
    kept = found[1].clone()
    found[0].add_(1)
    close(found[1], kept)
    assert found[2].data_ptr() == other.data_ptr()


def test_graph_breaks(graphs):
    def function(x):
        y = torch.relu(x) + 1
        torch._dynamo.graph_break()
        return y.sum() if y.mean() > 1 else y * 2

    fast, x = compiled(function), normal(3, 4)
    close(fast(x), function(x))
    close(fast(x - 9), function(x - 9))
    assert len(graphs) >= 2


def test_results_that_are_arguments_or_repeated():
    def function(x):
        y = x.clone()
        return x, y, y, x + 0, None, 3

    x = normal(2, 3)
    found = compiled(function)(x)
    assert found[0] is x
    assert found[4:] == (None, 3)
    found[1].zero_()
    close(found[3], x)
    assert float(x.abs().sum()) > 0


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64"])
def test_element_types(dtype):
    kind = getattr(torch, dtype)
    a, b = normal(4, 8).to(kind), normal(8, 3).to(kind)
    found = compiled(lambda a, b: (a @ b).tanh())(a, b)
    torch.testing.assert_close(found, (a @ b).tanh(), rtol=2e-2, atol=2e-2)
    assert found.dtype == kind


def test_strides_are_those_of_torch():
    x = normal(2, 3, 4, 5).to(memory_format=torch.channels_last)
    found = compiled(lambda x: torch.relu(x))(x)
    close(found, torch.relu(x))
    assert found.stride() == x.stride()


def test_training_step():
    """The forward graph runs here, the backward one in torch; the statistics move."""
    model = nn.Sequential(
        nn.Linear(8, 16), nn.BatchNorm1d(16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 4)
    )
    twin, x = copy.deepcopy(model), normal(6, 8)
    fast = compiled(model)
    for _ in range(2):
        found, expected = fast(x), twin(x)
        close(found, expected)
        found.square().sum().backward()
        expected.square().sum().backward()
    for mine, theirs in zip(model.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(mine.grad, theirs.grad, rtol=1e-3, atol=1e-3)
    close(model[1].running_mean, twin[1].running_mean)
    close(model[1].running_var, twin[1].running_var)


PASS = '''
from ge.es.all import Add, Sigmoid, Tanh
from ge.passes import PassStage, PatternFusionPass, pattern, register_fusion_pass


@register_fusion_pass(name="SigmoidToTanh", stage=PassStage.BEFORE_INFER_SHAPE)
class SigmoidToTanh(PatternFusionPass):
    """Gives other numbers, so that its work shows."""

    @pattern
    def sigmoid(self, inputs):
        return Sigmoid(inputs[0])

    def replacement(self, inputs):
        return Tanh(inputs[0])
'''


def test_user_passes_run(graphs, tmp_path, monkeypatch):
    path = tmp_path / "user_pass.py"
    path.write_text(PASS)
    monkeypatch.setenv("ASCEND_GE_PY_PASS_PATH", str(path))
    x = normal(3, 4)
    found = compiled(lambda x: torch.sigmoid(x) * 2)(x)
    np.testing.assert_allclose(found.numpy(), np.tanh(x.numpy()) * 2, 1e-5, 1e-5)
    (graph,) = graphs
    assert "Sigmoid" not in op_types(graph)
    applied = {rule["pass"]: rule["applied"] for rule in graph.report.statistics}
    assert applied["SigmoidToTanh"] == 1


def test_the_example(monkeypatch):
    """A user of it sees that the pass worked, and equal numbers."""
    root = Path(__file__).parents[2]
    path = root / "examples" / "passes" / "matmul_add_gemm.py"
    done = subprocess.run(
        [sys.executable, root / "examples" / "torch_forward.py"],
        env={**os.environ, "ASCEND_GE_PY_PASS_PATH": str(path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    name = "PythonMatMulAddToGemmPass"
    assert re.search(rf"^{name}: {name}_matmul_add_pattern rewrote 1$", done.stderr, re.M)
    assert re.fullmatch(r"largest difference from eager torch: \S+e-\d+\n", done.stdout)


NOISY = """
from ge.es.all import Sigmoid
from ge.passes import PassStage, PatternFusionPass, pattern, register_fusion_pass


@register_fusion_pass(name="Noisy", stage=PassStage.BEFORE_INFER_SHAPE)
class Noisy(PatternFusionPass):
    @pattern
    def sigmoid(self, inputs):
        return Sigmoid(inputs[0])

    def meet_requirements(self, match):
        return match.no_such_thing

    def replacement(self, inputs):
        return Sigmoid(inputs[0])
"""


def test_warnings_are_logged(tmp_path, monkeypatch, caplog):
    path = tmp_path / "noisy.py"
    path.write_text(NOISY)
    monkeypatch.setenv("ASCEND_GE_PY_PASS_PATH", str(path))
    compiled(torch.sigmoid)(normal(3))
    (record,) = [r for r in caplog.records if r.name == "ge_xdsl" and r.levelname == "WARNING"]
    assert "no_such_thing" in record.getMessage()


def test_refusals():
    fast = compiled(lambda x: torch.linalg.eigvals(x))
    with pytest.raises(torch._dynamo.exc.BackendCompilerFailed, match="linalg_eig.default.*has no"):
        fast(normal(3, 3))
    with pytest.raises(CompileError, match="argument is str, expected a tensor"):
        torch_backend._array("text")
