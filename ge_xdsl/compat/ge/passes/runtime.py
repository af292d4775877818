"""`ge.passes.runtime`: where GE chooses a native library; here there is one module, in Python."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType


def load_native_module() -> ModuleType:
    """The module with the native value classes."""
    return import_module("ge_xdsl.compat.ge.passes._native")
