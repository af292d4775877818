"""What the `ge` package says when it is called wrongly: the whole text of each message."""

from types import SimpleNamespace

import pytest
from ge import custom_op, onnx_plugin
from ge.error import GeError
from ge.es import GraphBuilder, _plugin_loader
from ge.es.all import Add, Cast, If, Relu, TransposeD
from ge.es.tensor_like import convert_to_tensor_holder, resolve_builder
from ge.graph import DataType, Tensor
from ge.graph.node import Node
from ge.graph.operator import Operator
from ge.offline_compile import bundle_build_model
from ge.passes import (
    DecomposePass,
    FusionBasePass,
    PassStage,
    PatternFusionPass,
    SubgraphBoundary,
    create_pattern,
    create_replacement,
    get_registered_passes,
    infer_shape,
    pattern,
    register_decompose_pass,
    register_fusion_pass,
)
from ge.passes import _bridge as bridge
from ge.passes import _handles as handles
from ge.passes.pattern import PatternInputs, build_pattern
from ge.passes.values import MatchResult
from ge.session import Session
from ge.utils import GeUtils

from ge_xdsl.compat.ge.passes.stage import run_stage
from ge_xdsl.errors import UsageError

BEFORE = PassStage.BEFORE_INFER_SHAPE


def graph(name="g"):
    builder = GraphBuilder(name)
    return builder.build_and_reset([Relu(builder.create_input(0))])


def taken():
    """A graph that has become a subgraph of another."""
    builder = GraphBuilder("owner")
    given = graph("branch")
    x = builder.create_input(0, data_type=DataType.DT_BOOL)
    If(x, [builder.create_input(1)], 1, given, graph("other"))
    return given


def in_a_pattern():
    """A graph that has become a pattern."""
    given = graph()
    create_pattern(given)
    return given


def branch(inputs, outputs):
    """A graph of so many inputs and outputs."""
    builder = GraphBuilder("branch")
    values = [builder.create_input(i) for i in range(inputs)]
    return builder.build_and_reset([Relu(values[0]) for _ in range(outputs)])


def with_if(then):
    builder = GraphBuilder("g")
    x = builder.create_input(0, data_type=DataType.DT_BOOL)
    return If(x, [builder.create_input(1)], 1, then, graph("other"))


def cycle():
    """Type inference of a graph whose two nodes read each other."""
    builder = GraphBuilder("g")
    first = Relu(builder.create_input(0))
    second = Relu(first)
    made = builder.build_and_reset([second])
    one, two = (made.find_node_by_name(f"Relu_{i}") for i in range(2))
    made.remove_edge(made.find_node_by_name("input_0"), 0, one, 0)
    made.add_data_edge(two, 0, one, 0)
    GeUtils.infer_shape(made, [[2]])


def built():
    builder = GraphBuilder("g")
    x = builder.create_input(0)
    builder.build_and_reset([Relu(x)])
    return builder


def two_builders():
    first, second = GraphBuilder("first"), GraphBuilder("second")
    return Add(first.create_input(0), second.create_input(0))


class OddConfig(PatternFusionPass):
    matcher_config = 3


def odd_config():
    register_fusion_pass(name="P", stage=BEFORE)(OddConfig)
    bridge.create_pass_holder(1, get_registered_passes()[-1].descriptor_key)
    try:
        bridge.get_pattern_matcher_config(1)
    finally:
        bridge.clear_pass_holders()


def define(base, **members):
    return type("Made", (base,), members)


def inputs():
    return PatternInputs(GraphBuilder("p"))


def returned_hint():
    @custom_op.register_op(op_type="OddReturnTest")
    def odd(x: Tensor) -> int:
        return x


def two_patterns():
    build_pattern(SimpleNamespace(), lambda self, inputs: [graph("a"), graph("b")])


def run_without_inputs():
    session = Session()
    session.add_graph(1, graph())
    session.run_graph(1, [])


def x():
    return GraphBuilder("g").create_input(0)


