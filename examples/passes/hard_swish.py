"""x * ClipByValue(x + 3, 0, 6) / 6  ->  HardSwish(x), as MobileNetV3 exports spell it.

The pattern fixes the shape of the expression; `meet_requirements` checks the four constants.
"""

from typing import Any, cast

from ge.es import TensorHolder
from ge.es.all import ClipByValue, HardSwish, RealDiv
from ge.graph import Node
from ge.graph.types import DataType
from ge.passes import MatchResult, PassStage, PatternFusionPass, pattern, register_fusion_pass
from ge.passes.pattern import PatternInputs

CONSTANTS = {("Add", 1): 3.0, ("ClipByValue", 1): 0.0, ("ClipByValue", 2): 6.0, ("RealDiv", 1): 6.0}
"""(Op type, input) -> the value that the constant there must have."""


def constant_at(node: Node, port: int) -> float | None:
    """The number that feeds an input, None when it is no floating-point constant of one element."""
    producer, _ = node.get_in_data_nodes_and_port_indexes(port)
    if producer.type not in ("Const", "Constant"):
        return None
    tensor = producer.get_attr("value")
    if tensor.data_type not in (DataType.DT_FLOAT, DataType.DT_FLOAT16):
        return None  # HardSwish takes no integers
    value: Any = tensor.data
    while isinstance(value, list):
        items = cast("list[Any]", value)
        if len(items) != 1:
            return None
        value = items[0]
    return float(value)


@register_fusion_pass(name="PythonHardSwishPass", stage=PassStage.BEFORE_INFER_SHAPE)
class PythonHardSwishPass(PatternFusionPass):
    @pattern
    def clipped(self, inputs: PatternInputs) -> TensorHolder:
        x = inputs[0]
        return RealDiv(x * ClipByValue(x + 3.0, 0.0, 6.0), 6.0)

    def meet_requirements(self, match_result: MatchResult) -> bool:
        nodes = {node.type: node for node in match_result.get_matched_nodes()}
        return all(constant_at(nodes[op], i) == value for (op, i), value in CONSTANTS.items())

    def replacement(self, inputs: PatternInputs) -> TensorHolder:
        return HardSwish(inputs[0])
