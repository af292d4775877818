"""Op type -> op class. Families are imported when one of their ops is first named.

`FAMILIES` lists the ops with a typed class, by the file that holds them; every other public GE op
gets its class from the prototype table on first use.
"""

from __future__ import annotations

from importlib import import_module

from xdsl.ir import Attribute

from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.prototype import Prototype
from ge_xdsl.dialects.ge.types import DataTypeAttr, ElementType, LayoutAttr
from ge_xdsl.dialects.ge.weights import WeightAttr
from ge_xdsl.errors import nearest

ATTRIBUTES: tuple[type[Attribute], ...] = (ElementType, DataTypeAttr, LayoutAttr, WeightAttr)

FAMILIES: dict[str, str] = {
    "data": "Const Constant NoOp control_edge unconnected yield",
    "elementwise": "Add Sub Mul Pow RealDiv Div FloorDiv TruncateDiv DivNoNan Mod FloorMod Maximum "
    "Minimum SquaredDifference Axpy Adds Muls Power AddN AccumulateNV2 BiasAdd ClipByValue Lerp "
    "FusedMulAdd Addcmul Addcdiv",
    "unary": "Abs Neg Sign Square Reciprocal Sqrt Rsqrt Exp Log Expm1 Log1p Erf Erfc Sin Cos Atan "
    "Sinh Cosh Asinh Acosh Atanh Floor Ceil Round IsNan IsInf IsFinite",
    "compare": "Equal NotEqual Less LessEqual Greater GreaterEqual LogicalAnd LogicalOr LogicalNot "
    "Select SelectV2 MaskedFill",
    "activation": "Relu Relu6 LeakyRelu PRelu Elu Celu Selu HardSigmoid HardSwish Sigmoid Tanh "
    "Swish Softplus Softsign Mish FastGelu Gelu GeluV2 SoftmaxV2 LogSoftmaxV2",
    "reduce": "ReduceSum ReduceSumD ReduceMean ReduceMeanD ReduceMax ReduceMaxD ReduceMin "
    "ReduceMinD ReduceProd ReduceProdD ReduceAll ReduceAllD ReduceAny ReduceAnyD",
    "cast": "Cast CastLike Identity TensorMove ZerosLike OnesLike IdentityN",
    "matmul": "MatMul MatMulV2 BatchMatMul BatchMatMulV2 GEMM",
    "conv": "Conv2D DepthwiseConv2D FusedConv2D_BiasAdd_ReLU",
    "conv_more": "Conv3D Conv2DV2 Conv3DV2 ExtendConv2D Correlation",
    "conv_transpose": "Conv2DTranspose Conv2DTransposeD Conv3DTranspose Conv3DTransposeD "
    "Conv3DTransposeV2 Deconvolution Conv2DBackpropInput Conv2DBackpropInputD "
    "Conv3DBackpropInput Conv3DBackpropInputD Conv3DBackpropInputV2 "
    "DepthwiseConv2DBackpropInput DepthwiseConv2DBackpropInputD",
    "conv_gradient": "Conv2DBackpropFilter Conv2DBackpropFilterD Conv3DBackpropFilter "
    "Conv3DBackpropFilterD Conv3DBackpropFilterV2 DepthwiseConv2DBackpropFilter "
    "DepthwiseConv2DBackpropFilterD",
    "pool": "MaxPool MaxPoolV3 AvgPool AvgPoolV2 GlobalAveragePool",
    "grid": "GridSample GridSampler2D GridSampler3D AffineGrid",
    "conv_deform": "DeformableOffsets DeformableConv2D",
    "rnn": "DynamicRNN DynamicRNNV2 DynamicRNNV3 BasicLSTMCell LSTMP",
    "rnn_gru": "DynamicGRUV2 DynamicAUGRU",
    "rnn_onnx": "CommonLSTM CommonGRU",
    "boxes": "Iou BoundingBoxEncode BoundingBoxDecode DecodeBboxV2 YoloBoxesEncode "
    "AnchorResponseFlags",
    "nms": "NonMaxSuppressionV4 NonMaxSuppressionV6 CombinedNonMaxSuppression NMSWithMask",
    "roi": "ROIAlign ROIPooling",
    "resize": "Resize ResizeBilinearV2 ResizeBilinearV2D ResizeNearestNeighborV2 "
    "ResizeNearestNeighborV2D ResizeNearestNeighborV2Grad KeepRatioResizeBilinear ResizeBicubic",
    "pool_3d": "MaxPool3D AvgPool3D AvgPool3DD AvgPool1D AvgPool1DD Pooling GlobalLpPool SPP",
    "pool_argmax": "MaxPoolWithArgmax MaxPoolWithArgmaxV3 MaxPoolGradWithArgmaxV3",
    "pool_adaptive": "AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool2d AdaptiveMaxPool3d "
    "AdaptiveAvgPool2dGrad",
    "pool_gradient": "AvgPoolGrad AvgPoolV2Grad AvgPoolV2GradD AvgPool3DGrad AvgPool3DGradD",
    "norm": "BatchNorm BNInference LayerNorm LayerNormV3 InstanceNorm",
    "shape": "Reshape Flatten FlattenV2 Squeeze SqueezeV3 Unsqueeze UnsqueezeV3 ExpandDims "
    "Transpose TransposeD Shape Size Rank Expand BroadcastTo Tile",
    "concat": "Concat ConcatV2 ConcatD ConcatV2D Split SplitD SplitV Pack Unpack",
    "slice": "Slice SliceD StridedSlice StridedSliceV2 Pad PadV3",
    "index": "GatherV2 GatherElements OneHot Where NonZero Fill Range",
    "control": "If While PartitionedCall StatelessIf _If Case StatelessCase StatelessWhile For "
    "StatefulPartitionedCall",
    "bitwise": "BitwiseAnd BitwiseOr BitwiseXor BitwiseNot Invert InvertV2 LeftShift RightShift "
    "PopulationCount Signbit SignBitsPack SignBitsUnpack CompareAndBitpack Bitcast",
    "arg": "ArgMaxV2 ArgMin ArgMaxD ArgMinD ArgMaxWithValue ArgMinWithValue ArgMaxGrad "
    "ArgMaxGradD HardMax",
    "sort": "Sort SortV2 SortWithIndex TopK TopKV2 TopKD TopKV2D NthElement InTopK InTopKD "
    "InTopKV2",
    "search": "SearchSorted LowerBound UpperBound Bucketize BucketizeV2 Histogram HistogramV2 "
    "HistogramFixedWidth HistogramFixedWidthD Bincount DenseBincount ConfusionMatrix",
    "unique": "MaskedSelect MaskedSelectV2 Unique UniqueWithCounts UniqueExt2 "
    "UniqueWithCountsExt2 UniqueConsecutive UniqueWithCountsAndSorting ListDiff "
    "InvertPermutation",
    "scatter_nd": "ScatterNd ScatterNdD ScatterNdUpdate ScatterNdAdd ScatterNdSub ScatterNdMax "
    "ScatterNdMin TensorScatterUpdate TensorScatterAdd TensorScatterSub TensorScatterMax "
    "TensorScatterMin ScatterNonAliasingAdd",
    "scatter": "ScatterUpdate ScatterAdd ScatterSub ScatterMul ScatterDiv ScatterMax ScatterMin "
    "ScatterElements ScatterElementsV2 MaskedScatter IndexAdd InplaceIndexAdd IndexFill "
    "InplaceIndexFill",
    "inplace": "InplaceUpdate InplaceAdd InplaceSub InplaceUpdateD InplaceAddD InplaceSubD",
    "gather": "GatherNd GatherV2D Gather Embedding EmbeddingDenseGrad GatherShapes Index "
    "IndexPutV2 SparseToDense SparseTensorDenseAdd DynamicPartition",
    "segment": "UnsortedSegmentSum UnsortedSegmentProd UnsortedSegmentMax UnsortedSegmentMin "
    "UnsortedSegmentSumD UnsortedSegmentProdD UnsortedSegmentMaxD UnsortedSegmentMinD "
    "SegmentSum SegmentMax",
    "cumulative": "Cumsum CumsumD Cumprod CumprodD CumulativeLogsumexp CumulativeLogsumexpD",
    "diagonal": "Diag DiagD DiagPart DiagPartD DiagFlat DiagV2 MatrixDiag MatrixDiagD "
    "MatrixDiagPart MatrixDiagPartD MatrixSetDiag MatrixSetDiagD Tril Triu Trilu MatrixBandPart "
    "Eye FillDiagonal",
    "linalg": "MatrixDeterminant LogMatrixDeterminant Slogdet MatrixInverse Cholesky MatrixSolve "
    "MatrixTriangularSolve Trace Dot Ger Cross Einsum LpNorm LpNormV2 L2Loss",
    "statistics": "ReduceLogSum ReduceLogSumExp EuclideanNorm EuclideanNormD ReduceMeanWithCast "
    "SquareSumV1 SquareSumV2 SquareSumAll ReduceMeanVariance ReduceStd ReduceStdV2 ReduceVar",
    "loss": "SoftmaxCrossEntropyWithLogits SparseSoftmaxCrossEntropyWithLogits "
    "SigmoidCrossEntropyWithLogits SigmoidCrossEntropyWithLogitsV2 SmoothL1Loss SmoothL1LossV2 "
    "MseLoss LpLoss SoftMarginLoss BinaryCrossEntropy KLDivV2 PoissonNllLoss NLLLoss "
    "SoftmaxCrossEntropyLoss",
    "rearrange": "Roll ReverseV2 ReverseV2D ReverseSequence RepeatInterleave SpaceToDepth "
    "DepthToSpace",
    "space_batch": "SpaceToBatch SpaceToBatchD SpaceToBatchND SpaceToBatchNDD BatchToSpace "
    "BatchToSpaceD BatchToSpaceND BatchToSpaceNDD",
    "maths": "Acos Asin Tan Rint Sinc Trunc NanToNum IsPosInf IsNegInf Xlogy Xdivy MulNoNan "
    "TruncateMod Atan2 Gcd IsClose ApproximateEqual Eltwise FusedMulAddAdd FusedMulAddN "
    "ClipByValueV2",
    "random": "RandomUniform RandomStandardNormal TruncatedNormal RandomUniformInt RandomShuffle "
    "Multinomial DropOutGenMask StatelessDropOutGenMask StatelessRandomUniformV2 "
    "StatelessRandomNormalV2 StatelessBernoulli",
    "layout": "TransData",
    "rms_norm": "RmsNorm RmsNormGrad AddRmsNorm InplaceAddRmsNorm FusedAddRmsNorm AddRmsNormCast "
    "AddRmsNormQuant AddRmsNormDynamicQuant AddRmsNormDynamicQuantV2 MultiAddRmsNormDynamicQuant "
    "RmsNormDynamicQuant",
    "layer_norm": "LayerNormV4 AddLayerNorm InplaceAddLayerNorm DeepNorm LayerNormXBackprop "
    "LayerNormXBackpropV2 LayerNormGrad LayerNormBetaGammaBackpropV2 MVNV2 "
    "LayerNormBetaGammaBackprop",
    "batch_norm": "BNInfer BNInferenceD BatchNorm3D BNTrainingReduce BN3DTrainingReduce "
    "BNTrainingUpdate BN3DTrainingUpdate BNTrainingUpdateV2 BNTrainingUpdateV3 BNInferGrad "
    "BNTrainingUpdateGrad BN3DTrainingUpdateGrad BNTrainingReduceGrad BN3DTrainingReduceGrad",
    "group_norm": "GroupNorm GroupNormV2 GroupNormRelu GroupNormSilu GroupNormSwish "
    "INTrainingReduceV2 INTrainingUpdateV2 INInferV2 L2Normalize Normalize LRN Scale Bias",
    "gradients": "SqrtGrad RsqrtGrad ReciprocalGrad AsinGrad AcosGrad AtanGrad AsinhGrad "
    "AcoshGrad AbsGrad SigmoidGrad TanhGrad InvGrad SoftmaxGrad LogSoftmaxGrad SoftmaxGradExt "
    "ConfusionSoftmaxGrad ConfusionMulGrad BiasAddGrad MaximumGrad MinimumGrad",
    "activation_grad": "ReluGrad Relu6Grad LeakyReluGrad SoftplusGrad SoftsignGrad "
    "ThresholdGradV2D HardShrinkGrad SoftShrinkGrad LogSigmoidGrad HardSigmoidGrad HardSwishGrad "
    "HardtanhGrad EluGrad EluGradV2 SeluGrad LogitGrad SiluGrad FastGeluGrad GeluGradV2 GeluGrad "
    "SwishGrad MishGrad PReluGrad",
    "gated": "SwiGlu GLU SwiGluGrad GLUGrad GeGluV2 GeGluGradV2 GeluMul SiluMul HardShrink "
    "SoftShrink Shrink Threshold ThresholdV2D ThresholdedRelu LogSigmoid SquaredRelu CeluV2 "
    "HardSwishV2 SoftplusV2 SoftplusV2Grad Logit FastGeluV2 Inv",
    "dropout": "Dropout DropOutDoMask DropOutDoMaskV3 DropOutDoMaskV3D "
    "SoftmaxV2WithDropOutDoMaskV3D AxpyWithSoftmaxAndDropOutDoMask ScaledMaskedSoftmax "
    "MaskedScale MaskedSoftmaxWithRelPosBias",
    "quant": "AscendQuant AscendQuantV2 AscendDequant AscendRequant AscendDequantS16 "
    "AscendAntiQuant AscendAntiQuantV2 AscendWeightQuant Quantize Dequantize TransQuantParamV2 "
    "DequantBias",
    "dynamic_quant": "GroupQuant DynamicQuant DynamicQuantV2 SwiGluQuant DequantSwigluQuant",
    "fake_quant": "FakeQuantWithMinMaxArgs FakeQuantWithMinMaxArgsGradient "
    "FakeQuantWithMinMaxVars FakeQuantWithMinMaxVarsGradient FakeQuantWithMinMaxVarsPerChannel "
    "FakeQuantWithMinMaxVarsPerChannelGradient",
    "fused_matmul": "MatMulV3 BatchMatMulV3 FusedMatMul TransposeBatchMatMul FullyConnection",
    "quant_matmul": "QuantBatchMatmulV3 WeightQuantBatchMatmulV2",
    "grouped_matmul": "GroupedMatmul FFN",
    "attention": "FlashAttentionScore PromptFlashAttention IncreFlashAttention "
    "FusedInferAttentionScore",
    "rotary": "RotaryMul RotaryMulGrad RotaryPositionEmbedding ApplyRotaryPosEmb InterleaveRope "
    "KvRmsNormRopeCache",
    "moe": "MoeGatingTopKSoftmax MoeGatingTopKSoftmaxV2 MoeGatingTopK MoeInitRouting "
    "MoeInitRoutingQuant MoeComputeExpertTokens MoeFinalizeRouting MoeFinalizeRoutingV2",
    "unfold": "Im2col Col2im Col2ImV2",
}
"""Family file -> the op types it defines, space-separated."""

