"""Convolutions over images with the channels last, against sums over kernel elements in f64."""

import numpy as np
import pytest

from ge_xdsl.dialects.ge.windows import Window, pad_planes, reduce_windows, window_count
from ge_xdsl.interpreters import channels_last
from ge_xdsl.interpreters.channels_last import (
    Depthwise,
    Pointwise,
    RowPairs,
    SummedAfter,
    Unfolded,
    kernel_for,
)


def windows(image, kernel, strides, dilations, pads):
    found = []
    for i in range(2):
        before, after = pads[2 * i : 2 * i + 2]
        window = Window(kernel[i], strides[i], dilations[i], before, after)
        count = window_count(image.shape[i], window)
        found.append(Window(kernel[i], strides[i], dilations[i], before, after, count))
    return found


def by_sums(image, weight, high, wide):
    """One product with the channels per kernel element, in f64."""
    sides = ((high.before, high.after), (wide.before, wide.after), (0, 0))
    padded = np.pad(image.astype(np.float64), sides)
    total = np.zeros((high.count, wide.count, len(weight)))
    for u in range(high.kernel):
        for v in range(wide.kernel):
            rows = padded[u * high.dilation :: high.stride][: high.count]
            places = rows[:, v * wide.dilation :: wide.stride][:, : wide.count]
            taps = weight[:, :, u, v].astype(np.float64)
            is_depthwise = weight.shape[1] == 1 < image.shape[2]
            total += places * taps[:, 0] if is_depthwise else places @ taps.T
    return total


def computed(kernel, image, high, wide, channels):
    y = np.full((high.count, wide.count, channels), np.nan, np.float32)
    compute = kernel.on(image)
    for first in range(0, high.count, kernel.step):
        part = y[first : first + kernel.step]
        compute(first, first + len(part), part)
    return y


PLAIN = ((1, 1), (1, 1), (0, 0, 0, 0))
# kernel: image, filter, (strides, dilations, pads)
CASES = {
    "1x1": (Pointwise, (9, 7, 5), (6, 5, 1, 1), PLAIN),
    "1x1, strides": (Pointwise, (9, 8, 5), (6, 5, 1, 1), ((2, 3), (1, 1), (0, 0, 0, 0))),
    "1x1, pads": (Unfolded, (4, 5, 3), (2, 3, 1, 1), ((1, 1), (1, 1), (1, 0, 0, 2))),
    "3x3": (Unfolded, (9, 11, 3), (4, 3, 3, 3), ((1, 1), (1, 1), (1, 1, 1, 1))),
    "3x2, strides": (Unfolded, (9, 11, 3), (4, 3, 3, 2), ((2, 3), (1, 1), (0, 2, 1, 0))),
    "dilated": (Unfolded, (12, 13, 3), (4, 3, 3, 3), ((2, 1), (2, 3), (1, 1, 3, 3))),
    "row": (Unfolded, (1, 200, 1), (3, 1, 1, 64), ((1, 2), (1, 1), (0, 0, 0, 0))),
    "wide": (Unfolded, (6, 40, 8), (8, 8, 4, 17), ((1, 1), (1, 1), (1, 1, 8, 8))),
    "pairs": (RowPairs, (40, 30, 24), (16, 24, 3, 3), ((1, 1), (1, 1), (1, 1, 1, 1))),
    "pairs and one": (RowPairs, (41, 30, 24), (16, 24, 3, 3), ((1, 1), (1, 1), (1, 1, 1, 1))),
    "pairs, wide": (RowPairs, (33, 66, 16), (16, 16, 3, 9), ((1, 1), (1, 2), (0, 0, 8, 8))),
    "pairs, strides": (RowPairs, (64, 30, 64), (64, 64, 3, 2), ((1, 2), (1, 1), (1, 0, 1, 0))),
    "high": (Unfolded, (40, 3, 2), (5, 2, 9, 1), ((1, 1), (1, 1), (4, 4, 0, 0))),
    "one output": (SummedAfter, (50, 40, 32), (1, 32, 5, 3), ((1, 1), (1, 1), (2, 2, 1, 1))),
    "one output, dilated": (
        SummedAfter,
        (60, 50, 16),
        (1, 16, 3, 3),
        ((1, 1), (2, 3), (2, 2, 0, 3)),
    ),
    "depthwise": (Depthwise, (9, 11, 4), (4, 1, 3, 3), ((1, 1), (1, 1), (1, 1, 1, 1))),
    "depthwise, strides": (Depthwise, (9, 11, 4), (4, 1, 3, 3), ((2, 2), (1, 1), (1, 1, 1, 1))),
    "depthwise, far strides": (Depthwise, (9, 14, 4), (4, 1, 5, 2), ((1, 3), (1, 1), (2, 2, 1, 1))),
    "depthwise, 5x4": (Depthwise, (9, 12, 4), (4, 1, 5, 4), ((1, 2), (1, 1), (2, 2, 3, 0))),
    "depthwise, dilated": (Depthwise, (9, 12, 4), (4, 1, 3, 3), ((2, 1), (2, 3), (2, 1, 3, 3))),
    "depthwise, no pads": (Depthwise, (6, 7, 3), (3, 1, 2, 2), PLAIN),
    "depthwise, pads beyond": (
        Depthwise,
        (11, 9, 3),
        (3, 1, 2, 2),
        ((20, 30), (1, 1), (7, 0, 9, 3)),
    ),
    "pads beyond": (Unfolded, (11, 9, 3), (4, 3, 3, 2), ((20, 20), (1, 1), (9, 0, 9, 3))),
    "depthwise, 1x1": (Depthwise, (6, 7, 3), (3, 1, 1, 1), ((1, 2), (1, 1), (0, 0, 0, 0))),
}


