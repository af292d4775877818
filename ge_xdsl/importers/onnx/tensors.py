"""ONNX tensors -> numpy arrays: views of the file where it holds the bytes, never copies."""

from __future__ import annotations

import mmap
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ge_xdsl.dialects.ge.store import inside, open_regular
from ge_xdsl.dialects.ge.types import DYNAMIC, RANK_LIMIT, DataType, Tensor, numpy_dtype
from ge_xdsl.importers.onnx.order import check_text

if TYPE_CHECKING:
    from onnx import SparseTensorProto, TensorProto, ValueInfoProto

    from ge_xdsl.dialects.ge.types import Array
    from ge_xdsl.importers.onnx.node import Node

ELEMENT_TYPES: dict[int, DataType] = {
    1: DataType.DT_FLOAT,
    2: DataType.DT_UINT8,
    3: DataType.DT_INT8,
    4: DataType.DT_UINT16,
    5: DataType.DT_INT16,
    6: DataType.DT_INT32,
    7: DataType.DT_INT64,
    8: DataType.DT_STRING,
    9: DataType.DT_BOOL,
    10: DataType.DT_FLOAT16,
    11: DataType.DT_DOUBLE,
    12: DataType.DT_UINT32,
    13: DataType.DT_UINT64,
    14: DataType.DT_COMPLEX64,
    15: DataType.DT_COMPLEX128,
    16: DataType.DT_BF16,
    17: DataType.DT_FLOAT8_E4M3FN,
    19: DataType.DT_FLOAT8_E5M2,
    22: DataType.DT_INT4,
    23: DataType.DT_FLOAT4_E2M1,
    24: DataType.DT_FLOAT8_E8M0,
    25: DataType.DT_UINT2,
    26: DataType.DT_INT2,
}
"""TensorProto.DataType -> GE element type; types that GE lacks are left out."""

PACKED = {22: 4, 23: 4, 25: 2, 26: 2}
"""TensorProto.DataType -> bits of an element, for the types that share bytes."""

ELEMENT_LIMIT = 2**40
"""Most elements of one tensor that a model may declare."""
DENSE_LIMIT = 2**24
"""Most elements of a tensor that a model gives sparse: its zeros take memory, but no byte of the
file."""

_FIELDS: dict[int, tuple[str, str, str]] = {
    1: ("float_data", "float32", "float32"),
    2: ("int32_data", "int32", "uint8"),
    3: ("int32_data", "int32", "int8"),
    4: ("int32_data", "int32", "uint16"),
    5: ("int32_data", "int32", "int16"),
    6: ("int32_data", "int32", "int32"),
    7: ("int64_data", "int64", "int64"),
    9: ("int32_data", "int32", "bool"),
    10: ("int32_data", "int32", "uint16"),
    11: ("double_data", "float64", "float64"),
    12: ("uint64_data", "uint64", "uint32"),
    13: ("uint64_data", "uint64", "uint64"),
    14: ("float_data", "float32", "float32"),
    15: ("double_data", "float64", "float64"),
    16: ("int32_data", "int32", "uint16"),
    17: ("int32_data", "int32", "uint8"),
    19: ("int32_data", "int32", "uint8"),
    24: ("int32_data", "int32", "uint8"),
}
"""Element type -> (typed field, its numpy type, the numpy type of the bits)."""


def element_type(number: int) -> DataType:
    """The GE element type of an ONNX one; raises ValueError when GE has none."""
    found = ELEMENT_TYPES.get(number)
    if found is None:
        raise ValueError(f"element type is {_type_name(number)}, expected one that GE has")
    return found


def type_attribute(node: Node, name: str, default: DataType | None = None) -> DataType:
    """The GE element type that a node attribute names, required unless there is a default."""
    if default is not None and not node.has(name):
        return default
    number = node.required_integer(name)
    try:
        return element_type(number)
    except ValueError as error:
        node.fail(f"attribute '{name}': {error}")


def _type_name(number: int) -> str:
    from onnx import TensorProto

    known = {value: name for name, value in TensorProto.DataType.items()}
    return known.get(number, f"number {number}")


