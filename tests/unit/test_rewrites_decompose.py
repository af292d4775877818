"""Decompositions: they fire, decline with a reason, and keep the numbers."""

import math

import numpy as np
import pytest
from rewrite_case import check_declines, check_fires, graph, rewrite, types_of

from ge_xdsl.dialects.ge.graph import ge_ops, main_function
from ge_xdsl.interpreters.ge import run_function
from ge_xdsl.pattern.rule import Rule
from ge_xdsl.rewrites.decompose.gelu import DecomposeGelu
from ge_xdsl.rewrites.decompose.layer_norm import DecomposeLayerNorm
from ge_xdsl.rewrites.decompose.softmax import DecomposeSoftmax

NORM = ["ReduceMean", "Sub", "Square", "ReduceMean", "Adds", "Rsqrt", "Mul", "Mul", "Add"]


def layer_norm(
    x: str = "2x3x8xf32",
    gamma: str = "8xf32",
    beta: str = "8xf32",
    moments: tuple[str, str] = ("2x3x1xf32", "2x3x1xf32"),
    attrs: str = "begin_norm_axis = -1, begin_params_axis = -1",
    returns: str = "%y, %m, %v",
) -> str:
    kinds = {"%y": x, "%m": moments[0], "%v": moments[1]}
    outs = ", ".join(f"tensor<{kinds[name]}>" for name in returns.split(", "))
    return f"""
func.func @main(%x: tensor<{x}>, %g: tensor<{gamma}>, %b: tensor<{beta}>) -> ({outs}) {{
  %n:3 = ge.LayerNorm(%x, %g, %b) {{{attrs}}} : (tensor<{x}>, tensor<{gamma}>, tensor<{beta}>)
      -> (tensor<{x}>, tensor<{moments[0]}>, tensor<{moments[1]}>)
  func.return {returns.replace("%y", "%n#0").replace("%m", "%n#1").replace("%v", "%n#2")} : {outs}
}}
"""


CAST3 = ["Cast", "Cast", "Cast"]
NORMS: dict[str, tuple[str, list[str]]] = {
    "last_axis": (layer_norm(), NORM),
    "two_axes": (
        layer_norm(
            gamma="3x8xf32",
            beta="3x8xf32",
            moments=("2x1x1xf32", "2x1x1xf32"),
            attrs="begin_norm_axis = 1, begin_params_axis = 1, epsilon = 0.001",
        ),
        NORM,
    ),
    "all_axes": (
        layer_norm(
            gamma="2x3x8xf32",
            beta="2x3x8xf32",
            moments=("1x1x1xf32", "1x1x1xf32"),
            attrs="begin_norm_axis = 0",
        ),
        NORM,
    ),
    "only_y": (layer_norm(returns="%y"), NORM),
    "dynamic": (
        layer_norm(x="?x8xf32", moments=("?x1xf32", "?x1xf32"), attrs="begin_norm_axis = 1"),
        NORM,
    ),
    "double": (layer_norm("2x8xf64", "8xf64", "8xf64", ("2x1xf64", "2x1xf64")), NORM),
    "half": (
        layer_norm("2x8xf16", "8xf16", "8xf16", ("2x1xf16", "2x1xf16")),
        [*CAST3, *NORM, *CAST3],
    ),
    "half_only_y": (
        layer_norm("2x8xbf16", "8xbf16", "8xbf16", ("2x1xbf16", "2x1xbf16"), returns="%y"),
        [*CAST3, *NORM, "Cast"],
    ),
    "half_float_affine": (
        layer_norm("2x8xf16", "8xf32", "8xf32", ("2x1xf32", "2x1xf32")),
        ["Cast", *NORM, "Cast"],
    ),
}


@pytest.mark.parametrize("case", NORMS)
def test_layer_norm_fires(case: str):
    text, left = NORMS[case]
    # GE keeps epsilon in f32, which f64 can tell.
    after = check_fires(text, [DecomposeLayerNorm()], tolerance=1e-12 if case == "double" else 0)
    assert types_of(after) == left


def test_layer_norm_against_the_formula():
    """gamma * (x - E) / sqrt(Var + epsilon) + beta in f64, per row."""
    after, _ = rewrite(
        layer_norm(attrs="begin_norm_axis = 2, epsilon = 0.01"), [DecomposeLayerNorm()]
    )
    rng = np.random.default_rng(5)
    arrays = {
        k: rng.standard_normal(s).astype(np.float32)
        for k, s in (("x", (2, 3, 8)), ("g", 8), ("b", 8))
    }
    y, mean, variance = run_function(main_function(after), arrays)
    for i in range(2):
        for j in range(3):
            row = [float(v) for v in arrays["x"][i, j]]
            center = sum(row) / 8
            spread = sum((v - center) ** 2 for v in row) / 8
            assert abs(mean[i, j, 0] - center) < 1e-6
            assert abs(variance[i, j, 0] - spread) < 1e-6
            for k, v in enumerate(row):
                want = (v - center) / math.sqrt(spread + 0.01) * arrays["g"][k] + arrays["b"][k]
                assert abs(y[i, j, k] - want) < 1e-5


