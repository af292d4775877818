"""ge-run: input arrays from files and seeds, comparison, saved outputs, and pyatc's flow."""

import json
import sys

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from ge_xdsl.cli import arrays, atc, compare, run
from ge_xdsl.dialects.ge.graph import ge_ops, main_function
from ge_xdsl.dialects.ge.text import parse_module
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor
from ge_xdsl.errors import CompileError, UsageError
from ge_xdsl.importers import load_module

TEXT = """func.func @main(%x: tensor<2x3xf32>, %h: tensor<?xbf16>)
    -> (tensor<2x3xf32>, tensor<?xbf16>) attributes {ge.output_names = ["y/1", "file"]} {
  %y = ge.Relu(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %g = ge.Relu(%h) : (tensor<?xbf16>) -> tensor<?xbf16>
  func.return %y, %g : tensor<2x3xf32>, tensor<?xbf16>
}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.mlir").write_text(TEXT)
    return tmp_path


def call(argv, capsys, main=run.main):
    code = main(argv)
    out, err = capsys.readouterr()
    return code, out, err


def gathered(files=(), archive=None, seed=None, shapes=None):
    return arrays.gather_inputs(
        main_function(parse_module(TEXT)), files, archive, seed, shapes or {}
    )


# Inputs


def test_files_come_before_the_archive_and_random_values(folder):
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.save("x.npy", x)
    np.savez("both.npz", x=x + 1, h=np.ones(4, np.float32))
    found = gathered(["x=x.npy"], "both.npz", seed=0)
    assert np.array_equal(found["x"], x)
    assert found["h"].dtype == ml_dtypes.bfloat16
    assert found["h"].tolist() == [1, 1, 1, 1]
    assert np.array_equal(gathered([], "both.npz")["x"], x + 1)
    assert gathered(["x=x.npy"], seed=0, shapes={"h": (5,)})["h"].shape == (5,)


def test_bfloat16_from_the_bytes_that_numpy_saves(folder):
    values = np.array([1.5, -2], ml_dtypes.bfloat16)
    np.save("h.npy", values)
    assert np.load("h.npy").dtype.kind == "V"
    found = gathered(["h=h.npy"], seed=0)["h"]
    assert found.dtype == ml_dtypes.bfloat16
    assert np.array_equal(found, values)


@pytest.mark.parametrize(
    ("text", "names", "expected"),
    [
        ("x=a.npy", ["x"], ("x", "a.npy")),
        ("x=a=b.npy", ["x"], ("x", "a=b.npy")),
        ("x=a=b.npy", ["x=a"], ("x=a", "b.npy")),
        ("a/b:0=1x2", ["a/b:0"], ("a/b:0", "1x2")),
    ],
)
def test_entries(text, names, expected):
    assert arrays.split_entry(text, names, "--input") == expected


def test_a_name_that_is_close():
    with pytest.raises(UsageError) as caught:
        arrays.split_entry("image=a.npy", ["images", "mask"], "--input")
    with pytest.raises(UsageError, match=r"--shape 1x3, expected --shape x=1x3$"):
        arrays.split_entry("1x3", ["x"], "--shape")
    with pytest.raises(UsageError, match=r"expected NAME=VALUE, the inputs are a, b, c, \.\.\.$"):
        arrays.split_entry("1x3", ["a", "b", "c", "d"], "--shape")
    assert str(caught.value) == (
        "--input: no graph input 'image', expected one of: images, mask, did you mean 'images'?"
    )


@pytest.mark.parametrize("dtype", [d for d in DataType if d < 43])
def test_random_values_have_the_type_and_are_sensible(dtype):
    tensor = Tensor(dtype, (3, DYNAMIC))
    try:
        found = arrays.random_array("x", tensor, 1, None)
    except (ValueError, CompileError) as error:
        assert "has no numpy type" in str(error) or "is DT_STRING" in str(error)
        return
    assert found.shape == (3, 1)
    big = arrays.random_array("x", tensor, 1, (64, 64)).astype(np.complex128)
    assert np.isfinite(big).all()
    assert len(set(big.ravel().tolist())) > 1
    if found.dtype.kind in "iub" or "int" in found.dtype.name:
        assert big.real.min() >= 0
        assert big.real.max() < arrays.RANDOM_INTEGERS
    again = arrays.random_array("x", tensor, 1, (64, 64)).astype(np.complex128)
    assert np.array_equal(again, big)
    assert not np.array_equal(
        arrays.random_array("y", tensor, 1, (64, 64)).astype(np.complex128), big
    )


def test_random_floats_are_normal():
    found = arrays.random_array("x", Tensor(DataType.DT_FLOAT, (200, 200)), 3, None)
    assert abs(float(found.mean())) < 0.02
    assert abs(float(found.std()) - 1) < 0.02


def test_an_input_of_unknown_rank_needs_a_shape():
    tensor = Tensor(DataType.DT_FLOAT, None)
    with pytest.raises(CompileError) as caught:
        arrays.random_array("x", tensor, 0, None)
    assert str(caught.value) == (
        "error: graph input 'x': rank is unknown, expected --shape NAME=1x3x224x224"
    )
    assert arrays.random_array("x", tensor, 0, (2, -1)).shape == (2, 1)


UNKNOWN_DIMS = """func.func @main(%x: tensor<?x?xf32>, %w: tensor<8x4xf32>) -> tensor<?x4xf32> {
  %y = ge.MatMul(%x, %w) : (tensor<?x?xf32>, tensor<8x4xf32>) -> tensor<?x4xf32>
  func.return %y : tensor<?x4xf32>
}
"""


def test_times_for_dimensions_that_were_assumed_are_told(folder, capsys):
    (folder / "d.mlir").write_text(UNKNOWN_DIMS.replace("?x?x", "?x8x"))
    told = "warning: graph input 'x' is ?x8 and {} as 1x8, expected --shape x=... for other"
    for more, did in ((["--estimate"], "was timed"), (["--random-inputs", "--cycles"], "ran")):
        code, _, err = call(["d.mlir", *more], capsys)
        assert (code, err.startswith(told.format(did))) == (0, True)
        assert call(["d.mlir", *more, "--shape", "x=2x8"], capsys)[2] == ""
    assert call(["d.mlir", "--random-inputs"], capsys)[2] == ""


def test_an_error_names_the_dimensions_that_were_assumed(folder, capsys):
    (folder / "d.mlir").write_text(UNKNOWN_DIMS)
    note = "graph input 'x' is ?x? and ran as 1x1, expected --shape x=... for other dimensions"
    for more in ([], ["--compare", "ge"], ["--level", "aicore"]):
        code, _, err = call(["d.mlir", "--random-inputs", *more], capsys)
        assert code == 1
        assert err.splitlines()[-1].endswith(f"note: {note}")
    code, _, err = call(["d.mlir", "--random-inputs", "--shape", "x=1x1"], capsys)
    assert (code, "--shape" in err) == (1, False)
    assert call(["d.mlir", "--random-inputs", "--shape", "x=2x8"], capsys)[0] == 0


# Outputs


def test_the_digest_tells_values_types_and_shapes_apart():
    a = np.arange(6, dtype=np.float32)
    found = [
        arrays.digest(b) for b in (a, a + 1, a.reshape(2, 3), a.astype(np.int32), a[::-1].copy())
    ]
    assert len(set(found)) == 5
    assert arrays.digest(a.reshape(2, 3).T) == arrays.digest(a.reshape(2, 3).T.copy())
    # sha256 of b"float32 (2,)" + two f32 zeros, computed with coreutils
    assert arrays.digest(np.zeros(2, np.float32)) == ZERO_DIGEST


ZERO_DIGEST = "d26c7653758b7ed3"


def test_saved_outputs_have_the_names_and_values(folder, capsys):
    x = np.array([[-1, 2, -3], [4, -5, 6]], np.float32)
    np.save("x.npy", x)
    np.save("h.npy", np.array([-1, 1.5], np.float32))
    argv = ["a.mlir", "--input", "x=x.npy", "--input", "h=h.npy", "--save-outputs", "o.npz"]
    code, out, err = call(argv, capsys)
    assert (code, err) == (0, "")
    assert [line.rsplit(" ", 1)[0] for line in out.splitlines()] == [
        "output 'y/1': 2x3 float32",
        "output 'file': 2 bfloat16",
    ]
    saved = np.load("o.npz")
    assert saved.files == ["y/1", "file"]
    assert np.array_equal(saved["y/1"], np.maximum(x, 0))
    assert saved["file"].tolist() == [0, 1.5]


def test_an_output_of_strings_is_not_saved(folder):
    with pytest.raises(
        CompileError, match="o.npz: error: an output is DT_STRING, expected numbers"
    ):
        arrays.save_npz("o.npz", {"s": np.array(["a"], object)})


# Comparison

INF, NAN = float("inf"), float("nan")


@pytest.mark.parametrize(
    ("got", "want", "text", "is_close"),
    [
        ([1, 2], [1, 2], "max |diff| 0, 0 of max |ref| 2", True),
        ([1.0009, 1], [1, 1], "max |diff| 0.0009, 0.0009 of max |ref| 1", True),
        ([1.0011, 1], [1, 1], "max |diff| 0.0011, 0.0011 of max |ref| 1", False),
        ([100, 0.05], [100, 0], "max |diff| 0.05, 0.0005 of max |ref| 100", True),
        ([0, 0], [0, 0], "max |diff| 0, 0 of max |ref| 0", True),
        ([1e-9, 0], [0, 0], "max |diff| 1e-09, inf of max |ref| 0", False),
        (
            [INF, NAN, 1],
            [INF, NAN, 1],
            "max |diff| 0, 0 of max |ref| 1, 2 of 3 values are infinite or NaN on both sides",
            True,
        ),
        (
            [NAN, INF],
            [NAN, INF],
            "all 2 values are infinite or NaN on both sides, expected finite ones",
            False,
        ),
        ([INF, 1], [-INF, 1], "1 values are infinite or NaN on one side only", False),
        ([NAN, 1], [1, 1], "1 values are infinite or NaN on one side only", False),
        ([1], [NAN], "1 values are infinite or NaN on one side only", False),
        ([[1, 2]], [1, 2], "shape is 1x2, expected 2", False),
        ([], [], "max |diff| 0, 0 of max |ref| 0", True),
    ],
)
def test_differences(got, want, text, is_close):
    found = compare.difference(np.array(got, np.float64), np.array(want, np.float64))
    assert found == (text, is_close)


def test_strings_are_compared_as_they_are():
    a, b = np.array(["a"], object), np.array(["b"], object)
    assert compare.difference(a, a) == ("strings are equal", True)
    assert compare.difference(a, b) == ("strings differ", False)


def test_another_element_type_is_a_difference():
    found = compare.difference(np.zeros(1, np.float32), np.zeros(1, np.float16))
    assert found == ("element type is float32, expected float16", False)


def test_another_number_of_outputs():
    with pytest.raises(CompileError, match="1 outputs, expected 0 as ge gives"):
        compare.compare({"y": np.zeros(1)}, {}, "ge")


def model(relu=True):
    """y = Relu(reshape(x, [N, 8]) @ w), the shape computed from x's."""
    rng = np.random.default_rng(0)
    weights = [
        numpy_helper.from_array(rng.standard_normal((8, 16)).astype(np.float32), "w"),
        numpy_helper.from_array(np.array([0], np.int64), "zero"),
        numpy_helper.from_array(np.array([-1], np.int64), "rest"),
    ]
    nodes = [
        helper.make_node("Shape", ["x"], ["s"], name="shape"),
        helper.make_node("Gather", ["s", "zero"], ["n"], name="gather"),
        helper.make_node("Concat", ["n", "rest"], ["t"], name="cat", axis=0),
        helper.make_node("Reshape", ["x", "t"], ["f"], name="flat"),
        helper.make_node("MatMul", ["f", "w"], ["m"], name="mm"),
        helper.make_node("Relu" if relu else "Abs", ["m"], ["y"], name="act"),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 2, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 16])],
        weights,
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    made.ir_version = 9
    return made


