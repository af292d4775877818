"""Commuted sums as two patterns each, and a difference that does not commute."""

from ge.es.all import GEMM, MatMul, Mul, Neg, Sub
from ge.passes import (
    PassStage,
    PatternFusionPass,
    PatternMatcherConfigBuilder,
    pattern,
    register_fusion_pass,
)


@register_fusion_pass(name="B_Gemm", stage=PassStage.AFTER_INFER_SHAPE)
class Gemm(PatternFusionPass):
    @pattern
    def left(self, inputs):
        x, w, b = inputs[:3]
        return MatMul(x, w) + b

    @pattern
    def right(self, inputs):
        x, w, b = inputs[:3]
        return b + MatMul(x, w)

    def replacement(self, inputs):
        x, w, b = inputs[:3]
        return GEMM(x, w, b, 1.0, 1.0)


@register_fusion_pass(name="A_Scaled", stage=PassStage.AFTER_INFER_SHAPE)
class Scaled(PatternFusionPass):
    """beta * C + alpha * (A @ B), each product in both orders."""

    @pattern
    def as_written(self, inputs):
        a, b, c, alpha, beta = inputs[:5]
        return Mul(MatMul(a, b), alpha) + Mul(c, beta)

    @pattern
    def swapped(self, inputs):
        a, b, c, alpha, beta = inputs[:5]
        return Mul(beta, c) + Mul(alpha, MatMul(a, b))

    def replacement(self, inputs):
        a, b, c, alpha, beta = inputs[:5]
        return GEMM(a, b, c, alpha, beta)


@register_fusion_pass(name="C_Sub", stage=PassStage.AFTER_INFER_SHAPE)
class Difference(PatternFusionPass):
    """c * (2 - x) -> -(c * (x - 2)), whatever the order of the product."""

    def __init__(self):
        super().__init__(PatternMatcherConfigBuilder().enable_const_value_match().build())

    @pattern
    def left(self, inputs):
        x, c = inputs[:2]
        return Mul(c, Sub(2.0, x))

    @pattern
    def right(self, inputs):
        x, c = inputs[:2]
        return Mul(Sub(2.0, x), c)

    def replacement(self, inputs):
        x, c = inputs[:2]
        return Neg(Mul(c, x - 2.0))
