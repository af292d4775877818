"""GE's own unit tests of its fusion engine, by what they pin, one row per behaviour: matching.

Upstream has 207 tests in 19 files (`tests/ge/ut/ge/fusion`); `engine_behaviours` lists them all
with the test that holds each, here, in `test_engine_conformance_passes` or with the API's own.
"""

from __future__ import annotations

import pytest
from engine_case import all_matches, boundary, unary
from graph_text import graph, module_of, node, pattern

from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.errors import CompileError
from ge_xdsl.pattern.boundary import makes_cycle
from ge_xdsl.pattern.compile import compile_pattern
from ge_xdsl.pattern.graph import PatternGraph
from ge_xdsl.pattern.match import Match, MatcherConfig
from ge_xdsl.pattern.rule import Declined


def names(match: Match) -> tuple[str, ...]:
    return tuple(op.node_name for op in match.targets)


ADD_CONST = "a\n c = Const 1.0\n y = Add(a, c)\n return y"
TOP = "a b\n m = Add(a, b)\n r = Relu(m)\n e = Exp(m)\n return r, e"
SPLIT = "a\n d = Const int32 0\n s = SplitD(a) split_dim=0 num_split=2 results=2\n"
BN = "x[1,4,4,4] s[4]\n"

MATCHES: dict[str, tuple[str, str, dict[str, bool], list[tuple[str, ...]]]] = {
    # upstream test: pattern, graph, config, the matched nodes of each match
    "SingleNode_1Input_1Output": (
        "a\n y = Relu(a)\n return y",
        "x\n"
        + "\n".join(f"r{i} = Relu({f'r{i - 1}' if i else 'x'})" for i in range(6))
        + "\nreturn r5",
        {},
        [(f"r{i}",) for i in range(6)],
    ),
    "SingleNode_2Input_WithConst": (
        ADD_CONST,
        "x\n c = Const 1.0\n d = Const 2.0\n p = Add(x, c)\n q = Add(p, d)\n w = Add(p, q)\n"
        " return w",
        {},
        [("p", "c"), ("q", "d")],
    ),
    "SingleNode_2Input_WithConst_EnableValueMatch_ValueMiss": (
        ADD_CONST,
        "x\n c = Const 3.0\n d = Const 2.0\n p = Add(x, c)\n q = Add(p, d)\n return q",
        {"const_value": True},
        [],
    ),
    "TwoNode_WithConst": (
        "a\n c = Const 1.0\n y = Add(a, c)\n r = Relu(y)\n return r",
        "x\n c = Const 1.0\n d = Const 2.0\n p = Add(x, c)\n q = Relu(p)\n w = Add(q, d)\n"
        " return w",
        {},
        [("q", "p", "c")],
    ),
    "3Node_1Input_2Output_Match": (
        TOP,
        "x z\n m = Add(x, z)\n r = Relu(m)\n e = Exp(m)\n return r, e",
        {},
        [("r", "m", "e")],
    ),
    "PatternInput_MultiConsumer_Match": (
        "a\n r = Relu(a)\n e = Exp(a)\n return r, e",
        "x\n n = Neg(x)\n e = Exp(n)\n r = Relu(n)\n return r, e",
        {},
        [("r", "e")],
    ),
    "PatternInput_MultiConsumer_ProducerIsDiff_Miss": (
        "a\n r = Relu(a)\n e = Exp(a)\n return r, e",
        "x z\n r = Relu(x)\n e = Exp(z)\n return r, e",
        {},
        [],
    ),
    "3Node_Miss": (TOP, "x z\n m = Add(x, z)\n r = Relu(m)\n e = Exp(r)\n return e", {}, []),
    "PartialOutputAnchors": (
        "a\n m = ArgMaxWithValue(a) dimension=0\n return m",
        "x\n m = ArgMaxWithValue(x) dimension=0\n r = Relu(m:1)\n return m, r",
        {},
        [("m",)],
    ),
    "PartialOutputAnchors_Attr": (
        "a\n m = ArgMaxWithValue(a) dimension=0\n return m",
        "x\n m = ArgMaxWithValue(x) dimension=0\n r = Relu(m:1)\n return m, r",
        {"ir_attr": True},
        [("m",)],
    ),
    "PartialOutputAnchors_AttrValueMiss": (
        "a\n m = ArgMaxWithValue(a) dimension=0\n return m",
        "x\n m = ArgMaxWithValue(x) dimension=1\n r = Relu(m:1)\n return m, r",
        {"ir_attr": True},
        [],
    ),
    "output index of a multi-output node": (
        "a\n m = ArgMaxWithValue(a) dimension=0\n y = Cast(m:0) dst_type=1\n return y",
        "x\n m = ArgMaxWithValue(x) dimension=0\n r = Cast(m:0) dst_type=1\n"
        " k = ArgMaxWithValue(x) dimension=0\n s = Cast(k:1) dst_type=1\n return r, s",
        {},
        [("r", "m")],
    ),
    "Const and Constant in one bucket": (
        "-\n c = Const 1.0\n return c",
        "-\n p = Const 1.0\n q = Constant 2.0\n r = Const 3.0\n y = Add(p, q)\n return y, r",
        {},
        [("p",), ("q",), ("r",)],
    ),
    "candidates of output 1 in node order": (
        "a\n r = Relu(a)\n e = Exp(a)\n return r, e",
        "x\n e1 = Exp(x)\n e2 = Exp(x)\n r = Relu(x)\n e3 = Exp(x)\n return r, e1, e2, e3",
        {},
        [("r", "e1")],
    ),
    "InvalidBoundary_NotSelfContained_Miss": (
        "a\n p = Abs(a)\n y = Relu(p)\n return y",
        "x\n a1 = Abs(x)\n r1 = Relu(a1)\n e = Exp(a1)\n a2 = Abs(e)\n r2 = Relu(a2)\n"
        " return r1, r2",
        {},
        [("r2", "a2")],
    ),
    "ForceSelfContained": (
        "a\n p = Abs(a)\n y = Relu(p)\n return y, p",
        "x\n a = Abs(x)\n r = Relu(a)\n e = Exp(a)\n return r, e",
        {},
        [("r", "a")],
    ),
    "MultiOutput_Output0MoreProducersThanOutput1": (
        "a b\n m = MatMul(a, b)\n r = Relu(m)\n s = Sigmoid(m)\n return r, s",
        "x z\n"
        + "".join(f"m{i} = MatMul(x, z)\n" for i in range(5))
        + "".join(f"s{i} = Sigmoid(m{i})\n" for i in (3, 1, 0, 2))
        + "".join(f"r{i} = Relu(m{i})\n" for i in (4, 0, 2, 1, 3))
        + "return r0, r1, r2, r3, r4, s0, s1, s2, s3",
        {},
        [(f"r{i}", f"m{i}", f"s{i}") for i in (0, 2, 1, 3)],
    ),
}


