"""Replacing subgraphs: checks, rewiring, names, origins, control edges, order, dead nodes."""

from __future__ import annotations

import numpy as np
import pytest
from graph_text import graph, module_of, node, types_of
from replace_case import ONE, PAIR, boundary, value
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, StringAttr, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from ge_xdsl.compat.ge.graph.graph import Graph
from ge_xdsl.dialects.ge.data import ControlEdgeOp
from ge_xdsl.dialects.ge.graph import verify
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.text import GeContext, module_text, parse_module
from ge_xdsl.errors import CompileError
from ge_xdsl.interpreters.ge import run_function
from ge_xdsl.passes.dce import GeDcePass
from ge_xdsl.pattern.provenance import ORIGIN_NAMES, ORIGIN_TYPES, PASS_NAME
from ge_xdsl.pattern.rewrite import Boundary, Scope, replace, replace_in


def outputs_of(func: FuncOp) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    arrays = {}
    for name, arg in zip(["x", "z", "w"], func.body.block.args, strict=False):
        shape = arg.type.get_shape()
        arrays[name] = rng.standard_normal(shape).astype(np.float32)
    return run_function(func, arrays)


def strings(op: GeOp, key: str) -> list[str]:
    attr = op.attributes[key]
    assert isinstance(attr, ArrayAttr)
    return [item.data for item in attr]


def edges_of(func: FuncOp) -> set[tuple[str, str]]:
    def name(v: SSAValue) -> str:
        return v.owner.node_name if isinstance(v.owner, GeOp) else "input"

    return {
        (name(op.src), name(op.dst)) for op in func.body.block.ops if isinstance(op, ControlEdgeOp)
    }


SAME_NUMBERS: dict[str, tuple[str, str, str, str, list[str]]] = {
    # name: graph, boundary inputs, boundary outputs, replacement, op types left
    "one to one": (
        "x\n a = Neg(x)\n y = Neg(a)\n return y",
        "x",
        "y",
        "a\n r = Neg(a)\n s = Neg(r)\n return s",
        ["Neg", "Neg"],
    ),
    "many to one": (
        "x\n a = Neg(x)\n b = Exp(a)\n c = Exp(x)\n y = Mul(b, c)\n return y",
        "x",
        "y",
        "a\n o = ZerosLike(a)\n y = Exp(o)\n return y",
        ["ZerosLike", "Exp"],
    ),
    "new constant": (
        "x\n y = Neg(x)\n return y",
        "x",
        "y",
        "a\n c = Const -1.0\n y = Mul(a, c)\n return y",
        ["Mul"],
    ),
    "deletion": ("x\n a = Neg(x)\n y = Neg(a)\n return y", "x", "y", "a\n return a", []),
    "passing one of two inputs through": (
        "x z\n a = Sub(x, z)\n y = Add(a, z)\n w = Relu(y)\n return w",
        "x z",
        "y",
        "a b\n return a",
        ["Relu"],
    ),
    "two outputs, the first read before the second": (
        "x\n a = Abs(x)\n e = Exp(a)\n y = Neg(a)\n return e, y",
        "x",
        "y a",
        "a\n b = Abs(a)\n n = Neg(b)\n return n, b",
        ["Abs", "Exp", "Neg"],
    ),
    "readers move behind a late input": (
        "x z\n a = Neg(x)\n e = Exp(a)\n f = Relu(e)\n l = Exp(z)\n y = Neg(l)\n return f, y",
        "x l",
        "a y",
        "a b\n p = Neg(a)\n q = Neg(b)\n return p, q",
        ["Exp", "Neg", "Exp", "Relu", "Neg"],
    ),
    "outputs swapped by passing through": (
        "x z\n a = Neg(x)\n b = Neg(a)\n c = Neg(z)\n d = Neg(c)\n y = Sub(b, d)\n return y",
        "x z",
        "b d",
        "a b\n return a, b",
        ["Sub"],
    ),
    "producer with another reader stays": (
        "x\n a = Abs(x)\n y = Neg(a)\n e = Exp(a)\n return y, e",
        "a",
        "y",
        "a\n m = Neg(a)\n return m",
        ["Abs", "Neg", "Exp"],
    ),
    "replacement not in order": (
        "x\n a = Abs(x)\n y = Neg(a)\n return y",
        "x",
        "y",
        "a\n p = Abs(a)\n q = Neg(p)\n return q",
        ["Abs", "Neg"],
    ),
}


