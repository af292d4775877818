"""Where patterns match, and the reason where they do not (GE's matcher rules)."""

from __future__ import annotations

import pytest
from graph_text import graph, module_of, node, pattern

from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.errors import CompileError
from ge_xdsl.pattern.compile import CompiledPattern, compile_pattern
from ge_xdsl.pattern.graph import PatternGraph
from ge_xdsl.pattern.match import Match, MatcherConfig, match_at
from ge_xdsl.pattern.rule import Declined


def matches(compiled: CompiledPattern, text: str) -> list[tuple[str, ...]]:
    """The matched nodes at every root that matches; reference and compiled must agree."""
    func = graph(text)
    found: list[tuple[str, ...]] = []
    for op in func.body.block.ops:
        if not isinstance(op, GeOp) or op.op_type not in compiled.root_types:
            continue
        fast = compiled.match(op)
        slow = match_at(compiled.graph, compiled.config, op)
        assert (fast is None) == isinstance(slow, Declined), slow
        if fast is not None:
            assert isinstance(slow, Match)
            assert list(fast.targets) == list(slow.targets)
            assert list(fast.inputs) == list(slow.inputs)
            assert list(fast.boundary.nodes) == list(slow.boundary.nodes)
            found.append(tuple(t.node_name for t in fast.targets))
    return found


RELU_ADD = """
    a b
    r = Relu(a)
    y = Add(r, b)
    return y"""

