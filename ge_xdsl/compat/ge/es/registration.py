"""`register_module`: op modules of a user's own, from prototypes given as data."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any, cast

from ge_xdsl.compat.ge.es.modules import NO_FUNCTION, OpModule
from ge_xdsl.dialects.ge.prototype import KIND_WORDS, AttrKind, AttrSpec, Io, IoKind, Prototype
from ge_xdsl.dialects.ge.prototype import Subgraph as SubgraphSpec
from ge_xdsl.dialects.ge.registry import class_of_prototype, op_class, register
from ge_xdsl.dialects.ge.types import DataType

_IO_KINDS = ("required", "optional", "dynamic")


def register_module(name: str, prototypes: Iterable[Mapping[str, Any]]) -> OpModule:
    """Make `ge.es.<name>` and `es_<name>` with a function per prototype.

    A prototype is a mapping with `op`, `inputs` and `outputs` (lists of name, kind, dtypes),
    `attrs` (lists of name, type, required, default) and `subgraphs`. An op type that is known
    already keeps its class. Raises ValueError for a record that says something else.
    """
    if not name.isidentifier():
        raise ValueError(f"module name is '{name}', expected an identifier")
    found = [prototype_of_record(record) for record in prototypes]
    for proto in found:
        if op_class(proto.op_type) is None:
            register(class_of_prototype(proto))
    return install(name, {p.op_type: p for p in found if p.op_type not in NO_FUNCTION})


def install(name: str, own: Mapping[str, Prototype]) -> OpModule:
    """Make and install the op module with these ops; it takes the place of one of its name."""
    import ge_xdsl.compat.ge.es as package

    module = OpModule(name, own)
    setattr(package, name, module)
    if name not in package.__all__:
        package.__all__.append(name)
    sys.modules[module.__name__] = module
    if "ge.es" in sys.modules:
        sys.modules[f"ge.es.{name}"] = module
    sys.modules[f"es_{name}"] = module
    package.op_modules[name] = module
    return module


def prototype_of_record(record: Mapping[str, Any]) -> Prototype:
    """A prototype from its record; raises ValueError for a malformed one."""
    op_type = record.get("op")
    if not isinstance(op_type, str) or not op_type.isidentifier():
        raise ValueError(f"op type is {op_type!r}, expected an identifier")
    return Prototype(
        op_type,
        tuple(_io(op_type, part) for part in record.get("inputs", ())),
        tuple(_io(op_type, part) for part in record.get("outputs", ())),
        tuple(_attr(op_type, part) for part in record.get("attrs", ())),
        tuple(_subgraph(op_type, part) for part in record.get("subgraphs", ())),
    )


def _io(op_type: str, part: Mapping[str, Any]) -> Io:
    kind = _one_of(op_type, part, "kind", _IO_KINDS, "required")
    names = part.get("dtypes", ())
    unknown = next((n for n in names if n not in DataType.__members__), None)
    if unknown is not None:
        raise ValueError(f"{op_type}: data type is {unknown!r}, expected DT_...")
    return Io(_name(op_type, part), cast("IoKind", kind), tuple(DataType[n] for n in names))


def _attr(op_type: str, part: Mapping[str, Any]) -> AttrSpec:
    kind = cast("AttrKind", _one_of(op_type, part, "type", tuple(KIND_WORDS), "Int"))
    required = bool(part.get("required", False))
    default = part.get("default")
    if kind == "Tensor" or required:
        default = None
    elif kind == "Type" and isinstance(default, str):
        default = DataType[default]
    elif kind.startswith("List") and isinstance(default, list):
        items = cast("list[Any]", default)
        default = tuple(tuple(i) if kind == "ListListInt" else i for i in items)
    return AttrSpec(_name(op_type, part), kind, required, default)


def _subgraph(op_type: str, part: Mapping[str, Any]) -> SubgraphSpec:
    kind = _one_of(op_type, part, "kind", ("static", "dynamic"), "static")
    return SubgraphSpec(_name(op_type, part), "static" if kind == "static" else "dynamic")


def _name(op_type: str, part: Mapping[str, Any]) -> str:
    name = part.get("name")
    if not isinstance(name, str) or not name.isidentifier():
        raise ValueError(f"{op_type}: name is {name!r}, expected an identifier")
    return name


def _one_of(
    op_type: str, part: Mapping[str, Any], key: str, known: tuple[str, ...], default: str
) -> str:
    value = part.get(key, default)
    if value not in known:
        raise ValueError(f"{op_type}: {key} is {value!r}, expected one of {', '.join(known)}")
    return value
