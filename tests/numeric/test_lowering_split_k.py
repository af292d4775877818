"""Products whose k is split over the cores: values, when they are split, and what a tile does."""

import numpy as np
import pytest
from op_witness import BF16, F16, F32

import ge_xdsl as gx
from ge_xdsl.dialects.aicore.legality import check
from ge_xdsl.dialects.aicore.structure import KernelOp
from ge_xdsl.dialects.ge.text import parse_module
from ge_xdsl.interpreters import aicore
from ge_xdsl.lowering import lower, split_k
from ge_xdsl.lowering.matmul import Product
from ge_xdsl.targets import target

CHIP = "Ascend910B1"
WORDS = {"float16": "f16", "bfloat16": "bf16", "float32": "f32", "int8": "i8", "int32": "i32"}


def text_of(a, b, bias=None, relu=False, turned=(False, False), out=""):
    def kind(x):
        return f"tensor<{'x'.join(map(str, x.shape))}x{WORDS[x.dtype.name]}>"

    m, n = a.shape[turned[0]], b.shape[1 - turned[1]]
    y = f"tensor<{m}x{n}x{out or WORDS[a.dtype.name]}>"
    more = f", %c : {kind(bias)}" if bias is not None else ""
    given = f", bias = %c) : ({kind(a)}, {kind(b)}, {kind(bias)})" if more else ""
    given = given or f") : ({kind(a)}, {kind(b)})"
    call, types = given.split(" : ")
    flags = ", ".join(
        f"transpose_x{i + 1} = {'true' if t else 'false'}" for i, t in enumerate(turned)
    )
    last = f"  %z = ge.Relu(%y) : ({y}) -> {y}\n" if relu else ""
    return (
        f"func.func @main(%a : {kind(a)}, %b : {kind(b)}{more}) -> {y} {{\n"
        f"  %y = ge.MatMulV2(%a, %b{call} {{{flags}}} : {types} -> {y}\n{last}"
        f"  func.return {'%z' if relu else '%y'} : {y}\n}}"
    )


def normal(*shape, dtype=F16, seed=0):
    return (np.random.default_rng(seed).standard_normal(shape) / 8).astype(dtype)


def run(text, chip=CHIP, checked=False, **given):
    lowered = lower(parse_module(text), chip)
    check(lowered, target(chip))
    (y,), report = aicore.run(lowered, given, chip, checked=checked)
    return y, report


TOLERANCE = {"float16": 1e-3, "bfloat16": 8e-3, "float32": 1e-5}


@pytest.mark.parametrize("turned", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("dtype", [F16, BF16, F32])
def test_sums_of_parts(turned, dtype, monkeypatch):
    monkeypatch.setattr(split_k, "best_split", lambda product, target: 8)
    m, n, k = 17, 150, 1024
    a = normal(*((k, m) if turned[0] else (m, k)), dtype=dtype)
    b = normal(*((n, k) if turned[1] else (k, n)), dtype=dtype, seed=1)
    y, report = run(text_of(a, b, turned=turned), a=a, b=b)
    names = [kernel.name for kernel in report.kernels]
    assert names == ["MatMulV2", "MatMulV2_sum_k8"]
    assert report.timed == 1
    wide = [x.astype(np.float64) for x in (a, b)]
    want = (wide[0].T if turned[0] else wide[0]) @ (wide[1].T if turned[1] else wide[1])
    scale = np.abs(want).max()
    assert np.abs(y.astype(np.float64) - want).max() < TOLERANCE[dtype.__name__] * scale


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("kind", [F16, F32])
def test_a_bias_and_relu_come_after_the_sum(kind, relu):
    a, b, bias = normal(20, 8192), normal(8192, 70, seed=1), normal(70, dtype=kind, seed=2) * 40
    y, report = run(text_of(a, b, bias, relu), a=a, b=b, c=bias)
    assert len(report.kernels) == 2
    want = a.astype(np.float64) @ b.astype(np.float64) + bias.astype(np.float64)
    want = np.maximum(want, 0) if relu else want
    assert np.abs(y.astype(np.float64) - want).max() < 1e-3 * np.abs(want).max()


def test_integers_are_exact():
    rng = np.random.default_rng(3)
    a, b = (rng.integers(-128, 128, s).astype(np.int8) for s in ((16, 32768), (32768, 32)))
    y, report = run(text_of(a, b, out="i32"), a=a, b=b)
    assert len(report.kernels) == 2
    assert (y == a.astype(np.int32) @ b.astype(np.int32)).all()


def test_a_checked_run_is_the_same_and_so_is_a_second_one():
    a, b = normal(16, 8192), normal(8192, 16, seed=1)
    text = text_of(a, b)
    y, _ = run(text, a=a, b=b)
    assert (run(text, a=a, b=b)[0] == y).all()
    assert np.abs(run(text, checked=True, a=a, b=b)[0] - y).max() <= 1e-3 * np.abs(y).max()


SPLIT = [
    # m, n, k, chip, whether it is split
    (16, 16, 65536, CHIP, True),
    (128, 128, 8192, CHIP, True),
    (16, 16, 65536, "Ascend950PR_958x", True),
    (128, 128, 8192, "Ascend910A", False),
    (4096, 4096, 4096, CHIP, False),
    (128, 128, 256, CHIP, False),
    (16, 16, 65537, CHIP, False),
    (1, 30720, 8192, CHIP, False),
]


@pytest.mark.parametrize(("m", "n", "k", "chip", "split"), SPLIT)
def test_when_k_is_split(m, n, k, chip, split):
    product = Product((m, k), (k, n), (m, n), False, False, "f16", "", False)
    assert (split_k.best_split(product, target(chip)) > 1) == split


def test_a_split_takes_less_time_than_the_whole():
    text = text_of(np.empty((16, 65536), F16), np.empty((65536, 16), F16))
    split = gx.estimate(parse_module(text), CHIP)
    whole = gx.estimate(parse_module(text), CHIP, tile=(16, 16, 256))
    assert split.us < whole.us / 2


def test_a_tile_that_the_user_wants_is_that_of_one_kernel():
    text = text_of(np.empty((128, 8192), F16), np.empty((8192, 128), F16))
    lowered = lower(parse_module(text), CHIP, (128, 128, 64))
    kernels = [op.sym_name for op in lowered.body.block.ops if isinstance(op, KernelOp)]
    assert kernels == ["MatMulV2"]
