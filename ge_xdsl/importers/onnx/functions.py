"""Ops that are defined by a graph: functions of the model, and those of ONNX's operator sets."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor, tensor_of
from ge_xdsl.importers.onnx.order import check_text
from ge_xdsl.importers.onnx.tensors import ELEMENT_TYPES

if TYPE_CHECKING:
    from onnx import FunctionProto, ModelProto, NodeProto, OperatorSetIdProto

    from ge_xdsl.importers.onnx.node import Node

MAIN_DOMAINS = ("", "ai.onnx")


def key_of(domain: str, op_type: str) -> tuple[str, str]:
    """Domain and op type; the main domain is ''."""
    return ("" if domain in MAIN_DOMAINS else domain), op_type


def opsets_of(imports: Iterable[OperatorSetIdProto]) -> dict[str, int]:
    """Domain -> version of its operator set, the newest where one is imported twice."""
    found: dict[str, int] = {}
    for entry in imports:
        domain = key_of(entry.domain, "")[0]
        found[domain] = max(entry.version, found.get(domain, 0))
    return found


class Functions:
    """The functions that nodes of a model may call; `expanded` counts the nodes put in place."""

    def __init__(self, model: ModelProto) -> None:
        self.local: dict[tuple[str, str, str], FunctionProto] = {
            (*key_of(f.domain, f.name), f.overload): f for f in model.functions
        }
        self.opset = opsets_of(model.opset_import).get("", 0)
        self.expanded = 0

    def of_operator_set(self, node: Node, proto: NodeProto, domain: str) -> FunctionProto | None:
        """The body that the operator set of the node's domain defines the op with, or None.

        Attributes that the node leaves out get the default of the op's schema.
        """
        from onnx import FunctionProto, defs

        try:
            schema = defs.get_schema(proto.op_type, node.opset, domain)
        except (defs.SchemaError, TypeError):
            return None
        data = _body(schema, node, proto)
        if data is None:
            return None
        function = FunctionProto()
        function.ParseFromString(data)
        if not function.node:
            node.fail("the operator set gives no body for the op, expected known ranks and types")
        if not any(key_of(entry.domain, "")[0] == "" for entry in function.opset_import):
            function.opset_import.add(domain="", version=self.opset or defs.onnx_opset_version())
        defaults = {attr.name for attr in function.attribute_proto}
        for name, attribute in schema.attributes.items():
            default = attribute.default_value
            if name in defaults:
                continue
            if default.type:
                function.attribute_proto.add().CopyFrom(default)
            else:
                function.attribute.append(name)
        return function


def _body(schema: Any, node: Node, proto: NodeProto) -> bytes | None:
    """The newest serialized body for an opset that is not above the node's."""
    versions = [v for v in schema.function_opset_versions if v <= node.opset]
    if versions:
        return schema.get_function_with_opset_version(max(versions))
    versions = [v for v in schema.context_dependent_function_opset_versions if v <= node.opset]
    if not versions:
        return None
    types = [_type_of(value.type if value is not None else None) for value in node.inputs]
    check_text(*node.attrs)
    resolved = type(proto)()
    resolved.CopyFrom(proto)
    del resolved.attribute[:]
    for name, attribute in node.attrs.items():  # of a function body they refer to its caller's
        resolved.attribute.add().CopyFrom(attribute)
        resolved.attribute[-1].name = name
    try:
        return schema.get_context_dependent_function_with_opset_version(
            max(versions), resolved.SerializeToString(), types
        )
    except Exception as error:  # whatever the C++ side of the package raises
        text = str(error).strip().split("\n")[0]
        node.fail(f"the operator set gives no body for the op, {text or type(error).__name__}")


_NUMBERS = {dtype: number for number, dtype in ELEMENT_TYPES.items()}


def _type_of(attr: Any) -> bytes:
    """The serialized ONNX type of a value, an empty one for an input left out."""
    from onnx import TypeProto

    made = TypeProto()
    if attr is not None:
        tensor: Tensor = tensor_of(attr)
        if tensor.dtype is not DataType.DT_UNDEFINED:
            made.tensor_type.elem_type = _NUMBERS[tensor.dtype]
        if tensor.shape is not None:
            for dim in tensor.shape:
                added = made.tensor_type.shape.dim.add()
                if dim != DYNAMIC:
                    added.dim_value = dim
            if not tensor.shape:
                made.tensor_type.shape.SetInParent()
    return made.SerializeToString()
