"""Constants by value: x * 0.5, x + 0 and x * 0.1 whatever the element type."""

from ge.es.all import Identity
from ge.passes import PassStage, PatternFusionPass, pattern, register_fusion_pass

from ge_xdsl.patterns import matching


@register_fusion_pass(name="A_Zero", stage=PassStage.AFTER_INFER_SHAPE)
@matching(constants="value", commutative=True)
class Zero(PatternFusionPass):
    @pattern
    def plus_zero(self, inputs):
        return inputs[0] + 0.0

    def replacement(self, inputs):
        return Identity(inputs[0])


@register_fusion_pass(name="B_Half", stage=PassStage.AFTER_INFER_SHAPE)
@matching(constants="value")
class Half(PatternFusionPass):
    @pattern
    def twice_half(self, inputs):
        return inputs[0] * 2 * 0.5

    def replacement(self, inputs):
        return Identity(inputs[0])


@register_fusion_pass(name="C_Tenth", stage=PassStage.AFTER_INFER_SHAPE)
@matching(constants="value")
class Tenth(PatternFusionPass):
    @pattern
    def exact(self, inputs):
        return inputs[0] * 0.1

    def replacement(self, inputs):
        return inputs[0] / 10.0


@register_fusion_pass(name="D_Near", stage=PassStage.AFTER_INFER_SHAPE)
@matching(constants="value", ulps=2)
class Near(PatternFusionPass):
    @pattern
    def near(self, inputs):
        return inputs[0] * 0.1

    def replacement(self, inputs):
        return inputs[0] / 10.0
