"""What `infer` says of unknown dimensions agrees with what it says once they are known."""

import itertools

import numpy as np
import pytest
from op_witness import build

from ge_xdsl.dialects.ge.families import FAMILIES
from ge_xdsl.dialects.ge.op import operand_tensors
from ge_xdsl.dialects.ge.registry import op_class
from ge_xdsl.dialects.ge.types import DYNAMIC, Tensor, compatible

OPS = [
    op
    for family in ("elementwise", "unary", "compare", "activation", "reduce", "cast")
    for op in FAMILIES[family].split()
]
ATTRS = {
    "Adds": {"value": 1.5},
    "Muls": {"value": 2.0},
    "Axpy": {"alpha": 0.5},
    "AddN": {"N": 2},
    "AccumulateNV2": {"N": 2},
    "Cast": {"dst_type": 3},
}
SHAPES = [(2, 3, 4), (2, 1, 4), (1, 3, 1), (0, 3, 4)]


def example(op_type, shape):
    """Arrays and attributes that fit the op, and that it may be built on."""
    proto = op_class(op_type).prototype
    attrs = dict(ATTRS.get(op_type, {}))
    if "axes" in proto.attr_by_name:
        attrs["axes"] = [1, -1]
    inputs = []
    for io in proto.inputs:
        x = np.ones(shape, bool if op_type.startswith("Logical") else np.float32)
        if io.name in ("condition", "mask"):
            x = x.astype(bool)
        elif io.name == "axes":
            x = np.array([1, -1])
        elif io.name == "value":
            x = x.reshape(-1)[:1] if x.size else np.ones(1, np.float32)
        elif io.name == "bias" or (op_type == "PRelu" and io.name == "weight"):
            x = np.ones(shape[-1] if io.name == "bias" else shape[1], np.float32)
        inputs.append([x, x] if io.kind == "dynamic" else x)
    return inputs, attrs


def vaguer(tensor):
    """The tensor, and what may be known of it before: one dimension less, none, no rank."""
    shape = tensor.shape
    yield tensor
    for i in range(len(shape)):
        yield Tensor(tensor.dtype, (*shape[:i], DYNAMIC, *shape[i + 1 :]))
    yield Tensor(tensor.dtype, (DYNAMIC,) * len(shape))
    yield Tensor(tensor.dtype, None)


@pytest.mark.parametrize("op_type", OPS)
def test_unknown_dimensions_agree(op_type):
    for shape, constant in itertools.product(SHAPES, (True, False)):
        inputs, attrs = example(op_type, shape)
        exact = build(op_type, *inputs, constant=True, **attrs)
        known = operand_tensors(exact)
        op = exact if constant else build(op_type, *inputs, constant=False, **attrs)
        results = exact.inferred(known)
        for tensors in itertools.product(*(list(vaguer(t)) for t in known[:2])):
            found = op.inferred([*tensors, *known[2:]])
            for vague, sure in zip(found, results, strict=True):
                assert compatible(vague, sure), f"{shape}: {vague} for {sure}"
