"""MatMul(a, b) + c  ->  GEMM(a, b, c, 1, 1) that keeps the transposes of the MatMul.

Reads the matched node's attributes through `match_result` and a compile option through `context`:
`--option ge.custom.enable_rule=1` turns the rule on.
"""

from ge.es import TensorHolder
from ge.es.all import GEMM, MatMul
from ge.passes import (
    MatchResult,
    PassContext,
    PassStage,
    PatternFusionPass,
    pattern,
    register_fusion_pass,
)
from ge.passes.pattern import PatternInputs


@register_fusion_pass(name="PythonMatMulAddAttrsPass", stage=PassStage.BEFORE_INFER_SHAPE)
class PythonMatMulAddAttrsPass(PatternFusionPass):
    @pattern
    def matmul_add(self, inputs: PatternInputs) -> TensorHolder:
        a, b, c = inputs[:3]
        return MatMul(a, b) + c

    def meet_requirements(self, match_result: MatchResult, context: PassContext) -> bool:
        try:
            return context.get_option_value("ge.custom.enable_rule") == "1"
        except RuntimeError:
            return False

    def replacement(
        self, inputs: PatternInputs, match_result: MatchResult, context: PassContext
    ) -> TensorHolder:
        a, b, c = inputs[:3]
        if context.get_option_value("ge.custom.enable_rule") != "1":
            context.set_error_message("rule is disabled")
        transpose_a = False
        transpose_b = False
        for node in match_result.get_matched_nodes():
            if node.type not in ("MatMul", "BatchMatMulV2"):
                continue
            # Each read stands alone: a flag at its default is not stored and cannot be read.
            transpose_a = node.has_attr("transpose_x1") and node.get_attr("transpose_x1")
            transpose_b = node.has_attr("transpose_x2") and node.get_attr("transpose_x2")
            break
        return GEMM(a, b, c, 1.0, 1.0, transpose_a=transpose_a, transpose_b=transpose_b)
