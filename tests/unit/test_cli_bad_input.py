"""Bad input: one line that says what is wrong, the exit code, no traceback, no output file."""

import os
from importlib import import_module

import numpy as np
import pytest

from ge_xdsl.cli import atc, opt, run

GOOD = """func.func @main(%x: tensor<2x3xf32>, %n: tensor<?xi32>) -> tensor<2x3xf32> {
  %y = ge.Relu(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}
"""
BODY = """func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {{
  {0}
  func.return %y : tensor<2x3xf32>
}}
"""
T = "tensor<2x3xf32>"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.mlir").write_text(GOOD)
    (tmp_path / "folder.mlir").mkdir()
    return tmp_path


def call(main, argv, capsys):
    code = main(argv)
    out, err = capsys.readouterr()
    assert "Traceback" not in err
    return code, out, err


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (BODY.format(f"%y = ge.Relu(%x : ({T}) -> {T}"), "bad.mlir:2:19: error: "),
        ("\x01" + GOOD, "bad.mlir:1:1: error: Unexpected character"),
        (
            BODY.format(
                "%y = ge.Const() {value = dense<1> : tensor<2xi3232>} : () -> tensor<2xi32>"
            ),
            "bad.mlir:2:3: error: Format not implemented for i3232",
        ),
        (
            BODY.format("%y = ge.Relu(%x) : (tensor<2x3xf32, f32>) -> tensor<2x3xf32>"),
            "error: tensor encoding is f32, expected #ge.layout<...>",
        ),
        (GOOD[:70], "bad.mlir:1:71: error: "),
        (
            BODY.format(f"%y = ge.Relo(%x) : ({T}) -> {T}"),
            "bad.mlir:2:8: error: ge.Relo: is no known op, expected a GE op type, "
            "did you mean 'Relu'?",
        ),
        (
            BODY.format(f"%y = ge.Add(%x) : ({T}) -> {T}"),
            "bad.mlir:2:14: error: ge.Add: input 'x2' is missing",
        ),
        (
            BODY.format(f"%y = ge.Add(%x, %x, %x) : ({T}, {T}, {T}) -> {T}"),
            "error: ge.Add: more inputs than the prototype has, expected: x1, x2",
        ),
        (
            BODY.format(f'%y = "ge.Add"(%x) : ({T}) -> {T}'),
            "bad.mlir:2:3: error: ge.Add 'y': has 1 operands, expected 2",
        ),
        (
            BODY.format(f'%y = ge.Elu(%x) {{alpha = "a"}} : ({T}) -> {T}'),
            "error: ge.Elu: attribute 'alpha' is 'a', expected a number",
        ),
        (
            BODY.format(f"%y = ge.Relu(%x) : ({T}) -> tensor<3x3xf32>"),
            "error: ",
        ),
        (
            BODY.format(f"%y = ge.Relu(%z) : ({T}) -> {T}"),
            "error: ",
        ),
    ],
)
def test_a_wrong_text(folder, capsys, text, error):
    (folder / "bad.mlir").write_text(text)
    code, out, err = call(opt.main, ["bad.mlir", "-o", "out.mlir"], capsys)
    assert (code, out) == (1, "")
    assert error in err
    assert err.startswith("bad.mlir:")
    assert err.count("\n") == 1
    assert not (folder / "out.mlir").exists()


DECLARATION = GOOD.index("-> ")


@pytest.mark.parametrize("cut", [n for n in range(7, len(GOOD) - 2, 7) if n != DECLARATION])
def test_a_truncated_text(folder, capsys, cut):
    (folder / "bad.mlir").write_text(GOOD[:cut])
    code, out, err = call(opt.main, ["bad.mlir", "-o", "out.mlir"], capsys)
    assert (code, out) == (1, "")
    assert err.startswith("bad.mlir:")
    assert ": error: " in err
    assert "internal" not in err
    assert not (folder / "out.mlir").exists()


@pytest.mark.parametrize("seed", range(40))
def test_a_text_with_random_bytes(folder, capsys, seed):
    rng = np.random.default_rng(seed)
    data = bytearray(GOOD.encode())
    for _ in range(1 + seed % 4):
        data[rng.integers(len(data))] = rng.integers(256)
    (folder / "bad.mlir").write_bytes(bytes(data))
    code, _, err = call(opt.main, ["bad.mlir"], capsys)
    assert code in (0, 1)
    assert "internal" not in err
    assert not code or ": error: " in err


