"""Relu(Relu(x)) -> Relu(x)."""

from ge.es.all import Relu
from ge.passes import PassStage, PatternFusionPass, pattern, register_fusion_pass


@register_fusion_pass(name="ReluRelu", stage=PassStage.BEFORE_INFER_SHAPE)
class ReluRelu(PatternFusionPass):
    @pattern
    def twice(self, inputs):
        return Relu(Relu(inputs[0]))

    def replacement(self, inputs):
        return Relu(inputs[0])
