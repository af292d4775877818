"""ONNX ops that only GE's parser knows: the GE op, its attributes, and what is computed."""

import json

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper
from onnx_graphs import X, model, node

from ge_xdsl.dialects.ge.graph import ge_ops, main_function, verify
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.registry import op_class
from ge_xdsl.errors import CompileError
from ge_xdsl.exporters.onnx.model import onnx_bytes
from ge_xdsl.importers.onnx.reader import import_onnx_bytes
from ge_xdsl.importers.onnx.table import CONVERTERS
from ge_xdsl.importers.onnx.vendor import ROWS
from ge_xdsl.interpreters.ge import run_function

KEPT = {
    "Int8Conv": "a product of another framework, kept as it is",
    "Int8ConvRelu": "a product of another framework, kept as it is",
    "Int8FC": "a product of another framework, kept as it is",
    "RepeatWithPad": "GE's public headers have no such op",
}
"""Ops of GE's parser without a converter, and why."""


def imported(made):
    for domain in ("npu", "mmdeploy", "aten", "torch.onnx.symbolic_opset11", "ai.ge"):
        made.opset_import.append(helper.make_opsetid(domain, 1))
    return import_onnx_bytes(made.SerializeToString())


def example(kind, spec):
    """An ONNX attribute value for a GE attribute, other than its default."""
    plain = {"Int": 3, "Type": 1, "Bool": 1, "Float": 0.5, "String": "a"}
    if kind in plain:
        return plain[kind]
    return [example(kind.removeprefix("List"), spec)]


ROW_LINES = ROWS.strip().split("\n")


@pytest.mark.parametrize("row", ROW_LINES, ids=[row.split()[0] for row in ROW_LINES])
def test_rows(row, monkeypatch):
    """Inputs arrive by position, attributes under GE's names; shapes are not looked at here."""
    name, op_type, *words = row.split()
    domain, _, kind = name.rpartition("::")
    proto = op_class(op_type).prototype
    renamed = {left: right for left, _, right in (word.partition("=") for word in words)}
    back = {right: left for left, right in renamed.items() if right != "-"}
    attrs = {
        back.get(s.name, s.name): example(s.kind, s) for s in proto.attrs if s.kind != "Tensor"
    }
    attrs |= {left: 1 for left, right in renamed.items() if right == "-"}
    inputs = [f"i{k}" for k in range(len(proto.inputs))]
    outputs = [f"o{k}" for k in range(len(proto.outputs))]
    monkeypatch.setattr(op_class(op_type), "infer", GeOp.infer)
    made = model(
        [node(kind, inputs, outputs, "n", domain=domain, **attrs)],
        dict.fromkeys(inputs, X), outputs, 11,
    )  # fmt: skip
    [op] = [op for op in ge_ops(imported(made)) if op.op_type == op_type]
    assert op.node_name == "n"
    assert len(op.operands) == len(inputs)
    for spec in proto.attrs:
        if spec.kind != "Tensor":
            value = op.get_attr(spec.name)
            wanted = example(spec.kind, spec)
            assert (list(value) if isinstance(wanted, list) else value) == wanted


def run(made, given):
    module = imported(made)
    verify(module)
    return run_function(main_function(module), given)


def one(op, inputs, attrs=None, outputs=1, opset=11):
    domain, _, kind = op.rpartition("::")
    names = [f"i{k}" for k in range(len(inputs))]
    wanted = [f"o{k}" for k in range(outputs)]
    given = dict(zip(names, inputs, strict=True))
    made = model([node(kind, names, wanted, "n", domain=domain, **attrs or {})], given, wanted,
                 opset)  # fmt: skip
    return run(made, given)


def softmax(x):
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


