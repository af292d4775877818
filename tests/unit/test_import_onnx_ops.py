"""Each ONNX converter against onnxruntime, at every opset that changed the op."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx_graphs import build, case, check, f32, i64, imported

from ge_xdsl.dialects.ge.graph import ge_ops

X = f32(2, 3, 4)
IMAGE = f32(2, 4, 9, 8)
ROW = f32(2, 4, 9)


def const(name, array):
    return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(array, name))


UNARY = "Abs Ceil Cos Erf Exp Floor HardSwish Neg Reciprocal Relu Round Sigmoid Sign Sin Softplus"
BINARY = "Add Sub Mul Div Pow Max Min Sum"

CASES = [
    *(case(op, [X], [14, 18]) for op in UNARY.split()),
    *(case(op, [np.abs(X) + 0.1], [7, 13]) for op in ("Log", "Sqrt")),
    case("Tanh", [X], [7, 13, 18]),
    case("Identity", [X], [7, 14, 19]),
    *(case(op, [np.abs(X) + 0.5, f32(3, 1, low=0.5)], [8, 14]) for op in BINARY.split()),
    case("Div", [i64(7, -7, 8), i64(2, 2, -3)], [7, 14]),
    case("Pow", [np.abs(X), i64(2)], [12, 15]),
    case("Max", [X, f32(4), f32(3, 4, seed=1)], [8, 13]),
    case("Max", [X], [8, 13]),
    case("Sum", [X, f32(4), f32(3, 4, seed=1)], [8, 13]),
    case("Sum", [X, X + 1, X + 2], [8, 13]),
    *(
        case(op, [np.rint(X), np.rint(f32(2, 3, 4, seed=1))], opsets)
        for op, opsets in (
            ("Greater", [9, 13]),
            ("Less", [9, 13]),
            ("Equal", [11, 13, 19]),
            ("GreaterOrEqual", [12, 16]),
            ("LessOrEqual", [12, 16]),
        )
    ),
    case("And", [X > 0, f32(4) > 0], [7]),
    case("Or", [X > 0, f32(4) > 0], [7]),
    case("Not", [X > 0], [7]),
    case("Where", [X > 0, X, f32(1)], [9, 16]),
    case("Clip", [X], [7], min=-1.0, max=0.5),
    case("Clip", [X], [7], min=0.0),
    case("Clip", [X, np.float32(-1), np.float32(1)], [11, 12, 13], consts=(1, 2)),
    case("Clip", [X, None, np.float32(1)], [11, 13], consts=(2,)),
    case("Clip", [X, np.float32(-1)], [11, 13], consts=(1,)),
    case("Clip", [X], [11, 13]),
    case("Cast", [X], [9, 13], to=TensorProto.INT32),
    case("Cast", [X], [9, 13, 19], to=TensorProto.FLOAT16),
    case("Cast", [X], [9, 13], to=TensorProto.BOOL),
    case("CastLike", [X, i64(1)], [15, 19]),
    case("LeakyRelu", [X], [7, 16]),
    case("LeakyRelu", [X], [16], alpha=0.25),
    case("Elu", [X], [7], alpha=0.5),
    case("HardSigmoid", [X], [7], alpha=0.3, beta=0.4),
    case("HardSigmoid", [X], [7]),
    case("Gelu", [X], [20]),
    case("Gelu", [X], [20], approximate="tanh"),
    *(
        case(op, [X], opsets, **attrs)
        for op in ("Softmax", "LogSoftmax")
        for opsets, attrs in (
            ([7, 11], {}),
            ([7, 11], {"axis": 0}),
            ([11], {"axis": -2}),
            ([7, 11], {"axis": 2}),
            ([13, 18], {}),
            ([13], {"axis": 0}),
        )
    ),
    case("MatMul", [f32(2, 3, 4), f32(4, 5)], [7, 13], consts=(1,)),
    case("MatMul", [f32(3, 4), f32(4, 5)], [9]),
    case("MatMul", [f32(4), f32(2, 4, 5)], [9]),
    case("MatMul", [f32(2, 3, 4), f32(4)], [9]),
    case("MatMul", [f32(4), f32(4, seed=1)], [9, 13]),
    case("Gemm", [f32(3, 4), f32(4, 5), f32(5)], [7, 9, 13], consts=(1, 2)),
    case(
        "Gemm", [f32(4, 3), f32(5, 4), f32(3, 1)], [9, 11],
        transA=1, transB=1, alpha=0.5, beta=2.0,
    ),
    case("Gemm", [f32(3, 4), f32(4, 5)], [11], alpha=0.5),
    case("Conv", [IMAGE, f32(6, 4, 3, 3)], [7, 11, 22], consts=(1,)),
    case(
        "Conv", [IMAGE, f32(6, 2, 3, 2), f32(6)], [11], consts=(1, 2), group=2, strides=[2, 1],
        pads=[1, 0, 2, 1], dilations=[1, 2], kernel_shape=[3, 2],
    ),
    case("Conv", [IMAGE, f32(8, 1, 3, 3)], [11], consts=(1,), group=4),
    *(
        case("Conv", [IMAGE, f32(6, 4, 3, 2)], [11], consts=(1,), auto_pad=mode, strides=[2, 2])
        for mode in ("SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET")
    ),
    case("Conv", [ROW, f32(6, 4, 3), f32(6)], [11], strides=[2], pads=[1, 2]),
    *(
        case(op, [IMAGE], opsets, kernel_shape=[3, 2], **attrs)
        for op, opsets in (("MaxPool", [8, 12]), ("AveragePool", [7, 11, 19]))
        for attrs in (
            {},
            {"strides": [2, 2], "pads": [1, 0, 1, 1]},
            {"strides": [2, 2], "auto_pad": "SAME_UPPER"},
            {"strides": [2, 2], "auto_pad": "SAME_LOWER"},
            {"auto_pad": "VALID"},
        )
    ),
    case("MaxPool", [IMAGE], [10, 12], kernel_shape=[2, 2], strides=[2, 3], ceil_mode=1),
    case("AveragePool", [IMAGE], [10], kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1),
    case("AveragePool", [IMAGE], [7], kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1),
    case("MaxPool", [ROW], [8, 12], kernel_shape=[3], strides=[2], pads=[1, 1]),
    case("AveragePool", [ROW], [7], kernel_shape=[2]),
    case("GlobalAveragePool", [IMAGE], [7]),
    case("GlobalMaxPool", [IMAGE], [7]),
    case(
        "BatchNormalization", [IMAGE, f32(4), f32(4), f32(4), f32(4, low=0.5)], [7, 9, 14, 15],
        consts=(1, 2, 3, 4), epsilon=1e-3,
    ),
    case("InstanceNormalization", [IMAGE, f32(4), f32(4)], [7]),
    case("LayerNormalization", [X, f32(4), f32(4)], [17], consts=(1, 2)),
    case("LayerNormalization", [X, f32(3, 4)], [17], axis=1),
    case("LayerNormalization", [X, f32(4), f32(4)], [17], outputs=3, epsilon=1e-2),
    *(
        case(op, [X], [7, 11, 13], **attrs)
        for op in ("ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd")
        for attrs in ({}, {"axes": [1]}, {"axes": [0, 2], "keepdims": 0})
    ),
    *(case(op, [X, i64(-1)], [18], consts=(1,)) for op in ("ReduceMean", "ReduceMax", "ReduceMin")),
    case("ReduceMean", [X], [18]),
    case("ReduceMax", [X > 1, i64(1)], [20], consts=(1,)),
    case("ReduceMin", [X < 1, i64(0, 2)], [20], consts=(1,), keepdims=0),
    case("ReduceSum", [X], [7, 11], axes=[-1]),
    case("ReduceSum", [X, i64(0, 1)], [13], consts=(1,), keepdims=0),
    case("ReduceSum", [X, i64(1)], [13]),
    case("ReduceSum", [X], [13], noop_with_empty_axes=1),
    case("ReduceSum", [X], [13]),
    case("Reshape", [X, i64(0, -1)], [7, 13, 14], consts=(1,)),
    case("Reshape", [X, i64(4, 6)], [7, 14], consts=(1,)),
    case("Reshape", [f32(0, 3), i64(3, 0)], [14], consts=(1,), allowzero=1),
    case("Flatten", [X], [9, 11]),
    case("Flatten", [X], [11, 13], axis=-1),
    case("Flatten", [X], [9], axis=0),
    case("Flatten", [X], [9], axis=3),
    case("Squeeze", [f32(1, 3, 1)], [7, 11], axes=[0]),
    case("Squeeze", [f32(1, 3, 1), i64(-1)], [13], consts=(1,)),
    case("Squeeze", [f32(1, 3, 1)], [7, 13]),
    case("Unsqueeze", [X], [7, 11], axes=[0, 4]),
    case("Unsqueeze", [X, i64(1, -1)], [13], consts=(1,)),
    case("Transpose", [X], [7, 13], perm=[2, 0, 1]),
    case("Transpose", [X], [7]),
    case("Shape", [X], [7, 13, 15]),
    case("Shape", [X], [15], start=1),
    case("Shape", [X], [15], start=-2, end=-1),
    case("Size", [X], [7, 13]),
    case("Expand", [f32(3, 1), i64(2, 1, 4)], [8, 13], consts=(1,)),
    case("Tile", [X, i64(1, 2, 3)], [7, 13], consts=(1,)),
    case("Concat", [X, X + 1], [7, 13], axis=-1),
    case("Concat", [X], [7], axis=1),
    case("Split", [X], [7, 11, 13], outputs=2, axis=2),
    case("Split", [X], [7, 11], outputs=2, axis=2, split=[1, 3]),
    case("Split", [X, i64(1, 3)], [13, 18], outputs=2, axis=-1, consts=(1,)),
    case("Split", [f32(7, 2)], [18], outputs=3, num_outputs=3),
    case("Slice", [X], [7, 9], starts=[1, -2], ends=[9, 3], axes=[1, 2]),
    case("Slice", [X], [9], starts=[0, 1], ends=[1, 2]),
    case("Slice", [X, i64(1), i64(9)], [10, 13], consts=(1, 2)),
    case(
        "Slice", [X, i64(-1, 0), i64(-9, 2), i64(2, 1), i64(-1, 1)], [10, 13],
        consts=(1, 2, 3, 4),
    ),
    case("Slice", [X, i64(-1), i64(-(2**63)), i64(-1), i64(-2)], [11]),
    case("Gather", [X, np.array([[0, 1]])], [7, 13], axis=1),
    case("Gather", [X, np.array(-1)], [11, 13], consts=(1,)),
    case("GatherElements", [X, np.zeros((2, 3, 2), np.int64)], [11, 13], axis=2),
    case("Pad", [X], [7], pads=[0, 1, 0, 0, 2, 1], value=0.5),
    case("Pad", [X], [7], pads=[0, 1, 0, 0, 1, 1], mode="reflect"),
    case("Pad", [X, i64(0, 1, 0, 0, 2, 1), np.float32(0.5)], [11, 13], consts=(1, 2)),
    case("Pad", [X, i64(0, 1, 0, 0, 2, 1)], [11, 19], consts=(1,), mode="edge"),
    case("Pad", [X, i64(1, 2), None, i64(-1)], [18, 19], consts=(1, 3)),
    case("ConstantOfShape", [i64(2, 3)], [9], consts=(0,)),
    case(
        "ConstantOfShape", [i64(2, 3)], [9, 20],
        value=numpy_helper.from_array(np.array([7], np.int64)),
    ),
    case("Range", [np.float32(1), np.float32(5), np.float32(1.5)], [11]),
    case("Range", [np.array(5), np.array(1), np.array(-2)], [11], consts=(0, 1, 2)),
    case("Dropout", [X], [7, 10, 12, 13]),
    case("Constant", [], [7, 13], value=numpy_helper.from_array(X)),
    case("Constant", [], [12], value_float=1.5),
    case("Constant", [], [12], value_floats=[1.5, 2.0]),
    case("Constant", [], [12], value_int=3),
    case("Constant", [], [12], value_ints=[3, -4]),
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


def ops_of(op, operands, opset=13, outputs=1, consts=(), **attrs):
    made, _ = build(op, operands, opset, outputs, consts, attrs)
    return [(o.op_type, o.node_name) for o in ge_ops(imported(made)) if o.op_type != "Const"]


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (lambda: ops_of("MatMul", [f32(2, 3), f32(3, 4)]), [("BatchMatMulV2", "node")]),
        (
            lambda: ops_of("Gemm", [f32(2, 3), f32(3, 4), f32(4)]),
            [("MatMulV2", "node_MatMulV2"), ("Add", "node_Add")],
        ),
        (
            lambda: ops_of("Gemm", [f32(2, 3), f32(3, 4), f32(4)], beta=2.0),
            [
                ("MatMulV2", "node_MatMulV2"),
                ("Muls", "node_Muls"),
                ("Muls", "node_Muls_1"),
                ("Add", "node_Add"),
            ],
        ),
        (lambda: ops_of("Concat", [X, X], axis=0), [("ConcatD", "node_ConcatD")]),
        (lambda: ops_of("Div", [X, X]), [("RealDiv", "node")]),
        (lambda: ops_of("Slice", [X, i64(1), i64(2)]), [("StridedSliceV2", "node_StridedSliceV2")]),
        (lambda: ops_of("Squeeze", [f32(1, 2)]), [("SqueezeV3", "node")]),
        (lambda: ops_of("Squeeze", [f32(1, 2)], 11, axes=[0]), [("Squeeze", "node")]),
        (
            lambda: ops_of("LayerNormalization", [X, f32(4), f32(4)], 17),
            [
                ("Shape", "node_Shape"),
                ("BroadcastTo", "node_BroadcastTo"),
                ("BroadcastTo", "node_BroadcastTo_1"),
                ("LayerNorm", "node_LayerNorm"),
            ],
        ),
        (lambda: ops_of("ReduceMean", [X], 13), [("ReduceMean", "node")]),
        (lambda: ops_of("ReduceMean", [X], 11), [("ReduceMean", "node_ReduceMean")]),
        (
            lambda: ops_of("Clip", [X], 7),
            [("Cast", "node_Cast"), ("ClipByValue", "node_ClipByValue")],
        ),
        (lambda: ops_of("Where", [X > 0, X, X], 16), [("SelectV2", "node")]),
        (
            lambda: ops_of("Max", [X, X, X]),
            [("Maximum", "node_Maximum"), ("Maximum", "node_Maximum_1")],
        ),
        (
            lambda: ops_of("MaxPool", [IMAGE], 12, kernel_shape=[2, 2]),
            [("MaxPoolV3", "node_MaxPoolV3")],
        ),
    ],
)  # fmt: skip
def test_expansion_is_that_of_ge(found, expected):
    assert found() == expected


def test_a_unary_chain_of_half_floats():
    x = X.astype(np.float16)
    made, inputs = build("Sigmoid", [x], 13, 1, (), {})
    check(made, inputs, tolerance=2e-3)


def test_a_clip_of_another_type_has_no_cast_to_f32():
    assert ops_of("Clip", [X.astype(np.float64)], 7) == [("ClipByValue", "node_ClipByValue")]
