"""Transpose(ConcatV2(*xs), perm) -> ConcatV2(*[Transpose(x, perm)]) along the axis that moved."""

from ge.es.all import ConcatV2, Transpose
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


@register_fusion_pass(name="SinkTranspose", stage=PassStage.AFTER_INFER_SHAPE)
class SinkTranspose(FusionBasePass):
    def run(self, graph, context):
        for node in list(graph.get_direct_nodes()):
            if node.type == "Transpose":
                concat, _ = node.get_in_data_nodes_and_port_indexes(0)
                if concat.type == "ConcatV2":
                    self.sink(node, concat, context)
        return 0

    def sink(self, node, concat, context):
        count = concat.get_inputs_size() - 1
        perm, _ = node.get_in_data_nodes_and_port_indexes(1)
        axis, _ = concat.get_in_data_nodes_and_port_indexes(count)
        order = [int(v) for v in perm.get_attr("value").get_data()]
        moved = order.index(int(axis.get_attr("value").get_data()))
        boundary = SubgraphBoundary()
        builder = GraphBuilder("sink")
        inputs = []
        for i in range(count):
            boundary.add_input(i, SubgraphInput([(concat, i)]))
            inputs.append(Transpose(builder.create_input(i), order))
        boundary.add_output(0, SubgraphOutput(node, 0))
        result = ConcatV2(inputs, moved, N=count)
        SubgraphRewriter.replace(boundary, builder.build_and_reset([result]), context=context)
