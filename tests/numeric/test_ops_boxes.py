"""Boxes, suppression and regions: formulas by loops and onnxruntime against `evaluate`."""

import math

import numpy as np
import pytest
from op_runs import make, onnx_outputs, run
from op_witness import F16, F32, F64, I32, I64, U8, assert_close, sample

from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor


def boxes(count, seed=0, dtype=F32, reach=10.0):
    """[count, 4] rows x1, y1, x2, y2 with positive sizes."""
    rng = np.random.default_rng(seed)
    low, size = rng.uniform(0, reach, (count, 2)), rng.uniform(0.5, reach / 2, (count, 2))
    return np.concatenate([low, low + size], axis=1).astype(dtype)


def ratio(a, b, mode, eps):
    """Overlap of gt box a with box b, in f64."""
    inner = eps if eps == 1 else 0
    a, b = (v.astype(F64) for v in (a, b))
    wide = min(a[2], b[2]) - max(a[0], b[0]) + inner
    high = min(a[3], b[3]) - max(a[1], b[1]) + inner
    inter = max(wide, 0) * max(high, 0)
    first = (a[2] - a[0] + eps) * (a[3] - a[1] + eps)
    second = (b[2] - b[0] + eps) * (b[3] - b[1] + eps)
    return inter / (first + second - inter if mode == "iou" else first)


@pytest.mark.parametrize("dtype", [F32, F16])
@pytest.mark.parametrize("eps", [1.0, 0.0, 0.25])
@pytest.mark.parametrize("mode", ["iou", "iof"])
def test_iou(mode, eps, dtype):
    first, second = boxes(5, 1, dtype), boxes(7, 2, dtype)
    expected = np.array([[ratio(b, a, mode, eps) for a in first] for b in second])
    y = run("Iou", first, second, mode=mode, eps=eps)[0]
    assert_close(y, expected.astype(dtype), scale=16)
    pairs = np.array([[ratio(b, a, mode, eps)] for a, b in zip(first, second[:5], strict=True)])
    y = run("Iou", first, second[:5], mode=mode, eps=eps, aligned=True)[0]
    assert_close(y, pairs.astype(dtype), scale=16)


@pytest.mark.parametrize("dtype", [F32, F16])
def test_encode_and_decode(dtype):
    anchor, wanted = boxes(6, 1, dtype), boxes(6, 2, dtype)
    means, stds = [0.1, -0.1, 0.2, 0.0], [0.5, 0.5, 0.25, 2.0]
    p, g = anchor.astype(F64), wanted.astype(F64)
    codes = np.zeros((6, 4))
    for k in (0, 1):
        pw, gw = p[:, 2 + k] - p[:, k] + 1, g[:, 2 + k] - g[:, k] + 1
        px, gx = (p[:, 2 + k] + p[:, k]) / 2, (g[:, 2 + k] + g[:, k]) / 2
        codes[:, k] = ((gx - px) / pw - means[k]) / stds[k]
        codes[:, 2 + k] = (np.log(gw / pw) - means[2 + k]) / stds[2 + k]
    found = run("BoundingBoxEncode", anchor, wanted, means=means, stds=stds)[0]
    assert_close(found, codes.astype(dtype), scale=32)
    attrs = {"means": means, "stds": stds}
    back = run("BoundingBoxDecode", anchor, found, max_shape=[100, 100], **attrs)[0]
    np.testing.assert_allclose(back.astype(F64), g, rtol=0.02, atol=0.05)
    cut = run("BoundingBoxDecode", anchor, found, max_shape=[3, 5], **attrs)[0]
    np.testing.assert_allclose(cut, np.clip(back, 0, [5, 3, 5, 3]), rtol=1e-6)
    assert not run("BoundingBoxDecode", anchor, found * np.nan, max_shape=[3, 5], **attrs)[0].any()


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("clip", [0.0, 0.3])
def test_decode_bbox_v2(clip, reverse):
    anchors, codes = boxes(5, 1), sample("unit", (5, 4), F32)
    scales = [10.0, 10.0, 5.0, 4.0]
    a, t = anchors.astype(F64), codes.astype(F64) / scales
    expected = np.zeros((5, 4))
    for k in (0, 1):
        size = a[:, 2 + k] - a[:, k]
        grown = size * np.exp(np.minimum(t[:, 2 + k], clip) if clip else t[:, 2 + k])
        center = t[:, k] * size + a[:, k] + size / 2
        expected[:, k], expected[:, 2 + k] = center - grown / 2, center + grown / 2
    given = (codes.T, anchors.T) if reverse else (codes, anchors)
    y = run("DecodeBboxV2", *given, scales=scales, decode_clip=clip, reversed_box=reverse)[0]
    expected = expected.astype(F32)
    assert_close(y, expected.T if reverse else expected, scale=8)


