"""`SubgraphRewriter`, `can_fuse`, `report_fuse` and `infer_shape` on live graphs."""

import numpy as np
import pytest
from ge.es.graph_builder import GraphBuilder
from ge.es.math import Mul
from ge.es.nn import Relu
from ge.graph import Graph
from ge.passes import (
    FuseCheckResult,
    FusionBasePass,
    PassContext,
    PassStage,
    PatternFusionPass,
    SubgraphBoundary,
    SubgraphInput,
    SubgraphOutput,
    SubgraphRewriter,
    can_fuse,
    infer_shape,
    pattern,
    register_fusion_pass,
    report_fuse,
)

from ge_xdsl.dialects.ge.graph import main_function, verify
from ge_xdsl.dialects.ge.text import module_text, parse_module
from ge_xdsl.errors import CompileError, PassError
from ge_xdsl.interpreters.ge import run_function
from ge_xdsl.passes.ge_custom_passes import GeCustomPassesPass
from ge_xdsl.passes.registry import StageRun
from ge_xdsl.passes.session import Session, SessionContext
from ge_xdsl.pattern.explain import Explanation
from ge_xdsl.pattern.statistics import Statistics

FAILED = 4294967295
T = "tensor<2xf32>"
CHAIN = f"""func.func @main(%x: {T}) -> ({T}, {T}) {{
  %a = ge.Relu(%x) : ({T}) -> {T}
  %b = ge.Abs(%a) : ({T}) -> {T}
  %c = ge.Neg(%b) : ({T}) -> {T}
  %d = ge.Relu(%x) : ({T}) -> {T}
  func.return %c, %d : {T}, {T}
}}"""


def chain():
    return Graph._create_from(main_function(parse_module(CHAIN)))


def node(graph, name):
    return graph.find_node_by_name(name)


def context(name="P"):
    return PassContext._create_from(StageRun(Session(), "AfterInferShape", name))


def region(graph, first, last):
    """The boundary from the input of node `first` to the output of node `last`."""
    boundary = SubgraphBoundary()
    assert boundary.add_input(0, SubgraphInput([(node(graph, first), 0)])) == 0
    assert boundary.add_output(0, SubgraphOutput(node(graph, last), 0)) == 0
    return boundary


def relu_graph():
    builder = GraphBuilder("new")
    return builder.build_and_reset([Relu(builder.create_input(0))])


def types_of(graph):
    return [n.type for n in graph.get_direct_nodes()[1:-1]]


def test_replace_returns_a_status_and_copies():
    graph = chain()
    new = relu_graph()
    assert SubgraphRewriter.replace(region(graph, "b", "c"), new) == 0
    assert types_of(graph) == ["Relu", "Relu", "Relu"]
    assert SubgraphRewriter.replace(region(graph, "d", "d"), new) == 0
    assert new.name == "new"


def test_a_refused_replace_changes_nothing():
    graph = chain()
    before = module_text(graph._handle.parent_op())
    builder = GraphBuilder("two")
    two = builder.build_and_reset([builder.create_inputs(2)[0]])
    assert SubgraphRewriter.replace(region(graph, "b", "c"), two) == FAILED
    gap = SubgraphBoundary()
    gap.add_output(1, SubgraphOutput(node(graph, "c"), 0))
    assert SubgraphRewriter.replace(gap, two) == FAILED
    empty = SubgraphBoundary()
    empty.add_input(0, SubgraphInput())
    assert SubgraphRewriter.replace(empty, two) == FAILED
    for boundary, text in (
        (gap, r"boundary output indices are \[1\], expected 0 to n-1"),
        (empty, "boundary input 0 is not connected, expected a tensor"),
    ):
        with pytest.raises(CompileError, match=text):
            boundary._boundary()
    assert module_text(graph._handle.parent_op()) == before
    with pytest.raises(RuntimeError, match="Replace with context failed, pass_name=P, status=42"):
        SubgraphRewriter.replace(region(graph, "b", "c"), two, context=(given := context()))
    assert "Replacement input size: 2 not equal" in given.get_error_message()


def test_boundary_parts():
    graph = chain()
    a, b, d = (node(graph, n) for n in "abd")
    part = SubgraphInput()
    assert [part.add_input(a, 0), part.add_input(d, 0)] == [0, 0]
    assert [part.add_input(b, 0), part.add_input(a, 5)] == [FAILED, FAILED]
    assert part.add_input(node(graph, "x"), 0) == FAILED
    out = SubgraphOutput()
    assert [out.set_output(a, 3), out.set_output(a, 0), out.set_output(b, 0)] == [FAILED, 0, FAILED]
    boundary = SubgraphBoundary()
    assert [boundary.add_input(0, part), boundary.add_input(0, part)] == [0, FAILED]
    assert [boundary.add_output(0, out), boundary.add_output(0, out)] == [0, FAILED]
    for call, text in (
        (lambda: boundary.add_input(1, out), "is SubgraphOutput, expected a SubgraphInput"),
        (lambda: boundary.add_output(1, part), "is SubgraphInput, expected a SubgraphOutput"),
        (lambda: boundary.add_input("1", part), "index must be a non-negative integer"),
        (lambda: boundary.add_output(-1, out), "index must be a non-negative integer"),
    ):
        with pytest.raises(TypeError, match=text):
            call()
    for bad in ([[a, 0]], [(a,)], [(a, "0")]):
        with pytest.raises(
            RuntimeError, match=r"SubgraphInput expects iterable of \(node, index\)"
        ):
            SubgraphInput(bad)


