"""Blocks of space moved to the batch and back: loops against `evaluate`."""

import numpy as np
import pytest
from op_runs import run
from op_witness import BF16, F32, I32, I64, assert_close, sample


def looped(x, blocks, pads):
    """Place by place."""
    x = np.pad(x, [(0, 0), *pads, *[(0, 0)] * (x.ndim - 1 - len(blocks))])
    batch, spatial = x.shape[0], x.shape[1 : len(blocks) + 1]
    sizes = [s // b for s, b in zip(spatial, blocks, strict=True)]
    y = np.zeros((batch * int(np.prod(blocks)), *sizes, *x.shape[len(blocks) + 1 :]), x.dtype)
    for n, *place in np.ndindex(batch, *spatial):
        block = 0
        for p, b in zip(place, blocks, strict=True):
            block = block * b + p % b
        spot = [p // b for p, b in zip(place, blocks, strict=True)]
        y[(block * batch + n, *spot)] = x[(n, *place)]
    return y


CASES = [
    ((2, 4, 6, 3), (2, 2), [(0, 0), (0, 0)]),
    ((1, 3, 5, 2), (2, 2), [(1, 0), (0, 1)]),
    ((2, 4, 3, 2), (2, 3), [(2, 0), (0, 0)]),
    ((2, 4), (4,), [(1, 3)]),
    ((2, 2, 3, 2, 2), (2, 1, 2), [(0, 0), (1, 1), (0, 0)]),
]


@pytest.mark.parametrize("dtype", [F32, BF16, I32])
@pytest.mark.parametrize(("shape", "blocks", "pads"), CASES)
def test_there_and_back(shape, blocks, pads, dtype):
    x = sample("any", shape, dtype)
    y, flat = looped(x, blocks, pads), [n for pair in pads for n in pair]
    given = np.array(blocks), np.array(pads, I32)
    assert_close(run("SpaceToBatchND", x, *given)[0], y)
    assert_close(run("SpaceToBatchNDD", x, block_shape=list(blocks), paddings=flat)[0], y)
    assert_close(run("BatchToSpaceND", y, *given)[0], x)
    assert_close(run("BatchToSpaceNDD", y, block_shape=list(blocks), crops=flat)[0], x)
    if len(set(blocks)) == 1 and len(shape) == 4:
        size, pairs = blocks[0], np.array(pads, I64)
        assert_close(run("SpaceToBatch", x, pairs, block_size=size)[0], y)
        assert_close(run("SpaceToBatchD", x, block_size=size, paddings=flat)[0], y)
        assert_close(run("BatchToSpace", y, pairs, block_size=size)[0], x)
        assert_close(run("BatchToSpaceD", y, block_size=size, crops=flat)[0], x)
