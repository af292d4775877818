"""Writing slices at positions given by rows of indices: indices [..., K] address K dimensions.

Ops whose result has the name of an operand write it in place: the result is the new value, and
the op is not pure. Additions, subtractions and extremes of one place take all its updates; of
several plain updates the last one stays (the device: any).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.elements import one_element_type
from ge_xdsl.dialects.ge.extents import (
    at_least_rank,
    checked_shape,
    ints_of,
    listed_shape,
    merge_shapes,
)
from ge_xdsl.dialects.ge.fields import boolean, integers, operand, result
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.operands import check_index
from ge_xdsl.dialects.ge.shapes import Shape, shape_text
from ge_xdsl.dialects.ge.types import DYNAMIC, Tensor

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

_UFUNCS = {"add": "add", "sub": "subtract", "mul": "multiply", "max": "maximum", "min": "minimum"}


def put_at(target: Array, place: Any, updates: Array, how: str) -> None:
    """Combine `updates` into `target` at an index, repeated places one after the other.

    `how` is update, add, sub, mul, max or min.
    """
    import numpy as np

    if how == "update":
        target[place] = updates
    else:
        getattr(np, _UFUNCS[how]).at(target, place, updates)


def indexed_slice(shape: Sequence[int], indices: Sequence[int]) -> Shape:
    """The shape of updates for a target: indices.shape[:-1] + shape[K:], None for an unknown K."""
    depth = indices[-1]
    if depth == DYNAMIC:
        return None
    if depth > len(shape):
        raise VerifyException(
            f"indices is {shape_text(indices)}, expected a last dimension of at most {len(shape)}"
        )
    return (*indices[:-1], *shape[depth:])


def flat_places(indices: Array, shape: Sequence[int]) -> Array:
    """Row numbers (i64) of the addressed slices among all rows of the first K dimensions.

    Raises ValueError for an index outside.
    """
    import numpy as np

    depth = indices.shape[-1]
    rows = indices.reshape(math.prod(indices.shape[:-1]), depth).astype(np.int64)
    sizes = np.array(shape[:depth], np.int64)
    outside = (rows < 0) | (rows >= sizes)
    if outside.any():
        row = rows[outside.any(axis=1)][0].tolist()
        raise ValueError(f"index is {row}, expected one inside {shape_text(shape[:depth])}")
    places = np.zeros(rows.shape[0], np.int64)
    for k in range(depth):
        places = places * shape[k] + rows[:, k]
    return places


def scattered(target: Array, indices: Array, updates: Array, how: str) -> Array:
    """A copy of `target` with `updates` combined into the slices that indices address."""
    depth = indices.shape[-1]
    if updates.shape != (*indices.shape[:-1], *target.shape[depth:]):
        raise ValueError(
            f"updates is {shape_text(updates.shape)}, expected "
            f"{shape_text((*indices.shape[:-1], *target.shape[depth:]))}"
        )
    places = flat_places(indices, target.shape)
    y = target.copy()
    tail = math.prod(target.shape[depth:])
    rows = y.reshape(math.prod(target.shape[:depth]), tail)
    put_at(rows, places, updates.reshape(places.size, tail), how)
    return y


def check_scatter(target: Shape, indices: Tensor, updates: Tensor, name: str) -> None:
    """What all scatters ask of their operands; the numbers are those of the docstrings."""
    check_index(indices, "indices")  # C2
    at_least_rank(indices, 1, "indices")  # C3
    if target is None or indices.shape is None:
        return
    wanted = indexed_slice(target, indices.shape)  # C3
    merge_shapes(updates.shape, wanted, f"shapes of {name} and of the slices")  # C4


class _Scatter(GeOp):
    widens = True
    how: ClassVar[str] = "update"

    def scatter_type(self, target: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
        one_element_type(target, updates)  # C1
        check_scatter(target.shape, indices, updates, "updates")  # C2 C3 C4
        return target


class InPlaceScatterNd(_Scatter):
    """var with updates combined into var[indices[...]], in place.

    use_locking has no effect: one update comes at a time. C1: var and updates have one element
    type. C2: indices is i32 or i64. C3: its last dimension is at most the rank of var. C4: updates
    has the shape indices.shape[:-1] + var.shape[K:].
    """

    var = operand()
    indices = operand()
    updates = operand()
    new_var = result("var")
    use_locking = boolean(False)

    def infer(self, var: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
        return self.scatter_type(var, indices, updates)

    def evaluate(self, var: Array, indices: Array, updates: Array) -> Array:
        return scattered(var, indices, updates, self.how)


class ScatterNdUpdateOp(InPlaceScatterNd):
    """var with updates written to var[indices[...]], in place.

    C1: var and updates have one element type. C2: indices is i32 or i64. C3: its last dimension is
    at most the rank of var. C4: updates has the shape indices.shape[:-1] + var.shape[K:].
    """

    name = "ge.ScatterNdUpdate"

    how = "update"


class ScatterNdAddOp(InPlaceScatterNd):
    """var with updates added to var[indices[...]], in place.

    C1: var and updates have one element type. C2: indices is i32 or i64. C3: its last dimension is
    at most the rank of var. C4: updates has the shape indices.shape[:-1] + var.shape[K:].
    """

    name = "ge.ScatterNdAdd"

    how = "add"


class ScatterNdSubOp(InPlaceScatterNd):
    """var with updates taken off var[indices[...]], in place.

    C1: var and updates have one element type. C2: indices is i32 or i64. C3: its last dimension is
    at most the rank of var. C4: updates has the shape indices.shape[:-1] + var.shape[K:].
    """

    name = "ge.ScatterNdSub"

    how = "sub"


class ScatterNdMaxOp(InPlaceScatterNd):
    """var with var[indices[...]] raised to updates, in place.

    C1: var and updates have one element type. C2: indices is i32 or i64. C3: its last dimension is
    at most the rank of var. C4: updates has the shape indices.shape[:-1] + var.shape[K:].
    """

    name = "ge.ScatterNdMax"

    how = "max"


class ScatterNdMinOp(InPlaceScatterNd):
    """var with var[indices[...]] lowered to updates, in place.

    C1: var and updates have one element type. C2: indices is i32 or i64. C3: its last dimension is
    at most the rank of var. C4: updates has the shape indices.shape[:-1] + var.shape[K:].
    """

    name = "ge.ScatterNdMin"

    how = "min"


class TensorScatter(_Scatter):
    """A copy of x with updates combined into x[indices[...]].

    C1: x and updates have one element type. C2: indices is i32 or i64. C3: its last dimension is at
    most the rank of x. C4: updates has the shape indices.shape[:-1] + x.shape[K:].
    """

    x = operand()
    indices = operand()
    updates = operand()
    y = result()

    def infer(self, x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
        return self.scatter_type(x, indices, updates)

    def evaluate(self, x: Array, indices: Array, updates: Array) -> Array:
        return scattered(x, indices, updates, self.how)


class TensorScatterUpdateOp(TensorScatter):
    """y = x with updates written to x[indices[...]].

    C1: x and updates have one element type. C2: indices is i32 or i64. C3: its last dimension is at
    most the rank of x. C4: updates has the shape indices.shape[:-1] + x.shape[K:].
    """

    name = "ge.TensorScatterUpdate"

    how = "update"


class TensorScatterAddOp(TensorScatter):
    """y = x with updates added to x[indices[...]].

    C1: x and updates have one element type. C2: indices is i32 or i64. C3: its last dimension is at
    most the rank of x. C4: updates has the shape indices.shape[:-1] + x.shape[K:].
    """

    name = "ge.TensorScatterAdd"

    how = "add"


class TensorScatterSubOp(TensorScatter):
    """y = x with updates taken off x[indices[...]].

    C1: x and updates have one element type. C2: indices is i32 or i64. C3: its last dimension is at
    most the rank of x. C4: updates has the shape indices.shape[:-1] + x.shape[K:].
    """

    name = "ge.TensorScatterSub"

    how = "sub"


class ScatterNonAliasingAddOp(TensorScatter):
    """y = x with updates added to x[indices[...]].

    C1: x and updates have one element type. C2: indices is i32 or i64. C3: its last dimension is at
    most the rank of x. C4: updates has the shape indices.shape[:-1] + x.shape[K:].
    """

    name = "ge.ScatterNonAliasingAdd"

    how = "add"


class TensorScatterExtreme(_Scatter):
    """A copy of input with updates combined into input[indices[...]].

    C1: input and updates have one element type. C2: indices is i32 or i64. C3: its last dimension
    is at most the rank of input. C4: updates has the shape indices.shape[:-1] + input.shape[K:].
    """

    input = operand()
    indices = operand()
    updates = operand()
    output = result()

    def infer(self, input: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
        return self.scatter_type(input, indices, updates)

    def evaluate(self, input: Array, indices: Array, updates: Array) -> Array:
        return scattered(input, indices, updates, self.how)


class TensorScatterMaxOp(TensorScatterExtreme):
    """output = input with input[indices[...]] raised to updates.

    C1: input and updates have one element type. C2: indices is i32 or i64. C3: its last dimension
    is at most the rank of input. C4: updates has the shape indices.shape[:-1] + input.shape[K:].
    """

    name = "ge.TensorScatterMax"

    how = "max"


class TensorScatterMinOp(TensorScatterExtreme):
    """output = input with input[indices[...]] lowered to updates.

    C1: input and updates have one element type. C2: indices is i32 or i64. C3: its last dimension
    is at most the rank of input. C4: updates has the shape indices.shape[:-1] + input.shape[K:].
    """

    name = "ge.TensorScatterMin"

    how = "min"


def _spread(shape: Sequence[int], indices: Array, x: Array) -> Array:
    import numpy as np

    return scattered(np.zeros(checked_shape(shape), x.dtype), indices, x, "add")


class ScatterNdOp(GeOp):
    """y = zeros of `shape` with x added to y[indices[...]].

    C1: indices is i32 or i64. C2: its last dimension is at most the length of shape. C3: x has the
    shape indices.shape[:-1] + shape[K:]. C4: shape is an i32 or i64 vector. C5: its entries are
    not negative, and y has at most 2^40 elements.
    """

    name = "ge.ScatterNd"

    indices = operand()
    x = operand()
    shape = operand()
    y = result()

    widens = True

    def infer(self, indices: Tensor, x: Tensor, shape: Tensor) -> Tensor:
        wanted = listed_shape(self, "shape", shape)  # C4 C5
        check_scatter(wanted, indices, x, "x")  # C1 C2 C3
        return x.with_shape(wanted)

    def evaluate(self, indices: Array, x: Array, shape: Array) -> Array:
        return _spread(ints_of(shape), indices, x)


class ScatterNdDOp(GeOp):
    """y = zeros of `shape` with x added to y[indices[...]].

    C1: indices is i32 or i64. C2: its last dimension is at most the length of shape. C3: x has the
    shape indices.shape[:-1] + shape[K:]. C4: the entries of shape are not negative, and y has at
    most 2^40 elements.
    """

    name = "ge.ScatterNdD"

    indices = operand()
    x = operand()
    y = result()
    shape = integers()

    widens = True

    def infer(self, indices: Tensor, x: Tensor) -> Tensor:
        wanted = checked_shape(self.shape)  # C4
        check_scatter(wanted, indices, x, "x")  # C1 C2 C3
        return x.with_shape(wanted)

    def evaluate(self, indices: Array, x: Array) -> Array:
        return _spread(self.shape, indices, x)
