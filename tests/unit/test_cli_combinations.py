"""Options that would have no effect together, the sections of the help, diagnostics of checks."""

from __future__ import annotations

import pytest
from wrong_pass import WRONG_PASS

from ge_xdsl.cli import atc, atc_options, check, opt, run
from ge_xdsl.passes.loader import unload

GRAPH = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = ge.Neg(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "g.mlir").write_text(GRAPH)
    (tmp_path / "wrong.py").write_text(WRONG_PASS)
    yield tmp_path
    unload()


BOTH = "expected both"
ONE = "expected one of them"
OPT = {
    "g.mlir -p ge-dce --explain-format=json": f"--explain-format without --explain, {BOTH}",
    "g.mlir -p ge-dce --verify-limit 9": (
        f"--verify-limit without --verify-rewrites or --bisect, {BOTH}"
    ),
    "g.mlir -p ge-dce --verify-rewrites=off --verify-limit 9": (
        f"--verify-limit without --verify-rewrites or --bisect, {BOTH}"
    ),
    "g.mlir -p ge-dce --verify-rewrites --shape x=3": (
        f"--shape without --bisect or --verify-rewrites=pass, {BOTH}"
    ),
    "g.mlir -p ge-dce --verify-rewrites --verify-limit many": (
        "--verify-limit=many, expected a number of multiplications"
    ),
    "g.mlir -p ge-dce --verify-rewrites --verify-limit 0": (
        "--verify-limit=0, expected a number of multiplications"
    ),
    "g.mlir --print-ir-after": f"--print-ir-after without -p PASSES, {BOTH}",
    "g.mlir --print-ir-before": f"--print-ir-before without -p PASSES, {BOTH}",
    "g.mlir -p ge-dce --bisect --stats": f"--bisect with --stats, {ONE}",
    "g.mlir -p ge-dce --bisect --explain": f"--bisect with --explain, {ONE}",
    "g.mlir -p ge-dce --bisect --verify-rewrites": f"--bisect with --verify-rewrites, {ONE}",
    "g.mlir -p ge-dce --bisect --timing": f"--bisect with --timing, {ONE}",
    "g.mlir -p ge-dce --bisect --emit onnx": f"--bisect with --emit, {ONE}",
    "g.mlir -p ge-dce --bisect -o out.onnx": "--bisect with -o out.onnx, expected an .mlir file",
    "g.mlir -p ge-dce --bisect -o -": "--bisect with -o -, expected an .mlir file",
    "--list-passes g.mlir": f"--list-passes with input 'g.mlir', {ONE}",
    "--list-ops --stats": f"--list-ops with --stats, {ONE}",
    "--describe Relu -o out.mlir": f"--describe with -o, {ONE}",
    "--coverage -p ge-dce": f"--coverage with -p, {ONE}",
    "--load wrong.py --emit patterns --explain": f"--emit with --explain, {ONE}",
    "--load wrong.py --order-report --stats": f"--order-report with --stats, {ONE}",
}


@pytest.mark.parametrize(("words", "error"), OPT.items(), ids=OPT)
def test_combinations_of_ge_opt(folder, capsys, words, error) -> None:
    assert opt.main(words.split()) == 2
    assert capsys.readouterr() == ("", f"ge-opt: error: {error}\n")
    assert sorted(path.name for path in folder.iterdir()) == ["g.mlir", "wrong.py"]


RUN = {
    "g.mlir --list-targets": f"--list-targets with input 'g.mlir', {ONE}",
    "--describe-target Ascend910A --cycles": f"--describe-target with --cycles, {ONE}",
    "g.mlir --estimate --checked": f"--estimate with --checked, {ONE}",
    "g.mlir --estimate --random-inputs=7": f"--estimate with --random-inputs=7, {ONE}",
}


@pytest.mark.parametrize(("words", "error"), RUN.items(), ids=RUN)
def test_combinations_of_ge_run(folder, capsys, words, error) -> None:
    assert run.main(words.split()) == 2
    assert capsys.readouterr() == ("", f"ge-run: error: {error}\n")


