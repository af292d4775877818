"""Running one GE op with several operands and results, and an ONNX node as its witness.

Every run also holds `infer` against the results: exactly where all is known, and without
contradiction when dimensions, ranks or operand values are unknown.
"""

import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper
from op_witness import HALVES, as_operand, read_only
from xdsl.ir import Block

from ge_xdsl.dialects.ge.op import constant_of
from ge_xdsl.dialects.ge.registry import op_class
from ge_xdsl.dialects.ge.types import DYNAMIC, Tensor, compatible, tensor_of

SHAPING = {
    "axes", "axis", "begin", "block_shape", "concat_dim", "crop_size", "crops", "delta", "depth",
    "dim", "dimension", "dims", "end", "filter_size", "indexed_sizes", "input_size", "k",
    "kernel_size", "ksize", "limit", "max_output_size", "max_output_size_per_class",
    "max_total_size", "multiples", "nbins", "num", "num_cols", "num_rows", "num_samples",
    "num_segments", "offset", "offsets", "orig_input_shape", "output_shape", "output_size",
    "paddings", "perm", "repeats", "roi", "scales", "seq_len1", "seq_len2", "shape", "size",
    "size_splits", "sizes", "split_dim", "start", "strides",
}  # fmt: skip
"""Operands whose values `infer` reads."""
VALUE_DEPENDENT = {
    "ListDiff", "MaskedSelect", "MaskedSelectV2", "NonMaxSuppression", "NonMaxSuppressionV2",
    "NonMaxSuppressionV3", "NonMaxSuppressionV5", "NonZero", "SegmentMax", "SegmentSum", "Unique",
    "UniqueConsecutive", "UniqueExt2", "UniqueWithCounts", "UniqueWithCountsAndSorting",
    "UniqueWithCountsExt2", "Where", "DynamicPartition", "DynamicStitch",
}  # fmt: skip
"""Ops whose result shape depends on values that `infer` does not read."""


def run(op_type, *inputs, counts=(), node_attrs=None, **attrs):
    """All results of an op on arrays (None for a missing operand, a list for a dynamic one)."""
    op = make(op_type, inputs, True, counts, node_attrs, attrs)
    arrays = [a for item in inputs if item is not None for a in _flat(item)]
    with np.errstate(all="ignore"):
        found = op.execute([read_only(a) for a in arrays])
    exact = [
        Tensor(tensor_of(r.type).dtype, a.shape) for r, a in zip(op.results, found, strict=True)
    ]
    for value, tensor in zip(op.results, exact, strict=True):
        inferred = tensor_of(value.type)
        assert compatible(inferred, tensor)
        assert inferred.is_static or op_type in VALUE_DEPENDENT
    check_weaker(op, exact)
    check_weaker(make(op_type, inputs, False, counts, node_attrs, attrs), exact)
    return found


def make(op_type, inputs, constant, counts=(), node_attrs=None, attrs=None):
    """The op; operands that `infer` reads are constants when `constant`, others arguments."""
    block = Block()
    cls = op_class(op_type)
    values = []
    for io, item in zip(cls.prototype.inputs, inputs, strict=False):
        known = constant and io.name in SHAPING
        made = [as_operand(block, np.asarray(a), known) for a in _flat(item)]
        values.append(made if io.kind == "dynamic" else made[0] if made else None)
    types = None if node_attrs is None else [tensor_of(values[0].type).with_shape(None).type]
    op = cls.build(*values, result_counts=counts, result_types=types, **(attrs or {}))
    block.add_op(op)
    if node_attrs:
        op.attributes.update(node_attrs)
        op.update_types()
    return op


def _flat(item):
    return [] if item is None else item if isinstance(item, list) else [item]


def check_weaker(op, exact):
    """`infer` on operands of which less is known contradicts no actual result."""
    for forget in (
        lambda shape: shape,
        lambda shape: (DYNAMIC, *shape[1:]) if shape else shape,
        lambda shape: (DYNAMIC,) * len(shape),
        lambda shape: None,
    ):
        tensors = [
            tensor_of(v.type)
            if constant_of(v) is not None
            else tensor_of(v.type).with_shape(forget(tensor_of(v.type).shape))
            for v in op.operands
        ]
        for inferred, tensor in zip(op.inferred(tensors), exact, strict=True):
            assert compatible(inferred, tensor), f"infer gives {inferred}, result is {tensor}"


def onnx_outputs(op_type, *inputs, count=1, opset=20, **attrs):
    """The first `count` outputs of a single-node model; halves are computed in f32."""
    given = [None if a is None else np.asarray(a) for a in inputs]
    half = next((a.dtype for a in given if a is not None and a.dtype in HALVES), None)
    arrays = {
        f"x{i}": a.astype(np.float32) if a.dtype in HALVES else a
        for i, a in enumerate(given)
        if a is not None
    }
    names = ["" if a is None else f"x{i}" for i, a in enumerate(given)]
    while names and not names[-1]:
        names.pop()
    outputs = [f"y{i}" for i in range(count)]
    graph = helper.make_graph(
        [helper.make_node(op_type, names, outputs, **attrs)],
        "one",
        [
            helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
            for n, a in arrays.items()
        ],
        [onnx.ValueInfoProto(name=name) for name in outputs],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = ort.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    found = session.run(outputs, arrays)
    return [a.astype(half) if half is not None and a.dtype == np.float32 else a for a in found]
