"""`ge.es`: building graphs; `ge.es.math`, `ge.es.nn`, `ge.es.all`, ... have a function per op."""

from __future__ import annotations

from types import ModuleType
from typing import cast

from ge_xdsl.compat.ge.es._plugin_loader import load_all_plugins as _load_all_plugins
from ge_xdsl.compat.ge.es.graph_builder import GraphBuilder
from ge_xdsl.compat.ge.es.modules import install as _install
from ge_xdsl.compat.ge.es.registration import register_module
from ge_xdsl.compat.ge.es.tensor_holder import TensorHolder

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

_exported: list[str] = __all__
op_modules: dict[str, ModuleType] = dict(_install())
"""Short name -> op module: the table's, those of plugins and of `register_module`."""
all: ModuleType = op_modules["all"]
cv: ModuleType = op_modules["cv"]
math: ModuleType = op_modules["math"]
nn: ModuleType = op_modules["nn"]
transformer: ModuleType = op_modules["transformer"]


def list_plugins() -> list[str]:
    """The names of the op modules."""
    return list(op_modules)


def get_plugin(plugin_name: str | None) -> ModuleType | None:
    """The op module of that name, None when there is none."""
    return op_modules.get(cast("str", plugin_name))


def _add(name: str, module: ModuleType) -> None:
    """Make an op module of another package known, unless the table has one of its name."""
    if name in op_modules:
        return
    op_modules[name] = module
    globals()[name] = module
    _exported.append(name)


for _name, _module in _load_all_plugins().items():
    _add(_name, _module)
