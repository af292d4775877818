"""The timing model: pipes against sums by hand, skipping against full simulation, HBM traffic."""

import math

import pytest
from aicore_text import COPY
from hypothesis import given, settings
from hypothesis import strategies as st

from ge_xdsl.dialects.aicore.structure import ForOp, tile_order
from ge_xdsl.dialects.ge.text import parse_module
from ge_xdsl.errors import CompileError
from ge_xdsl.interpreters import aicore, cycles
from ge_xdsl.interpreters.core_time import Snapshot
from ge_xdsl.interpreters.cycles import busiest_core, phase_cycles, smooth, time_kernel
from ge_xdsl.interpreters.rounds import tile_loops
from ge_xdsl.interpreters.shares import core_lengths, loads
from ge_xdsl.interpreters.traffic import traffic_of
from ge_xdsl.lowering import lower
from ge_xdsl.targets import target
from ge_xdsl.targets.cost import Work, cost

B1 = target("Ascend910B1")


def kernel_of(text):
    (kernel,) = aicore.kernels_of(parse_module(text)).values()
    return kernel


def simulate(kernel, core=0, chip=B1):
    (simulation,) = cycles.simulate(kernel, chip, traffic_of(kernel, chip), core)
    return simulation


LOAD = 2048 / 68
STORE = 2048 / 64
VECTOR = 24 + 8


def one_core(buffers):
    text = COPY.replace("on vector * 2", "on vector * 1")
    return kernel_of(text.replace("buffers 2", f"buffers {buffers}"))


def test_one_buffer_runs_one_tile_after_the_other():
    """Load, latency, compute, store; the next load waits until the store has read the buffer."""
    simulation = simulate(one_core(1))
    tile = LOAD + 450 + VECTOR + STORE
    assert simulation.end == pytest.approx(4 * tile + 225)
    assert simulation.busy_cycles()["MTE2"] == pytest.approx(4 * LOAD)
    assert simulation.busy_cycles()["V"] == pytest.approx(4 * VECTOR)


def test_two_buffers_overlap_the_next_load():
    """Tiles 0 and 1 start at once; tile 2 waits for the store of tile 0, tile 3 for tile 1's."""
    simulation = simulate(one_core(2))
    first = LOAD + 450 + VECTOR + STORE
    second = LOAD + first
    # the second load follows the first on MTE2, so does all the rest, LOAD later
    assert second - first < VECTOR
    v1 = LOAD + 450 + 2 * VECTOR
    store1 = max(first, v1) + STORE
    v2 = first + LOAD + 450 + VECTOR
    v3 = max(store1 + LOAD + 450, v2) + VECTOR
    assert simulation.end == pytest.approx(max(v2 + STORE, v3) + STORE + 225)


def test_lengths_of_iterations():
    assert list(core_lengths([5, 4], [2, 3])) == [
        *[((2, 3), 1), ((2, 1), 1)] * 2,
        ((1, 3), 1),
        ((1, 1), 1),
    ]
    assert list(core_lengths([64], [16])) == [((16,), 4)]
    assert list(core_lengths([64], [16], 0, 1, 3)) == [((16,), 1)]
    assert list(core_lengths([40], [16], 0, 1, 2)) == [((16,), 1)]
    assert list(core_lengths([16], [16], 0, 5, 8)) == []


@pytest.mark.parametrize(("extents", "steps"), [([40, 24], [16, 16]), ([7], [2]), ([32], [16])])
@pytest.mark.parametrize("strip", [0, 2])
def test_the_loads_of_the_cores_are_those_of_their_iterations(extents, steps, strip):
    if strip and len(extents) < 2:
        return
    for cores in (1, 2, 3, 5):
        wanted = [
            sum(
                math.prod(lengths) * n
                for lengths, n in core_lengths(extents, steps, strip, c, cores)
            )
            for c in range(cores)
        ]
        assert loads(extents, steps, strip, cores) == wanted
        assert sum(wanted) == math.prod(extents)


