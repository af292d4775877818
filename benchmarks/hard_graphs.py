"""Graphs and rules that may cost a rewriter more than linear time; for bench_rewrite_scaling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from benchmarks.bench_rewrite import Builder, pattern
from ge_xdsl.dialects.ge.control import IfOp
from ge_xdsl.dialects.ge.data import ControlEdgeOp, YieldOp
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.registry import op_class
from ge_xdsl.pattern.driver import PatternRule
from ge_xdsl.pattern.extended import Matching, extend_pattern
from ge_xdsl.pattern.graph import PatternGraph
from ge_xdsl.pattern.match import MatcherConfig
from ge_xdsl.pattern.rule import APPLIED, MISSED, Outcome, Rule

SHAPE = (4, 4)

Graph = tuple[ModuleOp, list[Rule], int]
"""A graph, rules, and how often they apply."""


def start(inputs: int = 1) -> Builder:
    return Builder(*[SHAPE] * inputs)


def chain(b: Builder, op_types: Sequence[str], x: SSAValue) -> SSAValue:
    """`op_types` one after another; the first is next to `x`."""
    for op_type in op_types:
        x = b.op(op_type, [x], SHAPE)
    return x


def summed(b: Builder, values: Sequence[SSAValue]) -> SSAValue:
    """The sum of tensors, a tree of Add."""
    level = list(values)
    while len(level) > 1:
        pairs = zip(level[::2], level[1::2], strict=False)
        level = [b.op("Add", list(pair), SHAPE) for pair in pairs] + level[len(level) & ~1 :]
    return level[0]


def collapse(wanted: Sequence[str], new: Sequence[str]) -> PatternRule:
    """The rule that a chain becomes another one."""
    p, r = start(), start()
    compiled = pattern("_".join(wanted), p, chain(p, wanted, p.block.args[0]))
    replacement = r.func(chain(r, new, r.block.args[0]))
    return PatternRule(compiled, lambda match: replacement)


def relus(n: int) -> Graph:
    """Relu n times: each rewrite feeds the next."""
    b = start()
    module = ModuleOp([b.func(chain(b, ["Relu"] * n, b.block.args[0]))])
    return module, [collapse(["Relu", "Relu"], ["Relu"])], n - 1


def bypasses(n: int) -> Graph:
    """n times Add(x, 0), one after another."""
    b, p = start(), start()
    x: SSAValue = b.block.args[0]
    for _ in range(n):
        x = b.op("Add", [x, b.const(0.0)], SHAPE)
    zero = p.op("Add", [p.block.args[0], p.const(0.0)], SHAPE)
    compiled = pattern("zero", p, zero, const_value=True)
    r = start()
    same = r.func(r.block.args[0])
    return ModuleOp([b.func(x)]), [PatternRule(compiled, lambda match: same)], n


def wide_concat(n: int) -> Graph:
    """A Concat whose n operands are each replaced."""
    b = start()
    x = b.block.args[0]
    axis = b.const(0, "int32")
    parts = [chain(b, ["Neg", "Neg"], x) for _ in range(n)]
    cls = op_class("Concat")
    assert cls is not None
    b.block.add_op(op := cls.build(axis, parts, result_types=[x.type], node_name="concat"))
    return ModuleOp([b.func(op.results[0])]), [collapse(["Neg", "Neg"], [])], n


class Backward(Rule):
    """Relu becomes Neg when its only reader is Neg: looks at readers"""

    name = "Backward"
    root_types = ("Relu",)

    def attempt(self, op: GeOp, rewriter: PatternRewriter) -> Outcome:
        user = op.results[0].get_user_of_unique_use()
        if not isinstance(user, GeOp) or user.op_type != "Neg":
            return MISSED
        rewriter.replace(op, type(user).build(op.operands[0], node_name=op.node_name))
        return APPLIED


def backward(n: int) -> Graph:
    """A cascade from the last op to the first, by hand."""
    b = start()
    return ModuleOp([b.func(chain(b, [*["Relu"] * n, "Neg"], b.block.args[0]))]), [Backward()], n


def from_the_end(n: int) -> Graph:
    """The same with a pattern, whose new op makes the next match."""
    b = start()
    x = chain(b, [*["Relu"] * n, "Neg"], b.block.args[0])
    return ModuleOp([b.func(x)]), [collapse(["Relu", "Neg"], ["Neg"])], n


def shared_operands(n: int) -> Graph:
    """A chain of Add(x, x) that one rewrite leaves dead."""
    b, p, r = start(2), start(2), start(2)
    x, z = b.block.args
    dead = x
    for _ in range(n):
        dead = b.op("Add", [dead, dead], SHAPE)
    out = b.op("Mul", [z, dead], SHAPE)
    compiled = pattern("mul", p, p.op("Mul", list(p.block.args), SHAPE))
    first = r.func(r.op("Neg", [r.block.args[0]], SHAPE))
    return ModuleOp([b.func(out)]), [PatternRule(compiled, lambda match: first)], 1


def fibonacci(n: int) -> Graph:
    """n(i) = Add(n(i - 1), n(i - 2)) under a pattern that looks four edges deep."""
    b, p = start(2), start(5)
    below, last = b.block.args
    for _ in range(n):
        below, last = last, b.op("Add", [last, below], SHAPE)
    both = b.op("Mul", [last, below], SHAPE)
    out: SSAValue = p.block.args[0]
    for arg in p.block.args[1:]:
        out = p.op("Add", [out, arg], SHAPE)
    compiled = pattern("deep", p, out)
    return ModuleOp([b.func(both)]), [PatternRule(compiled, lambda match: None)], 0


def siblings(n: int) -> Graph:
    """Pairs of readers of one tensor, which n pairs read."""
    b, p, r = start(), start(), start()
    total: SSAValue = b.block.args[0]
    pairs = [[b.op(t, [b.block.args[0]], SHAPE) for t in ("Relu", "Exp")] for _ in range(n)]
    for pair in pairs:
        total = b.op("Add", [total, b.op("Mul", pair, SHAPE)], SHAPE)
    compiled = pattern("pair", p, *(p.op(t, [p.block.args[0]], SHAPE) for t in ("Relu", "Exp")))
    new = r.func(*(r.op(t, [r.block.args[0]], SHAPE) for t in ("Neg", "Abs")))
    return ModuleOp([b.func(total)]), [PatternRule(compiled, lambda match: new)], n


def fan_out(n: int) -> Graph:
    """One tensor with n readers, each of which is rewritten."""
    b = start()
    x = b.op("Exp", [b.block.args[0]], SHAPE)
    parts = [chain(b, ["Relu", "Relu"], x) for _ in range(n)]
    return ModuleOp([b.func(summed(b, parts))]), [collapse(["Relu", "Relu"], ["Relu"])], n


def fan_out_replaced(n: int) -> Graph:
    """A tensor with n readers that is itself replaced, ten times over."""
    b = start()
    x = chain(b, ["Neg"] * 11, b.block.args[0])
    parts = [b.op("Exp", [x], SHAPE) for _ in range(n)]
    return ModuleOp([b.func(summed(b, parts))]), [collapse(["Neg", "Neg"], ["Neg"])], 10


def refused(n: int) -> Graph:
    """A pattern that matches at each of n ops, where its requirements never hold."""
    b = start()
    module = ModuleOp([b.func(chain(b, ["Relu"] * n, b.block.args[0]))])
    rule = collapse(["Relu", "Relu"], ["Relu"])
    return module, [PatternRule(rule.pattern, rule.build, lambda match: False)], 0


def many_outputs(n: int) -> Graph:
    """A pattern with eight outputs, at n / 8 sites."""
    kinds = ("Relu", "Exp", "Abs", "Neg", "Tanh", "Sigmoid", "Erf", "Sqrt")
    b, p, r = start(), start(), start()
    x: SSAValue = b.block.args[0]
    for _ in range(n // 8):
        x = summed(b, [b.op(t, [x], SHAPE) for t in kinds])
    compiled = pattern("eight", p, *(p.op(t, [p.block.args[0]], SHAPE) for t in kinds))
    new = r.func(*(r.op("Log", [r.block.args[0]], SHAPE) for _ in kinds))
    return ModuleOp([b.func(x)]), [PatternRule(compiled, lambda match: new)], n // 8


def ambiguous(n: int) -> Graph:
    """A sum of eight in any order, 2^7 readings of each of n / 16 sites, with a ninth that is
    never there."""
    b, p = start(2), start(8)
    x, z = b.block.args
    for _ in range(n // 16):
        x = b.op("Tanh", [summed(b, [b.op("Relu", [x], SHAPE) for _ in range(8)])], SHAPE)
    leaves = [p.op("Relu", [arg], SHAPE) for arg in p.block.args[:7]]
    leaves.append(p.op("Neg", [p.block.args[7]], SHAPE))
    graph = PatternGraph.from_function(p.func(summed(p, leaves), name="sum"), name="sum")
    compiled = extend_pattern(graph, MatcherConfig(), Matching(commutative=True))
    module = ModuleOp([b.func(b.op("Add", [x, b.op("Neg", [z], SHAPE)], SHAPE))])
    return module, [PatternRule(compiled, lambda match: None)], 0


def control_edges(n: int) -> Graph:
    """n nodes, each of which waits for the one before, and in the middle a few pairs."""
    b = start()
    x = b.block.args[0]
    waiting = [b.op("Exp", [x], SHAPE) for _ in range(n)]
    pairs = [chain(b, ["Relu", "Relu"], x) for _ in range(n // 100)]
    total = summed(b, [*waiting, *pairs])
    for before, behind in pairwise(waiting):
        b.block.add_op(ControlEdgeOp.build(before, behind))
    return ModuleOp([b.func(total)]), [collapse(["Relu", "Relu"], ["Relu"])], n // 100


def choice(b: Builder, x: SSAValue, flag: SSAValue, *branches: Region) -> SSAValue:
    """An If with these branches."""
    b.count += 1
    op = IfOp.build(flag, [x], regions=branches, result_types=[x.type], node_name=f"If_{b.count}")
    b.block.add_op(op)
    return op.results[0]


def branch(op_types: Sequence[str], name: str) -> Region:
    """A subgraph that is a chain; the names of its nodes begin with `name`."""
    b = start()
    x = chain(b, op_types, b.block.args[0])
    for op in b.block.ops:
        if isinstance(op, GeOp):
            op.node_name = f"{name}_{op.node_name}"
    b.block.add_op(YieldOp.build([x]))
    return Region(b.block)


def subgraphs(n: int) -> Graph:
    """n / 4 Ifs, one after another, with a pair in each of their branches."""
    b = start(2)
    x, flag = b.block.args
    for k in range(n // 4):
        pair = [branch(["Relu", "Relu"], f"s{k}_{side}") for side in ("then", "else")]
        x = choice(b, x, flag, *pair)
    return ModuleOp([b.func(x)]), [collapse(["Relu", "Relu"], ["Relu"])], n // 4 * 2


def nested_ifs(n: int) -> Graph:
    """Ifs in Ifs in Ifs, ten deep, with a pair at each depth."""
    b = start(2)
    x, flag = b.block.args
    for k in range(n // 40):
        inner = branch(["Relu", "Relu"], f"s{k}")
        for depth in range(9):
            outer = Builder(SHAPE)
            y = chain(outer, ["Relu", "Relu"], outer.block.args[0])
            on = outer.op("Neg", [outer.block.args[0]], SHAPE)
            y = choice(outer, y, on, inner, branch(["Exp"], f"e{k}_{depth}"))
            for op in outer.block.ops:
                if isinstance(op, GeOp):
                    op.node_name = f"d{k}_{depth}_{op.node_name}"
            outer.block.add_op(YieldOp.build([y]))
            inner = Region(outer.block)
        x = choice(b, x, flag, inner, branch(["Exp"], f"e{k}"))
    return ModuleOp([b.func(x)]), [collapse(["Relu", "Relu"], ["Relu"])], n // 40 * 10


def decomposed(n: int) -> Graph:
    """n / 100 ops, each replaced by a hundred."""
    b, p, r = start(), start(), start()
    x: SSAValue = chain(b, ["Gelu"] * (n // 100), b.block.args[0])
    compiled = pattern("gelu", p, p.op("Gelu", [p.block.args[0]], SHAPE))
    new = r.func(chain(r, ["Exp", "Neg"] * 50, r.block.args[0]))
    return ModuleOp([b.func(x)]), [PatternRule(compiled, lambda match: new)], n // 100


def built_anew(n: int) -> Graph:
    """Pairs whose replacement is built for each match."""
    b, p = start(), start()
    x = chain(b, ["Relu", "Relu", "Exp"] * (n // 3), b.block.args[0])
    compiled = pattern("pair", p, chain(p, ["Relu", "Relu"], p.block.args[0]))

    def build(match: object) -> FuncOp:
        r = start()
        return r.func(r.op("TransposeD", [r.block.args[0]], SHAPE, perm=[0, 1]))

    return ModuleOp([b.func(x)]), [PatternRule(compiled, build)], n // 3


Case = Callable[[int], Graph]
CASES: list[Case] = [
    relus,
    bypasses,
    wide_concat,
    backward,
    from_the_end,
    shared_operands,
    fibonacci,
    siblings,
    fan_out,
    fan_out_replaced,
    refused,
    many_outputs,
    ambiguous,
    control_edges,
    subgraphs,
    nested_ifs,
    decomposed,
    built_anew,
]
ONCE = {"backward"}
"""Cases that one sweep in the order of the graph rewrites once: later sites come too late."""


def endless() -> dict[str, list[Rule]]:
    """Rules that never stop by themselves."""
    pairs = {
        "its own result": [(["Relu"], ["Relu"])],
        "growing": [(["Relu"], ["Relu", "Relu"])],
        "two rules": [(["Relu"], ["Neg"]), (["Neg"], ["Relu"])],
    }
    return {name: [collapse(*pair) for pair in rules] for name, rules in pairs.items()}


def blocks(block: Block) -> list[Block]:
    """A graph and its subgraphs, outer ones first."""
    found = [block]
    for outer in found:  # grows while it is read
        found += [b for op in outer.ops for region in op.regions for b in region.blocks]
    return found
