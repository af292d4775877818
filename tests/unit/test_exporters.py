"""Output formats: which one is chosen, what it holds, and that files appear whole or not at all."""

import re
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import pytest
from graph_text import graph

import ge_xdsl as gx
from ge_xdsl.cli import opt
from ge_xdsl.dialects.ge.graph import main_function
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.errors import CompileError, UsageError
from ge_xdsl.exporters import FORMATS, encoded, format_of_ending
from ge_xdsl.exporters.dot import dot_text, quoted
from ge_xdsl.exporters.gepb import air_bytes
from ge_xdsl.exporters.html import html_text
from ge_xdsl.importers.mlir import mlir_module

GRAPH = """func.func @main(%x: tensor<2x3xf32>, %c: tensor<i1>) -> tensor<2x3xf32> {
  %two = ge.Const() {value = dense<2.0> : tensor<f32>} : () -> tensor<f32>
  %m = ge.Mul(%x, %two) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %y = ge.If(%c, [%m]) then_branch {
  ^bb0(%a: tensor<2x3xf32>):
    %r = ge.Relu(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    ge.yield([%r]) : (tensor<2x3xf32>) -> ()
  } else_branch {
  ^bb0(%a: tensor<2x3xf32>):
    %n = ge.Neg(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    ge.yield([%n]) : (tensor<2x3xf32>) -> ()
  } : (tensor<i1>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}
"""
STARTS = {
    "m.mlir": b"builtin.module {\n",
    "m.txt": b'name: "main"\n',
    "m.pbtxt": b"ir_version: 6\n",
    "m.dot": b'digraph "main" {\n',
    "m.GV": b'digraph "main" {\n',
    "m.html": b'<!DOCTYPE html>\n<html lang="en">\n',
}


@pytest.fixture
def module():
    return mlir_module(GRAPH, "m.mlir", Path())


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.mlir").write_text(GRAPH)
    return tmp_path


@pytest.mark.parametrize("name", STARTS)
def test_the_ending_selects_the_format(name, module, folder, capsys):
    assert opt.main(["in.mlir", "-o", name]) == 0, capsys.readouterr().err
    written = (folder / name).read_bytes()
    assert written.startswith(STARTS[name])
    gx.save(module, folder / f"again.{name}")
    assert (folder / f"again.{name}").read_bytes() == written
    assert sorted(p.name for p in folder.iterdir()) == sorted(["in.mlir", name, f"again.{name}"])


def test_air_is_what_the_writer_gives_and_reads_back(module, folder):
    gx.save(module, folder / "m.air")
    assert (folder / "m.air").read_bytes() == air_bytes(main_function(module))
    assert gx.text(gx.load(folder / "m.air")).count("ge.Relu") == 1


@pytest.mark.parametrize("name", [n for n in FORMATS if n not in ("mlir", "onnx")])
def test_emit_writes_to_a_stream_and_beats_the_ending(name, module, folder, capsysbinary):
    assert opt.main(["in.mlir", f"--emit={name}"]) == 0
    data = capsysbinary.readouterr().out
    assert data == encoded(module, name)
    assert opt.main(["in.mlir", f"--emit={name}", "-o", "m.other"]) == 0
    assert (folder / "m.other").read_bytes() == data


@pytest.mark.parametrize(
    ("args", "error"),
    [
        (["--emit=redable"], "did you mean 'readable'?"),
        (["-o", "m.svg"], r"expected an ending or --emit of: mlir \(.mlir\), readable, ge-proto"),
        (["--emit=dot", "--print-op-generic"], "--print-op-generic with output format dot, exp"),
        (["-o", "m.air", "--split-input-file"], "--split-input-file with output format air"),
        (["--emit=air", "--verify-diagnostics"], "--verify-diagnostics with output format air"),
        (["--emit=readable", "--print-debuginfo"], "--print-debuginfo with output format readable"),
    ],
)
def test_wrong_combinations_are_usage_errors(args, error, folder, capsys):
    assert opt.main(["in.mlir", *args]) == 2
    assert re.search(error, capsys.readouterr().err)
    assert [p.name for p in folder.iterdir()] == ["in.mlir"]


