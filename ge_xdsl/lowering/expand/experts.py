"""Products of groups of rows with their own weights: GroupedMatmul, and FFN with its experts.

Groups that are known are one product each. Others, or many, are tiles of T rows of one group each,
of which there are at most min(E, M) + (M - min(E, M)) / T: the rows of each tile and the weights of
its group are gathered, one product of batches multiplies them, and the rows are gathered back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.op import GeOp, constant_of
from ge_xdsl.dialects.ge.types import DataType
from ge_xdsl.lowering.expand.builder import Builder, Expansion
from ge_xdsl.lowering.expand.products import CODES, product
from ge_xdsl.lowering.expand.quant import codes, wide_scale
from ge_xdsl.lowering.expand.terms import Term, term

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

MOST_PRODUCTS = 8
"""Groups that are one product each; more are tiles."""
LEAST_ROWS, MOST_ROWS = 16, 128
"""The height of a tile of rows."""


class Pick(Protocol):
    """What one group, or each of the tiles, has of an operand."""

    def matrix(self, items: Sequence[SSAValue], rank: int) -> SSAValue:
        """Of a list with an entry per group, or of one tensor with a dimension more than `rank`."""
        ...


class _One:
    """Group number i."""

    def __init__(self, build: Builder, i: int) -> None:
        self.build = build
        self.i = i

    def matrix(self, items: Sequence[SSAValue], rank: int) -> SSAValue:
        build = self.build
        if len(items) > 1:
            return items[self.i]
        (item,) = items
        shape = build.shape(item)
        if len(shape) != rank + 1:
            return item
        return build.reshape(build.slice(item, 0, self.i, 1), shape[1:])


class _Tiles:
    """The groups of the tiles, [NT] i32."""

    def __init__(self, build: Builder, groups: SSAValue) -> None:
        self.build = build
        self.groups = groups

    def matrix(self, items: Sequence[SSAValue], rank: int) -> SSAValue:
        build = self.build
        if len(items) == 1 and len(build.shape(items[0])) != rank + 1:
            return items[0]
        shape = build.shape(items[0])
        if len(items) > 1:
            parts = [build.reshape(item, [1, *shape]) for item in items]
            found = build("GatherV2", build.concat(parts, 0), self.groups, [0])
        else:
            found = build("GatherV2", items[0], self.groups, [0])
        each = build.shape(found)
        return found if rank == 2 else build.reshape(found, [each[0], 1, *each[1:]])


Layers = Callable[[SSAValue, Pick, SSAValue | None], Term]
"""y of rows [.., M, K], of what the group picks, and of a scale per row [.., M, 1]."""


class Split:
    """Rows in groups, by the groups' ends or sizes."""

    def __init__(
        self,
        build: Builder,
        groups: SSAValue,
        rows: int,
        kind: int,
    ) -> None:
        import numpy as np

        self.build = build
        self.rows = rows
        self.numbers: SSAValue | None = None
        if kind == 2:
            count = build.shape(groups)[0]
            self.numbers = _column(build, groups, 0, count)
            groups = _column(build, groups, 1, count)
        self.count = build.count(groups)
        self.known = self._spans(groups, kind)
        flat = build.reshape(build.cast(groups, DataType.DT_FLOAT), [1, self.count])
        given = Term(build, flat)
        self.ends = given if kind == 0 else self._running(given)
        if kind == 0:
            before = np.eye(self.count, k=-1, dtype=np.float32)
            self.starts = self._through(given, before)
        else:
            self.starts = self.ends - given
        self.shift = given

    def _spans(self, groups: SSAValue, kind: int) -> list[tuple[int, int, int]] | None:
        """(group, first row, rows) of the groups with rows when they are known."""
        import numpy as np

        known = constant_of(groups)
        names = None if self.numbers is None else constant_of(self.numbers)
        if known is None or (self.numbers is not None and names is None):
            return None
        ends = known.reshape(-1) if kind == 0 else np.cumsum(known)
        spans: list[tuple[int, int, int]] = []
        start = 0
        for i, end in enumerate(int(e) for e in ends):
            if not start <= end <= self.rows:
                raise self.build.decline(f"for groups that end at {ends.tolist()}")
            if end > start:
                spans.append((i if names is None else int(names[i]), start, end - start))
            start = end
        return spans

    def run(self, x: SSAValue, layers: Layers, scales: SSAValue | None = None) -> Term:
        """The layers on each group's rows; 0 for the rows after the last group."""
        if self.known is not None and 0 < len(self.known) <= MOST_PRODUCTS:
            return self._one_by_one(self.known, x, layers, scales)
        return self._tiled(x, layers, scales)

    def _one_by_one(
        self,
        spans: Sequence[tuple[int, int, int]],
        x: SSAValue,
        layers: Layers,
        scales: SSAValue | None,
    ) -> Term:
        build = self.build
        parts: list[SSAValue] = []
        for i, start, size in spans:
            rows = build.slice(x, 0, start, size)
            mine = None if scales is None else build.slice(scales, 0, start, size)
            parts.append(layers(rows, _One(build, i), mine).value)
        missing = self.rows - sum(size for _, _, size in spans)
        if missing:
            zero = build.const(0, build.dtype(parts[0]))
            parts.append(build.spread(zero, [missing, build.shape(parts[0])[1]]))
        return Term(build, build.concat(parts, 0))

    def _tiled(self, x: SSAValue, layers: Layers, scales: SSAValue | None) -> Term:
        build = self.build
        places, group, tiles, height = self._places()
        flat = build.reshape(places, [tiles * height])
        wide = build.reshape(build("GatherV2", x, flat, [0]), [tiles, height, build.shape(x)[1]])
        if scales is not None:
            scales = build.reshape(build("GatherV2", scales, flat, [0]), [tiles, height, 1])
        if self.numbers is not None:
            group = build("GatherV2", self.numbers, group, [0])
        found = layers(wide, _Tiles(build, group), scales).value
        return self._back(build.reshape(found, [tiles * height, build.shape(found)[2]]))

    def _places(self) -> tuple[SSAValue, SSAValue, int, int]:
        """The row that each row of each tile is, each tile's group; tiles and their height.

        Tile t of a group has the rows from t T - shift on; those after the group's end are rows of
        others, and are not gathered back. Whole numbers in f32.
        """
        build, rows, count = self.build, self.rows, self.count
        height = tile_rows(rows, count)
        used = min(rows, count)
        tiles = used + (rows - used) // height
        each = ((self.ends - self.starts + (height - 1.0)) * (1 / height)).call("Floor")
        last = self._running(each)
        first = last - each
        self.shift = first * float(height) - self.starts
        number = self._column(range(tiles))
        hot = (first <= number).both(number < last)
        group = hot.pick(Term(build, build.array(_ramp(count))), 0.0).sum([1])
        inside = self._column([[t * height + i for i in range(height)] for t in range(tiles)])
        place = (inside - hot.pick(self.shift, 0.0).sum([1])).call("Minimum", rows - 1.0)
        return _whole(place, (tiles, height)), _whole(group, (tiles,)), tiles, height

    def _back(self, found: SSAValue) -> Term:
        """The rows of the tiles in their order; 0 after the last group."""
        build, rows = self.build, self.rows
        height, width = build.shape(found)
        number = self._column(range(rows))
        hot = (self.starts <= number).both(number < self.ends)
        place = (hot.pick(self.shift, 0.0).sum([1]) + number).call("Minimum", height - 1.0)
        y = build("GatherV2", found, _whole(place, (rows,)), [0])
        end = self.ends.max([1])
        below = build.spread((number < end).value, [rows, width])
        return Term(build, build.where(below, y, build.const(0, build.dtype(y))))

    def _column(self, numbers: Sequence[object] | range) -> Term:
        import numpy as np

        array = np.asarray(list(numbers), np.float32)
        return Term(self.build, self.build.array(array.reshape(len(array), -1)))

    def _running(self, row: Term) -> Term:
        """The running sum of [1, E]."""
        import numpy as np

        below = np.tri(self.count, dtype=np.float32)
        return self._through(row, below)

    def _through(self, row: Term, matrix: Array) -> Term:
        """The row [1, E] times the transposed matrix, as sums of a few numbers."""
        build = self.build
        found = (row * Term(build, build.array(matrix))).sum([1])
        return found.reshape([1, self.count])


