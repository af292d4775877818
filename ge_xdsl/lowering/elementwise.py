"""Chains of elementwise and row ops, each one vector kernel.

A chain has a domain, the shape of its tiles: that of the results of its elementwise ops and of
what its row ops reduce. Beside full-size values it may have small ones, with one element per row
(or column) that a row op makes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite

from xdsl.ir import Operation, SSAValue

from ge_xdsl.dialects.ge.activation import PReluOp
from ge_xdsl.dialects.ge.elementwise import BiasAddOp
from ge_xdsl.dialects.ge.norm import BatchNormOp, channel_axis
from ge_xdsl.dialects.ge.op import GeOp, constant_of
from ge_xdsl.dialects.ge.types import tensor_of
from ge_xdsl.errors import CompileError
from ge_xdsl.lowering import rows
from ge_xdsl.lowering.buffers import Program, Value
from ge_xdsl.lowering.emitter import Emitter, Operand, cast_to, spread
from ge_xdsl.lowering.recipes import DATA_OPERANDS, RECIPES, decline, emit_op
from ge_xdsl.lowering.rows import Rows
from ge_xdsl.lowering.tensors import element_of, merged_shape, static_tensor, unshaped
from ge_xdsl.lowering.unit import Unit, launch_unit
from ge_xdsl.lowering.vector_kernel import Chain, plan, vector_kernel
from ge_xdsl.lowering.windows import Windows, windows_of
from ge_xdsl.targets.target import Target

MAX_CHAIN = 24
"""GE ops in one vector kernel."""


def op_types() -> list[str]:
    """The op types that a chain may have."""
    return [*RECIPES, *rows.RECIPES]


def reason(op: GeOp, target: Target) -> str:
    """Why an op cannot be part of a vector kernel, '' when it can."""
    is_row = op.op_type in rows.RECIPES
    if op.op_type not in RECIPES and not is_row:
        return "no lowering"
    if "vector" not in target.lowers:
        return f"no vector kernels for {target.name}"
    elements: list[str] = []
    for value in (*data_operands(op), *op.results):
        tensor = static_tensor(value)
        if tensor is None:
            return unshaped(value)
        if not element_of(tensor.dtype):
            return f"no lowering for element type {tensor.dtype.name}"
        elements.append(element_of(tensor.dtype))
    if is_row:
        return rows.decline(op) or _fits(op, target)
    count = len(data_operands(op))
    return decline(op, elements[:count], elements[count])


def _fits(op: GeOp, target: Target) -> str:
    """Why a row op's tile does not fit, '' when it does."""
    chain = chain_program([op])
    if not chain.sound:
        return "no lowering for an operand that is repeated within what is reduced"
    try:
        plan(chain, target)
    except CompileError as error:
        return f"no lowering: {error.message}"
    return ""


def data_operands(op: GeOp) -> list[SSAValue]:
    """The operands that a recipe gets; the others are known at compile time."""
    if op.op_type in rows.RECIPES:
        return rows.data_operands(op)
    return list(op.operands[: DATA_OPERANDS.get(op.op_type, len(op.operands))])


def shape_of(value: SSAValue) -> tuple[int, ...]:
    """The static shape of a value."""
    return tuple(tensor_of(value.type).shape or ())


@dataclass
class _Group:
    """A chain that grows from its root backwards."""

    domain: tuple[int, ...]
    ops: list[GeOp] = field(default_factory=list[GeOp])
    small: tuple[int, ...] | None = None
    whole: str = ""

    def takes(self, op: GeOp, outside: bool) -> bool:
        """Whether the results of an op have a size that the chain has; notes a new one.

        What is smaller and used in the chain alone each tile works out again, in any size; the
        others have the one size that the row ops leave. What follows a reduction alone may have
        that size, too: the chain then gets the domain of the reduction.
        """
        shape = shape_of(op.results[0])
        if op.op_type in rows.RECIPES:
            found = rows.rows_of(op)
            assert isinstance(found, Rows)
            kept = shape == (found.small if rows.shrinks(op) else found.shape)
            same = self.small in (None, found.small) and self.whole in ("", found.whole)
            grows = rows.shrinks(op) and self.domain == found.small and not self.whole
            if not kept or not same or not (grows or found.shape == self.domain):
                return False
            self.domain, self.small, self.whole = found.shape, found.small, found.whole
            return True
        if shape == self.domain:
            return True
        pairs = list(zip(shape, self.domain, strict=False))
        if len(shape) != len(self.domain) or any(a not in (1, b) for a, b in pairs):
            return False
        if not outside:
            return True
        if self.small not in (None, shape):
            return False
        self.small = shape
        return True

    def start(self, op: GeOp) -> None:
        """Begin with the root."""
        self.ops.append(op)
        if op.op_type in rows.RECIPES:
            found = rows.rows_of(op)
            assert isinstance(found, Rows)
            self.domain, self.small, self.whole = found.shape, found.small, found.whole


