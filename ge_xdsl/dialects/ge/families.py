"""Which file of this folder holds the typed class of which op.

Every other public GE op is known by its row of the prototype table only.
"""

from __future__ import annotations

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
    "conv_more": "Conv3D Conv2DV2 Conv3DV2 ExtendConv2D Correlation QuantConv2D",
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
    "norm": "BatchNorm BNInference LayerNorm LayerNormV3 InstanceNorm InstanceNormV2",
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
    "SegmentSum SegmentMax"
    " SparseSegmentMean",
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
    "MseLoss LpLoss SoftMarginLoss BinaryCrossEntropy KLDiv KLDivV2 PoissonNllLoss NLLLoss "
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
    "LayerNormBetaGammaBackprop LNDropoutGrad",
    "batch_norm": "BNInfer BNInferenceD BatchNorm3D BNTrainingReduce BN3DTrainingReduce "
    "BNTrainingUpdate BN3DTrainingUpdate BNTrainingUpdateV2 BNTrainingUpdateV3 BNInferGrad "
    "BNTrainingUpdateGrad BN3DTrainingUpdateGrad BNTrainingReduceGrad BN3DTrainingReduceGrad"
    " BatchNormV3",
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
    "flash_attention": "FlashAttentionScore",
    "attention": "PromptFlashAttention IncreFlashAttention FusedInferAttentionScore",
    "rotary": "RotaryMul RotaryMulGrad RotaryPositionEmbedding ApplyRotaryPosEmb InterleaveRope "
    "KvRmsNormRopeCache",
    "moe": "MoeGatingTopKSoftmax MoeGatingTopKSoftmaxV2 MoeGatingTopK MoeInitRouting "
    "MoeInitRoutingQuant MoeComputeExpertTokens MoeFinalizeRouting MoeFinalizeRoutingV2",
    "unfold": "Im2col Col2im Col2ImV2",
    "second_forms": "AddV2 SubV2 MulV2 MaximumV2 CeilV2 SquareV2 TanV2 TruncV2 Log1pV2 Erfinv "
    "AxpyV1 AxpyV2 AxpyV3 FusedMulAddNL2loss ReluV2 ReluGradV2 Cummax Cummin Complex AdaCast "
    "TransArgb BlendFaceBgPartTwo ContinuationIndicator",
    "state": "Assign AssignAdd AssignSub AssignVariableOp ApplyMomentum ApplyKerasMomentum "
    "FusedMulApplyMomentumExtern ApplyAdam ApplyAdamD ApplyAdamWithAmsgrad LarsV2 LarsV2Update",
    "collective": "HcomAllReduce HcomReduce HcomAllGather HcomReduceScatter HcomBroadcast HcomSend "
    "HcomReceive HcomAllToAll HcomAllToAllV",
    "frames": "Switch RefSwitch Merge RefMerge Enter Exit NextIteration LoopCond",
    "norm_gradient": "BatchNormGrad BatchNorm3DGrad InstanceNormGrad INTrainingUpdateGrad "
    "INTrainingReduceGrad INTrainingUpdateGradGammaBeta INInferV2D NormalizeV2",
    "sequences": "DynSeqOuter MovingSumWithSigmoid ArgMaxWithK NonZeroWithValue RaggedBinCount "
    "MapIndex SortedSparseSegmentMeanGrad SubSampleLabels SubSample",
    "nms_forms": "NonMaxSuppression NonMaxSuppressionV2 NonMaxSuppressionV3 NonMaxSuppressionV5 "
    "NonMaxSuppressionV7 RotatedNMS BatchMultiClassNonMaxSuppression DIoU CIoU GIoU "
    "RotatedOverlaps RotatedIou",
    "detection": "Yolo YoloPreDetection YoloV2DetectionOutput YoloV2DetectionOutputD "
    "YoloV3DetectionOutput YoloV3DetectionOutputD YoloV3DetectionOutputV2 YoloV3DetectionOutputV2D "
    "YoloV5DetectionOutput YoloV5DetectionOutputD YoloxBoundingBoxDecode GridAssignPositive "
    "Proposal ProposalD RpnProposalsD RpnProposalPostProcessing PriorBox PriorBoxDV2",
    "attention_parts": "AttentionScore SwinAttentionScore AttentionLnQKV AttentionQKVGradW "
    "AttentionQKVGradX SwinTransformerLnQKV SwinAttentionFFN MultiHeadAttention "
    "MultiHeadAttentionGrad",
    "cache": "Scatter QuantUpdateScatter MoeInitRoutingV3 MoeInitRoutingQuantV2",
    "vision": "DeformableOffsetsGrad MaxPool3DGradGrad AvgPoolGradD RoiAlignRotated RoiExtractor "
    "PSROIPoolingV2 CTCLoss ResizeNearestNeighborV2GradD IMGWarp Remap SpatialTransformerD "
    "PassThrough TopKPQDistance ScanPQCodes",
    "handles": "Data RefData FileConstant SequenceConstruct SequenceEmpty SequenceAt "
    "SequenceInsert SequenceErase SequenceLength ConcatFromSequence SplitToSequence"
    " Variable Batch Compress",
    "recurrent_shapes": "DynamicRNNGrad DynamicRNNV2Grad DynamicGRUV2Grad DynamicAUGRUGrad RNN "
    "LSTM BasicRNNCell DynamicLSTMV2",
    "packed": "Clip FullyConnectionCompress MatMulV2Compress AscendRequantS16 "
    "DynamicQuantUpdateScatterV2 StatelessBernoulliV2 Bernoulli DropOutV3 "
    "BasicGRUInplaceFillWindowCache BasicLSTMInplaceFillWindowCache",
    "static_shape": "SqueezeV2 UnsqueezeV2 ExpandD BroadcastToD TileD Permute ConfusionTransposeD "
    "ConfusionTranspose SplitVD PhonyConcat PhonySplit Copy",
    "static_fill": "FillD FillV2D FillV2 Empty RangeD LinSpace LinSpaceD OneHotD",
    "static_slice": "StridedSliceD StridedSliceGrad StridedSliceGradD SliceDV2 StridedSliceV3 PadD "
    "PadV2 PadV2D PadV3D MirrorPad PadV3Grad",
    "patches": "ExtractImagePatches Mask2Argmax PSROIPooling Upsample ResizeD ResizeGradD STFT",
    "molecules": "TabulateFusion TabulateFusionGrad ProdEnvMatA ProdForceSeA ProdVirialSeA",
    "diagonal_band": "MatrixDiagV2",
    "words": "StringNormalizer TfIdfVectorizer",
}
"""Family file -> the op types it defines, space-separated."""