@pytest.mark.parametrize("name", SAME_NUMBERS)
def test_replace_keeps_the_numbers(name: str) -> None:
    text, inputs, outputs, new, left = SAME_NUMBERS[name]
    func = graph(text)
    module = module_of(func)
    before = outputs_of(func)
    replacement = graph(new, "r")
    if name == "replacement not in order":
        first = node(replacement, "p")
        first.detach()
        replacement.body.block.insert_op_after(first, node(replacement, "q"))
    replace(func.body.block, boundary(func, inputs, outputs), replacement, pass_name="P")
    verify(module)
    assert types_of(func) == left
    for want, have in zip(before, outputs_of(func), strict=True):
        np.testing.assert_allclose(have, want, rtol=1e-6)


def test_partly_used_node_stays_beside_the_new_ones() -> None:
    func = graph(
        "x\n d = Const int32 0\n a = Abs(x)\n s = Split(d, a) num_split=2 results=2\n"
        " y = Neg(s:0)\n e = Exp(s:1)\n return y, e"
    )
    module = module_of(func)
    before = outputs_of(func)
    replacement = graph(
        "a\n d = Const int32 0\n p = Abs(a)\n s = Split(d, p) num_split=2 results=2\n"
        " q = Neg(s:0)\n return q, s:0",
        "r",
    )
    replace(func.body.block, boundary(func, "x", "y s:0"), replacement)
    verify(module)
    assert sorted(types_of(func)) == ["Abs", "Abs", "Exp", "Neg", "Split", "Split"]
    for want, have in zip(before, outputs_of(func), strict=True):
        np.testing.assert_allclose(have, want, rtol=1e-6)


def test_replacement_can_be_used_again() -> None:
    func = graph("x\n a = Neg(x)\n b = Neg(a)\n return b")
    module_of(func)
    new = graph("a\n c = Const -1.0\n y = Mul(a, c)\n return y", "r")
    replace(func.body.block, boundary(func, "x", "a"), new)
    (mul,) = [op for op in func.walk() if op.name == "ge.Mul"]
    replace(func.body.block, Boundary([mul.results[0]], [value(func, "b")]), new)
    assert types_of(func) == ["Mul", "Mul"]
    assert types_of(new) == ["Mul"]


def test_names_join_the_replaced_ones() -> None:
    func = graph("x z w\n m = MatMul(x, z)\n y = Add(m, w)\n return y")
    module_of(func)
    new = replace(
        func.body.block,
        boundary(func, "x z w", "y"),
        graph("a b c\n g = MatMul(a, b)\n h = Add(g, c)\n return h", "r"),
    )
    assert [op.node_name for op in new] == ["g_y_m_0", "h_y_m_1"]


def test_names_avoid_taken_ones_and_stay_short() -> None:
    func = graph("x\n y = Neg(x)\n n_y_0 = Neg(y)\n return n_y_0")
    module_of(func)
    new = replace(func.body.block, boundary(func, "x", "y"), graph("a\n n = Neg(a)\n return n"))
    assert new[0].node_name == "n_y_1"
    new[0].node_name = "long" * 200
    b = Boundary(func.body.block.args, new[0].results)
    (last,) = replace(func.body.block, b, graph("a\n n = Neg(a)\n return n"))
    assert len(last.node_name) < 260


