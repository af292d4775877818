"""Whole passes in the styles that GE's samples use, on graphs, with numbers before and after."""

import re

import numpy as np
import pytest
from ge.es import GraphBuilder, register_module
from ge.es.math import Concat
from ge.es.nn import Relu
from ge.graph import Format, TensorDesc
from ge.passes import (
    FusionBasePass,
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

from ge_xdsl.compat.ge.graph.graph import Graph
from ge_xdsl.dialects.ge.graph import main_function, verify
from ge_xdsl.dialects.ge.names import input_names
from ge_xdsl.dialects.ge.text import parse_module
from ge_xdsl.interpreters.ge import run_function
from ge_xdsl.passes.ge_custom_passes import run_stage
from ge_xdsl.passes.session import Session
from ge_xdsl.pattern.statistics import Statistics

STAGE = "AfterInferShape"
SHAPES = {
    "A": "1x2x5x5",
    "B": "3x2x3x3",
    "X": "1x5x5x2",
    "W": "3x3x2x3",
    "Y": "1x3x3x3",
    "P": "2x3",
    "Q": "2x4",
    "R": "2x7",
}
"""What the letters in the graphs stand for."""


def run(text, seed=0):
    """Run the registered passes: op types after, statistics, and the outputs before and after."""
    for letter, shape in SHAPES.items():
        text = re.sub(rf"\b{letter}\b", f"tensor<{shape}xf32>", text)
    module = parse_module(text, "m.mlir")
    verify(module)
    func = main_function(module)
    rng = np.random.default_rng(seed)
    arrays = {
        name: rng.standard_normal(arg.type.get_shape()).astype(np.float32)
        for name, arg in zip(input_names(func), func.body.block.args, strict=True)
    }
    before = run_function(func, arrays)
    statistics = Statistics()
    session = Session(recorders=[statistics])
    run_stage(func, STAGE, session)
    verify(module)
    after = run_function(func, arrays)
    for old, new in zip(before, after, strict=True):
        np.testing.assert_allclose(new, old, rtol=1e-5, atol=1e-5)
    types = [op.name.removeprefix("ge.") for op in func.body.block.ops]
    return types, statistics.as_json(), func


CONCAT = """
func.func @main(%a: P, %b: Q) -> R {
  %d = ge.Const() {value = dense<1> : tensor<i32>} : () -> tensor<i32>
  %c = ge.Concat(%d, [%a, %b]) {N = 2} : (tensor<i32>, P, Q) -> R
  %r = ge.Relu(%c) : (R) -> R
  func.return %r : R
}
"""


def test_move_an_op_before_a_concat():
    @register_fusion_pass(name="MoveRelu", stage=PassStage.AFTER_INFER_SHAPE)
    class MoveRelu(FusionBasePass):
        def run(self, graph, context):
            for relu in [n for n in graph.get_direct_nodes() if n.type == "Relu"]:
                concat, _ = relu.get_in_data_nodes_and_port_indexes(0)
                if concat.type != "Concat":
                    continue
                count = concat.get_attr("N")
                builder = GraphBuilder("moved")
                axis, *values = builder.create_inputs(count + 1)
                out = Concat(axis, [Relu(value) for value in values], N=count)
                made = builder.build_and_reset([out])
                boundary = SubgraphBoundary()
                for port in range(count + 1):
                    assert boundary.add_input(port, SubgraphInput([(concat, port)])) == 0
                assert boundary.add_output(0, SubgraphOutput(relu, 0)) == 0
                infer_shape(made, boundary)
                SubgraphRewriter.replace(boundary, made, context=context)

    types, statistics, func = run(CONCAT)
    assert sorted(types) == ["Concat", "Const", "Relu", "Relu", "func.return"]
    concat = next(op for op in func.body.block.ops if op.name == "ge.Concat")
    assert concat.results[0].type.get_shape() == (2, 7)
    assert sum(row["applied"] for row in statistics) == 1


TRANSPOSED = """
func.func @main(%a: A, %b: B) -> Y {
  %p = ge.Const() {value = dense<[0, 2, 3, 1]> : tensor<4xi64>} : () -> tensor<4xi64>
  %q = ge.Const() {value = dense<[2, 3, 1, 0]> : tensor<4xi64>} : () -> tensor<4xi64>
  %s = ge.Const() {value = dense<[0, 3, 1, 2]> : tensor<4xi64>} : () -> tensor<4xi64>
  %x = ge.Transpose(%a, %p) : (A, tensor<4xi64>) -> X
  %w = ge.Transpose(%b, %q) : (B, tensor<4xi64>) -> W
  %y = ge.Conv2D(%x, %w) {strides = [1, 1, 1, 1], pads = [0, 0, 0, 0], data_format = "NHWC"}
    : (X, W) -> Y
  %r = ge.Transpose(%y, %s) : (Y, tensor<4xi64>) -> Y
  func.return %r : Y
}
"""


def test_relink_edges_and_report_it():
    @register_fusion_pass(name="ToNchw", stage=PassStage.AFTER_INFER_SHAPE)
    class ToNchw(FusionBasePass):
        def run(self, graph, context):
            for conv in [n for n in graph.get_direct_nodes() if n.type == "Conv2D"]:
                if conv.get_attr("data_format") != "NHWC":
                    continue
                sources = [conv.get_in_data_nodes_and_port_indexes(port)[0] for port in (0, 1)]
                [(after, _)] = conv.get_out_data_nodes_and_port_indexes(0)
                old = [*sources, conv, after]
                assert can_fuse(old).ok
                for port, source in enumerate(sources):
                    origin, index = source.get_in_data_nodes_and_port_indexes(0)
                    graph.remove_edge(source, 0, conv, port)
                    graph.add_data_edge(origin, index, conv, port)
                desc = after.get_output_desc(0).set_format(Format.FORMAT_NCHW)
                desc.set_origin_format(Format.FORMAT_NCHW)
                conv.set_attr("data_format", "NCHW")
                conv.update_output_desc(0, TensorDesc(desc.get_shape(), desc.format))
                graph.remove_edge(conv, 0, after, 0)
                for reader, port in after.get_out_data_nodes_and_port_indexes(0):
                    graph.remove_edge(after, 0, reader, port)
                    graph.add_data_edge(conv, 0, reader, port)
                report_fuse(old, [conv], context)
                for node in (*sources, after):
                    graph.remove_node(node)

    types, statistics, func = run(TRANSPOSED)
    assert [name for name in types if name != "Const"] == ["Conv2D", "func.return"]
    graph = Graph._create_from(func, False)
    [conv] = [n for n in graph.get_direct_nodes() if n.type == "Conv2D"]
    assert conv.get_attr("pass_name") == ["ToNchw"]
    assert sum(row["applied"] for row in statistics) == 1


def test_a_custom_op_with_a_constant():
    register_module(
        "custom",
        [
            {
                "op": "AddCustomStyle",
                "inputs": [{"name": "x"}, {"name": "y"}],
                "outputs": [{"name": "z"}],
            }
        ],
    )
    from ge.es.custom import AddCustomStyle

    @register_fusion_pass(name="DropCustomZero", stage=PassStage.AFTER_INFER_SHAPE)
    class DropCustomZero(PatternFusionPass):
        @pattern
        def zero_last(self, inputs):
            return AddCustomStyle(inputs[0], 0.0)

        def meet_requirements(self, match_result):
            [const] = [n for n in match_result.get_matched_nodes() if n.type == "Const"]
            return const.get_attr("value").get_data() == 0.0

        def replacement(self, inputs):
            return inputs[0]

    builder = GraphBuilder("g")
    x = builder.create_input(0, shape=[2])
    graph = builder.build_and_reset([Relu(AddCustomStyle(AddCustomStyle(x, 0.0), 1.0))])
    run_stage(graph._handle.parent_op(), STAGE, Session())
    types = [node.type for node in graph.get_direct_nodes()]
    assert types.count("AddCustomStyle") == 1
    assert str(graph).count("y=%Const_2") == 1


GUARDED = """
try:
    from ge.es.math import {name}
except ImportError:
    {name} = None
"""


@pytest.mark.parametrize(("name", "there"), [("Concat", True), ("NoSuchOp", False)])
def test_samples_guard_their_imports(name, there):
    scope = {}
    exec(GUARDED.format(name=name), scope)
    assert (scope[name] is not None) == there
