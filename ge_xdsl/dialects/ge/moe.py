"""Mixtures of experts: choosing experts for rows, sorting rows by expert, and putting them back.

R is the number of rows, K the experts per row, E the number of experts. Column order numbers the
k-th choice of row r as k * R + r, row order as r * K + k.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.dropout import softmax
from ge_xdsl.dialects.ge.elements import one_element_type, require
from ge_xdsl.dialects.ge.extents import as_rows, merge_shapes, of_rank
from ge_xdsl.dialects.ge.fields import boolean, floating, integer, operand, optional, result
from ge_xdsl.dialects.ge.gradients import sigmoid
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.rounding import chosen, to_codes
from ge_xdsl.dialects.ge.shapes import Shape, merge_dim, multiply_dims, shape_text
from ge_xdsl.dialects.ge.suffix import check_floats
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

_I32 = (DataType.DT_INT32,)


def largest(x: Array, k: int) -> Array:
    """The places of the k largest along the last dimension, largest first, earlier ones first."""
    import numpy as np

    return np.argsort(-x, axis=-1, kind="stable")[..., :k].astype(np.int32)


def check_choice(x: Tensor, k: int) -> Shape:
    """The shape of the choices of k experts per row of x."""
    if x.rank not in (None, 2, 3):
        raise VerifyException(f"x is {shape_text(x.shape)}, expected rank 2 or 3")
    experts = DYNAMIC if x.shape is None else x.shape[-1]
    if k < 1 or (experts != DYNAMIC and k > experts):
        raise VerifyException(f"k is {k}, expected 1 to {'E' if experts < 0 else experts}")
    return None if x.shape is None else (*x.shape[:-1], k)


def check_finished(x: Tensor, finished: Tensor | None) -> None:
    """finished is bool, one for each row."""
    if finished is None:
        return
    require(finished, "finished", (DataType.DT_BOOL,), "DT_BOOL")
    rows = None if x.shape is None else x.shape[:-1]
    merge_shapes(rows, finished.shape, "rows of x and finished")


def unfinished(experts: Array, finished: Array | None, count: int) -> Array:
    """The chosen experts, `count` for the rows that are finished."""
    import numpy as np

    if finished is None:
        return experts
    return np.where(finished[..., None], np.int32(count), experts)


class MoeGatingTopKSoftmaxOp(GeOp):
    """y = the k largest of softmax(x) per row, expert_idx their places, row_idx in column order

    Ties go to the lower place. Finished rows have expert_idx E. C1: x is a floating-point tensor of
    rank 2 or 3. C2: k is 1 to E. C3: finished is bool, one for each row.
    """

    name = "ge.MoeGatingTopKSoftmax"

    x = operand()
    finished = optional()
    y = result()
    expert_idx = result()
    row_idx = result()
    k = integer()

    widens = True

    def infer(self, x: Tensor, finished: Tensor | None) -> tuple[Tensor, ...]:
        check_floats(x=x)  # C1
        shape = check_choice(x, self.k)  # C1 C2
        check_finished(x, finished)  # C3
        places = Tensor(DataType.DT_INT32, shape)
        return x.with_shape(shape), places, places

    def evaluate(self, x: Array, finished: Array | None) -> tuple[Array, ...]:
        import numpy as np

        p = softmax(x, (-1,))
        experts = largest(p, self.k)
        y = np.take_along_axis(p, experts, axis=-1)
        count = y.size // self.k
        rows = np.arange(count * self.k, dtype=np.int32).reshape(self.k, count).T
        return y, unfinished(experts, finished, x.shape[-1]), rows.reshape(y.shape)


class MoeGatingTopKSoftmaxV2Op(GeOp):
    """y = the k largest of softmax(x) per row, expert_idx their places

    With renorm 1, y is the softmax of the k largest of x. softmax_result is softmax(x) in f32 with
    output_softmax_result_flag and renorm 0, else zeros. Ties go to the lower place. Finished rows
    have expert_idx E. C1: x is a floating-point tensor of rank 2 or 3. C2: k is 1 to E. C3:
    finished is bool, one for each row. C4: renorm is 0 or 1.
    """

    name = "ge.MoeGatingTopKSoftmaxV2"

    x = operand()
    finished = optional()
    y = result()
    expert_idx = result()
    softmax_result = result()
    k = integer()
    renorm = integer(0)
    output_softmax_result_flag = boolean(False)

    widens = True

    def infer(self, x: Tensor, finished: Tensor | None) -> tuple[Tensor, ...]:
        check_floats(x=x)  # C1
        shape = check_choice(x, self.k)  # C1 C2
        check_finished(x, finished)  # C3
        chosen(self.renorm, "renorm", (0, 1))  # C4
        places = Tensor(DataType.DT_INT32, shape)
        return x.with_shape(shape), places, Tensor(DataType.DT_FLOAT, x.shape)

    def evaluate(self, x: Array, finished: Array | None) -> tuple[Array, ...]:
        import numpy as np

        p = softmax(x, (-1,))
        experts = largest(x if self.renorm else p, self.k)
        y = np.take_along_axis(x if self.renorm else p, experts, axis=-1)
        y = softmax(y, (-1,)) if self.renorm else y
        shown = self.output_softmax_result_flag and not self.renorm
        all_p = p.astype(np.float32) if shown else np.zeros(x.shape, np.float32)
        return y, unfinished(experts, finished, x.shape[-1]), all_p


class MoeGatingTopKOp(GeOp):
    """y = routed_scaling_factor * n at the k experts with the largest n + bias per row

    n = softmax(x) for norm_type 0 and sigmoid(x) for 1, then divided by the sum of the chosen +
    eps. The E experts are in group_count groups; only the k_group groups with the best value take
    part: the largest n + bias of the group, or the sum of its two largest for group_select_mode 1.
    out is n in f32 with out_flag, else zeros. Ties go to the lower place. C1: x and bias are
    floating-point tensors. C2: x has rank 2. C3: bias has one number per expert. C4: group_count
    divides E, k_group is 1 to group_count. C5: k is 1 to the experts of the chosen groups. C6:
    group_select_mode and norm_type are 0 or 1, renorm is 0. C7: a group has two experts or more for
    group_select_mode 1.
    """

    name = "ge.MoeGatingTopK"

    x = operand()
    bias = optional()
    y = result()
    expert_idx = result()
    out = result()
    k = integer()
    k_group = integer(1)
    group_count = integer(1)
    group_select_mode = integer(0)
    renorm = integer(0)
    norm_type = integer(0)
    out_flag = boolean(False)
    routed_scaling_factor = floating(1.0)
    eps = floating(1e-20)

    widens = True

    def infer(self, x: Tensor, bias: Tensor | None) -> tuple[Tensor, ...]:
        check_floats(x=x, bias=bias)  # C1
        of_rank(x, 2, "x")  # C2
        rows, experts = (DYNAMIC, DYNAMIC) if x.shape is None else x.shape
        if bias is not None and bias.shape is not None:  # C3
            of_rank(bias, 1, "bias")
            merge_dim(experts, bias.shape[0], "experts of x and bias")
        chosen(self.group_select_mode, "group_select_mode", (0, 1))  # C6
        chosen(self.norm_type, "norm_type", (0, 1))  # C6
        chosen(self.renorm, "renorm", (0,))  # C6
        self._check_groups(experts)  # C4 C5 C7
        shape = (rows, self.k)
        return (
            x.with_shape(shape),
            Tensor(DataType.DT_INT32, shape),
            Tensor(DataType.DT_FLOAT, x.shape),
        )

    def _check_groups(self, experts: int) -> None:
        groups, used = self.group_count, self.k_group
        if groups < 1 or (experts != DYNAMIC and experts % groups) or not 1 <= used <= groups:
            raise VerifyException(
                f"group_count is {groups} and k_group {used}, expected a divisor of the experts "
                "and 1 to it"
            )
        size = DYNAMIC if experts == DYNAMIC else experts // groups
        if self.k < 1 or (size != DYNAMIC and self.k > used * size):
            raise VerifyException(f"k is {self.k}, expected 1 to the experts of {used} groups")
        if self.group_select_mode and size not in (DYNAMIC,) and size < 2:
            raise VerifyException("a group has 1 expert, expected 2 for group_select_mode 1")

    def evaluate(self, x: Array, bias: Array | None) -> tuple[Array, ...]:
        import numpy as np

        n = sigmoid(x) if self.norm_type else softmax(x, (-1,))
        scores = n if bias is None else n + bias
        if self.k_group < self.group_count:
            scores = self._within_groups(scores)
        experts = largest(scores, self.k)
        y = np.take_along_axis(n, experts, axis=-1)
        if self.norm_type:
            y = y / (np.sum(y, axis=-1, keepdims=True) + y.dtype.type(self.eps))
        y = y * y.dtype.type(self.routed_scaling_factor)
        out = n.astype(np.float32) if self.out_flag else np.zeros(x.shape, np.float32)
        return y, experts, out

    def _within_groups(self, scores: Array) -> Array:
        """-inf outside the best groups."""
        import numpy as np

        grouped = scores.reshape(
            scores.shape[0], self.group_count, scores.shape[1] // self.group_count
        )
        best = np.sort(grouped, axis=-1)[..., -2 if self.group_select_mode else -1 :]
        groups = largest(best.sum(-1), self.k_group)
        used = np.zeros(grouped.shape[:2], bool)
        np.put_along_axis(used, groups, True, axis=-1)
        return np.where(used[..., None], grouped, grouped.dtype.type(-np.inf)).reshape(scores.shape)


def _check_choices(x: Tensor, **tensors: Tensor) -> tuple[int, int]:
    """(R, K) of i32 [R, K] operands that go with the rows of x."""
    of_rank(x, 2, "x")
    shape: Shape = None
    first = next(iter(tensors))
    for name, tensor in tensors.items():
        require(tensor, name, _I32, "DT_INT32")
        of_rank(tensor, 2, name)
        shape = merge_shapes(shape, tensor.shape, f"{first} and {name}")
    rows, count = (DYNAMIC, DYNAMIC) if shape is None else shape
    return merge_dim(
        rows, DYNAMIC if x.shape is None else x.shape[0], "rows of x and choices"
    ), count


class _Routing(GeOp):
    """Sorting choices by expert, stably."""

    def expanded(self, x: Tensor, row_idx: Tensor, expert_idx: Tensor) -> tuple[Shape, Tensor]:
        """The shape of the expanded rows, and the type of the sorted choices."""
        rows, count = _check_choices(x, row_idx=row_idx, expert_idx=expert_idx)
        active: int = self.get_attr("active_num")
        if active < 0:
            raise VerifyException(f"active_num is {active}, expected 0 or more")
        taken = DYNAMIC if rows == DYNAMIC else min(rows, active)
        width = DYNAMIC if x.shape is None else x.shape[1]
        total = Tensor(DataType.DT_INT32, (multiply_dims(rows, count),))
        return (multiply_dims(taken, count), width), total

    def routed(self, x: Array, row_idx: Array, expert_idx: Array) -> tuple[Array, Array, Array]:
        """Rows in the order of their experts, the place of each choice, the sorted experts."""
        import numpy as np

        flat = expert_idx.reshape(-1)
        order = np.argsort(flat, kind="stable")
        source = row_idx.reshape(-1)[order]
        if not np.array_equal(np.sort(source), np.arange(source.size)):
            raise ValueError("row_idx is no permutation, expected each number once")
        places = np.empty(source.size, np.int32)
        places[source] = np.arange(source.size, dtype=np.int32)
        taken = min(x.shape[0], self.get_attr("active_num")) * expert_idx.shape[1]
        return x[source[:taken] % max(x.shape[0], 1)], places, flat[order]


class MoeInitRoutingOp(_Routing):
    """expanded_x = the rows of x in the order of their experts, expanded_expert_idx sorted

    expert_idx and row_idx are [R, K], row_idx in column order. expanded_row_idx[j] is the place of
    choice j in the sorted order. Only min(R, active_num) * K rows are taken. C1: x has rank 2. C2:
    row_idx and expert_idx are i32 of one shape [R, K]. C3: active_num >= 0.
    """

    name = "ge.MoeInitRouting"

    x = operand()
    row_idx = operand()
    expert_idx = operand()
    expanded_x = result()
    expanded_row_idx = result()
    expanded_expert_idx = result()
    active_num = integer()

    def infer(self, x: Tensor, row_idx: Tensor, expert_idx: Tensor) -> tuple[Tensor, ...]:
        shape, total = self.expanded(x, row_idx, expert_idx)  # C1 C2 C3
        return x.with_shape(shape), total, total

    def evaluate(self, x: Array, row_idx: Array, expert_idx: Array) -> tuple[Array, ...]:
        return self.routed(x, row_idx, expert_idx)


class MoeInitRoutingQuantOp(_Routing):
    """MoeInitRouting whose rows are round(x * scale + offset) in i8

    C1: x is a floating-point tensor of rank 2. C2: row_idx and expert_idx are i32 of one shape
    [R, K]. C3: active_num >= 0.
    """

    name = "ge.MoeInitRoutingQuant"

    x = operand()
    row_idx = operand()
    expert_idx = operand()
    expanded_x = result()
    expanded_row_idx = result()
    expanded_expert_idx = result()
    active_num = integer()
    scale = floating()
    offset = floating()

    widens = True

    def infer(self, x: Tensor, row_idx: Tensor, expert_idx: Tensor) -> tuple[Tensor, ...]:
        check_floats(x=x)  # C1
        shape, total = self.expanded(x, row_idx, expert_idx)  # C1 C2 C3
        return Tensor(DataType.DT_INT8, shape), total, total

    def evaluate(self, x: Array, row_idx: Array, expert_idx: Array) -> tuple[Array, ...]:
        rows, places, experts = self.routed(x, row_idx, expert_idx)
        t = rows * x.dtype.type(self.scale) + x.dtype.type(self.offset)
        return to_codes(t, DataType.DT_INT8), places, experts


class MoeComputeExpertTokensOp(GeOp):
    """total_rows_before_expert[e] = the number of sorted_experts that are at most e

    C1: sorted_experts is i32 of rank 1. C2: num_experts is 1 or more.
    """

    name = "ge.MoeComputeExpertTokens"

    sorted_experts = operand()
    total_rows_before_expert = result()
    num_experts = integer()

    def infer(self, sorted_experts: Tensor) -> Tensor:
        from ge_xdsl.dialects.ge.extents import count_of

        require(sorted_experts, "sorted_experts", _I32, "DT_INT32")  # C1
        of_rank(sorted_experts, 1, "sorted_experts")  # C1
        return Tensor(DataType.DT_INT32, (count_of(self.num_experts, "num_experts", 1),))  # C2

    def evaluate(self, sorted_experts: Array) -> Array:
        import numpy as np

        experts = np.arange(self.num_experts)
        return np.searchsorted(sorted_experts, experts, side="right").astype(np.int32)


class MoeFinalizeRoutingOp(GeOp):
    """y[r] = x1[r] + x2[r] + sum over k of scales[r, k] * (expanded_x[i] + bias[e])

    i = expanded_row_idx[k * R + r], e = expanded_expert_idx[r, k]. C1: the rows are floating-point
    tensors of one element type. C2: expanded_x, x1, x2 and bias have rank 2 and one number of
    columns. C3: scales and expanded_expert_idx are [R, K], the latter and expanded_row_idx [R * K]
    are i32. C4: x1 and x2 have one shape.
    """

    name = "ge.MoeFinalizeRouting"

    expanded_x = operand()
    x1 = operand()
    x2 = optional()
    bias = operand()
    scales = operand()
    expanded_row_idx = operand()
    expanded_expert_idx = operand()
    y = result()

    widens = True

    def infer(self, expanded_x: Tensor, x1: Tensor, *rest: Any) -> Tensor:
        x2, bias, scales, rows, experts = rest
        check_floats(expanded_x=expanded_x, x1=x1, x2=x2, bias=bias, scales=scales)  # C1
        one_element_type(expanded_x, x1, x2, bias, scales)  # C1
        columns = DYNAMIC
        given = (("expanded_x", expanded_x), ("x1", x1), ("x2", x2), ("bias", bias))
        for name, tensor in given:  # C2
            columns = merged_columns(columns, tensor, name)
        shape = x1.shape if x2 is None else merge_shapes(x1.shape, x2.shape, "x1 and x2")  # C4
        require(rows, "expanded_row_idx", _I32, "DT_INT32")  # C3
        require(experts, "expanded_expert_idx", _I32, "DT_INT32")  # C3
        of_rank(rows, 1, "expanded_row_idx")  # C3
        choices = merge_shapes(scales.shape, experts.shape, "scales and expanded_expert_idx")  # C3
        if choices is not None:
            of_rank(scales.with_shape(choices), 2, "scales")  # C3
            if rows.shape is not None:
                merge_dim(multiply_dims(*choices), rows.shape[0], "choices and expanded_row_idx")
            if shape is not None:
                merge_dim(choices[0], shape[0], "rows of scales and x1")  # C3
        return x1.with_shape(shape)

    def evaluate(self, expanded_x: Array, x1: Array, *rest: Any) -> Array:
        x2, bias, scales, rows, experts = rest
        count, k = scales.shape
        places = rows.reshape(k, count).T
        y = x1 if x2 is None else x1 + x2
        return y + weighted(expanded_x, places, scales, bias, experts)


def merged_columns(columns: int, tensor: Tensor | None, name: str) -> int:
    """The number of columns of all matrices so far; raises for another rank than 2."""
    if tensor is None or tensor.shape is None:
        return columns
    of_rank(tensor, 2, name)
    return merge_dim(columns, tensor.shape[1], f"columns of expanded_x and {name}")


def weighted(
    rows: Array, places: Array, scales: Array | None, bias: Array | None, experts: Array | None
) -> Array:
    """sum over k of scales[r, k] * (rows[places[r, k]] + bias[experts[r, k]]); -1 gives nothing.

    Raises ValueError for a place or an expert that is not there.
    """
    import numpy as np

    if places.size and (places.min() < -1 or places.max() >= rows.shape[0]):
        raise ValueError(
            f"expanded_row_idx has a row outside [-1, {rows.shape[0]}), expected all inside"
        )
    picked = rows[places]
    if bias is not None and experts is not None:
        if experts.size and (experts.min() < 0 or experts.max() >= bias.shape[0]):
            raise ValueError(f"an expert is outside [0, {bias.shape[0]}), expected all inside")
        picked = picked + bias[experts]
    picked = np.where((places >= 0)[..., None], picked, rows.dtype.type(0))
    return np.sum(picked if scales is None else picked * scales[..., None], axis=1)


class MoeFinalizeRoutingV2Op(GeOp):
    """y[r] = x1[r] + x2[r] + sum over k of scales[r, k] * (expanded_x[i] + bias[expert_idx[r, k]])

    i = expanded_row_idx at choice (r, k), in column order for drop_pad_mode 0 and 1 and in row
    order for 2 and 3; -1 adds nothing. expanded_x is [rows, H], or [E, C, H] for modes 1 and 3.
    Without scales there is one choice per row, of weight 1. C1: the rows are floating-point tensors
    of one element type. C2: drop_pad_mode is 0 to 3. C3: expanded_x has rank 2, or 3 for modes 1
    and 3. C4: x1, x2 and bias have rank 2 and its columns. C5: expanded_row_idx is i32 of rank 1,
    with R * K entries. C6: scales and expert_idx are [R, K], expert_idx i32; bias comes with
    expert_idx.
    """

    name = "ge.MoeFinalizeRoutingV2"

    expanded_x = operand()
    expanded_row_idx = operand()
    x1 = optional()
    x2 = optional()
    bias = optional()
    scales = optional()
    expert_idx = optional()
    y = result()
    drop_pad_mode = integer(0)

    widens = True

    def infer(self, expanded_x: Tensor, rows: Tensor, *rest: Tensor | None) -> Tensor:
        x1, x2, bias, scales, experts = rest
        check_floats(expanded_x=expanded_x, x1=x1, x2=x2, bias=bias, scales=scales)  # C1
        one_element_type(expanded_x, x1, x2, bias)  # C1
        chosen(self.drop_pad_mode, "drop_pad_mode", (0, 1, 2, 3))  # C2
        ranks = (2, 3) if self.drop_pad_mode % 2 else (2,)
        if expanded_x.rank is not None and expanded_x.rank not in ranks:  # C3
            raise VerifyException(
                f"expanded_x is {shape_text(expanded_x.shape)}, expected rank {ranks[-1]}"
            )
        columns = DYNAMIC if expanded_x.shape is None else expanded_x.shape[-1]
        for name, tensor in (("x1", x1), ("x2", x2), ("bias", bias)):  # C4
            columns = merged_columns(columns, tensor, name)
        require(rows, "expanded_row_idx", _I32, "DT_INT32")  # C5
        of_rank(rows, 1, "expanded_row_idx")  # C5
        return expanded_x.with_shape((self._rows(rows, scales, experts, bias, (x1, x2)), columns))

    def _rows(
        self,
        rows: Tensor,
        scales: Tensor | None,
        experts: Tensor | None,
        bias: Tensor | None,
        residual: tuple[Tensor | None, Tensor | None],
    ) -> int:
        """R, from whatever tells it."""
        if bias is not None and experts is None:  # C6
            raise VerifyException("expert_idx is missing, expected it with bias")
        count = DYNAMIC
        for name, tensor in (("scales", scales), ("expert_idx", experts)):  # C6
            if tensor is not None and tensor.shape is not None:
                of_rank(tensor, 2, name)
                count = merge_dim(count, tensor.shape[0], f"rows of scales and {name}")
        if experts is not None:
            require(experts, "expert_idx", _I32, "DT_INT32")  # C6
        for name, tensor in zip(("x1", "x2"), residual, strict=True):
            if tensor is not None and tensor.shape is not None:
                count = merge_dim(count, tensor.shape[0], f"rows of scales and {name}")
        choices = DYNAMIC if scales is None or scales.shape is None else scales.shape[1]
        choices = 1 if scales is None else choices
        if rows.shape is not None:  # C5
            merge_dim(multiply_dims(count, choices), rows.shape[0], "choices and expanded_row_idx")
        return rows.shape[0] if count == DYNAMIC and choices == 1 and rows.shape else count

    def evaluate(self, expanded_x: Array, rows: Array, *rest: Array | None) -> Array:
        x1, x2, bias, scales, experts = rest
        k = 1 if scales is None else scales.shape[1]
        count = rows.size // k if scales is None else scales.shape[0]
        by_row = self.drop_pad_mode >= 2
        places = rows.reshape(count, k) if by_row else rows.reshape(k, count).T
        flat = as_rows(expanded_x)
        y = weighted(flat, places, scales, bias, experts)
        for residual in (x1, x2):
            y = y if residual is None else y + residual
        return y
