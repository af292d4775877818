"""`ge.onnx_plugin` in use: plugins of a user's file convert nodes of a model."""

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import ge_xdsl as gx
from ge_xdsl.cli import opt, run
from ge_xdsl.compat.ge.onnx_plugin import (
    OnnxNode,
    clear_registered_onnx_plugins,
    onnx_plugin,
    parse,
)
from ge_xdsl.dialects.ge.graph import ge_ops, main_function

X = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)


@pytest.fixture(autouse=True)
def nothing_registered(monkeypatch):
    monkeypatch.delenv("ASCEND_CUSTOM_OPP_PATH", raising=False)
    clear_registered_onnx_plugins()
    yield
    clear_registered_onnx_plugins()


def written(path, nodes, initializers=(), domain="com.acme", version=2):
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "g",
        [info("x", onnx.TensorProto.FLOAT, [3, 4])],
        [info("y", onnx.TensorProto.FLOAT, [3, 4])],
        [numpy_helper.from_array(array, name) for name, array in dict(initializers).items()],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(domain, version)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    return path


def leaky(op="Leaky", domain="com.acme", **attrs):
    return helper.make_node(op, ["x"], ["y"], "n", domain=domain, **attrs)


FILE = """
from ge.onnx_plugin import onnx_plugin

leaky = onnx_plugin(source="Leaky", domain="com.acme", opsets=[1, 2, 3], target="LeakyRelu")


@leaky.parse_node
def parse_leaky(node, operator):
    assert node.op_type == "Leaky" and node.inputs == ("x",) and node.outputs == ("y",)
    operator.set_attr("negative_slope", node.get_attr("slope", 0.5))
"""


def test_a_file_that_ge_opt_loads(tmp_path, capsys):
    model = written(tmp_path / "m.onnx", [leaky(slope=0.25)])
    plugin = tmp_path / "plugin.py"
    plugin.write_text(FILE)
    assert opt.main([str(model), "--load", str(plugin)]) == 0
    found = capsys.readouterr()
    assert "%n = ge.LeakyRelu(%x) {negative_slope = 0.25} : (tensor<3x4xf32>)" in found.out
    assert found.err == ""
    argv = [str(model), "--load", str(plugin), "--random-inputs"]
    assert run.main(argv) == 0


def test_files_of_the_environment(tmp_path, capsys, monkeypatch):
    model = written(tmp_path / "m.onnx", [leaky()])
    folder = tmp_path / "opp"
    folder.mkdir()
    (folder / "leaky_plugin.py").write_text(FILE)
    monkeypatch.setenv("ASCEND_CUSTOM_OPP_PATH", str(folder))
    assert opt.main([str(model)]) == 0
    assert "ge.LeakyRelu(%x) {negative_slope = 0.5}" in capsys.readouterr().out
    monkeypatch.setenv("ASCEND_CUSTOM_OPP_PATH", str(tmp_path / "missing"))
    assert opt.main([str(model)]) == 1
    assert "error:" in capsys.readouterr().err


def test_another_opset_is_another_key(tmp_path, capsys):
    model = written(tmp_path / "m.onnx", [leaky()], version=9)
    plugin = tmp_path / "plugin.py"
    plugin.write_text(FILE)
    assert opt.main([str(model), "--load", str(plugin)]) == 0
    assert "is kept as ge.com.acme.Leaky" in capsys.readouterr().err


def test_from_python_and_the_numbers(tmp_path):
    made = onnx_plugin(source="Leaky", domain="com.acme", opsets=[2], target="LeakyRelu")
    made.parse_node(lambda node, operator: operator.set_attr("negative_slope", node.attrs["s"]))
    module = gx.load(written(tmp_path / "m.onnx", [leaky(s=0.25)]))
    np.testing.assert_allclose(gx.run(module, {"x": X})["y"], np.where(X > 0, X, X * 0.25))


def test_a_plugin_comes_before_our_own_conversion(tmp_path):
    made = onnx_plugin(source="Relu", domain="ai.onnx", opsets=range(8, 19), target="Abs")
    made.parse_node(lambda node, operator: None)
    module = gx.load(written(tmp_path / "m.onnx", [leaky("Relu", "")]))
    assert [op.op_type for op in ge_ops(module)] == ["Abs"]
    made = onnx_plugin(source="Relu", domain="", opsets=[17], target="Neg")
    made.parse_node(lambda node, operator: None)
    module = gx.load(written(tmp_path / "m.onnx", [leaky("Relu", "")]))
    assert [op.op_type for op in ge_ops(module)] == ["Neg"]


