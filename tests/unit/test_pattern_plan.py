"""A plan leaves the graph, to the order of uses, as the general replacing does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pytest
from graph_text import graph, module_of, node, pattern
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import (
    FileLineColLoc,
    IntAttr,
    ModuleOp,
    StringAttr,
    UnitAttr,
    UnknownLoc,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from ge_xdsl.dialects.ge.data import ConstOp
from ge_xdsl.dialects.ge.graph import verify
from ge_xdsl.dialects.ge.op import GeOp, KnownValues, extra_key, set_type
from ge_xdsl.dialects.ge.prototype import decode
from ge_xdsl.dialects.ge.text import module_text
from ge_xdsl.dialects.ge.types import DataType, Tensor, tensor_of
from ge_xdsl.dialects.ge.weights import const_attr
from ge_xdsl.errors import Location
from ge_xdsl.pattern.driver import PatternRule, run_fixpoint, run_ge
from ge_xdsl.pattern.plan import HITS, LIMIT, MISSES, SHAPES, Plan, Plans, same_body

PAIRS: dict[str, str] = {
    "a\n r = Relu(a)\n s = Relu(r)\n return s": "a\n r = Relu(a)\n return r",
    "a\n r = Neg(a)\n s = Neg(r)\n return s": "a\n return a",
    "a b\n m = Mul(a, a)\n y = Add(m, b)\n return y": "a b\n m = Abs(b)\n y = Sub(m, a)\n return y",
    "a b\n m = Mul(a, b)\n n = Neg(m)\n y = Add(n, a)\n return y": "a b\n k = Const 2.0\n"
    " m = Mul(a, k)\n y = Add(m, b)\n return y",
    "a\n r = Relu(a)\n n = Neg(r)\n return n": "a\n n = Exp(a)\n r = Relu(n)\n return r",
    "a\n c = Const 0.0\n y = Add(a, c)\n return y": "a\n return a",
    "a b\n m = Mul(a, b)\n y = Sub(m, b)\n return y, m": "a b\n m = Mul(a, b)\n return m, m",
}


UNIT = UnitAttr()
Way = Literal["shared", "built", "general"]
"""One function for all matches, or one built for each; `general`: no plan for either."""


def rule(wanted: str, new: str, way: Way = "shared", name: str = "p") -> PatternRule:
    template = graph(new, "r")
    compiled = pattern(wanted, name=name, const_value=True)
    made = PatternRule(compiled, lambda _: template if way == "shared" else graph(new, "r"))
    if way == "general":
        made.plans.find = lambda func: None
    return made


def rules(way: Way) -> list[PatternRule]:
    pairs = enumerate(PAIRS.items())
    return [rule(old, new, way, f"p{k}") for k, (old, new) in pairs]


def state(func: FuncOp) -> list[object]:
    """The text, who reads each tensor (newest first), and where each op came from."""
    module = func.parent_op()
    assert isinstance(module, ModuleOp)
    found: list[object] = [module_text(module)]
    for op in func.body.block.ops:
        for result in op.results:
            found.append([(use.operation.attributes, use.index) for use in result.uses])
        found.append((op.location, op.source if isinstance(op, GeOp) else None))
        assert op.parent is func.body.block
    for arg in func.body.block.args:
        found.append([(use.operation.attributes, use.index) for use in arg.uses])
    backwards: list[Operation] = []
    op = func.body.block.last_op
    while op is not None:
        backwards.append(op)
        op = op.prev_op
    assert backwards[::-1] == list(func.body.block.ops)
    return found


@st.composite
def texts(draw: st.DrawFn) -> str:
    names, lines = ["x", "z"], ["x z"]
    for k in range(draw(st.integers(5, 40))):
        pick = st.sampled_from(names[-4:])
        kind = draw(st.sampled_from(("Relu", "Relu", "Neg", "Mul", "Add", "Neg", "Mul", "Sub")))
        operands = [draw(pick) for _ in range(1 if kind in ("Relu", "Neg") else 2)]
        if kind == "Add" and draw(st.booleans()):
            lines.append(f"c{k} = Const 0.0")
            operands[1] = f"c{k}"
        lines.append(f"n{k} = {kind}({', '.join(operands)})")
        names.append(f"n{k}")
    some = draw(st.lists(st.sampled_from(names[2:]), min_size=1, max_size=3, unique=True))
    return "\n".join([*lines, f"return {', '.join(some)}"])


@pytest.mark.parametrize("way", ["shared", "built"])
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(text=texts(), named=st.booleans(), infer=st.booleans())
def test_same_graph_with_plans_and_without(way: Way, text: str, named: bool, infer: bool) -> None:
    ours, theirs = graph(text), graph(text)
    module, other = module_of(ours), module_of(theirs)
    name = "P" if named else ""
    kept = rules(way)
    for _ in range(2):  # the second time with plans and types from the first
        for func, used in ((ours, kept), (theirs, rules("general"))):
            run_ge(func.body.block, used, pass_name=name, infer=infer)
        assert state(ours) == state(theirs)
        if infer:
            verify(module)
    run_fixpoint(module, kept[:2], pass_name=name, infer=infer)
    run_fixpoint(other, rules("general")[:2], pass_name=name, infer=infer)
    assert state(ours) == state(theirs)


RELUS, RELU = "a\n r = Relu(a)\n s = Relu(r)\n return s", "a\n r = Relu(a)\n return r"
RESHAPED = "a b c\n r = Reshape(a, b) typed=True\n y = Reshape(r, c) typed=True\n return y"
RESHAPE = (
    "a b c\n r = Reshape(a, b) typed=True\n n = Neg(r)\n y = Reshape(n, c) typed=True\n return y"
)


def relus(sites: int, extra: str = "", reader: str = "Tanh(s#)") -> str:
    """`sites` pairs of Relus, each read by a node of its own."""
    site = f"r# = Relu(x)\ns# = Relu(r#)\ny# = {reader}"
    lines = [site.replace("#", str(k)) for k in range(sites)]
    names = ", ".join(f"y{k}" for k in range(sites))
    return "\n".join(["x", *lines, *([extra] if extra else []), f"return {names}"])


def both(
    text: str,
    old: str,
    new: str,
    change: Callable[[FuncOp], None] | None = None,
    way: Way = "shared",
) -> FuncOp:
    """The graph after a rule with plans, which is the one after the rule without."""
    results: list[FuncOp] = []
    for used in (way, "general"):
        func = graph(text)
        module = module_of(func)
        if change is not None:
            change(func)
        run_ge(func.body.block, [rule(old, new, used)], pass_name="P")
        verify(module)
        results.append(func)
    assert state(results[0]) == state(results[1])
    return results[0]


def planned(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Notes of each attempt of a plan whether it rewrote."""
    done: list[bool] = []
    make = Plan.__init__

    def init(self: Plan, *args: Any) -> None:
        make(self, *args)
        rewrite = self.rewrite

        def noted(*given: Any) -> bool:
            done.append(rewrite(*given))
            return done[-1]

        self.rewrite = noted

    monkeypatch.setattr(Plan, "__init__", init)
    return done