def units(ops: Sequence[Operation], eligible: Sequence[bool], target: Target) -> list[Unit]:
    """The units of all chains."""
    made: list[Unit] = []
    for group in groups(ops, eligible):
        reading = _reading(group, target)
        if reading is not None:
            made.append(reading)
            continue
        made += [_unit(part, chain, target) for part, chain in _parts(group, target)]
    return made


def _parts(group: list[GeOp], target: Target) -> list[tuple[list[GeOp], Chain]]:
    """A group as one chain; where it cannot be, small values and full ones apart, or op by op."""
    chain = chain_program(group)
    if _possible(chain, target):
        return [(group, chain)]
    parts = [[op] for op in group]
    if not any(op.op_type in rows.RECIPES for op in group):
        whole = domain_of(group)
        small = [op for op in group if shape_of(op.results[0]) != whole]
        full = [op for op in group if shape_of(op.results[0]) == whole]
        halves = [part for part in (small, full) if part]
        if len(halves) > 1 and all(_possible(chain_program(part), target) for part in halves):
            parts = halves
    return [(part, chain_program(part)) for part in parts]


def _unit(ops: Sequence[GeOp], chain: Chain, target: Target) -> Unit:
    return launch_unit(
        ops,
        chain.operands,
        chain.results,
        chain.key(),
        lambda name: vector_kernel(name, chain, target),
    )


def _reading(group: Sequence[GeOp], target: Target) -> Unit | None:
    """The unit of a chain and of the slices that it reads in place; None when it has none."""
    windows = windows_of(group, domain_of(group), target)
    if not windows:
        return None
    chain = chain_program(group, windows)
    if not _possible(chain, target):
        return None
    slices = dict.fromkeys(v.owner for v in windows)
    return _unit([*(op for op in slices if isinstance(op, GeOp)), *group], chain, target)


def domain_of(ops: Sequence[GeOp]) -> tuple[int, ...]:
    """The shape of a chain's full-size values."""
    reduced = [rows.rows_of(op) for op in ops if op.op_type in rows.RECIPES]
    found = next((item for item in reduced if isinstance(item, Rows)), None)
    return shape_of(ops[-1].results[0]) if found is None else found.shape


def _possible(chain: Chain, target: Target) -> bool:
    """Whether a chain's dimensions merge as its row ops need, and its tile fits."""
    if not chain.sound:
        return False
    try:
        plan(chain, target)
    except CompileError:
        return False
    return True


def groups(ops: Sequence[Operation], eligible: Sequence[bool]) -> list[list[GeOp]]:
    """The chains: each a list of ops in program order, the last of them its root.

    An op joins the chain of its first user when that has its size and every user outside the
    chain stands after the chain's root, where the kernel is launched. So operands are defined
    before the launch and results used after it, and no cycle can arise.
    """
    position = {op: i for i, op in enumerate(ops)}
    group_of: dict[Operation, _Group] = {}
    found: list[_Group] = []
    for op, good in zip(reversed(ops), reversed(eligible), strict=True):
        if not good or not isinstance(op, GeOp):
            continue
        uses = [use.operation for value in op.results for use in value.uses]
        users = sorted({_ancestor(user, position) for user in uses})
        group = group_of.get(ops[users[0]]) if users else None
        if group is not None and _joins(op, users, group, position, ops, group_of):
            # the root first while the chain grows backwards
            group.ops.append(op)
        else:
            group = _Group(shape_of(op.results[0]))
            group.start(op)
            found.append(group)
        group_of[op] = group
    _join_casts(found, group_of, position)
    return [group.ops[::-1] for group in reversed(found) if group.ops]


