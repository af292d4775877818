"""Why ops of GE leave as ONNX in the domain ai.ge: one op per reason."""

from contextlib import suppress

import pytest
from op_text import module_of
from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.graph import main_function
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.registry import op_class
from ge_xdsl.dialects.ge.text import parse_module
from ge_xdsl.exporters.onnx.model import Model, onnx_bytes

CASES = [
    (
        "ge.MatMulV2(<3xf32>, <3x4xf32>, bias = <1x1x4xf32>)",
        "the bias has more dimensions than the product",
    ),
    ("ge.GEMM(<2x3xf16>, <3x4xf16>, <2x4xf32>, <1xf32>, <1xf32>)", "the element types differ"),
    ("ge.GEMM(<2x3xf32>, <3x4xf32>, <2x4xf32>, <1xf32>, <1xf32>)", "alpha or beta is no scalar"),
    (
        "ge.StridedSliceV2(<4x5xf32>, <[-9]: 1xi64>, <[-20]: 1xi64>, axes = <[1]: 1xi64>,"
        " strides = <[-1]: 1xi64>)",
        "a slice starts before the first element",
    ),
    ("ge.SliceD(<4xf32>) {offsets = [-1], size = [2]}", "an offset is negative"),
    ('ge.PadV3(<4xf32>, <[-1, 0]: 2xi64>) {mode = "reflect"}', "the pads are negative"),
    ('ge.PadV3(<4xf32>, <[1, 0]: 2xi64>) {mode = "symmetric"}', "mode is symmetric"),
    ("ge.Range(<f32>, <f32>, <i32>)", "the element types differ"),
    (
        "ge.ReverseSequence(<2x3x4xf32>, <3xi32>) {seq_dim = 2, batch_dim = 1}",
        "the dimensions are not the first two",
    ),
    (
        "ge.CommonGRU(<5x3x4xf16>, <1x18x4xf16>, <1x18x6xf32>) {hidden_size = 6}",
        "the element types differ",
    ),
    (
        "ge.Conv2D(<1x5x5x2xf32>, <3x3x2x4xf32>) {strides = [1, 1, 1, 1], pads = [0, 0, 0, 0],"
        ' data_format = "NHWC"}',
        "data_format is NHWC",
    ),
    ("ge.Celu(<3xf32>) {alpha1 = 2.0, alpha2 = 1.0}",
     "alpha1 and alpha2 differ, or alpha3 is not 1"),
    ("ge.PRelu(<2x3x4xf32>, <3x4xf32>)",
     "the slopes are neither one number nor a vector for dimension 1"),
    ("ge.SoftmaxV2(<f32>) {axes = [-1]}", "there is no axis, or x is a scalar"),
    ("ge.Threshold(<3xcomplex(f32)>)", "Greater does not take DT_COMPLEX64"),
    ("ge.Adds(<3xi32>) {value = 2.0}", "integers are computed in f32"),
    ("ge.DivNoNan(<3xi32>, <3xi32>)", "integers divide otherwise than floats"),
    ("ge.Select(<2xi1>, <2x3xf32>, <2x3xf32>)",
     "the condition has another shape than its operands"),
    ("ge.PRelu(<*xf32>, <3xf32>)", "the rank is unknown"),
    ("ge.Tile(<*xf32>, <?xi32>)", "the shape is unknown"),
    ("ge.Tile(<f32>, <1xi32>)", "x has fewer dimensions than multiples"),
    ("ge.ExpandDims(<2x3xf32>, <i32>)", "an operand is no constant"),
    ("ge.ExpandDims(<2x3xf32>, <[0, 1]: 2xi32>)", "an operand has 2 elements, not one"),
    ("ge.Cast(<3xf32>) {dst_type = 16}", "Cast does not give DT_COMPLEX64"),
    ("ge.Resize(<1x1x2x2xf32>)", "scales and sizes are both given or both missing"),
    ("ge.ResizeNearestNeighborV2(<1x2x2x1xf32, #ge.layout(NHWC)>, <[4, 4]: 2xi32>)",
     "the format of x is NHWC"),
    ("ge.ReduceSum(<2x3xf32>, <?xi32>)", "the number of axes is unknown"),
    ("ge.ReduceMean(<2x3xi32>, <[1]: 1xi32>)", "means of integers are rounded otherwise"),
    ("ge.ReduceLogSumExp(<2x3xf32>, <[]: 0xi32>)", "there are no axes"),
    ("ge.SquareSumV1(<2x3xf32>) {axis = []}", "there are no axes"),
    ("ge.SqueezeV3(<1x2xf32>, axes = <[]: 0xi64>)", "there are no axes"),
    ("ge.LpNormV2(<2x3xf32>) {p = 3.0, axes = [1]}", "p is neither 1 nor 2"),
    ("ge.BroadcastTo(<*xf32>, <[-2, 3]: 2xi32>)", "shape has a dimension below -1"),
    ("ge.ConcatD([<f32>, <f32>]) {concat_dim = 0}", "a scalar counts as a vector"),
    ("ge.Reshape(<?x4xf32>, <[0, -1]: 2xi64>)", "shape has a 0 and a -1"),
    ("ge.InstanceNorm(<1x2x2x3xf32>, <3xf32>, <3xf32>) {data_format = \"NHWC\"}",
     "data_format is NHWC for x of 4 dimensions"),
    *(
        (f"ge.BatchNorm({x}, {scale}, <3xf32>, mean = <3xf32>, variance = <3xf32>)"
         f' {{is_training = {training}, data_format = "{form}"}}', reason)
        for x, scale, training, form, reason in (
            ("<2x3x4x4xf32>", "<3xf32>", "true", "NCHW", "is_training is set"),
            ("<2x4x4x3xf32>", "<3xf32>", "false", "NHWC", "data_format is NHWC"),
            ("<2x3x4x4xf32>", "<1x3xf32>", "false", "NCHW",
             "scale, offset, mean or variance is no vector"),
        )
    ),
]  # fmt: skip
PLANE, SPACE, HOLLOW = "<1x2x5x5xf32>", "<1x2x4x4x4xf32>", "<[0, 0, 0, 0]: 4xi32>"
TWO, ONES = "ksize = [1, 1, 2, 2], strides = [1, 1, 2, 2]", "strides = [1, 1, 1, 1]"
CUBE = "ksize = [1, 1, 2, 2, 2], strides = [1, 1, 2, 2, 2]"
NO_PADS = "pads = [0, 0, 0, 0]"
FIRST, LAST, FIRST_3D = ('data_format = "NCHW"', 'data_format = "NHWC"', 'data_format = "NCDHW"')
WINDOWS = [
    (f"Conv2D(<1x2x5x5xi32>, <4x2x3x3xi32>) {{{ONES}, {NO_PADS}, {FIRST}}}",
     "x or filter are no floats of a known rank"),
    (f"Conv2DTranspose(<[1, 4, 7, 7]: 4xi32>, {PLANE}, <2x4x3x3xf32>)"
     f" {{{ONES}, {NO_PADS}, {FIRST}}}", "input_size is given"),
    (f"Conv2DTranspose({HOLLOW}, <1x5x5x2xf32>, <3x3x4x2xf32>) {{{ONES}, {NO_PADS}, {LAST}}}",
     "data_format is NHWC and the filter ND"),
    (f'Conv2DTranspose({HOLLOW}, {PLANE}, <2x4x3x3xf32>)'
     f' {{{ONES}, {NO_PADS}, {FIRST}, ge.padding = "SAME"}}',
     "the pads follow from a padding mode"),
    (f"Conv2DTranspose({HOLLOW}, <1x2x5x5xi8>, <2x4x3x3xi8>) {{{ONES}, {NO_PADS}, {FIRST}}}",
     "integers are accumulated in i32"),
    (f'MaxPool(<1x4x4x2xf32>) {{ksize = [1, 2, 2, 1], strides = [1, 2, 2, 1], padding = "VALID",'
     f" {LAST}}}", "data_format is NHWC"),
    (f'MaxPool(<2x4x4xf32>) {{{TWO}, padding = "VALID", {FIRST}}}', "x does not have 4 dimensions"),
    (f"AvgPoolV2({PLANE}) {{{TWO}, ceil_mode = true, {FIRST}}}",
     "ceil_mode adds other windows than in ONNX"),
    (f"AvgPoolV2({PLANE}) {{{TWO}, pads = [2, 2, 2, 2], {FIRST}}}",
     "a window may lie in the padding"),
    ("MaxPoolV3(<1x2x4x4xf32>) {ksize = [1, 1, 2, 2], strides = [1, 1, 3, 3],"
     f' padding_mode = "CALCULATED", pads = [1, 1, 1, 1], ceil_mode = true, {FIRST}}}',
     "a window starts in the padding"),
    ("MaxPool3D(<1x4x4x4x2xf32>) {ksize = [1, 2, 2, 2, 1], strides = [1, 2, 2, 2, 1],"
     ' padding = "CALCULATED", data_format = "NDHWC"}', "data_format is NDHWC"),
    (f'MaxPool3D({SPACE}) {{{CUBE}, padding = "VALID", {FIRST_3D}}}', "padding is VALID"),
    (f"MaxPool3D({SPACE}) {{ksize = [2, 2, 2], strides = [1, 1, 2, 2, 2],"
     f' padding = "CALCULATED", {FIRST_3D}}}', "ksize has 3 numbers, not 5"),
    (f'MaxPool3D({SPACE}) {{{CUBE}, padding = "CALCULATED", pads = [2, 2, 2, 2, 2, 2],'
     f" {FIRST_3D}}}", "a window may lie in the padding"),
    (f"AvgPool3D({SPACE}) {{{CUBE}, pads = [2, 2, 2, 2, 2, 2], {FIRST_3D}}}",
     "a window may lie in the padding"),
    (f"AvgPool3D({SPACE}) {{ksize = [1, 1, 2, 2, 2], strides = [2],"
     f" pads = [0, 0, 0, 0, 0, 0], {FIRST_3D}}}", "strides has 1 numbers, not 5"),
]  # fmt: skip
FLAG, NUMBER, PAIR = "tensor<i1>", "tensor<i32>", "tensor<complex<f32>>"