def test_origins_are_recorded_through_two_rewrites() -> None:
    func = graph("x z w\n m = MatMul(x, z)\n y = Add(m, w)\n r = Relu(y)\n return r")
    module_of(func)
    (new,) = replace(
        func.body.block,
        boundary(func, "x z w", "y"),
        graph("a b c[4]\n g = Sub(a, b)\n return g", "r"),
        pass_name="A",
    )
    assert strings(new, ORIGIN_NAMES) == ["y", "m"]
    assert strings(new, ORIGIN_TYPES) == ["Add", "MatMul"]
    assert strings(new, PASS_NAME) == ["A"]
    b = Boundary(func.body.block.args[:2], [value(func, "r")])
    (last,) = replace(
        func.body.block, b, graph("a b\n g = Mul(a, b)\n return g", "r"), pass_name="B"
    )
    assert strings(last, ORIGIN_NAMES) == ["r", "y", "m"]
    assert strings(last, ORIGIN_TYPES) == ["Relu", "Add", "MatMul"]
    assert strings(last, PASS_NAME) == ["A", "B"]


def test_kept_node_of_the_same_run_keeps_its_origin() -> None:
    func = graph("x\n a = Abs(x)\n y = Neg(a)\n e = Exp(a)\n return y, e")
    module = module_of(func)
    scope = Scope(func.body.block, "P")
    (new,) = replace_in(scope, boundary(func, "x", "a"), graph("a\n t = Tanh(a)\n return t", "r"))
    # Tanh is inside the second boundary but read by Exp too, so it stays.
    inner = Boundary(func.body.block.args, [value(func, "y")], [node(func, "y"), new])
    replace_in(scope, inner, graph("a\n n = Exp(a)\n return n", "r"))
    scope.origins.flush()
    assert types_of(func) == ["Tanh", "Exp", "Exp"]
    assert strings(new, ORIGIN_NAMES) == ["a"]
    verify(module)


def test_attributes_are_inherited() -> None:
    func = graph("x z\n m = MatMul(x, z)\n y = Relu(m)\n return y")
    module_of(func)
    m, y = node(func, "m"), node(func, "y")
    m.attributes["_user_stream_label"] = StringAttr("s1")
    m.attributes["_parallel_group_id"] = StringAttr("g")
    m.attributes["_deterministic"] = StringAttr("01")
    y.attributes["_backward"] = IntegerAttr(1, 1)
    y.attributes["_keep_dtype"] = IntegerAttr(0, i64)
    m.attributes["_keep_dtype"] = IntegerAttr(2, i64)
    y.attributes["_op_custom_impl_mode_enum"] = IntegerAttr(2, i64)
    m.attributes["_op_custom_impl_mode_enum"] = IntegerAttr(4, i64)
    new = replace(
        func.body.block,
        boundary(func, "x z", "y"),
        graph("a b\n g = MatMul(a, b)\n h = Relu(g)\n return h", "r"),
    )
    for op in new:
        assert op.attributes["_user_stream_label"] == StringAttr("s1")
        assert op.attributes["_deterministic"] == StringAttr("1")
        assert op.attributes["_backward"] == IntegerAttr(1, 1)
        assert op.attributes["_keep_dtype"] == IntegerAttr(2, i64)
        assert op.attributes["_op_custom_impl_mode_enum"] == IntegerAttr(4, i64)
    assert "_parallel_group_id" in new[0].attributes
    assert "_parallel_group_id" not in new[1].attributes


GUARDED = "x z\n p = Exp(z)\n a = Abs(x)\n q = Exp(z)\n p -ctrl-> a\n a -ctrl-> q\n return a, q, p"


