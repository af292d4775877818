"""Shapes: ops that change only them (reshape, transpose, broadcast) and ops that tell them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import IntegerAttr
from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.op import GeOp, integer, integers, operand, optional, result
from ge_xdsl.dialects.ge.operands import (
    check_index,
    check_length,
    known_int,
    known_ints,
    vector_length,
)
from ge_xdsl.dialects.ge.shapes import (
    multiply_dims,
    normalize_axes,
    normalize_axis,
    reshape_dims,
    shape_text,
)
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor, numpy_dtype

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.shapes import Shape
    from ge_xdsl.dialects.ge.types import Array


def reshaped(middle: Sequence[int], wanted: Sequence[int], copies_zero: bool) -> tuple[int, ...]:
    """The shape of a reshape of `middle` to `wanted`: -1 is inferred, 0 copied or taken as 0."""
    if any(d < -1 for d in wanted):
        raise VerifyException(f"shape is {list(wanted)}, expected entries >= -1")
    if list(wanted).count(-1) > 1:
        raise VerifyException(f"shape is {list(wanted)}, expected at most one -1")
    copied = [i for i, d in enumerate(wanted) if d == 0] if copies_zero else []
    if copied and copied[-1] >= len(middle):
        raise VerifyException(
            f"shape is {list(wanted)}, expected 0 only where x ({shape_text(middle)}) has a "
            "dimension"
        )
    # Copied dimensions stand on both sides, so an unknown one does not hide what -1 is.
    given = multiply_dims(*(d for i, d in enumerate(middle) if i not in copied))
    rest = reshape_dims(
        None if given == DYNAMIC else given, [d for i, d in enumerate(wanted) if i not in copied]
    )
    left = iter(rest)
    return tuple(middle[i] if i in copied else next(left) for i in range(len(wanted)))


class ReshapeOp(GeOp):
    """y = the elements of x in row-major order, with dimensions [axis, axis + num_axes) of x
    replaced by `shape` (all dimensions by default; num_axes = -1 is all that follow).

    One entry of shape may be -1. A 0 is a dimension of 0; with the node attribute allowzero = 0
    (which ONNX graphs bring along) it copies the dimension of x at its place. C1: shape is i32 or
    i64 of rank 1. C2: entries are >= -1 and at most one is -1. C3: the element counts agree.
    C4: axis and num_axes lie in the rank of x.
    """

    name = "ge.Reshape"

    x = operand()
    shape = operand()
    axis = integer(0)
    num_axes = integer(-1)
    y = result()

    def infer(self, x: Tensor, shape: Tensor) -> Tensor:
        count = vector_length(shape, "shape")  # C1
        wanted = known_ints(self, "shape")
        if wanted is not None:
            return x.with_shape(self._target(x.shape, wanted))
        if count == DYNAMIC or (x.shape is None and not self._takes_all()):
            return x.with_shape(None)
        head, _, tail = self._parts(x.shape)
        return x.with_shape((*head, *(DYNAMIC,) * count, *tail))

    def _takes_all(self) -> bool:
        return self.axis == 0 and self.num_axes == -1

    def _parts(self, shape: Shape) -> tuple[Sequence[int], Sequence[int] | None, Sequence[int]]:
        """x's dimensions before, in and after the reshaped range; None while unknown."""
        if self._takes_all():
            return (), shape, ()
        if shape is None:
            return (), None, ()
        rank = len(shape)
        start = self.axis if self.axis >= 0 else self.axis + rank + 1
        stop = rank if self.num_axes == -1 else start + self.num_axes
        if not 0 <= start <= stop <= rank:  # C4
            raise VerifyException(
                f"axis is {self.axis} and num_axes {self.num_axes}, expected a range in rank {rank}"
            )
        return shape[:start], shape[start:stop], shape[stop:]

    def _target(self, shape: Shape, wanted: Sequence[int]) -> Shape:
        head, middle, tail = self._parts(shape)
        if middle is not None:
            return (*head, *reshaped(middle, wanted, self._copies_zero()), *tail)  # C2 C3
        if not self._takes_all():
            return None
        if any(d < -1 for d in wanted) or list(wanted).count(-1) > 1:  # C2
            raise VerifyException(f"shape is {list(wanted)}, expected at most one -1")
        unknown = (-1, 0) if self._copies_zero() else (-1,)
        return tuple(DYNAMIC if d in unknown else d for d in wanted)

    def _copies_zero(self) -> bool:
        attr = self.attributes.get("ge.allowzero")
        return isinstance(attr, IntegerAttr) and attr.value.data == 0

    def evaluate(self, x: Array, shape: Array) -> Array:
        target = self._target(x.shape, [int(d) for d in shape.reshape(-1).tolist()])
        assert target is not None
        return x.reshape(target)


