"""What the drivers leave out among many rules changes nothing but the number of attempts."""

from __future__ import annotations

import pytest
from graph_text import graph, module_of, pattern
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from xdsl.dialects.func import FuncOp

from ge_xdsl.dialects.ge.graph import verify
from ge_xdsl.dialects.ge.text import module_text
from ge_xdsl.pattern.driver import MANY, PatternRule, run_fixpoint, run_ge
from ge_xdsl.pattern.index import FEW
from ge_xdsl.pattern.statistics import Statistics

RULES = {
    "a\n r = Relu(a)\n s = Relu(r)\n return s": "a\n r = Relu(a)\n return r",
    "a\n r = Neg(a)\n s = Neg(r)\n return s": "a\n return a",
    "a b\n m = Mul(a, a)\n y = Add(m, b)\n return y": "a b\n m = Abs(a)\n y = Sub(m, b)\n return y",
    "a b\n m = Mul(a, b)\n y = Add(m, m)\n return y": "a b\n m = Sub(a, b)\n y = Neg(m)\n return y",
    "a\n r = Relu(a)\n m = Mul(r, r)\n y = Neg(m)\n return y": "a\n r = Abs(a)\n return r",
    "a b\n n = Neg(a)\n m = Mul(n, b)\n y = Relu(m)\n return y": "a b\n y = Sub(a, b)\n return y",
    "a b\n m = Mul(a, b)\n y = Relu(m)\n return y, m": "a b\n m = Mul(a, b)\n y = Abs(m)\n"
    " return y, m",
    "a\n n = Neg(a)\n y = Add(n, a)\n return y": "a\n y = Abs(a)\n return y",
}
IDLE = "a\n t = Tanh(a)\n y = Exp(t)\n return y"


def rule(wanted: str, new: str, name: str) -> PatternRule:
    replacement = graph(new, "r")
    return PatternRule(pattern(wanted, name=name), lambda match: replacement)


def rules(idle: int) -> list[PatternRule]:
    made = [rule(wanted, new, f"p{i}") for i, (wanted, new) in enumerate(RULES.items())]
    return made + [PatternRule(pattern(IDLE), lambda match: None) for _ in range(idle)]


@st.composite
def texts(draw: st.DrawFn) -> str:
    names = ["x", "z"]
    lines = ["x z"]
    for k in range(draw(st.integers(3 * FEW, 6 * FEW))):
        pick = st.sampled_from(names[-4:])
        kind = draw(st.sampled_from(("Relu", "Neg", "Mul", "Add", "Neg", "Mul")))
        operands = [draw(pick) for _ in range(2 if kind in ("Mul", "Add") else 1)]
        lines.append(f"n{k} = {kind}({', '.join(operands)})")
        names.append(f"n{k}")
    some = draw(st.lists(st.sampled_from(names[2:]), min_size=1, max_size=3, unique=True))
    return "\n".join([*lines, f"return {', '.join(some)}"])


def swept(text: str, idle: int, one_by_one: bool) -> tuple[str, list[int]]:
    func = graph(text)
    module = module_of(func)
    given_rules = rules(idle)
    if one_by_one:  # each alone: no rule is among many, no index outlives a rule
        applied = [run_ge(func.body.block, [rule], pass_name="P").applied for rule in given_rules]
    else:
        report = run_ge(func.body.block, given_rules, pass_name="P")
        applied = [row.applied for row in report.rules]
    verify(module)
    return types_and_edges(func), applied


def types_and_edges(func: FuncOp) -> str:
    """The graph without node names, which count on over a run."""
    for op in func.walk():
        op.attributes.clear() if op is not func else None
    module = func.parent_op()
    return module_text(module)  # pyright: ignore


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(text=texts())
def test_many_rules_do_what_each_does_alone(text: str) -> None:
    assert len(rules(0)) >= MANY
    assert swept(text, 0, False) == swept(text, 0, True)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(text=texts())
