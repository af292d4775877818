"""What the whole-graph passes share: deferred replacement of values, and folding an op.

Replacements are noted and applied to each op when the forward walk reaches it, so an op with many
operands is rebuilt once and a pass stays linear in the size of the graph.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import IsTerminator, Pure

from ge_xdsl.dialects.ge.data import ConstOp
from ge_xdsl.dialects.ge.names import all_names, fresh_name
from ge_xdsl.dialects.ge.op import GeOp, constant_of
from ge_xdsl.dialects.ge.registry import family_of
from ge_xdsl.dialects.ge.types import Tensor, tensor_of
from ge_xdsl.dialects.ge.weights import const_attr

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

CONTROL_EDGE = "ge.control_edge"


class Replacements:
    """Values that stand for others; `rewire` brings one op up to date."""

    def __init__(self) -> None:
        self.by_value: dict[SSAValue, SSAValue] = {}
        self.dead: list[Operation] = []

    def replace(self, op: Operation, values: Sequence[SSAValue]) -> None:
        """Note that `values` stand for the results of `op`, which is erased at the end."""
        self.by_value.update(zip(op.results, values, strict=True))
        self.dead.append(op)

    def rewire(self, op: Operation) -> None:
        """Let an op read the replaced values; its operands are rebuilt at most once."""
        known = self.by_value
        if known and any(value in known for value in op.operands):
            op.operands = [known.get(value, value) for value in op.operands]

    def finish(self) -> None:
        """Erase the replaced ops; nothing reads them any more."""
        for op in reversed(self.dead):
            op.detach()
            op.erase()


def visit_order(block: Block) -> Iterator[Operation]:
    """The ops of a block, each before those of its regions; ops may be added behind the walk."""
    for op in list(block.ops):
        yield op
        for region in op.regions:
            for inner in region.blocks:
                yield from visit_order(inner)


def ordered_ops(block: Block) -> set[Operation]:
    """The ops of a block that a control edge starts or ends at; they keep their place."""
    return {
        value.owner
        for op in block.ops
        if op.name == CONTROL_EDGE
        for value in op.operands
        if isinstance(value.owner, Operation)
    }


def is_pure(op: Operation) -> bool:
    """Whether nothing but its results tells that an op ran (subgraphs not looked into).

    A GE op that is known by its prototype only may print, draw random numbers or write a
    variable, so it counts as impure.
    """
    if not op.has_trait(Pure) or op.has_trait(IsTerminator) or op.name == CONTROL_EDGE:
        return False
    return not isinstance(op, GeOp) or op.has_evaluate() or family_of(op.op_type) is not None


def constants_of(op: GeOp) -> list[Array] | None:
    """The values of all operands, None unless each is known at compile time."""
    found: list[Array] = []
    for value in op.operands:
        array = constant_of(value)
        if array is None:
            return None
        found.append(array)
    return found


class Folder:
    """Puts constants in the place of ops, with names that are unique in the function."""

    def __init__(self, func: FuncOp, replacements: Replacements) -> None:
        self.func = func
        self.replacements = replacements
        self.counters: dict[str, int] = {}
        self.taken: set[str] | None = None

    def fold(self, op: GeOp, arrays: Sequence[Array]) -> None:
        """Replace `op` by one `Const` per result; a single one takes the op's name."""
        block = op.parent
        assert block is not None
        consts: list[Operation] = []
        for result, array in zip(op.results, arrays, strict=True):
            name = op.node_name if len(op.results) == 1 else self.fresh(f"{op.node_name}_folded")
            consts.append(_const(tensor_of(result.type), array, name))
        for const in consts:
            if isinstance(const, GeOp):
                const.source = op.source
        block.insert_ops_before(consts, op)
        self.replacements.replace(op, [const.results[0] for const in consts])

    def fresh(self, stem: str) -> str:
        if self.taken is None:
            self.taken = all_names(self.func)
        return fresh_name(stem, self.taken, self.counters)


def _const(tensor: Tensor, array: Array, name: str) -> ConstOp:
    typed = Tensor(tensor.dtype, array.shape, tensor.layout)
    value = const_attr(array, name, tensor.dtype)
    return ConstOp.build(value=value, node_name=name, result_types=[typed.type])


def merged(inferred: Tensor, declared: Tensor) -> Tensor:
    """The more precise of two statements about one value; `inferred` where they contradict."""
    if inferred.shape is None:
        known = inferred.dtype == declared.dtype
        return declared if known else inferred.with_shape(declared.shape)
    if declared.shape is None or len(declared.shape) != len(inferred.shape):
        return inferred
    shape = tuple(d if i < 0 else i for i, d in zip(inferred.shape, declared.shape, strict=True))
    return Tensor(inferred.dtype, shape, inferred.layout)
