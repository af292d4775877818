"""ONNX models as a whole: names, weights, dynamic shapes, order, external data, bad files."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx_graphs import (
    B,
    W,
    X,
    by_onnxruntime,
    check,
    imported,
    linear,
    model,
    node,
    reshaped,
    typed,
)

from ge_xdsl.dialects.ge.graph import ge_ops, main_function, verify
from ge_xdsl.dialects.ge.names import input_names, output_names, string_list
from ge_xdsl.dialects.ge.text import module_text, parse_module
from ge_xdsl.dialects.ge.types import DataType, Tensor, tensor_of
from ge_xdsl.dialects.ge.weights import WeightAttr
from ge_xdsl.errors import CompileError
from ge_xdsl.importers.onnx import tensors, wire
from ge_xdsl.importers.onnx.reader import import_onnx, import_onnx_bytes
from ge_xdsl.interpreters.ge import run_function


def names_of(module):
    return [op.node_name for op in ge_ops(main_function(module))]


# Names, types, weights


def test_names_and_attributes():
    func = main_function(imported(linear()))
    assert input_names(func) == ["x"]
    assert output_names(func) == ["y", "sum"]
    assert [op.node_name for op in ge_ops(func)] == ["w", "mm", "b", "add", "y"]
    assert func.attributes["ge.onnx_opset"].value.data == 17
    assert all(str(op.source) == "model.onnx" for op in ge_ops(func))


def test_values_match_onnxruntime():
    check(linear(), {"x": X})


def test_the_text_of_an_imported_graph_parses_back():
    module = imported(linear())
    text = module_text(module)
    assert module_text(parse_module(text)) == text


@pytest.mark.parametrize("mark", ["日本/权重:0", 'q"x', "b\\s", "nl\nx", "é"])
def test_names_in_any_script_read_back(mark):
    nodes = [node("MatMul", [f"x{mark}", f"w{mark}"], [f"y{mark}"], f"n{mark}")]
    made = model(nodes, {f"x{mark}": X}, [f"y{mark}"], 17, {f"w{mark}": X.T.copy()})
    text = module_text(imported(made))
    again = parse_module(text)
    assert module_text(again) == text
    assert names_of(again) == [f"w{mark}", f"n{mark}"]
    assert input_names(main_function(again)) == [f"x{mark}"]


def test_weights_are_views_of_the_file(tmp_path):
    path = tmp_path / "model.onnx"
    big = np.random.default_rng(1).standard_normal((1024, 1200)).astype(np.float32)
    made = model(
        [node("MatMul", ["x", "w"], ["y"])], {"x": np.ones((2, 1024), np.float32)}, ["y"], 13,
        {"w": big},
    )  # fmt: skip
    onnx.save(made, path)
    func = main_function(import_onnx(path))
    const = next(ge_ops(func))
    assert isinstance(const.properties["value"], WeightAttr)
    array = const.properties["value"].data.array()
    assert not array.flags.owndata
    assert not array.flags.writeable
    base = array
    while isinstance(base, np.ndarray):
        base = base.base
    assert isinstance(base, memoryview)
    assert type(base.obj).__name__ == "mmap"
    np.testing.assert_array_equal(array, big)


def test_an_initializer_listed_as_input_is_a_constant():
    made = linear()
    made.graph.input.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, W.shape))
    assert input_names(main_function(imported(made))) == ["x"]
    check(made, {"x": X})


def test_an_unused_initializer_makes_no_node():
    made = linear()
    made.graph.initializer.append(numpy_helper.from_array(W, "unused"))
    assert "unused" not in names_of(imported(made))


def test_names_are_unique():
    nodes = [
        node("Relu", ["x"], ["a"], "b"),
        node("Relu", ["a"], ["b"]),
        node("Add", ["b", "w"], ["y"], "w"),
    ]
    made = model(nodes, {"x": X}, ["y"], 13, {"w": X})
    assert names_of(imported(made)) == ["b", "b_1", "w_1", "w"]
    check(made, {"x": X})


def test_a_constant_node_is_named_like_its_output():
    value = numpy_helper.from_array(X)
    nodes = [node("Constant", [], ["c"], "Constant_7", value=value), node("Neg", ["c"], ["y"])]
    assert names_of(imported(model(nodes, {}, ["y"]))) == ["c", "y"]


def test_graph_inputs_and_constants_can_be_outputs():
    made = model([node("Relu", ["x"], ["r"])], {"x": X}, ["x", "w", "r"], 13, {"w": W})
    module = imported(made)
    found = run_function(main_function(module), {"x": X})
    for ours, theirs in zip(found, (X, W, np.maximum(X, 0)), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    ("dims", "type_text", "recorded"),
    [
        (("batch", 4), "tensor<?x4xf32>", ["batch, 4"]),
        ((None, 4), "tensor<?x4xf32>", []),
        ((-1, 4), "tensor<?x4xf32>", []),
    ],
)
def test_dynamic_dimensions(dims, type_text, recorded):
    made = linear(dims={"x": dims})
    func = main_function(imported(made))
    assert str(func.body.block.args[0].type) == type_text
    assert string_list(func, "ge.input_dims") == recorded
    assert str(func.body.block.last_op.operands[0].type) == "tensor<?x32xf32>"
    for rows in (1, 5):
        x = np.resize(X, (rows, 4))
        found = run_function(func, {"x": x})
        np.testing.assert_allclose(found[0], np.maximum(x @ W + B, 0), rtol=1e-5, atol=1e-5)


def test_an_input_of_unknown_rank():
    made = linear()
    made.graph.input[0].type.tensor_type.ClearField("shape")
    func = main_function(imported(made))
    assert tensor_of(func.body.block.args[0].type) == Tensor(DataType.DT_FLOAT, None)


def test_declared_types_fill_what_inference_leaves_unknown():
    func = main_function(imported(reshaped((2, "n"))))
    types = [str(op.results[0].type) for op in ge_ops(func)]
    assert types == ["tensor<2x?xf32>", "tensor<2x?xf32>"]


def test_declared_types_are_not_trusted_where_inference_knows():
    made = linear(value_info=[helper.make_tensor_value_info("sum", TensorProto.FLOAT, (9, 9))])
    types = [str(op.results[0].type) for op in ge_ops(main_function(imported(made)))]
    assert types[-1] == "tensor<3x32xf32>"


def test_unsorted_nodes_are_sorted():
    made = linear()
    ordered = list(made.graph.node)
    del made.graph.node[:]
    made.graph.node.extend(reversed(ordered))
    assert names_of(imported(made)) == ["w", "mm", "b", "add", "y"]
    found = run_function(main_function(imported(made)), {"x": X})
    np.testing.assert_allclose(found[1], X @ W + B, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("tensor", "expected"),
    [
        (typed(TensorProto.FLOAT, [2], float_data=[1.5, -2]), np.array([1.5, -2], np.float32)),
        (typed(TensorProto.INT64, [2, 1], int64_data=[3, -4]), np.array([[3], [-4]])),
        (typed(TensorProto.INT8, [2], int32_data=[3, -4]), np.array([3, -4], np.int8)),
        (typed(TensorProto.UINT8, [1], int32_data=[200]), np.array([200], np.uint8)),
        (typed(TensorProto.BOOL, [2], int32_data=[1, 0]), np.array([True, False])),
        (typed(TensorProto.FLOAT16, [1], int32_data=[0x3C00]), np.array([1], np.float16)),
        (typed(TensorProto.DOUBLE, [], double_data=[2.5]), np.array(2.5)),
        (typed(TensorProto.UINT32, [1], uint64_data=[2**32 - 1]), np.array([2**32 - 1], "u4")),
        (typed(TensorProto.UINT64, [1], uint64_data=[2**64 - 1]), np.array([2**64 - 1], "u8")),
        (typed(TensorProto.COMPLEX64, [1], float_data=[1, 2]), np.array([1 + 2j], np.complex64)),
        (typed(TensorProto.FLOAT, [0]), np.zeros(0, np.float32)),
    ],
)
def test_typed_fields(tensor, expected):
    found = tensors.TensorReader("model.onnx", None).array(tensor)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


def test_bfloat16_from_a_typed_field():
    tensor = typed(TensorProto.BFLOAT16, [2], int32_data=[0x3F80, 0xC000])
    found = tensors.TensorReader("model.onnx", None).array(tensor)
    assert found.dtype.name == "bfloat16"
    assert found.tolist() == [1.0, -2.0]


# The wire format


def test_splitting_leaves_the_model_and_finds_the_weights():
    made = linear()
    big = np.random.default_rng(2).standard_normal(5000).astype(np.float32)
    made.graph.initializer.insert(1, numpy_helper.from_array(big, "big"))
    made.graph.initializer[0].doc_string = "after the data"
    data = made.SerializeToString()
    body, cut = wire.split(memoryview(data))
    assert list(cut) == [1]
    start, end = cut[1]
    assert data[start:end] == big.tobytes()
    rest = onnx.ModelProto()
    rest.ParseFromString(body)
    made.graph.initializer[1].ClearField("raw_data")
    assert rest == made


@pytest.mark.parametrize("data", [b"\x3a\xff", b"\x3a\x05\x2a\x80", b"\x0b", b"\xff" * 12, b"\x08"])
def test_splitting_malformed_bytes_gives_them_back(data):
    assert wire.split(memoryview(data)) == (data, {})


# External data


def external(tmp_path, **info):
    """The linear model with w in a file of its own; `info` overrides where it is said to be."""
    made = linear()
    weight = made.graph.initializer[0]
    (tmp_path / "w.bin").write_bytes(b"head" * 4 + W.tobytes())
    weight.ClearField("raw_data")
    weight.data_location = TensorProto.EXTERNAL
    entries = {"location": "w.bin", "offset": "16", "length": str(W.nbytes)} | info
    for key, value in entries.items():
        if value is not None:
            weight.external_data.add(key=key, value=value)
    path = tmp_path / "model.onnx"
    onnx.save(made, path)
    return path


@pytest.mark.parametrize("info", [{}, {"length": None}, {"location": "./w.bin"}])
def test_external_data_is_mapped(tmp_path, info):
    path = external(tmp_path, **info)
    module = import_onnx(path)
    verify(module)
    found = run_function(main_function(module), {"x": X})
    expected = by_onnxruntime(onnx.load(path, load_external_data=False), {"x": X}, path)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("info", "message"),
    [
        ({"location": "../w.bin"}, "external data is '../w.bin', expected a file in the"),
        ({"location": "/etc/passwd"}, "external data is '/etc/passwd', expected a file in"),
        ({"location": ""}, "external data is '', expected a file in the same folder"),
        ({"location": "link.bin"}, "external data is 'link.bin', expected a file in the same"),
        ({"location": "none.bin"}, "cannot use the file, no such file or directory"),
        ({"location": "."}, "is no regular file, expected one"),
        ({"location": "empty.bin"}, "external data ends at byte 528, expected at most 0"),
        ({"offset": "17"}, "external data ends at byte 529, expected at most 528, the size of"),
        ({"offset": "-1"}, "offset of external data is '-1', expected a number of bytes"),
        ({"offset": "9" * 30}, "offset of external data is '9+', expected a number of bytes"),
        ({"length": "9"}, "has 9 bytes of external data, expected 512"),
    ],
)  # fmt: skip
def test_external_data_outside_its_bounds(tmp_path, info, message):
    folder = tmp_path / "models"
    folder.mkdir()
    (tmp_path / "outside.bin").write_bytes(W.tobytes())
    (folder / "link.bin").symlink_to(tmp_path / "outside.bin")
    (folder / "empty.bin").write_bytes(b"")
    with pytest.raises(CompileError, match=message.replace("/", "[/]")) as error:
        import_onnx(external(folder, **info))
    assert "\n" not in str(error.value)


def test_external_data_needs_a_file():
    made = linear()
    made.graph.initializer[0].data_location = TensorProto.EXTERNAL
    with pytest.raises(CompileError, match="has external data, expected a model that was read"):
        import_onnx_bytes(made.SerializeToString())
