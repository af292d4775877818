"""Seconds to price a model of 1,000 nodes: `python -m benchmarks pricing [--json]`.

100 blocks of ten ops, each block with shapes of its own, so that no two blocks share kernels.
`price` is the time of the estimate of the lowered module, `lower` that of the lowering with its
search for tiles, `load` that of reading and verifying the text of the graph. Exit code 1 when
`price` is above three seconds.
"""

from __future__ import annotations

import json
import sys
import time
from itertools import pairwise
from typing import Any

from ge_xdsl.dialects.ge.graph import verify
from ge_xdsl.dialects.ge.text import parse_module
from ge_xdsl.interpreters import aicore
from ge_xdsl.lowering import lower

BLOCKS = 100
LIMIT = 3.0
CHIP = "Ascend910B1"


def graph(blocks: int) -> str:
    """Blocks on inputs of their own; every result is an output."""
    args: list[str] = []
    lines: list[str] = []
    results: list[str] = []
    types: list[str] = []
    for i in range(blocks):
        m, k, n = 64 + 8 * i, 256 + 16 * (i % 7), 512 + 32 * (i % 5)
        x, y = f"tensor<{m}x{k}xf16>", f"tensor<{m}x{n}xf16>"
        w, v = f"tensor<{k}x{n}xf16>", f"tensor<{n}x{k}xf16>"
        args += [f"%x{i} : {x}", f"%w{i} : {w}", f"%v{i} : {v}", f"%b{i} : tensor<{n}xf16>"]
        lines += [
            f"%a{i} = ge.MatMul(%x{i}, %w{i}) : ({x}, {w}) -> {y}",
            f"%c{i} = ge.BiasAdd(%a{i}, %b{i}) : ({y}, tensor<{n}xf16>) -> {y}",
            f"%d{i} = ge.Relu(%c{i}) : ({y}) -> {y}",
            f"%e{i} = ge.MatMul(%d{i}, %v{i}) : ({y}, {v}) -> {x}",
            f"%f{i} = ge.Add(%e{i}, %x{i}) : ({x}, {x}) -> {x}",
            f"%g{i} = ge.SoftmaxV2(%f{i}) {{axes = [-1]}} : ({x}) -> {x}",
            f"%h{i} = ge.Exp(%g{i}) : ({x}) -> {x}",
            f"%i{i} = ge.Mul(%h{i}, %f{i}) : ({x}, {x}) -> {x}",
            f"%j{i} = ge.Sigmoid(%i{i}) : ({x}) -> {x}",
            f"%k{i} = ge.Sub(%j{i}, %x{i}) : ({x}, {x}) -> {x}",
        ]
        results.append(f"%k{i}")
        types.append(x)
    body = "\n  ".join([*lines, f"func.return {', '.join(results)} : {', '.join(types)}"])
    return f"func.func @main({', '.join(args)}) -> ({', '.join(types)}) {{\n  {body}\n}}\n"


def measure(blocks: int = BLOCKS) -> dict[str, Any]:
    """Seconds of each part, and what was priced."""
    text = graph(blocks)
    times = [time.perf_counter()]
    module = parse_module(text)
    verify(module)
    times.append(time.perf_counter())
    lowered = lower(module, CHIP)
    times.append(time.perf_counter())
    report = aicore.estimate(lowered, CHIP)
    times.append(time.perf_counter())
    load, lowering, price = (b - a for a, b in pairwise(times))
    return {
        "benchmark": "pricing",
        "nodes": 10 * blocks,
        "kernels": len(aicore.kernels_of(lowered)),
        "launches": len(report.kernels),
        "untimed": sum(report.calls.values()),
        "predicted_us": round(report.us, 1),
        "load_s": round(load, 2),
        "lower_s": round(lowering, 2),
        "price_s": round(price, 2),
    }


def main() -> int:
    """Print the figures; 1 when pricing takes too long."""
    found = measure()
    if "--json" in sys.argv[1:] or not sys.stdout.isatty():
        print(json.dumps(found))
    else:
        for name, value in found.items():
            print(f"{name:14} {value}")
    return int(found["price_s"] > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
