"""Constraints of shape, concat, slice and index ops: one refused graph per constraint."""

import pytest
from op_text import check_refused, module_of
from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.graph import verify
from ge_xdsl.dialects.ge.index import range_count
from ge_xdsl.dialects.ge.text import module_text, parse_module

X = "<2x3x4xf32>"
MASKED = "<[0]: 1xi64>, <[1]: 1xi64>, <[1]: 1xi64>"

CASES = {
    "reshape_c1_type": (
        f"ge.Reshape({X}, <[24.0]: 1xf32>)",
        "shape is DT_FLOAT, expected DT_INT32 or DT_INT64",
    ),
    "reshape_c1_rank": (f"ge.Reshape({X}, <[[24]]: 1x1xi64>)", "shape is 1x1, expected rank 1"),
    "reshape_c1_long": (
        f"ge.Reshape({X}, <300xi64>)",
        "shape has 300 entries, expected at most 256",
    ),
    "reshape_c2_entry": (
        f"ge.Reshape({X}, <[-2, 24]: 2xi64>)",
        "shape is [-2, 24], expected entries >= -1",
    ),
    "reshape_c2_twice": (
        f"ge.Reshape({X}, <[-1, -1]: 2xi64>)",
        "shape is [-1, -1], expected at most one -1",
    ),
    "reshape_c2_unknown_rank": (
        "ge.Reshape(<*xf32>, <[-1, -1]: 2xi64>)",
        "shape is [-1, -1], expected at most one -1",
    ),
    "reshape_c3": (
        f"ge.Reshape({X}, <[5, 5]: 2xi64>)",
        "shape 5x5 has 25 elements, expected 24",
    ),
    "reshape_c3_multiple": (
        f"ge.Reshape({X}, <[5, -1]: 2xi64>)",
        "24 elements, expected a multiple of 5",
    ),
    "reshape_c4": (
        f"ge.Reshape({X}, <[-1]: 1xi64>) {{axis = 2, num_axes = 2}}",
        "axis is 2 and num_axes 2, expected a range in rank 3",
    ),
    "reshape_copied_zero": (
        f"ge.Reshape({X}, <[2, 3, 4, 0]: 4xi64>) {{ge.allowzero = 0 : i64}}",
        "shape is [2, 3, 4, 0], expected 0 only where x (2x3x4) has a dimension",
    ),
    "flatten_c1": (f"ge.Flatten({X}) {{axis = 4}}", "axis is 4, expected one in [-3, 3]"),
    "flatten_v2_c1": (
        f"ge.FlattenV2({X}) {{axis = 0, end_axis = 3}}",
        "end_axis is 3, expected one in [-3, 3)",
    ),
    "flatten_v2_c2": (
        f"ge.FlattenV2({X}) {{axis = 2, end_axis = 1}}",
        "axis is 2, expected at most end_axis 1",
    ),
    "squeeze_c1_range": (f"ge.Squeeze({X}) {{axis = [3]}}", "axes is 3, expected one in [-3, 3)"),
    "squeeze_c1_twice": (
        "ge.Squeeze(<1x1xf32>) {axis = [0, -2]}",
        "axes are [0, -2], expected no axis twice",
    ),
    "squeeze_c2": (f"ge.Squeeze({X}) {{axis = [1]}}", "dimension 1 is 3, expected 1"),
    "squeeze_v3_c2": (f"ge.SqueezeV3({X}, axes = <[1]: 1xi64>)", "dimension 1 is 3, expected 1"),
    "squeeze_v3_c3": (
        f"ge.SqueezeV3({X}, axes = <[[1]]: 1x1xi64>)",
        "axes is 1x1, expected rank 1",
    ),
    "unsqueeze_c1": (
        f"ge.Unsqueeze({X}) {{axes = [0, 5]}}",
        "axes is 5, expected one in [-5, 5)",
    ),
    "unsqueeze_v3_c1": (
        f"ge.UnsqueezeV3({X}, <[1, 1]: 2xi64>)",
        "axes are [1, 1], expected no axis twice",
    ),
    "unsqueeze_v3_c2": (
        f"ge.UnsqueezeV3({X}, <[1.0]: 1xf32>)",
        "axes is DT_FLOAT, expected DT_INT32 or DT_INT64",
    ),
    "expand_dims_c1": (f"ge.ExpandDims({X}, <4: i64>)", "axes is 4, expected one in [-4, 4)"),
    "expand_dims_c2_type": (
        f"ge.ExpandDims({X}, <1.0: f32>)",
        "axis is DT_FLOAT, expected DT_INT32 or DT_INT64",
    ),
    "expand_dims_c2_count": (
        f"ge.ExpandDims({X}, <[0, 1]: 2xi64>)",
        "axis has 2 elements, expected 1",
    ),
    "transpose_c1": (
        f"ge.Transpose({X}, <[0.0]: 1xf32>)",
        "perm is DT_FLOAT, expected DT_INT32 or DT_INT64",
    ),
    "transpose_c2_count": (
        f"ge.Transpose({X}, <[1, 0]: 2xi64>)",
        "perm has 2 entries, expected 3",
    ),
    "transpose_c2_twice": (
        f"ge.Transpose({X}, <[0, 1, 1]: 3xi64>)",
        "perm are [0, 1, 1], expected no axis twice",
    ),
    "transpose_d_c1": (
        f"ge.TransposeD({X}) {{perm = [0, 1, 3]}}",
        "perm entry is 3, expected one in [-3, 3)",
    ),
    "shape_c1": (
        f"ge.Shape({X}) {{dtype = 0}}",
        "dtype is 0, expected 3 (DT_INT32) or 9 (DT_INT64)",
    ),
    "size_c1": (
        f"ge.Size({X}) {{dtype = 7}}",
        "dtype is 7, expected 3 (DT_INT32) or 9 (DT_INT64)",
    ),
    "expand_c1": (f"ge.Expand({X}, <[[1]]: 1x1xi64>)", "shape is 1x1, expected rank 1"),
    "expand_c2": (
        f"ge.Expand({X}, <[2, 5, 4]: 3xi64>)",
        "x is 2x3x4 and shape [2, 5, 4], expected ones that broadcast",
    ),
    "broadcast_to_c2": (
        f"ge.BroadcastTo({X}, <[2, 1, 4]: 3xi64>)",
        "x is 2x3x4 and shape [2, 1, 4], expected ones that broadcast",
    ),
    "broadcast_to_c2_short": (
        f"ge.BroadcastTo({X}, <[3, 4]: 2xi64>)",
        "shape has 2 entries, expected at least the rank 3 of x",
    ),
    "tile_c1": (
        f"ge.Tile({X}, <[1.0]: 1xf32>)",
        "multiples is DT_FLOAT, expected DT_INT32 or DT_INT64",
    ),
    "tile_c2": (
        f"ge.Tile({X}, <[1, -1, 1]: 3xi64>)",
        "multiples are [1, -1, 1], expected none negative",
    ),
    "concat_c1": ("ge.ConcatD([]) {concat_dim = 0}", "has no x, expected at least one"),
    "concat_c2": (
        "ge.ConcatD([<2xf32>, <2xf16>]) {concat_dim = 0}",
        "operands are DT_FLOAT and DT_FLOAT16, expected one element type",
    ),
    "concat_c3": (
        "ge.ConcatD([<2xf32>, <2x2xf32>]) {concat_dim = 0}",
        "ranks are 1 and 2, expected equal ones",
    ),
    "concat_c4": (
        "ge.ConcatV2([<2xf32>, <2xf32>], <1: i32>)",
        "concat_dim is 1, expected one in [-1, 1)",
    ),
    "concat_c5": (
        "ge.Concat(<0: i32>, [<2x3xf32>, <2x4xf32>])",
        "sizes of dimension 1 are 3 and 4, expected equal ones",
    ),
    "concat_c6": (
        "ge.Concat(<0.0: f32>, [<2x3xf32>])",
        "concat_dim is DT_FLOAT, expected DT_INT32 or DT_INT64",
    ),
    "split_c1": (
        f"ge.Split(<0: i32>, {X}) {{num_split = 1000000000}}",
        "num_split is 1000000000, expected the number of results (1)",
    ),
    "split_c2": (
        f"ge.Split(<3: i32>, {X}) {{num_split = 1}}",
        "split_dim is 3, expected one in [-3, 3)",
    ),
    "split_c4": (
        f"ge.Split(<0.0: f32>, {X}) {{num_split = 1}}",
        "split_dim is DT_FLOAT, expected DT_INT32 or DT_INT64",
    ),
    "split_v_c1": (
        f"ge.SplitV({X}, <[1, 1]: 2xi64>, <0: i32>) {{num_split = 2}}",
        "num_split is 2, expected the number of results (1)",
    ),
    "split_v_c2": (
        f"ge.SplitV({X}, <[2]: 1xi64>, <-4: i32>) {{num_split = 1}}",
        "split_dim is -4, expected one in [-3, 3)",
    ),
    "split_v_c3_sum": (
        f"ge.SplitV({X}, <[3]: 1xi64>, <0: i32>) {{num_split = 1}}",
        "size_splits are [3], expected a sum of 2",
    ),
    "split_v_c4": (
        f"ge.SplitV({X}, <[1, 1]: 2xi64>, <0: i32>) {{num_split = 1}}",
        "size_splits has 2 entries, expected num_split 1",
    ),
    "split_v_c5": (
        f"ge.SplitV({X}, <[1.0]: 1xf32>, <0: i32>) {{num_split = 1}}",
        "size_splits is DT_FLOAT, expected DT_INT32 or DT_INT64",
    ),
    "pack_c1": ("ge.Pack([])", "has no x, expected at least one"),
    "pack_c2": (
        "ge.Pack([<2xf32>, <2xf16>])",
        "operands are DT_FLOAT and DT_FLOAT16, expected one element type",
    ),
    "pack_c3_rank": (
        "ge.Pack([<2xf32>, <2x2xf32>])",
        "ranks are 1 and 2, expected equal ones",
    ),
    "pack_c3_size": (
        "ge.Pack([<2xf32>, <3xf32>])",
        "sizes of dimension 0 are 2 and 3, expected equal ones",
    ),
    "pack_c4": ("ge.Pack([<2xf32>]) {axis = 2}", "axis is 2, expected one in [-2, 2)"),
    "unpack_c1": (f"ge.Unpack({X}) {{num = 1, axis = 3}}", "axis is 3, expected one in [-3, 3)"),
    "unpack_c1_scalar": ("ge.Unpack(<f32>) {num = 1}", "x is scalar, expected rank 1 or more"),
    "unpack_c2": (
        f"ge.Unpack({X}) {{num = 1}}",
        "dimension 0 and num are 2 and 1, expected equal ones",
    ),
    "unpack_c3": (f"ge.Unpack({X}) {{num = 2}}", "num is 2, expected the number of results (1)"),
    "slice_c1": (
        "ge.Slice(<4xf32>, <[0.0]: 1xf32>, <[1]: 1xi64>)",
        "offsets is DT_FLOAT, expected DT_INT32 or DT_INT64",
    ),
    "slice_c2": (
        "ge.Slice(<4xf32>, <[0]: 1xi64>, <[1, 1]: 2xi64>)",
        "size has 2 entries, expected 1",
    ),
    "slice_c3": (
        "ge.Slice(<4xf32>, <[-1]: 1xi64>, <[1]: 1xi64>)",
        "offsets are [-1] and size [1], expected offsets >= 0 and size >= -1",
    ),
    "slice_c4": (
        "ge.Slice(<4xf32>, <[3]: 1xi64>, <[2]: 1xi64>)",
        "slice [3, 5) of a dimension of 4, expected one inside",
    ),
    "slice_d_c1": (
        "ge.SliceD(<4xf32>) {offsets = [0, 0], size = [1, 1]}",
        "offsets has 2 entries, expected 1",
    ),
    "slice_d_c2": (
        "ge.SliceD(<4xf32>) {offsets = [0], size = [-2]}",
        "offsets are [0] and size [-2], expected offsets >= 0 and size >= -1",
    ),
    "slice_d_c3": (
        "ge.SliceD(<4xf32>) {offsets = [5], size = [-1]}",
        "slice [5, 5) of a dimension of 4, expected one inside",
    ),
    "strided_slice_c1": (
        f"ge.StridedSlice({X}, <[0]: 1xi64>, <[1, 1]: 2xi64>, <[1]: 1xi64>)",
        "begin, end and strides have 1, 2 and 1 entries, expected equal numbers",
    ),
    "strided_slice_c2": (
        f"ge.StridedSlice({X}, <[0, 0]: 2xi64>, <[1, 1]: 2xi64>, <[1, 1]: 2xi64>) "
        "{ellipsis_mask = 3}",
        "ellipsis_mask is 3, expected at most one bit",
    ),
    "strided_slice_c3": (
        "ge.StridedSlice(<4xf32>, <[0, 0]: 2xi64>, <[1, 1]: 2xi64>, <[1, 1]: 2xi64>)",
        "begin names 2 dimensions, expected at most 1",
    ),
    "strided_slice_c4": (
        "ge.StridedSlice(<4xf32>, <[0]: 1xi64>, <[1]: 1xi64>, <[0]: 1xi64>)",
        "stride is 0, expected another number",
    ),
    "strided_slice_c5": (
        "ge.StridedSlice(<4xf32>, <[4]: 1xi64>, <[1]: 1xi64>, <[1]: 1xi64>) {shrink_axis_mask = 1}",
        "index is 4, expected one in [-4, 4)",
    ),
    "strided_slice_c6": (
        "ge.StridedSlice(<4xf32>, <[0]: 1xi64>, <[1]: 1xi64>, <[-1]: 1xi64>) "
        "{shrink_axis_mask = 1}",
        "stride is -1, expected > 0 where an axis shrinks",
    ),
    "strided_slice_v2_c1": (
        "ge.StridedSliceV2(<4xf32>, <[0]: 1xi64>, <[1]: 1xi64>, axes = <[0, 1]: 2xi64>)",
        "begin, end, axes and strides have [1, 2] entries, expected equal numbers",
    ),
    "strided_slice_v2_c2": (
        f"ge.StridedSliceV2({X}, <[0, 0]: 2xi64>, <[1, 1]: 2xi64>, axes = <[1, -2]: 2xi64>)",
        "axes are [1, -2], expected no axis twice",
    ),
    "strided_slice_v2_c2_range": (
        f"ge.StridedSliceV2({X}, <[0]: 1xi64>, <[1]: 1xi64>, axes = <[3]: 1xi64>)",
        "axes entry is 3, expected one in [-3, 3)",
    ),
    "strided_slice_v2_c3": (
        "ge.StridedSliceV2(<4xf32>, <[0, 0]: 2xi64>, <[1, 1]: 2xi64>)",
        "begin names 2 dimensions, expected at most 1",
    ),
    "strided_slice_v2_c4": (
        "ge.StridedSliceV2(<4xf32>, <[0]: 1xi64>, <[1]: 1xi64>, strides = <[0]: 1xi64>)",
        "stride is 0, expected another number",
    ),
    "strided_slice_v2_c5": (
        "ge.StridedSliceV2(<4xf32>, <[-5]: 1xi64>, <[1]: 1xi64>) {shrink_axis_mask = 1}",
        "index is -5, expected one in [-4, 4)",
    ),
    "pad_c1": (
        "ge.Pad(<4xf32>, <[[1.0, 1.0]]: 1x2xf32>)",
        "paddings is DT_FLOAT, expected DT_INT32 or DT_INT64",
    ),
    "pad_c2": ("ge.Pad(<f32>, <1: i32>)", "x is scalar, expected rank 1 or more"),
    "pad_c3": ("ge.Pad(<4xf32>, <[1]: 1xi64>)", "paddings has 1 entries, expected 2"),
    "pad_c4": (
        "ge.Pad(<4xf32>, <[-3, -2]: 2xi64>)",
        "paddings crop a dimension of 4 to -1, expected >= 0",
    ),
    "pad_v3_c5": (
        'ge.PadV3(<4xf32>, <[1, 1]: 2xi64>) {mode = "mirror"}',
        "mode is 'mirror', expected one of constant, reflect, edge, symmetric, circular",
    ),
    "pad_v3_c6_type": (
        "ge.PadV3(<4xf32>, <[1, 1]: 2xi64>, constant_values = <0: i64>)",
        "operands are DT_FLOAT and DT_INT64, expected one element type",
    ),
    "pad_v3_c6_count": (
        "ge.PadV3(<4xf32>, <[1, 1]: 2xi64>, constant_values = <2xf32>)",
        "constant_values is 2, expected one element",
    ),
    "pad_v3_c7_reflect": (
        'ge.PadV3(<4xf32>, <[4, 0]: 2xi64>) {mode = "reflect"}',
        "paddings are 4 and 0 around 4, expected at most 3 for reflect",
    ),
    "pad_v3_c7_symmetric": (
        'ge.PadV3(<4xf32>, <[0, 5]: 2xi64>) {mode = "symmetric"}',
        "paddings are 0 and 5 around 4, expected at most 4 for symmetric",
    ),
    "pad_v3_c7_edge_of_nothing": (
        'ge.PadV3(<0xf32>, <[0, 1]: 2xi64>) {mode = "edge"}',
        "paddings are 0 and 1 around 0, expected at most 0 for edge",
    ),
    "gather_v2_c1_indices": (
        f"ge.GatherV2({X}, <2xf32>, <0: i32>)",
        "indices is DT_FLOAT, expected DT_INT32 or DT_INT64",
    ),
    "gather_v2_c1_axis": (
        f"ge.GatherV2({X}, <2xi64>, <0.0: f32>)",
        "axis is DT_FLOAT, expected DT_INT32 or DT_INT64",
    ),
    "gather_v2_c2": (
        f"ge.GatherV2({X}, <2xi64>, <3: i32>)",
        "axis is 3, expected one in [-3, 3)",
    ),
    "gather_v2_c3": (
        f"ge.GatherV2({X}, <2x3xi64>, <0: i32>) {{batch_dims = 1}}",
        "batch_dims is 1, expected at most axis 0",
    ),
    "gather_v2_c3_range": (
        f"ge.GatherV2({X}, <2xi64>, <2: i32>) {{batch_dims = 2}}",
        "batch_dims is 2, expected one in [-1, 1]",
    ),
    "gather_v2_c4": (
        f"ge.GatherV2({X}, <3x3xi64>, <1: i32>) {{batch_dims = 1}}",
        "batch dimensions of x and indices are 2 and 3, expected equal ones",
    ),
    "gather_elements_c1": (
        "ge.GatherElements(<4xf32>, <2xf32>)",
        "index is DT_FLOAT, expected DT_INT32 or DT_INT64",
    ),
    "gather_elements_c2": (
        "ge.GatherElements(<4xf32>, <2x2xi64>)",
        "x and index are 4 and 2x2, expected one rank",
    ),
    "gather_elements_c3": (
        "ge.GatherElements(<4xf32>, <2xi64>) {dim = 1}",
        "dim is 1, expected one in [-1, 1)",
    ),
    "gather_elements_c4": (
        "ge.GatherElements(<4x2xf32>, <2x3xi64>)",
        "index has 3 in dimension 1, expected at most 2 as in x",
    ),
    "gather_elements_scalar": (
        "ge.GatherElements(<f32>, <i64>)",
        "x is scalar, expected rank 1 or more",
    ),
    "one_hot_c1": (
        "ge.OneHot(<4xf32>, <3: i32>, <f32>, <f32>)",
        "x is DT_FLOAT, expected DT_UINT8, DT_INT32 or DT_INT64",
    ),
    "one_hot_c2": (
        "ge.OneHot(<4xi32>, <3: i32>, <f32>, <f16>)",
        "operands are DT_FLOAT and DT_FLOAT16, expected one element type",
    ),
    "one_hot_c3": (
        "ge.OneHot(<4xi32>, <3.0: f32>, <f32>, <f32>)",
        "depth is DT_FLOAT, expected DT_INT32 or DT_INT64",
    ),
    "one_hot_c4": (
        "ge.OneHot(<4xi32>, <3: i32>, <f32>, <f32>) {axis = -2}",
        "axis is -2, expected one in [-1, 1]",
    ),
    "one_hot_c5": (
        "ge.OneHot(<4xi32>, <0xi32>, <f32>, <f32>)",
        "depth is 0, expected one element",
    ),
    "one_hot_c5_values": (
        "ge.OneHot(<4xi32>, <3: i32>, <f32>, <2xf32>)",
        "off_value is 2, expected one element",
    ),
    "where_c1": ("ge.Where(<i1>)", "x is scalar, expected rank 1 or more"),
    "non_zero_c1": (
        "ge.NonZero(<4xi1>) {dtype = DT_FLOAT}",
        "dtype is DT_FLOAT, expected DT_INT32 or DT_INT64",
    ),
    "fill_c1": (
        "ge.Fill(<[2.0]: 1xf32>, <f32>)",
        "dims is DT_FLOAT, expected DT_INT32 or DT_INT64",
    ),
    "fill_c2": ("ge.Fill(<[2]: 1xi64>, <2xf32>)", "value is 2, expected one element"),
    "fill_c3": ("ge.Fill(<[2, -1]: 2xi64>, <f32>)", "dims are [2, -1], expected none negative"),
    "range_c1": (
        "ge.Range(<2xi32>, <4: i32>, <1: i32>)",
        "start is 2, expected one element",
    ),
    "range_c2_zero": (
        "ge.Range(<0: i32>, <4: i32>, <0: i32>)",
        "range from 0 to 4 by 0, expected a step that leads to the limit",
    ),
    "range_c2_direction": (
        "ge.Range(<0.0: f32>, <4.0: f32>, <-1.0: f32>)",
        "range from 0.0 to 4.0 by -1.0, expected a step that leads to the limit",
    ),
}

