"""Slices, borders and other places of elements in ONNX."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.op import GeOp, constant_of
from ge_xdsl.dialects.ge.types import DataType
from ge_xdsl.exporters.onnx.graph import Graph, NoFormError
from ge_xdsl.exporters.onnx.table import Converter

MODES = {"constant": "constant", "edge": "edge", "reflect": "reflect"}
"""GE's name of a border -> that of the opset."""
INT64 = DataType.DT_INT64


def _given(op: GeOp, name: str) -> SSAValue | None:
    found = op.operand_slot(name)
    return found if isinstance(found, SSAValue) else None


def strided_slice(op: GeOp, g: Graph) -> str:
    """Slice; backwards only where a start before the first element cannot come up"""
    g.defaults(op)
    found = {
        name: _given(op, name) if name in op.prototype.input_index else None
        for name in ("begin", "end", "axes", "strides")
    }
    inputs = [g.of(op.operands[0]), *("" if v is None else g.long(v) for v in found.values())]
    strides = found["strides"]
    if strides is not None and constant_of(strides) is not None:
        steps = g.known(strides)
        if min(steps, default=1) < 0:
            inputs[2] = g.ints(_ends_backwards(op, g, found, steps))
    if strides is not None and found["axes"] is None:
        inputs[3] = g.ints(range(g.dims(strides)[0]))
    return g.add("Slice", *inputs)


def _ends_backwards(
    op: GeOp, g: Graph, found: dict[str, SSAValue | None], steps: list[int]
) -> list[int]:
    """Ends that do not exceed the dimension: onnxruntime takes a huge one for the other end.

    Declines starts that count from the end and lie before the first element, which differ.
    """
    begin, ends = found["begin"], g.known(found["end"])
    given = begin is not None and constant_of(begin) is not None
    starts = g.known(begin) if given else []
    if min(starts, default=-1) >= -1 and max(ends) < 2**31 - 1:
        return ends  # before the first element of no dimension, as far as is known
    shape = g.dims(op.operands[0])
    places = list(range(len(steps))) if found["axes"] is None else g.known(found["axes"])
    sizes = [shape[place] for place in places]
    if any(start < -size for start, size in zip(starts, sizes, strict=True)):
        raise NoFormError("a slice starts before the first element")
    return [min(end, size) for end, size in zip(ends, sizes, strict=True)]


def plain_slice(op: GeOp, g: Graph) -> str:
    """Slice from constant offsets of constant sizes, of which -1 is the rest"""
    if op.op_type == "SliceD":
        offsets, sizes = list(op.get_attr("offsets")), list(op.get_attr("size"))
    else:
        offsets, sizes = g.known(op.operands[1]), g.known(op.operands[2])
    if min(offsets, default=0) < 0:
        raise NoFormError("an offset is negative")
    ends = [2**63 - 1 if n == -1 else start + n for start, n in zip(offsets, sizes, strict=True)]
    axes = g.ints(range(len(offsets)))
    return g.add("Slice", g.of(op.operands[0]), g.ints(offsets), g.ints(ends), axes)


def pad(op: GeOp, g: Graph) -> str:
    """Pad, with all pads before and then all after"""
    x, paddings = op.operands[:2]
    mode, pairs, fill = "constant", True, None
    if op.op_type == "PadV3":
        mode, pairs = op.get_attr("mode"), op.get_attr("paddings_contiguous")
        fill = _given(op, "constant_values")
    if mode not in MODES:
        raise NoFormError(f"mode is {mode}")
    known = constant_of(paddings)
    if mode != "constant" and known is not None and int(known.min(initial=0)) < 0:
        raise NoFormError("the pads are negative")
    if pairs:
        listed = g.known(paddings)
        where = g.ints([*listed[0::2], *listed[1::2]])
    else:
        where = g.long(paddings)
        if g.rank(paddings) != 1:
            where = g.add("Reshape", where, g.ints([-1]))
    inputs = [g.of(x), where]
    if fill is not None and mode == "constant":
        inputs.append(_scalar(g, fill))
    return g.add("Pad", *inputs, mode=MODES[mode])


def _scalar(g: Graph, value: SSAValue) -> str:
    """One element as a scalar."""
    return g.of(value) if g.rank(value) == 0 else g.add("Reshape", g.of(value), g.ints([]))


def fill(op: GeOp, g: Graph) -> str:
    """Expand of the value to the shape"""
    dims, value = op.operands
    return g.add("Expand", _scalar(g, value), g.long(dims))


def range_(op: GeOp, g: Graph) -> str:
    """Range of scalars"""
    g.defaults(op)
    if len({g.dtype(value) for value in op.operands}) != 1:
        raise NoFormError("the element types differ")
    return g.add("Range", *(_scalar(g, value) for value in op.operands))


def depth(op: GeOp, g: Graph) -> str:
    """DepthToSpace, or SpaceToDepth in DCR order, between Transposes for channels that come last

    In NCHW SpaceToDepth has another order of channels: it is a Reshape around a Transpose.
    """
    x, size = g.of(op.operands[0]), op.get_attr("block_size")
    own = g.tensor(op.operands[0]).layout.format.name.removeprefix("FORMAT_")
    form = own if own in ("NCHW", "NHWC") else op.get_attr("data_format")
    if form == "NHWC":
        x = g.transpose(x, [0, 3, 1, 2])
    if op.op_type == "DepthToSpace":
        y = g.add("DepthToSpace", x, blocksize=size, mode=op.get_attr("mode"))
    elif form == "NHWC":
        y = g.add("SpaceToDepth", x, blocksize=size)
    else:
        n, c, h, w = g.dims(op.operands[0])
        blocks = g.add("Reshape", x, g.ints([n, c, h // size, size, w // size, size]))
        moved = g.transpose(blocks, [0, 1, 3, 5, 2, 4])
        y = g.add("Reshape", moved, g.ints([n, c * size * size, h // size, w // size]))
    return g.transpose(y, [0, 2, 3, 1]) if form == "NHWC" else y


def reverse_sequence(op: GeOp, g: Graph) -> str:
    """ReverseSequence over the first two dimensions"""
    axes = (op.get_attr("batch_dim"), op.get_attr("seq_dim"))
    if sorted(axes) != [0, 1]:
        raise NoFormError("the dimensions are not the first two")
    x, lengths = op.operands
    return g.add("ReverseSequence", g.of(x), g.long(lengths), batch_axis=axes[0],
                 time_axis=axes[1])  # fmt: skip


TABLE: dict[str, Converter] = {
    **dict.fromkeys(("DepthToSpace", "SpaceToDepth"), depth),
    **dict.fromkeys(("Pad", "PadV3"), pad),
    **dict.fromkeys(("Slice", "SliceD"), plain_slice),
    **dict.fromkeys(("StridedSlice", "StridedSliceV2"), strided_slice),
    "Fill": fill,
    "Range": range_,
    "ReverseSequence": reverse_sequence,
}
