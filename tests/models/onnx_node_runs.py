"""The node tests that come with the onnx package, imported and run in the reference interpreter.

As a script it prints what fails and why, one line per test, and `--update` rewrites the list of
gaps: reasons of tests that still fail stay, new ones get their error as the reason.

    python tests/models/onnx_node_runs.py [--update] [--only PREFIX]
"""

import argparse
import sys
import warnings
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ge_xdsl.dialects.ge.graph import main_function, verify
from ge_xdsl.dialects.ge.names import input_names
from ge_xdsl.dialects.ge.types import Tensor, compatible, dtype_of_numpy, tensor_of
from ge_xdsl.errors import CompileError
from ge_xdsl.importers.onnx.reader import import_onnx_bytes
from ge_xdsl.interpreters.ge import run_function

GAPS = Path(__file__).with_name("onnx_node_gaps.txt")
"""The tests that do not pass: `name<two spaces>reason`, sorted by name."""


class DifferenceError(Exception):
    """A result is not the expected one."""


@dataclass(frozen=True)
class Case:
    """One test: `op` is the op it is about, also where that is expanded to its body; one of
    another domain than the main one is written `domain::op`."""

    name: str
    op: str
    test: Any

    @property
    def expanded(self) -> bool:
        return "_expanded" in self.name


@cache
def cases() -> list[Case]:
    """Every test, in a fixed order and with fixed numbers (generated: about 5 seconds)."""
    np.random.seed(0)  # the generators draw from numpy's global state
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.loader import load_model_tests

        tests = load_model_tests(kind="node")
    ops = {test.name: _op(test.model.graph.node[0]) for test in tests}
    return [Case(test.name, ops[test.name.split("_expanded")[0]], test) for test in tests]


def _op(node: Any) -> str:
    return f"{node.domain}::{node.op_type}" if node.domain else node.op_type


def failure(case: Case) -> str:
    """Why a test does not pass, '' when it does; only what the importer or the interpreter
    reports as an error, or a wrong result, is an answer: any other exception gets out."""
    try:
        _run(case.test)
    except (CompileError, DifferenceError) as error:
        return " ".join(str(error).replace(f"{case.name}.onnx: error: ", "").split())
    return ""


def _run(test: Any) -> None:
    module = import_onnx_bytes(test.model.SerializeToString(), f"{test.name}.onnx")
    verify(module)
    function = main_function(module)
    for inputs, expected in test.data_sets:
        arrays = dict(zip(input_names(function), map(_array, inputs), strict=True))
        found = run_function(function, arrays)
        if len(found) != len(expected):
            raise DifferenceError(f"{len(found)} outputs, expected {len(expected)}")
        types = function.function_type.outputs
        for index, (ours, theirs) in enumerate(zip(found, expected, strict=True)):
            _compare(index, ours, _array(theirs), test)
            held = Tensor(dtype_of_numpy(ours.dtype), ours.shape)
            if not compatible(tensor_of(types.data[index]), held):
                raise DifferenceError(f"output {index} is {held}, infer gives {types.data[index]}")


def _array(value: Any) -> np.ndarray:
    from onnx import TensorProto, numpy_helper

    if isinstance(value, TensorProto):
        return numpy_helper.to_array(value)
    if value is None or isinstance(value, list):
        raise CompileError(f"a value is {type(value).__name__}, expected a tensor")
    return np.asarray(value)


def _compare(index: int, ours: np.ndarray, theirs: np.ndarray, test: Any) -> None:
    """The comparison of onnx's own test runner: equal types and shapes, numbers within rtol and
    atol (two units in the last place of bf16)."""
    for what, a, b in (
        ("type", ours.dtype, theirs.dtype),
        ("shape", ours.shape, theirs.shape),
    ):
        if a != b:
            raise DifferenceError(f"output {index} has {what} {a}, expected {b}")
    if theirs.dtype == object:
        same = np.array_equal(ours, theirs)
    else:
        relative = max(test.rtol, 2**-6) if theirs.dtype.name == "bfloat16" else test.rtol
        ours, theirs = _wide(ours), _wide(theirs)
        same = np.allclose(ours, theirs, rtol=relative, atol=test.atol, equal_nan=True)
    if not same:
        raise DifferenceError(f"output {index} has other values")


def _wide(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float32) if array.dtype.kind == "V" else array


def gaps() -> dict[str, str]:
    """Test -> the reason that it does not pass."""
    lines = GAPS.read_text().splitlines() if GAPS.exists() else []
    rows = (line.split(maxsplit=1) for line in lines if line and not line.startswith("#"))
    return dict(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    failing: dict[str, str] = {}
    passing: Counter[bool] = Counter()
    for case in cases():
        if case.name.removeprefix("test_").startswith(options.only):
            reason = failure(case)
            passing[case.expanded] += not reason
            if reason:
                failing[case.name] = reason
    known = gaps()
    if options.update:
        head = [line for line in GAPS.read_text().splitlines() if line.startswith("#")]
        rows = [f"{name}  {known.get(name, failing[name])}" for name in sorted(failing)]
        GAPS.write_text("\n".join([*head, *rows, ""]))
    else:
        for name, reason in failing.items():
            print(name, reason, sep="  ")
    print(f"{passing[False]} single-node and {passing[True]} expanded tests pass", file=sys.stderr)


if __name__ == "__main__":
    main()
