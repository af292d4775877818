"""Tensors and element types of torch, and their numpy and GE counterparts."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ge_xdsl.dialects.ge.types import DataType
from ge_xdsl.errors import CompileError

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

DTYPES: dict[str, DataType] = {
    "bfloat16": DataType.DT_BF16,
    "bool": DataType.DT_BOOL,
    "complex64": DataType.DT_COMPLEX64,
    "complex128": DataType.DT_COMPLEX128,
    "float16": DataType.DT_FLOAT16,
    "float32": DataType.DT_FLOAT,
    "float64": DataType.DT_DOUBLE,
    "float8_e4m3fn": DataType.DT_FLOAT8_E4M3FN,
    "float8_e5m2": DataType.DT_FLOAT8_E5M2,
    "int16": DataType.DT_INT16,
    "int32": DataType.DT_INT32,
    "int64": DataType.DT_INT64,
    "int8": DataType.DT_INT8,
    "uint16": DataType.DT_UINT16,
    "uint32": DataType.DT_UINT32,
    "uint64": DataType.DT_UINT64,
    "uint8": DataType.DT_UINT8,
}
"""Name of a torch dtype -> the GE data type."""

VIEWED = {"bfloat16": "int16", "float8_e4m3fn": "uint8", "float8_e5m2": "uint8"}
"""Name of a torch dtype without a numpy type -> one of its width that has one."""


def torch_module() -> Any:
    """The torch package; raises CompileError when it is not installed."""
    try:
        return import_module("torch")
    except ImportError:
        raise CompileError(
            "importing from torch needs the torch package, expected: pip install ge-xdsl[torch]"
        ) from None


def dtype_of_torch(dtype: Any) -> DataType:
    """The GE data type of a torch dtype; raises CompileError for one that GE does not have."""
    name = str(dtype).removeprefix("torch.")
    if name not in DTYPES:
        raise CompileError(f"element type is {name}, expected one of {', '.join(DTYPES)}")
    return DTYPES[name]


def array_of_tensor(tensor: Any) -> Array:
    """A numpy array over the memory of a CPU tensor; nothing is copied.

    Raises CompileError for a tensor that is elsewhere, sparse or of another element type.
    """
    from ge_xdsl.dialects.ge.types import numpy_dtype

    dtype = dtype_of_torch(tensor.dtype)
    if tensor.device.type != "cpu" or str(tensor.layout) != "torch.strided":
        raise CompileError(
            f"tensor is {tensor.layout} on {tensor.device}, expected a strided one on the cpu"
        )
    plain = tensor.detach().resolve_conj().resolve_neg()
    carrier = VIEWED.get(str(tensor.dtype).removeprefix("torch."))
    if carrier is None:
        return plain.numpy()
    return plain.view(getattr(torch_module(), carrier)).numpy().view(numpy_dtype(dtype))


def tensor_of_array(array: Array, dtype: Any) -> Any:
    """A torch tensor of `dtype` over the memory of a writeable array of the same element type."""
    torch = torch_module()
    carrier = VIEWED.get(str(dtype).removeprefix("torch."))
    if carrier is None:
        return torch.from_numpy(array)
    return torch.from_numpy(array.view(carrier)).view(dtype)