def test_attributes_of_every_kind(tmp_path):
    seen = {}
    made = onnx_plugin(source="Many", domain="com.acme", opsets=[2], target="ManyOfAcme")

    @made.parse_node
    def parse(node, operator):
        seen.update(node.attrs)
        operator.register_input("x")
        operator.register_dynamic_input("rest", 2)
        operator.register_optional_input("bias")
        operator.register_output("y")
        operator.register_output("z")
        operator.set_attr("scale", 0.5)
        operator.set_attr("table", node.get_attr("t"))
        operator.set_attr("sizes", node.get_attr("sizes"))

    body = helper.make_graph([], "g", [], [])
    many = helper.make_node(
        "Many", ["x", "x", "w"], ["y", "z"], "n", domain="com.acme", f=0.5, i=3, s="text",
        fs=[0.5, 1.0], sizes=[1, 2], ss=["a", "b"], t=numpy_helper.from_array(X), body=body,
    )  # fmt: skip
    module = gx.load(written(tmp_path / "m.onnx", [many], {"w": X}))
    [op] = [op for op in ge_ops(module) if op.op_type == "ManyOfAcme"]
    table = seen.pop("t")
    assert table.get_shape().dims == [3, 4] if hasattr(table.get_shape(), "dims") else True
    assert seen == {"f": 0.5, "i": 3, "s": "text", "fs": [0.5, 1.0], "sizes": [1, 2],
                    "ss": ["a", "b"]}  # fmt: skip
    assert op.get_attr("scale") == 0.5
    assert op.get_attr("sizes") == (1, 2)
    np.testing.assert_array_equal(op.get_attr("table"), X)
    assert [io.name for io in op.prototype.inputs] == ["x", "rest0", "rest1", "bias"]
    assert [str(value.type) for value in op.results] == [
        "tensor<3x4xf32>", "tensor<*x!ge.element<DT_UNDEFINED>>",
    ]  # fmt: skip
    assert main_function(module) is not None


BAD = [
    ("raise ValueError('no slope\\nat all')", "onnx plugin raised ValueError: no slope"),
    ("return node.nothing", "onnx plugin raised AttributeError: 'OnnxNode' object has no"),
    ("operator.set_attr('slope', [])", "onnx plugin raised ValueError: Empty list is not"),
]


@pytest.mark.parametrize(("body", "text"), BAD, ids=[text[12:40] for _, text in BAD])
def test_a_callback_that_raises(tmp_path, capsys, body, text):
    plugin = tmp_path / "plugin.py"
    plugin.write_text(
        FILE.replace("    assert node.op_type", f"    {body}\n    assert node.op_type")
    )
    model = written(tmp_path / "m.onnx", [leaky()])
    assert opt.main([str(model), "--load", str(plugin)]) == 1
    err = capsys.readouterr().err
    assert f"error: Leaky 'n': {text}" in err
    assert err.count("\n") == 1
    if "nothing" in body or "raise" in body:
        assert err.startswith(f"{plugin}:9:1: ")


def without_callback():
    onnx_plugin(source="Leaky", domain="com.acme", opsets=[2], target="LeakyRelu")


def unknown_target():
    made = onnx_plugin(source="Leaky", domain="com.acme", opsets=[2], target="LeakyReluu")
    made.parse_node(lambda node, operator: None)


def wrong_attribute():
    made = onnx_plugin(source="Leaky", domain="com.acme", opsets=[2], target="LeakyRelu")
    made.parse_node(lambda node, operator: operator.set_attr("negative_slope", "steep"))


def too_few_inputs():
    made = onnx_plugin(source="Leaky", domain="com.acme", opsets=[2], target="Add")
    made.parse_node(lambda node, operator: None)


REFUSED = [
    (without_callback, "RuntimeError: onnx plugin of Leaky has no parse_node, expected one"),
    (unknown_target, "the plugin gives LeakyReluu is no known op, expected a GE op type, did you"),
    (wrong_attribute, "attribute 'negative_slope'"),
    (too_few_inputs, "input 'x2' is missing"),
]


@pytest.mark.parametrize(("register", "text"), REFUSED, ids=[r[0].__name__ for r in REFUSED])
def test_wrong_plugins(tmp_path, register, text):
    register()
    with pytest.raises(gx.CompileError) as error:
        gx.load(written(tmp_path / "m.onnx", [leaky()]))
    assert "Leaky 'n': " in str(error.value)
    assert text in str(error.value)


def test_a_plugin_has_one_callback():
    made = onnx_plugin(source="Twice", domain="test.twice", opsets=[1], target="Relu")

    @made.parse_node
    def first(node, operator):
        operator.set_attr("a", 1)

    with pytest.raises(ValueError, match="parse_node of Twice is given twice, expected once"):
        made.parse_node(lambda node, operator: None)
    with pytest.raises(TypeError, match="parse_node expects a function"):
        onnx_plugin(source="No", domain="test.twice", opsets=[1], target="Relu").parse_node(3)
    assert parse(made, OnnxNode("Twice"))._attrs == {"a": 1}
