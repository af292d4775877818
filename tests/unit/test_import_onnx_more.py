"""Converters against onnxruntime where the node tests of the onnx package do not reach: constant
operands, old opsets, and what only some attributes bring about."""

import numpy as np
import pytest
from onnx_graphs import build, case, check, f32, i64

X = f32(2, 3, 4)
INFINITE = np.array([np.inf, -np.inf, 1], np.float32)
IMAGE = f32(2, 4, 9, 8)
ROW = f32(2, 4, 9)
VOLUME = f32(1, 2, 5, 6, 4)
BYTES = np.random.default_rng(1).integers(0, 255, (2, 4, 9, 8)).astype(np.uint8)
SEQUENCE = f32(5, 3, 4, low=-1, high=1)
LENGTHS = np.array([5, 2, 4], np.int32)


def u8(number):
    return np.array(number, np.uint8)


def weights(gates, directions, bias=True, peepholes=False):
    """W, R, B, sequence lengths and initial states of a recurrence of 2 hidden values."""
    rows = gates * 2
    found = [f32(directions, rows, 4, seed=1), f32(directions, rows, 2, seed=2)]
    found.append(f32(directions, 2 * rows, seed=3) if bias else None)
    found += [LENGTHS, f32(directions, 3, 2, seed=4)]
    if gates == 4:
        found.append(f32(directions, 3, 2, seed=5))
        if peepholes:
            found.append(f32(directions, 6, seed=6))
    return found