@pytest.mark.parametrize(
    ("argv", "code", "error"),
    [
        (["none.mlir"], 1, "none.mlir: error: "),
        (["folder.mlir"], 1, "folder.mlir: error: "),
        (["good.mlir", "-o", "no/out.mlir"], 1, "no/out.mlir: error: its folder does not exist"),
        (["good.mlir", "-o", "folder.mlir"], 1, "folder.mlir: error: is a directory"),
        (["good.mlir", "-p", "ge-dc"], 2, "ge-opt: error: unknown pass 'ge-dc', did you mean"),
        (["good.mlir", "-p", "ge-dce{x}"], 2, "error: pass ge-dce: unknown option 'x'"),
        (["good.mlir", "--load", "pass.txt"], 1, "pass.txt"),
        (["good.mlir", "--load", "none.py"], 1, "none.py"),
        (["good.mlir", "--load", "broken.py"], 1, "broken.py:1:"),
        (["good.mlir", "--target", "Ascend910B"], 2, "unknown target 'Ascend910B', did you mean"),
        (["good.mlir", "--option", "x"], 2, "option is 'x', expected --option KEY=VALUE"),
        (["good.mlir", "--emit", "svg"], 2, "--emit=svg is not available, expected one of: mlir"),
        (["good.mlir", "-o", "out.svg"], 2, "output is 'out.svg', expected an ending or --emit"),
        (["good.mlir", "more.mlir"], 2, "unexpected argument 'more.mlir', expected one input"),
        (
            ["good.mlir", "more.py"],
            2,
            "unexpected argument 'more.py', did you mean --load more.py?",
        ),
        (["good.mlir", "--verify-eac"], 2, "unknown option '--verify-eac', did you mean"),
        (["good.mlir", "--explan"], 2, "unknown option '--explan', did you mean '--explain'?"),
        (
            ["good.mlir", "--verify"],
            2,
            "unknown option '--verify', did you mean '--verify-diagnostics' or '--verify-each' or "
            "'--verify-limit' or '--verify-rewrites'?",
        ),
        (["good.mlir", "--cover"], 2, "unknown option '--cover', did you mean '--coverage'?"),
        (["good.mlir", "--frobnicate"], 2, "unknown option '--frobnicate', see ge-opt --help"),
        ([], 2, "no input given, expected a file or -"),
        ([""], 2, "no input given, expected a file or -"),
        (["good.mlir", "--load", ""], 2, "--load is empty, expected a file or directory"),
        (["good.mlir", "--input-format", "onx"], 2, "input format is 'onx', expected mlir or onnx"),
        (["m.onnx", "--split-input-file"], 2, "--split-input-file with input 'm.onnx', expected"),
        (["--describe", "Conv2"], 2, "Conv2 is no known op, expected a GE op type, did you mean"),
        (
            ["--describe", "gemm"],
            2,
            "gemm is no known op, expected a GE op type, did you mean 'GEMM'",
        ),
        (["good.mlir", "--explain", "P"], 2, "unexpected argument 'P', did you mean --explain=P?"),
        (
            ["good.mlir", "-p", "ge-dce", "--print-ir-after=ge-dc"],
            2,
            "--print-ir-after=ge-dc is not in the pipeline, did you mean 'ge-dce'?",
        ),
        (
            ["good.mlir", "-p", "ge-dce,ge-cse", "--print-ir-before=x"],
            2,
            "--print-ir-before=x is not in the pipeline, expected one of: ge-dce, ge-cse",
        ),
    ],
)
def test_wrong_arguments_of_ge_opt(folder, capsys, argv, code, error):
    (folder / "pass.txt").write_text("x = 1\n")
    (folder / "broken.py").write_text("def broken(:\n")
    argv = argv if "-o" in argv or not argv else [*argv, "-o", "out.mlir"]
    found, out, err = call(opt.main, argv, capsys)
    assert (found, out) == (code, "")
    assert error in err
    assert "internal" not in err
    assert err.count("\n") == 1
    assert not (folder / "out.mlir").exists()


def test_an_empty_model_name(capsys):
    found = call(run.main, [""], capsys)
    assert found == (2, "", "ge-run: error: no model given, expected a file or -\n")


def test_a_folder_that_is_not_writable(folder, capsys, monkeypatch):
    monkeypatch.setattr("ge_xdsl.cli.output.os.access", lambda path, mode: False)  # root may all
    code, _, err = call(opt.main, ["good.mlir", "-o", "out.mlir"], capsys)
    assert code == 1
    assert err == "out.mlir: error: its folder is not writable, expected one that is\n"


