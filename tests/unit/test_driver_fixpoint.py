"""The fixpoint driver: against xDSL's own walker, and linear where that one is not."""

from __future__ import annotations

import re

import numpy as np
import pytest
from graph_text import graph, module_of, pattern, types_of
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.func import FuncOp
from xdsl.ir import OpResult
from xdsl.pattern_rewriter import (
    GreedyRewritePatternApplier,
    PatternRewriter,
    PatternRewriteWalker,
)
from xdsl.transforms.dead_code_elimination import region_dce

from ge_xdsl.dialects.ge.graph import verify
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.registry import op_class
from ge_xdsl.errors import CompileError
from ge_xdsl.interpreters.ge import run_function
from ge_xdsl.pattern.driver import PatternRule, RunReport, run_fixpoint
from ge_xdsl.pattern.rule import Applied, Declined, Outcome, Rule

MISS = Declined("no match")


def producer(op: GeOp, index: int, op_type: str) -> GeOp | None:
    value = op.operands[index]
    if isinstance(value, OpResult) and isinstance(value.op, GeOp) and value.op.op_type == op_type:
        return value.op
    return None


def make(op_type: str, *operands: object, name: str = "") -> GeOp:
    cls = op_class(op_type)
    assert cls is not None
    return cls.build(*operands, node_name=name)


class NegNeg(Rule):
    """Neg(Neg(x)) -> x"""

    name = "NegNeg"
    root_types = ("Neg",)

    def attempt(self, op: GeOp, rewriter: PatternRewriter) -> Outcome:
        inner = producer(op, 0, "Neg")
        if inner is None:
            return MISS
        rewriter.replace(op, [], [inner.operands[0]])
        return Applied()


class ReluRelu(Rule):
    """Relu(Relu(x)) -> Relu(x), by a new op"""

    name = "ReluRelu"
    root_types = ("Relu",)

    def attempt(self, op: GeOp, rewriter: PatternRewriter) -> Outcome:
        inner = producer(op, 0, "Relu")
        if inner is None:
            return MISS
        rewriter.replace(op, make("Relu", inner.operands[0], name=op.node_name))
        return Applied()


class SinkNeg(Rule):
    """Mul(Neg(x), y) -> Neg(Mul(x, y)): moves an op past another"""

    name = "SinkNeg"
    root_types = ("Mul",)

    def attempt(self, op: GeOp, rewriter: PatternRewriter) -> Outcome:
        inner = producer(op, 0, "Neg")
        if inner is None:
            return MISS
        product = make("Mul", inner.operands[0], op.operands[1], name=f"{op.node_name}p")
        rewriter.replace(op, [product, make("Neg", product.results[0], name=op.node_name)])
        return Applied()


class PrivateAbs(Rule):
    """Relu(Abs(x)) -> Abs(x) when nothing else reads the Abs: depends on use counts"""

    name = "PrivateAbs"
    root_types = ("Relu",)

    def attempt(self, op: GeOp, rewriter: PatternRewriter) -> Outcome:
        inner = producer(op, 0, "Abs")
        if inner is None or not inner.results[0].has_one_use():
            return MISS
        rewriter.replace(op, make("Abs", inner.operands[0], name=op.node_name))
        return Applied()


class Backward(Rule):
    """Relu becomes Neg when its only reader is Neg: looks at readers"""

    name = "Backward"
    root_types = ("Relu",)

    def attempt(self, op: GeOp, rewriter: PatternRewriter) -> Outcome:
        user = op.results[0].get_user_of_unique_use()
        if not isinstance(user, GeOp) or user.op_type != "Neg":
            return MISS
        rewriter.replace(op, make("Neg", op.operands[0], name=op.node_name))
        return Applied()


RULES: tuple[type[Rule], ...] = (NegNeg, ReluRelu, SinkNeg, PrivateAbs)


@st.composite
def texts(draw: st.DrawFn) -> str:
    names = ["x0", "x1"]
    lines = ["x0 x1"]
    for k in range(draw(st.integers(3, 16))):
        pick = st.sampled_from(names[-4:])
        op_type = draw(st.sampled_from(("Neg", "Relu", "Abs", "Mul", "Neg", "Relu")))
        operands = [draw(pick) for _ in range(2 if op_type == "Mul" else 1)]
        lines.append(f"n{k} = {op_type}({', '.join(operands)})")
        names.append(f"n{k}")
    outputs = draw(st.lists(st.sampled_from(names[2:]), min_size=1, max_size=3, unique=True))
    return "\n".join([*lines, f"return {', '.join(outputs)}"])