def test_yolo_boxes_encode():
    anchor, wanted, stride = boxes(6, 1), boxes(6, 2), np.array([1, 2, 4, 8, 16, 32], I32)
    wanted[0, 2:] = wanted[0, :2]  # no size
    a, g = anchor.astype(F64), wanted.astype(F64)
    expected = np.zeros((6, 4))
    for k in (0, 1):
        away = (g[:, k] + g[:, 2 + k] - a[:, k] - a[:, 2 + k]) / 2
        expected[:, k] = np.clip(away / stride + 0.5, 1e-6, 1 - 1e-6)
        size = (g[:, 2 + k] - g[:, k]) / (a[:, 2 + k] - a[:, k])
        expected[:, 2 + k] = np.log(np.maximum(size, 1e-6))
    assert_close(run("YoloBoxesEncode", anchor, wanted, stride)[0], expected.astype(F32), scale=16)


def test_anchor_response_flags():
    rows = np.array(
        [[0, 0, 6, 2], [90, 90, 99, 99], [-9, 4, -5, 8], [np.nan, 0, 0, 9], [8, 8, 8, 8]], F32
    )
    expected = np.zeros((3, 5, 2), U8)
    for x1, y1, x2, y2 in rows.tolist():
        cx, cy = (x1 + x2) / 2, (y1 + y2) / 2
        cx, cy = (v if math.isfinite(v) else 0 for v in (cx, cy))
        row, column = min(max(math.floor(cy / 2), 0), 2), min(max(math.floor(cx / 4), 0), 4)
        expected[row, column] = 1
    y = run("AnchorResponseFlags", rows, featmap_size=[3, 5], strides=[4, 2], num_base_anchors=2)[0]
    assert_close(y, expected.reshape(-1))


# Suppression


def scored(batch, classes, count, seed=0):
    rng = np.random.default_rng(seed)
    found = np.stack([boxes(count, seed + b) for b in range(batch)])
    return found, rng.permutation(batch * classes * count).reshape(batch, classes, count).astype(
        F32
    ) / (batch * classes * count)


@pytest.mark.parametrize("center", [0, 1])
@pytest.mark.parametrize("limit", [0, 3, 100])
@pytest.mark.parametrize("thresholds", [(0.3, 0.4), (0.5, None), (None, None)])
def test_v6_as_onnx(thresholds, limit, center):
    shapes, scores = scored(2, 3, 20)
    if center:
        shapes[..., 2:] -= shapes[..., :2]
    size = np.array([limit], I64)
    given = [None if v is None else np.array([v], F32) for v in thresholds]
    expected = onnx_outputs(
        "NonMaxSuppression", shapes, scores, size, *given, center_point_box=center
    )[0]
    y = run(
        "NonMaxSuppressionV6", shapes, scores, size.astype(I32), *given, center_point_box=center
    )[0]
    assert y.shape == (2 * 3 * min(limit, 20), 3)
    assert y.dtype == I32
    np.testing.assert_array_equal(y[: len(expected)], expected)
    assert (y[len(expected) :] == -1).all()


