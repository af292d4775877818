"""HiFloat8 against its bit fields, written out as text, and rounding against a search of all codes.

The codes are spelt out here as strings of bits, one pattern per line of the format's definition.
"""

import math
from itertools import pairwise

import numpy as np
import pytest
from op_runs import run
from op_witness import BF16, F16, F32, F64, I8, build, run_ge

import ge_xdsl as gx
from ge_xdsl.compat.ge.graph import Tensor
from ge_xdsl.dialects.ge.graph import main_function
from ge_xdsl.dialects.ge.hifloat8 import decode, encode, nearest
from ge_xdsl.dialects.ge.text import parse_module
from ge_xdsl.dialects.ge.types import DataType, dtype_of_numpy, numpy_dtype, tensor_of
from ge_xdsl.dialects.ge.weights import const_attr, tensor_of_const
from ge_xdsl.exporters import gepb
from ge_xdsl.exporters.gepb import tensor_def
from ge_xdsl.importers.gepb.values import constant
from ge_xdsl.interpreters.ge import run_function
from ge_xdsl.interpreters.program import Program

HIFLOAT8 = int(DataType.DT_HIFLOAT8)


def spelt():
    """Code -> number, from strings of bits: prefix, exponent sign, exponent, mantissa."""
    found = {"0" + "0" * 7: 0.0, "1" + "0" * 7: math.nan}
    for sign, factor in (("0", 1.0), ("1", -1.0)):
        for m in range(1, 8):
            found[f"{sign}0000{m:03b}"] = factor * 2.0 ** (m - 23)
        for m in range(8):
            found[f"{sign}0001{m:03b}"] = factor * (1 + m / 8)
            for e, size in (("0", 1), ("1", -1)):
                found[f"{sign}001{e}{m:03b}"] = factor * (1 + m / 8) * 2.0**size
                for low in range(2):
                    scale = 2.0 ** (size * (2 + low))
                    found[f"{sign}01{e}{low}{m:03b}"] = factor * (1 + m / 8) * scale
        for e, way in (("0", 1), ("1", -1)):
            for low in range(4):
                for m in range(4):
                    scale = 2.0 ** (way * (4 + low))
                    found[f"{sign}10{e}{low:02b}{m:02b}"] = factor * (1 + m / 4) * scale
            for low in range(8):
                for m in range(2):
                    scale = 2.0 ** (way * (8 + low))
                    found[f"{sign}11{e}{low:03b}{m}"] = factor * (1 + m / 2) * scale
        found[f"{sign}1101111"] = factor * math.inf
    return {int(bits, 2): number for bits, number in found.items()}


SPELT = spelt()
FINITE = sorted(v for v in SPELT.values() if math.isfinite(v))


def test_each_code_has_its_number():
    assert sorted(SPELT) == list(range(256))
    codes = np.arange(256, dtype=np.uint8)
    expected = np.array([SPELT[code] for code in range(256)])
    np.testing.assert_array_equal(decode(codes).astype(F64), expected)
    np.testing.assert_array_equal(encode(decode(codes)), codes)


def test_the_numbers_are_those_of_the_format():
    assert len(set(FINITE)) == len(FINITE) == 253
    assert max(FINITE) == 32768
    assert min(v for v in FINITE if v > 0) == 2.0**-22
    assert min(FINITE) == -32768


def searched(x):
    """The nearest of all numbers, of two as near the one further from 0."""
    if math.isnan(x) or math.isinf(x):
        return x
    if abs(x) >= 40960:
        return math.copysign(math.inf, x)
    return min(FINITE, key=lambda v: (abs(v - x), -abs(v)))


@pytest.mark.parametrize("dtype", [F32, F16, BF16, F64])
def test_cast_rounds_to_the_nearest_number(dtype):
    rng = np.random.default_rng(0)
    middles = [(a + b) / 2 for a, b in pairwise(FINITE)]
    edges = [0.0, -0.0, math.nan, math.inf, -math.inf, 40959.0, 40960.0, -40960.0, 2.0**-24]
    drawn = rng.normal(size=200) * 2.0 ** rng.integers(-24, 17, 200)
    x = np.array([*FINITE, *middles, *edges, *drawn])
    with np.errstate(all="ignore"):
        x = x.astype(dtype)
    found = run("Cast", x, dst_type=HIFLOAT8)[0]
    np.testing.assert_array_equal(found.astype(F64), [searched(v) for v in x.astype(F64)])
    assert not np.signbit(found[found == 0]).any()


