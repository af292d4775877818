"""`ge-custom-passes`: order, switches, contexts, failures of hooks, and what a failure leaves."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from ge.error import GeError, get_ge_error_msg, raise_ge_error
from ge.es.graph_builder import GraphBuilder
from ge.es.math import Add, Mul
from ge.es.nn import Relu
from ge.graph import Tensor, TensorDesc
from ge.passes import (
    DecomposePass,
    FusionBasePass,
    PassStage,
    PatternFusionPass,
    PatternMatcherConfigBuilder,
    create_pattern,
    get_registered_passes,
    pattern,
    register_decompose_pass,
    register_fusion_pass,
)

from ge_xdsl.compat.ge.passes.adapters import open_pass
from ge_xdsl.compat.ge.passes.stage import run_stage
from ge_xdsl.dialects.ge.graph import main_function, verify
from ge_xdsl.dialects.ge.names import input_names
from ge_xdsl.dialects.ge.text import module_text, parse_module
from ge_xdsl.errors import CompileError, PassError, UsageError
from ge_xdsl.passes.ge_custom_passes import GeCustomPassesPass
from ge_xdsl.passes.registry import StageRun
from ge_xdsl.passes.session import Session, SessionContext
from ge_xdsl.pattern.explain import Explanation
from ge_xdsl.pattern.statistics import Statistics

BEFORE = PassStage.BEFORE_INFER_SHAPE
AFTER = PassStage.AFTER_INFER_SHAPE
T = "tensor<2xf32>"
RELUS = f"""func.func @main(%x: {T}) -> {T} {{
  %a = ge.Relu(%x) : ({T}) -> {T}
  %b = ge.Relu(%a) : ({T}) -> {T}
  %c = ge.Abs(%b) : ({T}) -> {T}
  func.return %c : {T}
}}"""


def run(module, session=None, **options):
    session = session or Session()
    GeCustomPassesPass(**options).apply(SessionContext(session), module)
    return session


def op_types(module):
    return [op.name.removeprefix("ge.") for op in main_function(module).body.block.ops][:-1]


def define(name="P", stage=BEFORE, base=PatternFusionPass, **members):
    """Register a pass class; hooks that are not given are harmless ones."""
    return register_fusion_pass(name=name, stage=stage)(type("Made", (base,), members))


@pattern
def relu(self, inputs):
    return Relu(inputs[0])


@pattern
def abs_of(self, inputs):
    from ge.es.math import Abs

    return Abs(inputs[0])


def same(self, inputs):
    return inputs[0]


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


SUBGRAPHS = f"""func.func @main(%c: tensor<i1>, %x: {T}) -> {T} {{
  %r = ge.If(%c, [%x]) then_branch {{
  ^bb0(%p: {T}):
    %s = ge.Relu(%p) : ({T}) -> {T}
    ge.yield([%s]) : ({T}) -> ()
  }} else_branch {{
  ^bb0(%q: {T}):
    %t = ge.Relu(%q) : ({T}) -> {T}
    ge.yield([%t]) : ({T}) -> ()
  }} : (tensor<i1>, {T}) -> {T}
  %u = ge.Relu(%r) : ({T}) -> {T}
  func.return %u : {T}
}}"""


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


# Failures


def fails(module=None, **options):
    """The error of a run; the graph must be as it was."""
    module = module or parse_module(RELUS)
    before = module_text(module)
    session = Session()
    with pytest.raises(PassError) as caught:
        run(module, session, **options)
    assert module_text(module) == before
    verify(module)
    error = caught.value
    assert error.location is None or Path(error.location.file) == Path(__file__)
    assert "\n" not in error.message
    return error


def raises(*_):
    raise KeyError("gone")


REPLACEMENTS = [
    (raises, "replacement at ge.Relu 'a' raised KeyError: 'gone'"),
    (lambda self, match: None, "returned NoneType: PatternFusionPass.replacement must return ge"),
    (lambda self, inputs: None, "raised TypeError: Expression-style replacement must return"),
    (lambda self, inputs: inputs[:2][0], "Replacement input size: 2 not equal with Boundary inp"),
    (lambda self, inputs: [inputs[0]] * 2, "Replacement output size: 2 not equal with Boundary"),
    (lambda self, inputs: sys.exit(3), "raised SystemExit: 3"),
]


@pytest.mark.parametrize(("hook", "text"), REPLACEMENTS)
def test_a_replacement_that_fails_ends_the_compile(hook, text):
    define(p=relu, replacement=hook if hook is not raises else lambda self, match: raises())
    error = fails()
    assert text in error.message
    assert error.subject == "pass 'P'"
    assert error.location.line > 0
    assert any("the match is at <input>:2:3" in note for note in error.notes)
    if "raised" in text:
        assert any("inputs[0] is graph input 'x', Relu is ge.Relu 'a'" in n for n in error.notes)
    assert get_ge_error_msg() == error.render()


def test_an_earlier_rewrite_of_a_failed_pass_is_undone():
    calls = []

    def replace(self, inputs):
        calls.append(1)
        if len(calls) == 2:
            raise ValueError("second")
        return Mul(inputs[0], 2.0)

    define(p=relu, replacement=replace)
    error = fails(parse_module(SUBGRAPHS))
    assert len(calls) == 2
    assert "raised ValueError: second" in error.message


def test_a_replacement_graph_is_used_once():
    builder = GraphBuilder()
    graph = builder.build_and_reset([builder.create_input(0)])
    define(p=relu, replacement=lambda self, match: graph)
    error = fails()
    assert "replacement at ge.Relu 'b' returned a graph that was used before" in error.message


def test_a_missing_replacement_names_the_class():
    define(p=relu)
    error = fails()
    assert "NotImplementedError: PatternFusionPass.replacement must be implemented" in error.message


def test_a_replacement_that_does_not_fit_the_types():
    from ge.es.math import Cast

    define(stage=AFTER, p=relu, replacement=lambda self, inputs: Cast(inputs[0], dst_type=3))
    error = fails(stage="AfterInferShape")
    assert "replacement output 0 is tensor<2xi32>, its readers expect" in error.message
    define("Q", p=abs_of, replacement=lambda self, inputs: inputs[0] + 1)
    error = fails()
    assert "that does not fit: operands are DT_FLOAT and DT_INT64" in error.message


def test_construction_and_options_that_fail():
    define("init", __init__=raises)
    assert "__init__ raised KeyError: 'gone'" in fails(only="init").message
    define("config", p=relu, __init__=lambda self: PatternFusionPass.__init__(self, 1))
    text = "matcher_config must be PatternMatcherConfig or None"
    assert text in fails(only="config").message
    define("forgot", p=relu, __init__=lambda self: None)
    assert "AttributeError" in fails(only="forgot").message
    cls = type("Made", (FusionBasePass,), {})
    register_fusion_pass(name="kind", stage=BEFORE, kind="nope")(cls)
    assert "pass kind is 'nope', expected one of fusion_base" in fails(only="kind").message


PATTERNS = [
    (lambda self: raises(), "patterns raised KeyError: 'gone', taken as no pattern"),
    (lambda self: [1], "must return Pattern or Graph objects, taken as no pattern"),
    (lambda self: "ab", "must return an iterable of Pattern or Graph, taken as no pattern"),
]


@pytest.mark.parametrize(("hook", "text"), PATTERNS)
def test_patterns_that_fail_make_the_pass_do_nothing(hook, text):
    define(patterns=hook, replacement=same)
    module = parse_module(RELUS)
    [message] = run(module).messages
    assert text in message
    assert f"{Path(__file__).name}:" in message
    assert "pass 'P'" in message
    assert op_types(module) == ["Relu", "Relu", "Abs"]


def test_no_patterns_at_all():
    define(patterns=lambda self: None)
    assert run(parse_module(RELUS)).messages == []


def test_a_pattern_that_can_never_match_is_told():
    from ge.es.math import ConcatV2

    impossible = pattern(lambda self, inputs: ConcatV2(inputs[:2], 0, N=2))
    define(p=impossible, replacement=same)
    [message] = run(parse_module(RELUS)).messages
    assert message.startswith("warning: pass 'P': a pattern can never match: ")
    assert "dynamic input" in message


def test_requirements_that_raise_skip_the_match():
    define(p=relu, meet_requirements=lambda self, match: raises(), replacement=same)
    module = parse_module(RELUS)
    explanation = Explanation()
    session = run(module, Session(recorders=[explanation]))
    assert op_types(module) == ["Relu", "Relu", "Abs"]
    [message] = session.messages
    assert "meet_requirements raised KeyError: 'gone', taken as False" in message
    [rule] = explanation.rules.values()
    assert any("raised KeyError" in reason for reason in rule.misses)


# FusionBasePass


def test_a_run_is_in_the_reports():
    explanation, statistics = Explanation(), Statistics()
    define(base=FusionBasePass, run=lambda self, graph, context: None)
    run(parse_module(RELUS), Session(recorders=[explanation, statistics]))
    assert explanation.as_text() == "P: 0 of 0 sites rewritten\n"
    [entry] = statistics.as_json()
    assert (entry["pass"], entry["rule"], entry["applied"]) == ("P", "P", 0)


def test_the_text_of_an_exception_is_told_once():
    define(base=FusionBasePass, run=lambda self, graph, context: graph.find_nodes())
    error = fails()
    assert "raised AttributeError: 'Graph' object has no attribute 'find_nodes'" in error.message
    assert not any("set_error_message" in note for note in error.notes)


def test_the_text_of_an_exception_is_the_contexts_message():
    define(base=FusionBasePass, run=lambda self, graph, context: raises())
    stage = StageRun(Session(), BEFORE)
    [descriptor] = get_registered_passes()
    func = main_function(parse_module(RELUS))
    with pytest.raises(PassError):
        open_pass(descriptor)(stage)(func.body.block)
    assert stage.error_message == "KeyError: 'gone'"


def test_a_pass_edits_the_live_graph():
    def cut_second_relu(self, graph, context):
        a, b, c = (graph.find_node_by_name(n) for n in "abc")
        graph.remove_edge(b, 0, c, 0)
        graph.add_data_edge(a, 0, c, 0)
        graph.remove_node(b)

    define(base=FusionBasePass, run=cut_second_relu)
    module = parse_module(RELUS)
    run(module)
    assert op_types(module) == ["Relu", "Abs"]
    verify(module)


@pytest.mark.parametrize("status", [0, False], ids=["kept", "undone"])
def test_a_pass_removes_graph_inputs(status):
    """What a failed pass removed is there again, with its place, its name and its readers."""

    def cut(self, graph, context):
        for name in ("sum", "a", "b"):
            graph.remove_node(graph.find_node_by_name(name))
        graph.add_data_edge(graph.find_node_by_name("c"), 0, graph.find_node_by_name("r"), 0)
        return status

    define(base=FusionBasePass, run=cut)
    module = parse_module(
        f"""func.func @main(%a: {T}, %b: tensor<2xf32>, %c: {T}) -> ({T}, {T}) {{
  %sum = ge.Add(%a, %b) : ({T}, {T}) -> {T}
  %r = ge.Relu(%sum) : ({T}) -> {T}
  func.return %r, %c : {T}, {T}
}}"""
    )
    before = module_text(module)
    if status is False:
        with pytest.raises(PassError, match="run returned False"):
            run(module)
        assert module_text(module) == before
    else:
        run(module)
        assert op_types(module) == ["Relu"]
        assert input_names(main_function(module)) == ["c"]
    verify(module)


def test_edges_to_later_nodes_put_the_graph_in_order_again():
    def swap(self, graph, context):
        """x -> c -> b -> out, a unused."""
        x, b, c, out = (graph.find_node_by_name(n) for n in ("x", "b", "c", "NetOutput"))
        a = graph.find_node_by_name("a")
        graph.remove_edge(c, 0, out, 0)
        graph.remove_edge(b, 0, c, 0)
        graph.remove_edge(a, 0, b, 0)
        graph.add_data_edge(x, 0, c, 0)
        graph.add_data_edge(c, 0, b, 0)
        graph.add_data_edge(b, 0, out, 0)
        graph.remove_node(a)

    define(base=FusionBasePass, run=swap)
    module = parse_module(RELUS)
    run(module)
    assert op_types(module) == ["Abs", "Relu"]
    verify(module)


def leave_open(self, graph, context):
    graph.remove_node(graph.find_node_by_name("b"))


def make_cycle(self, graph, context):
    a, c = graph.find_node_by_name("a"), graph.find_node_by_name("c")
    graph.remove_edge(graph.find_node_by_name("x"), 0, a, 0)
    graph.add_data_edge(c, 0, a, 0)


def edit_and_raise(self, graph, context):
    graph.find_node_by_name("a").set_attr("k", 1)
    leave_open(self, graph, context)
    raises()


RUNS = [
    (lambda self, graph, context: False, "run returned False, expected None, True or 0"),
    (lambda self, graph, context: 7, "run returned 7, expected None, True or 0"),
    (lambda self, graph, context: "ok", "python pass returned unsupported type: str"),
    (edit_and_raise, "run raised KeyError: 'gone'"),
    (leave_open, "leaves input 0 of ge.Abs 'c' unconnected, expected a value"),
    (make_cycle, "leaves a cycle in the graph, expected none"),
]


@pytest.mark.parametrize(("hook", "text"), RUNS)
def test_a_run_that_fails(hook, text):
    define(base=FusionBasePass, run=hook)
    error = fails()
    assert text in error.message


@pytest.mark.parametrize("status", [None, True, 0, 53608649])
def test_a_run_that_succeeds(status):
    define(base=FusionBasePass, run=lambda self, graph, context: status)
    module = parse_module(RELUS)
    assert run(module).messages == []


# DecomposePass


def decomposing(**members):
    cls = type("Made", (DecomposePass,), members)
    return register_decompose_pass(name="D", stage=AFTER, op_types=["Abs", "Add"])(cls)


def abs_as_two(self, node):
    builder = GraphBuilder("two")
    x = builder.create_input(0)
    return builder.build_and_reset([Add(Relu(x), Relu(0.0 - x))])


def test_decompose():
    decomposing(
        meet_requirements=lambda self, node, context: context.get_pass_name() != "",
        replacement=abs_as_two,
    )
    module = parse_module(RELUS)
    session = run(module, stage="AfterInferShape")
    assert session.messages == []
    assert sorted(op_types(module)) == ["Add", "Const", "Relu", "Relu", "Relu", "Relu", "Sub"]
    verify(module)


def test_an_op_type_that_is_no_op_is_told():
    cls = type("Made", (DecomposePass,), {"replacement": lambda self, node: None})
    register_decompose_pass(name="D", stage=AFTER, op_types=["Absz", "Neg"])(cls)
    [message] = run(parse_module(RELUS)).messages
    assert message == (
        "warning: pass 'D': op type Absz is no known op, expected a GE op type, did you mean 'Abs'?"
    )


def test_decompose_failures():
    decomposing(replacement=lambda self, node: None)
    error = fails(stage="AfterInferShape")
    assert "replacement at ge.Abs 'c' returned NoneType: DecomposePass.replacement" in error.message


def test_decompose_hooks_that_raise():
    decomposing(
        meet_requirements=lambda self, node: node.get_attr("k") or raises(),
        replacement=lambda self, node: raises(),
    )
    module = parse_module(RELUS)
    [message] = run(module, stage="AfterInferShape").messages
    assert "meet_requirements raised RuntimeError: Failed to get attribute 'k'" in message
    main_function(module).body.block.last_op.prev_op.attributes["ge.k"] = parse_module(
        "builtin.module attributes {k = 1 : i64} {}"
    ).attributes["k"]
    error = fails(module, stage="AfterInferShape")
    assert "replacement at ge.Abs 'c' raised KeyError: 'gone'" in error.message


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
