"""Op type -> op class. Families are imported when one of their ops is first named.

Ops without a typed class get theirs from the prototype table on first use.
"""

from __future__ import annotations

from importlib import import_module

from xdsl.ir import Attribute

from ge_xdsl.dialects.ge.families import FAMILIES
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.prototype import Prototype
from ge_xdsl.dialects.ge.types import DataTypeAttr, ElementType, LayoutAttr
from ge_xdsl.dialects.ge.weights import WeightAttr
from ge_xdsl.errors import nearest

ATTRIBUTES: tuple[type[Attribute], ...] = (ElementType, DataTypeAttr, LayoutAttr, WeightAttr)

_FAMILY_OF: dict[str, str] = {op: family for family, ops in FAMILIES.items() for op in ops.split()}
_CLASSES: dict[str, type[GeOp]] = {}


def op_class(op_type: str) -> type[GeOp] | None:
    """The class of a GE op type, None for a type that GE does not have.

    A type with a dot stands for an op of a foreign domain, of which nothing is known.
    """
    found = _CLASSES.get(op_type)
    if found is not None:
        return found
    family = _FAMILY_OF.get(op_type)
    if family is not None:
        _load_family(family)
        return _CLASSES[op_type]
    from ge_xdsl.dialects.ge.prototypes import prototype_of

    proto = prototype_of(op_type)
    if proto is not None:
        return register(class_of_prototype(proto))
    if "." in op_type:
        from ge_xdsl.dialects.ge.opaque import opaque_class

        return register(opaque_class(op_type))
    return None


def register(cls: type[GeOp]) -> type[GeOp]:
    """Make an op class known by its type (also for ops that users define)."""
    _CLASSES[cls.prototype.op_type] = cls
    return cls


def class_of_prototype(proto: Prototype) -> type[GeOp]:
    """A class for an op that is known only by its prototype: no `infer`, no `evaluate`."""
    return type(f"{proto.op_type}Op", (GeOp,), {"name": f"ge.{proto.op_type}", "prototype": proto})


def family_of(op_type: str) -> str | None:
    """The family file that defines an op type, None for one known by prototype only."""
    return _FAMILY_OF.get(op_type)


def typed_ops() -> list[str]:
    """The op types with a typed class, in the order of `FAMILIES`."""
    return list(_FAMILY_OF)


def load_all() -> list[type[GeOp]]:
    """Every typed class (imports all families)."""
    for family in FAMILIES:
        _load_family(family)
    return [_CLASSES[op] for op in _FAMILY_OF]


def _load_family(family: str) -> None:
    module = import_module(f"ge_xdsl.dialects.ge.{family}")
    for value in vars(module).values():
        if isinstance(value, type) and issubclass(value, GeOp) and "name" in value.__dict__:
            _CLASSES.setdefault(value.prototype.op_type, value)


def unknown_op(name: str, prefix: str = "") -> tuple[str, str]:
    """Subject and message of the error for an op that no dialect has.

    `prefix` comes before the type that was probably meant.
    """
    from ge_xdsl.dialects.ge.prototypes import known_ops

    op_type = name.removeprefix("ge.")
    known = [f"{prefix}{op}" for op in (*_FAMILY_OF, *known_ops())]
    hint = nearest(f"{prefix}{op_type}", known)
    return name, f"is no known op, expected a GE op type{hint}"