def _whole(x: Term, shape: Sequence[int]) -> SSAValue:
    """Whole numbers as i32."""
    return x.build.reshape(x.build.cast(x.value, DataType.DT_INT32), shape)


def _ramp(count: int) -> Array:
    import numpy as np

    return np.arange(count, dtype=np.float32).reshape(1, count)


def tile_rows(rows: int, groups: int) -> int:
    """The height of tiles: a power of two near the rows of a group."""
    height = LEAST_ROWS
    while height < MOST_ROWS and height * groups < rows:
        height *= 2
    return height


def _column(build: Builder, table: SSAValue, k: int, count: int) -> SSAValue:
    known = constant_of(table)
    if known is not None:
        return build.array(known[:, k].astype("int32"))
    column = build.reshape(build.slice(table, 1, k, 1), [count])
    return build.cast(column, DataType.DT_INT32)


# GroupedMatmul

RESULTS = {-1: DataType.DT_INT8, 2: DataType.DT_INT32}
"""The values of GroupedMatmul's dtype whose results are integers."""


def activated(y: Term, kind: str) -> Term:
    """An activation of one operand, as GroupedMatmul and FFN have it."""
    if kind == "relu":
        return y.call("Relu")
    if kind == "gelu":
        return y.call("Gelu")
    if kind in ("fastgelu", "silu"):
        return y * (y * 1.702 if kind == "fastgelu" else y).sigmoid()
    raise y.build.decline(f"for activation {kind}")


