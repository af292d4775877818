"""Running one GE op, and one ONNX node as its independent witness."""

import numpy as np
import onnx
import onnxruntime as ort
from ml_dtypes import bfloat16
from onnx import helper
from xdsl.ir import Block

from ge_xdsl.dialects.ge.data import ConstOp
from ge_xdsl.dialects.ge.registry import op_class
from ge_xdsl.dialects.ge.types import Tensor, dtype_of_numpy, numpy_dtype, tensor_of
from ge_xdsl.dialects.ge.weights import const_attr

OPSET = 20
HALVES = (np.dtype(np.float16), np.dtype(bfloat16))
F16, BF16, F32, F64 = np.float16, bfloat16, np.float32, np.float64
I8, U8, I16, I32, I64 = np.int8, np.uint8, np.int16, np.int32, np.int64

TOLERANCE = {"float16": 2**-10, "bfloat16": 2**-7, "float32": 4e-6, "float64": 1e-12}
"""Relative: one unit in the last place for what is rounded once, a few for f32 and f64."""


def as_operand(block, array, constant):
    if constant:
        op = ConstOp.build(value=const_attr(array))
        block.add_op(op)
        return op.y
    tensor = Tensor(dtype_of_numpy(array.dtype), array.shape)
    return block.insert_arg(tensor.type, len(block.args))


def build(op_type, *inputs, constant=True, **attrs):
    """The op on operands that are constants (so `infer` sees their values) or block arguments."""
    block = Block()
    values = [
        [as_operand(block, np.asarray(a), constant) for a in item]
        if isinstance(item, list)
        else as_operand(block, np.asarray(item), constant)
        for item in inputs
    ]
    counts = [len(inputs[0])] if op_type == "IdentityN" else []
    op = op_class(op_type).build(*values, result_counts=counts, **attrs)
    block.add_op(op)
    return op


def read_only(array):
    """A view that `evaluate` cannot write to: operands are read, never changed."""
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view


def run_ge(op_type, *inputs, constant=True, **attrs):
    """The first result; its shape and element type are checked against `infer`."""
    op = build(op_type, *inputs, constant=constant, **attrs)
    flat = [read_only(a) for item in inputs for a in (item if isinstance(item, list) else [item])]
    with np.errstate(all="ignore"):
        found = op.execute(flat)
    for array, value in zip(found, op.results, strict=True):
        inferred = tensor_of(value.type)
        assert array.dtype == numpy_dtype(inferred.dtype)
        if inferred.is_static:
            assert array.shape == inferred.shape
    return found[0]


def run_onnx(op_type, *inputs, **attrs):
    """The first output of a single-node model; halves are computed in f32 and rounded once."""
    arrays = [np.asarray(a) for a in inputs]
    half = next((a.dtype for a in arrays if a.dtype in HALVES), None)
    arrays = [a.astype(np.float32) if a.dtype in HALVES else a for a in arrays]
    names = [f"x{i}" for i in range(len(arrays))]
    node = helper.make_node(op_type, names, ["y"], **attrs)
    graph = helper.make_graph(
        [node],
        "one",
        [
            helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
            for n, a in zip(names, arrays, strict=True)
        ],
        [onnx.ValueInfoProto(name="y")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = ort.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    found = session.run(["y"], dict(zip(names, arrays, strict=True)))[0]
    return found.astype(half) if half is not None and found.dtype == np.float32 else found


def assert_close(found, expected, scale=1.0):
    """Equal for integers and booleans, within the type's tolerance for floats."""
    expected = np.asarray(expected)
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    relative = TOLERANCE.get(found.dtype.name)
    if relative is None:
        np.testing.assert_array_equal(found, expected)
        return
    np.testing.assert_allclose(
        found.astype(np.float64),
        expected.astype(np.float64),
        rtol=relative * scale,
        atol=relative * scale / 16,
    )


def sample(kind, shape, dtype, seed=0):
    """Random values: `any`, `positive`, `unit` (inside -1..1), `above` 1, `nonzero`, `bool`."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype == np.bool_:
        return rng.integers(0, 2, shape).astype(np.bool_)
    if dtype.kind in "iu":
        low = 0 if dtype.kind == "u" or kind == "positive" else -9
        found = rng.integers(low, 10, shape)
        return np.where((found == 0) & (kind in ("nonzero", "positive")), 3, found).astype(dtype)
    found = rng.standard_normal(shape) * 3
    if kind == "positive":
        found = np.abs(found) + 0.05
    elif kind == "unit":
        found = np.tanh(found) * 0.99
    elif kind == "above":
        found = np.abs(found) + 1.01
    elif kind == "nonzero":
        found = np.copysign(np.abs(found) + 0.3, found)
    return np.asarray(found).astype(dtype)
