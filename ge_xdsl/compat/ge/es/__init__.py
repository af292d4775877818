"""`ge.es`: building graphs; `ge.es.math`, `ge.es.nn`, `ge.es.all`, ... have a function per op."""

from __future__ import annotations

from types import ModuleType

from ge_xdsl.compat.ge.es.custom import register_module
from ge_xdsl.compat.ge.es.graph_builder import GraphBuilder
from ge_xdsl.compat.ge.es.modules import install as _install
from ge_xdsl.compat.ge.es.tensor_holder import TensorHolder

op_modules = _install()
"""Short name -> op module: the table's, and those of `register_module`."""
all: ModuleType = op_modules["all"]
cv: ModuleType = op_modules["cv"]
math: ModuleType = op_modules["math"]
nn: ModuleType = op_modules["nn"]
transformer: ModuleType = op_modules["transformer"]


def list_plugins() -> list[str]:
    """The names of the op modules."""
    return list(op_modules)


def get_plugin(plugin_name: str) -> ModuleType | None:
    """The op module of that name, None when there is none."""
    return op_modules.get(plugin_name)


__all__ = [
    "GraphBuilder",
    "TensorHolder",
    "all",
    "cv",
    "get_plugin",
    "list_plugins",
    "math",
    "nn",
    "register_module",
    "transformer",
]
