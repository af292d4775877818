"""pyatc as a CANN user drives it: switches, dumps, logs, fusion statistics, outputs, AIR files."""

import json
import os
import re

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import ge_xdsl as gx
from ge_xdsl.cli import atc
from ge_xdsl.cli.ge_log import GeLog, level_of
from ge_xdsl.dialects.ge.graph import main_function
from ge_xdsl.dialects.ge.names import output_names
from ge_xdsl.interpreters import aicore
from ge_xdsl.passes import loader
from ge_xdsl.passes.graph_dumps import DumpPlan

PASS = """
from ge.es.all import Mul, Relu, Square
from ge.passes import PassStage, PatternFusionPass, pattern, register_fusion_pass


@register_fusion_pass(name="SquareOfProduct", stage=PassStage.AFTER_INFER_SHAPE)
class SquareOfProduct(PatternFusionPass):
    @pattern
    def product(self, inputs):
        return Mul(inputs[0], inputs[0])

    def meet_requirements(self, match):
        return match.get_matched_nodes()[0].name != "second"

    def replacement(self, inputs):
        return Square(inputs[0])
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a model (Relu, then two products of a tensor with itself) and a pass file."""
    for name in list(os.environ):
        if name.startswith(("DUMP_", "ASCEND_", "NPU_")):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    shape = ["batch", 4]
    nodes = [
        helper.make_node("Relu", ["x"], ["a"], "act"),
        helper.make_node("Mul", ["a", "a"], ["b"], "first"),
        helper.make_node("Mul", ["b", "b"], ["c"], "second"),
        helper.make_node("Add", ["c", "w"], ["y"], "last"),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(np.arange(4, dtype=np.float32), "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, tmp_path / "m.onnx")
    (tmp_path / "user_pass.py").write_text(PASS)
    monkeypatch.setenv("ASCEND_GE_PY_PASS_PATH", str(tmp_path / "user_pass.py"))
    yield tmp_path
    loader.unload()


def pyatc(capsys, *extra, model="m.onnx", framework=5, output="out"):
    argv = [
        f"--model={model}", f"--framework={framework}", f"--output={output}",
        "--soc_version=Ascend910B1", "--input_shape=x:2,4", *extra,
    ]  # fmt: skip
    loader.unload()
    code = atc.main(argv)
    out, err = capsys.readouterr()
    return code, out, err


def names(folder, start=""):
    return sorted(p.name for p in folder.iterdir() if p.name.startswith(start))


def run_compiled(outputs):
    """The results of the compiled model for X, whose names are those of `outputs`."""
    module = gx.load("out.mlir")
    assert output_names(main_function(module)) == outputs
    return aicore.run(module, {"x": X}, "Ascend910B1")[0]


X = np.array([[-1, 2, 3, 0.5], [1, 0, -2, 4]], np.float32)
EXPECTED = np.maximum(X, 0) ** 4 + np.arange(4)


def test_statistics(folder, capsys):
    """The refused match counts as matched and has no effect; the file of a former run goes."""
    (folder / "fusion_result.json").write_text("old")
    assert pyatc(capsys)[0] == 0
    counts = json.loads((folder / "fusion_result.json").read_text())
    found = counts["session_and_graph_id_0_0"]["graph_fusion"]
    assert found["SquareOfProduct"] == {"effect_times": "1", "match_times": "2"}


def test_no_statistics(folder, capsys, monkeypatch):
    assert pyatc(capsys, "--export_compile_stat=0")[0] == 0
    assert "fusion_result.json" not in names(folder)
    monkeypatch.setenv("ASCEND_WORK_PATH", str(folder / "work"))
    assert pyatc(capsys)[0] == 0
    assert "fusion_result.json" not in names(folder)
    assert (folder / "work" / "FE" / str(os.getpid()) / "fusion_result.json").exists()
    monkeypatch.setenv("ASCEND_WORK_PATH", str(folder / "m.onnx"))
    code, _, err = pyatc(capsys)
    assert code == 0
    assert re.search(r"warning: fusion statistics .* are not written: not a directory", err)


@pytest.mark.parametrize("how", ["switch", "file", "all"])
def test_switches(folder, capsys, how):
    off = {"SquareOfProduct": "off"} if how == "file" else {"ALL": "off"}
    (folder / "switch.json").write_text(json.dumps({"Switch": {"GraphFusion": off}}))
    flag = "--fusion_switch_file=switch.json"
    assert (
        pyatc(capsys, "--optimization_switch=SquareOfProduct:off" if how == "switch" else flag)[0]
        == 0
    )
    counts = folder / "fusion_result.json"
    assert "SquareOfProduct" not in (counts.read_text() if counts.exists() else "")


def test_outputs_in_place_of_the_models(folder, capsys):
    """The result computes the named nodes and nothing else."""
    assert pyatc(capsys, "--out_nodes=act:0;first:0", "--optimization_switch=a:on")[0] == 0
    first, second = run_compiled(["act:0", "first:0"])
    np.testing.assert_array_equal(first, np.maximum(X, 0))
    np.testing.assert_array_equal(second, np.maximum(X, 0) ** 2)


@pytest.mark.parametrize(
    ("wanted", "error"),
    [
        ("frst:0", "error: --out_nodes: no node is named 'frst', did you mean 'first'?"),
        ("first:1", "error: --out_nodes: node 'first' has 1 results, expected one with number 1"),
    ],
)
def test_outputs_that_are_not_there(folder, capsys, wanted, error):
    code, out, err = pyatc(capsys, f"--out_nodes={wanted}")
    assert (code, out) == (1, "")
    assert error in err
    assert names(folder, "out") == []


def test_check_only(folder, capsys):
    code, out, _ = pyatc(capsys, "--mode=3")
    assert (code, out) == (0, "ATC check success\n")
    assert names(folder, "out") == []
    assert names(folder, "fusion") == []


def test_options_without_effect(folder, capsys):
    code, _, err = pyatc(capsys, "--precision_mode=force_fp16", "--op_select_implmode=x")
    assert code == 0
    assert err == (
        "warning: --op_select_implmode, --precision_mode changes nothing here, "
        "expected on a device only\n"
    )


def test_air(folder, capsys):
    """What GE saved compiles as the model that it was saved from."""
    gx.save(gx.load("m.onnx"), "m.air")
    assert pyatc(capsys, model="m.air", framework=1)[0] == 0
    (output,) = run_compiled(["y"])
    np.testing.assert_allclose(output, EXPECTED, 1e-6)


# Dumps

STEPS = [
    "PreRunBegin", "RunCustomPassBeforeInfershape", "AfterInfershape",
    "RunCustomPass_AfterInferShape", "PreRunAfterPrepare", "RunCustomPassAfterBuiltinFusionPass",
    "PreRunAfterOptimizeOriginalGraph", "RunCustomPassAfterOriginGraphOptimize", "Build",
]  # fmt: skip


def test_dumps(folder, capsys, monkeypatch):
    """Every step in GE's two forms, counted for each; the user pass shows between two of them."""
    monkeypatch.setenv("DUMP_GE_GRAPH", "1")
    monkeypatch.setenv("DUMP_GRAPH_PATH", str(folder / "dumps"))
    assert pyatc(capsys)[0] == 0
    place = folder / "dumps" / f"pid_{os.getpid()}_deviceid_0"
    for start, ending in (("ge_onnx", "pbtxt"), ("ge_proto", "txt")):
        found = [re.fullmatch(rf"{start}_(\d{{8}})_graph_0_(\w+)\.{ending}", n) for n in
                 names(place, start)]  # fmt: skip
        assert [match[2] for match in found] == STEPS
        numbers = [int(match[1]) for match in found]
        assert numbers == list(range(numbers[0], numbers[0] + len(STEPS)))
    before, after = (next(place.glob(f"ge_proto_*_{step}.txt")) for step in STEPS[2:4])
    assert "Square" not in before.read_text()
    assert "Square" in after.read_text()
    assert before.stat().st_mode & 0o777 == 0o600
    assert list(gx.load(str(after)).walk())


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, None),
        ({"DUMP_GE_GRAPH": "0"}, None),
        ({"DUMP_GE_GRAPH": "4"}, None),
        ({"DUMP_GE_GRAPH": "2"}, STEPS),
        ({"DUMP_GE_GRAPH": "1", "DUMP_GRAPH_LEVEL": "1"}, STEPS),
        ({"DUMP_GE_GRAPH": "1", "DUMP_GRAPH_LEVEL": "3"}, ["Build"]),
        ({"DUMP_GE_GRAPH": "1", "DUMP_GRAPH_LEVEL": "4"}, ["PreRunBegin"]),
        ({"DUMP_GE_GRAPH": "1", "DUMP_GRAPH_LEVEL": "7"}, []),
        ({"DUMP_GE_GRAPH": "1", "DUMP_GRAPH_LEVEL": "Infershape|Build"}, [STEPS[k] for k in
         (1, 2, 8)]),
    ],
)  # fmt: skip
def test_which_dumps(variables, expected):
    plan = DumpPlan.of(variables)
    found = None if plan is None else [step for step in STEPS if plan.takes(step)]
    assert found == expected


