"""Quantisation: formulas in f64 with explicit rounding against `evaluate`."""

import ml_dtypes
import numpy as np
import pytest
from op_runs import onnx_outputs, run
from op_witness import BF16, F16, F32, F64, I8, I32, assert_close, sample

from ge_xdsl.dialects.ge.rounding import to_codes
from ge_xdsl.dialects.ge.types import DataType

I4 = ml_dtypes.int4
NUMPY = {2: np.dtype(I8), 29: np.dtype(I4)}
LIMITS = {2: (-128, 127), 29: (-8, 7)}
ROUND = {"round": np.rint, "rint": np.rint, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc}


def codes(t, dst_type=2, mode="round"):
    return np.clip(ROUND[mode.lower()](t), *LIMITS[dst_type]).astype(I8).astype(NUMPY[dst_type])


def same(found, wanted):
    assert found.dtype == wanted.dtype
    assert found.shape == wanted.shape
    np.testing.assert_array_equal(found.astype(F64), wanted.astype(F64))


def halves():
    """Numbers that scales of powers of two bring to exact halves, and far outside the range."""
    return np.array([-900, -5, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2.5, 5, 900], F32)


@pytest.mark.parametrize("dst_type", [2, 29])
@pytest.mark.parametrize("mode", ["Round", "Floor", "Ceil", "Trunc"])
@pytest.mark.parametrize("sqrt_mode", [False, True])
def test_ascend_quant(sqrt_mode, mode, dst_type):
    x = halves()
    attrs = {"sqrt_mode": sqrt_mode, "round_mode": mode, "dst_type": dst_type}
    found = run("AscendQuant", x, scale=0.5, offset=1.0, **attrs)[0]
    same(found, codes(x * (0.25 if sqrt_mode else 0.5) + 1, dst_type, mode))


@pytest.mark.parametrize("dtype", [ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fn])
def test_small_floats_are_cast_without_rounding_to_integers(dtype):
    x = np.array([0.3, -1.7, 3.14, 100], F16)
    number = 35 if dtype is ml_dtypes.float8_e5m2 else 36
    found = run("AscendQuant", x, scale=0.5, offset=0.0, dst_type=number)[0]
    same(found, (x.astype(F32) * F32(0.5)).astype(dtype))


@pytest.mark.parametrize("dtype", [F32, F16, BF16])
@pytest.mark.parametrize("mode", list(ROUND))
@pytest.mark.parametrize("form", ["one", "vector", "full"])
def test_ascend_quant_v2(form, mode, dtype):
    x = sample("any", (3, 4, 5), dtype)
    axis = -2 if form == "full" else -1
    shape = {"one": (1,), "vector": (5,), "full": (1, 4, 1)}[form]
    scale, offset = sample("positive", shape, dtype, 1), sample("any", shape, dtype, 2)
    found = run("AscendQuantV2", x, scale, offset, round_mode=mode, axis=axis)[0]
    x, scale, offset = (a.astype(F32) for a in (x, scale, offset))
    same(found, codes(x * scale + offset, 2, mode))
    found = run("AscendQuantV2", x, scale, None, sqrt_mode=True, axis=axis)[0]
    same(found, codes(x * scale * scale))


def cut(scale):
    return (scale.view(np.uint32) & np.uint32(0xFFFFE000)).view(F32)


@pytest.mark.parametrize("shape", [(1,), (5,)])
@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("packed", [False, True])
def test_ascend_dequant(packed, relu, shape):
    x = sample("any", (3, 5), I32) * 1000
    scale = sample("any", shape, F32, 1)
    given = scale.view(np.uint32).astype(np.uint64) | np.uint64(1 << 46) if packed else scale
    found = run("AscendDequant", x, given, relu_flag=relu)[0]
    want = x.astype(F32) * (cut(scale) if packed else scale)
    assert_close(found, np.maximum(want, 0) if relu else want)
    if not packed:
        half = (scale / 64).astype(F16)
        found = run("AscendDequant", x, half, sqrt_mode=True, dtype=1)[0]
        assert_close(found, (x.astype(F32) * half.astype(F32) * half.astype(F32)).astype(F16))


