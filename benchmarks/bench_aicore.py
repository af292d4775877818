"""Time of running real models as tile programs, against the same models on whole tensors.

    python benchmarks/bench_aicore.py [--models DIR] [--only NAME,NAME] [--target NAME]

Prints JSON. Per model, milliseconds of one run of a `LoweredProgram` and of a `Program` (both made
once), their ratio, how many kernels there are, how many of them do not run for all tiles at once,
and how many ops ran as whole-tensor calls; then the geometric mean of the ratios, which should be
at most 4. `first run` is all from the lowered module to the outputs and the timing report;
`lowering` is what comes before.

All run on one core. CPU time, the smallest of runs that take turns. Models that
`tools/fetch_model.py` has not fetched are left out and named.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from real_models import mean, on_one_core, parser_of, rows_of, smallest


def measure(path: Path, inputs: dict[str, Any], chip: str) -> dict[str, Any]:
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
    before = time.process_time()
    lowered = gx.lower(module, chip)
    lowering = 1000 * (time.process_time() - before)
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
        "lowering ms": round(lowering, 1),
        "first run ms": round(first, 1),
        "kernels": len(tiles.kernels),
        "core by core": sorted({k.why for k in tiles.ready.values() if k.why}),
        "whole-tensor calls": sum(report.calls.values()),
        "largest error, of the largest value": float(f"{max(errors):.2g}"),
    }


def main() -> None:
    """Measure and print."""
    parser = parser_of(__doc__)
    parser.add_argument("--target", default="Ascend910B1")
    given = parser.parse_args()
    on_one_core()
    found = rows_of(given, lambda _, path, inputs: measure(path, inputs, given.target))
    result: dict[str, Any] = {"benchmark": "aicore", "unit": "CPU ms, smallest", **found}
    ratios = [float(row["ratio"]) for row in found["models"].values()]
    if ratios:
        result["ratio to level ge, geometric mean"] = mean(ratios)
        result["ratio to level ge, largest"] = max(ratios)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