@pytest.fixture
def onnx_file(folder):
    onnx.save(model(), "m.onnx")
    return folder


@pytest.mark.parametrize("more", [[], ["-p", "ge-optimize"], ["--level", "aicore"]])
def test_against_onnxruntime(onnx_file, capsys, more):
    argv = ["m.onnx", "--random-inputs", "--shape", "x=3x2x4", "--compare", "onnxruntime", *more]
    code, out, err = call(argv, capsys)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith("output 'y': 3x16 float32 ")
    assert lines[1].startswith("compare 'y' with onnxruntime: max |diff| ")
    assert lines[1].endswith(": ok")


def test_a_difference_fails(onnx_file, capsys, monkeypatch):
    real = compare.run_onnxruntime
    monkeypatch.setattr(
        compare,
        "run_onnxruntime",
        lambda path, inputs: {k: v * 1.01 for k, v in real(path, inputs).items()},
    )
    argv = ["m.onnx", "--random-inputs", "--compare", "onnxruntime", "--save-outputs", "o.npz"]
    code, out, _ = call(argv, capsys)
    assert code == 1
    assert out.splitlines()[1].endswith(": FAIL")
    assert (onnx_file / "o.npz").exists()


def test_a_model_that_onnxruntime_refuses(folder, capsys):
    made = model()
    made.opset_import[0].version = 99
    onnx.save(made, "new.onnx")
    with pytest.raises(CompileError, match="new.onnx: error: onnxruntime cannot run it, "):
        compare.run_onnxruntime("new.onnx", {"x": np.zeros((1, 2, 4), np.float32)})


