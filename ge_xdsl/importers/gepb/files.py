"""Weights of GE graphs that stand in files of their own: what `FileConstant` nodes name."""

from __future__ import annotations

import mmap
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ge_xdsl.dialects.ge.gepb import Message
from ge_xdsl.dialects.ge.hifloat8 import from_stored, stored_kind
from ge_xdsl.dialects.ge.store import inside, open_regular
from ge_xdsl.dialects.ge.types import DataType, Tensor, numpy_dtype
from ge_xdsl.importers.gepb.values import text

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

PLACE = ("location", "file_path", "file_id", "shape", "dtype", "offset", "length")
"""The attributes that tell where the values are and what they are."""


@dataclass(frozen=True)
class Place:
    """Where a constant's bytes are: a file in the model's folder, their start and number (0 for as
    many as the type has), and the type that the node gives, None where only its output has one."""

    name: str
    offset: int
    length: int
    tensor: Tensor | None


def place_of(node: Message) -> Place | None:
    """Where a FileConstant's values are; None when it names no file. Raises ValueError."""
    attrs: dict[str, Message] = node.get("attr")

    def number(key: str) -> int:
        found = attrs.get(key)
        return 0 if found is None else found.get("i")

    names = (attrs[key].get("s") for key in ("location", "file_path") if key in attrs)
    name = next((text(found) for found in names if found), "")
    if not name:
        return None
    tensor: Tensor | None = None
    if "shape" in attrs and "dtype" in attrs:
        listed = attrs["shape"].get("list")
        dims: Sequence[int] = () if listed is None else listed.get("i")
        kind = attrs["dtype"].get("dt")
        if kind not in {int(dtype) for dtype in DataType}:
            raise ValueError(f"attribute 'dtype' is {kind}, expected a number of an element type")
        tensor = Tensor(DataType(kind), tuple(dims))
    return Place(name, number("offset"), number("length"), tensor)


class WeightFiles:
    """The files that the constants of one model name, each mapped once, of its folder only."""

    def __init__(self, model: str) -> None:
        self.model = model
        self.maps: dict[Path, Any] = {}

    def array(self, place: Place, outputs: Sequence[Tensor]) -> tuple[Array, Tensor]:
        """The values at a place, a read-only view of the file but for HiFloat8, and their type.

        Raises ValueError for a range or type that does not fit, CompileError for a file that
        cannot be read or is outside of the model's folder.
        """
        import numpy as np

        tensor = outputs[0] if outputs else place.tensor
        if tensor is None or not tensor.is_static:
            raise ValueError(f"is {tensor or 'without a type'}, expected a known shape")
        given = place.tensor
        if given is not None and (given.dtype, given.shape) != (tensor.dtype, tensor.shape):
            raise ValueError(f"is {given} and gives {tensor}, expected one type")
        kind = stored_kind(tensor.dtype)
        count = tensor.size() or 0
        size = count * kind.itemsize
        if kind.hasobject or min(place.offset, place.length) < 0 or min(tensor.shape or (0,)) < 0:
            raise ValueError(f"is {tensor} at byte {place.offset}, expected numbers in a file")
        if place.length not in (0, size):
            raise ValueError(f"has {place.length} bytes, expected {size} for {tensor}")
        path = inside(Path(self.model).parent, place.name, "file of weights", self.model)
        data = self._mapped(path)
        if place.offset + size > len(data):
            raise ValueError(
                f"ends at byte {place.offset + size}, expected at most {len(data)}, the size of "
                f"'{path.name}'"
            )
        if not count:
            return np.zeros(tensor.shape or (), numpy_dtype(tensor.dtype)), tensor
        array = from_stored(np.frombuffer(data, kind, count, place.offset), tensor.dtype)
        return array.reshape(tensor.shape or ()), tensor

    def _mapped(self, path: Path) -> Any:
        if path not in self.maps:
            with open_regular(path) as file:
                empty = os.fstat(file.fileno()).st_size == 0
                self.maps[path] = (
                    b"" if empty else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
                )
        return self.maps[path]