@pytest.mark.parametrize(
    ("text", "forms"),
    [
        (None, ("ge_proto", "ge_onnx")),
        ("Readable", ("readable",)),
        ("onnx|readable", ("ge_onnx", "readable")),
        ("other", ()),
    ],
)
def test_forms_of_dumps(text, forms):
    variables = {"DUMP_GE_GRAPH": "1"} | ({} if text is None else {"DUMP_GRAPH_FORMAT": text})
    plan = DumpPlan.of(variables)
    assert plan is not None
    assert plan.forms == forms


def test_ops_without_a_kernel_for_an_open_shape(folder, capsys):
    argv = ["--model=m.onnx", "--framework=5", "--soc_version=Ascend910B1", "--output=out"]
    assert atc.main(argv) == 0
    out = capsys.readouterr().out
    assert "ops without a kernel" in out
    assert out.endswith("; 'x' is ?x4, expected --input_shape for kernels\n")
    code, out, _ = pyatc(capsys)
    assert (code, "expected --input_shape" in out) == (0, False)


def test_dumps_of_the_library(folder, monkeypatch):
    """The variables hold for `gx.optimize` as well, so for a torch backend and sessions too."""
    monkeypatch.setenv("DUMP_GE_GRAPH", "1")
    monkeypatch.setenv("DUMP_GRAPH_FORMAT", "readable")
    monkeypatch.setenv("DUMP_GRAPH_LEVEL", "Build")
    gx.optimize(gx.load("m.onnx"))
    (name,) = names(folder, "ge_readable")
    assert "Node[type=Square]" in (folder / name).read_text()


