"""Patches, spectra, means of segments, bands of diagonals and n-grams, against loops and onnx."""

import itertools

import numpy as np
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator
from op_runs import make, run
from op_witness import BF16, F16, F32, F64, I32, I64, assert_close, sample

from ge_xdsl.dialects.ge.op import GeOp

C64, C128 = np.complex64, np.complex128


def patches(x, ksizes, strides, rates, same):
    """Patches of an NHWC image, one window at a time."""
    n, high, wide, c = x.shape
    spans = [(k - 1) * r + 1 for k, r in zip(ksizes, rates, strict=True)]
    sizes = (high, wide)
    if same:
        counts = [-(-n // s) for n, s in zip(sizes, strides, strict=True)]
    else:
        counts = [(n - k) // s + 1 for n, k, s in zip(sizes, spans, strides, strict=True)]
    total = [
        max((m - 1) * s + k - n, 0)
        for n, m, k, s in zip(sizes, counts, spans, strides, strict=True)
    ]
    before = [t // 2 if same else 0 for t in total]
    y = np.zeros((n, *counts, ksizes[0] * ksizes[1] * c), x.dtype)
    for i, j, u, v in itertools.product(*map(range, (*counts, *ksizes))):
        row = i * strides[0] + u * rates[0] - before[0]
        column = j * strides[1] + v * rates[1] - before[1]
        if 0 <= row < high and 0 <= column < wide:
            start = (u * ksizes[1] + v) * c
            y[:, i, j, start : start + c] = x[:, row, column]
    return y


@pytest.mark.parametrize("dtype", [F32, F16, BF16, I32])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize(
    ("ksizes", "strides", "rates"),
    [((3, 2), (1, 1), (1, 1)), ((2, 3), (2, 3), (1, 1)), ((2, 2), (1, 2), (3, 2))],
)
def test_extract_image_patches(ksizes, strides, rates, padding, dtype):
    x = sample("any", (2, 7, 6, 3), dtype)
    attrs = {
        name: [1, *values, 1]
        for name, values in (("ksizes", ksizes), ("strides", strides), ("rates", rates))
    }
    (y,) = run("ExtractImagePatches", x, padding=padding, **attrs)
    np.testing.assert_array_equal(y, patches(x, ksizes, strides, rates, padding == "SAME"))


@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (0, 3, 4, 5), (1, 1, 1, 1)])
@pytest.mark.parametrize(("down", "right"), [(2, 3), (1, 1)])
def test_upsample(shape, down, right):
    x = sample("any", shape, F32)
    (y,) = run("Upsample", x, stride_h=down, stride_w=right)
    np.testing.assert_array_equal(y, np.kron(x, np.ones((down, right), F32)))


def test_upsample_with_a_scale_has_no_value():
    op = make("Upsample", [np.ones((1, 1, 2, 2), F32)], True, attrs={"scale": 2.0})
    with pytest.raises(ValueError, match="scale is 2.0, expected 1: its meaning is unconfirmed"):
        op.execute([np.ones((1, 1, 2, 2), F32)])


def spectrum(x, window, n_fft, hop, onesided, normalized):
    """One frame and one frequency at a time."""
    count = n_fft // 2 + 1 if onesided else n_fft
    frames = (x.shape[-1] - n_fft) // hop + 1
    y = np.zeros((*x.shape[:-1], count, frames), C128)
    k = np.arange(n_fft)
    for f, t in np.ndindex(count, frames):
        wave = np.exp(-2j * np.pi * f * k / n_fft)
        y[..., f, t] = (x[..., t * hop : t * hop + n_fft] * window * wave).sum(axis=-1)
    return y / np.sqrt(n_fft) if normalized else y


@pytest.mark.parametrize("dtype", [F32, F64, C64, C128])
@pytest.mark.parametrize("length", [0, 5, 8])
@pytest.mark.parametrize("hop", [0, 3])
@pytest.mark.parametrize("shape", [(20,), (2, 9)])
def test_stft(shape, hop, length, dtype):
    x = sample("any", shape, F64)
    x = (x + 1j * x[..., ::-1]).astype(dtype) if np.dtype(dtype).kind == "c" else x.astype(dtype)
    onesided = x.dtype.kind != "c"
    width = length or 8
    window = np.linspace(0.5, 1.5, width).astype(F64 if x.dtype in (F64, C128) else F32)
    full = np.zeros(8)
    full[(8 - width) // 2 : (8 - width) // 2 + width] = window
    for normalized in (False, True):
        attrs = {"n_fft": 8, "hop_length": hop, "win_length": length, "onesided": onesided}
        attrs["normalized"] = normalized
        (y,) = run("STFT", x, window, **attrs)
        expected = spectrum(x, full, 8, hop or 2, onesided, normalized)
        assert y.dtype == (C128 if x.dtype in (F64, C128) else C64)
        np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-4)
        (pairs,) = run("STFT", x, window, **attrs, return_complex=False)
        np.testing.assert_array_equal(pairs, np.stack((y.real, y.imag), axis=-1))


def test_stft_without_a_window_takes_ones():
    x = sample("any", (1, 12), F32)
    (y,) = run("STFT", x, None, n_fft=4, hop_length=2)
    np.testing.assert_allclose(y, spectrum(x, np.ones(4), 4, 2, True, False), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("dtype", [F32, F16, F64])
@pytest.mark.parametrize("index", [I32, I64])
@pytest.mark.parametrize("segments", [[0, 0, 1, 3], [2, 2, 2, 2], [0, 1, 2, 3], []])
def test_sparse_segment_mean(segments, index, dtype):
    x = sample("any", (5, 3), dtype)
    indices = np.arange(len(segments)) * 3 % 5
    (y,) = evaluated("SparseSegmentMean", x, indices.astype(index), np.array(segments, index))
    expected = np.zeros((segments[-1] + 1 if segments else 0, 3))
    for segment in set(segments):
        rows = [x[i] for i, s in zip(indices, segments, strict=True) if s == segment]
        expected[segment] = np.mean(np.array(rows, np.float64), axis=0)
    assert_close(y, expected.astype(dtype), scale=4)


def evaluated(op_type, *arrays, **attrs):
    """The results of an op whose shapes depend on values that `infer` does not read."""
    op = make(op_type, arrays, True, attrs=attrs)
    assert isinstance(op, GeOp)
    return op.execute(list(arrays))


@pytest.mark.parametrize(
    ("indices", "segments", "message"),
    [
        ([0, 1], [1, 0], "segment_ids fall or are negative, expected rising ones from 0"),
        ([0, 1], [-1, 0], "segment_ids fall or are negative, expected rising ones from 0"),
        ([0, 5], [0, 0], "indices name no slice of x, expected 0 to 4"),
    ],
)
def test_sparse_segment_mean_refuses(indices, segments, message):
    with pytest.raises(ValueError, match=message):
        evaluated(
            "SparseSegmentMean", np.ones((5, 3), F32), np.array(indices, I32),
            np.array(segments, I32),
        )  # fmt: skip


@pytest.mark.parametrize("dtype", [F32, I32, C64])
@pytest.mark.parametrize(
    ("ends", "rows", "columns", "longest"),
    [
        ((0,), -1, -1, 3), ((2,), -1, -1, 3), ((-1,), 5, 4, 4), ((-1, 1), -1, -1, 4),
        ((-2, 0), 5, 3, 3), ((0, 2), 3, 6, 3), ((1, 2), 3, 4, 3),
    ],
)  # fmt: skip
def test_matrix_diag_v2(ends, rows, columns, longest, dtype):
    low, high = ends[0], ends[-1]
    many = high - low + 1
    shape = (2, longest) if many == 1 else (2, many, longest)
    diagonal = (np.arange(np.prod(shape)).reshape(shape) + 1).astype(dtype)
    pad = np.array(-7, dtype)
    (y,) = run(
        "MatrixDiagV2", diagonal, np.array(ends, I32), np.array(rows, I32), np.array(columns, I32),
        pad,
    )  # fmt: skip
    rows = longest - min(high, 0) if rows == -1 else rows
    columns = longest + max(low, 0) if columns == -1 else columns
    expected = np.full((2, rows, columns), pad)
    for b, i, j in np.ndindex(2, rows, columns):
        if low <= j - i <= high:
            band = diagonal[b] if many == 1 else diagonal[b, high - (j - i)]
            expected[b, i, j] = band[min(i, j)]
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("dtype", [F32, F16, BF16])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("shape", [(4, 3), (2, 3, 5), (2, 3, 4, 5)])
def test_batch_norm_v3(shape, training, dtype):
    x = sample("any", shape, dtype)
    weight, bias, mean, var = (sample("positive", (3,), F32, seed) for seed in range(4))
    found = run(
        "BatchNormV3", x, weight, bias, mean, var, is_training=training, momentum=0.25, epsilon=1e-3
    )
    rows = np.moveaxis(x.astype(np.float64), 1, -1).reshape(-1, 3)
    m, v = (rows.mean(axis=0), rows.var(axis=0)) if training else (mean, var)
    y = (rows - m) / np.sqrt(v + 1e-3) * weight + bias
    y = np.moveaxis(y.reshape(np.moveaxis(x, 1, -1).shape), -1, 1)
    assert_close(found[0], y.astype(dtype), scale=16)
    wanted = [mean, var]
    if training:
        wanted = [0.75 * mean + 0.25 * m, 0.75 * var + 0.25 * rows.var(axis=0, ddof=1)]
    for ours, theirs in zip(found[1:], [*wanted, m, 1 / np.sqrt(v + 1e-3)], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("mode", ["TF", "IDF", "TFIDF"])
@pytest.mark.parametrize("lengths", [(1, 1), (2, 2), (1, 2), (2, 3)])
@pytest.mark.parametrize("skips", [0, 1, 5])
@pytest.mark.parametrize("shape", [(12,), (3, 6)])
def test_tf_idf_vectorizer_as_onnx(shape, skips, lengths, mode):
    x = np.random.default_rng(2).integers(2, 7, shape)
    attrs = {
        "mode": mode,
        "min_gram_length": lengths[0],
        "max_gram_length": lengths[1],
        "max_skip_count": skips,
        "ngram_counts": [0, 4, 10],
        "ngram_indexes": [0, 1, 2, 3, 4, 6, 5, 7],
        "pool_int64s": [2, 3, 5, 4, 5, 6, 4, 5, 6, 6, 2, 3, 4],
        "weights": [0.5, 1.5, 2.0, 3.0, 4.0, 0.25, 1.0, 6.0],
    }
    (y,) = run("TfIdfVectorizer", x, **attrs)
    node = helper.make_node("TfIdfVectorizer", ["x"], ["y"], **attrs)
    info = [helper.make_tensor_value_info("x", 7, shape)]
    out = [helper.make_tensor_value_info("y", 1, None)]
    model = helper.make_model(helper.make_graph([node], "g", info, out))
    np.testing.assert_allclose(y, ReferenceEvaluator(model).run(None, {"x": x})[0], rtol=1e-6)


def test_tf_idf_of_strings_has_no_value():
    attrs = {
        "mode": "TF", "min_gram_length": 1, "max_gram_length": 1, "max_skip_count": 0,
        "ngram_counts": [0], "ngram_indexes": [0], "pool_strings": ["a"],
    }  # fmt: skip
    x = np.zeros(3, I64)
    with pytest.raises(ValueError, match="pool_int64s is empty, expected numbers"):
        make("TfIdfVectorizer", [x], True, attrs=attrs).execute([x])


@pytest.mark.parametrize(
    ("op_type", "arrays", "attrs", "count"),
    [
        ("Upsample", [np.ones((1, 1, 1, 1), F32)], {"stride_h": 10**6, "stride_w": 10**6}, 10**12),
        (
            "MatrixDiagV2",
            [np.ones(1, F32), *(np.array(n, I32) for n in (0, 1, 10**9)), np.array(0, F32)],
            {},
            10**9,
        ),
        (
            "SparseSegmentMean",
            [np.ones((1, 1), F32), np.array([0]), np.array([10**12 - 1])],
            {},
            10**12,
        ),
        (
            "TfIdfVectorizer",
            [np.zeros(2, I64)],
            {
                "mode": "TF", "min_gram_length": 1, "max_gram_length": 1, "max_skip_count": 0,
                "ngram_counts": [0], "ngram_indexes": [10**12 - 1], "pool_int64s": [1],
            },
            10**12,
        ),
    ],
)  # fmt: skip
def test_large_results_of_small_operands_are_refused(op_type, arrays, attrs, count):
    with pytest.raises(ValueError, match=f"result has {count} elements, expected at most"):
        evaluated(op_type, *arrays, **attrs)
