"""Constraints of mask and set ops: one refused graph per constraint."""

import pytest
from op_constraints import refuse, snake

TYPE = "out_idx is DT_INT8, expected DT_INT32 or DT_INT64"
CASES = {
    "unique_consecutive_c1": ("ge.UniqueConsecutive(<3xf32>) {out_idx = DT_INT8}", TYPE),
    "unique_consecutive_c2": (
        "ge.UniqueConsecutive(<3xf32>) {axis = 1}",
        "axis is 1, expected one in [-1, 1)",
    ),
    "unique_with_counts_and_sorting_c1": (
        "ge.UniqueWithCountsAndSorting(<3xf32>) {out_idx = DT_INT8}",
        TYPE,
    ),
    "list_diff_c1": ("ge.ListDiff(<3x1xf32>, <3xf32>)", "x is 3x1, expected rank 1"),
    "list_diff_c1_y": ("ge.ListDiff(<3xf32>, <f32>)", "y is scalar, expected rank 1"),
    "list_diff_c2": (
        "ge.ListDiff(<3xf32>, <3xi32>)",
        "operands are DT_FLOAT and DT_INT32, expected one element type",
    ),
    "list_diff_c3": ("ge.ListDiff(<3xf32>, <3xf32>) {out_idx = DT_INT8}", TYPE),
    "invert_permutation_c1": (
        "ge.InvertPermutation(<1x3xi32>)",
        "x is 1x3, expected rank 1",
    ),
    "invert_permutation_c2": (
        "ge.InvertPermutation(<3xf32>)",
        "x is DT_FLOAT, expected DT_INT32 or DT_INT64",
    ),
}
for op in ("MaskedSelect", "MaskedSelectV2"):
    CASES[f"{snake(op)}_c1"] = (
        f"ge.{op}(<2x3xf32>, <2xi1>)",
        "shapes are 2x3 and 2, expected ones that broadcast",
    )
    CASES[f"{snake(op)}_c2"] = (f"ge.{op}(<2xf32>, <2xi32>)", "mask is DT_INT32, expected DT_BOOL")
for op in ("Unique", "UniqueWithCounts", "UniqueExt2", "UniqueWithCountsExt2"):
    name = snake(op)
    along = ", <0: i32>" if "Ext2" in op else ""
    CASES[f"{name}_c1"] = (f"ge.{op}(<3xf32>{along}) {{out_idx = DT_INT8}}", TYPE)
    good = "{out_idx = DT_INT32}"
    if not along:
        CASES[f"{name}_c2"] = (f"ge.{op}(<3x1xf32>) {good}", "x is 3x1, expected rank 1")
        continue
    CASES[f"{name}_c1_unknown_axis"] = (f"ge.{op}(<3xf32>, <1xi32>) {{out_idx = DT_INT8}}", TYPE)
    CASES[f"{name}_c2"] = (
        f"ge.{op}(<3xf32>, <1: i32>) {good}",
        "axis is 1, expected one in [-1, 1)",
    )
    CASES[f"{name}_c3"] = (
        f"ge.{op}(<3x4xf32>, <[0, 1]: 2xi32>) {good}",
        "axis has 2 elements, expected 0 or 1",
    )
    CASES[f"{name}_c3_type"] = (
        f"ge.{op}(<3x4xf32>, <1xf32>) {good}",
        "axis is DT_FLOAT, expected DT_INT32 or DT_INT64",
    )
    CASES[f"{name}_c4"] = (f"ge.{op}(<3x4xf32>, <0xi32>) {good}", "x is 3x4, expected rank 1")


@pytest.mark.parametrize("name", CASES)
def test_constraint(name):
    refuse(*CASES[name])
