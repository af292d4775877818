"""Relu(Relu(x)) with layout conversions and casts in between, whatever they do."""

from ge.es.all import Relu
from ge.passes import PassStage, PatternFusionPass, pattern, register_fusion_pass

from ge_xdsl.patterns import matching


@register_fusion_pass(name="Twice", stage=PassStage.AFTER_INFER_SHAPE)
@matching(through=["Cast", "StopGradient"], through_copies=True)
class Twice(PatternFusionPass):
    @pattern
    def twice(self, inputs):
        return Relu(Relu(inputs[0]))

    def replacement(self, inputs):
        return Relu(inputs[0])
