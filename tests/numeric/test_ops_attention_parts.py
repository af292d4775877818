"""Gradients of the projections of an attention block, against products in f64."""

import numpy as np
import pytest
from op_runs import run
from op_witness import BF16, F16, F32, F64, assert_close, sample

FLOATS = (F32, F16, BF16)


def close(found, exact, dtype):
    assert_close(found, exact.astype(dtype), scale=16 if dtype is F32 else 2)


@pytest.mark.parametrize("dtype", FLOATS)
def test_gradient_of_the_kernels(dtype):
    shapes = [(5, 4), (5, 3), (5, 3), (5, 2)]
    x, *gradients = (sample("any", s, dtype, i) for i, s in enumerate(shapes))
    found = run("AttentionQKVGradW", x, *gradients)
    for i, g in enumerate(gradients):
        close(found[i], x.astype(F64).T @ g.astype(F64), dtype)
        close(found[i + 3], g.astype(F64).sum(axis=0), dtype)
    found = run("AttentionQKVGradW", x, gradients[0])
    assert not found[1].any()
    assert not found[5].any()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("added", [False, True])
def test_gradient_of_the_input(added, dtype):
    shapes = [(5, 4), (5, 3), (5, 3), (5, 2), (4, 3), (4, 3), (4, 2)]
    ln_dx, *rest = (sample("any", s, dtype, i) for i, s in enumerate(shapes))
    exact = sum(g.astype(F64) @ k.astype(F64).T for g, k in zip(rest[:3], rest[3:], strict=True))
    exact = exact + ln_dx.astype(F64) if added else exact
    close(run("AttentionQKVGradX", ln_dx if added else None, *rest)[0], np.asarray(exact), dtype)
