"""`ge.passes.bootstrap`: loads the pass files that the environment names."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from ge_xdsl.compat.ge.passes.registry import get_registered_pass_dicts
from ge_xdsl.passes.loader import (
    ENV_PY_PASS_PATH,
    PassLoadError,
    PassPathError,
    load,
)

__all__ = ["ENV_PY_PASS_PATH", "get_registered_passes", "load_pass_plugins"]


def load_pass_plugins() -> list[ModuleType]:
    """Load every file that `ASCEND_GE_PY_PASS_PATH` names; [] when it is unset.

    Raises what Python raises: FileNotFoundError and ValueError for a bad path, the original
    exception of a file that raised.
    """
    try:
        return load()
    except (PassPathError, PassLoadError) as error:
        raise error.cause from None


def get_registered_passes() -> list[dict[str, Any]]:
    """Every registered pass as plain values."""
    return get_registered_pass_dicts()
