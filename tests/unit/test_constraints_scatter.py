"""Constraints of scatter_nd, scatter and inplace ops: one refused graph per constraint."""

import pytest
from op_constraints import refuse, snake

TWO_TYPES = "operands are DT_FLOAT and DT_FLOAT16, expected one element type"
INDEX = "indices is DT_FLOAT, expected DT_INT32 or DT_INT64"
SLICES = "shapes of updates and of the slices are 4x2 and 4x3, expected equal ones"
DEPTH = "indices is 4x3, expected a last dimension of at most 2"
RANK = "expected rank 1 or more"

ND = {}
for op in (
    *(f"ScatterNd{how}" for how in ("Update", "Add", "Sub", "Max", "Min")),
    *(f"TensorScatter{how}" for how in ("Update", "Add", "Sub", "Max", "Min")),
    "ScatterNonAliasingAdd",
):
    name = snake(op)
    ND[f"{name}_c1"] = (f"ge.{op}(<2x3xf32>, <4x1xi32>, <4x3xf16>)", TWO_TYPES)
    ND[f"{name}_c2"] = (f"ge.{op}(<2x3xf32>, <4x1xf32>, <4x3xf32>)", INDEX)
    ND[f"{name}_c3"] = (f"ge.{op}(<2x3xf32>, <4x3xi32>, <4xf32>)", DEPTH)
    ND[f"{name}_c3_rank"] = (f"ge.{op}(<2x3xf32>, <i32>, <3xf32>)", f"indices is scalar, {RANK}")
    ND[f"{name}_c4"] = (f"ge.{op}(<2x3xf32>, <4x1xi32>, <4x2xf32>)", SLICES)
for op, shape, attrs in (
    ("ScatterNd", ", <{}: {}xi64>", ""),
    ("ScatterNdD", "", " {{shape = {}}}"),
):
    name = snake(op)

    def spread(operands, sizes, op=op, shape=shape, attrs=attrs):
        tail = shape.format(sizes, len(sizes))
        return f"ge.{op}({operands}{tail}){attrs.format(sizes)}"

    ND[f"{name}_c1"] = (spread("<4x1xf32>, <4x3xf32>", [2, 3]), INDEX)
    ND[f"{name}_c2"] = (spread("<4x3xi32>, <4xf32>", [2, 3]), DEPTH)
    ND[f"{name}_c3"] = (
        spread("<4x1xi32>, <4x2xf32>", [2, 3]),
        "shapes of x and of the slices are 4x2 and 4x3, expected equal ones",
    )
    last = "c5" if op == "ScatterNd" else "c4"
    ND[f"{name}_{last}"] = (
        spread("<4x1xi32>, <4x3xf32>", [2, -3]),
        "shape is [2, -3], expected none negative",
    )
    ND[f"{name}_{last}_huge"] = (
        spread("<4x1xi32>, <4xf32>", [2**20, 2**21]),
        "result has 2199023255552 elements, expected at most 1099511627776",
    )
ND["scatter_nd_c4"] = (
    "ge.ScatterNd(<4x1xi32>, <4x3xf32>, <1x2xi64>)",
    "shape is 1x2, expected rank 1",
)

ROWS = {}
for how in ("Update", "Add", "Sub", "Mul", "Div", "Max", "Min"):
    op, name = f"Scatter{how}", snake(f"Scatter{how}")
    ROWS[f"{name}_c1"] = (f"ge.{op}(<2x3xf32>, <4xi32>, <4x3xf16>)", TWO_TYPES)
    ROWS[f"{name}_c2"] = (f"ge.{op}(<2x3xf32>, <4xf32>, <4x3xf32>)", INDEX)
    ROWS[f"{name}_c3"] = (f"ge.{op}(<f32>, <4xi32>, <4x3xf32>)", f"var is scalar, {RANK}")
    ROWS[f"{name}_c4"] = (
        f"ge.{op}(<2x3xf32>, <4xi32>, <4x2xf32>)",
        "shapes of updates and of the rows are 4x2 and 4x3, expected equal ones",
    )
for op in ("ScatterElements", "ScatterElementsV2"):
    name = snake(op)
    ROWS[f"{name}_c1"] = (f"ge.{op}(<2x3xf32>, <1x3xi32>, <1x3xf16>)", TWO_TYPES)
    ROWS[f"{name}_c2"] = (f"ge.{op}(<2x3xf32>, <1x3xf32>, <1x3xf32>)", INDEX)
    ROWS[f"{name}_c3"] = (
        f"ge.{op}(<2x3xf32>, <1x3xi32>, <1x2xf32>)",
        "shapes of indices and updates are 1x3 and 1x2, expected equal ones",
    )
    ROWS[f"{name}_c4"] = (f"ge.{op}(<f32>, <i32>, <f32>)", f"the target is scalar, {RANK}")
    ROWS[f"{name}_c4_rank"] = (
        f"ge.{op}(<2x3xf32>, <3xi32>, <3xf32>)",
        "the target and indices are 2x3 and 3, expected one rank",
    )
    ROWS[f"{name}_c5"] = (
        f"ge.{op}(<2x3xf32>, <1x3xi32>, <1x3xf32>) {{axis = 2}}",
        "axis is 2, expected one in [-2, 2)",
    )
    ROWS[f"{name}_c6"] = (
        f"ge.{op}(<2x3xf32>, <1x4xi32>, <1x4xf32>)",
        "indices has 4 in dimension 1, expected at most 3",
    )
    ROWS[f"{name}_c7"] = (
        f'ge.{op}(<2x3xf32>, <1x3xi32>, <1x3xf32>) {{reduction = "max"}}',
        "reduction is 'max', expected none, add or mul",
    )