ES = [
    (
        lambda: built().create_input(1),
        RuntimeError,
        "Cannot create input: GraphBuilder has already been built. Create a new GraphBuilder to "
        "build another graph.",
    ),
    (
        lambda: GraphBuilder("g").create_input(0, data_type=3),
        AttributeError,
        "data_type is 3, which has no attribute 'value', expected a member of DataType",
    ),
    (
        lambda: GraphBuilder("g").create_scalar_uint64(-1),
        ValueError,
        "Value must be non-negative for uint64",
    ),
    (
        lambda: GraphBuilder("g").create_scalar_uint32(1 << 32),
        ValueError,
        "Value must be in range [0, 2^32-1] for uint32",
    ),
    (
        lambda: GraphBuilder("g").create_const_int64([1, 2, 3], [2, 2]),
        ValueError,
        "Value count (3) doesn't match shape [2, 2] (expected 4 elements)",
    ),
    (
        two_builders,
        ValueError,
        "Cannot build Add: tensors from different GraphBuilders ('first' vs 'second')",
    ),
    (
        lambda: If(x(), 3, 1, graph("a"), graph("b")),
        TypeError,
        "If() got 3, expected a list of tensors",
    ),
    (
        lambda: TransposeD(x(), perm="ab"),
        TypeError,
        "TransposeD() argument 'perm' is 'ab', expected a list of integers",
    ),
    (
        lambda: TransposeD(x(), [0, 1], perm=[1, 0]),
        TypeError,
        "TransposeD() got multiple values for argument 'perm'",
    ),
    (
        lambda: Cast(x(), dst_type=3.5),
        TypeError,
        "Cast() argument 'dst_type' is 3.5, expected an integer",
    ),
    (lambda: with_if(3), TypeError, "If() argument 'then_branch' is no Graph, expected one"),
    (
        lambda: with_if(branch(2, 1)),
        ValueError,
        "Tensor handle cannot be None: graph 'branch' for 'then_branch' of If has 2 inputs, "
        "expected at most 1",
    ),
    (
        lambda: with_if(branch(1, 2)),
        ValueError,
        "Tensor handle cannot be None: graph 'branch' for 'then_branch' of If has 2 outputs, "
        "expected 1",
    ),
    (
        lambda: with_if(in_a_pattern()),
        RuntimeError,
        "Graph handle is empty, expected one that a GraphBuilder built",
    ),
    (
        lambda: convert_to_tensor_holder("a", GraphBuilder("g")),
        TypeError,
        "Value must be TensorHolder or int|float or nested lists of int|float, not str",
    ),
    (resolve_builder, ValueError, "At least one argument is required to resolve GraphBuilder"),
    (
        lambda: resolve_builder(1, 2.5),
        ValueError,
        "Please ensure at least one input tensor or an explicit owner_builder is provided when "
        "supported",
    ),
    (
        lambda: _plugin_loader._coerce_to_module(3, "p"),
        TypeError,
        "ES plugin 'p' gives int, expected a module, the path of one or a callable that gives "
        "either",
    ),
]
GRAPHS = [
    (
        lambda: taken().save_to_air("g.air"),
        RuntimeError,
        "Failed to save graph to AIR format: graph was taken over or is a subgraph, expected a "
        "whole one",
    ),
    (
        lambda: graph().load_from_air("/absent.air"),
        RuntimeError,
        "Failed to load graph from AIR format: cannot use the file, no such file or directory",
    ),
    (Node, RuntimeError, "Node objects should not be created directly."),
    (Operator, RuntimeError, "Operator objects should not be created directly."),
    (
        lambda: Tensor([1.0], "a.bin", shape=[1]),
        RuntimeError,
        "Tensor should be created either by data or by file",
    ),
    (
        lambda: Tensor([1.0], None, DataType.DT_DOUBLE, shape=[1]),
        RuntimeError,
        "DT_DOUBLE is not supported in python Tensor constructor",
    ),
    (
        lambda: Tensor([1.0], None, DataType.DT_STRING, shape=[1]),
        RuntimeError,
        "Failed to create Tensor with data type: DT_STRING",
    ),
    (
        lambda: Tensor(None, "/absent.bin", shape=[1]),
        RuntimeError,
        "Failed to create Tensor: [Errno 2] No such file or directory: '/absent.bin'",
    ),
    (
        lambda: bundle_build_model(graph()),
        TypeError,
        "graph_with_options must be a list of GraphWithOptions",
    ),
    (
        lambda: bundle_build_model([graph()]),
        TypeError,
        "graph_with_options must be a list of GraphWithOptions",
    ),
    (
        lambda: GeUtils.infer_shape(graph(), 3),
        TypeError,
        "input_shapes must be a list of shape lists",
    ),
    (
        lambda: GeUtils.infer_shape(graph(), [3]),
        TypeError,
        "input_shapes must be a list of shape lists",
    ),
    (
        lambda: GeUtils.infer_shape(taken(), [[2]]),
        RuntimeError,
        "Failed to infer shape: graph is empty, expected a whole one",
    ),
    (cycle, RuntimeError, "Failed to infer shape: the nodes form a cycle, expected none"),
    (
        lambda: run_stage(taken(), "AfterInferShape"),
        UsageError,
        "graph was taken over or is a subgraph, expected a whole one",
    ),
]
OPS = [
    (
        returned_hint,
        TypeError,
        "OddReturnTest: returns <class 'int'>, expected Tensor, list[Tensor], a tuple of them or "
        "None",
    ),
    (
        lambda: custom_op.register_op_impl(op_type=""),
        TypeError,
        "register_op_impl op_type must be a non-empty string that names an op type",
    ),
    (
        lambda: custom_op.register_op_impl(op_type="T")(type("Empty", (), {})),
        TypeError,
        "Empty has neither execute nor declare_launch_args, expected one",
    ),
    (
        lambda: onnx_plugin.onnx_plugin(source="A", domain="", opsets="17", target="B"),
        TypeError,
        "onnx_plugin opsets must be an iterable of integers",
    ),
    (
        lambda: onnx_plugin.onnx_plugin(source="A", domain="", opsets=[0], target="B"),
        ValueError,
        "onnx_plugin opsets must be positive integers, expected at least one",
    ),
]
PASSES = [
    (
        odd_config,
        TypeError,
        "PatternFusionPass.matcher_config must be PatternMatcherConfig or None",
    ),
    (
        lambda: bridge.create_pass_holder(99, "a:b"),
        KeyError,
        "'python pass descriptor is not registered: a:b'",
    ),
    (
        lambda: handles.take(0),
        RuntimeError,
        "handle is 0, expected one that was handed over",
    ),
    (
        lambda: FusionBasePass().run(graph(), None),
        NotImplementedError,
        "FusionBasePass.run must be implemented",
    ),
    (
        lambda: PatternFusionPass().patterns(),
        NotImplementedError,
        "PatternFusionPass.patterns must be implemented, or a method marked with @pattern",
    ),
    (
        lambda: DecomposePass().replacement(None),
        NotImplementedError,
        "DecomposePass.replacement must be implemented",
    ),
    (
        lambda: define(
            PatternFusionPass, p=pattern(lambda self, inputs: inputs[0]), patterns=lambda self: []
        ),
        TypeError,
        "Made cannot combine @pattern methods with patterns(), expected one of them",
    ),
    (
        lambda: define(DecomposePass, run=lambda self, graph, context: None),
        TypeError,
        "Made overrides run(), which is never invoked by the DecomposePass execution path",
    ),
    (
        lambda: define(PatternFusionPass, replacement=lambda self, inputs, match, more: None),
        TypeError,
        "Expression-style replacement with four arguments must use "
        "replacement(self, inputs, match_result, context)",
    ),
    (
        lambda: define(PatternFusionPass, replacement=lambda self, inputs, a, b, context: None),
        TypeError,
        "Expression-style replacement only supports replacement(self, inputs[, match_result]"
        "[, context])",
    ),
    (
        lambda: infer_shape(taken(), SubgraphBoundary()),
        RuntimeError,
        "replacement graph was taken over, expected a live one",
    ),
    (
        lambda: list(inputs()),
        TypeError,
        "PatternInputs cannot be iterated because the input count is unknown; use inputs[:N]",
    ),
    (
        lambda: inputs()[1:],
        ValueError,
        "PatternInputs slice must provide a stop index, such as inputs[:3]",
    ),
    (
        lambda: inputs()[2:1],
        ValueError,
        "PatternInputs slice stop must be greater than or equal to start",
    ),
    (
        two_patterns,
        TypeError,
        "A @pattern method supports a single pattern only, expected one method per pattern",
    ),
    (
        lambda: register_decompose_pass(name="D", stage=BEFORE, op_types="Relu"),
        TypeError,
        "register_decompose_pass op_types must be an iterable of strings",
    ),
    (
        lambda: register_decompose_pass(name="D", stage=BEFORE, op_types=[]),
        ValueError,
        "register_decompose_pass requires at least one op type",
    ),
    (
        lambda: register_decompose_pass(name="D", stage=BEFORE, op_types=[""]),
        TypeError,
        "register_decompose_pass op_types must contain non-empty strings",
    ),
    (
        lambda: create_replacement(3),
        TypeError,
        "replacement graph must be a ge.graph.Graph",
    ),
    (
        lambda: SubgraphBoundary().add_input(0, 3),
        TypeError,
        "boundary part is int, expected a SubgraphInput",
    ),
    (
        lambda: MatchResult._create_from(SimpleNamespace()).get_captured_tensor(-1),
        TypeError,
        "capture_index must be a non-negative integer",
    ),
]


@pytest.mark.parametrize(("call", "kind", "text"), [*ES, *GRAPHS, *OPS, *PASSES])
def test_refusal(call, kind, text):
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value) == text


def test_a_call_that_needs_a_device_says_so():
    with pytest.raises(GeError) as caught:
        custom_op.get_execute_ctx()
    assert caught.value.error_message == "no Ascend device"


def test_a_run_with_too_few_inputs_says_how_many_there_are():
    with pytest.raises(
        GeError, match="RunGraph failed; graph_id=1; .*0 inputs are given, expected 1"
    ):
        run_without_inputs()