@settings(max_examples=100, deadline=None)
@given(text=texts(), chosen=st.lists(st.sampled_from(RULES), min_size=1, max_size=4, unique=True))
def test_same_graph_as_the_stock_walker(text: str, chosen: list[type[Rule]]) -> None:
    ours, theirs = graph(text), graph(text)
    module, oracle = module_of(ours), module_of(theirs)
    region_dce(ours.body)
    region_dce(theirs.body)
    run_fixpoint(module, [rule() for rule in chosen])
    applier = GreedyRewritePatternApplier([rule() for rule in chosen])
    PatternRewriteWalker(applier).rewrite_module(oracle)
    region_dce(theirs.body)
    verify(module)
    assert not any(
        rule().attempt(op, PatternRewriter(op)) != MISS
        for op in list(ours.body.block.ops)
        if isinstance(op, GeOp)
        for rule in chosen
        if op.op_type in rule.root_types
    ), "a rule still applies"
    assert types_of(ours) == types_of(theirs)
    assert ours.body.is_structurally_equivalent(theirs.body) or len(chosen) > 1


def chain(op_type: str, count: int, last: str = "") -> FuncOp:
    lines = [f"r{i} = {op_type}({'x' if i == 0 else f'r{i - 1}'})" for i in range(count)]
    end = f"r{count - 1}"
    if last:
        lines.append(f"e = {last}({end})")
        end = "e"
    return graph("x\n" + "\n".join(lines) + f"\nreturn {end}")


def tried(func: FuncOp, *rules: Rule, **options: bool) -> RunReport:
    module = module_of(func)
    report = run_fixpoint(module, rules, **options)
    verify(module)
    return report


@pytest.mark.parametrize("count", [100, 400])
def test_backward_cascade_is_linear(count: int) -> None:
    func = chain("Relu", count, "Neg")
    report = tried(func, Backward())
    assert report.applied == count
    assert report.tried <= 4 * count + 10
    assert types_of(func) == ["Neg"] * (count + 1)


@pytest.mark.parametrize("count", [100, 400])
def test_dead_chain_of_shared_operands_is_erased_once(count: int) -> None:
    lines = [f"a{i} = Add({p}, {p})" for i, p in enumerate(["x", *[f"a{k}" for k in range(count)]])]
    func = graph(
        "x\n" + "\n".join(lines) + f"\nz = Neg(a{count})\ny = Neg(z)\nw = Mul(x, y)\nreturn w"
    )

    class Drop(Rule):
        """Mul(x, y) -> Neg(x): all below y dies"""

        name = "Drop"
        root_types = ("Mul", "Add")

        def attempt(self, op: GeOp, rewriter: PatternRewriter) -> Outcome:
            if op.op_type == "Add":
                return MISS
            rewriter.replace(op, make("Neg", op.operands[0], name=op.node_name))
            return Applied()

    report = tried(func, Drop())
    assert report.applied == 1
    assert report.tried <= 2 * count + 10
    assert types_of(func) == ["Neg"]


@pytest.mark.parametrize("count", [100, 400])
def test_forward_cascade_is_linear(count: int) -> None:
    report = tried(func := chain("Relu", count), ReluRelu())
    assert report.applied == count - 1
    assert report.tried <= 4 * count + 10
    assert types_of(func) == ["Relu"]


@pytest.mark.parametrize("count", [50, 200])
def test_sinking_through_a_chain_is_linear(count: int) -> None:
    lines = ["m0 = Neg(x)"]
    lines += [f"m{i} = Mul(m{i - 1}, z)" for i in range(1, count + 1)]
    func = graph("x z\n" + "\n".join(lines) + f"\nreturn m{count}")
    report = tried(func, SinkNeg())
    assert report.applied == count
    assert report.tried <= 5 * count + 10
    assert types_of(func) == ["Mul"] * count + ["Neg"]


@pytest.mark.parametrize("count", [100, 400])
def test_wide_op_is_not_tried_per_operand(count: int) -> None:
    lines = [f"a{i} = Neg(x)\nb{i} = Neg(a{i})" for i in range(count)]
    operands = ", ".join(f"b{i}" for i in range(count))
    axis = "d = Const int32 0"
    func = graph("x\n" + axis + "\n" + "\n".join(lines) + f"\nc = Concat(d, {operands}) \nreturn c")
    report = tried(func, NegNeg())
    assert report.applied == count
    assert report.tried <= 4 * count + 10


def test_one_producer_of_many_readers_stays_linear() -> None:
    count = 300
    lines = [f"b{i} = Mul(m, z)\nc{i} = Neg(b{i})\nd{i} = Neg(c{i})" for i in range(count)]
    total = ", ".join(f"d{i}" for i in range(count))
    func = graph("x z\nm = Abs(x)\n" + "\n".join(lines) + f"\nreturn {total}")
    report = tried(func, NegNeg(), SinkNeg(), PrivateAbs())
    assert report.applied == count
    assert report.tried <= 8 * count


