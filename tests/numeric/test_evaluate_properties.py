"""What holds of `evaluate` for every elementwise, reducing and moving op, on drawn shapes.

The element types are those that GE's table lists for the op.

Zero-size, scalar and broadcast operands give exactly the shape and element type of `infer`; halves
give what f32 gives, rounded once; operands are read, never written.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from op_witness import BF16, F16, F32, F64, HALVES, I16, I32, I64, U8, build
from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.check import foreign_element_type
from ge_xdsl.dialects.ge.families import FAMILIES
from ge_xdsl.dialects.ge.registry import op_class
from ge_xdsl.dialects.ge.types import numpy_dtype, tensor_of

EXAMPLES = 16

GENERIC = ("elementwise", "unary", "compare", "activation", "bitwise", "maths", "reduce", "cast")
ATTRS = {
    "AccumulateNV2": {"N": 2},
    "AddN": {"N": 2},
    "Adds": {"value": 1.5},
    "Axpy": {"alpha": 0.5},
    "Bitcast": {"type": 3},
    "Cast": {"dst_type": 0},
    "Eltwise": {"N": 2},
    "Muls": {"value": 2.0},
    "NanToNum": {"nan": 0.5, "posinf": 3.0, "neginf": -3.0},
}
PACKS = {"SignBitsPack", "SignBitsUnpack", "CompareAndBitpack"}
"""Ops on groups of elements."""
SCALARS = {"clip_value_min", "clip_value_max", "value", "threshold"}
MASKS = {"condition", "mask"}
NOT_ROUNDED = {"Bitcast"}
"""Ops whose result is not a number that follows the operand's."""

TYPES = [F16, BF16, F32, F64, I16, I32, I64, U8, np.bool_]

shapes = st.lists(st.integers(0, 3), max_size=4).map(tuple)
seeds = st.integers(0, 2**16)


def numbers(rng, shape, dtype):
    """Small numbers, integers from 1 on, so that every op is defined on them."""
    if np.dtype(dtype).kind in "iu":
        return rng.integers(1, 4, shape).astype(dtype)
    if dtype is np.bool_:
        return rng.integers(0, 2, shape).astype(bool)
    return np.asarray(rng.normal(size=shape) * 2).astype(dtype)


def narrower(rng, shape):
    """A shape that broadcasts to `shape`: dimensions become 1, leading ones are dropped."""
    dims = tuple(1 if rng.integers(3) == 0 else d for d in shape)
    return dims[rng.integers(len(dims) + 1) :] if dims else dims


def generic(op_type, rng, shape, dtype, broadcast):
    """Operands and attributes of an op of the families above."""
    proto = op_class(op_type).prototype
    attrs = dict(ATTRS.get(op_type, {}))
    axes = sorted(set(rng.integers(-len(shape), len(shape), 2).tolist())) if shape else []
    if len(axes) == 2 and axes[0] % len(shape) == axes[1] % len(shape):
        axes = axes[:1]
    if "axes" in proto.attr_by_name and proto.attr_by_name["axes"].required:
        attrs["axes"] = axes
    inputs = []
    for i, io in enumerate(proto.inputs):
        given_shape = narrower(rng, shape) if broadcast and i else shape
        if io.name == "axes":
            x = np.array(axes, np.int64)
        elif io.name in MASKS:
            x = numbers(rng, given_shape, np.bool_)
        elif i and (io.name in SCALARS or (op_type, io.name) == ("FusedMulAddN", "x3")):
            x = numbers(rng, (), dtype)
        elif io.name in ("bias", "weight") and i and op_type in ("BiasAdd", "PRelu"):
            channel = -1 if op_type == "BiasAdd" else 1
            x = numbers(rng, shape[channel:][:1] or (1,), dtype)
        else:
            x = numbers(rng, given_shape, dtype)
        inputs.append([x, x.copy()] if io.kind == "dynamic" else x)
    return inputs, attrs


def moving(make):
    """The operands of a moving op: `make(x, rng)` gives the ones after x, and attributes."""

    def operands(op_type, rng, shape, dtype, broadcast):
        x = numbers(rng, shape, dtype)
        if op_type in NEED_A_DIMENSION and not x.ndim:
            x = x.reshape(1)
        if op_type in NEED_ELEMENTS and not x.shape[-1]:
            x = numbers(rng, (*x.shape[:-1], 2), dtype)
        return make(x, rng)

    return operands


NEED_A_DIMENSION = {"GatherV2", "ArgMaxV2"}
NEED_ELEMENTS = {"ArgMaxV2"}
"""Along the last dimension."""


def ints(*values):
    return np.array(values, np.int64)


def axis_of(x, rng):
    return int(rng.integers(-x.ndim, x.ndim)) if x.ndim else 0


