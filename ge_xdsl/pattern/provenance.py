"""What a replacement takes over from the nodes it replaces: names, origins, attributes.

GE's rules: new nodes are named after the replaced ones, carry the lists of original node names
and types and of the passes that made them, and inherit a fixed set of attributes. Attribute keys
are GE's; values are discardable attributes of the ops.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from itertools import islice
from typing import TypeAlias, cast

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, IntegerType, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation

from ge_xdsl.dialects.ge.names import describe
from ge_xdsl.dialects.ge.op import NAME, GeOp, extra_key
from ge_xdsl.pattern.access import UNKNOWN, nested_in, ops_of

ORIGIN_NAMES = extra_key("_datadump_original_op_names")
ORIGIN_TYPES = extra_key("_datadump_original_op_types")
PASS_NAME = extra_key("pass_name")

UNIQUE = (
    "_user_stream_label",
    "_super_kernel_scope",
    "_super_kernel_options",
    "_op_aicore_num",
    "_op_vectorcore_num",
    "_deterministic",
    "_deterministic_level",
)
"""Attributes that take at most one value in a fused set, in the order of GE's checks."""
LEVELS = {"_deterministic": 1, "_deterministic_level": 3}
"""Those that hold a decimal number as a string, with the largest one allowed."""

FIRST_SET = (
    "_op_compile_strategy",
    "_keep_dtype",
    "_op_debug_compile",
    "_recompute",
    "_optimizer",
    "_backward",
)
"""Attributes inherited from the first replaced node where they are neither empty nor zero."""
PARALLEL_GROUP = "_parallel_group_id"
IMPL_MODE = "_op_custom_impl_mode_enum"
IMPL_PRIORITY = (0x40, 0x20, 0x4, 0x2, 0x10, 0x8)
"""hi-float32, float32, high precision, high performance, out-of-bound, super: best first."""
INHERITED = frozenset({*UNIQUE, *FIRST_SET, PARALLEL_GROUP, IMPL_MODE})
MATMULS = frozenset(
    {"MatMul", "MatMulV2", "MatMulV3", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3", "GEMM"}
)

MAX_NAME = 255
"""Longest node name that renaming makes; a longer one is cut and gets a digest."""


Listing: TypeAlias = Callable[[Block], tuple[Sequence[Operation], Sequence[Operation]]]
"""Gives the ops of a block, and those of them with subgraphs."""


def graph_of(op: Operation | None) -> Operation | None:
    """The function that an op is, or is in, else the op itself."""
    root = op
    while root is not None and not isinstance(root, FuncOp):
        root = root.parent_op()
    return root or op


def listing_of(block: Block) -> tuple[Sequence[Operation], Sequence[Operation]]:
    """A `Listing` that reads the block."""
    ops = ops_of(block)
    return ops, nested_in(ops)


class GraphNames:
    """The node names of one graph with its subgraphs; runs over its blocks share it.

    A new name is mostly longer than every name in the graph, which tells it from those; only
    where one is not are the names collected.
    """

    def __init__(self, root: Operation | None) -> None:
        self.root = root
        self.longest = UNKNOWN
        """A longer name of a new node is in use by no other, up to `MAX_NAME`."""
        self._taken: set[str] | None = None
        self._tried: dict[str, tuple[int, int]] = {}
        """A name without its number -> from which number to which, exclusive, all are taken."""

    @property
    def collected(self) -> bool:
        """Whether the names are known, not only their length."""
        return self._taken is not None

    def taken(self) -> set[str]:
        """Every name in the graph, and the ones given out."""
        if self._taken is None:
            self._taken = set(self._names(listing_of))
            self.longest = MAX_NAME
        return self._taken

    def unique(self, name: str) -> str:
        """`name` itself when it is free, else with a number; noted as taken."""
        taken = self.taken()
        if name not in taken:
            taken.add(name)
            return name
        return self.free(name, 0)[1]

    def free(self, base: str, number: int) -> tuple[int, str]:
        """The first free one of `<base>_<number>`, `<base>_<number + 1>`, ..., which is taken
        then, and the number behind its own."""
        taken = self.taken()
        low, high = self._tried.get(base, (number, number))
        if low <= number <= high:
            number = high
        else:
            low = number
        while (name := f"{base}_{number}") in taken:
            number += 1
        taken.add(name)
        if number > low:
            self._tried[base] = (low, number + 1)
        return number + 1, name

    def measure(self, listing: Listing) -> int:
        """The length of the longest name in the graph, found on first use."""
        if self.longest == UNKNOWN:
            self.longest = max(map(len, self._names(listing)), default=0)
        return self.longest

    def measured(self, block: Block, longest: int) -> None:
        """Tell the length of the longest name in a block; of use where it is all of the graph."""
        root = self.root
        if root is not None and [b for r in root.regions for b in r.blocks] == [block]:
            self.longest = longest

    def note(self, op: Operation) -> None:
        """Note the name of a node that came into the graph."""
        attr = op.attributes.get(NAME)
        if type(attr) is StringAttr:
            if self._taken is not None:
                self._taken.add(attr.data)
            elif self.longest != UNKNOWN:
                self.longest = max(self.longest, len(attr.data))

    def note_all(self, block: Block) -> None:
        """Note the names in a block that a run has changed, for the runs over other blocks."""
        if self.longest != UNKNOWN:
            for op in ops_of(block):
                self.note(op)

    def _names(self, listing: Listing) -> list[str]:
        return [] if self.root is None else _names_in(self.root, listing)


def names_around(block: Block) -> GraphNames:
    """The names of the graph that a block is a part of."""
    return GraphNames(graph_of(block.parent_op()))


class Names:
    """Names for new nodes of one run: `<name>_<replaced names>_<counter>`, unique in the graph.

    The counter tells them from each other.
    """

    def __init__(self, graph: GraphNames) -> None:
        self.graph = graph
        self.counter = 0
        self.listing: Listing = listing_of
        """The ops of a block, for who has them at hand."""

    def measure(self) -> int:
        """The length of the longest name in the graph."""
        return self.graph.measure(self.listing)

    def fresh(self, stem: str, replaced: str) -> str:
        """A name for a replacement node that the replacement calls `stem`."""
        longest = self.measure()
        base = f"{stem}_{replaced}"
        if len(base) > MAX_NAME:
            digest = hashlib.sha256(base.encode()).hexdigest()[:8]
            base = f"{base[: MAX_NAME - 9]}_{digest}"
        if not self.graph.collected:
            name = f"{base}_{self.counter}"
            if len(name) > longest:
                self.counter += 1
                return name
        self.counter, name = self.graph.free(base, self.counter)
        return name


def _names_in(root: Operation, listing: Listing) -> list[str]:
    """The node names in an op's regions, nested ones included."""
    found: list[str] = []
    for region in root.regions:
        for block in region.blocks:
            ops, nested = listing(block)
            try:
                named = islice(ops, len(ops) - 1)
                found += [cast("StringAttr", op.attributes[NAME]).data for op in named]
                ops = ops[-1:]
            except (KeyError, AttributeError):
                pass  # some op has no name, or one that is no string
            attrs = [op.attributes.get(NAME) for op in ops]
            found += [attr.data for attr in attrs if type(attr) is StringAttr]
            for op in nested:
                found += _names_in(op, listing)
    return found


@cache
def type_text(cls: type[Operation]) -> str:
    """The op type of a class, as GE writes it."""
    return cls.name.removeprefix("ge.")


class Origin:
    """Where the nodes of one replacement come from: replaced nodes, or their own origins."""

    __slots__ = ("passes", "sources")

    def __init__(self, sources: Sequence[Origin | Operation], passes: tuple[str, ...]) -> None:
        self.sources = sources
        self.passes = passes

    def attributes(self) -> tuple[Attribute, Attribute, Attribute]:
        """The names and types of the original nodes, and the passes, as GE notes them."""
        pairs = self.pairs()
        types = texts(tuple([op_type for _, op_type in pairs]))
        return array(tuple([name for name, _ in pairs])), types, texts(self.passes)

    def pairs(self) -> list[tuple[Attribute, str]]:
        """Original node names and types in order, each node once."""
        plain = [
            (op.attributes[NAME], type_text(type(op)))
            for op in self.sources
            if isinstance(op, Operation) and len(op.attributes) == 1 and NAME in op.attributes
        ]
        if len(plain) == len(self.sources):
            return plain
        found: dict[tuple[Attribute, str], None] = {}
        seen: set[int] = set()
        stack: list[Origin | Operation] = [self]
        while stack:
            item = stack.pop()
            if isinstance(item, Operation):
                if len(item.attributes) > 1 and ORIGIN_NAMES in item.attributes:
                    found.update(dict.fromkeys(_recorded(item)))
                else:
                    found[item.attributes.get(NAME, NAMELESS), type_text(type(item))] = None
            elif id(item) not in seen:
                seen.add(id(item))
                stack += reversed(item.sources)
        return list(found)


class Origins:
    """Origins of the nodes made by a run, written to the ops at its end by `flush`.

    A run that fuses a long chain step by step would otherwise copy a growing list per step.
    """

    def __init__(self) -> None:
        self.made: dict[int, tuple[Operation, Origin]] = {}
        """Identity of a new node -> the node and its origin."""

    def record(self, new: Sequence[GeOp], replaced: Sequence[Operation], pass_name: str) -> None:
        """Note that `new` replaces `replaced`."""
        origin = self.of(replaced, pass_name)
        for op in new:
            self.made[id(op)] = (op, origin)

    def of(self, replaced: Sequence[Operation], pass_name: str) -> Origin:
        """The origin of what replaces these nodes."""
        made = self.made
        sources: list[Origin | Operation] = []
        passes: dict[str, None] = {}
        for op in replaced:
            known = made.get(id(op))
            if known is not None:
                sources.append(known[1])
                passes.update(dict.fromkeys(known[1].passes))
                continue
            sources.append(op)
            if len(op.attributes) > 1 and PASS_NAME in op.attributes:
                passes.update(dict.fromkeys(_strings(op.attributes[PASS_NAME])))
        if pass_name:
            passes[pass_name] = None
        return Origin(sources, tuple(passes))

    def flush(self) -> None:
        """Write the lists to the nodes."""
        last: Origin | None = None
        names, types, passes = NAMELESS, NAMELESS, NAMELESS
        for op, origin in self.made.values():
            if op.parent is None:
                continue
            if origin is not last:
                names, types, passes = origin.attributes()
                last = origin
            attributes = op.attributes
            attributes[ORIGIN_NAMES] = names
            attributes[ORIGIN_TYPES] = types
            if origin.passes:
                attributes[PASS_NAME] = passes
        self.made.clear()


NAMELESS: Attribute = StringAttr("")


def array(items: tuple[Attribute, ...]) -> Attribute:
    """`ArrayAttr(items)` of attributes, which were checked when they were made."""
    made: ArrayAttr[Attribute] = object.__new__(ArrayAttr)
    object.__setattr__(made, "data", items)
    return made


@lru_cache(maxsize=4096)
def texts(items: tuple[str, ...]) -> Attribute:
    """An array of strings."""
    return ArrayAttr([StringAttr(text) for text in items])


def _recorded(op: Operation) -> list[tuple[Attribute, str]]:
    """A node's own recorded origins, else itself."""
    names = op.attributes[ORIGIN_NAMES]
    types = _strings(op.attributes.get(ORIGIN_TYPES))
    if isinstance(names, ArrayAttr) and types:
        listed = cast("ArrayAttr[Attribute]", names).data
        if len(listed) == len(types):
            return list(zip(listed, types, strict=True))
    return [(op.attributes.get(NAME, NAMELESS), type_text(type(op)))]


def _strings(attr: Attribute | None) -> list[str]:
    if not isinstance(attr, ArrayAttr):
        return []
    items = cast("ArrayAttr[Attribute]", attr).data
    return [item.data for item in items if isinstance(item, StringAttr)]


def held_nodes(nodes: Sequence[Operation]) -> list[Operation]:
    """The nodes with an attribute that fusing looks at; most have only their name."""
    return [
        op for op in nodes if len(op.attributes) > 1 and not INHERITED.isdisjoint(op.attributes)
    ]


def inherit(new: Sequence[GeOp], replaced: Sequence[Operation]) -> None:
    """Copy the inherited attributes to the new nodes that lack them."""
    held = held_nodes(replaced)
    if not held:
        return
    values = {key: value for key in (*FIRST_SET, *UNIQUE) if (value := _first_set(held, key))}
    group = next(
        (
            op.attributes[PARALLEL_GROUP]
            for op in held
            if PARALLEL_GROUP in op.attributes and isinstance(op, GeOp) and op.op_type in MATMULS
        ),
        None,
    )
    for op in new:
        for key, value in values.items():
            op.attributes.setdefault(key, value)
        if group is not None and op.op_type in MATMULS:
            op.attributes.setdefault(PARALLEL_GROUP, group)
        mode = _impl_mode(op, held)
        if mode is not None:
            op.attributes.setdefault(IMPL_MODE, mode)


def _first_set(ops: Sequence[Operation], key: str) -> Attribute | None:
    """The first value of an attribute that is not empty, zero or false; numbers canonical."""
    for op in ops:
        attr = op.attributes.get(key)
        if isinstance(attr, StringAttr):
            if key in LEVELS and attr.data.strip().isdigit():
                return StringAttr(str(int(attr.data)))
            if attr.data:
                return attr
        elif isinstance(attr, IntegerAttr):
            if cast("IntegerAttr[IntegerType]", attr).value.data:
                return cast("Attribute", attr)
        elif attr is not None:
            return attr
    return None


def _impl_mode(op: GeOp, held: Sequence[Operation]) -> Attribute | None:
    """The precision mode of the replaced node of the same name, else the most precise one."""
    modes = [(o, o.attributes[IMPL_MODE]) for o in held if IMPL_MODE in o.attributes]
    for other, mode in modes:
        if isinstance(other, GeOp) and other.node_name == op.node_name:
            return mode
    return min((mode for _, mode in modes), key=_rank, default=None)


def _rank(mode: Attribute) -> int:
    value = (
        cast("IntegerAttr[IntegerType]", mode).value.data if isinstance(mode, IntegerAttr) else -1
    )
    return IMPL_PRIORITY.index(value) if value in IMPL_PRIORITY else len(IMPL_PRIORITY)


def fuse_problem(nodes: Sequence[Operation]) -> str:
    """Why attributes forbid to fuse the nodes, '' when they allow it."""
    held = held_nodes(nodes)
    for key in UNIQUE if held else ():
        problem = _conflict(held, key)
        if problem:
            return problem
    return ""


def _conflict(nodes: Sequence[Operation], key: str) -> str:
    seen: dict[str | int, Operation] = {}
    for op in nodes:
        attr = op.attributes.get(key)
        if attr is None:
            continue
        value: str | int | None = attr.data if isinstance(attr, StringAttr) else None
        if key in LEVELS:
            what = f"Fusion is not supported because attr {key} of node [{_name(op)}]"
            if value is None:
                return f"{what} is not string."
            number = _decimal(str(value))
            if number is None or not 0 <= number <= LEVELS[key]:
                allowed = ",".join(str(i) for i in range(LEVELS[key] + 1))
                return f"{what} should be in {{{allowed}}}, but got {value}."
            value = number
        if value is not None:
            seen.setdefault(value, op)
    if len(seen) < 2:
        return ""
    (a, first), (b, second) = list(seen.items())[:2]
    return (
        f"Fusion is not supported because there are multiple {key} [{a}][{b}] "
        f"between nodes [{_name(first)}][{_name(second)}]"
    )


def _decimal(text: str) -> int | None:
    text = text.strip()
    return int(text) if text.isascii() and text.removeprefix("-").isdigit() else None


def _name(op: Operation) -> str:
    return (op.node_name if isinstance(op, GeOp) else "") or describe(op)
