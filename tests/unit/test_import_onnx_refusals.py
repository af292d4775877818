"""What single ONNX converters refuse, in one line that names the node and what was expected."""

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx_graphs import f32, i64, model, node, typed

from ge_xdsl.errors import CompileError
from ge_xdsl.importers.onnx import builder, tensors
from ge_xdsl.importers.onnx.reader import import_onnx_bytes

X = f32(3, 4)
IMAGE = f32(1, 4, 8, 8)
FILTER = f32(4, 4, 3, 3)
BYTES = np.zeros((4, 4), np.uint8)
SEQUENCE = f32(5, 3, 4)


def one(op, operands, opset=13, outputs=1, consts=(), dims=None, unranked=None, **attrs):
    """The error of a model of one node `n` on operands, where these may be of unknown size."""
    names = [f"x{k}" if a is not None else "" for k, a in enumerate(operands)]
    arrays = {n: np.asarray(a) for n, a in zip(names, operands, strict=True) if n}
    fixed = {f"x{k}": arrays.pop(f"x{k}") for k in consts}
    results = [f"y{k}" for k in range(outputs)]
    domain, _, op_type = op.rpartition("::")
    made = model(
        [node(op_type, names, results, "n", domain=domain, **attrs)], arrays, results, opset,
        fixed, dims=dims,
    )  # fmt: skip
    if domain:
        made.opset_import.append(helper.make_opsetid(domain, 1))
    if unranked is not None:
        made.graph.input[unranked].type.tensor_type.ClearField("shape")
    return lambda: import_onnx_bytes(made.SerializeToString(), "model.onnx")


def recurrence(**attrs):
    return one("RNN", [SEQUENCE, f32(1, 2, 4), f32(1, 2, 2)], 14, hidden_size=2, **attrs)


def resized(**attrs):
    return one("Resize", [IMAGE, None, np.ones(4, np.float32)], consts=(2,), **attrs)


ADAM = "ai.onnx.preview.training::Momentum"

