"""Products of groups of rows with their own weights, and the two-layer network of experts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.activation import gelu_tanh
from ge_xdsl.dialects.ge.elements import one_element_type
from ge_xdsl.dialects.ge.extents import as_rows, at_least_rank, of_rank
from ge_xdsl.dialects.ge.fields import (
    boolean,
    integer,
    integers,
    operand,
    optional,
    result,
    string,
    variadic,
    variadic_result,
)
from ge_xdsl.dialects.ge.gradients import sigmoid
from ge_xdsl.dialects.ge.matmul import contract
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.operands import check_index
from ge_xdsl.dialects.ge.rounding import chosen, short_scale, to_codes
from ge_xdsl.dialects.ge.shapes import Shape, add_dims, merge_dim
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor, numpy_dtype

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

_RESULTS = {
    -1: DataType.DT_INT8,
    0: DataType.DT_FLOAT16,
    1: DataType.DT_BF16,
    2: DataType.DT_INT32,
    3: DataType.DT_FLOAT,
}
"""What GroupedMatmul's dtype means for i8 operands."""


_ACTIVATIONS = ("fastgelu", "gelu", "relu", "silu", "geglu", "swiglu", "reglu")


def _activate(x: Array, activation: str) -> Array:
    """The activations of one operand; raises ValueError for the gated ones."""
    import numpy as np

    if activation == "fastgelu":
        return x * sigmoid(x * np.float32(1.702))
    if activation == "gelu":
        return gelu_tanh(x)
    if activation == "silu":
        return x * sigmoid(x)
    if activation == "relu":
        return np.maximum(x, x.dtype.type(0))
    raise ValueError(f"activation is '{activation}', expected fastgelu, gelu, relu or silu")


_ACT_TYPES: dict[int, Callable[[Array], Array]] = {
    0: lambda x: x,
    1: partial(_activate, activation="relu"),
    2: partial(_activate, activation="gelu"),
    4: partial(_activate, activation="fastgelu"),
    5: partial(_activate, activation="silu"),
}
"""What GroupedMatmul's act_type applies."""


def group_spans(ends: Sequence[int], length: int) -> list[slice]:
    """The places of each group; raises ValueError when an end falls or lies beyond `length`."""
    spans: list[slice] = []
    start = 0
    for end in ends:
        if not start <= end <= length:
            raise ValueError(f"group ends are {list(ends)}, expected rising ones up to {length}")
        spans.append(slice(start, end))
        start = end
    return spans


