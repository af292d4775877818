"""Element types and values of GE tensors as ONNX has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor

if TYPE_CHECKING:
    from onnx import TensorProto, ValueInfoProto

    from ge_xdsl.dialects.ge.types import Array

ELEMENT_TYPES: dict[DataType, tuple[int, str]] = {
    DataType.DT_FLOAT: (1, "float"),
    DataType.DT_UINT8: (2, "uint8"),
    DataType.DT_INT8: (3, "int8"),
    DataType.DT_UINT16: (4, "uint16"),
    DataType.DT_INT16: (5, "int16"),
    DataType.DT_INT32: (6, "int32"),
    DataType.DT_INT64: (7, "int64"),
    DataType.DT_BOOL: (9, "bool"),
    DataType.DT_FLOAT16: (10, "float16"),
    DataType.DT_DOUBLE: (11, "double"),
    DataType.DT_UINT32: (12, "uint32"),
    DataType.DT_UINT64: (13, "uint64"),
    DataType.DT_COMPLEX64: (14, "complex64"),
    DataType.DT_COMPLEX128: (15, "complex128"),
    DataType.DT_BF16: (16, "bfloat16"),
}
"""GE element type -> its ONNX number and name, for those of the opset that is written."""


def type_name(dtype: DataType) -> str:
    """The name of an element type in operator schemas, '' for one that ONNX lacks."""
    found = ELEMENT_TYPES.get(dtype)
    return f"tensor({found[1]})" if found is not None else ""


def number_of(dtype: DataType) -> int:
    """The ONNX number of an element type; raises ValueError for one that ONNX lacks."""
    found = ELEMENT_TYPES.get(dtype)
    if found is None:
        raise ValueError(f"element type is {dtype.name}, expected one that ONNX has")
    return found[0]


def tensor_proto(array: Array, dtype: DataType, name: str) -> TensorProto:
    """A tensor without its data, which `data_of` gives; raises ValueError for its type."""
    from onnx import TensorProto

    return TensorProto(dims=array.shape, data_type=number_of(dtype), name=name)


def data_of(array: Array) -> bytes:
    """The raw data of a tensor: its elements in row-major order, lowest byte first."""
    import numpy as np

    array = np.ascontiguousarray(array)
    if array.dtype.kind in "iufc":
        array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    return array.tobytes()


def value_info(name: str, tensor: Tensor) -> ValueInfoProto:
    """The declaration of a value; unknown dimensions are left open."""
    from onnx import helper

    dims = None if tensor.shape is None else [None if d == DYNAMIC else d for d in tensor.shape]
    return helper.make_tensor_value_info(name, number_of(tensor.dtype), dims)
