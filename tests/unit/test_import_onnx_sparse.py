"""Sparse initializers and constants: dense in the graph, refused when they are ill-formed."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper
from onnx_graphs import model, node

from ge_xdsl.dialects.ge.graph import main_function
from ge_xdsl.errors import CompileError
from ge_xdsl.importers.onnx.reader import import_onnx_bytes
from ge_xdsl.interpreters.ge import run_function


def sparse(values, indices, dims, name="w"):
    made = onnx.SparseTensorProto(dims=dims)
    made.values.CopyFrom(numpy_helper.from_array(np.asarray(values), name))
    made.indices.CopyFrom(numpy_helper.from_array(np.asarray(indices), ""))
    return made


def with_weight(tensor, shape):
    x = np.ones(shape, np.float32)
    made = model([node("Add", ["x", "w"], ["y"], "n")], {"x": x}, ["y"])
    made.graph.sparse_initializer.append(tensor)
    return made.SerializeToString(), {"x": x}


VALUES = np.array([2.5, -1.0], np.float32)


@pytest.mark.parametrize(
    ("indices", "shape"), [([1, 3], (5,)), ([1, 4], (2, 3)), ([[0, 1], [1, 2]], (2, 3))]
)
def test_places_and_indices(indices, shape):
    data, given = with_weight(sparse(VALUES, indices, shape), shape)
    dense = np.zeros(shape, np.float32)
    for place, value in zip(indices, VALUES, strict=True):
        dense[tuple(place) if isinstance(place, list) else np.unravel_index(place, shape)] = value
    found = run_function(main_function(import_onnx_bytes(data)), given)
    np.testing.assert_array_equal(found[0], 1 + dense)
    [wanted] = onnxruntime.InferenceSession(data).run(None, given)
    np.testing.assert_array_equal(found[0], wanted)


def test_a_constant_is_sparse():
    x = np.ones(5, np.float32)
    constant = helper.make_node("Constant", [], ["w"], sparse_value=sparse(VALUES, [1, 3], [5]))
    data = model([constant, node("Add", ["x", "w"], ["y"], "n")], {"x": x}, ["y"])
    found = run_function(main_function(import_onnx_bytes(data.SerializeToString())), {"x": x})
    np.testing.assert_array_equal(found[0], np.array([1, 3.5, 1, 0, 1], np.float32))


NO_INDICES = "expected an int64 for each value, or one for each of its dimensions"


@pytest.mark.parametrize(
    ("tensor", "message"),
    [
        (sparse(VALUES, [1, 3], [5], ""), "an initializer has no name, expected one"),
        (sparse(VALUES, [1, 5], [5]), "initializer 'w': has an index that is out of range"),
        (sparse(VALUES, [-1, 1], [5]), "initializer 'w': has an index that is out of range"),
        (sparse(VALUES, [[0, 1], [1, 3]], [2, 3]), "initializer 'w': has an index that is out of"),
        (sparse(VALUES, [1], [5]), NO_INDICES),
        (sparse(VALUES, [1.0, 2.0], [5]), NO_INDICES),
        (sparse(VALUES.reshape(1, 2), [1, 2], [5]), NO_INDICES),
        (sparse(VALUES, [1, 3], [2**30]), "is sparse and has 1073741824 elements, expected at"),
        (sparse(VALUES, [1, 3], [-5]), "has a dimension of -5, expected none below 0"),
    ],
)
def test_refusals(tensor, message):
    data, _ = with_weight(tensor, (5,))
    with pytest.raises(CompileError) as caught:
        import_onnx_bytes(data)
    assert message in str(caught.value)


def test_names_are_unique():
    data, _ = with_weight(sparse(VALUES, [1, 3], [5]), (5,))
    made = onnx.load_from_string(data)
    made.graph.sparse_initializer.append(made.graph.sparse_initializer[0])
    with pytest.raises(CompileError, match="the name 'w' is given to two values, expected unique"):
        import_onnx_bytes(made.SerializeToString())


def test_an_operand_of_unknown_type_is_told():
    nodes = [
        node("Fancy", ["x"], ["f"], "fancy", domain="com.acme"),
        node("Clip", ["f"], ["y"], "clip", min=0.0),
    ]
    made = model(nodes, {"x": VALUES}, ["y"], 10)
    made.opset_import.add(domain="com.acme", version=1)
    with pytest.raises(CompileError) as caught:
        import_onnx_bytes(made.SerializeToString())
    assert "Clip 'clip': the element type of an input is unknown, expected" in str(caught.value)
