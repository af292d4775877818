"""GE's own tests of rewriting and of passes, continued from `test_engine_conformance.py`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from engine_case import boundary, outputs_of, tensor, unary
from graph_text import graph, module_of, node, pattern, types_of
from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.func import FuncOp

from ge_xdsl.dialects.ge.graph import verify
from ge_xdsl.dialects.ge.text import module_text
from ge_xdsl.errors import CompileError
from ge_xdsl.passes.session import Session
from ge_xdsl.passes.switches import Switches
from ge_xdsl.pattern.boundary import Boundary
from ge_xdsl.pattern.driver import PatternRule, RunReport, decompose, node_boundary, run_ge
from ge_xdsl.pattern.match import Match
from ge_xdsl.pattern.provenance import ORIGIN_TYPES
from ge_xdsl.pattern.rewrite import replace
from ge_xdsl.pattern.statistics import Statistics

REPLACES: dict[str, tuple[str, str, str, str, list[str]]] = {
    # upstream test of graph_rewriter: graph, inputs, outputs, replacement, types left
    "one to one": (
        "x\n y = Neg(x)\n return y",
        "x",
        "y",
        "a\n c = Const -1.0\n n = Mul(a, c)\n return n",
        ["Mul"],
    ),
    "many to many with a new const": (
        "x z\n m = Mul(x, z)\n p = Neg(m)\n q = Neg(p)\n return q",
        "x z",
        "q",
        "a b\n c = Const 1.0\n k = Mul(a, b)\n t = Mul(k, c)\n return t",
        ["Mul", "Mul"],
    ),
    "one input, two outputs": (
        "x\n a = Abs(x)\n r = Relu(a)\n return r, a",
        "x",
        "r a",
        "a\n p = Abs(a)\n return p, p",
        ["Abs"],
    ),
    "producer with an outside consumer": (
        "x\n a = Abs(x)\n r = Relu(a)\n e = Exp(a)\n return r, e",
        "a",
        "r",
        "a\n t = Abs(a)\n return t",
        ["Abs", "Abs", "Exp"],
    ),
    "data to net output": (
        "x z\n a = Abs(z)\n y = Neg(x)\n w = Neg(y)\n return w, a",
        "x",
        "w",
        "a\n return a",
        ["Abs"],
    ),
    "all to none": ("x\n p = Neg(x)\n q = Neg(p)\n return q", "x", "q", "a\n return a", []),
}


@pytest.mark.parametrize("name", REPLACES)
def test_replaces(name: str) -> None:
    text, inputs, outputs, new, left = REPLACES[name]
    func = graph(text)
    module = module_of(func)
    before = outputs_of(func)
    replacement = graph(new, "r")
    replace(func.body.block, boundary(func, inputs, outputs), replacement, pass_name="P")
    verify(module)
    assert types_of(func) == left
    for want, have in zip(before, outputs_of(func), strict=True):
        np.testing.assert_allclose(have, want, rtol=1e-6)


def test_replacement_keeps_stream_label_and_origin_types() -> None:
    func = graph("x\n y = Neg(x)\n return y")
    module_of(func)
    node(func, "y").attributes["_user_stream_label"] = StringAttr("s")
    (new,) = replace(func.body.block, boundary(func, "x", "y"), graph(unary("Abs(a)"), "r"))
    assert new.attributes["_user_stream_label"] == StringAttr("s")
    assert str(new.attributes[ORIGIN_TYPES]) == '["Neg"]'


FAILS: dict[str, tuple[str, str, str, str, str]] = {
    # upstream test of graph_rewriter: graph, inputs, outputs, replacement, error
    "InvalidBoundary_NotClosed": (
        "x\n a = Abs(x)\n y = Neg(a)\n e = Exp(a)\n return y, e",
        "x",
        "y",
        unary("Relu(a)"),
        "Boundary is not self contained",
    ),
    "input count": (
        "x\n y = Neg(x)\n return y",
        "x",
        "y",
        "a b\n n = Add(a, b)\n return n",
        "Replacement input size: 2 not equal with Boundary input size: 1",
    ),
    "output count": (
        "x\n y = Neg(x)\n return y",
        "x",
        "y",
        "a\n n = Neg(a)\n return n, n",
        "Replacement output size: 2 not equal with Boundary output size: 1",
    ),
}


@pytest.mark.parametrize("name", FAILS)
def test_replace_fails(name: str) -> None:
    text, inputs, outputs, new, message = FAILS[name]
    func = graph(text)
    module = module_of(func)
    before = module_text(module)
    with pytest.raises(CompileError, match=message):
        replace(func.body.block, boundary(func, inputs, outputs), graph(new, "r"))
    assert module_text(module) == before


def test_boundary_over_two_graphs_fails() -> None:
    one, other = graph(unary("Neg(a)")), graph(unary("Abs(a)"), "other")
    module_of(one, other)
    both = Boundary([], [tensor(one, "y"), tensor(other, "y")])
    with pytest.raises(CompileError, match="Boundary is not in same graph with others"):
        replace(one.body.block, both, graph(unary("Neg(a)"), "r"))


def rule(wanted: str, new: str, meet: Callable[[Match], bool] | None = None, **config: bool):
    replacement = graph(new, "r")
    return PatternRule(pattern(wanted, **config), lambda match: replacement, meet)


def run(func: FuncOp, *rules: PatternRule) -> RunReport:
    report = run_ge(func.body.block, rules, pass_name="P")
    module = func.parent_op()
    assert module is not None
    verify(module)
    return report


@pytest.mark.parametrize("inputs", ["b", "c", "w b"])
def test_stacked_blocks(inputs: str) -> None:
    """fusion_component: ten blocks that share an input, a bias, or a weight and an input."""
    shared = set(inputs.split())
    lines, args, last = [], ["x[4,4]", *(f"{n}[4,4]" for n in sorted(shared))], "x"
    for i in range(10):
        w, b = ("w" if "w" in shared else f"c{i}"), ("b" if "b" in shared else f"d{i}")
        lines += [f"{n} = Const {[[float(i)] * 4] * 4}" for n in (w, b) if n not in shared]
        lines += [f"m{i} = MatMul({last}, {w})", f"a{i} = Add(m{i}, {b})", f"r{i} = Relu(a{i})"]
        last = f"r{i}"
    func = graph(" ".join(args) + "\n" + "\n".join(lines) + f"\nreturn {last}")
    module_of(func)
    wanted = "a w b\n m = MatMul(a, w)\n y = Add(m, b)\n r = Relu(y)\n return r"
    before = outputs_of(func)
    report = run(func, rule(wanted, wanted.replace("y = Add(m, b)", "y = Add(b, m)")))
    assert (report.matched, report.applied) == (10, 10)
    for want, have in zip(before, outputs_of(func), strict=True):
        np.testing.assert_allclose(have, want, rtol=1e-6)


def test_shared_constant_as_an_output() -> None:
    """fusion_component, keep-const: a Const with another reader is exposed, and stays."""
    func = graph("x\n c = Const 2.0\n m = Mul(x, c)\n k = RealDiv(m, c)\n return k")
    module_of(func)
    exposed = "a\n c = Const 2.0\n y = Mul(a, c)\n return y, c"
    report = run(func, rule(exposed, "a\n c = Const 2.0\n y = Mul(c, a)\n return y, c"))
    assert report.applied == 1
    hidden = rule("a\n c = Const 2.0\n y = Mul(c, a)\n return y", unary("Neg(a)"))
    assert run(func, hidden).matched == 0


MADE = "a\n p = Abs(a)\n q = Relu(p)\n r = Abs(q)\n return r"
PASSES: dict[str, tuple[str, PatternRule, tuple[int, int]]] = {
    # upstream test of pattern_fusion_pass: graph, rule, matches and rewrites
    "replace": ("x\n a = Neg(x)\n return a", rule(unary("Neg(a)"), unary("Abs(a)")), (1, 1)),
    "no match": ("x\n a = Exp(x)\n return a", rule(unary("Neg(a)"), unary("Abs(a)")), (0, 0)),
    "requirements false": (
        "x\n a = Neg(x)\n return a",
        rule(unary("Neg(a)"), unary("Abs(a)"), lambda match: False),
        (1, 0),
    ),
    "attributes differ": (
        "x\n a = Cast(x) dst_type=1\n return a",
        rule(unary("Cast(a) dst_type=3"), unary("Cast(a) dst_type=3"), ir_attr=True),
        (0, 0),
    ),
    "cycle maker skipped": (
        "x z\n a = Abs(x)\n r = Relu(a)\n b = Abs(r)\n o = Exp(z)\n"
        " a -ctrl-> o\n o -ctrl-> b\n return b, o",
        rule(MADE, MADE),
        (1, 0),
    ),
}


@pytest.mark.parametrize("name", PASSES)
def test_passes(name: str) -> None:
    text, made, expected = PASSES[name]
    func = graph(text)
    module_of(func)
    report = run(func, made)
    assert (report.matched, report.applied) == expected
    assert report.changed is bool(expected[1])


def test_second_run_changes_nothing_and_a_bad_replacement_fails() -> None:
    func = graph("x\n a = Neg(x)\n return a")
    module = module_of(func)
    to_abs = rule(unary("Neg(a)"), unary("Abs(a)"))
    assert run(func, to_abs).changed
    assert not run(func, to_abs).changed
    before = module_text(module)
    with pytest.raises(CompileError, match="Replacement input size"):
        run(func, rule(unary("Abs(a)"), "a b\n y = Add(a, b)\n return y"))
    assert module_text(module) == before


def test_graph_output_follows() -> None:
    """The output of a replaced node, and the NoOp that a target hangs on, follow."""
    func = graph("x z\n a = Neg(x)\n o = Exp(z)\n a -ctrl-> o\n return a, o")
    module_of(func)
    assert run(func, rule(unary("Neg(a)"), unary("Abs(a)"))).applied == 1
    last = func.body.block.last_op
    assert last is not None
    assert last.operands[0].owner.name == "ge.Abs"
    assert "NoOp" in types_of(func)


DECOMPOSES: dict[str, tuple[str, str, str, tuple[int, int] | str]] = {
    # upstream test of decompose_pass: graph, type, replacement, matches and rewrites, or the error
    "found": (
        "x\n y = Neg(x)\n return y",
        "Neg",
        "a\n c = Const -1.0\n y = Mul(a, c)\n return y",
        (1, 1),
    ),
    "none": ("x\n y = Abs(x)\n return y", "Neg", unary("Abs(a)"), (0, 0)),
    "invalid replacement": (
        "x\n y = Neg(x)\n return y",
        "Neg",
        "a b\n y = Add(a, b)\n return y",
        "Replacement input size: 2",
    ),
    "one tensor twice is one input": (
        "x\n y = Add(x, x)\n return y",
        "Add",
        unary("Neg(a)"),
        (1, 1),
    ),
}


@pytest.mark.parametrize("name", DECOMPOSES)
def test_decomposes(name: str) -> None:
    text, op_type, new, expected = DECOMPOSES[name]
    func = graph(text)
    module = module_of(func)
    if isinstance(expected, str):
        with pytest.raises(CompileError, match=expected):
            decompose(func.body.block, [op_type], lambda op: graph(new, "r"))
        return
    report = decompose(func.body.block, [op_type], lambda op: graph(new, "r"), pass_name="D")
    verify(module)
    assert (report.matched, report.applied) == expected


def test_decompose_hooks_decide() -> None:
    func = graph("x\n y = Neg(x)\n z = Neg(y)\n return z")
    module_of(func)
    counts = Statistics()
    report = decompose(
        func.body.block,
        ["Neg"],
        lambda op: graph(unary("Abs(a)"), "r"),
        lambda op: op.node_name == "z",
        recorders=[counts],
    )
    assert (report.matched, report.applied) == (2, 1)
    assert list(node_boundary(node(func, "y")).outputs) == list(node(func, "y").results)
    with pytest.raises(CompileError, match="replacement is None"):
        decompose(func.body.block, ["Neg"], lambda op: None)


SWITCHES: dict[str, tuple[str, str | None, dict[str, bool]]] = {
    # upstream test of fusion_utils and the executor: option, text of the file, pass -> on
    "nothing given": ("", None, {"A": True}),
    "option off": ("A:off;B:on", None, {"A": False, "B": True, "C": True}),
    "option wins": ("A:on", json.dumps({"Switch": {"GraphFusion": {"A": "off"}}}), {"A": True}),
    "file off": (
        "",
        json.dumps({"Switch": {"GraphFusion": {"A": "off"}}}),
        {"A": False, "B": True},
    ),
    "all off, one on": (
        "",
        json.dumps({"Switch": {"GraphFusion": {"ALL": "off", "A": "on"}}}),
        {"A": True, "B": False},
    ),
    "all off": ("", json.dumps({"Switch": {"GraphFusion": {"ALL": "off"}}}), {"A": False}),
    "missing file": ("", "", {"A": True}),
    "bad JSON": ("", '{"Switch": {"GraphFusion": {"ALL": "off" "A": "on"}}}', {"A": True}),
    "top level is no object": ("", "[1]", {"A": True}),
    "no Switch": ("", "{}", {"A": True}),
    "GraphFusion is no object": ("", '{"Switch": {"GraphFusion": "off"}}', {"A": True}),
    "another engine's section": ("", '{"Switch": {"UBFusion": {"ALL": "off"}}}', {"A": True}),
    "any other word is off": ("A:true", None, {"A": False}),
}


@pytest.mark.parametrize("name", SWITCHES)
def test_switches(name: str, tmp_path: Path) -> None:
    option, text, expected = SWITCHES[name]
    options = {"ge.optimizationSwitch": option}
    if text is not None:
        path = tmp_path / "switches.json"
        if text:
            path.write_text(text)
        options["ge.fusionSwitchFile"] = str(path)
    switches = Switches.of(Session(options=options))
    assert {name: switches.is_on(name) for name in expected} == expected
