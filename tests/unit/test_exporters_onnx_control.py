"""ONNX export of control flow: Loop, Scan, If and Case; onnxruntime runs the file."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper
from onnx_graphs import X, model, node

from ge_xdsl.dialects.ge.graph import main_function, verify
from ge_xdsl.dialects.ge.text import parse_module
from ge_xdsl.exporters.onnx.model import Model
from ge_xdsl.importers.onnx.reader import import_onnx_bytes
from ge_xdsl.interpreters.ge import run_function

INFO = helper.make_tensor_value_info
FLOAT, LONG, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
V = np.array([1.0, -2.0, 3.0], np.float32)
TURN = [INFO("i", LONG, []), INFO("c", BOOL, [])]


def body(nodes, inputs, outputs, **options):
    return helper.make_graph(nodes, "b", inputs, outputs, **options)


def vector(name, length=3):
    return INFO(name, FLOAT, [length])


GATHERS = body(
    [node("Add", ["v", "x"], ["w"]), node("Cast", ["i"], ["f"], to=FLOAT),
     node("Mul", ["w", "f"], ["s"]), node("Identity", ["c"], ["d"])],
    [*TURN, vector("v")], [INFO("d", BOOL, []), vector("w"), vector("s")],
)  # fmt: skip
GROWS = body(
    [node("Concat", ["v", "x"], ["w"], axis=0), node("Size", ["w"], ["n"]),
     node("Less", ["n", "most"], ["d"])],
    [*TURN, vector("v", None)], [INFO("d", BOOL, []), vector("w", None)],
    initializer=[helper.make_tensor("most", LONG, [], [10])],
)  # fmt: skip
INNER = body(
    [node("Add", ["u", "x"], ["t"]), node("Identity", ["e"], ["g"])],
    [INFO("j", LONG, []), INFO("e", BOOL, []), vector("u")], [INFO("g", BOOL, []), vector("t")],
)  # fmt: skip
OUTER = body(
    [node("Loop", ["i", "", "v"], ["w"], body=INNER), node("Identity", ["c"], ["d"])],
    [*TURN, vector("v")], [INFO("d", BOOL, []), vector("w")],
)  # fmt: skip
SUMS = body(
    [node("Add", ["v", "e"], ["w"]), node("Mul", ["w", "x"], ["o"])], [vector("v"), vector("e")],
    [vector("w"), vector("o")],
)  # fmt: skip
ROWS = np.arange(12, dtype=np.float32).reshape(4, 3)
# nodes, inputs, outputs
CASES = {
    **{
        f"Loop of {n} turns that gathers": (
            [node("Loop", ["n", "", "x"], ["y", "z"], "l", body=GATHERS)],
            {"x": V, "n": np.array(n)}, ["y", "z"],
        )
        for n in (0, 1, 4)
    },
    "Loop until its value is long": (
        [node("Loop", ["", "q", "x"], ["y"], "l", body=GROWS)], {"x": V, "q": np.array(True)},
        ["y"],
    ),
    "Loop that does not start": (
        [node("Loop", ["", "q", "x"], ["y"], "l", body=GROWS)], {"x": V, "q": np.array(False)},
        ["y"],
    ),
    "Loop in a Loop": (
        [node("Loop", ["n", "", "x"], ["y"], "l", body=OUTER)], {"x": V, "n": np.array(4)}, ["y"],
    ),
    "Scan": (
        [node("Scan", ["x", "r"], ["y", "z"], "s", body=SUMS, num_scan_inputs=1)],
        {"x": V, "r": ROWS}, ["y", "z"],
    ),
    "Scan backwards along the last axis": (
        [node("Scan", ["x", "r"], ["y", "z"], "s", body=SUMS, num_scan_inputs=1,
              scan_input_directions=[1], scan_input_axes=[1], scan_output_axes=[-1])],
        {"x": V, "r": ROWS.T.copy()}, ["y", "z"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_loops(name):
    nodes, given, outputs = CASES[name]
    source = model(nodes, given, outputs).SerializeToString()
    expected = onnxruntime.InferenceSession(source).run(None, given)
    module = import_onnx_bytes(source)
    made = Model(main_function(module))
    assert not made.foreign, made.reasons
    onnx.checker.check_model(made.proto)
    found = onnxruntime.InferenceSession(made.data()).run(None, given)
    back = import_onnx_bytes(made.data())
    verify(back)
    again = run_function(main_function(back), given)
    for ours, own, theirs in zip(found, again, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)
        np.testing.assert_allclose(own, theirs, rtol=1e-5)


T = "tensor<3xf32>"


def region(*lines, args=f"%a: {T}", result=f"%r]) : ({T})"):
    inside = "\n".join(f"    {line}" for line in lines)
    return f"{{\n  ^bb0({args}):\n{inside}\n    ge.yield([{result} -> ()\n  }}"


def exported(op, inputs):
    text = f"func.func @main({inputs}) -> {T} {{\n  %y = {op}\n  func.return %y : {T}\n}}"
    module = parse_module(text)
    verify(module)
    made = Model(main_function(module))
    assert not made.foreign, made.reasons
    onnx.checker.check_model(made.proto)
    session = onnxruntime.InferenceSession(made.data())
    return module, lambda given: session.run(None, given)[0]


def one(kind):
    return region(f"%r = ge.{kind}(%a) : ({T}) -> {T}")


@pytest.mark.parametrize("index", [-1, 0, 1, 2, 3, 9])
def test_case_takes_the_last_branch_for_an_index_that_names_none(index):
    functions = [np.abs, np.negative, np.square, np.exp]
    kinds = enumerate(("Abs", "Neg", "Square", "Exp"))
    branches = " ".join(f"branches{k} {one(kind)}" for k, kind in kinds)
    module, run = exported(
        f"ge.Case(%i, [%x]) {branches} : (tensor<i32>, {T}) -> {T}",
        f"%x: {T}, %i: tensor<i32>",
    )
    given = {"x": V, "i": np.array(index, np.int32)}
    wanted = functions[index if 0 <= index < 4 else -1](V)
    np.testing.assert_allclose(run(given), wanted, rtol=1e-6)
    np.testing.assert_allclose(run_function(main_function(module), given)[0], wanted, rtol=1e-6)


@pytest.mark.parametrize("bounds", [(0, 4, 1), (5, -2, -3), (1, 8, 3), (2, 2, 1), (0, 5, -2)])
def test_for_counts_turns_by_distance(bounds):
    start, limit, delta = bounds
    inside = region(
        "%f = ge.Cast(%i) {dst_type = 0} : (tensor<i32>) -> tensor<f32>",
        f"%r = ge.Add(%a, %f) : ({T}, tensor<f32>) -> {T}", args=f"%i: tensor<i32>, %a: {T}",
    )  # fmt: skip
    i32 = "tensor<i32>"
    module, run = exported(
        f"ge.For(%s, %l, %d, [%x]) body {inside} : ({i32}, {i32}, {i32}, {T}) -> {T}",
        f"%x: {T}, %s: {i32}, %l: {i32}, %d: {i32}",
    )
    numbers = (np.array(n, np.int32) for n in bounds)
    given = {"x": V, **dict(zip("sld", numbers, strict=True))}
    turns = -(-abs(limit - start) // abs(delta))
    wanted = V + sum(start + n * delta for n in range(turns))
    np.testing.assert_allclose(run(given), wanted)
    np.testing.assert_allclose(run_function(main_function(module), given)[0], wanted)


@pytest.mark.parametrize(
    ("kind", "flag", "holds"),
    [
        ("tensor<f32>", np.float32(0.5), True),
        ("tensor<1x1xi32>", np.array([[0]], np.int32), False),
        ("tensor<?xf32>", np.zeros(2, np.float32), True),
        ("tensor<?xf32>", np.zeros(1, np.float32), False),
        ("tensor<?xf32>", np.zeros(0, np.float32), False),
        ("tensor<?xf32>", np.ones(1, np.float32), True),
    ],
)
@pytest.mark.parametrize("op", ["If", "StatelessIf", "_If"])
def test_conditions_are_numbers_or_whether_there_are_any(op, kind, flag, holds):
    module, run = exported(
        f"ge.{op}(%c, [%x]) then_branch {one('Abs')} else_branch {one('Neg')} "
        f": ({kind}, {T}) -> {T}",
        f"%x: {T}, %c: {kind}",
    )
    given = {"x": V, "c": np.asarray(flag)}
    wanted = np.abs(V) if holds else -V
    np.testing.assert_array_equal(run(given), wanted)
    np.testing.assert_array_equal(run_function(main_function(module), given)[0], wanted)


def test_what_no_turn_changes_is_read_by_name():
    cond = region(
        f"%s = ge.ReduceSumD(%a) {{axes = [0]}} : ({T}) -> tensor<f32>",
        args=f"%a: {T}, %b: {T}", result="%s]) : (tensor<f32>)",
    )  # fmt: skip
    turn = region(
        f"%r = ge.Maximum(%a, %b) : ({T}, {T}) -> {T}", f"%q = ge.Sub(%r, %r) : ({T}, {T}) -> {T}",
        args=f"%a: {T}, %b: {T}", result=f"%q, %b]) : ({T}, {T})",
    )  # fmt: skip
    text = (
        f"func.func @main(%x: {T}, %z: {T}) -> ({T}, {T}) {{\n"
        f"  %y, %k = ge.While([%x, %z]) cond {cond} body {turn} : ({T}, {T}) -> ({T}, {T})\n"
        f"  func.return %y, %k : {T}, {T}\n}}"
    )
    made = Model(main_function(parse_module(text)))
    [loop] = [n for n in made.proto.graph.node if n.op_type == "Loop"]
    assert len(loop.input) == 3
    found = onnxruntime.InferenceSession(made.data()).run(None, {"x": V, "z": 2 * V})
    np.testing.assert_array_equal(found, [np.zeros(3, np.float32), 2 * V])


def test_an_output_that_is_an_input_keeps_the_one_name():
    nodes = [node("Relu", ["x"], ["y"])]
    outputs = [helper.make_empty_tensor_value_info(name) for name in ("x", "y", "y")]
    source = model(nodes, {"x": X}, outputs).SerializeToString()
    made = Model(main_function(import_onnx_bytes(source)))
    assert [info.name for info in made.proto.graph.output] == ["x", "y", "y"]
    found = onnxruntime.InferenceSession(made.data()).run(None, {"x": X})
    for ours, wanted in zip(found, (X, np.maximum(X, 0), np.maximum(X, 0)), strict=True):
        np.testing.assert_array_equal(ours, wanted)
