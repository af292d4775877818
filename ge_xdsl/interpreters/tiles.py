"""Buffers of the memory spaces, really laid out, and the moves between them, in numpy.

A buffer stores its elements in the order of its layout, so a wrong layout or window gives wrong
numbers. It knows which rows and columns hold data; reading others raises ValueError, as does a
window that leaves its tile.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ge_xdsl.dialects.aicore.types import Tile
from ge_xdsl.dialects.ge.types import DataType, numpy_dtype

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

DATA_TYPES = {
    "f32": DataType.DT_FLOAT,
    "f16": DataType.DT_FLOAT16,
    "bf16": DataType.DT_BF16,
    "i64": DataType.DT_INT64,
    "i32": DataType.DT_INT32,
    "i16": DataType.DT_INT16,
    "i8": DataType.DT_INT8,
    "ui64": DataType.DT_UINT64,
    "ui32": DataType.DT_UINT32,
    "ui16": DataType.DT_UINT16,
    "ui8": DataType.DT_UINT8,
    "i1": DataType.DT_BOOL,
    "bit": DataType.DT_BOOL,
}
"""Element type of a tile -> GE data type."""

TO_STORAGE = {"nz": (2, 0, 1, 3), "zz": (0, 2, 1, 3), "zn": (0, 2, 3, 1)}
"""Layout -> the permutation of (R1, r0, C1, c0) that its storage has."""
TO_MATRIX = {"nz": (1, 2, 0, 3), "zz": (0, 2, 1, 3), "zn": (0, 3, 1, 2)}
"""The inverses of `TO_STORAGE`."""


class Buffer:
    """One buffer of a tile; `rows` x `cols` from the corner hold data."""

    __slots__ = ("cols", "data", "name", "rows", "tile")

    def __init__(self, name: str, tile: Tile) -> None:
        import numpy as np

        self.name = name
        self.tile = tile
        self.data = np.empty(tile.storage, numpy_dtype(DATA_TYPES[tile.element]))
        self.rows: int = 0
        self.cols: int = 0

    def need(self, rows: int, cols: int) -> None:
        """Raise ValueError unless rows x cols from the corner hold data."""
        if rows > self.rows or cols > self.cols:
            raise ValueError(
                f"reads {rows}x{cols} of '{self.name}', of which {self.rows}x{self.cols} is written"
            )

    def need_part(self, row: int, col: int, rows: int, cols: int) -> None:
        """Raise ValueError unless the part holds data."""
        self.need(row + rows, col + cols)

    def room(self, rows: int, cols: int) -> None:
        """Note rows x cols as written; raise ValueError when the tile is smaller."""
        shape = self.tile.shape
        if rows > shape[0] or cols > shape[1]:
            raise ValueError(f"writes {rows}x{cols} to '{self.name}', a tile of {_text(shape)}")
        if cols == self.cols or rows == self.rows:
            rows, cols = max(rows, self.rows), max(cols, self.cols)
        elif rows < self.rows and cols < self.cols:
            return
        self.rows, self.cols = rows, cols

    def get(self, row: int, col: int, rows: int, cols: int) -> Array:
        """The matrix elements [row:row+rows, col:col+cols]."""
        self.need_part(row, col, rows, cols)
        if self.tile.layout == "nd":
            return self.data[row : row + rows, col : col + cols]
        r0, c0 = self.tile.blocks
        top, left = row // r0, col // c0
        part = _blocks(self, top, -(-(row + rows) // r0), left, -(-(col + cols) // c0))
        grid = part.transpose(TO_MATRIX[self.tile.layout])
        full = grid.reshape(grid.shape[0] * r0, grid.shape[2] * c0)
        i, j = row - top * r0, col - left * c0
        return full[i : i + rows, j : j + cols]

    def put(self, matrix: Array) -> None:
        """Write a matrix at the corner; what is left of its last blocks is set to zero."""
        rows, cols = matrix.shape
        self.room(rows, cols)
        if self.tile.layout == "nd":
            self.data[:rows, :cols] = matrix
            return
        r0, c0 = self.tile.blocks
        r1, c1 = -(-rows // r0), -(-cols // c0)
        if rows % r0 or cols % c0:
            import numpy as np

            whole = np.zeros((r1 * r0, c1 * c0), matrix.dtype)
            whole[:rows, :cols] = matrix
            matrix = whole
        grid = matrix.reshape(r1, r0, c1, c0)
        _blocks(self, 0, r1, 0, c1)[...] = grid.transpose(TO_STORAGE[self.tile.layout])

    def put_at(self, row: int, col: int, matrix: Array) -> None:
        """Write a matrix at whole blocks from (row, col) on."""
        import numpy as np

        rows, cols = matrix.shape
        self.room(max(self.rows, row + rows), max(self.cols, col + cols))
        r0, c0 = self.tile.blocks
        if self.tile.layout == "nd":
            self.data[row : row + rows, col : col + cols] = matrix
            return
        r1, c1 = -(-rows // r0), -(-cols // c0)
        whole = np.zeros((r1 * r0, c1 * c0), matrix.dtype)
        whole[:rows, :cols] = matrix
        grid = whole.reshape(r1, r0, c1, c0).transpose(TO_STORAGE[self.tile.layout])
        top, left = row // r0, col // c0
        _blocks(self, top, top + r1, left, left + c1)[...] = grid

    def read(self, rows: int, cols: int) -> Array:
        """A view of the corner of a row-major tile, to be read."""
        self.need(rows, cols)
        return self.data[:rows, :cols]

    def write(self, rows: int, cols: int) -> Array:
        """A view of the corner of a row-major tile, to be written whole."""
        self.room(rows, cols)
        return self.data[:rows, :cols]


def matrix_of(stored: Array, tile: Tile) -> Array:
    """The matrix (or matrices) of a storage in blocks, padded to whole blocks."""
    lead = stored.ndim - 4
    order = [*range(lead), *(lead + axis for axis in TO_MATRIX[tile.layout])]
    grid = stored.transpose(order)
    rows, r0, cols, c0 = grid.shape[-4:]
    return grid.reshape(*grid.shape[:-4], rows * r0, cols * c0)


def _matrix_of(view: Array, tile: Tile, row: int, col: int, rows: int, cols: int) -> Array:
    """The rows x cols at (row, col) of a matrix stored in layout zn."""
    r0, c0 = tile.blocks
    top, left = row // r0, col // c0
    part = view[top : -(-(row + rows) // r0), left : -(-(col + cols) // c0)]
    grid = part.transpose(TO_MATRIX["zn"])
    full = grid.reshape(grid.shape[0] * r0, grid.shape[2] * c0)
    i, j = row - top * r0, col - left * c0
    return full[i : i + rows, j : j + cols]


def _blocks(buffer: Buffer, top: int, bottom: int, left: int, right: int) -> Array:
    """The blocks of rows [top, bottom) and columns [left, right), in storage order."""
    if buffer.tile.layout == "nz":
        return buffer.data[left:right, top:bottom]
    return buffer.data[top:bottom, left:right]


class Ring:
    """The buffers of one `alloc`, given out in turn, their contents undefined each time."""

    __slots__ = ("buffers", "next")

    def __init__(self, name: str, tile: Tile, count: int, address: int | None = None) -> None:
        del address  # each buffer has memory of its own here
        self.buffers = [Buffer(name, tile) for _ in range(count)]
        self.next = 0

    def take(self) -> Buffer:
        """The next buffer."""
        buffer = self.buffers[self.next]
        self.next = (self.next + 1) % len(self.buffers)
        buffer.rows = buffer.cols = 0
        return buffer


class Memory:
    """A tile in GM, read or written by the kernel.

    `missing` counts the elements of an output that are not written yet. An output that elements
    are added to (`joined`) is zero at first, and not counted.
    """

    __slots__ = ("array", "joined", "missing", "name", "readable", "root", "tile")

    def __init__(
        self,
        name: str,
        array: Array,
        readable: bool,
        root: Memory | None = None,
        tile: Tile | None = None,
    ) -> None:
        self.name = name
        self.tile = tile
        self.array = array
        self.readable = readable
        self.root = self if root is None else root
        self.joined = False
        self.missing = 0 if readable else array.size

    def make_joined(self) -> None:
        """Start from zero."""
        self.array[...] = 0
        self.joined, self.missing = True, 0

    def strided(self, offset: int, strides: Sequence[int], shape: Sequence[int]) -> Memory:
        """The same memory with other strides, in elements; all must lie in it."""
        from numpy.lib.stride_tricks import as_strided

        flat = self.array.reshape(-1)[offset:]
        steps = [stride * flat.itemsize for stride in strides]
        view = as_strided(flat, shape, steps, writeable=not self.readable)
        return Memory(self.name, view, self.readable, self.root)

    def window(self, offsets: Sequence[int], rows: int, cols: int) -> Array:
        """The rows x cols at `offsets`, one per dimension."""
        shape = self.array.shape if self.tile is None else self.tile.shape
        ends = [*(o + 1 for o in offsets[:-2]), offsets[-2] + rows, offsets[-1] + cols]
        if min(offsets) < 0 or any(e > d for e, d in zip(ends, shape, strict=True)):
            at = ", ".join(str(o) for o in offsets)
            raise ValueError(
                f"window {rows}x{cols} at [{at}] leaves '{self.name}', a tile of {_text(shape)}"
            )
        view = self.array[tuple(offsets[:-2])]
        if self.tile is not None and self.tile.layout == "zn":
            return _matrix_of(view, self.tile, offsets[-2], offsets[-1], rows, cols)
        return view[offsets[-2] : ends[-2], offsets[-1] : ends[-1]]

    def load(self, offsets: Sequence[int], rows: int, cols: int) -> Array:
        """A window to be read."""
        if not self.readable:
            raise ValueError(f"reads '{self.name}', which the kernel writes")
        return self.window(offsets, rows, cols)

    def store(self, offsets: Sequence[int], values: Array) -> None:
        """Write a window."""
        if self.readable:
            raise ValueError(f"writes '{self.name}', which the kernel reads")
        self.window(offsets, *values.shape)[...] = values
        if not self.root.joined:
            self.root.missing -= values.size

    def join(self, offsets: Sequence[int], values: Array, how: str) -> None:
        """Add to a window, or keep the larger or smaller of both."""
        import numpy as np

        if self.readable:
            raise ValueError(f"writes '{self.name}', which the kernel reads")
        call = {"add": np.add, "max": np.maximum, "min": np.minimum}[how]
        window = self.window(offsets, *values.shape)
        window[...] = call(window, values.astype(window.dtype))


def load_l0(
    src: Buffer, row: int, col: int, dst: Buffer, rows: int, cols: int, transpose: bool
) -> None:
    """dst[:rows, :cols] = the window of src, or of its transpose."""
    if transpose:
        dst.put(src.get(row, col, cols, rows).T)
    else:
        dst.put(src.get(row, col, rows, cols))


ONE_THREAD = 2**18
"""Multiplications in one BLAS call below which libraries start no threads: for products of the
size of a tile, starting them takes longer than the product, much longer on a busy machine."""


def multiply(a: Array, b: Array) -> Array:
    """a @ b by groups of rows that are each small enough for one thread."""
    import numpy as np

    (m, k), n = a.shape, b.shape[1]
    rows = max(1, ONE_THREAD // (k * n))
    if rows >= m:
        return a @ b
    whole = m - m % rows
    out = np.empty((m, n), a.dtype)
    np.matmul(a[:whole].reshape(-1, rows, k), b, out=out[:whole].reshape(-1, rows, n))
    if whole < m:
        out[whole:] = a[whole:] @ b
    return out


def mmad(
    a: Buffer,
    b: Buffer,
    c: Buffer,
    m: int,
    n: int,
    k: int,
    first: bool,
    bias: Buffer | None,
    hf32: bool = False,
) -> None:
    """c[:m, :n] = (first ? bias or 0 : c) + a[:m, :k] b[:k, :n], in f32, of bytes in i32."""
    left, right = a.get(0, 0, m, k), b.get(0, 0, k, n)
    if c.tile.element == "i32":
        product = left.astype("int32") @ right.astype("int32")
    elif hf32:
        product = multiply(to_hf32(left), to_hf32(right))
    else:
        product = multiply(left.astype("float32"), right.astype("float32"))
    if not first:
        product += c.get(0, 0, m, n)
    elif bias is not None:
        product += bias.get(0, 0, 1, n)
    c.put(product)


HF32_LOST = 13
"""Bits of an f32's mantissa that hf32 does not have, 23 - 10."""


