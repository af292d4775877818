"""Constraints of rearranging, blocking and further elementwise ops: one graph per constraint."""

import pytest
from op_constraints import refuse, snake

TWO_TYPES = "operands are DT_FLOAT and DT_FLOAT16, expected one element type"
INDEX = "expected DT_INT32 or DT_INT64"
COUNT = "expected 1 to 1099511627776"
REARRANGE = {
    "roll_c1": (
        "ge.Roll(<2x3xf32>) {shifts = [1], dims = [0, 1]}",
        "shifts has 1 entries, expected 2",
    ),
    "roll_c1_flat": ("ge.Roll(<2x3xf32>) {shifts = [1, 2]}", "shifts has 2 entries, expected 1"),
    "roll_c2": (
        "ge.Roll(<2x3xf32>) {shifts = [1], dims = [2]}",
        "dims is 2, expected one in [-2, 2)",
    ),
    "reverse_v2_c1": ("ge.ReverseV2(<2x3xf32>, <1xf32>)", f"axis is DT_FLOAT, {INDEX}"),
    "reverse_v2_c2": (
        "ge.ReverseV2(<2x3xf32>, <[1, -1]: 2xi32>)",
        "axis are [1, -1], expected no axis twice",
    ),
    "reverse_v2_d_c1": (
        "ge.ReverseV2D(<2x3xf32>) {axis = [2]}",
        "axis is 2, expected one in [-2, 2)",
    ),
    "reverse_sequence_c1": (
        "ge.ReverseSequence(<2x3xf32>, <2xf32>) {seq_dim = 1}",
        f"seq_lengths is DT_FLOAT, {INDEX}",
    ),
    "reverse_sequence_c1_rank": (
        "ge.ReverseSequence(<2x3xf32>, <2x1xi32>) {seq_dim = 1}",
        "seq_lengths is 2x1, expected rank 1",
    ),
    "reverse_sequence_c2": (
        "ge.ReverseSequence(<2x3xf32>, <2xi32>) {seq_dim = 0}",
        "seq_dim is 0 and batch_dim 0, expected two dimensions",
    ),
    "reverse_sequence_c2_range": (
        "ge.ReverseSequence(<2x3xf32>, <2xi32>) {seq_dim = 2}",
        "seq_dim is 2, expected one in [-2, 2)",
    ),
    "reverse_sequence_c3": (
        "ge.ReverseSequence(<2x3xf32>, <3xi32>) {seq_dim = 1}",
        "lengths of seq_lengths and x are 3 and 2, expected equal ones",
    ),
    "repeat_interleave_c1": (
        "ge.RepeatInterleave(<2x3xf32>, <2xi32>) {axis = 1}",
        "lengths of repeats and of the axis are 2 and 3, expected equal ones",
    ),
    "repeat_interleave_c1_type": (
        "ge.RepeatInterleave(<2x3xf32>, <3xf32>) {axis = 1}",
        f"repeats is DT_FLOAT, {INDEX}",
    ),
    "repeat_interleave_c2": (
        "ge.RepeatInterleave(<2x3xf32>, <3xi32>)",
        "axis is 1000, expected one in [-2, 2)",
    ),
    "repeat_interleave_c3": (
        "ge.RepeatInterleave(<2x3xf32>, <-1: i32>) {axis = 0}",
        "repeats are [-1], expected none negative",
    ),
    "repeat_interleave_c3_huge": (
        "ge.RepeatInterleave(<2x3xf32>, <1099511627776: i64>) {axis = 0}",
        "result has 6597069766656 elements, expected at most 1099511627776",
    ),
    "space_to_depth_c4": (
        "ge.SpaceToDepth(<1x4x5x3xf32>) {block_size = 2}",
        "width is 5, expected a multiple of 2",
    ),
    "depth_to_space_c4": (
        "ge.DepthToSpace(<1x4x5x3xf32>) {block_size = 2}",
        "the number of channels is 3, expected a multiple of 4",
    ),
    "depth_to_space_c5": (
        'ge.DepthToSpace(<1x4x5x4xf32>) {block_size = 2, mode = "dcr"}',
        "mode is 'dcr', expected DCR or CRD",
    ),
}
for op in ("SpaceToDepth", "DepthToSpace"):
    REARRANGE[f"{snake(op)}_c1"] = (
        f'ge.{op}(<1x4x4x4xf32>) {{block_size = 2, data_format = "ND"}}',
        "data_format is 'ND', expected NCHW or NHWC",
    )
    REARRANGE[f"{snake(op)}_c2"] = (
        f"ge.{op}(<4x4x4xf32>) {{block_size = 2}}",
        "x is 4x4x4, expected rank 4",
    )
    REARRANGE[f"{snake(op)}_c3"] = (
        f"ge.{op}(<1x4x4x4xf32>) {{block_size = 0}}",
        f"block_size is 0, {COUNT}",
    )

