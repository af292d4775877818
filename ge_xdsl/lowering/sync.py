"""Flags between pipes, from what instructions do to buffers.

A buffer that one pipe writes and another reads needs a flag each way: data there, and buffer free.
The second is set before the loop for every buffer and waited for after it. An instruction and a
loop inside the body count as one item each, on each of their pipes. Pipes run in order, so of two
flags between the same pipes the one that is set later and waited for earlier does for both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Block, Operation, SSAValue

from ge_xdsl.dialects.aicore.op import Instruction, integer
from ge_xdsl.dialects.aicore.ordering import DMA_PIPES, Fixed, check_body_order, interlocked
from ge_xdsl.dialects.aicore.structure import AllocOp, ForOp, KernelOp, bodies_of
from ge_xdsl.dialects.aicore.sync import ALL, FLAGS, PipeBarrierOp, SetFlagOp, WaitFlagOp
from ge_xdsl.errors import CompileError

Pairs = frozenset[tuple[str, str]]
"""Pipes that set and pipes that wait."""


@dataclass(frozen=True, slots=True)
class Edge:
    """Item `i` on pipe `src` comes before item `j` on pipe `dst`, `later` iterations on.

    `count` is the number of buffers that take turns, so the number of ids.
    """

    src: str
    i: int
    dst: str
    j: int
    later: int
    count: int


@dataclass(frozen=True, slots=True)
class _Access:
    """An item's use of a buffer on one pipe."""

    item: int
    pipe: str
    writes: bool


def insert_sync(module: ModuleOp) -> None:
    """Give every kernel of a module its flags; raises CompileError when there are too few."""
    for op in list(module.body.block.ops):
        if isinstance(op, KernelOp) and not op.synced:
            sync_kernel(op)


def sync_kernel(kernel: KernelOp, thorough: bool = True) -> None:
    """Insert the flags of one kernel, and barriers between its loops and what is outside of them.

    If not `thorough`, flags stay that others may do for.
    """
    kernel.properties["synced"] = UnitAttr()
    for body in bodies_of(kernel):
        items = [op for op in body.ops if isinstance(op, ForOp | Instruction)]
        for k, item in enumerate(items):
            if k:
                body.insert_op_before(PipeBarrierOp.make(ALL), item)
            if isinstance(item, ForOp):
                _Sync(kernel, item).run(thorough)


@dataclass(slots=True, eq=False)
class _Flags:
    """What was inserted for an edge: all its sets and waits, by their place from its first id.

    `like` are others, between the same pipes, that have the same id.
    """

    edge: Edge
    ops: list[tuple[SetFlagOp | WaitFlagOp, int]]
    items: Sequence[Operation]
    """What the places of the edge count."""
    like: _Flags | None = None
    first: int = 0

    @property
    def pair(self) -> tuple[str, str]:
        """The pipe that sets, and the one that waits."""
        return (self.edge.src, self.edge.dst)

    def number(self, first: int) -> None:
        """Give the flags the ids from `first` on."""
        self.first = first
        for op, k in self.ops:
            op.properties["id"] = integer(first + k)

    def may_be_like(self, other: _Flags) -> bool:
        """Whether one id may do for both: one buffer in two loops, from turn to turn or not."""
        one = self.edge.count == other.edge.count == 1 and self.pair == other.pair
        apart = self.ops[0][0].parent is not other.ops[0][0].parent
        alike = one and apart and bool(self.edge.later) == bool(other.edge.later)
        return alike and _both(self.edge, self.items) == _both(other.edge, other.items)