MOVING = {
    "Reshape": lambda x, rng: ([x, ints(*x.shape[::-1])], {}),
    "Flatten": lambda x, rng: ([x], {"axis": 0}),
    "FlattenV2": lambda x, rng: ([x], {}),
    "Squeeze": lambda x, rng: ([x], {}),
    "Unsqueeze": lambda x, rng: ([x], {"axes": [0]}),
    "ExpandDims": lambda x, rng: ([x, ints(0)], {}),
    "Transpose": lambda x, rng: ([x, rng.permutation(x.ndim).astype(np.int64)], {}),
    "TransposeD": lambda x, rng: ([x], {"perm": rng.permutation(x.ndim).tolist()}),
    "Shape": lambda x, rng: ([x], {}),
    "Size": lambda x, rng: ([x], {}),
    "Rank": lambda x, rng: ([x], {}),
    "Expand": lambda x, rng: ([x, ints(2, *x.shape)], {}),
    "BroadcastTo": lambda x, rng: ([x, ints(2, *x.shape)], {}),
    "Tile": lambda x, rng: ([x, rng.integers(0, 3, x.ndim)], {}),
    "Concat": lambda x, rng: ([ints(axis_of(x, rng)), [x, x]], {"N": 2}),
    "ConcatD": lambda x, rng: ([[x, x]], {"concat_dim": axis_of(x, rng), "N": 2}),
    "ConcatV2": lambda x, rng: ([[x, x], ints(axis_of(x, rng))], {"N": 2}),
    "Pack": lambda x, rng: ([[x, x]], {"axis": 0, "N": 2}),
    "Slice": lambda x, rng: ([x, ints(*(0 for _ in x.shape)), ints(*(-1 for _ in x.shape))], {}),
    "StridedSlice": lambda x, rng: (
        [x, ints(*(0 for _ in x.shape)), ints(*x.shape), ints(*(2 for _ in x.shape))],
        {},
    ),
    "Pad": lambda x, rng: ([x, rng.integers(0, 3, (x.ndim, 2))], {}),
    "PadV3": lambda x, rng: ([x, rng.integers(0, 3, 2 * x.ndim)], {"mode": "constant"}),
    "GatherV2": lambda x, rng: (
        [x, rng.integers(0, max(x.shape[0], 1), 2 * min(x.shape[0], 1)), ints(0)],
        {},
    ),
    "ReverseV2": lambda x, rng: ([x, ints(axis_of(x, rng))], {}),
    "Roll": lambda x, rng: ([x], {"shifts": [1], "dims": [axis_of(x, rng)]}),
    "Cumsum": lambda x, rng: ([x, ints(axis_of(x, rng))], {}),
    "Tril": lambda x, rng: ([x], {}),
    "Triu": lambda x, rng: ([x], {}),
    "ArgMaxV2": lambda x, rng: ([x, ints(-1)], {}),
}
"""Op type -> its operands and attributes around x."""

CASES = {
    **{op: generic for family in GENERIC for op in FAMILIES[family].split() if op not in PACKS},
    **{op: moving(make) for op, make in MOVING.items()},
}


def flat(inputs):
    return [a for item in inputs for a in (item if isinstance(item, list) else [item])]


def drawn(op_type, shape, dtype, seed):
    """The op and its arrays: operands that broadcast, or else of one shape; None where refused."""
    for broadcast in (True, False):
        inputs, attrs = CASES[op_type](
            op_type, np.random.default_rng(seed), shape, dtype, broadcast
        )
        try:
            op = build(op_type, *inputs, **attrs)
        except VerifyException:
            continue
        return None if foreign_element_type(op) else (op, inputs, attrs)
    return None


def executed(op, inputs):
    """The results on read-only operands, whose bytes must stay."""
    arrays = [np.asarray(a) for a in flat(inputs)]
    before = [a.tobytes() for a in arrays]
    for array in arrays:
        array.flags.writeable = False
    with np.errstate(all="ignore"):
        found = op.execute(arrays)
    assert [a.tobytes() for a in arrays] == before
    return found


def check_types(op, found):
    for value, array in zip(op.results, found, strict=True):
        tensor = tensor_of(value.type)
        assert array.shape == tensor.shape
        assert array.dtype == numpy_dtype(tensor.dtype)


def check_rounding(op_type, inputs, attrs, found):
    """The results are those on f32 operands, rounded once."""
    wide = [
        [a.astype(np.float32) if a.dtype in HALVES else a for a in item]
        if isinstance(item, list)
        else (item.astype(np.float32) if item.dtype in HALVES else item)
        for item in inputs
    ]
    reference = executed(build(op_type, *wide, **attrs), wide)
    for array, exact in zip(found, reference, strict=True):
        with np.errstate(all="ignore"):
            rounded = exact.astype(array.dtype)
        np.testing.assert_array_equal(array.astype(np.float32), rounded.astype(np.float32))


def run_case(op_type, shape, dtype, seed):
    """Whether the op took the operands, after all checks."""
    made = drawn(op_type, shape, dtype, seed)
    if made is None:
        return False
    op, inputs, attrs = made
    found = executed(op, inputs)
    check_types(op, found)
    if np.dtype(dtype) in HALVES and op_type not in NOT_ROUNDED:
        check_rounding(op_type, inputs, attrs, found)
    return True


@pytest.mark.parametrize("op_type", CASES)
@settings(max_examples=EXAMPLES, deadline=None, derandomize=True, database=None)
@given(shape=shapes, dtype=st.sampled_from(TYPES), seed=seeds)
def test_shapes_types_and_rounding(op_type, shape, dtype, seed):
    run_case(op_type, shape, dtype, seed)


@pytest.mark.parametrize("op_type", CASES)
def test_plain_and_empty_operands_are_taken(op_type):
    """So that the test above is not empty: some type is taken with a plain and an empty shape."""
    for shape in ((2, 3), (0, 3)):
        taken = [np.dtype(t).name for t in TYPES if run_case(op_type, shape, t, 1)]
        assert taken, shape
