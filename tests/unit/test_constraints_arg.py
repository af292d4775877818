"""Constraints of argument-of-extreme ops: one refused graph per constraint."""

import pytest
from op_constraints import refuse, snake

TWO_TYPES = "operands are DT_FLOAT and DT_FLOAT16, expected one element type"
INDEX = "expected DT_INT32 or DT_INT64"
CASES = {
    "hard_max_c1": (
        "ge.HardMax(<2xi8>)",
        "x is DT_INT8, expected a floating-point type or DT_INT32",
    ),
    "hard_max_c2": ("ge.HardMax(<2xf32>) {axis = 1}", "axis is 1, expected one in [-1, 1)"),
}
for op in ("ArgMaxV2", "ArgMin"):
    CASES[f"{snake(op)}_c1_type"] = (f"ge.{op}(<2xf32>, <f32>)", f"dimension is DT_FLOAT, {INDEX}")
    CASES[f"{snake(op)}_c1_count"] = (
        f"ge.{op}(<2xf32>, <2xi32>)",
        "dimension is 2, expected one element",
    )
    CASES[f"{snake(op)}_c2"] = (
        f"ge.{op}(<2x3xf32>, <2: i32>)",
        "dimension is 2, expected one in [-2, 2)",
    )
    CASES[f"{snake(op)}_c3"] = (
        f"ge.{op}(<2x3xf32>, <0: i32>) {{dtype = DT_INT8}}",
        f"dtype is DT_INT8, {INDEX}",
    )
for op in ("ArgMaxD", "ArgMinD", "ArgMaxWithValue", "ArgMinWithValue"):
    CASES[f"{snake(op)}_c1"] = (
        f"ge.{op}(<2x3xf32>) {{dimension = -3}}",
        "dimension is -3, expected one in [-2, 2)",
    )
    if op.endswith("Value"):
        CASES[f"{snake(op)}_c2"] = (
            f"ge.{op}(<2x3xf32>) {{dimension = 0, indice_dtype = DT_FLOAT}}",
            f"indice_dtype is DT_FLOAT, {INDEX}",
        )
for op, more in (("ArgMaxGrad", ""), ("ArgMaxGradD", ", <4xf32>")):
    CASES[f"{snake(op)}_c1"] = (
        f"ge.{op}(<2x3xf32>, <2xi32>, <2xf16>{more}) {{dimension = 1}}",
        TWO_TYPES,
    )
    CASES[f"{snake(op)}_c2"] = (
        f"ge.{op}(<2x3xf32>, <2xi8>, <2xf32>{more}) {{dimension = 1}}",
        f"indices is DT_INT8, {INDEX}",
    )
    CASES[f"{snake(op)}_c3"] = (
        f"ge.{op}(<2x3xf32>, <2xi32>, <2xf32>{more}) {{dimension = 2}}",
        "dimension is 2, expected one in [-2, 2)",
    )
    CASES[f"{snake(op)}_c4"] = (
        f"ge.{op}(<2x3xf32>, <3xi32>, <3xf32>{more}) {{dimension = 1}}",
        "shapes of indices and of var without the dimension are 3 and 2, expected equal ones",
    )
    CASES[f"{snake(op)}_c4_updates"] = (
        f"ge.{op}(<2x3xf32>, <2xi32>, <3xf32>{more}) {{dimension = 1}}",
        "shapes of indices and updates are 2 and 3, expected equal ones",
    )


@pytest.mark.parametrize("name", CASES)
def test_constraint(name):
    refuse(*CASES[name])
