"""ge-opt: what its options do, and how a run ends."""

import io
import json
import os
import stat
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from ge_xdsl.cli import failures, opt, output, run
from ge_xdsl.cli.chunks import expectations, mismatches, split
from ge_xdsl.cli.progress import Progress
from ge_xdsl.errors import CompileError, Location, UsageError

PROJECT = Path(__file__).parents[2]
TEXT = """func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %a = ge.Relu(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %dead = ge.Relu(%a) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %a : tensor<2xf32>
}
"""
CLEAN = """builtin.module {
  func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    %a = ge.Relu(%x) : (tensor<2xf32>) -> tensor<2xf32>
    func.return %a : tensor<2xf32>
  }
}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.mlir").write_text(TEXT)
    return tmp_path


def call(argv, capsys, main=opt.main):
    code = main(argv)
    out, err = capsys.readouterr()
    return code, out, err


def feed(monkeypatch, text):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


# Start-up


@pytest.mark.parametrize("tool", ["opt", "run", "atc"])
@pytest.mark.parametrize("flag", ["--version", "--help"])
def test_version_and_help_import_almost_nothing(tool, flag):
    script = (
        f"import sys; from ge_xdsl.cli import {tool}; code = {tool}.main(['{flag}']); "
        "print(code, sorted({'numpy', 'xdsl', 'onnx'} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=PROJECT, check=True
    )
    assert done.stderr == "0 []\n"
    assert done.stdout


def test_the_version_is_the_project_s(capsys):
    version = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["version"]
    code, out, _ = call(["--version"], capsys)
    assert code == 0
    assert out.startswith(f"ge-opt {version} (xdsl 0.75.")


@pytest.mark.parametrize("name", ["ge-opt", "ge-run", "pyatc"])
def test_the_launchers_run(name, folder):
    link = folder / "link"
    link.symlink_to(PROJECT / "tools" / name)
    done = subprocess.run([link, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(name)


# Input and output


def test_stdin_to_stdout(folder, capsys, monkeypatch):
    feed(monkeypatch, TEXT)
    assert call(["-", "-p", "ge-dce"], capsys) == (0, CLEAN, "")


def test_an_error_on_stdin_says_so(capsys, monkeypatch):
    feed(monkeypatch, "func.func @main( {}")
    code, out, err = call(["-"], capsys)
    assert (code, out) == (1, "")
    assert err.startswith("<stdin>:1:18: error: ")


def test_output_to_a_file(folder, capsys):
    assert call(["a.mlir", "--passes", "ge-dce", "-o", "b.mlir"], capsys) == (0, "", "")
    assert (folder / "b.mlir").read_text() == CLEAN


def test_output_in_place(folder, capsys):
    assert (
        call(["a.mlir", "--pass-pipeline=builtin.module(ge-dce)", "-o", "a.mlir"], capsys)[0] == 0
    )
    assert (folder / "a.mlir").read_text() == CLEAN


def test_output_through_a_link(folder, capsys):
    (folder / "link.mlir").symlink_to("b.mlir")
    assert call(["a.mlir", "-p", "ge-dce", "-o", "link.mlir"], capsys) == (0, "", "")
    assert (folder / "link.mlir").is_symlink()
    assert (folder / "b.mlir").read_text() == CLEAN


def test_output_to_a_device_leaves_it_there(folder, capsys):
    assert call(["a.mlir", "-o", "/dev/null"], capsys) == (0, "", "")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_a_failing_write_leaves_no_file(folder):
    def fail(name):
        Path(name).write_text("half")
        raise OSError(28, "No space left on device")

    with pytest.raises(CompileError, match="c.mlir: error: cannot be written, no space left"):
        output.write_file("c.mlir", fail)
    assert os.listdir(folder) == ["a.mlir"]


def test_generic_form_and_pipelines_in_order(folder, capsys):
    argv = ["a.mlir", "-p", "ge-cse", "-p", "ge-dce", "--print-op-generic"]
    code, out, err = call(argv, capsys)
    assert (code, err) == (0, "")
    assert '"ge.Relu"(%x)' in out
    assert "dead" not in out


def test_ir_dumps_go_to_stderr(folder, capsys):
    argv = ["a.mlir", "-p", "ge-cse,ge-dce", "--print-ir-before=ge-dce", "--print-ir-after"]
    code, out, err = call(argv, capsys)
    assert (code, out) == (0, CLEAN)
    heads = [line for line in err.split("\n") if line.startswith("// -----//")]
    assert heads == [
        "// -----// IR Dump After ge-cse //----- //",
        "// -----// IR Dump Before ge-dce //----- //",
        "// -----// IR Dump After ge-dce //----- //",
    ]
    assert err.count("%dead") == 2


def test_timing_lists_the_passes(folder, capsys):
    code, out, err = call(["a.mlir", "-p", "ge-cse,ge-dce", "--timing"], capsys)
    assert (code, out) == (0, CLEAN)
    names = [line.split("%  ")[1] for line in err.strip().split("\n")]
    assert names == ["ge-cse", "ge-dce", "reading, verifying and writing", "total"]


def test_an_unregistered_op_needs_the_flag(folder, capsys):
    (folder / "b.mlir").write_text('"my.op"() : () -> ()\n')
    code, _, err = call(["b.mlir"], capsys)
    assert code == 1
    assert err.startswith("b.mlir:1:")
    code, out, _ = call(["b.mlir", "--allow-unregistered-dialect"], capsys)
    assert code == 0
    assert '"my.op"() : () -> ()' in out


# What the tool tells about itself


def test_describe_tells_the_prototype(capsys):
    code, out, _ = call(["--describe", "ge.MatMul"], capsys)
    assert code == 0
    lines = [line.strip() for line in out.split("\n")]
    assert lines[0] == "ge.MatMul"
    assert "attribute transpose_x1: Bool = false" in lines
    call_text = "MatMul(x1, x2, bias=None, *, transpose_x1=False, transpose_x2=False)"
    assert f"python: from ge.es.all import MatMul; {call_text}" in lines
    assert any(line.startswith("operand bias (optional)") for line in lines)
    assert "infer: yes, evaluate: yes" in lines
    assert "lowering to aicore: yes" in lines
    assert any(line.startswith("ge-fuse rule FuseMatMulBias: ") for line in lines)
    assert "defined in ge_xdsl/dialects/ge/matmul.py" in lines


def test_describe_of_an_op_known_by_prototype_only(capsys):
    code, out, _ = call(["--describe", "Abs0"], capsys)
    assert code == 2
    from ge_xdsl.dialects.ge.prototypes import known_ops
    from ge_xdsl.dialects.ge.registry import family_of

    name = next(op for op in known_ops() if family_of(op) is None)
    code, out, _ = call(["--describe", name], capsys)
    assert code == 0
    assert out.startswith(f"ge.{name}\n")
    assert (
        "infer: no, evaluate: no\n  lowering to aicore: no\n  defined in the prototype table" in out
    )


@pytest.mark.parametrize("flag", ["-o", "--output"])
def test_output(flag, tmp_path, capsys):
    (tmp_path / "a.mlir").write_text(
        "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
        "  func.return %x : tensor<2xf32>\n}\n"
    )
    assert call([str(tmp_path / "a.mlir"), flag, str(tmp_path / "b.mlir")], capsys) == (0, "", "")
    assert "func.func @main" in (tmp_path / "b.mlir").read_text()


def test_lists(capsys):
    from ge_xdsl.passes import table
    from ge_xdsl.targets import target_names

    code, out, _ = call(["--list-passes"], capsys)
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == table.names()
    code, out, _ = call(["--list-targets"], capsys)
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == target_names()
    assert "24 cube and  48 vector cores" in out.splitlines()[0]


def test_list_of_ops(capsys):
    from ge_xdsl.cli.coverage import coverage

    code, out, _ = call(["--list-ops"], capsys)
    lines = out.splitlines()
    assert code == 0
    assert [line.split()[0] for line in lines] == coverage()["op types with a prototype"]
    assert [line.split()[1:] for line in lines if line.startswith("MatMul ")] == [
        ["infer,", "evaluate,", "lowering"]
    ]
    without_values = coverage()["op types with values"]
    assert all((" evaluate" in line) == (line.split()[0] in without_values) for line in lines)


def test_describe_of_a_pass(capsys):
    from ge_xdsl.passes import stages

    code, out, _ = call(["--describe", "ge-fuse"], capsys)
    lines = out.splitlines()
    assert (code, lines[0]) == (0, "ge-fuse")
    assert "  option only = []" in lines
    assert "  rule FuseMatMulBias: Add(MatMul(x1, x2), b) -> MatMul(x1, x2, bias = b)" in lines
    _, out, _ = call(["--describe", "ge-compile"], capsys)
    assert [line.strip() for line in out.splitlines()[1:]] == list(stages.COMPILE)


# Parts and expected diagnostics

PARTS = """func.func @a(%x: tensor<2xf32>) -> tensor<2xf32> {
  func.return %x : tensor<2xf32>
}
// -----
// expected-error @+2 {{is no known op}}
func.func @b() {
  %y = ge.Nothing() : () -> tensor<2xf32>
}
"""


def test_split_keeps_the_lines_of_the_file():
    first, second = split(PARTS)
    assert first == PARTS[: PARTS.index("// -----") - 1]
    assert second.split("\n")[6] == PARTS.split("\n")[6]
    assert second.startswith("\n\n\n\n// expected")


def test_parts_are_compiled_one_by_one(folder, capsys):
    (folder / "b.mlir").write_text(TEXT + "// -----\n" + TEXT.replace("@main", "@other"))
    code, out, _ = call(["b.mlir", "--split-input-file", "-p", "ge-dce"], capsys)
    assert code == 0
    assert out == CLEAN + "// -----\n" + CLEAN.replace("@main", "@other")


def test_an_error_in_a_part_has_the_place_in_the_file(folder, capsys):
    (folder / "b.mlir").write_text(PARTS)
    code, out, err = call(["b.mlir", "--split-input-file"], capsys)
    assert (code, out) == (1, "")
    assert err.startswith("b.mlir:7:8: error: ge.Nothing: is no known op")


@pytest.mark.parametrize(
    ("text", "error", "expected"),
    [
        ("// expected-error {{odd}}", CompileError("is odd", location=Location("f", 1, 3)), []),
        (
            "// expected-error@+2 {{odd}}\n\nx",
            CompileError("is odd", subject="x", location=Location("f", 3, 1)),
            [],
        ),
        ("// expected-error@below {{odd}}", CompileError("odd", location=Location("f", 2, 1)), []),
        ("\n// expected-error@above {{x}}", CompileError("x", location=Location("f", 1, 1)), []),
        ("// expected-error@unknown {{odd}}", CompileError("is odd"), []),
        ("// expected-error-re@unknown {{is [[o.*d]]}}", CompileError("is ooood"), []),
        (
            "// expected-error@unknown {{odd}}\n// expected-note@unknown {{because}}",
            CompileError("is odd", notes=["because"]),
            [],
        ),
        ("x", CompileError("is odd"), ['f: error: unexpected error "is odd", expected none here']),
        (
            "// expected-error {{even}}",
            CompileError("is odd", location=Location("f", 1, 3)),
            [
                'f:1: error: unexpected error "is odd", expected none here',
                'f:1: error: expected error "even" was not produced',
            ],
        ),
        (
            "\n// expected-warning {{even}}",
            None,
            ['f:2: error: expected warning "even" was not produced'],
        ),
    ],
)
def test_expected_diagnostics(text, error, expected):
    assert mismatches(text, "f", error) == expected


def test_several_expectations_on_a_line():
    found = expectations("x // expected-error {{a}} // expected-note@-1 {{b}}")
    assert [(e.kind, e.text, e.line) for e in found] == [("error", "a", 1), ("note", "b", 0)]


def test_verify_diagnostics_fails_when_nothing_fails(folder, capsys):
    text = TEXT.replace("  %dead", "  // expected-error@+1 {{boom}}\n  %dead")
    (folder / "b.mlir").write_text(text)
    code, out, err = call(["b.mlir", "--verify-diagnostics"], capsys)
    assert (code, out) == (1, "")
    assert err == 'b.mlir:3: error: expected error "boom" was not produced\n'


# Reports


def test_stats_and_explanations_of_no_rules(folder, capsys):
    code, out, err = call(["a.mlir", "--stats=json", "--explain=ge-fuse"], capsys)
    assert code == 0
    assert out.startswith("builtin.module {")
    assert err == "no rule of 'ge-fuse' was tried\n[]\n"
    assert call(["a.mlir", "--stats", "-o", "b.mlir"], capsys) == (0, "no rule was tried\n", "")


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("ge-simplfy", "no rule of 'ge-simplfy' was tried, did you mean 'ge-simplify'?"),
        (
            "ge-simplify@x",
            "no rule of 'ge-simplify' was tried at 'x', expected a root: 'a', 'dead'",
        ),
        ("@deat", "no rule was tried at 'deat', did you mean 'dead'?"),
    ],
)
def test_an_explanation_of_nothing_names_what_there_is(folder, capsys, asked, answer):
    argv = ["a.mlir", "-p", "ge-simplify", f"--explain={asked}", "-o", "b.mlir"]
    assert call(argv, capsys) == (0, f"{answer}\n", "")


def test_reports_go_to_stdout_when_the_graph_does_not(folder, capsys):
    argv = ["a.mlir", "--stats=json", "--explain", "--explain-format=json", "-o", "b.mlir"]
    code, out, err = call(argv, capsys)
    assert (code, err) == (0, "")
    assert out == "[]\n[]\n"


@pytest.mark.parametrize(
    ("argv", "error"),
    [
        (["--stats=xml"], "--stats=xml, expected --stats or --stats=json"),
        (["--expect-matches", "Pass"], "--expect-matches=Pass, expected PASS:N"),
        (["--expect-matches", "Pass:x"], "--expect-matches=Pass:x, expected PASS:N"),
        (["--expect-matches", ":1"], "--expect-matches=:1, expected PASS:N"),
    ],
)
def test_wrong_report_options(folder, capsys, argv, error):
    assert call(["a.mlir", *argv], capsys) == (2, "", f"ge-opt: error: {error}\n")


def test_an_expected_count_that_differs(folder, capsys):
    argv = ["a.mlir", "-o", "b.mlir", "--expect-matches", "Fuse:1"]
    code, _, err = call(argv, capsys)
    assert code == 1
    assert err == ("error: Fuse: rewrote 0 sites, expected 1\nnote: no rule of 'Fuse' was tried\n")


# How a run ends


def ends(error):
    def tool(argv):
        raise error

    return lambda: failures.run_tool("tool", tool, [])


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (UsageError("is wrong"), 2, "tool: error: is wrong\n"),
        (CompileError("is\nbad", location=Location("f", 2, 3)), 1, "f:2:3: error: is bad\n"),
        (FileNotFoundError(2, "No such file", "f"), 1, "f: error: no such file\n"),
        (OSError("odd"), 1, "error: odd\n"),
        (MemoryError(), 1, "error: out of memory, expected a smaller graph or smaller constants\n"),
        (RecursionError(), 1, "error: nesting is too deep, expected less\n"),
        (KeyboardInterrupt(), 130, ""),
        (BrokenPipeError(), 1, ""),
        (SystemExit(0), 0, ""),
    ],
)
def test_exit_codes(capsys, monkeypatch, error, code, text):
    monkeypatch.setattr(failures, "_silence_stdout", lambda: None)
    assert ends(error)() == code
    assert capsys.readouterr().err == text


@pytest.mark.parametrize(("given", "threads"), [({}, "1"), ({"OPENBLAS_NUM_THREADS": "3"}, "3")])
def test_products_of_a_tool_are_those_of_one_thread(given, threads):
    """What the user sets stays; a `main` that is called by other code sets nothing."""
    source = """if True:
        import os, sys
        from ge_xdsl.cli.failures import run_tool
        run_tool("t", lambda argv: print(os.environ.get("OPENBLAS_NUM_THREADS")) or 0, [])
        run_tool("t", lambda argv: print(os.environ["OPENBLAS_NUM_THREADS"]) or 0, None)
        assert "numpy" not in sys.modules, "it is loaded with the threads it had"
    """
    env = {k: v for k, v in os.environ.items() if k not in failures.ONE_THREAD} | given
    done = subprocess.run(
        [sys.executable, "-c", source], env=env, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [given.get("OPENBLAS_NUM_THREADS", "None"), threads]


def test_an_internal_error_is_one_line(capsys, monkeypatch):
    monkeypatch.delenv("GE_XDSL_DEBUG", raising=False)
    error = KeyError("gone")
    error.add_note("in pass p, the first one")
    assert ends(error)() == 1
    assert capsys.readouterr().err == (
        "error: internal: KeyError: 'gone' (in pass p, the first one); please report it, "
        "GE_XDSL_DEBUG=1 shows where\n"
    )


def test_debug_shows_the_traceback(capsys, monkeypatch):
    monkeypatch.setenv("GE_XDSL_DEBUG", "1")
    assert ends(KeyError("gone"))() == 1
    err = capsys.readouterr().err
    assert err.startswith("Traceback")
    assert "error: internal: KeyError" in err


def test_a_closed_pipe_is_quiet(folder):
    script = f"{sys.executable} -m ge_xdsl.cli.opt a.mlir | true"
    done = subprocess.run(
        ["sh", "-c", script],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        check=False,
    )
    assert done.stderr == ""


@pytest.mark.parametrize("seed", ["0", "1"])
def test_text_is_utf8_and_the_same_under_any_hash_seed(folder, seed):
    env = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        [sys.executable, "-m", "ge_xdsl.cli.opt", "a.mlir", "-p", "ge-cse,ge-dce"],
        capture_output=True,
        env={**env, "PYTHONPATH": str(PROJECT)},
        check=True,
    )
    assert done.stdout.decode() == CLEAN


# The progress bar


class Terminal(io.StringIO):
    def __init__(self, is_terminal):
        super().__init__()
        self.is_terminal = is_terminal

    def isatty(self):
        return self.is_terminal


@pytest.mark.parametrize(("is_terminal", "shown"), [(True, True), (False, False)])
def test_progress_shows_after_a_second_on_terminals(monkeypatch, is_terminal, shown):
    times = iter([0.0, 0.5, 1.5, 1.55, 2.0])
    monkeypatch.setattr("ge_xdsl.cli.progress.monotonic", lambda: next(times))
    stream = Terminal(is_terminal)
    bar = Progress(4, "running", stream)
    if not is_terminal:
        times = iter([0.5, 1.5, 1.55, 2.0])
    for _ in range(4):
        bar.step()
    bar.close()
    text = stream.getvalue()
    assert bool(text) is shown
    if shown:
        assert text.split("\r")[1:] == [
            f"running [{'#' * 15}{'-' * 15}] 2/4",
            f"running [{'#' * 30}] 4/4",
            "\x1b[K",
        ]


# ge-run


def test_run_is_deterministic_and_compares(folder, capsys):
    (folder / "a.mlir").write_text(TEXT.replace("2xf32", "64xf32"))
    argv = ["a.mlir", "--random-inputs=7", "-p", "ge-dce", "--compare", "ge"]
    code, out, _ = call(argv, capsys, run.main)
    assert code == 0
    lines = out.splitlines()
    assert lines[0].startswith("output 'output_0': 64 float32 ")
    assert lines[1].startswith("compare 'output_0' with ge: max |diff| 0, 0 of max |ref| ")
    assert lines[1].endswith(": ok")
    assert call(argv, capsys, run.main)[1] == out
    other = [*argv[:1], "--random-inputs=8", *argv[2:]]
    assert call(other, capsys, run.main)[1] != out


def test_json_reports_are_json(folder, capsys):
    _, out, _ = call(["a.mlir", "--stats=json", "-o", "b.mlir"], capsys)
    assert json.loads(out) == []
