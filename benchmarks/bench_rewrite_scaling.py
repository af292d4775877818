"""How the time of rewriting grows with the size of graphs that are hard on a rewriter.

    python benchmarks/bench_rewrite_scaling.py [--cases relus,fan_out] [--repeat 3]

Prints JSON: for each case (`hard_graphs.py` tells what it is) and driver the CPU milliseconds,
best of the repeats, at two sizes, and the exponent between them: 1 is linear, 2 is quadratic. The
smaller size is one that takes 20 ms or more. Then, for rules that rewrite without end, the seconds
until that is found.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import sys
from pathlib import Path
from time import process_time
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.bench_rewrite import block_of
from benchmarks.hard_graphs import CASES, ONCE, Case, blocks, endless, relus
from ge_xdsl.dialects.ge.collect import seldom
from ge_xdsl.errors import CompileError
from ge_xdsl.pattern.access import ops_of
from ge_xdsl.pattern.driver import run_fixpoint, run_ge
from ge_xdsl.pattern.provenance import GraphNames

LARGEST = 16_000
"""No smallest size beyond this: the larger one would take minutes to build."""


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


def run_once(case: Case, n: int, fixpoint: bool) -> float:
    """CPU seconds of a run over a graph that is built for it."""
    module, rules, expected = case(n)
    graphs = blocks(block_of(module))
    gc.collect()
    begun = process_time()
    if fixpoint:
        applied = run_fixpoint(module, rules).applied
    else:
        names = GraphNames(graphs[0].parent_op()) if len(graphs) > 1 else None
        with seldom(sum(len(ops_of(block)) for block in graphs)):
            applied = sum(run_ge(block, rules, names=names).applied for block in graphs)
    taken = process_time() - begun
    if not fixpoint and case.__name__ in ONCE:
        expected = 1
    if applied != expected:
        raise SystemExit(f"{case.__name__}: {applied} rewrites, expected {expected}")
    return taken


def smallest(case: Case, n: int, least: float, fixpoint: bool) -> int:
    """The size, `n` or twice that and so on, from which a run takes `least` seconds."""
    while n < LARGEST and run_once(case, n, fixpoint) < least:
        n *= 2
    return n


def measure(case: Case, args: argparse.Namespace) -> dict[str, Any]:
    """The rows of both drivers; sizes take turns, the best run of each counts."""
    rows: dict[str, Any] = {}
    for driver in ("run_ge", "run_fixpoint"):
        fixpoint = driver == "run_fixpoint"
        first = smallest(case, args.smallest, args.least / 1000, fixpoint)
        sizes = [first, first * args.growth]
        runs = [[run_once(case, n, fixpoint) for n in sizes] for _ in range(args.repeat)]
        times = [min(column) for column in zip(*runs, strict=True)]
        growth = math.log(times[-1] / times[0]) / math.log(args.growth)
        rows[driver] = {
            "milliseconds": {str(n): round(1e3 * t, 1) for n, t in zip(sizes, times, strict=True)},
            "exponent": round(growth, 2),
        }
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--cases", default=",".join(case.__name__ for case in CASES))
    parser.add_argument("--smallest", type=int, default=2000, help="nodes to begin with")
    parser.add_argument("--least", type=float, default=20, help="milliseconds of a smallest run")
    parser.add_argument("--growth", type=int, default=4, help="how much larger the other run is")
    parser.add_argument("--repeat", type=int, default=3)
    args = parser.parse_args()
    gc.set_threshold(100_000, 50, 1000)
    chosen = [case for case in CASES if case.__name__ in args.cases.split(",")]
    result: dict[str, Any] = {case.__name__: measure(case, args) for case in chosen}
    print(json.dumps({**result, "loops": loops(16000)}, indent=2))


if __name__ == "__main__":
    main()
