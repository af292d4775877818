"""A `Program` gives what the op-by-op run gives, in every run, whatever the runs before it were."""

import numpy as np
import pytest

from ge_xdsl.dialects.ge.graph import main_function
from ge_xdsl.dialects.ge.text import parse_module
from ge_xdsl.errors import CompileError
from ge_xdsl.interpreters.ge import run_function
from ge_xdsl.interpreters.program import Program

CNN = """func.func @main(%x: tensor<?x4x?x?xf32>) -> (tensor<?x4x?x?xf32>, tensor<4xi64>) {
  %w = ge.Const() {value = dense<0.5> : tensor<4x1x3x3xf32>} : () -> tensor<4x1x3x3xf32>
  %two = ge.Const() {value = dense<2.0> : tensor<4x1x3x3xf32>} : () -> tensor<4x1x3x3xf32>
  %v = ge.Mul(%w, %two) : (tensor<4x1x3x3xf32>, tensor<4x1x3x3xf32>) -> tensor<4x1x3x3xf32>
  %c = ge.Conv2D(%x, %v) {strides = [1, 1, 2, 2], pads = [1, 1, 1, 1], groups = 4,
    data_format = "NCHW"} : (tensor<?x4x?x?xf32>, tensor<4x1x3x3xf32>) -> tensor<?x4x?x?xf32>
  %r = ge.Relu(%c) : (tensor<?x4x?x?xf32>) -> tensor<?x4x?x?xf32>
  %s = ge.Shape(%r) {dtype = DT_INT64} : (tensor<?x4x?x?xf32>) -> tensor<4xi64>
  %d = ge.Add(%s, %s) : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
  func.return %r, %d : tensor<?x4x?x?xf32>, tensor<4xi64>
}"""

HALVES = """func.func @main(%x: tensor<3x4xf16>, %y: tensor<4xf16>)
    -> (tensor<3x4xf16>, tensor<3xf16>) {
  %a = ge.Add(%x, %y) : (tensor<3x4xf16>, tensor<4xf16>) -> tensor<3x4xf16>
  %t = ge.Tanh(%a) : (tensor<3x4xf16>) -> tensor<3x4xf16>
  %s = ge.ReduceSumD(%t) {axes = [1]} : (tensor<3x4xf16>) -> tensor<3xf16>
  func.return %t, %s : tensor<3x4xf16>, tensor<3xf16>
}"""

RESHAPE = """func.func @main(%x: tensor<?xf32>, %s: tensor<2xi64>) -> tensor<?x?xf32> {
  %y = ge.Reshape(%x, %s) : (tensor<?xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  func.return %y : tensor<?x?xf32>
}"""

FILL = """func.func @main(%s: tensor<2xi64>) -> tensor<?x?xf32> {
  %v = ge.Const() {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %y = ge.Fill(%s, %v) : (tensor<2xi64>, tensor<f32>) -> tensor<?x?xf32>
  func.return %y : tensor<?x?xf32>
}"""

LOOP = """func.func @main(%n: tensor<i32>, %x: tensor<2xf32>) -> (tensor<i32>, tensor<2xf32>) {
  %r:2 = ge.While([%n, %x]) cond {
  ^bb0(%i: tensor<i32>, %v: tensor<2xf32>):
    %zero = ge.Const() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %go = ge.Greater(%i, %zero) : (tensor<i32>, tensor<i32>) -> tensor<i1>
    ge.yield([%go]) : (tensor<i1>) -> ()
  } body {
  ^bb0(%i: tensor<i32>, %v: tensor<2xf32>):
    %one = ge.Const() {value = dense<1> : tensor<i32>} : () -> tensor<i32>
    %less = ge.Sub(%i, %one) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %more = ge.Add(%v, %v) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    ge.yield([%less, %more]) : (tensor<i32>, tensor<2xf32>) -> ()
  } : (tensor<i32>, tensor<2xf32>) -> (tensor<i32>, tensor<2xf32>)
  func.return %r#0, %r#1 : tensor<i32>, tensor<2xf32>
}"""


FLAT = """func.func @main(%x: tensor<?x?xf32>) -> (tensor<?x2xf32>, tensor<?x?x1xf32>) {
  %s = ge.Const() {value = dense<[-1, 2]> : tensor<2xi64>} : () -> tensor<2xi64>
  %y = ge.Reshape(%x, %s) : (tensor<?x?xf32>, tensor<2xi64>) -> tensor<?x2xf32>
  %n = ge.Shape(%y) {dtype = 9 : i64} : (tensor<?x2xf32>) -> tensor<2xi64>
  %r = ge.Reshape(%x, %n) : (tensor<?x?xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  %z = ge.Unsqueeze(%r) {axes = [2]} : (tensor<?x?xf32>) -> tensor<?x?x1xf32>
  func.return %y, %z : tensor<?x2xf32>, tensor<?x?x1xf32>
}"""


def images(*shape):
    return {"x": np.random.default_rng(len(shape)).normal(size=shape).astype(np.float32)}