@pytest.mark.parametrize("name", MATCHES)
def test_matches(name: str) -> None:
    wanted, text, config, expected = MATCHES[name]
    func = graph(text)
    module_of(func)
    found = all_matches(pattern(wanted, **config), func)
    assert [names(match) for match in found] == expected
    for match in found:
        assert match.boundary.problem() == ""
        assert [v.owner for v in match.outputs][:1] == [match.root]
        order = [op.node_name for op in func.body.block.ops if isinstance(op, GeOp)]
        by_position = sorted(names(match), key=order.index)
        assert [op.node_name for op in match.matched_nodes()] == by_position


def test_two_matchers_share_a_graph() -> None:
    func = graph("x\n a = Abs(x)\n r = Relu(a)\n return r")
    module_of(func)
    relus, abses = pattern("a\n y = Relu(a)\n return y"), pattern("a\n y = Abs(a)\n return y")
    assert [names(m) for m in all_matches(relus, func)] == [("r",)]
    assert [names(m) for m in all_matches(abses, func)] == [("a",)]


INVALID = {
    "InvalidPattern_ControlEdge": (
        "a\n r = Relu(a)\n e = Exp(r)\n r -ctrl-> e\n return e",
        "has control edge",
    ),
    "InvalidPattern_DynamicInput": (
        "a b\n y = ConcatD(a, b) concat_dim=0\n return y",
        "'x' is dynamic input",
    ),
    "InvalidPattern_DynamicOutput": (
        "a\n s = SplitD(a) split_dim=0 num_split=2 results=2\n return s",
        "'y' is dynamic output",
    ),
    "no output": ("a\n r = Relu(a)\n return", "the pattern has no output"),
}


