"""GE op -> the function that writes it in ONNX, by family file; families are imported on use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from typing import Any, TypeAlias

from ge_xdsl.exporters.onnx.graph import Graph

Converter: TypeAlias = Callable[[Any, Graph], "str | Sequence[str | None]"]
"""Appends the nodes of an op and gives the names of its results; raises NoFormError."""

FAMILIES = ("elementwise", "activation", "matmul", "conv", "pool", "norm", "reduce", "rnn",
            "shape", "slice", "index")  # fmt: skip


@cache
def converters() -> dict[str, Converter]:
    """The converter of each GE op that has a form in standard ONNX ops."""
    found: dict[str, Converter] = {}
    for family in FAMILIES:
        found |= import_module(f"ge_xdsl.exporters.onnx.{family}").TABLE
    return found
