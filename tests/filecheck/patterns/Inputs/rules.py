"""One pass of each kind, and patterns that PDL can and cannot say."""

from ge.es.all import Add, Exp, MatMul, Mul, Relu, Sigmoid
from ge.es.graph_builder import GraphBuilder
from ge.passes import (
    DecomposePass,
    FusionBasePass,
    PassStage,
    PatternFusionPass,
    PatternMatcherConfigBuilder,
    pattern,
    register_decompose_pass,
    register_fusion_pass,
)


@register_fusion_pass(name="A_Bias", stage=PassStage.BEFORE_INFER_SHAPE)
class Bias(PatternFusionPass):
    @pattern
    def matmul_add(self, inputs):
        x, w, b = inputs[:3]
        return MatMul(x, w) + b

    def replacement(self, inputs):
        x, w, b = inputs[:3]
        return MatMul(x, w, b, transpose_x2=True)


@register_fusion_pass(name="B_Two", stage=PassStage.BEFORE_INFER_SHAPE)
class TwoOutputs(PatternFusionPass):
    @pattern
    def both(self, inputs):
        s = Add(inputs[0], inputs[1])
        return [Relu(s), Exp(s)]

    def replacement(self, inputs):
        s = Add(inputs[1], inputs[0])
        return [Relu(s), Exp(s)]


@register_fusion_pass(name="C_Attrs", stage=PassStage.AFTER_INFER_SHAPE)
class Attrs(PatternFusionPass):
    def __init__(self):
        super().__init__(PatternMatcherConfigBuilder().enable_ir_attr_match().build())

    @pattern
    def transposed(self, inputs):
        return MatMul(inputs[0], inputs[1], transpose_x1=True)

    def replacement(self, inputs):
        return MatMul(inputs[0], inputs[1])


@register_fusion_pass(name="D_Values", stage=PassStage.AFTER_INFER_SHAPE)
class Values(PatternFusionPass):
    def __init__(self):
        super().__init__(PatternMatcherConfigBuilder().enable_const_value_match().build())

    @pattern
    def halves(self, inputs):
        return Mul(Mul(inputs[0], 0.5), 0.5)

    def replacement(self, inputs, match_result):
        raise ValueError("it needs a real graph")


@register_decompose_pass(name="E_Swish", stage=PassStage.AFTER_INFER_SHAPE, op_types=["Swish"])
class Split(DecomposePass):
    def replacement(self, node):
        builder = GraphBuilder("swish")
        x = builder.create_input(0)
        return builder.build_and_reset([Mul(x, Sigmoid(x))])


@register_fusion_pass(name="F_Run", stage=PassStage.AFTER_INFER_SHAPE)
class Run(FusionBasePass):
    def run(self, graph, context):
        return 0
