"""How the time of rewriting grows with the size of graphs that are hard on a rewriter.

    python benchmarks/bench_rewrite_scaling.py [--sizes 2500,10000] [--repeat 3]

Prints JSON: for each case and driver the CPU seconds (best of the repeats) at each size, and the
exponent between the first and the last size: 1 is linear, 2 is quadratic. Wide cases have one op
with as many operands as the size says. Then, for rules that rewrite without end, the seconds until
that is found.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from time import process_time
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.bench_rewrite import Builder, block_of, pattern
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.registry import op_class
from ge_xdsl.errors import CompileError
from ge_xdsl.pattern.driver import PatternRule, run_fixpoint, run_ge
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
    """A cascade from the last op to the first."""
    b = start()
    return ModuleOp([b.func(chain(b, [*["Relu"] * n, "Neg"], b.block.args[0]))]), [Backward()], n


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


Case = Callable[[int], Graph]
CASES: list[Case] = [
    relus,
    bypasses,
    wide_concat,
    backward,
    shared_operands,
    fibonacci,
    siblings,
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


def loops(n: int) -> dict[str, Any]:
    """Seconds until an endless rewriting of a chain of n ops is found, and how it is told.

    GE's order tries each rule in one sweep: two rules that undo each other end there.
    """
    rows: dict[str, Any] = {}
    for name, rules in endless().items():
        for driver in ("run_ge", "run_fixpoint"):
            module, _, _ = relus(n)
            begun = process_time()
            try:
                ge = driver == "run_ge"
                run_ge(block_of(module), rules) if ge else run_fixpoint(module, rules)
                told = "ends"
            except CompileError as error:
                told = str(error)
            rows[f"{name}, {driver}"] = {"seconds": round(process_time() - begun, 4), "told": told}
    return rows


def seconds(case: Case, n: int, repeat: int, fixpoint: bool) -> float:
    """CPU seconds of the best run; the graph is built anew for each."""
    best = math.inf
    for _ in range(repeat):
        module, rules, expected = case(n)
        gc.collect()
        begun = process_time()
        run = run_fixpoint(module, rules) if fixpoint else run_ge(block_of(module), rules)
        best = min(best, process_time() - begun)
        if not fixpoint and case.__name__ in ONCE:
            expected = 1
        if run.applied != expected:
            raise SystemExit(f"{case.__name__}: {run.applied} rewrites, expected {expected}")
    return best


def measure(case: Case, sizes: Sequence[int], repeat: int) -> dict[str, Any]:
    rows: dict[str, Any] = {}
    for fixpoint in (False, True):
        times = [seconds(case, n, repeat, fixpoint) for n in sizes]
        growth = math.log(times[-1] / times[0]) / math.log(sizes[-1] / sizes[0])
        rows["run_fixpoint" if fixpoint else "run_ge"] = {
            "seconds": {str(n): round(t, 4) for n, t in zip(sizes, times, strict=True)},
            "exponent": round(growth, 2),
        }
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--sizes", default="1000,4000,16000")
    parser.add_argument("--repeat", type=int, default=3)
    args = parser.parse_args()
    gc.set_threshold(100_000, 50, 1000)
    sizes = [int(n) for n in args.sizes.split(",")]
    result: dict[str, Any] = {c.__name__: measure(c, sizes, args.repeat) for c in CASES}
    print(json.dumps({**result, "loops": loops(sizes[-1])}, indent=2))


if __name__ == "__main__":
    main()