class _Sync:
    """The flags of one loop over cores and of the loops in it."""

    def __init__(self, kernel: KernelOp, loop: ForOp) -> None:
        self.kernel = kernel
        self.loop = loop
        body = loop.parent
        assert body is not None
        self.body = body
        """Of the kind of cores that run the loop."""
        self.flags: list[_Flags] = []
        self.barriers: list[PipeBarrierOp] = []

    @cached_property
    def fixed(self) -> Fixed:
        """What all proofs of the kernel's order have in common."""
        return Fixed.of(self.kernel)

    def run(self, thorough: bool) -> None:
        """Find the edges of every body, then insert what they need, joined if it is too much."""
        bodies = [op.body for op in self.loop.walk() if isinstance(op, ForOp)]
        items = [[op for op in b.ops if isinstance(op, Instruction | ForOp)] for b in bodies]
        edges = [needed(body, part) for body, part in zip(bodies, items, strict=True)]
        self.insert(bodies, items, edges, thorough)
        if not self.shared():
            self.take_back()
            self.fewer(edges)
            self.insert(bodies, items, edges, thorough)
        if not self.shared():
            src, dst = self.short
            raise CompileError(
                f"needs more than {FLAGS} flags from {src} to {dst}, expected no more",
                subject=f"aicore.kernel @{self.kernel.sym_name}",
            )

    def shared(self) -> bool:
        """Whether there are enough ids, when flags of different loops share some."""
        tried: set[_Flags] = set()
        while not self.numbered():
            flags = next(
                (f for f in reversed(self.flags) if f.pair == self.short and f not in tried), None
            )
            if flags is None:
                return False
            tried.add(flags)
            self.share(flags)
        return True

    def share(self, flags: _Flags) -> None:
        """Give flags the id of others where the kernel stays ordered."""
        around, kept = flags.ops[2:], flags.ops[:2]
        for other in self.flags:
            if other is flags:
                return
            if other.like is not None or not flags.may_be_like(other):
                continue
            flags.ops, flags.like = kept, other
            flags.number(other.first)
            if self.ordered_without([op for op, _ in around]):
                return
            flags.ops, flags.like = [*kept, *around], None
            self.numbered()

    def insert(
        self,
        bodies: Sequence[Block],
        items: Sequence[Sequence[Operation]],
        edges: Sequence[Sequence[Edge]],
        thorough: bool,
    ) -> None:
        """Insert what the edges need."""
        spare: list[tuple[Edge, Sequence[Operation]]] = []
        inner = _pairs_inside(bodies, edges)
        for k, (body, part, found) in enumerate(zip(bodies, items, edges, strict=True)):
            for edge in found:
                if thorough and (is_spare(edge, part, inner) or may_be_covered(edge, k, edges)):
                    spare.append((edge, part))
                elif edge.src != edge.dst:
                    self.flag(edge, part)
            for j, pipe in sorted({(edge.j, edge.src) for edge in found if edge.src == edge.dst}):
                self.barriers.append(PipeBarrierOp.make(pipe))
                body.insert_op_before(self.barriers[-1], part[j])
        self.numbered()
        if spare and not is_ordered(self.kernel, self.body, self.fixed):
            self.add_needed(spare)

    def take_back(self) -> None:
        """Take out all that was inserted."""
        for op in (*(op for flags in self.flags for op, _ in flags.ops), *self.barriers):
            op.detach()
        self.flags, self.barriers = [], []

    def numbered(self) -> bool:
        """Whether there are enough ids, which all flags have then; `short` are pipes that lack."""
        used: dict[tuple[str, str], int] = {}
        for flags in self.flags:
            if flags.like is None:
                flags.number(used.get(flags.pair, 0))
                used[flags.pair] = used.get(flags.pair, 0) + flags.edge.count
        for flags in self.flags:
            if flags.like is not None:
                flags.number(flags.like.first)
        self.short = next((pair for pair, count in used.items() if count > FLAGS), ("", ""))
        return self.short == ("", "")

    def add_needed(self, spare: Sequence[tuple[Edge, Sequence[Operation]]]) -> None:
        """Insert the flags that may be left out, then take out each that is not missed.

        A flag may be needed for another only, so they are gone through again after each find.
        """
        inserted = [self.flag(edge, part) for edge, part in spare]
        self.numbered()
        found = len(inserted) > 1
        while found:
            missed = self.missed(inserted)
            found = 0 < len(missed) < len(inserted)
            inserted = missed

    def missed(self, flags: Sequence[_Flags]) -> list[_Flags]:
        """Take out what the kernel is ordered without, many at a time; the flags that stay."""
        if self.ordered_without([op for item in flags for op, _ in item.ops]):
            gone = set(flags)
            self.flags = [item for item in self.flags if item not in gone]
            return []
        half = len(flags) // 2
        return [*self.missed(flags[:half]), *self.missed(flags[half:])] if half else list(flags)

    def ordered_without(self, ops: Sequence[Operation]) -> bool:
        """Whether the kernel is ordered without some ops; then they are gone."""
        places: list[tuple[Operation, Block | None, Operation | None]] = []
        for op in ops:
            places.append((op, op.parent, op.next_op))
            op.detach()
        if is_ordered(self.kernel, self.body, self.fixed):
            return True
        for op, block, after in reversed(places):
            put_back(op, block, after)
        return False

    def fewer(self, edges: list[list[Edge]]) -> None:
        """Join edges between two pipes that would take more ids than there are."""
        total: dict[tuple[str, str], int] = {}
        for edge in (edge for part in edges for edge in part):
            pair = (edge.src, edge.dst)
            total[pair] = total.get(pair, 0) + edge.count
        for pair, count in total.items():
            if pair[0] != pair[1] and count > FLAGS:
                spare = count - FLAGS
                for k, part in enumerate(edges):
                    edges[k], spare = joined(part, pair, spare)

    def flag(self, edge: Edge, items: Sequence[Operation]) -> _Flags:
        """Set after one item, wait before the other; first sets and last waits around the loop.

        Gives what was inserted.
        """
        body, outer = items[edge.i].parent, self.body
        assert body is not None
        set_flag = SetFlagOp.make(edge.src, edge.dst, 0, edge.count)
        wait_flag = WaitFlagOp.make(edge.src, edge.dst, 0, edge.count)
        body.insert_op_after(set_flag, items[edge.i])
        body.insert_op_before(wait_flag, items[edge.j])
        made = _Flags(edge, [(set_flag, 0), (wait_flag, 0)], items)
        self.flags.append(made)
        if edge.later:
            for k in range(edge.count):
                made.ops.append((SetFlagOp.make(edge.src, edge.dst, k), k))
                outer.insert_op_before(made.ops[-1][0], self.loop)
            for k in reversed(range(edge.count)):
                made.ops.append((WaitFlagOp.make(edge.src, edge.dst, k), k))
                outer.insert_op_after(made.ops[-1][0], self.loop)
        return made


