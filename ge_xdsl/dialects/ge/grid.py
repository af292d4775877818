"""Sampling an image at the positions of a grid, and the grids of affine maps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.elements import one_element_type
from ge_xdsl.dialects.ge.extents import bounded, ints_of, of_rank
from ge_xdsl.dialects.ge.fields import AttrField
from ge_xdsl.dialects.ge.op import GeOp, boolean, integer, operand, result, string
from ge_xdsl.dialects.ge.operands import known_ints, vector_length
from ge_xdsl.dialects.ge.sampling import cubic, linear, nearest, pad_position
from ge_xdsl.dialects.ge.shapes import merge_dim, multiply_dims, shape_text
from ge_xdsl.dialects.ge.types import DYNAMIC, Tensor
from ge_xdsl.dialects.ge.windows import check_format

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


class _Sampler(GeOp):
    """y[n, c, place] = x[n, c] at grid[n, place], whose last entry is (x, y) or (x, y, z).

    A grid of [-1, 1] covers x: from centre to centre of the outer elements with align_corners,
    else from edge to edge.
    """

    x = operand()
    grid = operand()
    interpolation_mode = string("bilinear")
    padding_mode = string("zeros")
    align_corners: ClassVar[AttrField[bool]]

    widens = True

    modes: ClassVar[tuple[str, ...]] = ("bilinear", "nearest", "bicubic")

    def check_modes(self) -> None:
        """The names of modes."""
        for value, name, known in (
            (self.interpolation_mode, "interpolation_mode", self.modes),
            (self.padding_mode, "padding_mode", ("zeros", "border", "reflection")),
        ):  # C1
            if value not in known:
                raise VerifyException(f"{name} is '{value}', expected one of {', '.join(known)}")

    def sampled(self, x: Tensor, grid: Tensor, ranks: Sequence[int], last: bool = False) -> Tensor:
        """The result [N, C, places...] for an x of one of `ranks`, channels last or not."""
        self.check_modes()
        one_element_type(x, grid)  # C2
        for tensor, name in ((x, "x"), (grid, "grid")):  # C3
            if tensor.rank is not None and tensor.rank not in ranks:
                wanted = " or ".join(map(str, ranks))
                raise VerifyException(
                    f"{name} is {shape_text(tensor.shape)}, expected rank {wanted}"
                )
        rank = x.rank or grid.rank or (ranks[0] if len(ranks) == 1 else None)
        if rank is None:
            return Tensor(x.dtype, None)
        image = x.shape or (DYNAMIC,) * rank
        places = grid.shape or (DYNAMIC,) * rank
        if len(image) != len(places):  # C3
            raise VerifyException(
                f"x is {shape_text(image)} and grid {shape_text(places)}, expected one rank"
            )
        if places[-1] not in (DYNAMIC, rank - 2):  # C4
            raise VerifyException(f"grid ends with {places[-1]}, expected {rank - 2} coordinates")
        spatial = image[1:-1] if last else image[2:]
        if 0 in spatial:  # C5
            raise VerifyException(f"x is {shape_text(image)}, expected no empty plane")
        batch = merge_dim(image[0], places[0], "batches of x and grid")  # C6
        return Tensor(x.dtype, (batch, image[-1 if last else 1], *places[1:-1]))

    def value(self, planes: Array, grid: Array) -> Array:
        """The samples of NCHW (NCDHW) planes."""
        sizes = planes.shape[2:]
        n, *places, _ = grid.shape
        rows = grid.reshape(n, -1, len(sizes)) if grid.size else grid.reshape(n, 0, len(sizes))
        align = self.align_corners
        positions = [
            _unnormalized(rows[..., len(sizes) - 1 - i], size, align)
            for i, size in enumerate(sizes)
        ]
        if self.interpolation_mode == "bicubic":
            y = cubic(planes, positions, self.padding_mode, align)
        else:
            padded = [
                pad_position(p, size, self.padding_mode, align)
                for p, size in zip(positions, sizes, strict=True)
            ]
            read = nearest if self.interpolation_mode == "nearest" else linear
            y = read(planes, padded)
        return y.reshape(n, planes.shape[1], *places)


def _unnormalized(grid: Array, size: int, align: bool) -> Array:
    """(g + 1)/2 * (size - 1) with align_corners, else ((g + 1) * size - 1)/2."""
    kind = grid.dtype.type
    if align:
        return (grid + kind(1)) / kind(2) * kind(size - 1)
    return ((grid + kind(1)) * kind(size) - kind(1)) / kind(2)


class GridSampler2DOp(_Sampler):
    """y[n, c, i, j] = x[n, c] at the position grid[n, i, j] = (x, y) in [-1, 1].

    A grid of -1 and 1 names the centres of the outer elements with align_corners, else their
    outer edges. interpolation_mode is bilinear, nearest (the even one of two) or bicubic (a =
    -0.75); outside of x padding_mode reads zeros, the border or the reflection. C1:
    interpolation_mode and padding_mode are known. C2: one element type. C3: x and grid have rank
    4. C4: grid ends with 2 coordinates. C5: x has no empty plane. C6: one batch.
    """

    name = "ge.GridSampler2D"

    align_corners = boolean(False)
    y = result()

    def infer(self, x: Tensor, grid: Tensor) -> Tensor:
        return self.sampled(x, grid, (4,))

    def evaluate(self, x: Array, grid: Array) -> Array:
        return self.value(x, grid)


class GridSampler3DOp(_Sampler):
    """GridSampler2D over depth, height and width: grid[n, d, h, w] = (x, y, z), no bicubic.

    C1: interpolation_mode and padding_mode are known. C2: one element type. C3: x and grid have
    rank 5. C4: grid ends with 3 coordinates. C5: x has no empty plane. C6: one batch. C7:
    data_format is NCDHW.
    """

    name = "ge.GridSampler3D"
    modes = ("bilinear", "nearest")

    data_format = string("NCDHW")
    align_corners = boolean(False)
    y = result()

    def infer(self, x: Tensor, grid: Tensor) -> Tensor:
        check_format(self.data_format, ("NCDHW",))  # C7
        return self.sampled(x, grid, (5,))

    def evaluate(self, x: Array, grid: Array) -> Array:
        return self.value(x, grid)


class GridSampleOp(_Sampler):
    """GridSampler2D or, for rank 5, GridSampler3D; x is NHWC (NDHWC) with channel_last.

    y is channels first in any case. scheduler_mode changes no value. C1: interpolation_mode
    and padding_mode are known, bicubic for rank 4 alone. C2: one element type. C3: x and grid
    have rank 4, or 5. C4: grid ends with 2 (3) coordinates. C5: x has no empty plane. C6: one
    batch.
    """

    name = "ge.GridSample"

    align_corners = boolean(False)
    channel_last = boolean(False)
    scheduler_mode = integer(1)
    y = result()

    def infer(self, x: Tensor, grid: Tensor) -> Tensor:
        if self.interpolation_mode == "bicubic" and 5 in (x.rank, grid.rank):  # C1
            raise VerifyException("interpolation_mode is 'bicubic', expected rank 4 for it")
        return self.sampled(x, grid, (4, 5), self.channel_last)

    def evaluate(self, x: Array, grid: Array) -> Array:
        import numpy as np

        return self.value(np.moveaxis(x, -1, 1) if self.channel_last else x, grid)


class AffineGridOp(GeOp):
    """y[n, place] = theta[n] @ (position of the place, 1), the places row by row.

    output_size holds [N, C, H, W] for theta [N, 2, 3] and [N, C, D, H, W] for [N, 3, 4]; y is
    [N, H*W, 2] or [N, D*H*W, 3], coordinates in the order x, y, z. Positions run over [-1, 1]
    with align_corners, else over the centres of equal parts of it; one place lies at 0. C1: theta
    is [N, 2, 3] or [N, 3, 4]. C2: output_size holds 4 or 5 positive entries to fit. C3: its batch
    is theta's.
    """

    name = "ge.AffineGrid"

    theta = operand()
    output_size = operand()
    align_corners = boolean(False)
    y = result()

    widens = True

    def infer(self, theta: Tensor, output_size: Tensor) -> Tensor:
        of_rank(theta, 3, "theta")  # C1
        rows = self.dimensions(theta)
        count = vector_length(output_size, "output_size")
        values = known_ints(self, "output_size")
        if rows == DYNAMIC and count != DYNAMIC:
            rows = count - 2
        if count not in (DYNAMIC, rows + 2) or rows not in (DYNAMIC, 2, 3):  # C2
            raise VerifyException(
                f"output_size has {count} entries, expected "
                f"{'4 or 5' if rows not in (2, 3) else rows + 2}"
            )
        batch = DYNAMIC if theta.shape is None else theta.shape[0]
        if values is None:
            return Tensor(theta.dtype, (batch, DYNAMIC, rows))
        if min(values) < 1:  # C2
            raise VerifyException(f"output_size is {list(values)}, expected positive entries")
        batch = merge_dim(batch, values[0], "batches of theta and output_size")  # C3
        return Tensor(theta.dtype, bounded((batch, multiply_dims(*values[2:]), rows)))

    def dimensions(self, theta: Tensor) -> int:
        """2 or 3 from theta's shape, DYNAMIC while unknown."""
        if theta.shape is None:
            return DYNAMIC
        _, rows, columns = theta.shape
        found = rows if rows != DYNAMIC else DYNAMIC if columns == DYNAMIC else columns - 1
        if found not in (DYNAMIC, 2, 3) or columns not in (DYNAMIC, found + 1):  # C1
            raise VerifyException(f"theta is {shape_text(theta.shape)}, expected Nx2x3 or Nx3x4")
        return found

    def evaluate(self, theta: Array, output_size: Array) -> Array:
        import numpy as np

        _, _, *sizes = ints_of(output_size)
        lines = [_line(size, self.align_corners, theta.dtype.name) for size in sizes]
        mesh = np.meshgrid(*lines, indexing="ij")
        base = np.stack([*reversed(mesh), np.ones_like(mesh[0])], axis=-1)
        return base.reshape(1, -1, len(sizes) + 1) @ theta.swapaxes(1, 2)


def _line(size: int, align: bool, dtype: str) -> Array:
    """`size` positions over [-1, 1]."""
    import numpy as np

    if size == 1:
        return np.zeros(1, dtype)
    line = np.linspace(-1, 1, size, dtype=dtype)
    return line if align else line * line.dtype.type((size - 1) / size)
