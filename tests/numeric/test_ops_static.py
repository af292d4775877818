"""Ops whose numbers are attributes, fills, and gradients of slices and pads, against numpy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from op_runs import run
from op_witness import BF16, F16, F32, F64, I32, I64, U8, sample

SLICES = [
    ([1], [3], [1], {}),
    ([-1, 4], [-5, 0], [-1, -2], {}),
    ([0, 9], [2, -9], [1, -1], {"begin_mask": 1, "end_mask": 2}),
    ([2], [0], [1], {"shrink_axis_mask": 1}),
    ([0, 0, 1], [0, 0, 4], [1, 1, 2], {"ellipsis_mask": 1, "new_axis_mask": 2}),
    ([3], [1], [1], {}),
]
INDICES = [
    np.s_[1:3],
    np.s_[-1:-5:-1, 4:0:-2],
    np.s_[:2, 9::-1],
    np.s_[2],
    np.s_[..., None, 1:4:2],
    np.s_[3:1],
]


@pytest.mark.parametrize(("numbers", "index"), zip(SLICES, INDICES, strict=True))
@pytest.mark.parametrize("shape", [(4, 5), (4, 5, 3)])
def test_strided_slices_and_gradients(shape, numbers, index):
    begin, end, strides, masks = numbers
    x = sample("any", shape, F32)
    listed = {"begin": begin, "end": end, "strides": strides, **masks}
    (found,) = run("StridedSliceD", x, **listed)
    np.testing.assert_array_equal(found, x[index])
    dy = sample("any", found.shape, F32, 1)
    wanted = np.zeros_like(x)
    wanted[index] = dy
    (found,) = run("StridedSliceGradD", dy, shape=list(shape), **listed)
    np.testing.assert_array_equal(found, wanted)
    operands = [np.array(v, I64) for v in (shape, begin, end, strides)]
    (found,) = run("StridedSliceGrad", *operands, dy, **masks)
    np.testing.assert_array_equal(found, wanted)


def test_slices_of_sizes_and_along_axes():
    x = sample("any", (4, 5, 6), F32)
    (found,) = run("SliceDV2", x, np.array([1, 0, 2], I32), size=[2, -1, 3])
    np.testing.assert_array_equal(found, x[1:3, :, 2:5])
    ints = [np.array(v, I64) for v in ([-1, 1], [-9, 9], [2, 0], [-2, 2])]
    (found,) = run("StridedSliceV3", x, *ints)
    np.testing.assert_array_equal(found, x[1:9:2, :, -1:-9:-2])
    (found,) = run("StridedSliceV3", x, *ints[:2])
    np.testing.assert_array_equal(found, x[-1:-9, 1:9])


PAIRS = [((1, 0), (0, 2)), ((0, 0), (2, 2)), ((-1, 1), (0, -2))]
NUMPY = {"reflect": "reflect", "edge": "edge", "symmetric": "symmetric", "circular": "wrap"}


def bordered(x, pairs, mode, fill=0):
    kept = x[
        tuple(slice(max(-b, 0), n - max(-a, 0)) for (b, a), n in zip(pairs, x.shape, strict=True))
    ]
    widths = [(max(b, 0), max(a, 0)) for b, a in pairs]
    if mode == "constant":
        return np.pad(kept, widths, constant_values=fill)
    return np.pad(kept, widths, mode=NUMPY[mode])


@pytest.mark.parametrize("pairs", PAIRS)
@pytest.mark.parametrize("dtype", [F32, F16, I32])
def test_constant_pads(dtype, pairs):
    x, fill = sample("any", (3, 4), dtype), np.array(3, dtype)
    listed = [list(p) for p in pairs]
    paddings = np.array(pairs, I32)
    wanted = bordered(x, pairs, "constant", 3)
    for found in (
        run("PadV2", x, paddings, fill)[0],
        run("PadV2D", x, fill, paddings=listed)[0],
        run("PadV3D", x, paddings=listed, constant_values=3)[0],
        run("PadV3D", x, paddings=np.array(pairs).T.tolist(), paddings_contiguous=False,
            constant_values=3)[0],
    ):  # fmt: skip
        np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(
        run("PadD", x, paddings=listed)[0], bordered(x, pairs, "constant")
    )


@pytest.mark.parametrize("pairs", PAIRS)
@pytest.mark.parametrize("mode", NUMPY)
def test_repeating_pads(mode, pairs):
    x = sample("any", (3, 4), F32)
    (found,) = run("PadV3D", x, paddings=[list(p) for p in pairs], mode=mode)
    np.testing.assert_array_equal(found, bordered(x, pairs, mode))
    if mode in ("reflect", "symmetric"):
        (found,) = run("MirrorPad", x, np.array(pairs, I64), mode=mode.upper())
        np.testing.assert_array_equal(found, bordered(x, pairs, mode))


@pytest.mark.parametrize("pairs", PAIRS[:2])
@pytest.mark.parametrize("mode", NUMPY)
@pytest.mark.parametrize("contiguous", [True, False])
def test_gradient_of_a_pad_is_its_adjoint(contiguous, mode, pairs):
    """<pad(x), dy> = <x, grad(dy)> for each unit vector x."""
    shape = (3, 4)
    dy = sample("any", bordered(np.zeros(shape), pairs, mode).shape, F64)
    paddings = np.array(pairs if contiguous else np.array(pairs).T, I32)
    found = run("PadV3Grad", dy, paddings, mode=mode, paddings_contiguous=contiguous)[0]
    wanted = np.zeros(shape)
    for at in np.ndindex(*shape):
        unit = np.zeros(shape)
        unit[at] = 1
        wanted[at] = (bordered(unit, pairs, mode) * dy).sum()
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


# Shapes


def test_dimensions_come_and_go():
    x = sample("any", (2, 1, 3, 1), F32)
    np.testing.assert_array_equal(run("SqueezeV2", x)[0], x[:, 0, :, 0])
    np.testing.assert_array_equal(run("SqueezeV2", x, axis=[-1])[0], x[..., 0])
    np.testing.assert_array_equal(run("UnsqueezeV2", x, axis=[0, -1])[0], x[None, ..., None])


def test_broadcasts_and_tiles():
    x = sample("any", (2, 1, 3), F32)
    np.testing.assert_array_equal(run("ExpandD", x, shape=[4, 1])[0], np.broadcast_to(x, (2, 4, 3)))
    np.testing.assert_array_equal(
        run("BroadcastToD", x, shape=[5, 2, 4, -1])[0], np.broadcast_to(x, (5, 2, 4, 3))
    )
    for times in ([2, 3], [2, 1, 0], [2, 1, 1, 2]):
        np.testing.assert_array_equal(run("TileD", x, multiples=times)[0], np.tile(x, times))


@pytest.mark.parametrize("order", [[0], [3, 1], [2, 0, 3, 1], [-1, 0]])
def test_permute(order):
    x = sample("any", (2, 3, 4, 5), F32)
    full = [o % 4 for o in order] + [i for i in range(4) if i not in {o % 4 for o in order}]
    np.testing.assert_array_equal(run("Permute", x, order=order)[0], x.transpose(full))


@pytest.mark.parametrize("first", [True, False])
def test_confusion_transposes(first):
    x = sample("any", (2, 3, 4), F32)
    shape, perm = ([8, 3], [2, 0, 1]) if first else ([4, 6], [1, 0])
    wanted = x.transpose(perm).reshape(shape) if first else x.reshape(shape).transpose(perm)
    attrs = {"perm": perm, "transpose_first": first}
    for found in (
        run("ConfusionTransposeD", x, shape=shape, **attrs)[0],
        run("ConfusionTranspose", x, np.array(shape, I64), **attrs)[0],
    ):
        np.testing.assert_array_equal(found, wanted)


def test_parts_and_copies():
    x = sample("any", (6, 4), F32)
    found = run("SplitVD", x, size_splits=[1, -1, 2], split_dim=0, num_split=3, counts=[3])
    for have, wanted in zip(found, (x[:1], x[1:4], x[4:]), strict=True):
        np.testing.assert_array_equal(have, wanted)
    found = run("PhonySplit", x, split_dim=[-1], num_split=[2], counts=[2])
    for have, wanted in zip(found, (x[:, :2], x[:, 2:]), strict=True):
        np.testing.assert_array_equal(have, wanted)
    (joined,) = run("PhonyConcat", list(found), concat_dim=[1], N=[2])
    np.testing.assert_array_equal(joined, x)
    for have in run("Copy", x, N=2, counts=[2]):
        np.testing.assert_array_equal(have, x)


# Fills


@pytest.mark.parametrize("dims", [[], [2, 3], [0, 4]])
def test_fills(dims):
    value = np.array(2.5, F32)
    np.testing.assert_array_equal(run("FillD", value, dims=dims)[0], np.full(dims, 2.5, F32))
    np.testing.assert_array_equal(run("FillV2D", value=2.5, dims=dims)[0], np.full(dims, 2.5, F32))
    x = np.ones(dims, BF16)
    (found,) = run("FillV2", x, value.astype(BF16))
    np.testing.assert_array_equal(found.astype(F32), np.full(dims, 2.5, F32))
    (found,) = run("Empty", np.array(dims, I32), dtype=1)
    np.testing.assert_array_equal(found, np.zeros(dims, F16))


@settings(max_examples=30, deadline=None, derandomize=True, database=None)
@given(start=st.integers(-20, 20), count=st.integers(1, 9), delta=st.sampled_from([1, 3, -2, 0.5]))
def test_ramps(start, count, delta):
    limit = start + count * delta
    for dtype in (F32, I32) if isinstance(delta, int) else (F32,):
        attrs = {"start": float(start), "limit": float(limit), "delta": float(delta)}
        (found,) = run("RangeD", np.zeros(count, dtype), **attrs)
        np.testing.assert_array_equal(found, (start + delta * np.arange(count)).astype(dtype))
    (found,) = run("LinSpace", np.array(start, F32), np.array(limit, F32), np.array(count, I32))
    wanted = [start + (limit - start) * i / max(count - 1, 1) for i in range(count)]
    np.testing.assert_allclose(found, np.array(wanted, F32), rtol=1e-6, atol=1e-6)
    (found,) = run("LinSpaceD", np.array(start, I32), np.array(start + 4, I32), np.array([5], I64))
    np.testing.assert_array_equal(found, np.arange(start, start + 5, dtype=F32))


@pytest.mark.parametrize("axis", [-1, 0, 1])
@pytest.mark.parametrize("dtype", [I32, U8])
def test_one_hot_of_a_given_depth(dtype, axis):
    x = np.array([[0, 3, 1], [2, 9, 0]], dtype)
    on, off = np.array([5.0], F16), np.array([-1.0], F16)
    (found,) = run("OneHotD", x, on, off, depth=4, axis=axis)
    wanted = np.full((2, 3, 4), -1, F16)
    for i, j in np.ndindex(2, 3):
        if x[i, j] < 4:
            wanted[i, j, x[i, j]] = 5
    np.testing.assert_array_equal(found, np.moveaxis(wanted, -1, axis))