class GroupedMatmulOp(GeOp):
    """y_i = x_i @ op(w_i) + bias_i per group i

    op swaps the last two dimensions under transpose_weight. The weights are a list of matrices or
    one [E, K, N]. group_type -1: x lists a tensor per group, y too. 0: rows are split; x lists a
    tensor per group, or is one matrix that group_list (the ends of the groups) splits, rows after
    the last end giving 0; y is one matrix. 2: x is [K, M] with transpose_x, group_list splits K,
    and y is [E, M, N]. group_list_type 1: group_list has the rows of each group; 2: [E, 2], each
    row a group and how many rows it has. For i8 x and weight y = (x @ w + bias) * scale *
    per_token_scale + offset, with antiquant_scale w is (w + antiquant_offset) * antiquant_scale;
    scales are one list entry per group or [E, N]. act_type then applies relu (1), gelu by tanh (2),
    fast_gelu (4) or silu (5). For i8 x dtype chooses that of y: -1 i8, 0 f16, 1 bf16, 2 i32 (which
    takes no scale), 3 f32. The oldest form of the op has no per_token_scale. tuning_config has no
    effect: it guides a device's tiles. C1: group_type is -1, 0 or 2. C2: split_item is 0 or 1 for
    group_type -1, else 2 or 3. C3: there are as many x as weights for several x. C4: inner
    dimensions are equal. C5: group_list is i32 or i64 of rank 1 (2 for group_list_type 2), and
    given when one x is split. C6: x and weight have one element type unless quantised. C7:
    transpose_x goes with group_type 2. C8: bias, scale, offset and antiquant lists have as many
    tensors as weight, one or none. C9: group_list_type is 0, 1 or 2. C10: act_type is 0, 1, 2, 4 or
    5.
    """

    name = "ge.GroupedMatmul"

    x = variadic()
    weight = variadic()
    bias = variadic()
    scale = variadic()
    offset = variadic()
    antiquant_scale = variadic()
    antiquant_offset = variadic()
    group_list = optional()
    per_token_scale = optional(newer=True)
    y = variadic_result()
    split_item = integer(0)
    dtype = integer(0)
    transpose_weight = boolean(False)
    transpose_x = boolean(False)
    group_type = integer(-1)
    group_list_type = integer(0)
    act_type = integer(0)
    tuning_config = integers((0,))

    widens = True

    def infer(self, x: Sequence[Tensor], weight: Sequence[Tensor], *rest: Any) -> Any:
        *lists, group_list, _ = rest
        scales = lists[1:]
        chosen(self.group_type, "group_type", (-1, 0, 2))  # C1
        chosen(self.split_item, "split_item", (0, 1) if self.group_type == -1 else (2, 3))  # C2
        chosen(self.group_list_type, "group_list_type", (0, 1, 2))  # C9
        chosen(self.act_type, "act_type", tuple(_ACT_TYPES))  # C10
        self._check_counts(x, weight, group_list)  # C3 C5 C7
        self._check_lists(weight, lists)  # C8
        if not any(scales):
            one_element_type(*x, *weight)  # C6
        first = x[0].dtype
        dtype = _RESULTS.get(self.dtype, first) if first is DataType.DT_INT8 else first
        if self.group_type == 2:
            return [Tensor(dtype, self._split_inner(x[0], weight[0], group_list))]  # C4
        singles = [self._product(t, w) for t, w in _paired(x, weight)]  # C4
        if self.group_type == -1:
            return [Tensor(dtype, shape) for shape in singles]
        return [Tensor(dtype, _stacked(singles, len(x) == 1))]

    def _check_counts(
        self,
        x: Sequence[Tensor],
        weight: Sequence[Tensor],
        group_list: Tensor | None,
    ) -> None:
        if not x or not weight or len(x) not in (1, len(weight)):  # C3
            raise VerifyException(
                f"x lists {len(x)} tensors and weight {len(weight)}, expected as many or one x"
            )
        if self.transpose_x != (self.group_type == 2):  # C7
            raise VerifyException(
                "transpose_x and group_type 2 come together, expected both or none"
            )
        check_index(group_list, "group_list")  # C5
        if group_list is not None:
            of_rank(group_list, 2 if self.group_list_type == 2 else 1, "group_list")  # C5
        elif self.group_type == 2 or (self.group_type == 0 and len(x) == 1):  # C5
            raise VerifyException("group_list is missing, expected it for one x that is split")

    def _check_lists(self, weight: Sequence[Tensor], lists: Sequence[Sequence[Tensor]]) -> None:
        for io, tensors in zip(self.prototype.inputs[2:7], lists, strict=True):
            if len(tensors) not in (0, 1, len(weight)):
                wanted = f"{len(weight)}, 1 or none" if len(weight) > 1 else "1 or none"
                raise VerifyException(f"{io.name} lists {len(tensors)} tensors, expected {wanted}")

    def _product(self, x: Tensor, weight: Tensor) -> Shape:
        """The shape of one product; [E, K, N] weights stand for the matrices of their groups."""
        if x.shape is None or weight.shape is None:
            return None
        at_least_rank(x, 2, "x")
        at_least_rank(weight, 2, "weight")
        k, n = weight.shape[-2:][:: -1 if self.transpose_weight else 1]
        merge_dim(x.shape[-1], k, "inner dimensions")
        return (*x.shape[:-1], n)

    def _split_inner(self, x: Tensor, weight: Tensor, group_list: Tensor) -> Shape:
        groups = group_list.shape[0] if group_list.shape else DYNAMIC
        if x.shape is None or weight.shape is None:
            return (groups, DYNAMIC, DYNAMIC)
        of_rank(x, 2, "x")
        of_rank(weight, 2, "weight")
        merge_dim(x.shape[0], weight.shape[0], "inner dimensions")
        return (groups, x.shape[1], weight.shape[1])

    def evaluate(self, x: list[Array], weight: list[Array], *rest: Any) -> Any:
        import numpy as np

        *lists, group_list, token_scale = rest
        groups = self._groups(x[0].shape[0], group_list)
        if self.group_type == 2:
            if any(lists) or token_scale is not None:
                raise ValueError("bias or a scale is given, expected none when group_list splits K")
            return [np.stack([contract(x[0][s].T, weight[0][s]) for _, s in groups])]
        matrices = _entries(weight, 3)
        columns = [_entries(items, 2) for items in lists]
        is_split = len(x) == 1 and bool(groups)
        parts = groups if is_split else [(i, slice(None)) for i in range(len(x))]
        if len(parts) != len(matrices) and (self.group_list_type != 2 or not is_split):
            raise ValueError(f"{len(parts)} groups of rows, expected {len(matrices)}")
        found: list[Array] = []
        start = 0
        for place, (i, span) in enumerate(parts):
            rows = x[0][span] if is_split else x[place]
            w = matrices[i].T if self.transpose_weight else matrices[i]
            extra = [None if not items else items[i if len(items) > 1 else 0] for items in columns]
            mine = span if is_split else slice(start, start + rows.shape[0])
            start = mine.stop
            scale = None if token_scale is None else token_scale.reshape(-1, 1)[mine]
            found.append(self._group(rows, w, extra, scale))
        return found if self.group_type == -1 else [_padded(found, x, is_split)]

    def _groups(self, length: int, group_list: Array | None) -> list[tuple[int, slice]]:
        """The group and the places of each run of rows; [] where nothing is split."""
        if group_list is None:
            return []
        listed = group_list.tolist()
        if self.group_list_type == 0:
            return list(enumerate(group_spans(listed, length)))
        numbers = [n for n, _ in listed] if self.group_list_type == 2 else range(len(listed))
        counts = [n for _, n in listed] if self.group_list_type == 2 else listed
        return list(zip(numbers, group_spans(list(accumulate(counts)), length), strict=True))

    def _group(
        self, x: Array, w: Array, extra: Sequence[Array | None], token_scale: Array | None
    ) -> Array:
        """The product of one group; `extra` are its bias, scales and offsets."""
        bias, scale, offset, anti_scale, anti_offset = extra
        if anti_scale is not None:
            w = _weight(w, anti_scale, anti_offset)
        y = contract(x, w)
        y = y if bias is None else y + bias
        if x.dtype.kind != "i":
            return _ACT_TYPES[self.act_type](y)
        dtype = _RESULTS.get(self.dtype, DataType.DT_INT8)
        if dtype is DataType.DT_INT32:
            return y
        if scale is None:
            raise ValueError("scale is missing, expected it for DT_INT8 operands")
        wide = y.astype("float32") * _scale(scale)
        wide = wide if token_scale is None else wide * token_scale
        wide = _ACT_TYPES[self.act_type](wide if offset is None else wide + offset)
        return (
            to_codes(wide, dtype) if dtype is DataType.DT_INT8 else wide.astype(numpy_dtype(dtype))
        )


