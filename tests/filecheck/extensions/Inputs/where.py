"""Predicates on tensors and attributes: halves only, matrices, negative slopes of two kinds."""

from ge.es.all import LeakyRelu, Minimum, Relu
from ge.passes import PassStage, PatternFusionPass, pattern, register_fusion_pass

from ge_xdsl.patterns import matching, where


@register_fusion_pass(name="A_Halves", stage=PassStage.AFTER_INFER_SHAPE)
class Halves(PatternFusionPass):
    @pattern
    def relu(self, inputs):
        return Relu(where(Relu(where(inputs[0], dtype=["f16", "bfloat16"])), rank=2))

    def replacement(self, inputs):
        return Relu(inputs[0])


# At an infinity 0 * x is NaN and Relu is not: right for finite numbers only.
@register_fusion_pass(name="B_Slope", stage=PassStage.AFTER_INFER_SHAPE)
@matching(finite=True)
class Slope(PatternFusionPass):
    @pattern
    def zero(self, inputs):
        return where(LeakyRelu(inputs[0]), negative_slope={0, 1.0}, shape=[2, -1])

    def meet_requirements(self, match_result):
        return match_result.get_matched_nodes()[0].get_attr("negative_slope") == 0

    def replacement(self, inputs):
        return Relu(inputs[0])


@register_fusion_pass(name="C_Steep", stage=PassStage.AFTER_INFER_SHAPE)
class Steep(PatternFusionPass):
    @pattern
    def steep(self, inputs):
        return where(LeakyRelu(inputs[0]), negative_slope=lambda slope: slope > 1)

    def replacement(self, inputs):
        return Minimum(inputs[0], inputs[0] + inputs[0])
