"""Add(MatMul(x, w), b) -> GEMM(x, w, b, 1, 1), in one order of the operands."""

from ge.es.all import GEMM, MatMul
from ge.passes import PassStage, PatternFusionPass, pattern, register_fusion_pass


@register_fusion_pass(name="Gemm", stage=PassStage.AFTER_INFER_SHAPE)
class Gemm(PatternFusionPass):
    @pattern
    def matmul_add(self, inputs):
        x, w, b = inputs[:3]
        return MatMul(x, w) + b

    def replacement(self, inputs):
        x, w, b = inputs[:3]
        return GEMM(x, w, b, 1.0, 1.0)