MASKED = np.ones_like(X)
NUMBERS = [
    ("torch.onnx.symbolic_opset11::addcmul", [X, X, X], {"value": 0.5}, X + 0.5 * X * X),
    ("NPUDtypeCast", [X], {"dtype": 3}, X.astype(np.int32)),
    ("npu::NPUDtypeCast", [X], {"dtype": 1}, X.astype(np.float16)),
    ("NPUFormatCast", [X], {"acl_format": 29}, X),
    (
        "NPUIndexing", [X],
        {"begins": [0, 1], "ends": [2, 4], "strides": [1, 2]}, X[0:2, 1:4:2],
    ),
    ("NPUSlice", [X], {"offsetss": [1, 1], "sizes": [2, 3]}, X[1:3, 1:4]),
    ("NPUOneHot", [np.array([0, 2], np.int32)], {"depth": 3}, np.eye(3, dtype=np.float32)[[0, 2]]),
    ("Int8Transpose", [X], {"axes": [1, 0]}, X.T),
    ("Int8GivenIntTensorFill", [], {"shape": [2], "values": [4, 5]}, np.array([4, 5], np.int32)),
    (
        "Int8Quantize", [X], {"Y_scale": 0.5, "Y_zero_point": 3},
        np.clip(np.rint(X / 0.5) + 3, -128, 127).astype(np.int8),
    ),
    (
        "Int8Dequantize", [np.array([1, -4], np.int8)], {"Y_scale": 0.5, "Y_zero_point": 3},
        np.array([-1, -3.5], np.float16),
    ),
    ("BatchMatMul", [X, X], {"adj_x2": 1}, X @ X.T),
    ("NPUFastGelu", [X], {}, X / (1 + np.exp(-1.702 * X))),
    ("NPUMish", [X], {}, X * np.tanh(np.log1p(np.exp(X)))),
    ("Triu", [X], {"diagonal": 1}, np.triu(X, 1)),
    ("Bucketize", [X], {"boundaries": [-1.5, 2.5]}, np.digitize(X, [-1.5, 2.5])),
]  # fmt: skip


@pytest.mark.parametrize(
    ("op", "inputs", "attrs", "expected"), NUMBERS, ids=[n[0] for n in NUMBERS]
)
def test_numbers(op, inputs, attrs, expected):
    found = one(op, inputs, attrs)[0]
    np.testing.assert_allclose(
        found.astype(np.float64), np.asarray(expected).astype(np.float64), rtol=2e-3, atol=1e-5
    )


def test_softmax_with_a_mask():
    mask, y, z = one("NPUDropoutWithAddSoftmax", [X, X], {"alpha": 0.5, "dim": -1}, 3)
    assert mask.all()
    expected = softmax(X * 0.5 + X)
    np.testing.assert_allclose(y, expected, rtol=1e-3)
    np.testing.assert_allclose(z, expected, rtol=1e-3)


def test_nms_v4():
    boxes = np.array([[0, 0, 1, 1], [0, 0, 1, 1.05], [5, 5, 6, 6]], np.float32)
    scores = np.array([0.5, 0.9, 0.7], np.float32)
    limits = [np.array(0.5, np.float32), np.array(0.0, np.float32)]
    chosen, count = one("NPUNmsV4", [boxes, scores, *limits], {"max_output_size": 5}, 2)
    assert count == 2
    assert list(chosen[:2]) == [1, 2]


@pytest.mark.parametrize("size", [[1, 1, 2, 3], [2, 1, 2, 3], [1, 2, 2, 3, 4]])
def test_affine_grids(size):
    """The op of the standard as onnxruntime has it; GE's own gives the same points as a list."""
    space = len(size) - 2
    theta = np.random.default_rng(1).standard_normal((size[0], space, space + 1)).astype(np.float32)
    given = {"t": theta, "s": np.array(size, np.int64)}
    made = model([node("AffineGrid", ["t", "s"], ["y"], "n", align_corners=1)], given, ["y"], 20)
    session = onnxruntime.InferenceSession(made.SerializeToString())
    [expected] = session.run(None, given)
    [found] = run(made, given)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    made = model([node("AffineGrid", ["t", "s"], ["y"], "n", align_corners=1)], given, ["y"], 11)
    [listed] = run(made, given)
    np.testing.assert_allclose(listed.reshape(found.shape), found)