@pytest.mark.parametrize("sqrt_mode", [False, True])
@pytest.mark.parametrize("source", [I8, I4])
def test_ascend_anti_quant(source, sqrt_mode):
    x = sample("any", (3, 4), I8)
    x = np.clip(x, -8, 7).astype(source)
    factor = 0.25 if sqrt_mode else 0.5
    found = run("AscendAntiQuant", x, scale=0.5, offset=3.0, dtype=1, sqrt_mode=sqrt_mode)[0]
    assert_close(found, ((x.astype(F32) + 3) * F32(factor)).astype(F16))
    for shape in ((1,), (4,), (3,), (3, 1), (1, 4)):
        scale, offset = sample("any", shape, F32, 1), sample("any", shape, F32, 2)
        s, o = (a[:, None] if shape == (3,) else a for a in (scale, offset))
        found = run("AscendAntiQuantV2", x, scale, offset, dst_type=27, sqrt_mode=sqrt_mode)[0]
        want = (x.astype(F32) + o) * s * (s if sqrt_mode else 1)
        assert_close(found, want.astype(BF16))


@pytest.mark.parametrize(("name", "dtype"), [("torch.qint8", I8), ("torch.quint8", np.uint8)])
@pytest.mark.parametrize("axis", [0, 1])
def test_quantize_as_onnx(axis, name, dtype):
    x = sample("any", (3, 4), F32) * 40
    scale = sample("positive", (x.shape[axis],), F32, 1)
    zero = sample("positive", scale.shape, dtype, 2)
    found = run("Quantize", x, scale, zero.astype(I32), dtype=name, axis=axis)[0]
    same(found, onnx_outputs("QuantizeLinear", x, scale, zero, axis=axis)[0])


def test_quantize_to_i32_saturates():
    x = np.array([np.nan, 1e20, -1e20, 2.5, 3.5], F32)
    found = run("Quantize", x, np.ones(1, F32), None, dtype="torch.qint32")[0]
    assert found.tolist() == [0, 2**31 - 1, -(2**31), 2, 4]


@pytest.mark.parametrize(("dtype", "half", "top"), [(I8, 128, 127), (np.uint8, 0, 255)])
def test_dequantize(dtype, half, top):
    x = np.array([0, 1, 100, 127], dtype)
    low, high = np.array([-2.0], F32), np.array([6.0], F32)
    found = run("Dequantize", x, low, high)[0]
    assert_close(found, ((x.astype(F64) + half) * 8 / 255 - 2).astype(F32))
    found = run("Dequantize", x, low, high, mode="SCALED")[0]
    assert_close(found, (x.astype(F64) * 6 / top).astype(F32))


def test_trans_quant_param_packs_scale_and_offset():
    scale = np.array([1.0, 0.1, -3.7], F32)
    offset = np.array([1.5, -300, 255], F32)
    found = run("TransQuantParamV2", scale, offset)[0].tolist()
    for packed, bits, code in zip(
        found, scale.view(np.uint32).tolist(), [2, -256, 255], strict=True
    ):
        assert packed & 0xFFFFFFFF == bits & 0xFFFFE000
        assert packed >> 37 & 0x1FF == code & 0x1FF
        assert packed >> 46 == 1
    rounded = run("TransQuantParamV2", scale, None, round_mode=1)[0]
    back = (rounded & np.uint64(0xFFFFFFFF)).astype(np.uint32).view(F32)
    np.testing.assert_allclose(back, scale, rtol=2**-11)


# Scales from the data


def row_scale(t, top, axis=-1):
    scale = np.abs(t).max(axis, keepdims=True) / F32(top)
    return scale.astype(F32)


def near(found, wanted):
    """Codes may differ by one where the exact value lies at a half."""
    difference = np.abs(found.astype(F64) - wanted.astype(F64))
    assert difference.max(initial=0) <= 1
    assert (difference == 0).mean() > 0.9


