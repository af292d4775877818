"""s = Add(x, skip), y = LayerNorm(s) -> y and s of one AddLayerNorm."""

from ge.es.all import Add, AddLayerNorm, LayerNorm
from ge.passes import PassStage, PatternFusionPass, pattern, register_fusion_pass


@register_fusion_pass(name="FuseAddLayerNorm", stage=PassStage.AFTER_INFER_SHAPE)
class FuseAddLayerNorm(PatternFusionPass):
    @pattern
    def normed_sum(self, inputs):
        x, skip, gamma, beta = inputs[:4]
        total = Add(x, skip)
        y = LayerNorm(total, gamma, beta, begin_norm_axis=-1, begin_params_axis=-1)
        return [y.y, total]

    def replacement(self, inputs):
        x, skip, gamma, beta = inputs[:4]
        fused = AddLayerNorm(x, skip, gamma, beta, epsilon=1e-5)
        return [fused.y, fused.x]
