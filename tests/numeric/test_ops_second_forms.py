"""Elementwise ops under a second name, running extremes, the inverse error function, cameras."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from op_runs import run
from op_witness import BF16, F16, F32, F64, I32, U8, assert_close, sample

FLOATS = (F32, F16, BF16)


def rounded(exact, dtype):
    return np.asarray(exact).astype(dtype)


@pytest.mark.parametrize("dtype", [*FLOATS, I32])
@pytest.mark.parametrize("shapes", [((2, 3), (3,)), ((), (2,)), ((0, 3), (1, 3))])
def test_binary(shapes, dtype):
    a, b = (sample("any", s, dtype, i) for i, s in enumerate(shapes))
    wide = (a.astype(F64), b.astype(F64)) if dtype is not I32 else (a, b)
    for op, function in {
        "AddV2": np.add,
        "SubV2": np.subtract,
        "MulV2": np.multiply,
        "MaximumV2": np.maximum,
    }.items():
        assert_close(run(op, a, b)[0], rounded(function(*wide), dtype))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(2, 3), (), (0, 2)])
def test_unary(shape, dtype):
    x = sample("unit", shape, dtype)
    exact = x.astype(F64)
    for op, function in {
        "CeilV2": np.ceil,
        "SquareV2": np.square,
        "TanV2": np.tan,
        "TruncV2": np.trunc,
        "Log1pV2": np.log1p,
    }.items():
        assert_close(run(op, x)[0], rounded(function(exact), dtype))


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(x=st.floats(-1, 1), dtype=st.sampled_from([F64, *FLOATS]))
def test_erfinv_undoes_erf(x, dtype):
    (found,) = run("Erfinv", np.array(x, dtype))
    x = float(np.array(x, dtype))
    y = float(found)
    if abs(x) == 1:
        assert y == math.copysign(math.inf, x)
        return
    unit = 2.0**-7 if dtype is BF16 else float(np.finfo(dtype).eps)
    error = math.erf(y) - x if abs(x) < 0.5 else math.copysign(1 - abs(x) - math.erfc(abs(y)), x)
    slope = 2 / math.sqrt(math.pi) * math.exp(-y * y)
    assert abs(error) <= 2 * unit * abs(y) * slope + 1e-300


def test_erfinv_beyond_one():
    found = run("Erfinv", np.array([1.5, -2.0, np.nan], F32))[0]
    assert np.isnan(found).all()


@pytest.mark.parametrize("dtype", [*FLOATS, I32])
def test_scaled_sums(dtype):
    a, x, y = (
        sample("any", (1,), dtype),
        sample("any", (2, 3), dtype, 1),
        sample("any", (2, 3), dtype, 2),
    )
    wide = [v.astype(F64) if dtype is not I32 else v for v in (a, x, y)]
    assert_close(run("AxpyV1", a, x, y)[0], rounded(wide[0] * wide[1] + wide[2], dtype), scale=2)
    row = y[0]
    exact = wide[1] + wide[0] * wide[2][0]
    assert_close(run("AxpyV2", x, row, a)[0], rounded(exact, dtype), scale=2)
    if dtype is I32:
        return
    assert_close(run("AxpyV3", x, row, a=0.25)[0], rounded(0.25 * wide[1] + wide[2][0], dtype))
    y1, y2 = run("FusedMulAddNL2loss", x, y, a)
    assert_close(y1, rounded(wide[1] * wide[0] + wide[2], dtype), scale=2)
    assert_close(y2, rounded((wide[1] ** 2).sum() / 2, dtype))


def test_relu_with_a_mask_and_its_gradient():
    x = sample("any", (3, 4), F32)
    y, mask = run("ReluV2", x)
    np.testing.assert_array_equal(y, np.where(x > 0, x, 0))
    np.testing.assert_array_equal(mask, x > 0)
    dy = sample("any", (3, 4), F32, 1)
    found = run("ReluGradV2", dy, mask.astype(U8))[0]
    np.testing.assert_array_equal(found, np.where(x > 0, dy, 0))


@pytest.mark.parametrize(
    ("op", "attr", "better"), [("Cummax", "dim", max), ("Cummin", "axis", min)]
)
@pytest.mark.parametrize("shape", [(3, 5), (2, 3, 4), (5,), (0, 3), ()])
@pytest.mark.parametrize("dtype", [F32, F16, I32])
def test_running_extremes(dtype, shape, op, attr, better):
    x = np.round(sample("any", shape, F32)).astype(dtype)
    for axis in range(-max(len(shape), 1), max(len(shape), 1)):
        y, places = run(op, x, **{attr: axis})
        assert y.shape == places.shape == x.shape
        if not x.size:
            continue
        rows, values, found = (
            np.moveaxis(np.atleast_1d(a), axis, -1).reshape(-1, x.shape[axis] if shape else 1)
            for a in (x, y, places)
        )
        for row, value, place in zip(rows, values, found, strict=True):
            best, where = row[:1].tolist(), [0][: len(row)]
            for i in range(1, len(row)):
                hit = row[i] == better(best[-1], row[i].item())
                best.append(row[i].item() if hit else best[-1])
                where.append(i if hit else where[-1])
            assert value.tolist() == best
            assert place.tolist() == where


@pytest.mark.parametrize("reduction", ["none", "sum", "mean", "batchmean"])
def test_kl_divergence(reduction):
    x, target = sample("any", (4, 3), F32), sample("positive", (4, 3), F32, 1)
    target[0, 0] = 0
    exact = np.zeros((4, 3))
    for at in np.ndindex(4, 3):
        t = float(target[at])
        exact[at] = t * (math.log(t) - float(x[at])) if t else 0
    wanted = {
        "none": exact,
        "sum": exact.sum(),
        "mean": exact.mean(),
        "batchmean": exact.sum() / 4,
    }[reduction]
    assert_close(run("KLDiv", x, target, reduction=reduction)[0], rounded(wanted, F32), scale=2)


def test_complex_numbers():
    for dtype, out in ((F32, 16), (F64, 17)):
        real, imag = sample("any", (2, 3), dtype), sample("any", (3,), dtype, 1)
        (found,) = run("Complex", real, imag, Tout=out)
        np.testing.assert_array_equal(found.real, real)
        np.testing.assert_array_equal(found.imag, np.broadcast_to(imag, (2, 3)))


def test_camera_casts():
    x = np.array([0, 1, 1000, 65535], np.uint16)
    for pixel in (65535, 1023, 1, 0):
        exact = x.astype(F64) / (pixel or 65535)
        assert_close(run("AdaCast", x, pixel=pixel)[0], rounded(np.minimum(exact, 65504), F16))
    x = sample("any", (1, 2, 3, 2, 2), F16)
    found = run("TransArgb", x)[0]
    for a, b, c, d, e in np.ndindex(*x.shape):
        assert found[a, d, e, c, b] == int(x[a, b, c, d, e])
    face, mask, top = (sample("positive", (2, 3), F32, i) for i in range(3))
    back = np.arange(6, dtype=U8).reshape(2, 3)
    exact = face.astype(F64) / (mask + 0.5) * top + back * (1 - top.astype(F64))
    found = run("BlendFaceBgPartTwo", face, mask, top, back, epsilon=0.5)[0]
    assert_close(found, rounded(exact, F32), scale=4)
    found = run("ContinuationIndicator", time_step=3, batch_size=2)[0]
    np.testing.assert_array_equal(found, [[0, 0], [1, 1], [1, 1]])


@pytest.mark.parametrize("dtype", FLOATS)
def test_clip_by_attributes(dtype):
    x = sample("any", (3, 4), dtype)
    found = run("Clip", x, min=-1.0, max=2.0)[0]
    assert_close(found, np.clip(x.astype(F64), -1, 2).astype(dtype))


def test_bernoulli_per_element():
    """0 and 1 are certain, the mean of many is the probability, and one seed gives one result."""
    x = np.repeat(np.array([[0.0], [0.25], [0.75], [1.0]], F32), 4096, axis=1)
    seed, offset = np.array(7, np.int64), np.array(0, np.int64)
    (found,) = run("StatelessBernoulliV2", x, seed, offset)
    np.testing.assert_allclose(found.mean(axis=1), [0, 0.25, 0.75, 1], atol=0.03)
    np.testing.assert_array_equal(found, run("StatelessBernoulliV2", x, seed, offset)[0])
    plain = run("StatelessBernoulli", np.array([4 * 4096], np.int64), np.array(0.25, F32), seed,
                offset)[0]  # fmt: skip
    np.testing.assert_array_equal(found[1], plain.reshape(4, 4096)[1])
    other = run("StatelessBernoulliV2", x, seed, offset, dtype=2)[0]
    np.testing.assert_array_equal(other, found.astype(np.int8))
