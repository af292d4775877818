"""Chains of elementwise GE ops to one vector kernel: load tiles, compute in UB, store.

for each tile, dealt to the vector cores:
    copy_gm_ub each input; vector instructions; copy_ub_gm each output
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite

from xdsl.ir import Block, Operation, SSAValue

from ge_xdsl.dialects.aicore.move import CopyGmUbOp, CopyUbGmOp
from ge_xdsl.dialects.aicore.op import Index, Instruction
from ge_xdsl.dialects.aicore.structure import AllocOp, ForOp, KernelOp
from ge_xdsl.dialects.aicore.types import Tile
from ge_xdsl.dialects.aicore.vector import VbinaryOp, VbrcOp, VcastOp, VdupOp, VscalarOp, VunaryOp
from ge_xdsl.dialects.ge.op import GeOp, constant_of
from ge_xdsl.dialects.ge.types import tensor_of
from ge_xdsl.lowering.buffers import Program, Step, Value, assign
from ge_xdsl.lowering.recipes import RECIPES, Operand, decline, emit_op
from ge_xdsl.lowering.tensors import element_of, merged_shape, static_tensor
from ge_xdsl.lowering.tiling import Slot, vector_tiling
from ge_xdsl.targets.target import Target

VECTOR_OPS: dict[str, type[Instruction]] = {
    "vunary": VunaryOp,
    "vbinary": VbinaryOp,
    "vscalar": VscalarOp,
    "vcast": VcastOp,
    "vdup": VdupOp,
    "vbrc": VbrcOp,
}
MAX_CHAIN = 24
"""GE ops in one vector kernel."""


def reason(op: GeOp, target: Target) -> str:
    """Why an op cannot be part of a vector kernel, '' when it can."""
    if op.op_type not in RECIPES:
        return "no lowering"
    if "vector" not in target.lowers:
        return f"no vector kernels for {target.name}"
    tensors = [static_tensor(v) for v in (*op.operands, *op.results)]
    elements: list[str] = []
    for tensor in tensors:
        if tensor is None:
            return "no lowering for a shape that is empty or not static"
        if not element_of(tensor.dtype):
            return f"no lowering for element type {tensor.dtype.name}"
        elements.append(element_of(tensor.dtype))
    return decline(op, elements[:-1], elements[-1])


def groups(ops: Sequence[Operation], eligible: Sequence[bool]) -> list[list[GeOp]]:
    """The chains: each a list of ops in program order, the last of them its root.

    An op joins the chain of its first user when that has the same result shape and every user
    outside the chain stands after the chain's root, where the kernel is launched. So operands
    are defined before the launch and results used after it, and no cycle can arise.
    """
    position = {op: i for i, op in enumerate(ops)}
    chain_of: dict[Operation, list[GeOp]] = {}
    found: list[list[GeOp]] = []
    for op, good in zip(reversed(ops), reversed(eligible), strict=True):
        if not good or not isinstance(op, GeOp):
            continue
        users = sorted({_ancestor(use.operation, position) for use in op.results[0].uses})
        first = chain_of.get(ops[users[0]]) if users else None
        if first is not None and _joins(
            op, users, first, position, lambda i, c=first: chain_of.get(ops[i]) is c
        ):
            chain = first
        else:
            chain = list[GeOp]()
            found.append(chain)
        # the root first while the chain grows backwards
        chain.append(op)
        chain_of[op] = chain
    for chain in found:
        chain.reverse()
    found.reverse()
    return found


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
    chain: list[GeOp],
    position: dict[Operation, int],
    inside: Callable[[int], bool],
) -> bool:
    root = chain[0]
    if len(chain) >= MAX_CHAIN:
        return False
    if tensor_of(op.results[0].type).shape != tensor_of(root.results[0].type).shape:
        return False
    return all(user > position[root] or inside(user) for user in users)


@dataclass(frozen=True, slots=True)
class Chain:
    """A chain ready to be made a kernel: what it reads, writes and does."""

    program: Program
    operands: tuple[SSAValue, ...]
    results: tuple[SSAValue, ...]
    shape: tuple[int, ...]
    operand_shapes: tuple[tuple[int, ...], ...]

    def key(self) -> tuple[object, ...]:
        """Equal for chains that make the same kernel."""
        return ("vector", self.program.key(), self.shape, self.operand_shapes)


def chain_program(ops: Sequence[GeOp]) -> Chain:
    """The vector program of a chain."""
    members = set(ops)
    operands = list(dict.fromkeys(v for op in ops for v in op.operands if v.owner not in members))
    operands = [v for v in operands if any(_number(op, v) is None for op in _users(v, ops))]
    results = [
        op.results[0]
        for op in ops
        if op is ops[-1] or any(use.operation not in members for use in op.results[0].uses)
    ]
    whole = tensor_of(ops[-1].results[0].type).shape or ()
    shapes = [tensor_of(v.type).shape or () for v in operands]
    shape, each = merged_shape(whole, shapes)
    program = Program()
    values: dict[SSAValue, int] = {}
    for value, small in zip(operands, each, strict=True):
        element = element_of(tensor_of(value.type).dtype)
        item = Value(element, small[-2] == shape[-2], small[-1] == shape[-1])
        values[value] = program.add(item)
        program.inputs.append(values[value])
    for op in ops:
        args: list[Operand] = []
        for v in op.operands:
            number = None if v.owner in members else _number(op, v)
            args.append(values[v] if number is None else number)
        result = element_of(tensor_of(op.results[0].type).dtype)
        values[op.results[0]] = emit_op(program, op, args, result)
    program.outputs = [values[v] for v in results]
    return Chain(program, tuple(operands), tuple(results), shape, tuple(each))


def _users(value: SSAValue, ops: Sequence[GeOp]) -> list[GeOp]:
    return [op for op in ops if any(v is value for v in op.operands)]


def _number(op: GeOp, value: SSAValue) -> float | None:
    """The one number of a constant operand of a binary op whose other operand has the shape."""
    if len(op.operands) != 2 or tensor_of(value.type).size() != 1:
        return None
    others = [v for v in op.operands if v is not value]
    shape = tensor_of(op.results[0].type).shape
    if not others or tensor_of(others[0].type).shape != shape:
        return None
    array = constant_of(value)
    if array is None:
        return None
    number = float(array.reshape(-1)[0])
    return number if isfinite(number) else None


def vector_kernel(name: str, chain: Chain, target: Target) -> KernelOp:
    """The kernel of a chain."""
    slot_of, slots = assign(chain.program)
    rows, cols = vector_tiling(chain.shape, slots, target)
    steps = (*(1 for _ in chain.shape[:-2]), rows, cols)
    count = 1
    for dim, step in zip(chain.shape, steps, strict=True):
        count *= -(-dim // step)
    blocks = min(count, target.vector_cores)
    program = chain.program
    shapes = [*chain.operand_shapes, *(chain.shape for _ in chain.results)]
    elements = [program.values[v].element for v in (*program.inputs, *program.outputs)]
    tiles = [Tile(s, e, "gm") for s, e in zip(shapes, elements, strict=True)]
    block = Block(arg_types=[tile.type for tile in tiles])
    for i, arg in enumerate(block.args):
        ins = len(program.inputs)
        arg.name_hint = f"x{i}" if i < ins else f"y{i - ins}"
    names = [*(f"d{i}" for i in range(len(steps) - 2)), "r", "c"]
    loop = ForOp.make(chain.shape, steps, names, over_cores=True)
    block.add_op(loop)
    _Body(loop, chain, slot_of, slots, (rows, cols)).fill(block)
    return KernelOp.make(name, "vector", blocks, len(chain.results), block)


class _Body:
    """Fills the loop body of a vector kernel."""

    def __init__(
        self,
        loop: ForOp,
        chain: Chain,
        slot_of: Sequence[int],
        slots: Sequence[Slot],
        tile: tuple[int, int],
    ) -> None:
        self.loop = loop
        self.chain = chain
        self.slot_of = slot_of
        rank = len(chain.shape)
        self.origins = [loop.origin(i) for i in range(rank)]
        self.length = (loop.length(rank - 2), loop.length(rank - 1))
        self.tiles: list[SSAValue] = []
        for i, slot in enumerate(slots):
            alloc = AllocOp.make(slot.tile(*tile).type, slot.buffers)
            alloc.results[0].name_hint = f"t{i}"
            self.add(alloc)
            self.tiles.append(alloc.results[0])

    def add(self, op: Operation) -> None:
        self.loop.body.add_op(op)

    def sizes(self, value: int) -> list[Index]:
        """The valid sizes of a value."""
        item = self.chain.program.values[value]
        return [self.length[0] if item.rows else 1, self.length[1] if item.cols else 1]

    def offsets(self, shape: Sequence[int]) -> list[Index]:
        """Where the tile stands in a GM tile; 0 where that is broadcast."""
        pairs = zip(self.origins, shape, self.chain.shape, strict=True)
        return [origin if dim == whole else 0 for origin, dim, whole in pairs]

    def fill(self, block: Block) -> None:
        program = self.chain.program
        shapes = self.chain.operand_shapes
        for value, arg, shape in zip(program.inputs, block.args, shapes, strict=False):
            tile, offsets = self.tiles[self.slot_of[value]], self.offsets(shape)
            self.add(CopyGmUbOp.build(arg, tile, offsets=offsets, sizes=self.sizes(value)))
        for step in program.steps:
            self.add(self.instruction(step))
        for value, arg in zip(program.outputs, block.args[len(shapes) :], strict=True):
            tile, offsets = self.tiles[self.slot_of[value]], self.offsets(self.chain.shape)
            self.add(CopyUbGmOp.build(tile, arg, offsets=offsets, sizes=self.sizes(value)))

    def instruction(self, step: Step) -> Instruction:
        tiles = [self.tiles[self.slot_of[v]] for v in (*step.sources, step.dst)]
        sizes = self.sizes(step.dst)
        return VECTOR_OPS[step.op].build(*tiles, sizes=sizes, kind=step.kind, value=step.value)
