"""Slices and pads: onnxruntime or numpy indexing against `evaluate`."""

import numpy as np
import pytest
from op_runs import onnx_outputs, run
from op_witness import BF16, F16, F32, I32, I64, assert_close, sample

ANY = (F32, F16, BF16, I64, np.bool_)
X = sample("any", (4, 5, 6), F32)


@pytest.mark.parametrize("dtype", ANY)
@pytest.mark.parametrize(
    ("offsets", "size"), [((0, 0, 0), (4, 5, 6)), ((1, 2, 3), (2, 1, 0)), ((3, 0, 1), (-1, 2, -1))]
)
def test_slice(offsets, size, dtype):
    x = sample("any", (4, 5, 6), dtype)
    ends = [n if s == -1 else o + s for o, s, n in zip(offsets, size, x.shape, strict=True)]
    expected = x[tuple(slice(o, e) for o, e in zip(offsets, ends, strict=True))]
    assert_close(run("Slice", x, np.array(offsets, I32), np.array(size, I32))[0], expected)
    assert_close(run("SliceD", x, offsets=offsets, size=size)[0], expected)


def cut(*entries):
    """begin, end and strides of slices; None stands where a mask decides."""
    lists = [[0 if v is None else v for v in part] for part in zip(*entries, strict=True)]
    return [np.array(part, I64) for part in lists]


@pytest.mark.parametrize(
    ("entries", "masks", "index"),
    [
        ([(1, 3, 1)], {}, np.s_[1:3]),
        ([(0, 4, 2), (4, 0, -2)], {}, np.s_[0:4:2, 4:0:-2]),
        ([(-3, -1, 1)], {}, np.s_[-3:-1]),
        ([(1, 100, 1), (-100, 2, 1)], {}, np.s_[1:, :2]),
        ([(3, 1, 1)], {}, np.s_[3:1]),
        ([(7, None, 2)], {"begin_mask": 1, "end_mask": 1}, np.s_[::2]),
        ([(None, None, -1)], {"begin_mask": 1, "end_mask": 1}, np.s_[::-1]),
        ([(None, 3, -1), (2, None, 1)], {"begin_mask": 1, "end_mask": 2}, np.s_[:3:-1, 2:]),
        ([(2, 9, 1), (1, 3, 1)], {"shrink_axis_mask": 1}, np.s_[2, 1:3]),
        ([(-1, 0, 1)], {"shrink_axis_mask": 1}, np.s_[-1]),
        ([(0, 0, 1), (1, 3, 1)], {"new_axis_mask": 1}, np.s_[None, 1:3]),
        ([(0, 0, 1), (1, 3, 1)], {"ellipsis_mask": 1}, np.s_[..., 1:3]),
        ([(1, 2, 1), (0, 0, 1), (1, 3, 1)], {"ellipsis_mask": 2}, np.s_[1:2, ..., 1:3]),
        (
            [(1, 2, 1), (0, 0, 1), (0, 0, 1), (1, 3, 1)],
            {"ellipsis_mask": 2, "new_axis_mask": 4, "shrink_axis_mask": 1},
            np.s_[1, ..., None, 1:3],
        ),
        ([(0, 0, 1)] * 3, {"shrink_axis_mask": 7}, np.s_[0, 0, 0]),
    ],
)
def test_strided_slice_as_numpy(entries, masks, index):
    assert_close(run("StridedSlice", X, *cut(*entries), **masks)[0], np.asarray(X[index]))


def test_strided_slice_takes_end_minus_one_as_the_last_index():
    y = run("StridedSlice", X, *cut((3, -1, -1)))[0]
    assert y.shape == (0, 5, 6)


BIG = 2**63 - 1


