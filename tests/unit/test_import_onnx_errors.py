"""ONNX models that are refused: one line that names the file, the node and what was expected."""

import re
import sys

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx_graphs import X, imported, linear, model, node, reshaped, typed

from ge_xdsl.dialects.ge.graph import ge_ops, verify
from ge_xdsl.errors import CompileError
from ge_xdsl.importers.onnx import reader, tensors
from ge_xdsl.importers.onnx.reader import import_onnx_bytes


def with_graph(change):
    made = linear()
    change(made.graph)
    return made.SerializeToString()


def with_nodes(*nodes, inputs=None, **options):
    return model(list(nodes), inputs or {"x": X}, ["y"], **options).SerializeToString()


def with_opset(*versions):
    made = linear()
    del made.opset_import[:]
    for domain, version in versions:
        made.opset_import.add(domain=domain, version=version)
    return made.SerializeToString()


def set_dims(dims):
    def change(graph):
        graph.initializer[0].dims[:] = dims
        graph.initializer[0].ClearField("raw_data")

    return change


def set_input(**fields):
    def change(graph):
        declared = graph.input[0].type.tensor_type
        for name, setting in fields.items():
            if name == "dims":
                for dim, size in zip(declared.shape.dim, setting, strict=True):
                    dim.dim_value = size
            else:
                setattr(declared, name, setting)

    return change


def sequence_input(graph):
    graph.input[0].type.sequence_type.elem_type.tensor_type.elem_type = 1


def ref_attr(graph):
    graph.node[2].CopyFrom(node("Elu", ["sum"], ["y"], "elu"))
    graph.node[2].attribute.add(name="alpha", type=1, ref_attr_name="outer")


def twice(graph):
    graph.node[2].CopyFrom(node("Elu", ["sum"], ["y"], "elu", alpha=1.0))
    graph.node[2].attribute.add(name="alpha", type=1, f=2.0)


LONG = np.ones(3, np.float32)