def element_count(dims: Sequence[int]) -> int:
    """The product of known dimensions; raises ValueError for hostile ones."""
    if len(dims) > RANK_LIMIT:
        raise ValueError(f"has {len(dims)} dimensions, expected at most {RANK_LIMIT}")
    count = 1
    for dim in dims:
        if dim < 0:
            raise ValueError(f"has a dimension of {dim}, expected none below 0")
        count *= dim
    if count > ELEMENT_LIMIT:
        raise ValueError(f"has {count} elements, expected at most {ELEMENT_LIMIT}")
    return count


def declared_tensor(info: ValueInfoProto) -> Tensor | None:
    """The tensor type that a model declares, None when it declares none.

    A dimension that is absent, symbolic or -1 is unknown. Raises ValueError for types that are no
    tensors or have hostile dimensions.
    """
    kind = info.type.WhichOneof("value")
    if kind is None:
        return None
    if kind != "tensor_type":
        raise ValueError(f"is a {kind.removesuffix('_type')}, expected a tensor")
    declared = info.type.tensor_type
    if not declared.elem_type:
        return None
    dtype = element_type(declared.elem_type)
    if not declared.HasField("shape"):
        return Tensor(dtype, None)
    dims = [dimension(dim) for dim in declared.shape.dim]
    element_count([dim for dim in dims if dim != DYNAMIC])
    return Tensor(dtype, tuple(dims))


def dimension(dim: Any) -> int:
    """A declared dimension; an unknown one is DYNAMIC."""
    if not dim.HasField("dim_value") or dim.dim_value == -1:
        return DYNAMIC
    return -2 if dim.dim_value == DYNAMIC else dim.dim_value


