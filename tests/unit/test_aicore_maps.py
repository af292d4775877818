"""Instructions on feature maps: text, what they refuse, and what they do by a formula."""

import numpy as np
import pytest

from ge_xdsl.dialects.aicore.maps import Geometry
from ge_xdsl.dialects.aicore.types import Tile
from ge_xdsl.dialects.ge.graph import verify
from ge_xdsl.dialects.ge.text import module_text, parse_module
from ge_xdsl.errors import CompileError
from ge_xdsl.interpreters.map_tiles import copy_map_l1, copy_map_ub, load3d, vspread, vtap
from ge_xdsl.interpreters.tiles import Buffer, Memory
from ge_xdsl.targets import target
from ge_xdsl.targets.cost import Work, cost

G = Geometry((5, 6), (3, 2), (2, 1), (1, 2), (1, 1), (3, 6))
TEXT = (
    "size = [5, 6], kernel = [3, 2], stride = [2, 1], dilation = [1, 2], pad = [1, 1], out = [3, 6]"
)
TILES = {
    "x": "2x1x480xf16, gm",
    "planes": "2x11x30xf16, gm",
    "l1": "1x480xf16, l1",
    "l0a": "16x96xf16, l0a, zz",
    "l0f": "16x96xf32, l0a, zz",
    "rows": "64x6xf16, ub",
    "wide": "64x6xf32, ub",
    "pixels": "64x8xf32, ub",
    "sums": "18x8xf32, ub",
}


def instruction(text):
    types = {name: f"!aicore.tile<{t}>" for name, t in TILES.items()}
    lines = [f"  %{n} = aicore.alloc : {t}" for n, t in types.items() if "gm" not in t]
    call, operands = text.split(" : ")
    names = ", ".join(types[name.strip()] for name in operands.split(","))
    loop = "  aicore.for (%m : %vm) in [18] by [6] over cores {\n"
    head = f"aicore.kernel @k(%x : {types['x']}, %planes : {types['planes']}) "
    head += "writes (%y : !aicore.tile<4x4xf16, gm>) on vector * 1 {\n"
    return head + "\n".join(lines) + f"\n{loop}    {call} : {names}\n  }}\n}}"


LEGAL = [
    f"aicore.copy_map_l1 %x[0, 0, 0], %l1, [16, 96] {{{TEXT}}} : x, l1",
    f"aicore.load3d %l1[%m, 0], %l0a, [%vm, 96] {{{TEXT}}} : l1, l0a",
    f"aicore.copy_map_ub %planes[1, 8, %m], %rows, [3, %vm] {{{TEXT}}} : planes, rows",
    f"aicore.vspread %wide, %pixels, [8, %vm] at (%m) {{{TEXT}, value = 0.0}} : wide, pixels",
    f"aicore.vtap %pixels, %pixels, %sums, [8, 6] {{{TEXT}, kind = muladd, tap = [2, 1]}} "
    ": pixels, pixels, sums",
    f"aicore.vtap %pixels, %sums, [8, 6] {{{TEXT}, kind = max, tap = [0, 1], first}} "
    ": pixels, sums",
]


@pytest.mark.parametrize("text", LEGAL)
def test_legal_ones_print_as_they_are(text):
    module = parse_module(instruction(text))
    verify(module)
    printed = module_text(module)
    assert text.split(" : ")[0] in printed
    assert module_text(parse_module(printed)) == printed


BAD = TEXT.replace("[2, 1]", "[0, 1]")
ILLEGAL = [
    (LEGAL[0].replace(TEXT, BAD), "option 'stride' is [0, 1], expected two numbers in range"),
    (LEGAL[0].replace("[1, 1]", "[1]"), "option 'pad' is [1], expected two numbers in range"),
    (LEGAL[0].replace("size = [5, 6]", "size = [5, 7]"), "one element type with 5x7x16 columns"),
    (LEGAL[1].replace("l0a", "l0f"), "elements are f16 and f32, expected one element type"),
    (LEGAL[1].replace(", 96]", ", 97]"), "size is 97 in 'dst', expected 1 to 96"),
    (LEGAL[2].replace("rows", "wide"), "expected 5x6 columns to 6 of one element type"),
    (LEGAL[3].replace("wide", "rows"), "expected f32 to pixels of 8 f32"),
    (LEGAL[3].replace(", value = 0.0", ""), "option 'value' is missing, it is required"),
    (LEGAL[3].replace(" at (%m)", ""), "has 0 indices, expected the first pixel"),
    (
        LEGAL[4].replace("tap = [2, 1]", "tap = [3, 1]"),
        "tap is [3, 1], expected one in a kernel of",
    ),
    (LEGAL[5].replace("pixels", "wide"), "'src' is !aicore.tile<64x6xf32, ub>, expected pixels of"),
    (LEGAL[5].replace("tap = [0, 1]", "tap = max"), "expected"),
]


@pytest.mark.parametrize(("text", "message"), ILLEGAL)
def test_illegal_ones_are_refused(text, message):
    with pytest.raises(CompileError) as caught:
        verify(parse_module(instruction(text)))
    assert message in str(caught.value)


