"""ONNX nodes that GE's own parser takes: ops outside the standard, one GE op for each.

A row is `<ONNX op> <GE op> <attribute>=<GE attribute> ...`. Inputs go by position; attributes keep
their names unless the row renames them, `-` drops one. Ops of torch_npu stand in the main domain
and in `npu`. What needs several GE ops has a function below.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.ir import Block, Region, SSAValue

from ge_xdsl.dialects.ge.assembly import region_names
from ge_xdsl.dialects.ge.data import YieldOp
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.registry import op_class, unknown_op
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType
from ge_xdsl.importers.onnx.builder import UNKNOWN, Builder
from ge_xdsl.importers.onnx.native import declared_attributes, native
from ge_xdsl.importers.onnx.node import Node
from ge_xdsl.importers.onnx.table import VENDOR, Converter
from ge_xdsl.importers.onnx.tensors import declared_tensor, type_attribute

ROWS = """
AdaCast AdaCast
AdaptiveAvgPool2d AdaptiveAvgPool2d
AdaptiveMaxPool2d AdaptiveMaxPool2d
aten::adaptive_max_pool2d AdaptiveMaxPool2d
AscendAntiQuant AscendAntiQuant
AscendDequant AscendDequant
AscendDequantS16 AscendDequantS16
AscendQuant AscendQuant
AscendRequant AscendRequant
AscendRequantS16 AscendRequantS16
BasicGRUInplaceFillWindowCache BasicGRUInplaceFillWindowCache
BasicLSTMInplaceFillWindowCache BasicLSTMInplaceFillWindowCache
BatchMatMul BatchMatMul
BatchMultiClassNMS BatchMultiClassNonMaxSuppression
BlendFaceBgPartTwo BlendFaceBgPartTwo
BoundingBoxDecode BoundingBoxDecode max_shapes=max_shape
Bucketize Bucketize
Col2im Col2im
ConcatFromSequence ConcatFromSequence
Corr Correlation
DeformableConv2D DeformableConv2D
DeformableOffsets DeformableOffsets
DynSeqOuter DynSeqOuter
GridSample3D GridSampler3D mode=interpolation_mode
GridSampleV2 GridSample mode=interpolation_mode
GroupNormRelu GroupNormRelu
LSTMP LSTMP
MovingSumWithSigmoid MovingSumWithSigmoid
PSROIPooling PSROIPoolingV2
PhonyConcat PhonyConcat
PhonySplit PhonySplit
QuantBatchMatMul QuantBatchMatmulV3
ResizeBicubic ResizeBicubic
RoiExtractor RoiExtractor
SequenceAt SequenceAt
SequenceConstruct SequenceConstruct
SequenceErase SequenceErase
SequenceInsert SequenceInsert
SequenceLength SequenceLength
SparseToDense SparseToDense
SplitToSequence SplitToSequence
SwinAttentionFFN SwinAttentionFFN
SwinAttentionScore SwinAttentionScore
SwinTransformerLnQKV SwinTransformerLnQKV
TransArgb TransArgb
Triu Triu
Yolo Yolo
YoloPreDetection YoloPreDetection
YoloV3DetectionOutputV2 YoloV3DetectionOutputV2
YoloV5DetectionOutput YoloV5DetectionOutput
YoloxBoundingBoxDecode YoloxBoundingBoxDecode
mmdeploy::RoiAlignRotated RoiAlignRotated output_height=pooled_h output_width=pooled_w
RoiAlignRotated RoiAlignRotated output_height=pooled_h output_width=pooled_w
npu::WeightQuantBatchMatmulV2 WeightQuantBatchMatmulV2
NPUAddRmsNorm AddRmsNorm
NPUAnchorResponseFlags AnchorResponseFlags featmap_sizes=featmap_size
NPUAntiQuant AscendAntiQuantV2
NPUAscendQuantV2 AscendQuantV2 dtype=dst_type
NPUBatchNms BatchMultiClassNonMaxSuppression
NPUBoundingBoxDecode BoundingBoxDecode max_shapes=max_shape
NPUBoundingBoxEncode BoundingBoxEncode
NPUCiou CIoU
NPUDeformableConv2d DeformableConv2D paddings=pads
NPUDiou DIoU
NPUDynamicQuant DynamicQuant
NPUDynamicQuantV2 DynamicQuantV2
NPUFastGelu FastGelu
NPUFormatCast Identity acl_format=-
NPUFusedAddRmsNorm FusedAddRmsNorm
NPUGeglu GeGluV2
NPUGeluV2 GeluV2
NPUGiou GIoU
NPUGridAssignPositive GridAssignPositive num_gts=-
NPUGroupNormSilu GroupNormSilu group=num_groups
NPUGroupQuant GroupQuant
NPUGru DynamicGRUV2
NPUIou Iou
NPUMish Mish
NPUNmsWithMask NMSWithMask
NPUPsRoiPooling PSROIPoolingV2
NPUQuantize Quantize
NPURmsNorm RmsNorm
NPURoiAlign ROIAlign
NPURotaryMul RotaryMul
NPURotatedIou RotatedIou
NPURotatedOverlaps RotatedOverlaps
NPUScatter ArgMaxGrad dim=dimension
NPUSignBitsPack SignBitsPack
NPUSignBitsUnpack SignBitsUnpack
NPUSoftmaxCrossEntropyWithLogits SoftmaxCrossEntropyWithLogits
NPUWeightQuantBatchMatmulV2 WeightQuantBatchMatmulV2
NPUYoloBoxesEncode YoloBoxesEncode
"""


def _row(op_type: str, renamed: dict[str, str]) -> Converter:
    def convert(node: Node, g: Builder) -> Sequence[SSAValue]:
        cls = op_class(op_type)
        assert cls is not None, op_type
        node.ignore(*(name for name, target in renamed.items() if target == "-"))
        return native(node, g, cls, declared_attributes(node, g, cls, renamed))

    return convert


def _table() -> dict[str, Converter]:
    found: dict[str, Converter] = {}
    for row in ROWS.strip().split("\n"):
        name, op_type, *words = row.split()
        pairs = (word.partition("=") for word in words)
        found[name] = _row(op_type, {left: right for left, _, right in pairs})
    found |= FUNCTIONS
    return found | {f"npu::{name}": made for name, made in found.items() if name[:3] == "NPU"}


def ge_op(node: Node, g: Builder) -> Sequence[SSAValue]:
    """A node of the domain `ai.ge`: the GE op of its type, as the exporter writes it."""
    cls = op_class(node.op_type)
    if cls is None:
        node.fail(unknown_op(f"ge.{node.op_type}")[1])
    counts = node.integers("input_counts")
    if counts is not None and (len(counts) != len(cls.prototype.inputs) or min(counts) < 0):
        node.fail(f"attribute 'input_counts' is {counts}, expected one for each input")
    attrs = declared_attributes(node, g, cls)
    inputs = node.inputs
    if counts is not None:
        inputs = [value for value in node.inputs if value is not None]
    return native(node, g, cls, attrs, inputs=inputs, counts=counts, regions=_regions(node, g, cls))


def _regions(node: Node, g: Builder, cls: type[GeOp]) -> list[Region]:
    """The subgraphs of a node of the domain `ai.ge`, whose inputs are declared."""
    named = region_names(cls.prototype, sum(attr.type == 5 for attr in node.attrs.values()))
    regions: list[Region] = []
    for name in named:
        graph = node.graph(name)
        types = [declared_tensor(info) or UNKNOWN for info in graph.input]
        block = Block(arg_types=[tensor.type for tensor in types])
        with g.into(block):
            found = node.scope.run(graph, block.args, {})
            block.add_op(YieldOp.create(operands=found))
        regions.append(Region(block))
    return regions


def affine_grid(node: Node, g: Builder) -> Sequence[SSAValue | None] | SSAValue:
    """AffineGrid, whose points GE gives as a list; the op of opset 20 has them by place"""
    if node.opset < 20:
        return _row("AffineGrid", {})(node, g)
    theta, size = node.input(0), node.input(1)
    rank = (g.shape(size) or (DYNAMIC,))[0]
    if rank not in (4, 5):
        node.fail(f"the size is {g.tensor_text(size)}, expected 4 or 5 numbers")
    aligned = node.flag("align_corners", False)
    points = g.part("AffineGrid", theta, g.cast(size, DataType.DT_INT32), align_corners=aligned)
    space = g.take(size, g.helper([0, *range(2, rank)], "int64"), 0)
    shape = g.part("ConcatD", [space, g.helper([rank - 2], "int64")], concat_dim=0, N=2)
    if (known := g.known(size)) is not None:
        shape = g.helper([known[0], *known[2:], rank - 2], "int64")
    return g.part("Reshape", points, shape)


def addcmul(node: Node, g: Builder) -> SSAValue:
    """x + value * (a * b)"""
    x, a, b = (node.input(k) for k in range(3))
    scaled = g.part("Muls", g.part("Mul", a, b), value=node.floating("value", 1.0))
    return g.op("Add", x, scaled)


def dtype_cast(node: Node, g: Builder) -> SSAValue:
    """Cast; the element type is GE's number, an attribute or a constant input"""
    known = g.known(node.optional(1))
    number = node.integer("dtype", known[0] if known else -1)
    try:
        target = DataType(number)
    except ValueError:
        node.fail(f"element type is {number}, expected a number of GE's")
    return g.op("Cast", node.input(0), dst_type=int(target))