def test_strips():
    order = list(tile_order([3, 2], 2))
    assert order == [(0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (2, 1)]
    assert list(tile_order([2, 1, 2])) == [(0, 0, 0), (0, 0, 1), (1, 0, 0), (1, 0, 1)]
    assert list(tile_order([3])) == [(0,), (1,), (2,)]


def test_the_most_loaded_core_is_taken():
    kernel = kernel_of(COPY.replace("in [64]", "in [65]"))
    assert busiest_core(kernel) == 0
    kernel = kernel_of(COPY.replace("in [64] by [16]", "in [40] by [16]"))
    assert busiest_core(kernel) == 0
    kernel = kernel_of(COPY.replace("in [64] by [16]", "in [17] by [16]"))
    assert busiest_core(kernel) == 0


def product(m, n, k, dtype="f16"):
    a, b, y = (f"tensor<{s}x{dtype}>" for s in (f"{m}x{k}", f"{k}x{n}", f"{m}x{n}"))
    text = f"""func.func @main(%a : {a}, %b : {b}) -> {y} {{
  %y = ge.MatMul(%a, %b) : ({a}, {b}) -> {y}
  func.return %y : {y}
}}"""
    (kernel,) = aicore.kernels_of(lower(parse_module(text), B1)).values()
    return kernel


def sum_of(size, chip=B1, dtype="f16"):
    t = f"tensor<{size}x{dtype}>"
    text = f"""func.func @main(%a : {t}, %b : {t}) -> {t} {{
  %y = ge.Add(%a, %b) : ({t}, {t}) -> {t}
  func.return %y : {t}
}}"""
    (kernel,) = aicore.kernels_of(lower(parse_module(text), chip)).values()
    return kernel


KERNELS = [
    product(2048, 2048, 3000),
    product(1024, 3000, 4096),
    product(300, 5000, 777, "f32"),
    sum_of(2**24),
    sum_of("3000x7001"),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=list("abcde"))
def test_skipping_repeated_states_changes_nothing(kernel, monkeypatch):
    quick = simulate(kernel)
    monkeypatch.setattr(Snapshot, "repeats", lambda self, other: False)
    full = simulate(kernel)
    assert quick.end == pytest.approx(full.end, rel=1e-9)
    assert quick.busy == pytest.approx(full.busy, rel=1e-9)
    assert quick.issued <= full.issued


def test_large_kernels_are_simulated_in_part():
    kernel = product(8192, 8192, 8192)
    simulation = simulate(kernel, busiest_core(kernel))
    assert simulation.issued < 5000
    # what it counts is the share of a core, all of it
    products = 8192**3 // 24 * 2
    assert products <= simulation.traffic["products"] < 1.1 * products
    assert simulation.busy_cycles()["M"] > products / (16 * 16 * 32)


def test_timing_is_deterministic():
    assert time_kernel(product(333, 444, 555), B1) == time_kernel(product(333, 444, 555), B1)


def test_hbm_traffic_of_a_product_that_fits_l2_is_each_operand_once():
    traffic = traffic_of(product(2048, 2048, 2048), B1)
    assert traffic.hbm_bytes == 2 * 2048 * 2048 * 2
    (phase,) = traffic.phases
    assert all(0 < share < 0.5 for share in phase.cold.values())


def test_hbm_traffic_of_a_product_that_does_not_fit():
    kernel = product(16384, 16384, 16384)
    traffic = traffic_of(kernel, B1)
    operands = 2 * 16384 * 16384 * 2
    stored = 16384 * 16384 * 2 - B1.l2
    assert operands + stored < traffic.hbm_bytes < 5 * operands


def test_large_sums_are_bound_by_hbm():
    timing = time_kernel(sum_of(2**27), B1)
    assert timing.bound == "HBM"
    moved = 3 * 2 * 2**27 - 0.9 * B1.l2 / 3
    assert timing.hbm_bytes == pytest.approx(moved)
    assert timing.us > moved / 1.48e12 * 1e6


def test_small_kernels_are_bound_by_the_launch():
    assert time_kernel(sum_of(64), B1).bound == "launch"
    assert time_kernel(sum_of(64), B1).us == pytest.approx(B1.launch("vector", 1), abs=1)


def test_long_products_are_bound_by_a_pipe():
    assert time_kernel(product(4096, 4096, 4096), B1).bound in ("M", "MTE2")


def test_more_cores_are_faster():
    kernels = {name: sum_of(2**22, target(name)) for name in ("Ascend910B1", "Ascend910B4")}
    times = {name: time_kernel(kernel, target(name)).us for name, kernel in kernels.items()}
    assert times["Ascend910B1"] < times["Ascend910B4"]


def test_a_kernel_that_waits_is_bound_by_latency():
    text = COPY.replace("buffers 2", "buffers 1").replace("on vector * 2", "on vector * 1")
    slow = B1.variant("Slow", "SETTLED", ub_latency=50000.0)
    assert cycles.time_kernel(kernel_of(text), slow).bound == "latency"


@pytest.mark.parametrize(
    ("rows", "cols", "want"),
    [
        (10, 64, 24 + 70 * 64 / 63),
        # 3 columns of 10 repeats, one instruction each
        (10, 256, 3 * (24 + 10) + 24 + 70 * 64 / 63),
        # one row: 127 repeats in 7 halvings
        (1, 8192, 7 * 24 + 127 + 24 + 7 * 64 / 63),
    ],
)
def test_cycles_of_a_reduction(rows, cols, want):
    work = Work("reduce", elements=rows * cols, rows=rows, size=4)
    assert cost(work, B1).busy == pytest.approx(want)


def test_a_smooth_maximum_lies_between_the_larger_and_the_sum():
    assert smooth(100, 0, 6) == 100
    assert 100 < smooth(100, 90, 6) < 190
    assert smooth(3, 4, 1) == pytest.approx(7)


def test_waits_of_a_core_are_seen_by_hbm():
    """a + b^2 / (a + b) for two customers at two stations; nothing where no pipe waits."""
    busy = cycles.Mark(100.0, (100.0,) * 7)
    waits = cycles.Mark(100.0, (60.0,) * 7)
    chip = B1.variant("Sharp", "SETTLED", join_power=60.0)
    seconds = 200 / B1.clock_hz
    assert phase_cycles(busy, seconds, 1, chip) == pytest.approx(200)
    assert phase_cycles(waits, seconds, 1, chip) == pytest.approx(200 + 1600 / 240)
    assert phase_cycles(waits, 0.0, 1, chip) == 100


def test_conflicts_hold_copies_up_only_while_they_wait_for_hbm():
    plain = cycles.Mark(100.0, (100.0,) * 7)
    stalled = cycles.Mark(100.0, (100.0,) * 7, 50.0)
    more = phase_cycles(stalled, 300 / B1.clock_hz, 1, B1) - phase_cycles(
        plain, 300 / B1.clock_hz, 1, B1
    )
    assert more == pytest.approx(B1.ub_stall * 50 * 0.75)
    assert phase_cycles(stalled, 0.0, 1, B1) == phase_cycles(plain, 0.0, 1, B1)


CHAIN = """aicore.kernel @k(%x : G, %z : G) writes (%y : G) on vector * 1 {
  aicore.for (%r : %vr) in [64] by [16] over cores {
    %a = aicore.alloc : U
PAD
    %b = aicore.alloc : U
    aicore.copy_gm_ub %x[%r, 0], %a, [%vr, 64] : G, U
    aicore.copy_gm_ub %z[%r, 0], %b, [%vr, 64] : G, U
    aicore.vbinary %a, %b, %b, [%vr, 64] {kind = add} : U, U, U
    aicore.copy_ub_gm %b, %y[%r, 0], [%vr, 64] : U, G
  }
}"""
GM, UB = "!aicore.tile<64x64xf16, gm>", "!aicore.tile<16x64xf16, ub>"


@pytest.mark.parametrize(
    ("pad", "factor"),
    [
        ("", 2),
        ("    %p = aicore.alloc : !aicore.tile<1x128xf16, ub>", 1),
        ("    %p = aicore.alloc : !aicore.tile<1x256xf16, ub>", 2),
    ],
)
def test_sources_256_bytes_apart_meet_in_no_bank(pad, factor):
    text = CHAIN.replace("PAD", pad).replace("G", GM).replace("U", UB)
    simulation = simulate(kernel_of(text))
    assert simulation.busy_cycles()["V"] == pytest.approx(4 * (24 + 8 * factor))


def test_addresses_decide_about_banks():
    at = CHAIN.replace("PAD\n", "").replace("%b = aicore.alloc", "%b = aicore.alloc at ADDRESS")
    for address, factor in ((4096, 2), (4352, 1), (4608, 2)):
        text = at.replace("ADDRESS", str(address)).replace("G", GM).replace("U", UB)
        assert simulate(kernel_of(text)).busy_cycles()["V"] == pytest.approx(4 * (24 + 8 * factor))


def test_a_deadlock_between_cores_is_an_error():
    text = """aicore.kernel @k(%x : G) writes (%y : G) on mix * 1 {
  aicore.section cube {
    aicore.cross_wait MTE2, 0
  }
  aicore.section vector {
    aicore.cross_wait MTE2, 1
    aicore.cross_set MTE2, 0
  }
}""".replace("G", GM)
    with pytest.raises(CompileError, match="@k: waits for a flag that no core sets, expected a cr"):
        time_kernel(kernel_of(text), B1)


def test_cores_wait_for_each_other():
    """The vector core starts when the cube core's copy is complete, and the other way round."""
    text = """aicore.kernel @k(%x : G) writes (%y : G) on mix * 1 {
  aicore.section cube {
    %a = aicore.alloc : !aicore.tile<64x64xf16, l1, nz>
    aicore.copy_gm_l1 %x[0, 0], %a, [64, 64] : G, !aicore.tile<64x64xf16, l1, nz>
    aicore.cross_set MTE2, 0
    aicore.cross_wait MTE2, 1
    aicore.copy_gm_l1 %x[0, 0], %a, [64, 64] : G, !aicore.tile<64x64xf16, l1, nz>
  }
  aicore.section vector {
    %t = aicore.alloc : U
    aicore.cross_wait MTE2, 0
    aicore.copy_gm_ub %x[0, 0], %t, [16, 64] : G, U
    aicore.cross_set MTE2, 1
    aicore.copy_ub_gm %t, %y[0, 0], [16, 64] : U, G
  }
}""".replace("G", GM).replace("U", UB)
    kernel = kernel_of(text)
    cube, vector = cycles.simulate(kernel, B1, traffic_of(kernel, B1), 0)
    copy = cube.busy_cycles()["MTE2"] / 2 - 1
    first = copy + 1 + B1.l1_latency - 1
    load = max(B1.dma_issue, 2048 / B1.gm_ub_rate)
    ready = first + 1 + load + B1.ub_latency
    assert cube.end == pytest.approx(ready + 1 + copy + B1.l1_latency)
    assert vector.end < cube.end


LONG = """aicore.kernel @k(%x : L) writes (%y : L) on mix * 1 {
  %w = aicore.workspace buffers 2 : W
  aicore.section cube {
    aicore.for (%r : %vr) in [16384] by [64] over cores {
      %a = aicore.alloc buffers 2 : !aicore.tile<64x64xf16, l1, nz>
      aicore.copy_gm_l1 %x[%r, 0], %a, [%vr, 64] : L, !aicore.tile<64x64xf16, l1, nz>
      aicore.cross_set MTE2, 0 of 2
      aicore.cross_wait MTE2, 2 of 2
    }
  }
  aicore.section vector {
    aicore.for (%r : %vr) in [16384] by [64] over cores {
      %t = aicore.alloc buffers 2 : UB
      aicore.cross_wait MTE2, 0 of 2
      aicore.copy_gm_ub %x[%r, 0], %t, [%vr, 64] : L, UB
      aicore.cross_set MTE2, 2 of 2
      aicore.copy_ub_gm %t, %y[%r, 0], [%vr, 64] : UB, L
    }
  }
}"""


def test_long_loops_with_flags_between_cores_go_on_at_their_pace():
    text = LONG.replace("L", "!aicore.tile<16384x64xf16, gm>")
    text = text.replace("W", "!aicore.tile<64x64xf32, gm>")
    kernel = kernel_of(text.replace("UB", "!aicore.tile<64x64xf16, ub>"))
    traffic = traffic_of(kernel, B1)
    quick = cycles.simulate(kernel, B1, traffic, 0)
    full = cycles.simulate(kernel, B1, traffic, 0, cuts=False)
    assert quick[0].issued < full[0].issued / 5
    for a, b in zip(quick, full, strict=True):
        assert a.end == pytest.approx(b.end, rel=1e-3)
        assert a.busy_cycles() == pytest.approx(b.busy_cycles(), rel=1e-3)
        assert a.traffic == pytest.approx(b.traffic, rel=1e-9)


@pytest.mark.parametrize(("step", "count"), [(64, 2), (1, 1)])
def test_output_tiles_are_counted_one_by_one_only_when_they_are_few(step, count):
    text = f"""aicore.kernel @k(%x : G) writes (%y : G) on vector * 4 {{
  aicore.for (%g : %vg) in [16384] by [4096] over cores {{
    aicore.for (%r : %vr) in [%vg] from [%g] by [{step}] {{
      %t = aicore.alloc : !aicore.tile<{step}x64xf16, ub>
      aicore.copy_gm_ub %x[%r, 0], %t, [%vr, 64] : G, !aicore.tile<{step}x64xf16, ub>
      aicore.copy_ub_gm %t, %y[%r, 0], [%vr, 64] : !aicore.tile<{step}x64xf16, ub>, G
    }}
  }}
}}""".replace("G", "!aicore.tile<16384x64xf16, gm>")
    kernel = kernel_of(text)
    (loop,) = [op for op in kernel.body.ops if isinstance(op, ForOp)]
    assert len(tile_loops(loop)) == count
    traffic = traffic_of(kernel, B1)
    assert traffic.gm_read == traffic.gm_written == 16384 * 64 * 2
    assert traffic.hbm_bytes == 16384 * 64 * 2


def test_cores_with_other_loops_are_not_cut_short():
    """The vector core's loop is in two halves."""
    text = LONG.replace("L", "!aicore.tile<16384x64xf16, gm>")
    text = text.replace("W", "!aicore.tile<64x64xf32, gm>").replace(
        "UB", "!aicore.tile<64x64xf16, ub>"
    )
    head, tail = text.split("  aicore.section vector {\n")
    loop, end = tail.rsplit("    }\n  }\n}", 1)
    loop = loop.replace("[16384]", "[8192]") + "    }\n"
    kernel = kernel_of(f"{head}  aicore.section vector {{\n{loop}{loop}  }}\n}}{end}")
    traffic = traffic_of(kernel, B1)
    quick = cycles.simulate(kernel, B1, traffic, 0)
    full = cycles.simulate(kernel, B1, traffic, 0, cuts=False)
    assert [core.end for core in quick] == [core.end for core in full]
    assert [core.issued for core in quick] == [core.issued for core in full]


UNIT = """aicore.kernel @k() writes () on cube * 1 {
  %a = aicore.alloc : !aicore.tile<128x64xf16, l0a, zz>
  %b = aicore.alloc : !aicore.tile<64x256xf16, l0b, zn>
  %c = aicore.alloc : C
  %w = aicore.workspace : Y
  aicore.mmad %a, %b, %c, [128, 256, 64]FLAG : A, B, C
  aicore.fixpipe %c, %w[0, 0], [128, 256]FLAG : C, Y
  aicore.mmad %a, %b, %c, [128, 256, 64]FLAG : A, B, C
}"""


def test_the_unit_flag_drains_beside_the_product():
    text = UNIT.replace("Y", "!aicore.tile<128x256xf32, gm>")
    text = text.replace(" C", " !aicore.tile<128x256xf32, l0c, nz>")
    text = text.replace(" A,", " !aicore.tile<128x64xf16, l0a, zz>,")
    text = text.replace(" B,", " !aicore.tile<64x256xf16, l0b, zn>,")
    apart = simulate(kernel_of(text.replace("FLAG", "")))
    beside = simulate(kernel_of(text.replace("FLAG", " {unit_flag}")))
    drain = 128 * 256 * 4 / B1.l0c_gm_rate
    product = 512 + B1.mmad_start
    assert apart.free[cycles.PIPES.index("M")] == pytest.approx(product + drain + product)
    # the drain starts with the first product, the second ends no sooner than it
    assert beside.free[cycles.PIPES.index("FIX")] == pytest.approx(drain)
    assert beside.free[cycles.PIPES.index("M")] == pytest.approx(max(2 * product, drain))


def test_a_kernel_with_more_blocks_than_cores_runs_in_waves():
    kernel = sum_of(2**22)
    once = time_kernel(kernel, B1)
    half = B1.variant("Half", "SETTLED", vector_cores=24)
    assert cycles.waves(kernel, half) == 2
    assert time_kernel(kernel, half).core_us == pytest.approx(2 * once.core_us)


def test_rounds_that_come_from_l2_are_joined_apart_from_those_that_do_not():
    """Four passes over half a matrix each: the first from HBM, three from L2."""
    text = """aicore.kernel @k(%x : L) writes () on vector * 48 synced {
  aicore.for (%c : %vc, %p : %vp, %r : %vr, %n : %vn) in [2, 4, 6144, 12288] by STEPS over cores {
    %t = aicore.alloc buffers 1 : !aicore.tile<64x512xf16, ub>
    aicore.copy_gm_ub %x[%c, %r, %n], %t, [%vr, %vn] : L, !aicore.tile<64x512xf16, ub>
  }
}""".replace("L", "!aicore.tile<2x6144x12288xf16, gm>").replace("STEPS", "[1, 1, 64, 512]")
    kernel = kernel_of(text)
    traffic = traffic_of(kernel, B1)
    assert traffic.hbm_bytes == 2 * 12288 * 12288
    assert [phase.read for phase in traffic.phases] == pytest.approx(
        [12288 * 12288, 0, 12288 * 12288, 0], rel=1e-6
    )
    timing = time_kernel(kernel, B1)
    assert timing.us > 0.99 * (timing.hbm_us + 0.75 * timing.core_us)


@settings(max_examples=25, deadline=None)
@given(
    m=st.integers(1, 3000),
    n=st.integers(1, 3000),
    k=st.integers(1, 3000),
    dtype=st.sampled_from(["f16", "f32"]),
)
def test_no_product_beats_its_roofline(m, n, k, dtype):
    check_roofline(product(m, n, k, dtype), 2 * m * n * k, dtype)


@settings(max_examples=25, deadline=None)
@given(rows=st.integers(1, 5000), cols=st.integers(1, 5000), dtype=st.sampled_from(["f16", "f32"]))
def test_no_sum_beats_its_roofline(rows, cols, dtype):
    check_roofline(sum_of(f"{rows}x{cols}", dtype=dtype), 0, dtype)


def check_roofline(kernel, operations, dtype):
    timing = time_kernel(kernel, B1)
    assert timing.launch_us < timing.roofline_us <= timing.us * (1 + 1e-9)
    # what no chip of its peak can do, counted from the shape alone
    peak = B1.cube_cores * 8192 * B1.clock_hz / (1 if dtype == "f16" else 4)
    assert timing.us > 1e6 * operations / peak
    assert timing.us > 1e6 * timing.bytes["hbm_read"] / 1.8e12