REFUSED = {
    "empty": (b"", "error: has no graph, expected an ONNX model with one"),
    "garbage": (b"not a model at all", "error: is no ONNX model, expected a serialized ModelProto"),
    "truncated": (linear().SerializeToString()[:-30], "error: is no ONNX model, expected a serial"),
    "no opset": (with_opset(), "error: names no opset of ai.onnx, expected one"),
    "other opset": (with_opset(("ml", 3)), "error: names no opset of ai.onnx, expected one"),
    "old opset": (with_opset(("", 6)), "error: opset is 6, expected 7 to 28"),
    "new opset": (with_opset(("", 99)), "error: opset is 99, expected 7 to 28"),
    "undefined input": (
        with_nodes(node("Relu", ["z"], ["y"], "n")),
        "error: Relu 'n': input 'z' is not defined, expected a graph input, an initializer or",
    ),
    "missing input": (
        with_nodes(node("Relu", [], ["y"], "n")),
        "error: Relu 'n': input 0 is missing, it is required",
    ),
    "cycle": (
        with_nodes(node("Add", ["x", "b"], ["a"], "one"), node("Neg", ["a"], ["b"], "two")),
        "error: Add 'one': the node depends on itself, expected a graph without cycles",
    ),
    "value given twice": (
        with_nodes(node("Neg", ["x"], ["y"], "one"), node("Neg", ["x"], ["y"], "two")),
        "error: Neg 'two': the name 'y' is given to two values, expected unique names",
    ),
    "node name twice": (
        with_nodes(node("Neg", ["x"], ["z"], "n"), node("Neg", ["z"], ["y"], "n")),
        "error: the name 'n' is given to two nodes, expected unique names",
    ),
    "node output hides an input": (
        with_nodes(node("Neg", ["x"], ["x"], "one")),
        "error: Neg 'one': the name 'x' is given to two values, expected unique names",
    ),
    "input twice": (
        with_graph(lambda g: g.input.add().CopyFrom(g.input[0])),
        "error: the name 'x' is given to two values, expected unique names",
    ),
    "initializer twice": (
        with_graph(lambda g: g.initializer.add().CopyFrom(g.initializer[0])),
        "error: the name 'w' is given to two values, expected unique names",
    ),
    "nameless input": (
        with_graph(lambda g: g.input[0].ClearField("name")),
        "error: an input has no name, expected one",
    ),
    "nameless initializer": (
        with_graph(lambda g: g.initializer[0].ClearField("name")),
        "error: an initializer has no name, expected one",
    ),
    "dangling output": (
        with_graph(lambda g: g.output.add(name="nowhere")),
        "error: graph output 'nowhere': is not defined, expected the output of a node",
    ),
    "sparse initializer": (
        with_graph(lambda g: g.sparse_initializer.add()),
        "error: an initializer has no name, expected one",
    ),
    "data too short": (
        with_graph(lambda g: g.initializer[0].dims.__setitem__(0, 5)),
        "error: initializer 'w': has 512 bytes of data, expected 640 for 5x32 float32",
    ),
    "no data": (
        with_graph(set_dims([2**20])),
        "error: initializer 'w': has 0 values in float_data, expected 1048576",
    ),
    "huge without data": (
        with_graph(set_dims([2**60])),
        "error: initializer 'w': has 1152921504606846976 elements, expected at most 1099511627776",
    ),
    "overflowing": (
        with_graph(set_dims([2**40, 2**40])),
        "error: initializer 'w': has 1208925819614629174706176 elements, expected at most",
    ),
    "negative dimension": (
        with_graph(set_dims([-4, 32])),
        "error: initializer 'w': has a dimension of -4, expected none below 0",
    ),
    "too many dimensions": (
        with_graph(set_dims([1] * 99)),
        "error: initializer 'w': has 99 dimensions, expected at most 64",
    ),
    "element type that GE lacks": (
        with_graph(lambda g: setattr(g.initializer[0], "data_type", 18)),
        "error: initializer 'w': element type is FLOAT8E4M3FNUZ, expected one that GE has",
    ),
    "element type that is none": (
        with_graph(lambda g: setattr(g.initializer[0], "data_type", 77)),
        "error: initializer 'w': element type is number 77, expected one that GE has",
    ),
    "strings": (
        with_graph(lambda g: setattr(g.initializer[0], "data_type", 8)),
        "error: initializer 'w': element type is STRING, expected numbers",
    ),
    "input without a type": (
        with_graph(lambda g: g.input[0].ClearField("type")),
        "error: graph input 'x': has no type, expected a tensor type",
    ),
    "input of no element type": (
        with_graph(set_input(elem_type=0)),
        "error: graph input 'x': has no type, expected a tensor type",
    ),
    "input that is a sequence": (
        with_graph(sequence_input),
        "error: graph input 'x': is a sequence, expected a tensor",
    ),
    "input of hostile dimensions": (
        with_graph(set_input(dims=(-7, 4))),
        "error: graph input 'x': has a dimension of -7, expected none below 0",
    ),
    "input of smallest dimension": (
        with_graph(set_input(dims=(-(2**63), 4))),
        "error: graph input 'x': has a dimension of -2, expected none below 0",
    ),
    "input of huge dimensions": (
        with_graph(set_input(dims=(2**60, 4))),
        "error: graph input 'x': has 4611686018427387904 elements, expected at most",
    ),
    "declared type that inference refutes": (
        reshaped((2, 3, 2)).SerializeToString(),
        "error: Reshape 're': output 'r' is declared tensor<2x3x2xf32>, infer gives",
    ),
    "declared type that is hostile": (
        reshaped((2, -9)).SerializeToString(),
        "error: Reshape 're': output 'r' has a dimension of -9, expected none below 0",
    ),
    "shapes that do not fit": (
        with_nodes(node("Add", ["x", "w"], ["y"], "n"), initializers={"w": np.ones(5, "f4")}),
        "error: Add 'n': shapes are 3x4 and 5, expected ones that broadcast",
    ),
    "a list of axes without end": (
        with_nodes(
            node("Reshape", ["x", "s"], ["y"], "n"),
            inputs={"x": X, "s": np.broadcast_to(np.int64(1), 2**20)},
        ),
        "error: Reshape 'n': shape has 1048576 entries, expected at most 256",
    ),
    "attribute unknown": (
        with_nodes(node("Relu", ["x"], ["y"], "n", slope=1)),
        "error: Relu 'n': attribute 'slope' is not supported",
    ),
    "attribute of another type": (
        with_nodes(node("Elu", ["x"], ["y"], "n", alpha=[1, 2])),
        "error: Elu 'n': attribute 'alpha' is of another type, expected a number",
    ),
    "attribute of a function": (
        with_graph(ref_attr),
        "error: Elu 'elu': attribute 'alpha' is of another type, expected a number",
    ),
    "attribute twice": (
        with_graph(twice),
        "error: Elu 'elu': attribute 'alpha' is given twice, expected once",
    ),
    "attribute missing": (
        with_nodes(node("Concat", ["x", "x"], ["y"], "n")),
        "error: Concat 'n': attribute 'axis' is missing, it is required",
    ),
    "output unsupported": (
        with_nodes(
            node("AveragePool", ["x"], ["y", "indices"], "n", kernel_shape=[2, 2]),
            inputs={"x": np.ones((1, 1, 4, 4), np.float32)},
        ),
        "error: AveragePool 'n': output 1 is asked for, expected only the first 1",
    ),
}


