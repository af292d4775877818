"""Element types: agreement, promotion, conversion."""

import itertools

import numpy as np
import pytest
from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.elements import convert, one_element_type, promote, require
from ge_xdsl.dialects.ge.types import DataType, Tensor, numpy_dtype

NAMES = {
    "bool": DataType.DT_BOOL,
    "i8": DataType.DT_INT8,
    "u8": DataType.DT_UINT8,
    "i16": DataType.DT_INT16,
    "u16": DataType.DT_UINT16,
    "i32": DataType.DT_INT32,
    "u32": DataType.DT_UINT32,
    "i64": DataType.DT_INT64,
    "u64": DataType.DT_UINT64,
    "f16": DataType.DT_FLOAT16,
    "bf16": DataType.DT_BF16,
    "f32": DataType.DT_FLOAT,
    "f64": DataType.DT_DOUBLE,
    "c32": DataType.DT_COMPLEX32,
    "c64": DataType.DT_COMPLEX64,
    "c128": DataType.DT_COMPLEX128,
}


@pytest.mark.parametrize(
    "row",
    [
        "bool bool bool",
        "bool i8 i8",
        "bool f16 f16",
        "i8 u8 i16",
        "i8 i64 i64",
        "u8 u32 u32",
        "u8 i32 i32",
        "u16 i16 i32",
        "u32 i32 i64",
        "i64 f16 f16",
        "u64 bf16 bf16",
        "f16 bf16 f32",
        "f16 f32 f32",
        "f32 f64 f64",
        "c32 f16 c32",
        "c32 bf16 c64",
        "c32 f32 c64",
        "c64 f64 c128",
        "c64 i64 c64",
        "c64 c128 c128",
    ],
)
def test_promote(row):
    a, b, expected = (NAMES[word] for word in row.split())
    assert promote(a, b) is expected
    assert promote(b, a) is expected
    assert promote(DataType.DT_UNDEFINED, a) is a
    assert promote(a, DataType.DT_UNDEFINED) is a


SIGNED, UNSIGNED = ("i8", "i16", "i32", "i64"), ("u8", "u16", "u32", "u64")
REAL, COMPLEX = ("f16", "f32", "f64"), ("c64", "c128")
NUMPY = {"i": "int", "u": "uint", "f": "float", "c": "complex"}


def numpy_type(name):
    return np.dtype(name if name == "bool" else NUMPY[name[0]] + name[1:])


@pytest.mark.parametrize(
    ("a", "b"),
    [
        *itertools.product(("bool", *SIGNED, *REAL), ("bool", *SIGNED[:1])),
        *itertools.product(SIGNED, (*SIGNED, *UNSIGNED[:3])),
        *itertools.product(UNSIGNED, UNSIGNED),
        *itertools.product((*REAL, *COMPLEX), (*REAL, *COMPLEX)),
    ],
)
def test_promotion_agrees_with_numpy(a, b):
    """Where numpy has the same rule: it widens a float for an integer of 16 bits and more."""
    expected = np.promote_types(numpy_type(a), numpy_type(b))
    found = promote(NAMES[a], NAMES[b])
    assert numpy_dtype(found) == expected


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ("DT_STRING", "DT_RESOURCE", "operands are DT_STRING and DT_RESOURCE, expected numbers"),
        ("DT_BOOL", "DT_STRING", "operands are DT_BOOL and DT_STRING, expected numbers"),
        ("DT_FLOAT", "DT_STRING", "an operand is DT_STRING, expected a number"),
        ("DT_INT32", "DT_STRING", "an operand is DT_STRING, expected a number"),
        ("DT_STRING", "DT_COMPLEX64", "an operand is DT_STRING, expected a number"),
        (
            "DT_UINT64",
            "DT_INT64",
            "operands are DT_UINT64 and DT_INT64, expected a common integer type",
        ),
    ],
)
def test_no_common_type(a, b, message):
    with pytest.raises(VerifyException) as caught:
        promote(DataType[a], DataType[b])
    assert str(caught.value) == message


def test_one_element_type_ignores_what_is_undefined():
    open_, f32 = Tensor(DataType.DT_UNDEFINED, None), Tensor(DataType.DT_FLOAT, (2,))
    assert one_element_type(open_, f32, open_) is DataType.DT_FLOAT
    assert one_element_type(open_) is DataType.DT_UNDEFINED
    assert one_element_type(None, f32, None) is DataType.DT_FLOAT
    require(open_, "x", (), "nothing")
    with pytest.raises(VerifyException, match="x is DT_FLOAT, expected nothing"):
        require(f32, "x", (), "nothing")


def test_convert_leaves_equal_types_alone():
    x = np.array([1.5], np.float32)
    assert convert(x, x.dtype) is x