CASES = [
    *(
        case(op, [np.abs(X) + 0.1], opsets, axes=[1], keepdims=keep)
        for op in ("ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp")
        for opsets in ([7, 11, 13],)
        for keep in (0, 1)
    ),
    *(
        case(op, [np.abs(X) + 0.1, i64(0, -1)], [18], consts=(1,))
        for op in ("ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp")
    ),
    case("ReduceL1", [i64(3, -4), i64(0)], [18], consts=(1,)),
    case("ReduceL2", [i64(3, -4).astype(np.int32), i64(0)], [18], consts=(1,)),
    *(case(op, [X * 0.3], [7]) for op in ("Acos", "Asin", "Atan", "Tan")),
    case("Acosh", [np.abs(X) + 1.5], [9]),
    *(case(op, [X * 0.3], [9]) for op in ("Asinh", "Atanh", "Cosh", "Sinh")),
    case("IsInf", [INFINITE], [10], detect_negative=0),
    case("IsInf", [INFINITE], [10], detect_positive=0),
    case("IsInf", [INFINITE], [10], detect_positive=0, detect_negative=0),
    case("Selu", [X], [7], alpha=1.5, gamma=2.0),
    case("Selu", [X], [7]),
    case("PRelu", [IMAGE, f32(4, 1, 1)], [7, 9, 16], consts=(1,)),
    case("PRelu", [IMAGE, f32(1)], [9], consts=(1,)),
    case("PRelu", [IMAGE, f32(8)], [9], consts=(1,)),
    case("Shrink", [i64(-3, 0, 2, 3).astype(np.int32)], [9], bias=1.0, lambd=2.0),
    case("ThresholdedRelu", [X], [10], alpha=0.5),
    case("Celu", [X], [12], alpha=0.5),
    case("Mod", [i64(7, -7, 5), i64(3, 3, -3)], [10, 13]),
    case("Mod", [i64(7, -7, 5), i64(3, 3, -3)], [13], fmod=1),
    case("Mean", [X, f32(4)], [8, 13]),
    case("Mean", [X], [8]),
    case("Clip", [X, np.float32(1), np.float32(-1)], [11, 13], consts=(1, 2)),
    case("Clip", [X, np.float32(1), np.float32(-1)], [13]),
    case("BitShift", [u8([1, 8, 255]), u8([1, 2, 7])], [11], direction="LEFT", consts=(1,)),
    case("BitShift", [u8([1, 8, 255]), u8([1, 2, 7])], [11], direction="RIGHT"),
    case("Xor", [X > 0, f32(4) > 0], [7]),
    case("ArgMax", [np.rint(X)], [12, 13], axis=1, select_last_index=1),
    case("ArgMin", [np.rint(X)], [12], axis=2, keepdims=0, select_last_index=1),
    case("ArgMax", [X], [7, 11], axis=-1),
    case("Hardmax", [X], [7, 11], axis=1),
    case("Hardmax", [X], [13], axis=1),
    case("TopK", [X], [7], outputs=2, k=2, axis=1),
    case("TopK", [X, i64(2)], [10, 11], outputs=2, axis=2, consts=(1,)),
    case("TopK", [X, i64(2)], [11], outputs=2, largest=0),
    case("Slice", [X, i64(-9), i64(-20), i64(1), i64(-1)], [11], consts=(1, 2, 3, 4)),
    case("Slice", [X, i64(-9, 1), i64(-20, 9), i64(0, 2), i64(-1, 1)], [11]),
    case("Slice", [X, i64(-9), i64(-20), None, i64(-1)], [11], consts=(4,)),
    case("ScatterElements", [X, np.array([[[1, -1]]]), f32(1, 1, 2)], [11, 13], axis=2),
    *(
        case(
            "ScatterElements", [X, np.array([[[1, 1]], [[0, -1]]]), f32(2, 1, 2)], [18], axis=2,
            reduction=reduction,
        )
        for reduction in ("add", "mul", "max", "min")
    ),
    case("ScatterND", [X, np.array([[1, -1], [0, 0]]), f32(2, 4)], [11, 13]),
    *(
        case(
            "ScatterND", [X, np.array([[1, 2], [1, 2]]), f32(2, 4)], [18], consts=(1,),
            reduction=reduction,
        )
        for reduction in ("add", "mul", "max", "min")
    ),
    case("GatherND", [X, np.array([[[1]], [[-1]]])], [12, 13], batch_dims=1),
    case("GatherND", [X, np.array([[1, -1], [0, 2]])], [11]),
    case("OneHot", [i64(1, -1, 9), i64(4), f32(2)], [9, 11], axis=0),
    case("OneHot", [f32(2, 3, low=0, high=3) // 1, np.float32(4), f32(2)], [11], axis=-2),
    case("Compress", [X, np.array([True, False, True])], [9, 11], axis=1),
    case("EyeLike", [f32(3, 4)], [9], k=-1, dtype=7),
    case("NonZero", [np.rint(X)], [9, 13]),
    case("CumSum", [X, np.int32(1)], [11, 14], exclusive=1, reverse=1),
    case("Trilu", [X, np.int64(1)], [14], upper=0, consts=(1,)),
    case("Einsum", [f32(2, 3, 4), f32(4, 5)], [12], equation="bij,jk"),
    case("Einsum", [f32(2, 3, 4), f32(2, 4, 5)], [12], equation="...ij, ...jk -> ...ik"),
    case("Det", [f32(2, 3, 3)], [11]),
    case("LRN", [IMAGE], [7, 13], size=3, alpha=0.5, beta=0.6, bias=2.0),
    case("LpNormalization", [X], [7], axis=1, p=1),
    case("MeanVarianceNormalization", [IMAGE], [9, 13]),
    case("GlobalLpPool", [IMAGE], [7], p=3),
    case("LpPool", [IMAGE], [7, 11], kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1], p=3),
    case("MaxPool", [VOLUME], [8, 12], kernel_shape=[2, 3, 2], strides=[2, 1, 2]),
    case("MaxPool", [IMAGE], [12], kernel_shape=[2, 3], dilations=[2, 1], pads=[1, 1, 1, 1]),
    case("MaxPool", [ROW], [12], kernel_shape=[3], dilations=[2]),
    case("MaxPool", [IMAGE], [8, 12], outputs=2, kernel_shape=[2, 2], strides=[2, 2]),
    case("AveragePool", [VOLUME], [7, 19], kernel_shape=[2, 3, 2], pads=[1, 1, 0, 0, 1, 1]),
    case("AveragePool", [IMAGE], [19], kernel_shape=[3, 3], dilations=[2, 1], pads=[1, 1, 2, 0]),
    case("AveragePool", [ROW], [19], kernel_shape=[3], dilations=[2], count_include_pad=1),
    case("Conv", [VOLUME, f32(4, 2, 2, 3, 2), f32(4)], [7, 11], pads=[1, 0, 1, 0, 1, 1]),
    case("ConvTranspose", [IMAGE, f32(4, 3, 3, 2), f32(6)], [7, 11], group=2, strides=[2, 3]),
    case("ConvTranspose", [ROW, f32(4, 3, 3)], [11], strides=[2], output_padding=[1], pads=[1, 0]),
    case("ConvTranspose", [VOLUME, f32(2, 3, 2, 2, 2)], [11], dilations=[1, 2, 1]),
    case("ConvTranspose", [IMAGE, f32(4, 3, 3, 2)], [11], strides=[2, 2], output_shape=[18, 17]),
    *(
        case("ConvTranspose", [IMAGE, f32(4, 3, 3, 2)], [11], strides=[2, 2], auto_pad=mode)
        for mode in ("SAME_UPPER", "SAME_LOWER")
    ),
    case("ConvInteger", [BYTES, np.rint(f32(3, 4, 3, 3)).astype(np.uint8), u8(7), u8(1)], [10]),
    case(
        "QLinearConv",
        [
            BYTES, np.float32(0.02), u8(3), BYTES[:, :, :3, :3].reshape(2, 4, 3, 3),
            f32(2, low=0.01, high=0.05), u8([1, 2]), np.float32(9), u8(100),
            np.array([5, -9], np.int32),
        ],
        [10], consts=tuple(range(1, 9)), group=1,
    ),
    case(
        "MatMulInteger", [BYTES[0, 0], BYTES[0, 1].T.copy(), u8(3), u8(range(9))], [10],
        consts=(1, 2, 3),
    ),
    case("QuantizeLinear", [X, f32(3, low=0.01, high=0.1), u8([1, 2, 3])], [13, 19], axis=1),
    case("QuantizeLinear", [X, np.float32(0.1)], [10, 13]),
    case("DequantizeLinear", [BYTES, f32(4), u8(range(4))], [13, 19], axis=1),
    case("DequantizeLinear", [BYTES, np.float32(0.1)], [10]),
    case("DynamicQuantizeLinear", [X], [11], outputs=3),
    case("Upsample", [IMAGE], [7], scales=[1.0, 1.0, 2.0, 3.0]),
    case("Upsample", [IMAGE, np.array([1, 1, 2, 2], "f4")], [9], mode="linear", consts=(1,)),
    case("Resize", [IMAGE, np.array([1, 1, 2, 2], "f4")], [10], consts=(1,)),
    *(
        case(
            "Resize", [IMAGE, f32(0), np.array([1, 1, 2, 2], "f4")], [11, 13], consts=(1, 2),
            mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode=rounding,
        )
        for rounding in ("floor", "round_prefer_floor")
    ),
    case(
        "Resize", [IMAGE, None, None, i64(2, 4, 12, 5)], [13], consts=(3,), mode="linear",
        coordinate_transformation_mode="pytorch_half_pixel",
    ),
    case("Resize", [IMAGE, None, None, i64(2, 4, 12, 5)], [13], consts=(3,), mode="cubic"),
    case("Resize", [ROW[0], None, None, i64(8, 3)], [13], consts=(3,), mode="linear"),
    case("Resize", [ROW[0], None, np.array([2, 0.5], "f4")], [13], consts=(2,), mode="linear"),
    case("GridSample", [IMAGE, f32(2, 3, 5, 2, low=-1.2, high=1.2)], [16], mode="bilinear"),
    case("DepthToSpace", [IMAGE], [11, 13], blocksize=2),
    case("DepthToSpace", [IMAGE], [11], blocksize=2, mode="CRD"),
    case("SpaceToDepth", [IMAGE[:, :, :8]], [7, 13], blocksize=2),
    case("ReverseSequence", [f32(4, 3), i64(1, 2, 4)], [10], time_axis=0, batch_axis=1),
    case("Unique", [i64(3, 1, 3, 2, 1)], [11], outputs=4, sorted=0),
    case("Unique", [i64(3, 1, 3, 2, 1)], [11], outputs=4),
    case("MaxRoiPool", [IMAGE, np.array([[0, 1, 1, 6, 7], [1, 0, 2, 5, 5]], "f4")], [7],
         pooled_shape=[2, 2]),
    *(
        case(op, [SEQUENCE, *weights(gates, count)], [7, 14], outputs=outputs, hidden_size=2,
             direction=direction)
        for op, gates, outputs in (("RNN", 1, 2), ("GRU", 3, 2), ("LSTM", 4, 3))
        for direction, count in (("forward", 1), ("reverse", 1), ("bidirectional", 2))
    ),
    case("GRU", [SEQUENCE, *weights(3, 2)], [14], outputs=2, hidden_size=2, linear_before_reset=1,
         direction="bidirectional"),
    case("LSTM", [SEQUENCE, *weights(4, 1, peepholes=True)], [14], outputs=3, hidden_size=2),
    case("LSTM", [SEQUENCE, *weights(4, 1, bias=False)], [14], outputs=3, hidden_size=2,
         activations=["HardSigmoid", "ScaledTanh", "LeakyRelu"], activation_alpha=[0.3, 0.9, 0.2],
         activation_beta=[0.4, 0.8], clip=0.7),
    case("RNN", [SEQUENCE, *weights(1, 2)], [14], outputs=2, hidden_size=2,
         direction="bidirectional", activations=["ThresholdedRelu", "Affine"],
         activation_alpha=[0.2, 0.5], activation_beta=[0.25]),
    case("RNN", [SEQUENCE, *weights(1, 1, bias=False)[:2]], [14], outputs=2, hidden_size=2,
         activations=["Softsign"]),
    case("RNN", [SEQUENCE, *weights(1, 1)[:3]], [14], outputs=2, hidden_size=2,
         activations=["Elu"], activation_alpha=[0.5]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("case", "opset"),
    [
        pytest.param(c[:-1], opset, id=f"{i}-{c[-1]}-{opset}")
        for i, c in enumerate(CASES)
        for opset in c[2]
    ],
)
def test_op(case, opset):
    op, operands, _, outputs, consts, attrs = case
    made, inputs = build(op, operands, opset, outputs, consts, attrs)
    check(made, inputs)