def _scale(scale: Array) -> Array:
    """f32 scales; u64 and i64 ones hold them in their low half, cut to 19 bits."""
    return short_scale(scale) if scale.dtype.kind in "iu" else scale.astype("float32")


def _entries(items: list[Array], rank: int) -> list[Array]:
    """What each group has: an entry of the list, or of the first dimension of its only tensor."""
    return list(items[0]) if len(items) == 1 and items[0].ndim == rank else items


def _padded(parts: list[Array], x: list[Array], is_split: bool) -> Array:
    """The rows of all parts, and zeros for the rows of a split x after the last group."""
    import numpy as np

    rows = np.concatenate(parts)
    missing = x[0].shape[0] - rows.shape[0] if is_split else 0
    return np.pad(rows, ((0, missing), (0, 0)))


def _paired(x: Sequence[Tensor], weight: Sequence[Tensor]) -> list[tuple[Tensor, Tensor]]:
    rows = [x[0]] * len(weight) if len(x) == 1 else x
    return list(zip(rows, weight, strict=True))


def _stacked(shapes: Sequence[Shape], is_split: bool) -> Shape:
    """All rows of the products; a split x has all of its rows in each."""
    if any(shape is None or len(shape) != 2 for shape in shapes):
        return None
    known = [shape for shape in shapes if shape is not None]
    columns = DYNAMIC
    for shape in known:
        columns = merge_dim(columns, shape[1], "columns of the groups")
    return (known[0][0] if is_split else add_dims(*(s[0] for s in known)), columns)