@pytest.mark.parametrize("name", INVALID)
def test_invalid_patterns(name: str) -> None:
    text, reason = INVALID[name]
    found = PatternGraph.from_function(graph(text, "p"))
    with pytest.raises(CompileError, match="pattern 'p'"):
        compile_pattern(found)
    assert any(reason in line for line in found.validate())


def constant(text: str) -> str:
    return f"-\n c = {text}\n y = Identity(c)\n return y"


EYE = "[[1, 0], [0, 1]]"
ACCEPTS: dict[str, tuple[str, str, dict[str, bool]]] = {
    # upstream's node matcher tests: pattern, graph, config
    "data, op": ("a\n y = Relu(a)\n return y", "x\n b = Abs(x)\n y = Relu(b)\n return y", {}),
    "data, const": (unary("Relu(a)"), "-\n c = Const 1.0\n y = Relu(c)\n return y", {}),
    "normal, same type": (unary("Relu(a)"), "x\n y = Relu(x)\n return y", {}),
    "normal, Cast dst_type equal": (
        unary("Cast(a) dst_type=1"),
        "x\n y = Cast(x) dst_type=1\n return y",
        {"ir_attr": True},
    ),
    "normal, list of int equal": (
        unary("TransposeD(a) perm=[1,0]"),
        "x\n y = TransposeD(x) perm=[1,0]\n return y",
        {"ir_attr": True},
    ),
    "normal, float attribute equal": (
        unary("LeakyRelu(a) negative_slope=0.5"),
        "x\n y = LeakyRelu(x) negative_slope=0.5\n return y",
        {"ir_attr": True},
    ),
    "normal, default equals unset": (
        unary("LeakyRelu(a)"),
        "x\n y = LeakyRelu(x) negative_slope=0.0\n return y",
        {"ir_attr": True},
    ),
    "const, type only": (constant("Const 1.0"), constant("Const int32 [3, 4]"), {}),
    "const, Constant": (constant("Const 1.0"), constant("Constant 1.0"), {"const_value": True}),
    "Constant, const": (constant("Constant 1.0"), constant("Const 1.0"), {"const_value": True}),
    **{
        f"const value, {dtype} {what}": (
            constant(f"Const {dtype} {value}"),
            constant(f"Const {dtype} {value}"),
            {"const_value": True},
        )
        for dtype in ("int32", "int64", "uint32", "float32", "float16", "bool")
        for what, value in (("scalar", "1"), ("tensor", "[0, 1]"), ("high rank", f"[{EYE}]"))
    },
}


@pytest.mark.parametrize("name", ACCEPTS)
def test_node_matcher_accepts(name: str) -> None:
    wanted, text, config = ACCEPTS[name]
    func = graph(text)
    module_of(func)
    assert len(all_matches(pattern(wanted, **config), func)) == 1


