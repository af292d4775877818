"""Tiles that users choose: what is one, what fits, what the error says, what kernels have them."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ge_xdsl as gx
from ge_xdsl.cli import opt, run
from ge_xdsl.dialects.ge.text import module_text, parse_module
from ge_xdsl.errors import CompileError, UsageError
from ge_xdsl.lowering.tile_choice import choice, cut, fitting
from ge_xdsl.lowering.tile_price import needs, overfull
from ge_xdsl.lowering.tile_search import best_tiling, with_tile
from ge_xdsl.lowering.tiling import MatmulShape, MatmulTiling
from ge_xdsl.targets import target

B1 = target("Ascend910B1")
TEXT = """func.func @main(%x : tensor<96x80xf16>, %w : tensor<80x112xf16>) -> tensor<96x112xf16> {
  %fc = ge.MatMul(%x, %w) : (tensor<96x80xf16>, tensor<80x112xf16>) -> tensor<96x112xf16>
  func.return %fc : tensor<96x112xf16>
}"""
WRONG = [
    ("", "tile is '', expected M,N,K, multiples of 16 such as 128,256,64"),
    ("64,64", "tile is '64,64', expected M,N,K"),
    ("64,64,64,64", "tile is '64,64,64,64', expected M,N,K"),
    ("64,-64,64", "tile is '64,-64,64', expected M,N,K"),
    ("64,60,64", "tile is '64,60,64', expected M,N,K"),
    ("64,64,0", "tile is '64,64,0', expected M,N,K"),
    ("64,64,1048592", "tile is '64,64,1048592', expected M,N,K"),
    ("64,64,9999999999999", "tile is '64,64,9999999999999', expected M,N,K"),
    ("²,64,64", "tile is '²,64,64', expected M,N,K"),
]


@pytest.mark.parametrize(("text", "why"), WRONG)
def test_what_is_no_tile(text, why):
    with pytest.raises(UsageError) as caught:
        choice(text)
    assert why in str(caught.value)


def test_numbers_and_text():
    assert choice("128, 256,64") == choice((128, 256, 64)) == choice([128, 256, 64])
    assert choice(None) is None
    with pytest.raises(UsageError, match="tile is '16,16', expected M,N,K, multiples of 16 such"):
        choice((16, 16))


sizes = st.integers(1, 255).map(lambda n: 16 * n)
dims = st.integers(1, 5000)


@settings(max_examples=60, deadline=None)
@given(st.tuples(sizes, sizes, sizes), dims, dims, dims, st.sampled_from([2, 4]), st.booleans())
def test_a_tile_that_is_named_instead_fits(tile, m, n, k, size, bias):
    shape = MatmulShape(1, m, n, k, size, size, bias)
    found = fitting(tile, shape, B1)
    assert found is not None
    assert all(a <= b for a, b in zip(found, cut(tile, shape), strict=True))
    for tiling in with_tile(shape, found, B1):
        assert (tiling.m, tiling.n, tiling.k0) == found
        assert not overfull(needs(shape, tiling), B1)


@pytest.mark.parametrize("tile", [(128, 128, 128), (96, 48, 64), (16, 128, 128)])
@pytest.mark.parametrize("size", [2, 4])
def test_no_larger_tile_fits_than_the_one_that_is_named(tile, size):
    small = B1.variant("Small", "SETTLED", l0a=4096, l0b=8192, l0c=16384, l1=24576, l1_reserved=0)
    shape = MatmulShape(1, 300, 300, 300, size, size, True)
    found = fitting(tile, shape, small)
    every = [range(16, extent + 1, 16) for extent in tile]
    fits = [t for t in product(*every) if not overfull(needs(shape, _smallest(t)), small)]
    assert found in fits
    assert max((m * n, k, min(m, n)) for m, n, k in fits) == (
        found[0] * found[1],
        found[2],
        min(found[:2]),
    )


def _smallest(tile):
    m, n, k = tile
    return MatmulTiling(m, n, k, k, 1, 1, 1, 1)


@pytest.mark.parametrize("chip", ["Ascend910B1", "Ascend910A", "Ascend310P3", "Ascend950PR_958x"])
def test_a_tile_that_does_not_fit_is_told_with_bytes_limits_and_what_fits(chip):
    text = TEXT.replace("96x", "4000x").replace("x112x", "x4000x").replace("80x", "640x")
    with pytest.raises(CompileError) as caught:
        gx.lower(parse_module(text.replace("x80x", "x640x")), chip, tile="4096,4096,4096")
    room = target(chip).l0c
    sums, fits = 4000 * 4000 * 4, {131072: "128,256,128", 262144: "256,256,128"}[room]
    message = str(caught.value)
    assert f"ge.MatMul 'fc': tile 4096,4096,4096 takes {4000 * 640 * 2} of 65536 bytes" in message
    assert f"{sums} of {room} bytes of l0c (c {sums})" in message
    assert message.endswith(f"than {chip} has: {fits} is the largest that fits")


def test_nothing_fits_a_chip_without_memory():
    tiny = B1.variant("Tiny", "SETTLED", l0c=512)
    shape = MatmulShape(1, 64, 64, 64, 2, 2)
    assert fitting((64, 64, 64), shape, tiny) is None
    with pytest.raises(CompileError, match="tile 64,64,64 does not fit the memories of Tiny, exp"):
        best_tiling(("no kernel", shape), tiny, pytest.fail, (64, 64, 64))


@pytest.mark.parametrize("tile", ["32,48,16", (32, 48, 16)])
def test_the_door(tile):
    module = parse_module(TEXT)
    before = module_text(module)
    text = gx.text(gx.lower(module, tile=tile))
    assert "in [96, 112] by [32, 48] over cores" in text
    assert "!aicore.tile<32x16xf16, l0a, zz>" in text
    assert module_text(module) == before
    rng = np.random.default_rng(0)
    arrays = {"x": rng.normal(size=(96, 80)), "w": rng.normal(size=(80, 112))}
    arrays = {name: array.astype(np.float16) for name, array in arrays.items()}
    outputs, report = gx.run(module, arrays, level="aicore", tile=tile)
    (y,) = outputs.values()
    np.testing.assert_allclose(y, arrays["x"] @ arrays["w"], rtol=2e-2, atol=2e-2)
    assert report.kernels == gx.estimate(module, tile=tile).kernels
    assert report.kernels[0].us >= gx.estimate(module).kernels[0].us


def test_a_door_that_is_told_nonsense():
    with pytest.raises(UsageError, match="tile is '1,2,3', expected M,N,K, multiples of 16 such"):
        gx.lower(parse_module(TEXT), tile=(1, 2, 3))


def test_an_attribute_that_is_no_tile():
    for attr in ("[16, 16]", '"16,16,16"', "[16, 16, 1.0]"):
        text = TEXT.replace("(%x, %w) :", f"(%x, %w) {{aicore.tile = {attr}}} :")
        with pytest.raises(CompileError, match="error: ge.MatMul 'fc': tile is '[0-9,]*', expect"):
            gx.lower(parse_module(text))


RELU = """func.func @main(%x: tensor<4xf16>) -> tensor<4xf16> {
  %r = ge.Relu(%x) : (tensor<4xf16>) -> tensor<4xf16>
  func.return %r : tensor<4xf16>
}"""


def turned(m, k, n, more=""):
    """Text of a product of batches with permutations around it."""
    x, w, y = (f"tensor<{t}xf16>" for t in (f"{m}x2x{k}", f"2x{k}x{n}", f"{m}x2x{n}"))
    attrs = f"perm_x1 = [1, 0, 2], perm_y = [1, 0, 2]{more}"
    return f"""func.func @main(%x: {x}, %w: {w}) -> {y} {{
  %tb = ge.TransposeBatchMatMul(%x, %w) {{{attrs}}} : ({x}, {w}) -> {y}
  func.return %tb : {y}
}}"""


def test_a_tile_at_an_op_that_has_none():
    want = "ge.Relu 'r': has aicore.tile, expected it at a matrix product or convolution only"
    with pytest.raises(CompileError, match=want):
        gx.lower(parse_module(RELU.replace("(%x) :", "(%x) {aicore.tile = [16, 16, 16]} :")))


def test_a_tile_of_no_op_has_no_effect(tmp_path, capsys):
    want = "tile 16,16,16 has no effect, expected a matrix product or convolution without a tile"
    with pytest.warns(UserWarning, match=want):
        gx.lower(parse_module(RELU), tile="16,16,16")
    path = tmp_path / "r.mlir"
    path.write_text(RELU)
    for main, more in ((opt.main, ["-p", "convert-ge-to-aicore"]), (run.main, ["--estimate"])):
        assert main([str(path), *more, "--tile", "16,16,16"]) == 0
        assert f"warning: {want}\n" in capsys.readouterr().err


ARRAYS = [np.ones((96, 80), np.float16), np.ones((80, 112), np.float16)]


def test_a_tile_that_comes_too_late():
    module = parse_module(TEXT)
    lowered = gx.lower(module)
    with pytest.raises(UsageError, match="tile is for level aicore, expected level='aicore'"):
        gx.run(module, ARRAYS, tile="16,16,16")
    for late in (
        lambda: gx.estimate(lowered, tile="16,16,16"),
        lambda: gx.run(lowered, ARRAYS, level="aicore", tile="16,16,16"),
    ):
        with pytest.raises(UsageError, match="tile for a module that is lowered, expected it in"):
            late()


def test_the_product_in_an_expansion_takes_the_tile():
    own = gx.text(gx.lower(parse_module(turned(90, 64, 80, ", aicore.tile = [32, 16, 16]"))))
    plain = parse_module(turned(90, 64, 80))
    assert own == gx.text(gx.lower(plain, tile="32,16,16"))
    assert own != gx.text(gx.lower(plain))
    large = turned(900, 640, 800, ", aicore.tile = [512, 512, 512]")
    with pytest.raises(CompileError) as caught:
        gx.lower(parse_module(large))
    assert str(caught.value).startswith(
        "<input>:2:3: error: ge.TransposeBatchMatMul 'tb': tile 512"
    )
    assert str(caught.value).endswith("is the largest that fits (BatchMatMulV2 in its expansion)")


def test_depthwise_convolutions_have_no_tile():
    x, w, y = (f"tensor<{t}xf16>" for t in ("1x8x9x9", "8x1x3x3", "1x8x7x7"))
    attrs = "strides = [1, 1, 1, 1], pads = [0, 0, 0, 0], groups = 8 : i64"
    text = f"""func.func @main(%x : {x}, %w : {w}) -> {y} {{
  %y = ge.Conv2D(%x, %w) {{{attrs}, data_format = "NCHW"}} : ({x}, {w}) -> {y}
  func.return %y : {y}
}}"""
    plain = gx.text(gx.lower(parse_module(text)))
    assert gx.text(gx.lower(parse_module(text), tile="16,16,16")) == plain


def test_a_pass_without_a_tile(tmp_path, capsys):
    path = tmp_path / "m.mlir"
    path.write_text(TEXT)
    assert opt.main([str(path), "-p", "aicore-tile"]) == 2
    want = "pass aicore-tile: option 'tile' is missing, expected tile=M,N,K"
    assert want in capsys.readouterr().err


def test_a_tile_that_nothing_takes(tmp_path, capsys):
    path = tmp_path / "r.mlir"
    path.write_text(RELU)
    assert opt.main([str(path), "-p", "aicore-tile{tile=16,16,16}"]) == 0
    want = "aicore-tile has no effect, expected a matrix product or convolution without a tile"
    assert f"warning: {want}\n" in capsys.readouterr().err


def test_idle_options(tmp_path, capsys):
    path = tmp_path / "m.mlir"
    path.write_text(TEXT)
    assert opt.main([str(path), "--tile", "16,16,16"]) == 0
    want = "warning: --tile 16,16,16 has no effect, expected -p convert-ge-to-aicore with it"
    assert want in capsys.readouterr().err
    assert run.main([str(path), "--random-inputs", "--tile", "16,16,16"]) == 2
    assert "--tile 16,16,16 at level ge, expected --level aicore" in capsys.readouterr().err
    assert run.main([str(path), "--random-inputs", "--cycles", "--tile", "16,16,16"]) == 0
