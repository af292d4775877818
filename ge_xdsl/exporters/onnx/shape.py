"""Changes of shape, joining and splitting in ONNX."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.op import GeOp, constant_of
from ge_xdsl.dialects.ge.types import DataType
from ge_xdsl.exporters.onnx.graph import Graph, NoFormError
from ge_xdsl.exporters.onnx.table import Converter

INT64 = DataType.DT_INT64


def reshape(op: GeOp, g: Graph) -> str:
    """Reshape, where a 0 is a dimension of 0 unless the node says that it copies"""
    g.defaults(op)
    flag = op.attributes.get("ge.allowzero")
    copies = isinstance(flag, IntegerAttr) and flag.value.data == 0
    x, shape = op.operands
    known = constant_of(shape)
    wanted = None if known is None else [int(n) for n in known.reshape(-1).tolist()]
    if not copies and (wanted is None or 0 in wanted):
        if wanted is not None and -1 in wanted:
            raise NoFormError("shape has a 0 and a -1")
        return g.add("Reshape", g.of(x), g.long(shape), allowzero=1)
    return g.add("Reshape", g.of(x), g.long(shape))


def flatten(op: GeOp, g: Graph) -> str:
    """Flatten"""
    return g.add("Flatten", g.of(op.operands[0]), axis=op.get_attr("axis"))


def squeeze(op: GeOp, g: Graph) -> str:
    """Squeeze"""
    if op.op_type == "Squeeze":
        axes = list(op.get_attr("axis"))
        return g.add("Squeeze", g.of(op.operands[0]), g.ints(axes) if axes else "")
    axes = op.operand_slot("axes")
    if not isinstance(axes, SSAValue):
        return g.add("Squeeze", g.of(op.operands[0]))
    if not g.known(axes):
        raise NoFormError("there are no axes")
    return g.add("Squeeze", g.of(op.operands[0]), g.long(axes))


def unsqueeze(op: GeOp, g: Graph) -> str:
    """Unsqueeze"""
    if op.op_type == "UnsqueezeV3":
        return g.add("Unsqueeze", g.of(op.operands[0]), g.long(op.operands[1]))
    if op.op_type == "ExpandDims":
        axes = [g.number(op.operands[1])]
    else:
        axes = list(op.get_attr("axes"))
    return g.add("Unsqueeze", g.of(op.operands[0]), g.ints(axes))


def transpose(op: GeOp, g: Graph) -> str:
    """Transpose"""
    perm = list(op.get_attr("perm")) if op.op_type == "TransposeD" else g.known(op.operands[1])
    perm = [axis % len(perm) for axis in perm]
    return g.add("Transpose", g.of(op.operands[0]), perm=perm)


def shape_of(op: GeOp, g: Graph) -> str:
    """Shape or Size, cast to i32 where GE has that"""
    found = g.add(op.op_type, g.of(op.operands[0]), dtype=INT64)
    return g.cast(found, g.dtype(op.results[0]))


def expand(op: GeOp, g: Graph) -> str:
    """Expand to a shape, in which -1 keeps a dimension in GE: it becomes a 1"""
    x, shape = op.operands
    known = constant_of(shape)
    if known is None:
        return g.add("Expand", g.of(x), g.long(shape))
    wanted = [1 if n == -1 else int(n) for n in known.reshape(-1).tolist()]
    if op.op_type == "BroadcastTo" and min(wanted, default=1) < 0:
        raise NoFormError("shape has a dimension below -1")
    return g.add("Expand", g.of(x), g.ints(wanted))


def tile(op: GeOp, g: Graph) -> str:
    """Tile with a number per dimension"""
    x, multiples = op.operands
    count = g.dims(multiples)
    if g.tensor(x).shape is None and len(count) == 1:
        return g.add("Tile", g.of(x), _counted(g, x, g.long(multiples), count[0]))
    rank = g.rank(x)
    if len(count) != 1 or count[0] > rank:
        raise NoFormError("x has fewer dimensions than multiples")
    times = g.long(multiples)
    if count[0] < rank:
        times = g.add("Concat", g.ints([1] * (rank - count[0])), times, axis=0)
    return g.add("Tile", g.of(x), times)


def _counted(g: Graph, x: SSAValue, times: str, count: int) -> str:
    """`times` after a 1 for each dimension of x that it says nothing of."""
    long = DataType.DT_INT64
    rank = g.add("Size", g.add("Shape", g.of(x), dtype=long))
    rest = g.add("Sub", g.add("Reshape", rank, g.ints([1])), g.ints([count]))
    return g.add("Concat", g.add("Expand", g.ints([1]), rest), times, axis=0)


def concat(op: GeOp, g: Graph) -> str:
    """Concat along a known axis"""
    dim = op.prototype.input_index.get("concat_dim")
    axis = op.get_attr("concat_dim") if dim is None else g.number(_one(op, "concat_dim"))
    values = _many(op)
    if any(g.is_scalar(value) for value in values):
        raise NoFormError("a scalar counts as a vector")
    return g.add("Concat", *map(g.of, values), axis=axis)


def _one(op: GeOp, name: str) -> SSAValue:
    found = op.operand_slot(name)
    assert isinstance(found, SSAValue)
    return found


def _many(op: GeOp) -> Sequence[SSAValue]:
    found = op.operand_slot("x")
    assert not isinstance(found, SSAValue)
    assert found is not None
    return found


def pack(op: GeOp, g: Graph) -> str:
    """Concat of operands with a new dimension"""
    axis = op.get_attr("axis")
    if axis < 0:
        axis += g.rank(op.operands[0]) + 1
    where = g.ints([axis])
    parts = [g.add("Unsqueeze", g.of(value), where) for value in op.operands]
    return g.add("Concat", *parts, axis=axis)


def unpack(op: GeOp, g: Graph) -> Sequence[str]:
    """Squeeze of each part of Split"""
    axis, where = op.get_attr("axis"), g.ints([op.get_attr("axis")])
    count = len(op.results)
    parts = g.several("Split", [g.of(op.operands[0]), g.ints([1] * count)], count, None,
                      {"axis": axis})  # fmt: skip
    return [g.add("Squeeze", part, where) for part in parts]


def split(op: GeOp, g: Graph) -> Sequence[str]:
    """Split into equal parts or into parts of given sizes"""
    axis = op.get_attr("split_dim") if op.op_type == "SplitD" else g.number(_one(op, "split_dim"))
    x, count = _one(op, "x"), len(op.results)
    attrs = {"axis": axis}
    if op.op_type == "SplitV":
        sizes = _one(op, "size_splits")
        known = constant_of(sizes)
        if known is not None and int(known.min(initial=0)) < 0:
            return _with_rest(op, g, x, axis)
        return g.several("Split", [g.of(x), g.long(sizes)], count, None, attrs)
    return g.several("Split", [g.of(x)], count, None, {**attrs, "num_outputs": count})


def _with_rest(op: GeOp, g: Graph, x: SSAValue, axis: int) -> Sequence[str]:
    """Split with the sizes that the types of the results tell"""
    shapes = [g.dims(value) for value in op.results]
    sizes = [shape[axis] for shape in shapes]
    return g.several("Split", [g.of(x), g.ints(sizes)], len(sizes), None, {"axis": axis})


TABLE: dict[str, Converter] = {
    **dict.fromkeys(("BroadcastTo", "Expand"), expand),
    **dict.fromkeys(("Concat", "ConcatD", "ConcatV2", "ConcatV2D"), concat),
    **dict.fromkeys(("ExpandDims", "Unsqueeze", "UnsqueezeV3"), unsqueeze),
    **dict.fromkeys(("Shape", "Size"), shape_of),
    **dict.fromkeys(("Split", "SplitD", "SplitV"), split),
    **dict.fromkeys(("Squeeze", "SqueezeV3"), squeeze),
    **dict.fromkeys(("Transpose", "TransposeD"), transpose),
    "Flatten": flatten,
    "Pack": pack,
    "Reshape": reshape,
    "Tile": tile,
    "Unpack": unpack,
}
