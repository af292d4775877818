"""The ops of one block by class, in matching order, with what a rule needs to be worth trying."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import is_
from typing import TypeAlias

from xdsl.ir import Block, Operation, OpResult, SSAValue

from ge_xdsl.dialects.ge.data import ConstantOp, ConstOp
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.registry import op_class
from ge_xdsl.pattern.access import (
    UNKNOWN,
    WIDE,
    by_class,
    by_class_and_names,
    is_flat,
    item,
    nested_in,
    next_use,
    operands_of,
    reads,
    user_of,
    uses,
)

CONST_CLASSES: tuple[type[Operation], ...] = (ConstOp, ConstantOp)

Source: TypeAlias = tuple[int, type[Operation]]
"""Operand index, and class of the producer."""
AnyEdge: TypeAlias = tuple[type[Operation], int, type[Operation]]
"""Class of the reader, operand index, class of the producer."""


class _Live:
    """Ops in matching order, of which those at the front are known to be gone."""

    __slots__ = ("ops", "start")

    def __init__(self, ops: list[Operation]) -> None:
        self.ops = ops
        self.start = 0

    def live(self, is_live: Callable[[Operation], bool]) -> Iterator[Operation]:
        """The ops that are there; steps over the ones that are gone once only at the front."""
        ops = self.ops
        position = self.start
        while position < len(ops):  # grows while it is read
            op = ops[position]
            position += 1
            if is_live(op):
                yield op
            elif self.start == position - 1:
                self.start = position


Detail: TypeAlias = tuple[int, "type[Operation] | int"]
"""Of a producer: operand index, and the class of what it reads or the index of an operand before
that is the same tensor; (-1, 1) when its tensor has one reader."""
Feature: TypeAlias = tuple[AnyEdge, tuple[Detail, ...]]
"""An edge of a root op, and what the producer there must be like."""
PRIVATE: Detail = (-1, 1)
FEW = 8
"""As many candidates or fewer are tried without looking for rarer features."""


def has_detail(value: SSAValue, detail: Detail) -> bool:
    """Whether the producer of a tensor is like that."""
    if detail is PRIVATE:
        use = value.first_use
        return use is not None and next_use(use) is None
    if type(value) is not OpResult:
        return False
    index, wanted = detail
    operands = operands_of(value.op)
    if index >= len(operands):
        return False
    below = item(operands, index)
    if isinstance(wanted, int):
        return below is item(operands, wanted)
    return type(below) is OpResult and type(below.op) is wanted


def has_features(op: Operation, features: Sequence[Feature]) -> bool:
    """Whether an op that has the edges has their details, too."""
    operands = operands_of(op)
    return all(
        has_detail(item(operands, edge[1]), detail)
        for edge, details in features
        for detail in details
    )


Readers: TypeAlias = "dict[tuple[int, tuple[type[GeOp], ...]], _Live]"


def _edges_of(ops: Sequence[Operation]) -> dict[Source, int]:
    """Operand index and class of the producer -> how many of these ops, all of a class, read it."""
    found: dict[Source, int] = {}
    columns: Iterable[Iterable[SSAValue]]
    try:
        columns = list(zip(*map(operands_of, ops), strict=True))
    except ValueError:  # they have different numbers of operands
        columns = []
        found.update(
            Counter(
                [
                    (index, type(value.op))
                    for op in ops
                    for index, value in enumerate(operands_of(op))
                    if type(value) is OpResult
                ]
            )
        )
    for index, column in enumerate(columns):
        counts = Counter([type(v.op) if type(v) is OpResult else None for v in column])
        found.update({(index, cls): n for cls, n in counts.items() if cls is not None})
    return found


def _repeats(ops: Sequence[Operation], index: int, other: int) -> bool:
    """Whether an op has one tensor for two operands."""
    operands = list(map(operands_of, ops))
    last = max(index, other)
    try:
        columns = list(zip(*operands, strict=True))
    except ValueError:  # they have different numbers of operands
        return any(len(o) > last and item(o, index) is item(o, other) for o in operands)
    return len(columns) > last and any(map(is_, columns[index], columns[other]))


class BlockIndex:
    """Live ops per class in block order; ops inserted since the last `refresh` come last.

    One walk serves every rule until a rule has changed the graph.
    """

    def __init__(self, block: Block, *, names: bool = False) -> None:
        self.block = block
        self.longest_name = UNKNOWN
        """The length of the longest node name in the block, if `names` asked for it and there are
        no subgraphs, which have names of their own."""
        self.dirty: set[type[Operation]] = set()
        self.size = 0
        self.buckets: dict[type[Operation], list[Operation]] = {}
        self._edges: dict[type[Operation], dict[Source, int]] = {}
        self._listed: dict[AnyEdge, Sequence[Operation]] = {}
        self.edges_in_order = True
        """Whether no op came or changed since the edges were read."""
        self._below: dict[Feature, Sequence[Operation]] = {}
        self._repeats: dict[tuple[type[Operation], int, int], bool] = {}
        self.ops: list[Operation] = []
        """The ops of the block at the last `refresh`, in order."""
        self.later: list[Operation] = []
        """The ops that came since then."""
        self._ranks: dict[type[Operation], dict[Operation, int]] = {}
        self._fronts: dict[type[Operation], _Live] = {}
        self._readers: dict[SSAValue, Readers] = {}
        self.refresh(names)
        if self.nested:
            self.longest_name = UNKNOWN

    def refresh(self, names: bool = False) -> None:
        """Read the block again."""
        self.dirty.clear()
        self._ranks = {}
        self._fronts = {}
        self._readers = {}
        if names:
            self.ops, buckets, self.longest_name = by_class_and_names(self.block)
        else:
            self.ops, buckets = by_class(self.block)
        self.size = len(self.ops)
        self.later = []
        if ConstantOp in buckets or ConstOp in buckets:
            self._merge_constants(buckets)
        self.buckets = buckets

    def _merge_constants(self, buckets: dict[type[Operation], list[Operation]]) -> None:
        """Const and Constant share one bucket, in block order."""
        if ConstantOp not in buckets or ConstOp not in buckets:
            merged = buckets.get(ConstOp) or buckets[ConstantOp]
        else:
            merged = [op for op in self.block.ops if type(op) in CONST_CLASSES]
        buckets[ConstOp] = buckets[ConstantOp] = merged

    def inserted(self, op: Operation) -> None:
        """Note a new op: it becomes the last candidate of its type."""
        cls = type(op)
        self.later.append(op)
        self.dirty.add(cls)
        bucket = self.buckets.get(cls)
        if bucket is None:
            bucket = self.buckets[cls] = []
            if cls in CONST_CLASSES:
                for other in CONST_CLASSES:
                    self.buckets[other] = bucket
        ranks = self._ranks.get(cls)
        if ranks is not None:
            ranks[op] = len(bucket)
        bucket.append(op)
        if self._readers:
            self._read_by(op)
        self._note_edges(op)

    def modified(self, op: Operation) -> None:
        """Note the edges of an op that reads something new."""
        if self._readers:
            for value in operands_of(op):
                self._readers.pop(value, None)
        self._note_edges(op)

    def _note_edges(self, op: Operation) -> None:
        edges = self._edges.get(type(op))
        if edges is None:
            return
        operands = operands_of(op)
        if len(operands) > WIDE:
            del self._edges[type(op)]
            return
        for index, value in enumerate(operands):
            if type(value) is OpResult:
                edges.setdefault((index, type(value.op)), 1)
        self.edges_in_order = False

    def moved(self, op: Operation, index: int) -> None:
        """Note the edge of one operand that reads something new."""
        edges = self._edges.get(type(op))
        if not self._readers and edges is None:
            return
        value = operands_of(op)[index]
        self._readers.pop(value, None)
        if edges is not None and type(value) is OpResult:
            edges.setdefault((index, type(value.op)), 1)
            self.edges_in_order = False

    @property
    def listing(self) -> tuple[Sequence[Operation], Sequence[Operation]]:
        """The ops, gone ones included, with the terminator last; those that have subgraphs."""
        return [*self.later, *self.ops] if self.later else self.ops, self.nested

    @property
    def nested(self) -> list[Operation]:
        """Those of the ops, gone ones included, that have subgraphs."""
        if all(map(is_flat, self.buckets)):
            return []
        return nested_in([*self.ops, *self.later])

    @property
    def follows_edges(self) -> bool:
        """Whether `moved` has something to note."""
        return bool(self._readers or self._edges)

    def candidates(self, classes: Sequence[type[Operation]]) -> tuple[list[Operation], bool]:
        """The ops of these classes in block order, and whether the list grows by new ones."""
        if not self.dirty.isdisjoint(classes):
            self.refresh()
        bucket = self.buckets.get(classes[0])
        if bucket is not None and (len(classes) == 1 or set(classes) == set(CONST_CLASSES)):
            return bucket, True
        wanted = frozenset(classes)
        return [op for op in self.block.ops if type(op) in wanted], False

    def edges(self, reader: type[Operation], *, refresh: bool = True) -> Mapping[Source, int]:
        """What ops of a class read: operand index and class of the producer -> how many did at
        the first look, 1 or more for edges that were made since; some may be gone."""
        found = self._edges.get(reader)
        if found is None:
            if reader in self.dirty:
                if refresh:
                    self.refresh()
                else:
                    self.edges_in_order = False
            found = self._edges[reader] = _edges_of(self.buckets.get(reader, ()))
        return found

    def has_edge(self, edge: AnyEdge, *, refresh: bool = True) -> bool:
        """Whether an op of a class reads one of another class there.

        Without `refresh` ops that came later stay the last of their types.
        """
        return edge[1:] in self.edges(edge[0], refresh=refresh)

    def near(self, features: Sequence[Feature]) -> Sequence[Operation] | None:
        """The ops at the rarest of these edges, in block order; None where not known.

        Where they are many, only those whose producer there has the details.
        """
        if not features:
            return None
        if not self.edges_in_order:
            return None
        if not self.has_repeats(features):
            return ()
        least = 0
        chosen = features[0]
        for feature in features:
            reader, index, producer = feature[0]
            count = self.edges(reader).get((index, producer), 0)
            if feature is chosen or count < least:
                least, chosen = count, feature
        rarest = self._readers_at(chosen[0]) if least else ()
        if len(rarest) <= FEW or not chosen[1]:
            return rarest
        known = self._below.get(chosen)
        if known is None:
            index, known = chosen[0][1], rarest
            for detail in chosen[1]:
                known = [op for op in known if has_detail(item(operands_of(op), index), detail)]
            self._below[chosen] = known
        return known

    def _readers_at(self, edge: AnyEdge) -> Sequence[Operation]:
        """The ops at an edge, in block order."""
        found = self._listed.get(edge)
        if found is None:
            reader, index, producer = edge
            found = self._listed[edge] = [
                op
                for op in self.buckets.get(reader, ())
                if len(operands := operands_of(op)) > index
                and type(value := item(operands, index)) is OpResult
                and type(value.op) is producer
            ]
        return found

    def has_repeats(self, features: Sequence[Feature]) -> bool:
        """Whether there are producers that read one tensor twice, where features ask for them."""
        return all(
            self.has_repeat(edge[2], place, wanted)
            for edge, details in features
            for place, wanted in details
            if place >= 0 and isinstance(wanted, int)
        )

    def has_repeat(self, cls: type[Operation], index: int, other: int) -> bool:
        """Whether an op of a class had one tensor for two operands at the last look."""
        key = (cls, index, other)
        found = self._repeats.get(key)
        if found is None:
            found = self._repeats[key] = _repeats(self.buckets.get(cls, ()), index, other)
        return found

    def forget_edges(self) -> None:
        """Read the edges again at the next look."""
        self._edges = {}
        self._listed = {}
        self.forget_details()
        self.edges_in_order = True

    def forget_details(self) -> None:
        """Look at producers again: what they read, or how often they are read, has changed."""
        self._below = {}
        self._repeats = {}

    def has(self, classes: Iterable[type[Operation]]) -> bool:
        return any(cls in self.buckets for cls in classes)

    def has_all_types(self, op_types: Iterable[str]) -> bool:
        """Whether the block has, or had since it was read, ops of all of these types."""
        for name in op_types:
            cls = op_class(name)
            if cls is None or cls not in self.buckets:
                return False
        return True

    def has_type(self, op_types: Iterable[str]) -> bool:
        """Whether the block has an op of one of these types."""
        classes = (op_class(name) for name in op_types)
        return any(cls in self.buckets for cls in classes if cls is not None)

    # Candidates of a pattern op

    def of_type(self, op: GeOp) -> Iterable[Operation]:
        front = self._fronts.get(type(op))
        if front is None:
            bucket = self.buckets.get(type(op))
            if bucket is None:
                return ()
            front = self._fronts[type(op)] = _Live(bucket)
        block = self.block
        return front.live(lambda t: t.parent is block)

    def readers(
        self, value: SSAValue, classes: tuple[type[GeOp], ...], index: int
    ) -> Iterable[Operation]:
        known = self._readers.setdefault(value, {})
        front = known.get((index, classes))
        if front is None:
            found = [
                user
                for use in uses(value)
                if use.index == index and type(user := user_of(use)) in classes
            ]
            home = [op for op in found if op.parent is self.block]
            front = known[index, classes] = _Live(list(self.sorted(home)) if home else [])
        block = self.block
        return front.live(lambda t: t.parent is block and reads(t, index, value))

    def _read_by(self, op: Operation) -> None:
        """Add a new op to the readers that are kept of what it reads."""
        for value in dict.fromkeys(operands_of(op)):
            for (index, classes), front in self._readers.get(value, {}).items():
                if type(op) in classes and reads(op, index, value):
                    front.ops.append(op)

    def sorted(self, ops: Sequence[Operation]) -> Sequence[Operation]:
        ranks = self._rank(type(ops[0]))
        return sorted(ops, key=lambda op: ranks[op])

    def _rank(self, cls: type[Operation]) -> dict[Operation, int]:
        ranks = self._ranks.get(cls)
        if ranks is None:
            ranks = {op: i for i, op in enumerate(self.buckets[cls])}
            for shared in CONST_CLASSES if cls in CONST_CLASSES else (cls,):
                self._ranks[shared] = ranks
        return ranks
