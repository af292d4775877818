"""What of real models runs as tile programs: `python benchmarks/bench_coverage.py [--table]`.

    python benchmarks/bench_coverage.py [--models DIR] [--only NAME,NAME] [--target NAME] [--table]

Per model, the nodes that are left as whole-tensor calls after `ge-decompose{to=target}`, and their
share of the predicted time. A call is priced from below: a launch, and all its operands and results
moved once between HBM and the cores. Models that `tools/fetch_model.py` has not fetched are left
out and named.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from real_models import parser_of, rows_of

PASSES = (
    "ge-infer-shape,ge-fold-constants,ge-simplify,ge-decompose{to=target},ge-fold-constants,"
    "ge-cse,ge-dce"
)


def call_us(op: Any, chip: Any) -> float:
    """A lower bound of the microseconds of a whole-tensor call; 0 for unknown shapes."""
    from ge_xdsl.dialects.ge.types import numpy_dtype, tensor_of

    moved = 0
    for value in (*op.operands, *op.results):
        tensor = tensor_of(value.type)
        moved += (tensor.size() or 0) * numpy_dtype(tensor.dtype).itemsize
    return chip.launch_us + 1e6 * moved / chip.hbm_ub_bandwidth


def measure(path: Path, inputs: dict[str, Any], target: str) -> dict[str, Any]:
    """Nodes and microseconds of one model, in all and of the calls."""
    import ge_xdsl as gx
    from ge_xdsl.cli.run import has_kernels
    from ge_xdsl.dialects.ge.graph import ge_ops, main_function
    from ge_xdsl.interpreters.aicore import UNCOUNTED, estimate
    from ge_xdsl.passes.infer_shape import set_input_shapes
    from ge_xdsl.targets import target as find_target

    chip = find_target(target)
    module = gx.load(path)
    set_input_shapes(main_function(module), {name: a.shape for name, a in inputs.items()})
    gx.optimize(module, target=target, pipeline=PASSES)
    lowered = gx.lower(module, target)
    assert has_kernels(lowered)
    report = estimate(lowered, target)
    left = [
        op
        for op in ge_ops(main_function(lowered))
        if op.op_type not in UNCOUNTED and not op.regions
    ]
    calls = sum(call_us(op, chip) for op in left)
    nodes = report.timed + report.views + len(left)
    return {
        "nodes": nodes,
        "calls": len(left),
        "launches": len(report.kernels),
        "us": round(report.us + calls, 2),
        "calls us": round(calls, 2),
        "node %": round(100 * len(left) / nodes, 2),
        "time %": round(100 * calls / (report.us + calls), 2),
        "left": dict(report.calls),
    }


def in_all(rows: dict[str, dict[str, Any]]) -> dict[str, float]:
    """The shares over all models together."""
    total = {key: sum(row[key] for row in rows.values()) for key in ("nodes", "calls", "us")}
    calls = sum(row["calls us"] for row in rows.values())
    return {
        "nodes": total["nodes"],
        "calls": total["calls"],
        "node %": round(100 * total["calls"] / total["nodes"], 2),
        "time %": round(100 * calls / total["us"], 2),
    }


def table(rows: dict[str, dict[str, Any]]) -> str:
    """The rows as text."""
    lines = [f"{'model':24} {'nodes':>6} {'calls':>6} {'node %':>7} {'us':>10} {'time %':>7}"]
    for name, row in rows.items():
        lines.append(
            f"{name:24} {row['nodes']:6} {row['calls']:6} {row['node %']:7.2f} "
            f"{row['us']:10.1f} {row['time %']:7.2f}"
        )
        lines += [f"    {op} x {count}" for op, count in row["left"].items()]
    whole = in_all(rows)
    lines.append(
        f"{'all':24} {whole['nodes']:6} {whole['calls']:6} {whole['node %']:7.2f} "
        f"{sum(r['us'] for r in rows.values()):10.1f} {whole['time %']:7.2f}"
    )
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = parser_of(__doc__)
    parser.add_argument("--target", default="Ascend910B1")
    parser.add_argument("--table", action="store_true", help="text in place of JSON")
    given = parser.parse_args()
    found = rows_of(given, lambda _, path, inputs: measure(path, inputs, given.target))
    rows = found["models"]
    if given.table:
        print(table(rows))
        print(f"not fetched: {', '.join(found['not fetched']) or 'none'}")
        return
    result = {"benchmark": "coverage", "target": given.target, **found}
    result["all"] = in_all(rows) if rows else {}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