class FlattenOp(GeOp):
    """y = x as a matrix [product of the dimensions before axis, product of the others].

    C1: axis is in [-rank, rank].
    """

    name = "ge.Flatten"

    x = operand()
    axis = integer(1)
    y = result()

    def infer(self, x: Tensor) -> Tensor:
        if x.shape is None:
            return x.with_shape((DYNAMIC, DYNAMIC))
        rank = len(x.shape)
        if not -rank <= self.axis <= rank:  # C1
            raise VerifyException(f"axis is {self.axis}, expected one in [{-rank}, {rank}]")
        axis = self.axis + rank if self.axis < 0 else self.axis
        return x.with_shape((multiply_dims(*x.shape[:axis]), multiply_dims(*x.shape[axis:])))

    def evaluate(self, x: Array) -> Array:
        axis = self.axis + x.ndim if self.axis < 0 else self.axis
        rows = multiply_dims(*x.shape[:axis])
        return x.reshape(rows, multiply_dims(*x.shape[axis:]))


class FlattenV2Op(GeOp):
    """y = x with dimensions axis to end_axis (inclusive) merged into one.

    C1: axis and end_axis are in [-rank, rank). C2: axis is not after end_axis.
    """

    name = "ge.FlattenV2"

    x = operand()
    axis = integer(1)
    end_axis = integer(-1)
    y = result()

    def infer(self, x: Tensor) -> Tensor:
        return x.with_shape(None if x.shape is None else self._merged(x.shape))

    def _merged(self, shape: Sequence[int]) -> tuple[int, ...]:
        first = normalize_axis(self.axis, len(shape))  # C1
        last = normalize_axis(self.end_axis, len(shape), "end_axis")
        if first > last:  # C2
            raise VerifyException(f"axis is {first}, expected at most end_axis {last}")
        merged = multiply_dims(*shape[first : last + 1])
        return (*shape[:first], merged, *shape[last + 1 :])

    def evaluate(self, x: Array) -> Array:
        return x.reshape(self._merged(x.shape))


def squeezed(shape: Sequence[int], axes: Sequence[int]) -> Shape:
    """`shape` without `axes`, or without every 1 when there are none; unknown dims count as 1."""
    if not axes:
        return None if DYNAMIC in shape else tuple(d for d in shape if d != 1)
    dropped = normalize_axes(axes, len(shape))
    for axis in dropped if shape else ():
        if shape[axis] not in (1, DYNAMIC):
            raise VerifyException(f"dimension {axis} is {shape[axis]}, expected 1")
    return tuple(d for i, d in enumerate(shape) if i not in dropped)


class SqueezeOp(GeOp):
    """y = x without the dimensions `axis`, or without every dimension of 1 when it is empty.

    C1: axes are in [-rank, rank), none twice. C2: the dropped dimensions are 1.
    """

    name = "ge.Squeeze"

    x = operand()
    axis = integers(())
    y = result()

    def infer(self, x: Tensor) -> Tensor:
        return x.with_shape(None if x.shape is None else squeezed(x.shape, self.axis))  # C1 C2

    def evaluate(self, x: Array) -> Array:
        return x.reshape(_static(squeezed(x.shape, self.axis)))


class SqueezeV3Op(GeOp):
    """y = x without the dimensions `axes`, or without every dimension of 1 when there are none.

    C1: axes are in [-rank, rank), none twice. C2: the dropped dimensions are 1. C3: axes is i32
    or i64 of rank 1.
    """

    name = "ge.SqueezeV3"

    x = operand()
    axes = optional()
    y = result()

    def infer(self, x: Tensor, axes: Tensor | None) -> Tensor:
        if x.shape is None:
            return x
        if axes is None:
            return x.with_shape(squeezed(x.shape, ()))
        count = vector_length(axes, "axes")  # C3
        known = known_ints(self, "axes")
        if known is not None:
            return x.with_shape(squeezed(x.shape, known))  # C1 C2
        if count in (DYNAMIC, 0) or count > len(x.shape):
            return x.with_shape(None)
        return x.with_shape((DYNAMIC,) * (len(x.shape) - count))

    def evaluate(self, x: Array, axes: Array | None) -> Array:
        wanted = [] if axes is None else [int(a) for a in axes.reshape(-1).tolist()]
        return x.reshape(_static(squeezed(x.shape, wanted)))


def _static(shape: Shape) -> tuple[int, ...]:
    assert shape is not None
    return shape


def unsqueezed(shape: Sequence[int], axes: Sequence[int]) -> tuple[int, ...]:
    """`shape` with a 1 at each of `axes`, which count in the result."""
    rank = len(shape) + len(axes)
    added = normalize_axes(axes, rank) if axes else ()
    left = iter(shape)
    return tuple(1 if i in added else next(left) for i in range(rank))


