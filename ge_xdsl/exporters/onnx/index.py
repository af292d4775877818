"""Elements picked and written by index, and resized images in ONNX."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.types import DataType
from ge_xdsl.exporters.onnx.graph import Graph, NoFormError
from ge_xdsl.exporters.onnx.table import Converter

SCATTERS = {"ScatterNdAdd": "add", "ScatterNdMax": "max", "ScatterNdMin": "min",
            "ScatterNdUpdate": "none", "TensorScatterAdd": "add", "TensorScatterMax": "max",
            "TensorScatterMin": "min", "TensorScatterUpdate": "none"}  # fmt: skip
"""GE op -> the reduction of ScatterND that it is."""
INT64 = DataType.DT_INT64


def gather(op: GeOp, g: Graph) -> str:
    """Gather along a known axis"""
    x, indices = op.operands[:2]
    if op.op_type in ("Gather", "GatherV2"):
        g.defaults(op, "batch_dims")
    if not g.rank(x):
        raise NoFormError("x is a scalar")
    axis = {"Gather": lambda: 0, "GatherV2": lambda: g.number(op.operands[2])}.get(
        op.op_type, lambda: op.get_attr("axis")
    )
    return g.add("Gather", g.of(x), g.of(indices), axis=axis())


def gather_elements(op: GeOp, g: Graph) -> str:
    """GatherElements"""
    x, index = map(g.of, op.operands)
    return g.add("GatherElements", x, index, axis=op.get_attr("dim"))


def gather_nd(op: GeOp, g: Graph) -> str:
    """GatherND"""
    return g.add("GatherND", g.of(op.operands[0]), g.long(op.operands[1]))


def one_hot(op: GeOp, g: Graph) -> str:
    """Where(Equal(indices, Range(depth)), on, off): the OneHot of ONNX counts from the end too"""
    x, depth, on, off = op.operands
    rank = g.rank(x)
    axis = op.get_attr("axis") % (rank + 1)
    shape = [1] * (rank + 1)
    shape[axis] = -1
    zero, one = (g.const(n, INT64) for n in (0, 1))
    count = g.add("Reshape", g.long(depth), g.ints([]))
    places = g.add("Range", zero, count, one)
    places = g.add("Reshape", places, g.ints(shape))
    wide = g.add("Unsqueeze", g.long(x), g.ints([axis]))
    hot = g.add("Equal", wide, places, dtype=DataType.DT_BOOL)
    on_name, off_name = (g.add("Reshape", g.of(v), g.ints([1])) for v in (on, off))
    return g.add("Where", hot, on_name, off_name, dtype=g.types[on_name])


def non_zero(op: GeOp, g: Graph) -> str:
    """NonZero, which has one row per dimension"""
    if not g.rank(op.operands[0]):
        raise NoFormError("x is a scalar")
    found = g.add("NonZero", g.of(op.operands[0]), dtype=INT64)
    if op.op_type == "Where" or not op.get_attr("transpose"):
        found = g.transpose(found, [1, 0])
    return g.cast(found, g.dtype(op.results[0]))


def scatter_elements(op: GeOp, g: Graph) -> str:
    """ScatterElements"""
    data, indices, updates = map(g.of, op.operands)
    attrs = {"axis": op.get_attr("axis"), "reduction": op.get_attr("reduction")}
    return g.add("ScatterElements", data, indices, updates, **attrs)


def scatter_nd(op: GeOp, g: Graph) -> str:
    """ScatterND"""
    data, indices, updates = op.operands
    places = g.long(indices)
    reduction = SCATTERS[op.op_type]
    return g.add("ScatterND", g.of(data), places, g.of(updates), reduction=reduction)


def resize(op: GeOp, g: Graph) -> str:
    """Resize, whose attributes have the names of ONNX"""
    x, roi, scales, sizes = (op.operand_slot(name) for name in ("x", "roi", "scales", "sizes"))
    assert isinstance(x, SSAValue)
    given = [g.of(v) if isinstance(v, SSAValue) else "" for v in (roi, scales)]
    last = g.long(sizes) if isinstance(sizes, SSAValue) else ""
    if bool(given[1]) == bool(last):
        raise NoFormError("scales and sizes are both given or both missing")
    attrs = {spec.name: op.get_attr(spec.name) for spec in op.prototype.attrs}
    return g.add("Resize", g.of(x), *given, last, **attrs)


def resize_nearest(op: GeOp, g: Graph) -> str:
    """Resize to sizes, taking the nearest element below, in NCHW"""
    g.defaults(op, "align_corners", "half_pixel_centers")
    x = op.operands[0]
    own = g.tensor(x).layout.format.name.removeprefix("FORMAT_")
    if own == "NHWC":
        raise NoFormError("the format of x is NHWC")
    batch, channels = g.dims(x)[:2]
    size = g.known(op.operands[1]) if len(op.operands) > 1 else list(op.get_attr("size"))
    return g.add(
        "Resize", g.of(x), "", "", g.ints([batch, channels, *size]), mode="nearest",
        coordinate_transformation_mode="asymmetric", nearest_mode="floor",
    )  # fmt: skip


TABLE: dict[str, Converter] = {
    **dict.fromkeys(("Gather", "GatherV2", "GatherV2D"), gather),
    **dict.fromkeys(("NonZero", "Where"), non_zero),
    **dict.fromkeys(("ResizeNearestNeighborV2", "ResizeNearestNeighborV2D"), resize_nearest),
    **dict.fromkeys(SCATTERS, scatter_nd),
    "GatherElements": gather_elements,
    "GatherNd": gather_nd,
    "OneHot": one_hot,
    "Resize": resize,
    "ScatterElements": scatter_elements,
}
