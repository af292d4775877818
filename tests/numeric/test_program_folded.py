"""Convolutions with a normalisation and an activation in one step, against the op-by-op run."""

import numpy as np
import pytest

from ge_xdsl.dialects.ge.graph import main_function
from ge_xdsl.dialects.ge.text import parse_module
from ge_xdsl.interpreters.folded import FoldedStep
from ge_xdsl.interpreters.ge import run_function
from ge_xdsl.interpreters.program import Program

X = "tensor<?x4x?x?xf32>"


def constant(name, array):
    data = ", ".join(repr(float(v)) for v in array.reshape(-1))
    dims = "x".join(map(str, array.shape))
    flat = f"tensor<{array.size}xf32>"
    return (
        f"  %{name}f = ge.Const() {{value = dense<[{data}]> : {flat}}} : () -> {flat}\n"
        f"  %{name}s = ge.Const() {{value = dense<{list(array.shape)}> : "
        f"tensor<{array.ndim}xi64>}} : () -> tensor<{array.ndim}xi64>\n"
        f"  %{name} = ge.Reshape(%{name}f, %{name}s) : ({flat}, tensor<{array.ndim}xi64>) "
        f"-> tensor<{dims}xf32>\n"
    )


def graph(kernel, bias, activation, groups, training=False, extra=False, stride=1):
    """x -> Conv2D -> BatchNorm -> activation; the convolution's y is an output too if `extra`."""
    rng = np.random.default_rng(kernel[0])
    y = X.replace("x4x", f"x{kernel[0]}x")
    line = f"tensor<{kernel[0]}xf32>"
    text = f"func.func @main(%x: {X}) -> ({y}{', ' + y if extra else ''}) {{\n"
    text += constant("w", rng.normal(size=kernel))
    for name in ("b", "scale", "offset", "mean", "var"):
        text += constant(name, rng.uniform(0.5, 2, kernel[0]))
    weight = f"tensor<{'x'.join(map(str, kernel))}xf32>"
    text += (
        f"  %c = ge.Conv2D(%x, %w{', bias = %b' if bias else ''}) {{"
        f"strides = [1, 1, {stride}, {stride}], "
        f'pads = [1, 1, 1, 1], groups = {groups}, data_format = "NCHW"}} : '
        f"({X}, {weight}{', ' + line if bias else ''}) -> {y}\n"
        f"  %n:6 = ge.BatchNorm(%c, %scale, %offset, mean = %mean, variance = %var) {{"
        "epsilon = 0.001 : f32, "
        f'data_format = "NCHW", is_training = {str(training).lower()}}} : '
        f"({y}, {', '.join([line] * 4)}) -> ({y}, {', '.join([line] * 4)}, tensor<1xf32>)\n"
        f"  %a = ge.{activation}(%n#0) : ({y}) -> {y}\n"
        f"  func.return %a{', %c' if extra else ''} : {y}{', ' + y if extra else ''}\n}}"
    )
    return main_function(parse_module(text))


CASES = {
    "full": ((5, 4, 3, 3), True, "Relu", 1),
    "pointwise": ((6, 4, 1, 1), False, "HardSwish", 1),
    "depthwise": ((4, 1, 3, 3), True, "HardSwish", 4),
    "two per channel": ((8, 1, 3, 2), False, "Relu", 4),
    "grouped": ((6, 2, 3, 3), True, "Relu", 2),
    "no known activation": ((4, 1, 3, 3), True, "Tanh", 4),
    "in training": ((5, 4, 3, 3), True, "Relu", 1),
    "read twice": ((5, 4, 3, 3), True, "Relu", 1),
}
MORE = {
    "two per channel": {"stride": 2},
    "in training": {"training": True},
    "read twice": {"extra": True},
}
LEFT = {"no known activation": 1, "in training": 2, "read twice": 2}
"""Steps behind the convolution's own."""


@pytest.mark.parametrize("name", CASES)
def test_a_folded_convolution_gives_what_its_ops_give(name):
    func = graph(*CASES[name], **MORE.get(name, {}))
    program = Program(func)
    rng = np.random.default_rng(3)
    for shape in ((1, 4, 6, 5), (2, 4, 64, 40), (1, 4, 6, 5), (0, 4, 3, 3))[
        : 3 if name == "in training" else 4
    ]:
        inputs = {"x": rng.normal(size=shape).astype(np.float32)}
        kept = inputs["x"].copy()
        found, plain = program.run(inputs), run_function(func, inputs)
        assert len(found) == len(plain)
        for ours, theirs in zip(found, plain, strict=True):
            assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
            np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-5)
        np.testing.assert_array_equal(inputs["x"], kept)
    assert isinstance(program.body.steps[0], FoldedStep)
    assert len(program.body.steps) == 1 + LEFT.get(name, 0)
