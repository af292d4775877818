"""A wrong rule after a right one: Relu(Relu(x)) -> Relu(x), and Relu(x) -> Sigmoid(x)."""

from ge.es.all import Relu, Sigmoid
from ge.passes import PassStage, PatternFusionPass, pattern, register_fusion_pass


@register_fusion_pass(name="ReluTwice", stage=PassStage.BEFORE_INFER_SHAPE)
class ReluTwice(PatternFusionPass):
    @pattern
    def twice(self, inputs):
        return Relu(Relu(inputs[0]))

    def replacement(self, inputs):
        return Relu(inputs[0])


@register_fusion_pass(name="ToSigmoid", stage=PassStage.BEFORE_INFER_SHAPE)
class ToSigmoid(PatternFusionPass):
    @pattern
    def relu(self, inputs):
        return Relu(inputs[0])

    def replacement(self, inputs):
        return Sigmoid(inputs[0])
