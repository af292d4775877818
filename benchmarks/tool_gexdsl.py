"""This project's rewriting of an ONNX graph, beside other rewriters' in the same process.

    python benchmarks/tool_gexdsl.py graph.onnx [--peers FOLDER] [--repeat 3]

A tool is a module `tool_NAME.py` with `VERSION`, `load(path)`, `rewrite(graph) -> (graph, count)`
and `counts(graph) -> {op: number}`; this one is such a module, too. `--peers` names a folder of
them: each whose packages can be imported is timed in turn, and JSON tells how many times its time
ours is. The rewrites are MatMul + Add -> Gemm (a product with a bias), Add(x, 0) -> x, two
Transposes -> one, two Relus -> one, as patterns in GE's order. Times are CPU seconds, best of the
repeats, the graph loaded anew for each.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import math
import sys
from collections import Counter
from functools import cache
from importlib.metadata import version
from pathlib import Path
from time import process_time
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.bench_rewrite import Builder, block_of, compose, pattern
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.prototype import decode
from ge_xdsl.dialects.ge.types import tensor_of
from ge_xdsl.importers import load_module
from ge_xdsl.pattern.driver import PatternRule, run_ge
from ge_xdsl.pattern.match import Match
from ge_xdsl.pattern.rule import Rule

VERSION = version("ge_xdsl")
PEERS = ("tinygrad", "xdsl")
PRODUCT = "BatchMatMulV2"
"""What the importer makes of MatMul."""


def product_bias() -> PatternRule:
    b, r = Builder((4, 8), (8, 8), (8,)), Builder((4, 8), (8, 8), (8,))
    x, w, bias = b.block.args
    product = b.op(PRODUCT, [x, w], (4, 8))
    compiled = pattern("matmul_add", b, b.op("Add", [product, bias], (4, 8)))
    fused = r.func(r.op(PRODUCT, list(r.block.args), (4, 8)))

    def meet(match: Match) -> bool:
        ranks = [tensor_of(match.inputs[i].type).rank for i in (1, 2)]
        return ranks == [2, 1]

    return PatternRule(compiled, lambda match: fused, meet)


def add_zero() -> PatternRule:
    b, r = Builder((4, 8)), Builder((4, 8))
    out = b.op("Add", [b.block.args[0], b.const(0.0)], (4, 8))
    compiled = pattern("add_zero", b, out, const_value=True)
    same = r.func(r.block.args[0])
    return PatternRule(compiled, lambda match: same)


def transposes() -> PatternRule:
    b = Builder((2, 3, 4))
    once = b.op("Transpose", [b.block.args[0], b.const([0, 1, 2], "int32")], (2, 3, 4))
    twice = b.op("Transpose", [once, b.const([0, 1, 2], "int32")], (2, 3, 4))
    compiled = pattern("transpose", b, twice)

    def build(match: Match) -> FuncOp:
        _, _, outer, inner = match.targets
        return transposed(outer.properties["value"], inner.properties["value"])

    return PatternRule(compiled, build)


@cache
def transposed(outer: Attribute, inner: Attribute) -> FuncOp:
    """The replacement for two permutations as constants hold them."""
    perm = compose(*([int(i) for i in decode(attr)] for attr in (outer, inner)))
    b = Builder((2, 3, 4))
    return b.func(b.op("Transpose", [b.block.args[0], b.const(perm, "int32")], (2, 3, 4)))


def relus() -> PatternRule:
    b, r = Builder((4, 8)), Builder((4, 8))
    inner = b.op("Relu", [b.block.args[0]], (4, 8))
    compiled = pattern("relu", b, b.op("Relu", [inner], (4, 8)))
    one = r.func(r.op("Relu", [r.block.args[0]], (4, 8)))
    return PatternRule(compiled, lambda match: one)


RULES: list[Rule] = [product_bias(), add_zero(), transposes(), relus()]


def load(path: str) -> ModuleOp:
    """Import a model, types inferred."""
    return load_module(path)


def rewrite(module: ModuleOp) -> tuple[ModuleOp, int]:
    """Run the rules; the number of rewrites."""
    return module, run_ge(block_of(module), RULES, pass_name="tool").applied


def counts(module: ModuleOp) -> dict[str, int]:
    """Ops by the names that all tools use."""
    block: Block = block_of(module)
    found: Counter[str] = Counter()
    for op in block.ops:
        if isinstance(op, GeOp):
            matrix = "Gemm" if len(op.operands) == 3 else "MatMul"
            found[matrix if op.op_type == PRODUCT else op.op_type] += 1
    return dict(found)


def timed(tool: Any, path: str, repeat: int) -> dict[str, Any]:
    """Seconds of loading and rewriting, and how many rewrites the op counts show."""
    load_s = rewrite_s = math.inf
    rewrites = 0
    before: dict[str, int] = {}
    for _ in range(repeat):
        gc.collect()
        begun = process_time()
        graph = tool.load(path)
        loaded = process_time()
        before = tool.counts(graph)
        ready = process_time()
        graph, _ = tool.rewrite(graph)
        done = process_time()
        load_s, rewrite_s = min(load_s, loaded - begun), min(rewrite_s, done - ready)
        after = tool.counts(graph)
        rewrites = sum(before.get(op, 0) - after.get(op, 0) for op in ("Add", "Transpose", "Relu"))
    nodes = sum(n for op, n in before.items() if op != "Const")
    return {
        "version": tool.VERSION,
        "nodes": nodes,
        "rewrites": rewrites,
        "load_us_per_node": round(load_s / nodes * 1e6, 2),
        "rewrite_us_per_node": round(rewrite_s / nodes * 1e6, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("graph")
    parser.add_argument("--peers", default="", help="a folder of other tool modules")
    parser.add_argument("--repeat", type=int, default=3)
    args = parser.parse_args()
    gc.set_threshold(100_000, 50, 1000)
    result = {"ge_xdsl": timed(sys.modules[__name__], args.graph, args.repeat)}
    if args.peers:
        sys.path.insert(0, args.peers)
        for name in PEERS:
            try:
                tool = importlib.import_module(f"tool_{name}")
            except ImportError:
                continue
            if hasattr(tool, "prepare"):
                tool.prepare(args.graph)
            row = result[name] = timed(tool, args.graph, args.repeat)
            ours = result["ge_xdsl"]["rewrite_us_per_node"]
            row["ours_to_theirs"] = round(ours / row["rewrite_us_per_node"], 2)
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
