"""Predicted against published kernel times: `python benchmarks/bench_cycles.py [--table]`."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from ge_xdsl.dialects.aicore.structure import KernelOp
from ge_xdsl.dialects.ge.text import parse_module
from ge_xdsl.interpreters.aicore import kernels_of
from ge_xdsl.interpreters.cycles import time_kernel
from ge_xdsl.lowering import lower
from ge_xdsl.lowering.matmul import Product, matmul_kernel
from ge_xdsl.lowering.tiling import MatmulTiling
from ge_xdsl.targets import Target, target

POINTS = Path(__file__).with_name("cycle_points.json")


def product_kernel(point: dict[str, Any], chip: Target) -> KernelOp:
    """A matrix product with the published tile; its fourth number is k1 / k0."""
    m, n, k = point["m_n_k"]
    tm, tn, k0, steps = point["tile"]
    product = Product((m, k), (k, n), (m, n), False, False, "f16", "", False)
    return matmul_kernel("matmul", product, chip, MatmulTiling(tm, tn, k0, k0 * steps, 1))


def vector_kernel(point: dict[str, Any], chip: Target) -> KernelOp:
    """An elementwise op through the ordinary lowering."""
    name = point["kernel"]
    shape = "x".join(str(d) for d in point["shape"])
    t = f"tensor<{shape}x{point['dtype']}>"
    args = ["%a"] if name == "Exp" else ["%a", "%b"]
    head = ", ".join(f"{arg} : {t}" for arg in args)
    types = ", ".join(t for _ in args)
    text = f"""func.func @main({head}) -> {t} {{
  %y = ge.{name}({", ".join(args)}) : ({types}) -> {t}
  func.return %y : {t}
}}"""
    (kernel,) = kernels_of(lower(parse_module(text), chip)).values()
    return kernel


def rows() -> list[dict[str, Any]]:
    """One row per point: published and predicted time, error, bound, time that it took."""
    found: list[dict[str, Any]] = []
    for point in json.loads(POINTS.read_text())["points"]:
        chip = target(point["target"])
        make = product_kernel if point["kernel"] == "matmul" else vector_kernel
        kernel = make(point, chip)
        start = time.perf_counter()
        timing = time_kernel(kernel, chip)
        found.append(
            {
                "id": point["id"],
                "published_us": point["us"],
                "model_us": round(timing.us, 2),
                "error": round(timing.us / point["us"] - 1, 4),
                "bound": timing.bound,
                "host_ms": round(1e3 * (time.perf_counter() - start), 1),
            }
        )
    return found


def main() -> None:
    """Print the rows and the mean and median of the absolute errors: JSON, or `--table`."""
    found = rows()
    errors = sorted(abs(row["error"]) for row in found)
    summary = {"mean": sum(errors) / len(errors), "median": errors[len(errors) // 2]}
    if "--table" not in sys.argv[1:]:
        print(json.dumps({"benchmark": "cycles", "rows": found, "summary": summary}))
        return
    for row in found:
        print(
            f"{row['id']:32} published {row['published_us']:8.1f} us  model {row['model_us']:8.1f}"
            f" us  {100 * row['error']:+6.1f} %  {row['bound']:7}  {row['host_ms']:6.1f} ms"
        )
    print(f"mean {100 * summary['mean']:.1f} %, median {100 * summary['median']:.1f} %")


if __name__ == "__main__":
    main()
