"""ConcatV2(ConcatV2(a, b), c) -> ConcatV2(a, b, c) for one axis; the inner one has one reader."""

from ge.es.all import ConcatV2
from ge.es.graph_builder import GraphBuilder
from ge.passes import (
    FusionBasePass,
    PassStage,
    SubgraphBoundary,
    SubgraphInput,
    SubgraphOutput,
    SubgraphRewriter,
    register_fusion_pass,
)


def axis_of(node):
    axis, _ = node.get_in_data_nodes_and_port_indexes(node.get_inputs_size() - 1)
    return int(axis.get_attr("value").get_data())


@register_fusion_pass(name="NestedConcat", stage=PassStage.AFTER_INFER_SHAPE)
class NestedConcat(FusionBasePass):
    def run(self, graph, context):
        for node in list(graph.get_direct_nodes()):
            if node.type != "ConcatV2":
                continue
            inner, _ = node.get_in_data_nodes_and_port_indexes(0)
            if inner.type == "ConcatV2" and axis_of(inner) == axis_of(node):
                ports = [(inner, i) for i in range(inner.get_inputs_size() - 1)]
                ports += [(node, i) for i in range(1, node.get_inputs_size() - 1)]
                self.flatten(node, ports, context)
        return 0

    def flatten(self, node, ports, context):
        boundary = SubgraphBoundary()
        builder = GraphBuilder("flat")
        for i, port in enumerate(ports):
            boundary.add_input(i, SubgraphInput([port]))
        boundary.add_output(0, SubgraphOutput(node, 0))
        inputs = builder.create_inputs(len(ports))
        result = ConcatV2(inputs, axis_of(node), N=len(ports))
        SubgraphRewriter.replace(boundary, builder.build_and_reset([result]), context=context)
