"""Rules that take each other's matches, that make them, and one that never fires."""

from ge.es.all import Abs, Add, Exp, Identity, Neg, Relu, Square
from ge.passes import PassStage, PatternFusionPass, pattern, register_fusion_pass


@register_fusion_pass(name="A_NegNeg", stage=PassStage.BEFORE_INFER_SHAPE)
class NegNeg(PatternFusionPass):
    @pattern
    def twice(self, inputs):
        return Neg(Neg(inputs[0]))

    def replacement(self, inputs):
        return Identity(inputs[0])


@register_fusion_pass(name="B_AbsNeg", stage=PassStage.BEFORE_INFER_SHAPE)
class AbsNeg(PatternFusionPass):
    @pattern
    def inner(self, inputs):
        return Abs(Neg(inputs[0]))

    def replacement(self, inputs):
        return Abs(inputs[0])


@register_fusion_pass(name="C_Square", stage=PassStage.BEFORE_INFER_SHAPE)
class SquareOfAbs(PatternFusionPass):
    @pattern
    def square(self, inputs):
        return Square(Abs(inputs[0]))

    def replacement(self, inputs):
        return Square(inputs[0])


@register_fusion_pass(name="D_AbsNegExp", stage=PassStage.BEFORE_INFER_SHAPE)
class AbsNegExp(PatternFusionPass):
    @pattern
    def chain(self, inputs):
        return Exp(Abs(Neg(inputs[0])))

    def replacement(self, inputs):
        return Exp(Abs(inputs[0]))


@register_fusion_pass(name="E_Sum", stage=PassStage.BEFORE_INFER_SHAPE)
class Sum(PatternFusionPass):
    @pattern
    def same(self, inputs):
        return Add(inputs[0], inputs[0])

    def replacement(self, inputs):
        return Exp(Abs(inputs[0]))


@register_fusion_pass(name="F_ReluAbs", stage=PassStage.BEFORE_INFER_SHAPE)
class ReluAbs(PatternFusionPass):
    @pattern
    def outer(self, inputs):
        return Relu(Exp(Abs(inputs[0])))

    def replacement(self, inputs):
        return Exp(Abs(inputs[0]))
