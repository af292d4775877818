"""SoftmaxV2(MatMul(q, k)) -> SoftmaxV2(MatMulV2(q, k))."""

from ge.es.all import MatMul, MatMulV2, SoftmaxV2
from ge.passes import PassStage, PatternFusionPass, pattern, register_fusion_pass


@register_fusion_pass(name="Attention", stage=PassStage.AFTER_INFER_SHAPE)
class Attention(PatternFusionPass):
    @pattern
    def scores(self, inputs):
        return SoftmaxV2(MatMul(inputs[0], inputs[1]))

    def replacement(self, inputs):
        return SoftmaxV2(MatMulV2(inputs[0], inputs[1]))
