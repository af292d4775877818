"""Tile shapes: they fit the memories, with two buffers, and cover the whole."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ge_xdsl.dialects.aicore.maps import Geometry
from ge_xdsl.dialects.aicore.types import Tile
from ge_xdsl.errors import CompileError
from ge_xdsl.lowering.buffers import Program, Value, assign
from ge_xdsl.lowering.conv_tiling import ConvShape, conv_tiling
from ge_xdsl.lowering.tensors import merged_shape
from ge_xdsl.lowering.tiling import (
    MatmulShape,
    Slot,
    matmul_cycles,
    matmul_tiling,
    slots_bytes,
    vector_tiling,
)
from ge_xdsl.targets import target

CHIPS = ["Ascend910B1", "Ascend910B4", "Ascend950PR_958x"]

dims = st.integers(1, 9000)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(CHIPS), dims, dims, dims, st.sampled_from([2, 4]), st.booleans())
def test_product_tiles_fit_twice(chip, m, n, k, size, bias):
    hw = target(chip)
    shape = MatmulShape(1, m, n, k, size, size, bias)
    t = matmul_tiling(shape, hw)
    assert t.m % 16 == t.n % 16 == t.k0 % 16 == 0
    assert t.m * t.n * 4 * t.c_buffers <= hw.l0c
    assert 2 * t.m * t.k0 * size <= hw.l0a
    assert 2 * t.k0 * t.n * size <= hw.l0b
    bias_row = 2 * t.n * size if bias else 0
    assert 2 * (t.m + t.n) * t.k1 * size + bias_row <= hw.l1 - 256
    assert max(t.m, t.n, t.k0) <= 4095
    assert 0 < t.k0 <= t.k1


def test_a_large_product_is_bound_by_the_cube():
    hw = target("Ascend910B1")
    shape = MatmulShape(1, 8192, 8192, 8192, 2, 2)
    t = matmul_tiling(shape, hw)
    assert sorted((t.m, t.n)) == [128, 256]
    ideal = 8192**3 / 4096 / 24
    assert ideal < matmul_cycles(shape, t, hw) < 1.25 * ideal


def test_a_small_product_is_spread_over_the_cores():
    t = matmul_tiling(MatmulShape(1, 16, 1536, 384, 2, 2), target("Ascend910B1"))
    assert (t.m, t.n) == (16, 64)


def test_no_tile_fits_a_chip_without_memory():
    tiny = target("Ascend910B1").variant("Tiny", "SETTLED", l0c=512)
    with pytest.raises(CompileError, match="no tile fits the memories of Tiny, expected one"):
        matmul_tiling(MatmulShape(1, 64, 64, 64, 2, 2), tiny)


def test_no_tile_of_a_map_fits_a_chip_without_memory():
    tiny = target("Ascend910B1").variant("Tiny", "SETTLED", l0c=512)
    geometry = Geometry((8, 8), (3, 3), (1, 1), (1, 1), (0, 0), (6, 6))
    why = "no tile of the map fits the memories of Tiny, expected one"
    with pytest.raises(CompileError, match=why):
        conv_tiling(ConvShape(1, 16, 1, 2, geometry, False), tiny)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.integers(1, 60), max_size=2),
    st.integers(1, 5000),
    st.integers(1, 100000),
    st.integers(1, 12),
)
def test_vector_tiles_fit_and_are_aligned(lead, rows, cols, count):
    hw = target("Ascend910B1")
    slots = [Slot("f32", True, True, 2)] * count + [Slot("f16", True, False, 2)]
    r, c = vector_tiling((*lead, rows, cols), slots, hw)
    assert 1 <= r <= rows
    assert 1 <= c <= cols
    assert slots_bytes(slots, r, c) <= hw.capacity("ub")
    assert c == cols or c % 64 == 0


def test_all_cores_get_an_equal_share():
    slots = [Slot("f16", True, True, 2)] * 3
    hw = target("Ascend910B1")
    for size in (2**22, 3_000_000, 100_000):
        _, cols = vector_tiling((1, size), slots, hw)
        tiles = -(-size // cols)
        assert tiles / (-(-tiles // 48) * 48) > 0.9, size


def test_too_many_values_do_not_fit():
    slots = [Slot("f32", True, True, 2)] * 500
    with pytest.raises(
        CompileError, match="a tile of 64 elements takes 256000 bytes of UB, expected"
    ):
        vector_tiling((1, 4096), slots, target("Ascend910B1"))


@pytest.mark.parametrize(
    ("tile", "storage", "size"),
    [
        (Tile((100, 70), "f16", "l1", "nz"), (5, 7, 16, 16), 5 * 7 * 512),
        (Tile((100, 70), "f32", "l1", "nz"), (9, 7, 16, 8), 9 * 7 * 512),
        (Tile((100, 70), "f16", "l0a", "zz"), (7, 5, 16, 16), 5 * 7 * 512),
        (Tile((100, 70), "f32", "l0b", "zn"), (13, 5, 16, 8), 13 * 5 * 512),
        (Tile((100, 70), "f32", "l0c", "nz"), (5, 7, 16, 16), 5 * 7 * 1024),
        (Tile((3, 5), "f16", "ub"), (3, 5), 3 * 32),
        (Tile((1, 100), "f32", "bt"), (1, 100), 416),
    ],
)
def test_storage(tile, storage, size):
    assert tile.storage == storage
    assert tile.bytes == size


def test_dimensions_merge_where_every_operand_agrees():
    shape, each = merged_shape((2, 3, 50, 60), [(2, 3, 50, 60), (2, 1, 1, 60)])
    assert shape == (2, 150, 60)
    assert each == [(2, 150, 60), (2, 1, 60)]
    assert merged_shape((4, 5), [(4, 5), ()]) == ((1, 20), [(1, 20), (1, 1)])
    assert merged_shape((), []) == ((1, 1), [])


def test_slots_are_shared_by_values_that_do_not_live_together():
    program = Program()
    x = program.add(Value("f32"))
    program.inputs.append(x)
    v = x
    for _ in range(5):
        v = program.step("vunary", (v,), "f32", "abs")
    half = program.step("vcast", (v,), "f16")
    program.outputs.append(half)
    slot_of, slots = assign(program)
    assert [slot.buffers for slot in slots] == [2, 2, 1]
    assert len({slot_of[i] for i in range(1, 6)}) == 1