def block(name, types, result):
    args = ", ".join(f"%{name}{i}: {t}" for i, t in enumerate(types))
    return (
        f'({{\n  ^{name}({args}):\n    "ge.yield"(%{name}{result}) : ({types[result]}) -> ()\n  }}'
    )


CONTROL = [
    (
        "While",
        [FLAG],
        [block("c", [FLAG], 0), block("b", [FLAG], 0)[1:]],
        "no turn changes a value",
    ),
    (
        "While",
        [PAIR],
        [block("c", [PAIR], 0), block("b", [PAIR], 0)[1:]],
        "a condition is DT_COMPLEX64",
    ),
    (
        "For",
        [NUMBER, NUMBER, NUMBER, FLAG],
        [block("b", [NUMBER, FLAG], 1)],
        "no turn changes a value",
    ),
    ("Case", [NUMBER, FLAG], [block("b", [FLAG], 0)], "there is one branch"),
]


def reasons(text):
    """Op type -> why it has no standard form, of a module that need not be right."""
    func = main_function(parse_module(text))
    for op in func.body.block.ops:
        if isinstance(op, GeOp):
            with suppress(VerifyException):
                op.update_types()
    return Model(func).reasons


@pytest.mark.parametrize(
    ("text", "reason"), [*CASES, *((f"ge.{text}", reason) for text, reason in WINDOWS)]
)
def test_reason(text, reason):
    op_type = text.partition("(")[0].removeprefix("ge.")
    count = len(op_class(op_type).prototype.outputs)
    assert reasons(module_of(text, count))[op_type] == reason