def test_reader_count_that_drops_makes_a_match() -> None:
    func = graph(
        "x z\n a = Abs(x)\n r = Relu(a)\n n = Neg(a)\n m = Neg(n)\n k = Mul(z, m)\n return r, z"
    )
    # k is dead from the start and keeps Abs shared: nothing happens until it is gone.
    assert tried(func, PrivateAbs()).applied == 0
    func = graph(
        "x\n a = Abs(x)\n r = Relu(a)\n n = Neg(a)\n m = Neg(n)\n s = Relu(m)\n return r, s"
    )
    report = tried(func, PrivateAbs(), NegNeg())
    assert report.rules[1].applied == 1
    assert types_of(func) == ["Abs", "Relu", "Relu"]


def test_patterns_run_to_the_fixpoint_too() -> None:
    relu = graph("a\n r = Relu(a)\n return r", "r")
    relus = PatternRule(pattern("a\n r = Relu(a)\n s = Relu(r)\n return s"), lambda m: relu)
    through = graph("a\n return a", "r")
    negs = PatternRule(pattern("a\n r = Neg(a)\n s = Neg(r)\n return s"), lambda m: through)
    func = graph("x\n a = Relu(x)\n b = Neg(a)\n c = Neg(b)\n d = Relu(c)\n e = Exp(d)\n return e")
    module = module_of(func)
    array = np.random.default_rng(0).standard_normal((4, 4)).astype(np.float32)
    before = run_function(func, {"x": array})
    report = run_fixpoint(module, [relus, negs], pass_name="P")
    verify(module)
    assert [r.applied for r in report.rules] == [1, 1]
    assert types_of(func) == ["Relu", "Exp"]
    np.testing.assert_array_equal(run_function(func, {"x": array})[0], before[0])


def test_sleeping_rule_wakes_when_its_edge_appears() -> None:
    relu = graph("a\n r = Relu(a)\n return r", "r")
    relus = PatternRule(pattern("a\n r = Relu(a)\n s = Relu(r)\n return s"), lambda m: relu)
    func = graph("x\n a = Relu(x)\n b = Neg(a)\n c = Neg(b)\n d = Relu(c)\n return d")
    report = tried(func, relus, NegNeg())
    assert [r.applied for r in report.rules] == [1, 1]
    report = tried(graph("x\n a = Relu(x)\n b = Exp(a)\n return b"), relus)
    assert report.tried == 0


class ToAdd(Rule):
    """Mul(x, y) -> Add(x, y)"""

    name = "ToAdd"
    root_types = ("Mul",)
    other = "Add"

    def attempt(self, op: GeOp, rewriter: PatternRewriter) -> Outcome:
        rewriter.replace(op, make(self.other, *op.operands, name=op.node_name))
        return Applied()


class ToMul(ToAdd):
    """Add(x, y) -> Mul(x, y)"""

    name = "ToMul"
    root_types = ("Add",)
    other = "Mul"


class Toggle(Rule):
    """Changes an op in place for ever"""

    name = "Toggle"
    root_types = ("Neg",)

    def attempt(self, op: GeOp, rewriter: PatternRewriter) -> Outcome:
        op.attributes["_t"] = op.results[0].type
        rewriter.notify_op_modified(op)
        return Applied()


class ReluGrows(Rule):
    """Relu(x) -> Relu(Relu(x))"""

    name = "ReluGrows"
    root_types = ("Relu",)

    def attempt(self, op: GeOp, rewriter: PatternRewriter) -> Outcome:
        inner = make("Relu", op.operands[0])
        rewriter.replace(op, [inner, make("Relu", inner.results[0], name=op.node_name)])
        return Applied()


class NegToTwo(Rule):
    """Neg(x) -> Abs(Exp(x)), of which the next rule makes a Neg again"""

    name = "NegToTwo"
    root_types = ("Neg",)

    def attempt(self, op: GeOp, rewriter: PatternRewriter) -> Outcome:
        inner = make("Exp", op.operands[0])
        rewriter.replace(op, [inner, make("Abs", inner.results[0], name=op.node_name)])
        return Applied()


class TwoToNeg(Rule):
    """Abs(Exp(x)) -> Relu(Neg(x))"""

    name = "TwoToNeg"
    root_types = ("Abs",)

    def attempt(self, op: GeOp, rewriter: PatternRewriter) -> Outcome:
        inner = producer(op, 0, "Exp")
        if inner is None:
            return MISS
        neg = make("Neg", inner.operands[0], name=inner.node_name)
        rewriter.replace(op, [neg, make("Relu", neg.results[0], name=op.node_name)])
        return Applied()


