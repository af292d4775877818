"""`ge-custom-passes`: order, switches and contexts."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from custom_pass_runs import (
    AFTER,
    BEFORE,
    RELUS,
    SUBGRAPHS,
    T,
    abs_of,
    define,
    op_types,
    raises,
    relu,
    run,
)
from ge.error import GeError, get_ge_error_msg, raise_ge_error
from ge.es.graph_builder import GraphBuilder
from ge.es.math import Mul
from ge.es.nn import Relu
from ge.graph import Tensor, TensorDesc
from ge.passes import (
    FusionBasePass,
    PatternFusionPass,
    PatternMatcherConfigBuilder,
    create_pattern,
    pattern,
    register_fusion_pass,
)

from ge_xdsl.compat.ge.passes.stage import run_stage
from ge_xdsl.dialects.ge.graph import main_function, verify
from ge_xdsl.dialects.ge.text import module_text, parse_module
from ge_xdsl.errors import CompileError, UsageError
from ge_xdsl.passes.ge_custom_passes import GeCustomPassesPass
from ge_xdsl.passes.session import Session

# Scheduling


def logger(log, name):
    return lambda self, graph, context: log.append((name, context.get_pass_name(), graph.name))


def test_passes_run_by_name_in_their_stage_only():
    log = []
    for name, stage in (("b", BEFORE), ("a", BEFORE), ("B", BEFORE), ("z", AFTER)):
        define(name, stage, FusionBasePass, run=logger(log, name))
    run(parse_module(RELUS), stage="BeforeInferShape")
    assert [entry[0] for entry in log] == ["B", "a", "b"]
    assert all(name == seen for name, seen, _ in log)
    run(parse_module(RELUS), stage="AfterInferShape")
    assert log[3:] == [("z", "z", "main")]
    run(parse_module(RELUS), only="a")
    assert log[4:] == [("a", "a", "main")]


def test_an_unknown_stage_is_bad_usage():
    with pytest.raises(UsageError, match="stage is 'AfterInfer', expected one of BeforeInferShape"):
        GeCustomPassesPass("AfterInfer")


def test_one_instance_serves_the_graph_and_then_its_subgraphs():
    log = []

    def run_it(self, graph, context):
        log.append((id(self), graph.name))

    define("only", base=FusionBasePass, run=run_it)
    run(parse_module(SUBGRAPHS))
    assert [name for _, name in log] == ["main", "r_then_branch", "r_else_branch"]
    assert len({number for number, _ in log}) == 1


def test_patterns_match_inside_subgraphs():
    define(p=relu, replacement=lambda self, inputs: Mul(inputs[0], 2.0))
    module = parse_module(SUBGRAPHS)
    run(module)
    text = module_text(module)
    assert (text.count("ge.Relu"), text.count("ge.Mul")) == (0, 3)


# Switches

SWITCHES = [
    ({}, None, ["a", "b"]),
    ({"ge.optimizationSwitch": "a:off"}, None, ["b"]),
    ({"ge.optimizationSwitch": "a:no; b:on"}, None, ["b"]),
    ({}, {"Switch": {"GraphFusion": {"ALL": "off"}}}, []),
    ({}, {"Switch": {"GraphFusion": {"ALL": "off", "b": "on"}}}, ["b"]),
    ({"ge.optimizationSwitch": "a:on"}, {"Switch": {"GraphFusion": {"ALL": "off"}}}, ["a"]),
    ({}, {"Switch": {"UBFusion": {"ALL": "off"}}}, ["a", "b"]),
    ({}, [], ["a", "b"]),
]


@pytest.mark.parametrize(("options", "file", "expected"), SWITCHES)
def test_switches(tmp_path, options, file, expected):
    log = []
    for name in ("b", "a"):
        define(name, base=FusionBasePass, run=logger(log, name))
    if file is not None:
        path = tmp_path / "switch.json"
        path.write_text(json.dumps(file))
        options = {**options, "ge.fusionSwitchFile": str(path)}
    session = run(parse_module(RELUS), Session(options=options))
    assert [entry[0] for entry in log] == expected
    assert session.messages == []


def test_switch_files_that_are_no_use(tmp_path):
    path = tmp_path / "switch.json"
    session = Session(options={"ge.fusionSwitchFile": str(path)})
    run(parse_module(RELUS), session)
    path.write_text("{")
    run(parse_module(RELUS), session)
    assert [m.rpartition(": ")[2].lower() for m in session.messages] == [
        "no such file or directory",
        "not json",
    ]
    path.write_text('{"Switch": {"GraphFusion": {"a": 1}}}')
    with pytest.raises(CompileError, match=r"switch\.json: error: switch 'a' is 1, expected"):
        run(parse_module(RELUS), session)


# What hooks get


def test_what_a_match_tells():
    seen = {}

    class Pair(PatternFusionPass):
        def patterns(self):
            builder = GraphBuilder("pair")
            x = builder.create_input(0)
            inner = Relu(x)
            outer = Relu(inner)
            made = create_pattern(builder.build_and_reset([outer]))
            return iter([made.capture_tensor(inner).capture_tensor(outer).capture_tensor(x)])

        def meet_requirements(self, match_result, context):
            seen["match"] = match_result
            seen["context"] = context
            seen["nodes"] = [n.name for n in match_result.get_matched_nodes()]
            seen["captured"] = [match_result.get_captured_tensor(i).node.name for i in range(3)]
            seen["name"] = match_result.get_pattern_graph_name()
            seen["text"] = str(match_result)
            with pytest.raises(RuntimeError, match="Failed to get captured tensor"):
                match_result.get_captured_tensor(3)
            with pytest.raises(TypeError, match="must be a non-negative integer"):
                match_result.get_captured_tensor(-1)
            return False

    register_fusion_pass(name="P", stage=BEFORE)(Pair)
    run(parse_module(RELUS))
    assert seen["nodes"] == ["a", "b"]
    assert seen["captured"] == ["a", "b", "x"]
    assert seen["name"] == "pair"
    assert "[PatternName:pair]" in seen["text"]
    with pytest.raises(RuntimeError, match="MatchResult handle has expired"):
        seen["match"].get_matched_nodes()
    with pytest.raises(RuntimeError, match="PassContext handle has expired"):
        seen["context"].get_pass_name()


def test_a_tensor_that_is_input_and_output_is_captured_in_both_roles():
    seen = []

    def meet(self, match_result):
        seen.extend(match_result.get_captured_tensor(i).node.name for i in range(3))
        return False

    both = pattern(lambda self, inputs: [Relu(inputs[0]), inputs[0]])
    define(p=both, meet_requirements=meet)
    run(parse_module(RELUS))
    assert seen == ["x", "a", "x"]


def test_a_set_message_is_a_warning_when_the_pass_succeeds():
    def replace(self, inputs, context):
        context.set_error_message("rule is disabled")
        return inputs[0]

    define(p=relu, replacement=replace)
    assert run(parse_module(RELUS)).messages == [
        "warning: pass 'P' set the message: rule is disabled"
    ]


def test_a_later_stage_gets_inferred_types():
    define(stage=AFTER, p=abs_of, replacement=lambda self, inputs: Relu(inputs[0]) * 1.0)
    module = parse_module(RELUS)
    run(module, stage="AfterInferShape")
    assert "DT_UNDEFINED" not in module_text(module)
    assert op_types(module) == ["Relu", "Relu", "Relu", "Const", "Mul"]
    verify(module)


def test_types_follow_before_shapes_are_inferred():
    from ge.es.math import Cast

    define(p=relu, replacement=lambda self, inputs: Cast(inputs[0], dst_type=1))
    module = parse_module(RELUS)
    run(module)
    verify(module)
    assert main_function(module).function_type.outputs.data[0].element_type.name == "f16"


def test_ir_attributes_are_compared_when_asked():
    config = PatternMatcherConfigBuilder().enable_ir_attr_match().build()

    def init(self):
        PatternFusionPass.__init__(self, config)

    from ge.es.all import MatMul

    transposed = pattern(lambda self, inputs: MatMul(inputs[0], inputs[1], transpose_x2=True))
    first = {"replacement": lambda self, inputs: inputs[:2][0]}
    define(__init__=init, p=transposed, **first)
    m = "tensor<2x2xf32>"
    text = f"""func.func @main(%x: {m}) -> {m} {{
      %a = ge.MatMul(%x, %x) {{transpose_x2 = true}} : ({m}, {m}) -> {m}
      %b = ge.MatMul(%a, %x) : ({m}, {m}) -> {m}
      func.return %b : {m}
    }}"""
    module = parse_module(text)
    run(module)
    assert op_types(module) == ["MatMul"]


# Errors of the engine


def test_engine_errors():
    get_ge_error_msg()
    assert get_ge_error_msg() == ""
    with pytest.raises(GeError, match="GEInitialize failed; status=3, k=v") as caught:
        raise_ge_error("GEInitialize", 3, k="v")
    assert (caught.value.api_name, caught.value.context) == (
        "GEInitialize",
        {"status": 3, "k": "v"},
    )


# The whole tool


def test_output_does_not_depend_on_the_hash_seed(tmp_path):
    examples = Path(__file__).parents[2] / "examples" / "passes"
    text = tmp_path / "m.mlir"
    text.write_text(RELUS.replace("ge.Abs(%b) : (" + T, "ge.Add(%b, %b) : (" + T + ", " + T))
    command = [sys.executable, "-c", "from ge_xdsl.cli.opt import main; raise SystemExit(main())"]
    arguments = [str(text), "-p", "ge-custom-passes{stage=BeforeInferShape}"]
    outputs = set()
    for seed in ("1", "2"):
        env = {**os.environ, "PYTHONHASHSEED": seed, "ASCEND_GE_PY_PASS_PATH": str(examples)}
        done = subprocess.run(
            command + arguments, env=env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        outputs.add(done.stdout + done.stderr)
    assert len(outputs) == 1


def test_a_failing_pass_ends_the_tool_with_one_line(tmp_path):
    file = tmp_path / "bad.py"
    file.write_text(
        "from ge.es.nn import Relu\n"
        "from ge.passes import *\n"
        "@register_fusion_pass(name='Bad', stage=PassStage.BEFORE_INFER_SHAPE)\n"
        "class Bad(PatternFusionPass):\n"
        "    @pattern\n"
        "    def relu(self, inputs):\n"
        "        return Relu(inputs[0])\n"
        "    def replacement(self, inputs):\n"
        "        return 1 / 0\n"
    )
    text = tmp_path / "m.mlir"
    text.write_text(RELUS)
    command = [sys.executable, "-c", "from ge_xdsl.cli.opt import main; raise SystemExit(main())"]
    arguments = [str(text), "--load", str(file), "-p", "ge-custom-passes{stage=BeforeInferShape}"]
    done = subprocess.run(command + arguments, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout == ""
    first, *notes = done.stderr.strip().split("\n")
    assert first == (
        f"{file}:9:1: error: pass 'Bad': replacement at ge.Relu 'a' raised "
        "ZeroDivisionError: division by zero"
    )
    assert any(f"note: the match is at {text}:2:3" in note for note in notes)


def test_tensors_of_constants_are_copies():
    seen = []

    def run_it(self, graph, context):
        node = graph.find_node_by_name("k")
        seen.append(node.get_attr("value").data)
        node.set_attr("value", Tensor([3.0, 4.0], shape=[2]))

    define(base=FusionBasePass, run=run_it)
    module = parse_module(f"""func.func @main() -> {T} {{
      %k = ge.Const() {{value = dense<[1.0, 2.0]> : {T}}} : () -> {T}
      func.return %k : {T}
    }}""")
    run(module)
    assert seen == [[1.0, 2.0]]
    assert "3.000000e+00, 4.000000e+00" in module_text(module)


# A stage on a graph of the API


def api_graph():
    builder = GraphBuilder("g")
    return builder.build_and_reset([Relu(builder.create_input(0, shape=[2]))])


def test_a_stage_runs_on_a_graph():
    define(p=relu, replacement=lambda self, inputs, context: inputs[0] * 2.0)
    graph = api_graph()
    report = run_stage(graph, BEFORE)
    assert (report.status, report.changed, report.messages) == (0, ["P"], [])
    assert [n.type for n in graph.get_direct_nodes()] == ["Data", "Const", "Mul", "NetOutput"]
    [counts] = report.statistics
    assert (counts["pass"], counts["applied"]) == ("P", 1)
    assert run_stage(graph, "AfterInferShape").changed == []


@pytest.mark.parametrize(
    ("edit", "changed"),
    [
        (lambda graph: None, False),
        (lambda graph: graph.find_node_by_name("Relu_0").set_attr("mark", 1), True),
        (lambda graph: graph.set_attr("mark", 1), True),
        (lambda graph: graph.find_node_by_name("input_0").set_attr("mark", 1), True),
        (
            lambda graph: graph.find_node_by_name("input_0").update_output_desc(0, TensorDesc([4])),
            True,
        ),
        (lambda graph: swap_and_swap_back(graph), False),
    ],
    ids=["nothing", "node", "graph", "input", "type", "and back"],
)
def test_a_pass_that_ran_well_changed_what_it_changed(edit, changed):
    """Whether a `run` changed the graph is seen at the graph, not at the status it gives."""

    define(base=FusionBasePass, run=lambda self, graph, context: edit(graph))
    report = run_stage(api_graph(), BEFORE)
    assert (report.status, report.messages) == (0, [])
    assert report.changed == (["P"] if changed else [])


def test_an_instance_without_its_base():
    define(p=relu, __init__=lambda self: None, replacement=lambda self, inputs: inputs[0])
    [text] = run_stage(api_graph(), BEFORE).messages
    expected = "Made has no matcher_config, expected its __init__ to call super().__init__()"
    assert text.endswith(f"__init__ raised AttributeError: {expected}")


def swap_and_swap_back(graph):
    relu, out = (graph.find_node_by_name(name) for name in ("Relu_0", "NetOutput_g"))
    graph.remove_edge(relu, 0, out, 0)
    graph.add_data_edge(relu, 0, out, 0)


def test_a_stage_that_fails_reports_it():
    define(p=relu, replacement=lambda self, match: raises())
    report = run_stage(api_graph(), BEFORE)
    assert (report.status, report.changed) == (4294967295, [])
    assert "replacement at ge.Relu 'Relu_0' raised KeyError" in report.messages[0]
    define("A", p=relu, replacement=lambda self, inputs, context: inputs[0] + 1.0)
    define("B", base=FusionBasePass, run=lambda self, graph, context: False)
    graph = api_graph()
    assert (report := run_stage(graph, BEFORE)).status == 4294967295
    assert report.changed == ["A"], "a pass that ran well before another fails stays done"
    assert "Add" in [n.type for n in graph.get_direct_nodes()]
    with pytest.raises(UsageError, match="stage is 'x', expected one of"):
        run_stage(api_graph(), "x")
    taken = api_graph()
    create_pattern(taken)
    with pytest.raises(UsageError, match="graph was taken over or is a subgraph"):
        run_stage(taken, BEFORE)