ROWS |= {
    "masked_scatter_c1": ("ge.MaskedScatter(<2x3xf32>, <3xi1>, <9xf16>)", TWO_TYPES),
    "masked_scatter_c2": (
        "ge.MaskedScatter(<2x3xf32>, <3xi8>, <9xf32>)",
        "mask is DT_INT8, expected DT_BOOL",
    ),
    "masked_scatter_c3": (
        "ge.MaskedScatter(<1x3xf32>, <2x3xi1>, <9xf32>)",
        "shapes of x and of x with mask are 1x3 and 2x3, expected equal ones",
    ),
    "inplace_index_add_c5": (
        "ge.InplaceIndexAdd(<2x3xf32>, <4xi32>, <4x3xf32>, alpha = <2xf32>) {axis = 0}",
        "alpha is 2, expected one element",
    ),
    "inplace_index_add_c1_alpha": (
        "ge.InplaceIndexAdd(<2x3xf32>, <4xi32>, <4x3xf32>, alpha = <f16>) {axis = 0}",
        TWO_TYPES,
    ),
}
for op in ("IndexAdd", "InplaceIndexAdd"):
    name = snake(op)
    ROWS[f"{name}_c1"] = (f"ge.{op}(<2x3xf32>, <4xi32>, <4x3xf16>) {{axis = 0}}", TWO_TYPES)
    ROWS[f"{name}_c2"] = (f"ge.{op}(<2x3xf32>, <4xf32>, <4x3xf32>) {{axis = 0}}", INDEX)
    ROWS[f"{name}_c2_rank"] = (
        f"ge.{op}(<2x3xf32>, <4x1xi32>, <4x3xf32>) {{axis = 0}}",
        "indices is 4x1, expected rank 1",
    )
    ROWS[f"{name}_c3"] = (
        f"ge.{op}(<2x3xf32>, <4xi32>, <4x3xf32>) {{axis = 2}}",
        "axis is 2, expected one in [-2, 2)",
    )
    ROWS[f"{name}_c4"] = (f"ge.{op}(<2x3xf32>, <4xi32>, <4x2xf32>) {{axis = 0}}", SLICES)
for op, value in (("IndexFill", "val"), ("InplaceIndexFill", "value")):
    name = snake(op)
    ROWS[f"{name}_c1"] = (f"ge.{op}(<2x3xf32>, <4xi32>, <f16>) {{dim = 0}}", TWO_TYPES)
    ROWS[f"{name}_c2"] = (f"ge.{op}(<2x3xf32>, <4xf32>, <f32>) {{dim = 0}}", INDEX)
    ROWS[f"{name}_c3"] = (
        f"ge.{op}(<2x3xf32>, <4xi32>, <2xf32>) {{dim = 0}}",
        f"{value} is 2, expected one element",
    )
    ROWS[f"{name}_c4"] = (
        f"ge.{op}(<2x3xf32>, <4xi32>, <f32>) {{dim = 2}}",
        "dim is 2, expected one in [-2, 2)",
    )

INPLACE = {}
for how in ("Update", "Add", "Sub"):
    for op, index, attrs in (
        (f"Inplace{how}", "<2xi32>, ", ""),
        (f"Inplace{how}D", "", " {indices = [0, 1]}"),
    ):
        name = snake(op)
        INPLACE[f"{name}_c1"] = (f"ge.{op}(<4x3xf32>, {index}<2x3xf16>){attrs}", TWO_TYPES)
        INPLACE[f"{name}_c2"] = (f"ge.{op}(<f32>, {index}<2x3xf32>){attrs}", f"x is scalar, {RANK}")
        INPLACE[f"{name}_c3"] = (
            f"ge.{op}(<4x3xf32>, {index}<3x3xf32>){attrs}",
            "shapes of v and of the rows are 3x3 and 2x3, expected equal ones",
        )
    name = snake(f"Inplace{how}")
    INPLACE[f"{name}_c4"] = (f"ge.Inplace{how}(<4x3xf32>, <2xf32>, <2x3xf32>)", INDEX)
    INPLACE[f"{name}_c4_rank"] = (
        f"ge.Inplace{how}(<4x3xf32>, <2x1xi32>, <2x3xf32>)",
        "indices is 2x1, expected rank 1",
    )

CASES = ND | ROWS | INPLACE


@pytest.mark.parametrize("name", CASES)
def test_constraint(name):
    refuse(*CASES[name])
