"""MatMul(a, b) + c  ->  GEMM(a, b, c, 1, 1), with the pattern graph built by hand.

The MatMul output is no output of the pattern, so `@pattern` would not capture it; here it is
captured explicitly, and the rule asks that the Add broadcasts nothing.
"""

from ge.es.all import GEMM, MatMul
from ge.es.graph_builder import GraphBuilder
from ge.graph import Graph
from ge.graph.types import DataType
from ge.passes import (
    MatchResult,
    PassStage,
    Pattern,
    PatternFusionPass,
    create_pattern,
    create_replacement,
    register_fusion_pass,
)

MATMUL, ADD = 0, 1


@register_fusion_pass(name="PythonCapturedMatMulAddPass", stage=PassStage.AFTER_INFER_SHAPE)
class PythonCapturedMatMulAddPass(PatternFusionPass):
    def patterns(self) -> list[Pattern]:
        builder = GraphBuilder("pattern")
        a, b, c = builder.create_inputs(3)
        matmul = MatMul(a, b)
        add = matmul + c
        pat = create_pattern(builder.build_and_reset([add]))
        pat.capture_tensor(matmul)
        pat.capture_tensor(add)
        return [pat]

    def meet_requirements(self, match_result: MatchResult) -> bool:
        matmul = match_result.get_captured_tensor(MATMUL)
        add = match_result.get_captured_tensor(ADD)
        for name in ("transpose_x1", "transpose_x2"):
            if matmul.node.has_attr(name) and matmul.node.get_attr(name):
                return False
        product = matmul.node.get_output_desc(matmul.index)
        if product.get_data_type() != DataType.DT_FLOAT:
            return False  # alpha and beta have the type of c, and are f32 below
        return list(product.get_shape()) == list(add.node.get_input_desc(1).get_shape())

    def replacement(self, match_result: MatchResult) -> Graph:
        builder = GraphBuilder("replacement")
        a, b, c = builder.create_inputs(3)
        gemm = GEMM(a, b, c, builder.create_scalar_float(1.0), builder.create_scalar_float(1.0))
        return create_replacement(builder.build_and_reset([gemm]))