@pytest.mark.parametrize(("data", "message"), REFUSED.values(), ids=list(REFUSED))
def test_refused(data, message):
    with pytest.raises(CompileError) as error:
        import_onnx_bytes(data, "model.onnx")
    text = str(error.value)
    assert re.match(f"model.onnx: {message}", text), text
    assert "\n" not in text


def one(op, inputs, opset=13, constants=(), **attrs):
    """Import one node on arrays; those named in `constants` are initializers."""
    arrays = {f"x{k}": a for k, a in enumerate(inputs) if a is not None}
    fixed = {name: arrays.pop(name) for name in constants}
    names = [f"x{k}" if a is not None else "" for k, a in enumerate(inputs)]
    made = model([node(op, names, ["y"], "n", **attrs)], arrays, ["y"], opset, fixed)
    return lambda: import_onnx_bytes(made.SerializeToString(), "model.onnx")


IMAGE = np.ones((1, 4, 8, 8), np.float32)
FILTER = np.ones((4, 4, 3, 3), np.float32)
PADS = np.array([1, 1], np.int64)
VALUE = numpy_helper.from_array(LONG)

UNSUPPORTED = [
    (one("Cast", [X], to=18), "attribute 'to': element type is FLOAT8E4M3FNUZ, expected one"),
    (one("CastLike", [X, X], 25, round_mode="down"), "attribute 'round_mode' is 'down', expected"),
    (one("Cast", [X], 25, to=10, round_mode="down"), "attribute 'round_mode' is 'down', expected"),
    (one("Gelu", [X], 20, approximate="x"), "attribute 'approximate' is 'x', expected 'none' or"),
    (one("Softmax", [X], 11, axis=5), r"attribute 'axis' is 5, expected one in \[-2, 2\]"),
    (one("Softmax", [X], 11, axis=2), "attribute 'axis' is 2, expected one below the rank"),
    (
        one("Clip", [X, LONG, LONG], constants=["x1", "x2"]),
        "a limit is tensor<3xf32>, expected one element",
    ),
    (one("Clip", [X.astype(np.int32)], 7, min=-9e9), ".* is no DT_INT32, "),
    (one("Conv", [IMAGE[0], FILTER[0, 0]]), r"the input has rank 2, expected 3 to 5"),
    (
        one("Conv", [IMAGE, FILTER], kernel_shape=[2, 2]),
        r"attribute 'kernel_shape' is \[2, 2\], expected \[3, 3\] as in W",
    ),
    (
        one("Conv", [IMAGE, FILTER[:, :1]]),
        r"the input has 4 channels, expected 1 \(1 in each of 1 groups\)",
    ),
    (one("Conv", [IMAGE, FILTER], group=0), "attribute 'group' is 0, expected at least 1"),
    (
        one("Conv", [IMAGE, FILTER], strides=[0, 1]),
        r"attribute 'strides' is \[0, 1\], expected 2 integers of at least 1",
    ),
    (
        one("Conv", [IMAGE, FILTER], auto_pad="SAME"),
        "attribute 'auto_pad' is 'SAME', expected one of NOTSET, SAME_UPPER, SAME_LOWER, VALID",
    ),
    (one("MaxPool", [IMAGE]), "attribute 'kernel_shape' is missing, it is required"),
    (
        one("MaxPool", [IMAGE], kernel_shape=[0, 1]),
        r"attribute 'kernel_shape' is \[0, 1\], expected positive integers",
    ),
    (
        one("MaxPool", [IMAGE], kernel_shape=[2]),
        r"the input has rank 4, expected 3 for the kernel \[2\]",
    ),
    (
        one("LayerNormalization", [X, X[0]], 17, stash_type=16),
        "attribute 'stash_type' is 16, expected 1",
    ),
    (
        one("Dropout", [X, np.float32(0.5), np.array(True)], constants=["x2"]),
        "training_mode is not the constant false, expected inference",
    ),
    (
        one("ConstantOfShape", [PADS], value=VALUE),
        "the value has 3 elements, expected 1",
    ),
    (one("Constant", []), "has 0 attributes, expected one that gives the value"),
    (
        one("Constant", [], value_strings=["a"]),
        "attribute 'value_strings' is not supported, expected numbers",
    ),
    (
        one("Constant", [], value=helper.make_tensor("v", TensorProto.STRING, [1], ["a"])),
        "the value element type is STRING, expected numbers",
    ),
    (one("Unsqueeze", [X], 11), "attribute 'axes' is missing, it is required"),
    (one("Slice", [X], 9, starts=[0]), "attribute 'starts' or 'ends' is missing, both are req"),
    (one("Pad", [X, PADS], mode="mirror"), "attribute 'mode' is 'mirror', expected one of const"),
    (
        one("Pad", [X, PADS, None, PADS], 18, ["x1", "x3"]),
        r"pads are \[1, 1\] for axes \[1, 1\], expected two per axis in rank 2",
    ),
    (
        one("Split", [X], 18, num_outputs=3),
        "attribute 'num_outputs' is 3, expected 1, the number of outputs",
    ),
    (one("Split", [X], 18, num_outputs=1, axis=2), r"the axis is 2, expected one in \[-2, 2\)"),
    (
        one("Transpose", [X], perm=[2**40, 0]),
        r"has the numbers \[1099511627776, 0\], expected int32",
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("run", "message"), UNSUPPORTED, ids=lambda v: v if v.__class__ is str else ""
)  # fmt: skip
def test_unsupported(run, message):
    with pytest.raises(CompileError, match=rf"^model.onnx: error: \w+ '[ny]': {message}"):
        run()


def unknown_rank(op, opset=13, **attrs):
    made = model([node(op, ["x"], ["y"], "n", **attrs)], {"x": X}, ["y"], opset)
    made.graph.input[0].type.tensor_type.ClearField("shape")
    return made


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (unknown_rank("Transpose"), "rank of the input is unknown, Transpose without perm"),
        (unknown_rank("ReduceMean"), "rank of the input is unknown, a reduction without"),
        (unknown_rank("Softmax", 11), "rank of the input is unknown, Softmax before opset 13"),
        (
            unknown_rank("MaxPool", kernel_shape=[2, 2], auto_pad="SAME_LOWER"),
            "a dimension of the input is unknown, auto_pad SAME_LOWER needs it",
        ),
    ],
)  # fmt: skip
def test_unknown_rank_is_refused_where_it_is_needed(made, message):
    with pytest.raises(CompileError, match=message):
        import_onnx_bytes(made.SerializeToString())