def test_control_edges_meet_in_no_ops_around_the_new_nodes() -> None:
    func = graph(GUARDED)
    module = module_of(func)
    before = outputs_of(func)
    (new,) = replace(
        func.body.block, boundary(func, "x", "a"), graph("a\n r = Abs(a)\n return r", "r")
    )
    verify(module)
    name = new.node_name
    assert edges_of(func) == {
        ("p", f"noop_in_{name}"),
        (f"noop_in_{name}", name),
        (name, f"noop_out_{name}"),
        (f"noop_out_{name}", "q"),
        ("input", "q"),
        ("p", "q"),
    }
    assert types_of(func)[:5] == ["Exp", "Abs", "Exp", "NoOp", "NoOp"]
    assert [op.op_type for op in func.body.block.ops if isinstance(op, GeOp)][5:] == [
        "control_edge"
    ] * 6
    for want, have in zip(before, outputs_of(func), strict=True):
        np.testing.assert_array_equal(have, want)
    text = module_text(module)
    assert module_text(parse_module(text)) == text


def test_every_new_node_and_constant_hangs_between_the_no_ops() -> None:
    func = graph(
        "x z\n p = Exp(z)\n o = Neg(z)\n a = Abs(x)\n b = Relu(a)\n q = Exp(z)\n"
        " p -ctrl-> a\n o -ctrl-> b\n p -ctrl-> b\n a -ctrl-> b\n b -ctrl-> q\n return b, q, p, o"
    )
    module = module_of(func)
    new = replace(
        func.body.block,
        boundary(func, "x", "b"),
        graph("a\n c = Const 1.0\n m = Mul(a, c)\n r = Relu(m)\n return r", "r"),
    )
    verify(module)
    names = [op.node_name for op in new]
    into, out = f"noop_in_{names[0]}", f"noop_out_{names[-1]}"
    edges = edges_of(func)
    assert len(names) == 3
    assert {("p", into), ("o", into), (out, "q")} <= edges
    assert {(into, name) for name in names} | {(name, out) for name in names} <= edges
    assert not any("a" in edge or "b" in edge for edge in edges)


def test_a_side_without_control_edges_gets_no_no_op() -> None:
    func = graph("x z\n p = Exp(z)\n a = Abs(x)\n p -ctrl-> a\n return a, p")
    module = module_of(func)
    (new,) = replace(
        func.body.block, boundary(func, "x", "a"), graph("a\n r = Relu(a)\n return r", "r")
    )
    verify(module)
    name = new.node_name
    assert edges_of(func) == {("p", f"noop_in_{name}"), (f"noop_in_{name}", name)}
    assert types_of(func).count("NoOp") == 1


def test_a_second_rewrite_waits_behind_the_no_op_of_the_first() -> None:
    func = graph(GUARDED)
    module = module_of(func)
    block = func.body.block
    (first,) = replace(block, boundary(func, "x", "a"), graph("a\n r = Relu(a)\n return r", "r"))
    old = first.node_name
    (last,) = replace(block, boundary(func, "x", old), graph("a\n t = Tanh(a)\n return t", "r"))
    verify(module)
    name = last.node_name
    edges = edges_of(func)
    assert {(f"noop_in_{old}", f"noop_in_{name}"), (f"noop_in_{name}", name)} <= edges
    assert {(name, f"noop_out_{name}"), (f"noop_out_{name}", f"noop_out_{old}")} <= edges
    assert (f"noop_out_{old}", "q") in edges


def test_dead_no_ops_go_and_live_ones_stay() -> None:
    func = graph(GUARDED)
    module = module_of(func)
    (new,) = replace(
        func.body.block, boundary(func, "x", "a"), graph("a\n r = Relu(a)\n return r", "r")
    )
    GeDcePass().apply(GeContext(), module)
    assert types_of(func).count("NoOp") == 2
    out = node(func, f"noop_out_{new.node_name}")
    for edge in [op for op in func.body.block.ops if isinstance(op, ControlEdgeOp)]:
        if edge.src.owner is out:
            edge.detach()
            edge.erase()
    GeDcePass().apply(GeContext(), module)
    verify(module)
    assert [op.node_name for op in func.walk() if op.name == "ge.NoOp"] == [
        f"noop_in_{new.node_name}"
    ]


