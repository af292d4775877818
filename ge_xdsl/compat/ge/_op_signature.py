"""The prototype of an op from an annotated function, and the op class that infers by it."""

# The API names its own internals with underscores; this package shares them.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.compat.ge.graph.tensor import Tensor
from ge_xdsl.compat.ge.graph.tensor_desc import TensorDesc
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.prototype import AttrKind, AttrSpec, Io, IoKind, Prototype, encode
from ge_xdsl.dialects.ge.types import DataType
from ge_xdsl.dialects.ge.types import Tensor as TensorValue

_ATTRS: dict[Any, AttrKind] = {
    int: "Int",
    float: "Float",
    bool: "Bool",
    str: "String",
    DataType: "Type",
    list[int]: "ListInt",
    list[float]: "ListFloat",
    list[bool]: "ListBool",
    list[str]: "ListString",
    list[DataType]: "ListType",
    list[list[int]]: "ListListInt",
}
"""Annotation of an attribute -> its kind."""


def prototype_of_function(
    op_type: str, function: Callable[..., Any], mutated: Sequence[str] = ()
) -> Prototype:
    """The prototype that a function's parameters describe; raises TypeError or ValueError."""
    hints = typing.get_type_hints(function)
    inputs: list[Io] = []
    attrs: list[AttrSpec] = []
    for parameter in inspect.signature(function).parameters.values():
        hint = hints.get(parameter.name)
        if parameter.kind is parameter.KEYWORD_ONLY:
            attrs.append(_attr(op_type, parameter, hint))
        elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            inputs.append(Io(parameter.name, _io_kind(op_type, parameter.name, hint)))
        else:
            raise TypeError(
                f"{op_type}: parameter '{parameter.name}' takes any number, expected one"
            )
    unknown = next((name for name in mutated if name not in {io.name for io in inputs}), None)
    if unknown is not None:
        raise ValueError(f"{op_type}: mutates_args names '{unknown}', expected an input")
    return Prototype(
        op_type, tuple(inputs), tuple(_outputs(op_type, hints.get("return"))), tuple(attrs)
    )


def _is_tensor(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, Tensor | TensorDesc)


def _io_kind(op_type: str, name: str, hint: Any) -> IoKind:
    if _is_tensor(hint):
        return "required"
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin is list and _is_tensor(parts[0]):
        return "dynamic"
    is_union = origin in (typing.Union, types.UnionType) and type(None) in parts
    if is_union and any(_is_tensor(part) for part in parts):
        return "optional"
    raise TypeError(
        f"{op_type}: input '{name}' is annotated {hint}, expected Tensor, Tensor | None or "
        "list[Tensor]"
    )


def _attr(op_type: str, parameter: inspect.Parameter, hint: Any) -> AttrSpec:
    kind = _ATTRS.get(_plain(hint))
    if kind is None:
        raise TypeError(
            f"{op_type}: attribute '{parameter.name}' is annotated {hint}, expected int, float, "
            "bool, str, DataType or a list of them"
        )
    if parameter.default is parameter.empty:
        return AttrSpec(parameter.name, kind, required=True)
    try:
        encode(kind, parameter.default)
    except ValueError as error:
        raise TypeError(f"{op_type}: attribute '{parameter.name}' {error}") from None
    default: Any = parameter.default
    return AttrSpec(parameter.name, kind, default=tuple(default) if _is_list(default) else default)


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _plain(hint: Any) -> Any:
    """An annotation with `typing.List` written as `list`."""
    if typing.get_origin(hint) is list:
        return list[_plain(typing.get_args(hint)[0])]
    return hint


def _outputs(op_type: str, hint: Any) -> Iterator[Io]:
    if hint is None or hint is type(None):
        return
    if _is_tensor(hint):
        yield Io("y")
        return
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin is list and _is_tensor(parts[0]):
        yield Io("y", "dynamic")
        return
    if origin is not tuple or not all(_is_tensor(part) for part in parts):
        raise TypeError(
            f"{op_type}: returns {hint}, expected Tensor, list[Tensor], a tuple of them or None"
        )
    yield from (Io(f"y{i}") for i in range(len(parts)))


def shape_class(proto: Prototype, function: Callable[..., Any]) -> type[GeOp]:
    """An op class whose `infer` calls the function with descriptions."""

    def infer(self: GeOp, *operands: Any, **_: Any) -> Any:
        attrs = {spec.name: self.get_attr(spec.name) for spec in proto.attrs}
        try:
            found = function(*map(_described, operands), **attrs)
        except Exception as error:  # the function is the user's: what it raises is its refusal
            raise VerifyException(
                f"shape function raised {type(error).__name__}: {error}"
            ) from error
        if not proto.outputs:
            return []
        return _tensors(found)

    members = {"name": f"ge.{proto.op_type}", "prototype": proto, "infer": infer}
    return type(f"{proto.op_type}Op", (GeOp,), members)


def _described(operand: Any) -> Any:
    if isinstance(operand, TensorValue):
        return TensorDesc._create_from(operand)
    return [_described(item) for item in operand] if operand is not None else None


def _tensors(found: Any) -> Any:
    if isinstance(found, TensorDesc):
        return found._tensor()
    if isinstance(found, list | tuple):
        return [_tensors(item) for item in found]  # pyright: ignore[reportUnknownVariableType]
    raise VerifyException(f"shape function returned {type(found).__name__}, expected TensorDesc")