_FAMILY_OF: dict[str, str] = {op: family for family, ops in FAMILIES.items() for op in ops.split()}
_CLASSES: dict[str, type[GeOp]] = {}


def op_class(op_type: str) -> type[GeOp] | None:
    """The class of a GE op type, None for a type that GE does not have."""
    found = _CLASSES.get(op_type)
    if found is not None:
        return found
    family = _FAMILY_OF.get(op_type)
    if family is not None:
        _load_family(family)
        return _CLASSES[op_type]
    from ge_xdsl.dialects.ge.prototypes import prototype_of

    proto = prototype_of(op_type)
    return None if proto is None else register(class_of_prototype(proto))


def register(cls: type[GeOp]) -> type[GeOp]:
    """Make an op class known by its type (also for ops that users define)."""
    _CLASSES[cls.prototype.op_type] = cls
    return cls


def class_of_prototype(proto: Prototype) -> type[GeOp]:
    """A class for an op that is known only by its prototype: no `infer`, no `evaluate`."""
    return type(f"{proto.op_type}Op", (GeOp,), {"name": f"ge.{proto.op_type}", "prototype": proto})


def family_of(op_type: str) -> str | None:
    """The family file that defines an op type, None for one known by prototype only."""
    return _FAMILY_OF.get(op_type)


def typed_ops() -> list[str]:
    """The op types with a typed class, in the order of `FAMILIES`."""
    return list(_FAMILY_OF)


def load_all() -> list[type[GeOp]]:
    """Every typed class (imports all families)."""
    for family in FAMILIES:
        _load_family(family)
    return [_CLASSES[op] for op in _FAMILY_OF]


def _load_family(family: str) -> None:
    module = import_module(f"ge_xdsl.dialects.ge.{family}")
    for value in vars(module).values():
        if isinstance(value, type) and issubclass(value, GeOp) and "name" in value.__dict__:
            _CLASSES.setdefault(value.prototype.op_type, value)


def unknown_op(name: str) -> tuple[str, str]:
    """Subject and message of the error for an op that no dialect has."""
    from ge_xdsl.dialects.ge.prototypes import known_ops

    op_type = name.removeprefix("ge.")
    hint = nearest(op_type, [*_FAMILY_OF, *known_ops()])
    return name, f"is no known op, expected a GE op type{hint}"
