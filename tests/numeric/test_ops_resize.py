"""Resizing: onnxruntime's Resize against `evaluate`, in every mode."""

import numpy as np
import pytest
from op_runs import make, onnx_outputs, run
from op_witness import BF16, F16, F32, F64, I8, I32, I64, U8, assert_close, sample

from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Format, Layout, Tensor

SIZES = [(7, 5), (9, 13), (1, 1), (4, 6), (3, 11)]
TRANSFORMS = ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"]
ROUNDINGS = ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]


def resize(x, size=None, scales=None, roi=None, **attrs):
    """The op and its witness."""
    sizes = None if size is None else np.array([*x.shape[:2], *size], I64)
    factors = None if scales is None else np.array([1, 1, *scales], F32)
    region = None if roi is None else np.array(roi, F32)
    y = run("Resize", x, region, factors, sizes, **attrs)[0]
    return y, onnx_outputs("Resize", x, region, factors, sizes, **attrs)[0]


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("size", SIZES)
def test_nearest_as_onnx(size, transform, rounding):
    for dtype in (F32, I8, U8):
        x = sample("any", (2, 3, 4, 6), dtype)
        attrs = {"coordinate_transformation_mode": transform, "nearest_mode": rounding}
        assert_close(*resize(x, size, mode="nearest", **attrs))


@pytest.mark.parametrize("dtype", [F32, F16, BF16])
@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("size", SIZES)
def test_linear_as_onnx(size, transform, dtype):
    x = sample("any", (2, 3, 4, 6), dtype)
    found = resize(x, size, mode="linear", coordinate_transformation_mode=transform)
    assert_close(*found, scale=8)


@pytest.mark.parametrize("a", [-0.75, -0.5])
@pytest.mark.parametrize("exclude", [0, 1])
@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("size", SIZES)
def test_cubic_as_onnx(size, transform, exclude, a):
    x = sample("any", (2, 3, 4, 6), F32)
    found = resize(
        x, size, mode="cubic", coordinate_transformation_mode=transform, exclude_outside=exclude,
        cubic_coeff_a=a,
    )  # fmt: skip
    assert_close(*found, scale=32)


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("scales", [(0.6, 2.5), (1.7, 0.3), (2, 2), (1, 3)])
def test_scales_as_onnx(scales, mode):
    x = sample("any", (1, 2, 5, 7), F32)
    assert_close(*resize(x, scales=scales, mode=mode), scale=32)


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("size", [(5, 7), (1, 3)])
@pytest.mark.parametrize("part", [(0.1, 0.2, 0.9, 0.7), (-0.3, 0.5, 1.2, 1.6)])
def test_crop_as_onnx(part, size, mode):
    x = sample("any", (1, 2, 6, 8), F32)
    top, left, bottom, right = part
    found = resize(
        x, size, roi=[0, 0, top, left, 1, 1, bottom, right], mode=mode,
        coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=9.5,
    )  # fmt: skip
    assert_close(*found, scale=32)


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_five_dimensions_as_onnx(mode):
    x = sample("any", (1, 2, 3, 4, 5), F32)
    assert_close(*resize(x, (5, 3, 9), mode=mode), scale=16)


def test_scales_of_no_entry_are_none():
    x = sample("any", (1, 1, 2, 2), F32)
    y = run("Resize", x, None, np.zeros(0, F32), np.array([1, 1, 4, 4], I32))[0]
    assert_close(y, x.repeat(2, axis=2).repeat(2, axis=3))


def test_neither_sizes_nor_scales_have_no_value():
    op = make("Resize", (np.zeros((1, 1, 2, 2), F32),), True, (), None, {})
    assert op.inferred()[0].shape == (DYNAMIC,) * 4
    with pytest.raises(ValueError, match="sizes and scales are missing, expected one of them"):
        op.execute([np.zeros((1, 1, 2, 2), F32)])
    with pytest.raises(ValueError, match="x is int8, expected floats for linear"):
        run("Resize", np.zeros((1, 1, 2, 2), I8), None, None, np.array([1, 1, 4, 4]), mode="linear")
    with pytest.raises(ValueError, match="x is 1x1x0x2, expected no empty dimension to resize"):
        run("Resize", np.zeros((1, 1, 0, 2), F32), None, None, np.array([1, 1, 3, 3]))


# Images


FLAGS = {
    "asymmetric": {},
    "align_corners": {"align_corners": True},
    "half_pixel": {"half_pixel_centers": True},
}


def last(x):
    return np.moveaxis(x, 1, -1)


def run_nhwc(op_type, x, *rest, **attrs):
    """The op on an x whose type says NHWC."""
    op = make(op_type, (x, *rest), True, (), None, attrs)
    layout = Layout(Format.FORMAT_NHWC, Format.FORMAT_NHWC)
    moved = last(x)
    dtype = {F32: DataType.DT_FLOAT, I8: DataType.DT_INT8}[x.dtype.type]
    value = op.parent.insert_arg(Tensor(dtype, moved.shape, layout).type, 0)
    other = type(op).build(value, *op.operands[1:], **attrs)
    return other.execute([moved, *rest])[0]