SEQUENCES = [
    ("SequenceEmpty", [], {"dtype": 1}),
    ("SequenceConstruct", ["x", "x"], {}),
    ("SequenceAt", ["s", "i"], {}),
    ("SplitToSequence", ["x", "i"], {"axis": 1}),
]


@pytest.mark.parametrize(("op", "inputs", "attrs"), SEQUENCES, ids=[s[0] for s in SEQUENCES])
def test_sequences_are_ops_of_ge(op, inputs, attrs):
    before = [node("SequenceConstruct", ["x", "x"], ["s"], "c")] if "s" in inputs else []
    given = {"x": X, "i": np.array(1, np.int64)}
    module = imported(model([*before, node(op, inputs, ["y"], "n", **attrs)], given, ["y"]))
    [found] = [one for one in ge_ops(module) if one.op_type == op]
    assert len(found.operands) == len(inputs)


def test_cells_of_npu():
    rng = np.random.default_rng(0)
    x, h, c = (rng.standard_normal((2, 16)).astype(np.float16) for _ in range(3))
    w, r = (rng.standard_normal((16, 64)).astype(np.float16) / 8 for _ in range(2))
    b = rng.standard_normal((2, 64)).astype(np.float16)
    module = imported(
        model(
            [node("NPULstmCell", list("xwrhcab"), ["h1", "c1"], "n", domain="npu")],
            {"x": x, "w": w, "r": r, "h": h, "c": c, "a": b[0], "b": b[1]}, ["h1", "c1"],
        )
    )  # fmt: skip
    [cell] = [op for op in ge_ops(module) if op.op_type == "DynamicRNNV2"]
    assert cell.get_attr("is_training") is False
    module = imported(
        model(
            [node("NPULstm", list("xwbshc"), [f"o{k}" for k in range(8)], "n", direction=1)],
            {"x": x[None], "w": np.concatenate([w, r]), "b": b[0], "s": np.array([1, 1], np.int32),
             "h": h[None], "c": c[None]},
            ["o0"],
        )
    )  # fmt: skip
    [cell] = [op for op in ge_ops(module) if op.op_type == "DynamicRNN"]
    assert cell.get_attr("direction") == "REDIRECTIONAL"


def test_rotated_boxes():
    boxes, scores = np.zeros((4, 5), np.float32), np.zeros(4, np.float32)
    made = model(
        [node("NMSRotated", ["b", "s"], ["y"], "n", domain="mmdeploy", iou_threshold=0.25)],
        {"b": boxes, "s": scores}, ["y"],
    )  # fmt: skip
    [found] = [op for op in ge_ops(imported(made)) if op.op_type == "RotatedNMS"]
    assert found.get_attr("iou_threshold") == 0.25


REFUSED = [
    ("NPUDtypeCast", [X], {}, "element type is -1, expected a number of GE's"),
    ("Int8Quantize", [X], {"Y_scale": 0.0}, "attribute 'Y_scale' is 0, expected another number"),
    ("Int8GivenIntTensorFill", [], {"shape": [3], "values": [1]}, "the values cannot reshape"),
    ("AffineGrid", [X, np.ones(3, np.int64)], {}, "expected 4 or 5 numbers"),
    ("Triu", [X, X], {}, "has 2 inputs, expected at most 1 for ge.Triu"),
    ("Triu", [X], {"upper": 1}, "attribute 'upper' is not supported"),
    ("ai.ge::Reluu", [X], {}, "is no known op, expected a GE op type, did you mean 'Relu'?"),
    ("ai.ge::Add", [X, X], {"input_counts": [1]}, "'input_counts' is [1], expected one for each"),
    (
        "ai.ge::Im2col", [X], {"ksizes": "a"}, "attribute 'ksizes' is of another type, expected a",
    ),
    ("ai.ge::Cast", [X], {"dst_type": b"a"}, "'dst_type' is of another type, expected an integer"),
]  # fmt: skip