def to_hf32(values: Array) -> Array:
    """f32 rounded to 10 bits of mantissa, to nearest, halves to even; NaN and infinities stay."""
    import numpy as np

    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    half = np.uint32(1 << (HF32_LOST - 1))
    up = (bits >> np.uint32(HF32_LOST)) & np.uint32(1)
    cut = (bits + half - np.uint32(1) + up) & ~np.uint32((1 << HF32_LOST) - 1)
    return np.where(np.isfinite(values), cut.view(np.float32), values)


def cut_scale(scale: Array) -> Array:
    """Scales of the fixpipe: f32 with what is below 10 bits of mantissa cut off."""
    import numpy as np

    bits = np.ascontiguousarray(scale, np.float32).view(np.uint32)
    return (bits & ~np.uint32((1 << HF32_LOST) - 1)).view(np.float32)


def fixpipe(
    src: Buffer,
    dst: Memory | Buffer,
    offsets: Sequence[int],
    m: int,
    n: int,
    scale: Buffer | float | None = None,
    slope: Buffer | float | None = None,
    atomic: str = "none",
) -> None:
    """dst window = act(src[:m, :n] * scale) in dst's element type; `slope` 0 is relu."""
    import numpy as np

    values = src.get(0, 0, m, n)
    if scale is not None:
        factors = scale.get(0, 0, 1, n) if isinstance(scale, Buffer) else np.float32(scale)
        values = values.astype(np.float32) * cut_scale(np.atleast_1d(factors))
    if isinstance(slope, Buffer) or slope:
        factors = slope.get(0, 0, 1, n) if isinstance(slope, Buffer) else np.float32(slope)
        values = np.where(values < 0, values * factors, values)
    elif slope is not None:
        values = values.clip(min=0)
    dtype = dst.array.dtype if isinstance(dst, Memory) else dst.data.dtype
    if dtype.kind in "iu" and values.dtype.kind == "f":
        limits = np.iinfo(dtype)
        values = np.nan_to_num(np.rint(values), nan=0.0).clip(limits.min, limits.max)
    values = values.astype(dtype)
    if isinstance(dst, Buffer):
        dst.put_at(offsets[0], offsets[1], values)
    elif atomic != "none":
        dst.join(offsets, values, atomic)
    else:
        dst.store(offsets, values)


def _text(shape: Sequence[int]) -> str:
    return "x".join(str(dim) for dim in shape)


def copy_rows(
    src: Memory, col: int, index: Buffer, dst: Buffer, rows: int, cols: int, wraps: bool
) -> None:
    """dst[:rows, :cols] = the rows of src that the first indices name, from column `col` on."""
    places = index.get(0, 0, 1, rows)[0]
    count = src.array.shape[0]
    low = -count if wraps else 0
    bad = places[(places < low) | (places >= count)]
    if bad.size:
        raise ValueError(f"index is {bad[0]}, expected one in [{low}, {count})")
    src.load((0, col), 1, cols)
    dst.put(src.array[places, col : col + cols])
