"""x + 0.0  ->  x, with the constant compared while matching.

Only a float32 scalar with exactly the bytes of 0.0 matches: no tolerance, no other element type.
"""

from ge.es import TensorHolder
from ge.passes import (
    PassStage,
    PatternFusionPass,
    PatternMatcherConfigBuilder,
    pattern,
    register_fusion_pass,
)
from ge.passes.pattern import PatternInputs


@register_fusion_pass(name="PythonAddZeroConstValueMatchPass", stage=PassStage.BEFORE_INFER_SHAPE)
class PythonAddZeroConstValueMatchPass(PatternFusionPass):
    def __init__(self) -> None:
        super().__init__(PatternMatcherConfigBuilder().enable_const_value_match().build())

    @pattern
    def add_zero(self, inputs: PatternInputs) -> TensorHolder:
        return inputs[0] + 0.0

    def replacement(self, inputs: PatternInputs) -> TensorHolder:
        return inputs[0]
