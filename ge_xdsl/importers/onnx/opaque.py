"""Nodes that no converter knows: kept under the name of their domain and type, told once."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.opaque import opaque_name, opaque_op
from ge_xdsl.errors import nearest
from ge_xdsl.importers.onnx.builder import Builder
from ge_xdsl.importers.onnx.native import declared, own_attributes
from ge_xdsl.importers.onnx.node import Node
from ge_xdsl.importers.onnx.table import CONVERTERS


def opaque(node: Node, g: Builder, domain: str) -> Sequence[SSAValue]:
    """The results of a node that is kept as it is; raises CompileError where that is no choice."""
    title = domain or "ai.onnx"
    hint = _nearest_op(node.op_type, domain)
    if g.ctx.strict:
        node.fail(
            f"the op is not known in domain '{title}', expected one that has a converter{hint}"
        )
    attributes = own_attributes(node, g)
    name = opaque_name(domain, node.op_type)
    if name not in g.told:
        g.told.add(name)
        g.ctx.warn(
            f"{node.op_type} '{node.name}': the op is not known in domain '{title}' and is kept as "
            f"ge.{name}{hint}"
        )
    unused = [k for k, output in enumerate(node.outputs) if not output]
    types = [declared(node, k).type for k in range(len(node.outputs))]
    op = opaque_op(
        domain, node.op_type, max(node.opset, 1), node.inputs, types, unused, node.name, attributes
    )
    if node.proto.overload:
        node.fail(f"calls overload '{node.proto.overload}', expected a function of the model")
    op.source = g.location
    g.block.add_op(op)
    return op.results


def _nearest_op(op_type: str, domain: str) -> str:
    """A hint at the op with a converter that is meant: of the same domain, or of ONNX's own."""
    prefix = f"{domain}::" if domain else ""
    own = [key.removeprefix(prefix) for key in CONVERTERS if prefix and key.startswith(prefix)]
    main = [key for key in CONVERTERS if "::" not in key]
    return nearest(op_type, own) or nearest(op_type, main)