def test_names_must_be_text():
    data = linear().SerializeToString().replace(b"product", b"\xff\xfeoduct")
    with pytest.raises(CompileError, match=r"a name is b'\\xff\\xfeoduct', expected UTF-8 text"):
        import_onnx_bytes(data)


@pytest.mark.parametrize(
    ("tensor", "message"),
    [
        (typed(TensorProto.INT8, [1], int32_data=[200]), "a value in int32_data that is out of"),
        (typed(TensorProto.UINT32, [1], uint64_data=[2**40]), "a value in uint64_data that is out"),
        (typed(TensorProto.FLOAT, [2], float_data=[1]), "has 1 values in float_data, expected 2"),
    ],
)
def test_typed_fields_out_of_range(tensor, message):
    with pytest.raises(ValueError, match=message):
        tensors.TensorReader("model.onnx", None).array(tensor)


def test_a_missing_onnx_package_is_named(monkeypatch):
    data = linear().SerializeToString()
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(
        CompileError, match=r"needs the onnx package, expected: pip install ge-xdsl"
    ):
        import_onnx_bytes(data)


def test_every_prefix_of_a_model_is_refused_or_imported():
    data = linear().SerializeToString()
    for length in range(0, len(data), 7):
        with pytest.raises(CompileError, match=r"^model.onnx: error: [^\n]*$"):
            import_onnx_bytes(data[:length], "model.onnx")


def test_altered_bytes_never_give_another_exception(monkeypatch):
    rng = np.random.default_rng(3)
    data = np.frombuffer(linear().SerializeToString(), np.uint8)
    for k in range(600):
        monkeypatch.setattr(reader, "MAP_FROM", 0 if k % 2 else 2**22)
        altered = data.copy()
        places = rng.integers(0, 200, 2)
        altered[places] = rng.integers(0, 256, 2)
        try:
            verify(import_onnx_bytes(altered.tobytes(), "model.onnx"))
        except CompileError as error:
            assert "\n" not in str(error)


def test_the_oldest_and_newest_opsets_are_accepted():
    for opset in (reader.OLDEST_OPSET, reader.NEWEST_OPSET):
        names = [op.node_name for op in ge_ops(imported(linear(opset)))]
        assert names == ["w", "mm", "b", "add", "y"]