def test_no_op_has_no_ports_in_the_graph_api() -> None:
    func = graph(GUARDED)
    module_of(func)
    (new,) = replace(
        func.body.block, boundary(func, "x", "a"), graph("a\n r = Relu(a)\n return r", "r")
    )
    api = Graph._create_from(func.body.block, owns_handle=False)
    nodes = {n.name: n for n in api.get_all_nodes()}
    gate = nodes[f"noop_in_{new.node_name}"]
    assert (gate.type, gate.get_inputs_size(), gate.get_outputs_size()) == ("NoOp", 0, 0)
    assert [n.name for n in gate.get_in_control_nodes()] == ["p"]
    assert [n.name for n in gate.get_out_control_nodes()] == [new.node_name]
    api.add_control_edge(gate, nodes["q"])
    assert [n.name for n in gate.get_out_control_nodes()] == [new.node_name, "q"]
    api.remove_edge(gate, -1, nodes["q"], -1)
    api.remove_node(gate)
    verify(func.parent_op())


@pytest.mark.parametrize(
    ("results", "message"),
    [
        ("(tensor<4xf32>)", "has 1 results, expected 0 or a token without a type"),
        ("(tensor<4xf32>, tensor<4xf32>)", "has 2 results, expected 0"),
    ],
)
def test_no_op_with_an_output_is_refused(results: str, message: str) -> None:
    text = f"func.func @main() {{\n  %0:{results.count('f32')} = ge.NoOp() : () -> {results}\n"
    if results.count("f32") == 1:
        text = text.replace("%0:1", "%0")
    module = parse_module(f"{text}  func.return\n}}")
    with pytest.raises(CompileError, match=message):
        verify(module)


def test_deletion_hands_the_ordering_on() -> None:
    func = graph(
        "x z\n p = Exp(z)\n a = Abs(x)\n q = Exp(z)\n p -ctrl-> a\n a -ctrl-> q\n return a, q, p"
    )
    module = module_of(func)
    replace(func.body.block, boundary(func, "x", "a"), graph("a\n return a", "r"))
    verify(module)
    assert edges_of(func) == {("input", "q"), ("p", "q")}


def test_control_edges_inside_the_replacement_come_along() -> None:
    func = graph("x\n y = Neg(x)\n return y")
    module = module_of(func)
    new = replace(
        func.body.block,
        boundary(func, "x", "y"),
        graph("a\n e = Exp(a)\n n = Neg(a)\n m = Mul(e, n)\n e -ctrl-> n\n return m", "r"),
    )
    verify(module)
    assert edges_of(func) == {(new[0].node_name, new[1].node_name)}


def set_attr(func: FuncOp, name: str, key: str, text: str | int) -> None:
    attr = StringAttr(text) if isinstance(text, str) else IntegerAttr(text, i64)
    node(func, name).attributes[key] = attr


