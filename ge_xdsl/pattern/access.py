"""Fast reads of the IR's linked structure, for loops that run once per node.

xDSL's public views (`op.operands`, `value.uses`) build an object per read; these read the fields
behind them, and the two functions that write do what xDSL's own do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from operator import attrgetter
from typing import Any, TypeAlias, TypeGuard, TypeVar, cast

from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue, Use
from xdsl.ir.core import SSAValues

from ge_xdsl.dialects.ge.data import ControlEdgeOp
from ge_xdsl.dialects.ge.op import NAME, GeOp

OpT = TypeVar("OpT", bound=Operation)

operands_of: Callable[[Operation], tuple[SSAValue, ...]] = attrgetter("_operands")
"""The operands of an op as a tuple."""
next_use: Callable[[Use], Use | None] = attrgetter("_next_use")
user_of: Callable[[Use], Operation] = attrgetter("_operation")
next_op: Callable[[Operation], Operation | None] = attrgetter("_next_op")

prev_op: Callable[[Operation], Operation | None] = attrgetter("_prev_op")
last_op: Callable[[Block], Operation | None] = attrgetter("_last_op")


def ops_of(block: Block) -> list[Operation]:
    """The ops of a block, in order."""
    found: list[Operation] = []
    op = block.first_op
    while op is not None:
        found.append(op)
        op = next_op(op)
    return found


Classes: TypeAlias = dict[type[Operation], list[Operation]]

UNKNOWN = -1


def by_class_and_names(block: Block) -> tuple[list[Operation], Classes, int]:
    """`by_class`, and the length of the longest node name, `UNKNOWN` where some op has none.

    An op without attributes is no node. To look at names in a second walk takes thrice as long.
    """
    found: list[Operation] = []
    classes: Classes = {}
    longest = 0
    op = block.first_op
    try:
        while op is not None:
            found.append(op)
            cls = type(op)
            if cls in classes:
                classes[cls].append(op)
            else:
                classes[cls] = [op]
            attributes = op.attributes
            if attributes:
                length = len(cast("StringAttr", attributes[NAME]).data)
                if length > longest:
                    longest = length
            op = next_op(op)
    except (KeyError, AttributeError):
        return *by_class(block), UNKNOWN
    return found, classes, longest


def by_class(block: Block) -> tuple[list[Operation], Classes]:
    """The ops of a block, in order, and those of each class; in one walk, which costs most where
    a graph is too large for the processor's caches."""
    found: list[Operation] = []
    classes: Classes = {}
    op = block.first_op
    while op is not None:
        found.append(op)
        cls = type(op)
        if cls in classes:
            classes[cls].append(op)
        else:
            classes[cls] = [op]
        op = next_op(op)
    return found, classes


def nested_in(ops: Sequence[Operation]) -> list[Operation]:
    """Those of the ops that have subgraphs."""
    if all(map(is_flat, set(map(type, ops)))):
        return []
    return [op for op in ops if op.regions]


@cache
def is_flat(cls: type[Operation]) -> bool:
    """Whether ops of a class cannot have subgraphs."""
    if issubclass(cls, GeOp):
        return cls is not GeOp and not cls.prototype.subgraphs
    return cls is ReturnOp


use_index: Callable[[Use], int] = attrgetter("_index")
type_of: Callable[[SSAValue], Attribute] = attrgetter("_type")
"""The type of a value; xDSL's property is a Python call."""


uses_of: Callable[[Operation], tuple[Use, ...]] = attrgetter("_operand_uses")
"""The use that each operand of an op makes."""
item: Callable[[tuple[SSAValue, ...], int], SSAValue] = cast("Any", tuple).__getitem__
"""`values[index]` without the Python call that xDSL's tuple of values makes."""

WIDE = 64
"""An op with more operands than this is not rebuilt or read again for each that changes."""


class WideOperands(list[SSAValue]):
    """The operands of a wide op while a run replaces them one by one, in place.

    A tuple per replacement would make a Concat of n replaced producers cost n * n. `seal` puts
    the tuple back that xDSL expects of an op at rest.
    """

    @property
    def types(self) -> tuple[Attribute, ...]:
        return tuple([value.type for value in self])


_GE_CLASSES: set[type[Operation]] = set()


