"""ONNX joining and splitting."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.types import DYNAMIC
from ge_xdsl.importers.onnx.builder import Builder
from ge_xdsl.importers.onnx.node import Node
from ge_xdsl.importers.onnx.table import Converter


def concat(node: Node, g: Builder) -> SSAValue:
    """ConcatD; of one input Identity."""
    values = node.all_inputs()
    axis = node.required_integer("axis")
    if len(values) == 1:
        return g.part("Identity", values[0])
    return g.part("ConcatD", values, concat_dim=axis, N=len(values))


def split(node: Node, g: Builder) -> Sequence[SSAValue]:
    """Split into equal parts, or SplitV for sizes that are given or follow from num_outputs."""
    x, axis, count = node.input(0), node.integer("axis", 0), len(node.outputs)
    sizes = node.optional(1)
    listed = node.integers("split")
    if node.has("num_outputs"):
        listed = _chunks(node, g, axis, count)
    if sizes is None and listed is not None:
        sizes = g.helper(listed, "int64")
    dim = g.helper(axis, "int32")
    op_type, inputs = ("Split", (dim, x)) if sizes is None else ("SplitV", (x, sizes, dim))
    op = g.add(op_type, inputs, {"num_split": count}, g.part_name(op_type), (count,))
    return op.results


def _chunks(node: Node, g: Builder, axis: int, count: int) -> list[int]:
    """Sizes of `num_outputs` parts: equal ones, the last one smaller."""
    wanted = node.integer("num_outputs", count)
    if wanted != count:
        node.fail(f"attribute 'num_outputs' is {wanted}, expected {count}, the number of outputs")
    rank = g.rank(node.input(0), "num_outputs")
    if not -rank <= axis < rank:
        node.fail(f"attribute 'axis' is {axis}, expected one in [{-rank}, {rank})")
    dims = g.shape(node.input(0)) or (DYNAMIC,)
    (size,) = g.static_dims([dims[axis]], "num_outputs")
    part = -(-size // count)
    return [max(min(part, size - k * part), 0) for k in range(count)]


TABLE: dict[str, Converter] = {"Concat": concat, "Split": split}
