"""Every part of the API that a pass file may use; `test_stubs.py` checks its types and loads it."""

# GE's samples use `_get_node_snapshot`.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from ge.custom_op import register_op
from ge.error import GeError
from ge.es import GraphBuilder, TensorHolder, get_plugin, list_plugins
from ge.es.all import Add, BatchNorm, BatchNormOutput, Const, Conv2D, If, MatMul, Reshape, Split
from ge.es.graph_builder import InputType, attr_scope, control_dependency_scope
from ge.es.math import GEMM, Concat
from ge.es.nn import Relu
from ge.es.tensor_like import TensorLike, convert_to_tensor_holder, resolve_builder
from ge.ge_global import GeApi
from ge.graph import (
    DataType,
    DumpFormat,
    Format,
    Graph,
    Node,
    Operator,
    Placement,
    Shape,
    Tensor,
    TensorDesc,
)
from ge.graph.types import AttrValueType
from ge.offline_compile import build_finalize, build_initialize, build_model, save_model
from ge.onnx_plugin import OnnxNode, onnx_plugin
from ge.passes import (
    DecomposePass,
    FuseCheckResult,
    FusionBasePass,
    MatchResult,
    NodeIo,
    PassContext,
    PassStage,
    Pattern,
    PatternFusionPass,
    PatternMatcherConfig,
    PatternMatcherConfigBuilder,
    SubgraphBoundary,
    SubgraphInput,
    SubgraphOutput,
    SubgraphRewriter,
    can_fuse,
    clear_registered_passes,
    create_pattern,
    create_replacement,
    get_registered_pass_by_descriptor_key,
    get_registered_pass_dicts,
    get_registered_passes,
    infer_shape,
    pattern,
    register_decompose_pass,
    register_fusion_pass,
    report_fuse,
)
from ge.passes.bootstrap import load_pass_plugins
from ge.passes.pattern import PatternInputs
from ge.passes.registry import PassDescriptor
from ge.session import Session
from ge.utils import GeUtils


@register_fusion_pass(name="A", stage=PassStage.AFTER_INFER_SHAPE)
class A(PatternFusionPass):
    def __init__(self) -> None:
        super().__init__(PatternMatcherConfigBuilder().enable_const_value_match().build())

    @pattern
    def matmul_add(self, inputs: PatternInputs) -> TensorHolder:
        a, b, c = inputs[:3]
        return MatMul(a, b) + c

    @pattern
    def second(self, inputs: PatternInputs) -> list[TensorHolder]:
        y = Relu(inputs[0])
        return [y, 1.0 + y, y - 2, [1, 2] * y]

    def meet_requirements(self, match_result: MatchResult, context: PassContext) -> bool:
        io: NodeIo = match_result.get_captured_tensor(0)
        desc: TensorDesc = io.node.get_output_desc(io.index)
        shape: Shape = desc.get_shape()
        print(match_result.get_pattern_graph_name(), str(match_result), context.get_pass_name())
        return (
            shape.get_shape_size() > 0
            and not shape.is_unknown_shape()
            and desc.data_type == DataType.DT_FLOAT
        )

    def replacement(
        self, inputs: PatternInputs, match_result: MatchResult, context: PassContext
    ) -> TensorHolder:
        for node in match_result.get_matched_nodes():
            if node.type == "Const":
                value: Tensor = node.get_attr("value")
                print(value.get_data(), value.placement == Placement.PLACEMENT_HOST)
        a, b, c = inputs[0], inputs[1], inputs[2]
        return GEMM(a, b, c, 1.0, 1.0, transpose_a=True)


@register_fusion_pass(name="B", stage=PassStage.BEFORE_INFER_SHAPE)
class B(PatternFusionPass):
    def patterns(self) -> list[Pattern]:
        builder = GraphBuilder("p")
        x, y = builder.create_inputs(2)
        s = Add(x, y)
        made = (
            create_pattern(builder.build_and_reset([s]))
            .capture_tensor(s)
            .capture_tensor(NodeIo(s._get_node_snapshot(), 0))
        )
        return [made]

    def replacement(self, match_result: MatchResult) -> Graph:
        builder = GraphBuilder("r")
        x = builder.create_input(
            0,
            name="q",
            type_str=InputType.DATA,
            data_type=DataType.DT_FLOAT16,
            format=Format.FORMAT_NCHW,
            shape=[1, 2],
        )
        y = builder.create_input(1)
        c = builder.create_const_float([1.0, 2.0], [2])
        with attr_scope({"k": 1}), control_dependency_scope([x]):
            z = (x + y) * c
        z.set_data_type(DataType.DT_FLOAT).set_format(Format.FORMAT_ND).set_shape([1])
        graph = builder.build_and_reset([z])
        infer_shape(graph, match_result)
        return create_replacement(graph)


