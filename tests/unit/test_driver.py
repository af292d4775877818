"""Running rules in GE's order: sweeps, rematching, hooks, cycles, endless rewriting, decompose."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
from graph_text import graph, module_of, node, pattern, types_of
from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.dialects.func import FuncOp
from xdsl.pattern_rewriter import PatternRewriter, PatternRewriteWalker
from xdsl.rewriter import InsertPoint

from ge_xdsl.dialects.ge.graph import verify
from ge_xdsl.dialects.ge.names import input_names
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.registry import op_class
from ge_xdsl.dialects.ge.text import module_text, parse_module
from ge_xdsl.errors import CompileError
from ge_xdsl.interpreters.ge import run_function
from ge_xdsl.pattern.driver import PatternRule, RunReport, decompose, run_fixpoint, run_ge
from ge_xdsl.pattern.match import Match
from ge_xdsl.pattern.provenance import ORIGIN_NAMES
from ge_xdsl.pattern.rule import Applied, Declined, Outcome, Rule
from ge_xdsl.pattern.statistics import Statistics

RELU_RELU = "a\n r = Relu(a)\n s = Relu(r)\n return s"
RELU = "a\n r = Relu(a)\n return r"


def rule(wanted: str, new: str, name: str = "p", **config: bool) -> PatternRule:
    """The rule pattern -> replacement, without conditions."""
    replacement = graph(new, "r")
    return PatternRule(pattern(wanted, name=name, **config), lambda match: replacement)


def run(func: FuncOp, *rules: Rule) -> RunReport:
    """Run rules over a graph; the graph stays valid and computes the same."""
    module = module_of(func)
    arrays = {
        name: np.random.default_rng(i).standard_normal(arg.type.get_shape()).astype(np.float32)
        for i, (name, arg) in enumerate(zip(input_names(func), func.body.block.args, strict=True))
    }
    before = run_function(func, arrays)
    report = run_ge(func.body.block, rules, pass_name="Pass")
    verify(module)
    for want, have in zip(before, run_function(func, arrays), strict=True):
        np.testing.assert_allclose(have, want, rtol=1e-5, atol=1e-6)
    return report


def counts(report: RunReport) -> list[tuple[int, int]]:
    return [(r.matched, r.applied) for r in report.rules]


def test_new_nodes_are_candidates_at_the_end() -> None:
    func = graph("x\n r1 = Relu(x)\n r2 = Relu(r1)\n r3 = Relu(r2)\n return r3")
    report = run(func, rule(RELU_RELU, RELU))
    assert counts(report) == [(2, 2)]
    assert report.rules[0].tried == 4  # r1, r2, r3 and the first new node; r3's is the last
    assert types_of(func) == ["Relu"]


def test_relu_chain_leaves_one() -> None:
    lines = "\n".join(f"r{i} = Relu({'x' if i == 0 else f'r{i - 1}'})" for i in range(100))
    func = graph(f"x\n{lines}\nreturn r99")
    report = run(func, rule(RELU_RELU, RELU))
    assert counts(report) == [(99, 99)]
    (last,) = [op for op in func.walk() if isinstance(op, GeOp)]
    assert len(last.attributes[ORIGIN_NAMES]) == 100


def test_second_run_changes_nothing() -> None:
    func = graph("x\n r1 = Relu(x)\n r2 = Relu(r1)\n return r2")
    assert run(func, rule(RELU_RELU, RELU)).changed
    func.detach()
    assert not run(func, rule(RELU_RELU, RELU)).changed


def test_ten_stacked_blocks() -> None:
    lines = []
    last = "x"
    for i in range(10):
        lines += [f"a{i} = MatMul({last}, w)", f"b{i} = Add(a{i}, c)", f"t{i} = Tanh(b{i})"]
        last = f"t{i}"
    func = graph("x w c[4]\n" + "\n".join(lines) + f"\nreturn {last}")
    fuse = rule(
        "a w b\n m = MatMul(a, w)\n y = Add(m, b)\n return y",
        "a w b[4]\n m = MatMul(a, w, b)\n return m",
    )
    assert counts(run(func, fuse)) == [(10, 10)]
    assert types_of(func) == ["MatMul", "Tanh"] * 10


def test_patterns_run_one_after_another() -> None:
    func = graph("x\n a = Neg(x)\n b = Neg(a)\n c = Relu(b)\n d = Relu(c)\n return d")
    relus = rule(RELU_RELU, RELU, "relus")
    negs = rule("a\n r = Neg(a)\n s = Neg(r)\n return s", "a\n return a", "negs")
    assert counts(run(func, relus, negs)) == [(1, 1), (1, 1)]
    assert types_of(func) == ["Relu"]


def test_earlier_patterns_do_not_run_again() -> None:
    func = graph("x\n a = Relu(x)\n b = Neg(a)\n c = Neg(b)\n d = Relu(c)\n return d")
    relus = rule(RELU_RELU, RELU, "relus")
    negs = rule("a\n r = Neg(a)\n s = Neg(r)\n return s", "a\n return a", "negs")
    assert counts(run(func, relus, negs)) == [(0, 0), (1, 1)]
    assert types_of(func) == ["Relu", "Relu"]


def test_requirements_and_refusals_are_counted() -> None:
    func = graph("x\n a = Relu(x)\n b = Relu(a)\n c = Tanh(b)\n d = Relu(c)\n return d")
    seen: list[str] = []

    def meet(match: Match) -> bool | Declined:
        seen.append(match.root.node_name)
        if match.root.node_name == "b":
            return Declined("b is special, expected another")
        return match.root.node_name != "d"

    new = graph("a\n n = Neg(a)\n return n", "r")
    refuse = PatternRule(pattern(RELU), lambda match: new, meet)
    stats = Statistics()
    module_of(func)
    report = run_ge(func.body.block, [refuse], pass_name="P", recorders=[stats])
    assert seen == ["a", "b", "d"]
    assert stats.counts["P", "p"].refused["b is special, expected another"] == 1
    assert stats.counts["P", "p"].refused["the requirements are not met"] == 1
    assert counts(report) == [(3, 1)]


def test_cycle_is_skipped() -> None:
    func = graph(
        "x z\n a = Abs(x)\n r = Relu(a)\n b = Abs(r)\n q = Exp(z)\n"
        " a -ctrl-> q\n q -ctrl-> b\n return b, q"
    )
    chain = "a\n p = Abs(a)\n q = Relu(p)\n r = Abs(q)\n return r"
    stats = Statistics()
    module_of(func)
    report = run_ge(func.body.block, [rule(chain, chain)], pass_name="P", recorders=[stats])
    assert counts(report) == [(1, 0)]
    assert stats.counts["P", "p"].refused == {"fusing it would make a cycle": 1}
    assert types_of(func)[:3] == ["Abs", "Relu", "Abs"]


def test_sibling_fusion_with_backtracking() -> None:
    func = graph(
        "x w v\n m1 = MatMul(w, v)\n m2 = MatMul(x, w)\n m3 = MatMul(x, v)\n"
        " y = Add(m2, m3)\n z = Add(y, m1)\n return z"
    )
    wanted = "a b c\n m = MatMul(a, b)\n k = MatMul(a, c)\n return m, k"
    new = "a b c\n t = Identity(a)\n m = MatMul(t, b)\n k = MatMul(t, c)\n return m, k"
    first = PatternRule(
        pattern(wanted),
        lambda m: graph(new, "r"),
        lambda m: m.root.node_name in ("m1", "m2", "m3"),
    )
    report = run(func, first)
    assert report.applied == 1
    assert types_of(func) == ["MatMul", "Identity", "MatMul", "MatMul", "Add", "Add"]


def test_graph_output_keeps_its_place() -> None:
    func = graph("x\n z = Const 0.0\n y = Add(x, z)\n return y, x")
    zero = "a\n c = Const 0.0\n y = Add(a, c)\n return y"
    assert run(func, rule(zero, "a\n return a", const_value=True)).applied == 1
    last = func.body.block.last_op
    assert last is not None
    assert list(last.operands) == [func.body.block.args[0]] * 2
    assert [op.name for op in func.body.block.ops] == ["func.return"]


def test_parsed_text_with_dynamic_shapes() -> None:
    module = parse_module("""
