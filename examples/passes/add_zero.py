from math import fabs
from typing import Any, cast

from ge.es import TensorHolder
from ge.graph import Tensor
from ge.graph.types import DataType
from ge.passes import MatchResult, PassStage, PatternFusionPass, pattern, register_fusion_pass
from ge.passes.pattern import PatternInputs


def _scalar_value(value: Any) -> Any:
    while isinstance(value, list):
        items = cast("list[Any]", value)
        if len(items) != 1:
            return None
        value = items[0]
    return value


def _is_zero(tensor: Tensor) -> bool:
    value = _scalar_value(tensor.data)
    if value is None:
        return False
    if tensor.data_type == DataType.DT_FLOAT:
        return fabs(float(value)) < 1e-6
    if tensor.data_type == DataType.DT_DOUBLE:
        return fabs(float(value)) < 1e-15
    if tensor.data_type == DataType.DT_INT32:
        return int(value) == 0
    return False


@register_fusion_pass(name="PythonAddZeroPass", stage=PassStage.BEFORE_INFER_SHAPE)
class PythonAddZeroPass(PatternFusionPass):
    @pattern
    def add_zero(self, inputs: PatternInputs) -> TensorHolder:
        return inputs[0] + 0

    def meet_requirements(self, match_result: MatchResult) -> bool:
        for node in match_result.get_matched_nodes():
            if node.type != "Const":
                continue
            return _is_zero(node.get_attr("value"))
        return False

    def replacement(self, inputs: PatternInputs) -> TensorHolder:
        return inputs[0]
