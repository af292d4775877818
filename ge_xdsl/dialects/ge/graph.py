"""Whole graphs: finding them in a module, and the checks that no single op can make."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.names import describe
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.types import tensor_of
from ge_xdsl.dialects.located import Located
from ge_xdsl.errors import CompileError, Location


def functions(module: ModuleOp) -> list[FuncOp]:
    """The graphs of a module, in order; declarations without a body are left out."""
    return [op for op in module.body.block.ops if isinstance(op, FuncOp) and op.body.blocks]


def main_function(module: ModuleOp) -> FuncOp:
    """The graph that a tool runs: the one named main, else the only one."""
    found = functions(module)
    for func in found:
        if func.sym_name.data == "main":
            return func
    if len(found) != 1:
        raise CompileError(f"the module has {len(found)} functions, expected one or a 'main'")
    return found[0]


def ge_ops(func: Operation) -> Iterator[GeOp]:
    """Every GE op of a graph and its subgraphs, in order."""
    for op in func.walk():
        if isinstance(op, GeOp):
            yield op


def root_blocks(func: FuncOp) -> Iterator[Block]:
    """The graph's block, then the blocks of its subgraphs, depth first."""
    for region in func.regions:
        for block in region.blocks:
            yield block
            for op in block.ops:
                yield from _sub_blocks(op)


def _sub_blocks(op: Operation) -> Iterator[Block]:
    for region in op.regions:
        for block in region.blocks:
            yield block
            for inner in block.ops:
                yield from _sub_blocks(inner)


def location_of(op: Operation) -> Location | None:
    """Where an op, or the nearest GE op around it, was read from."""
    current: Operation | None = op
    while current is not None:
        if isinstance(current, GeOp | Located) and current.source is not None:
            return current.source
        current = current.parent_op()
    return None


def verify(module: ModuleOp) -> None:
    """Verify every op, dominance, names and subgraphs.

    Raises CompileError for the first op that is wrong, with its place. xDSL's own `verify` checks
    neither dominance nor names and its errors print the whole module.
    """
    for op in module.walk():
        _verify_op(op)
        if isinstance(op, FuncOp) and op.body.blocks:
            _verify_function(op)


def _verify_op(op: Operation) -> None:
    try:
        op.verify(verify_nested_ops=False)
    except VerifyException as error:
        raise op_error(op, str(error)) from None
    except (ValueError, KeyError, AssertionError) as error:
        raise op_error(op, str(error) or type(error).__name__) from None
    if isinstance(op, FuncOp | ModuleOp) and not isinstance(op.parent_op(), ModuleOp | None):
        raise op_error(op, "stands inside an op, expected it in a module")


def verify_signatures(module: ModuleOp) -> None:
    """Whether every function can be asked for its block, inputs and outputs.

    What the readers of a module rely on before `verify` sees its ops. Raises CompileError.
    """
    for op in module.body.block.ops:
        if isinstance(op, FuncOp):
            _verify_op(op)
            if op.body.blocks:
                _verify_signature(op)


def _verify_signature(func: FuncOp) -> None:
    if len(func.body.blocks) != 1:
        raise op_error(func, f"has {len(func.body.blocks)} blocks, expected one")
    for i, arg in enumerate(func.body.block.args):
        try:
            tensor_of(arg.type)
        except ValueError as error:
            raise op_error(func, f"input #{i}: {error}") from None
    last = func.body.block.last_op
    if not isinstance(last, ReturnOp):
        what = last.name if last is not None else "missing"
        raise op_error(func, f"terminator is {what}, expected func.return")


def op_error(op: Operation, message: str) -> CompileError:
    """An error at an op: its place, its name, and the first line of the message."""
    text = message.strip().split("\n")[0].removeprefix(f"{op.name}: ")
    if text.startswith("Operation does not verify: "):
        text = text.removeprefix("Operation does not verify: ")
    return CompileError(text, subject=describe(op), location=location_of(op))


def _verify_function(func: FuncOp) -> None:
    _verify_signature(func)
    for block in root_blocks(func):
        verify_dominance(block)
        _verify_nodes(block)


def _verify_nodes(block: Block) -> None:
    """Node names are unique in their graph, a subgraph's apart, no operand is open, and control
    edges close no cycle."""
    seen: set[str] = set()
    controlled: GeOp | None = None
    for op in block.ops:
        if not isinstance(op, GeOp):
            continue
        name = op.node_name
        if name and name in seen:
            raise op_error(op, f"the node name '{name}' is used twice, expected unique names")
        seen.add(name)
        if op.op_type == "unconnected":
            raise _unconnected(op)
        if op.op_type == "control_edge":
            controlled = op
    if controlled is not None and topological_order(block) is None:
        raise op_error(controlled, "closes a cycle of edges, expected none")


def _unconnected(op: GeOp) -> CompileError:
    """The error for a placeholder, at the op that reads it."""
    use = op.results[0].first_use
    if use is None:
        return op_error(op, "is read by no op, expected none of its kind")
    what = f"operand #{use.index} is left unconnected, expected a value"
    return op_error(use.operation, what)


def verify_dominance(block: Block) -> None:
    """Every operand is defined before its use in the block, or in a block around it."""
    seen: set[Operation] = set()
    for op in block.ops:
        for i, value in enumerate(op.operands):
            owner = value.owner
            if isinstance(owner, Operation) and owner.parent is block:
                if owner not in seen:
                    raise op_error(op, f"operand #{i} is defined below, expected above")
            elif not _is_visible(value, block):
                raise op_error(op, f"operand #{i} is of another graph, expected this one")
        seen.add(op)


def _is_visible(value: SSAValue, block: Block) -> bool:
    home = value.owner if isinstance(value, BlockArgument) else None
    if home is None and isinstance(value.owner, Operation):
        home = value.owner.parent
    current: Block | None = block
    while current is not None:
        if current is home:
            return True
        parent = current.parent_op()
        current = parent.parent if parent is not None else None
    return False


def topological_order(block: Block) -> Sequence[Operation] | None:
    """The ops of a block in dependency order, stable; None when edges form a cycle.

    A control edge counts as one: the op that it leads to stands after the op it comes from.
    """
    import heapq

    ops = list(block.ops)
    position = {op: i for i, op in enumerate(ops)}
    after = {op: {use.operation for r in op.results for use in r.uses} for op in ops}
    for source, target in _control_pairs(ops):
        after[source].add(target)
    waiting = dict.fromkeys(ops, 0)
    for users in after.values():
        for user in users:
            if user in waiting:
                waiting[user] += 1
    ready = [position[op] for op in ops if not waiting[op]]
    heapq.heapify(ready)
    order: list[Operation] = []
    while ready:
        op = ops[heapq.heappop(ready)]
        order.append(op)
        for user in after[op]:
            if user in waiting:
                waiting[user] -= 1
                if not waiting[user]:
                    heapq.heappush(ready, position[user])
    return order if len(order) == len(ops) else None


def _control_pairs(ops: Sequence[Operation]) -> Iterator[tuple[Operation, Operation]]:
    """The ops that each control edge among `ops` connects; graph inputs come first anyway."""
    block = ops[0].parent if ops else None
    for op in ops:
        if isinstance(op, GeOp) and op.op_type == "control_edge":
            source, target = (value.owner for value in op.operands)
            if not isinstance(source, Operation) or not isinstance(target, Operation):
                continue
            if source.parent is block and target.parent is block:
                yield source, target
