"""not (x < z) is x >= z for numbers, not for NaN; the second pass asks for numbers only."""

from ge.es.all import GreaterEqual, Less, LogicalNot
from ge.passes import PassStage, PatternFusionPass, pattern, register_fusion_pass

from ge_xdsl.patterns import matching


@register_fusion_pass(name="Any", stage=PassStage.AFTER_INFER_SHAPE)
class NotLess(PatternFusionPass):
    @pattern
    def not_less(self, inputs):
        return LogicalNot(Less(inputs[0], inputs[1]))

    def replacement(self, inputs):
        x, z = inputs[:2]
        return GreaterEqual(x, z)


@register_fusion_pass(name="Finite", stage=PassStage.AFTER_INFER_SHAPE)
@matching(finite=True)
class NotLessOfNumbers(PatternFusionPass):
    @pattern
    def not_less(self, inputs):
        return LogicalNot(Less(inputs[0], inputs[1]))

    def replacement(self, inputs):
        x, z = inputs[:2]
        return GreaterEqual(x, z)