def test_integers_become_the_nearest_numbers():
    x = np.arange(-40, 41, dtype=np.int32)
    found = run("Cast", x, dst_type=HIFLOAT8)[0]
    assert found.tolist() == [searched(float(v)) for v in x]


def held(values):
    """An operand of the type: a constant is not needed."""
    return np.array(values, F16)


def test_the_type_stays_with_moves_and_leaves_by_casts():
    op = build("Cast", np.array([1.07, -3.3], F32), dst_type=HIFLOAT8)
    assert tensor_of(op.y.type).dtype is DataType.DT_HIFLOAT8
    assert numpy_dtype(DataType.DT_HIFLOAT8) == F16
    assert dtype_of_numpy(np.dtype(F16)) is DataType.DT_FLOAT16
    found = op.execute([np.array([1.07, -3.3], F32)])[0]
    np.testing.assert_array_equal(found, held([1.125, -3.25]))


def test_quantised_to_the_type():
    x = np.array([[0.3, -1.7, 100.0, 3e6]], F32)
    expected = [[searched(float(v)) for v in (x * F32(0.5) + F32(1))[0]]]
    found = run("AscendQuant", x, scale=0.5, offset=1.0, dst_type=HIFLOAT8)[0]
    np.testing.assert_array_equal(found.astype(F64), expected)
    scale, offset = np.array([0.5], F32), np.array([1], F32)
    found = run("AscendQuantV2", x, scale, offset, dst_type=HIFLOAT8)[0]
    np.testing.assert_array_equal(found.astype(F64), expected)


def test_dynamic_scales_reach_the_largest_number():
    x = np.random.default_rng(1).normal(size=(3, 8)).astype(F32)
    y, scale = run("DynamicQuant", x, dst_type=HIFLOAT8)
    np.testing.assert_allclose(scale, np.abs(x).max(1) / 32768, rtol=1e-6)
    assert np.abs(y).max() == 32768
    np.testing.assert_allclose(y.astype(F64) * scale[:, None], x, rtol=0.26, atol=1e-6)


@pytest.mark.parametrize(("op_type", "mode"), [("AscendQuant", "Floor"), ("AscendQuantV2", "rint")])
def test_other_rounding_modes_are_refused(op_type, mode):
    more = {"scale": 0.5, "offset": 0.0} if op_type == "AscendQuant" else {}
    operands = [np.zeros((1, 2), F32)] + ([np.ones(1, F32)] if not more else [])
    with pytest.raises(
        Exception, match=f"round_mode is '{mode}', expected 'round' for DT_HIFLOAT8"
    ):
        run_ge(op_type, *operands, **more, round_mode=mode, dst_type=HIFLOAT8)


def test_an_odd_value_in_memory_is_rounded_by_a_move():
    assert nearest(np.array([1.07], F16)).tolist() == [1.125]
    assert run("Cast", np.array([7], I8), dst_type=HIFLOAT8)[0].tolist() == [7.0]


GRAPH = """func.func @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %a = ge.Cast(%x) {dst_type = 34} : (tensor<8x8xf32>) -> TYPE
  %b = ge.Add(%a, %a) : (TYPE, TYPE) -> TYPE
  %m = ge.MatMul(%b, %a) : (TYPE, TYPE) -> TYPE
  %y = ge.Cast(%m) {dst_type = 0} : (TYPE) -> tensor<8x8xf32>
  func.return %y : tensor<8x8xf32>
}
""".replace("TYPE", "tensor<8x8x!ge.element<DT_HIFLOAT8>>")


