"""The weight store on disk: `.safetensors` files, read by memory map and written by streaming.

Layout: u64 header length (little-endian), a JSON header `key -> {dtype, shape, data_offsets}`,
then the data; offsets count from the end of the header. Element types that the format does not
name are stored as raw bytes: dtype U8, shape [number of bytes].
"""

from __future__ import annotations

import json
import os
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from xdsl.ir import Operation

from ge_xdsl.dialects.ge.types import RANK_LIMIT, DataType, Tensor, numpy_dtype
from ge_xdsl.dialects.ge.weights import WeightAttr
from ge_xdsl.errors import CompileError, Location

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

WEIGHTS = "ge.weights"
"""Module attribute: the name of the .safetensors file in the text's folder."""
HEADER_LIMIT = 100_000_000
"""Largest JSON header, in bytes, that is read."""

STORED: dict[DataType, str] = {
    DataType.DT_FLOAT: "F32",
    DataType.DT_FLOAT16: "F16",
    DataType.DT_BF16: "BF16",
    DataType.DT_DOUBLE: "F64",
    DataType.DT_INT8: "I8",
    DataType.DT_INT16: "I16",
    DataType.DT_INT32: "I32",
    DataType.DT_INT64: "I64",
    DataType.DT_UINT8: "U8",
    DataType.DT_UINT16: "U16",
    DataType.DT_UINT32: "U32",
    DataType.DT_UINT64: "U64",
    DataType.DT_BOOL: "BOOL",
    DataType.DT_FLOAT8_E5M2: "F8_E5M2",
    DataType.DT_FLOAT8_E4M3FN: "F8_E4M3",
}
"""GE element type -> the name the file format gives it."""
RAW = "U8"


@dataclass(frozen=True, slots=True)
class Entry:
    """One tensor of a store: its declared type and its byte range in the file's data."""

    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int


class Store:
    """A memory-mapped .safetensors file; `array` gives read-only views into it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.buffer: Any = b""
        self.data_start = 0
        self.entries: dict[str, Entry] = {}
        self._open()

    def _open(self) -> None:
        import mmap

        with open_regular(self.path) as file:
            size = os.fstat(file.fileno()).st_size
            if size < 8:
                raise self.error(f"has {size} bytes, expected a header of at least 8")
            length = int.from_bytes(file.read(8), "little")
            if length > min(size - 8, HEADER_LIMIT):
                raise self.error(
                    f"header length is {length}, expected at most {min(size - 8, HEADER_LIMIT)}"
                )
            header = file.read(length)
            self.buffer = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self.data_start = 8 + length
        self.entries = self._read_header(header, size - self.data_start)

    def error(self, message: str, key: str = "") -> CompileError:
        return CompileError(
            message, subject=f"weight '{key}'" if key else "", location=Location(str(self.path))
        )

    def _read_header(self, header: bytes, size: int) -> dict[str, Entry]:
        def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
            found = dict(pairs)
            if len(found) != len(pairs):
                counts = Counter(key for key, _ in pairs)
                twice = next(key for key, count in counts.items() if count > 1)
                raise self.error(f"header has the key '{twice}' twice, expected it once")
            return found

        try:
            parsed: object = json.loads(header.decode("utf-8"), object_pairs_hook=unique)
        except (ValueError, RecursionError) as error:
            raise self.error(f"header is no JSON text, {error}") from None
        if not isinstance(parsed, dict):
            raise self.error("header is no JSON object, expected one")
        items = cast("dict[str, object]", parsed)
        return {k: self._entry(k, v, size) for k, v in items.items() if k != "__metadata__"}

    def _entry(self, key: str, value: object, size: int) -> Entry:
        fields = cast("dict[str, object]", value) if isinstance(value, dict) else {}
        shape = _naturals(fields.get("shape"))
        offsets = _naturals(fields.get("data_offsets"))
        dtype = fields.get("dtype")
        if not isinstance(dtype, str) or shape is None or offsets is None or len(offsets) != 2:
            raise self.error("entry is not {dtype, shape, data_offsets}, expected these", key)
        if len(shape) > RANK_LIMIT:
            raise self.error(f"has {len(shape)} dimensions, expected at most {RANK_LIMIT}", key)
        begin, end = offsets
        if not begin <= end <= size:
            raise self.error(
                f"data_offsets are {begin} and {end}, expected a range in {size} bytes", key
            )
        return Entry(dtype, shape, begin, end)

    def array(self, key: str, tensor: Tensor) -> Array:
        """The values stored under `key`, a view of the file.

        `tensor` is the type that the graph declares; raises CompileError when the file differs.
        """
        import numpy as np

        entry = self.entries.get(key)
        if entry is None:
            raise self.error("is not in the file, expected it", key)
        count = tensor.size()
        if tensor.shape is None or count is None:
            raise self.error(f"type is {tensor}, expected known dimensions", key)
        dtype = stored_dtype(tensor, key)
        name = STORED.get(tensor.dtype, RAW)
        shape = tensor.shape if tensor.dtype in STORED else (count * dtype.itemsize,)
        if entry.dtype != name or entry.shape != shape:
            raise self.error(
                f"is {entry.dtype}{list(entry.shape)}, expected {name}{list(shape)} for {tensor}",
                key,
            )
        if entry.end - entry.begin != count * dtype.itemsize:
            raise self.error(
                f"has {entry.end - entry.begin} bytes, expected {count * dtype.itemsize}", key
            )
        if not count:
            return np.zeros(tensor.shape, dtype)
        flat = np.frombuffer(self.buffer, dtype, count, self.data_start + entry.begin)
        if dtype == np.bool_ and flat.view(np.uint8).max() > 1:
            raise self.error("has a BOOL that is neither 0 nor 1, expected one of them", key)
        return flat.reshape(tensor.shape)


def stored_dtype(tensor: Tensor, key: str) -> Any:
    """The numpy dtype whose bytes stand in a store; raises CompileError when there is none."""
    try:
        dtype = numpy_dtype(tensor.dtype)
    except ValueError as error:
        raise CompileError(str(error), subject=f"weight '{key}'") from None
    if dtype.hasobject:
        raise CompileError(
            f"element type is {tensor.dtype.name}, expected one of fixed size",
            subject=f"weight '{key}'",
        )
    return dtype


def _naturals(value: object) -> tuple[int, ...] | None:
    """A list of integers >= 0 as a tuple, None for anything else."""
    if not isinstance(value, list):
        return None
    items = cast("list[object]", value)
    numbers = [n for n in items if isinstance(n, int) and not isinstance(n, bool) and n >= 0]
    return tuple(numbers) if len(numbers) == len(items) else None


def open_regular(path: Path) -> IO[bytes]:
    """A regular file opened for reading; raises CompileError for anything else."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise CompileError("is no regular file, expected one", location=Location(str(path)))
    return os.fdopen(descriptor, "rb")