@pytest.mark.parametrize(("level", "first"), [("3", "Build"), ("", "PreRunBegin")])
def test_dumps_that_cannot_be_written(folder, capsys, monkeypatch, level, first):
    """One warning, whatever the number of dumps."""
    monkeypatch.setenv("DUMP_GE_GRAPH", "1")
    monkeypatch.setenv("DUMP_GRAPH_LEVEL", level)
    monkeypatch.setenv("DUMP_GRAPH_PATH", str(folder / "m.onnx"))
    code, _, err = pyatc(capsys)
    assert code == 0
    name = rf"ge_proto_\d{{8}}_graph_0_{first}\.txt"
    assert re.fullmatch(rf"warning: graph dump \S+/{name} is not written: not a directory\n", err)


# Logs

LINE = re.compile(
    r"\[(DEBUG|INFO|WARNING|ERROR)\] GE\(\d+,pyatc\):\d{4}(-\d\d){3}:\d\d:\d\d\.\d{3}\.\d{3} "
    r"\[\w+\.py:\d+\]\d+ (\w+): (.*)"
)


def log_lines(text):
    return [match.group(1, 4) for line in text.splitlines() if (match := LINE.fullmatch(line))]


def test_log_on_stdout(folder, capsys, monkeypatch):
    monkeypatch.setenv("ASCEND_GLOBAL_LOG_LEVEL", "0")
    monkeypatch.setenv("ASCEND_SLOG_PRINT_TO_STDOUT", "1")
    code, out, err = pyatc(capsys)
    assert (code, err) == (0, "")
    found = log_lines(out)
    assert len(found) == len(out.splitlines()) - 1, "all but the line of success"
    site = "pass SquareOfProduct, pattern SquareOfProduct_product_pattern, at ge.Mul"
    assert ("INFO", f"[MATCH][FOUND] {site} 'first'") in found
    assert any(
        text.startswith(f"[REPLACE][INVALID] {site} 'second', Reason: ") for _, text in found
    )
    counts = "GraphFusionPass[SquareOfProduct]: pattern=SquareOfProduct_product_pattern"
    assert ("DEBUG", f"GraphId[0], {counts}, matched_times=2, effected_times=1") in found
    assert ("INFO", "ge-infer-shape starts") in found


def test_log_in_a_file(folder, capsys):
    """`--log` comes before the variable; an error is in the log as on stderr."""
    code, _, err = pyatc(capsys, "--log=error", "--out_nodes=no:0")
    assert code == 1
    (path,) = (folder / "home" / "ascend" / "log" / "debug" / "plog").iterdir()
    ((level, text),) = log_lines(path.read_text())
    assert level == "ERROR"
    assert text in err


@pytest.mark.parametrize(("arguments", "code"), [((), 0), (("--out_nodes=no:0",), 1)])
def test_a_log_that_cannot_be_written(folder, capsys, monkeypatch, arguments, code):
    """One warning; the compile goes on, and what makes it fail is told as without a log."""
    assert pyatc(capsys, *arguments)[0] == code
    monkeypatch.setenv("ASCEND_PROCESS_LOG_PATH", str(folder / "m.onnx"))
    monkeypatch.setenv("ASCEND_GLOBAL_LOG_LEVEL", "0")
    found, _, err = pyatc(capsys, *arguments)
    assert found == code
    first, *rest = err.splitlines()
    assert re.fullmatch(r"warning: log \S+/debug/plog is not written: not a directory", first)
    assert len(rest) == code, "the error, if there is one"


def test_no_log_unless_asked_for(folder, capsys):
    assert pyatc(capsys)[0] == 0
    assert not (folder / "home").exists()


def test_levels():
    assert level_of(None, {}) == 4
    assert level_of(None, {"ASCEND_GLOBAL_LOG_LEVEL": "1"}) == 1
    assert level_of(None, {"ASCEND_GLOBAL_LOG_LEVEL": "x"}) == 4
    assert level_of("warning", {"ASCEND_GLOBAL_LOG_LEVEL": "0"}) == 2
    assert GeLog(0, {}).explains
    assert not GeLog(1, {}).explains
