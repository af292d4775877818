"""Elements put to and taken from computed or known places, as kernels, against `evaluate`."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lowered_op import check_op
from op_witness import F16, F32, I8, I32, I64, sample


def f(*shape, seed=0):
    return sample("any", shape, F32, seed)


def draw(high, *shape, low=0, seed=3, dtype=I64):
    return np.random.default_rng(seed).integers(low, high, shape).astype(dtype)


def ints(values, dtype=I64):
    return np.array(values, dtype)


def some(*shape, seed=4):
    return np.random.default_rng(seed).random(shape) > 0.6


CASES = {
    "Index": [
        ([f(5, 6, 7), ints([1]), ints([1]), [draw(5, 4, low=-5)]], {}),
        ([f(5, 6, 7), ints([0, 1, 1]), ints([1]), [draw(6, 4, 1), draw(7, 3)]], {}),
        ([f(5, 6, 7), ints([1, 0, 1]), ints([1]), [draw(5, 4), draw(7, 4, dtype=I32)]], {}),
    ],
    "IndexPutV2": [
        ([f(5, 6, 7), f(4, 6, 7, seed=1), ints([1]), ints([1]), [ints([4, -5, 2, 1])]], {}),
        ([f(5, 6, 7), f(6, seed=1), ints([1, 0, 1]), ints([1]), [draw(5, 4), draw(7, 4)]],
         {"accumulate": True}),
        ([f(5, 6, 7), f(5, 3, 2, seed=1), ints([0, 1, 1]), ints([1]),
          [draw(6, 3, 1), ints([2, 5])]], {"accumulate": True}),
    ],
    "SparseToDense": [
        ([ints([[0, 1], [2, 3], [4, 0]]), ints([5, 4]), f(3), f(1)], {}),
        ([ints([1, 3], I32), ints([6], I32), f(), f(1, seed=1)], {}),
    ],
    "SparseTensorDenseAdd": [
        ([ints([[0, 1], [2, 3], [0, 1]]), f(3), ints([5, 4]), f(5, 4)], {}),
    ],
    "EmbeddingDenseGrad": [
        ([f(3, 4, 9), draw(6, 3, 4)], {"num_weights": 6, "padding_idx": 2}),
        ([f(12, 5), draw(4, 12, dtype=I32)], {"num_weights": 5, "scale_grad_by_freq": True}),
    ],
    "MaskedScatter": [
        ([f(4, 5, 6), some(4, 5, 6), f(130, seed=1)], {}),
        ([f(70, 90), some(70, 1), f(6300, seed=1)], {}),
    ],
    "UnsortedSegmentMax": [([f(7, 5), draw(4, 7, low=-1), ints(5, I32)], {})],
    "UnsortedSegmentMin": [([f(3, 4, 5), draw(4, 3, 4, dtype=I32), ints(4, I32)], {})],
    "UnsortedSegmentMaxD": [([f(7, 5), draw(4, 7)], {"num_segments": 4})],
    "UnsortedSegmentMinD": [([f(9), draw(4, 9)], {"num_segments": 4})],
    "Scatter": [
        ([f(4, 3, 10, 8), ints([2, 0, 5]), f(3, 3, 4, 8, seed=1)],
         {"reduce": "update", "axis": -2}),
        ([f(4, 10, 8), ints([[3, 1], [0, 6]], I32), f(2, 2, 8, seed=1)],
         {"reduce": "update", "axis": 1}),
    ],
    "MatrixSetDiag": [([f(2, 4, 6), f(2, 4, seed=1)], {}), ([f(3, 7, 4), f(3, 4, seed=1)], {})],
    "MatrixSetDiagD": [([f(5, 5), f(5, seed=1), f(5, 5)], {})],
    "FillDiagonal": [
        ([f(9, 4)], {"fill_value": 2.5, "wrap": True}),
        ([f(4, 4, 4)], {"fill_value": -1.0}),
    ],
    "MatrixDiagV2": [
        ([f(2, 3, 4), ints([-1, 1], I32), ints(-1, I32), ints(-1, I32), f()], {}),
        ([f(2, 4), ints([2], I32), ints(6, I32), ints(6, I32), f()], {}),
    ],
    "StridedSliceGrad": [
        ([ints([9, 8, 7]), ints([1, 0, 6]), ints([8, 8, 0]), ints([3, 1, -2]), f(3, 8, 3)], {}),
        ([ints([9, 8]), ints([2, 1]), ints([3, 8]), ints([1, 2]), f(4)], {"shrink_axis_mask": 1}),
    ],
    "StridedSliceGradD": [
        ([f(3, 4)], {"shape": [6, 9], "begin": [1, 2], "end": [4, 6], "strides": [1, 1]}),
    ],
    "PadV3Grad": [
        ([f(2, 9, 11), ints([0, 0, 2, 1, 3, 3])], {"mode": mode})
        for mode in ("reflect", "edge", "symmetric", "circular")
    ],
    "PadV3": [([f(2, 5, 6), ints([0, 0, 2, 1, 3, 3])], {"mode": "circular"})],
    "ExtractImagePatches": [
        ([f(2, 9, 8, 3)], {"ksizes": [1, 3, 2, 1], "strides": [1, 2, 1, 1], "rates": [1, 1, 2, 1],
                           "padding": "SAME"}),
        ([f(1, 10, 10, 4)], {"ksizes": [1, 2, 2, 1], "strides": [1, 2, 2, 1],
                             "rates": [1, 1, 1, 1], "padding": "VALID"}),
    ],
    "Im2col": [
        ([f(2, 3, 9, 8)], {"ksizes": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1]}),
        ([f(1, 4, 10, 11)], {"ksizes": [3, 3], "strides": [2], "dilations": [2]}),
    ],
    "Upsample": [
        ([f(2, 3, 5, 7)], {}),
        ([f(1, 2, 4, 3)], {"stride_h": 3, "stride_w": 1}),
    ],
}  # fmt: skip
"""Op type -> operands and attributes."""
RUNS = [(name, i) for name, cases in CASES.items() for i in range(len(cases))]


def cast(item, dtype):
    if isinstance(item, list):
        return item
    return item.astype(dtype) if item.dtype == F32 else item


KNOWN = ("indexed_sizes", "num_segments", "k", "num_rows", "num_cols", "filter_size")


@pytest.mark.parametrize("dtype", [F32, F16])
@pytest.mark.parametrize(("op_type", "which"), RUNS)
def test_places(op_type, which, dtype):
    inputs, attrs = CASES[op_type][which]
    check_op(op_type, *(cast(a, dtype) for a in inputs), known=KNOWN, checked=True, **attrs)


@pytest.mark.parametrize("op_type", CASES)
def test_places_on_another_chip(op_type):
    inputs, attrs = CASES[op_type][-1]
    check_op(op_type, *inputs, known=KNOWN, chip="Ascend950PR_958x", **attrs)


def test_values_of_any_type_are_moved():
    x = sample("any", (5, 6, 7), I8)
    check_op("Index", x, ints([0, 1]), ints([1]), [draw(6, 9)], known=KNOWN)
    check_op("Upsample", sample("any", (2, 3, 5, 7), I8))
    check_op("StridedSliceGradD", sample("any", (3, 4), I32), shape=[6, 9], begin=[1, 2],
             end=[4, 6], strides=[1, 1])  # fmt: skip


@settings(max_examples=15, deadline=None, derandomize=True, database=None)
@given(
    shape=st.lists(st.integers(1, 6), min_size=1, max_size=4).map(tuple),
    data=st.data(),
    dtype=st.sampled_from([F32, F16]),
)
def test_any_dimensions_are_indexed(shape, data, dtype):
    marks = data.draw(st.lists(st.integers(0, 1), min_size=len(shape), max_size=len(shape)))
    if not any(marks):
        marks[0] = 1
    many = data.draw(st.integers(1, 5))
    picks = [draw(d, many, low=-d, seed=i) for i, d in enumerate(shape) if marks[i]]
    x = f(*shape).astype(dtype)
    check_op("Index", x, ints(marks), ints([1]), picks, known=KNOWN)
    check_op("IndexPutV2", x, f().astype(dtype), ints(marks), ints([1]), picks, known=KNOWN,
             accumulate=True)  # fmt: skip


@settings(max_examples=15, deadline=None, derandomize=True, database=None)
@given(
    parts=st.lists(
        st.tuples(st.integers(1, 9), st.integers(0, 8), st.integers(1, 9), st.integers(1, 4)),
        min_size=1,
        max_size=3,
    )
)
def test_any_slice_gradient(parts):
    shape, begin, end, strides = ([part[i] for part in parts] for i in range(4))
    begin = [b % n for b, n in zip(begin, shape, strict=True)]
    end = [min(b + e, n) for b, e, n in zip(begin, end, shape, strict=True)]
    sizes = [-(-(e - b) // s) for b, e, s in zip(begin, end, strides, strict=True)]
    check_op("StridedSliceGradD", f(*sizes), shape=shape, begin=begin, end=end, strides=strides)


REFUSED = [
    ("MaskedScatter", [f(300, 300), some(300, 300), f(90000)], {}, "for 90000 updates"),
    ("PadV3Grad", [sample("any", (4, 9), I32), ints([0, 0, 1, 1])], {}, "element type DT_INT32"),
    ("PadV3Grad", [f(1, 5000), ints([0, 0, 999, 999])], {}, "for a dimension of 5000 elements"),
]


@pytest.mark.parametrize(("op_type", "inputs", "attrs", "why"), REFUSED)
def test_places_that_stay_calls_say_why(op_type, inputs, attrs, why):
    check_op(op_type, *inputs, why=why, **attrs)
