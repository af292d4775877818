"""The data type table, formats, interned tensor types."""

import numpy as np
import pytest
from xdsl.dialects.builtin import IndexType, StringAttr, TensorType, f32, f80, i32

from ge_xdsl.dialects.ge.text import GeContext, GeParser
from ge_xdsl.dialects.ge.types import (
    DYNAMIC,
    DataType,
    Format,
    Layout,
    Tensor,
    compatible,
    dtype_of_numpy,
    element_type,
    numpy_dtype,
    tensor_of,
)

HAS_NUMPY = [
    d
    for d in DataType
    if d.name
    not in {
        "DT_DUAL_SUB_INT8",
        "DT_DUAL_SUB_UINT8",
        "DT_RESOURCE",
        "DT_STRING_REF",
        "DT_DUAL",
        "DT_VARIANT",
        "DT_UNDEFINED",
        "DT_COMPLEX32",
        "DT_FLOAT4_E1M2",
        "DT_HIFLOAT4",
        "DT_MAX",
    }
]


def parse_type(text):
    return GeParser(GeContext(), text).parse_type()


def test_numbers_are_ges():
    assert (DataType.DT_FLOAT, DataType.DT_INT64, DataType.DT_BF16) == (0, 9, 27)
    assert (Format.FORMAT_ND, Format.FORMAT_FRACTAL_NZ, Format.FORMAT_MAX) == (2, 29, 53)
    assert len(DataType) == 43
    assert len(Format) == 54


@pytest.mark.parametrize("dtype", DataType)
def test_every_data_type_has_its_own_element_type(dtype):
    attr = element_type(dtype)
    assert tensor_of(TensorType(attr, (2,))) == Tensor(dtype, (2,))
    tensor = Tensor(dtype, (2, DYNAMIC))
    assert tensor_of(parse_type(str(tensor.type))) == tensor


@pytest.mark.parametrize("dtype", HAS_NUMPY)
def test_numpy_round_trip(dtype):
    found = numpy_dtype(dtype)
    shared = {
        "DT_QINT8": "DT_INT8",
        "DT_QINT16": "DT_INT16",
        "DT_QINT32": "DT_INT32",
        "DT_QUINT8": "DT_UINT8",
        "DT_QUINT16": "DT_UINT16",
        "DT_UINT1": "DT_BOOL",
        "DT_HIFLOAT8": "DT_FLOAT16",
    }
    assert dtype_of_numpy(found).name == shared.get(dtype.name, dtype.name)


def test_types_without_numpy_say_so():
    with pytest.raises(ValueError, match="DT_VARIANT has no numpy type, expected one that can be"):
        numpy_dtype(DataType.DT_VARIANT)
    with pytest.raises(
        ValueError, match=r"numpy type datetime64\[s\] has no GE data type, expected one"
    ):
        dtype_of_numpy(np.dtype("datetime64[s]"))


def test_equal_tensors_share_a_type():
    assert Tensor(DataType.DT_FLOAT, (2, 3)).type is Tensor(DataType.DT_FLOAT, (2, 3)).type
    assert tensor_of(TensorType(f32, [2, 3])) == Tensor(DataType.DT_FLOAT, (2, 3))


LAYOUTS = [
    (Layout(Format.FORMAT_NCHW, Format.FORMAT_NCHW), "#ge.layout<NCHW>"),
    (Layout(Format.FORMAT_NC1HWC0, Format.FORMAT_NCHW), "#ge.layout<NC1HWC0, NCHW>"),
    (
        Layout(Format.FORMAT_FRACTAL_NZ, Format.FORMAT_ND, (4, DYNAMIC)),
        "#ge.layout<FRACTAL_NZ, ND, [4, ?]>",
    ),
]


@pytest.mark.parametrize(("layout", "text"), LAYOUTS)
def test_layout_is_the_encoding(layout, text):
    tensor = Tensor(DataType.DT_FLOAT16, (1, 2, 3, 3, 16), layout)
    assert str(tensor.type) == f"tensor<1x2x3x3x16xf16, {text}>"
    assert tensor_of(parse_type(str(tensor.type))) == tensor


BAD_TYPES = [
    (i32, "type is i32, expected a tensor"),
    (TensorType(f80, [1]), "element type is f80, expected one of GE's"),
    (TensorType(IndexType(), []), "element type is index, expected one of GE's"),
    (TensorType(f32, [1], StringAttr("x")), 'tensor encoding is "x", expected #ge.layout'),
]


@pytest.mark.parametrize(("attr", "text"), BAD_TYPES)
def test_bad_types(attr, text):
    with pytest.raises(ValueError, match=text):
        tensor_of(attr)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tensor<1xf32, #ge.layout<NCWH>>", "'NCWH' is not a GE format, expected ND, NCHW"),
        ("!ge.element<DT_FLAOT>", "'DT_FLAOT' is not a GE data type, expected DT_"),
        ("#ge.dtype<FLOAT>", "'FLOAT' is not a GE data type, expected DT_"),
    ],
)
def test_bad_type_text(text, message):
    parser = GeParser(GeContext(), text)
    with pytest.raises(Exception, match=message):
        parser.parse_attribute()


def test_tensor_facts():
    tensor = Tensor(DataType.DT_FLOAT, (2, 3))
    assert (tensor.rank, tensor.size(), tensor.is_static) == (2, 6, True)
    assert tensor.with_shape(None).rank is None
    assert tensor.with_shape((2, DYNAMIC)).size() is None
    assert Tensor(DataType.DT_FLOAT, ()).size() == 1
    assert not tensor.with_shape((DYNAMIC,)).is_static


F, H = DataType.DT_FLOAT, DataType.DT_FLOAT16


@pytest.mark.parametrize(
    ("a", "b", "fits"),
    [
        (Tensor(F, (2,)), Tensor(F, (2,)), True),
        (Tensor(F, (2,)), Tensor(F, (DYNAMIC,)), True),
        (Tensor(F, None), Tensor(F, (1, 2)), True),
        (Tensor(F, (2,)), Tensor(F, (3,)), False),
        (Tensor(F, (2,)), Tensor(F, (2, 1)), False),
        (Tensor(F, (2,)), Tensor(H, (2,)), False),
        (Tensor(DataType.DT_UNDEFINED, None), Tensor(H, (2,)), True),
    ],
)
def test_compatible(a, b, fits):
    assert compatible(a, b) is fits