@pytest.mark.parametrize(("op", "inputs", "attrs", "text"), REFUSED, ids=[r[3] for r in REFUSED])
def test_refused(op, inputs, attrs, text):
    with pytest.raises(CompileError) as error:
        one(op, inputs, attrs, opset=20)
    assert text in str(error.value)


def test_tables_of_numbers():
    """Attributes of GE that ONNX has no kind for: lists of lists as JSON, element types."""
    cls = next(
        cls
        for cls in map(op_class, ("GatherShapes", "Index"))
        if any(spec.kind == "ListListInt" for spec in cls.prototype.attrs)
    )
    [spec] = [spec for spec in cls.prototype.attrs if spec.kind == "ListListInt"]
    for text, message in (
        (json.dumps([[0, 1]]), ""),
        ("[", "is no list of lists of integers, expected one"),
        ("3", "is no list of lists of integers, expected one"),
    ):
        attrs = {spec.name: text}
        made = model(
            [node(cls.prototype.op_type, ["x"], ["y"], "n", domain="ai.ge", **attrs)],
            {"x": X}, ["y"],
        )  # fmt: skip
        if message:
            with pytest.raises(CompileError, match=message):
                imported(made)
        else:
            [op] = [o for o in ge_ops(imported(made)) if o.op_type == cls.prototype.op_type]
            assert op.get_attr(spec.name) == ((0, 1),)


def test_what_the_exporter_writes_in_ges_domain_reads_back():
    """A While loop and an op with optional operands: op, attributes, regions and numbers."""
    body = helper.make_graph(
        [node("Add", ["v", "v"], ["u"], "twice"), node("Identity", ["c"], ["go"], "on")],
        "body",
        [
            helper.make_tensor_value_info("i", onnx.TensorProto.INT64, []),
            helper.make_tensor_value_info("c", onnx.TensorProto.BOOL, []),
            helper.make_tensor_value_info("v", onnx.TensorProto.FLOAT, [3, 4]),
        ],
        [
            helper.make_tensor_value_info("go", onnx.TensorProto.BOOL, []),
            helper.make_tensor_value_info("u", onnx.TensorProto.FLOAT, [3, 4]),
        ],
    )
    made = model(
        [node("Loop", ["n", "", "x"], ["z"], "loop", body=body),
         node("NPURmsNorm", ["z", "g"], ["y", ""], "norm", epsilon=0.5)],
        {"x": X}, ["y"], 17, {"n": np.array(3, np.int64), "g": X[0]},
    )  # fmt: skip
    module = imported(made)
    verify(module)
    expected = run_function(main_function(module), {"x": X})
    written = onnx.load_from_string(onnx_bytes(main_function(module)))
    again = import_onnx_bytes(written.SerializeToString())
    verify(again)
    found = run_function(main_function(again), {"x": X})
    np.testing.assert_array_equal(found[0], expected[0])
    doubled = 8 * X
    root = np.sqrt((doubled**2).mean(-1, keepdims=True) + 0.5)
    np.testing.assert_allclose(expected[0], doubled / root * X[0], rtol=1e-4)


def test_a_const_of_a_tensor_attribute():
    array = numpy_helper.from_array(X)
    made = model([node("Const", [], ["y"], "n", domain="ai.ge", value=array)], {}, ["y"])
    np.testing.assert_array_equal(run(made, {})[0], X)


@pytest.mark.parametrize("name", KEPT)
def test_ops_that_are_kept(name):
    assert name not in CONVERTERS
    assert len(KEPT[name]) > 20
    with pytest.warns(UserWarning, match=f"{name} 'n': the op is not known in domain 'ai.onnx'"):
        imported(model([node(name, ["x"], ["y"], "n")], {"x": X}, ["y"]))
