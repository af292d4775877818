"""Errors that are told from a call, a command or a file, each with the whole of its text."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from aicore_text import COPY, GM, UB
from xdsl.dialects.builtin import UnitAttr

import ge_xdsl as gx
from ge_xdsl.cli import atc, opt, run
from ge_xdsl.dialects.ge.gepb_text import parse
from ge_xdsl.dialects.ge.graph import ge_ops, main_function, verify
from ge_xdsl.dialects.ge.text import parse_module
from ge_xdsl.exporters.gepb import proto_text
from ge_xdsl.exporters.onnx.model import onnx_bytes
from ge_xdsl.importers.gepb.reader import module_of_model
from ge_xdsl.interpreters.ge import run_function
from ge_xdsl.passes.check.graphs import own_match
from ge_xdsl.passes.numbers import GraphSamples
from ge_xdsl.pattern.compile import compile_pattern
from ge_xdsl.pattern.graph import PatternGraph

T = "tensor<2x3xf32>"
TEXTS, HIFLOAT8 = (f"tensor<2x!ge.element<{name}>>" for name in ("DT_STRING", "DT_HIFLOAT8"))


def of_one(op_type, kind):
    """A graph of one op."""
    body = f"  %y = ge.{op_type}(%x) : ({kind}) -> {kind}\n  func.return %y : {kind}\n"
    return f"func.func @main(%x: {kind}) -> {kind} {{\n{body}}}\n"


RELU = of_one("Relu", T)
HALF = "2147483648x2147483648"
MAIN = COPY.index("func.func")
WIDE = COPY[MAIN:].replace("xf16>", "xf32>", 1)
LAUNCH = COPY[:MAIN] + WIDE.replace("(tensor<64x64xf16>)", "(tensor<64x64xf32>)")

COMMANDS = [
    (
        run.main,
        "strings.mlir --random-inputs",
        "error: graph input 'x': is DT_STRING, expected an --input file",
    ),
    (
        run.main,
        "relu.mlir --input x=text.npy",
        "text.npy: error: cannot be read, it holds no plain array, expected an .npy file",
    ),
    (
        run.main,
        "relu.mlir --inputs text.npz",
        "text.npz: error: cannot be read, it holds no plain array, expected an .npz file",
    ),
    (
        run.main,
        "relu.mlir --inputs one.npz",
        "one.npz: error: cannot be read, it holds one array without a name, expected an .npz file",
    ),
    (
        run.main,
        "relu.mlir --compare onnxruntime",
        "--compare onnxruntime with 'relu.mlir', expected an .onnx file",
    ),
    (
        opt.main,
        "m.onnx --split-input-file",
        "--split-input-file with input 'm.onnx', expected MLIR text",
    ),
    (
        opt.main,
        "relu.mlir --emit mlir -o folder",
        "folder: error: is a directory, expected a file to write",
    ),
    (
        opt.main,
        "relu.mlir -o none/o.mlir",
        "none/o.mlir: error: its folder does not exist, expected one to write to",
    ),
    (opt.main, "relu.mlir -o o.xyz", "output is 'o.xyz', expected an ending or --emit of: "),
    (
        opt.main,
        "launch.mlir --emit onnx",
        "error: aicore.launch: is no GE op, expected only those for format onnx",
    ),
    (opt.main, "relu.xyz", "relu.xyz: error: ending is '.xyz', expected .mlir or .onnx or "),
    (opt.main, "relu.xyz", " (or --input-format)"),
    (
        opt.main,
        "relu.mlir --emit=patterns",
        "--emit=patterns with input 'relu.mlir', expected only --load and -o",
    ),
    (
        run.main,
        "mixed.mlir --random-inputs=1",
        "aicore.launch @k: passes tensor<64x64xf32> for !aicore.tile<64x64xf16, gm>, expected as "
        "many elements of one type",
    ),
    (
        run.main,
        "wide.mlir --random-inputs=1",
        "aicore.kernel @k: writes 9223372036854775808 bytes, expected no more than there is memory",
    ),
    (
        opt.main,
        "huge.mlir",
        "tensor has 18446744073709551616 elements, expected fewer than 9223372036854775808",
    ),
]


def wide():
    """The copy, to an output that no memory holds."""
    kinds = [(GM, GM.replace("64x64", HALF)), ("tensor<64x64xf16>", f"tensor<{HALF}xf16>")]
    text = COPY
    for kind, new in kinds:
        for before in ("%y : ", f"{UB}, ", "-> "):
            text = text.replace(before + kind, before + new)
    return text


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    huge = RELU.replace("2x3x", "4294967296x4294967296x")
    texts = {
        "relu.mlir": RELU,
        "strings.mlir": of_one("Identity", TEXTS),
        "text.npy": "text",
        "text.npz": "text",
        "m.onnx": "",
        "relu.xyz": RELU,
        "mixed.mlir": LAUNCH,
        "huge.mlir": huge,
        "launch.mlir": COPY,
        "wide.mlir": wide(),
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    with (tmp_path / "one.npz").open("wb") as file:
        np.save(file, np.zeros(3, np.float32))
    return tmp_path


@pytest.mark.parametrize(("main", "line", "message"), COMMANDS)
def test_command(main, line, message, folder, capsys):
    assert main(line.split()) != 0
    err = capsys.readouterr().err
    assert message in err
    assert "Traceback" not in err


def test_a_switch_that_is_no_word(folder, capsys):
    gx.save(parse_module(RELU), folder / "good.onnx")
    (folder / "s.json").write_text(json.dumps({"Switch": {"GraphFusion": {"ALL": 1}}}))
    argv = "--model=good.onnx --framework=5 --output=o --soc_version=Ascend910B1"
    assert atc.main([*argv.split(), "--fusion_switch_file=s.json"]) != 0
    assert 's.json: error: switch \'ALL\' is 1, expected "on" or "off"' in capsys.readouterr().err


def pbtxt(nodes):
    return module_of_model(parse("ModelDef", 'graph { name: "g" ' + nodes + "}"), "g.pbtxt")


def other_graph():
    """The check of a branch that reads a value of the other one."""
    blocks = (
        "then_branch {\n  ^bb0(%a: T):\n    %n = ge.Neg(%a) : (T) -> T\n    ge.yield([%n]) : (T)"
    )
    blocks += " -> ()\n  } else_branch {\n  ^bb0(%b: T):\n    ge.yield([%b]) : (T) -> ()\n  }"
    text = f"func.func @main(%c: tensor<i1>, %x: T) -> T {{\n  %o = ge.If(%c, [%x]) {blocks} : "
    text += "(tensor<i1>, T) -> T\n  func.return %o : T\n}"
    module = parse_module(text.replace("T", T).replace(T + "rue", "True"))
    (branch,) = [op for op in main_function(module).body.block.ops if op.regions]
    first, second = (region.block for region in branch.regions)
    second.last_op.operands[0] = first.first_op.results[0]
    verify(module)


def with_attribute(write):
    module = parse_module(RELU)
    (relu,) = [op for op in ge_ops(main_function(module)) if op.op_type == "Relu"]
    relu.attributes["ge.odd"] = UnitAttr()
    write(main_function(module))


def run_launch():
    module = parse_module(COPY)
    run_function(main_function(module), {"x": np.zeros((64, 64), np.float16)})


def rerun_of_two():
    samples = GraphSamples.of(main_function(parse_module(RELU)))
    samples.rerun(main_function(parse_module(RELU.replace(f"-> {T} {{", f"-> ({T}, {T}) {{")
                                .replace("return %y : ", f"return %y, %y : {T}, "))))  # fmt: skip


CALLS = [
    (
        lambda: gx.estimate(parse_module(COPY), tile=(64, 64, 64)),
        "tile for a module that is lowered, expected it in gx.lower",
    ),
    (other_graph, "ge.yield: operand #0 is of another graph, expected this one"),
    (
        lambda: with_attribute(proto_text),
        "ge.Relu 'y': attribute is unit, expected a value of GE's",
    ),
    (
        lambda: onnx_bytes(main_function(parse_module(of_one("Relu", HIFLOAT8)))),
        "error: graph input or output 'x': element type is DT_HIFLOAT8, expected one that ONNX has",
    ),
    (run_launch, "aicore.launch: is no GE op, expected one"),
    (rerun_of_two, "error: the graph has 2 outputs, expected 1 as before"),
    (
        lambda: pbtxt('op { name: "x" type: "Data" output_desc { shape { dim: -3 } } }'),
        "node 'x': shape is [-3], expected dimensions of at least -1",
    ),
    (
        lambda: pbtxt(
            'op { name: "x" type: "Data" output_desc { name: "y" } } '
            'op { name: "r" type: "Relu" input: "x:0" input: "n:-1" output_desc { name: "y" } }'
        ),
        "control edge from 'n', expected two nodes with outputs",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("call", "message"), CALLS)
def test_call(call, message):
    with pytest.raises((gx.CompileError, gx.UsageError)) as error:
        call()
    assert message in str(error.value)


def test_a_pattern_that_does_not_match_itself():
    graph = PatternGraph.from_function(main_function(parse_module(RELU)), (), "p")
    compiled = compile_pattern(graph)
    never = SimpleNamespace(graph=compiled.graph, name="p", root_classes=compiled.root_classes,
                            match=lambda op: None)  # fmt: skip
    with pytest.raises(gx.CompileError, match="p: does not match its own graph, expected it to"):
        own_match(never)
