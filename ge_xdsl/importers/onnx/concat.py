"""ONNX joining and splitting."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

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
    if sizes is None and listed is not None:
        sizes = g.helper(listed, "int64")
    if node.has("num_outputs"):
        sizes = _chunks(node, g, axis, count)
    dim = g.helper(axis, "int32")
    op_type, inputs = ("Split", (dim, x)) if sizes is None else ("SplitV", (x, sizes, dim))
    op = g.add(op_type, inputs, {"num_split": count}, g.part_name(op_type), (count,))
    return op.results


def _chunks(node: Node, g: Builder, axis: int, count: int) -> SSAValue:
    """Sizes of `num_outputs` parts: equal ones, the last one smaller."""
    wanted = node.integer("num_outputs", count)
    if wanted != count:
        node.fail(f"attribute 'num_outputs' is {wanted}, expected {count}, the number of outputs")
    length = g.dim(node.input(0), axis)
    known = g.known(length)
    if known is not None:
        part = -(-known[0] // count)
        sizes = [max(min(part, known[0] - k * part), 0) for k in range(count)]
        return g.helper(sizes, "int64")
    # The part that starts at k * part has at most part, and what is left of the length.
    rounded = g.part("Add", length, g.scalar(count - 1, "int64"))
    part = g.part("FloorDiv", rounded, g.scalar(count, "int64"))
    left = g.part("Sub", length, g.part("Mul", part, g.helper(range(count), "int64")))
    return g.part("Maximum", g.part("Minimum", left, part), g.scalar(0, "int64"))


TABLE: dict[str, Converter] = {"Concat": concat, "Split": split}
