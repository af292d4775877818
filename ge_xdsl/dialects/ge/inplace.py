"""Rows of a tensor replaced, raised or lowered: Inplace ops, in spite of the name, give a new y.

An index counts modulo the number of rows, so that negative ones count from the end. Rows that are
named twice are added twice; of several plain updates the last one stays (the device: any).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ge_xdsl.dialects.ge.elements import one_element_type
from ge_xdsl.dialects.ge.extents import at_least_rank, merge_shapes, of_rank
from ge_xdsl.dialects.ge.fields import integers, operand, result
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.operands import check_index
from ge_xdsl.dialects.ge.scatter_nd import put_at
from ge_xdsl.dialects.ge.types import DYNAMIC, Tensor

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


class _Rows(GeOp):
    widens = True
    how: ClassVar[str] = "update"

    def row_type(self, x: Tensor, count: int, v: Tensor) -> Tensor:
        one_element_type(x, v)  # C1
        at_least_rank(x, 1, "x")  # C2
        wanted = None if x.shape is None else (count, *x.shape[1:])
        merge_shapes(v.shape, wanted, "shapes of v and of the rows")  # C3
        return x

    def changed(self, x: Array, indices: Array, v: Array) -> Array:
        y = x.copy()
        if indices.size and not x.shape[0]:
            raise ValueError("x has no rows, expected at least one")
        put_at(y, indices % max(x.shape[0], 1), v, self.how)
        return y


class InplaceRows(_Rows):
    """y = x with its rows at indices combined with those of v.

    C1: x and v have one element type. C2: x has rank >= 1. C3: v has one row per index, shaped as
    those of x. C4: indices is an i32 or i64 vector.
    """

    x = operand()
    indices = operand()
    v = operand()
    y = result()

    def infer(self, x: Tensor, indices: Tensor, v: Tensor) -> Tensor:
        check_index(indices, "indices")  # C4
        of_rank(indices, 1, "indices")  # C4
        return self.row_type(x, DYNAMIC if indices.shape is None else indices.shape[0], v)

    def evaluate(self, x: Array, indices: Array, v: Array) -> Array:
        return self.changed(x, indices, v)


class InplaceRowsD(_Rows):
    """y = x with its rows at indices combined with those of v.

    C1: x and v have one element type. C2: x has rank >= 1. C3: v has one row per index, shaped as
    those of x.
    """

    x = operand()
    v = operand()
    y = result()
    indices = integers()

    def infer(self, x: Tensor, v: Tensor) -> Tensor:
        return self.row_type(x, len(self.indices), v)

    def evaluate(self, x: Array, v: Array) -> Array:
        import numpy as np

        return self.changed(x, np.array(self.indices, np.int64), v)


class InplaceUpdateOp(InplaceRows):
    """y = x with y[indices[i]] = v[i].

    C1: x and v have one element type. C2: x has rank >= 1. C3: v has one row per index, shaped as
    those of x. C4: indices is an i32 or i64 vector.
    """

    name = "ge.InplaceUpdate"

    how = "update"


class InplaceAddOp(InplaceRows):
    """y = x with y[indices[i]] += v[i].

    C1: x and v have one element type. C2: x has rank >= 1. C3: v has one row per index, shaped as
    those of x. C4: indices is an i32 or i64 vector.
    """

    name = "ge.InplaceAdd"

    how = "add"


class InplaceSubOp(InplaceRows):
    """y = x with y[indices[i]] -= v[i].

    C1: x and v have one element type. C2: x has rank >= 1. C3: v has one row per index, shaped as
    those of x. C4: indices is an i32 or i64 vector.
    """

    name = "ge.InplaceSub"

    how = "sub"


class InplaceUpdateDOp(InplaceRowsD):
    """y = x with y[indices[i]] = v[i].

    C1: x and v have one element type. C2: x has rank >= 1. C3: v has one row per index, shaped as
    those of x.
    """

    name = "ge.InplaceUpdateD"

    how = "update"


class InplaceAddDOp(InplaceRowsD):
    """y = x with y[indices[i]] += v[i].

    C1: x and v have one element type. C2: x has rank >= 1. C3: v has one row per index, shaped as
    those of x.
    """

    name = "ge.InplaceAddD"

    how = "add"


class InplaceSubDOp(InplaceRowsD):
    """y = x with y[indices[i]] -= v[i].

    C1: x and v have one element type. C2: x has rank >= 1. C3: v has one row per index, shaped as
    those of x.
    """

    name = "ge.InplaceSubD"

    how = "sub"