def test_a_list_option_that_is_no_list():
    module = parse_module(instruction(LEGAL[0]))
    (op,) = [op for op in module.walk() if op.name == "aicore.copy_map_l1"]
    op.properties["pad"] = op.properties["sizes"].__class__.from_list(
        op.properties["sizes"].elt_type, [1, 1]
    )
    verify(module)
    from xdsl.dialects.builtin import StringAttr

    op.properties["pad"] = StringAttr("no")
    with pytest.raises(CompileError, match="option 'pad' is \"no\", expected integers"):
        verify(module)


def windows(x, g):
    """[pixels, C, taps] of x [C, H, W], zero outside."""
    c = x.shape[0]
    found = np.zeros((g.pixels, c, g.taps), x.dtype)
    for m in range(g.pixels):
        for t in range(g.taps):
            i = m // g.out[1] * g.stride[0] - g.pad[0] + t // g.kernel[1] * g.dilation[0]
            j = m % g.out[1] * g.stride[1] - g.pad[1] + t % g.kernel[1] * g.dilation[1]
            if 0 <= i < g.size[0] and 0 <= j < g.size[1]:
                found[m, :, t] = x[:, i, j]
    return found


@pytest.mark.parametrize("m", [0, 6, 7, 12])
def test_load3d_by_its_formula(m):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(32, 5, 6)).astype(np.float16)
    blocked = x.reshape(2, 16, 30).transpose(0, 2, 1).reshape(1, 2, 480)
    l1 = Buffer("a", Tile((2, 480), "f16", "l1"))
    l0 = Buffer("b", Tile((16, 192), "f16", "l0a", "zz"))
    copy_map_l1(Memory("x", blocked, True), (0, m, 0), l1, 6, 192, G)
    load3d(l1, m, 0, l0, 6, 192, G)
    want = windows(x, G)[m : m + 6].reshape(6, 2, 16, 6).transpose(0, 1, 3, 2).reshape(6, 192)
    assert (l0.get(0, 0, 6, 192) == want).all()


def test_load3d_checks_what_is_there():
    l1 = Buffer("a", Tile((2, 480), "f16", "l1"))
    l0 = Buffer("b", Tile((16, 192), "f16", "l0a", "zz"))
    memory = Memory("x", np.zeros((1, 2, 480), np.float16), True)
    with pytest.raises(ValueError, match="column is 16, expected a multiple of 96"):
        copy_map_l1(memory, (0, 0, 16), l1, 6, 96, G)
    copy_map_l1(memory, (0, 0, 0), l1, 6, 96, G)
    with pytest.raises(ValueError, match="columns are 8 and 96, expected multiples of 16"):
        load3d(l1, 0, 8, l0, 6, 96, G)
    with pytest.raises(ValueError, match="reads 2 of 1 channel blocks of 'a'"):
        load3d(l1, 0, 0, l0, 6, 192, G)
    with pytest.raises(ValueError, match="reads row 3 of 2 of 'a'"):
        load3d(l1, 0, 0, l0, 12, 96, G)


@pytest.mark.parametrize("m", [0, 6, 12])
@pytest.mark.parametrize("kind", ["muladd", "max", "add"])
def test_taps_by_their_formula(kind, m):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3, 5, 6)).astype(np.float32)
    w = rng.normal(size=(6, 3)).astype(np.float32)
    rows = Buffer("a", Tile((24, 6), "f32", "ub"))
    pixels = Buffer("p", Tile((30, 8), "f32", "ub"))
    weights = Buffer("w", Tile((6, 8), "f32", "ub"))
    sums = Buffer("s", Tile((6, 8), "f32", "ub"))
    weights.put(w)
    copy_map_ub(Memory("x", x.reshape(1, 3, 30), True), (0, 0, m), rows, 3, 6, G)
    vspread(rows, pixels, 3, 6, m, -1e39 if kind == "max" else 0.0, G)
    for i in range(6):
        weight = weights if kind == "muladd" else None
        vtap(pixels, weight, sums, 3, 6, kind, divmod(i, 2), i == 0, G)
    seen = windows(x, G)[m : m + 6]
    want = (seen * w.T).sum(2) if kind == "muladd" else seen.sum(2)
    if kind == "max":
        there = windows(np.ones_like(x), G)[m : m + 6] > 0
        want = np.where(there, seen, -np.inf).max(2)
    assert np.allclose(sums.get(0, 0, 6, 3), want, atol=1e-6)


RATES = [(1, 1, 256), (1, 2, 128), (2, 1, 128), (2, 4, 64), (3, 1, 32), (8, 8, 32)]


@pytest.mark.parametrize(("stride", "lines", "rate"), RATES)
def test_load3d_rates(stride, lines, rate):
    work = Work("load3d", bytes=8192, stride=stride, lines=lines)
    assert cost(work, target("Ascend910B1")).busy == pytest.approx(8192 / rate + 46)
