"""Why an op has no expansion into others: texts that depend on sizes too large to run, or modes."""

import pytest
from op_text import module_of

from ge_xdsl.dialects.ge.graph import main_function, verify
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.registry import op_class
from ge_xdsl.dialects.ge.text import parse_module
from ge_xdsl.errors import CompileError
from ge_xdsl.lowering import expand
from ge_xdsl.lowering.expand import NotExpandedError, expanded
from ge_xdsl.lowering.tiling import Slot, vector_tiling
from ge_xdsl.targets import target

PLANE = 'ksize = [1, 1, 2, 2], strides = [1, 1, 2, 2], padding = "VALID", data_format = "NCHW"'
ROI = "spatial_scale = 1.0, pooled_height = 2, pooled_width = 2, sample_num = 2"
CASES = [
    ("DIoU(<4x3xf32>, <4x3xf32>) {is_cross = true}", "with is_cross set"),
    (f"MaxPoolWithArgmax(<1x1x4096x4096xf16>) {{{PLANE}}}", "for planes of 2^24 elements or more"),
    (f"MaxPoolWithArgmax(<2048x1024x32x32xf16>) {{{PLANE}}}", "for 2^31 elements or more"),
    (
        "MaxPoolWithArgmaxV3(<1x1x1x1xf16>) {ksize = [2, 2], strides = [1, 1], pads = [1, 1], "
        "dilation = [2, 2]}",
        "for a window without an element of x",
    ),
    (
        'MaxPool(<1x2x9x9xf16>) {ksize = [1, 1, 5, 5], strides = [1, 1, 3, 3], padding = "SAME", '
        'data_format = "NCHW"}',
        "for windows of this size, or for this element type",
    ),
    (
        "IndexPutV2(<3x4xf32>, <3x4xf32>, <[0, 0]: 2xi64>, <[0, 0]: 2xi64>)",
        "without indices",
    ),
    (
        "MaskedScatter(<40000xf32>, <40000xi1>, <40000xf32>)",
        "for 40000 updates, of which single ones are taken",
    ),
    (
        "FillDiagonal(<4096x4096xf32>) {fill_value = 1.0}",
        "for a mask of 16777216 elements",
    ),
    (
        "MatrixDiagV2(<4096xf32>, <0: i32>, <4096: i32>, <4096: i32>, <0.0: f32>)",
        "for a map of 16777216 elements",
    ),
    ("Diag(<4096xf32>)", "for a map of 16777216 elements"),
    ("Upsample(<1x2x3x4xf32>) {scale = 2.0, stride_h = 2, stride_w = 2}", "for scale 2.0"),
    (
        'ScatterElements(<4xi64>, <2xi64>, <2xi64>) {axis = 0, reduction = "add"}',
        "for a scatter of element type DT_INT64",
    ),
    ("Threshold(<3xi32>) {threshold = 0.5}", "for integers with a number that is none"),
    (
        "GroupedMatmul([<300x8xf16>], [<300x5xf16>], "
        "group_list = <[1, 2, 3, 4, 5, 6, 7, 8, 9]: 9xi64>) "
        "{split_item = 3, group_type = 2, transpose_x = true}",
        "for more than 8 groups of inner rows, or a list of them",
    ),
    ("BatchMatMulV2(<2x3x4xi8>, <2x4x5xi8>)", "for element type DT_INT8"),
    (
        "STFT(<64xf16>) {n_fft = 16, hop_length = 4, win_length = 16, onesided = true, "
        "return_complex = false}",
        "with complex numbers, or for this element type",
    ),
    (
        f'ROIAlign(<1x2x8x8xf32>, <3x5xf32>) {{{ROI}, pool_mode = "max"}}',
        "for pool_mode max, roi_end_mode 1",
    ),
    (
        f"ROIAlign(<1x1x4097x4097xf32>, <3x5xf32>) {{{ROI}}}",
        "for planes of 16785409 elements",
    ),
    (
        "GroupedMatmul([<4x8xf16>], [<2x8x5xf16>], group_list = <[3, 9]: 2xi64>) "
        "{split_item = 3, group_type = 0}",
        "for groups that end at [3, 9]",
    ),
    (
        "AnchorResponseFlags(<3x4xf32>) {featmap_size = [8192, 8192], strides = [2, 2], "
        "num_base_anchors = 3}",
        "for a map of 67108864 cells",
    ),
    (
        "MovingSumWithSigmoid(<3000xf32>, <3000xf32>, <[1, 3000]: 2xi32>) {ksize = 3}",
        "for a band of 3000 frames",
    ),
]


def op_of(text):
    """The op of a compact text, its types inferred."""
    op_type = text.partition("(")[0]
    count = len(op_class(op_type).prototype.outputs)
    block = main_function(parse_module(module_of(f"ge.{text}", count))).body.block
    ops = [op for op in block.ops if isinstance(op, GeOp)]
    for op in ops:
        op.update_types()
    return ops[-1]


def refusal(op, reason=lambda op: ""):
    with pytest.raises(NotExpandedError) as error:
        expanded(op, reason, 0)
    return str(error.value)


@pytest.mark.parametrize(("text", "why"), CASES)
def test_refusal(text, why):
    op = op_of(text)
    verify(op.parent_op().parent_op())
    assert refusal(op) == f"no lowering {why}"


def test_an_op_of_an_expansion_without_a_lowering_is_named():
    why = refusal(
        op_of("Upsample(<1x2x3x4xf32>) {stride_h = 2, stride_w = 2}"),
        lambda op: "no lowering for Mondays" if op.op_type == "Reshape" else "",
    )
    assert why == "no lowering for Mondays (Reshape in the expansion)"


def _halves(build, op):
    return build("Cast", op.operands[0], dst_type=1)


def test_an_expansion_of_another_type_is_no_expansion(monkeypatch):
    monkeypatch.setitem(
        expand.EXPANSIONS, "Abs", lambda build, op: build("Cast", op.operands[0], dst_type=1)
    )
    assert refusal(op_of("Abs(<3xf32>)")) == (
        "no lowering: expands to tensor<3xf16>, expected tensor<3xf32>"
    )


@pytest.mark.parametrize(
    ("shape", "whole", "what"),
    [
        ((8, 100000), "cols", "a row of 100000 elements takes 800000"),
        ((100000, 64), "rows", "16 columns of 100000 elements takes 12800000"),
    ],
)
def test_a_row_or_columns_that_do_not_fit(shape, whole, what):
    with pytest.raises(CompileError) as error:
        vector_tiling(shape, [Slot("f32", True, True, 2)], target("Ascend910B1"), whole=whole)
    assert error.value.message == f"{what} bytes of UB, expected at most 188416"
