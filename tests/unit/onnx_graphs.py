"""Small ONNX models for tests, and running them in onnxruntime and on the imported graph."""

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from ge_xdsl.dialects.ge.graph import main_function, verify
from ge_xdsl.importers.onnx.reader import import_onnx_bytes
from ge_xdsl.interpreters.ge import run_function

X = np.arange(12, dtype=np.float32).reshape(3, 4) - 5
W = np.random.default_rng(0).standard_normal((4, 32)).astype(np.float32)
B = np.linspace(-1, 1, 32, dtype=np.float32)


def value(name, array, dims=None):
    """The declaration of a graph input like `array`; `dims` overrides its shape."""
    dtype = helper.np_dtype_to_tensor_dtype(array.dtype)
    return helper.make_tensor_value_info(name, dtype, array.shape if dims is None else dims)


def model(nodes, inputs, outputs, opset=17, initializers=(), dims=None, value_info=()):
    """A model; `inputs` maps names to arrays, `outputs` names (untyped) or declarations."""
    graph = helper.make_graph(
        nodes,
        "g",
        [value(name, array, (dims or {}).get(name)) for name, array in inputs.items()],
        [
            helper.make_empty_tensor_value_info(out) if isinstance(out, str) else out
            for out in outputs
        ],
        [numpy_helper.from_array(array, name) for name, array in dict(initializers).items()],
        value_info=list(value_info),
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    made.ir_version = 8
    return made


def node(op, inputs, outputs, name="", **attrs):
    return helper.make_node(op, inputs, outputs, name=name, **attrs)


def linear(opset=17, **options):
    """relu(x @ w + b), and the sum as a second output"""
    nodes = [
        node("MatMul", ["x", "w"], ["product"], "mm"),
        node("Add", ["product", "b"], ["sum"], "add"),
        node("Relu", ["sum"], ["y"]),
    ]
    return model(nodes, {"x": X}, ["y", "sum"], opset, {"w": W, "b": B}, **options)


def reshaped(declared):
    """x reshaped to a shape that only the run tells; the model declares the result."""
    info = helper.make_tensor_value_info("r", TensorProto.FLOAT, declared)
    nodes = [node("Reshape", ["x", "s"], ["r"], "re"), node("Relu", ["r"], ["y"], "relu")]
    shape = np.array([2, 6], np.int64)
    return model(nodes, {"x": X, "s": shape}, ["y"], 13, value_info=[info])


def typed(data_type, shape, **fields):
    tensor = TensorProto(name="w", data_type=data_type, dims=shape)
    for field, values in fields.items():
        getattr(tensor, field).extend(values)
    return tensor


def by_onnxruntime(made, inputs, folder=None):
    """The outputs that onnxruntime computes; the model is written to `folder` when given."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    source = made.SerializeToString()
    if folder is not None:
        source = str(folder)
    session = onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    return session.run(None, inputs)


def imported(made):
    """The imported and verified module."""
    module = import_onnx_bytes(made.SerializeToString(), "model.onnx")
    verify(module)
    return module


def by_reference(made, inputs):
    """The outputs of the imported graph in the reference interpreter."""
    return run_function(main_function(imported(made)), inputs)


def check(made, inputs, tolerance=1e-5):
    """The imported graph gives what onnxruntime gives: shapes, types and values."""
    expected = by_onnxruntime(made, inputs)
    found = by_reference(made, inputs)
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        theirs = np.asarray(theirs)
        assert ours.dtype == theirs.dtype
        assert ours.shape == theirs.shape
        if theirs.dtype.kind == "f":
            limit = tolerance * max(1.0, float(np.nanmax(np.abs(theirs), initial=0)))
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=limit, equal_nan=True)
        else:
            np.testing.assert_array_equal(ours, theirs)


# One op per model


def f32(*shape, seed=0, low=-2.0, high=2.0):
    return np.random.default_rng(seed).uniform(low, high, shape).astype(np.float32)


def i64(*values):
    return np.array(values, np.int64)


def case(op, operands, opsets, outputs=1, consts=(), **attrs):
    """(id, op, graph inputs, initializers, opsets, number of outputs, attributes).

    `operands` are arrays or None; those at the positions in `consts` are initializers.
    """
    text = ",".join(f"{k}={v}" for k, v in attrs.items() if not hasattr(v, "SerializeToString"))
    return op, operands, opsets, outputs, consts, attrs, f"{op}({text})"


def build(op, operands, opset, outputs, consts, attrs):
    names = [f"x{k}" if a is not None else "" for k, a in enumerate(operands)]
    arrays = {n: np.asarray(a) for n, a in zip(names, operands, strict=True) if n}
    constants = {f"x{k}": arrays.pop(f"x{k}") for k in consts}
    results = [f"y{k}" for k in range(outputs)]
    node = helper.make_node(op, names, results, name="node", **attrs)
    return model([node], arrays, results, opset, constants), arrays
