"""Slices and pads whose numbers are attributes, the gradients of both, and pads by reflection."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.elements import one_element_type
from ge_xdsl.dialects.ge.extents import checked_shape, ints_of, listed_shape, merge_shapes
from ge_xdsl.dialects.ge.fields import (
    AttrField,
    boolean,
    integer,
    integer_lists,
    integers,
    operand,
    optional,
    result,
    string,
)
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.operands import (
    check_index,
    check_length,
    check_scalar,
    known_ints,
    vector_length,
)
from ge_xdsl.dialects.ge.rounding import chosen
from ge_xdsl.dialects.ge.shapes import Shape, normalize_axes
from ge_xdsl.dialects.ge.slice import (
    Cut,
    MaskedSlice,
    Masks,
    Padding,
    check_mode,
    check_reach,
    cut_shape,
    pad_pairs,
    padded_shape,
    sliced,
    strided_cuts,
    take_slice,
)
from ge_xdsl.dialects.ge.types import DYNAMIC, Tensor

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


class _Sized(GeOp):
    """The shape of the result as an attribute."""

    shape = integers()


class _Listed(GeOp):
    """begin, end and strides as attributes; stands after MaskedSlice, whose fields follow."""

    begin = integers()
    end = integers()
    strides = integers()

    masks: Callable[..., Masks]

    def cuts(self, shape: Sequence[int]) -> list[Cut]:
        """What happens to each dimension; raises where the lists differ in length."""
        begin, end, strides = self.begin, self.end, self.strides
        counts = [len(begin), len(end), len(strides)]
        if len(set(counts)) > 1:
            raise VerifyException(
                f"begin, end and strides have {counts[0]}, {counts[1]} and {counts[2]} entries, "
                "expected equal numbers"
            )
        return strided_cuts(shape, begin, end, strides, self.masks())


class StridedSliceDOp(MaskedSlice, _Listed):
    """y = x[begin : end : strides, ...] over the first dimensions, with tf.strided_slice's masks.

    The masks are those of StridedSlice. C1: begin, end and strides are equal in length. C2: at
    most one ellipsis. C3: no more entries than dimensions. C4: strides are not 0. C5: a shrunk
    position lies inside x. C6: its stride is positive.
    """

    name = "ge.StridedSliceD"

    x = operand()
    y = result()

    def infer(self, x: Tensor) -> Tensor:
        if x.shape is None:
            return x
        return x.with_shape(cut_shape(self.cuts(x.shape)))  # C1 C2 C3 C4 C5 C6

    def evaluate(self, x: Array) -> Array:
        return x[tuple(cut.index() for cut in self.cuts(x.shape))]


def spread(dy: Array, shape: Sequence[int], cuts: Sequence[Cut]) -> Array:
    """dy at the places that the cuts take from a tensor of `shape`, zeros elsewhere."""
    import numpy as np

    found = np.zeros(shape, dy.dtype)
    found[tuple(cut.index() for cut in cuts)] = dy
    return found


class StridedSliceGradOp(MaskedSlice):
    """output = zeros(shape) with dy at [begin : end : strides], the masks of StridedSlice

    C1: shape, begin, end and strides are i32 or i64 of rank 1, the last three equal in length. C2:
    shape has no negative entry. C3: dy has the shape of the slice.
    """

    name = "ge.StridedSliceGrad"

    shape = operand()
    begin = operand()
    end = operand()
    strides = operand()
    dy = operand()
    output = result()

    def infer(self, shape: Tensor, *rest: Tensor) -> Tensor:
        *numbers, dy = rest
        wanted = listed_shape(self, "shape", shape)  # C1 C2
        counts = [
            vector_length(t, name)  # C1
            for t, name in zip(numbers, ("begin", "end", "strides"), strict=True)
        ]
        if len({count for count in counts if count != DYNAMIC}) > 1:  # C1
            raise VerifyException(
                f"begin, end and strides have {counts[0]}, {counts[1]} and {counts[2]} entries, "
                "expected equal numbers"
            )
        known = [known_ints(self, name) for name in ("begin", "end", "strides")]
        if wanted is not None and all(values is not None for values in known):
            begin, end, strides = (values or () for values in known)
            cuts = strided_cuts(wanted, begin, end, strides, self.masks())
            merge_shapes(dy.shape, cut_shape(cuts), "dy and the slice")  # C3
        return dy.with_shape(wanted)

    def evaluate(self, shape: Array, *rest: Array) -> Array:
        begin, end, strides = (ints_of(a) for a in rest[:3])
        wanted = ints_of(shape)
        return spread(rest[3], wanted, strided_cuts(wanted, begin, end, strides, self.masks()))


class StridedSliceGradDOp(MaskedSlice, _Listed, _Sized):
    """output = zeros(shape) with dy at [begin : end : strides], the masks of StridedSlice

    C1: begin, end and strides are equal in length. C2: shape has no negative entry. C3: dy has the
    shape of the slice.
    """

    name = "ge.StridedSliceGradD"

    dy = operand()
    output = result()

    def infer(self, dy: Tensor) -> Tensor:
        wanted = checked_shape(self.shape)  # C2
        merge_shapes(dy.shape, cut_shape(self.cuts(wanted)), "dy and the slice")  # C1 C3
        return dy.with_shape(wanted)

    def evaluate(self, dy: Array) -> Array:
        return spread(dy, self.shape, self.cuts(self.shape))


class SliceDV2Op(GeOp):
    """y = x[offsets[k] : offsets[k] + size[k], ...]; a size of -1 reaches to the end.

    C1: offsets is i32 or i64 of rank 1. C2: offsets and size have one entry per dimension. C3:
    offsets >= 0 and size >= -1. C4: the slice lies inside x.
    """

    name = "ge.SliceDV2"

    x = operand()
    offsets = operand()
    y = result()
    size = integers()

    def infer(self, x: Tensor, offsets: Tensor) -> Tensor:
        count = vector_length(offsets, "offsets")  # C1
        starts = known_ints(self, "offsets")
        shape = (DYNAMIC,) * len(self.size) if x.shape is None else x.shape
        if starts is None:
            check_length(self.size, len(shape), "size")  # C2
            if count != DYNAMIC:
                check_length((0,) * count, len(shape), "offsets")  # C2
            starts = (0,) * len(shape)
            whole = sliced(shape, starts, self.size)  # C3 C4
            reach = [DYNAMIC if s < 0 else d for s, d in zip(self.size, whole, strict=True)]
            return x.with_shape(reach)
        return x.with_shape(sliced(shape, starts, self.size))  # C2 C3 C4

    def evaluate(self, x: Array, offsets: Array) -> Array:
        return take_slice(x, ints_of(offsets), self.size)


class StridedSliceV3Op(GeOp):
    """y = x[begin[k] : end[k] : strides[k]] along axes[k]; other dimensions stay whole.

    Missing axes are 0, 1, ...; missing strides are 1. Numbers count from the end when negative and
    are clamped. C1: begin, end, axes and strides are i32 or i64 of rank 1 and equal in length. C2:
    axes are in [-rank, rank), none twice. C3: no more entries than dimensions. C4: strides are not
    0.
    """

    name = "ge.StridedSliceV3"

    x = operand()
    begin = operand()
    end = operand()
    axes = optional()
    strides = optional()
    y = result()

    def infer(self, x: Tensor, *rest: Tensor | None) -> Tensor:
        names = ("begin", "end", "axes", "strides")
        counts = [
            vector_length(t, name) for t, name in zip(rest, names, strict=True) if t is not None
        ]
        known = sorted({count for count in counts if count != DYNAMIC})
        if len(known) > 1:  # C1
            raise VerifyException(
                f"begin, end, axes and strides have {known} entries, expected equal numbers"
            )
        if x.shape is None:
            return x
        if not known or (rest[2] is not None and self.constant("axes") is None):
            return x.with_shape((DYNAMIC,) * len(x.shape))
        values = [
            known_ints(self, name) if t is not None else None
            for t, name in zip(rest, names, strict=True)
        ]
        return x.with_shape(cut_shape(self._cuts(x.shape, known[0], rest, values)))  # C2 C3 C4

    def _cuts(
        self,
        shape: Sequence[int],
        count: int,
        given: Sequence[object | None],
        values: Sequence[Sequence[int] | None],
    ) -> list[Cut]:
        begin, end, axes, strides = values
        rank = len(shape)
        if count > rank:  # C3
            raise VerifyException(f"begin names {count} dimensions, expected at most {rank}")
        places = tuple(range(count)) if axes is None else tuple(axes)
        normalize_axes(places, rank)  # C2
        cuts = [Cut(dim, 0, (1 << 63) - 1, 1) for dim in shape]
        for k, place in enumerate(places):
            stride = 1 if given[3] is None else None if strides is None else strides[k]
            first, last = (None if v is None else v[k] for v in (begin, end))
            cuts[place % rank] = Cut(shape[place % rank], first, last, stride)
        return cuts

    def evaluate(self, x: Array, *rest: Array | None) -> Array:
        values = [None if a is None else ints_of(a) for a in rest]
        cuts = self._cuts(x.shape, len(values[0] or ()), rest, values)
        return x[tuple(cut.index() for cut in cuts)]


class _ListedPadding(Padding):
    """(before, after) per dimension as an attribute."""

    paddings: ClassVar[AttrField[Sequence[Any]]]

    def pairs(self, shape: Shape, contiguous: bool = True) -> list[tuple[int, int]]:
        """The pairs of the attribute, one for each dimension of `shape` when that is known."""
        flat = [int(v) for row in self.paddings for v in row]
        if shape is not None and not shape:
            raise VerifyException("x is scalar, expected rank 1 or more")
        return pad_pairs(flat, len(flat) // 2 if shape is None else len(shape), contiguous)

    def padded_by_list(self, x: Tensor, contiguous: bool = True) -> Tensor:
        pairs = self.pairs(x.shape, contiguous)
        shape = (DYNAMIC,) * len(pairs) if x.shape is None else x.shape
        return x.with_shape(padded_shape(shape, pairs))


class PadDOp(_ListedPadding):
    """y = x with paddings[k] = (before, after) zeros around dimension k; negative ones crop.

    C1: x has rank >= 1. C2: paddings has two numbers per dimension. C3: no dimension is cropped
    below 0.
    """

    name = "ge.PadD"

    x = operand()
    y = result()
    paddings = integer_lists()

    def infer(self, x: Tensor) -> Tensor:
        return self.padded_by_list(x)  # C1 C2 C3

    def evaluate(self, x: Array) -> Array:
        return self.value(x, self.pairs(x.shape), "constant", 0)


class PadV2Op(Padding):
    """y = x with paddings[k] = (before, after) times constant_values around dimension k.

    Negative paddings crop. C1: paddings is i32 or i64. C2: x has rank >= 1. C3: paddings has two
    numbers per dimension. C4: no dimension is cropped below 0. C5: constant_values is one element
    of x's type.
    """

    name = "ge.PadV2"

    x = operand()
    paddings = operand()
    constant_values = operand()
    y = result()

    def infer(self, x: Tensor, paddings: Tensor, constant_values: Tensor) -> Tensor:
        one_element_type(x, constant_values)  # C5
        check_scalar(constant_values, "constant_values")  # C5
        return self.padded(x, paddings, contiguous=True)  # C1 C2 C3 C4

    def evaluate(self, x: Array, paddings: Array, constant_values: Array) -> Array:
        pairs = pad_pairs(ints_of(paddings), x.ndim, True)
        return self.value(x, pairs, "constant", constant_values.reshape(()))


class PadV2DOp(_ListedPadding):
    """y = x with paddings[k] = (before, after) times constant_values around dimension k.

    Negative paddings crop. C1: x has rank >= 1. C2: paddings has two numbers per dimension. C3: no
    dimension is cropped below 0. C4: constant_values is one element of x's type.
    """

    name = "ge.PadV2D"

    x = operand()
    constant_values = operand()
    y = result()
    paddings = integer_lists()

    def infer(self, x: Tensor, constant_values: Tensor) -> Tensor:
        one_element_type(x, constant_values)  # C4
        check_scalar(constant_values, "constant_values")  # C4
        return self.padded_by_list(x)  # C1 C2 C3

    def evaluate(self, x: Array, constant_values: Array) -> Array:
        return self.value(x, self.pairs(x.shape), "constant", constant_values.reshape(()))


class PadV3DOp(_ListedPadding):
    """y = x with a border: constant, reflect (without the edge), edge, symmetric (with the edge)
    or circular; negative paddings crop.

    paddings are (before, after) per dimension, or all before and then all after when not
    paddings_contiguous. C1: x has rank >= 1. C2: paddings has two numbers per dimension. C3: no
    dimension is cropped below 0. C4: the mode is known. C5: reflect pads less than the dimension,
    symmetric and circular at most it.
    """

    name = "ge.PadV3D"

    x = operand()
    y = result()
    paddings = integer_lists()
    constant_values = integer(0)
    mode = string("constant")
    paddings_contiguous = boolean(True)

    def infer(self, x: Tensor) -> Tensor:
        check_mode(self.mode)  # C4
        y = self.padded_by_list(x, self.paddings_contiguous)  # C1 C2 C3
        if x.shape is not None:
            check_reach(self.mode, x.shape, self.pairs(x.shape, self.paddings_contiguous))  # C5
        return y

    def evaluate(self, x: Array) -> Array:
        pairs = self.pairs(x.shape, self.paddings_contiguous)
        check_reach(self.mode, x.shape, pairs)
        return self.value(x, pairs, self.mode, self.constant_values)


_MIRRORS = {"REFLECT": "reflect", "SYMMETRIC": "symmetric"}


class MirrorPadOp(Padding):
    """y = x with paddings[k] = (before, after) mirrored elements around dimension k.

    REFLECT leaves the edge out, SYMMETRIC repeats it. C1: paddings is i32 or i64. C2: x has rank
    >= 1. C3: paddings has two numbers per dimension. C4: mode is REFLECT or SYMMETRIC. C5: REFLECT
    pads less than the dimension, SYMMETRIC at most it.
    """

    name = "ge.MirrorPad"

    x = operand()
    paddings = operand()
    y = result()
    mode = string()

    def infer(self, x: Tensor, paddings: Tensor) -> Tensor:
        chosen(self.mode, "mode", tuple(_MIRRORS))  # C4
        y = self.padded(x, paddings, contiguous=True)  # C1 C2 C3
        flat = known_ints(self, "paddings")
        if flat is not None and x.shape is not None:
            pairs = pad_pairs(flat, len(x.shape), True)
            check_reach(_MIRRORS[self.mode], x.shape, pairs)  # C5
        return y

    def evaluate(self, x: Array, paddings: Array) -> Array:
        pairs = pad_pairs(ints_of(paddings), x.ndim, True)
        mode = _MIRRORS[self.mode]
        check_reach(mode, x.shape, pairs)
        return self.value(x, pairs, mode, 0)


class PadV3GradOp(Padding):
    """y = x without its border, whose elements are added to those that they mirrored

    The adjoint of PadV3 in mode reflect, edge, symmetric or circular: y has the shape that was
    padded. C1: paddings is i32 or i64. C2: x has rank >= 1. C3: paddings has two numbers per
    dimension, none negative. C4: x is at least as large as its border. C5: the mode is one of
    these. C6: reflect pads less than the dimension of y, symmetric and circular at most it.
    """

    name = "ge.PadV3Grad"

    x = operand()
    paddings = operand()
    y = result()
    mode = string("reflect")
    paddings_contiguous = boolean(True)

    widens = True

    def infer(self, x: Tensor, paddings: Tensor) -> Tensor:
        chosen(self.mode, "mode", ("reflect", "edge", "symmetric", "circular"))  # C5
        check_index(paddings, "paddings")  # C1
        if x.shape is None:
            return x
        if not x.shape:  # C2
            raise VerifyException("x is scalar, expected rank 1 or more")
        flat = known_ints(self, "paddings")
        if flat is None:
            return x.with_shape((DYNAMIC,) * len(x.shape))
        return x.with_shape(self._inner(x.shape, flat)[0])

    def _inner(
        self, shape: Sequence[int], flat: Sequence[int]
    ) -> tuple[tuple[int, ...], list[tuple[int, int]]]:
        """The shape without the border, and the border."""
        pairs = pad_pairs(flat, len(shape), self.paddings_contiguous)  # C3
        if min(flat, default=0) < 0:  # C3
            raise VerifyException(f"paddings are {list(flat)}, expected none negative")
        inner = padded_shape(shape, [(-b, -a) for b, a in pairs])  # C4
        check_reach(self.mode, inner, pairs)  # C6
        return inner, pairs

    def evaluate(self, x: Array, paddings: Array) -> Array:
        import numpy as np

        inner, pairs = self._inner(x.shape, ints_of(paddings))
        modes: dict[str, Any] = {"circular": "wrap"}
        for axis, (size, pair) in enumerate(zip(inner, pairs, strict=True)):
            sources = np.pad(np.arange(size), pair, mode=modes.get(self.mode, self.mode))
            rows = np.moveaxis(x, axis, 0)
            found = np.zeros((size, *rows.shape[1:]), x.dtype)
            np.add.at(found, sources, rows)
            x = np.moveaxis(found, 0, axis)
        return x