def unreadable(path: Path | str, error: OSError | ValueError) -> CompileError:
    """The error for a file that cannot be opened, read or written."""
    reason = error.strerror if isinstance(error, OSError) else None
    return CompileError(
        f"cannot use the file, {(reason or str(error)).lower()}", location=Location(str(path))
    )


def inside(folder: Path, name: str, what: str, file: Path | str) -> Path:
    """The path of `name` in `folder`, which it must not leave, not even by a symbolic link.

    Raises CompileError at `file`, where `what` holds the name.
    """
    path = folder / name
    try:
        escapes = (
            not name
            or os.path.isabs(name)
            or "\\" in name
            or not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))
        )
    except (OSError, ValueError):
        escapes = True
    if escapes or ".." in Path(name).parts:
        raise CompileError(
            f"{what} is '{name}', expected a file in the same folder",
            location=Location(str(file)),
        )
    return path


def weight_uses(module: Operation) -> Iterator[tuple[Operation, WeightAttr]]:
    """Every weight attribute with its op, in order."""
    for op in module.walk():
        for attr in (*op.properties.values(), *op.attributes.values()):
            if isinstance(attr, WeightAttr):
                yield op, attr


@dataclass(frozen=True, slots=True)
class Item:
    """One tensor to write."""

    key: str
    tensor: Tensor
    array: Array


def write_store(file: IO[bytes], items: Sequence[Item]) -> None:
    """Write a store; equal items give equal bytes. No tensor is copied as a whole.

    Widest elements come first, so that every tensor is aligned to its element.
    """
    ordered = sorted(items, key=lambda item: -stored_dtype(item.tensor, item.key).itemsize)
    header: dict[str, Mapping[str, object]] = {}
    position = 0
    for item in ordered:
        size = item.array.size * stored_dtype(item.tensor, item.key).itemsize
        known = item.tensor.dtype in STORED
        header[item.key] = {
            "dtype": STORED.get(item.tensor.dtype, RAW),
            "shape": list(item.array.shape) if known else [size],
            "data_offsets": [position, position + size],
        }
        position += size
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode("utf-8")
    text += b" " * (-len(text) % 8)
    file.write(len(text).to_bytes(8, "little") + text)
    for item in ordered:
        for chunk in chunks(item.array):
            file.write(chunk)


CHUNK = 2**22
"""Bytes of an array that are handled at once."""


def chunks(array: Array) -> Iterator[Any]:
    """The bytes of an array in C order in parts of `CHUNK`: views where it is contiguous.

    Pages of a mapped file are given back after their part, so that a model of any size is written
    in little memory.
    """
    import numpy as np

    if not array.size:
        return
    if array.flags.c_contiguous:
        flat = array.reshape(-1).view(np.uint8)
        forget = _forgetter(flat)
        for start in range(0, flat.size, CHUNK):
            yield flat[start : start + CHUNK].data
            forget(start)
        return
    raw: Array = array.view(f"u{array.dtype.itemsize}") if array.dtype.itemsize <= 8 else array
    flags: Iterable[Any] = ("external_loop", "buffered")
    for part in np.nditer(raw, flags=flags, order="C", buffersize=2**20 // raw.dtype.itemsize):
        yield cast("Any", part).tobytes()


def _forgetter(flat: Array) -> Callable[[int], None]:
    """What gives back the pages of a part of an array that starts at a position; for an array that
    is no view of a mapped file, nothing."""
    import mmap

    import numpy as np

    owner: Any = flat
    while not isinstance(owner, mmap.mmap):
        owner = owner.obj if isinstance(owner, memoryview) else getattr(owner, "base", None)
        if owner is None:
            return lambda start: None
    mapped = owner
    if not hasattr(mmap, "MADV_DONTNEED") or not memoryview(mapped).readonly:
        return lambda start: None
    address = int(flat.__array_interface__["data"][0])
    origin = int(np.frombuffer(mapped, np.uint8).__array_interface__["data"][0])

    def forget(start: int) -> None:
        first = (address - origin + start) // mmap.PAGESIZE * mmap.PAGESIZE
        mapped.madvise(mmap.MADV_DONTNEED, first, min(CHUNK, len(mapped) - first))

    return forget
