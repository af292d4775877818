"""Writing rows into caches, plainly or quantised, and rows in the order of their experts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.elements import one_element_type, require
from ge_xdsl.dialects.ge.extents import bounded, count_of, of_rank
from ge_xdsl.dialects.ge.fields import boolean, integer, integers, operand, optional, result, string
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.operands import check_index, check_length
from ge_xdsl.dialects.ge.recurrent import dims, expect
from ge_xdsl.dialects.ge.rounding import SMALL_FLOATS, chosen, to_codes
from ge_xdsl.dialects.ge.shapes import merge_dim, multiply_dims, normalize_axis, shape_text
from ge_xdsl.dialects.ge.suffix import check_floats
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor, dtype_of_numpy

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

_I32 = (DataType.DT_INT32,)


class _Slabs(GeOp):
    """Slabs of updates put into a copy of var, each at its own offset along an axis."""

    def check_slabs(self, var: Tensor, indices: Tensor, updates: Tensor, axis: int) -> None:
        check_index(indices, "indices")  # C1
        if indices.rank not in (None, 1, 2):  # C1
            raise VerifyException(f"indices is {shape_text(indices.shape)}, expected rank 1 or 2")
        if indices.rank == 2:
            expect(indices, (DYNAMIC, 2), "indices")  # C1
        if var.shape is None:
            return
        of_rank(updates, len(var.shape), "updates")  # C2
        place = normalize_axis(axis, len(var.shape))  # C3
        if place == 0:  # C3
            raise VerifyException(f"axis is {axis}, expected one after the batch")
        if updates.shape is None:
            return
        for i, (have, room) in enumerate(zip(updates.shape, var.shape, strict=True)):
            loose = i in (0, place)
            if DYNAMIC not in (have, room) and (have > room if loose else have != room):  # C2
                raise VerifyException(
                    f"updates is {shape_text(updates.shape)}, expected slabs of "
                    f"{shape_text(var.shape)}"
                )
        if indices.shape:
            merge_dim(updates.shape[0], indices.shape[0], "slabs of updates and indices")  # C2

    def put(self, var: Array, indices: Array, updates: Array, axis: int) -> Array:
        """A copy of var with the slabs; raises ValueError for one that does not fit."""
        place = normalize_axis(axis, var.ndim)
        found = var.copy()
        length = updates.shape[place]
        rows = indices if indices.ndim == 2 else [(i, start) for i, start in enumerate(indices)]
        for slab, (row, start) in zip(updates, rows, strict=True):
            if not (0 <= row < var.shape[0] and 0 <= start <= var.shape[place] - length):
                raise ValueError(
                    f"a slab goes to item {row} and place {start}, expected items up to "
                    f"{var.shape[0]} and places up to {var.shape[place] - length}"
                )
            span = (slice(None),) * (place - 1) + (slice(int(start), int(start) + length),)
            found[(int(row), *span)] = slab
        return found


class ScatterOp(_Slabs):
    """var = a copy with slab b of updates in item b, from place indices[b] on along axis

    indices [n, 2] lists item and place of each slab. C1: indices is i32 or i64, [n] or [n, 2]. C2:
    updates has the rank of var and its dimensions, at most those along axis and of the batch, a
    slab for each index. C3: axis is one after the batch. C4: reduce is update or none. C5: var and
    updates have one element type.
    """

    name = "ge.Scatter"

    var = operand()
    indices = operand()
    updates = operand()
    new_var = result("var")
    reduce = string()
    axis = integer(-1)

    def infer(self, var: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
        chosen(self.reduce, "reduce", ("update", "none"))  # C4
        one_element_type(var, updates)  # C5
        self.check_slabs(var, indices, updates, self.axis)  # C1 C2 C3
        return var

    def evaluate(self, var: Array, indices: Array, updates: Array) -> Array:
        return self.put(var, indices, updates, self.axis)


class QuantUpdateScatterOp(_Slabs):
    """var = a copy with slabs of round(updates / quant_scales + quant_zero_points), as Scatter's

    reciprocal_scale multiplies by quant_scales; the sums run in f32. C1: indices is i32 or i64, [n]
    or [n, 2]. C2: updates has the rank of var and its dimensions, at most those along axis and of
    the batch, a slab for each index. C3: axis is one after the batch. C4: reduce is update. C5: var
    is i8 or an 8-bit float. C6: quant_axis is -1 (or the last one), and quant_scales and
    quant_zero_points have one number or the length of it.
    """

    name = "ge.QuantUpdateScatter"

    var = operand()
    indices = operand()
    updates = operand()
    quant_scales = operand()
    quant_zero_points = optional()
    new_var = result("var")
    reduce = string()
    axis = integer(-2)
    quant_axis = integer(-1)
    reciprocal_scale = boolean(False)
    round_mode = string("rint")

    def infer(self, var: Tensor, indices: Tensor, updates: Tensor, *rest: Tensor | None) -> Tensor:
        chosen(self.reduce, "reduce", ("update",))  # C4
        codes = {DataType.DT_INT8, *SMALL_FLOATS}
        require(var, "var", codes, "DT_INT8 or an 8-bit float")  # C5
        check_floats(updates=updates)
        self.check_slabs(var, indices, updates, self.axis)  # C1 C2 C3
        last = DYNAMIC if not var.shape else var.shape[-1]
        rank = None if var.shape is None else len(var.shape)
        if self.quant_axis != -1 and rank is not None and self.quant_axis != rank - 1:  # C6
            raise VerifyException(f"quant_axis is {self.quant_axis}, expected -1")
        for io, tensor in zip(self.prototype.inputs[3:], rest, strict=True):
            size = None if tensor is None else tensor.size()
            if size is not None and last != DYNAMIC and size not in (1, last):  # C6
                raise VerifyException(f"{io.name} has {size} elements, expected 1 or {last}")
        return var

    def evaluate(self, var: Array, indices: Array, updates: Array, *rest: Array | None) -> Array:
        import numpy as np

        scales, zero = (None if a is None else a.astype(np.float32).reshape(-1) for a in rest)
        assert scales is not None
        wide = updates.astype(np.float32)
        wide = wide * scales if self.reciprocal_scale else wide / scales
        wide = wide if zero is None else wide + zero
        codes = to_codes(wide, dtype_of_numpy(var.dtype), self.round_mode)
        return self.put(var, indices, codes, self.axis)


class MoeInitRoutingV3Op(GeOp):
    """expanded_x = the rows of x in the order of their experts (stable), expanded_row_idx[choice] =
    its place

    Choice r * K + k is expert_idx[r, k], and its row x[r]. expert_tokens_count_or_cumsum counts the
    choices per expert (0), their running sum (1) or lists [expert, count] (2), by
    expert_tokens_num_type. Only drop_pad_mode 0, quant_mode -1 and the whole range of experts have
    a value here; expanded_scale repeats scale then. C1: x has rank 2. C2: expert_idx is i32 of
    rank 2, with the rows of x. C3: drop_pad_mode is 0 or 1. C4: expert_tokens_num_type is 0, 1 or
    2. C5: row_idx_type is 0 or 1. C6: scale has a number per row of x, for quant_mode -1. C7:
    active_expert_range has no entry or two rising ones. C8: expert_num is at least 1 with
    expert_tokens_num_flag.
    """

    name = "ge.MoeInitRoutingV3"

    x = operand()
    expert_idx = operand()
    scale = optional()
    offset = optional()
    expanded_x = result()
    expanded_row_idx = result()
    expert_tokens_count_or_cumsum = result()
    expanded_scale = result()
    active_num = integer(-1)
    expert_capacity = integer(-1)
    expert_num = integer(-1)
    drop_pad_mode = integer(0)
    expert_tokens_num_type = integer(0)
    expert_tokens_num_flag = boolean(False)
    quant_mode = integer(-1)
    active_expert_range = integers(())
    row_idx_type = integer(0)

    def infer(self, x: Tensor, expert_idx: Tensor, *rest: Tensor | None) -> Any:
        chosen(self.drop_pad_mode, "drop_pad_mode", (0, 1))  # C3
        chosen(self.expert_tokens_num_type, "expert_tokens_num_type", (0, 1, 2))  # C4
        chosen(self.row_idx_type, "row_idx_type", (0, 1))  # C5
        rows, columns = dims(x, 2, "x")  # C1
        require(expert_idx, "expert_idx", _I32, "DT_INT32")  # C2
        have, k = dims(expert_idx, 2, "expert_idx")  # C2
        rows = merge_dim(rows, have, "rows of x and expert_idx")  # C2
        if rest[0] is not None and self.quant_mode == -1:
            expect(rest[0], (rows,), "scale")  # C6
        experts = self._experts()  # C7 C8
        choices = multiply_dims(rows, k)
        taken = choices
        if self.active_num > 0 and choices != DYNAMIC:
            taken = min(choices, self.active_num)
        elif self.active_num > 0:
            taken = DYNAMIC
        count = Tensor(DataType.DT_INT64, (experts, 2) if self._lists() else (experts,))
        dtype = x.dtype if self.quant_mode == -1 else DataType.DT_INT8
        shape = (taken, columns)
        scales = (taken,)
        if self.drop_pad_mode:
            capacity = count_of(self.expert_capacity, "expert_capacity", 1)
            shape = (experts, capacity, columns)
            scales = (multiply_dims(experts, capacity),)
        return (
            Tensor(dtype, bounded(shape)),
            Tensor(DataType.DT_INT32, (choices,)),
            count,
            Tensor(DataType.DT_FLOAT, scales),
        )

    def _lists(self) -> bool:
        return self.expert_tokens_num_type == 2

    def _experts(self) -> int:
        """How many experts take part."""
        limits = self.active_expert_range
        if limits:
            check_length(limits, 2, "active_expert_range")
            if not 0 <= limits[0] < limits[1]:
                raise VerifyException(
                    f"active_expert_range is {list(limits)}, expected two rising numbers"
                )
            return limits[1] - limits[0]
        if self.expert_tokens_num_flag:
            return count_of(self.expert_num, "expert_num", 1)
        return max(self.expert_num, 0)

    def evaluate(self, x: Array, expert_idx: Array, *rest: Array | None) -> Any:
        import numpy as np

        scale = rest[0]
        whole = (0, self.expert_num)
        limits = tuple(self.active_expert_range) or whole
        if self.drop_pad_mode or self.quant_mode != -1 or limits != whole:
            raise ValueError(
                "drop_pad_mode, quant_mode or active_expert_range is set, expected the defaults"
            )
        flat = expert_idx.reshape(-1)
        experts = max(self.expert_num, 0)
        if (
            self.expert_tokens_num_flag
            and flat.size
            and not 0 <= flat.min() <= flat.max() < experts
        ):
            raise ValueError(f"an expert is outside [0, {experts}), expected all inside")
        order = np.argsort(flat, kind="stable")
        taken = order if self.active_num <= 0 else order[: self.active_num]
        places = np.empty(flat.size, np.int32)
        places[order] = np.arange(flat.size, dtype=np.int32)
        places = order.astype(np.int32) if self.row_idx_type else places
        rows = taken // max(expert_idx.shape[1], 1)
        counts = np.zeros(experts, np.int64)
        if self.expert_tokens_num_flag:
            counts = np.bincount(flat, minlength=experts)
        listed = {1: np.cumsum(counts), 2: np.stack([np.arange(experts), counts], axis=1)}
        tokens = listed.get(self.expert_tokens_num_type, counts).astype(np.int64)
        kept = np.zeros(rows.size, np.float32) if scale is None else scale[rows]
        return x[rows], places, tokens, kept


class MoeInitRoutingQuantV2Op(GeOp):
    """expanded_x = the rows of x in the order of their experts, in i8; the values are unconfirmed

    Without drop_pad_mode there are active_num rows, or one per choice; with it expert_capacity per
    expert. dynamic_quant_scale has one number per row of expanded_x. C1: x is a floating-point
    tensor of rank 2. C2: expert_idx is i32 of rank 2, with the rows of x. C3: drop_pad_mode and
    quant_mode are 0 or 1. C4: expert_tokens_count_or_cumsum_flag is 0, 1 or 2. C5: active_num and
    expert_num are not negative. C6: expert_num and expert_capacity are 1 or more with
    drop_pad_mode.
    """

    name = "ge.MoeInitRoutingQuantV2"

    x = operand()
    expert_idx = operand()
    scale = optional()
    offset = optional()
    expanded_x = result()
    expanded_row_idx = result()
    expert_tokens_count_or_cumsum = result()
    expert_tokens_before_capacity = result()
    dynamic_quant_scale = result()
    active_num = integer(0)
    expert_capacity = integer(0)
    expert_num = integer(0)
    drop_pad_mode = integer(0)
    expert_tokens_count_or_cumsum_flag = integer(0)
    expert_tokens_before_capacity_flag = boolean(False)
    quant_mode = integer(0)

    def infer(self, x: Tensor, expert_idx: Tensor, *rest: Tensor | None) -> tuple[Tensor, ...]:
        check_floats(x=x)  # C1
        rows, columns = dims(x, 2, "x")  # C1
        require(expert_idx, "expert_idx", _I32, "DT_INT32")  # C2
        have, k = dims(expert_idx, 2, "expert_idx")  # C2
        rows = merge_dim(rows, have, "rows of x and expert_idx")  # C2
        for name, known in (
            ("drop_pad_mode", (0, 1)), ("quant_mode", (0, 1)),
            ("expert_tokens_count_or_cumsum_flag", (0, 1, 2)),
        ):  # fmt: skip
            chosen(self.get_attr(name), name, known)  # C3 C4
        active = count_of(self.active_num, "active_num")  # C5
        experts = count_of(self.expert_num, "expert_num", self.drop_pad_mode)  # C5 C6
        choices = multiply_dims(rows, k)
        taken = choices if not active else min(choices, active) if choices != DYNAMIC else DYNAMIC
        shape = (taken, columns)
        if self.drop_pad_mode:
            capacity = count_of(self.expert_capacity, "expert_capacity", 1)  # C6
            taken = multiply_dims(experts, capacity)
            shape = (experts, capacity, columns)
        each = Tensor(DataType.DT_INT32, (experts,))
        return (
            Tensor(DataType.DT_INT8, bounded(shape)),
            Tensor(DataType.DT_INT32, (choices,)),
            each,
            each,
            Tensor(DataType.DT_FLOAT, (taken,)),
        )