func.func @main(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %a = ge.Relu(%x) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %b = ge.Relu(%a) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  func.return %b : tensor<?x4xf32>
}""")
    func = next(op for op in module.walk() if isinstance(op, FuncOp))
    run_ge(func.body.block, [rule(RELU_RELU, RELU)], pass_name="P")
    verify(module)
    assert "%r_b_a_0 = ge.Relu(%x)" in module_text(module)


def test_reader_that_moves_to_a_tensor_is_a_candidate() -> None:
    """Passing r1 and e1 through lets e2 read t, where r2 finds it."""
    func = graph(
        "x\n t = Neg(x)\n r1 = Relu(t)\n r2 = Relu(t)\n e1 = Exp(t)\n e2 = Exp(r1)\n"
        " y = Add(r2, e2)\n w = Add(y, e1)\n return w"
    )
    module = module_of(func)
    both = rule("a\n r = Relu(a)\n e = Exp(a)\n return r, e", "a\n return a, a")
    report = run_ge(func.body.block, [both], pass_name="P")
    verify(module)
    assert report.applied == 2
    assert types_of(func) == ["Neg", "Add", "Add"]


def test_later_rule_takes_candidates_in_the_order_of_the_graph() -> None:
    """The Exp that the first rule makes stands before e2, so it is output 1 of the second."""
    func = graph("x\n t = Tanh(x)\n e2 = Exp(x)\n r = Relu(x)\n return t, e2, r")
    module_of(func)
    first = rule("a\n t = Tanh(a)\n return t", "a\n e = Exp(a)\n return e")
    seen: list[str] = []

    def meet(match: Match) -> bool:
        seen.extend(op.node_name for op in match.targets)
        return False

    pair = pattern("a\n r = Relu(a)\n e = Exp(a)\n return r, e")
    run_ge(func.body.block, [first, PatternRule(pair, lambda match: None, meet)])
    assert seen == ["r", "e_t_0"]


ENDLESS = {
    "swap": ("a b\n y = Add(a, b)\n return y", "a b\n y = Add(b, a)\n return y"),
    "grow": (RELU, "a\n r = Relu(a)\n s = Relu(r)\n return s"),
    "grow below": (RELU, "a\n b = Abs(a)\n r = Relu(b)\n return r"),
    "grow above": (RELU, "a\n r = Relu(a)\n b = Abs(r)\n return b"),
    "two together": (
        "a\n r = Relu(a)\n s = Abs(r)\n return s",
        "a\n s = Abs(a)\n r = Relu(s)\n t = Abs(r)\n return t",
    ),
}


def rewrites_before(error: CompileError) -> int:
    """How many rewrites an endless rule was allowed."""
    found = re.search(r"\((\d+) rewrites\)", error.message)
    assert found is not None
    return int(found.group(1))


@pytest.mark.parametrize("sites", [1, 2500])
@pytest.mark.parametrize("name", ENDLESS)
def test_endless_rewriting_stops(name: str, sites: int) -> None:
    wanted, new = ENDLESS[name]
    chain = [
        f"r{i} = Relu({'x' if i == 0 else f'y{i - 1}'})\nb{i} = Abs(r{i})\ny{i} = Add(b{i}, z)"
        for i in range(sites)
    ]
    func = graph("x z\n" + "\n".join(chain) + f"\nreturn y{sites - 1}")
    module = module_of(func)
    with pytest.raises(CompileError, match="rewrites its own result without end") as error:
        run_ge(func.body.block, [rule(wanted, new, "Loop")], pass_name="P")
    assert rewrites_before(error.value) <= 140
    assert error.value.subject == "rule 'Loop'"
    op_type = {"swap": "Add", "two together": "Abs"}.get(name, "Relu")
    assert f"expected a fixed point: {op_type} '" in error.value.message
    verify(module)


class CountDown(Rule):
    """Relu with a counter -> Neg(Relu with one less), down to 0"""

    name = "CountDown"
    root_types = ("Relu",)

    def attempt(self, op: GeOp, rewriter: PatternRewriter) -> Outcome:
        left = op.attributes["_left"]
        assert isinstance(left, IntegerAttr)
        if not left.value.data:
            return Declined("the counter is 0")
        relu = type(op).build(op.operands[0], node_name=f"r{left.value.data}")
        relu.attributes["_left"] = IntegerAttr(left.value.data - 1, i64)
        neg = op_class("Neg")
        assert neg is not None
        rewriter.replace(op, [relu, neg.build(relu.results[0])])
        return Applied()


@pytest.mark.parametrize("driver", ["ge", "fixpoint"])
def test_rule_that_counts_down_is_not_endless(driver: str) -> None:
    func = graph("x\n y = Relu(x)\n return y")
    node(func, "y").attributes["_left"] = IntegerAttr(200, i64)
    module = module_of(func)
    if driver == "ge":
        report = run_ge(func.body.block, [CountDown()])
    else:
        report = run_fixpoint(module, [CountDown()])
    assert report.applied == 200
    assert types_of(func) == ["Relu"] + ["Neg"] * 200


def test_missing_replacement_fails() -> None:
    func = graph("x\n r = Relu(x)\n return r")
    module_of(func)
    with pytest.raises(CompileError, match="rule 'p': replacement is None, expected a graph"):
        run_ge(func.body.block, [PatternRule(pattern(RELU), lambda match: None)])


def test_pattern_rule_runs_in_the_stock_walker() -> None:
    func = graph("x\n r1 = Relu(x)\n r2 = Relu(r1)\n r3 = Relu(r2)\n return r3")
    module = module_of(func)
    PatternRewriteWalker(rule(RELU_RELU, RELU)).rewrite_module(module)
    verify(module)
    assert types_of(func) == ["Relu"]


class NegNeg(Rule):
    """Neg(Neg(x)) -> x, and Abs(Neg(x)) -> Abs(x): two root types, written by hand."""

    name = "NegNeg"
    root_types = ("Abs", "Neg")

    def attempt(self, op: GeOp, rewriter: PatternRewriter) -> Outcome:
        inner = op.operands[0].owner
        if not isinstance(inner, GeOp) or inner.op_type != "Neg":
            return Declined("operand 0: expected Neg", op)
        if op.op_type == "Neg":
            rewriter.replace(op, [], [inner.operands[0]])
        else:
            rewriter.replace(op, type(op).build(inner.operands[0], node_name=op.node_name))
        return Applied()


def test_hand_written_rule_with_two_root_types_sweeps_in_node_order() -> None:
    func = graph("x\n a = Neg(x)\n b = Abs(a)\n c = Neg(b)\n d = Neg(c)\n return d")
    report = run(func, NegNeg())
    assert (report.tried, report.applied) == (5, 2)
    last = func.body.block.last_op
    assert last is not None
    assert last.operands[0].owner.name == "ge.Abs"


# Decompose


def decompose_types(func: FuncOp, new: dict[str, str], types: list[str]) -> RunReport:
    module = module_of(func)
    report = decompose(
        func.body.block, types, lambda op: graph(new[op.op_type], "r"), pass_name="D"
    )
    verify(module)
    return report


def test_decompose_merges_equal_operands() -> None:
    func = graph("x\n y = Add(x, x)\n return y")
    report = decompose_types(func, {"Add": "a\n c = Const 2.0\n y = Mul(a, c)\n return y"}, ["Add"])
    assert (report.matched, report.applied) == (1, 1)
    assert types_of(func) == ["Mul"]


def test_decompose_does_not_visit_new_nodes() -> None:
    func = graph("x\n y = Relu(x)\n z = Relu(y)\n return z")
    report = decompose_types(func, {"Relu": "a\n r = Relu(a)\n s = Relu(r)\n return s"}, ["Relu"])
    assert report.applied == 2
    assert types_of(func) == ["Relu"] * 4


def test_decompose_needs_every_output() -> None:
    text = "x\n d = Const int32 0\n s = Split(d, x) num_split=2 results=2\n y = Neg(s:0)\n return y"
    one = "d a\n p = Neg(a)\n return p"
    with pytest.raises(CompileError, match="output size: 1 not equal with Boundary output size: 2"):
        decompose_types(graph(text), {"Split": one}, ["Split"])


def test_decompose_skips_what_is_refused() -> None:
    func = graph("x\n y = Relu(x)\n z = Relu(y)\n return z")
    module_of(func)
    stats = Statistics()
    report = decompose(
        func.body.block,
        ["Relu"],
        lambda op: graph(RELU, "r"),
        lambda op: op.node_name == "z" or Declined("is not z, expected z"),
        pass_name="D",
        recorders=[stats],
    )
    assert (report.matched, report.applied) == (2, 1)
    assert stats.counts["D", "Relu"].refused == {"is not z, expected z": 1}
    assert not decompose(func.body.block, ["Exp"], lambda op: None).changed


def test_decompose_without_replacement_fails() -> None:
    func = graph("x\n y = Relu(x)\n return y")
    module_of(func)
    with pytest.raises(CompileError, match="ge.Relu 'y': replacement is None, expected a graph"):
        decompose(func.body.block, ["Relu"], lambda op: None)
    assert node(func, "y").op_type == "Relu"


def ge_run(func: FuncOp, rules: list[Rule]) -> None:
    """One sweep of each rule in GE's order."""
    run_ge(func.body.block, rules, pass_name="Pass")