@pytest.mark.parametrize("text", ["", "\n\n", "// a comment\n"])
def test_an_empty_text_is_an_empty_module(folder, capsys, text):
    (folder / "empty.mlir").write_text(text)
    assert call(opt.main, ["empty.mlir"], capsys) == (0, "builtin.module {\n}\n", "")


def test_binary_data_as_text(folder, capsys):
    (folder / "bad.mlir").write_bytes(bytes(range(256)) * 4)
    code, out, err = call(opt.main, ["bad.mlir"], capsys)
    assert (code, out) == (1, "")
    assert err == "bad.mlir:2:118: error: byte is 0x80, expected UTF-8 text\n"


def test_a_failing_pass_leaves_the_old_output(folder, capsys):
    (folder / "out.mlir").write_text("old\n")
    argv = ["good.mlir", "-p", "ge-dce,ge-infer-shape{input-shapes=x:9}", "-o", "out.mlir"]
    code, out, err = call(opt.main, argv, capsys)
    assert (code, out) == (1, "")
    assert err.split("\n")[:2] == [
        "good.mlir: error: graph input 'x': shape is 9, expected one that fits 2x3",
        "good.mlir: note: in pass ge-infer-shape, after ge-dce",
    ]
    assert (folder / "out.mlir").read_text() == "old\n"
    assert sorted(os.listdir(folder)) == ["folder.mlir", "good.mlir", "out.mlir"]


def save(folder):
    np.save(folder / "x.npy", np.zeros((2, 3), np.float32))
    np.save(folder / "wide.npy", np.zeros((2, 4), np.float32))
    np.save(folder / "int.npy", np.zeros((2, 3), np.int64))
    np.save(folder / "object.npy", np.array([{}, 1], object), allow_pickle=True)
    (folder / "text.npy").write_text("no array\n")
    (folder / "empty.npy").write_bytes(b"")
    whole = (folder / "x.npy").read_bytes()
    (folder / "short.npy").write_bytes(whole[:-4])
    np.savez(folder / "both.npz", x=np.zeros((2, 3), np.float32), n=np.zeros(4, np.int32))
    np.savez(folder / "other.npz", z=np.zeros((2, 3), np.float32))
    (folder / "cut.npz").write_bytes((folder / "both.npz").read_bytes()[:-30])


@pytest.mark.parametrize(
    ("argv", "code", "error"),
    [
        (
            [],
            2,
            "no array for graph input 'x', expected --input NAME=FILE.npy, --inputs FILE.npz, "
            "--random-inputs, or --estimate for times alone",
        ),
        (["--input", "x.npy"], 2, "--input x.npy, expected NAME=VALUE, the inputs are x, n"),
        (["--input", "y=x.npy"], 2, "--input: no graph input 'y', expected one of: x, n"),
        (["--inputs", "other.npz"], 2, "other.npz: no graph input 'z', expected one of: x, n"),
        (["--shape", "x=2xa"], 2, "--shape x=2xa: shape is '2xa', expected dimensions such as"),
        (["--shape", "y=2"], 2, "--shape: no graph input 'y'"),
        (["--random-inputs=a"], 2, "--random-inputs=a, expected a seed of 0 or more"),
        (["--cycles=xml"], 2, "--cycles=xml, expected --cycles, --cycles=json or =diff"),
        (["--cycles=diff"], 2, "--cycles=diff without passes, expected some with -p"),
        (["--trace", "t.json", "--level", "ge"], 2, "--trace with --level ge, expected --level ai"),
        (["--trace", "no/dir/t.json"], 1, "no/dir/t.json"),
        (["--estimate", "--compare", "ge"], 2, "--estimate with --compare, expected one of them"),
        (["--estimate", "--save-outputs", "o.npz"], 2, "--estimate with --save-outputs, expected"),
        (["--describe-target", "Ascend910B5"], 2, "unknown target 'Ascend910B5', did you mean"),
        (["--cycles", "--level", "ge"], 2, "--cycles with --level ge, expected --level aicore"),
        (
            ["--random-inputs", "-p", "ge-compile", "--level", "ge"],
            2,
            "--level ge with convert-ge-to-aicore, expected --level aicore",
        ),
        (["--compare", "onnxruntime"], 2, "--compare onnxruntime with 'good.mlir', expected an"),
        (["--compare", "torch"], 2, "argument --compare: invalid choice: 'torch'"),
        (["--input", "x=none.npy"], 1, "none.npy: error: cannot be read, no such file"),
        (["--input", "x=folder.mlir"], 1, "folder.mlir: error: cannot be read, is a directory"),
        (["--input", "x=text.npy"], 1, "text.npy: error: cannot be read"),
        (["--input", "x=empty.npy"], 1, "empty.npy: error: cannot be read"),
        (["--input", "x=short.npy"], 1, "short.npy: error: cannot be read"),
        (
            ["--input", "x=object.npy"],
            1,
            "object.npy: error: cannot be read, it holds no plain array",
        ),
        (["--input", "x=both.npz"], 1, "both.npz: error: is no .npy file, expected one array"),
        (["--inputs", "x.npy"], 1, "x.npy: error: cannot be read, it holds one array without a"),
        (["--inputs", "cut.npz"], 1, "cut.npz: error: cannot be read"),
        (["--input", "x=wide.npy", "--random-inputs"], 1, "array is 2x4, expected 2x3"),
        (["--input", "x=int.npy", "--random-inputs"], 1, "array is int64, expected float32"),
        (["--random-inputs", "--save-outputs", "no/o.npz"], 1, "no/o.npz: error: its folder does"),
    ],
)
def test_wrong_arguments_of_ge_run(folder, capsys, argv, code, error):
    save(folder)
    argv = argv if "--save-outputs" in argv else [*argv, "--save-outputs", "out.npz"]
    found, out, err = call(run.main, ["good.mlir", *argv], capsys)
    assert (found, out) == (code, "")
    assert error in err
    assert "internal" not in err
    assert err.count("\n") == 1
    assert not (folder / "out.npz").exists()