CASES = {
    "cnn": (CNN, [images(1, 4, 6, 5), images(2, 4, 9, 8), images(1, 4, 6, 5), images(0, 4, 3, 3)]),
    "halves": (
        HALVES,
        [
            {"x": (np.arange(12).reshape(3, 4) * k / 8).astype(np.float16), "y": np.ones(4, "f2")}
            for k in (1, -1)
        ],
    ),
    "reshape": (
        RESHAPE,
        [
            {"x": np.arange(6, dtype=np.float32), "s": np.array(shape)}
            for shape in ((2, 3), (3, 2), (-1, 1))
        ],
    ),
    "known shapes": (
        FLAT,
        [
            {"x": np.arange(n * m, dtype=np.float32).reshape(n, m)}
            for n, m in ((2, 3), (2, 3), (3, 2), (4, 4), (0, 2))
        ],
    ),
    "loop": (LOOP, [{"n": np.array(n, np.int32), "x": np.ones(2, "f4")} for n in (3, 0, 5)]),
}


@pytest.mark.parametrize("name", CASES)
def test_runs_agree_with_the_plain_run(name):
    text, runs = CASES[name]
    func = main_function(parse_module(text))
    program = Program(func)
    for inputs in [*runs, *runs]:
        found = program.run(inputs)
        for ours, plain in zip(found, run_function(func, inputs), strict=True):
            assert (ours.dtype, ours.shape) == (plain.dtype, plain.shape)
            if name == "cnn":  # its convolution takes what follows it along
                np.testing.assert_allclose(ours, plain, rtol=1e-5, atol=1e-6)
            else:
                np.testing.assert_array_equal(ours, plain)
            ours.fill(77)  # what a run gave is the caller's: the next run must not see it


def test_what_depends_on_constants_runs_once(monkeypatch):
    from ge_xdsl.dialects.ge.elementwise import AddOp, MulOp

    calls = []
    for cls in (AddOp, MulOp):
        plain = cls.evaluate
        monkeypatch.setattr(
            cls, "evaluate", lambda op, *arrays, f=plain: calls.append(op.op_type) or f(op, *arrays)
        )
    program = Program(main_function(parse_module(CNN)))
    for shape, expected in (
        ((1, 4, 6, 5), ["Mul", "Add"]),
        ((1, 4, 6, 5), []),
        ((1, 4, 8, 8), ["Add"]),
    ):
        calls.clear()
        program.run(images(*shape))
        assert calls == expected


def test_inputs_stay_as_they_are():
    program = Program(main_function(parse_module(CNN)))
    inputs = images(1, 4, 6, 5)
    kept = inputs["x"].copy()
    inputs["x"].flags.writeable = False
    program.run(inputs)
    np.testing.assert_array_equal(inputs["x"], kept)


@pytest.mark.parametrize(
    ("text", "inputs", "message"),
    [
        (RESHAPE, {"x": np.ones(5, "f4"), "s": np.array([2, 2])}, "has 4 elements, expected 5"),
        (FILL, {"s": np.array([1 << 20, 1 << 20])}, "result has 1099511627776 elements, expected"),
        (CNN, {"x": np.ones((1, 4, 6, 6), "f8")}, "array is float64, expected float32"),
        (LOOP, {"n": np.array(1, "i4"), "x": np.ones(3, "f4")}, "array is 3, expected 2"),
    ],
)
def test_refusals_are_those_of_the_plain_run(text, inputs, message):
    func = main_function(parse_module(text))
    with pytest.raises(CompileError) as plain:
        run_function(func, inputs)
    with pytest.raises(CompileError) as ours:
        Program(func).run(inputs)
    assert str(ours.value) == str(plain.value)
    assert message in ours.value.message


def test_a_size_is_checked_anew_for_new_values():
    program = Program(main_function(parse_module(FILL)))
    assert program.run({"s": np.array([2, 3])})[0].shape == (2, 3)
    with pytest.raises(CompileError, match="has 1099511627776 elements"):
        program.run({"s": np.array([1 << 20, 1 << 20])})


FOREIGN = """func.func @main(%x: tensor<1x1x4x4xi32>) -> tensor<?x?x?x?xi32> {
  %y = ge.AvgPool(%x) {ksize = [1, 1, 2, 2], strides = [1, 1, 1, 1], padding = "VALID",
    data_format = "NCHW"} : (tensor<1x1x4x4xi32>) -> tensor<?x?x?x?xi32>
  func.return %y : tensor<?x?x?x?xi32>
}"""


def test_what_fails_on_a_foreign_element_type_tells_it():
    func = main_function(parse_module(FOREIGN))
    for run in (Program(func).run, lambda inputs: run_function(func, inputs)):
        with pytest.raises(CompileError, match="; operand 'x' is DT_INT32, expected DT_FLOAT16, D"):
            run({"x": np.ones((1, 1, 4, 4), np.int32)})


def test_threads_share_a_program_from_its_first_run_on():
    from concurrent.futures import ThreadPoolExecutor

    func = main_function(parse_module(CNN))
    runs = [np.full((1, 4, 4 + i % 5, 5), i, np.float32) for i in range(40)]
    wanted = [run_function(func, {"x": x}) for x in runs]
    for _ in range(5):
        program = Program(func)
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda x, program=program: program.run({"x": x}), runs))
        for ours, plain in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(ours[1], plain[1])
            np.testing.assert_allclose(ours[0], plain[0], rtol=1e-5)
