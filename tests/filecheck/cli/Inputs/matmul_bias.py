"""MatMul(x, w) + b -> MatMul(x, w, b), for b of rank 1."""

from ge.es.all import MatMul
from ge.passes import PassStage, PatternFusionPass, pattern, register_fusion_pass


@register_fusion_pass(name="MatMulBias", stage=PassStage.BEFORE_INFER_SHAPE)
class MatMulBias(PatternFusionPass):
    @pattern
    def matmul_add(self, inputs):
        x, w, b = inputs[:3]
        return MatMul(x, w) + b

    def replacement(self, inputs):
        x, w, b = inputs[:3]
        return MatMul(x, w, b)
