"""Parts of tensors (slices) and tensors with a border (pads)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.elements import one_element_type
from ge_xdsl.dialects.ge.extents import ints_of
from ge_xdsl.dialects.ge.op import (
    GeOp,
    boolean,
    integer,
    integers,
    operand,
    optional,
    result,
    string,
)
from ge_xdsl.dialects.ge.operands import (
    check_index,
    check_length,
    check_scalar,
    known_ints,
    vector_length,
)
from ge_xdsl.dialects.ge.shapes import normalize_axes, normalize_axis
from ge_xdsl.dialects.ge.types import DYNAMIC, Tensor

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

_END = (1 << 63) - 1
"""An end that clamping turns into the end of any dimension."""


def sliced(shape: Sequence[int], offsets: Sequence[int], sizes: Sequence[int]) -> tuple[int, ...]:
    """The sizes of x[offset : offset + size] per dimension; -1 reaches to the end."""
    check_length(offsets, len(shape), "offsets")
    check_length(sizes, len(shape), "size")
    out: list[int] = []
    for dim, offset, size in zip(shape, offsets, sizes, strict=True):
        if offset < 0 or size < -1:
            raise VerifyException(
                f"offsets are {list(offsets)} and size {list(sizes)}, expected offsets >= 0 and "
                "size >= -1"
            )
        if dim != DYNAMIC and offset + max(size, 0) > dim:
            raise VerifyException(
                f"slice [{offset}, {offset + max(size, 0)}) of a dimension of {dim}, "
                "expected one inside"
            )
        out.append(size if size >= 0 else DYNAMIC if dim == DYNAMIC else dim - offset)
    return tuple(out)


def take_slice(x: Array, offsets: Sequence[int], sizes: Sequence[int]) -> Array:
    ends = sliced(x.shape, offsets, sizes)
    return x[tuple(slice(o, o + n) for o, n in zip(offsets, ends, strict=True))]


class SliceOp(GeOp):
    """y = x[offsets[k] : offsets[k] + size[k], ...]; a size of -1 reaches to the end.

    C1: offsets and size are i32 or i64 of rank 1. C2: they have one entry per dimension.
    C3: offsets >= 0 and size >= -1. C4: the slice lies inside x.
    """

    name = "ge.Slice"

    x = operand()
    offsets = operand()
    size = operand()
    y = result()

    def infer(self, x: Tensor, offsets: Tensor, size: Tensor) -> Tensor:
        counts = vector_length(offsets, "offsets"), vector_length(size, "size")  # C1
        starts, sizes = known_ints(self, "offsets"), known_ints(self, "size")
        if x.shape is None:
            count = max(counts)
            return x.with_shape(None if count == DYNAMIC else (DYNAMIC,) * count)
        if starts is not None and sizes is not None:
            return x.with_shape(sliced(x.shape, starts, sizes))  # C2 C3 C4
        if sizes is not None and len(sizes) == len(x.shape):
            return x.with_shape([s if s >= 0 else DYNAMIC for s in sizes])
        return x.with_shape((DYNAMIC,) * len(x.shape))

    def evaluate(self, x: Array, offsets: Array, size: Array) -> Array:
        return take_slice(x, ints_of(offsets), ints_of(size))


class SliceDOp(GeOp):
    """y = x[offsets[k] : offsets[k] + size[k], ...]; a size of -1 reaches to the end.

    C1: offsets and size have one entry per dimension. C2: offsets >= 0 and size >= -1.
    C3: the slice lies inside x.
    """

    name = "ge.SliceD"

    x = operand()
    offsets = integers()
    size = integers()
    y = result()

    def infer(self, x: Tensor) -> Tensor:
        shape = (DYNAMIC,) * len(self.offsets) if x.shape is None else x.shape
        return x.with_shape(sliced(shape, self.offsets, self.size))  # C1 C2 C3

    def evaluate(self, x: Array) -> Array:
        return take_slice(x, self.offsets, self.size)


@dataclass(frozen=True, slots=True)
class Masks:
    """The five bit masks of a strided slice."""

    begin: int = 0
    end: int = 0
    ellipsis: int = 0
    new_axis: int = 0
    shrink_axis: int = 0


@dataclass(frozen=True, slots=True)
class Cut:
    """What happens to one dimension: a range of it, one position of it, or a new one of 1."""

    dim: int
    begin: int | None
    end: int | None
    stride: int | None
    shrinks: bool = False
    is_new: bool = False

    def range(self) -> tuple[int, int, int] | None:
        """First position, stride and count; None while something is unknown."""
        if self.stride == 0:
            raise VerifyException("stride is 0, expected another number")
        if self.dim == DYNAMIC or self.stride is None or self.begin is None or self.end is None:
            return None
        low, high = (0, self.dim) if self.stride > 0 else (-1, self.dim - 1)
        first, last = (
            min(max(v + self.dim if v < 0 else v, low), high) for v in (self.begin, self.end)
        )
        return first, self.stride, max(-((first - last) // self.stride), 0)

    def position(self) -> int | None:
        """The position that a shrinking cut takes; None while it is unknown."""
        if self.stride is not None and self.stride <= 0:
            raise VerifyException(f"stride is {self.stride}, expected > 0 where an axis shrinks")
        if self.begin is None or self.dim == DYNAMIC:
            return None
        if not -self.dim <= self.begin < self.dim:
            raise VerifyException(
                f"index is {self.begin}, expected one in [{-self.dim}, {self.dim})"
            )
        return self.begin % self.dim

    def length(self) -> int:
        """The size of the dimension that a cut leaves."""
        if self.is_new:
            return 1
        if self.begin is None and self.end is None and self.stride == 1:
            return DYNAMIC
        if self.dim == DYNAMIC and (self.begin, self.end, self.stride) == (0, _END, 1):
            return DYNAMIC
        found = self.range()
        return DYNAMIC if found is None else found[2]

    def index(self) -> Any:
        """The numpy index of a cut whose numbers are all known."""
        if self.is_new:
            return None
        if self.shrinks:
            return self.position()
        found = self.range()
        assert found is not None
        first, stride, count = found
        stop = first + stride * count
        return slice(first, None if stop < 0 else stop, stride) if count else slice(0, 0)


Numbers = Sequence[int | None]


def _full(dim: int) -> Cut:
    return Cut(dim, 0, _END, 1)


def strided_cuts(
    shape: Sequence[int], begin: Numbers, end: Numbers, strides: Numbers, masks: Masks
) -> list[Cut]:
    """One cut per dimension of x and per new one, as tf.strided_slice defines them.

    Bit i of a mask speaks of position i of begin, end and strides. An ellipsis stands for as many
    full dimensions as are left; without one it is implied at the end.
    """
    if masks.ellipsis & (masks.ellipsis - 1):
        raise VerifyException(f"ellipsis_mask is {masks.ellipsis}, expected at most one bit")
    bits = [1 << i for i in range(len(begin))]
    taken = sum(not bit & (masks.ellipsis | masks.new_axis) for bit in bits)
    left = len(shape) - taken
    if left < 0:
        raise VerifyException(f"begin names {taken} dimensions, expected at most {len(shape)}")
    dims = list(shape)
    cuts: list[Cut] = []
    for i, bit in enumerate(bits):
        if bit & masks.ellipsis:
            cuts += [_full(dims.pop(0)) for _ in range(left)]
            left = 0
        elif bit & masks.new_axis:
            cuts.append(Cut(1, 0, 1, 1, is_new=True))
        else:
            cuts.append(_cut(dims.pop(0), begin[i], end[i], strides[i], bit, masks))
    return cuts + [_full(dim) for dim in dims]


def _cut(
    dim: int, begin: int | None, end: int | None, stride: int | None, bit: int, masks: Masks
) -> Cut:
    backwards = stride is not None and stride < 0
    if bit & masks.shrink_axis:
        return Cut(dim, begin, begin, stride, shrinks=True)
    if bit & masks.begin:
        begin = None if stride is None else _END if backwards else 0
    if bit & masks.end:
        end = None if stride is None else -_END if backwards else _END
    return Cut(dim, begin, end, stride)


def cut_shape(cuts: Sequence[Cut]) -> tuple[int, ...]:
    """The shape that cuts leave; checks the positions of shrinking ones."""
    for cut in cuts:
        if cut.shrinks:
            cut.position()
    return tuple(cut.length() for cut in cuts if not cut.shrinks)


class MaskedSlice(GeOp):
    """What the strided slices share: masks whose bit i speaks of entry i."""

    begin_mask = integer(0)
    end_mask = integer(0)
    ellipsis_mask = integer(0)
    new_axis_mask = integer(0)
    shrink_axis_mask = integer(0)

    def masks(self) -> Masks:
        return Masks(
            self.begin_mask,
            self.end_mask,
            self.ellipsis_mask,
            self.new_axis_mask,
            self.shrink_axis_mask,
        )


class StridedSliceOp(MaskedSlice):
    """y = x[begin : end : strides, ...] over the first dimensions, with tf.strided_slice's masks.

    Bit i of a mask speaks of entry i: begin_mask and end_mask take the full range on that side,
    ellipsis_mask stands for all dimensions left, new_axis_mask inserts a 1, shrink_axis_mask
    takes position begin[i] and drops the dimension. Negative numbers count from the end, then
    begin and end are clamped. C1: begin, end and strides are i32 or i64 of rank 1 and equal in
    length. C2: at most one ellipsis. C3: no more entries than dimensions. C4: strides are not 0.
    C5: a shrunk position lies inside x. C6: its stride is positive.
    """

    name = "ge.StridedSlice"

    x = operand()
    begin = operand()
    end = operand()
    strides = operand()
    y = result()

    def infer(self, x: Tensor, begin: Tensor, end: Tensor, strides: Tensor) -> Tensor:
        counts = [
            vector_length(t, name)
            for t, name in ((begin, "begin"), (end, "end"), (strides, "strides"))
        ]
        known = {count for count in counts if count != DYNAMIC}
        if len(known) > 1:  # C1
            raise VerifyException(
                f"begin, end and strides have {counts[0]}, {counts[1]} and {counts[2]} entries, "
                "expected equal numbers"
            )
        if x.shape is None or not known:
            return x.with_shape(None)
        count = known.pop()
        starts, stops, steps = (
            known_ints(self, name) or (None,) * count for name in ("begin", "end", "strides")
        )
        cuts = strided_cuts(x.shape, starts, stops, steps, self.masks())  # C2 C3
        return x.with_shape(cut_shape(cuts))  # C4 C5 C6

    def evaluate(self, x: Array, begin: Array, end: Array, strides: Array) -> Array:
        cuts = strided_cuts(x.shape, ints_of(begin), ints_of(end), ints_of(strides), self.masks())
        return x[tuple(cut.index() for cut in cuts)]


class StridedSliceV2Op(MaskedSlice):
    """y = x[begin[k] : end[k] : strides[k]] along axes[k]; other dimensions stay whole.

    Missing axes are 0, 1, ...; missing strides are 1. Numbers count from the end when negative
    and are clamped; masks work as in StridedSlice, their bits stand for dimensions of x. With a
    negative stride a begin before the first element gives nothing (ONNX's Slice would give that
    element).
    C1: begin, end, axes and strides are i32 or i64 of rank 1 and equal in length. C2: axes are in
    [-rank, rank), none twice. C3: no more entries than dimensions. C4: strides are not 0.
    C5: a shrunk position lies inside x.
    """

    name = "ge.StridedSliceV2"

    x = operand()
    begin = operand()
    end = operand()
    axes = optional()
    strides = optional()
    y = result()

    def infer(
        self,
        x: Tensor,
        begin: Tensor,
        end: Tensor,
        axes: Tensor | None,
        strides: Tensor | None,
    ) -> Tensor:
        count = self._count(begin, end, axes, strides)  # C1
        if x.shape is None:
            return x.with_shape(None)
        if count == DYNAMIC or (axes is not None and self.constant("axes") is None):
            unsure = self.new_axis_mask or self.shrink_axis_mask or self.ellipsis_mask
            return x.with_shape(None if unsure else (DYNAMIC,) * len(x.shape))
        chosen = range(count) if axes is None else known_ints(self, "axes")
        steps = (1,) * count if strides is None else known_ints(self, "strides")
        assert chosen is not None
        unknown = (None,) * count
        numbers = (
            known_ints(self, "begin") or unknown,
            known_ints(self, "end") or unknown,
            steps or unknown,
        )
        return x.with_shape(cut_shape(self._cuts(x.shape, chosen, *numbers)))

    def _count(self, *tensors: Tensor | None) -> int:
        names = ("begin", "end", "axes", "strides")
        counts = [
            vector_length(t, name) for t, name in zip(tensors, names, strict=True) if t is not None
        ]
        known = {count for count in counts if count != DYNAMIC}
        if len(known) > 1:
            raise VerifyException(
                f"begin, end, axes and strides have {sorted(known)} entries, expected equal numbers"
            )
        return known.pop() if known else DYNAMIC

    def _cuts(
        self,
        shape: Sequence[int],
        axes: Sequence[int],
        begin: Numbers,
        end: Numbers,
        strides: Numbers,
    ) -> list[Cut]:
        rank = len(shape)
        if len(axes) > rank:  # C3
            raise VerifyException(f"begin names {len(axes)} dimensions, expected at most {rank}")
        places = [normalize_axis(axis, rank, "axes entry") for axis in axes]
        normalize_axes(axes, rank)  # C2
        starts: list[int | None] = [0] * rank
        stops: list[int | None] = [_END] * rank
        steps: list[int | None] = [1] * rank
        for k, place in enumerate(places):
            starts[place], stops[place], steps[place] = begin[k], end[k], strides[k]
        return strided_cuts(shape, starts, stops, steps, self.masks())  # C4 C5

    def evaluate(
        self, x: Array, begin: Array, end: Array, axes: Array | None, strides: Array | None
    ) -> Array:
        starts = ints_of(begin)
        chosen = range(len(starts)) if axes is None else ints_of(axes)
        steps = [1] * len(starts) if strides is None else ints_of(strides)
        cuts = self._cuts(x.shape, chosen, starts, ints_of(end), steps)
        return x[tuple(cut.index() for cut in cuts)]


def pad_pairs(flat: Sequence[int], rank: int, contiguous: bool) -> list[tuple[int, int]]:
    """(before, after) per dimension from [b0, e0, b1, ...] or else [b0, b1, ..., e0, ...]."""
    check_length(flat, 2 * rank, "paddings")
    if contiguous:
        return [(flat[2 * i], flat[2 * i + 1]) for i in range(rank)]
    return [(flat[i], flat[rank + i]) for i in range(rank)]


def padded_shape(shape: Sequence[int], pairs: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    """The shape with (before, after) added; negative ones crop, before the others add."""
    out: list[int] = []
    for dim, (before, after) in zip(shape, pairs, strict=True):
        left = dim + min(before, 0) + min(after, 0)
        if dim != DYNAMIC and left < 0:
            raise VerifyException(f"paddings crop a dimension of {dim} to {left}, expected >= 0")
        out.append(DYNAMIC if dim == DYNAMIC else dim + before + after)
    return tuple(out)


class Padding(GeOp):
    """What the pads share."""

    def padded(self, x: Tensor, paddings: Tensor, contiguous: bool) -> Tensor:
        """The result tensor; dimensions are unknown while paddings are."""
        check_index(paddings, "paddings")  # C1
        if x.shape is None:
            return x.with_shape(None)
        if not x.shape:  # C2
            raise VerifyException("x is scalar, expected rank 1 or more")
        flat = known_ints(self, "paddings")
        if flat is None:
            return x.with_shape((DYNAMIC,) * len(x.shape))
        return x.with_shape(padded_shape(x.shape, pad_pairs(flat, len(x.shape), contiguous)))

    def value(self, x: Array, pairs: list[tuple[int, int]], mode: str, fill: Any) -> Array:
        """x cropped by negative pairs, then bordered by the others."""
        import numpy as np

        padded_shape(x.shape, pairs)
        kept = [slice(max(-b, 0), n - max(-a, 0)) for (b, a), n in zip(pairs, x.shape, strict=True)]
        x = x[tuple(kept)]
        widths = [(max(b, 0), max(a, 0)) for b, a in pairs]
        if mode == "constant":
            shape = [n + b + a for n, (b, a) in zip(x.shape, widths, strict=True)]
            y = np.full_like(x, fill, shape=shape)  # in the memory order of x
            y[tuple(slice(b, b + n) for n, (b, _) in zip(x.shape, widths, strict=True))] = x
            return y
        order = sorted(range(x.ndim), key=lambda axis: -abs(x.strides[axis]))  # that of memory
        sides = [widths[axis] for axis in order]
        y = np.pad(x.transpose(order), sides, mode=_NUMPY_MODES[mode])
        return y.transpose([order.index(axis) for axis in range(x.ndim)])


_NUMPY_MODES: dict[str, Any] = {
    "constant": "constant",
    "reflect": "reflect",
    "edge": "edge",
    "symmetric": "symmetric",
    "circular": "wrap",
}


def check_mode(mode: str) -> None:
    """A border mode that PadV3 knows."""
    if mode not in _NUMPY_MODES:
        raise VerifyException(f"mode is '{mode}', expected one of {', '.join(_NUMPY_MODES)}")


def check_reach(mode: str, shape: Sequence[int], pairs: Sequence[tuple[int, int]]) -> None:
    """A border that repeats x is no wider than what x has to repeat."""
    if mode == "constant":
        return
    for dim, (before, after) in zip(shape, pairs, strict=True):
        size = DYNAMIC if dim == DYNAMIC else dim + min(before, 0) + min(after, 0)
        limit = {"reflect": size - 1, "edge": _END if size else 0}.get(mode, size)
        if size != DYNAMIC and max(before, after) > max(limit, 0):
            raise VerifyException(
                f"paddings are {before} and {after} around {size}, expected at most "
                f"{max(limit, 0)} for {mode}"
            )


class PadOp(Padding):
    """y = x with paddings[k] = (before, after) zeros around dimension k; negative ones crop.

    C1: paddings is i32 or i64. C2: x has rank >= 1. C3: paddings has two numbers per dimension.
    C4: no dimension is cropped below 0.
    """

    name = "ge.Pad"

    x = operand()
    paddings = operand()
    y = result()

    def infer(self, x: Tensor, paddings: Tensor) -> Tensor:
        return self.padded(x, paddings, contiguous=True)

    def evaluate(self, x: Array, paddings: Array) -> Array:
        return self.value(x, pad_pairs(ints_of(paddings), x.ndim, True), "constant", 0)


class PadV3Op(Padding):
    """y = x with a border: constant, reflect (without the edge), edge, symmetric (with the edge)
    or circular; negative paddings crop.

    paddings are (before, after) per dimension, or all before and then all after when not
    paddings_contiguous. C1: paddings is i32 or i64. C2: x has rank >= 1. C3: paddings has two
    numbers per dimension. C4: no dimension is cropped below 0. C5: the mode is known.
    C6: constant_values is one element of x's type. C7: reflect pads less than the dimension,
    symmetric and circular at most it.
    """

    name = "ge.PadV3"

    x = operand()
    paddings = operand()
    constant_values = optional()
    mode = string("constant")
    paddings_contiguous = boolean(True)
    y = result()

    def infer(self, x: Tensor, paddings: Tensor, constant_values: Tensor | None) -> Tensor:
        check_mode(self.mode)  # C5
        if constant_values is not None:
            one_element_type(x, constant_values)  # C6
            check_scalar(constant_values, "constant_values")
        y = self.padded(x, paddings, self.paddings_contiguous)
        flat = known_ints(self, "paddings")
        if flat is not None and x.shape is not None:
            pairs = pad_pairs(flat, len(x.shape), self.paddings_contiguous)
            check_reach(self.mode, x.shape, pairs)  # C7
        return y

    def evaluate(self, x: Array, paddings: Array, constant_values: Array | None) -> Array:
        pairs = pad_pairs(ints_of(paddings), x.ndim, self.paddings_contiguous)
        check_reach(self.mode, x.shape, pairs)
        fill = 0 if constant_values is None else constant_values.reshape(())
        return self.value(x, pairs, self.mode, fill)