def test_a_binary_format_does_not_go_to_a_terminal(folder, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert opt.main(["in.mlir", "--emit=air"]) == 2
    assert "--emit=air is binary, expected -o FILE or a pipe for it" in capsys.readouterr().err


def test_only_graphs_of_ge_ops_leave(module, folder):
    twice = mlir_module(GRAPH + GRAPH.replace("@main", "@other"), "m.mlir", Path())
    with pytest.raises(CompileError, match="has 2 functions, expected one for format dot"):
        gx.save(twice, "m.dot")
    lowered = mlir_module(
        "func.func @main() {\n  func.call @main() : () -> ()\n  func.return\n}\n", "m.mlir", Path()
    )
    with pytest.raises(CompileError, match=r"func.call: .*is no GE op, expected only those for"):
        gx.save(lowered, "m.air")
    with pytest.raises(UsageError, match=r"output is 'm.xyz', expected an ending or --emit of"):
        gx.save(module, "m.xyz")
    with pytest.raises(CompileError, match="m.air"):
        gx.save(module, folder / "none" / "m.air")
    assert [p.name for p in folder.iterdir()] == ["in.mlir"]


def test_a_link_stays_and_a_failure_keeps_the_old_file(module, folder, monkeypatch):
    (folder / "real.dot").write_text("old")
    (folder / "m.dot").symlink_to("real.dot")
    gx.save(module, "m.dot")
    assert (folder / "m.dot").is_symlink()
    assert (folder / "real.dot").read_text().startswith("digraph")
    (folder / "real.dot").write_text("old")
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space")))
    with pytest.raises(CompileError, match=r"real.dot: error: .*no space"):
        gx.save(module, "m.dot")
    assert (folder / "real.dot").read_text() == "old"
    assert sorted(p.name for p in folder.iterdir()) == ["in.mlir", "m.dot", "real.dot"]


def test_endings_are_of_one_format_each():
    endings = [ending for form in FORMATS.values() for ending in form.endings]
    assert len(set(endings)) == len(endings)
    assert all(ending in FORMATS[format_of_ending(f"a{ending}")].endings for ending in endings)


def test_dot_has_each_node_once_and_every_edge(module):
    text = dot_text(main_function(module).body.block)
    assert len(re.findall(r"^ *n\d+ \[label=", text, re.M)) == 12
    assert text.count("subgraph cluster_") == 2
    assert text.count("{") == text.count("}")
    edges = re.findall(r"(n\d+) -> (n\d+)(.*);", text)
    drawn = {f"{a}>{b}" for a, b, look in edges if "dotted" not in look}
    assert len(drawn) == 9
    declared = set(re.findall(r"^ *(n\d+) \[label=", text, re.M))
    assert {end for a, b, _ in edges for end in (a, b)} == declared
    assert r'label="two\nFLOAT scalar\n[2.000000]", shape=plaintext' in text


def test_the_page_has_each_node_once_and_every_edge(module):
    """Well-formed, self-contained, and as many boxes and lines as the graphs have."""
    page = html_text(main_function(module).body.block)
    root = ElementTree.fromstring(page.replace('<meta charset="utf-8">', "").split("\n", 1)[1])
    assert not [e for e in root.iter() if e.tag in ("script", "link", "img") or "href" in e.attrib]
    assert len(list(root.iter("svg"))) == 3
    boxes = [g.findtext("title") or "" for g in root.iter("g")]
    kinds = Counter(text.split("\n")[0] for text in boxes)
    assert (kinds["If"], kinds["Relu"], kinds["Neg"]) == (1, 1, 1)
    places = [
        (r.get("x"), r.get("y")) for svg in [next(root.iter("svg"))] for r in svg.iter("rect")
    ]
    assert len(places) == len(set(places))
    text = dot_text(main_function(module).body.block)
    drawn = text.count(" -> ") - text.count("style=dotted")
    assert len(list(root.iter("path"))) == drawn - hidden(text)


def hidden(text):
    """How many edges of a drawing start at constants, which the page names where they are read."""
    constants = re.findall(r"(n\d+) \[[^\n]*shape=plaintext", text)
    return sum(len(re.findall(rf"\b{name} -> ", text)) for name in constants)


def test_the_page_escapes_names():
    block = graph("x\n y = Relu(x)\n return y").body.block
    next(op for op in block.ops if isinstance(op, GeOp)).node_name = '<b>&"'
    page = html_text(block)
    assert "<b>" not in page
    assert "&lt;b&gt;&amp;&quot;" in page


def test_dot_escapes_names():
    assert quoted('a"b\\c\nd\x07') == r'"a\"b\\c\nd?"'
    text = GRAPH.replace("ge.Relu(%a) :", 'ge.Relu(%a) {ge.name = "say \\"hi\\""} :')
    block = main_function(mlir_module(text, "m.mlir", Path())).body.block
    assert r'label="Relu\nsay \"hi\"\nFLOAT 2x3"' in dot_text(block)
