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
    "control": "If Loop Scan",
    "conv": "Conv ConvInteger ConvTranspose DeformConv",
    "cumulative": "CumProd CumSum",
    "data": "Constant Dropout Identity OptionalGetElement OptionalHasElement",
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
