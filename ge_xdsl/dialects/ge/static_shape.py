"""Forms of shape ops whose numbers are attributes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.concat import check_results, split_sizes
from ge_xdsl.dialects.ge.elements import one_element_type
from ge_xdsl.dialects.ge.extents import (
    bounded,
    checked_shape,
    listed_shape,
    merge_shapes,
)
from ge_xdsl.dialects.ge.fields import (
    boolean,
    integer,
    integers,
    operand,
    result,
    variadic,
    variadic_result,
)
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.shape import expanded, permutation, squeezed, unsqueezed
from ge_xdsl.dialects.ge.shapes import add_dims, multiply_dims, normalize_axis
from ge_xdsl.dialects.ge.types import DYNAMIC, Tensor

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


class SqueezeV2Op(GeOp):
    """y = x without the dimensions `axis`, or without every dimension of 1 when it is empty.

    C1: axes are in [-rank, rank), none twice. C2: the dropped dimensions are 1.
    """

    name = "ge.SqueezeV2"

    x = operand()
    axis = integers(())
    y = result()

    def infer(self, x: Tensor) -> Tensor:
        return x.with_shape(None if x.shape is None else squeezed(x.shape, self.axis))  # C1 C2

    def evaluate(self, x: Array) -> Array:
        shape = squeezed(x.shape, self.axis)
        assert shape is not None
        return x.reshape(shape)


class UnsqueezeV2Op(GeOp):
    """y = x with a dimension of 1 at each of `axis`, which count in y.

    C1: axes are in [-rank(y), rank(y)), none twice.
    """

    name = "ge.UnsqueezeV2"

    x = operand()
    axis = integers(())
    y = result()

    def infer(self, x: Tensor) -> Tensor:
        return x.with_shape(None if x.shape is None else unsqueezed(x.shape, self.axis))  # C1

    def evaluate(self, x: Array) -> Array:
        return x.reshape(unsqueezed(x.shape, self.axis))


class _BroadcastD(GeOp):
    """y = x broadcast to the attribute `shape`."""

    x = operand()
    y = result()
    shape = integers()

    both_ways = False

    def infer(self, x: Tensor) -> Tensor:
        if x.shape is not None:
            return x.with_shape(bounded(expanded(x.shape, self.shape, self.both_ways)))
        kept = (-1, 1) if self.both_ways else (-1,)
        wanted = [DYNAMIC if d in kept else d for d in self.shape]
        return x.with_shape(None if self.both_ways else bounded(wanted))

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        return np.broadcast_to(x, expanded(x.shape, self.shape, self.both_ways))


class ExpandDOp(_BroadcastD):
    """y = x broadcast with `shape`: an entry of -1 or 1 keeps the dimension of x.

    C1: x and shape broadcast.
    """

    name = "ge.ExpandD"

    both_ways = True


class BroadcastToDOp(_BroadcastD):
    """y = x broadcast to `shape`; an entry of -1 keeps the dimension of x.

    C1: x broadcasts to shape, which is no shorter.
    """

    name = "ge.BroadcastToD"


class TileDOp(GeOp):
    """y = x repeated multiples[k] times along dimension k; the shorter side is filled with ones.

    C1: multiples are not negative.
    """

    name = "ge.TileD"

    x = operand()
    y = result()
    multiples = integers()

    def infer(self, x: Tensor) -> Tensor:
        times = self.multiples
        if any(m < 0 for m in times):  # C1
            raise VerifyException(f"multiples are {list(times)}, expected none negative")
        if x.shape is None:
            return x
        rank = max(len(times), len(x.shape))
        have = (1,) * (rank - len(x.shape)) + x.shape
        times = (1,) * (rank - len(times)) + tuple(times)
        return x.with_shape([multiply_dims(h, t) for h, t in zip(have, times, strict=True)])

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        return np.tile(x, self.multiples)


class PermuteOp(GeOp):
    """y = x with dimension order[k] of x as dimension k of y.

    Dimensions that order leaves out follow in their own order. C1: order names dimensions of x,
    none twice.
    """

    name = "ge.Permute"

    x = operand()
    y = result()
    order = integers((0,))

    def infer(self, x: Tensor) -> Tensor:
        if x.shape is None:
            return x
        return x.with_shape([x.shape[i] for i in self._order(len(x.shape))])

    def _order(self, rank: int) -> tuple[int, ...]:
        first = [normalize_axis(axis, rank, "order entry") for axis in self.order]  # C1
        rest = [i for i in range(rank) if i not in first]
        if len(first) + len(rest) != rank:  # C1
            raise VerifyException(f"order is {list(self.order)}, expected no dimension twice")
        return (*first, *rest)

    def evaluate(self, x: Array) -> Array:
        return x.transpose(self._order(x.ndim))


class _ConfusionTranspose(GeOp):
    """A transposition and a reshape, in the order that transpose_first tells."""

    def confused(
        self, x: Tensor, shape: Sequence[int] | None, perm: Sequence[int], first: bool
    ) -> Tensor:
        """The result; `shape` is that of the reshape."""
        if x.shape is not None and first:
            permutation(perm, len(x.shape))
        if shape is None:
            return x.with_shape((DYNAMIC,) * len(perm) if not first else None)
        wanted = checked_shape(shape)
        have = DYNAMIC if x.shape is None else multiply_dims(*x.shape)
        count = multiply_dims(*wanted)
        if have not in (DYNAMIC, count):
            raise VerifyException(f"shape {list(shape)} has {count} elements, expected {have}")
        if first:
            return x.with_shape(wanted)
        return x.with_shape([wanted[i] for i in permutation(perm, len(wanted))])

    def value(self, x: Array, shape: Sequence[int], perm: Sequence[int], first: bool) -> Array:
        if first:
            return x.transpose(permutation(perm, x.ndim)).reshape(shape)
        return x.reshape(shape).transpose(permutation(perm, len(shape)))


class ConfusionTransposeDOp(_ConfusionTranspose):
    """y = x transposed by perm, then in the shape `shape`; the reshape first unless transpose_first

    C1: perm names each dimension of x (of shape unless transpose_first) once. C2: shape has no
    negative entry. C3: x has as many elements as shape.
    """

    name = "ge.ConfusionTransposeD"

    x = operand()
    y = result()
    perm = integers()
    shape = integers()
    transpose_first = boolean()

    def infer(self, x: Tensor) -> Tensor:
        return self.confused(x, self.shape, self.perm, self.transpose_first)  # C1 C2 C3

    def evaluate(self, x: Array) -> Array:
        return self.value(x, self.shape, self.perm, self.transpose_first)


class ConfusionTransposeOp(_ConfusionTranspose):
    """y = x transposed by perm, then in the shape `shape`; the reshape first unless transpose_first

    C1: perm names each dimension of x (of shape unless transpose_first) once. C2: shape has no
    negative entry. C3: x has as many elements as shape. C4: shape is i32 or i64 of rank 1.
    """

    name = "ge.ConfusionTranspose"

    x = operand()
    shape = operand()
    y = result()
    perm = integers()
    transpose_first = boolean()

    def infer(self, x: Tensor, shape: Tensor) -> Tensor:
        wanted = listed_shape(self, "shape", shape)  # C4
        unknown = wanted is None or DYNAMIC in wanted
        if unknown and self.transpose_first:
            self.confused(x, None, self.perm, True)  # C1
            return x.with_shape(wanted)
        return self.confused(x, None if unknown else wanted, self.perm, self.transpose_first)

    def evaluate(self, x: Array, shape: Array) -> Array:
        wanted = [int(d) for d in shape.reshape(-1).tolist()]
        return self.value(x, wanted, self.perm, self.transpose_first)


class SplitVDOp(GeOp):
    """y[k] = the k-th part of x along split_dim, size_splits[k] long; one -1 takes the rest.

    C1: num_split is the number of results. C2: split_dim is in [-rank, rank). C3: size_splits adds
    up to the dimension, with at most one -1. C4: size_splits has num_split entries.
    """

    name = "ge.SplitVD"

    x = operand()
    size_splits = integers()
    split_dim = integer()
    num_split = integer()
    y = variadic_result()

    def infer(self, x: Tensor) -> list[Tensor]:
        check_results(self, self.num_split, "num_split")  # C1
        if len(self.size_splits) != self.num_split:  # C4
            raise VerifyException(
                f"size_splits has {len(self.size_splits)} entries, expected num_split "
                f"{self.num_split}"
            )
        if x.shape is None:
            return [x] * self.num_split
        if not x.shape:  # C2
            raise VerifyException("x is a scalar, expected a rank of at least 1")
        axis = normalize_axis(self.split_dim, len(x.shape), "split_dim")  # C2
        sizes = split_sizes(x.shape[axis], self.size_splits)  # C3
        return [x.with_shape((*x.shape[:axis], n, *x.shape[axis + 1 :])) for n in sizes]

    def evaluate(self, x: Array) -> list[Array]:
        import numpy as np

        axis = normalize_axis(self.split_dim, x.ndim, "split_dim")
        sizes = split_sizes(x.shape[axis], self.size_splits)
        return np.split(x, np.cumsum(sizes)[:-1], axis=axis)


class PhonyConcatOp(GeOp):
    """y = the tensors x one after the other along concat_dim[0], in place in memory.

    Only one entry is modelled; more, for concatenations of concatenations, are refused.
    keep_input_offset has no effect: it is about addresses. C1: at least one x, as many as N[0]. C2:
    one element type. C3: concat_dim and N have one entry. C4: the shapes are equal but for
    concat_dim, which is in [-rank, rank).
    """

    name = "ge.PhonyConcat"

    x = variadic()
    y = result()
    concat_dim = integers()
    N = integers()
    keep_input_offset = boolean(True)

    def infer(self, x: list[Tensor]) -> Tensor:
        check_one_entry(concat_dim=self.concat_dim, N=self.N)  # C3
        if not x or len(x) != self.N[0]:  # C1
            raise VerifyException(f"has {len(x)} x, expected N {self.N[0]}, at least one")
        one_element_type(*x)  # C2
        known = [t.shape for t in x if t.shape is not None]
        if not known:
            return x[0]
        axis = normalize_axis(self.concat_dim[0], len(known[0]), "concat_dim")  # C4
        merged: tuple[int, ...] | None = None
        for shape in known:
            rest = tuple(DYNAMIC if i == axis else d for i, d in enumerate(shape))
            merged = merge_shapes(merged, rest, "shapes of x")  # C4
        assert merged is not None
        length = add_dims(*(s[axis] for s in known)) if len(known) == len(x) else DYNAMIC
        return x[0].with_shape((*merged[:axis], length, *merged[axis + 1 :]))

    def evaluate(self, x: list[Array]) -> Array:
        import numpy as np

        return np.concatenate(x, axis=self.concat_dim[0])


def check_one_entry(**lists: Sequence[int]) -> None:
    """Each list attribute, by name, has one entry."""
    for name, values in lists.items():
        if len(values) != 1:
            raise VerifyException(f"{name} has {len(values)} entries, expected 1")


class PhonySplitOp(GeOp):
    """y[k] = the k-th of num_split[0] equal parts of x along split_dim[0], in place in memory.

    keep_output_offset has no effect: it is about addresses. C1: split_dim and num_split have one
    entry. C2: num_split is the number of results. C3: split_dim is in [-rank, rank). C4: num_split
    divides the dimension.
    """

    name = "ge.PhonySplit"

    x = operand()
    y = variadic_result()
    split_dim = integers()
    num_split = integers()
    keep_output_offset = boolean(True)

    def infer(self, x: Tensor) -> list[Tensor]:
        check_one_entry(split_dim=self.split_dim, num_split=self.num_split)  # C1
        count = self.num_split[0]
        check_results(self, count, "num_split")  # C2
        if x.shape is None:
            return [x] * count
        axis = normalize_axis(self.split_dim[0], len(x.shape), "split_dim")  # C3
        size = x.shape[axis] if x.shape else 0
        if not x.shape or (size != DYNAMIC and size % count):  # C4
            raise VerifyException(f"dimension {axis} is {size}, expected a multiple of {count}")
        part = DYNAMIC if size == DYNAMIC else size // count
        return [x.with_shape((*x.shape[:axis], part, *x.shape[axis + 1 :]))] * count

    def evaluate(self, x: Array) -> list[Array]:
        import numpy as np

        return np.split(x, self.num_split[0], axis=self.split_dim[0])


class CopyOp(GeOp):
    """y[k] = x for each of N results. C1: N is the number of results."""

    name = "ge.Copy"

    x = operand()
    y = variadic_result()
    N = integer()

    def infer(self, x: Tensor) -> list[Tensor]:
        check_results(self, self.N, "N")  # C1
        return [x] * self.N

    def evaluate(self, x: Array) -> list[Array]:
        return [x] * self.N