def _both(edge: Edge, items: Sequence[Operation]) -> frozenset[SSAValue]:
    """The buffers that both sides of an edge use, on the pipes that it is between."""
    used: list[set[SSAValue]] = []
    for number, pipe in ((edge.i, edge.src), (edge.j, edge.dst)):
        ops = [op for op in items[number].walk() if isinstance(op, Instruction) and op.pipe == pipe]
        used.append({value for op in ops for value in (*op.read(), op.written)})
    return frozenset(used[0] & used[1])


def put_back(op: Operation, block: Block | None, after: Operation | None) -> None:
    """Insert an op where it was taken from, before `after`, or at the end of the block."""
    assert block is not None
    if after is None:
        block.add_op(op)
    else:
        block.insert_op_before(op, after)


def may_be_covered(edge: Edge, body: int, edges: Sequence[Sequence[Edge]]) -> bool:
    """Whether a flag of another loop, between the same pipes, may do for this one, too.

    It does where it lets a pipe run ahead by no more turns than this one does.
    """
    return bool(edge.later) and any(
        (other.src, other.dst) == (edge.src, edge.dst) and other.later
        for k, part in enumerate(edges)
        if k != body
        for other in part
    )


def is_spare(edge: Edge, items: Sequence[Operation], inner: Mapping[Operation, Pairs]) -> bool:
    """Whether a flag inside the loop that waits may do for what stands before the loop, too."""
    pairs = inner.get(items[edge.j], frozenset())
    return not edge.later and (edge.src, edge.dst) in pairs and edge.src != edge.dst


def _pairs_inside(
    bodies: Sequence[Block], edges: Sequence[Sequence[Edge]]
) -> dict[Operation, Pairs]:
    """Loop -> the pipes that flags order within an iteration of it or of a loop in it."""
    found: dict[Operation, set[tuple[str, str]]] = {}
    for body, part in zip(bodies, edges, strict=True):
        pairs = {(e.src, e.dst) for e in part if not e.later}
        loop = body.parent_op()
        while isinstance(loop, ForOp):
            found.setdefault(loop, set()).update(pairs)
            loop = loop.parent_op()
    return {loop: frozenset(pairs) for loop, pairs in found.items()}


def is_ordered(kernel: KernelOp, body: Block, fixed: Fixed) -> bool:
    """Whether a kernel's flags order all buffers of what one kind of cores runs."""
    try:
        check_body_order(kernel, body, fixed)
    except CompileError:
        return False
    return True


