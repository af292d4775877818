"""Rules that interact: graphs in which two patterns meet, what each order does, and the report."""

from __future__ import annotations

import pytest
from graph_text import graph, module_of, pattern, types_of

from ge_xdsl.cli.opt import main
from ge_xdsl.dialects.ge.graph import main_function
from ge_xdsl.passes.check.interaction import (
    Effect,
    OrderReport,
    Unit,
    effect,
    report_on_graph,
    report_on_patterns,
)
from ge_xdsl.passes.check.meaning import meaning
from ge_xdsl.passes.check.overlap import feeding, overlaps
from ge_xdsl.pattern.graph import PatternGraph
from ge_xdsl.pattern.pattern_rule import PatternRule
from ge_xdsl.rewrites.catalog import simplify_rules


def shapes(modules):
    return [types_of(main_function(module)) for module in modules]


def unit(name, old, new):
    compiled, func = pattern(old, name=name), graph(new, f"{name}_new")
    return Unit(name, PatternRule(compiled, lambda match: func))


NEG_NEG = "x\n a = Neg(x)\n y = Neg(a)\n return y"
ABS_NEG = "x\n a = Neg(x)\n y = Abs(a)\n return y"


def test_patterns_meet_at_each_pair_of_equal_nodes() -> None:
    assert shapes(overlaps(graph(NEG_NEG), graph(ABS_NEG))) == [
        ["Neg", "Neg", "Abs"],  # both read the first Neg
        ["Neg", "Neg", "Abs"],  # one behind the other
    ]
    [joined] = shapes(
        overlaps(
            graph("x w b\n m = MatMul(x, w)\n y = Add(m, b)\n return y"),
            graph("x b\n r = Relu(x)\n y = Add(b, r)\n return y"),
        )
    )
    assert joined == ["MatMul", "Relu", "Add"]


NO_MEETING = {
    "other types": ("x\n y = Relu(x)\n return y", "x\n y = Abs(x)\n return y"),
    "other producers": (ABS_NEG, "x\n a = Exp(x)\n y = Abs(a)\n return y"),
    "another number of operands": (
        "x w\n y = MatMulV2(x, w)\n return y",
        "x w b[4]\n y = MatMulV2(x, w, b)\n return y",
    ),
}


@pytest.mark.parametrize("name", NO_MEETING)
def test_patterns_that_cannot_meet(name) -> None:
    first, second = NO_MEETING[name]
    assert not shapes(overlaps(graph(first), graph(second)))


def test_two_sums_that_would_need_each_other_are_not_one() -> None:
    first = graph("x\n a = Abs(x)\n y = Add(a, x)\n return y")
    second = graph("x\n a = Abs(x)\n y = Add(x, a)\n return y")
    assert shapes(overlaps(first, second)) == [["Abs", "Add", "Add"]]


def test_a_replacement_that_makes_a_match() -> None:
    made = graph("x\n a = Abs(x)\n y = Exp(a)\n return y", "new")
    old = PatternGraph.from_function(graph("x\n y = Add(x, x)\n return y", "old"))
    wanted = graph("x\n a = Abs(x)\n e = Exp(a)\n y = Relu(e)\n return y", "wanted")
    assert ["Add", "Relu"] in shapes(feeding(old, made, wanted))


TAKES = (
    unit("twice", NEG_NEG, "x\n y = Identity(x)\n return y"),
    unit("inner", ABS_NEG, "x\n y = Abs(x)\n return y"),
)


def test_effects_of_the_order() -> None:
    func = graph("x\n a = Neg(x)\n b = Neg(a)\n y = Abs(b)\n return y")
    found = effect(*TAKES, module_of(func))
    assert found == Effect((1, 2), (0, 0), True)
    assert list(found.texts("a", "b")) == [
        "'b' takes 1 match of 'a'",
        "'a' takes 2 matches of 'b'",
        "the results differ by order",
    ]
    assert effect(*TAKES, module_of(graph("x\n y = Relu(x)\n return y"))) is None
    apart = module_of(
        graph("x w\n a = Neg(x)\n b = Neg(a)\n c = Neg(w)\n d = Abs(c)\n return b, d")
    )
    found = effect(*TAKES, apart)
    assert found is not None
    assert not found.interacts


def test_a_rule_that_does_not_fit_shows_no_effect() -> None:
    wrong = unit("wrong", NEG_NEG, "x z\n y = Add(x, z)\n return y")
    assert effect(wrong, TAKES[1], module_of(graph(NEG_NEG))) is None


def test_the_report_on_patterns() -> None:
    never = unit("never", "x\n a = Neg(x)\n b = Abs(a)\n y = Exp(b)\n return y", ABS_NEG)
    report = report_on_patterns([[*TAKES, never]])
    assert (report.rules, report.pairs) == (3, 3)
    assert report.shadowed == [("never", "inner")]
    assert {(i.first, i.second) for i in report.interactions} == {
        ("twice", "inner"),
        ("twice", "never"),
        ("inner", "never"),
    }
    assert report.lines()[1] == (
        "never never fires: inner stands before it and takes all its matches"
    )
    assert [entry["results_differ"] for entry in report.as_json()["interactions"]] == [True] * 3


def test_an_empty_report() -> None:
    report = report_on_patterns([])
    assert report.lines() == ["0 rules, 0 pairs, 0 interact"]
    assert OrderReport(rules=1).lines() == ["1 rule, 0 pairs, 0 interact"]


def test_the_report_on_a_graph_has_a_small_witness() -> None:
    lines = ["x", "r = Relu(x)", "i = Identity(r)", "s = Relu(i)"]
    lines += [f"a{i} = Abs({f'a{i - 1}' if i else 's'})" for i in range(9)]
    module = module_of(graph("\n".join([*lines, "return a8"])))
    units = [Unit(rule.name, rule, fixpoint=True) for rule in simplify_rules()]
    [found] = report_on_graph(units, module).interactions
    assert (found.first, found.second) == ("RemoveIdentity", "RemoveIdempotent")
    assert not found.effect.differs
    assert types_of(main_function(found.witness)) == ["Relu", "Identity", "Relu"]


def test_meaning_says_nothing_of_names_and_order() -> None:
    first = module_of(graph("x z\n a = Abs(x)\n b = Exp(z)\n y = Add(a, b)\n return y"))
    other = module_of(graph("x z\n q = Exp(z)\n p = Abs(x)\n s = Add(p, q)\n return s"))
    swapped = module_of(graph("x z\n a = Abs(x)\n b = Exp(z)\n y = Add(b, a)\n return y"))
    unused = module_of(
        graph("x z\n n = Neg(x)\n a = Abs(x)\n b = Exp(z)\n y = Add(a, b)\n return y")
    )
    assert meaning(first) == meaning(other) == meaning(unused)
    assert meaning(first) != meaning(swapped)


USAGE = {
    "--order-report=xml, expected it alone or =json": ["--order-report=xml"],
    "--order-report without passes, expected --load FILE, or INPUT and -p": ["--order-report"],
    "--order-report with -p alone, expected an input too, or only --load": [
        "--order-report",
        "-p",
        "ge-dce",
    ],
    "--order-report with input 'g.mlir' alone, expected -p too, or only --load": [
        "g.mlir",
        "--order-report",
    ],
    "--order-report: no pass of -p has rules, expected ge-simplify or another": [
        "g.mlir",
        "-p",
        "ge-dce",
        "--order-report",
    ],
}


@pytest.mark.parametrize("message", USAGE)
def test_usage(message, capsys) -> None:
    assert main(USAGE[message]) == 2
    assert message in capsys.readouterr().err
