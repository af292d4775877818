"""A node as the GE op of a given type: inputs by position, attributes by kind, types inferred.

Ops of the domain `ai.ge`, ops that GE's ONNX parser takes as they are, and conversions that users
register end here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from xdsl.ir import Attribute, Region, SSAValue

from ge_xdsl.dialects.ge.op import GeOp, extra_key
from ge_xdsl.dialects.ge.prototype import AttrKind, AttrSpec, Io, decode, encode, has_kind
from ge_xdsl.dialects.ge.types import Tensor, tensor_of
from ge_xdsl.dialects.ge.weights import const_attr
from ge_xdsl.errors import CompileError
from ge_xdsl.importers.onnx.builder import BUILD_ERRORS, UNKNOWN, Builder
from ge_xdsl.importers.onnx.node import Node
from ge_xdsl.importers.onnx.order import check_text
from ge_xdsl.importers.onnx.tensors import declared_tensor

_READERS: dict[AttrKind, str] = {
    "Int": "i",
    "Bool": "i",
    "Type": "i",
    "Float": "f",
    "String": "s",
    "ListInt": "ints",
    "ListBool": "ints",
    "ListType": "ints",
    "ListFloat": "floats",
    "ListString": "strings",
    "Tensor": "t",
}
"""Kind of a GE attribute -> the field of an ONNX attribute that holds it."""


def native(
    node: Node,
    g: Builder,
    cls: type[GeOp],
    attrs: Mapping[str, Any],
    *,
    inputs: Sequence[SSAValue | None] | None = None,
    counts: Sequence[int] | None = None,
    regions: Sequence[Region] = (),
) -> Sequence[SSAValue]:
    """The results of an op of class `cls` on a node's inputs.

    `counts` tells how many inputs each declared one has. What inference leaves unknown is as the
    model declares it. Raises CompileError at the node.
    """
    proto = cls.prototype
    values = node.inputs if inputs is None else list(inputs)
    counts = spread(proto.inputs, len(values)) if counts is None else counts
    if sum(counts) < len(values):
        node.fail(f"has {len(values)} inputs, expected at most {sum(counts)} for {cls.name}")
    per_output = spread(proto.outputs, len(node.outputs))
    dynamic = [n for n, io in zip(per_output, proto.outputs, strict=True) if io.kind == "dynamic"]
    known = _known(node, cls, attrs)
    try:
        op = cls.build(
            *_arranged(proto.inputs, counts, values),
            result_types=[declared(node, k).type for k in range(sum(per_output))],
            result_counts=dynamic,
            regions=regions,
            node_name=node.name,
            **known,
        )
        op.attributes.update({extra_key(k): v for k, v in attrs.items() if k not in known})
        op.update_types()
    except BUILD_ERRORS as error:
        text = str(error).strip().split("\n")[0] or type(error).__name__
        raise g.error(text.removeprefix(f"{cls.name}: ")) from error
    op.source = g.location
    g.block.add_op(op)
    return op.results


def _known(node: Node, cls: type[GeOp], attrs: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes that the prototype declares, in its kinds."""
    declared = cls.prototype.attr_by_name
    return {
        key: _of_kind(node, key, value, declared[key].kind)
        for key, value in attrs.items()
        if key in declared
    }


def _of_kind(node: Node, name: str, value: Any, kind: AttrKind) -> Any:
    """An attribute in the kind that the prototype declares; raises CompileError for another."""
    if not isinstance(value, Attribute) or has_kind(value, kind):
        return value
    try:
        return encode(kind, decode(value))
    except ValueError as error:
        node.fail(f"attribute '{name}' {error}")


def _arranged(
    ios: Sequence[Io], counts: Sequence[int], values: Sequence[SSAValue | None]
) -> list[Any]:
    """One entry for each declared input: a value, None, or a list."""
    arranged: list[Any] = []
    start = 0
    for io, count in zip(ios, counts, strict=True):
        part = values[start : start + count]
        start += count
        if io.kind == "dynamic":
            arranged.append([value for value in part if value is not None])
        else:
            arranged.append(part[0] if part else None)
    return arranged


def spread(ios: Sequence[Io], total: int) -> list[int]:
    """How many of `total` values each declared input or output gets: one, or the rest."""
    left = max(total - sum(io.kind != "dynamic" for io in ios), 0)
    counts: list[int] = []
    for io in ios:
        counts.append(left if io.kind == "dynamic" else 1)
        if io.kind == "dynamic":
            left = 0
    return counts