CONST = {"const_value": True}
REFUSES: dict[str, tuple[str, str, dict[str, bool], str]] = {
    # upstream's node matcher tests: pattern, graph, config, the reason
    "normal, Cast dst_type differs": (
        unary("Cast(a) dst_type=1"),
        "x\n y = Cast(x) dst_type=3\n return y",
        {"ir_attr": True},
        "attribute dst_type is 3, expected 1",
    ),
    "normal, list of int differs": (
        unary("TransposeD(a) perm=[1,0]"),
        "x\n y = TransposeD(x) perm=[0,1]\n return y",
        {"ir_attr": True},
        "attribute perm is [0, 1], expected [1, 0]",
    ),
    "normal, float differs": (
        unary("LeakyRelu(a) negative_slope=0.5"),
        "x\n y = LeakyRelu(x) negative_slope=0.25\n return y",
        {"ir_attr": True},
        "attribute negative_slope is 0.25, expected 0.5",
    ),
    "const, another op": (
        constant("Const 1.0"),
        "x\n b = Abs(x)\n y = Identity(b)\n return y",
        {},
        "operand 0: is Abs, expected Const",
    ),
    "const, graph input": (
        constant("Const 1.0"),
        "x\n y = Identity(x)\n return y",
        {},
        "operand 0: is graph input 'x', expected Const",
    ),
    "const value, int32 value miss": (
        constant("Const int32 1"),
        constant("Const int32 2"),
        CONST,
        "const value ",
    ),
    "const value, one of many": (
        constant("Const [1.0, 2.0]"),
        constant("Const [1.0, 2.5]"),
        CONST,
        "const value ",
    ),
    "const value, dtype miss": (
        constant("Const int32 1"),
        constant("Const int64 1"),
        CONST,
        "const is tensor<i64>, expected tensor<i32>",
    ),
    "const value, same bytes of another dtype": (
        constant("Const int32 0"),
        constant("Const 0.0"),
        CONST,
        "const is tensor<f32>, expected tensor<i32>",
    ),
    "const value, shape miss": (
        constant("Const [1.0, 1.0]"),
        constant("Const [[1.0], [1.0]]"),
        CONST,
        "const is tensor<2x1xf32>, expected tensor<2xf32>",
    ),
    "const value, size miss": (
        constant("Const [1.0, 1.0]"),
        constant("Const [1.0]"),
        CONST,
        "const is tensor<1xf32>, expected tensor<2xf32>",
    ),
    "const value, high rank miss": (
        constant(f"Const int32 [{EYE}]"),
        constant("Const int32 [[[1, 0], [0, 2]]]"),
        CONST,
        "const value ",
    ),
    "const value, no tolerance": (
        constant("Const 1.0"),
        constant("Const 1.0000001"),
        CONST,
        "const value ",
    ),
}


@pytest.mark.parametrize("name", REFUSES)
def test_node_matcher_refuses(name: str) -> None:
    wanted, text, config, reason = REFUSES[name]
    func = graph(text)
    module_of(func)
    compiled = pattern(wanted, **config)
    outcome = compiled.explain(node(func, "y"))
    assert isinstance(outcome, Declined)
    assert reason in outcome.reason
    assert all_matches(compiled, func) == []


def test_types_that_differ_are_no_candidates() -> None:
    func = graph("x\n y = Abs(x)\n return y")
    module_of(func)
    assert all_matches(pattern(unary("Relu(a)")), func) == []


@pytest.mark.parametrize(("side", "found"), [("pattern", 1), ("target", 0)])
def test_constants_without_weight(side: str, found: int) -> None:
    wanted, func = graph(constant("Const 1.0"), "p"), graph(constant("Const 1.0"))
    module_of(func)
    del node(wanted if side == "pattern" else func, "c").properties["value"]
    compiled = compile_pattern(PatternGraph.from_function(wanted), MatcherConfig(const_value=True))
    assert len(all_matches(compiled, func)) == found


def test_config_flags() -> None:
    config = MatcherConfig()
    assert (config.const_value, config.ir_attr) == (False, False)
    config = MatcherConfig(const_value=True, ir_attr=True)
    assert (config.const_value, config.ir_attr) == (True, True)


