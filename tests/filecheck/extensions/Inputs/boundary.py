"""An inner product that something else reads: kept beside the replacement, or given out by it."""

from ge.es.all import GEMM, MatMul, Neg, Square
from ge.passes import PassStage, PatternFusionPass, pattern, register_fusion_pass

from ge_xdsl.patterns import exposed, matching


@register_fusion_pass(name="Gemm", stage=PassStage.AFTER_INFER_SHAPE)
@matching(boundary="duplicate")
class Gemm(PatternFusionPass):
    @pattern
    def product(self, inputs):
        x, w, b = inputs[:3]
        return MatMul(x, w) + b

    def replacement(self, inputs):
        x, w, b = inputs[:3]
        return GEMM(x, w, b, 1.0, 1.0)


@register_fusion_pass(name="Square", stage=PassStage.AFTER_INFER_SHAPE)
@matching(boundary="expose")
class SquareOfNeg(PatternFusionPass):
    @pattern
    def square(self, inputs):
        return Square(Neg(inputs[0]))

    def replacement(self, inputs, match_result):
        x = inputs[0]
        return [Square(x), *(Neg(x) for node in exposed(match_result))]