def dropout_softmax(node: Node, g: Builder) -> Sequence[SSAValue]:
    """AxpyWithSoftmaxAndDropOutDoMask with a mask that keeps everything: inference"""
    x1, x2 = node.input(0), node.input(1)
    alpha, dim = node.floating("alpha", 1.0), node.integer("dim", -1)
    node.ignore("prob")
    mask = g.part("Cast", g.part("OnesLike", x1), dst_type=int(DataType.DT_UINT8))
    attrs = {"alpha": alpha, "input_keep_prob": 1.0, "axis": [dim]}
    op = g.add("AxpyWithSoftmaxAndDropOutDoMask", (x1, x2, mask), attrs, node.name)
    return [mask, *op.results]


def indexing(node: Node, g: Builder) -> SSAValue:
    """StridedSlice with constant bounds"""
    bounds = [node.integers(name) or [] for name in ("begins", "ends", "strides")]
    masks = {
        f"{name}_mask": node.integer(f"{name}_mask", 0)
        for name in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")
    }
    return g.op("StridedSlice", node.input(0), *(g.helper(b, "int64") for b in bounds), **masks)


def slice_(node: Node, g: Builder) -> SSAValue:
    """Slice with constant offsets and sizes"""
    offsets = node.integers("offsetss") or node.integers("offsets") or []
    sizes = node.integers("sizes") or []
    return g.op("Slice", node.input(0), g.helper(offsets, "int64"), g.helper(sizes, "int64"))