class FFNOp(GeOp):
    """y = act(x @ weight1 + bias1) @ weight2 + bias2

    For i8 operands y = (round(act((x @ weight1 + bias1) * deq_scale1) * scale + offset) @ weight2 +
    bias2) * deq_scale2; with antiquant operands each weight is (weight + antiquant_offset) *
    antiquant_scale. With expert_tokens (rows per expert, or their ends under tokens_index_flag) the
    weights, biases and scales have one entry per expert first, and rows after the last expert give
    0. y has the type of x; for i8 bf16 when output_dtype is 1, else f16. gelu goes by tanh.
    inner_precise has no effect: sums are in f32. C1: x has rank >= 2. C2: activation is fastgelu,
    gelu, relu, silu, geglu, swiglu or reglu; the last three have no value here. C3: weights have
    rank 2, or 3 with expert_tokens. C4: inner dimensions are equal, weight2 has the columns of x.
    C5: expert_tokens is i32 or i64 of rank 1. C6: output_dtype is -1, 0 or 1.
    """

    name = "ge.FFN"

    x = operand()
    weight1 = operand()
    weight2 = operand()
    expert_tokens = optional()
    bias1 = optional()
    bias2 = optional()
    scale = optional()
    offset = optional()
    deq_scale1 = optional()
    deq_scale2 = optional()
    antiquant_scale1 = optional()
    antiquant_scale2 = optional()
    antiquant_offset1 = optional()
    antiquant_offset2 = optional()
    y = result()
    activation = string()
    inner_precise = integer(0)
    output_dtype = integer(-1)
    tokens_index_flag = boolean(False)

    widens = True

    def infer(self, x: Tensor, *rest: Tensor | None) -> Tensor:
        weight1, weight2, experts = rest[:3]
        assert weight1 is not None
        assert weight2 is not None
        at_least_rank(x, 2, "x")  # C1
        chosen(self.activation, "activation", _ACTIVATIONS)  # C2
        chosen(self.output_dtype, "output_dtype", (-1, 0, 1))  # C6
        check_index(experts, "expert_tokens")  # C5
        if experts is not None:
            of_rank(experts, 1, "expert_tokens")  # C5
        of_rank(weight1, 2 if experts is None else 3, "weight1")  # C3
        of_rank(weight2, 2 if experts is None else 3, "weight2")  # C3
        last = DYNAMIC if x.shape is None else x.shape[-1]
        if weight1.shape is not None:
            merge_dim(last, weight1.shape[-2], "inner dimensions")  # C4
        if weight2.shape is not None:
            merge_dim(last, weight2.shape[-1], "columns of x and weight2")  # C4
        if x.dtype is not DataType.DT_INT8:
            return x
        dtype = DataType.DT_BF16 if self.output_dtype == 1 else DataType.DT_FLOAT16
        return Tensor(dtype, x.shape)

    def evaluate(self, x: Array, *rest: Array | None) -> Array:
        import numpy as np

        weight1, _, experts, *others = rest
        assert weight1 is not None
        rows = as_rows(x)
        dtype = np.dtype(np.float32) if x.dtype.kind == "i" else x.dtype
        if experts is None:
            y = self._layers(rows, rest[:2], others)
        else:
            ends = experts if self.tokens_index_flag else np.cumsum(experts)
            y: Array = np.zeros((rows.shape[0], x.shape[-1]), dtype)
            for e, span in enumerate(group_spans(ends.tolist(), rows.shape[0])):
                weights = [None if w is None else w[e] for w in rest[:2]]
                scalar = (2, 3)
                mine = [a if a is None or i in scalar else a[e] for i, a in enumerate(others)]
                y[span] = self._layers(rows[span], weights, mine)
        if x.dtype.kind == "i":
            return y.reshape(x.shape).astype(numpy_dtype(self._dtype_of_codes()))
        return y.reshape(x.shape)

    def _dtype_of_codes(self) -> DataType:
        return DataType.DT_BF16 if self.output_dtype == 1 else DataType.DT_FLOAT16

    def _layers(
        self, x: Array, weights: Sequence[Array | None], others: Sequence[Array | None]
    ) -> Array:
        """Both layers of one expert; `others` are the operands from bias1 on."""
        import numpy as np

        bias1, bias2, scale, offset, deq1, deq2, anti1, anti2, less1, less2 = others
        w1, w2 = (
            _weight(w, a, o)
            for w, a, o in zip(weights, (anti1, anti2), (less1, less2), strict=True)
        )
        hidden = _layer(x, w1, bias1, deq1)
        hidden = _activate(hidden, self.activation)
        if x.dtype.kind == "i":
            if scale is None or deq1 is None or deq2 is None:
                raise ValueError("scale or a deq_scale is missing, expected all for DT_INT8")
            t = hidden * scale + (np.float32(0) if offset is None else offset)
            hidden = to_codes(t, DataType.DT_INT8)
        return _layer(hidden, w2, bias2, deq2)


def _weight(weight: Array | None, scale: Array | None, offset: Array | None) -> Array:
    """The weight, or (weight + offset) * scale in f32."""
    import numpy as np

    assert weight is not None
    if scale is None:
        return weight
    wide = weight.astype(np.float32)
    return (wide if offset is None else wide + offset) * scale


def _layer(x: Array, weight: Array, bias: Array | None, deq_scale: Array | None) -> Array:
    y = contract(x, weight)
    y = y if bias is None else y + bias
    return y if deq_scale is None else y.astype("float32") * short_scale(deq_scale)