def test_wrong_arguments_of_replace():
    graph = chain()
    with pytest.raises(TypeError, match="SubgraphRewriter has no constructor"):
        SubgraphRewriter()
    with pytest.raises(TypeError, match="boundary must be a SubgraphBoundary"):
        SubgraphRewriter.replace(1, relu_graph())
    with pytest.raises(TypeError, match=r"replacement must be a ge\.graph\.Graph"):
        SubgraphRewriter.replace(region(graph, "b", "c"), 1)
    used = relu_graph()
    used._handle = None
    with pytest.raises(RuntimeError, match="Graph handle is empty"):
        SubgraphRewriter.replace(region(graph, "b", "c"), used)


def test_a_pass_replaces_with_its_context():
    statistics = Statistics()

    @register_fusion_pass(name="Neat", stage=PassStage.AFTER_INFER_SHAPE)
    class Neat(FusionBasePass):
        def run(self, graph, context):
            builder = GraphBuilder("double")
            new = builder.build_and_reset([Mul(builder.create_input(0), -1.0)])
            SubgraphRewriter.replace(region(graph, "b", "c"), new, context=context)

    module = parse_module(CHAIN)
    session = Session(recorders=[statistics])
    GeCustomPassesPass("AfterInferShape").apply(SessionContext(session), module)
    verify(module)
    x = np.array([-1.5, 2.0], np.float32)
    old = run_function(main_function(parse_module(CHAIN)), {"x": x})
    new = run_function(main_function(module), {"x": x})
    np.testing.assert_array_equal(old, new)
    text = module_text(module)
    [entry] = statistics.as_json()
    assert [entry[key] for key in ("pass", "tried", "matched", "applied")] == ["Neat", 1, 1, 1]
    assert 'ge.pass_name = ["Neat"]' in text
    assert "DT_UNDEFINED" not in text


def test_a_refused_replace_in_a_pass_is_told():
    @register_fusion_pass(name="Loose", stage=PassStage.AFTER_INFER_SHAPE)
    class Loose(FusionBasePass):
        def run(self, graph, context):
            assert SubgraphRewriter.replace(SubgraphBoundary(), relu_graph()) == FAILED

    session = Session()
    GeCustomPassesPass("AfterInferShape").apply(SessionContext(session), parse_module(CHAIN))
    [message] = session.messages
    assert "pass 'Loose': SubgraphRewriter.replace refused: Boundary is not in same" in message


def test_explanations_name_what_a_run_replaced_and_what_was_refused():
    @register_fusion_pass(name="Both", stage=PassStage.AFTER_INFER_SHAPE)
    class Both(FusionBasePass):
        def run(self, graph, context):
            assert SubgraphRewriter.replace(region(graph, "b", "c"), relu_graph()) == 0
            assert SubgraphRewriter.replace(region(graph, "d", "d"), two_inputs()) == FAILED

    explanation = Explanation()
    session = Session(recorders=[explanation])
    GeCustomPassesPass("AfterInferShape").apply(SessionContext(session), parse_module(CHAIN))
    head, rewrote, refused = explanation.as_text().splitlines()
    assert (head, rewrote) == ("Both: 1 of 2 sites rewritten", "  rewrote 'c'")
    assert refused.endswith("[refused] at 'd'")


def two_inputs():
    builder = GraphBuilder("two")
    x, y = builder.create_inputs(2)
    return builder.build_and_reset([Mul(x, y)])


# can_fuse, report_fuse


def test_can_fuse():
    graph = chain()
    a, b, c, d = (node(graph, n) for n in "abcd")
    assert can_fuse(n for n in (a, b)) == FuseCheckResult(True)
    assert can_fuse([]) == FuseCheckResult(False, "nodes_before_fuse is empty")
    assert can_fuse([a, c]) == FuseCheckResult(False, "it will create cycle after fuse")
    assert "different graphs, node: a" in can_fuse([d, node(chain(), "a")]).reason
    a.set_attr("_user_stream_label", "one")
    b.set_attr("_user_stream_label", "two")
    assert "multiple _user_stream_label" in can_fuse([a, b]).reason
    a.set_attr("_deterministic", "7")
    assert "should be in {0,1}, but got 7" in can_fuse([a]).reason
    graph.remove_node(d)
    assert can_fuse([d]).reason == "a node is no longer in a graph"
    with pytest.raises(TypeError, match=r"nodes must contain only ge\.graph\.Node objects"):
        can_fuse([1])