def nms_v4(node: Node, g: Builder) -> Sequence[SSAValue]:
    """NonMaxSuppressionV4 with a constant number of boxes"""
    boxes, scores, iou, score = (node.input(k) for k in range(4))
    count = g.scalar(node.required_integer("max_output_size"), "int32")
    attrs = {"pad_to_max_output_size": node.flag("pad_to_max_output_size", False)}
    inputs = (boxes, scores, count, iou, score)
    return g.add("NonMaxSuppressionV4", inputs, attrs, node.name).results


def one_hot(node: Node, g: Builder) -> SSAValue:
    """OneHot of the last dimension with constant values"""
    depth = node.integer("depth", node.integer("num_classes", -1))
    on, off = node.floating("on_value", 1.0), node.floating("off_value", 0.0)
    values = (g.scalar(value, "float32") for value in (on, off))
    return g.op("OneHot", node.input(0), g.scalar(depth, "int32"), *values, axis=-1)


def lstm(node: Node, g: Builder) -> Sequence[SSAValue]:
    """DynamicRNN: input, weight, bias, length of sequences, h and c"""
    cls = op_class("DynamicRNN")
    assert cls is not None
    node.ignore("flagSeq", "num_layers", "dropout", "bidirectional", "batch_first", "has_biases")
    direction = node.flag("direction", False)
    attrs: dict[str, Any] = {
        "direction": "REDIRECTIONAL" if direction else "UNIDIRECTIONAL",
        "gate_order": "ijfo",
        "is_training": node.flag("train", False),
    }
    return native(node, g, cls, attrs)