@pytest.mark.parametrize("dtype", ANY)
@pytest.mark.parametrize(
    ("begin", "end", "axes", "steps"),
    [
        ((1,), (3,), None, None),
        ((0, 1), (4, 3), (2, 0), (2, 1)),
        ((-1,), (-BIG,), (1,), (-1,)),
        ((3,), (-100,), (-1,), (-2,)),
        ((1, 0, 2), (BIG, BIG, BIG), None, (1, 2, 3)),
        ((10,), (20,), (0,), None),
        ((2,), (1,), (0,), (1,)),
    ],
)
def test_strided_slice_v2_as_onnx_slice(begin, end, axes, steps, dtype):
    x = sample("any", (4, 5, 6), dtype)
    given = [None if a is None else np.array(a, I64) for a in (begin, end, axes, steps)]
    wide = x.astype(F32) if dtype in (F16, BF16) else x
    expected = onnx_outputs("Slice", wide, *given)[0].astype(dtype)
    assert_close(run("StridedSliceV2", x, *given)[0], expected)


def test_strided_slices_of_random_numbers_as_numpy():
    rng = np.random.default_rng(7)
    extremes = [BIG, -BIG, 2**31 - 1, -(2**31)]
    for _ in range(150):
        x = sample("any", rng.integers(0, 6, rng.integers(1, 4)), F32)
        begin, end = (
            [int(rng.choice(extremes)) if rng.random() < 0.2 else int(v) for v in row]
            for row in rng.integers(-8, 9, (2, x.ndim))
        )
        steps = [int(v) for v in rng.choice([1, 2, 3, -1, -2, 7], x.ndim)]
        expected = x[tuple(map(slice, begin, end, steps))]
        # A negative end counts from the back once; only Python's None reaches before the front.
        given = [np.array(part, I64) for part in (begin, end, steps)]
        assert_close(run("StridedSlice", x, *given)[0], expected)
        order = [int(v) for v in rng.permutation(x.ndim)]
        chosen = [part[order] for part in given]
        y = run("StridedSliceV2", x, *chosen[:2], np.array(order, I64), chosen[2])[0]
        assert_close(y, expected)


def test_strided_slice_v2_masks_speak_of_dimensions():
    y = run(
        "StridedSliceV2", X, np.array([2], I64), np.array([3], I64), np.array([1], I64),
        end_mask=2, shrink_axis_mask=1,
    )[0]  # fmt: skip
    assert_close(y, X[0, 2:])


@pytest.mark.parametrize("dtype", ANY)
@pytest.mark.parametrize("pads", [((1, 2), (0, 0), (3, 1)), ((-1, 2), (0, -2), (1, 1))])
def test_pad(pads, dtype):
    x = sample("any", (4, 5, 6), dtype)
    cropped = x[
        tuple(slice(max(-b, 0), n - max(-a, 0)) for (b, a), n in zip(pads, x.shape, strict=True))
    ]
    expected = np.pad(cropped, [(max(b, 0), max(a, 0)) for b, a in pads])
    assert_close(run("Pad", x, np.array(pads, I32))[0], expected)
    assert_close(run("Pad", x, np.array(pads, I64).reshape(-1))[0], expected)
    fill = np.array([1], dtype)
    expected = np.pad(
        cropped.astype(F32), [(max(b, 0), max(a, 0)) for b, a in pads], constant_values=1
    ).astype(dtype)
    assert_close(run("PadV3", x, np.array(pads, I64), fill)[0], expected)


@pytest.mark.parametrize(
    ("mode", "onnx_mode"),
    [("constant", "constant"), ("reflect", "reflect"), ("edge", "edge"), ("circular", "wrap")],
)
@pytest.mark.parametrize("pads", [(1, 0, 2, 2, 1, 0), (0, 0, 0, 0, 0, 0), (3, 4, 5, 0, 1, 2)])
def test_pad_v3_as_onnx(mode, onnx_mode, pads):
    pads = np.array(pads, I64)
    expected = onnx_outputs("Pad", X, pads, mode=onnx_mode)[0]
    assert_close(run("PadV3", X, pads, mode=mode, paddings_contiguous=False)[0], expected)


def test_pad_v3_symmetric_repeats_the_edge():
    pads = np.array([[2, 1], [0, 0], [6, 6]], I64)
    expected = np.pad(X, pads, mode="symmetric")
    assert_close(run("PadV3", X, pads, mode="symmetric")[0], expected)
