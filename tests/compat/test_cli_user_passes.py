"""User passes on the command line: what is listed, and what a file that does nothing is told."""

import re
import subprocess
import sys

import pytest

TEXT = """func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %a = ge.Relu(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %b = ge.Relu(%a) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %b : tensor<2xf32>
}
"""
PASS = """from ge.es.nn import Relu
from ge.passes import PassStage, PatternFusionPass, pattern, register_fusion_pass

@register_fusion_pass(name="Twice", stage=PassStage.AFTER_INFER_SHAPE)
class Twice(PatternFusionPass):
    @pattern
    def twice(self, inputs):
        return Relu(Relu(inputs[0]))

    def replacement(self, inputs):
        return Relu(inputs[0])
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "a.mlir").write_text(TEXT)
    (tmp_path / "twice.py").write_text(PASS)
    (tmp_path / "empty.py").write_text(PASS.replace("@register_fusion_pass", "#"))
    return tmp_path


def tool(name, folder, *argv):
    """Exit code and all lines of a tool that runs in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", f"ge_xdsl.cli.{name}", *argv],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, (done.stdout + done.stderr).splitlines()


IDLE = "warning: --load twice.py has no effect, expected -p ge-custom-passes with it"


@pytest.mark.parametrize(
    ("argv", "code", "line"),
    [
        (["--load", "twice.py"], 0, IDLE),
        (["--load", "twice.py", "-p", "ge-dce"], 0, IDLE),
        (
            ["--load", "empty.py", "-p", "ge-custom-passes"],
            0,
            "warning: --load empty.py registers no pass, expected @register_fusion_pass",
        ),
        (
            ["-p", "ge-custom-passes"],
            0,
            "warning: ge-custom-passes has no pass to run, expected --load FILE or "
            "ASCEND_GE_PY_PASS_PATH with it",
        ),
        (
            ["--load", "twice.py", "-p", "Twice"],
            2,
            "ge-opt: error: unknown pass 'Twice', it is a user pass, expected "
            "'ge-custom-passes{only=Twice}'",
        ),
        (
            ["--load", "twice.py", "-p", "ge-custom-passes{only=Twise}"],
            2,
            "ge-opt: error: no user pass 'Twise' is loaded, did you mean 'Twice'?",
        ),
        (
            ["-p", "ge-custom-passes{only=Twice}"],
            2,
            "ge-opt: error: no user pass 'Twice' is loaded, expected its file in --load or "
            "ASCEND_GE_PY_PASS_PATH",
        ),
        (
            ["--load", "twice.py", "-p", "ge-custom-passes{only=Other}"],
            2,
            "ge-opt: error: no user pass 'Other' is loaded, expected one of: Twice",
        ),
        (
            ["--load", "twice.py", "-p", "ge-custom-passes", "--explain=Other"],
            0,
            "no rule of 'Other' was tried, expected one of 'Twice'",
        ),
    ],
)
def test_a_pass_that_would_not_run(folder, argv, code, line):
    assert tool("opt", folder, "a.mlir", *argv, "-o", "b.mlir") == (code, [line])


def test_describe_of_a_user_pass(folder):
    code, lines = tool("opt", folder, "--load", "twice.py", "--describe", "Twice")
    assert code == 0
    assert lines[0] == "Twice"
    assert re.fullmatch(r"  user pass \(\w+\) of stage \w+", lines[1])
    assert re.fullmatch(r"  defined at .*twice\.py:\d+:\d+", lines[2])
    assert lines[3] == "  run it alone with -p 'ge-custom-passes{only=Twice}'"


def test_ge_run_warns_too(folder):
    code, lines = tool("run", folder, "a.mlir", "--random-inputs", "--load", "twice.py")
    assert code == 0
    assert IDLE in lines


def test_an_alias_runs_user_passes(folder):
    argv = ["a.mlir", "--load", "twice.py", "-p", "ge-optimize", "--expect-matches=Twice:1"]
    assert tool("opt", folder, *argv, "-o", "b.mlir") == (0, [])


def test_loaded_passes_are_listed(folder):
    code, lines = tool("opt", folder, "--list-passes", "--load", "twice.py")
    assert code == 0
    assert lines[-2] == "user passes:"
    assert lines[-1].startswith("Twice  AfterInferShape, pattern_fusion, ")
    assert lines[-1].endswith("twice.py:4:1")
