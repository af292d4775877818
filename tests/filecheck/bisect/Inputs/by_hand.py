"""A pass without patterns that replaces each Neg by a Relu, and each Relu(Relu(x)) by Relu(x)."""

from ge.es.all import Relu
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


@register_fusion_pass(name="ByHand", stage=PassStage.AFTER_INFER_SHAPE)
class ByHand(FusionBasePass):
    def run(self, graph, context):
        for node in list(graph.get_direct_nodes()):
            first = node
            if node.type == "Relu":
                first, _ = node.get_in_data_nodes_and_port_indexes(0)
            if (first.type, node.type) in (("Neg", "Neg"), ("Relu", "Relu")):
                boundary = SubgraphBoundary()
                boundary.add_input(0, SubgraphInput([(first, 0)]))
                boundary.add_output(0, SubgraphOutput(node, 0))
                builder = GraphBuilder("relu")
                one = builder.build_and_reset([Relu(builder.create_input(0))])
                SubgraphRewriter.replace(boundary, one, context=context)
        return 0
