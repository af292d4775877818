"""Pattern rules as text: in xDSL's `pdl` dialect where it can say what the pattern means.

PDL has no closure rule, no search for further outputs and no defaults of attributes. What a
pattern asks beyond the PDL text stands in a comment; where the text would match something else,
the pattern is printed as the graph of GE ops that it is, after the reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO
from itertools import pairwise

from xdsl.dialects import pdl
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, BlockArgument, Region, SSAValue
from xdsl.printer import Printer

from ge_xdsl.dialects.ge.names import describe, ssa_name
from ge_xdsl.dialects.ge.op import OPERAND_SEGMENTS, RESULT_SEGMENTS, GeOp
from ge_xdsl.pattern.access import operands_of, producer
from ge_xdsl.pattern.graph import PatternGraph, is_constant
from ge_xdsl.pattern.match import MatcherConfig

SHOWN = 60
"""Longer attribute texts are cut in comments."""


def rule_text(
    graph: PatternGraph,
    config: MatcherConfig,
    hook: str,
    replacement: FuncOp | None,
    name: str,
    more: Sequence[str] = (),
) -> str:
    """One rule: comments, then PDL or the two graphs. Ends with a newline.

    `replacement`: the graph that `hook` makes for the pattern's own graph, None where it asks for
    more than that has. `name`: what the PDL pattern is called. `more`: what else the rule accepts.
    """
    problem = pdl_problem(graph, config)
    if problem:
        lines = [
            f"// {name}",
            f"// not expressible in PDL: {problem}",
            *(f"// beyond the graph: {text}" for text in more),
            *graph_lines(graph.func, "pattern"),
        ]
        if replacement is not None:
            lines += graph_lines(replacement, "replacement")
        return "\n".join(lines) + "\n"
    notes = [f"// beyond PDL: {text}" for text in [*beyond_pdl(graph), *more]]
    if replacement is not None and (extra := _replacement_problem(replacement)):
        notes += [f"// the replacement has {extra}", *graph_lines(replacement, "replacement")]
        replacement = None
    elif replacement is not None:
        notes.append("// the replacement is the one for the pattern's own graph")
    stream = StringIO()
    Printer(stream).print_op(_pattern_op(graph, config, hook, replacement, name))
    return "\n".join([*notes, stream.getvalue()]) + "\n"


def pdl_problem(graph: PatternGraph, config: MatcherConfig) -> str:
    """Why PDL cannot say what a pattern matches, '' when it can."""
    if len(graph.outputs) > 1:
        return "the nodes of several outputs are searched for, with backtracking"
    for value, mark in graph.marks.items():
        if mark.variadic or mark.optional:
            index = value.index if isinstance(value, BlockArgument) else 0
            how = "one or more tensors" if mark.variadic else "a tensor or for none"
            return f"input {index} stands for {how}"
    for op in graph.nodes:
        given = op.operand_counts()
        if any(not a and b for a, b in pairwise(given)):
            return f"{describe(op)} has a gap among its operands, PDL counts them only"
        if config.ir_attr and any(not spec.required for spec in op.prototype.attrs):
            return f"attributes of {describe(op)} are compared with their defaults filled in"
        value = op.properties.get("value") if config.const_value and is_constant(op) else None
        if value is not None and not isinstance(value, DenseIntOrFPElementsAttr):
            return f"{describe(op)} is compared with data from outside the text"
    return ""


def beyond_pdl(graph: PatternGraph) -> list[str]:
    """What a pattern asks for and its PDL text leaves out."""
    notes: list[str] = []
    if len(graph.nodes) > 1:
        notes.append("nothing else reads an inner node")
    kinds = [op.op_type for op in graph.nodes if not is_constant(op)]
    if len(kinds) > len(set(kinds)):
        notes.append("two nodes stand for two ops")
    if any(is_constant(op) for op in graph.nodes):
        notes.append("Const and Constant stand for each other")
    return notes


def _replacement_problem(replacement: FuncOp) -> str:
    ops = [op for op in replacement.body.block.ops if isinstance(op, GeOp)]
    if any(op.regions for op in ops):
        return "subgraphs, which PDL has not"
    weights = [op for op in ops if is_constant(op) and not _dense(op.properties.get("value"))]
    return "data from outside the text" if weights else ""


def _dense(attr: Attribute | None) -> bool:
    return isinstance(attr, DenseIntOrFPElementsAttr)


def graph_lines(func: FuncOp, title: str) -> list[str]:
    """A graph as comment lines: one per node, without types."""
    names: dict[SSAValue, str] = {arg: f"%in{arg.index}" for arg in func.body.block.args}
    lines = [f"{title}({', '.join(names.values())}) {{"]
    for op in func.body.block.ops:
        operands = ", ".join(names[value] for value in op.operands)
        if not isinstance(op, GeOp):
            lines.append(f"  return {operands}")
            continue
        name = ssa_name(op.node_name or op.op_type)
        many = len(op.results) > 1
        names |= {r: f"%{name}#{r.index}" if many else f"%{name}" for r in op.results}
        attrs = ", ".join(
            f"{key} = {_short(attr)}" for key, attr in _attributes(op, segments=False).items()
        )
        text = f"  %{name} = {op.name}({operands})"
        lines.append(f"{text} {{{attrs}}}" if attrs else text)
    return [f"// {line}" for line in [*lines, "}"]]


def _short(attr: Attribute) -> str:
    text = str(attr)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def _pattern_op(
    graph: PatternGraph, config: MatcherConfig, hook: str, replacement: FuncOp | None, name: str
) -> pdl.PatternOp:
    body = Block()
    values: dict[SSAValue, SSAValue] = {}
    ops: dict[GeOp, SSAValue] = {}
    for arg in graph.used_inputs:
        values[arg] = _added(body, pdl.OperandOp(), f"in{arg.index}")
    for op in graph.post_order:
        known = op.properties.get("value") if is_constant(op) and config.const_value else None
        attrs = {"value": known} if known is not None else {}
        if config.ir_attr:
            attrs = {**_attributes(op, segments=False), **attrs}
        types = [_added(body, pdl.TypeOp(), "type") for _ in op.results]
        ops[op] = _operation(body, op, [values[v] for v in operands_of(op)], attrs, types)
        for result in op.results:
            if result.uses and any(use.operation in graph.nodes for use in result.uses):
                made = pdl.ResultOp(result.index, ops[op])
                values[result] = _added(body, made, result.name_hint or op.op_type)
    root = producer(graph.outputs[0])
    assert isinstance(root, GeOp)
    if replacement is None:
        inputs = [values[arg] for arg in graph.used_inputs]
        body.add_op(pdl.RewriteOp(ops[root], Region(), hook, inputs))
    else:
        body.add_op(_rewrite(graph, ops[root], values, replacement))
    return pdl.PatternOp(1, ssa_name(name), Region(body))


def _rewrite(
    graph: PatternGraph, root: SSAValue, values: dict[SSAValue, SSAValue], new: FuncOp
) -> pdl.RewriteOp:
    """The replacement's ops; types are those that inference gives."""
    body = Block()
    made: dict[SSAValue, SSAValue] = {
        arg: values[old] for arg, old in zip(new.body.block.args, graph.used_inputs, strict=True)
    }
    *_, last = new.body.block.ops
    for op in new.body.block.ops:
        if isinstance(op, GeOp):
            operands = [made[value] for value in operands_of(op)]
            handle = _operation(body, op, operands, _attributes(op, segments=True), [])
            for result in op.results:
                if result.first_use is not None:
                    found = pdl.ResultOp(result.index, handle)
                    made[result] = _added(body, found, result.name_hint or op.op_type)
    body.add_op(pdl.ReplaceOp(root, repl_values=[made[value] for value in operands_of(last)]))
    return pdl.RewriteOp(root, Region(body))


def _attributes(op: GeOp, segments: bool) -> dict[str, Attribute]:
    """The declared attributes of an op, with `segments` also how its operands are divided."""
    counts = (OPERAND_SEGMENTS, RESULT_SEGMENTS)
    return {name: attr for name, attr in op.properties.items() if segments or name not in counts}


def _operation(
    body: Block,
    op: GeOp,
    operands: Sequence[SSAValue],
    attrs: dict[str, Attribute],
    types: Sequence[SSAValue],
) -> SSAValue:
    given = [_added(body, pdl.AttributeOp(attr), name) for name, attr in attrs.items()]
    names = [StringAttr(name) for name in attrs]
    made = pdl.OperationOp(op.name, names, operands, given, types)
    return _added(body, made, f"{ssa_name(op.node_name or op.op_type)}_op")


def _added(
    body: Block,
    op: pdl.OperandOp | pdl.TypeOp | pdl.AttributeOp | pdl.OperationOp | pdl.ResultOp,
    name: str,
) -> SSAValue:
    body.add_op(op)
    op.results[0].name_hint = ssa_name(name)
    return op.results[0]
