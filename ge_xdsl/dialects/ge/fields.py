"""How an op class declares its operands, results, attributes and subgraphs.

Each declaration is a typed descriptor: `x1 = operand()` makes `op.x1` an SSA value,
`transpose_x1 = boolean(False)` makes `op.transpose_x1` a bool with the default filled in.
"""

from __future__ import annotations

from collections.abc import Sequence
from keyword import iskeyword
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, cast, overload

from xdsl.ir import Region, SSAValue

from ge_xdsl.dialects.ge.prototype import (
    AttrKind,
    AttrSpec,
    Io,
    IoKind,
    Prototype,
    Subgraph,
    as_stored,
    decode,
)
from ge_xdsl.dialects.ge.types import DataType

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.op import GeOp
    from ge_xdsl.dialects.ge.types import Array

T = TypeVar("T")
V = TypeVar("V")


class _Field:
    """A declared field; Python tells it its name. `else_` declares a field named `else`."""

    def __init__(self, name: str = "") -> None:
        self.name = name

    def __set_name__(self, owner: type, name: str) -> None:
        bare = name.removesuffix("_")
        self.name = self.name or (bare if iskeyword(bare) else name)


class IoField(_Field, Generic[T]):
    """A declared operand or result, read as `op.x1`."""

    def __init__(self, kind: IoKind, is_result: bool, name: str = "", newer: bool = False) -> None:
        super().__init__(name)
        self.newer = newer
        self.kind: IoKind = kind
        self.is_result = is_result

    @overload
    def __get__(self, op: None, owner: type) -> Self: ...
    @overload
    def __get__(self, op: GeOp, owner: type) -> T: ...
    def __get__(self, op: GeOp | None, owner: type) -> Self | T:
        if op is None:
            return self
        values = op.result_slot(self.name) if self.is_result else op.operand_slot(self.name)
        return cast("T", values)


class AttrField(_Field, Generic[V]):
    """A declared attribute, read as `op.transpose_x1`: the stored value or the default."""

    def __init__(self, kind: AttrKind, required: bool, default: V | None) -> None:
        super().__init__()
        self.spec_kind: AttrKind = kind
        self.required = required
        self.default = default
        self.unset: V | None = as_stored(default)

    @overload
    def __get__(self, op: None, owner: type) -> Self: ...
    @overload
    def __get__(self, op: GeOp, owner: type) -> V: ...
    def __get__(self, op: GeOp | None, owner: type) -> Self | V:
        if op is None:
            return self
        stored = op.properties.get(self.name)
        return cast("V", self.unset) if stored is None else decode(stored)


class SubgraphField(_Field):
    """A declared subgraph, read as the region that holds it."""

    @overload
    def __get__(self, op: None, owner: type) -> Self: ...
    @overload
    def __get__(self, op: GeOp, owner: type) -> Region: ...
    def __get__(self, op: GeOp | None, owner: type) -> Self | Region:
        if op is None:
            return self
        names = [graph.name for graph in op.prototype.subgraphs]
        return op.regions[names.index(self.name)]


class SubgraphsField(_Field):
    """A declared list of subgraphs (`Case.branches`), always the last one of its op."""

    @overload
    def __get__(self, op: None, owner: type) -> Self: ...
    @overload
    def __get__(self, op: GeOp, owner: type) -> Sequence[Region]: ...
    def __get__(self, op: GeOp | None, owner: type) -> Self | Sequence[Region]:
        if op is None:
            return self
        return op.regions[len(op.prototype.subgraphs) - 1 :]


class _Required:
    """The default of a field that must be given."""


REQUIRED: Any = _Required()


def operand() -> IoField[SSAValue]:
    """A required operand."""
    return IoField("required", False)


def optional(newer: bool = False) -> IoField[SSAValue | None]:
    """An operand that may be missing; `newer` when only newer forms of the op have it."""
    return IoField("optional", False, newer=newer)


def variadic() -> IoField[Sequence[SSAValue]]:
    """A dynamic input: any number of operands."""
    return IoField("dynamic", False)


def result(name: str = "") -> IoField[SSAValue]:
    """A result; `name` when it is called as an operand is (`new_var = result("var")`)."""
    return IoField("required", True, name)


def variadic_result() -> IoField[Sequence[SSAValue]]:
    """A dynamic output: any number of results."""
    return IoField("dynamic", True)


def _attr(kind: AttrKind, default: V) -> AttrField[V]:
    return AttrField(kind, default is REQUIRED, None if default is REQUIRED else default)


def integer(default: int = REQUIRED) -> AttrField[int]:
    return _attr("Int", default)


def floating(default: float = REQUIRED) -> AttrField[float]:
    return _attr("Float", default)


def boolean(default: bool = REQUIRED) -> AttrField[bool]:
    return _attr("Bool", default)


def string(default: str = REQUIRED) -> AttrField[str]:
    return _attr("String", default)


def data_type(default: DataType = REQUIRED) -> AttrField[DataType]:
    return _attr("Type", default)


def integers(default: Sequence[int] = REQUIRED) -> AttrField[Sequence[int]]:
    return _attr("ListInt", default)


def floats(default: Sequence[float] = REQUIRED) -> AttrField[Sequence[float]]:
    return _attr("ListFloat", default)


def booleans(default: Sequence[bool] = REQUIRED) -> AttrField[Sequence[bool]]:
    return _attr("ListBool", default)


def strings(default: Sequence[str] = REQUIRED) -> AttrField[Sequence[str]]:
    return _attr("ListString", default)


def data_types(default: Sequence[DataType] = REQUIRED) -> AttrField[Sequence[DataType]]:
    return _attr("ListType", default)


def integer_lists(default: Sequence[Sequence[int]] = REQUIRED) -> AttrField[Sequence[Any]]:
    return _attr("ListListInt", default)


def tensor_value() -> AttrField[Array | None]:
    """A tensor attribute such as `Const.value`, read as an array."""
    return AttrField("Tensor", False, None)


def subgraph() -> SubgraphField:
    return SubgraphField()


def subgraphs() -> SubgraphsField:
    return SubgraphsField()


def declared_fields(cls: type) -> dict[str, _Field]:
    """The fields of an op class, base classes first, in declaration order."""
    found: dict[str, _Field] = {}
    for base in reversed(cls.__mro__):
        for name, value in vars(base).items():
            if isinstance(value, _Field):
                found[name] = value
    return found


def prototype_of_fields(cls: type, op_type: str) -> Prototype:
    """The prototype that an op class declares by its fields."""
    fields = declared_fields(cls).values()
    io_fields = cast("list[IoField[Any]]", [f for f in fields if isinstance(f, IoField)])
    attr_fields = cast("list[AttrField[Any]]", [f for f in fields if isinstance(f, AttrField)])
    return Prototype(
        op_type,
        tuple(Io(f.name, f.kind, newer=f.newer) for f in io_fields if not f.is_result),
        tuple(Io(f.name, f.kind) for f in io_fields if f.is_result),
        tuple(AttrSpec(f.name, f.spec_kind, f.required, f.default) for f in attr_fields),
        tuple(
            Subgraph(f.name, "static" if isinstance(f, SubgraphField) else "dynamic")
            for f in fields
            if isinstance(f, SubgraphField | SubgraphsField)
        ),
    )