MANY = {
    "split_c3": (
        f"ge.Split(<1: i32>, {X}) {{num_split = 2}}",
        "dimension 1 is 3, expected a multiple of num_split 2",
    ),
    "split_d_c1": (
        f"ge.SplitD({X}) {{split_dim = 0, num_split = 1}}",
        "num_split is 1, expected the number of results (2)",
    ),
    "split_d_c2": (
        f"ge.SplitD({X}) {{split_dim = -4, num_split = 2}}",
        "split_dim is -4, expected one in [-3, 3)",
    ),
    "split_d_c3": (
        f"ge.SplitD({X}) {{split_dim = 1, num_split = 2}}",
        "dimension 1 is 3, expected a multiple of num_split 2",
    ),
    "split_v_c3_twice": (
        f"ge.SplitV({X}, <[-1, -1]: 2xi64>, <0: i32>) {{num_split = 2}}",
        "size_splits are [-1, -1], expected at most one -1",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_constraint(name):
    check_refused(*CASES[name])


@pytest.mark.parametrize("name", MANY)
def test_constraint_of_an_op_with_two_results(name):
    check_refused(*MANY[name], results=2)


@pytest.mark.parametrize(
    ("op", "results", "result_type"),
    [
        (f"ge.Reshape({X}, <[6, -1]: 2xi64>)", 1, "6x4xf32"),
        (f"ge.Split(<0: i32>, {X}) {{num_split = 2}}", 2, "1x3x4xf32"),
        ("ge.ConcatV2([<2xf32>, <?xf32>], <0: i32>) {N = 2}", 1, "?xf32"),
        (
            f"ge.StridedSliceV2({X}, {MASKED.rpartition(',')[0]}, axes = <[1]: 1xi64>)",
            1,
            "2x1x4xf32",
        ),
        (f"ge.StridedSlice({X}, {MASKED}) {{shrink_axis_mask = 1}}", 1, "3x4xf32"),
        ("ge.NonZero(<2x2xi1>) {dtype = DT_INT32}", 1, "?x2xi32"),
    ],
)
def test_accepted_and_printed_as_read(op, results, result_type):
    module = parse_module(module_of(op, results, result_type))
    verify(module)
    text = module_text(module)
    assert module_text(parse_module(text)) == text


@pytest.mark.parametrize("limit", [float("inf"), float("nan")])
def test_range_c2_not_finite(limit):
    with pytest.raises(VerifyException, match=f"to {limit} by 1, expected finite numbers"):
        range_count(0, limit, 1, False)
