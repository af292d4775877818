"""Modules around one op, from a compact text.

`ge.Add(<2x3xf32>, <[1, 2]: 2xi64>) {...}` stands for the op on a graph input of the first type
and a constant of the second; `<2x3xf32, #ge.layout(NHWC)>` is a type with a format.
"""

import re

import pytest

from ge_xdsl.dialects.ge.graph import verify
from ge_xdsl.dialects.ge.text import parse_module
from ge_xdsl.errors import CompileError

_OPERAND = re.compile(r"<(?:([^<>:]*):)?\s*([^<>:]*)>")


def module_of(op, results=1, result_type="*xf32"):
    """A module text whose function holds the op; graph inputs and constants in order."""
    lines, arguments, types = [], [], []

    def operand(found):
        value, text = found.groups()
        name = f"%v{len(types)}"
        types.append(f"tensor<{text.replace('(', '<').replace(')', '>')}>")
        if value is None:
            arguments.append(f"{name}: {types[-1]}")
        else:
            dense = f"dense<{value}> : {types[-1]}"
            lines.append(f"{name} = ge.Const() {{value = {dense}}} : () -> {types[-1]}")
        return name

    head = _OPERAND.sub(operand, op)
    outputs = ", ".join([f"tensor<{result_type}>"] * results)
    lines.append(f"%y:{results} = {head} : ({', '.join(types)}) -> ({outputs})")
    body = "\n  ".join(lines)
    return f"func.func @main({', '.join(arguments)}) {{\n  {body}\n  func.return\n}}"


def check_refused(op, message, results=1):
    """Verifying a graph with the op ends in exactly this message."""
    module = parse_module(module_of(op, results))
    with pytest.raises(CompileError) as caught:
        verify(module)
    assert caught.value.message == message
    assert caught.value.subject.startswith(op.partition("(")[0])
