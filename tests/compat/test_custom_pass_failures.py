"""`ge-custom-passes`: hooks that fail, and what a failure leaves."""

import sys
from pathlib import Path

import custom_pass_runs
import pytest
from custom_pass_runs import (
    AFTER,
    BEFORE,
    RELUS,
    SUBGRAPHS,
    T,
    abs_of,
    define,
    fails,
    op_types,
    raises,
    relu,
    run,
    same,
)
from ge.error import get_ge_error_msg
from ge.es.graph_builder import GraphBuilder
from ge.es.math import Add, Mul
from ge.es.nn import Relu
from ge.passes import (
    DecomposePass,
    FusionBasePass,
    PatternFusionPass,
    get_registered_passes,
    pattern,
    register_decompose_pass,
    register_fusion_pass,
)

from ge_xdsl.compat.ge.passes.adapters import open_pass
from ge_xdsl.dialects.ge.graph import main_function, verify
from ge_xdsl.dialects.ge.names import input_names
from ge_xdsl.dialects.ge.text import module_text, parse_module
from ge_xdsl.errors import PassError
from ge_xdsl.passes.registry import StageRun
from ge_xdsl.passes.session import Session
from ge_xdsl.pattern.explain import Explanation
from ge_xdsl.pattern.statistics import Statistics

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
    place = custom_pass_runs.__file__ if hook is PATTERNS[0][0] else __file__
    assert f"{Path(place).name}:" in message
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
