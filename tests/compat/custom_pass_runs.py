"""Passes made on the spot, and runs of `ge-custom-passes` with them."""

import sys
from pathlib import Path

import pytest
from ge.es.nn import Relu
from ge.passes import (
    PassStage,
    PatternFusionPass,
    pattern,
    register_fusion_pass,
)

from ge_xdsl.dialects.ge.graph import main_function, verify
from ge_xdsl.dialects.ge.text import module_text, parse_module
from ge_xdsl.errors import PassError
from ge_xdsl.passes.ge_custom_passes import GeCustomPassesPass
from ge_xdsl.passes.session import Session, SessionContext

BEFORE = PassStage.BEFORE_INFER_SHAPE
AFTER = PassStage.AFTER_INFER_SHAPE
T = "tensor<2xf32>"
RELUS = f"""func.func @main(%x: {T}) -> {T} {{
  %a = ge.Relu(%x) : ({T}) -> {T}
  %b = ge.Relu(%a) : ({T}) -> {T}
  %c = ge.Abs(%b) : ({T}) -> {T}
  func.return %c : {T}
}}"""
SUBGRAPHS = f"""func.func @main(%c: tensor<i1>, %x: {T}) -> {T} {{
  %r = ge.If(%c, [%x]) then_branch {{
  ^bb0(%p: {T}):
    %s = ge.Relu(%p) : ({T}) -> {T}
    ge.yield([%s]) : ({T}) -> ()
  }} else_branch {{
  ^bb0(%q: {T}):
    %t = ge.Relu(%q) : ({T}) -> {T}
    ge.yield([%t]) : ({T}) -> ()
  }} : (tensor<i1>, {T}) -> {T}
  %u = ge.Relu(%r) : ({T}) -> {T}
  func.return %u : {T}
}}"""


def run(module, session=None, **options):
    session = session or Session()
    GeCustomPassesPass(**options).apply(SessionContext(session), module)
    return session


def op_types(module):
    return [op.name.removeprefix("ge.") for op in main_function(module).body.block.ops][:-1]


def define(name="P", stage=BEFORE, base=PatternFusionPass, **members):
    """Register a pass class of the calling module; hooks that are not given are harmless ones."""
    members["__module__"] = sys._getframe(1).f_globals["__name__"]
    return register_fusion_pass(name=name, stage=stage)(type("Made", (base,), members))


@pattern
def relu(self, inputs):
    return Relu(inputs[0])


@pattern
def abs_of(self, inputs):
    from ge.es.math import Abs

    return Abs(inputs[0])


def same(self, inputs):
    return inputs[0]


def fails(module=None, **options):
    """The error of a run; the graph must be as it was."""
    module = module or parse_module(RELUS)
    before = module_text(module)
    session = Session()
    with pytest.raises(PassError) as caught:
        run(module, session, **options)
    assert module_text(module) == before
    verify(module)
    error = caught.value
    assert error.location is None or Path(error.location.file).parent == Path(__file__).parent
    assert "\n" not in error.message
    return error


def raises(*_):
    raise KeyError("gone")