class UnsqueezeOp(GeOp):
    """y = x with a dimension of 1 at each of `axes`, which count in y.

    C1: axes are in [-rank(y), rank(y)), none twice.
    """

    name = "ge.Unsqueeze"

    x = operand()
    axes = integers(())
    y = result()

    def infer(self, x: Tensor) -> Tensor:
        return x.with_shape(None if x.shape is None else unsqueezed(x.shape, self.axes))  # C1

    def evaluate(self, x: Array) -> Array:
        return x.reshape(unsqueezed(x.shape, self.axes))


class UnsqueezeV3Op(GeOp):
    """y = x with a dimension of 1 at each of `axes`, which count in y.

    C1: axes are in [-rank(y), rank(y)), none twice. C2: axes is i32 or i64 of rank 1.
    """

    name = "ge.UnsqueezeV3"

    x = operand()
    axes = operand()
    y = result()

    def infer(self, x: Tensor, axes: Tensor) -> Tensor:
        count = vector_length(axes, "axes")  # C2
        known = known_ints(self, "axes")
        if x.shape is None or (known is None and count == DYNAMIC):
            return x.with_shape(None)
        if known is None:
            return x.with_shape((DYNAMIC,) * (len(x.shape) + count))
        return x.with_shape(unsqueezed(x.shape, known))  # C1

    def evaluate(self, x: Array, axes: Array) -> Array:
        return x.reshape(unsqueezed(x.shape, [int(a) for a in axes.reshape(-1).tolist()]))


class ExpandDimsOp(GeOp):
    """y = x with a dimension of 1 at `axis`, which counts in y.

    C1: axis is in [-rank - 1, rank]. C2: axis is one i32 or i64.
    """

    name = "ge.ExpandDims"

    x = operand()
    axis = operand()
    y = result()

    def infer(self, x: Tensor, axis: Tensor) -> Tensor:
        check_index(axis, "axis")  # C2
        known = known_int(self, "axis")
        if x.shape is None:
            return x
        if known is None:
            return x.with_shape((DYNAMIC,) * (len(x.shape) + 1))
        return x.with_shape(unsqueezed(x.shape, [known]))  # C1

    def evaluate(self, x: Array, axis: Array) -> Array:
        return x.reshape(unsqueezed(x.shape, [int(axis.reshape(-1)[0])]))


def permutation(perm: Sequence[int], rank: int) -> tuple[int, ...]:
    """`perm` counted from the front; raises unless it names each of `rank` dimensions once."""
    check_length(perm, rank, "perm")
    found = tuple(normalize_axis(axis, rank, "perm entry") for axis in perm)
    normalize_axes(perm, rank, "perm")
    return found


class TransposeOp(GeOp):
    """y[i_0, ...] = x with dimension perm[k] of x as dimension k of y.

    C1: perm is i32 or i64 of rank 1. C2: perm names each dimension of x once.
    """

    name = "ge.Transpose"

    x = operand()
    perm = operand()
    y = result()

    def infer(self, x: Tensor, perm: Tensor) -> Tensor:
        count = vector_length(perm, "perm")  # C1
        known = known_ints(self, "perm")
        if x.shape is None:
            return x.with_shape(None if count == DYNAMIC else (DYNAMIC,) * count)
        if known is None:
            return x.with_shape((DYNAMIC,) * len(x.shape))
        return x.with_shape([x.shape[i] for i in permutation(known, len(x.shape))])  # C2

    def evaluate(self, x: Array, perm: Array) -> Array:
        return x.transpose(permutation([int(p) for p in perm.ravel().tolist()], x.ndim))


class TransposeDOp(GeOp):
    """y = x with dimension perm[k] of x as dimension k of y.

    C1: perm names each dimension of x once.
    """

    name = "ge.TransposeD"

    x = operand()
    perm = integers()
    y = result()

    def infer(self, x: Tensor) -> Tensor:
        if x.shape is None:
            return x.with_shape((DYNAMIC,) * len(self.perm))
        return x.with_shape([x.shape[i] for i in permutation(self.perm, len(x.shape))])  # C1

    def evaluate(self, x: Array) -> Array:
        return x.transpose(permutation(self.perm, x.ndim))


_SHAPE_TYPES = {3: DataType.DT_INT32, 9: DataType.DT_INT64}


def _shape_type(number: int) -> DataType:
    if number not in _SHAPE_TYPES:
        raise VerifyException(f"dtype is {number}, expected 3 (DT_INT32) or 9 (DT_INT64)")
    return _SHAPE_TYPES[number]


