"""Recurrences in ONNX."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.exporters.onnx.graph import Graph, NoFormError
from ge_xdsl.exporters.onnx.table import Converter

INPUTS = ("b", "sequence_lens", "initial_h", "initial_c")


def recurrence(op: GeOp, g: Graph) -> Sequence[str]:
    """LSTM, or GRU with the reset gate after the hidden product"""
    names = ["activation_alpha", "activation_beta", "activations", "clip"]
    g.defaults(op, *names, *(["input_forget"] if op.op_type == "CommonLSTM" else []))
    given: list[str] = []
    for name in INPUTS[: 4 if op.op_type == "CommonLSTM" else 3]:
        value = op.operand_slot(name)
        given.append(g.of(value) if isinstance(value, SSAValue) else "")
    attrs: dict[str, Any] = {
        "hidden_size": g.dims(op.operands[2])[2], "direction": op.get_attr("direction"),
    }  # fmt: skip
    if op.op_type == "CommonGRU":
        if len({g.dtype(value) for value in op.operands[:3]}) > 1:
            raise NoFormError("the element types differ")
        attrs["linear_before_reset"] = 1
    inputs = [*(g.of(value) for value in op.operands[:3]), *given]
    kind = op.op_type.removeprefix("Common")
    return g.several(kind, inputs, len(op.results), None, attrs)


TABLE: dict[str, Converter] = dict.fromkeys(("CommonGRU", "CommonLSTM"), recurrence)
