"""Time of running real models as tile programs, against the same models on whole tensors.

    python benchmarks/bench_aicore_run.py [--models DIR] [--only NAME,NAME] [--target NAME]

Prints JSON. Per model, milliseconds of one run of a `LoweredProgram` and of a `Program` (both made
once), their ratio, how many kernels there are, how many of them do not run for all tiles at once,
and how many ops ran as whole-tensor calls; then the geometric mean of the ratios, which should be
at most 4. `first run` is all from the lowered module to the outputs and the timing report.

All run on one core. CPU time, the smallest of runs that take turns. Models that
`tools/fetch_model.py` has not fetched are left out and named.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
from bench_evaluate import PROJECT, fetch_model, inputs_of, mean, smallest


def measure(inputs: dict[str, Any], path: Path, chip: str) -> dict[str, Any]:
    """Milliseconds, ratio and counts of one model."""
    import numpy as np

    import ge_xdsl as gx
    from ge_xdsl.dialects.ge.graph import main_function
    from ge_xdsl.interpreters.aicore import LoweredProgram
    from ge_xdsl.interpreters.compare import accept
    from ge_xdsl.interpreters.program import Program
    from ge_xdsl.passes.infer_shape import GeInferShapePass, set_input_shapes
    from ge_xdsl.passes.manager import PassManager
    from ge_xdsl.passes.session import SessionContext

    module = gx.load(path)
    set_input_shapes(main_function(module), {name: a.shape for name, a in inputs.items()})
    PassManager(SessionContext(), [GeInferShapePass()]).run(module)
    whole = Program(main_function(module))
    lowered = gx.lower(module, chip)
    before = time.process_time()
    tiles = LoweredProgram(lowered, chip)
    got, report = tiles.run(inputs), tiles.report
    first = 1000 * (time.process_time() - before)
    ours, theirs = smallest(lambda: tiles.run(inputs), lambda: whole.run(inputs))
    pairs = zip(got, whole.run(inputs), strict=True)
    errors = [accept(a, b).max_abs / max(float(np.abs(b).max()), 1e-30) for a, b in pairs]
    return {
        "aicore ms": round(ours, 2),
        "ge ms": round(theirs, 2),
        "ratio": round(ours / theirs, 2),
        "first run ms": round(first, 1),
        "kernels": len(tiles.kernels),
        "core by core": sorted({k.why for k in tiles.ready.values() if k.why}),
        "whole-tensor calls": sum(report.calls.values()),
        "largest error, of the largest value": float(f"{max(errors):.2g}"),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Tile programs beside whole tensors.")
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
        name: measure(inputs_of(models[name]), path, options.target)
        for name, path in paths.items()
        if path.exists()
    }
    result: dict[str, Any] = {"benchmark": "aicore_run", "unit": "CPU ms, smallest", "models": rows}
    result["not fetched"] = [name for name, path in paths.items() if not path.exists()]
    if rows:
        ratios = [float(row["ratio"]) for row in rows.values()]
        result["ratio to level ge, geometric mean"] = mean(ratios)
        result["ratio to level ge, largest"] = max(ratios)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