ACTIVATIONS = {1: "relu", 2: "gelu", 4: "fastgelu", 5: "silu"}
"""GroupedMatmul's act_type by number, but 0, which is none."""


def _row(build: Builder, pick: Pick, items: Sequence[SSAValue]) -> Term | None:
    """What a group has of a list of vectors, in f32 unless it is of i32, to broadcast over rows."""
    if not items:
        return None
    value = pick.matrix(items, 1)
    if len(build.shape(value)) == 1:
        value = build.reshape(value, [1, build.count(value)])
    return Term(build, value)


def restored(
    build: Builder, w: SSAValue, scale: Term | None, offset: Term | None, swap: bool
) -> SSAValue:
    """(w + offset) scale in f32, where there is a scale; `swap` when w is stored transposed."""
    if scale is None:
        return w
    wide = Term(build, build.cast(w, DataType.DT_FLOAT))
    if offset is not None:
        wide = wide + _beside(offset, swap)
    return (wide * _beside(scale, swap)).value


def _beside(row: Term, swap: bool) -> Term:
    """A row of numbers as a column when the matrix is stored transposed."""
    wide = Term(row.build, row.build.cast(row.value, DataType.DT_FLOAT))
    shape = wide.shape
    return wide.reshape([*shape[:-2], shape[-1], shape[-2]]) if swap else wide


class _Grouped:
    """The product of one group, or of all tiles, of a GroupedMatmul."""

    def __init__(self, build: Builder, op: GeOp) -> None:
        self.build = build
        self.swap = bool(op.get_attr("transpose_weight"))
        self.weights = build.many("weight")
        names = ("bias", "scale", "offset", "antiquant_scale", "antiquant_offset")
        self.lists = {name: build.many(name) for name in names}
        self.whole = build.dtype(build.many("x")[0]) in CODES
        self.result = RESULTS.get(op.get_attr("dtype")) if self.whole else None
        self.kind = ACTIVATIONS.get(op.get_attr("act_type"), "")
        packed = (DataType.DT_UINT64, DataType.DT_INT64)
        if any(build.dtype(v) in packed for v in self.lists["scale"]):
            self.lists["scale"] = [wide_scale(build, v).value for v in self.lists["scale"]]

    def __call__(self, rows: SSAValue, pick: Pick, scales: SSAValue | None) -> Term:
        build = self.build
        row = {name: _row(build, pick, items) for name, items in self.lists.items()}
        w = pick.matrix(self.weights, 2)
        w = restored(build, w, row["antiquant_scale"], row["antiquant_offset"], self.swap)
        y = multiplied(build, rows, w, self.swap, row["bias"])
        if not self.whole:
            return activated(y, self.kind) if self.kind else y
        if self.result is DataType.DT_INT32:
            return y
        if row["scale"] is None:
            raise build.decline("without a scale")
        wide = Term(build, build.cast(y.value, DataType.DT_FLOAT))
        wide = wide * term(build, row["scale"].value)
        wide = wide if scales is None else wide * term(build, scales)
        offset = row["offset"]
        wide = wide if offset is None else wide + term(build, offset.value)
        wide = activated(wide, self.kind) if self.kind else wide
        return codes(wide, self.result) if self.result is not None else wide


def multiplied(build: Builder, rows: SSAValue, w: SSAValue, swap: bool, bias: Term | None) -> Term:
    """rows op(w) + bias: i32 of codes, else f32"""
    if build.dtype(rows) in CODES and build.dtype(w) in CODES:
        y = Term(build, build("BatchMatMulV2", rows, w, adj_x2=swap))
        return y if bias is None else y + bias
    if build.dtype(rows) in CODES:
        rows = build.cast(rows, DataType.DT_FLOAT)
    y = Term(build, product(build, rows, w, False, swap))
    return y if bias is None else y + term(build, bias.value)


def grouped_matmul(build: Builder, op: GeOp) -> list[SSAValue]:
    """y_i = act(x_i op(w_i) + bias_i) per group i"""
    xs, groups = build.many("x"), build.slot("group_list")
    scales = build.slot("per_token_scale")
    scales = None if scales is None else build.reshape(scales, [build.count(scales), 1])
    if op.get_attr("group_type") == 2:
        return [_inner(build, op, xs[0], groups)]
    layers = _Grouped(build, op)
    if len(xs) == 1 and groups is not None:
        split = Split(build, groups, build.shape(xs[0])[0], op.get_attr("group_list_type"))
        return [split.run(xs[0], layers, scales).like(op.results[0])]
    parts: list[Term] = []
    start = 0
    for i, x in enumerate(xs):
        size = build.shape(x)[0]
        mine = None if scales is None else build.slice(scales, 0, start, size)
        parts.append(layers(x, _One(build, i), mine))
        start += size
    if op.get_attr("group_type") == -1:
        return [y.like(result) for y, result in zip(parts, op.results, strict=True)]
    joined = build.concat([y.value for y in parts], 0)
    return [build.like(joined, op.results[0])]


