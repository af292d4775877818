"""Rewriting takes work in proportion to what there is to rewrite, counted in calls."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest
from graph_text import graph, module_of, pattern, types_of
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter

from ge_xdsl.dialects.ge.graph import verify
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.pattern import rewrite
from ge_xdsl.pattern.access import WIDE, WideOperands, operands_of
from ge_xdsl.pattern.driver import PatternRule, run_fixpoint, run_ge
from ge_xdsl.pattern.rule import Applied, Declined, Outcome, Rule

RELUS = "a\n r = Relu(a)\n s = Relu(r)\n return s"
RELU = "a\n r = Relu(a)\n return r"
ZERO = "a\n c = Const 0.0\n y = Add(a, c)\n return y"
SAME = "a\n return a"
NEGS = "a\n r = Neg(a)\n s = Neg(r)\n return s"


def rule(wanted: str, new: str, **config: bool) -> PatternRule:
    replacement = graph(new, "r")
    return PatternRule(pattern(wanted, **config), lambda match: replacement)


def ge(func: FuncOp, *rules: Rule) -> int:
    return run_ge(func.body.block, rules, pass_name="P").applied


def fixpoint(func: FuncOp, *rules: Rule) -> int:
    module = func.parent_op()
    return run_fixpoint(module, rules, pass_name="P").applied


def chain(op: str, n: int, start: str = "x", stem: str = "r") -> list[str]:
    return [f"{stem}{i} = {op}({start if i == 0 else f'{stem}{i - 1}'})" for i in range(n)]


def relu_chain(n: int) -> tuple[str, list[Rule], int]:
    return "\n".join(["x", *chain("Relu", n), f"return r{n - 1}"]), [rule(RELUS, RELU)], n - 1


def bypasses(n: int) -> tuple[str, list[Rule], int]:
    lines = ["x"]
    for i in range(n):
        lines += [f"c{i} = Const 0.0", f"y{i} = Add({'x' if i == 0 else f'y{i - 1}'}, c{i})"]
    return "\n".join([*lines, f"return y{n - 1}"]), [rule(ZERO, SAME, const_value=True)], n


def wide(n: int) -> list[str]:
    lines = ["x", "d = Const int32 0"]
    for i in range(n):
        lines += [f"a{i} = Neg(x)", f"b{i} = Neg(a{i})"]
    return lines


def wide_concat(n: int) -> tuple[str, list[Rule], int]:
    names = ", ".join(f"b{i}" for i in range(n))
    return "\n".join([*wide(n), f"y = Concat(d, {names})", "return y"]), [rule(NEGS, SAME)], n


def wide_return(n: int) -> tuple[str, list[Rule], int]:
    names = ", ".join(f"b{i}" for i in range(n))
    return "\n".join([*wide(n), f"return {names}"]), [rule(NEGS, SAME)], n


def wide_and_asleep(n: int) -> tuple[str, list[Rule], int]:
    """Beside the rule there is one that sleeps until an edge appears."""
    text, rules, count = wide_concat(n)
    return text, [*rules, rule("a\n e = Exp(a)\n t = Tanh(e)\n return t", RELU)], count


def wide_many_outputs(n: int) -> tuple[str, list[Rule], int]:
    """Both outputs of each match go to one wide op."""
    lines = ["x", "d = Const int32 0"]
    for i in range(n):
        lines += [f"a{i} = Abs(x)", f"b{i} = Relu(a{i})"]
    names = ", ".join(f"a{i}, b{i}" for i in range(n))
    both = "a\n p = Abs(a)\n q = Relu(p)\n return q, p"
    new = "a\n p = Abs(a)\n q = Identity(p)\n return q, p"
    return "\n".join([*lines, f"y = Concat(d, {names})", "return y"]), [rule(both, new)], n


def unrelated_outputs(n: int) -> tuple[str, list[Rule], int]:
    """Two outputs without a common tensor: the n-th Relu goes with the n-th Exp."""
    lines = ["x"]
    for i in range(n):
        lines += [f"r{i} = Relu(x)", f"e{i} = Exp(x)"]
    names = ", ".join(f"r{i}, e{i}" for i in range(n))
    wanted = "a b\n r = Relu(a)\n e = Exp(b)\n return r, e"
    new = "a b\n r = Neg(a)\n e = Abs(b)\n return r, e"
    return "\n".join([*lines, f"return {names}"]), [rule(wanted, new)], n


def siblings(n: int) -> tuple[str, list[Rule], int]:
    """Pairs of readers of one tensor that n pairs read."""
    lines = ["x"]
    for i in range(n):
        lines += [f"r{i} = Relu(x)", f"e{i} = Exp(x)"]
    names = ", ".join(f"r{i}, e{i}" for i in range(n))
    wanted = "a\n r = Relu(a)\n e = Exp(a)\n return r, e"
    new = "a\n r = Neg(a)\n e = Abs(a)\n return r, e"
    return "\n".join([*lines, f"return {names}"]), [rule(wanted, new)], n


def fibonacci(n: int) -> tuple[str, list[Rule], int]:
    """n(i) = Add(n(i - 1), n(i - 2)), under a rule that looks three edges deep."""
    lines = ["x z", "n0 = Relu(x)", "n1 = Relu(z)"]
    lines += [f"n{i} = Add(n{i - 1}, n{i - 2})" for i in range(2, n)]
    deep = "a b c d\n p = Add(a, b)\n q = Add(p, c)\n r = Add(q, d)\n return r"
    return "\n".join([*lines, f"return n{n - 1}, n{n - 2}"]), [rule(deep, deep)], 0


class Backward(Rule):
    """Relu becomes Neg when its only reader is Neg: looks at readers"""

    name = "Backward"
    root_types = ("Relu",)

    def attempt(self, op: GeOp, rewriter: PatternRewriter) -> Outcome:
        user = op.results[0].get_user_of_unique_use()
        if not isinstance(user, GeOp) or user.op_type != "Neg":
            return Declined("no reader is Neg")
        rewriter.replace(op, type(user).build(op.operands[0], node_name=op.node_name))
        return Applied()


def backward(n: int) -> tuple[str, list[Rule], int]:
    lines = ["x", *chain("Relu", n), f"y = Neg(r{n - 1})", "return y"]
    return "\n".join(lines), [Backward()], n


def shared_operands(n: int) -> tuple[str, list[Rule], int]:
    """A chain Add(x, x) that dies at one stroke."""
    lines = ["x z", "n0 = Neg(x)"]
    lines += [f"n{i} = Add(n{i - 1}, n{i - 1})" for i in range(1, n)]
    first = rule("a b\n y = Mul(a, b)\n return y", "a b\n y = Neg(a)\n return y")
    return "\n".join([*lines, f"y = Mul(z, n{n - 1})", "return y"]), [first], 1


Case = Callable[[int], tuple[str, list[Rule], int]]
IN_BOTH: list[Case] = [
    relu_chain,
    bypasses,
    wide_concat,
    wide_return,
    wide_and_asleep,
    wide_many_outputs,
    unrelated_outputs,
    siblings,
    fibonacci,
    shared_operands,
]
CASES = [
    *((run, case) for case in IN_BOTH for run in (ge, fixpoint)),
    (fixpoint, backward),
]


def calls(run: Callable[..., int], case: Case, n: int) -> int:
    """How many calls of Python and C functions the rewriting makes."""
    text, rules, expected = case(n)
    func = graph(text)
    module = module_of(func)
    count = 0

    def note(frame: object, event: str, arg: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        applied = run(func, *rules)
    finally:
        sys.setprofile(None)
    assert applied == expected
    verify(module)
    return count


@pytest.mark.parametrize(
    ("run", "case"), CASES, ids=[f"{case.__name__}, {run.__name__}" for run, case in CASES]
)
def test_calls_grow_linearly(run: Callable[..., int], case: Case) -> None:
    small, large = calls(run, case, 80), calls(run, case, 320)
    assert large <= 4.7 * small


@pytest.mark.parametrize("run", [ge, fixpoint])
@pytest.mark.parametrize("case", [wide_concat, wide_return])
def test_wide_op_is_not_copied_per_operand(
    monkeypatch: pytest.MonkeyPatch, case: Case, run: Callable[..., int]
) -> None:
    copied: list[int] = []
    kept = rewrite.set_operand

    def note(op: Operation, index: int, value: object) -> None:
        copied.append(len(operands_of(op)))
        kept(op, index, value)

    monkeypatch.setattr(rewrite, "set_operand", note)
    text, rules, count = case(3 * WIDE)
    func = graph(text)
    module_of(func)
    assert run(func, *rules) == count
    assert sum(copied) <= 2 * count
    wide_ops = [op for op in func.body.block.ops if len(operands_of(op)) > WIDE]
    assert wide_ops
    assert not any(isinstance(operands_of(op), WideOperands) for op in wide_ops)
    assert set(types_of(func)) <= {"Concat"}