BLOCKS = {}
for kind, amount in (("SpaceToBatch", "paddings"), ("BatchToSpace", "crops")):
    to_batch = kind == "SpaceToBatch"
    uneven = (
        "padded dimension 2 is 5, expected a multiple of 2"
        if to_batch
        else "batch is 3, expected a multiple of 4"
    )
    good, bad = (
        ("<1x4x4x2xf32>", "<1x4x5x2xf32>") if to_batch else ("<4x4x4x2xf32>", "<3x4x4x2xf32>")
    )
    for suffix in ("", "D", "ND", "NDD"):
        op = kind + suffix
        name = snake(op)

        def text(x, block, flat, op=op, suffix=suffix, amount=amount):
            half = len(flat) // 2
            pairs = [[flat[2 * i], flat[2 * i + 1]] for i in range(half)]
            constant = f"<{pairs}: {half}x2xi32>"
            if suffix == "":
                return f"ge.{op}({x}, {constant}) {{block_size = {block}}}"
            if suffix == "D":
                return f"ge.{op}({x}) {{block_size = {block}, {amount} = {flat}}}"
            if suffix == "ND":
                return f"ge.{op}({x}, <[{block}, {block}]: 2xi32>, {constant})"
            return f"ge.{op}({x}) {{block_shape = [{block}, {block}], {amount} = {flat}}}"

        BLOCKS[f"{name}_c1"] = (text(good, 0, [0] * 4), f"block size is 0, {COUNT}")
        rank = "rank 4" if suffix in ("", "D") else "rank 3 or more"
        BLOCKS[f"{name}_c2"] = (text("<4x4xf32>", 2, [0] * 4), f"x is 4x4, expected {rank}")
        BLOCKS[f"{name}_c3"] = (text(good, 2, [0] * 2), f"{amount} has 2 entries, expected 4")
        BLOCKS[f"{name}_c3_negative"] = (
            text(good, 2, [0, 0, -1, 0]),
            f"{amount} are [0, 0, -1, 0], expected none negative",
        )
        BLOCKS[f"{name}_c4"] = (text(bad, 2, [0] * 4), uneven)
        if not to_batch:
            BLOCKS[f"{name}_c4_crops"] = (
                text(good, 2, [9, 0, 0, 0]),
                "crops are [9, 0] of dimension 1, expected at most 8 in all",
            )
    more = {"": "<2x2xf32>) {block_size = 2}", "_nd": "<2xf32>, <2x2xi32>)"}
    for suffix, rest in more.items():
        what = amount if not suffix else "block_shape"
        BLOCKS[f"{snake(kind)}{suffix}_c5"] = (
            f"ge.{kind}{suffix.strip('_').upper()}({good}, {rest}",
            f"{what} is DT_FLOAT, {INDEX}",
        )
BLOCKS |= {
    "space_to_batch_nd_c5_paddings": (
        "ge.SpaceToBatchND(<1x4x4xf32>, <2xi32>, <2x2xf32>)",
        f"paddings is DT_FLOAT, {INDEX}",
    ),
}

