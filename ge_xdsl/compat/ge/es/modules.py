"""The modules `ge.es.math`, `ge.es.nn`, ...: a function for every op, made on first use."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Optional

from ge_xdsl.compat.ge.es.functions import make_function
from ge_xdsl.compat.ge.es.graph_builder import GraphBuilder
from ge_xdsl.compat.ge.es.tensor_holder import TensorHolder
from ge_xdsl.compat.ge.graph.graph import Graph
from ge_xdsl.compat.ge.graph.tensor import Tensor
from ge_xdsl.compat.ge.graph.types import DataType, Format
from ge_xdsl.dialects.ge.prototype import Prototype
from ge_xdsl.dialects.ge.prototypes import known_ops, prototype_of
from ge_xdsl.dialects.ge.registry import op_class, typed_ops

TABLE_MODULES = ("math", "nn", "cv", "transformer", "all")
"""The modules of the prototype table; `all` has every op."""

ALSO_IN = {"math": frozenset({"GEMM", "MatMul", "BatchMatMulV2"})}
"""Ops that passes import from a module that the table does not put them in."""

_HAND_MADE = "Data RefData AippData AnyData AnnData NetOutput Variable"
_OLD_CONTROL_FLOW = (
    "Switch StreamSwitch Merge StreamMerge Enter RefEnter Exit RefExit LoopCond NextIteration "
    "RefNextIteration RefSwitch RefMerge"
)
_BOOKKEEPING = "control_edge unconnected yield"
NO_FUNCTION = frozenset(f"{_HAND_MADE} {_OLD_CONTROL_FLOW} {_BOOKKEEPING}".split())
"""Op types that a builder makes in its own ways, or that only old control flow uses."""

PACKAGE = "ge_xdsl.compat.ge.es"


_SHARED = {
    "DataType": DataType,
    "Format": Format,
    "Graph": Graph,
    "GraphBuilder": GraphBuilder,
    "List": list,
    "Optional": Optional,
    "Tensor": Tensor,
    "TensorHolder": TensorHolder,
}
"""What an op module of GE has besides its ops; passes import these names from there too."""


class OpModule(ModuleType):
    """A module whose functions are made from prototypes when they are first named."""

    def __init__(self, name: str, own: Mapping[str, Prototype] | None = None) -> None:
        """`own`: the ops of a module that is not the table's."""
        full = f"{PACKAGE}.{name}"
        super().__init__(full, f"GE op functions: `ge.es.{name}`.")
        self.__spec__ = ModuleSpec(full, None)
        self.__package__ = PACKAGE
        self._short = name
        self._own = own
        vars(self).update(_SHARED)

    def get_module(self) -> ModuleType:
        """The module itself: what the entry point of an op package gives."""
        return self

    def _prototype(self, op_type: str) -> Prototype | None:
        """The prototype of an op that this module has a function for."""
        if self._own is not None:
            return self._own.get(op_type)
        if op_type in NO_FUNCTION:
            return None
        proto = prototype_of(op_type)
        if proto is None and self._short == "all" and op_type in typed_ops():
            cls = op_class(op_type)
            proto = cls.prototype if cls is not None else None
        if proto is None or any(s.kind == "Tensor" and s.default for s in proto.attrs):
            return None
        here = self._short in ("all", proto.module)
        return proto if here or op_type in ALSO_IN.get(self._short, ()) else None

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            return [*self._names(), *_SHARED]
        op_type = name
        if self._prototype(op_type) is None:
            op_type = name.removesuffix("Output")
            if op_type == name or self._prototype(op_type) is None:
                raise AttributeError(f"module 'ge.es.{self._short}' has no attribute '{name}'")
        cls = op_class(op_type)
        assert cls is not None
        function, outputs = make_function(cls)
        function.__module__ = f"ge.es.{self._short}"
        vars(self)[op_type] = function
        if outputs is not None:
            vars(self)[f"{op_type}Output"] = outputs
        if name not in vars(self):
            raise AttributeError(f"module 'ge.es.{self._short}' has no attribute '{name}'")
        return vars(self)[name]

    def op_names(self) -> list[str]:
        """The ops that the module has a function for, sorted."""
        return list(self._names())

    def _names(self) -> Iterator[str]:
        known = self._own or dict.fromkeys((*known_ops(), *typed_ops()))
        return (op_type for op_type in sorted(known) if self._prototype(op_type) is not None)

    def __dir__(self) -> list[str]:
        return sorted({*vars(self), *self._names()})


def install() -> dict[str, OpModule]:
    """Make the table's modules importable; short name -> module."""
    made = {name: OpModule(name) for name in TABLE_MODULES}
    for module in made.values():
        sys.modules[module.__name__] = module
    return made