def declared(node: Node, output: int) -> Tensor:
    """The type that the model declares for an output, an unknown one without a declaration."""
    name = node.outputs[output] if output < len(node.outputs) else ""
    info = node.scope.declared.get(name) if name else None
    try:
        found = None if info is None else declared_tensor(info)
    except ValueError:  # no tensor
        found = None
    return UNKNOWN if found is None else found


def declared_attributes(
    node: Node, g: Builder, cls: type[GeOp], renamed: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The node's attributes as those that the prototype of `cls` declares.

    `renamed` maps names of the node's to names of GE's. Raises CompileError for others.
    """
    found: dict[str, Any] = {}
    for name in list(node.attrs):
        target = (renamed or {}).get(name, name)
        spec = cls.prototype.attr_by_name.get(target)
        if spec is not None:
            found[target] = _declared_value(node, g, name, spec)
    return found


def _declared_value(node: Node, g: Builder, name: str, spec: AttrSpec) -> Any:
    kind = spec.kind
    if kind == "ListListInt":
        try:
            return encode(kind, json.loads(node.string(name, "[]")))
        except (ValueError, RecursionError):
            node.fail(f"attribute '{name}' is no list of lists of integers, expected one")
    value = node.value(name, _READERS[kind])
    if kind == "Tensor":
        return const_attr(_array(node, g, name, value), f"{node.name}.{name}")
    try:
        return encode(kind, _plain(kind, value))
    except ValueError as error:
        node.fail(f"attribute '{name}' {error}")


def _plain(kind: AttrKind, value: Any) -> Any:
    if kind == "String":
        return value.decode("utf-8")
    if kind == "ListString":
        return [item.decode("utf-8") for item in value]
    if kind.startswith("List"):
        return [bool(item) for item in value] if kind == "ListBool" else list(value)
    return bool(value) if kind == "Bool" else value


def _array(node: Node, g: Builder, name: str, value: Any) -> Any:
    try:
        return g.reader.array(value)
    except ValueError as error:
        node.fail(f"attribute '{name}' {error}")


_FORMS: dict[int, tuple[str, AttrKind]] = {
    1: ("f", "Float"),
    2: ("i", "Int"),
    3: ("s", "String"),
    4: ("t", "Tensor"),
    6: ("floats", "ListFloat"),
    7: ("ints", "ListInt"),
    8: ("strings", "ListString"),
}
"""AttributeProto.type -> its field and the kind of GE attribute that holds it."""


def form_of(node: Node, name: str) -> tuple[str, AttrKind]:
    """Field and kind of an attribute of a node; raises CompileError for one without a kind."""
    attr = node.attrs[name]
    found = _FORMS.get(attr.type)
    if found is None:
        node.fail(f"attribute '{name}' is a graph, a type or sparse, expected numbers or text")
    return found


def own_attributes(node: Node, g: Builder) -> dict[str, Attribute]:
    """All attributes of a node in the IR's form, whatever they mean."""
    import numpy as np
    from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr

    check_text(*node.attrs)
    made: dict[str, Attribute] = {}
    for name in list(node.attrs):
        field, kind = form_of(node, name)
        value = node.value(name, field)
        if kind == "Tensor":
            array = _array(node, g, name, value)
            if array.dtype.kind not in "fiub" or array.dtype.itemsize > 8:
                node.fail(f"attribute '{name}' has {array.dtype} elements, expected numbers")
            tensor = tensor_of(g.type_like(array))
            data = array.astype(np.uint8) * np.uint8(255) if array.dtype == np.bool_ else array
            made[name] = DenseIntOrFPElementsAttr(
                cast("Any", tensor.type), BytesAttr(np.ascontiguousarray(data).tobytes())
            )
            continue
        try:
            made[name] = encode(kind, _plain(kind, value))
        except UnicodeDecodeError:
            made[name] = BytesAttr(bytes(value)) if kind == "String" else _no_text(node, name)
        except ValueError as error:
            node.fail(f"attribute '{name}' {error}")
    return made


def _no_text(node: Node, name: str) -> Attribute:
    raise CompileError(
        f"attribute '{name}' is no UTF-8 text, expected some",
        subject=f"{node.op_type} '{node.name}'",
    )
