"""Conv2D(x, w, groups = g)  ->  Concat of g Conv2D(x_i, w_i), one per group of channels.

x and w are split along their channel axes: axis 1 of an NCHW input, axis 0 of the filter.
"""

from typing import Any

from ge.es.graph_builder import GraphBuilder
from ge.es.math import Concat, Split
from ge.es.nn import Conv2D
from ge.graph import Graph, Node
from ge.passes import DecomposePass, PassContext, PassStage, register_decompose_pass


def _attr(node: Node, name: str, default: Any) -> Any:
    """An attribute that GE does not store while it has its default."""
    try:
        return node.get_attr(name)
    except RuntimeError:
        return default


@register_decompose_pass(
    name="PythonDecomposeGroupedConvPass",
    stage=PassStage.AFTER_INFER_SHAPE,
    op_types=["Conv2D"],
)
class PythonDecomposeGroupedConvPass(DecomposePass):
    def meet_requirements(self, node: Node, context: PassContext) -> bool:
        two_inputs = node.get_inputs_size() == 2
        is_nchw = _attr(node, "data_format", "NHWC") == "NCHW"
        if not two_inputs or not is_nchw or _attr(node, "groups", 1) == 1:
            return False
        # One channel per group is a depthwise convolution, which has a kernel of its own.
        return node.get_input_desc(1).get_shape()[1] != 1

    def replacement(self, node: Node, context: PassContext) -> Graph:
        groups = node.get_attr("groups")
        builder = GraphBuilder("grouped_conv")
        x, weight = builder.create_inputs(2)
        channel = builder.create_scalar_int32(1)
        xs = Split(channel, x, groups, num_split=groups)
        weights = Split(builder.create_scalar_int32(0), weight, groups, num_split=groups)
        parts = [
            Conv2D(
                xs[i],
                weights[i],
                strides=node.get_attr("strides"),
                pads=node.get_attr("pads"),
                dilations=_attr(node, "dilations", [1, 1, 1, 1]),
                groups=1,
                data_format="NCHW",
            )
            for i in range(groups)
        ]
        return builder.build_and_reset([Concat(channel, parts, N=groups)])
