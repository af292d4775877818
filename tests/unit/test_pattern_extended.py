"""Opt-in matching: commuted operands and copies in between; without them it is GE's matching."""

from __future__ import annotations

import pytest
from graph_text import graph, module_of, node, pattern, types_of
from test_pattern_match import CASES

from ge_xdsl.dialects.ge.graph import ge_ops
from ge_xdsl.errors import PassError
from ge_xdsl.pattern import extended
from ge_xdsl.pattern.driver import MANY, PatternRule, run_ge
from ge_xdsl.pattern.extended import ExtendedPattern, Matching
from ge_xdsl.pattern.match import Match, match_at
from ge_xdsl.pattern.rule import Declined

GEMM = "a w b\n m = MatMul(a, w)\n y = Add(m, b)\n return y"
SOFTMAX = "q k\n m = MatMul(q, k)\n y = SoftmaxV2(m)\n return y"
BOTH = Matching(commutative=True, through_copies=True)


def extended_pattern(text, matching, **config):
    plain = pattern(text, **config)
    return ExtendedPattern(plain.graph, plain.config, matching)


def found(compiled, text):
    func = graph(text)
    return [
        [t.node_name for t in match.targets]
        for op in ge_ops(func)
        if type(op) in compiled.root_classes and (match := compiled.match(op)) is not None
    ]


STRICT = [name for name, case in CASES.items() if not case[2].get("upstream_quirks")]


@pytest.mark.parametrize("name", STRICT)
def test_without_options_it_is_the_reference_matcher(name) -> None:
    wanted, target, config, _ = CASES[name]
    compiled = extended_pattern(wanted, Matching(), **config)
    func = graph(target)
    for op in ge_ops(func):
        if op.op_type not in compiled.root_types:
            continue
        match, expected = compiled.match(op), match_at(compiled.graph, compiled.config, op)
        if isinstance(expected, Match):
            assert match is not None
            assert list(match.targets) == list(expected.targets)
            assert list(match.inputs) == list(expected.inputs)
        else:
            assert match is None


MORE = {
    "a sum in either order": (
        GEMM,
        "x w b\n m = MatMul(x, w)\n y = Add(b, m)\n n = MatMul(x, w)\n z = Add(n, b)\n return y, z",
        [["y", "m"], ["z", "n"]],
    ),
    "products under a sum, all orders": (
        "a b c s t\n m = MatMul(a, b)\n p = Mul(m, s)\n q = Mul(c, t)\n y = Add(p, q)\n return y",
        "a b c s t\n q = Mul(t, c)\n m = MatMul(a, b)\n p = Mul(s, m)\n y = Add(q, p)\n return y",
        [["y", "p", "q", "m"]],
    ),
    "a difference keeps its order": (
        "b c\n a = Const 2.0\n s = Sub(a, b)\n y = Mul(c, s)\n return y",
        "b c\n a = Const 2.0\n s = Sub(a, b)\n y = Mul(s, c)\n d = Const 2.0\n t = Sub(b, d)\n"
        " z = Mul(t, c)\n return y, z",
        [["y", "s", "a"]],
    ),
    "copies in between": (
        SOFTMAX,
        "q k\n m = MatMul(q, k)\n c = Cast(m) dst_type=0\n i = Identity(c)\n y = SoftmaxV2(i)\n"
        " return y",
        [["y", "m"]],
    ),
    "a cast that changes the type": (
        SOFTMAX,
        "q k\n m = MatMul(q, k)\n c = Cast(m) dst_type=1\n y = SoftmaxV2(c)\n return y",
        [],
    ),
    "a copy that something else reads": (
        SOFTMAX,
        "q k\n m = MatMul(q, k)\n i = Identity(m)\n y = SoftmaxV2(i)\n return y, i",
        [],
    ),
    "a copy that the pattern asks for": (
        "a\n r = Relu(a)\n i = Identity(r)\n y = Exp(i)\n return y",
        "x\n r = Relu(x)\n i = Identity(r)\n j = Identity(i)\n y = Exp(j)\n return y",
        [["y", "j", "r"]],
    ),
    "one tensor in both orders": (
        "a b\n s = Sub(a, b)\n y = Mul(s, a)\n return y",
        "x z\n s = Sub(x, z)\n y = Mul(x, s)\n return y",
        [["y", "s"]],
    ),
    "two outputs": (
        "a b\n s = Mul(a, b)\n y = Add(s, a)\n z = Exp(s)\n return y, z",
        "a b\n s = Mul(b, a)\n z = Exp(s)\n y = Add(a, s)\n return y, z",
        [["y", "s", "z"]],
    ),
}


