"""A pass that gives a graph output another element type or shape is told of it, once."""

import pytest

import ge_xdsl as gx
from ge_xdsl.dialects.ge.text import parse_module

PASS = """
from ge.es.all import Cast, Neg, ReduceSumD, Relu
from ge.passes import PassStage, PatternFusionPass, pattern, register_fusion_pass


@register_fusion_pass(name="Changes", stage=PassStage.{stage})
class Changes(PatternFusionPass):
    @pattern
    def relu(self, inputs):
        return Relu(inputs[0])

    def replacement(self, inputs):
        return {replacement}
"""

GRAPH = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {ge.output_names = ["y"]} {
  %y = ge.Relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}"""

CHANGED = "warning: pass 'Changes' changes graph output 'y' from tensor<4xf32> to "


@pytest.mark.parametrize(
    ("replacement", "expected"),
    [
        ("Neg(inputs[0])", ""),
        ("Cast(inputs[0], dst_type=1)", "tensor<4xf16>"),
        ("ReduceSumD(inputs[0], axes=[0])", "tensor<f32>"),
    ],
)
def test_changed_outputs(tmp_path, replacement, expected):
    """Before types are inferred nothing compares them; afterwards the rewrite is refused."""
    path = tmp_path / "changes.py"
    path.write_text(PASS.format(stage="BEFORE_INFER_SHAPE", replacement=replacement))
    report = gx.optimize(parse_module(GRAPH), passes=path, pipeline="ge-custom-passes")
    assert list(report.messages) == ([f"{CHANGED}{expected}"] if expected else [])
    path.write_text(PASS.format(stage="AFTER_INFER_SHAPE", replacement=replacement))
    if expected:
        with pytest.raises(gx.PassError, match=f"output 0 is {expected}, its readers expect"):
            gx.optimize(parse_module(GRAPH), passes=path, pipeline="ge-custom-passes")
