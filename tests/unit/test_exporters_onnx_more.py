"""ONNX export of what real models hold: recurrences, unknown shapes; onnxruntime runs the file."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx_graphs import X, model, node

from ge_xdsl.dialects.ge.graph import main_function, verify
from ge_xdsl.exporters.onnx.model import Model
from ge_xdsl.importers.onnx.reader import import_onnx_bytes
from ge_xdsl.interpreters.ge import run_function

RNG = np.random.default_rng(11)


def f(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def cell(gates, ways):
    """Weights of a recurrence: 5 steps of 2 rows with 3 numbers, 4 hidden ones."""
    return {"x": f(5, 2, 3), "w": f(ways, gates * 4, 3), "r": f(ways, gates * 4, 4),
            "b": f(ways, 2 * gates * 4)}  # fmt: skip


LENGTHS = {"l": np.array([5, 3], np.int32)}
SLICED = {"x": f(2, 6), "e": np.array([-100], np.int64), "s": np.array([-1], np.int64),
          "a": np.array([1], np.int64), "t": np.array([-1], np.int64)}  # fmt: skip
# nodes, inputs, constants (names among the inputs), dimensions, outputs
CASES = {
    "LSTM": (
        [node("LSTM", list("xwrb"), ["y", "h", "c"], "n", hidden_size=4)], cell(4, 1), "wrb", {},
        ["y", "h", "c"],
    ),
    "LSTM both ways, lengths, a start": (
        [node("LSTM", ["x", "w", "r", "b", "l", "i", "j"], ["y"], "n", hidden_size=4,
              direction="bidirectional")],
        {**cell(4, 2), **LENGTHS, "i": f(2, 2, 4), "j": f(2, 2, 4)}, "wrb", {"x": ["t", 2, 3]},
        ["y"],
    ),
    "GRU": (
        [node("GRU", list("xwrb"), ["y", "h"], "n", hidden_size=4, linear_before_reset=1,
              direction="reverse")],
        cell(3, 1), "wrb", {}, ["y", "h"],
    ),
    "Conv of unknown channels": (
        [node("Conv", ["x", "w"], ["y"], "n", pads=[1, 1, 1, 1])],
        {"x": f(1, 2, 5, 5), "w": f(3, 2, 3, 3)}, "w", {"x": [1, "c", 5, 5]}, ["y"],
    ),
    "Conv of unknown rank": (
        [node("Reshape", ["x", "s"], ["z"], "re"), node("Conv", ["z", "w"], ["y"], "n")],
        {"x": f(2, 25), "w": f(3, 2, 3, 3), "s": np.array([1, 2, 5, 5], np.int64)}, "w",
        {"s": ["r"]}, ["y"],
    ),
    "Slice backwards of an unknown length": (
        [node("Slice", ["x", "s", "e", "a", "t"], ["y"], "n")], SLICED, "seat",
        {"x": [2, "n"]}, ["y"],
    ),
    "Slice by unknown steps": (
        [node("Slice", ["x", "s", "e", "a", "t"], ["y"], "n")], SLICED, "a", {"x": [2, "n"]},
        ["y"],
    ),
    "Pad by unknown numbers": (
        [node("Pad", ["x", "p"], ["y"], "n", mode="reflect")],
        {"x": f(2, 6), "p": np.array([0, 2, 1, 1], np.int64)}, "", {"x": ["m", "n"]}, ["y"],
    ),
    "Tile of unknown rank": (
        [node("Reshape", ["x", "s"], ["z"], "re"), node("Tile", ["z", "t"], ["y"], "n")],
        {"x": f(2, 6), "s": np.array([2, 3, 2], np.int64), "t": np.array([1, 2, 3], np.int64)},
        "t", {"s": ["r"]}, ["y"],
    ),
    **{
        f"BitShift {way}": (
            [node("BitShift", ["x", "n"], ["y"], "n", direction=way)],
            {"x": np.arange(250, 256, dtype=np.uint8), "n": np.arange(6, dtype=np.uint8)}, "n",
            {}, ["y"],
        )
        for way in ("LEFT", "RIGHT")
    },
    "Concat and ReduceMean of unknown rank": (
        [node("Reshape", ["x", "s"], ["z"], "re"), node("Concat", ["z", "z"], ["c"], "n", axis=0),
         node("ReduceMean", ["c"], ["y"], "m", axes=[0])],
        {"x": X, "s": np.array([2, 6], np.int64)}, "", {"s": ["r"]}, ["y"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_onnxruntime_runs_it(name):
    nodes, given, constant, dims, outputs = CASES[name]
    fixed = {key: array for key, array in given.items() if key in constant}
    given = {key: array for key, array in given.items() if key not in fixed}
    source = model(nodes, given, outputs, 17, fixed, dims).SerializeToString()
    expected = onnxruntime.InferenceSession(source).run(None, given)
    module = import_onnx_bytes(source)
    verify(module)
    made = Model(main_function(module))
    assert not made.foreign, made.reasons
    found = onnxruntime.InferenceSession(made.data()).run(None, given)
    again = run_function(main_function(import_onnx_bytes(made.data())), given)
    for ours, back, theirs in zip(found, again, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(back, theirs, rtol=1e-4, atol=1e-5)


def test_a_branch_that_is_known_tells_its_shapes():
    """An If on a constant has the type of the branch it takes, as onnxruntime's result has."""
    info = onnx.helper.make_empty_tensor_value_info
    graph = onnx.helper.make_graph
    low = graph([node("Flatten", ["x"], ["a"], "low", axis=0)], "t", [], [info("a")])
    high = graph([node("Identity", ["x"], ["b"], "high")], "e", [], [info("b")])
    nodes = [node("If", ["q"], ["y"], "n", then_branch=low, else_branch=high)]
    source = model(nodes, {"x": X}, ["y"], 17, {"q": np.array(True)}).SerializeToString()
    module = import_onnx_bytes(source)
    verify(module)
    [choice] = [op for op in module.walk() if op.name == "ge.If"]
    assert str(choice.results[0].type) == "tensor<1x12xf32>"
    [found] = onnxruntime.InferenceSession(source).run(None, {"x": X})
    assert found.shape == (1, 12)


def test_shifts_by_more_bits_than_there_are_stay_ge_ops():
    """GE takes them for the nearest number of bits, ONNX leaves them open."""
    x = np.arange(250, 256, dtype=np.uint8)
    many = np.full(6, 9, np.uint8)
    nodes = [node("BitShift", ["x", "n"], ["y"], "n", direction="LEFT")]
    source = model(nodes, {"x": x}, ["y"], 17, {"n": many}).SerializeToString()
    made = Model(main_function(import_onnx_bytes(source)))
    assert made.reasons == {"LeftShift": "a number of bits is out of range"}