def fixpoint_run(func: FuncOp, rules: list[Rule]) -> None:
    """Rules until nothing changes."""
    run_fixpoint(module_of(func), rules, pass_name="Pass")


@pytest.mark.parametrize("driver", [ge_run, fixpoint_run])
def test_a_new_name_is_no_name_of_the_graph(driver: Callable[[FuncOp, list[Rule]], None]) -> None:
    """The name that a rewrite would give first is that of another node, behind a longer one."""
    chain = "x\n" + "".join(
        f" a{k} = Relu(x)\n b{k} = Relu(a{k})\n x = Neg(b{k})\n" for k in range(9)
    )
    first = graph(f"{chain} return x")
    driver(first, [rule(RELU_RELU, RELU)])
    given = [op.node_name for op in first.body.block.ops if isinstance(op, op_class("Relu"))]
    func = graph(f"{chain} return x")
    taken = [op for op in func.body.block.ops if isinstance(op, op_class("Neg"))]
    for op, name in zip(taken, [*given[1:], "n" * 50], strict=True):
        op.node_name = name
    driver(func, [rule(RELU_RELU, RELU)])
    names = [op.node_name for op in func.body.block.ops if isinstance(op, GeOp)]
    assert len(set(names)) == len(names) == 18
    assert set(given[1:]) < set(names)


