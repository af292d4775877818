"""Writing slices or elements along one dimension, at index tensors, and where a mask is true.

Ops whose result has the name of an operand write it in place: the result is the new value, and
the op is not pure. Of several plain updates of one place the last one stays (the device: any).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.elements import BOOL, one_element_type, require
from ge_xdsl.dialects.ge.extents import (
    at_least_rank,
    merge_shapes,
    of_rank,
)
from ge_xdsl.dialects.ge.fields import (
    boolean,
    integer,
    operand,
    optional,
    result,
    string,
)
from ge_xdsl.dialects.ge.index import wrap_indices
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.operands import check_index, check_scalar
from ge_xdsl.dialects.ge.scatter_nd import put_at
from ge_xdsl.dialects.ge.shapes import Shape, broadcast, normalize_axis, shape_text
from ge_xdsl.dialects.ge.types import DYNAMIC, Tensor

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


def _rows_shape(var: Shape, indices: Shape) -> Shape:
    """indices.shape + var.shape[1:]"""
    return None if var is None or indices is None else (*indices, *var[1:])


class ScatterRows(GeOp):
    """var with updates combined into the rows var[indices[...], ...], in place.

    use_locking has no effect: one update comes at a time. C1: var and updates have one element
    type. C2: indices is i32 or i64. C3: var has rank >= 1. C4: updates has the shape indices.shape
    + var.shape[1:].
    """

    var = operand()
    indices = operand()
    updates = operand()
    new_var = result("var")
    use_locking = boolean(False)

    widens = True
    how: ClassVar[str] = "update"

    def infer(self, var: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
        one_element_type(var, updates)  # C1
        check_index(indices, "indices")  # C2
        at_least_rank(var, 1, "var")  # C3
        wanted = _rows_shape(var.shape, indices.shape)
        merge_shapes(updates.shape, wanted, "shapes of updates and of the rows")  # C4
        return var

    def evaluate(self, var: Array, indices: Array, updates: Array) -> Array:
        y = var.copy()
        put_at(y, wrap_indices(indices, var.shape[0], False), updates, self.how)
        return y


class ScatterUpdateOp(ScatterRows):
    """var with the rows var[indices[...]] replaced by updates, in place.

    C1: var and updates have one element type. C2: indices is i32 or i64. C3: var has rank >= 1.
    C4: updates has the shape indices.shape + var.shape[1:].
    """

    name = "ge.ScatterUpdate"

    how = "update"


class ScatterAddOp(ScatterRows):
    """var with the rows var[indices[...]] plus updates, in place.

    C1: var and updates have one element type. C2: indices is i32 or i64. C3: var has rank >= 1.
    C4: updates has the shape indices.shape + var.shape[1:].
    """

    name = "ge.ScatterAdd"

    how = "add"


class ScatterSubOp(ScatterRows):
    """var with the rows var[indices[...]] minus updates, in place.

    C1: var and updates have one element type. C2: indices is i32 or i64. C3: var has rank >= 1.
    C4: updates has the shape indices.shape + var.shape[1:].
    """

    name = "ge.ScatterSub"

    how = "sub"


class ScatterMulOp(ScatterRows):
    """var with the rows var[indices[...]] times updates, in place.

    C1: var and updates have one element type. C2: indices is i32 or i64. C3: var has rank >= 1.
    C4: updates has the shape indices.shape + var.shape[1:].
    """

    name = "ge.ScatterMul"

    how = "mul"


class ScatterMaxOp(ScatterRows):
    """var with the rows var[indices[...]] raised to updates, in place.

    C1: var and updates have one element type. C2: indices is i32 or i64. C3: var has rank >= 1.
    C4: updates has the shape indices.shape + var.shape[1:].
    """

    name = "ge.ScatterMax"

    how = "max"


class ScatterMinOp(ScatterRows):
    """var with the rows var[indices[...]] lowered to updates, in place.

    C1: var and updates have one element type. C2: indices is i32 or i64. C3: var has rank >= 1.
    C4: updates has the shape indices.shape + var.shape[1:].
    """

    name = "ge.ScatterMin"

    how = "min"


class ScatterDivOp(ScatterRows):
    """var with the rows var[indices[...]] divided by updates, in place; integers truncate.

    An integer divided by 0 gives 0. C1: var and updates have one element type. C2: indices is i32
    or i64. C3: var has rank >= 1. C4: updates has the shape indices.shape + var.shape[1:].
    """

    name = "ge.ScatterDiv"

    def evaluate(self, var: Array, indices: Array, updates: Array) -> Array:
        import numpy as np

        rows = wrap_indices(indices, var.shape[0], False)
        if var.dtype.kind not in "iu":
            y = var.copy()
            np.divide.at(y, rows, updates)
            return y
        sign, size = np.sign(var), np.abs(var)
        np.multiply.at(sign, rows, np.sign(updates))
        np.floor_divide.at(size, rows, np.abs(updates))
        return sign * size


_REDUCTIONS = {"none": "update", "add": "add", "mul": "mul"}


def _check_elements(data: Tensor, indices: Tensor, updates: Tensor, axis: int) -> None:
    one_element_type(data, updates)  # C1
    check_index(indices, "indices")  # C2
    shape = merge_shapes(indices.shape, updates.shape, "shapes of indices and updates")  # C3
    at_least_rank(data, 1, "the target")  # C4
    if data.shape is None:
        return
    place = normalize_axis(axis, len(data.shape))  # C5
    if shape is None:
        return
    if len(shape) != len(data.shape):  # C4
        raise VerifyException(
            f"the target and indices are {shape_text(data.shape)} and {shape_text(shape)}, "
            "expected one rank"
        )
    for i, (have, want) in enumerate(zip(data.shape, shape, strict=True)):
        if i != place and DYNAMIC not in (have, want) and want > have:  # C6
            raise VerifyException(f"indices has {want} in dimension {i}, expected at most {have}")


def element_places(indices: Array, shape: tuple[int, ...], axis: int) -> tuple[Array, ...]:
    """The index tuple of target[i, indices[i, j], ...]: indices along axis, ramps elsewhere."""
    import numpy as np

    place = normalize_axis(axis, len(shape))
    ramps = np.ogrid[tuple(slice(n) for n in indices.shape)]
    picks = wrap_indices(indices, shape[place], True)
    return tuple(picks if i == place else ramp for i, ramp in enumerate(ramps))


def _check_reduction(reduction: str) -> None:
    if reduction not in _REDUCTIONS:  # C7
        raise VerifyException(f"reduction is '{reduction}', expected none, add or mul")


class ScatterElementsOp(GeOp):
    """y = data with y[i, indices[i, j], ...] = updates[i, j, ...] along axis; or += or *=.

    Negative indices count from the end. C1: data and updates have one element type. C2: indices is
    i32 or i64. C3: it has the shape of updates. C4: data has rank >= 1 and that of indices.
    C5: axis is a dimension of data. C6: indices is not larger than data in any dimension but axis.
    C7: reduction is none, add or mul.
    """

    name = "ge.ScatterElements"

    data = operand()
    indices = operand()
    updates = operand()
    y = result()
    axis = integer(0)
    reduction = string("none")

    widens = True

    def infer(self, data: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
        _check_reduction(self.reduction)
        _check_elements(data, indices, updates, self.axis)
        return data

    def evaluate(self, data: Array, indices: Array, updates: Array) -> Array:
        y = data.copy()
        place = element_places(indices, data.shape, self.axis)
        put_at(y, place, updates, _REDUCTIONS[self.reduction])
        return y


class ScatterElementsV2Op(GeOp):
    """var with var[i, indices[i, j], ...] = updates[i, j, ...] along axis, in place; or += or *=.

    Without include_self the old value of a written place does not take part. Negative indices
    count from the end. C1: var and updates have one element type. C2: indices is i32 or i64.
    C3: it has the shape of updates. C4: var has rank >= 1 and that of indices. C5: axis is a
    dimension of var. C6: indices is not larger than var in any dimension but axis. C7: reduction is
    none, add or mul.
    """

    name = "ge.ScatterElementsV2"

    var = operand()
    indices = operand()
    updates = operand()
    new_var = result("var")
    axis = integer(0)
    reduction = string("none")
    include_self = boolean(True)

    widens = True

    def infer(self, var: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
        _check_reduction(self.reduction)
        _check_elements(var, indices, updates, self.axis)
        return var

    def evaluate(self, var: Array, indices: Array, updates: Array) -> Array:
        y = var.copy()
        place = element_places(indices, var.shape, self.axis)
        if not self.include_self:
            y[place] = 1 if self.reduction == "mul" else 0
        put_at(y, place, updates, _REDUCTIONS[self.reduction])
        return y


class MaskedScatterOp(GeOp):
    """y = x with its elements where mask is true replaced by those of updates, in order.

    C1: x and updates have one element type. C2: mask is boolean. C3: it broadcasts to x.
    """

    name = "ge.MaskedScatter"

    x = operand()
    mask = operand()
    updates = operand()
    y = result()

    def infer(self, x: Tensor, mask: Tensor, updates: Tensor) -> Tensor:
        one_element_type(x, updates)  # C1
        require(mask, "mask", BOOL, "DT_BOOL")  # C2
        shape = broadcast(x.shape, mask.shape)
        merge_shapes(x.shape, shape, "shapes of x and of x with mask")  # C3
        return x

    def evaluate(self, x: Array, mask: Array, updates: Array) -> Array:
        import numpy as np

        mask = np.broadcast_to(mask, x.shape)
        count = int(mask.sum())
        if updates.size < count:
            raise ValueError(f"updates has {updates.size} elements, expected {count} or more")
        y = x.copy()
        y[mask] = updates.reshape(-1)[:count]
        return y


class _Axis(GeOp):
    """Rows of a target along one axis; the constraints are numbered by the ops."""

    widens = True

    def check_axis(self, var: Tensor, indices: Tensor, updates: Tensor, axis: int) -> None:
        one_element_type(var, updates)  # C1
        check_index(indices, "indices")  # C2
        of_rank(indices, 1, "indices")  # C2
        at_least_rank(var, 1, "var")  # C3
        if var.shape is None:
            return
        place = normalize_axis(axis, len(var.shape))  # C3
        count = DYNAMIC if indices.shape is None else indices.shape[0]
        wanted = (*var.shape[:place], count, *var.shape[place + 1 :])
        merge_shapes(updates.shape, wanted, "shapes of updates and of the slices")  # C4

    def added(self, var: Array, indices: Array, updates: Array, axis: int) -> Array:
        import numpy as np

        place = normalize_axis(axis, var.ndim)
        y = var.copy()
        rows = wrap_indices(indices, var.shape[place], False)
        np.add.at(np.moveaxis(y, place, 0), rows, np.moveaxis(updates, place, 0))
        return y


class IndexAddOp(_Axis):
    """var_out = var with updates[..., i, ...] added to var[..., indices[i], ...] along axis.

    C1: var and updates have one element type. C2: indices is an i32 or i64 vector. C3: axis is a
    dimension of var. C4: updates has var's shape with one slice per index.
    """

    name = "ge.IndexAdd"

    var = operand()
    indices = operand()
    updates = operand()
    var_out = result()
    axis = integer(0)

    def infer(self, var: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
        self.check_axis(var, indices, updates, self.axis)
        return var

    def evaluate(self, var: Array, indices: Array, updates: Array) -> Array:
        return self.added(var, indices, updates, self.axis)


class InplaceIndexAddOp(_Axis):
    """var with alpha * updates[..., i, ...] added to var[..., indices[i], ...], in place.

    alpha is 1 when it is missing. C1: var, updates and alpha have one element type. C2: indices is
    an i32 or i64 vector. C3: axis is a dimension of var. C4: updates has var's shape with one slice
    per index. C5: alpha is one element.
    """

    name = "ge.InplaceIndexAdd"

    var = operand()
    indices = operand()
    updates = operand()
    alpha = optional()
    new_var = result("var")
    axis = integer()

    def infer(self, var: Tensor, indices: Tensor, updates: Tensor, alpha: Tensor | None) -> Tensor:
        one_element_type(var, alpha)  # C1
        if alpha is not None:
            check_scalar(alpha, "alpha")  # C5
        self.check_axis(var, indices, updates, self.axis)
        return var

    def evaluate(self, var: Array, indices: Array, updates: Array, alpha: Array | None) -> Array:
        scaled = updates if alpha is None else updates * alpha.reshape(())
        return self.added(var, indices, scaled, self.axis)


def _check_fill(x: Tensor, indices: Tensor, value: Tensor, name: str, dim: int) -> None:
    one_element_type(x, value)  # C1
    check_index(indices, "indices")  # C2
    check_scalar(value, name)  # C3
    at_least_rank(x, 1, "x")  # C4
    if x.shape is not None:
        normalize_axis(dim, len(x.shape), "dim")  # C4


def _filled(x: Array, indices: Array, value: Array, dim: int) -> Array:
    place = normalize_axis(dim, x.ndim, "dim")
    y = x.copy()
    rows = wrap_indices(indices.reshape(-1), x.shape[place], True)
    y[(slice(None),) * place + (rows,)] = value.reshape(())
    return y


class IndexFillOp(GeOp):
    """y = x with the slices at indices along dim set to val.

    Negative indices count from the end. C1: x and val have one element type. C2: indices is i32 or
    i64. C3: val is one element. C4: dim is a dimension of x.
    """

    name = "ge.IndexFill"

    x = operand()
    indices = operand()
    val = operand()
    y = result()
    dim = integer()

    def infer(self, x: Tensor, indices: Tensor, val: Tensor) -> Tensor:
        _check_fill(x, indices, val, "val", self.dim)
        return x

    def evaluate(self, x: Array, indices: Array, val: Array) -> Array:
        return _filled(x, indices, val, self.dim)


class InplaceIndexFillOp(GeOp):
    """x with the slices at indices along dim set to value, in place.

    Negative indices count from the end. C1: x and value have one element type. C2: indices is i32
    or i64. C3: value is one element. C4: dim is a dimension of x.
    """

    name = "ge.InplaceIndexFill"

    x = operand()
    indices = operand()
    value = operand()
    new_x = result("x")
    dim = integer()

    def infer(self, x: Tensor, indices: Tensor, value: Tensor) -> Tensor:
        _check_fill(x, indices, value, "value", self.dim)
        return x

    def evaluate(self, x: Array, indices: Array, value: Array) -> Array:
        return _filled(x, indices, value, self.dim)
