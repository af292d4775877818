"""Constraints of random ops: one refused graph per constraint."""

import pytest
from op_constraints import refuse, snake

INDEX = "expected DT_INT32 or DT_INT64"
REAL = "expected a floating-point type"
TWO_TYPES = "operands are DT_INT32 and DT_INT64, expected one element type"
OPS = {  # the operands after shape, the attributes, the constraint of the shape
    "RandomUniform": ("", "{dtype = DT_FLOAT}"),
    "RandomStandardNormal": ("", "{dtype = DT_FLOAT}"),
    "TruncatedNormal": ("", ""),
    "RandomUniformInt": (", <i32>, <i32>", ""),
    "DropOutGenMask": (", <f32>", ""),
    "StatelessDropOutGenMask": (", <f32>, <i64>, <i64>", ""),
    "StatelessRandomUniformV2": (", <1xui64>, <2xui64>, <i32>", ""),
    "StatelessRandomNormalV2": (", <1xui64>, <2xui64>, <i32>", ""),
    "StatelessBernoulli": (", <f32>, <i64>, <i64>", ""),
}
CASES = {
    "random_uniform_int_c2": (
        "ge.RandomUniformInt(<2xi32>, <i32>, <f32>)",
        f"max is DT_FLOAT, {INDEX}",
    ),
    "random_uniform_int_c2_count": (
        "ge.RandomUniformInt(<2xi32>, <2xi32>, <i32>)",
        "min is 2, expected one element",
    ),
    "random_uniform_int_c2_types": ("ge.RandomUniformInt(<2xi32>, <i32>, <i64>)", TWO_TYPES),
    "multinomial_c1": ("ge.Multinomial(<2x3xi32>, <i32>)", f"logits is DT_INT32, {REAL}"),
    "multinomial_c1_rank": ("ge.Multinomial(<3xf32>, <i32>)", "logits is 3, expected rank 2"),
    "multinomial_c2": (
        "ge.Multinomial(<2x3xf32>, <-1: i32>)",
        "num_samples is -1, expected 0 to 1099511627776",
    ),
    "multinomial_c2_huge": (
        "ge.Multinomial(<2x3xf32>, <1099511627776: i64>)",
        "result has 2199023255552 elements, expected at most 1099511627776",
    ),
    "multinomial_c3": (
        "ge.Multinomial(<2x3xf32>, <i32>) {dtype = DT_FLOAT}",
        f"dtype is DT_FLOAT, {INDEX}",
    ),
    "stateless_drop_out_gen_mask_c3": (
        "ge.StatelessDropOutGenMask(<2xi32>, <f32>, <f32>, <i64>)",
        f"seed is DT_FLOAT, {INDEX}",
    ),
    "stateless_drop_out_gen_mask_c4": (
        "ge.StatelessDropOutGenMask(<2xi32>, <f32>, <i64>, <i64>, offset = <2xi32>)",
        "offset is DT_INT32, expected DT_INT64",
    ),
    "stateless_drop_out_gen_mask_c4_count": (
        "ge.StatelessDropOutGenMask(<2xi32>, <f32>, <i64>, <i64>, offset = <i64>)",
        "offset has 1 elements, expected 2",
    ),
    "stateless_bernoulli_c3": (
        "ge.StatelessBernoulli(<2xi32>, <f32>, <i32>, <i64>)",
        "seed is DT_INT32, expected DT_INT64",
    ),
    "stateless_bernoulli_c3_count": (
        "ge.StatelessBernoulli(<2xi32>, <f32>, <i64>, <2xi64>)",
        "offset is 2, expected one element",
    ),
    "stateless_bernoulli_c4": (
        "ge.StatelessBernoulli(<2xi32>, <f32>, <i64>, <i64>) {dtype = DT_STRING}",
        "dtype is DT_STRING, expected a numeric type",
    ),
}
for op, (rest, attrs) in OPS.items():
    name = snake(op)
    CASES[f"{name}_c1"] = (
        f"ge.{op}(<[2, -1]: 2xi64>{rest}) {attrs}",
        "shape is [2, -1], expected none negative",
    )
    CASES[f"{name}_c1_huge"] = (
        f"ge.{op}(<[1048576, 2097152]: 2xi64>{rest}) {attrs}",
        "result has 2199023255552 elements, expected at most 1099511627776",
    )
    CASES[f"{name}_c1_type"] = (f"ge.{op}(<2xf32>{rest}) {attrs}", f"shape is DT_FLOAT, {INDEX}")
    if op != "RandomUniformInt" and "<f32>" not in rest:
        CASES[f"{name}_c2"] = (
            f"ge.{op}(<2xi32>{rest}) {{dtype = DT_INT32}}",
            f"dtype is DT_INT32, {REAL}",
        )
    if "<f32>" in rest:
        CASES[f"{name}_c2"] = (
            f"ge.{op}(<2xi32>{rest.replace('<f32>', '<i32>')})",
            f"prob is DT_INT32, {REAL}",
        )
        CASES[f"{name}_c2_count"] = (
            f"ge.{op}(<2xi32>{rest.replace('<f32>', '<2xf32>')})",
            "prob is 2, expected one element",
        )
    if op.endswith("V2"):
        CASES[f"{name}_c3"] = (
            f"ge.{op}(<2xi32>, <2xui64>, <2xui64>, <i32>)",
            "key has 2 elements, expected 1",
        )
        CASES[f"{name}_c3_type"] = (
            f"ge.{op}(<2xi32>, <1xi64>, <2xui64>, <i32>)",
            "key is DT_INT64, expected DT_UINT64",
        )
        CASES[f"{name}_c4"] = (
            f"ge.{op}(<2xi32>, <1xui64>, <1xui64>, <i32>)",
            "counter has 1 elements, expected 2",
        )
        CASES[f"{name}_c5"] = (
            f"ge.{op}(<2xi32>, <1xui64>, <2xui64>, <i64>)",
            "alg is DT_INT64, expected DT_INT32",
        )
        CASES[f"{name}_c5_count"] = (
            f"ge.{op}(<2xi32>, <1xui64>, <2xui64>, <2xi32>)",
            "alg is 2, expected one element",
        )


@pytest.mark.parametrize("name", CASES)
def test_constraint(name):
    refuse(*CASES[name])