def test_report_fuse():
    graph = chain()
    a, b, d = (node(graph, n) for n in "abd")
    report_fuse([a, b], [d], context())
    assert d.get_attr("pass_name") == ["P"]
    assert d.get_attr("_datadump_original_op_names") == ["a", "b"]
    report_fuse([a], [], context())
    for nodes, name in (([], "P"), ([a], ""), ([a, node(chain(), "a")], "P")):
        with pytest.raises(RuntimeError, match="Failed to report fusion result, pass_name="):
            report_fuse(nodes, [d], given := context(name))
        assert "Failed to report" in given.get_error_message()
    with pytest.raises(TypeError, match=r"nodes_after must contain only ge\.graph\.Node"):
        report_fuse([a], [1], context())


# infer_shape


def reshape_graph(inputs=2):
    from ge.es.all import Reshape

    builder = GraphBuilder("r")
    x, shape = builder.create_inputs(2)
    for index in range(2, inputs):
        builder.create_input(index)
    return builder.build_and_reset([Relu(Reshape(x, shape))])


RESHAPE = """func.func @main(%x: tensor<4xf16>) -> tensor<2x2xf16> {
  %s = ge.Const() {value = dense<[2, 2]> : tensor<2xi64>} : () -> tensor<2xi64>
  %r = ge.Reshape(%x, %s) : (tensor<4xf16>, tensor<2xi64>) -> tensor<2x2xf16>
  func.return %r : tensor<2x2xf16>
}"""


def sources():
    graph = Graph._create_from(main_function(parse_module(RESHAPE)))
    target = node(graph, "r")
    boundary = SubgraphBoundary()
    for port in range(2):
        boundary.add_input(port, SubgraphInput([(target, port)]))
    return target, boundary


@pytest.mark.parametrize("which", [0, 1], ids=["node", "boundary"])
def test_infer_shape_from_a_node_or_a_boundary(which):
    new = reshape_graph()
    infer_shape(new, sources()[which])
    desc = node(new, "Relu_1").get_output_desc(0)
    assert (desc.shape, desc.data_type.name) == ([2, 2], "DT_FLOAT16")
    assert node(new, "input_0").get_output_desc(0).shape == [4]


def test_infer_shape_from_a_match():
    seen = []

    @register_fusion_pass(name="Shapes", stage=PassStage.AFTER_INFER_SHAPE)
    class Shapes(PatternFusionPass):
        @pattern
        def reshape(self, inputs):
            from ge.es.all import Reshape

            return Reshape(inputs[0], inputs[1])

        def replacement(self, match_result):
            new = reshape_graph()
            infer_shape(new, match_result)
            seen.append(node(new, "Relu_1").get_output_desc(0).shape)
            return new

    module = parse_module(
        RESHAPE.replace(
            "func.return %r",
            "%q = ge.Relu(%r) : (tensor<2x2xf16>) -> tensor<2x2xf16>\n  func.return %q",
        )
    )
    text = GeCustomPassesPass("AfterInferShape")
    with pytest.raises(PassError, match="rewrites its own result without end"):
        text.apply(SessionContext(Session()), module)
    assert seen[0] == [2, 2]
    verify(module)


def test_infer_shape_errors():
    target, boundary = sources()
    for replacement, source, error, text in (
        (1, target, TypeError, r"replacement must be a ge\.graph\.Graph"),
        (reshape_graph(), 1, TypeError, "source must be MatchResult, Node, or SubgraphBoundary"),
        (Graph(), target, RuntimeError, "replacement graph is empty"),
        (
            reshape_graph(3),
            target,
            RuntimeError,
            "infer_shape failed, replacement_graph=r, source_type=Node, source_name=r: "
            "the boundary has no input 2",
        ),
        (reshape_graph(3), boundary, RuntimeError, "source_type=SubgraphBoundary: the boundary"),
        (_wrong(), boundary, RuntimeError, "ge.Add 'Add_1': operands are DT_FLOAT16 and DT_INT64"),
        (_taken(), target, RuntimeError, "replacement graph was taken over"),
    ):
        with pytest.raises(error, match=text):
            infer_shape(replacement, source)


def test_a_failed_inference_leaves_the_replacement_as_it_was():
    _, boundary = sources()
    graph = _wrong()
    before = module_text(graph._handle.parent_op())
    with pytest.raises(RuntimeError, match="operands are DT_FLOAT16 and DT_INT64"):
        infer_shape(graph, boundary)
    assert module_text(graph._handle.parent_op()) == before


def _wrong():
    builder = GraphBuilder("w")
    return builder.build_and_reset([builder.create_input(0) + 1])


def _taken():
    graph = Graph()
    graph._handle = None
    return graph
