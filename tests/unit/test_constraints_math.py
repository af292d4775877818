"""The numbered constraints of elementwise, compare, activation, reduce and cast ops."""

import pytest

from ge_xdsl.dialects.ge.graph import verify
from ge_xdsl.dialects.ge.text import parse_module
from ge_xdsl.errors import CompileError

ARGS = "%a, %b, %c, %d"


def check(op, types, result, attrs="", args=""):
    """Parse and verify one op on arguments of these types."""
    names = ARGS.split(", ")[: len(types)]
    given = ", ".join(f"{n}: tensor<{t}>" for n, t in zip(names, types, strict=True))
    listed = ", ".join(f"tensor<{t}>" for t in types)
    braces = f" {{{attrs}}}" if attrs else ""
    line = f"%y = ge.{op}({args or ', '.join(names)}){braces} : ({listed}) -> tensor<{result}>"
    text = f"func.func @main({given}) -> tensor<{result}> {{\n  {line}\n"
    verify(parse_module(f"{text}  func.return %y : tensor<{result}>\n}}\n", "test.mlir"))


def fails(op, types, result, message, attrs="", args=""):
    with pytest.raises(CompileError) as caught:
        check(op, types, result, attrs, args)
    assert str(caught.value).startswith("test.mlir:2:3: error: ")
    assert caught.value.subject == f"ge.{op} 'y'"
    assert caught.value.message == message


BROADCAST = "shapes are 2x3 and 4x3, expected ones that broadcast"
ONE_TYPE = "operands are DT_FLOAT and DT_INT32, expected one element type"
THREE = "shapes are 2x3 and 2x3 and 4x3, expected ones that broadcast"


