"""What the benchmarks on real models share: options, seeded inputs, timing, means.

Models that `tools/fetch_model.py` has not fetched are left out and named under `not fetched`.
"""

from __future__ import annotations

import argparse
import importlib.util
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


def smallest(
    *runs: Callable[[], object], rounds: int = 4, clock: Callable[[], float] = time.process_time
) -> list[float]:
    """The smallest milliseconds of each of some functions, called in turn; CPU time by default.

    They are called `rounds` times and until SECONDS have passed; the first round does not count.
    """
    best = [math.inf] * len(runs)
    start = time.perf_counter()
    done = 0
    while done < rounds or time.perf_counter() - start < SECONDS * len(runs):
        for i, run in enumerate(runs):
            before = clock()
            run()
            if done:  # the first one makes things ready
                best[i] = min(best[i], 1000 * (clock() - before))
        done += 1
    return best


def mean(values: list[float]) -> float:
    """The geometric mean, in hundredths."""
    return round(math.exp(sum(map(math.log, values)) / len(values)), 2)


def _folder() -> Path:
    """`models/`, or the folder that GE_XDSL_MODELS names."""
    return Path(os.environ.get("GE_XDSL_MODELS") or PROJECT / "models")


def parser_of(doc: str | None) -> argparse.ArgumentParser:
    """The parser of a benchmark whose module's docstring is `doc`."""
    parser = argparse.ArgumentParser(description=(doc or "").split("\n")[0])
    parser.add_argument("--models", type=Path, default=_folder())
    parser.add_argument("--only", default="", help="names, all by default")
    return parser


def on_one_core() -> None:
    """Keep this process on one core; before numpy is imported and its BLAS counts the cores."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def rows_of(
    given: argparse.Namespace, measure: Callable[[str, Path, dict[str, Any]], dict[str, Any]]
) -> dict[str, Any]:
    """`models`: what `measure` gives for the name, file and inputs of each; and `not fetched`."""
    warnings.simplefilter("ignore")
    models = fetch_model().MODELS
    names = given.only.split(",") if given.only else list(models)
    paths = {name: given.models / f"{name}.onnx" for name in names}
    return {
        "models": {
            name: measure(name, path, inputs_of(models[name]))
            for name, path in paths.items()
            if path.exists()
        },
        "not fetched": [name for name, path in paths.items() if not path.exists()],
    }
