"""`ge.graph`: shapes, tensors and their descriptions."""

import numpy as np
import pytest
from ge.es import GraphBuilder
from ge.es.all import Const
from ge.graph import DataType, Format, Placement, Shape, Tensor, TensorDesc

from ge_xdsl.dialects.ge.types import numpy_dtype


def test_shapes():
    assert Shape().get_shape_size() == 0
    assert Shape([2, 3]).get_shape_size() == 6
    assert Shape([2, -1]).get_shape_size() == -1
    assert Shape([-2]).is_unknown_shape()
    assert (Shape([-2]).get_shape_size(), Shape([3, -2]).get_shape_size()) == (-1, -1)
    for bad in ((1, 2), [0.5], ["1"]):
        with pytest.raises(TypeError, match="dims must be a list of integers"):
            Shape(bad)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: TensorDesc(format=1), "Format must be a Format"),
        (lambda: TensorDesc(data_type=1), "Data type must be a DataType"),
        (lambda: TensorDesc((1,)), "shape must be a list of integers"),
        (lambda: TensorDesc().set_origin_shape((1,)), "origin shape must be a list of integers"),
        (lambda: TensorDesc().set_format(1), "Format must be a Format"),
    ],
)
def test_tensor_desc_errors(call, text):
    with pytest.raises(TypeError, match=text):
        call()


def test_tensor_desc_round_trip_through_a_type():
    desc = TensorDesc([1, -1], Format.FORMAT_NCHW, DataType.DT_BF16)
    desc.set_origin_format(Format.FORMAT_NHWC).set_origin_shape([1, 2])
    found = TensorDesc._create_from(desc._tensor())
    assert found.get_origin_format() == Format.FORMAT_NHWC
    assert found.get_origin_shape() == [1, 2]
    assert repr(found).startswith("TensorDesc(shape=[1, -1]")
    with pytest.raises(ValueError, match="TensorDesc pointer cannot be None"):
        TensorDesc._create_from(None)


VALUES = [
    ([1.5, -0.0], DataType.DT_FLOAT, [2], [1.5, -0.0]),
    ([0.1], DataType.DT_FLOAT16, None, 0.099976),
    ([0.1, 1e-9], DataType.DT_FLOAT, [2], [0.1, float(np.float32(1e-9))]),
    ([1.0000001, 1e30], DataType.DT_FLOAT, [2], [1 + 2**-23, float(np.float32(1e30))]),
    ([1e9], DataType.DT_FLOAT16, [1], [float("inf")]),
    ([257], DataType.DT_INT8, [1], [1]),
    ([-1], DataType.DT_UINT32, None, 2**32 - 1),
    ([True, False], DataType.DT_FLOAT, [2], [True, False]),
    ([1, 2, 3, 4], DataType.DT_INT64, [2, 2], [[1, 2], [3, 4]]),
]


@pytest.mark.parametrize(("data", "dtype", "shape", "expected"), VALUES)
def test_tensor_values_are_exact(data, dtype, shape, expected):
    """Floats read as six decimals, as in GE, where these give the same float back."""
    assert Tensor(data, data_type=dtype, shape=shape).data == expected


@pytest.mark.parametrize("name", ["DT_INT4", "DT_INT2", "DT_UINT2", "DT_UINT1"])
def test_narrow_integers_read_as_integers(name):
    dtype = DataType[name]
    data = Tensor._create_from(np.array([1, 0], numpy_dtype(dtype)), dtype).get_data()
    assert (data, [type(value) for value in data]) == ([1, 0], [int, int])


def test_every_float_that_is_read_gives_the_tensor_again():
    rng = np.random.default_rng(5)
    bits = rng.integers(0, 2**32, 2000, np.uint32).view(np.float32)
    values = bits[np.isfinite(bits)]
    tensor = Tensor([float(value) for value in values], shape=[len(values)])
    again = Tensor(tensor.get_data(), shape=[len(values)])
    assert np.array_equal(again._values(), values)
    assert np.array_equal(np.signbit(again._values()), np.signbit(values))
    special = Tensor([float("nan"), float("-inf")], shape=[2]).get_data()
    assert str(special) == "[nan, -inf]"


def test_tensor_errors(tmp_path):
    for kwargs, error, text in (
        ({"shape": (1,)}, TypeError, "Shape must be a list of integers"),
        ({"placement": 0}, TypeError, "Placement must be a Placement"),
        ({"data": [1.0], "file_path": "x"}, RuntimeError, "either by data or by file"),
        ({"data": np.ones(1)}, TypeError, "data should be List"),
        ({"data": [1.0], "data_type": DataType.DT_DOUBLE}, RuntimeError, "DT_DOUBLE is not sup"),
        ({"data": [1.0], "data_type": DataType.DT_BF16}, RuntimeError, "data type: DT_BF16"),
        ({"file_path": str(tmp_path / "no")}, RuntimeError, "Failed to create Tensor"),
        ({"data": [[1.0]], "shape": [1]}, TypeError, "data should be List of numbers, not of list"),
        ({"data": ["a"], "shape": [1]}, TypeError, "data should be List of numbers, not of str"),
        ({"data": [1.0], "data_type": 99}, RuntimeError, "create Tensor with data type: 99"),
        ({"data": [1.0], "shape": [2]}, ValueError, r"1 values, expected 2 for shape \[2\]"),
    ):
        with pytest.raises(error, match=text):
            Tensor(**kwargs)
    with pytest.raises(ValueError, match="tensor has no data"):
        Tensor().get_data()
    with pytest.raises(TypeError, match="Data_type must be a DataType"):
        Tensor().set_data_type(1)
    with pytest.raises(ValueError, match=r"4 bytes, expected 8 for DT_INT64 \[1\]"):
        Tensor([1.0], shape=[1]).set_data_type(DataType.DT_INT64)
    with pytest.raises(ValueError, match="Tensor pointer cannot be None"):
        Tensor._create_from(None)


def test_tensor_from_file_and_relabelled(tmp_path):
    path = tmp_path / "x.bin"
    path.write_bytes(np.array([1.0, 2.0], np.float32).tobytes())
    tensor = Tensor(file_path=str(path), shape=[2])
    assert tensor.data == [1.0, 2.0]
    assert tensor.set_data_type(DataType.DT_INT32).data == [0x3F800000, 0x40000000]


def test_tensor_moves_and_prints():
    tensor = Tensor([1], data_type=DataType.DT_INT32)
    assert tensor.to_device().get_placement() == Placement.PLACEMENT_DEVICE
    with pytest.raises(ValueError, match="only supports host tensors"):
        tensor.to_device()
    lines = str(tensor).split("\n")
    assert [line.strip() for line in lines] == [
        "",
        "Tensor format is 2,",
        "data_type is 3,",
        "shape is [],",
        "data is 1",
        "",
    ]


def test_a_tensor_belongs_to_one_builder():
    builder = GraphBuilder("first")
    value = Tensor([1.0, 2.0], shape=[2])
    const = Const(builder, value=value)
    graph = builder.build_and_reset([const])
    found, *_ = graph.get_direct_nodes()
    assert found.name == "Const_0"
    assert found.get_output_desc(0).shape == [2]
    found = found.get_attr("value")
    assert (found.data, found.data_type) == ([1.0, 2.0], DataType.DT_FLOAT)
    with pytest.raises(RuntimeError, match="already has an new owner builder :first"):
        Const(GraphBuilder(), value=value)
