"""Constant values: small ones inline in the IR, large ones as references to a weight.

A `Weight` names a read-only numpy buffer, usually a slice of a memory-mapped file; the IR holds
only the reference. On disk the buffers of `model.mlir` stand in `model.safetensors` beside it, and
the module attribute `ge.weights` names that file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr, TensorType
from xdsl.ir import Attribute, Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from ge_xdsl.dialects.ge.types import (
    DataType,
    Tensor,
    dtype_of_numpy,
    numpy_dtype,
    tensor_of,
)

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

INLINE_LIMIT = 64
"""Constants of at most this many elements are printed inline as `dense<...>`."""

_INLINE_TYPES = frozenset(
    {
        DataType.DT_FLOAT,
        DataType.DT_FLOAT16,
        DataType.DT_BF16,
        DataType.DT_DOUBLE,
        DataType.DT_BOOL,
        DataType.DT_INT8,
        DataType.DT_INT16,
        DataType.DT_INT32,
        DataType.DT_INT64,
        DataType.DT_UINT8,
        DataType.DT_UINT16,
        DataType.DT_UINT32,
        DataType.DT_UINT64,
    }
)


class Weight:
    """A named constant buffer; `tensor` and the buffer are None until a store is attached.

    `source` is the path of the .safetensors file that holds it under `key`, '' for any other.
    """

    __slots__ = ("_array", "key", "source", "tensor")

    def __init__(self, key: str, array: Array | None = None, tensor: Tensor | None = None) -> None:
        self.key = key
        self.source = ""
        self._array = array
        self.tensor = tensor
        if array is not None:
            array.flags.writeable = False
            if tensor is None:
                self.tensor = Tensor(dtype_of_numpy(array.dtype), array.shape)

    @property
    def attached(self) -> bool:
        return self._array is not None

    def array(self) -> Array:
        """The values, read-only; raises ValueError when no store was attached."""
        if self._array is None:
            raise ValueError(f"weight '{self.key}' has no data, expected its .safetensors file")
        return self._array

    def attach(self, array: Array, tensor: Tensor, source: str = "") -> None:
        """Give a weight that was parsed by name its buffer."""
        array.flags.writeable = False
        self._array = array
        self.tensor = tensor
        self.source = source

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Weight) or self.tensor != other.tensor:
            return False
        if self._array is None or other._array is None:
            return self._array is other._array and self.key == other.key
        return same_bytes(self._array, other._array)

    def __hash__(self) -> int:
        return hash(self.tensor)

    def __repr__(self) -> str:
        return f"Weight({self.key!r}, {self.tensor})"


def same_bytes(a: Array, b: Array) -> bool:
    """Bit equality of two arrays of one dtype and shape: NaN equals NaN, -0.0 is not 0.0."""
    import numpy as np

    if a.__array_interface__["data"] == b.__array_interface__["data"]:
        return True
    left = np.ascontiguousarray(a).reshape(-1).view(np.uint8)
    right = np.ascontiguousarray(b).reshape(-1).view(np.uint8)
    return bool(np.array_equal(left, right))


@irdl_attr_definition
class WeightAttr(Data[Weight]):
    """`#ge.weight<"conv1.weight">`: a constant whose values stand in the weight store."""

    name = "ge.weight"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Weight:
        with parser.in_angle_brackets():
            return Weight(parser.parse_str_literal())

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string_literal(self.data.key)


def const_attr(array: Array, key: str = "", dtype: DataType | None = None) -> Attribute:
    """The attribute of a constant with these values.

    At most `INLINE_LIMIT` elements become `dense<...>`, more a `Weight` named `key` that keeps
    (not copies) the array. `dtype` tells types apart that share a numpy type (qint8 and int8).
    """
    ge_type = dtype_of_numpy(array.dtype) if dtype is None else dtype
    tensor = Tensor(ge_type, array.shape)
    if array.size <= INLINE_LIMIT and ge_type in _INLINE_TYPES:
        stored = array.astype(array.dtype.newbyteorder("<"), copy=False)
        if ge_type == DataType.DT_BOOL:  # as the parser writes true: equal values, equal bytes
            stored = stored.astype("uint8") * 0xFF
        return DenseIntOrFPElementsAttr(
            cast("TensorType[Attribute]", tensor.type),  # pyright: ignore[reportArgumentType]
            BytesAttr(stored.tobytes()),
        )
    return WeightAttr(Weight(key or "weight", array, tensor))


def array_of(attr: DenseIntOrFPElementsAttr | WeightAttr) -> Array:
    """The values of a constant attribute as a read-only array of its shape and dtype.

    Raises ValueError when the values are not there (a weight without its store).
    """
    if isinstance(attr, WeightAttr):
        return attr.data.array()
    import numpy as np

    tensor = tensor_of(attr.type)
    shape = tensor.shape or ()
    dtype = numpy_dtype(tensor.dtype)
    flat = np.frombuffer(attr.data.data, dtype)
    if tensor.dtype == DataType.DT_BOOL:  # the parser writes true as 0xff
        flat = np.frombuffer(attr.data.data, np.uint8) != 0
    if flat.size == 1 and tensor.size() != 1:
        return np.broadcast_to(flat.reshape(()), shape)
    return flat.reshape(shape)


def tensor_of_const(attr: Attribute) -> Tensor | None:
    """Element type and shape of a constant attribute, None for a weight without its store."""
    if isinstance(attr, WeightAttr):
        return attr.data.tensor
    if isinstance(attr, DenseIntOrFPElementsAttr):
        return tensor_of(cast("DenseIntOrFPElementsAttr[Any]", attr).type)
    return None
