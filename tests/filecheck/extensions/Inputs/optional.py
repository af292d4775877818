"""A product becomes the newer one, with or without its bias; one pass wants none."""

from ge.es.all import BatchMatMulV2, MatMul, MatMulV2, Relu
from ge.passes import PassStage, PatternFusionPass, pattern, register_fusion_pass

from ge_xdsl.patterns import bind, matching, optional


@register_fusion_pass(name="Newer", stage=PassStage.AFTER_INFER_SHAPE)
class Newer(PatternFusionPass):
    @pattern
    def product(self, inputs):
        x1, x2, bias = inputs[:3]
        return Relu(MatMul(x1, x2, bias=optional(bias)))

    def replacement(self, inputs, match_result):
        x1, x2, bias = bind(inputs, match_result)
        return Relu(MatMulV2(x1, x2, bias=bias))


@register_fusion_pass(name="Without", stage=PassStage.AFTER_INFER_SHAPE)
@matching()
class Without(PatternFusionPass):
    @pattern
    def product(self, inputs):
        return MatMulV2(inputs[0], inputs[1])

    def replacement(self, inputs):
        return BatchMatMulV2(inputs[0], inputs[1])