REAL = "x is DT_INT32, expected a floating-point type"
ANALYTIC = "x is DT_INT32, expected a floating-point or complex type"
F, N, B = "2x3xf32", "2x3xi32", "2x3xi1"
CASES = {
    "axpy_c1": ("Axpy", [F, "4x3xf32"], F, BROADCAST, "alpha = 2.0"),
    "axpy_c2": ("Axpy", [F, N], F, ONE_TYPE, "alpha = 2.0"),
    "log_c1": ("Log", ["2x!ge.element<DT_QINT8>"], F, "x is DT_QINT8, expected numbers"),
    "round_c1": ("Round", [F], F, "decimals is -39, expected -38 to 38", "decimals = -39"),
    "exp_c2": ("Exp", [F], F, "base is 0.0, expected -1 or more than 0", "base = 0.0"),
    "log_c2": ("Log", [F], F, "base is -2.0, expected -1 or more than 0", "base = -2.0"),
    "exp_c3": (
        "Exp",
        ["2xf64"],
        "2xf64",
        "base, scale or shift is set and x is DT_DOUBLE, expected f32, f16 or bf16",
        "scale = 2.0",
    ),
    "log_c3": (
        "Log",
        ["2xcomplex<f32>"],
        "2xcomplex<f32>",
        "base, scale or shift is set and x is DT_COMPLEX64, expected f32, f16 or bf16",
        "shift = 1.0",
    ),
    "add_n_c1": ("AddN", [F, "4x3xf32"], F, BROADCAST, "N = 2", "[%a, %b]"),
    "add_n_c2": ("AddN", [F, N], F, ONE_TYPE, "N = 2", "[%a, %b]"),
    "add_n_c3": ("AddN", [F], F, "has 1 operands, expected N = 2, at least 1", "N = 2", "[%a]"),
    "add_n_c3_none": ("AddN", [], F, "has 0 operands, expected N = 0, at least 1", "N = 0", "[]"),
    "accumulate_nv2_c1": (
        "AccumulateNV2",
        [F, "1x3xf32"],
        F,
        "dimensions of two operands are 2 and 1, expected equal ones",
        "N = 2",
        "[%a, %b]",
    ),
    "accumulate_nv2_c1_rank": (
        "AccumulateNV2",
        [F, "3xf32"],
        F,
        "shapes are 2x3 and 3, expected equal ones",
        "N = 2",
        "[%a, %b]",
    ),
    "accumulate_nv2_c2": ("AccumulateNV2", [F, N], F, ONE_TYPE, "N = 2", "[%a, %b]"),
    "accumulate_nv2_c3": (
        "AccumulateNV2",
        [F, F],
        F,
        "has 2 operands, expected N = 3, at least 1",
        "N = 3",
        "[%a, %b]",
    ),
    "bias_add_c1": ("BiasAdd", [F, "1x3xf32"], F, "bias is 1x3, expected a vector"),
    "bias_add_c2": ("BiasAdd", [F, "3xi32"], F, ONE_TYPE),
    "bias_add_c3": (
        "BiasAdd",
        ["2x4x3xf32", "3xf32"],
        "2x4x3xf32",
        "lengths of bias and of the channels are 3 and 4, expected equal ones",
        'data_format = "NCHW"',
    ),
    "bias_add_c3_format": (
        "BiasAdd",
        ["2x3x4x5xf32, #ge.layout<NCHW>", "5xf32"],
        "2x3x4x5xf32",
        "lengths of bias and of the channels are 5 and 3, expected equal ones",
    ),
    "bias_add_c4": (
        "BiasAdd",
        [F, "3xf32"],
        F,
        "data_format is 'ND', expected NCHW, NCDHW, NHWC, NDHWC",
        'data_format = "ND"',
    ),
    "bias_add_c5": ("BiasAdd", ["3xf32", "3xf32"], "3xf32", "x is 3, expected rank 2 or more"),
    "clip_by_value_c1": (
        "ClipByValue",
        [F, "4x3xf32", "f32"],
        F,
        "shapes are 2x3 and 4x3 and scalar, expected ones that broadcast",
    ),
    "clip_by_value_c2": ("ClipByValue", [F, "i32", "f32"], F, ONE_TYPE),
    "lerp_c1": ("Lerp", [F, F, "4x3xf32"], F, THREE),
    "lerp_c2": ("Lerp", [F, F, "i32"], F, ONE_TYPE),
    "fused_mul_add_c1": ("FusedMulAdd", [F, F, "4x3xf32"], F, THREE),
    "fused_mul_add_c2": ("FusedMulAdd", [F, F, "i32"], F, ONE_TYPE),
    "addcmul_c1": (
        "Addcmul",
        [F, "4x3xf32", "f32", "f32"],
        F,
        "shapes are 2x3 and 4x3 and scalar, expected ones that broadcast",
    ),
    "addcmul_c2": ("Addcmul", [F, F, F, "i32"], F, ONE_TYPE),
    "addcmul_c3": ("Addcmul", [F, F, F, "2xf32"], F, "value is 2, expected one element"),
    "addcdiv_c1": (
        "Addcdiv",
        [F, "4x3xf32", "f32", "f32"],
        F,
        "shapes are 2x3 and 4x3 and scalar, expected ones that broadcast",
    ),
    "addcdiv_c2": ("Addcdiv", [F, F, F, "i32"], F, ONE_TYPE),
    "addcdiv_c3": ("Addcdiv", [F, F, F, "2xf32"], F, "value is 2, expected one element"),
    "logical_and_c1": ("LogicalAnd", [B, "4x3xi1"], B, BROADCAST),
    "logical_and_c2": (
        "LogicalAnd",
        [B, F],
        B,
        "operands are DT_BOOL and DT_FLOAT, expected one element type",
    ),
    "logical_and_c3": ("LogicalAnd", [F, F], B, "x1 is DT_FLOAT, expected DT_BOOL"),
    "logical_not_c1": ("LogicalNot", [F], B, "x is DT_FLOAT, expected DT_BOOL"),
    "select_c1": ("Select", ["2xi1", F, "2x4xf32"], F, "x2 is 2x4, expected 2x3"),
    "select_c1_rank": ("Select", ["2xi1", F, "2xf32"], F, "x2 is 2, expected 2x3"),
    "select_c2": (
        "Select",
        ["3xi1", F, F],
        F,
        "condition is 3, expected the leading dimensions of 2x3",
    ),
    "select_c2_rank": (
        "Select",
        ["2x3x1xi1", F, F],
        F,
        "condition is 2x3x1, expected the leading dimensions of 2x3",
    ),
    "select_c3": ("Select", [F, F, F], F, "condition is DT_FLOAT, expected DT_BOOL"),
    "select_c4": ("Select", [B, F, N], F, ONE_TYPE),
    "select_v2_c1": (
        "SelectV2",
        ["4x3xi1", F, F],
        F,
        "shapes are 2x3 and 2x3 and 4x3, expected ones that broadcast",
    ),
    "select_v2_c2": ("SelectV2", [N, F, F], F, "condition is DT_INT32, expected DT_BOOL"),
    "select_v2_c3": ("SelectV2", [B, F, N], F, ONE_TYPE),
    "masked_fill_c1": ("MaskedFill", [F, "4x3xi1", "f32"], F, BROADCAST),
    "masked_fill_c2": ("MaskedFill", [F, F, "f32"], F, "mask is DT_FLOAT, expected DT_BOOL"),
    "masked_fill_c3": ("MaskedFill", [F, B, "3xf32"], F, "value is 3, expected one element"),
    "masked_fill_c4": ("MaskedFill", [F, B, "i32"], F, ONE_TYPE),
    "p_relu_c1": ("PRelu", [N, "3xi32"], N, "x is DT_INT32, expected a floating-point type"),
    "p_relu_c1_weight": (
        "PRelu",
        [F, "3xf16"],
        F,
        "weight is DT_FLOAT16, expected DT_FLOAT as x is",
    ),
    "p_relu_c2": (
        "PRelu",
        ["2x3x4xf32", "4xf32"],
        "2x3x4xf32",
        "weight is 4, expected one number, one per channel or 3x4",
    ),
    "p_relu_c2_rank": (
        "PRelu",
        ["2x3x4xf32", "2x3x4xf32"],
        "2x3x4xf32",
        "weight is 2x3x4, expected one number, one per channel or 3x4",
    ),
    "hard_sigmoid_c1": (
        "HardSigmoid",
        ["2xi8"],
        "2xi8",
        "input_x is DT_INT8, expected a floating-point type or DT_INT32",
    ),
    "gelu_v2_c2": (
        "GeluV2",
        [F],
        F,
        "approximate is 'erf', expected none or tanh",
        'approximate = "erf"',
    ),
    "softmax_v2_c2": ("SoftmaxV2", [F], F, "axes is 2, expected one in [-2, 2)", "axes = [2]"),
    "softmax_v2_c2_twice": (
        "SoftmaxV2",
        [F],
        F,
        "axes are [1, -1], expected no axis twice",
        "axes = [1, -1]",
    ),
    "log_softmax_v2_c1": (
        "LogSoftmaxV2",
        [N],
        N,
        "logits is DT_INT32, expected a floating-point type",
    ),
    "log_softmax_v2_c2": (
        "LogSoftmaxV2",
        [F],
        F,
        "axes is -3, expected one in [-2, 2)",
        "axes = [-3]",
    ),
    "cast_c1": (
        "Cast",
        [F],
        F,
        "dst_type is 5, expected GE's number of a numeric type",
        "dst_type = 5",
    ),
    "cast_c1_string": (
        "Cast",
        [F],
        F,
        "dst_type is 13, expected GE's number of a numeric type",
        "dst_type = 13",
    ),
    "cast_c2": (
        "Cast",
        ["2x!ge.element<DT_STRING>"],
        "2xf32",
        "x is DT_STRING, expected a numeric type",
        "dst_type = 0",
    ),
    "cast_like_c1": (
        "CastLike",
        [F, "2x!ge.element<DT_RESOURCE>"],
        F,
        "target is DT_RESOURCE, expected a numeric type",
    ),
    "cast_like_c2": (
        "CastLike",
        ["2x!ge.element<DT_STRING>", F],
        "2xf32",
        "x is DT_STRING, expected a numeric type",
    ),
}


