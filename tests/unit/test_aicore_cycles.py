"""The timing model: pipes against sums by hand, skipping against full simulation, HBM traffic."""

import runpy
from pathlib import Path

import pytest
from aicore_text import COPY

from ge_xdsl.dialects.aicore.structure import tile_order
from ge_xdsl.dialects.ge.text import parse_module
from ge_xdsl.interpreters import aicore, cycles
from ge_xdsl.interpreters.cycles import (
    CoreSimulation,
    Snapshot,
    busiest_core,
    iteration_lengths,
    time_kernel,
)
from ge_xdsl.interpreters.traffic import traffic_of
from ge_xdsl.lowering import lower
from ge_xdsl.targets import target
from ge_xdsl.targets.cost import Work, cost

B1 = target("Ascend910B1")


def kernel_of(text):
    (kernel,) = aicore.kernels_of(parse_module(text)).values()
    return kernel


def simulate(kernel, core=0, chip=B1):
    simulation = CoreSimulation(chip, core, kernel.blocks, traffic_of(kernel, chip).cold)
    simulation.block(kernel.body)
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
    assert simulation.busy["MTE2"] == pytest.approx(4 * LOAD)
    assert simulation.busy["V"] == pytest.approx(4 * VECTOR)


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
    assert iteration_lengths([5, 4], [2, 3]) == [(2, 3), (2, 1), (2, 3), (2, 1), (1, 3), (1, 1)]


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
    assert quick.simulated <= full.simulated


def test_large_kernels_are_simulated_in_part():
    kernel = product(8192, 8192, 8192)
    simulation = simulate(kernel)
    instructions = 86 * 128 * 3
    assert simulation.simulated < instructions / 10
    # a set and a wait per instruction, and per tile, and those around the loop
    flags = 2 * 86 * 128 + 2 * 86 + 3
    assert simulation.busy["M"] == pytest.approx(86 * 128 * (512 + 11) + flags)


def test_busy_time_of_the_cube_is_the_sum_of_its_instructions():
    kernel = product(3072, 3072, 3072)
    tiles = -(-24 * 12 // 24)
    flags = 2 * tiles * 48 + 2 * tiles + 3
    assert simulate(kernel).busy["M"] == pytest.approx(tiles * 48 * (512 + 11) + flags)


def test_timing_is_deterministic():
    assert time_kernel(product(333, 444, 555), B1) == time_kernel(product(333, 444, 555), B1)


def test_hbm_traffic_of_a_product_that_fits_l2_is_each_operand_once():
    traffic = traffic_of(product(2048, 2048, 2048), B1)
    assert traffic.hbm_bytes == 2 * 2048 * 2048 * 2
    assert all(0 < share < 0.2 for share in traffic.cold.values())


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
    assert time_kernel(sum_of(64), B1).us == pytest.approx(6, abs=1)


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


def test_published_kernel_times():
    """The orders that the publications show, and an error that is not larger than it was."""
    path = Path(__file__).parents[2] / "benchmarks" / "bench_cycles.py"
    bench = runpy.run_path(str(path))
    rows = {row["id"]: row for row in bench["rows"]()}
    errors = [abs(row["error"]) for row in rows.values()]
    assert sum(errors) / len(errors) < 0.12
    for slow, fast in (
        ("gemm_f16_8192_large_packets", "gemm_f16_8192_l2_split"),
        ("catlass_1024x576x6144_128x256", "catlass_1024x576x6144_256x128"),
        ("exp_f32_8192", "exp_f16_8192"),
    ):
        assert rows[slow]["model_us"] > 1.005 * rows[fast]["model_us"]


@pytest.mark.parametrize(
    ("rows", "cols", "want"),
    [
        (10, 64, 24 + 70 * 64 / 63),
        # 3 columns of 10 repeats at 2 cycles, one instruction each
        (10, 256, 3 * (24 + 20) + 24 + 70 * 64 / 63),
        # one row: 127 repeats in 7 halvings
        (1, 8192, 7 * 24 + 2 * 127 + 24 + 7 * 64 / 63),
    ],
)
def test_cycles_of_a_reduction(rows, cols, want):
    work = Work("reduce", elements=rows * cols, rows=rows, size=4)
    assert cost(work, B1).busy == pytest.approx(want)
