"""Transpose(Concat(*xs)) becomes the Concat of the transposed, for any number of tensors."""

from ge.es.all import ConcatV2, Transpose
from ge.passes import PassStage, PatternFusionPass, pattern, register_fusion_pass

from ge_xdsl.patterns import bind, variadic


def value(match_result, capture):
    return match_result.get_captured_tensor(capture).node.get_attr("value").get_data()


@register_fusion_pass(name="Sink", stage=PassStage.AFTER_INFER_SHAPE)
class Sink(PatternFusionPass):
    @pattern
    def joined(self, inputs):
        axis, perm = inputs[:2]
        return Transpose(ConcatV2(variadic(inputs[2]), axis, N=1), perm)

    def meet_requirements(self, match_result):
        constants = [match_result.get_captured_tensor(i).node.type for i in (0, 1)]
        return constants == ["Const", "Const"]

    def replacement(self, inputs, match_result):
        _, perm, xs = bind(inputs, match_result)
        at, order = value(match_result, 0), list(value(match_result, 1))
        return ConcatV2([Transpose(x, perm) for x in xs], order.index(at), N=len(xs))