def test_names_derive_from_the_replaced_node():
    text = layer_norm(returns="%y").replace("%n", "%ln").replace("%x", "%ln_Sub")
    after, _ = rewrite(text, [DecomposeLayerNorm()])
    assert [op.node_name for op in ge_ops(main_function(after))] == [
        "ln_axes",
        "ln_ReduceMean",
        "ln_Sub",
        "ln_Square",
        "ln_ReduceMean_0",
        "ln_Adds",
        "ln_Rsqrt",
        "ln_Mul",
        "ln_Mul_0",
        "ln",
    ]


def softmax(x: str = "2x3x8xf32", attrs: str = "axes = [-1]", y: str = "") -> str:
    return graph(f"x: {x}", f"y = SoftmaxV2(x) {{{attrs}}} : {y or x}", "y")


SOFT = ["ReduceMax", "Sub", "Exp", "ReduceSum", "RealDiv"]
OTHERS: dict[str, tuple[Rule, str, list[str]]] = {
    "softmax": (DecomposeSoftmax(), softmax(), SOFT),
    "softmax_axes": (DecomposeSoftmax(), softmax(attrs="axes = [0, 2]"), SOFT),
    "softmax_half": (DecomposeSoftmax(), softmax("2x8xf16"), ["Cast", *SOFT, "Cast"]),
    "softmax_to_float": (
        DecomposeSoftmax(),
        softmax("2x8xf16", "half_to_float = true", "2x8xf32"),
        ["Cast", *SOFT],
    ),
    "softmax_dynamic": (DecomposeSoftmax(), softmax("?x8xf32"), SOFT),
    "gelu": (
        DecomposeGelu(),
        graph("x: 2x3xf32", "y = Gelu(x) : 2x3xf32", "y"),
        ["Mul", "Mul", "Muls", "Add", "Muls", "Tanh", "Muls", "Adds", "Mul"],
    ),
    "gelu_v2": (
        DecomposeGelu(),
        graph("x: 2x3xf32", "y = GeluV2(x) : 2x3xf32", "y"),
        ["Muls", "Erf", "Muls", "Adds", "Mul"],
    ),
    "gelu_v2_tanh_half": (
        DecomposeGelu(),
        graph("x: 2x3xf16", 'y = GeluV2(x) {approximate = "tanh"} : 2x3xf16', "y"),
        ["Cast", "Mul", "Mul", "Muls", "Add", "Muls", "Tanh", "Muls", "Adds", "Mul", "Cast"],
    ),
    "gelu_unknown_rank": (
        DecomposeGelu(),
        graph("x: *xf32", "y = GeluV2(x) : *xf32", "y"),
        ["Muls", "Erf", "Muls", "Adds", "Mul"],
    ),
}


@pytest.mark.parametrize("case", OTHERS)
def test_others_fire(case: str):
    rule, text, left = OTHERS[case]
    after = check_fires(text, [rule], tolerance=1e-3 if "16" in text else 5e-7)
    assert types_of(after) == left


ORDER = (
    "%q = ge.Neg(%x) : (tensor<2x8xf32>) -> tensor<2x8xf32>\n"
    "ge.control_edge(%q, RESULT) : (tensor<2x8xf32>, tensor<2x8xf32>) -> ()\nfunc.return"
)
DECLINES: dict[str, tuple[Rule, str, str]] = {
    "norm_rank": (
        DecomposeLayerNorm(),
        layer_norm("*xf32", moments=("*xf32", "*xf32")),
        "x is unknown rank, expected a known rank above 0",
    ),
    "norm_double_mixed": (
        DecomposeLayerNorm(),
        layer_norm("2x8xf64", "8xf16", "8xf64", ("2x1xf16", "2x1xf64")),
        "x is DT_DOUBLE, expected the element type of gamma and beta beside DT_DOUBLE",
    ),
    "norm_integer": (
        DecomposeLayerNorm(),
        layer_norm("2x8xi32", "8xf32", "8xf32", ("2x1xf32", "2x1xf32")),
        "x is DT_INT32, expected a floating-point type",
    ),
    "norm_ordered": (
        DecomposeLayerNorm(),
        layer_norm("2x8xf32", moments=("2x1xf32", "2x1xf32"), returns="%y").replace(
            "func.return", ORDER.replace("RESULT", "%n#0")
        ),
        "is at a control edge, expected none",
    ),
    "softmax_rank": (
        DecomposeSoftmax(),
        softmax("*xf32"),
        "x is unknown rank, expected a known rank above 0 and elements",
    ),
    "softmax_empty": (
        DecomposeSoftmax(),
        softmax("2x0xf32"),
        "x is 2x0, expected a known rank above 0 and elements",
    ),
    "softmax_no_axes": (
        DecomposeSoftmax(),
        softmax(attrs="axes = []"),
        "axes are [], expected one or more",
    ),
    "softmax_ordered": (
        DecomposeSoftmax(),
        softmax("2x8xf32").replace("func.return", ORDER.replace("RESULT", "%y")),
        "is at a control edge, expected none",
    ),
    "gelu_ordered": (
        DecomposeGelu(),
        graph("x: 2x8xf32", "y = Gelu(x) : 2x8xf32", "y").replace(
            "func.return", ORDER.replace("RESULT", "%y")
        ),
        "is at a control edge, expected none",
    ),
}


@pytest.mark.parametrize("case", DECLINES)
def test_declines(case: str):
    rule, text, reason = DECLINES[case]
    check_declines(text, [rule], reason)