def test_captured_tensors_and_a_bad_index() -> None:
    wanted = graph("a\n p = Abs(a)\n y = Relu(p)\n return y", "p")
    captures = [(wanted.body.block.args[0], 0), (node(wanted, "y"), 0), (node(wanted, "p"), 0)]
    compiled = compile_pattern(PatternGraph.from_function(wanted, captures))
    func = graph("x\n n = Neg(x)\n q = Abs(n)\n r = Relu(q)\n return r")
    module_of(func)
    (match,) = all_matches(compiled, func)
    held = [match.captured(i) for i in range(3)]
    assert [(op.node_name, i) for op, i in held if isinstance(op, GeOp)] == [
        ("n", 0),
        ("r", 0),
        ("q", 0),
    ]
    for index in (3, -1):
        with pytest.raises(CompileError, match="does not exist"):
            match.captured(index)


BOUNDARIES: dict[str, tuple[str, str, str, str, list[list[tuple[str, int]]]]] = {
    # upstream test: graph, inputs, outputs, the nodes inside, the operands that each input feeds
    "one consumer": ("x\n y = Relu(x)\n return y", "x", "y", "y", [[("y", 0)]]),
    "several consumers": (
        "x z\n a = Abs(x)\n r = Relu(x)\n y = Add(a, r)\n return y",
        "x",
        "y",
        "y a r",
        [[("a", 0), ("r", 0)]],
    ),
    "one tensor in two anchors": (
        "x\n y = Mul(x, x)\n return y",
        "x",
        "y",
        "y",
        [[("y", 0), ("y", 1)]],
    ),
    "one tensor as two inputs": (
        "x\n a = Abs(x)\n r = Relu(x)\n y = Add(a, r)\n return y",
        "a r",
        "y",
        "y",
        [[("y", 0)], [("y", 1)]],
    ),
    "no input": ("-\n c = Const 1.0\n return c", "", "c", "c", []),
    "two outputs": (
        "x\n a = Abs(x)\n r = Relu(a)\n return r, a",
        "x",
        "r a",
        "r a",
        [[("a", 0)]],
    ),
}


@pytest.mark.parametrize("name", BOUNDARIES)
def test_boundaries(name: str) -> None:
    text, inputs, outputs, inside, feeds = BOUNDARIES[name]
    func = graph(text)
    module_of(func)
    found = boundary(func, inputs, outputs)
    assert found.problem() == ""
    assert [op.node_name for op in found.nodes if isinstance(op, GeOp)] == inside.split()
    for i, expected in enumerate(feeds):
        consumers = found.consumers(i)
        assert [(op.node_name, k) for op, k in consumers if isinstance(op, GeOp)] == expected


CYCLES: dict[str, tuple[str, str, bool]] = {
    # upstream test of fusion_utils: graph, the nodes that are fused, whether that makes a cycle
    "linear": ("x\n a = Abs(x)\n b = Relu(a)\n c = Exp(b)\n return c", "a b", False),
    "linear with a gap": ("x\n a = Abs(x)\n b = Relu(a)\n c = Exp(b)\n return c", "a c", True),
    "control edge": (
        "x z\n a = Abs(x)\n b = Relu(a)\n o = Exp(z)\n a -ctrl-> o\n o -ctrl-> b\n return b, o",
        "a b",
        True,
    ),
    "control edge away from the set": (
        "x z\n a = Abs(x)\n b = Relu(a)\n o = Exp(z)\n b -ctrl-> o\n return b, o",
        "a b",
        False,
    ),
    "siblings": ("x\n a = Abs(x)\n b = Relu(x)\n c = Add(a, b)\n return c", "a b", False),
    "siblings through a path": (
        "x\n a = Abs(x)\n o = Exp(a)\n b = Add(x, o)\n return b",
        "a b",
        True,
    ),
}


@pytest.mark.parametrize("name", CYCLES)
def test_cycles(name: str) -> None:
    text, fused, expected = CYCLES[name]
    func = graph(text)
    module_of(func)
    assert makes_cycle([node(func, n) for n in fused.split()]) is expected


def test_no_nodes_make_no_cycle() -> None:
    assert makes_cycle([]) is False