@pytest.mark.parametrize("layout", ["last", "first", "reversed"])
@pytest.mark.parametrize("name", CASES)
def test_a_kernel_sums_what_its_windows_reach(name, layout, monkeypatch):
    kind, size, shape, geometry = CASES[name]
    rng = np.random.default_rng(len(name))
    image = rng.normal(size=size).astype(np.float32)
    if layout == "first":
        image = np.ascontiguousarray(image.transpose(2, 0, 1)).transpose(1, 2, 0)
    elif layout == "reversed":
        image = image[::-1, ::-1]
    weight = rng.normal(size=shape).astype(np.float32)
    high, wide = windows(image, shape[2:], *geometry)
    wanted = by_sums(image, weight, high, wide)
    for block, tile in ((1 << 16, 1 << 17), (64, 40)):
        monkeypatch.setattr(channels_last, "BLOCK", block)
        monkeypatch.setattr(channels_last, "TILE", tile)
        kernel = kernel_for(size[2], weight, (high, wide))
        assert type(kernel) is kind
        found = computed(kernel, image, high, wide, shape[0])
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6 * abs(wanted).max())


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 12])
def test_results_taken_together_are_those_taken_apart(count):
    rng = np.random.default_rng(count)
    image = rng.normal(size=(7, 12, 3)).astype(np.float32)
    weight = rng.normal(size=(4, 3, 3, 5)).astype(np.float32)
    for strides, dilations in (((1, 1), (1, 1)), ((2, 3), (1, 1)), ((1, 1), (2, 2))):
        pair = windows(image, (3, 5), strides, dilations, (1, 1, 2, 2))
        wanted = by_sums(image, weight, *pair)
        for kind in (Unfolded, RowPairs)[: 2 if strides[0] == dilations[0] == 1 else 1]:
            found = computed(kind(weight, pair, count), image, *pair, 4)
            np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6 * abs(wanted).max())


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf, 3e38])
@pytest.mark.parametrize(
    "name",
    ["wide", "row", "pairs", "one output", "depthwise", "1x1", "dilated", "depthwise, dilated"],
)
def test_what_is_not_finite_stays_in_its_windows(name, odd):
    _, size, shape, geometry = CASES[name]
    image = np.ones(size, np.float32)
    image[size[0] // 2 - 1, size[1] // 2, 0] = odd
    weight = np.ones(shape, np.float32)
    high, wide = windows(image, shape[2:], *geometry)
    kernel = kernel_for(size[2], weight, (high, wide))
    with np.errstate(all="ignore"):  # as a program runs
        found = computed(kernel, image, high, wide, shape[0])
        wanted = by_sums(image, weight, high, wide).astype(np.float32)
    np.testing.assert_allclose(found, wanted)


@pytest.mark.parametrize("factor", [0.0, 1e-6, np.nan, np.inf])
def test_rows_of_a_filter_that_differ_much_are_not_summed_first(factor):
    _, size, shape, geometry = CASES["pairs"]
    image = np.ones(size, np.float32)
    image[size[0] // 2] = 1e7
    weight = np.ones(shape, np.float32)
    weight[3, :, 1] *= factor
    high, wide = windows(image, shape[2:], *geometry)
    kernel = kernel_for(size[2], weight, (high, wide))
    with np.errstate(all="ignore"):
        found = computed(kernel, image, high, wide, shape[0])
        wanted = by_sums(image, weight, high, wide)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


@pytest.mark.parametrize("outputs", [1, 2])
def test_windows_that_no_memory_holds_are_refused(outputs):
    image = np.zeros((1, 1, 1), np.float32)
    weight = np.zeros((outputs, 1, 2000, 2000), np.float32)
    pair = windows(image, (2000, 2000), (1, 1), (1, 1), (2000, 2000, 2000, 2000))
    with pytest.raises(ValueError, match="windows of rows of results has 8008000000 elements, exp"):
        kernel_for(1, weight, pair).on(image)


def test_products_before_the_sums_are_few():
    image = np.zeros((256, 256, 32), np.float32)
    for kernel, kind in (((5, 5), SummedAfter), ((64, 64), Unfolded)):
        pair = windows(image, kernel, (1, 1), (1, 1), (0, 0, 0, 0))
        assert type(kernel_for(32, np.ones((1, 32, *kernel), np.float32), pair)) is kind


@pytest.mark.parametrize(
    ("shape", "strides", "dilations"),
    [
        ((6, 2, 3, 3), (1, 1), (1, 1)),
        ((8, 1, 3, 3), (1, 1), (1, 1)),
        ((4, 1, 3, 3), (1, 2), (1, 2)),
    ],
)
def test_no_kernel_for_groups_of_other_kinds(shape, strides, dilations):
    pair = windows(np.zeros((9, 9, 4)), (3, 3), strides, dilations, (0, 0, 0, 0))
    assert kernel_for(4, np.zeros(shape, np.float32), pair) is None


@pytest.mark.parametrize("combine", [np.maximum, np.add])
def test_windows_are_reduced_in_any_memory_order(combine):
    rng = np.random.default_rng(2)
    x = rng.normal(size=(2, 5, 9, 8)).astype(np.float32)
    last = np.ascontiguousarray(x.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)
    pair = windows(x[0, 0], (3, 2), (2, 1), (1, 2), (1, 0, 0, 2))
    plain, ours = (reduce_windows(pad_planes(a, pair, -1), pair, combine) for a in (x, last))
    assert ours.strides[1] == ours.itemsize
    np.testing.assert_allclose(ours, plain, rtol=1e-6, atol=1e-6)