class TensorReader:
    """Reads tensors of one model; external data files are mapped once, from its folder only."""

    def __init__(self, file: str, folder: Path | None) -> None:
        self.file = file
        self.folder = folder
        self.maps: dict[Path, Any] = {}

    def array(
        self, tensor: TensorProto | SparseTensorProto, data: memoryview | None = None
    ) -> Array:
        """The values of a tensor, read-only; `data` is its raw data when that was cut out.

        Raises ValueError for an ill-formed tensor, CompileError for an external file.
        """
        import numpy as np

        if not hasattr(tensor, "data_type"):
            return self._dense(cast("SparseTensorProto", tensor))
        tensor = cast("TensorProto", tensor)
        shape = tuple(tensor.dims)
        count = element_count(shape)
        dtype = numpy_dtype(element_type(tensor.data_type))
        if dtype.hasobject:
            raise ValueError("element type is STRING, expected numbers")
        bits = PACKED.get(tensor.data_type)
        size = count * dtype.itemsize if bits is None else -(-count * bits // 8)
        if tensor.data_location == tensor.EXTERNAL:
            data = self._external(tensor, size)
        elif data is None and tensor.HasField("raw_data"):
            data = memoryview(tensor.raw_data)
        if data is None and bits is None:
            return _typed(tensor, count, dtype).reshape(shape)
        if data is None:
            data = memoryview(_packed_bytes(tensor, size))
        if len(data) != size:
            raise ValueError(
                f"has {len(data)} bytes of data, expected {size} "
                f"for {'x'.join(map(str, shape)) or 'a scalar'} {dtype.name}"
            )
        if bits is not None:
            return _unpacked(data, count, bits).view(dtype).reshape(shape)
        array = np.frombuffer(data, dtype, count) if count else np.zeros(0, dtype)
        if dtype == np.bool_ and count and array.view(np.uint8).max() > 1:
            array = array.view(np.uint8) != 0
        return array.reshape(shape)

    def _dense(self, sparse: SparseTensorProto) -> Array:
        """A tensor that lists its elements other than 0, with each one's place in the order of
        rows or its index in each dimension."""
        import numpy as np

        shape = tuple(sparse.dims)
        if (count := element_count(shape)) > DENSE_LIMIT:
            raise ValueError(f"is sparse and has {count} elements, expected at most {DENSE_LIMIT}")
        values, indices = self.array(sparse.values), self.array(sparse.indices)
        entries = len(values) if values.ndim == 1 else -1
        if indices.dtype != np.int64 or indices.shape not in ((entries,), (entries, len(shape))):
            raise ValueError(
                f"has indices {indices.dtype} {indices.shape} of values {values.shape}, expected "
                "an int64 for each value, or one for each of its dimensions"
            )
        bounds = np.array([count] if indices.ndim == 1 else shape)
        columns = indices.reshape(entries, len(bounds))
        if (columns < 0).any() or (columns >= bounds).any():
            raise ValueError("has an index that is out of range, expected places in the tensor")
        dense = np.zeros(shape, values.dtype)
        dense.reshape(-1)[
            indices if indices.ndim == 1 else np.ravel_multi_index(tuple(columns.T), shape)
        ] = values
        return dense

    def _external(self, tensor: TensorProto, size: int) -> memoryview:
        entries = {entry.key: entry.value for entry in tensor.external_data}
        check_text(*entries.values())
        if self.folder is None:
            raise ValueError("has external data, expected a model that was read from a file")
        path = inside(self.folder, entries.get("location", ""), "external data", self.file)
        offset = _natural(entries.get("offset", "0"), "offset")
        length = _natural(entries.get("length", str(size)), "length")
        buffer = self._mapped(path)
        if length != size:
            raise ValueError(f"has {length} bytes of external data, expected {size}")
        if offset + size > len(buffer):
            raise ValueError(
                f"external data ends at byte {offset + size}, "
                f"expected at most {len(buffer)}, the size of '{path.name}'"
            )
        return memoryview(buffer)[offset : offset + size]

    def _mapped(self, path: Path) -> Any:
        if path not in self.maps:
            with open_regular(path) as file:
                empty = os.fstat(file.fileno()).st_size == 0
                self.maps[path] = (
                    b"" if empty else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
                )
        return self.maps[path]


def _packed_bytes(tensor: TensorProto, size: int) -> bytes:
    """The bytes of a packed tensor that is given element by element, one byte in each."""
    import numpy as np

    values = np.array(tensor.int32_data, np.int32)
    if values.size != size:
        raise ValueError(f"has {values.size} values in int32_data, expected {size}")
    if size and not -128 <= values.min() <= values.max() <= 255:
        raise ValueError("has a value in int32_data that is out of range, expected a byte")
    return values.astype(np.uint8).tobytes()


def _unpacked(data: memoryview, count: int, bits: int) -> Array:
    """The elements of `bits` bits each, lowest bits of a byte first, one byte for each."""
    import numpy as np

    packed = np.frombuffer(data, np.uint8)
    parts = [packed >> shift & (1 << bits) - 1 for shift in range(0, 8, bits)]
    return np.stack(parts, axis=-1).reshape(-1)[:count]


def _natural(text: str, what: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise ValueError(f"{what} of external data is '{text}', expected a number of bytes")
    return int(text)


def _typed(tensor: TensorProto, count: int, dtype: Any) -> Array:
    """Values given element by element in a typed field."""
    import numpy as np

    field, stored, bits = _FIELDS[tensor.data_type]
    values: Array = np.array(getattr(tensor, field), stored)
    want = count * 2 if dtype.kind == "c" else count
    if values.size != want:
        raise ValueError(f"has {values.size} values in {field}, expected {want}")
    narrow = values.astype(bits)
    if bits != "bool" and not np.array_equal(narrow.astype(stored), values, equal_nan=True):
        raise ValueError(f"has a value in {field} that is out of range, expected {bits}")
    return narrow.astype(dtype) if bits == "bool" else narrow.view(dtype)


def read_file(path: Path) -> memoryview:
    """A file's bytes: mapped when large, else copied, so that it may change later.

    Raises CompileError when it cannot be read.
    """
    with open_regular(path) as file:
        if os.fstat(file.fileno()).st_size < MAP_FROM:
            return memoryview(file.read())
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


MAP_FROM = 2**22
"""Model files of at least this many bytes are memory-mapped."""
