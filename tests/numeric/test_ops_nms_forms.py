"""Forms of non-maximum suppression, and overlaps with distances, against loops over boxes."""

import math

import numpy as np
import pytest
from op_runs import VALUE_DEPENDENT, run
from op_witness import F16, F32, F64, I32

NMS = {"NonMaxSuppression", "NonMaxSuppressionV2", "NonMaxSuppressionV3", "NonMaxSuppressionV5"}
assert NMS <= VALUE_DEPENDENT


def drawn(count, seed=0):
    rng = np.random.default_rng(seed)
    first = rng.uniform(0, 1, (count, 2))
    return np.concatenate([first, first + rng.uniform(0.1, 0.6, (count, 2))], 1).astype(F32)


def iou(a, b):
    a, b = a.astype(F64), b.astype(F64)
    sides = [min(a[i + 2], b[i + 2]) - max(a[i], b[i]) for i in (0, 1)]
    inter = max(sides[0], 0) * max(sides[1], 0)
    areas = [(c[2] - c[0]) * (c[3] - c[1]) for c in (a, b)]
    return inter / (sum(areas) - inter)


def hard(boxes, scores, limit, threshold, least=-math.inf):
    kept = []
    for i in sorted(range(len(scores)), key=lambda i: -scores[i]):
        free = all(iou(boxes[i], boxes[k]) <= threshold for k in kept)
        if len(kept) < limit and scores[i] > least and free:
            kept.append(i)
    return kept


def soft(boxes, scores, limit, threshold, least, sigma):
    left = {i: float(s) for i, s in enumerate(scores)}
    kept = []
    while left and len(kept) < limit:
        best = max(left, key=lambda i: left[i])
        if left[best] <= least:
            break
        kept.append((best, left.pop(best)))
        for i in list(left):
            overlap = iou(boxes[best], boxes[i])
            if overlap > threshold:
                del left[i]
            else:
                left[i] *= math.exp(-overlap * overlap / (2 * sigma))
    return kept


def number(value, dtype=F32):
    return np.array([value], dtype)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("limit", [0, 2, 9])
def test_hard_suppression(limit, seed):
    boxes, scores = drawn(9, seed), np.random.default_rng(seed).permutation(9).astype(F32) / 9
    size = number(limit, I32)
    for threshold in (0.2, 0.5):
        wanted = hard(boxes, scores, limit, threshold)
        found = run("NonMaxSuppression", boxes, scores, size, iou_threshold=threshold)[0]
        assert found.tolist() == wanted
        found = run("NonMaxSuppressionV2", boxes, scores, size, number(threshold))[0]
        assert found.tolist() == wanted
        wanted = hard(boxes, scores, limit, threshold, 0.3)
        operands = boxes[:, [2, 3, 0, 1]], scores, size, number(threshold), number(0.3)
        assert run("NonMaxSuppressionV3", *operands)[0].tolist() == wanted
        found, values, count = run("NonMaxSuppressionV5", *operands, number(0), T=0)
        assert found.tolist() == wanted
        np.testing.assert_array_equal(values, scores[wanted])
        assert count == len(wanted)


@pytest.mark.parametrize("sigma", [0.2, 1.0])
@pytest.mark.parametrize("pad", [False, True])
def test_soft_suppression(pad, sigma):
    boxes, scores = drawn(9, 4), np.random.default_rng(4).permutation(9).astype(F32) / 9
    wanted = soft(boxes, scores, 6, 0.6, 0.2, sigma)
    operands = boxes, scores, number(6, I32), number(0.6), number(0.2), number(sigma)
    found, values, count = run("NonMaxSuppressionV5", *operands, T=0, pad_to_max_output_size=pad)
    assert count == len(wanted)
    assert found.shape == ((6,) if pad else (len(wanted),))
    assert found[:count].tolist() == [i for i, _ in wanted]
    np.testing.assert_allclose(values[:count], [s for _, s in wanted], rtol=1e-5)
    assert not found[count:].any()


@pytest.mark.parametrize("dtype", [F32, F16])
@pytest.mark.parametrize("trans", [False, True])
def test_overlaps_with_distances(trans, dtype):
    a, b = drawn(8, 1).astype(dtype), drawn(8, 2).astype(dtype)
    wanted, tilts, full = [], [], []
    for p, q in zip(a.astype(F64), b.astype(F64), strict=True):
        hull = [max(p[i + 2], q[i + 2]) - min(p[i], q[i]) for i in (0, 1)]
        apart = [(p[i] + p[i + 2] - q[i] - q[i + 2]) / 2 for i in (0, 1)]
        wanted.append(iou(p, q) - sum(d * d for d in apart) / sum(h * h for h in hull))
        sides = [(c[2] - c[0]) / (c[3] - c[1]) for c in (p, q)]
        tilts.append(math.atan(sides[1]) - math.atan(sides[0]))
        v = 4 / math.pi**2 * tilts[-1] ** 2
        full.append(wanted[-1] - v * v / (1 - iou(p, q) + v))
    given = [c.astype(F64) for c in (a, b)]
    if trans:
        given = [np.concatenate([(c[:, :2] + c[:, 2:]) / 2, c[:, 2:] - c[:, :2]], 1) for c in given]
    operands = [np.ascontiguousarray(c.T).astype(dtype) for c in given]
    room = 2e-2 if dtype is F16 else 1e-5
    attrs = {"trans": trans, "is_cross": False}
    np.testing.assert_allclose(run("DIoU", *operands, **attrs)[0][0], wanted, rtol=room, atol=room)
    overlap, tilt = run("CIoU", *operands, **attrs)
    np.testing.assert_allclose(overlap[0], full, rtol=room, atol=room)
    np.testing.assert_allclose(tilt[0], tilts, rtol=room, atol=room)
    with pytest.raises(ValueError, match="is_cross is true, expected false to have a value"):
        run("DIoU", *operands)