def _join_casts(
    found: Sequence[_Group], group_of: Mapping[Operation, _Group], position: dict[Operation, int]
) -> None:
    """Let casts that are chains of their own be results of the chain that has their operand.

    A cast's users stand after the root of that chain, which is the last op still; the cast moves
    to its operand.
    """
    for group in found:
        (cast, *more) = group.ops
        if cast.op_type != "Cast" or more or cast.operands[0].owner not in group_of:
            continue
        source = cast.operands[0].owner
        assert isinstance(source, GeOp)
        other = group_of[source]
        users = [_ancestor(use.operation, position) for use in cast.results[0].uses]
        root = position[other.ops[0]]
        if source is other.ops[0] or len(other.ops) >= MAX_CHAIN or min(users, default=root) < root:
            continue
        block = source.parent
        if shape_of(cast.results[0]) == other.domain and block is cast.parent and block is not None:
            other.ops.insert(other.ops.index(source), cast)
            group.ops.clear()
            cast.detach()
            block.insert_op_after(cast, source)


def _ancestor(op: Operation, position: dict[Operation, int]) -> int:
    """The position of the op of the block that holds `op`."""
    while op not in position:
        parent = op.parent_op()
        assert parent is not None
        op = parent
    return position[op]


def _joins(
    op: GeOp,
    users: Sequence[int],
    group: _Group,
    position: dict[Operation, int],
    ops: Sequence[Operation],
    group_of: dict[Operation, _Group],
) -> bool:
    root = position[group.ops[0]]
    if len(group.ops) >= MAX_CHAIN:
        return False
    if not all(user > root or group_of.get(ops[user]) is group for user in users):
        return False
    # a root that reduces keeps no dimensions that the chain's other values could meet
    return group.takes(op, not all(group_of.get(ops[user]) is group for user in users))


def chain_program(ops: Sequence[GeOp], windows: Windows | None = None) -> Chain:
    """The vector program of a chain, which reads `windows` where the slices are."""
    return _Builder(ops, windows or {}).chain()


class _Builder:
    """Makes the program of a chain."""

    def __init__(self, ops: Sequence[GeOp], windows: Windows) -> None:
        self.ops = ops
        self.windows = windows
        self.members = set(ops)
        reduced = [rows.rows_of(op) for op in ops if op.op_type in rows.RECIPES]
        self.rows = next((item for item in reduced if isinstance(item, Rows)), None)
        whole = domain_of(ops)
        self.program = Program(whole=self.rows.whole if self.rows else "")
        self.values: dict[SSAValue, int] = {}
        shapes: dict[SSAValue, tuple[int, ...]] = {}
        for op in ops:
            for i, v in enumerate(data_operands(op)):
                if v.owner not in self.members and number_of(op, v) is None:
                    shapes.setdefault(v, operand_shape(op, i, v))
        self.operands = list(shapes)
        small = self.rows.small if self.rows else whole
        sizes = [shape_of(op.results[0]) for op in ops if op.op_type not in rows.RECIPES]
        self.sizes = {size: size for size in sizes if size not in (whole, small)}
        apart = [split for _, window in windows.values() for split in window.splits(whole)]
        self.shape, each = merged_shape(whole, [*shapes.values(), small, *self.sizes, *apart])
        self.each, self.small = each[: len(shapes)], each[len(shapes)]
        self.sizes = dict(zip(self.sizes, each[len(shapes) + 1 :], strict=False))

    def chain(self) -> Chain:
        """The chain."""
        program = self.program
        for value, shape in zip(self.operands, self.each, strict=True):
            element = element_of(tensor_of(value.type).dtype)
            item = Value(element, shape[-2] == self.shape[-2], shape[-1] == self.shape[-1])
            self.values[value] = program.add(item)
            program.inputs.append(self.values[value])
        for op in self.ops:
            self.emit(op)
        results = [v for op in self.ops for v in op.results if self.is_stored(op, v)]
        for value in results:
            self.store(self.values[value])
        self.drop_unused()
        sizes = [program.values[v] for v in program.outputs]
        shapes = [self.shape if size.rows and size.cols else self.small for size in sizes]
        return Chain(
            program,
            tuple(self.windows[v][0] if v in self.windows else v for v in self.operands),
            tuple(results),
            self.shape,
            tuple(self.each),
            tuple(shapes),
            self.sound(),
            tuple(self.windows[v][1] if v in self.windows else None for v in self.operands),
        )

    def drop_unused(self) -> None:
        """Take away the inputs that no instruction reads."""
        program = self.program
        read = {v for step in program.steps for v in step.sources}
        kept = [i for i, v in enumerate(program.inputs) if v in read]
        program.inputs = [program.inputs[i] for i in kept]
        self.operands = [self.operands[i] for i in kept]
        self.each = [self.each[i] for i in kept]

    def sound(self) -> bool:
        """Whether the merged dimensions are those that the row ops reduce."""
        # what each tile works out again is no result
        stored = [shape_of(v) for op in self.ops for v in op.results if self.is_stored(op, v)]
        if any(shape in self.sizes for shape in stored):
            return False
        if self.rows is None:
            return True
        place = len(self.shape) - (2 if self.rows.whole == "rows" else 1)
        want = tuple(1 if i == place else d for i, d in enumerate(self.shape))
        return self.small == want and self.shape[place] == self.rows.count

    def is_stored(self, op: GeOp, value: SSAValue) -> bool:
        """Whether a result is used outside the chain; the root's first one always is."""
        if op is self.ops[-1] and value is op.results[0]:
            return True
        return any(use.operation not in self.members for use in value.uses)

    def store(self, value: int) -> None:
        """Make a value an output, by a copy when it is an operand or stored already."""
        program = self.program
        if value in program.inputs or value in program.outputs:
            value = program.step("vunary", (value,), program.values[value], "copy")
        program.outputs.append(value)

    def emit(self, op: GeOp) -> None:
        """Append the instructions of an op."""
        args: list[Operand] = []
        for v in data_operands(op):
            number = None if v.owner in self.members else number_of(op, v)
            args.append(self.values[v] if number is None else number)
        elements = [element_of(tensor_of(v.type).dtype) for v in op.results]
        if op.op_type in rows.RECIPES:
            assert self.rows is not None
            recipe = rows.RECIPES[op.op_type]
            emit = Emitter(self.program, rows.element_for(op))
            made = recipe(emit, op, args, self.rows.count)
        else:
            made = [emit_op(self.program, op, args, elements[0])]
        for value, item, element in zip(op.results, made, elements, strict=False):
            self.values[value] = self.full(cast_to(self.program, item, element), value)

    def full(self, item: int, value: SSAValue) -> int:
        """A result in its full size, or as small as the chain's small values are."""
        element = self.program.values[item].element
        size = self.sizes.get(shape_of(value))
        if size is not None:
            same = [a == b for a, b in zip(size, self.shape, strict=True)][-2:]
            return spread(self.program, item, Value(element, *same))
        if self.rows is None or tensor_of(value.type).size() == _size(self.rows):
            return spread(self.program, item, Value(element))
        cols = self.program.whole == "cols"
        return spread(self.program, item, Value(element, cols, not cols))