def test_an_input_format_without_models(folder, capsys) -> None:
    assert check.main(["wrong.py", "--input-format", "onnx"]) == 2
    error = "--input-format without models, expected both"
    assert capsys.readouterr() == ("", f"ge-check: error: {error}\n")


def test_what_mode_3_does_not_write(folder, capsys) -> None:
    from ge_xdsl.dialects.ge.text import parse_module
    from ge_xdsl.exporters import encoded

    module = parse_module(GRAPH, "g.mlir")
    (folder / "g.air").write_bytes(encoded(module, "air", lambda _: None))
    words = "--model=g.air --framework=1 --soc_version=Ascend910B1 --mode=3 --output=o"
    assert atc.main([*words.split(), "--export_compile_stat=1"]) == 0
    out, err = capsys.readouterr()
    assert out == "ATC check success\n"
    told = "warning: --output, --export_compile_stat has no effect in mode 3, which writes nothing"
    assert told in err
    assert not (folder / "o.mlir").exists()


def test_the_reduced_graph_goes_where_it_is_asked_for(folder, capsys) -> None:
    words = "g.mlir --load wrong.py -p ge-custom-passes --bisect"
    assert opt.main([*words.split(), "-o", "small.mlir"]) == 1
    assert capsys.readouterr().out.endswith("file: small.mlir\n")
    assert "ge.Neg" in (folder / "small.mlir").read_text()
    assert opt.main(words.split()) == 1
    assert (folder / "g.bisect.mlir").read_text() == (folder / "small.mlir").read_text()


SECTIONS = {
    opt.parser: ["input and output", "pipeline", "pass files", "diagnosis", "verification"],
    run.parser: ["input and output", "pipeline", "pass files", "diagnosis", "verification"],
    check.parser: ["pass files", "models"],
    atc_options.parser: ["input and output", "pipeline", "pass files", "diagnosis"],
}


@pytest.mark.parametrize(
    ("parser", "sections"), SECTIONS.items(), ids=["opt", "run", "check", "atc"]
)
def test_sections_of_the_help(parser, sections) -> None:
    made = parser()
    lines = made.format_help().splitlines()
    known = {*sections, "models", "information", "examples"}
    heads = [line[:-1] for line in lines if line[:-1] in known]
    assert heads == [*sections, "information", "examples"]
    assert 2 <= len(made.examples) <= 4


# --verify-diagnostics holds wrong rewrites against their comments too

EXPECTED = GRAPH.replace(
    "  %y", "  // expected-error @below {{rule 'Wrong_neg_pattern' of pass 'Wrong' changes}}\n  %y"
)
CHECKED = "--load wrong.py -p ge-custom-passes --verify-rewrites --verify-diagnostics"


def test_an_expected_wrong_rewrite(folder, capsys) -> None:
    (folder / "e.mlir").write_text(EXPECTED)
    assert opt.main(["e.mlir", *CHECKED.split()]) == 0
    assert capsys.readouterr().err == "note: checked 1 rewrite by numbers, 1 wrong\n"


def test_wrong_rewrites_of_parts(folder, capsys) -> None:
    """The first part is as expected, the second is not, the third expects too much."""
    right = EXPECTED.replace("Neg", "Relu")
    (folder / "e.mlir").write_text(f"{EXPECTED}// -----\n{GRAPH}// -----\n{right}")
    assert opt.main(["e.mlir", *CHECKED.split(), "--split-input-file"]) == 1
    first, second, note = capsys.readouterr().err.splitlines()
    start = """e.mlir:8: error: unexpected error "ge.Neg 'y': rule 'Wrong_neg_pattern' of pass"""
    assert first.startswith(start)
    assert second == (
        """e.mlir:13: error: expected error "rule 'Wrong_neg_pattern' of pass 'Wrong' changes" """
        "was not produced"
    )
    assert note == "note: checked 2 rewrites by numbers, 2 wrong"


def test_a_wrong_rewrite_without_expectations_in_parts(folder, capsys) -> None:
    words = CHECKED.replace("--verify-diagnostics", "--split-input-file")
    assert opt.main(["g.mlir", *words.split()]) == 1
    assert "g.mlir:2:3: error: ge.Neg 'y': rule" in capsys.readouterr().err
