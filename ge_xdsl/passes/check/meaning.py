"""What the graphs of a module compute, as text that says nothing of names and order."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, BlockArgument, SSAValue

from ge_xdsl.dialects.ge.graph import functions
from ge_xdsl.dialects.ge.op import GeOp


def meaning(module: ModuleOp) -> list[str]:
    """A text per graph: the ops that its outputs need, numbered from the outputs.

    Two modules with equal texts compute the same by the same ops. Of subgraphs only the kinds of
    ops are told.
    """
    return [_graph_text(func.body.block) for func in functions(module)]


def _graph_text(block: Block) -> str:
    known: dict[SSAValue, str] = {}
    lines: list[str] = []
    last = block.last_op
    outputs = () if last is None else last.operands
    stack = list(reversed(outputs))
    while stack:
        value = stack.pop()
        if value in known:
            continue
        op = value.owner
        if isinstance(value, BlockArgument) or not isinstance(op, GeOp):
            index = value.index if isinstance(value, BlockArgument) else -1
            known[value] = f"argument {index}"
            continue
        missing = [v for v in op.operands if v not in known]
        if missing:
            stack += [value, *reversed(missing)]
            continue
        known |= {r: f"{len(lines)}:{r.index}" for r in op.results}
        lines.append(_op_text(op, [known[v] for v in op.operands]))
    return "\n".join([*lines, f"return {', '.join(known[v] for v in outputs)}"])


def _op_text(op: GeOp, operands: list[str]) -> str:
    properties = ", ".join(sorted(f"{key} = {attr}" for key, attr in op.properties.items()))
    types = ", ".join(str(result.type) for result in op.results)
    inner = [child.name for region in op.regions for child in region.walk()]
    return f"{op.name}({', '.join(operands)}) {{{properties}}} {inner or ''} -> {types}"
