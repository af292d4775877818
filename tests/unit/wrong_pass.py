"""A pass file with a rule that changes the numbers."""

WRONG_PASS = """from ge.es.all import Abs, Neg
from ge.passes import PassStage, PatternFusionPass, pattern, register_fusion_pass

@register_fusion_pass(name="Wrong", stage=PassStage.BEFORE_INFER_SHAPE)
class Wrong(PatternFusionPass):
    @pattern
    def neg(self, inputs):
        return Neg(inputs[0])

    def replacement(self, inputs):
        return Abs(inputs[0])
"""