def test_without_onnxruntime(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(UsageError, match="onnxruntime is not installed, expected it for --comp"):
        compare.run_onnxruntime("m.onnx", {})


def test_cycles_as_json_stand_alone_on_stdout(onnx_file, capsys):
    code, out, err = call(["m.onnx", "--random-inputs", "--cycles=json"], capsys)
    assert code == 0
    report = json.loads(out)
    assert report["target"] == "Ascend910B1"
    assert len(report["kernels"]) == 1
    assert "\noutput 'y': 1x16 float32 " in err


def test_a_lowered_module_runs_at_its_level(onnx_file, capsys):
    argv = ["--model=m.onnx", "--framework=5", "--output=low", "--soc_version=Ascend910B1"]
    code, out, err = call([*argv, "--input_shape=x:3,2,4", "--log=info"], capsys, atc.main)
    assert (code, out) == (
        0,
        "ATC run success: low.mlir, 1 kernel launch\n",
    )
    assert "convert-ge-to-aicore" in err
    assert (onnx_file / "low.safetensors").exists()
    module = load_module("low.mlir")
    assert not [op for op in ge_ops(main_function(module)) if "MatMul" in op.op_type]
    assert "tensor<3x16xf32>" in (onnx_file / "low.mlir").read_text()
    first = call(["low.mlir", "--random-inputs=5"], capsys)
    argv = ["m.onnx", "--random-inputs=5", "--shape", "x=3x2x4"]
    second = call([*argv, "--level=aicore"], capsys)
    third = call([*argv, "-p", "ge-compile"], capsys)
    assert first[0] == 0
    assert first[1] == second[1] == third[1]


def test_checked_runs(folder, capsys):
    argv = ["a.mlir", "--random-inputs", "--shape", "h=4", "--save-outputs"]
    code, _, err = call([*argv, "fast.npz", "--level", "aicore"], capsys)
    assert (code, err) == (0, "")
    code, _, err = call([*argv, "slow.npz", "--level", "aicore", "--checked"], capsys)
    assert (code, err) == (0, "")
    fast, slow = np.load("fast.npz"), np.load("slow.npz")
    assert fast.files == slow.files
    assert all((fast[name] == slow[name]).all() for name in fast.files)
    code, _, err = call(["a.mlir", "--random-inputs", "--checked"], capsys)
    assert code == 2
    assert "--checked without --level aicore, expected both" in err
