"""Variable: what it takes its type from, and what is refused."""

import numpy as np
import pytest

from ge_xdsl.dialects.ge.graph import main_function, verify
from ge_xdsl.dialects.ge.text import parse_module
from ge_xdsl.errors import CompileError
from ge_xdsl.interpreters.ge import run_function

VALUE = "value = dense<[1.0, 2.0]> : tensor<2xf32>"
CASES = {
    "variable_c1_shape": (
        "tensor<3xf32>",
        "shapes of x and value are 3 and 2, expected equal ones",
    ),
    "variable_c1_type": (
        "tensor<2xf16>",
        "operands are DT_FLOAT16 and DT_FLOAT, expected one element type",
    ),
}


def module(x, attrs):
    given = "x = %x" if x else ""
    return parse_module(
        f"func.func @main({'%x: ' + x if x else ''}) -> tensor<2xf32> {{\n"
        f"  %y = ge.Variable({given}) {{{attrs}}} : ({x}) -> tensor<2xf32>\n"
        "  func.return %y : tensor<2xf32>\n}"
    )


@pytest.mark.parametrize("name", CASES)
def test_refused(name):
    x, message = CASES[name]
    with pytest.raises(CompileError) as caught:
        verify(module(x, VALUE))
    assert caught.value.message == message


@pytest.mark.parametrize("x", ["", "tensor<2xf32>"])
def test_gives_x_or_its_value(x):
    graph = module(x, VALUE)
    verify(graph)
    inputs = {"x": np.array([5, 6], np.float32)} if x else {}
    (found,) = run_function(main_function(graph), inputs)
    np.testing.assert_array_equal(found, [5, 6] if x else [1, 2])


def test_without_a_value_it_cannot_run():
    with pytest.raises(CompileError) as caught:
        run_function(main_function(module("", "")), {})
    assert caught.value.message == (
        "value is missing, expected one: a run has no store of variables"
    )
