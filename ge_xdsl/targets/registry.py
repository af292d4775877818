"""Target name -> its description. A chip's file is imported when it is first named."""

from __future__ import annotations

from importlib import import_module

from ge_xdsl.errors import UsageError, nearest
from ge_xdsl.targets.target import Target

_NAMES = (
    "Ascend910B1",
    "Ascend910B2",
    "Ascend910B3",
    "Ascend910B4",
    "Ascend910_9391",
    "Ascend910_9362",
    "Ascend910A",
    "Ascend310P3",
    "Ascend950PR_958x",
    "Ascend950PR_957x",
    "Ascend950DT_958x",
    "Ascend950DT_957x",
)


def target_names() -> list[str]:
    """The names of all targets; the default one is first."""
    return list(_NAMES)


def target(name: str | Target) -> Target:
    """The description of a chip; raises UsageError for a name that no chip has."""
    if isinstance(name, Target):
        return name
    if name not in _NAMES:
        raise UsageError(f"unknown target '{name}'{_hint(name)}")
    return import_module(f"ge_xdsl.targets.{name.lower()}").TARGET


def _hint(name: str) -> str:
    """The chips that a name is the beginning of, else the nearest, else all."""
    longer = [known for known in _NAMES if known.lower().startswith(name.lower())]
    if 1 < len(longer) < len(_NAMES):
        return f", did you mean {', '.join(longer[:-1])} or {longer[-1]}?"
    return nearest(name, _NAMES) or f", expected one of {', '.join(_NAMES)}"