class InsertsLongName(Rule):
    """Puts a node with the longest name behind each Neg, once."""

    name = "inserts"
    root_types = ("Neg",)

    def __init__(self, given: str) -> None:
        self.given = given

    def attempt(self, op: GeOp, rewriter: PatternRewriter) -> Outcome:
        if any(use.operation.name == "ge.Abs" for use in op.results[0].uses):
            return Declined("has it, expected none")
        new = op_class("Abs").build(op.results[0], node_name=self.given)
        rewriter.insert(new, InsertPoint.after(op))
        return Applied()


@pytest.mark.parametrize("driver", [ge_run, fixpoint_run])
def test_names_of_rules_by_hand_are_taken(driver: Callable[[FuncOp, list[Rule]], None]) -> None:
    """A rule in code inserts the name that the pattern after it would give."""
    chain = "x\n c = Neg(x)\n a = Relu(c)\n b = Relu(a)\n return b"
    first = graph(chain)
    driver(first, [rule(RELU_RELU, RELU)])
    (given,) = [op.node_name for op in first.body.block.ops if isinstance(op, op_class("Relu"))]
    func = graph(chain)
    rules = [InsertsLongName(given), rule(RELU_RELU, RELU)]
    driver(func, rules)
    names = [op.node_name for op in func.body.block.ops if isinstance(op, GeOp)]
    assert len(set(names)) == len(names)
