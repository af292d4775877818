"""Constraints of bit operations: one refused graph per constraint."""

import pytest
from op_constraints import refuse, snake

TWO_TYPES = "operands are DT_INT32 and DT_INT8, expected one element type"
BROADCAST = "shapes are 2x3 and 4x3, expected ones that broadcast"
CASES = {
    "bitwise_not_c1": (
        "ge.BitwiseNot(<2xf32>)",
        "x is DT_FLOAT, expected an integer type or DT_BOOL",
    ),
    "invert_c1": ("ge.Invert(<2xi1>)", "x is DT_BOOL, expected an integer type"),
    "invert_v2_c1": ("ge.InvertV2(<2xf32>)", "x1 is DT_FLOAT, expected an integer type"),
    "population_count_c1": (
        "ge.PopulationCount(<2xf16>)",
        "x is DT_FLOAT16, expected an integer type",
    ),
    "signbit_c1": (
        "ge.Signbit(<2xi1>)",
        "x is DT_BOOL, expected a floating-point or integer type",
    ),
    "sign_bits_pack_c1": ("ge.SignBitsPack(<2x8xf32>) {size = 1}", "x is 2x8, expected rank 1"),
    "sign_bits_pack_c2": (
        "ge.SignBitsPack(<8xi32>) {size = 1}",
        "x is DT_INT32, expected a floating-point type",
    ),
    "sign_bits_pack_c3": (
        "ge.SignBitsPack(<20xf32>) {size = 2}",
        "3 bytes, expected a multiple of size 2",
    ),
    "sign_bits_pack_c3_least": (
        "ge.SignBitsPack(<20xf32>) {size = 0}",
        "size is 0, expected 1 to 1099511627776",
    ),
    "sign_bits_unpack_c1": (
        "ge.SignBitsUnpack(<1x2xui8>) {size = 1, dtype = DT_FLOAT}",
        "x is 1x2, expected rank 1",
    ),
    "sign_bits_unpack_c2": (
        "ge.SignBitsUnpack(<2xi8>) {size = 1, dtype = DT_FLOAT}",
        "x is DT_INT8, expected DT_UINT8",
    ),
    "sign_bits_unpack_c3": (
        "ge.SignBitsUnpack(<1xui8>) {size = 3, dtype = DT_FLOAT}",
        "8 bits, expected a multiple of size 3",
    ),
    "sign_bits_unpack_c4": (
        "ge.SignBitsUnpack(<1xui8>) {size = 1, dtype = DT_INT8}",
        "dtype is DT_INT8, expected DT_FLOAT or DT_FLOAT16",
    ),
    "compare_and_bitpack_c1": (
        "ge.CompareAndBitpack(<8xi32>, <i8>)",
        TWO_TYPES,
    ),
    "compare_and_bitpack_c2": (
        "ge.CompareAndBitpack(<8xf32>, <2xf32>)",
        "threshold is 2, expected one element",
    ),
    "compare_and_bitpack_c3": (
        "ge.CompareAndBitpack(<2x9xf32>, <f32>)",
        "x is 2x9, expected a last dimension that is a multiple of 8",
    ),
    "bitcast_c1": (
        "ge.Bitcast(<2xf32>) {type = DT_BOOL}",
        "element type is DT_BOOL, expected numbers of whole bytes",
    ),
    "bitcast_c1_four_bits": (
        "ge.Bitcast(<2xi4>) {type = DT_INT8}",
        "element type is DT_INT4, expected numbers of whole bytes",
    ),
    "bitcast_c2": (
        "ge.Bitcast(<2x3xi8>) {type = DT_FLOAT}",
        "x is 2x3, expected a last dimension of 4",
    ),
    "bitcast_c2_scaled": (
        "ge.Bitcast(<2x3xi8>) {type = DT_FLOAT, keep_dim = true}",
        "x is 2x3, expected a last dimension whose bytes are a multiple of 4",
    ),
}
for op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor", "LeftShift", "RightShift"):
    first = "x" if op.endswith("Shift") else "x1"
    CASES[f"{snake(op)}_c1"] = (f"ge.{op}(<2x3xi32>, <4x3xi32>)", BROADCAST)
    CASES[f"{snake(op)}_c2"] = (f"ge.{op}(<2x3xi32>, <2x3xi8>)", TWO_TYPES)
    CASES[f"{snake(op)}_c3"] = (
        f"ge.{op}(<2xf32>, <2xf32>)",
        f"{first} is DT_FLOAT, expected an integer type",
    )


@pytest.mark.parametrize("name", CASES)
def test_constraint(name):
    refuse(*CASES[name])
