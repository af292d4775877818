"""One pattern each, in either order of the operands and through copies."""

from ge.es.all import GEMM, MatMul, MatMulV2, Mul, SoftmaxV2
from ge.passes import PassStage, PatternFusionPass, pattern, register_fusion_pass

from ge_xdsl.patterns import matching


@register_fusion_pass(name="B_Gemm", stage=PassStage.AFTER_INFER_SHAPE)
@matching(commutative=True)
class Gemm(PatternFusionPass):
    @pattern
    def matmul_add(self, inputs):
        x, w, b = inputs[:3]
        return MatMul(x, w) + b

    def replacement(self, inputs):
        x, w, b = inputs[:3]
        return GEMM(x, w, b, 1.0, 1.0)


@register_fusion_pass(name="A_Scaled", stage=PassStage.AFTER_INFER_SHAPE)
@matching(commutative=True)
class Scaled(PatternFusionPass):
    @pattern
    def scaled(self, inputs):
        a, b, c, alpha, beta = inputs[:5]
        return Mul(MatMul(a, b), alpha) + Mul(c, beta)

    def replacement(self, inputs):
        a, b, c, alpha, beta = inputs[:5]
        return Mul(MatMulV2(a, b), alpha) + Mul(c, beta)


@register_fusion_pass(name="Attention", stage=PassStage.AFTER_INFER_SHAPE)
@matching(through_copies=True)
class Attention(PatternFusionPass):
    @pattern
    def scores(self, inputs):
        return SoftmaxV2(MatMul(inputs[0], inputs[1]))

    def replacement(self, inputs):
        return SoftmaxV2(MatMulV2(inputs[0], inputs[1]))
