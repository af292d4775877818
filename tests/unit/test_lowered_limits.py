"""What is too large to be run or timed tile by tile is refused at once, by the op's name."""

import numpy as np
import pytest

import ge_xdsl as gx
from ge_xdsl.dialects.ge.text import parse_module
from ge_xdsl.errors import CompileError


def text(op, size, more=""):
    """A graph of one op on a vector of f16."""
    return f"""func.func @main(%x: tensor<{size}xf16>) -> tensor<{size}xf16> {{
  %y = ge.{op}(%x){more} : (tensor<{size}xf16>) -> tensor<{size}xf16>
  func.return %y : tensor<{size}xf16>
}}"""


def test_too_many_tiles():
    module = parse_module(text("Relu", 10**12))
    before = gx.text(module)
    with pytest.raises(
        CompileError, match="ge.Relu 'y': runs [0-9]* tiles, expected at most 16777"
    ):
        gx.estimate(module)
    assert gx.text(module) == before


def test_a_loop_of_a_lowered_module_that_never_ends():
    lowered = gx.text(gx.lower(parse_module(text("Relu", 4096))))
    endless = parse_module(lowered.replace("in [1, 4096]", "in [1, 1000000000000000]"))
    array = np.zeros(4096, np.float16)
    for use in (lambda: gx.estimate(endless), lambda: gx.run(endless, [array], level="aicore")):
        with pytest.raises(CompileError, match="aicore.for in @Relu: runs [0-9]* tiles, expected"):
            use()


def test_a_long_dimension_is_not_counted_through():
    size = 10**11
    module = parse_module(
        f"""func.func @main(%x: tensor<{size}xf16>) -> tensor<8xf16> {{
  %y = ge.SliceD(%x) {{offsets = [0], size = [8]}} : (tensor<{size}xf16>) -> tensor<8xf16>
  func.return %y : tensor<8xf16>
}}"""
    )
    reasons = gx.estimate(module).reasons
    assert reasons == {"SliceD": ["no lowering for a dimension of more than 268435456"]}


def test_a_lowered_module_is_priced_only_on_a_chip_that_can_run_it():
    plain = gx.text(gx.lower(parse_module(text("Relu", 4096))))
    lowered = plain.replace("on vector * 8", "on cube * 8")
    with pytest.raises(CompileError, match="runs on pipe V, expected one of a cube core"):
        gx.estimate(parse_module(lowered))