def test_plan_takes_over_at_the_third_match(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first has no plan yet, the second teaches it the types."""
    done = planned(monkeypatch)
    both(relus(6), RELUS, RELU)
    assert done == [False, True, True, True, True]


def inherit(func: FuncOp) -> None:
    node(func, "r4").attributes[extra_key("_op_compile_strategy")] = StringAttr("fast")


def nameless(func: FuncOp) -> None:
    del node(func, "r4").attributes["ge.name"]


def placed(func: FuncOp) -> None:
    for k in range(6):
        node(func, f"s{k}").source = Location("m.onnx", k + 1, 1)


DECLINED: dict[str, tuple[str, Callable[[FuncOp], None] | None, list[bool]]] = {
    "inherited attribute": (relus(6), inherit, [False, True, True, False, True]),
    "node without a name": (relus(6), nameless, [False, True, True, False, True]),
    "control edge": (relus(6, "y0 -ctrl-> y1"), None, []),
    "other types": (
        relus(3)
        .replace("return", "w = Relu(z)\nv = Relu(w)\ntail = Relu(v)\nreturn tail,", 1)
        .replace("x\n", "x z[2,8]\n", 1),
        None,
        [False, True, False, True],
    ),
    "place in a file": (relus(6), placed, [False, True, True, True, True]),
    "one reader with many operands": (
        relus(6, f"wide = Concat(axis, {', '.join(f's{k % 6}' for k in range(80))})")
        .replace("x\n", "x\naxis = Const int32 0\n", 1)
        .replace("return", "return wide,"),
        None,
        [False, True, True, True, True],
    ),
}


@pytest.mark.parametrize("name", DECLINED)
def test_what_a_plan_leaves_to_the_general_way(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    text, change, expected = DECLINED[name]
    done = planned(monkeypatch)
    both(text, RELUS, RELU, change)
    assert done == expected


def test_a_name_in_use_is_skipped() -> None:
    func = both(relus(4, "r_s2_r2_2 = Exp(x)"), RELUS, RELU)
    assert node(func, "r_s2_r2_3").op_type == "Relu"


def test_a_long_name_is_cut() -> None:
    text = relus(4).replace("s2", "s" * 250)
    names = [op.node_name for op in both(text, RELUS, RELU).walk() if isinstance(op, GeOp)]
    assert sorted(map(len, names))[-1] <= 257


def test_types_that_depend_on_constants() -> None:
    """The types of inputs and output are the same everywhere; those in between are not."""
    shapes = [[2, 8], [8, 2], [2, 8], [1, 16], [8, 2], [16, 1]]
    lines = [
        f"c{k} = Const int32 {shape}\nd{k} = Const int32 [16]\n"
        f"r{k} = Reshape(x, c{k})\ny{k} = Reshape(r{k}, d{k})"
        for k, shape in enumerate(shapes)
    ]
    names = ", ".join(f"y{k}" for k in range(len(shapes)))
    func = both("\n".join(["x", *lines, f"return {names}"]), RESHAPED, RESHAPE)
    made = [op for op in func.walk() if isinstance(op, GeOp) and op.op_type == "Neg"]
    assert [list(tensor_of(op.results[0].type).shape or ()) for op in made] == shapes


def test_replacement_that_changes_is_read_again() -> None:
    """A rule may edit the one function that it hands out."""
    template = graph("a\n k = Const 1.0\n m = Mul(a, k)\n return m", "r")
    calls: list[int] = []

    def build(match: object) -> FuncOp:
        calls.append(len(calls))
        node(template, "k").properties["value"] = const_attr(np.array(len(calls) // 3, np.float32))
        if len(calls) == 8:
            node(template, "m").operands[1] = template.body.block.args[0]
        return template

    func = graph(relus(8))
    module_of(func)
    run_ge(func.body.block, [PatternRule(pattern(RELUS), build)])
    values = [decode(op.properties["value"]) for op in func.walk() if isinstance(op, ConstOp)]
    assert [float(value) for value in values] == [0, 0, 1, 1, 1, 2, 2, 2]
    squares = [op for op in func.walk() if isinstance(op, GeOp) and op.op_type == "Mul"]
    assert [op.operands[0] is op.operands[1] for op in squares] == [False] * 7 + [True]


def times(k: float) -> FuncOp:
    return graph(f"a\n k = Const {k}\n m = Mul(a, k)\n return m", "r")


def test_plans_of_many_functions_are_dropped() -> None:
    plans = Plans(pattern(RELUS).graph)
    funcs = [times(k) for k in range(LIMIT + 1)]
    assert [plans.find(func) for func in funcs[:LIMIT]] == [None] * LIMIT
    assert isinstance(plans.find(funcs[0]), Plan)
    assert plans.find(funcs[LIMIT]) is None
    assert plans.find(funcs[0]) is None


def test_plan_takes_over_where_graphs_are_built_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """When as many as `HITS` were like the first; the one of then teaches it the types."""
    done = planned(monkeypatch)
    both(relus(HITS + 4), RELUS, RELU, way="built")
    assert done == [False, True, True, True]


def test_graphs_of_several_kinds_are_built_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    done = planned(monkeypatch)
    results: list[list[object]] = []
    for plans in (True, False):
        func = graph(relus(90))
        module_of(func)
        built = (times(k % SHAPES) for k in range(90))
        used = PatternRule(pattern(RELUS), lambda _, built=built: next(built))
        if not plans:
            used.plans.find = lambda func: None
        run_ge(func.body.block, [used], pass_name="P")
        results.append(state(func))
    assert results[0] == results[1]
    assert done.count(True) == 90 - SHAPES * (HITS + 1)


def test_a_rule_that_builds_no_two_alike_is_not_asked_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[bool] = []

    def compare(ours: FuncOp, theirs: FuncOp) -> bool:
        asked.append(same_body(ours, theirs))
        return asked[-1]

    monkeypatch.setattr("ge_xdsl.pattern.plan.same_body", compare)
    plans = Plans(pattern(RELUS).graph)
    for k in range(MISSES + 40):
        assert plans.find(times(k)) is None
    assert not any(asked)
    assert len(asked) <= MISSES * SHAPES


def test_a_built_graph_that_changes_later_is_like_no_other() -> None:
    first = graph(RELU, "r")
    built = [first, *(graph(RELU, "r") for _ in range(HITS + 5))]
    calls = iter(range(len(built)))

    def build(_: object) -> FuncOp:
        k = next(calls)
        if k == HITS + 3:
            node(first, "r").location = FileLineColLoc(StringAttr("f"), IntAttr(1), IntAttr(1))
        return built[k]

    func = graph(relus(len(built)))
    module_of(func)
    run_ge(func.body.block, [PatternRule(pattern(RELUS), build)])
    found = [op.location for op in func.walk() if isinstance(op, GeOp) and op.op_type == "Relu"]
    assert found == [UnknownLoc()] * len(built)


BASE = "a b\n c = Const 1.0\n m = Sub(a, c)\n n = Mul(m, b)\n return n"
OTHERS: dict[str, str | Callable[[FuncOp], object]] = {
    "argument": BASE.replace("a b", "a b d"),
    "type of an op": BASE.replace("Sub", "Mul"),
    "value": BASE.replace("1.0", "2.0"),
    "operand": BASE.replace("Mul(m, b)", "Mul(m, a)"),
    "order of operands": BASE.replace("Mul(m, b)", "Mul(b, m)"),
    "number of ops": BASE.replace("return", "t = Exp(n)\n return"),
    "order of ops": "a b\n m = Sub(a, a)\n c = Const 1.0\n n = Mul(m, b)\n return n",
    "what it returns": BASE.replace("return n", "return m"),
    "how much it returns": BASE.replace("return n", "return n, m"),
    "name": BASE.replace("m", "q"),
    "attribute": lambda func: node(func, "m").attributes.update(x=StringAttr("y")),
    "order of properties": lambda func: node(func, "m").properties.update(x=UNIT, y=UNIT),
    "place": lambda func: setattr(node(func, "n"), "source", Location("f.py", 3, 1)),
    "type of a result": lambda func: set_type(
        node(func, "m").results[0], Tensor(DataType.DT_FLOAT, (4, 1)).type
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_makes_built_graphs_differ(name: str) -> None:
    other = OTHERS[name]
    ours, theirs = graph(BASE, "r"), graph(other if isinstance(other, str) else BASE, "s")
    if not isinstance(other, str):
        other(theirs)
    if name == "order of properties":
        node(ours, "m").properties.update(y=UNIT, x=UNIT)
        assert node(ours, "m").properties == node(theirs, "m").properties
    assert not same_body(ours, theirs)
    assert same_body(ours, graph(BASE, "t")) == (name != "order of properties")


def test_known_values_go_the_general_way(monkeypatch: pytest.MonkeyPatch) -> None:
    done = planned(monkeypatch)
    func = graph(relus(6))
    module_of(func)
    with KnownValues({func.body.block.args[0]: np.zeros((4, 4), np.float32)}):
        run_ge(func.body.block, [rule(RELUS, RELU)])
    assert not done
