"""Views of tensors and strided views of GM: text, checks, and what they show."""

import numpy as np
import pytest

from ge_xdsl.dialects.ge.graph import verify
from ge_xdsl.dialects.ge.text import module_text, parse_module
from ge_xdsl.errors import CompileError
from ge_xdsl.interpreters import aicore
from ge_xdsl.interpreters.tiles import Memory


def strided(view, source="4x6xf16, gm", target="6x4xf16, gm"):
    y = "!aicore.tile<8xf16, gm>"
    return f"""aicore.kernel @k(%x : !aicore.tile<{source}>) writes (%y : {y}) on vector * 1 {{
  %v = aicore.strided %x, {view} : !aicore.tile<{source}>, !aicore.tile<{target}>
}}"""


def test_a_strided_view_prints_as_it_is():
    text = strided("2, [1, 4]", target="6x1xf16, gm")
    module = parse_module(text)
    verify(module)
    assert "aicore.strided %x, 2, [1, 4] :" in module_text(module)
    assert module_text(parse_module(module_text(module))) == module_text(module)


REFUSED = [
    (strided("0, [1]"), "offset is 0, strides are [1], expected 2 strides and none negative"),
    (strided("0, [-1, 1]"), "strides are [-1, 1], expected 2 strides and none negative"),
    (strided("0, [1, 6]"), "last stride is 6, expected 1"),
    (strided("5, [4, 1]"), "reaches element 28 of 24, expected all to lie in the tile"),
    (strided("0, [4, 1]", target="6x4xf32, gm"), "expected row-major tiles of one element type"),
    (strided("0, [4, 1]", target="6x4xf16, ub"), "is on !aicore.tile<6x4xf16, ub>, expected a til"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_what_a_strided_view_refuses(text, message):
    with pytest.raises(CompileError) as caught:
        verify(parse_module(text))
    assert message in str(caught.value)


VIEW = """func.func @main(%x : tensor<2x6xf16>) -> {y} {{
  %y = aicore.view %x for ["n"] : (tensor<2x6xf16>) -> {y}
  func.return %y : {y}
}}"""


def test_a_view_runs():
    x = np.arange(12, dtype=np.float16).reshape(2, 6)
    (y,), report = aicore.run(
        parse_module(VIEW.format(y="tensor<3x4xf16>")), {"x": x}, "Ascend910B1"
    )
    assert (y == x.reshape(3, 4)).all()
    assert report.views == 1


@pytest.mark.parametrize("y", ["tensor<3x5xf16>", "tensor<3x4xf32>"])
def test_a_view_has_the_same_elements(y):
    with pytest.raises(CompileError) as caught:
        verify(parse_module(VIEW.format(y=y)))
    assert f"is tensor<2x6xf16> to {y}, expected the same elements" in str(caught.value)


def test_a_view_is_of_tensors():
    text = VIEW.format(y="i32")
    with pytest.raises(CompileError) as caught:
        verify(parse_module(text))
    assert "is tensor<2x6xf16> to i32, expected tensors" in str(caught.value)


def test_strides_show_the_same_memory():
    memory = Memory("x", np.arange(12.0).reshape(3, 4), True)
    view = memory.strided(1, [0, 4, 1], [2, 3, 2])
    assert (view.load((1, 0, 0), 3, 2) == np.array([[1, 2], [5, 6], [9, 10]])).all()
    made = Memory("y", np.zeros((3, 4)), False)
    made.strided(2, [4, 1], [3, 2]).store((0, 0), np.ones((3, 2)))
    assert (made.array[:, 2:] == 1).all()
    assert made.missing == 6
