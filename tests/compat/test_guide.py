"""The code fragments of the development guide, word for word, as parts of whole passes."""

from collections import Counter

import pytest

from ge_xdsl.dialects.ge.graph import main_function, verify
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.text import parse_module
from ge_xdsl.passes import loader
from ge_xdsl.passes.ge_custom_passes import GeCustomPassesPass
from ge_xdsl.passes.session import Session, SessionContext

HEAD = """
from ge.passes import (
    PassStage,
    PatternFusionPass,
    pattern,
    register_fusion_pass,
)
from ge.passes import DecomposePass, register_decompose_pass
from ge.passes import PassContext
from ge.es.graph_builder import GraphBuilder
from ge.passes import create_pattern, create_replacement
from ge.es.all import GEMM, MatMul


@register_fusion_pass(name="MyPass", stage=PassStage.BEFORE_INFER_SHAPE)
class MyPass(PatternFusionPass):
"""

PATTERN = """
    @pattern
    def matmul_add(self, inputs):
        a, b, c = inputs[:3]
        return MatMul(a, b) + c
"""

PATTERNS = """
    def patterns(self):
        builder = GraphBuilder("pattern")
        a, b, c = builder.create_inputs(3)
        matmul = MatMul(a, b)
        add = matmul + c
        pat = create_pattern(builder.build_and_reset([add]))
        pat.capture_tensor(matmul)
        pat.capture_tensor(add)
        return [pat]
"""

MEET_OPTION = """
    def meet_requirements(self, match_result, context: PassContext):
        return context.get_option_value("ge.custom.enable_rule") == "1"
"""

PLAIN = """
    def replacement(self, inputs):
        a, b, c = inputs[:3]
        return GEMM(a, b, c, 1.0, 1.0)
"""

WITH_MATCH = """
    def replacement(self, inputs, match_result):
        a, b, c = inputs[:3]
        transpose_a = False
        transpose_b = False
        for node in match_result.get_matched_nodes():
            if node.type not in ("MatMul", "BatchMatMulV2"):
                continue
            try:
                transpose_a = bool(node.get_attr("transpose_x1"))
                transpose_b = bool(node.get_attr("transpose_x2"))
            except RuntimeError:
                pass
            break
        return GEMM(a, b, c, 1.0, 1.0, transpose_a, transpose_b)
"""

WITH_BOTH = """
    def replacement(self, inputs, match_result, context: PassContext):
        a, b, c = inputs[:3]
        if context.get_option_value("ge.custom.enable_rule") != "1":
            context.set_error_message("rule is disabled")
        return GEMM(a, b, c, 1.0, 1.0)
"""

WITH_CONTEXT = """
    def replacement(self, inputs, context):
        a, b, c = inputs[:3]
        context.get_pass_name()
        return GEMM(a, b, c, 1.0, 1.0)
"""

LEGACY = """
    def replacement(self, match_result):
        builder = GraphBuilder("replacement")
        a, b, c = builder.create_inputs(3)
        gemm = GEMM(a, b, c, builder.create_scalar_float(1.0), builder.create_scalar_float(1.0))
        return create_replacement(builder.build_and_reset([gemm]))
"""

DECOMPOSE = """
from ge.passes import DecomposePass, PassContext, PassStage, register_decompose_pass


@register_decompose_pass(
    name="PythonMyDecomposePass",
    stage=PassStage.AFTER_INFER_SHAPE,
    op_types=["Conv2D"],
)
class PythonMyDecomposePass(DecomposePass):
    def meet_requirements(self, node, context: PassContext):
        return node.get_attr("groups") != 1 and context.get_pass_name() != ""

    def replacement(self, node, context: PassContext):
        # Return replacement graph composed of basic operators
        ...
"""

M = "tensor<4x4xf32>"
GRAPH = f"""func.func @main(%a: {M}, %b: {M}, %c: {M}) -> {M} {{
  %p = ge.MatMul(%a, %b) : ({M}, {M}) -> {M}
  %y = ge.Add(%p, %c) : ({M}, {M}) -> {M}
  func.return %y : {M}
}}"""
GEMM = {"GEMM": 1, "Const": 2}
KEPT = {"MatMul": 1, "Add": 1}
ON = {"ge.custom.enable_rule": "1"}


def run(tmp_path, text, stage="BeforeInferShape", options=None, graph=GRAPH):
    file = tmp_path / "my_pass.py"
    file.write_text(text)
    loader.load([str(file)])
    module = parse_module(graph)
    session = Session(options=options or {})
    GeCustomPassesPass(stage).apply(SessionContext(session), module)
    verify(module)
    ops = main_function(module).body.block.ops
    return Counter(op.op_type for op in ops if isinstance(op, GeOp)), session.messages


CASES = [
    (PATTERN + PLAIN, None, GEMM, []),
    (PATTERN + MEET_OPTION + PLAIN, ON, GEMM, []),
    (PATTERN + MEET_OPTION + PLAIN, {"ge.custom.enable_rule": "0"}, KEPT, []),
    (PATTERN + MEET_OPTION + PLAIN, None, KEPT, ["Failed to get option value for key: ge.custom"]),
    (PATTERN + WITH_MATCH, None, GEMM, ["GEMM attributes are given by position"]),
    (PATTERN + WITH_BOTH, ON, GEMM, []),
    (PATTERN + WITH_BOTH, {"ge.custom.enable_rule": "0"}, GEMM, ["set the message: rule is disa"]),
    (PATTERN + WITH_CONTEXT, None, GEMM, []),
    (PATTERNS + LEGACY, None, GEMM, []),
    (PATTERN + LEGACY, None, GEMM, []),
    (PATTERNS + PLAIN, None, GEMM, []),
]


@pytest.mark.parametrize(("body", "options", "expected", "messages"), CASES)
def test_matmul_add(tmp_path, body, options, expected, messages):
    found, told = run(tmp_path, HEAD + body, options=options)
    assert found == expected
    assert len(told) == len(messages)
    assert all(part in text for part, text in zip(messages, told, strict=True))


def test_decompose_skeleton(tmp_path):
    """Without a stored `groups` the requirement raises, which counts as False."""
    x, w = "tensor<1x1x3x3xf32>", "tensor<1x1x1x1xf32>"
    graph = f"""func.func @main(%x: {x}, %w: {w}) -> {x} {{
      %y = ge.Conv2D(%x, %w) {{strides = [1, 1, 1, 1], pads = [0, 0, 0, 0], data_format = "NCHW"}}
        : ({x}, {w}) -> {x}
      func.return %y : {x}
    }}"""
    found, told = run(tmp_path, DECOMPOSE, "AfterInferShape", graph=graph)
    assert found == {"Conv2D": 1}
    [message] = told
    assert "my_pass.py:12:1: pass 'PythonMyDecomposePass': meet_requirements raised" in message
    assert "Failed to get attribute 'groups' from Node, taken as False" in message
