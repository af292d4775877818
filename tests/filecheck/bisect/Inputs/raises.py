"""A pass that fails at a Relu behind a Neg."""

from ge.es.all import Neg, Relu
from ge.passes import PassStage, PatternFusionPass, pattern, register_fusion_pass


@register_fusion_pass(name="Raises", stage=PassStage.BEFORE_INFER_SHAPE)
class Raises(PatternFusionPass):
    @pattern
    def relu_of_neg(self, inputs):
        return Relu(Neg(inputs[0]))

    def replacement(self, inputs):
        raise ValueError("no replacement for this")