def test_fixpoint_tries_no_rule_too_few(text: str) -> None:
    """Recording every attempt switches the shortcuts off: then, too, nothing is left to do."""
    module = module_of(graph(text))
    run_fixpoint(module, rules(0), pass_name="P")
    verify(module)
    again = run_fixpoint(module, rules(0), recorders=[Statistics(explains=True)])
    assert [row.applied for row in again.rules] == [0] * len(RULES)


SITES: dict[str, tuple[str, list[tuple[str, str]], list[int]]] = {
    # lines of one site (`#` is its number), pattern and replacement of each rule, rewrites per site
    "producer with other readers": (
        "m# = Mul(x, z)\ny# = Relu(m#)\nw# = Tanh(m#)",
        [("a b\n m = Mul(a, b)\n y = Relu(m)\n return y, m", "a b\n m = Sub(a, b)\n return m, m")],
        [1],
    ),
    "one tensor twice": (
        "m# = Mul(x, x)\ny# = Relu(m#)\nw# = Tanh(x)",
        [("a\n m = Mul(a, a)\n y = Relu(m)\n return y", "a\n y = Abs(a)\n return y")],
        [1],
    ),
    "producer that loses a reader": (
        "m# = Mul(x, z)\ny# = Relu(m#)\nt# = Abs(m#)\nw# = Sub(x, t#)",
        [
            ("a b\n m = Mul(a, b)\n y = Relu(m)\n return y", "a b\n return a"),
            ("a b\n t = Abs(b)\n y = Sub(a, t)\n return y", "a b\n return a"),
            ("a b\n m = Mul(a, b)\n y = Relu(m)\n return y", "a b\n return a"),
        ],
        [0, 1, 1],
    ),
    "reader that comes to read it": (
        "m# = Mul(x, z)\nr# = Relu(m#)\ny# = Relu(r#)\nw# = Tanh(x)",
        [("a b\n m = Mul(a, b)\n r = Relu(m)\n return r", "a b\n m = Mul(a, b)\n return m")],
        [2],
    ),
    "its own results": (
        "a# = Relu(x)\nb# = Relu(a#)\nc# = Relu(b#)\ny# = Relu(c#)\nw# = Tanh(x)",
        [
            (
                "a\n r = Relu(a)\n s = Relu(r)\n t = Relu(s)\n return t",
                "a\n r = Relu(a)\n s = Relu(r)\n return s",
            )
        ],
        [2],
    ),
}


@pytest.mark.parametrize("name", SITES)
def test_all_sites_are_found_among_many_rules(name: str) -> None:
    site, pairs, expected = SITES[name]
    count = 3 * FEW
    lines = [site.replace("#", str(i)) for i in range(count)]
    names = ", ".join(f"y{i}, w{i}" for i in range(count))
    func = graph("x z\n" + "\n".join(lines) + f"\nreturn {names}")
    module_of(func)
    idle = [PatternRule(pattern(IDLE), lambda match: None) for _ in range(MANY)]
    made = [rule(wanted, new, "p") for wanted, new in pairs]
    report = run_ge(func.body.block, [*made, *idle], pass_name="P")
    assert [row.applied for row in report.rules[: len(made)]] == [n * count for n in expected]


def test_idle_rules_are_not_tried_where_a_producer_differs() -> None:
    """Add(Mul(x, x), y) wants both operands of the Mul to be one tensor."""
    lines = [f"m{i} = Mul(x, z)\ny{i} = Add(m{i}, z)" for i in range(4 * FEW)]
    names = ", ".join(f"y{i}" for i in range(4 * FEW))
    func = graph("x z\n" + "\n".join(lines) + f"\nreturn {names}")
    module_of(func)
    squares = "a b\n m = Mul(a, a)\n y = Add(m, b)\n return y"
    made = [PatternRule(pattern(squares), lambda match: None) for _ in range(MANY)]
    assert run_ge(func.body.block, made).tried == 0
    assert run_ge(func.body.block, made[:1]).tried == 4 * FEW