@pytest.mark.parametrize("pad", [False, True])
@pytest.mark.parametrize("limit", [2, 50])
def test_v4_as_one_class_of_onnx(limit, pad):
    shapes, scores = scored(1, 1, 25, 3)
    given = np.array([limit]), np.array([0.4], F32), np.array([0.1], F32)
    expected = onnx_outputs("NonMaxSuppression", shapes, scores, *given)[0][:, 2]
    mixed = shapes[0].copy()
    mixed[::2] = mixed[::2][:, [2, 1, 0, 3]]  # the other diagonal
    found = make(
        "NonMaxSuppressionV4", (mixed, scores[0, 0], np.array(limit, I32), *given[1:]), True, (),
        None, {"pad_to_max_output_size": pad},
    )  # fmt: skip
    indices, valid = found.execute([mixed, scores[0, 0], np.array(limit, I32), *given[1:]])
    np.testing.assert_array_equal(indices[: len(expected)], expected)
    assert valid == len(expected)
    assert indices.shape == (limit if pad else len(expected),)
    assert found.inferred()[0] == Tensor(DataType.DT_INT32, (limit if pad else DYNAMIC,))


def combined(shapes, scores, limit, total, thresholds, clip):
    """The rows (box, score, class) of one batch by the suppression of onnxruntime per class."""
    rows = []
    for label in range(scores.shape[1]):
        given = shapes[:, min(label, shapes.shape[1] - 1)]
        picked = onnx_outputs(
            "NonMaxSuppression", given[None], scores[None, None, :, label], np.array([limit]),
            *(np.array([v], F32) for v in thresholds),
        )[0][:, 2]  # fmt: skip
        rows += [(*given[i], scores[i, label], label) for i in picked]
    rows = np.array(sorted(rows, key=lambda row: -row[4]), F32).reshape(-1, 6)[:total]
    if clip:
        rows[:, :4] = rows[:, :4].clip(0, 1)
    return rows


@pytest.mark.parametrize("clip", [False, True])
@pytest.mark.parametrize("pad", [False, True])
@pytest.mark.parametrize(("many", "limit", "total"), [(1, 4, 30), (3, 2, 5), (3, 9, 9)])
def test_combined(many, limit, total, pad, clip):
    shapes = np.stack([boxes(12, s, reach=1.0) for s in range(2 * many)])
    shapes = shapes.reshape(2, many, 12, 4).transpose(0, 2, 1, 3).copy()
    scores = scored(2, 12, 3, 5)[1]
    thresholds = (0.3, 0.2)
    found = run(
        "CombinedNonMaxSuppression", shapes, scores, np.array(limit, I32), np.array(total, I32),
        *(np.array(v, F32) for v in thresholds), pad_per_class=pad, clip_boxes=clip,
    )  # fmt: skip
    size = min(total, limit * 3) if pad else total
    for batch in range(2):
        rows = combined(shapes[batch], scores[batch], limit, size, thresholds, clip)
        assert found[3][batch] == len(rows)
        expected = np.zeros((size, 6), F32)
        expected[: len(rows)] = rows
        assert_close(found[0][batch], expected[:, :4])
        assert_close(found[1][batch], expected[:, 4])
        assert_close(found[2][batch], expected[:, 5])


def test_suppression_with_a_mask_has_shapes_and_no_value():
    op = make("NMSWithMask", (np.zeros((7, 5), F32),), True)
    assert [str(t) for t in op.inferred()] == ["tensor<7x5xf32>", "tensor<7xi32>", "tensor<7xui8>"]
    assert not op.has_evaluate()


@pytest.mark.parametrize(
    ("operand", "text"),
    [
        (2, "max_output_size is 2, expected one element"),
        (3, "iou_threshold is 2, expected one element"),
    ],
)
def test_thresholds_of_two_numbers(operand, text):
    given = [np.zeros((3, 4), F32), np.zeros(3, F32), np.array([1], I32), *[np.zeros(1, F32)] * 2]
    op = make("NonMaxSuppressionV4", given, False)
    given[operand] = given[operand].repeat(2)
    with pytest.raises(ValueError, match=text):
        op.execute(given)


# Regions


def regions(count, batches, reach, seed=0):
    rng = np.random.default_rng(seed)
    return np.concatenate(
        [rng.integers(0, batches, (count, 1)), boxes(count, seed, reach=reach) - 2], axis=1
    ).astype(F32)