def needed(body: Block, items: Sequence[Operation]) -> list[Edge]:
    """The edges between the items of a loop's body for the buffers that it sees.

    A buffer from outside the loop is the same one in every iteration.
    """
    found: dict[Edge, None] = {}
    for value, accesses in _uses(items).items():
        alloc = value.owner
        if not isinstance(alloc, AllocOp):
            continue
        if alloc.parent is body or _is_inside(body, alloc.parent):
            buffers = alloc.buffers if alloc.parent is body else 1
            for edge in _edges(accesses, buffers):
                found[edge] = None
    return _undominated(list(found))


def _is_inside(body: Block, outer: Block | None) -> bool:
    """Whether a block is nested in another."""
    parent = body.parent_block()
    while parent is not None and parent is not outer:
        parent = parent.parent_block()
    return parent is not None


def _uses(items: Sequence[Operation]) -> dict[SSAValue, list[_Access]]:
    """Buffer -> its accesses in order."""
    found: dict[SSAValue, list[_Access]] = {}
    for k, item in enumerate(items):
        for op in item.walk():
            if isinstance(op, Instruction):
                pairs = [*((value, False) for value in op.read()), (op.written, True)]
                for value, writes in pairs:
                    if not interlocked(op, value):
                        found.setdefault(value, []).append(_Access(k, op.pipe, writes))
    return found


def _edges(accesses: Sequence[_Access], buffers: int) -> Iterator[Edge]:
    """The order of two uses of a buffer in a row: within one, and from one to the next."""
    write: tuple[_Access, int] | None = None
    reads: list[tuple[_Access, int]] = []
    for turn in (0, 1):
        for access in accesses:
            earlier = [*([write] if write else []), *(reads if access.writes else [])]
            for other, when in earlier:
                edge = _edge(other, access, turn - when, buffers)
                if edge is not None:
                    yield edge
            if access.writes:
                write, reads = (access, turn), []
            else:
                reads.append((access, turn))


def _edge(a: _Access, b: _Access, turns: int, buffers: int) -> Edge | None:
    """The edge from one access to a later one; None when the pipe or the item orders them."""
    if a.pipe == b.pipe and (a.pipe not in DMA_PIPES or turns):
        return None
    if a.item == b.item and not turns:
        return None
    return Edge(a.pipe, a.item, b.pipe, b.item, turns * buffers, buffers)


def _undominated(edges: Sequence[Edge]) -> list[Edge]:
    """The edges that no other one with the same pipes implies, in program order of the waits."""
    kept = [
        e
        for e in edges
        if not any(f is not e and _implies(f, e) and not _implies(e, f) for f in edges)
    ]
    return sorted(kept, key=_place)


def _place(edge: Edge) -> tuple[int, int, str, str, int]:
    return (edge.j, edge.i, edge.src, edge.dst, edge.later)


def _implies(f: Edge, e: Edge) -> bool:
    """Whether f's order contains e's: set no earlier, waited for no later."""
    if (f.src, f.dst) != (e.src, e.dst) or f.i < e.i:
        return False
    return f.later < e.later or (f.later == e.later and f.j <= e.j)


def joined(edges: Sequence[Edge], pair: tuple[str, str], spare: int) -> tuple[list[Edge], int]:
    """The edges with neighbours of a pair joined until `spare` ids are saved; what is not."""
    mine = sorted((e for e in edges if (e.src, e.dst) == pair), key=_place)
    kept: list[Edge] = []
    for edge in mine:
        last = kept[-1] if kept else None
        both = _join(last, edge) if last is not None and spare > 0 else None
        if last is None or both is None:
            kept.append(edge)
        else:
            spare -= last.count + edge.count - both.count
            kept[-1] = both
    others = [e for e in edges if (e.src, e.dst) != pair]
    return sorted([*others, *kept], key=_place), spare


def _join(a: Edge, b: Edge) -> Edge | None:
    """One edge that does for both: set at the later item, waited for before the earlier."""
    i, j = max(a.i, b.i), min(a.j, b.j)
    if bool(a.later) != bool(b.later) or (not a.later and i >= j):
        return None
    later, count = min(a.later, b.later), min(a.count, b.count)
    return Edge(a.src, i, a.dst, j, later, count)
