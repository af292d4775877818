"""Rules that never end: a swap, two that undo each other, one that grows."""

from ge.es.all import Add, Mul, Relu
from ge.passes import PassStage, PatternFusionPass, pattern, register_fusion_pass


@register_fusion_pass(name="Swap", stage=PassStage.BEFORE_INFER_SHAPE)
class Swap(PatternFusionPass):
    @pattern
    def add(self, inputs):
        return Add(inputs[0], inputs[1])

    def replacement(self, inputs):
        x, y = inputs[:2]
        return Add(y, x)


@register_fusion_pass(name="Grow", stage=PassStage.AFTER_INFER_SHAPE)
class Grow(PatternFusionPass):
    @pattern
    def relu(self, inputs):
        return Relu(inputs[0])

    def replacement(self, inputs):
        return Relu(Relu(inputs[0]))


@register_fusion_pass(name="PingPong", stage=PassStage.AFTER_ORIGIN_GRAPH_OPTIMIZE)
class PingPong(PatternFusionPass):
    @pattern
    def twice(self, inputs):
        return Mul(inputs[0], 2.0)

    @pattern
    def double(self, inputs):
        return Add(inputs[0], inputs[0])

    def replacement(self, inputs, match_result):
        (node,) = [n for n in match_result.get_matched_nodes() if n.type != "Const"]
        return Add(inputs[0], inputs[0]) if node.type == "Mul" else Mul(inputs[0], 2.0)