ATC = {
    "--model": "m.onnx",
    "--framework": "5",
    "--output": "out",
    "--soc_version": "Ascend910B1",
}


@pytest.mark.parametrize(
    ("change", "code", "error"),
    [
        ({"--framework": "3"}, 2, "--framework=3 (TensorFlow), expected 5 (ONNX) or 1 (AIR)"),
        ({"--framework": "9"}, 2, "--framework=9, expected 5 (ONNX) or 1 (AIR)"),
        ({"--soc_version": "Ascend910"}, 2, "unknown target 'Ascend910', did you mean"),
        ({"--log": "debg"}, 2, "--log=debg, expected one of: debug, info, warning, error, null"),
        ({"--input_shape": "x"}, 2, "--input_shape: input shape is 'x', expected NAME:1x3x224x224"),
        ({"--inputshape": "x:1"}, 2, "unknown option '--inputshape', did you mean '--input_shape'"),
        ({"--mode": "1"}, 2, "--mode=1, expected 0 (compile) or 3 (check that the model can be re"),
        ({"--export_compile_stat": "7"}, 2, "--export_compile_stat=7, expected 0, 1 or 2"),
        ({"--out_nodes": "x"}, 2, "--out_nodes: 'x' is no output, expected NODE:0"),
        ({"--model": ""}, 2, "--model is empty, expected a file"),
        ({"--model": "none.onnx"}, 1, "none.onnx: error: "),
        ({"--output": "no/out"}, 1, "no/out.mlir: error: its folder does not exist"),
    ],
)
def test_wrong_arguments_of_pyatc(folder, capsys, change, code, error):
    argv = [f"{key}={value}" for key, value in {**ATC, **change}.items()]
    found, out, err = call(atc.main, argv, capsys)
    assert (found, out) == (code, "")
    assert error in err
    assert "internal" not in err
    assert err.count("\n") == 1
    assert not (folder / "out.mlir").exists()


def test_pyatc_needs_its_four_options(capsys):
    code, _, err = call(atc.main, [], capsys)
    assert code == 2
    assert "--model, --framework, --soc_version" in err
    argv = [f"{key}={value}" for key, value in ATC.items() if key != "--output"]
    code, _, err = call(atc.main, argv, capsys)
    assert (code, err) == (
        2,
        "pyatc: error: --output is missing, expected where the result goes\n",
    )


@pytest.mark.parametrize("module", ["opt", "run", "check", "atc_options"])
def test_the_examples_of_the_help_are_usage(module):
    """What --help shows parses, and stands at its end."""
    made = import_module(f"ge_xdsl.cli.{module}").parser()
    assert made.examples
    shown = made.format_help().split("\nexamples:\n")[1]
    assert [line.strip() for line in shown.splitlines()] == list(made.examples)
    for line in made.examples:
        program, *argv = line.split()
        assert program == made.prog
        made.read(argv)