def _size(found: Rows) -> int:
    out = 1
    for dim in found.shape:
        out *= dim
    return out


def operand_shape(op: GeOp, i: int, value: SSAValue) -> tuple[int, ...]:
    """The shape of an operand as it broadcasts: one number per channel stands at the channels."""
    shape = shape_of(value)
    rank = len(shape_of(op.results[0]))
    if op.op_type == "Select" and i == 0 and 0 < len(shape) < rank:
        # one truth value for each row
        return (*shape, *(1,) * (rank - len(shape)))
    if i == 0 or not isinstance(op, BatchNormOp | BiasAddOp | PReluOp):
        return shape
    x = tensor_of(op.operands[0].type)
    rank = len(x.shape or ())
    if isinstance(op, PReluOp):
        count = tensor_of(value.type).size() or 0
        if count == 1 or len(shape) != 1:
            return shape if count > 1 else (1,)
        return (count, *(1,) * (rank - 2))
    if isinstance(op, BatchNormOp):
        axis = channel_axis(op.data_format, rank)
    else:
        axis = op.channel_axis(x) % rank
    count = tensor_of(value.type).size() or 0
    return (count, *(1,) * (rank - axis - 1))


def number_of(op: GeOp, value: SSAValue) -> float | None:
    """The number of a constant of one element, beside an operand of the result's shape."""
    if op.op_type in rows.RECIPES or op.op_type in DATA_OPERANDS:
        return None
    if tensor_of(value.type).size() != 1:
        return None
    shape = shape_of(op.results[0])
    if not any(v is not value and shape_of(v) == shape for v in op.operands):
        return None
    array = constant_of(value)
    if array is None or array.dtype == bool:
        return None
    number = float(array.reshape(-1)[0])
    return number if isfinite(number) and number == array.reshape(-1)[0] else None
