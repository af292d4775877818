"""`ge.es`: building graphs; `ge.es.math`, `ge.es.nn`, `ge.es.all`, ... have a function per op."""

from __future__ import annotations

from types import ModuleType

from ge_xdsl.compat.ge.es.graph_builder import GraphBuilder
from ge_xdsl.compat.ge.es.modules import install as _install
from ge_xdsl.compat.ge.es.tensor_holder import TensorHolder

_modules = _install()
all: ModuleType = _modules["all"]
cv: ModuleType = _modules["cv"]
math: ModuleType = _modules["math"]
nn: ModuleType = _modules["nn"]
transformer: ModuleType = _modules["transformer"]


def list_plugins() -> list[str]:
    """The names of the op modules."""
    return list(_modules)


def get_plugin(plugin_name: str) -> ModuleType | None:
    """The op module of that name, None when there is none."""
    return _modules.get(plugin_name)


__all__ = [
    "GraphBuilder",
    "TensorHolder",
    "all",
    "cv",
    "get_plugin",
    "list_plugins",
    "math",
    "nn",
    "transformer",
]
