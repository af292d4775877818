"""`ge.passes.registry`: the decorators that register pass classes."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from ge_xdsl.compat.ge.passes.base import (
    DecomposePass,
    FusionBasePass,
    PassStage,
    PatternFusionPass,
)
from ge_xdsl.errors import Location
from ge_xdsl.passes import registry as engine

PASS_KIND_FUSION_BASE = "fusion_base"
PASS_KIND_PATTERN_FUSION = "pattern_fusion"
PASS_KIND_DECOMPOSE = "decompose"

_DESCRIPTOR = "__ge_pass_descriptor__"
C = TypeVar("C", bound=type)


@dataclass(frozen=True)
class PassDescriptor:
    """A registered pass class."""

    descriptor_key: str
    pass_name: str
    module_name: str
    class_name: str
    stage: PassStage
    kind: str
    cls: type
    op_types: list[str] = field(default_factory=list[str])

    def to_bridge_dict(self) -> dict[str, Any]:
        """The descriptor as plain values, without the class."""
        return {
            "descriptor_key": self.descriptor_key,
            "pass_name": self.pass_name,
            "module_name": self.module_name,
            "class_name": self.class_name,
            "stage": PassStage(self.stage).value,
            "kind": self.kind,
            "op_types": list(self.op_types),
        }


_lock = threading.RLock()
_descriptors: dict[str, PassDescriptor] = {}


def register_fusion_pass(
    *, name: str, stage: PassStage, kind: str | None = None
) -> Callable[[C], C]:
    """Register a FusionBasePass or PatternFusionPass under a unique name."""

    def decorate(cls: C) -> C:
        if not _is_class(cls, FusionBasePass):
            raise TypeError("register_fusion_pass expects a FusionBasePass subclass")
        is_pattern = issubclass(cls, PatternFusionPass)
        found = kind or (PASS_KIND_PATTERN_FUSION if is_pattern else PASS_KIND_FUSION_BASE)
        _register(cls, name, stage, found, [])
        return cls

    return decorate


def register_decompose_pass(
    *, name: str, stage: PassStage, op_types: Iterable[str]
) -> Callable[[C], C]:
    """Register a DecomposePass for nodes of the given op types."""
    types = _op_types(op_types)

    def decorate(cls: C) -> C:
        if not _is_class(cls, DecomposePass):
            raise TypeError("register_decompose_pass expects a DecomposePass subclass")
        cls.op_types = list(types)  # pyright: ignore[reportAttributeAccessIssue]
        _register(cls, name, stage, PASS_KIND_DECOMPOSE, types)
        return cls

    return decorate


def _is_class(cls: object, base: type) -> bool:
    return isinstance(cls, type) and issubclass(cls, base)


def _op_types(given: object) -> list[str]:
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise TypeError("register_decompose_pass op_types must be an iterable of strings")
    types = list(cast("Iterable[Any]", given))
    if not types:
        raise ValueError("register_decompose_pass requires at least one op type")
    if not all(isinstance(item, str) and item for item in types):
        raise TypeError("register_decompose_pass op_types must contain non-empty strings")
    return types


def _register(cls: type, name: str, stage: PassStage, kind: str, op_types: list[str]) -> None:
    from ge_xdsl.compat.ge.passes.adapters import open_pass

    if not isinstance(cast("object", name), str):
        raise TypeError(f"name of a pass is {name!r}, expected a string")
    if getattr(stage, "value", stage) not in engine.STAGES:
        known = ", ".join(f"PassStage.{item.name}" for item in PassStage)
        raise ValueError(f"stage of pass '{name}' is {stage!r}, expected one of {known}")
    key = f"{cls.__module__}:{cls.__name__}:{name}"
    descriptor = PassDescriptor(
        key, name, cls.__module__, cls.__name__, stage, kind, cls, list(op_types)
    )
    with _lock:
        engine.register(
            engine.UserPass(
                name=name,
                stage=getattr(stage, "value", stage),
                kind=kind,
                open=open_pass(descriptor),
                location=_location(cls),
                key=key,
            )
        )
        _descriptors[key] = descriptor
    setattr(cls, _DESCRIPTOR, descriptor)


def _location(cls: type) -> Location | None:
    """Where a class is defined; None for one that no file holds."""
    try:
        file = inspect.getsourcefile(cls)
        line = inspect.getsourcelines(cls)[1]
    except (OSError, TypeError):
        return None
    return Location(file, line, 1) if file else None


def _live() -> list[PassDescriptor]:
    """The descriptors that the engine still knows, in registration order."""
    keys = [user_pass.key for user_pass in engine.registered()]
    return [_descriptors[key] for key in keys if key in _descriptors]


def clear_registered_passes() -> None:
    """Forget every registered pass; loaded modules stay."""
    with _lock:
        engine.clear()
        _descriptors.clear()


def get_registered_passes() -> list[PassDescriptor]:
    """Every registered pass, in registration order."""
    with _lock:
        return _live()


def get_registered_pass_dicts() -> list[dict[str, Any]]:
    return [descriptor.to_bridge_dict() for descriptor in get_registered_passes()]


def get_registered_pass_by_descriptor_key(key: str) -> PassDescriptor | None:
    return next((d for d in get_registered_passes() if d.descriptor_key == key), None)
