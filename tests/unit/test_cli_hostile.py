"""Hostile user passes and streams: one line, the exit code, an output that is whole."""

import os
import sys

import pytest

from ge_xdsl.cli import opt, run
from ge_xdsl.passes import registry

T = "tensor<2x3xf32>"
GRAPH = f"""func.func @main(%x: {T}) -> {T} {{
  %a = ge.Relu(%x) : ({T}) -> {T}
  func.return %a : {T}
}}
"""
HEAD = """from ge.es.all import Relu, Relu6
from ge.passes import PassStage, PatternFusionPass, pattern, register_fusion_pass


"""
PASS = (
    HEAD
    + """@register_fusion_pass(name=NAME, stage=PassStage.BEFORE_INFER_SHAPE)
class P(PatternFusionPass):
    @pattern
    def p(self, inputs):
        return Relu(inputs[0])

    def replacement(self, inputs):
        BODY
        return Relu6(inputs[0])
"""
)


def pass_text(body="pass", name='"P"'):
    return PASS.replace("BODY", body).replace("NAME", name)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "g.mlir").write_text(GRAPH)
    before = {p.name for p in registry.registered()}
    yield tmp_path
    registry.discard({p.name for p in registry.registered()} - before)


def compiled(folder, text, capsys):
    (folder / "hostile.py").write_text(text)
    argv = ["g.mlir", "--load", "hostile.py", "-p", "ge-custom-passes", "-o", "out.mlir"]
    code = opt.main(argv)
    return (code, *capsys.readouterr())


CUSTOM = "class E(BaseException):\n            pass\n        raise E('no')"
UNPRINTABLE = (
    "class E(Exception):\n            def __str__(self):\n                return 1 / 0\n"
    "        raise E()"
)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (
            pass_text("raise BaseException('no')"),
            ":12:1: error: pass 'P': raised BaseException: no",
        ),
        (pass_text("raise GeneratorExit"), ":12:1: error: pass 'P': raised GeneratorExit"),
        (pass_text(CUSTOM), ":14:1: error: pass 'P': raised E: no"),
        (pass_text("raise SystemExit(0)"), "replacement at ge.Relu 'a' raised SystemExit: 0"),
        (pass_text(UNPRINTABLE), "replacement at ge.Relu 'a' raised E"),
        (pass_text("inputs[10**6]"), "PatternInputs index is 1000000, expected less than 10000"),
        (pass_text(name="3"), "TypeError: name of a pass is 3, expected a string"),
        ("raise BaseException('no')\n", ":1:1: error: loading the pass file raised BaseException"),
    ],
)
def test_whatever_a_pass_raises_is_one_error(folder, capsys, text, error):
    code, out, err = compiled(folder, text, capsys)
    assert (code, out) == (1, "")
    assert error in err
    assert "Traceback" not in err
    assert "internal" not in err
    assert [line for line in err.splitlines() if ": note: " not in line] == err.splitlines()[:1]
    assert sorted(set(os.listdir(folder)) - {"__pycache__"}) == ["g.mlir", "hostile.py"]


def test_an_interrupt_is_no_error(folder, capsys):
    code, out, err = compiled(folder, pass_text("raise KeyboardInterrupt"), capsys)
    assert (code, out, err) == (130, "", "")


def test_a_package_that_raises_anything(folder, capsys):
    (folder / "all" / "hostilepack").mkdir(parents=True)
    (folder / "all" / "hostilepack" / "__init__.py").write_text("raise BaseException('no')\n")
    assert opt.main(["g.mlir", "--load", "all"]) == 1
    err = capsys.readouterr().err
    assert "hostilepack/__init__.py:1:1: error: loading the pass file raised BaseExcep" in err


def test_what_passes_print_is_no_output(folder, capsys):
    (folder / "hostile.py").write_text("print('loaded')\n" + pass_text("print('ran')"))
    assert opt.main(["g.mlir", "--load", "hostile.py", "-p", "ge-custom-passes"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("builtin.module {\n")
    assert "ge.Relu6" in out
    assert err == "loaded\nran\n"


@pytest.mark.parametrize("place", ["load", "pass"])
def test_a_pass_that_changes_the_folder(folder, capsys, place):
    (folder / "other").mkdir()
    move = "__import__('os').chdir('other')"
    text = pass_text(move) if place == "pass" else f"{move}\n{pass_text()}"
    assert compiled(folder, text, capsys) == (0, "", "")
    assert (folder / "out.mlir").exists()
    assert os.listdir(folder / "other") == []


@pytest.mark.parametrize("name", ["stdout", "stderr"])
def test_a_pass_that_closes_or_replaces_a_stream(folder, name):
    text = f"import sys\nsys.{name} = None\n" + pass_text()
    (folder / "hostile.py").write_text(text)
    kept = getattr(sys, name)
    try:
        argv = ["g.mlir", "--load", "hostile.py", "-p", "ge-custom-passes", "-o", "out.mlir"]
        assert opt.main(argv) == 0
    finally:
        setattr(sys, name, kept)
    assert (folder / "out.mlir").exists()


def test_streams_that_are_not_there(folder, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    assert opt.main(["-"]) == 1
    assert opt.main(["-", "--input-format", "onnx"]) == 1
    assert capsys.readouterr().err == "<stdin>: error: is closed, expected a module\n" * 2
    monkeypatch.setattr(sys, "stdout", None)
    assert opt.main(["g.mlir"]) == 1
    assert capsys.readouterr().err == "<stdout>: error: is closed, expected it open or -o FILE\n"
    assert opt.main(["g.mlir", "-o", "out.mlir"]) == 0
    monkeypatch.setattr(sys, "stderr", None)
    assert opt.main(["none.mlir"]) == 1


def test_a_link_that_leads_to_itself(folder, capsys):
    (folder / "loop.mlir").symlink_to("loop.mlir")
    assert opt.main(["g.mlir", "-o", "loop.mlir"]) == 1
    assert capsys.readouterr().err == (
        f"{folder}/loop.mlir: error: cannot use the file, too many levels of symbolic links\n"
    )


def test_outputs_do_not_replace_the_model(folder, capsys):
    (folder / "same.mlir").symlink_to("g.mlir")
    assert run.main(["g.mlir", "--random-inputs", "--save-outputs", "same.mlir"]) == 2
    assert capsys.readouterr().err == (
        "ge-run: error: --save-outputs same.mlir is the model, expected a new file\n"
    )
    assert (folder / "g.mlir").read_text() == GRAPH
