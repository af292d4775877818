"""Running kernels: layouts element by element, and what a kernel may not read or write."""

import numpy as np
import pytest
from aicore_text import COPY, GM, UB

from ge_xdsl.dialects.aicore.types import Tile
from ge_xdsl.dialects.ge.text import parse_module
from ge_xdsl.errors import CompileError
from ge_xdsl.interpreters import aicore
from ge_xdsl.interpreters.codegen import KernelSource
from ge_xdsl.interpreters.tiles import Buffer, Memory, Ring, load_l0, mmad, multiply
from ge_xdsl.interpreters.timing import KernelTiming, Report, report_table

RNG = np.random.default_rng(0)
HUGE = "1000000x1000000000"
X = RNG.normal(size=(64, 64)).astype(np.float16)


def offset_of(layout, r, c, rows, cols, r0, c0):
    """Where element (r, c) is stored, by the formula of each layout."""
    big_r, big_c = -(-rows // r0), -(-cols // c0)
    inner = (r % r0) * c0 + c % c0
    if layout == "nz":
        return ((c // c0) * big_r + r // r0) * r0 * c0 + inner
    if layout == "zz":
        return ((r // r0) * big_c + c // c0) * r0 * c0 + inner
    return ((r // r0) * big_c + c // c0) * r0 * c0 + (c % c0) * r0 + r % r0


@pytest.mark.parametrize(
    ("tile", "block"),
    [
        (Tile((40, 50), "f16", "l1", "nz"), (16, 16)),
        (Tile((40, 50), "f32", "l1", "nz"), (16, 8)),
        (Tile((40, 50), "f32", "l0c", "nz"), (16, 16)),
        (Tile((40, 50), "f16", "l0a", "zz"), (16, 16)),
        (Tile((40, 50), "f32", "l0a", "zz"), (16, 8)),
        (Tile((40, 50), "f16", "l0b", "zn"), (16, 16)),
        (Tile((40, 50), "f32", "l0b", "zn"), (8, 16)),
    ],
)
def test_elements_are_where_the_layout_says(tile, block):
    buffer = Buffer("t", tile)
    matrix = RNG.normal(size=(40, 50)).astype(buffer.data.dtype)
    buffer.put(matrix)
    flat = buffer.data.reshape(-1)
    for r, c in [(0, 0), (1, 0), (0, 1), (15, 7), (16, 8), (17, 33), (39, 49)]:
        assert flat[offset_of(tile.layout, r, c, 40, 50, *block)] == matrix[r, c]
    assert (buffer.get(3, 5, 30, 41) == matrix[3:33, 5:46]).all()


def test_a_factor_in_the_wrong_layout_gives_wrong_numbers():
    """The same bytes read in another order: the product tells."""
    a, b, c = (
        Buffer("a", Tile((32, 32), "f16", "l0a", "zz")),
        Buffer("b", Tile((32, 32), "f16", "l0b", "zn")),
        Buffer("c", Tile((32, 32), "f32", "l0c", "nz")),
    )
    x, y = X[:32, :32], X[32:, 32:]
    a.put(x)
    b.put(y)
    mmad(a, b, c, 32, 32, 32, True, None)
    want = x.astype(np.float32) @ y.astype(np.float32)
    assert np.allclose(c.get(0, 0, 32, 32), want, atol=1e-4)
    a.data = a.data.transpose(1, 0, 2, 3).copy()
    mmad(a, b, c, 32, 32, 32, True, None)
    assert not np.allclose(c.get(0, 0, 32, 32), want, atol=1e-1)


def test_a_transposing_load():
    src = Buffer("s", Tile((48, 64), "f32", "l1", "nz"))
    dst = Buffer("d", Tile((64, 48), "f32", "l0a", "zz"))
    matrix = RNG.normal(size=(48, 64)).astype(np.float32)
    src.put(matrix)
    load_l0(src, 16, 8, dst, 40, 20, True)
    assert (dst.get(0, 0, 40, 20) == matrix[16:36, 8:48].T).all()


def test_buffers_know_what_they_hold():
    ring = Ring("t", Tile((16, 16), "f16", "ub"), 2)
    first = ring.take()
    with pytest.raises(ValueError, match="reads 1x1 of 't', of which 0x0 is written"):
        first.read(1, 1)
    first.put(X[:8, :16])
    assert (first.read(8, 16) == X[:8, :16]).all()
    with pytest.raises(ValueError, match="reads 9x16 of 't', of which 8x16 is written"):
        first.get(1, 0, 8, 16)
    with pytest.raises(ValueError, match="writes 17x1 to 't', a tile of 16x16"):
        first.write(17, 1)
    assert ring.take() is not first
    assert ring.take() is first
    with pytest.raises(ValueError, match="of which 0x0 is written"):
        first.read(1, 1)


def test_windows_stay_inside():
    memory = Memory("x", np.zeros((2, 8, 8)), True)
    assert memory.load((1, 4, 4), 4, 4).shape == (4, 4)
    for at in [(1, 5, 4), (2, 0, 0), (0, -1, 0)]:
        with pytest.raises(ValueError, match=r"window 4x4 at \[.*\] leaves 'x', a tile of 2x8x8"):
            memory.load(at, 4, 4)
    with pytest.raises(ValueError, match="writes 'x', which the kernel reads"):
        memory.store((0, 0, 0), np.zeros((1, 1)))
    with pytest.raises(ValueError, match="reads 'y', which the kernel writes"):
        Memory("y", np.zeros((4, 4)), False).load((0, 0), 1, 1)


def run(text):
    return aicore.run(parse_module(text), {"x": X}, "Ascend910B1")


def test_a_kernel_runs_and_is_reported():
    (y,), report = run(COPY)
    assert (y == np.maximum(X, 0)).all()
    (kernel,) = report.kernels
    assert kernel.ops == ("relu",)
    assert kernel.hbm_bytes == 64 * 64 * 2
    assert kernel.bound == "launch"
    assert report.us == kernel.us > 3.4
    assert report.to_json()["kernels"][0]["busy_cycles"].keys() == {"MTE2", "V", "MTE3"}
    lines = report_table(report).splitlines()
    assert lines[0] == "target Ascend910B1"
    head = "kernel launches core total us share us cycles bound roof % HBM MB L2 MB"
    head += " MTE2 % V % MTE3 %"
    assert " ".join(lines[1].split()) == head
    assert lines[2].split()[:3] == ["k", "1", "vector*2"]
    assert lines[3].startswith("total ")


def test_launches_of_a_kernel_share_a_row_and_the_slowest_comes_first():
    busy = {"V": 10.0}
    slow, fast = (
        KernelTiming(n, (), "vector", 1, 100, us, 1, busy, 0, "V")
        for n, us in (("slow", 4.0), ("fast", 3.0))
    )
    lines = report_table(Report("T", [slow, fast, fast])).splitlines()
    assert lines[2].split()[:6] == ["fast", "2", "vector*1", "6.00", "60%", "3.00"]
    assert lines[3].split()[:6] == ["slow", "1", "vector*1", "4.00", "40%", "4.00"]
    assert lines[4] == "total 10.00 us in 3 launches"


def test_launches_that_change_layouts_are_added_up():
    made = [
        KernelTiming(n, (), "vector", 1, 100, us, 1, {"V": 10.0}, 0, "V")
        for n, us in (("Conv2D", 6.0), ("TransData", 3.0), ("TransData_1", 1.0))
    ]
    lines = report_table(Report("T", made)).splitlines()
    assert "layout changes: 4.00 us in 2 launches, 40%" in lines
    assert "layout changes" not in report_table(Report("T", made[:1]))


def test_the_source_is_a_loop_nest_of_numpy_calls():
    module = parse_module(COPY)
    text = KernelSource(aicore.kernels_of(module)["k"]).text
    assert "for t in range(core, 4, cores):" in text
    assert "np.maximum(t_.read(vr_, 64), 0, out=t_.write(vr_, 64))" in text


WRONG = [
    ("copy_gm_ub %x[%r, 0]", "copy_gm_ub %x[%r, 1]", "window 16x64 at [0, 1] leaves 'x'"),
    (
        "copy_gm_ub %x[%r, 0], %t, [%vr, 64]",
        "copy_gm_ub %x[%r, 0], %t, [%vr, 32]",
        "reads 16x64 of",
    ),
    ("aicore.copy_gm_ub %x", "aicore.copy_gm_ub %y", "reads 'y', which the kernel writes"),
    ("%y[%r, 0], [%vr, 64]", "%x[%r, 0], [%vr, 64]", "writes 'x', which the kernel reads"),
    ("[64] by [16] over", "[48] by [16] over", "leaves 1024 of 4096 elements of 'y' unwritten"),
    ("%y[%r, 0], [%vr, 64]", "%y[%r, 0], [%vr, 63]", "leaves 64 of 4096 elements of 'y' unwritten"),
    ("over cores {", "{", "leaves 4096 of 4096 elements of 'y' written again"),
]


@pytest.mark.parametrize(("old", "new", "message"), WRONG)
def test_wrong_kernels_are_found(old, new, message):
    assert old in COPY
    with pytest.raises(CompileError) as error:
        run(COPY.replace(old, new))
    assert message in str(error.value)
    assert "aicore.kernel @k" in str(error.value)


LAUNCH = [
    ("launch @k(", "launch @q(", "kernel @q is not defined"),
    ("launch @k(%x)", "launch @k(%x, %x)", "has 2 operands and 1 results, expected 1 and 1"),
    ("tensor<64x64xf16>", "tensor<64x32xf16>", "passes tensor<64x32xf16> for !aicore.tile<64x64"),
    ("tensor<64x64xf16>", "tensor<64x64xbf16>", "passes tensor<64x64xbf16> for !aicore.tile<64x"),
]


@pytest.mark.parametrize(("old", "new", "message"), LAUNCH)
def test_launches_fit_their_kernels(old, new, message):
    text = COPY.replace(old, new)
    if "%x, %x" in new:
        text = text.replace('["relu"] : (', '["relu"] : (tensor<64x64xf16>, ')
    with pytest.raises(CompileError) as error:
        aicore.estimate(parse_module(text), "Ascend910B1")
    assert message in str(error.value)


def test_other_dialects_are_no_programs():
    text = 'func.func @main(%x: tensor<2xf16>) -> tensor<2xf16> {\n"test.op"() : () -> ()\n'
    text += "func.return %x : tensor<2xf16>\n}"
    from ge_xdsl.dialects.ge.text import GeContext

    module = parse_module(text, ctx=GeContext(allow_unregistered=True))
    with pytest.raises(CompileError, match="is no launch and no GE op, expected one"):
        aicore.run(module, {"x": X[0, :2]}, "Ascend910B1")


def test_a_kernel_with_an_op_that_is_not_executable():
    text = COPY.replace("%t = aicore.alloc", '"test.op"() : () -> ()\n%t = aicore.alloc')
    from ge_xdsl.dialects.ge.text import GeContext

    module = parse_module(text, ctx=GeContext(allow_unregistered=True))
    with pytest.raises(CompileError, match="has no execution, expected an aicore op"):
        aicore.run(module, {"x": X}, "Ascend910B1")


def test_a_graph_without_a_return():
    module = parse_module(COPY)
    func = next(op for op in module.walk() if op.name == "func.func")
    last = func.body.block.last_op
    last.detach()
    last.erase()
    with pytest.raises(CompileError, match="has no func.return, expected one"):
        aicore.run(module, {"x": X}, "Ascend910B1")


@pytest.mark.parametrize("shape", [(128, 64, 256), (100, 200, 300), (7, 5, 3), (33, 1024, 1)])
def test_products_by_groups_of_rows(shape):
    m, k, n = shape
    a = RNG.normal(size=(m, k)).astype(np.float32)
    b = RNG.normal(size=(k, n)).astype(np.float32)
    assert np.allclose(multiply(a, b), a.astype(np.float64) @ b, atol=1e-3)


def test_a_kernel_must_fit_the_chip_to_run():
    with pytest.raises(CompileError, match="expected at most 188416 on Ascend910B1"):
        run(COPY.replace("16x64xf16, ub>", "16x64000xf16, ub>"))


def test_more_memory_than_there_is():
    huge = COPY.replace(
        "(%y : !aicore.tile<64x64xf16, gm>)", f"(%y : !aicore.tile<{HUGE}xf16, gm>)"
    )
    huge = huge.replace(f"{UB}, {GM}\n", f"{UB}, !aicore.tile<{HUGE}xf16, gm>\n")
    huge = huge.replace("-> tensor<64x64xf16>", f"-> tensor<{HUGE}xf16>")
    huge = huge.replace(
        "func.return %y : tensor<64x64xf16>", f"func.return %y : tensor<{HUGE}xf16>"
    )
    with pytest.raises(CompileError, match="writes 2000000000000000 bytes, expected no more than"):
        run(huge)
