"""Results in the memory of operands: the same numbers as op by op, and nothing that is read later
is overwritten."""

import numpy as np
import pytest

from ge_xdsl.dialects.ge.graph import main_function
from ge_xdsl.dialects.ge.text import parse_module
from ge_xdsl.interpreters.ge import run_function
from ge_xdsl.interpreters.in_place import HELD_ONCE, LEAST_ELEMENTS, WRITERS, references, spare
from ge_xdsl.interpreters.program import Program

N = LEAST_ELEMENTS
T = f"tensor<4x{N}xf32>"
ONE_OPERAND = ("Neg", "Abs", "Sqrt", "Square", "Exp", "Tanh", "Relu")
NUMBER = {"Adds": "{value = 0.5}", "Muls": "{value = -2.0}"}
PAIRS = [op for op in WRITERS if op not in (*ONE_OPERAND, *NUMBER, "ClipByValue", "BatchNorm")]


def both(body, **inputs):
    """The outputs of a function, as a program (twice) and op by op."""
    args = ", ".join(f"%{name}: tensor<{text(a)}>" for name, a in inputs.items())
    results = ", ".join(line.split("->")[1].strip() for line in body[-1:])
    name = body[-1].split(" =")[0]
    lines = "\n  ".join(body)
    source = (
        f"func.func @main({args}) -> {results} {{\n  {lines}\n  func.return {name} : {results}\n}}"
    )
    func = main_function(parse_module(source))
    kept = {name: a.copy() for name, a in inputs.items()}
    program = Program(func)
    wanted = run_function(func, inputs)
    for _ in range(2):
        for found, want in zip(program.run(inputs), wanted, strict=True):
            np.testing.assert_array_equal(found, want)
        for name, a in inputs.items():
            np.testing.assert_array_equal(a, kept[name])


def text(array):
    return "x".join([*map(str, array.shape), {"float32": "f32", "int32": "i32"}[array.dtype.name]])


def draw(seed, shape=(4, N)):
    return np.random.default_rng(seed).uniform(0.5, 2, shape).astype(np.float32)


def line(y, op, operands, types, attrs="", out=T):
    return f"%{y} = ge.{op}({operands}) {attrs} : ({types}) -> {out}"


@pytest.mark.parametrize("op", ONE_OPERAND)
def test_one_operand(op):
    both([line("a", "Sub", "%x, %z", f"{T}, {T}"), line("y", op, "%a", T)], x=draw(1), z=draw(2))


@pytest.mark.parametrize("op", NUMBER)
def test_with_a_number(op):
    both([line("a", "Neg", "%x", T), line("y", op, "%a", T, NUMBER[op])], x=draw(1))


@pytest.mark.parametrize("op", PAIRS)
@pytest.mark.parametrize("shape", [(4, N), (N,), (4, 1), (1, N), ()])
def test_two_operands(shape, op):
    small = f"tensor<{text(np.zeros(shape, np.float32))}>"
    first = line("a", "Neg", "%x", T)
    second = line("b", "Abs", "%z", small, out=small)
    for operands, types in (("%a, %b", f"{T}, {small}"), ("%b, %a", f"{small}, {T}")):
        both([first, second, line("y", op, operands, types)], x=draw(1), z=draw(2, shape))


def test_the_same_operand_twice():
    both([line("a", "Neg", "%x", T), line("y", "Mul", "%a, %a", f"{T}, {T}")], x=draw(1))


def test_what_is_read_later_stays():
    both(
        [
            line("a", "Neg", "%x", T),
            line("b", "Add", "%a, %a", f"{T}, {T}"),
            line("y", "Sub", "%b, %a", f"{T}, {T}"),
        ],
        x=draw(1),
    )


def test_a_view_that_is_read_later_stays():
    flat = f"tensor<{4 * N}xf32>"
    both(
        [
            line("a", "Neg", "%x", T),
            f"%v = ge.Flatten(%a) {{axis = 0}} : ({T}) -> tensor<1x{4 * N}xf32>",
            f"%w = ge.Squeeze(%v) : (tensor<1x{4 * N}xf32>) -> {flat}",
            line("b", "Exp", "%a", T),
            f"%c = ge.Flatten(%b) {{axis = 0}} : ({T}) -> tensor<1x{4 * N}xf32>",
            f"%d = ge.Squeeze(%c) : (tensor<1x{4 * N}xf32>) -> {flat}",
            f"%y = ge.Sub(%d, %w) : ({flat}, {flat}) -> {flat}",
        ],
        x=draw(1),
    )


def test_inputs_stay():
    both([line("y", "Add", "%x, %z", f"{T}, {T}")], x=draw(1), z=draw(2))


@pytest.mark.parametrize("bounds", [(0.7, 1.2), (1.2, 0.7)])
def test_bounds(bounds):
    scalars = [
        f"%{n} = ge.Const() {{value = dense<{v}> : tensor<f32>}} : () -> tensor<f32>"
        for n, v in zip("lh", bounds, strict=True)
    ]
    clip = line("y", "ClipByValue", "%a, %l, %h", f"{T}, tensor<f32>, tensor<f32>")
    both([*scalars, line("a", "Abs", "%x", T), clip], x=draw(1))


def test_batch_norm():
    x, c = "tensor<2x3x8x256xf32>", "tensor<3xf32>"
    norm = (
        f"%y, %b, %d, %e, %f, %g = ge.BatchNorm(%a, %s, %o, mean = %m, variance = %v) "
        '{data_format = "NCHW", is_training = false} : '
        f"({', '.join([x, *[c] * 4])}) -> ({', '.join([x, *[c] * 4, 'tensor<1xf32>'])})"
    )
    last = f"%r = ge.Neg(%y) : ({x}) -> {x}"
    inputs = {name: draw(i, (3,)) for i, name in enumerate("somv")}
    first = line("a", "Neg", "%x", x, out=x)
    both([first, norm, last], x=draw(9, (2, 3, 8, 256)), **inputs)


def test_which_memory_is_spare():
    values = [draw(1), draw(2), draw(3, (4, 1)), draw(4, (3,)), draw(5).astype(np.float64)]

    def taken(op, places, *chosen):
        found = spare(op, [values[i] for i in chosen], places)
        return None if found is None else next(i for i, v in enumerate(values) if v is found)

    assert taken("Add", [0], 0, 1) == 0
    assert taken("Add", [1], 0, 1) == 1
    assert taken("Add", [], 0, 1) is None
    assert taken("Add", [0], 0, 2) == 0
    assert taken("Add", [0], 0, 3) is None
    assert taken("Add", [0], 0, 4) is None
    assert taken("Add", [0], 3, 3) is None
    held = values[0]
    assert taken("Add", [0], 0, 1) is None
    del held
    view = values[0][:2]
    assert taken("Add", [0], 0, 1) is None
    del view
    assert references([values[0]], 0) == HELD_ONCE
    values[0].flags.writeable = False
    assert taken("Add", [0], 0, 1) is None