CASES: dict[str, tuple[str, str, dict[str, bool], list[tuple[str, ...]]]] = {
    "single node, node order": (
        "a\n y = Relu(a)\n return y",
        "x\n r1 = Relu(x)\n r2 = Relu(r1)\n e = Exp(r2)\n r3 = Relu(e)\n return r3",
        {},
        [("r1",), ("r2",), ("r3",)],
    ),
    "constant by type": (
        "a\n c = Const 1.0\n y = Add(a, c)\n return y",
        "x\n c = Const 5.0\n y = Add(x, c)\n z = Add(x, y)\n return z",
        {},
        [("y", "c")],
    ),
    "Constant stands for Const": (
        "a\n c = Const 1.0\n y = Add(a, c)\n return y",
        "x\n c = Constant 5.0\n y = Add(x, c)\n return y",
        {},
        [("y", "c")],
    ),
    "constant value equal": (
        "a\n c = Const [1.0, 2.0, 3.0, 4.0]\n y = Add(a, c)\n return y",
        "x\n c = Const [1.0, 2.0, 3.0, 4.0]\n y = Add(x, c)\n return y",
        {"const_value": True},
        [("y", "c")],
    ),
    "constant value differs": (
        "a\n c = Const 1.0\n y = Add(a, c)\n return y",
        "x\n c = Const 1.5\n y = Add(x, c)\n return y",
        {"const_value": True},
        [],
    ),
    "minus zero is not zero": (
        "a\n c = Const 0.0\n y = Add(a, c)\n return y",
        "x\n c = Const -0.0\n y = Add(x, c)\n return y",
        {"const_value": True},
        [],
    ),
    "scalar is not a vector": (
        "a\n c = Const 1.0\n y = Add(a, c)\n return y",
        "x\n c = Const [1.0]\n y = Add(x, c)\n return y",
        {"const_value": True},
        [],
    ),
    "no commutativity": (
        RELU_ADD,
        "x z\n r = Relu(x)\n y = Add(z, r)\n w = Add(r, z)\n return y, w",
        {},
        [],
    ),
    "operand order": (
        RELU_ADD,
        "x z\n r = Relu(x)\n s = Relu(x)\n y = Add(z, r)\n w = Add(s, z)\n return y, w",
        {},
        [("w", "s")],
    ),
    "pattern input used twice": (
        "a\n y = Mul(a, a)\n return y",
        "x z\n y = Mul(x, x)\n w = Mul(x, z)\n return y, w",
        {},
        [("y",)],
    ),
    "two inputs on one tensor": (
        "a b\n y = Mul(a, b)\n return y",
        "x\n y = Mul(x, x)\n return y",
        {},
        [("y",)],
    ),
    "attributes ignored": (
        "a b\n y = MatMul(a, b)\n return y",
        "x z\n y = MatMul(x, z) transpose_x1=True\n return y",
        {},
        [("y",)],
    ),
    "attributes compared": (
        "a b\n y = MatMul(a, b)\n return y",
        "x z\n y = MatMul(x, z) transpose_x1=True\n w = MatMul(x, y) transpose_x1=False\n return w",
        {"ir_attr": True},
        [("w",)],
    ),
    "a default that f32 rounds": (
        "a b c\n y = LayerNorm(a, b, c)\n return y",
        "x g[4]\n y = LayerNorm(x, g, g) epsilon=1e-7\n return y",
        {"ir_attr": True},
        [("y",)],
    ),
    "types compared with attributes": (
        RELU_ADD,
        "x z\n r = Sigmoid(x)\n y = Add(r, z)\n return y",
        {"ir_attr": True},
        [],
    ),
    "types not compared upstream": (
        RELU_ADD,
        "x z\n r = Sigmoid(x)\n y = Add(r, z)\n return y",
        {"ir_attr": True, "upstream_quirks": True},
        [("y", "r")],
    ),
    "one node for two": (
        "a b\n r = Relu(a)\n s = Relu(b)\n y = Add(r, s)\n return y",
        "x\n r = Relu(x)\n y = Add(r, r)\n return y",
        {},
        [],
    ),
    "one node for two upstream": (
        "a b\n r = Relu(a)\n s = Relu(b)\n y = Add(r, s)\n return y",
        "x\n r = Relu(x)\n y = Add(r, r)\n return y",
        {"upstream_quirks": True},
        [("y", "r", "r")],
    ),
    "one constant for two": (
        "-\n c = Const 1.0\n d = Const 2.0\n y = Add(c, d)\n return y",
        "-\n c = Const 1.0\n y = Add(c, c)\n return y",
        {},
        [("y", "c", "c")],
    ),
    "two outputs of a node are two tensors": (
        "a\n y = Add(a, a)\n return y",
        "x\n d = Const int32 0\n s = Split(d, x) num_split=2 results=2\n"
        " y = Add(s:0, s:1)\n return y",
        {},
        [],
    ),
    "two outputs of a node are one upstream": (
        "a\n y = Add(a, a)\n return y",
        "x\n d = Const int32 0\n s = Split(d, x) num_split=2 results=2\n"
        " y = Add(s:0, s:1)\n return y",
        {"upstream_quirks": True},
        [("y",)],
    ),
    "interior read outside": (
        "a\n b = Abs(a)\n y = Relu(b)\n return y",
        "x\n a = Abs(x)\n r = Relu(a)\n e = Exp(a)\n return r, e",
        {},
        [],
    ),
    "interior exposed as output": (
        "a\n b = Abs(a)\n y = Relu(b)\n return y, b",
        "x\n a = Abs(x)\n r = Relu(a)\n e = Exp(a)\n return r, e",
        {},
        [("r", "a")],
    ),
    "interior is a graph output": (
        "a\n b = Abs(a)\n y = Relu(b)\n return y",
        "x\n a = Abs(x)\n r = Relu(a)\n return r, a",
        {},
        [],
    ),
    "shared constant blocks": (
        "a\n c = Const 1.0\n y = Mul(a, c)\n return y",
        "x\n c = Const 2.0\n m = Mul(x, c)\n k = Mul(m, c)\n return k",
        {},
        [],
    ),
    "shared constant exposed": (
        "a\n c = Const 1.0\n y = Mul(a, c)\n return y, c",
        "x\n c = Const 2.0\n m = Mul(x, c)\n k = Mul(m, c)\n return k",
        {},
        [("m", "c"), ("k", "c")],
    ),
    "control edge is no consumer": (
        "a\n b = Abs(a)\n y = Relu(b)\n return y",
        "x\n a = Abs(x)\n r = Relu(a)\n e = Exp(x)\n a -ctrl-> e\n return r, e",
        {},
        [("r", "a")],
    ),
    "input is interior for another": (
        RELU_ADD,
        "x\n r = Relu(x)\n y = Add(r, r)\n return y",
        {},
        [("y", "r")],
    ),
    "diamond": (
        "a\n b = Abs(a)\n r = Relu(b)\n e = Exp(b)\n y = Add(r, e)\n return y",
        "x\n b = Abs(x)\n r = Relu(b)\n e = Exp(b)\n y = Add(r, e)\n return y",
        {},
        [("y", "r", "e", "b")],
    ),
    "diamond needs one node": (
        "a\n b = Abs(a)\n r = Relu(b)\n e = Exp(b)\n y = Add(r, e)\n return y",
        "x\n b = Abs(x)\n c = Abs(x)\n r = Relu(b)\n e = Exp(c)\n y = Add(r, e)\n return y",
        {},
        [],
    ),
    "optional operand given": (
        "a b c[4]\n y = MatMul(a, b, c)\n return y",
        "x z c[4]\n y = MatMul(x, z)\n w = MatMul(x, z, c)\n return y, w",
        {},
        [("w",)],
    ),
    "another optional operand": (
        "a b c[4]\n y = MatMulV2(a, b, c)\n return y",
        "x z c[4]\n y = MatMulV2(x, z, -, c) typed=True\n return y",
        {},
        [],
    ),
    "another optional operand upstream": (
        "a b c[4]\n y = MatMulV2(a, b, c)\n return y",
        "x z c[4]\n y = MatMulV2(x, z, -, c) typed=True\n return y",
        {"upstream_quirks": True},
        [("y",)],
    ),
    "unrelated outputs, first candidate": (
        "a b\n r = Relu(a)\n e = Exp(b)\n return r, e",
        "x\n e1 = Exp(x)\n r1 = Relu(x)\n e2 = Exp(x)\n return e1, r1, e2",
        {},
        [("r1", "e1")],
    ),
    "two outputs of one type": (
        "a b\n r = Relu(a)\n s = Relu(b)\n return r, s",
        "x\n r1 = Relu(x)\n r2 = Relu(x)\n return r1, r2",
        {},
        [("r1", "r2"), ("r2", "r1")],
    ),
    "two outputs of one type upstream": (
        "a b\n r = Relu(a)\n s = Relu(b)\n return r, s",
        "x\n r1 = Relu(x)\n r2 = Relu(x)\n return r1, r2",
        {"upstream_quirks": True},
        [("r1", "r1"), ("r2", "r1")],
    ),
    "outputs share an input, backtracking": (
        "a b c\n m = MatMul(a, b)\n k = MatMul(a, c)\n t = Tanh(k)\n return m, t",
        "x y z\n m1 = MatMul(y, z)\n m2 = MatMul(x, y)\n m3 = MatMul(x, z)\n t = Tanh(m3)\n"
        " return m1, m2, t",
        {},
        [("m2", "t", "m3")],
    ),
    "boundary failure tries the next candidate": (
        "a b c\n m = MatMul(a, b)\n r = Relu(m)\n k = Mul(a, c)\n t = Tanh(k)\n return r, t",
        "x y\n m = MatMul(x, y)\n r = Relu(m)\n k1 = Mul(x, y)\n t1 = Tanh(k1)\n"
        " k2 = Mul(x, y)\n t2 = Tanh(k2)\n return r, t1, t2, k1",
        {},
        [("r", "m", "t2", "k2")],
    ),
    "output that is a pattern input": (
        "a\n r = Relu(a)\n return r, a",
        "x\n r = Relu(x)\n s = Relu(r)\n return s",
        {},
        [("r",)],
    ),
    "input first seen as an output": (
        "a b\n r = Relu(a)\n t = Tanh(b)\n return r, b, t",
        "x y\n r = Relu(x)\n u = Tanh(r)\n t = Tanh(y)\n return u, t",
        {},
        [("r", "t")],
    ),
    "output order is not the operand order": (
        "a\n b = Abs(a)\n r = Relu(b)\n return b, r",
        "x\n a = Abs(x)\n r = Relu(a)\n s = Relu(a)\n return r, s",
        {},
        [("a", "r")],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_matches(name: str) -> None:
    wanted, target, config, expected = CASES[name]
    assert matches(pattern(wanted, **config), target) == expected


DEEP = """
    a w b
    m = MatMul(a, w)
    y = Add(m, b)
    return y"""

REASONS: dict[str, tuple[str, str, str, dict[str, bool], str, int]] = {
    "type, and where the expected one is": (
        DEEP,
        "x w b\n m = MatMul(x, w)\n s = Mul(m, b)\n y = Add(s, b)\n return y",
        "y",
        {},
        "operand 0: is Mul, expected MatMul (MatMul is one step further)",
        1,
    ),
    "swapped": (
        DEEP,
        "x w b\n m = MatMul(x, w)\n y = Add(b, m)\n return y",
        "y",
        {},
        "operand 0: is graph input 'b', expected MatMul (matches with operands 0 and 1 swapped)",
        1,
    ),
    "outside reader": (
        DEEP,
        "x w b\n m = MatMul(x, w)\n e = Exp(m)\n y = Add(m, b)\n return y, e",
        "y",
        {},
        "ge.MatMul 'm' is used outside the match by ge.Exp 'e', expected no other consumer",
        2,
    ),
    "outside graph output": (
        DEEP,
        "x w b\n m = MatMul(x, w)\n y = Add(m, b)\n return y, m",
        "y",
        {},
        "ge.MatMul 'm' is used outside the match by the graph output, expected no other consumer",
        2,
    ),
    "shared constant": (
        "a\n c = Const 1.0\n y = Mul(a, c)\n return y",
        "x\n c = Const 2.0\n m = Mul(x, c)\n k = Mul(m, c)\n return k",
        "k",
        {},
        "constant is used outside the match by ge.Mul 'm', expected no other consumer",
        2,
    ),
    "constant value": (
        "a\n c = Const 1.0\n y = Mul(a, c)\n return y",
        "x\n c = Const 2.0\n y = Mul(x, c)\n return y",
        "y",
        {"const_value": True},
        "operand 1: const value is 2.0, expected 1.0 (the only difference)",
        1,
    ),
    "constant type": (
        "a\n c = Const 1.0\n y = Mul(a, c)\n return y",
        "x\n c = Const [1.0]\n y = Mul(x, c)\n return y",
        "y",
        {"const_value": True},
        "operand 1: const is tensor<1xf32>, expected tensor<f32> (the only difference)",
        1,
    ),
    "attribute": (
        DEEP,
        "x w b\n m = MatMul(x, w) transpose_x1=True\n y = Add(m, b)\n return y",
        "y",
        {"ir_attr": True},
        "operand 0: attribute transpose_x1 is true, expected false (the only difference)",
        1,
    ),
    "another tensor": (
        "a\n r = Relu(a)\n y = Add(r, a)\n return y",
        "x z\n r = Relu(x)\n y = Add(r, z)\n return y",
        "y",
        {},
        "operand 0: is graph input 'x', expected graph input 'z' as elsewhere",
        2,
    ),
    "another node": (
        "a\n b = Abs(a)\n y = Mul(b, b)\n return y",
        "x\n a = Abs(x)\n c = Abs(x)\n y = Mul(a, c)\n return y",
        "y",
        {},
        "operand 1: is ge.Abs 'c', expected 'a' as elsewhere",
        2,
    ),
    "the same node twice": (
        "a b\n r = Relu(a)\n s = Relu(b)\n y = Add(r, s)\n return y",
        "x\n r = Relu(x)\n y = Add(r, r)\n return y",
        "y",
        {},
        "operand 1: is ge.Relu 'r' again, expected another Relu",
        2,
    ),
    "missing optional operand": (
        "a b c[4]\n y = MatMulV2(a, b, c)\n return y",
        "x z c[4]\n y = MatMulV2(x, z, -, c) typed=True\n return y",
        "y",
        {},
        "operand 'bias' is missing, expected it",
        0,
    ),
    "operand count": (
        "a b c[4]\n y = MatMul(a, b, c)\n return y",
        "x z\n y = MatMul(x, z)\n return y",
        "y",
        {},
        "MatMul has 2 operands, expected 3",
        0,
    ),
    "no candidate for output 1": (
        "a b\n r = Relu(a)\n e = Exp(b)\n return r, e",
        "x\n r = Relu(x)\n return r",
        "r",
        {},
        "output 1: no candidate in the graph",
        1,
    ),
    "an input that depends on an output": (
        "a b\n r = Relu(a)\n t = Tanh(b)\n return r, t",
        "x\n r = Relu(x)\n t = Tanh(r)\n return t",
        "r",
        {},
        "pattern input 1 is computed from an output of the match, expected a tensor from outside",
        2,
    ),
}


@pytest.mark.parametrize("name", REASONS)
def test_reason_of_a_miss(name: str) -> None:
    wanted, target, root, config, reason, progress = REASONS[name]
    compiled = pattern(wanted, **config)
    func = graph(target)
    outcome = compiled.explain(node(func, root))
    assert isinstance(outcome, Declined)
    assert (outcome.reason, outcome.progress) == (reason, progress)
    assert compiled.match(node(func, root)) is None


INVALID = {
    "dynamic input": (
        "a b\n d = Const int32 0\n y = Concat(d, a, b)\n return y",
        "ge.Concat 'y': 'x' is dynamic input",
    ),
    "dynamic output": (
        "a\n d = Const int32 0\n s = Split(d, a) num_split=2 results=2\n return s",
        "ge.Split 's': 'y' is dynamic output",
    ),
    "control edge": (
        "a\n r = Relu(a)\n e = Exp(r)\n r -ctrl-> e\n return e",
        "ge.Relu 'r': has control edge",
    ),
    "no output": ("a\n r = Relu(a)\n return", "the pattern has no output"),
    "output 0 is an input": (
        "a\n r = Relu(a)\n return a, r",
        "output 0 is a pattern input, expected a node",
    ),
    "input without consumer": (
        "a b\n r = Relu(a)\n return r, b",
        "pattern input 1 is only returned, expected a node that uses it",
    ),
}


@pytest.mark.parametrize("name", INVALID)
def test_invalid_pattern_says_why(name: str) -> None:
    text, reason = INVALID[name]
    patterns = PatternGraph.from_function(graph(text, "p"))
    assert reason in patterns.validate()
    with pytest.raises(CompileError, match="pattern 'p'"):
        compile_pattern(patterns)


def test_pattern_with_a_cycle_or_a_subgraph_is_invalid() -> None:
    func = graph("a\n r = Relu(a)\n s = Relu(r)\n return s", "p")
    node(func, "r").operands[0] = node(func, "s").results[0]
    assert PatternGraph.from_function(func).validate() == ["the pattern has a cycle"]


def test_match_tells_nodes_tensors_and_captures() -> None:
    func = graph("a w b\n m = MatMul(a, w)\n y = Add(m, b)\n return y", "p")
    m = node(func, "m")
    captures = [(m, 0), (func.body.block.args[2], 0), (node(func, "y"), 0)]
    compiled = compile_pattern(PatternGraph.from_function(func, captures, "Fuse"))
    target = graph("x w\n b = Abs(x)\n m2 = MatMul(x, w)\n y2 = Add(m2, b)\n return y2")
    module_of(target)
    match = compiled.match(node(target, "y2"))
    assert match is not None
    assert match.pattern_name == "Fuse"
    assert match.nodes[m] is node(target, "m2")
    assert [op.node_name for op in match.matched_nodes()] == ["m2", "y2"]
    assert match.captured(0) == (node(target, "m2"), 0)
    assert match.captured(1) == (node(target, "b"), 0)
    assert match.captured(2) == (node(target, "y2"), 0)
    args = target.body.block.args
    assert list(match.inputs) == [args[0], args[1], node(target, "b").results[0]]
    assert match.boundary.consumers(2) == [(node(target, "y2"), 1)]
    assert str(match) == "[PatternName:Fuse][MatchNodesPair]{{Add:y2, MatMul:m2}}"
    with pytest.raises(CompileError, match="captured tensor 3 does not exist, the pattern"):
        match.captured(3)


def test_capture_of_an_unreached_node_was_not_matched() -> None:
    func = graph("a\n e = Exp(a)\n y = Relu(a)\n return y", "p")
    compiled = compile_pattern(PatternGraph.from_function(func, [(node(func, "e"), 0)]))
    target = graph("x\n y = Relu(x)\n return y")
    match = compiled.match(node(target, "y"))
    assert match is not None
    with pytest.raises(CompileError, match="captured tensor 0 was not matched, expected one"):
        match.captured(0)


def test_capture_of_a_graph_input_is_the_block_argument() -> None:
    func = graph("a\n y = Relu(a)\n return y", "p")
    compiled = compile_pattern(PatternGraph.from_function(func, [(func.body.block.args[0], 0)]))
    target = graph("x\n y = Relu(x)\n return y")
    match = compiled.match(node(target, "y"))
    assert match is not None
    assert match.captured(0) == (target.body.block.args[0], 0)


def test_source_is_readable_and_has_no_isa() -> None:
    source = pattern(DEEP, ir_attr=True).source
    assert "def branch_0(op, nodes, values):" in source
    assert "type(n1) is not MatMulOp_" in source
    assert "isa(" not in source


def test_weightless_pattern_constant_matches_any() -> None:
    func = graph("a\n c = Const 1.0\n y = Mul(a, c)\n return y", "p")
    del node(func, "c").properties["value"]
    config = MatcherConfig(const_value=True)
    compiled = compile_pattern(PatternGraph.from_function(func), config)
    target = graph("x\n c = Const 7.0\n y = Mul(x, c)\n return y")
    assert compiled.match(node(target, "y")) is not None
    del node(target, "c").properties["value"]
    exact = pattern("a\n c = Const 1.0\n y = Mul(a, c)\n return y", const_value=True)
    outcome = exact.explain(node(target, "y"))
    assert isinstance(outcome, Declined)
    assert outcome.reason == "operand 1: const has no value, expected one (the only difference)"