def is_ge(op: Operation) -> TypeGuard[GeOp]:
    """`isinstance(op, GeOp)`, which asks an abstract base class, with a memory."""
    cls = type(op)
    if cls in _GE_CLASSES:
        return True
    if issubclass(cls, GeOp):
        _GE_CLASSES.add(cls)
        return True
    return False


def copy_with(op: OpT, operands: Sequence[SSAValue]) -> OpT:
    """A copy of an op without regions on other operands; attributes are copied, types shared.

    `Operation.create` takes three times as long.
    """
    new = object.__new__(type(op))
    uses_made = tuple([Use(new, i) for i in range(len(operands))])
    vars(new).update(
        _operands=SSAValues(operands),
        _operand_uses=uses_made,
        results=SSAValues([OpResult(type_of(r), new, i) for i, r in enumerate(op.results)]),
        properties=op.properties.copy(),
        attributes=op.attributes.copy(),
        location=op.location,
    )
    for value, use in zip(operands, uses_made, strict=True):
        value.add_use(use)
    return new


_held: Callable[[Operation], object] = attrgetter("_operands")


def set_operand(op: Operation, index: int, value: SSAValue) -> None:
    """Set one operand; three times as fast as `op.operands[index] = value`."""
    operands = list(operands_of(op))
    use = uses_of(op)[index]
    operands[index].remove_use(use)
    value.add_use(use)
    operands[index] = value
    vars(op)["_operands"] = SSAValues(operands)


def set_wide_operand(op: Operation, index: int, value: SSAValue) -> None:
    """The same in place, for an op that is given to `seal` when the run is over."""
    held = _held(op)
    if not isinstance(held, WideOperands):
        held = vars(op)["_operands"] = WideOperands(operands_of(op))
    use = uses_of(op)[index]
    held[index].remove_use(use)
    value.add_use(use)
    held[index] = value


def seal(ops: Iterable[Operation]) -> None:
    """Give ops with operands under change their tuples back."""
    for op in ops:
        held = _held(op)
        if isinstance(held, WideOperands):
            vars(op)["_operands"] = SSAValues(held)


def reads(op: Operation, index: int, value: SSAValue) -> bool:
    """Whether operand `index` of an op is `value`."""
    operands = operands_of(op)
    return index < len(operands) and operands[index] is value


def producer(value: SSAValue) -> Operation | None:
    """The op that defines a value, None for a block argument."""
    return value.op if type(value) is OpResult else None


def uses(value: SSAValue) -> Iterator[Use]:
    """The uses of a value, newest first."""
    use = value.first_use
    while use is not None:
        yield use
        use = next_use(use)


def data_uses(value: SSAValue) -> Iterator[Use]:
    """The uses of a value that read it: control edges are left out."""
    use = value.first_use
    while use is not None:
        if type(user_of(use)) is not ControlEdgeOp:
            yield use
        use = next_use(use)


def block_of(value: SSAValue) -> Block | None:
    """The block that a value is defined in."""
    if isinstance(value, BlockArgument):
        return value.block
    op = producer(value)
    return None if op is None else op.parent


def in_block(op: Operation, block: Block) -> Operation | None:
    """The op of `block` that is or holds `op`; None when it is elsewhere."""
    return op if op.parent is block else block.find_ancestor_op_in_block(op)


def control_edges(block: Block) -> list[ControlEdgeOp]:
    """The control edges of a block, in order; they stand at its end, before the terminator."""
    found: list[ControlEdgeOp] = []
    op = block.last_op
    while op is not None:
        if type(op) is ControlEdgeOp:
            found.append(op)
        elif op is not block.last_op:
            break
        op = op.prev_op
    found.reverse()
    return found


def control_successors(op: Operation) -> list[Operation]:
    """The nodes that a control edge makes wait for `op`."""
    return [p for edge in _edges_at(op, 0) if (p := producer(edge.dst)) is not None]


def control_sources(op: Operation) -> list[SSAValue]:
    """Where the control edges come from that `op` waits for: tensors, tokens, graph inputs."""
    return [edge.src for edge in _edges_at(op, 1)]


def _edges_at(op: Operation, index: int) -> list[ControlEdgeOp]:
    """The control edges whose source (0) or destination (1) is a result of `op`, oldest first."""
    found: list[ControlEdgeOp] = []
    for result in op.results:
        at: list[ControlEdgeOp] = []
        for use in uses(result):
            user = user_of(use)
            if type(user) is ControlEdgeOp and use.index == index:
                at.append(user)
        found += reversed(at)
    return found
