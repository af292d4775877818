"""Time of running real models op by op in numpy, against onnxruntime and onnx's reference.

    python benchmarks/bench_evaluate.py [--models DIR] [--only NAMES] [--reference] [--all-cores]

Prints JSON. Per model, milliseconds of one run of a `Program` (made once, as onnxruntime's session
is), of onnxruntime with one thread, and their ratio; then the geometric mean of the ratios.

All run on one core, so that each has one thread. CPU time, the smallest of runs that take turns,
after one that does not count. What is kept between the runs of a `Program` are constants, and what
follows from them and from shapes: the filters of its convolutions, with what was folded into them.

`--reference` adds onnx.reference on the models that have a convolution (minutes). It is given the
same: one evaluator, and a run before the timed ones. `times faster, warm` compares these; `times
faster, cold` the first run of each, where a `Program` folds constants and lays out filters. `bare
products` is what the convolutions' sums of products alone take in numpy (`products.py` says how),
`share` how much of a run that is, and `at most` how many times faster a run of nothing else were;
where a kernel does other products, for several results together, a run can be faster than that.
The geometric means are those of all models with a convolution, and of those whose bare products
take a tenth of a run or more: the others are recurrent, with small convolutions before that.

`--all-cores` leaves every engine the threads it takes by default, and takes the time of the clock
on the wall: for machines that do nothing else. Models that `tools/fetch_model.py` has not fetched
are left out and named.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from products import milliseconds
from real_models import mean, on_one_core, parser_of, rows_of, smallest

CONVOLUTIONAL = 0.1
"""Least share of bare products in a run of a model that is called convolutional."""

Clock = Callable[[], float]
"""Seconds from any start."""


def session(path: Path, threads: int) -> Any:
    """onnxruntime with so many threads, 0 for its own choice."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = threads
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def timed(run: Callable[[], object], clock: Clock) -> float:
    """Milliseconds of one call."""
    before = clock()
    run()
    return 1000 * (clock() - before)


def measure(path: Path, inputs: dict[str, Any], given: Any, clock: Clock) -> dict[str, Any]:
    """Milliseconds and ratios of one model."""
    from ge_xdsl.dialects.ge.graph import main_function
    from ge_xdsl.importers import load_module
    from ge_xdsl.interpreters.program import Program

    program = Program(main_function(load_module(path)))
    native = session(path, 0 if given.all_cores else 1)
    first = timed(lambda: program.run(inputs), clock)
    ours, theirs = smallest(
        lambda: program.run(inputs), lambda: native.run(None, inputs), clock=clock
    )
    found: dict[str, Any] = {"ms": ours, "onnxruntime ms": theirs, "ratio": ours / theirs}
    bare = milliseconds(program, clock)
    if given.reference and bare["dense"] + bare["depthwise"]:
        found |= beside_reference(path, inputs, (first, ours), bare, clock)
    return {key: v if isinstance(v, str) else round(v, 2) for key, v in found.items()}


def beside_reference(
    path: Path,
    inputs: dict[str, Any],
    ours: tuple[float, float],
    bare: dict[str, float],
    clock: Clock,
) -> dict[str, float | str]:
    """What onnx.reference takes, for our first run and a later one; why not where it fails."""
    from onnx.reference import ReferenceEvaluator

    slow = ReferenceEvaluator(str(path))
    try:
        first = timed(lambda: slow.run(None, inputs), clock)
    except Exception as error:  # of any kind: it is another project's
        return {"onnx.reference fails": f"{type(error).__name__}: {error}"}
    (later,) = smallest(lambda: slow.run(None, inputs), rounds=4, clock=clock)
    products = bare["dense"] + bare["depthwise"]
    return {
        "first run ms": ours[0],
        "onnx.reference first run ms": first,
        "onnx.reference ms": later,
        "times faster, cold": first / ours[0],
        "times faster, warm": later / ours[1],
        "bare dense products ms": bare["dense"],
        "bare depthwise products ms": bare["depthwise"],
        "share": products / ours[1],
        "at most": later / products,
    }


def means(rows: list[dict[str, Any]]) -> dict[str, float]:
    """The geometric means beside onnx.reference."""
    found: dict[str, float] = {}
    mostly = [row for row in rows if row["share"] >= CONVOLUTIONAL]
    for what, some in (("with a convolution", rows), ("mostly of convolutions", mostly)):
        for key in ("times faster, cold", "times faster, warm"):
            if some:
                name = f"onnx.reference, {key}, geometric mean of {len(some)} {what}"
                found[name] = mean([row[key] for row in some])
    return found


def main() -> None:
    """Measure and print."""
    parser = parser_of(__doc__)
    parser.add_argument("--reference", action="store_true")
    parser.add_argument("--all-cores", action="store_true")
    given = parser.parse_args()
    clock = time.perf_counter if given.all_cores else time.process_time
    if not given.all_cores:
        on_one_core()
    found = rows_of(given, lambda _, path, inputs: measure(path, inputs, given, clock))
    unit = "ms on the wall, smallest" if given.all_cores else "CPU ms, smallest"
    result: dict[str, Any] = {"benchmark": "evaluate", "unit": unit, **found}
    rows = found["models"].values()
    if rows:
        result["ratio to onnxruntime, geometric mean"] = mean([r["ratio"] for r in rows])
    result |= means([row for row in rows if "share" in row])
    print(json.dumps(result))


if __name__ == "__main__":
    main()