@pytest.mark.parametrize("name", MORE)
def test_with_options(name) -> None:
    wanted, target, expected = MORE[name]
    assert found(extended_pattern(wanted, BOTH), target) == expected


def test_among_many_rules_no_index_hides_a_commuted_site() -> None:
    func = graph("x w b\n m = MatMul(x, w)\n i = Identity(m)\n y = Add(b, i)\n return y")
    module_of(func)
    new = graph("a w b\n m = MatMulV2(a, w)\n y = Add(m, b)\n return y", "r")
    others = [PatternRule(pattern(GEMM, name=f"p{i}"), lambda _: new) for i in range(MANY)]
    rule = PatternRule(extended_pattern(GEMM, BOTH), lambda _: new)
    report = run_ge(func.body.block, [*others, rule])
    assert [row.applied for row in report.rules] == [0] * MANY + [1]
    assert types_of(func) == ["MatMulV2", "Add"]


def test_notes() -> None:
    assert Matching().notes() == []
    assert BOTH.notes() == [
        "operands of commutative ops match in either order",
        "copies may stand between two nodes",
    ]


def chain(depth):
    lines = [f"s{i} = Add({f's{i - 1}' if i else 'x0'}, x{i + 1})" for i in range(depth)]
    inputs = " ".join(f"x{i}" for i in range(depth + 1))
    body = "\n".join(lines)
    return f"{inputs}\n{body}\nreturn s{depth - 1}"


def test_attempts_grow_linearly_on_a_chain_of_sums(monkeypatch) -> None:
    asked = []

    def counting(*args):
        asked.append(args)
        return difference(*args)

    difference = extended.node_difference
    monkeypatch.setattr(extended, "node_difference", counting)
    counts = {}
    for depth in (6, 12, 24):
        asked.clear()
        compiled = extended_pattern(chain(depth), Matching(commutative=True))
        mirrored = "\n".join(
            line if "Add" not in line else f"{line.split('(')[0]}({', '.join(swapped(line))})"
            for line in chain(depth).splitlines()
        )
        match = compiled.match(node(graph(mirrored), f"s{depth - 1}"))
        assert match is not None
        counts[depth] = len(asked)
    assert counts[12] <= 2 * counts[6] + 4
    assert counts[24] <= 4 * counts[6] + 8


def swapped(line):
    first, second = line.split("(")[1].rstrip(")").split(", ")
    return second, first


def sums(names):
    """Lines of a balanced tree of Adds over some tensors, and the name of its last one."""
    lines, level = [], list(names)
    while len(level) > 1:
        pairs = list(zip(level[::2], level[1::2], strict=True))
        level = [f"s{len(lines) + i}" for i in range(len(pairs))]
        lines += [f"{s} = Add({a}, {b})" for s, (a, b) in zip(level, pairs, strict=True)]
    return lines, level[0]


def test_many_commutative_nodes_are_tried_in_few_orders() -> None:
    """A tree of 63 Adds that has no Relu below it, in 2^63 orders: a miss, and at once."""
    names = [f"x{i}" for i in range(64)]
    lines, last = sums([*names[:-1], "r"])
    wanted = "\n".join([" ".join(names), "r = Relu(x63)", *lines, f"return {last}"])
    lines, last = sums(names)
    compiled = extended_pattern(wanted, Matching(commutative=True))
    func = graph("\n".join([" ".join(names), *lines, f"return {last}"]))
    root = node(func, last)
    outcome = compiled.explain(root)
    assert isinstance(outcome, Declined)
    assert outcome.reason == "operand 1: is graph input 'x63', expected Relu"


def test_too_many_orders_are_an_error() -> None:
    names = [f"x{i}" for i in range(64)]
    lines, last = sums([*names[:-1], "x0"])
    wanted = "\n".join([" ".join(names[:-1]), *lines, f"return {last}"])
    lines, last = sums(names)
    compiled = extended_pattern(wanted, Matching(commutative=True))
    func = graph("\n".join([" ".join(names), *lines, f"return {last}"]))
    with pytest.raises(PassError) as caught:
        compiled.match(node(func, last))
    assert caught.value.message == (
        f"is laid in more than 20000 ways on the nodes at ge.Add '{last}', expected fewer "
        "pattern inputs that occur more than once below commutative nodes"
    )