LOOPS: dict[str, tuple[list[Rule], str, str]] = {
    "there and back": ([ToAdd(), ToMul()], "rules 'ToAdd', 'ToMul'", "Mul 'm{}' -> Add 'm{}'"),
    "in place": ([Toggle()], "rule 'Toggle'", "Neg 'n{}' -> Neg 'n{}'"),
    "growing": ([ReluGrows()], "rule 'ReluGrows'", "Relu 'r0' -> Relu"),
    "through two ops": ([NegToTwo(), TwoToNeg()], "rules 'NegToTwo', 'TwoToNeg'", "Abs -> Neg"),
}


@pytest.mark.parametrize("sites", [1, 2500])
@pytest.mark.parametrize("name", LOOPS)
def test_endless_rules_are_named_with_their_cycle(name: str, sites: int) -> None:
    rules, subject, cycle = LOOPS[name]
    lines = [
        f"n{i} = Neg({f'r{i - 1}' if i else 'x'})\nm{i} = Mul(n{i}, z)\nr{i} = Relu(m{i})"
        for i in range(sites)
    ]
    func = graph("x z\n" + "\n".join(lines) + f"\nreturn r{sites - 1}")
    module = module_of(func)
    with pytest.raises(CompileError, match="without end") as error:
        run_fixpoint(module, rules)
    found = re.search(r"\((\d+) rewrites\)", error.value.message)
    assert found is not None
    assert int(found.group(1)) <= 140
    assert set(error.value.subject.split("'")) == set(subject.split("'"))
    assert cycle.replace("{}", "0") in error.value.message.replace(str(sites - 1), "0")
    verify(module)


class NegBelow(Rule):
    """Exp(Abs(x)) -> Neg(x): reads a tensor that the old op did not read"""

    name = "NegBelow"
    root_types = ("Exp",)

    def attempt(self, op: GeOp, rewriter: PatternRewriter) -> Outcome:
        inner = producer(op, 0, "Abs")
        if inner is None:
            return MISS
        rewriter.replace(op, make("Neg", inner.operands[0], name=op.node_name))
        return Applied()


class ReadByNeg(Rule):
    """Relu that a Neg reads -> Tanh: looks at all readers of its root"""

    name = "ReadByNeg"
    root_types = ("Relu",)

    def attempt(self, op: GeOp, rewriter: PatternRewriter) -> Outcome:
        if not any(use.operation.name == "ge.Neg" for use in op.results[0].uses):
            return MISS
        rewriter.replace(op, make("Tanh", op.operands[0], name=op.node_name))
        return Applied()


def test_new_reader_of_an_old_tensor_is_seen() -> None:
    func = graph("x\n t = Relu(x)\n a = Abs(t)\n e = Exp(a)\n return e, a")
    assert [r.applied for r in tried(func, NegBelow(), ReadByNeg()).rules] == [1, 1]


class PrivateNegNeg(Rule):
    """Neg(Neg(x)) -> x when one op reads it"""

    name = "PrivateNegNeg"
    root_types = ("Neg",)

    def attempt(self, op: GeOp, rewriter: PatternRewriter) -> Outcome:
        inner = producer(op, 0, "Neg")
        if inner is None or not op.results[0].has_one_use():
            return MISS
        rewriter.replace(op, [], [inner.operands[0]])
        return Applied()


@pytest.mark.parametrize("depth", [2, 3, 4])
def test_match_far_above_a_change_is_found(depth: int) -> None:
    """A chain of Relus comes to stand on an Exp after its last op was tried.

    m is rewritten once w, the last op, no longer reads it.
    """
    relus = ["r0 = Relu(m)", *(f"r{i} = Relu(r{i - 1})" for i in range(1, depth))]
    last = f"r{depth - 1}"
    lines = ["x", "e = Exp(x)", "n = Neg(e)", "m = Neg(n)", *relus, "w = Neg(m)"]
    func = graph("\n".join([*lines, f"return {last}, w"]))
    wanted = ["a", "e = Exp(a)", "r0 = Relu(e)", *relus[1:], f"return {last}, e"]
    new = graph("a\n e = Exp(a)\n t = Tanh(e)\n return t, e", "r")
    fused = PatternRule(pattern("\n".join(wanted)), lambda match: new)
    assert [r.applied for r in tried(func, fused, PrivateNegNeg()).rules] == [1, 2]
    assert sorted(types_of(func)) == ["Exp", "Neg", "Tanh"]


def test_dead_ops_stay_when_asked() -> None:
    func = graph("x\n a = Neg(x)\n b = Neg(a)\n return b")
    assert tried(func, NegNeg(), dce=False).applied == 1
    assert types_of(func) == ["Neg"]