@register_decompose_pass(name="C", stage=PassStage.AFTER_INFER_SHAPE, op_types=["Conv2D"])
class C(DecomposePass):
    def meet_requirements(self, node: Node) -> bool:
        try:
            groups: int = node.get_attr("groups")
        except RuntimeError:
            return False
        return groups > 1

    def replacement(self, node: Node) -> Graph:
        builder = GraphBuilder("c")
        x, f = builder.create_inputs(2)
        parts: list[TensorHolder] = Split(1, x, 2, num_split=2)
        filters = Split(0, f, 2, num_split=2)
        outs = [
            Conv2D(p, w, None, None, strides=[1, 1, 1, 1], pads=[0, 0, 0, 0])
            for p, w in zip(parts, filters, strict=True)
        ]
        for out in outs:
            snap = out._get_node_snapshot()
            snap.update_output_desc(0, node.get_output_desc(0))
            snap.set_attr("groups", 1)
        g = builder.build_and_reset([Concat(1, outs, N=2)])
        infer_shape(g, node)
        return g


@register_fusion_pass(name="D", stage=PassStage.AFTER_BUILTIN_FUSION_PASS)
class D(FusionBasePass):
    def run(self, graph: Graph, context: PassContext) -> int | None:
        for node in graph.get_direct_nodes():
            producer, port = node.get_in_data_nodes_and_port_indexes(0)
            for reader, at in node.get_out_data_nodes_and_port_indexes(0):
                graph.remove_edge(node, 0, reader, at)
                graph.add_data_edge(producer, port, reader, at)
            result: FuseCheckResult = can_fuse([node, producer])
            if not result.ok:
                print(result.reason)
            report_fuse([node], [producer], context)
            boundary = SubgraphBoundary()
            boundary.add_input(0, SubgraphInput([(node, 0)]))
            boundary.add_output(0, SubgraphOutput(node, 0))
            b = GraphBuilder("r")
            g = b.build_and_reset([Relu(b.create_input(0))])
            infer_shape(g, boundary)
            status: int = SubgraphRewriter.replace(boundary, g)
            SubgraphRewriter.replace(boundary, g, context=context)
            print(status)
        try:
            print(context.get_option_value("ge.socVersion"))
        except RuntimeError as e:
            context.set_error_message(str(e))
        return 0


def other(b: GraphBuilder, x: TensorHolder, like: TensorLike) -> None:
    bn: BatchNormOutput = BatchNorm(x, x, x, None, None, epsilon=0.1)
    print(bn.y.name, Const(b, value=Tensor([1.0], shape=[1])), Reshape(x, [1, -1]))
    print(
        convert_to_tensor_holder(like, b), resolve_builder(x, b), list_plugins(), get_plugin("math")
    )
    outs = If(x, [x], 1, Graph("a"), Graph("b"))
    g = b.build_and_reset(outs)
    g.dump_to_file(DumpFormat.kReadable, "s")
    print(g.dump_to_stream(), AttrValueType.VT_INT)
    GeUtils.infer_shape(g, [[1]])
    ok, why = GeUtils.check_node_support_on_aicore(g.get_all_nodes()[0])
    print(ok, why)
    GeApi.ge_initialize({"a": "b"})
    s = Session({"a": "b"})
    s.add_graph(0, g)
    try:
        outs2: list[Tensor] = s.run_graph(0, [Tensor([1.0])])
        print(outs2)
    except GeError as e:
        print(e.error_message, e.api_name)
    build_initialize()
    save_model("x", build_model(g))
    build_finalize()
    d: PassDescriptor | None = get_registered_pass_by_descriptor_key("k")
    print(d, get_registered_pass_dicts(), get_registered_passes(), load_pass_plugins())
    clear_registered_passes()


@register_op(op_type="MyOp")
def my_op(x: TensorDesc, *, alpha: float = 1.0) -> TensorDesc:
    return x


plug = onnx_plugin(source="MyOp", domain="ai.x", opsets=[11, 12], target="MyOp")


@plug.parse_node
def parse(node: OnnxNode, operator: Operator) -> None:
    operator.set_attr("alpha", node.get_attr("alpha", 1.0))
    operator.register_input("x")


config: PatternMatcherConfig = PatternMatcherConfigBuilder().build()
