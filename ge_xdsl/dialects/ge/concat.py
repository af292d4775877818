"""Joining tensors and taking them apart along one dimension."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.elements import one_element_type
from ge_xdsl.dialects.ge.fields import AttrField
from ge_xdsl.dialects.ge.op import (
    GeOp,
    integer,
    operand,
    result,
    variadic,
    variadic_result,
)
from ge_xdsl.dialects.ge.operands import check_index, known_int, known_ints
from ge_xdsl.dialects.ge.shapes import add_dims, merge_dim, normalize_axis
from ge_xdsl.dialects.ge.types import DYNAMIC, Tensor

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


class _Concatenation(GeOp):
    """y = the tensors x one after the other along a dimension; a scalar counts as a vector of 1.

    C1: at least one x. C2: one element type. C3: equal ranks. C4: the dimension is in
    [-rank, rank). C5: the other dimensions are equal. N repeats the number of x and is not read.
    """

    def joined(self, xs: Sequence[Tensor], axis: int | None) -> Tensor:
        """The result tensor; all dimensions are unknown while the axis is."""
        if not xs:  # C1
            raise VerifyException("has no x, expected at least one")
        one_element_type(*xs)  # C2
        shapes = [t.shape or (1,) for t in xs if t.shape is not None]
        if not shapes:
            return xs[0].with_shape(None)
        rank = len(shapes[0])
        for shape in shapes:  # C3
            if len(shape) != rank:
                raise VerifyException(f"ranks are {rank} and {len(shape)}, expected equal ones")
        if axis is None:
            return xs[0].with_shape((DYNAMIC,) * rank)
        axis = normalize_axis(axis, rank, "concat_dim")  # C4
        dims = list(shapes[0])
        for shape in shapes[1:]:
            for i in range(rank):
                if i != axis:
                    dims[i] = merge_dim(dims[i], shape[i], f"sizes of dimension {i}")  # C5
        lengths = [shape[axis] for shape in shapes]
        dims[axis] = add_dims(*lengths) if len(shapes) == len(xs) else DYNAMIC
        return xs[0].with_shape(dims)

    def value(self, xs: Sequence[Array], axis: int) -> Array:
        """The arrays one after the other along `axis`."""
        import numpy as np

        return np.concatenate([np.atleast_1d(x) for x in xs], axis=axis)


class ConcatOp(_Concatenation):
    """y = the tensors x one after the other along concat_dim; a scalar is a vector of 1.

    C1: at least one x. C2: one element type. C3: equal ranks. C4: concat_dim is in [-rank, rank).
    C5: the other dimensions are equal. C6: concat_dim is one i32 or i64.
    """

    name = "ge.Concat"

    concat_dim = operand()
    x = variadic()
    N = integer(1)
    y = result()

    def infer(self, concat_dim: Tensor, x: list[Tensor]) -> Tensor:
        check_index(concat_dim, "concat_dim")  # C6
        return self.joined(x, known_int(self, "concat_dim"))

    def evaluate(self, concat_dim: Array, x: list[Array]) -> Array:
        return self.value(x, int(concat_dim.reshape(-1)[0]))


class ConcatV2Op(_Concatenation):
    """y = the tensors x one after the other along concat_dim; a scalar is a vector of 1.

    C1: at least one x. C2: one element type. C3: equal ranks. C4: concat_dim is in [-rank, rank).
    C5: the other dimensions are equal. C6: concat_dim is one i32 or i64.
    """

    name = "ge.ConcatV2"

    x = variadic()
    concat_dim = operand()
    N = integer(1)
    y = result()

    def infer(self, x: list[Tensor], concat_dim: Tensor) -> Tensor:
        check_index(concat_dim, "concat_dim")  # C6
        return self.joined(x, known_int(self, "concat_dim"))

    def evaluate(self, x: list[Array], concat_dim: Array) -> Array:
        return self.value(x, int(concat_dim.reshape(-1)[0]))


class _ConcatenationD(_Concatenation):
    x = variadic()
    concat_dim = integer()
    N = integer(1)
    y = result()

    def infer(self, x: list[Tensor]) -> Tensor:
        return self.joined(x, self.concat_dim)

    def evaluate(self, x: list[Array]) -> Array:
        return self.value(x, self.concat_dim)


class ConcatDOp(_ConcatenationD):
    """y = the tensors x one after the other along concat_dim; a scalar is a vector of 1.

    C1: at least one x. C2: one element type. C3: equal ranks. C4: concat_dim is in [-rank, rank).
    C5: the other dimensions are equal.
    """

    name = "ge.ConcatD"


class ConcatV2DOp(_ConcatenationD):
    """y = the tensors x one after the other along concat_dim; a scalar is a vector of 1.

    C1: at least one x. C2: one element type. C3: equal ranks. C4: concat_dim is in [-rank, rank).
    C5: the other dimensions are equal.
    """

    name = "ge.ConcatV2D"


def _pieces(x: Tensor, axis: int | None, sizes: Sequence[int]) -> list[Tensor]:
    """One tensor per piece of `sizes` along `axis`."""
    if x.shape is None:
        return [x.with_shape(None)] * len(sizes)
    if axis is None:
        return [x.with_shape((DYNAMIC,) * len(x.shape))] * len(sizes)
    return [x.with_shape((*x.shape[:axis], size, *x.shape[axis + 1 :])) for size in sizes]


def check_results(op: GeOp, count: int, name: str) -> None:
    """The attribute that tells how many results there are does so."""
    if count != len(op.results) or count < 1:
        raise VerifyException(
            f"{name} is {count}, expected the number of results ({len(op.results)})"
        )


class _EvenSplit(GeOp):
    """y[k] = the k-th of num_split equal parts of x along split_dim.

    C1: num_split is the number of results. C2: split_dim is in [-rank, rank). C3: num_split
    divides the dimension.
    """

    num_split: ClassVar[AttrField[int]]

    def parts(self, x: Tensor, axis: int | None) -> list[Tensor]:
        """The result tensors; all dimensions are unknown while the axis is."""
        check_results(self, self.num_split, "num_split")  # C1
        if x.shape is None or axis is None:
            return _pieces(x, None, (DYNAMIC,) * self.num_split)
        axis = normalize_axis(axis, len(x.shape), "split_dim")  # C2
        if not x.shape:
            raise VerifyException("x is a scalar, expected a rank of at least 1")
        size = x.shape[axis]
        if size != DYNAMIC and size % self.num_split:  # C3
            raise VerifyException(
                f"dimension {axis} is {size}, expected a multiple of num_split {self.num_split}"
            )
        part = DYNAMIC if size == DYNAMIC else size // self.num_split
        return _pieces(x, axis, (part,) * self.num_split)

    def value(self, x: Array, axis: int) -> list[Array]:
        """The equal parts of x along `axis`."""
        import numpy as np

        return np.split(x, self.num_split, axis=axis)


class SplitOp(_EvenSplit):
    """y[k] = the k-th of num_split equal parts of x along split_dim.

    C1: num_split is the number of results. C2: split_dim is in [-rank, rank). C3: num_split
    divides the dimension. C4: split_dim is one i32 or i64.
    """

    name = "ge.Split"

    split_dim = operand()
    x = operand()
    num_split = integer()
    y = variadic_result()

    def infer(self, split_dim: Tensor, x: Tensor) -> list[Tensor]:
        check_index(split_dim, "split_dim")  # C4
        return self.parts(x, known_int(self, "split_dim"))

    def evaluate(self, split_dim: Array, x: Array) -> list[Array]:
        return self.value(x, int(split_dim.reshape(-1)[0]))


class SplitDOp(_EvenSplit):
    """y[k] = the k-th of num_split equal parts of x along split_dim.

    C1: num_split is the number of results. C2: split_dim is in [-rank, rank). C3: num_split
    divides the dimension.
    """

    name = "ge.SplitD"

    x = operand()
    split_dim = integer()
    num_split = integer()
    y = variadic_result()

    def infer(self, x: Tensor) -> list[Tensor]:
        return self.parts(x, self.split_dim)

    def evaluate(self, x: Array) -> list[Array]:
        return self.value(x, self.split_dim)


def split_sizes(size: int, wanted: Sequence[int]) -> tuple[int, ...]:
    """`wanted` with its one -1 replaced by what is left of `size`."""
    if any(w < -1 for w in wanted) or list(wanted).count(-1) > 1:
        raise VerifyException(f"size_splits are {list(wanted)}, expected at most one -1")
    given = sum(w for w in wanted if w >= 0)
    if size == DYNAMIC:
        return tuple(DYNAMIC if w == -1 else w for w in wanted)
    if given > size or (-1 not in wanted and given != size):
        raise VerifyException(f"size_splits are {list(wanted)}, expected a sum of {size}")
    return tuple(size - given if w == -1 else w for w in wanted)


class SplitVOp(GeOp):
    """y[k] = the k-th part of x along split_dim, size_splits[k] long; one -1 takes the rest.

    C1: num_split is the number of results. C2: split_dim is in [-rank, rank). C3: size_splits
    adds up to the dimension, with at most one -1. C4: size_splits has num_split entries.
    C5: split_dim and size_splits are i32 or i64.
    """

    name = "ge.SplitV"

    x = operand()
    size_splits = operand()
    split_dim = operand()
    num_split = integer()
    y = variadic_result()

    def infer(self, x: Tensor, size_splits: Tensor, split_dim: Tensor) -> list[Tensor]:
        check_index(size_splits, "size_splits")  # C5
        check_index(split_dim, "split_dim")
        check_results(self, self.num_split, "num_split")  # C1
        wanted, axis = known_ints(self, "size_splits"), known_int(self, "split_dim")
        if wanted is not None and len(wanted) != self.num_split:  # C4
            raise VerifyException(
                f"size_splits has {len(wanted)} entries, expected num_split {self.num_split}"
            )
        if x.shape is None or axis is None:
            return _pieces(x, None, (DYNAMIC,) * self.num_split)
        axis = normalize_axis(axis, len(x.shape), "split_dim")  # C2
        if not x.shape:
            raise VerifyException("x is a scalar, expected a rank of at least 1")
        if wanted is None:
            return _pieces(x, axis, (DYNAMIC,) * self.num_split)
        return _pieces(x, axis, split_sizes(x.shape[axis], wanted))  # C3

    def evaluate(self, x: Array, size_splits: Array, split_dim: Array) -> list[Array]:
        import numpy as np

        axis = normalize_axis(int(split_dim.reshape(-1)[0]), x.ndim, "split_dim")
        sizes = split_sizes(x.shape[axis], [int(s) for s in size_splits.reshape(-1).tolist()])
        return np.split(x, np.cumsum(sizes)[:-1], axis=axis)


class PackOp(GeOp):
    """y = the tensors x stacked along a new dimension `axis` of y. N is not read.

    C1: at least one x. C2: one element type. C3: equal shapes. C4: axis is in
    [-rank - 1, rank].
    """

    name = "ge.Pack"

    x = variadic()
    axis = integer(0)
    N = integer(1)
    y = result()

    def infer(self, x: list[Tensor]) -> Tensor:
        if not x:  # C1
            raise VerifyException("has no x, expected at least one")
        one_element_type(*x)  # C2
        shapes = [t.shape for t in x if t.shape is not None]
        if not shapes:
            return x[0].with_shape(None)
        dims = list(shapes[0])
        for shape in shapes[1:]:
            if len(shape) != len(dims):  # C3
                raise VerifyException(
                    f"ranks are {len(dims)} and {len(shape)}, expected equal ones"
                )
            dims = [
                merge_dim(a, b, f"sizes of dimension {i}")  # C3
                for i, (a, b) in enumerate(zip(dims, shape, strict=True))
            ]
        axis = normalize_axis(self.axis, len(dims) + 1)  # C4
        return x[0].with_shape([*dims[:axis], len(x), *dims[axis:]])

    def evaluate(self, x: list[Array]) -> Array:
        import numpy as np

        return np.stack(x, axis=self.axis)


class UnpackOp(GeOp):
    """y[k] = x at position k of dimension `axis`, without that dimension.

    C1: axis is in [-rank, rank) and rank >= 1. C2: the dimension is num. C3: num is the number of
    results.
    """

    name = "ge.Unpack"

    x = operand()
    num = integer()
    axis = integer(0)
    y = variadic_result()

    def infer(self, x: Tensor) -> list[Tensor]:
        check_results(self, self.num, "num")  # C3
        if x.shape is None:
            return [x.with_shape(None)] * self.num
        if not x.shape:  # C1
            raise VerifyException("x is scalar, expected rank 1 or more")
        axis = normalize_axis(self.axis, len(x.shape))  # C1
        merge_dim(x.shape[axis], self.num, f"dimension {axis} and num")  # C2
        return [x.with_shape((*x.shape[:axis], *x.shape[axis + 1 :]))] * self.num

    def evaluate(self, x: Array) -> list[Array]:
        import numpy as np

        return list(np.moveaxis(x, self.axis, 0))
