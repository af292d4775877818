"""GE ops that give the elements of x in the same order: views, for which nothing is moved."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.lowering.tensors import static_tensor, unshaped
from ge_xdsl.lowering.unit import Placer, Unit
from ge_xdsl.targets.target import Target

TYPES = frozenset(
    {
        *("Reshape", "Flatten", "FlattenV2", "Identity"),
        *("Squeeze", "SqueezeV3", "Unsqueeze", "UnsqueezeV3", "ExpandDims", "SqueezeV2"),
        "UnsqueezeV2",
    }
)
"""The op types that are views of their first operand."""


def reason(op: GeOp, target: Target) -> str:
    """Why an op is no view, '' when it is one."""
    x, y = static_tensor(op.operands[0]), static_tensor(op.results[0])
    if x is None or y is None:
        return unshaped(op.operands[0], op.results[0])
    return ""


def unit(op: GeOp, target: Target) -> Unit:
    """The view of the first operand in the shape of the result."""

    def place(placer: Placer) -> list[SSAValue]:
        return [placer.view(placer.value(op.operands[0]), op.results[0].type, counts=True)]

    return Unit([op], op.results, place)
