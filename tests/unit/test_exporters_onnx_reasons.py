"""Why ops of GE leave as ONNX in the domain ai.ge: one op per reason."""

from contextlib import suppress

import pytest
from op_text import module_of
from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.graph import main_function
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.registry import op_class
from ge_xdsl.dialects.ge.text import parse_module
from ge_xdsl.exporters.onnx.model import Model

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
]
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


@pytest.mark.parametrize(("text", "reason"), CASES)
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
