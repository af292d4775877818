"""`ge.custom_op`: ops of a user's own, from an annotated function, and their implementations.

`register_op` makes the op known: it parses, matches, has its function in `ge.es.custom`, and its
shapes are inferred by the decorated function. Implementations are kept and listed; running one
needs a device.
"""

# The API names its own internals with underscores; this package shares them.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import ModuleType
from typing import Any, NoReturn, TypeVar, cast

from ge_xdsl.compat.ge._engine import needs_device
from ge_xdsl.compat.ge._op_signature import prototype_of_function, shape_class
from ge_xdsl.dialects.ge.registry import op_class, register
from ge_xdsl.passes.loader import PassLoadError, PassPathError, env_entries, load_entry

__all__ = [
    "AnnotatedArgsContext",
    "AnnotatedKernelArgs",
    "AnnotatedKernelLaunchInfo",
    "BaseCustomOp",
    "EagerExecuteOp",
    "EagerOpExecutionContext",
    "WorkspaceAddr",
    "clear_registered_op_impls",
    "get_declare_launch_args_ctx",
    "get_execute_ctx",
    "get_registered_op_impl_by_descriptor_key",
    "get_registered_op_impl_dicts",
    "get_registered_op_impls",
    "load_custom_op_plugins",
    "register_op",
    "register_op_impl",
]

ENV_CUSTOM_OPP_PATH = "ASCEND_CUSTOM_OPP_PATH"
MODULE = "custom"
"""The op module that gets the functions: `ge.es.custom`."""

C = TypeVar("C", bound=type)
F = TypeVar("F", bound=Callable[..., Any])

_KINDS = {"execute": "eager_execute", "declare_launch_args": "annotated_args"}
"""Method of an implementation -> the kind that it makes it."""


class BaseCustomOp:
    """Base of implementations."""


class EagerExecuteOp(BaseCustomOp):
    """An implementation whose `execute` launches kernels itself."""

    def execute(self, *args: Any) -> Any:
        """Run the op; a subclass gives it."""
        raise NotImplementedError("EagerExecuteOp.execute must be implemented")


class _OfDevice:
    """A class of which only a running device makes objects."""

    def __init__(self, *_: Any, **__: Any) -> None:
        needs_device(type(self).__name__)


class EagerOpExecutionContext(_OfDevice):
    """What `execute` may ask of the runtime."""


class AnnotatedArgsContext(_OfDevice):
    """What `declare_launch_args` may ask of the runtime."""


class AnnotatedKernelArgs(_OfDevice):
    """The arguments of a kernel launch."""


class AnnotatedKernelLaunchInfo(_OfDevice):
    """How a kernel is launched."""


class WorkspaceAddr(_OfDevice):
    """Device memory of a launch."""


def get_execute_ctx() -> NoReturn:
    """Raises GeError: there is a context only while a device runs an op."""
    needs_device("get_execute_ctx")


def get_declare_launch_args_ctx() -> NoReturn:
    """Raises GeError: there is a context only while a device runs an op."""
    needs_device("get_declare_launch_args_ctx")


# Implementations


@dataclass(frozen=True)
class OpImplDescriptor:
    """A registered implementation."""

    descriptor_key: str
    op_type: str
    module_name: str
    class_name: str
    kinds: tuple[str, ...]
    cls: type

    def to_bridge_dict(self) -> dict[str, Any]:
        """The descriptor as plain values, without the class."""
        return {
            "descriptor_key": self.descriptor_key,
            "op_type": self.op_type,
            "module_name": self.module_name,
            "class_name": self.class_name,
            "kinds": list(self.kinds),
        }


_lock = threading.RLock()
_impls: dict[str, OpImplDescriptor] = {}


def register_op_impl(*, op_type: str) -> Callable[[C], C]:
    """Register a class with `execute` or `declare_launch_args` as the implementation of an op."""
    _check_op_type(op_type, "register_op_impl")

    def decorate(cls: C) -> C:
        if not isinstance(cast("object", cls), type):
            raise TypeError("register_op_impl expects a class")
        kinds = tuple(kind for name, kind in _KINDS.items() if callable(getattr(cls, name, None)))
        if not kinds:
            raise TypeError(
                f"{cls.__name__} has neither execute nor declare_launch_args, expected one"
            )
        key = f"{cls.__module__}:{cls.__name__}:{op_type}"
        with _lock:
            if any(known.op_type == op_type for known in _impls.values()):
                raise ValueError(f"python op impl of {op_type} already exists, expected one")
            _impls[key] = OpImplDescriptor(key, op_type, cls.__module__, cls.__name__, kinds, cls)
        return cls

    return decorate


def get_registered_op_impls() -> list[OpImplDescriptor]:
    """Every registered implementation, in registration order."""
    with _lock:
        return list(_impls.values())


def get_registered_op_impl_dicts() -> list[dict[str, Any]]:
    """Every registered implementation as plain values."""
    return [descriptor.to_bridge_dict() for descriptor in get_registered_op_impls()]


def get_registered_op_impl_by_descriptor_key(key: str) -> OpImplDescriptor | None:
    """The implementation with that key, None without one."""
    with _lock:
        return _impls.get(key)


def clear_registered_op_impls() -> None:
    """Forget every implementation."""
    with _lock:
        _impls.clear()


# Prototypes


def register_op(*, op_type: str, mutates_args: Iterable[str] = ()) -> Callable[[F], F]:
    """Register the op that an annotated function describes; the function is its shape rule.

    Parameters by position are the inputs (`Tensor`, `Tensor | None`, `list[Tensor]`), those by
    keyword the attributes, with their defaults; the return annotation says the outputs. The
    function is called with `TensorDesc`s and returns those of the outputs. `mutates_args` names the
    inputs that the op writes: any op of a user's own counts as one that may write memory, so it is
    neither merged nor removed, with or without it.
    """
    _check_op_type(op_type, "register_op")
    mutated = tuple(mutates_args)

    def decorate(function: F) -> F:
        proto = prototype_of_function(op_type, function, mutated)
        known = op_class(op_type)
        if known is not None and known.prototype != proto:
            raise ValueError(f"op {op_type} already exists, expected a new op type")
        cls = register(shape_class(proto, function))
        _add_function(op_type, cls)
        return function

    return decorate


def _add_function(op_type: str, cls: Any) -> None:
    """Give `ge.es.custom` the function of an op, besides those that it has."""
    from ge_xdsl.compat.ge.es import get_plugin
    from ge_xdsl.compat.ge.es.modules import OpModule
    from ge_xdsl.compat.ge.es.registration import install

    module = get_plugin(MODULE)
    own = dict(module._own or {}) if isinstance(module, OpModule) else {}
    install(MODULE, {**own, op_type: cls.prototype})


def _check_op_type(op_type: object, name: str) -> None:
    if not isinstance(op_type, str) or not op_type.isidentifier():
        raise TypeError(f"{name} op_type must be a non-empty string that names an op type")


def load_custom_op_plugins() -> list[ModuleType]:
    """Load every file that `ASCEND_CUSTOM_OPP_PATH` names, by the rules of pass files."""
    found: dict[str, ModuleType] = {}
    try:
        for entry in env_entries(ENV_CUSTOM_OPP_PATH):
            for module in load_entry(entry):
                found.setdefault(module.__name__, module)
    except (PassPathError, PassLoadError) as error:
        raise error.cause from None
    return list(found.values())
