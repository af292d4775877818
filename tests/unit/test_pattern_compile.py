"""The compiled matcher against the reference on random graphs and patterns."""

from __future__ import annotations

import pytest
from graph_text import graph, module_of
from hypothesis import given, settings
from hypothesis import strategies as st

from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.errors import PassError
from ge_xdsl.pattern.compile import compile_pattern
from ge_xdsl.pattern.graph import PatternGraph
from ge_xdsl.pattern.match import Match, MatcherConfig, match_at
from ge_xdsl.pattern.rule import Declined

UNARY = ("Relu", "Exp")
BINARY = ("Add", "Mul")


@st.composite
def texts(draw: st.DrawFn, inputs: int, least: int, most: int, outputs: int) -> str:
    """A random graph over few op types, so that patterns have a chance to match."""
    names = [f"x{i}" for i in range(inputs)]
    lines = [" ".join(names)]
    nodes: list[str] = []
    for k in range(draw(st.integers(least, most))):
        kind = draw(st.sampled_from(("unary", "binary", "binary", "matmul", "const")))
        pick = st.sampled_from(names[-5:])
        if kind == "const":
            lines.append(f"n{k} = Const {draw(st.sampled_from(('0.0', '1.0', '[1.0]')))}")
        elif kind == "unary":
            lines.append(f"n{k} = {draw(st.sampled_from(UNARY))}({draw(pick)})")
        elif kind == "binary":
            lines.append(f"n{k} = {draw(st.sampled_from(BINARY))}({draw(pick)}, {draw(pick)})")
        else:
            flag = draw(st.booleans())
            lines.append(
                f"n{k} = MatMul({draw(pick)}, {draw(pick)}) typed=True transpose_x1={flag}"
            )
        names.append(f"n{k}")
        nodes.append(f"n{k}")
    some = draw(st.lists(st.sampled_from(nodes), min_size=1, max_size=outputs, unique=True))
    lines.append(f"return {', '.join(some)}")
    return "\n".join(lines)


@settings(max_examples=200, deadline=None)
@given(
    wanted=texts(2, 1, 4, 2),
    target=texts(2, 3, 14, 4),
    config=st.builds(MatcherConfig, st.booleans(), st.booleans(), st.booleans()),
)
def test_compiled_agrees_with_reference(wanted: str, target: str, config: MatcherConfig) -> None:
    patterns = PatternGraph.from_function(graph(wanted, "p"))
    if patterns.validate():
        return
    compiled = compile_pattern(patterns, config)
    func = graph(target)
    module_of(func)
    for op in func.body.block.ops:
        if not isinstance(op, GeOp) or op.op_type not in compiled.root_types:
            continue
        fast, slow = compiled.match(op), match_at(patterns, config, op)
        if fast is None:
            assert not isinstance(slow, Match)
            continue
        assert isinstance(slow, Match)
        assert list(fast.targets) == list(slow.targets)
        assert list(fast.inputs) == list(slow.inputs)
        assert list(fast.outputs) == list(slow.outputs)
        assert list(fast.boundary.nodes) == list(slow.boundary.nodes)
        assert fast.boundary.problem() == "" or config.upstream_quirks


@settings(max_examples=100, deadline=None)
@given(target=texts(2, 3, 12, 3), data=st.data())
def test_a_part_of_a_graph_matches_itself(target: str, data: st.DataObject) -> None:
    """A pattern cut out of the graph, all inner tensors exposed, matches where it was cut."""
    func = graph(target)
    module_of(func)
    roots = [op for op in func.body.block.ops if isinstance(op, GeOp) and op.operands]
    if not roots:
        return
    root = data.draw(st.sampled_from(roots))
    lines = target.splitlines()
    line = next(text for text in lines if text.startswith(f"{root.node_name} = "))
    head, _, tail = line.partition("(")
    names = tail.partition(")")[0].split(", ")
    fresh = {name: f"a{i}" for i, name in enumerate(dict.fromkeys(names))}
    operands = ", ".join(fresh[name] for name in names)
    cut = f"{' '.join(fresh.values())}\n{head}({operands}){tail.partition(')')[2]}\n"
    patterns = PatternGraph.from_function(graph(f"{cut}return {root.node_name}", "p"))
    match = compile_pattern(patterns, MatcherConfig(ir_attr=True)).match(root)
    assert match is not None
    assert match.root is root


def many_relus(last: str) -> PatternGraph:
    """A pattern with ten outputs Relu of inputs of their own, and one more output."""
    names = [f"x{i}" for i in range(11)]
    relus = [f"r{i} = Relu(x{i})" for i in range(10)]
    outputs = ", ".join([*(f"r{i}" for i in range(10)), "z"])
    return PatternGraph(graph("\n".join([" ".join(names), *relus, last, f"return {outputs}"])))


def twenty_relus(last: str) -> list[GeOp]:
    relus = [f"r{i} = Relu(x)" for i in range(20)]
    outputs = ", ".join([*(f"r{i}" for i in range(20)), "z"])
    func = graph("\n".join(["x", *relus, last, f"return {outputs}"]))
    return [op for op in func.body.block.ops if isinstance(op, GeOp)]


def test_an_output_that_is_nowhere_ends_the_search() -> None:
    compiled = compile_pattern(many_relus("a = Abs(x10)\n z = Neg(a)"))
    root, *_ = twenty_relus("a = Exp(x)\n z = Neg(a)")
    assert compiled.match(root) is None
    outcome = compiled.explain(root)
    assert isinstance(outcome, Declined)
    assert outcome.reason.startswith("output 10 at ge.Neg 'z': operand 0: is Exp, expected Abs")


def test_too_many_combinations_are_an_error() -> None:
    compiled = compile_pattern(many_relus("a = Abs(x9)\n z = Neg(a)"))
    root, *_ = twenty_relus("a = Abs(r0)\n z = Neg(a)")
    with pytest.raises(PassError) as caught:
        compiled.match(root)
    assert caught.value.message == (
        "more than 100000 combinations of nodes fit some of the 11 outputs at ge.Relu 'r0', "
        "expected outputs that share tensors"
    )