@pytest.mark.parametrize(("mode", "onnx_mode"), [(0, "output_half_pixel"), (2, "half_pixel")])
@pytest.mark.parametrize("number", [0, 1, 3])
@pytest.mark.parametrize("scale", [1.0, 0.5])
def test_roi_align_as_onnx(scale, number, mode, onnx_mode):
    x, rois = sample("any", (2, 3, 9, 11), F32), regions(8, 2, 16)
    expected = onnx_outputs(
        "RoiAlign", x, rois[:, 1:], rois[:, 0].astype(I64), output_height=3, output_width=2,
        sampling_ratio=number, spatial_scale=scale, coordinate_transformation_mode=onnx_mode,
    )[0]  # fmt: skip
    attrs = {"pooled_height": 3, "pooled_width": 2, "sample_num": number, "spatial_scale": scale}
    y = run("ROIAlign", x, rois, roi_end_mode=mode, **attrs)[0]
    assert_close(y, expected, scale=64)
    if mode == 0 and number:  # mode 1 counts the last element of a region
        ends = rois.copy()
        ends[:, 3:] -= 1
        sizes = (ends[:, 3:] + 1 - ends[:, 1:3]) * scale
        large = (sizes >= 1).all(axis=1)
        assert large.any()
        shifted = run("ROIAlign", x, ends, roi_end_mode=1, **attrs)[0]
        np.testing.assert_allclose(shifted[large], expected[large], rtol=1e-3, atol=1e-3)


def nearest(value):
    return math.floor(value + 0.5) if value >= 0 else math.ceil(value - 0.5)


@pytest.mark.parametrize("scales", [(1.0, 1.0), (0.5, 0.25)])
def test_roi_pooling(scales):
    x, rois = sample("any", (2, 3, 9, 11), F32), regions(8, 2, 16)
    expected = np.zeros((8, 3, 3, 2), F32)
    for r, (batch, x1, y1, x2, y2) in enumerate(rois.tolist()):
        top, bottom = nearest(y1 * scales[0]), nearest(y2 * scales[0])
        left, right = nearest(x1 * scales[1]), nearest(x2 * scales[1])
        high, wide = max(bottom - top + 1, 1), max(right - left + 1, 1)
        for i in range(3):
            for j in range(2):
                rows = range(
                    max(math.floor(i * high / 3) + top, 0),
                    min(math.ceil((i + 1) * high / 3) + top, 9),
                )
                columns = range(
                    max(math.floor(j * wide / 2) + left, 0),
                    min(math.ceil((j + 1) * wide / 2) + left, 11),
                )
                if rows and columns:
                    part = x[int(batch)][:, rows.start : rows.stop, columns.start : columns.stop]
                    expected[r, :, i, j] = part.max(axis=(1, 2))
    y = run(
        "ROIPooling", x, rois, pooled_h=3, pooled_w=2, spatial_scale_h=scales[0],
        spatial_scale_w=scales[1],
    )[0]  # fmt: skip
    assert_close(y, expected)


def test_regions_without_a_value():
    x, rois = np.zeros((2, 1, 3, 3), F32), np.array([[2, 0, 0, 1, 1]], F32)
    attrs = {"pooled_height": 1, "pooled_width": 1, "spatial_scale": 1.0}
    with pytest.raises(ValueError, match="rois name batch 2, expected one below 2"):
        run("ROIAlign", x, rois, **attrs)
    for place, odd in ((0, np.nan), (0, np.inf), (3, np.inf), (4, np.nan)):
        rois = np.array([[0, 0, 0, 1, 1]], F32)
        rois[0, place] = odd
        with pytest.raises(ValueError, match=rf"rois hold \[.*{odd}.*\], expected finite numbers"):
            run("ROIAlign", x, rois, **attrs, sample_num=0)
    rois = np.array([[2, 0, 0, 1, 1]], F32)
    for more in ({"roi_end_mode": 3}, {"pool_mode": "max"}):
        with pytest.raises(ValueError, match="expected 0 to 2 and 'avg'"):
            run("ROIAlign", x, rois, **attrs, **more)
