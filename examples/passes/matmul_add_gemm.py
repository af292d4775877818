"""MatMul(a, b) + c  ->  GEMM(a, b, c, 1, 1), as an expression.

One `@pattern` method per topology: MatMul, and the BatchMatMulV2 that an ONNX MatMul becomes.
GEMM multiplies matrices and adds a matrix, so operands of another rank are left alone.
"""

from ge.es import TensorHolder
from ge.es.math import GEMM, MatMul
from ge.es.nn import BatchMatMulV2
from ge.graph import TensorDesc
from ge.graph.types import DataType
from ge.passes import (
    MatchResult,
    NodeIo,
    PassStage,
    PatternFusionPass,
    pattern,
    register_fusion_pass,
)
from ge.passes.pattern import PatternInputs


def desc_of(tensor: NodeIo) -> TensorDesc:
    return tensor.node.get_output_desc(tensor.index)


@register_fusion_pass(name="PythonMatMulAddToGemmPass", stage=PassStage.AFTER_INFER_SHAPE)
class PythonMatMulAddToGemmPass(PatternFusionPass):
    @pattern
    def matmul_add(self, inputs: PatternInputs) -> TensorHolder:
        a, b, c = inputs[:3]
        return MatMul(a, b) + c

    @pattern
    def batch_matmul_add(self, inputs: PatternInputs) -> TensorHolder:
        a, b, c = inputs[:3]
        return BatchMatMulV2(a, b) + c

    def meet_requirements(self, match_result: MatchResult) -> bool:
        tensors = [desc_of(match_result.get_captured_tensor(i)) for i in range(4)]
        a, b, c, out = (list(tensor.get_shape()) for tensor in tensors)
        if len(a) != 2 or len(b) != 2 or len(out) != 2 or c != out:
            return False
        if tensors[3].get_data_type() != DataType.DT_FLOAT:
            return False  # alpha and beta have the type of c, and are f32 below
        for node in match_result.get_matched_nodes():
            for name in ("transpose_x1", "transpose_x2", "adj_x1", "adj_x2"):
                if node.has_attr(name) and node.get_attr(name):
                    return False
        return True

    def replacement(self, inputs: PatternInputs) -> TensorHolder:
        a, b, c = inputs[:3]
        return GEMM(a, b, c, 1.0, 1.0)
