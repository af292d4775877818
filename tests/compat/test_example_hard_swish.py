"""The hard-swish example: fires on MobileNetV3's spelling, not on near misses, same numbers."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from ge_xdsl.dialects.ge.graph import ge_ops, main_function, verify
from ge_xdsl.dialects.ge.text import parse_module
from ge_xdsl.interpreters.ge import run_function
from ge_xdsl.passes import loader
from ge_xdsl.passes.ge_custom_passes import GeCustomPassesPass
from ge_xdsl.passes.session import SessionContext

EXAMPLE = Path(__file__).parents[2] / "examples" / "passes" / "hard_swish.py"

T, S = "tensor<2x3xf32>", "tensor<f32>"


def graph(three=3.0, low=0.0, high=6.0, six=6.0, output="%y", swap=False):
    names = {"three": three, "low": low, "high": high, "six": six}
    constants = "\n".join(
        f"  %{name} = ge.Const() {{value = dense<{value}> : {S}}} : () -> {S}"
        for name, value in names.items()
    )
    product = "%clip, %x" if swap else "%x, %clip"
    return f"""func.func @main(%x: {T}) -> {T} {{
{constants}
  %add = ge.Add(%x, %three) : ({T}, {S}) -> {T}
  %clip = ge.ClipByValue(%add, %low, %high) : ({T}, {S}, {S}) -> {T}
  %mul = ge.Mul({product}) : ({T}, {T}) -> {T}
  %y = ge.RealDiv(%mul, %six) : ({T}, {S}) -> {T}
  func.return {output} : {T}
}}
"""


def compiled(text):
    loader.load([str(EXAMPLE)])
    module = parse_module(text)
    GeCustomPassesPass().apply(SessionContext(), module)
    verify(module)
    return main_function(module)


def test_fires_with_the_same_numbers():
    before, after = main_function(parse_module(graph())), compiled(graph())
    assert Counter(op.op_type for op in ge_ops(after)) == {"HardSwish": 1}
    x = np.array([[-4, -3, -1], [0, 1, 5]], np.float32)
    want = x * np.clip(x + 3, 0, 6) / 6
    for func in (before, after):
        np.testing.assert_allclose(run_function(func, {"x": x})[0], want, 1e-6, 1e-6)


NEAR = {
    "another offset": graph(three=2.0),
    "another clip": graph(high=5.0),
    "another divisor": graph(six=3.0),
    "operands swapped": graph(swap=True),
}


@pytest.mark.parametrize("text", NEAR.values(), ids=NEAR)
def test_near_misses_stay(text):
    found = Counter(op.op_type for op in ge_ops(compiled(text)))
    assert (found["HardSwish"], found["RealDiv"]) == (0, 1)
