"""ATen triangles of matrices."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ge_xdsl.importers.torch.builder import TorchBuilder
from ge_xdsl.importers.torch.call import Call
from ge_xdsl.importers.torch.elementwise import base_of
from ge_xdsl.importers.torch.table import Converter

OPS = {"tril": "Tril", "triu": "Triu"}


def triangle(call: Call, g: TorchBuilder) -> SSAValue:
    """Tril or Triu"""
    return g.op(OPS[base_of(call)], call.value("self"), diagonal=call.integer("diagonal"))


TABLE: dict[str, Converter] = dict.fromkeys(OPS, triangle)
