"""Scatters into rows: what tiles of every shape give, and which of them is taken."""

import numpy as np
import pytest
from lowered_op import check_op
from lowering_check import CHIP
from op_witness import F16, F32, I8, I32, sample

from ge_xdsl.dialects.ge.text import parse_module
from ge_xdsl.interpreters import aicore
from ge_xdsl.interpreters.cycles import time_kernel
from ge_xdsl.lowering import lower
from ge_xdsl.lowering.gather import Scatter, best_tile, scatter_kernel, scatter_tiles
from ge_xdsl.lowering.placement import place_kernel
from ge_xdsl.targets import target

RNG = np.random.default_rng(5)
COMBINED = {"ScatterUpdate": None, "ScatterAdd": np.add, "ScatterMax": np.maximum}
SHAPES = [((3000, 7), 40), ((37, 1000), 30), ((9001, 1), 1100), ((600, 130), 3)]


def scattered(op_type, x, places, updates):
    """What the tile program gives, with reads of what was not written refused."""
    (r, w), n = x.shape, len(places)
    kinds = f"tensor<{r}x{w}xf32>, tensor<{n}xi32>, tensor<{n}x{w}xf32>"
    args = "%x : {}, %i : {}, %u : {}".format(*kinds.split(", "))
    text = f"""func.func @main({args}) -> tensor<{r}x{w}xf32> {{
  %y = ge.{op_type}(%x, %i, %u) : ({kinds}) -> tensor<{r}x{w}xf32>
  func.return %y : tensor<{r}x{w}xf32>
}}"""
    given = {"x": x, "i": places, "u": updates}
    (got,), report = aicore.run(lower(parse_module(text), CHIP), given, CHIP, checked=True)
    assert not report.calls
    return got


@pytest.mark.parametrize("op_type", COMBINED)
@pytest.mark.parametrize(("shape", "count"), SHAPES)
def test_rows_are_where_numpy_puts_them(op_type, shape, count):
    x, updates = sample("any", shape, F32), sample("any", (count, shape[1]), F32, 1)
    wanted = x.copy()
    if op_type == "ScatterUpdate":
        places = RNG.permutation(shape[0])[:count].astype(I32)
        wanted[places] = updates
    else:
        places = RNG.integers(0, shape[0], count).astype(I32)
        COMBINED[op_type].at(wanted, places, updates)
    got = scattered(op_type, x, places, updates)
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", [F16, I8])
def test_other_elements(dtype):
    x, updates = sample("any", (2600, 48), dtype), sample("any", (5, 48), dtype, 1)
    places = np.array([2599, 0, 7, 1300, 8])
    check_op("ScatterUpdate", x, places, updates, exact=True, checked=True)


@pytest.mark.parametrize(("shape", "count"), SHAPES)
def test_the_fastest_tile_is_taken(shape, count):
    chip = target(CHIP)
    scatter = Scatter("add", 1, *shape, count, "f32", "i32", True, False)

    def us(tile):
        kernel = scatter_kernel("k", scatter, chip, tile)
        place_kernel(kernel, chip)
        return time_kernel(kernel, chip).us

    assert us(best_tile(scatter, chip)) == min(map(us, scatter_tiles(scatter, chip)))


def test_a_few_rows_of_a_cache_are_put_at_the_speed_of_memory():
    text = """func.func @main(%x : tensor<262144x64xf32>, %i : tensor<64xi32>,
    %u : tensor<64x64xf32>) -> tensor<262144x64xf32> {
  %y = ge.ScatterUpdate(%x, %i, %u)
    : (tensor<262144x64xf32>, tensor<64xi32>, tensor<64x64xf32>) -> tensor<262144x64xf32>
  func.return %y : tensor<262144x64xf32>
}"""
    report = aicore.estimate(lower(parse_module(text), CHIP), CHIP)
    assert report.us < 1.2 * (2 * 262144 * 64 * 4 / 1.48e6 + 5.4)  # a cold stream, a launch [us]