REAL = "x is DT_INT32, expected a floating-point type"
BROADCAST = "shapes are 2x3 and 4x3, expected ones that broadcast"
MATHS = {
    "nan_to_num_c1": ("ge.NanToNum(<2xi32>) {nan = 0.0, posinf = 1.0, neginf = 2.0}", REAL),
    "gcd_c3": ("ge.Gcd(<2xf32>, <2xf32>)", "x1 is DT_FLOAT, expected an integer type"),
    "is_close_c1": ("ge.IsClose(<2x3xf32>, <4x3xf32>)", BROADCAST),
    "is_close_c2": ("ge.IsClose(<2xf32>, <2xf16>)", TWO_TYPES),
    "approximate_equal_c1": (
        "ge.ApproximateEqual(<2xf32>, <3xf32>)",
        "shapes of x1 and x2 are 2 and 3, expected equal ones",
    ),
    "approximate_equal_c2": ("ge.ApproximateEqual(<2xf32>, <2xf16>)", TWO_TYPES),
    "eltwise_c1": ("ge.Eltwise([<2xf32>, <2xf16>]) {N = 2}", TWO_TYPES),
    "eltwise_c2": (
        "ge.Eltwise([<2xf32>, <3xf32>]) {N = 2}",
        "shapes of two operands are 2 and 3, expected equal ones",
    ),
    "eltwise_c3": (
        "ge.Eltwise([<2xf32>]) {N = 2}",
        "has 1 operands, expected N = 2, at least 1",
    ),
    "eltwise_c4": ("ge.Eltwise([<2xf32>]) {N = 1, mode = 3}", "mode is 3, expected 0, 1 or 2"),
    "eltwise_c5": (
        "ge.Eltwise([<2xf32>]) {N = 1, coeff = [1.0, 2.0]}",
        "coeff has 2 numbers, expected 1",
    ),
    "fused_mul_add_add_c1": ("ge.FusedMulAddAdd(<2xf32>, <2xf32>, <2xf32>, <2xf16>)", TWO_TYPES),
    "fused_mul_add_add_c2": (
        "ge.FusedMulAddAdd(<1xf32>, <2xf32>, <2xf32>, <2xf32>)",
        "shapes of x1 and of all together are 1 and 2, expected equal ones",
    ),
    "fused_mul_add_n_c1": ("ge.FusedMulAddN(<2xf32>, <2xf32>, <f16>)", TWO_TYPES),
    "fused_mul_add_n_c2": (
        "ge.FusedMulAddN(<2xf32>, <2xf32>, <2xf32>)",
        "x3 is 2, expected one element",
    ),
    "fused_mul_add_n_c3": (
        "ge.FusedMulAddN(<2xf32>, <3xf32>, <f32>)",
        "shapes of x1 and x2 are 2 and 3, expected equal ones",
    ),
    "clip_by_value_v2_c1": (
        "ge.ClipByValueV2(<2x3xf32>, <4x3xf32>, <f32>)",
        "shapes are 2x3 and 4x3 and scalar, expected ones that broadcast",
    ),
    "clip_by_value_v2_c2": ("ge.ClipByValueV2(<2xf32>, <2xf16>, <f32>)", TWO_TYPES),
}
for op in ("Acos", "Asin", "Tan"):
    MATHS[f"{snake(op)}_c1"] = (
        f"ge.{op}(<2xi1>)",
        "x is DT_BOOL, expected a floating-point, complex or integer type",
    )
for op in ("Rint", "Sinc", "IsPosInf", "IsNegInf"):
    MATHS[f"{snake(op)}_c1"] = (f"ge.{op}(<2xi32>)", REAL)
for op in ("Xlogy", "Xdivy", "MulNoNan", "TruncateMod", "Atan2", "Gcd"):
    MATHS[f"{snake(op)}_c1"] = (f"ge.{op}(<2x3xf32>, <4x3xf32>)", BROADCAST)
    MATHS[f"{snake(op)}_c2"] = (f"ge.{op}(<2xf32>, <2xf16>)", TWO_TYPES)

FAMILIES = {"rearrange": REARRANGE, "space_batch": BLOCKS, "maths": MATHS}
CASES = REARRANGE | BLOCKS | MATHS


@pytest.mark.parametrize("name", CASES)
def test_constraint(name):
    refuse(*CASES[name])