FAILURES: dict[str, tuple[str, str, str, str, dict[str, tuple[str, str | int]], str]] = {
    # graph, inputs, outputs, replacement, node -> (attribute, value), error
    "input count": (
        PAIR,
        "x",
        "y",
        "a b\n n = Add(a, b)\n return n",
        {},
        "Replacement input size: 2 not equal with Boundary input size: 1",
    ),
    "output count": (
        PAIR,
        "x",
        "y",
        "a\n n = Neg(a)\n return n, n",
        {},
        "Replacement output size: 2 not equal with Boundary output size: 1",
    ),
    "not closed": (
        "x\n a = Abs(x)\n y = Neg(a)\n e = Exp(a)\n return y, e",
        "x",
        "y",
        ONE,
        {},
        "Boundary is not self contained: ge.Abs 'a' is used outside by ge.Exp 'e'",
    ),
    "an input is missing": (
        "x z\n a = Add(x, z)\n return a",
        "x",
        "a",
        ONE,
        {},
        "Boundary is not self contained: graph input 'z' is no input of it",
    ),
    "an output is a graph input": (
        "x\n a = Abs(x)\n return a",
        "x",
        "x",
        ONE,
        {},
        "Boundary is not self contained: output graph input 'x' is no node's",
    ),
    "no output": ("x\n a = Abs(x)\n return a", "x", "", ONE, {}, "not in same graph with others"),
    "an input depends on an output": (
        "x\n r = Relu(x)\n t = Tanh(r)\n return t",
        "x r",
        "r t",
        "a b\n r = Relu(a)\n t = Tanh(b)\n return r, t",
        {},
        "input 1 is computed from an output, expected a tensor from outside",
    ),
    "stream labels": (
        PAIR,
        "x",
        "y",
        ONE,
        {"a": ("_user_stream_label", "s1"), "y": ("_user_stream_label", "s2")},
        "Fusion is not supported because there are multiple _user_stream_label [s2][s1] "
        "between nodes [y][a]",
    ),
    "deterministic is no string": (
        PAIR,
        "x",
        "y",
        ONE,
        {"a": ("_deterministic", 1)},
        "Fusion is not supported because attr _deterministic of node [a] is not string.",
    ),
    "deterministic out of range": (
        PAIR,
        "x",
        "y",
        ONE,
        {"a": ("_deterministic_level", "4")},
        "attr _deterministic_level of node [a] should be in {0,1,2,3}, but got 4.",
    ),
    "a cycle through outside": (
        "x z\n a = Abs(x)\n e = Exp(a)\n y = Neg(e)\n return y",
        "x e",
        "a y",
        "a b\n r = Relu(a)\n t = Tanh(b)\n return r, t",
        {},
        "it will create cycle after fuse",
    ),
    "another type": (
        PAIR,
        "x",
        "y",
        "a\n n = Cast(a) dst_type=1\n return n",
        {},
        "replacement output 0 is tensor<4x4xf16>, its readers expect tensor<4x4xf32>",
    ),
    "new node refuses its operands": (
        "x[2,3] z[4,4]\n a = Abs(x)\n return a",
        "x",
        "a",
        "a\n c = Const [1.0, 2.0]\n n = Add(a, c) typed=True\n return n",
        {},
        "replacement node ge.Add 'n': ",
    ),
}


@pytest.mark.parametrize("name", FAILURES)
def test_failure_leaves_the_graph_alone(name: str) -> None:
    text, inputs, outputs, new, attrs, message = FAILURES[name]
    func = graph(text)
    module = module_of(func)
    for op, (key, held) in attrs.items():
        set_attr(func, op, key, held)
    before = module_text(module)
    uses = [v.uses.get_length() for v in func.body.block.args]
    with pytest.raises(CompileError) as error:
        replace(func.body.block, boundary(func, inputs, outputs), graph(new, "r"))
    assert message in error.value.message
    assert module_text(module) == before
    assert [v.uses.get_length() for v in func.body.block.args] == uses


def test_replacement_with_a_cycle_fails() -> None:
    func = graph(PAIR)
    module_of(func)
    new = graph("a\n n = Neg(a)\n m = Neg(n)\n return m", "r")
    node(new, "n").operands[0] = node(new, "m").results[0]
    with pytest.raises(CompileError, match="replacement has a cycle, expected none"):
        replace(func.body.block, boundary(func, "x", "y"), new)


def test_replacement_that_reads_another_graph_fails() -> None:
    func, other = graph(PAIR), graph(PAIR, "other")
    module = module_of(func)
    before = module_text(module)
    new = graph("a\n n = Neg(a)\n m = Neg(n)\n return m", "r")
    node(new, "m").operands[0] = node(other, "a").results[0]
    with pytest.raises(CompileError, match="a tensor of another graph, expected one of its own"):
        replace(func.body.block, boundary(func, "x", "y"), new)
    assert module_text(module) == before


def test_boundary_of_another_graph_fails() -> None:
    func, other = graph(PAIR), graph(PAIR, "other")
    module_of(func, other)
    with pytest.raises(CompileError, match="Boundary is not in the graph, expected one of its own"):
        replace(other.body.block, boundary(func, "x", "y"), graph(ONE, "r"))
