"""ONNX random numbers: shape, type, range, moments, and the same numbers from the same seed."""

import numpy as np
import onnx
import pytest
from onnx_graphs import model, node

from ge_xdsl.dialects.ge.graph import main_function, verify
from ge_xdsl.errors import CompileError
from ge_xdsl.importers.onnx.reader import import_onnx_bytes
from ge_xdsl.interpreters.ge import run_function

LIKE = np.zeros((50, 80), np.float32)
DOUBLE = onnx.TensorProto.DOUBLE
# op, its inputs, attributes, element type, mean, deviation, least, largest
CASES = [
    ("RandomNormal", [], {"shape": [50, 80], "mean": 2.0, "scale": 3.0}, np.float32, 2, 3, -20, 20),
    ("RandomNormal", [], {"shape": [50, 80], "dtype": DOUBLE}, np.float64, 0, 1, -8, 8),
    ("RandomNormalLike", ["x"], {"scale": 0.5}, np.float32, 0, 0.5, -4, 4),
    ("RandomUniform", [], {"shape": [50, 80], "low": -1.0}, np.float32, 0, 3**-0.5, -1, 1),
    ("RandomUniformLike", ["x"], {"high": 4.0, "dtype": DOUBLE}, np.float64, 2, 2 / 3**0.5, 0, 4),
    ("Bernoulli", ["p"], {}, np.float32, 0.3, 0.21**0.5, 0, 1),
]


def run(op, inputs, attrs):
    given = {"x": LIKE, "p": np.full((50, 80), 0.3, np.float32), "l": np.log([[0.2, 0.5, 0.3]])}
    given["l"] = given["l"].astype(np.float32)
    made = model([node(op, inputs, ["y"], "n", **attrs)], given, ["y"])
    module = import_onnx_bytes(made.SerializeToString())
    verify(module)
    return run_function(main_function(module), given)[0]


@pytest.mark.parametrize(
    ("op", "inputs", "attrs", "dtype", "mean", "deviation", "low", "high"),
    CASES,
    ids=[f"{c[0]}-{k}" for k, c in enumerate(CASES)],
)
def test_moments(op, inputs, attrs, dtype, mean, deviation, low, high):
    found = run(op, inputs, {**attrs, "seed": 5.0})
    assert (found.dtype, found.shape) == (dtype, (50, 80))
    error = 5 * deviation / found.size**0.5
    assert abs(found.mean() - mean) < error
    assert abs(found.std() - deviation) < 3 * error
    assert low <= found.min() < found.max() <= high
    np.testing.assert_array_equal(run(op, inputs, {**attrs, "seed": 5.0}), found)
    assert not np.array_equal(run(op, inputs, {**attrs, "seed": 6.0}), found)


def test_multinomial():
    found = run("Multinomial", ["l"], {"sample_size": 4000, "seed": 3.0, "dtype": 7})
    assert (found.dtype, found.shape) == (np.int64, (1, 4000))
    shares = np.bincount(found[0], minlength=3) / 4000
    np.testing.assert_allclose(shares, [0.2, 0.5, 0.3], atol=0.05)


def test_a_missing_shape():
    with pytest.raises(CompileError, match="RandomNormal 'n': attribute 'shape' is missing, it is"):
        run("RandomNormal", [], {})
