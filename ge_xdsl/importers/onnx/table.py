"""ONNX op -> the function that converts it, by family file; families are imported on first use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, TypeAlias

from xdsl.ir import SSAValue

if TYPE_CHECKING:
    from ge_xdsl.importers.onnx.builder import Builder
    from ge_xdsl.importers.onnx.node import Node

Converter: TypeAlias = "Callable[[Node, Builder], SSAValue | Sequence[SSAValue | None]]"
"""Appends the GE ops of a node and returns its outputs, in order."""

VENDOR = (
    "AdaCast AdaptiveAvgPool2d AdaptiveMaxPool2d AffineGrid AscendAntiQuant AscendDequant "
    "AscendDequantS16 AscendQuant AscendRequant AscendRequantS16 BasicGRUInplaceFillWindowCache "
    "BasicLSTMInplaceFillWindowCache BatchMatMul BatchMultiClassNMS BlendFaceBgPartTwo "
    "BoundingBoxDecode Bucketize Col2im ConcatFromSequence Corr DeformableConv2D "
    "DeformableOffsets DynSeqOuter GridSample3D GridSampleV2 GroupNormRelu Int8Dequantize "
    "Int8GivenIntTensorFill Int8Quantize Int8Transpose LSTMP MovingSumWithSigmoid NMSRotated "
    "NPUAddRmsNorm NPUAnchorResponseFlags NPUAntiQuant NPUAscendQuantV2 NPUBatchNms "
    "NPUBoundingBoxDecode NPUBoundingBoxEncode NPUCiou NPUDeformableConv2d NPUDiou "
    "NPUDropoutWithAddSoftmax NPUDtypeCast NPUDynamicQuant NPUDynamicQuantV2 NPUFastGelu "
    "NPUFormatCast NPUFusedAddRmsNorm NPUGeglu NPUGeluV2 NPUGiou NPUGridAssignPositive "
    "NPUGroupNormSilu NPUGroupQuant NPUGru NPUIndexing NPUIou NPULstm NPULstmCell NPUMish "
    "NPUNmsV4 NPUNmsWithMask NPUOneHot NPUPsRoiPooling NPUQuantize NPURmsNorm NPURoiAlign "
    "NPURotaryMul NPURotatedIou NPURotatedOverlaps NPUScatter NPUSignBitsPack NPUSignBitsUnpack "
    "NPUSlice NPUSoftmaxCrossEntropyWithLogits NPUWeightQuantBatchMatmulV2 NPUYoloBoxesEncode "
    "PSROIPooling PhonyConcat PhonySplit QuantBatchMatMul ResizeBicubic RoiAlignRotated "
    "RoiExtractor SequenceAt SequenceConstruct SequenceEmpty SequenceErase SequenceInsert "
    "SequenceLength SparseToDense SplitToSequence SwinAttentionFFN SwinAttentionScore "
    "SwinTransformerLnQKV TransArgb Triu Yolo YoloPreDetection YoloV3DetectionOutputV2 "
    "YoloV5DetectionOutput YoloxBoundingBoxDecode aten::adaptive_max_pool2d mmdeploy::NMSRotated "
    "mmdeploy::RoiAlignRotated npu::NPUAddRmsNorm npu::NPUAnchorResponseFlags npu::NPUAntiQuant "
    "npu::NPUAscendQuantV2 npu::NPUBatchNms npu::NPUBoundingBoxDecode npu::NPUBoundingBoxEncode "
    "npu::NPUCiou npu::NPUDeformableConv2d npu::NPUDiou npu::NPUDropoutWithAddSoftmax "
    "npu::NPUDtypeCast npu::NPUDynamicQuant npu::NPUDynamicQuantV2 npu::NPUFastGelu "
    "npu::NPUFormatCast npu::NPUFusedAddRmsNorm npu::NPUGeglu npu::NPUGeluV2 npu::NPUGiou "
    "npu::NPUGridAssignPositive npu::NPUGroupNormSilu npu::NPUGroupQuant npu::NPUGru "
    "npu::NPUIndexing npu::NPUIou npu::NPULstm npu::NPULstmCell npu::NPUMish npu::NPUNmsV4 "
    "npu::NPUNmsWithMask npu::NPUOneHot npu::NPUPsRoiPooling npu::NPUQuantize npu::NPURmsNorm "
    "npu::NPURoiAlign npu::NPURotaryMul npu::NPURotatedIou npu::NPURotatedOverlaps "
    "npu::NPUScatter npu::NPUSignBitsPack npu::NPUSignBitsUnpack npu::NPUSlice "
    "npu::NPUSoftmaxCrossEntropyWithLogits npu::NPUWeightQuantBatchMatmulV2 "
    "npu::NPUYoloBoxesEncode npu::WeightQuantBatchMatmulV2 torch.onnx.symbolic_opset11::addcmul"
)
"""The ops that are not ONNX's own and that GE's parser takes."""

FAMILIES: dict[str, str] = {
    "activation": (
        "Celu Elu Gelu HardSigmoid HardSwish LeakyRelu LogSoftmax Mish PRelu Relu Selu Shrink "
        "Sigmoid Softmax Softplus Softsign Swish Tanh ThresholdedRelu"
    ),
    "arg": "ArgMax ArgMin Hardmax",
    "bitwise": "BitCast BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Xor",
    "cast": "Cast CastLike",
    "compare": "And Equal Greater GreaterOrEqual IsInf IsNaN Less LessOrEqual Not Or Where",
    "concat": "Concat Split",
    "contrib": (
        "SimplifiedLayerNormalization com.microsoft::BiasAdd com.microsoft::BiasGelu "
        "com.microsoft::ComplexMul com.microsoft::ComplexMulConj "
        "com.microsoft::EmbedLayerNormalization com.microsoft::ExpandDims com.microsoft::FastGelu "
        "com.microsoft::GatherND com.microsoft::Gelu com.microsoft::GridSample "
        "com.microsoft::Inverse com.microsoft::LayerNormalization com.microsoft::Pad "
        "com.microsoft::QuickGelu com.microsoft::Range com.microsoft::SkipLayerNormalization "
        "com.microsoft::SkipSimplifiedLayerNormalization com.microsoft::Trilu"
    ),
    "contrib_attention": (
        "com.microsoft::Attention com.microsoft::GroupQueryAttention "
        "com.microsoft::MultiHeadAttention com.microsoft::QAttention "
        "com.microsoft::RotaryEmbedding"
    ),
    "contrib_matmul": (
        "com.microsoft::FusedConv com.microsoft::FusedGemm com.microsoft::FusedMatMul "
        "com.microsoft::FusedMatMulActivation com.microsoft::MatMulNBits "
        "com.microsoft::TransposeMatMul"
    ),
    "contrib_quant": (
        "com.microsoft::DequantizeLinear com.microsoft::DynamicQuantizeMatMul "
        "com.microsoft::MatMulIntegerToFloat com.microsoft::QGemm com.microsoft::QLinearAdd "
        "com.microsoft::QLinearAveragePool com.microsoft::QLinearConcat "
        "com.microsoft::QLinearGlobalAveragePool com.microsoft::QLinearLeakyRelu "
        "com.microsoft::QLinearMul com.microsoft::QLinearReduceMean com.microsoft::QLinearSigmoid "
        "com.microsoft::QLinearSoftmax com.microsoft::QLinearWhere com.microsoft::QuantizeLinear"
    ),
    "control": "If Loop Scan",
    "conv": "Conv ConvInteger ConvTranspose DeformConv",
    "cumulative": "CumProd CumSum",
    "data": "Constant Dropout Identity Optional OptionalGetElement OptionalHasElement",
    "detection": "MaxRoiPool NonMaxSuppression RoiAlign",
    "diagonal": "Trilu",
    "elementwise": "Add Clip Div Max Mean Min Mod Mul Pow Sub Sum",
    "fold": "Col2Im",
    "grid": "GridSample",
    "index": (
        "Compress ConstantOfShape EyeLike Gather GatherElements GatherND NonZero OneHot Range"
    ),
    "linalg": "Det Einsum",
    "matmul": "Gemm MatMul",
    "ml": "ai.onnx.ml::ArrayFeatureExtractor ai.onnx.ml::Binarizer",
    "norm": (
        "BatchNormalization InstanceNormalization LRN LayerNormalization LpNormalization "
        "MeanVarianceNormalization RMSNormalization"
    ),
    "pool": ("AveragePool GlobalAveragePool GlobalLpPool GlobalMaxPool LpPool MaxPool MaxUnpool"),
    "quant": "DequantizeLinear MatMulInteger QLinearConv QLinearMatMul QuantizeLinear",
    "random": "Bernoulli Multinomial RandomNormal RandomNormalLike RandomUniform RandomUniformLike",
    "rearrange": "DepthToSpace ReverseSequence SpaceToDepth",
    "reduce": (
        "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd "
        "ReduceSum ReduceSumSquare"
    ),
    "resize": "Resize Upsample",
    "rnn": "GRU LSTM RNN",
    "scatter": "Scatter ScatterElements ScatterND TensorScatter",
    "shape": "Expand Flatten Reshape Shape Size Squeeze Tile Transpose Unsqueeze",
    "slice": "Pad Slice",
    "sort": "TopK",
    "spectral": "DFT STFT",
    "training": (
        "ai.onnx.preview.training::Adagrad ai.onnx.preview.training::Adam "
        "ai.onnx.preview.training::Momentum"
    ),
    "unique": "Unique",
    "vendor": VENDOR,
    "unary": (
        "Abs Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Erf Exp Floor Log Neg Reciprocal "
        "Round Sign Sin Sinh Sqrt Tan"
    ),
}
"""Family file -> the ONNX ops it converts, space-separated."""

CONVERTERS: dict[str, str] = {op: family for family, ops in FAMILIES.items() for op in ops.split()}
_LOADED: dict[str, Converter] = {}


def converter_of(op_type: str) -> Converter:
    """The converter of an op that `CONVERTERS` lists."""
    found = _LOADED.get(op_type)
    if found is None:
        module = import_module(f"ge_xdsl.importers.onnx.{CONVERTERS[op_type]}")
        _LOADED.update(module.TABLE)
        found = _LOADED[op_type]
    return found


GE_DOMAIN = "ai.ge"
"""The domain of GE ops in ONNX files: op type and attributes are GE's."""


def ge_op_converter() -> Converter:
    """The converter of all ops of `GE_DOMAIN`."""
    return import_module("ge_xdsl.importers.onnx.vendor").ge_op