@pytest.mark.parametrize(("op_type", "types", "blocks", "reason"), CONTROL)
def test_reason_of_control_flow(op_type, types, blocks, reason):
    args = ", ".join(f"%x{i}: {t}" for i, t in enumerate(types))
    names = ", ".join(f"%x{i}" for i in range(len(types)))
    text = (
        f"func.func @main({args}) -> {types[-1]} {{\n"
        f'  %y = "ge.{op_type}"({names}) {", ".join(blocks)}) : '
        f"({', '.join(types)}) -> {types[-1]}\n"
        f"  func.return %y : {types[-1]}\n}}\n"
    )
    assert reasons(text)[op_type] == reason


def test_reason_of_a_result_that_onnx_does_not_have():
    x, v = "tensor<1x3x4x4xf32>", "tensor<3xf32>"
    text = (
        f"func.func @main(%x: {x}, %v: {v}) -> tensor<1x3x1x1xf32> {{\n"
        f"  %y, %mean, %variance = ge.InstanceNorm(%x, %v, %v) "
        f'{{data_format = "NCHW"}} : ({x}, {v}, {v}) -> '
        f"({x}, tensor<1x3x1x1xf32>, tensor<1x3x1x1xf32>)\n"
        "  func.return %mean : tensor<1x3x1x1xf32>\n}\n"
    )
    assert reasons(text) == {"InstanceNorm": "a result is read that ONNX does not have"}


def test_reason_of_a_result_of_another_type():
    text = (
        "func.func @main(%x: tensor<3xf16>) -> tensor<3xf32> {\n"
        "  %y = ge.Relu(%x) : (tensor<3xf16>) -> tensor<3xf32>\n"
        "  func.return %y : tensor<3xf32>\n}\n"
    )
    func = main_function(parse_module(text))
    assert Model(func).reasons == {"Relu": "the result would be DT_FLOAT16, not DT_FLOAT"}


def test_the_warning_tells_the_first_reason_of_each_op_type():
    func = main_function(parse_module(module_of("ge.Celu(<3xf32>) {alpha1 = 2.0}")))
    lines = []
    onnx_bytes(func, lines.append)
    assert lines == [
        "1 ops have no standard form and are in domain ai.ge: Celu x 1 (alpha1 and alpha2 differ, "
        "or alpha3 is not 1)"
    ]