def test_a_run_rounds_each_result_once():
    x = np.random.default_rng(2).normal(size=(8, 8)).astype(F32)
    a = np.vectorize(searched)(x.astype(F64))
    b = np.vectorize(searched)(a + a)
    expected = np.vectorize(searched)(b @ a)
    body = main_function(parse_module(GRAPH))
    np.testing.assert_array_equal(run_function(body, {"x": x})[0], expected)
    np.testing.assert_array_equal(Program(body).run({"x": x})[0], expected)


def test_a_constant_leaves_as_codes():
    numbers = decode(np.array([0x00, 0x08, 0x6E, 0xEF], np.uint8))
    op = build("Cast", numbers.astype(F32), dst_type=HIFLOAT8)
    message = tensor_def(const_attr(numbers, "k", DataType.DT_HIFLOAT8), op)
    assert bytes(message.get("data")) == bytes([0x00, 0x08, 0x6E, 0xEF])
    weight = constant(message, "k")
    assert tensor_of_const(weight).dtype is DataType.DT_HIFLOAT8
    np.testing.assert_array_equal(weight.data.array(), numbers)


COUNTED = """func.func @main(%x: tensor<5xf32>, %at: tensor<5xi32>) -> tensor<3xf32> {
  %n = ge.Const() {value = dense<3> : tensor<i32>} : () -> tensor<i32>
  %w = ge.Cast(%x) {dst_type = 34} : (tensor<5xf32>) -> TYPE
  %b = ge.Bincount(%at, %n, %w) : (tensor<5xi32>, tensor<i32>, TYPE) -> BINS
  %y = ge.Cast(%b) {dst_type = 0} : (BINS) -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}
"""


def test_sums_that_are_held_as_halves_are_rounded_by_programs_too():
    text = COUNTED.replace("TYPE", "tensor<5x!ge.element<DT_HIFLOAT8>>")
    func = main_function(parse_module(text.replace("BINS", "tensor<3x!ge.element<DT_HIFLOAT8>>")))
    inputs = {"x": np.array([1, 1 / 16, 4, 4, 0.5], F32), "at": np.array([0, 0, 2, 2, 2], np.int32)}
    wanted = [searched(1 + 1 / 16), 0, searched(8.5)]
    assert wanted == [1.125, 0, 9.0]
    for run_it in (Program(func).run, lambda given: run_function(func, given)):
        assert run_it(inputs)[0].tolist() == wanted


def test_a_large_constant_leaves_as_codes_in_a_file(tmp_path, monkeypatch):
    codes = np.resize(np.array([0x00, 0x08, 0x6E, 0xEF], np.uint8), 2048)
    kind = "tensor<2048x!ge.element<DT_HIFLOAT8>>"
    module = parse_module(
        f'func.func @main() -> {kind} {{\n  %w = ge.Const() {{value = #ge.weight<"w">}} : () -> '
        f"{kind}\n  %y = ge.Identity(%w) : ({kind}) -> {kind}\n  func.return %y : {kind}\n}}"
    )
    (weight,) = (op for op in module.walk() if op.name == "ge.Const")
    weight.properties["value"] = const_attr(decode(codes), "w", DataType.DT_HIFLOAT8)
    monkeypatch.setattr(gepb, "INLINE_LIMIT", 1000)
    gx.save(module, tmp_path / "m.air")
    assert (tmp_path / "air_weight" / "m" / "w_file").read_bytes() == codes.tobytes()
    (back,) = (op for op in gx.load(tmp_path / "m.air").walk() if op.name == "ge.Const")
    assert tensor_of(back.results[0].type).dtype is DataType.DT_HIFLOAT8
    np.testing.assert_array_equal(back.get_attr("value"), decode(codes))


def test_the_bytes_of_a_tensor_of_the_api_are_codes(tmp_path):
    codes = bytes([0x00, 0x08, 0x6E, 0xEF])
    (tmp_path / "w").write_bytes(codes)
    numbers = decode(np.frombuffer(codes, np.uint8)).tolist()
    read = Tensor(file_path=str(tmp_path / "w"), data_type=DataType.DT_HIFLOAT8, shape=[4])
    assert read.data == numbers
    assert read.set_data_type(DataType.DT_UINT8).data == list(codes)
    assert read.set_data_type(DataType.DT_HIFLOAT8).data == numbers