@pytest.mark.parametrize("dst_type", [2, 29])
@pytest.mark.parametrize("dtype", [F32, F16, BF16])
@pytest.mark.parametrize("form", ["plain", "smooth", "groups"])
def test_dynamic_quant(form, dtype, dst_type):
    x = sample("any", (2, 3, 16), dtype)
    x[0, 0] = 0
    smooth = sample("positive", (2, 16) if form == "groups" else (16,), dtype, 1)
    t = x.astype(F32)
    if form != "plain":
        rows = smooth.astype(F32)
        t = t * (rows[[0, 0, 1, 1, 1, 1]].reshape(2, 3, 16) if form == "groups" else rows)
    ends = np.array([2, 6], I32) if form == "groups" else None
    operands = (x, None if form == "plain" else smooth, ends)
    top = 127 if dst_type == 2 else 7
    want = row_scale(t, top)
    safe = np.where(want == 0, 1, want)
    y, scale = run("DynamicQuant", *operands, dst_type=dst_type)
    near(y, codes(t / safe, dst_type))
    assert_close(scale, want[..., 0])
    y, scale, offset = run("DynamicQuantV2", *operands, dst_type=dst_type, is_symmetrical=True)
    near(y, codes(t / safe, dst_type))
    assert_close(scale, want[..., 0])
    assert not offset.any()


@pytest.mark.parametrize("mode", ["pertoken", "perchannel", "pertensor"])
def test_dynamic_quant_v2(mode):
    x = sample("any", (2, 5, 8), F32) + F32(3)
    axes = {"pertoken": -1, "perchannel": -2, "pertensor": None}[mode]
    low, high = (f(x, axis=axes, keepdims=True) for f in (np.min, np.max))
    scale = (high - low) / F32(255)
    offset = 127 - high / scale
    y, found_scale, found_offset = run("DynamicQuantV2", x, None, None, quant_mode=mode)
    near(y, codes(x / scale + offset))
    shape = (1,) if axes is None else np.squeeze(scale, axes).shape
    np.testing.assert_allclose(found_scale, scale.reshape(shape), rtol=1e-5)
    np.testing.assert_allclose(found_offset, offset.reshape(shape), rtol=1e-4, atol=1e-4)
    back = (y.astype(F64) - offset) * scale
    assert np.abs(back - x).max() <= scale.max() * 0.51


def test_dynamic_quant_v2_smooths_along_the_axis():
    x, smooth = sample("any", (2, 3, 8), F32), sample("positive", (3,), F32, 1)
    t = x * smooth[:, None]
    given = {"quant_mode": "perchannel", "is_symmetrical": True}
    y, scale, _ = run("DynamicQuantV2", x, smooth, None, **given)
    want = row_scale(t, 127, -2)
    near(y, codes(t / want))
    assert_close(scale, want[:, 0])


def test_group_quant():
    x, scale = sample("any", (6, 4), F32), sample("positive", (3, 4), F32, 1) * 9
    ends, offset = np.array([1, 1, 6], I32), np.array([0.5], F32)
    found = run("GroupQuant", x, scale, ends, offset)[0]
    same(found, codes(x * scale[[0, 2, 2, 2, 2, 2]] + F32(0.5)))


def test_groups_must_cover_the_rows():
    x, scale = np.ones((6, 4), F32), np.ones((2, 4), F32)
    for ends in ([2, 5], [6, 2], [-1, 6]):
        text = rf"group_index is \[{ends[0]}, {ends[1]}\], expected rising ends up to 6"
        with pytest.raises(ValueError, match=text):
            run("GroupQuant", x, scale, np.array(ends, I32))


@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("mode", ["dynamic", "static"])
@pytest.mark.parametrize("groups", [None, 0, 1])
def test_swiglu_quant(groups, mode, left):
    x = sample("any", (5, 16), F32)
    count = () if groups is None else (2,)
    smooth = sample("positive", (*count, 8), F32, 1)
    offsets = sample("any", (*count, 8), F32, 2)
    index = None if groups is None else np.array([[2, 5], [2, 3]][groups], I32)
    a, b = np.split(x.astype(F64), 2, axis=-1)
    gate, other = (a, b) if left else (b, a)
    rows = slice(None) if groups is None else [0, 0, 1, 1, 1]
    t = gate / (1 + np.exp(-gate)) * other * smooth[rows]
    attrs = {"activate_left": left, "quant_mode": mode, "group_list_type": groups or 0}
    y, scale = run("SwiGluQuant", x, smooth, offsets, index, **attrs)
    if mode == "static":
        near(y, codes(t + offsets[rows]))
        assert not scale.any()
        return
    want = 127 / np.abs(t).max(-1)
    near(y, codes(t * want[:, None]))
    np.testing.assert_allclose(scale, want, rtol=1e-5)


