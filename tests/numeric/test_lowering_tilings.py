"""Kernels of products and convolutions in every form that the search chooses from."""

import pytest
from lowering_check import check_graph, const, graph

from ge_xdsl.dialects.ge.text import module_text
from ge_xdsl.lowering import conv, matmul
from ge_xdsl.lowering.tiling import MatmulTiling

FORMS = {
    "two buffers": MatmulTiling(32, 48, 32, 64, 2),
    "one buffer": MatmulTiling(32, 48, 32, 64, 1, 1, 1, 1),
    "four buffers": MatmulTiling(32, 48, 32, 32, 2, 4, 4),
    "by columns": MatmulTiling(32, 48, 32, 64, 1, by_columns=True),
    "strips of rows": MatmulTiling(16, 16, 64, 64, 2, strip=3),
    "strips of columns": MatmulTiling(16, 32, 64, 64, 2, by_columns=True, strip=2),
    "a stays, b by k0": MatmulTiling(32, 48, 32, 32, 2, 1, 4, stay="a"),
    "a stays, b whole": MatmulTiling(32, 48, 32, 160, 1, 2, 2, stay="a"),
    "a stays in L0": MatmulTiling(32, 48, 160, 160, 1, 2, 2, stay="a"),
    "a stays, b in groups": MatmulTiling(32, 16, 32, 32, 2, 1, 4, stay="a", group=2),
    "b stays, a in groups": MatmulTiling(16, 48, 32, 160, 1, 2, 2, stay="b", group=3),
    "b stays, a by k0": MatmulTiling(32, 48, 32, 32, 2, 3, 1, stay="b"),
    "b stays, a whole": MatmulTiling(32, 48, 32, 160, 1, 2, 2, stay="b"),
    "b stays in L0": MatmulTiling(32, 16, 160, 160, 1, 2, 2, 1, stay="b"),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("turn", [(False, False), (True, True)])
def test_products(form, turn, monkeypatch):
    """Tails in every dimension, a bias, a batch, transposed factors."""
    monkeypatch.setattr(matmul, "best_tiling", lambda what, chip, build, tile: FORMS[form])
    a, b = ("150x70", "100x150") if turn[0] else ("70x150", "150x100")
    adj = f"{{transpose_x1 = {str(turn[0]).lower()}, transpose_x2 = {str(turn[1]).lower()}}}"
    op = f"y = ge.MatMul(x, w, bias=b) {adj} -> 70x100xf16"
    lowered, _ = check_graph(graph([op], "y", x=f"{a}xf16", w=f"{b}xf16", b="100xf16"))
    strip = FORMS[form].strip
    assert not strip or f"over cores strips of {strip} " in module_text(lowered)
    adj = f"{{adj_x1 = {str(turn[0]).lower()}, adj_x2 = {str(turn[1]).lower()}}}"
    op = f"y = ge.BatchMatMul(x, w) {adj} -> 3x70x100xf16"
    check_graph(graph([op], "y", x=f"3x{a}xf16", w=f"3x{b}xf16"))


MAPS = {
    name: form
    for name, form in FORMS.items()
    if form.k1 in (64, 160) or form.stay == "a"  # k1 of a map is whole channel blocks
}


@pytest.mark.parametrize("form", MAPS)
@pytest.mark.parametrize("groups", [1, 2])
def test_convolutions(form, groups, monkeypatch):
    """3x3 windows on a map: k is 9 taps times whole channel blocks."""
    tiling = MAPS[form]
    depth = 9 * 16
    whole = 3 * depth
    k1 = {160: whole, 64: depth}.get(tiling.k1, tiling.k1)
    k0 = 144 if tiling.k0 == 160 and tiling.k1 != 160 else tiling.k0
    k0 = whole if k0 == 160 else k0
    changed = MatmulTiling(
        *(tiling.m, 16, k0, k1, tiling.c_buffers, tiling.a_buffers, tiling.b_buffers),
        *(tiling.l0_buffers, tiling.stay, tiling.group, tiling.by_columns, tiling.strip),
    )
    monkeypatch.setattr(conv, "best_tiling", lambda what, chip, build, tile: changed)
    channels, attrs = 48 * groups, f"groups = {groups} : i64, pads = [1, 1, 1, 1]"
    attrs += ', strides = [1, 1, 1, 1], data_format = "NCHW"'
    ops = [
        const("w", "0.25", "40x48x3x3xf16"),
        f"y = ge.Conv2D(x, w, bias=b) {{{attrs}}} -> 2x40x9x7xf16",
    ]
    check_graph(graph(ops, "y", x=f"2x{channels}x9x7xf16", b="40xf16"), low=-1.0, high=1.0)