CASES = [
    (one("BitShift", [BYTES, BYTES], direction="UP"), "attribute 'direction' is 'UP', expected 'L"),
    (
        one("BitCast", [X > 0], 26, to=TensorProto.FLOAT),
        "casts the bits of BOOL and DT_FLOAT, expected a type of one byte",
    ),
    (one("ArgMax", [X], axis=2, select_last_index=1), r"axes entry is 2, expected one in"),
    (one("ScatterND", [X, [[0]], f32(1, 4)], 18, reduction="sub"),
     "attribute 'reduction' is 'sub', expected one of none, add, max, min, mul"),
    (one("ScatterND", [X, [[0]], f32(1, 4)], 18, dims={"x1": (1, "k")}),
     r"the indices are tensor<1x\?xi64>, expected a known last dimension"),
    (one("TensorScatter", [f32(1, 3, 4), f32(1, 1, 4), i64(0)], 24, mode="ring"),
     "attribute 'mode' is 'ring', expected 'linear' or 'circular'"),
    (one("GatherND", [X, [[0]]], batch_dims=2), r"attribute 'batch_dims' is 2, expected one in \["),
    (one("EyeLike", [X[0]]), "the input is tensor<4xf32>, expected a matrix"),
    (one("LpNormalization", [X], p=3), "attribute 'p' is 3, expected 1 or 2"),
    (one("LRN", [IMAGE], size=4), "attribute 'size' is 4, expected an odd positive number"),
    (one("LpPool", [IMAGE], 18, kernel_shape=[2, 2], p=0), "attribute 'p' is 0, expected at least"),
    (
        one("MaxPool", [IMAGE], outputs=2, kernel_shape=[2, 2], pads=[0, 0, 1, 1]),
        "output 1 is asked for, expected equal pads before and after two dimensions",
    ),
    (
        one("MaxUnpool", [IMAGE, np.zeros((1, 4, 8, 8), np.int64)], 11, kernel_shape=[1, 1],
            pads=[9, 0, 9, 0]),
        r"the output is \[1, 4, -10, 8\], expected no negative dimension",
    ),
    (
        one("AveragePool", [IMAGE], 19, kernel_shape=[2, 2], dilations=[9, 1]),
        r"the windows cover \[-1, 7\], expected at least one over each dimension",
    ),
    (
        one("ConvTranspose", [IMAGE, FILTER], output_padding=[1]),
        r"attribute 'output_padding' is \[1\], expected 2 integers of at least 0",
    ),
    (
        one("ConvTranspose", [IMAGE, FILTER], output_shape=[9]),
        r"attribute 'output_shape' is \[9\], expected 2 integers",
    ),
    (
        one("ConvTranspose", [IMAGE[0], FILTER], auto_pad="SAME_UPPER"),
        "the input is tensor<4x8x8xf32>, expected rank 4",
    ),
    (
        one("ConvTranspose", [IMAGE, FILTER], kernel_shape=[2, 2]),
        r"attribute 'kernel_shape' is \[2, 2\], expected \[3, 3\] as in W",
    ),
    (
        one("DeformConv", [IMAGE, f32(4, 4, 3), f32(1, 18, 6, 6)], 19),
        "the weight is tensor<4x4x3xf32>, expected rank 4",
    ),
    (
        one("DeformConv", [IMAGE, FILTER, f32(1, 17, 6, 6)], 19),
        "the offsets are tensor<1x17x6x6xf32>, expected rank 4 and pairs of channels",
    ),
    (
        one("RoiAlign", [IMAGE, X, i64(0, 0, 0)], 16, mode="min"),
        "attribute 'mode' is 'min', expected 'avg' or 'max'",
    ),
    (
        one("RoiAlign", [IMAGE, X, i64(0, 0, 0)], 16, coordinate_transformation_mode="x"),
        "attribute 'coordinate_transformation_mode' is 'x', expected one of half_pixel, ou",
    ),
    (
        one("MaxRoiPool", [IMAGE, f32(1, 5)], pooled_shape=[2]),
        r"attribute 'pooled_shape' is \[2\], expected 2 integers",
    ),
    (
        one("Col2Im", [f32(1, 5, 5), i64(5, 5), i64(1, 5)], 18, strides=[1]),
        "attribute 'strides' has 1 entries, expected 2",
    ),
    (
        one("Col2Im", [f32(1, 5, 5), i64(5, 5), i64(1, 5)], 18, strides=[1, 0]),
        "stride and dilation are 0 and 1, expected at least 1",
    ),
    (
        one("Col2Im", [f32(1, 5, 5), i64(5, 5), i64(1, 5)], 18, dims={"x1": ("n",)}),
        r"the image shape is tensor<\?xi64>, expected a vector of 1 to 32 sizes",
    ),
    (
        one("GridSample", [IMAGE, f32(1, 2, 2, 2)], 20, mode="area"),
        "attribute 'mode' is 'area', expected one of linear, bilinear, nearest, cubic, bicubic",
    ),
    (
        one("GridSample", [IMAGE, f32(1, 2, 2, 2)], 20, padding_mode="wrap"),
        "attribute 'padding_mode' is 'wrap', expected zeros, border, reflection",
    ),
    (
        one("GridSample", [SEQUENCE, f32(5, 2, 1)], 20),
        "the input is tensor<5x3x4xf32>, expected rank 4 or 5",
    ),
    (
        one("SpaceToDepth", [IMAGE], blocksize=2, mode="X"),
        "attribute 'mode' is 'X', expected 'DCR' or 'CRD'",
    ),
    (one("Resize", [IMAGE]), "scales or sizes are missing or both given, expected one of them"),
    (resized(antialias=1), "attribute 'antialias' is 1, expected 0"),
    (
        resized(coordinate_transformation_mode="half_pixel_symmetric"),
        "attribute 'coordinate_transformation_mode' is 'half_pixel_symmetric', expected one of",
    ),
    (
        one("Resize", [IMAGE, None, None, i64(1, 4, 4, 4)], 18, keep_aspect_ratio_policy="x"),
        "attribute 'keep_aspect_ratio_policy' is 'x', expected one of stretch, not_larger, not_sm",
    ),
    (
        one("Resize", [X, f32(4), np.ones(2, np.float32)],
            coordinate_transformation_mode="tf_crop_and_resize"),
        "the input has rank 2, expected 4 or 5 for tf_crop_and_resize",
    ),
    (one("Upsample", [IMAGE, f32(4)], 9, mode="cubic"), "attribute 'mode' is 'cubic', expected 'n"),
    (recurrence(direction="up"), "attribute 'direction' is 'up', expected one of forward, reverse"),
    (
        recurrence(activations=["Tanh", "Tanh"]),
        "attribute 'activations' has 2 entries, expected 1",
    ),
    (recurrence(activations=["Step"]), "an activation is 'Step', expected one of Affine, Elu, Ha"),
    (
        one("LSTM", [SEQUENCE, f32(1, 8, 4), f32(1, 8)], 14),
        "R is tensor<1x8xf32>, expected rank 3",
    ),
    (
        one("QuantizeLinear", [X, f32(4), BYTES[0]], unranked=1),
        "the scale has unknown rank, expected a known one",
    ),
    (
        one("DFT", [f32(1, 4, 3)], 17),
        "the input is tensor<1x4x3xf32>, expected a last dimension of 1 or 2",
    ),
    (
        one("STFT", [f32(1, 8, 1), np.int64(2)], 17),
        "inputs 2 and 3 are missing, expected a window or a frame length",
    ),
    (
        one("Unique", [X], 11, axis=0),
        "attribute 'axis' is 0, expected none, or a vector",
    ),
    (
        one(ADAM, [np.float32(1), np.int64(0), X, X], mode="standard", alpha=0.1, beta=0.1),
        "has 2 tensors, expected a multiple of 3",
    ),
    (
        one(ADAM, [np.float32(1), np.int64(0), X, X, X], outputs=2, mode="x"),
        "attribute 'mode' is 'x', expected 'standard' or 'nesterov'",
    ),
    (
        one("Transpose", [X], unranked=0),
        "rank of the input is unknown, Transpose without perm needs it",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("run", "message"), CASES, ids=[text for _, text in CASES])
def test_refused(run, message):
    with pytest.raises(CompileError, match=rf"^model.onnx: error: \w+ 'n': ({message})") as error:
        run()
    assert "\n" not in str(error.value)


def test_declared_sizes_do_not_fill_memory(monkeypatch):
    monkeypatch.setattr(builder, "HELPER_LIMIT", 100)
    run = one("AveragePool", [f32(1, 1, 30, 30)], 19, kernel_shape=[12, 12], dilations=[2, 1])
    with pytest.raises(
        CompileError, match="needs a constant of 144 elements, expected at most 100"
    ):
        run()


# Packed element types


def packed(data_type, shape, data):
    return TensorProto(data_type=data_type, dims=shape, raw_data=bytes(data))


@pytest.mark.parametrize(
    ("tensor", "expected"),
    [
        (packed(TensorProto.INT4, [3], [0x7F, 0x08]), [-1, 7, -8]),
        (packed(TensorProto.FLOAT4E2M1, [2], [0xF7]), [6, -6]),
        (packed(TensorProto.UINT2, [5], [0b11100100, 0b10]), [0, 1, 2, 3, 2]),
        (packed(TensorProto.INT2, [4], [0b11100100]), [0, 1, -2, -1]),
        (typed(TensorProto.INT4, [3], int32_data=[0x7F, 0x08]), [-1, 7, -8]),
        (typed(TensorProto.INT2, [2, 0]), []),
    ],
)
def test_packed_elements(tensor, expected):
    found = tensors.TensorReader("model.onnx", None).array(tensor)
    assert found.shape == tuple(tensor.dims)
    np.testing.assert_array_equal(found.astype(np.float32).reshape(-1), expected)


@pytest.mark.parametrize(
    ("tensor", "message"),
    [
        (packed(TensorProto.INT4, [3], [1]), "has 1 bytes of data, expected 2 for 3 int4"),
        (
            typed(TensorProto.INT4, [3], int32_data=[1]),
            "has 1 values in int32_data, expected 2",
        ),
        (
            typed(TensorProto.INT4, [2], int32_data=[256]),
            "has a value in int32_data that is out of range, expected a byte",
        ),
    ],
)
def test_packed_elements_are_checked(tensor, message):
    with pytest.raises(ValueError, match=message):
        tensors.TensorReader("model.onnx", None).array(tensor)


# Damaged models


def test_damaged_node_tests_are_refused_in_one_line():
    """Two flipped bytes in models of all kinds never give another exception."""
    rng = np.random.default_rng(5)
    sources = [one_model(k).SerializeToString() for k in range(len(KINDS))]
    for _ in range(400):
        data = bytearray(sources[rng.integers(len(sources))])
        for place in rng.integers(0, len(data), 2):
            data[place] = rng.integers(256)
        try:
            import_onnx_bytes(bytes(data), "model.onnx")
        except CompileError as error:
            assert "\n" not in str(error)


KINDS = [
    ("Conv", [IMAGE, FILTER], 13, {"pads": [1, 1, 1, 1], "strides": [2, 1]}),
    ("Resize", [IMAGE, f32(0), np.ones(4, np.float32)], 13, {"mode": "linear"}),
    ("Attention", [IMAGE, IMAGE, IMAGE], 24, {"is_causal": 1}),
    ("LSTM", [SEQUENCE, f32(1, 8, 4), f32(1, 8, 2)], 14, {"hidden_size": 2}),
    ("MaxPool", [IMAGE], 12, {"kernel_shape": [2, 2], "ceil_mode": 1}),
    ("Slice", [X, i64(0), i64(2), i64(1), i64(-1)], 13, {}),
    ("QuantizeLinear", [X, f32(4), BYTES[0]], 21, {"axis": 1, "saturate": 1}),
]


def one_model(kind):
    op, operands, opset, attrs = KINDS[kind]
    arrays = {f"x{k}": np.asarray(a) for k, a in enumerate(operands)}
    return model([node(op, list(arrays), ["y"], "n", **attrs)], arrays, ["y"], opset)