def lstm_cell(node: Node, g: Builder) -> Sequence[SSAValue]:
    """DynamicRNNV2 of one step: x, w_ih, w_hh, h, c and the sum of both biases"""
    node.ignore("hasBias")
    x, w_input, w_hidden, h, c = (node.input(k) for k in range(5))
    biases = [value for value in node.inputs[5:7] if value is not None]
    bias = g.part("Add", *biases) if len(biases) == 2 else (biases or [None])[0]
    first = g.scalar(0, "int32")
    steps = (g.part("ExpandDims", value, first) for value in (x, h, c))
    start = list(steps)
    attrs = {"direction": "UNIDIRECTIONAL", "gate_order": "ifco", "is_training": False}
    inputs = (start[0], w_input, w_hidden, bias, None, start[1], start[2])
    results = g.add("DynamicRNNV2", inputs, attrs, node.name).results
    return [results[1], results[2], *results[3:]]


def nms_rotated(node: Node, g: Builder) -> SSAValue:
    """RotatedNMS of boxes with zero labels; the angles of mmdeploy are radians"""
    import math

    import numpy as np

    boxes, scores = node.input(0), node.input(1)
    factors = g.const(np.array([1, 1, 1, 1, 180 / math.pi], np.float32), g.part_name("Const"))
    labels = g.part("ZerosLike", g.cast(scores, DataType.DT_INT32))
    attrs = {"iou_threshold": node.floating("iou_threshold", 0.5)}
    degrees = g.part("Mul", boxes, factors)
    return g.add("RotatedNMS", (degrees, scores, labels), attrs, node.name).results[1]


def sequence_empty(node: Node, g: Builder) -> SSAValue:
    """SequenceEmpty"""
    return g.op("SequenceEmpty", dtype=type_attribute(node, "dtype", DataType.DT_FLOAT))


def int8_quantize(node: Node, g: Builder) -> SSAValue:
    """AscendQuant, which multiplies by what Caffe2 divides by"""
    scale = node.floating("Y_scale", 1.0)
    if not scale:
        node.fail("attribute 'Y_scale' is 0, expected another number")
    offset = float(node.integer("Y_zero_point", 0))
    return g.op("AscendQuant", node.input(0), scale=1 / scale, offset=offset, round_mode="Round")


def int8_dequantize(node: Node, g: Builder) -> SSAValue:
    """AscendAntiQuant: (x + offset) * scale"""
    scale = node.floating("Y_scale", node.floating("scale", 1.0))
    offset = -float(node.integer("Y_zero_point", 0))
    return g.op("AscendAntiQuant", node.input(0), scale=scale, offset=offset)


def int8_transpose(node: Node, g: Builder) -> SSAValue:
    """Transpose"""
    node.ignore("Y_scale", "Y_zero_point", "order")
    axes = node.integers("axes") or node.integers("perm") or []
    return g.op("Transpose", node.input(0), g.helper(axes, "int32"))


def int8_fill(node: Node, g: Builder) -> SSAValue:
    """Const of i32 values"""
    import numpy as np

    node.ignore("Y_scale", "Y_zero_point")
    shape, values = node.integers("shape") or [], node.integers("values") or []
    try:
        return g.const(np.array(values, np.int32).reshape(shape), node.name)
    except (ValueError, OverflowError) as error:
        node.fail(f"the values {error}")


FUNCTIONS: dict[str, Callable[[Node, Builder], Any]] = {
    "AffineGrid": affine_grid,
    "Int8Dequantize": int8_dequantize,
    "Int8GivenIntTensorFill": int8_fill,
    "Int8Quantize": int8_quantize,
    "Int8Transpose": int8_transpose,
    "NMSRotated": nms_rotated,
    "NPUDropoutWithAddSoftmax": dropout_softmax,
    "NPUDtypeCast": dtype_cast,
    "NPUIndexing": indexing,
    "NPULstm": lstm,
    "NPULstmCell": lstm_cell,
    "NPUNmsV4": nms_v4,
    "NPUOneHot": one_hot,
    "NPUSlice": slice_,
    "SequenceEmpty": sequence_empty,
    "mmdeploy::NMSRotated": nms_rotated,
    "torch.onnx.symbolic_opset11::addcmul": addcmul,
}

TABLE: dict[str, Converter] = _table()
assert sorted(TABLE) == VENDOR.split()