def test_swiglu_quant_of_zeros():
    y, scale = run("SwiGluQuant", np.zeros((2, 8), F32))
    assert not y.any()
    assert not scale.any()


# Fake quantisation


def nudge(low, high, bits, narrow):
    """The range that keeps 0 exactly, number by number."""
    first, last = int(narrow), 2**bits - 1
    step = (high - low) / (last - first)
    zero = min(max(np.floor(first - low / step + 0.5), first), last)
    return (first - zero) * step, (last - zero) * step, step


def fake(x, low, high, bits, narrow):
    low, high, step = nudge(low, high, bits, narrow)
    return np.floor((np.clip(x, low, high) - low) / step + 0.5) * step + low


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize(("low", "high", "bits"), [(-6.0, 6.0, 8), (-0.7, 3.1, 4), (0.5, 2.0, 8)])
def test_fake_quant(low, high, bits, narrow):
    x, dy = sample("any", (5, 7), F32) * 2, sample("any", (5, 7), F32, 1)
    attrs = {"num_bits": bits, "narrow_range": narrow}
    want = fake(x.astype(F64), low, high, bits, narrow)
    step = (high - low) / 2**bits
    ends = {"min": low, "max": high}
    scalars = [np.array(v, F32) for v in (low, high)]
    for found in (
        run("FakeQuantWithMinMaxArgs", x, **ends, **attrs)[0],
        run("FakeQuantWithMinMaxVars", x, *scalars, **attrs)[0],
    ):
        off = np.abs(found - want)
        assert off.max() <= step * 1.1
        assert (off < step * 1e-2).mean() > 0.95
    low, high, _ = nudge(low, high, bits, narrow)
    inside = np.where((x >= low) & (x <= high), dy, 0)
    below, above = dy[x < low].sum(), dy[x > high].sum()
    found = run("FakeQuantWithMinMaxArgsGradient", dy, x, **ends, **attrs)[0]
    np.testing.assert_allclose(found, inside)
    found = run("FakeQuantWithMinMaxVarsGradient", dy, x, *scalars, **attrs)
    for have, wanted in zip(found, (inside, below, above), strict=True):
        np.testing.assert_allclose(have, wanted, rtol=1e-5, atol=1e-6)


def test_fake_quant_per_channel():
    x, dy = sample("any", (5, 3), F32) * 2, sample("any", (5, 3), F32, 1)
    low, high = np.array([-1, -2, 0], F32), np.array([1, 3, 4], F32)
    found = run("FakeQuantWithMinMaxVarsPerChannel", x, low, high)[0]
    grads = run("FakeQuantWithMinMaxVarsPerChannelGradient", dy, x, low, high)
    for c in range(3):
        want = fake(x[:, c].astype(F64), float(low[c]), float(high[c]), 8, False)
        np.testing.assert_allclose(found[:, c], want, atol=2e-2)
        least, most, _ = nudge(float(low[c]), float(high[c]), 8, False)
        column, slope = x[:, c], dy[:, c]
        np.testing.assert_allclose(
            grads[0][:, c], np.where((column >= least) & (column <= most), slope, 0)
        )
        np.testing.assert_allclose(grads[1][c], slope[column < least].sum(), rtol=1e-5)
        np.testing.assert_allclose(grads[2][c], slope[column > most].sum(), rtol=1e-5)


def test_fake_quant_needs_a_range():
    one = np.ones((), F32)
    with pytest.raises(ValueError, match="min is not below max, expected min < max"):
        run("FakeQuantWithMinMaxVars", np.ones(3, F32), one, one)


def test_codes_of_nothing_and_of_infinities():
    x = np.array([np.nan, np.inf, -np.inf], F32)
    assert to_codes(x, DataType.DT_INT8).tolist() == [0, 127, -128]
    assert to_codes(x, DataType.DT_INT4).astype(I8).tolist() == [0, 7, -8]
    assert to_codes(x[:0], DataType.DT_INT8).shape == (0,)
