"""Running real models as tile programs beside running them op by op in numpy.

    python benchmarks/bench_aicore.py [--models DIR] [--only NAME,NAME] [--target NAME]

Prints JSON. Per model, CPU milliseconds of one run of the lowered program and of the graph (both
made ready once), their ratio, and the largest difference of their outputs relative to the largest
element; then the geometric mean of the ratios. Models that `tools/fetch_model.py` has not fetched
are left out and named.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from pathlib import Path
from typing import Any

from bench_evaluate import PROJECT, fetch_model, inputs_of, mean, smallest

PASSES = "ge-infer-shape,ge-fold-constants,ge-simplify,ge-cse,ge-dce"


def difference(found: Any, wanted: Any) -> float:
    """The largest difference relative to the largest element, of all outputs."""
    import numpy as np

    worst = 0.0
    for a, b in zip(found, wanted, strict=True):
        if b.size and b.dtype.kind == "f":
            top = float(np.abs(b).max()) or 1.0
            worst = max(worst, float(np.abs(a - b).max()) / top)
        elif b.size:
            worst = max(worst, float((a != b).mean()))
    return worst


def measure(path: Path, inputs: dict[str, Any], target: str) -> dict[str, float]:
    """Milliseconds, their ratio and the difference for one model."""
    import ge_xdsl as gx
    from ge_xdsl.dialects.ge.graph import main_function
    from ge_xdsl.interpreters.aicore import LoweredProgram
    from ge_xdsl.interpreters.program import Program
    from ge_xdsl.passes.infer_shape import set_input_shapes

    module = gx.load(path)
    graph = Program(main_function(gx.load(path)))
    set_input_shapes(main_function(module), {name: a.shape for name, a in inputs.items()})
    gx.optimize(module, target=target, pipeline=PASSES)
    before = time.process_time()
    tiles = LoweredProgram(gx.lower(module, target), target)
    lowering = time.process_time() - before
    before = time.process_time()
    outputs = tiles.run(inputs)
    first = time.process_time() - before
    ge_ms, aicore_ms = smallest(lambda: graph.run(inputs), lambda: tiles.run(inputs))
    return {
        "ge ms": round(ge_ms, 2),
        "aicore ms": round(aicore_ms, 2),
        "ratio": round(aicore_ms / ge_ms, 2),
        "lowering ms": round(1000 * lowering, 1),
        "first run ms": round(1000 * first, 1),
        "difference": difference(outputs, graph.run(inputs)),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--models", type=Path, default=PROJECT / "models")
    parser.add_argument("--only", default="", help="names, all by default")
    parser.add_argument("--target", default="Ascend910B1")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if hasattr(os, "sched_setaffinity"):  # before numpy is imported and its BLAS counts the cores
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    models = fetch_model().MODELS
    names = options.only.split(",") if options.only else list(models)
    paths = {name: options.models / f"{name}.onnx" for name in names}
    rows = {
        name: measure(path, inputs_of(models[name]), options.target)
        for name, path in paths.items()
        if path.exists()
    }
    result: dict[str, Any] = {"benchmark": "aicore", "unit": "CPU ms, smallest", "models": rows}
    result["not fetched"] = [name for name, path in paths.items() if not path.exists()]
    if rows:
        result["ratio to the graph, geometric mean"] = mean([r["ratio"] for r in rows.values()])
    print(json.dumps(result))


if __name__ == "__main__":
    main()