def _inner(build: Builder, op: GeOp, x: SSAValue, groups: SSAValue | None) -> SSAValue:
    """x^T w over the rows of each group"""
    assert groups is not None
    split = Split(build, groups, build.shape(x)[0], op.get_attr("group_list_type"))
    if split.known is None:
        raise build.decline("for groups of inner rows that are not constant")
    (weight,) = build.many("weight")
    spans = {i: (start, size) for i, start, size in split.known}
    shape = build.shape(op.results[0])
    if split.numbers is not None or len(spans) > MOST_PRODUCTS:
        raise build.decline(
            f"for more than {MOST_PRODUCTS} groups of inner rows, or a list of them"
        )
    parts: list[SSAValue] = []
    for i in range(split.count):
        if i not in spans:
            zero = build.const(0, DataType.DT_FLOAT)
            parts.append(build.spread(zero, [1, *shape[1:]]))
            continue
        left, right = (build.slice(v, 0, *spans[i]) for v in (x, weight))
        parts.append(build.reshape(product(build, left, right, True), [1, *shape[1:]]))
    return build.like(build.concat(parts, 0), op.results[0])


# FFN

NAMES = (
    *("bias1", "bias2", "deq_scale1", "deq_scale2"),
    *("antiquant_scale1", "antiquant_scale2", "antiquant_offset1", "antiquant_offset2"),
)
"""The operands of FFN with an entry per expert."""


class _Layers:
    """Both layers of one expert, or of all tiles."""

    def __init__(self, build: Builder, op: GeOp) -> None:
        self.build = build
        self.weights = [build.slot(name) for name in ("weight1", "weight2")]
        self.rows: dict[str, list[SSAValue]] = {}
        for name in NAMES:
            value = build.slot(name)
            if value is not None and name.startswith("deq"):
                value = wide_scale(build, value).value
            self.rows[name] = [] if value is None else [value]
        self.kind = op.get_attr("activation")
        self.scale, self.offset = (build.slot(name) for name in ("scale", "offset"))

    def layer(self, x: SSAValue, k: int, pick: Pick) -> Term:
        """x w + bias of layer k, in f32."""
        build = self.build
        row = {name: _row(build, pick, items) for name, items in self.rows.items()}
        weight = self.weights[k - 1]
        assert weight is not None
        scale, offset = row[f"antiquant_scale{k}"], row[f"antiquant_offset{k}"]
        w = restored(build, pick.matrix([weight], 2), scale, offset, False)
        y = multiplied(build, x, w, False, row[f"bias{k}"])
        deq = row[f"deq_scale{k}"]
        wide = Term(build, build.cast(y.value, DataType.DT_FLOAT))
        return wide if deq is None else wide * deq

    def __call__(self, rows: SSAValue, pick: Pick, scales: SSAValue | None) -> Term:
        build = self.build
        # between the layers stands what the cube multiplies: half floats, or codes
        hidden = activated(self.layer(rows, 1, pick), self.kind)
        if build.dtype(rows) in CODES:
            if self.scale is None:
                raise build.decline("without a scale")
            rank = [1] * len(hidden.shape)
            t = hidden * term(build, self.scale).reshape(rank)
            t = t if self.offset is None else t + term(build, self.offset).reshape(rank)
            hidden = codes(t, DataType.DT_INT8)
        return self.layer(build.cast(hidden.value, build.dtype(rows)), 2, pick)


def ffn(build: Builder, op: GeOp) -> SSAValue:
    """act(x w1 + b1) w2 + b2, for each expert's rows"""
    x, experts = op.operands[0], build.slot("expert_tokens")
    if any(build.slot(n) is not None and build.count(_given(build, n)) > 1 for n in TWO):
        raise build.decline("for a scale per column between the layers")
    rows = build.reshape(x, [build.count(x) // build.shape(x)[-1], build.shape(x)[-1]])
    layers = _Layers(build, op)
    if experts is None:
        return layers(rows, _One(build, 0), None).like(op.results[0])
    kind = 0 if op.get_attr("tokens_index_flag") else 1
    split = Split(build, experts, build.shape(rows)[0], kind)
    return split.run(rows, layers).like(op.results[0])


TWO = ("scale", "offset")


def _given(build: Builder, name: str) -> SSAValue:
    value = build.slot(name)
    assert value is not None
    return value


EXPANSIONS: dict[str, Expansion] = {"GroupedMatmul": grouped_matmul, "FFN": ffn}
