"""Symbolic dimensions keep their names, and are given sizes by them; metadata of models stays."""

import numpy as np
import onnx
import pytest
from onnx_graphs import model, node

import ge_xdsl as gx
from ge_xdsl.cli import opt, run
from ge_xdsl.dialects.ge.graph import main_function
from ge_xdsl.dialects.ge.names import symbolic_dims
from ge_xdsl.errors import CompileError
from ge_xdsl.passes.infer_shape import set_input_shapes

X = np.zeros((2, 3, 4), np.float32)


@pytest.fixture
def path(tmp_path):
    made = model(
        [node("Add", ["x", "y"], ["z"], "add")], {"x": X, "y": X[0]}, ["z"], 17, (),
        {"x": ["batch", "length", 4], "y": ["length", None]},
    )  # fmt: skip
    for key, value in (("author", "someone"), ("labels", "a=b\nc")):
        made.metadata_props.add(key=key, value=value)
    (tmp_path / "m.onnx").write_bytes(made.SerializeToString())
    return tmp_path / "m.onnx"


def shapes(func):
    return [str(arg.type) for arg in func.body.block.args]


def test_names_by_input(path):
    assert symbolic_dims(main_function(gx.load(path))) == [["batch", "length", ""], ["length", ""]]


def test_a_size_holds_in_every_input(path):
    func = main_function(gx.load(path))
    set_input_shapes(func, {"batch": [7], "length": [3]})
    assert shapes(func) == ["tensor<7x3x4xf32>", "tensor<3x?xf32>"]
    func = main_function(gx.load(path))
    set_input_shapes(func, {"length": [3], "y": [5, 4]})
    assert shapes(func) == ["tensor<?x3x4xf32>", "tensor<5x4xf32>"]
    with pytest.raises(CompileError, match="no graph input 'width', expected one of: x, y"):
        set_input_shapes(main_function(gx.load(path)), {"width": [3]})


def test_in_a_pass(path, capsys):
    assert opt.main([str(path), "-p", "ge-infer-shape{input-shapes=batch:2;length:3}"]) == 0
    assert "%x: tensor<2x3x4xf32>, %y: tensor<3x?xf32>" in capsys.readouterr().out


def test_ge_run(path, capsys):
    argv = [str(path), "--random-inputs", "--shape", "batch=5", "--shape", "length=3"]
    assert run.main([*argv, "--compare", "onnxruntime"]) == 0
    assert "output 'z': 5x3x4 float32" in capsys.readouterr().out
    for entry, text in (
        ("batch=5x3", "--shape batch=5x3, expected one number for dimension 'batch'"),
        ("batsh=5", "no graph input 'batsh', expected one of: x, y, batch, length, did you mean"),
    ):
        assert run.main([*argv[:2], "--shape", entry]) == 2
        assert text in capsys.readouterr().err


def test_names_and_metadata_go_out_again(path, tmp_path):
    for first in ("n.mlir", "n.txt", "n.pbtxt", "n.air"):
        gx.save(gx.load(path), tmp_path / first)
        gx.save(gx.load(tmp_path / first), tmp_path / "o.onnx")
        made = onnx.load(tmp_path / "o.onnx")
        pairs = [(entry.key, entry.value) for entry in made.metadata_props]
        assert pairs == [("author", "someone"), ("labels", "a=b\nc")]
        dims = [
            [dim.dim_param or dim.dim_value for dim in info.type.tensor_type.shape.dim]
            for info in made.graph.input
        ]
        assert dims == [["batch", "length", 4], ["length", 0]]
