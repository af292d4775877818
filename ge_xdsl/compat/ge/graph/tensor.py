"""`ge.graph.tensor`: constant values with their description.

Values are exact: a float reads as what is stored, and bool, bf16 and empty tensors read too.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

from ge_xdsl.compat.ge._quirks import upstream_quirks
from ge_xdsl.compat.ge.graph.tensor_desc import NotCopyable, Shape, TensorDesc, is_int_list
from ge_xdsl.compat.ge.graph.types import Placement
from ge_xdsl.dialects.ge.hifloat8 import as_stored, from_stored, stored_kind
from ge_xdsl.dialects.ge.types import DataType, Format, dtype_of_numpy, numpy_dtype

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ge_xdsl.dialects.ge.types import Array

_CONSTRUCTIBLE = frozenset(
    {
        DataType.DT_FLOAT,
        DataType.DT_FLOAT16,
        DataType.DT_INT8,
        DataType.DT_INT16,
        DataType.DT_INT32,
        DataType.DT_INT64,
        DataType.DT_UINT8,
        DataType.DT_UINT16,
        DataType.DT_UINT32,
        DataType.DT_UINT64,
        DataType.DT_BOOL,
    }
)


_NARROW_INTEGERS = frozenset(
    {DataType.DT_INT4, DataType.DT_INT2, DataType.DT_UINT2, DataType.DT_UINT1}
)
"""Integers of less than a byte; numpy has no such types of its own."""

_READABLE_IN_GE = (_CONSTRUCTIBLE - {DataType.DT_BOOL}) | {DataType.DT_DOUBLE}


class Tensor(NotCopyable):
    """A constant: element type, format, shape and values."""

    def __init__(
        self,
        data: list[Any] | None = None,
        file_path: str | None = None,
        data_type: DataType = DataType.DT_FLOAT,
        format: Format = Format.FORMAT_ND,
        shape: list[int] | None = None,
        placement: Placement = Placement.PLACEMENT_HOST,
    ) -> None:
        if shape is not None and not is_int_list(shape):
            raise TypeError("Shape must be a list of integers")
        if not isinstance(cast("object", placement), Placement):
            raise TypeError("Placement must be a Placement")
        if data is not None and file_path is not None:
            raise RuntimeError("Tensor should be created either by data or by file")
        self._data_type = data_type
        self._format = format
        self._shape = Shape(shape)
        self._placement = placement
        self._array: Array | None = None
        self._owner: Any = None
        self._owns_handle = True
        if data is not None:
            self._array = _array_of_list(data, data_type, self._shape)
            self._data_type = dtype_of_numpy(self._array.dtype)
        elif file_path is not None:
            self._array = _array_of_file(file_path, data_type, self._shape)

    @classmethod
    def _create_from(cls, array: Array | None, dtype: DataType | None = None) -> Tensor:
        """A tensor with the values of an array."""
        if array is None:
            raise ValueError("Tensor pointer cannot be None")
        made = Tensor(
            data_type=dtype_of_numpy(array.dtype) if dtype is None else dtype,
            shape=list(array.shape),
        )
        made._array = array
        return made

    @property
    def _handle(self) -> Self:
        return self

    def _transfer_ownership_when_pass_as_attr(self, builder: Any) -> None:
        """Hand the tensor to a builder; a second time is an error."""
        if not self._owns_handle:
            raise RuntimeError(
                f"Tensor already has an new owner builder :{self._owner.name}, "
                "cannot transfer ownership again"
            )
        self._owner = builder
        self._owns_handle = False

    def _values(self) -> Array | None:
        """The values as an array, None for a tensor without data."""
        return self._array

    def get_format(self) -> Format:
        return self._format

    def set_format(self, format: Format) -> Self:
        if not isinstance(cast("object", format), Format):
            raise TypeError("Format must be a Format")
        self._format = format
        return self

    def get_data_type(self) -> DataType:
        return self._data_type

    def set_data_type(self, data_type: DataType) -> Self:
        """Relabel the bytes; they are read again as the new element type."""
        if not isinstance(cast("object", data_type), DataType):
            raise TypeError("Data_type must be a DataType")
        if self._array is not None and data_type != self._data_type:
            stored = as_stored(self._array, self._data_type)
            self._array = _relabelled(stored, data_type, self._shape)
        self._data_type = data_type
        return self

    def get_shape(self) -> Shape:
        return Shape(self._shape)

    def get_tensor_desc(self) -> TensorDesc:
        return TensorDesc(list(self._shape), self._format, self._data_type)

    def get_placement(self) -> Placement:
        return self._placement

    def get_data(self) -> Any:
        """A number for a scalar, else nested lists; raises ValueError for a tensor without data."""
        if self._array is None:
            raise ValueError("tensor has no data, expected values")
        if upstream_quirks():
            return _as_in_ge(self._array, self._data_type)
        if self._data_type in _NARROW_INTEGERS:
            return self._array.astype("int64").tolist()
        if self._array.dtype.kind in "fV":  # V: floats of ml_dtypes, of which float64 is exact
            return _as_written(self._array).tolist()
        return self._array.tolist()

    def to_device(self) -> Self:
        return self._move(Placement.PLACEMENT_DEVICE, "to_device() only supports host tensors")

    def to_host(self) -> Self:
        return self._move(Placement.PLACEMENT_HOST, "to_host() only supports device tensors")

    def _move(self, place: Placement, refusal: str) -> Self:
        if self._placement == place:
            raise ValueError(refusal)
        self._placement = place
        return self

    format = property(get_format)
    data_type = property(get_data_type)
    shape = property(get_shape)
    data = property(get_data)
    placement = property(get_placement)

    def __str__(self) -> str:
        pad = " " * 8
        return (
            f"\n{pad}Tensor format is {int(self._format)},"
            f"\n{pad}data_type is {int(self._data_type)},"
            f"\n{pad}shape is {list(self._shape)},"
            f"\n{pad}data is {self.get_data()}\n{pad}"
        )


def _as_in_ge(array: Array, dtype: DataType) -> Any:
    """What GE reads: floats with six decimals, and no values of a few kinds."""
    if dtype not in _READABLE_IN_GE or not array.size:
        raise ValueError(f"Invalid item: GE reads no values of {dtype.name} {list(array.shape)}")
    if array.dtype.kind != "f":
        return array.tolist()
    return _rounded(array.astype("float64").tolist())


def _as_written(array: Array) -> Array:
    """Floats as float64: those that six decimals give back are those decimals, as in GE.

    So 0.1 of float32 reads as 0.1 and not as 0.10000000149011612; every other value is exact.
    """
    import numpy as np

    exact = array.astype("float64")
    with np.errstate(over="ignore", invalid="ignore"):
        short = np.round(exact, 6)
        same = short.astype(array.dtype) == array
    return np.where(same & (short != 0), short, exact)


def _rounded(value: Any) -> Any:
    if isinstance(value, list):
        return [_rounded(item) for item in cast("list[Any]", value)]
    return float(f"{value:.6f}")


def _element_count(shape: Shape) -> int:
    count = 1
    for dim in shape:
        count *= dim
    return count


def _array_of_list(data: object, dtype: DataType, shape: Shape) -> Array:
    """The values of a flat list in `dtype`; as many of them as the shape says."""
    import numpy as np

    if not isinstance(data, list):
        raise TypeError("data should be List")
    values = cast("list[Any]", data)
    if values and set(map(type, values)) == {bool}:
        dtype = DataType.DT_BOOL
    elif dtype == DataType.DT_DOUBLE:
        raise RuntimeError("DT_DOUBLE is not supported in python Tensor constructor")
    elif dtype not in _CONSTRUCTIBLE or dtype == DataType.DT_BOOL:
        name = getattr(dtype, "name", dtype)
        raise RuntimeError(f"Failed to create Tensor with data type: {name}")
    wrong = next((kind for kind in map(type, values) if not hasattr(kind, "__float__")), None)
    if wrong is not None:
        raise TypeError(f"data should be List of numbers, not of {wrong.__name__}")
    kind = numpy_dtype(dtype)
    if kind.kind in "iu":
        wrap = 1 << (8 * kind.itemsize)
        unsigned = [int(v) % wrap for v in values]
        flat = np.array(unsigned, f"u{kind.itemsize}").view(kind)
    else:
        with np.errstate(over="ignore"):
            flat = np.array(values, "float64" if kind.kind == "f" else kind).astype(kind)
    return _fitted(flat, shape)


def _fitted(flat: Array, shape: Shape) -> Array:
    count = _element_count(shape)
    if flat.size < count or min(shape, default=0) < 0:
        raise ValueError(f"{flat.size} values, expected {count} for shape {list(shape)}")
    return flat[:count].reshape(tuple(shape))


def _array_of_file(path: str, dtype: DataType, shape: Shape) -> Array:
    import numpy as np

    count = _element_count(shape)
    try:
        with Path(path).open("rb") as file:
            data = file.read(count * stored_kind(dtype).itemsize)
        return _fitted(from_stored(np.frombuffer(data, stored_kind(dtype)), dtype), shape)
    except (OSError, ValueError) as error:
        raise RuntimeError(f"Failed to create Tensor: {error}") from None


def _relabelled(array: Array, dtype: DataType, shape: Shape) -> Array:
    import numpy as np

    raw = np.ascontiguousarray(array).tobytes()
    kind = stored_kind(dtype)
    count = _element_count(shape)
    if len(raw) < count * kind.itemsize:
        raise ValueError(
            f"{len(raw)} bytes, expected {count * kind.itemsize} for {dtype.name} {list(shape)}"
        )
    return from_stored(np.frombuffer(raw, kind, count), dtype).reshape(tuple(shape))


def flatten(value: Any) -> list[Any]:
    """The leaves of nested lists, in order."""
    if not isinstance(value, list):
        return [value]
    parts = cast("list[Any]", value)
    if not any_is(parts, list):
        return list(parts)
    return list(itertools.chain.from_iterable(flatten(part) for part in parts))


def any_is(items: Iterable[Any], kind: type) -> bool:
    """Whether an item is an instance of `kind`; each type among them is asked once."""
    return any(issubclass(found, kind) for found in set(map(type, items)))
