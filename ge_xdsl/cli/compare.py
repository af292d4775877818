"""Comparing outputs with a reference, and getting one from onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ge_xdsl.errors import CompileError, Location, UsageError

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

TOLERANCE = 1e-3
"""Largest difference that is accepted, as a part of the reference's largest magnitude."""


def compare(
    outputs: Mapping[str, Array], reference: Mapping[str, Array], what: str
) -> tuple[list[str], bool]:
    """A line per output, matched by position, and whether one differs too much."""
    if len(outputs) != len(reference):
        raise CompileError(f"{len(outputs)} outputs, expected {len(reference)} as {what} gives")
    lines: list[str] = []
    failed = False
    for (name, got), want in zip(outputs.items(), reference.values(), strict=True):
        text, is_close = difference(got, want)
        failed = failed or not is_close
        lines.append(f"compare '{name}' with {what}: {text}: {'ok' if is_close else 'FAIL'}")
    return lines, failed


def difference(got: Array, want: Array) -> tuple[str, bool]:
    """Max |got - want| and its part of max |want|; NaNs and infinities must stand alike."""
    import numpy as np

    from ge_xdsl.dialects.ge.shapes import shape_text

    if got.shape != want.shape:
        return f"shape is {shape_text(got.shape)}, expected {shape_text(want.shape)}", False
    if got.dtype != want.dtype and "O" not in (got.dtype.kind, want.dtype.kind):
        return f"element type is {got.dtype.name}, expected {want.dtype.name}", False
    if got.dtype.kind == "O" or want.dtype.kind == "O":
        same = got.tolist() == want.tolist()
        return "strings are equal" if same else "strings differ", same
    wide = np.complex128 if want.dtype.kind == "c" else np.float64
    a, b = got.astype(wide), want.astype(wide)
    finite = np.isfinite(b)
    odd = (~finite | ~np.isfinite(a)) & ~((a == b) | (np.isnan(a) & np.isnan(b)))
    if odd.any():
        return f"{int(odd.sum())} values are infinite or NaN on one side only", False
    both = finite & np.isfinite(a)
    if b.size and not both.any():
        return f"all {b.size} values are infinite or NaN on both sides, expected finite ones", False
    worst = float(np.abs(a[both] - b[both]).max()) if both.any() else 0.0
    scale = float(np.abs(b[both]).max()) if both.any() else 0.0
    relative = worst / scale if scale else (0.0 if worst == 0 else float("inf"))
    text = f"max |diff| {worst:.3g}, {relative:.3g} of max |ref| {scale:.3g}"
    if not both.all():
        text += f", {int((~both).sum())} of {b.size} values are infinite or NaN on both sides"
    return text, relative <= TOLERANCE


def run_onnxruntime(path: str, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """The outputs of an .onnx file by name, as onnxruntime computes them on the CPU."""
    try:
        ort: Any = import_module("onnxruntime")
    except ImportError:
        raise UsageError("onnxruntime is not installed, expected it for --compare") from None
    options = ort.SessionOptions()
    options.log_severity_level = 4
    try:
        session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        names: list[str] = [output.name for output in session.get_outputs()]
        return dict(zip(names, session.run(names, dict(inputs)), strict=True))
    except Exception as error:  # onnxruntime's exceptions share no base class
        text = str(error).split("\n")[0]
        raise CompileError(f"onnxruntime cannot run it, {text}", location=Location(path)) from None