@pytest.mark.parametrize("name", list(CASES))
def test_constraint(name):
    fails(*CASES[name])


@pytest.mark.parametrize(
    ("op", "types", "declared", "inferred"),
    [
        ("Add", [F, "1x3xf32"], "1x3xf32", F),
        ("Equal", [F, F], F, B),
        ("Abs", [F], "3x2xf32", F),
        ("Log", [N], N, F),
        ("ReduceAllD", [F], F, "i1"),
        ("IsNan", [F], N, B),
    ],
)
def test_declared_result_differs(op, types, declared, inferred):
    attrs = "axes = []" if op == "ReduceAllD" else ""
    message = f"result #0 is tensor<{declared}>, infer gives tensor<{inferred}>"
    fails(op, types, declared, message, attrs)


UNKNOWN = {
    "add_rank": ("Add", ["*xf32", F], "*xf32"),
    "add_dims": ("Add", ["?x3xf32", "2x1xf32"], F),
    "add_dims_stay_open": ("Add", ["?x3xf32", "1x3xf32"], "?x3xf32"),
    "accumulate_rank": ("AccumulateNV2", ["*xf32", "2x?xf32"], "2x?xf32", "N = 2", "[%a, %b]"),
    "accumulate_dims": ("AccumulateNV2", ["?x3xf32", "2x?xf32"], F, "N = 2", "[%a, %b]"),
    "bias_add_rank": ("BiasAdd", ["*xf32", "?xf32"], "*xf32"),
    "bias_add_dims": ("BiasAdd", ["2x?xf32", "3xf32"], "2x?xf32"),
    "bias_add_bias": ("BiasAdd", [F, "*xf32"], F),
    "addcmul_value": ("Addcmul", [F, F, F, "?xf32"], F),
    "select_rank": ("Select", ["*xi1", "*xf32", F], F),
    "select_dims": ("Select", ["?xi1", "2x?xf32", "?x3xf32"], F),
    "select_v2": ("SelectV2", ["?x3xi1", "f32", "2x1xf32"], F),
    "masked_fill": ("MaskedFill", ["*xf32", B, "*xf32"], "*xf32"),
    "p_relu": ("PRelu", ["2x?x4xf32", "3xf32"], "2x?x4xf32"),
    "p_relu_rank": ("PRelu", ["*xf32", "3xf32"], "*xf32"),
    "p_relu_weight": ("PRelu", ["2x3x4xf32", "?x4xf32"], "2x3x4xf32"),
    "softmax_rank": ("SoftmaxV2", ["*xf32"], "*xf32", "axes = [5]"),
    "log_softmax_rank": ("LogSoftmaxV2", ["*xf32"], "*xf32", "axes = [5]"),
    "reduce_rank": ("ReduceSumD", ["*xf32"], "*xf32", "axes = [5]"),
    "reduce_rank_all": ("ReduceSumD", ["*xf32"], "f32", "axes = []"),
    "reduce_rank_keep": ("ReduceSumD", ["*xf32"], "*xf32", "axes = [], keep_dims = true"),
    "reduce_dims": ("ReduceSumD", ["?x?x4xf32"], "?x4xf32", "axes = [1]"),
    "reduce_dims_keep": ("ReduceSumD", ["?x?x4xf32"], "?x1x4xf32", "axes = [1], keep_dims = true"),
    "reduce_axes": ("ReduceSum", [F, "?xi32"], "*xf32"),
    "reduce_axes_rank": ("ReduceSum", [F, "*xi32"], "*xf32"),
    "reduce_axes_keep": ("ReduceSum", [F, "?xi32"], "?x?xf32", "keep_dims = true"),
    "reduce_axes_repeat": ("ReduceSum", [F, "3xi32"], "f32"),
    "cast": ("Cast", ["*xf32"], "*xi32", "dst_type = 3"),
    "mul_promotes": ("Mul", ["?xf16", "*xf32"], "*xf32"),
}


@pytest.mark.parametrize("name", list(UNKNOWN))
def test_unknown_dimensions(name):
    op, types, result, *rest = UNKNOWN[name]
    check(op, types, result, *rest)
    if not result.startswith("*"):  # `infer` is as exact as declared: one more dimension fails
        longer = "7x" + result
        message = f"result #0 is tensor<{longer}>, infer gives tensor<{result}>"
        fails(op, types, longer, message, *rest)