@pytest.mark.parametrize("transform", FLAGS)
@pytest.mark.parametrize("size", SIZES)
def test_bilinear_as_onnx(size, transform):
    x = sample("any", (2, 3, 4, 6), F32)
    sizes = np.array([2, 3, *size], I64)
    expected = onnx_outputs(
        "Resize", x, None, None, sizes, mode="linear", coordinate_transformation_mode=transform
    )[0]
    flags = FLAGS[transform]
    assert_close(run("ResizeBilinearV2", x, np.array(size, I32), **flags)[0], expected, scale=16)
    assert_close(run("ResizeBilinearV2D", x, size=size, **flags)[0], expected, scale=16)
    y = run_nhwc("ResizeBilinearV2", x, np.array(size, I32), **flags)
    assert_close(y, last(expected), scale=16)


def test_bilinear_gives_the_type_that_it_is_asked_for():
    x, size = sample("any", (1, 2, 4, 6), F16), np.array([3, 5], I32)
    wide = run("ResizeBilinearV2", x, size)[0]
    assert wide.dtype == F32
    half = run("ResizeBilinearV2", x, size, dtype=DataType.DT_FLOAT16)[0]
    assert_close(half, wide.astype(F16))
    from_bytes = run("ResizeBilinearV2", x.astype(U8), size)[0]
    assert_close(from_bytes, run("ResizeBilinearV2", x.astype(U8).astype(F32), size)[0])


@pytest.mark.parametrize(
    ("attrs", "text"),
    [
        ({"dtype": DataType.DT_UINT8}, "dtype is DT_UINT8, expected a float"),
        ({"scales": [2.0, 1.0]}, r"scales are \[2.0, 1.0\], expected zeros"),
    ],
)
def test_bilinear_values_that_are_unconfirmed(attrs, text):
    with pytest.raises(ValueError, match=text):
        run("ResizeBilinearV2", np.ones((1, 1, 2, 2), F32), np.array([3, 3], I32), **attrs)


@pytest.mark.parametrize(
    ("transform", "rounding"),
    [("asymmetric", "floor"), ("align_corners", "round_prefer_ceil"), ("half_pixel", "floor")],
)
@pytest.mark.parametrize("size", SIZES)
def test_nearest_neighbor(size, transform, rounding):
    """floor(dst * s), round(dst * s) and floor((dst + 0.5) * s)."""
    x = sample("any", (2, 3, 4, 6), I8)
    if transform == "half_pixel":
        rows, columns = (
            np.minimum(np.floor((np.arange(m) + 0.5) * n / m), n - 1).astype(int)
            for n, m in zip((4, 6), size, strict=True)
        )
        expected = x[:, :, rows][:, :, :, columns]
    else:
        expected = onnx_outputs(
            "Resize", x, None, None, np.array([2, 3, *size], I64), mode="nearest",
            coordinate_transformation_mode=transform, nearest_mode=rounding,
        )[0]  # fmt: skip
    flags = FLAGS[transform]
    assert_close(run("ResizeNearestNeighborV2", x, np.array(size, I32), **flags)[0], expected)
    assert_close(run("ResizeNearestNeighborV2D", x, size=size, **flags)[0], expected)
    assert_close(
        run_nhwc("ResizeNearestNeighborV2", x, np.array(size, I32), **flags), last(expected)
    )
    grads = sample("any", expected.shape, F32)
    found = run("ResizeNearestNeighborV2Grad", grads, np.array((4, 6), I32), **flags)[0]
    reads = run("ResizeNearestNeighborV2D", np.arange(24.0).reshape(1, 1, 4, 6).astype(F32),
                size=size, **flags)[0].astype(int).reshape(-1)  # fmt: skip
    total = np.zeros((2, 3, 24), F64)
    for at, source in enumerate(reads):
        total[:, :, source] += grads.reshape(2, 3, -1)[:, :, at]
    assert_close(found, total.reshape(2, 3, 4, 6).astype(F32), scale=8)


@pytest.mark.parametrize(
    ("shape", "limits", "size"),
    [((30, 40), (15, 100), (15, 20)), ((30, 45), (60, 80), (53, 80)), ((7, 5), (3, 9), (4, 3))],
)
def test_keep_ratio(shape, limits, size):
    x = sample("any", (1, 2, *shape), F32)
    y = run("KeepRatioResizeBilinear", x, min_dimension=limits[0], max_dimension=limits[1])[0]
    assert_close(y, run("ResizeBilinearV2D", x, size=size)[0])


def test_bicubic_has_a_shape_and_no_value():
    op = make("ResizeBicubic", (np.zeros((1, 2, 3, 4), U8), np.array([6, 8], I32)), True)
    assert op.inferred()[0] == Tensor(DataType.DT_FLOAT, (1, 2, 6, 8))
    assert not op.has_evaluate()
