"""Runs over a graph and its subgraphs share what they know of its names."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest
from graph_text import graph, module_of, pattern
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Region

from ge_xdsl.dialects.ge.control import IfOp
from ge_xdsl.dialects.ge.data import YieldOp
from ge_xdsl.dialects.ge.graph import root_blocks, verify
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.text import module_text
from ge_xdsl.pattern.access import operands_of
from ge_xdsl.pattern.decompose import decompose
from ge_xdsl.pattern.driver import PatternRule, run_fixpoint, run_ge
from ge_xdsl.pattern.provenance import GraphNames

RELUS, RELU = "a\n r = Relu(a)\n s = Relu(r)\n return s", "a\n r = Relu(a)\n return r"
PAIR = "x\n r# = Relu(x)\n s# = Relu(r#)\n t# = Exp(s#)\n return t#"


def relu_rule() -> PatternRule:
    new = graph(RELU, "r")
    return PatternRule(pattern(RELUS), lambda _: new)


def branch(text: str) -> Region:
    func = graph(text)
    block = func.body.block
    last = block.last_op
    assert last is not None
    block.add_op(YieldOp.build(list(operands_of(last))))
    last.detach()
    last.erase()
    return func.detach_region(0)


def with_ifs(count: int, *, same: bool = False) -> FuncOp:
    """Ifs one after another, with a pair of Relus in each branch and two in the graph.

    `same`: nodes have the same names in all of them.
    """
    func = graph("x flag\n r = Relu(x)\n s = Relu(r)\n return s")
    block = func.body.block
    x, flag = block.first_op, block.args[1]
    last = block.last_op
    assert x is not None
    assert last is not None
    value = last.operands[0]
    for k in range(count):
        names = ["", ""] if same else [f"{k}a", f"{k}b"]
        op = IfOp.build(
            flag,
            [value],
            regions=[branch(PAIR.replace("#", name)) for name in names],
            node_name=f"if{k}",
        )
        block.insert_op_before(op, last)
        value = op.results[0]
    last.operands[0] = value
    module_of(func)
    return func


def around(func: FuncOp) -> ModuleOp:
    module = func.parent_op()
    assert isinstance(module, ModuleOp)
    return module


def shared(func: FuncOp) -> int:
    rules, names = [relu_rule()], GraphNames(func)
    runs = [run_ge(b, rules, pass_name="P", names=names) for b in list(root_blocks(func))]
    return sum(run.applied for run in runs)


def apart(func: FuncOp) -> int:
    rules = [relu_rule()]
    runs = [run_ge(b, rules, pass_name="P") for b in list(root_blocks(func))]
    return sum(run.applied for run in runs)


def fixpoint(func: FuncOp) -> int:
    return run_fixpoint(around(func), [relu_rule()], pass_name="P").applied


def decomposed(func: FuncOp) -> int:
    new, names = graph("a\n e = Neg(a)\n f = Neg(e)\n return f", "r"), GraphNames(func)
    blocks = list(root_blocks(func))
    return sum(decompose(b, ["Exp"], lambda _: new, names=names).applied for b in blocks)


def names_of(func: FuncOp) -> list[str]:
    return [op.node_name for op in func.walk() if isinstance(op, GeOp) and op.node_name]


@pytest.mark.parametrize("same", [False, True], ids=["own names", "same names"])
def test_same_names_as_when_each_graph_is_read_for_them(same: bool) -> None:
    ours, theirs = with_ifs(12, same=same), with_ifs(12, same=same)
    assert shared(ours) == apart(theirs) == 25
    assert module_text(around(ours)) == module_text(around(theirs))
    verify(around(ours))


@pytest.mark.parametrize("run", [shared, fixpoint, decomposed])
def test_new_names_are_in_no_other_graph(run: Callable[[FuncOp], int]) -> None:
    func = with_ifs(6, same=True)
    before = set(names_of(func))
    assert run(func) >= 12
    new = [name for name in names_of(func) if name not in before]
    assert len(new) == len(set(new)) >= 12


@pytest.mark.parametrize("run", [shared, fixpoint, decomposed])
@pytest.mark.parametrize("same", [False, True], ids=["own names", "same names"])
def test_calls_grow_linearly_with_the_number_of_subgraphs(
    run: Callable[[FuncOp], int], same: bool
) -> None:
    def calls(count: int) -> int:
        func = with_ifs(count, same=same)
        made = 0

        def note(frame: object, event: str, arg: object) -> None:
            nonlocal made
            made += event in ("call", "c_call")

        sys.setprofile(note)
        try:
            run(func)
        finally:
            sys.setprofile(None)
        return made

    small, large = calls(20), calls(80)
    assert large < 4.8 * small