class ShapeOp(GeOp):
    """y = the dimensions of x. C1: dtype is 3 (i32) or 9 (i64)."""

    name = "ge.Shape"

    x = operand()
    dtype = integer(3)
    y = result()

    def infer(self, x: Tensor) -> Tensor:
        rank = DYNAMIC if x.shape is None else len(x.shape)
        return Tensor(_shape_type(self.dtype), (rank,))  # C1

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        return np.array(x.shape, numpy_dtype(_shape_type(self.dtype)))


class SizeOp(GeOp):
    """y = the number of elements of x, a scalar. C1: dtype is 3 (i32) or 9 (i64)."""

    name = "ge.Size"

    x = operand()
    dtype = integer(3)
    y = result()

    def infer(self, x: Tensor) -> Tensor:
        return Tensor(_shape_type(self.dtype), ())  # C1

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        return np.array(x.size, numpy_dtype(_shape_type(self.dtype)))


class RankOp(GeOp):
    """y = the number of dimensions of x, an i32 scalar."""

    name = "ge.Rank"

    x = operand()
    y = result()

    def infer(self, x: Tensor) -> Tensor:
        return Tensor(DataType.DT_INT32, ())

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        return np.array(x.ndim, np.int32)


def expanded(shape: Sequence[int], wanted: Sequence[int], both_ways: bool) -> tuple[int, ...]:
    """`shape` broadcast to `wanted`; -1 keeps a dimension, `both_ways` also lets 1 keep it."""
    rank = max(len(shape), len(wanted)) if both_ways else len(wanted)
    if rank < len(shape):
        raise VerifyException(
            f"shape has {len(wanted)} entries, expected at least the rank {len(shape)} of x"
        )
    have = (1,) * (rank - len(shape)) + tuple(shape)
    want = (-1,) * (rank - len(wanted)) + tuple(wanted)
    out: list[int] = []
    for h, w in zip(have, want, strict=True):
        if w < -1 or (w not in (-1, h) and h not in (1, DYNAMIC) and not (both_ways and w == 1)):
            raise VerifyException(
                f"x is {shape_text(shape)} and shape {list(wanted)}, expected ones that broadcast"
            )
        keeps = w == -1 or (both_ways and w == 1)
        out.append(h if keeps else w)
    return tuple(out)


class _Broadcast(GeOp):
    """y = x broadcast to `shape`."""

    x = operand()
    shape = operand()
    y = result()

    both_ways = False

    def infer(self, x: Tensor, shape: Tensor) -> Tensor:
        count = vector_length(shape, "shape")  # C1
        known = known_ints(self, "shape")
        if x.shape is not None and known is not None:
            return x.with_shape(expanded(x.shape, known, self.both_ways))  # C2
        if count == DYNAMIC or (self.both_ways and x.shape is None):
            return x.with_shape(None)
        rank = max(count, len(x.shape or ())) if self.both_ways else count
        return x.with_shape((DYNAMIC,) * rank)

    def evaluate(self, x: Array, shape: Array) -> Array:
        import numpy as np

        wanted = [int(d) for d in shape.reshape(-1).tolist()]
        return np.broadcast_to(x, expanded(x.shape, wanted, self.both_ways))


class ExpandOp(_Broadcast):
    """y = x broadcast with `shape`: an entry of -1 or 1 keeps the dimension of x.

    C1: shape is i32 or i64 of rank 1. C2: x and shape broadcast.
    """

    name = "ge.Expand"

    both_ways = True


class BroadcastToOp(_Broadcast):
    """y = x broadcast to `shape`; an entry of -1 keeps the dimension of x.

    C1: shape is i32 or i64 of rank 1. C2: x broadcasts to shape, which is no shorter.
    """

    name = "ge.BroadcastTo"


class TileOp(GeOp):
    """y = x repeated multiples[k] times along dimension k; the shorter side is filled with ones.

    C1: multiples is i32 or i64 of rank 1. C2: multiples are not negative.
    """

    name = "ge.Tile"

    x = operand()
    multiples = operand()
    y = result()

    def infer(self, x: Tensor, multiples: Tensor) -> Tensor:
        count = vector_length(multiples, "multiples")  # C1
        known = known_ints(self, "multiples")
        if x.shape is None or (known is None and count == DYNAMIC):
            return x.with_shape(None)
        if known is None:
            return x.with_shape((DYNAMIC,) * max(count, len(x.shape)))
        if any(m < 0 for m in known):  # C2
            raise VerifyException(f"multiples are {list(known)}, expected none negative")
        rank = max(len(known), len(x.shape))
        have = (1,) * (rank - len(x.shape)) + x.shape
        times = (1,) * (rank - len(known)) + known
        return x.with_shape([multiply_dims(h, t) for h, t in zip(have, times, strict=True)])

    def evaluate(self, x: Array, multiples: Array) -> Array:
        import numpy as np

        return np.tile(x, [int(m) for m in multiples.reshape(-1).tolist()])
