"""Constraints of sorting ops: one refused graph per constraint."""

import pytest
from op_constraints import refuse, snake

AXIS = "axis is 2, expected one in [-2, 2)"
INDEX = "expected DT_INT32 or DT_INT64"
CASES = {
    "sort_c1": ("ge.Sort(<2x3xf32>) {axis = 2}", AXIS),
    "sort_c2": ("ge.Sort(<2x3xf32>) {y2_dtype = DT_INT8}", f"y2_dtype is DT_INT8, {INDEX}"),
    "sort_v2_c1": ("ge.SortV2(<2x3xf32>) {axis = 2}", AXIS),
    "sort_v2_c2": ("ge.SortV2(<2x3xi32>)", "x is DT_INT32, expected a floating-point type"),
    "sort_with_index_c1": ("ge.SortWithIndex(<2x3xf32>, <2x3xi32>) {axis = 2}", AXIS),
    "sort_with_index_c2": (
        "ge.SortWithIndex(<2x3xf32>, <2x3xi8>)",
        f"index is DT_INT8, {INDEX}",
    ),
    "sort_with_index_c3": (
        "ge.SortWithIndex(<2x3xf32>, <3xi32>)",
        "shapes of x and index are 2x3 and 3, expected equal ones",
    ),
    "top_k_v2_c5": (
        "ge.TopKV2(<2x3xf32>, <1: i32>) {indices_dtype = 0}",
        "indices_dtype is 0, expected 3 (DT_INT32) or 9 (DT_INT64)",
    ),
    "nth_element_c1": ("ge.NthElement(<2x3xf32>, <f32>)", f"n is DT_FLOAT, {INDEX}"),
    "nth_element_c2": (
        "ge.NthElement(<f32>, <0: i32>)",
        "x is scalar, expected rank 1 or more",
    ),
    "nth_element_c3": (
        "ge.NthElement(<2x3xf32>, <3: i32>)",
        "n is 3, expected one in [0, 3)",
    ),
}
for op, k, attrs in (
    ("TopK", "<{}>", ""),
    ("TopKV2", "<{}>", ""),
    ("TopKV2D", "<{}>, <4xf16>", ""),
    ("TopKD", "<4xf16>", "k = {}, "),
):
    few, many = (f"{n}: i32" for n in (1, 4))
    name = snake(op)
    CASES[f"{name}_c1"] = (
        f"ge.{op}(<f32>, {k.format(few)}) {{{attrs.format(1)}dim = 0}}",
        "x is scalar, expected rank 1 or more",
    )
    CASES[f"{name}_c2"] = (
        f"ge.{op}(<2x3xf32>, {k.format(few)}) {{{attrs.format(1)}dim = 2}}",
        "dim is 2, expected one in [-2, 2)",
    )
    CASES[f"{name}_c3"] = (
        f"ge.{op}(<2x3xf32>, {k.format(many)}) {{{attrs.format(4)}dim = 1}}",
        "k is 4, expected 0 to 3",
    )
    CASES[f"{name}_c3_unknown"] = (
        f"ge.{op}(<2x?xf32>, {k.format('-1: i32')}) {{{attrs.format(-1)}dim = 1}}",
        "k is -1, expected 0 to the dimension",
    )
    if op != "TopKD":
        CASES[f"{name}_c4"] = (f"ge.{op}(<2xf32>, {k.format('f32')})", f"k is DT_FLOAT, {INDEX}")
for op, k in (("InTopK", ", <1: i32>"), ("InTopKV2", ", <1: i32>"), ("InTopKD", "")):
    name, attrs = snake(op), "" if k else " {k = 1}"
    CASES[f"{name}_c1"] = (
        f"ge.{op}(<2xf32>, <2xi32>{k}){attrs}",
        "predictions is 2, expected rank 2",
    )
    CASES[f"{name}_c1_targets"] = (
        f"ge.{op}(<2x3xf32>, <2x1xi32>{k}){attrs}",
        "targets is 2x1, expected rank 1",
    )
    CASES[f"{name}_c2"] = (
        f"ge.{op}(<2x3xf32>, <2xf32>{k}){attrs}",
        f"targets is DT_FLOAT, {INDEX}",
    )
    CASES[f"{name}_c3"] = (
        f"ge.{op}(<2x3xf32>, <3xi32>{k}){attrs}",
        "rows and targets are 2 and 3, expected equal ones",
    )
    if k:
        CASES[f"{name}_c4"] = (
            f"ge.{op}(<2x3xf32>, <2xi32>, <2xi32>)",
            "k is 2, expected one element",
        )


@pytest.mark.parametrize("name", CASES)
def test_constraint(name):
    refuse(*CASES[name])
