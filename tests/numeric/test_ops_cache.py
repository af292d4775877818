"""Caches and rows in the order of their experts, against loops."""

import numpy as np
import pytest
from op_runs import run
from op_witness import BF16, F16, F32, F64, I8, I32, I64, sample


@pytest.mark.parametrize("axis", [-1, -2, 1, 2])
@pytest.mark.parametrize("pairs", [False, True])
def test_scatter(pairs, axis):
    var = sample("any", (3, 5, 4), F32)
    shape = [2 if pairs else 3, 5, 4]
    shape[axis] = 2
    updates = sample("any", shape, F32, 1)
    rows = [(2, 1), (0, 2)] if pairs else [(0, 0), (1, 2), (2, 1)]
    indices = np.array(rows if pairs else [start for _, start in rows], I64)
    (found,) = run("Scatter", var, indices, updates, reduce="update", axis=axis)
    wanted = var.copy()
    for slab, (row, start) in enumerate(rows):
        for i, j in np.ndindex(*shape[1:]):
            at = (i + start, j) if axis in (1, -2) else (i, j + start)
            wanted[(row, *at)] = updates[slab, i, j]
    np.testing.assert_array_equal(found, wanted)
    with pytest.raises(ValueError, match="a slab goes to item 0 and place 9, expected items up to"):
        run("Scatter", var, indices * 0 + 9 * (np.arange(2) if pairs else 1), updates,
            reduce="update", axis=axis)  # fmt: skip


@pytest.mark.parametrize("dtype", [F16, BF16])
@pytest.mark.parametrize("reciprocal", [False, True])
@pytest.mark.parametrize("per_channel", [False, True])
def test_quantised_scatter(per_channel, reciprocal, dtype):
    var, updates = np.zeros((2, 5, 4), I8), sample("any", (2, 1, 4), dtype)
    scales = np.array([0.25, 0.5, 2.0, 0.0078125] if per_channel else [0.5], F32)
    zero = np.array([3, -2, 0, 1] if per_channel else [2], I32)
    operands = var, np.array([4, 0], I32), updates, scales, zero
    (found,) = run("QuantUpdateScatter", *operands, reduce="update", reciprocal_scale=reciprocal)
    exact = updates.astype(F64) * scales if reciprocal else updates.astype(F64) / scales
    codes = np.clip(np.rint(exact + zero), -128, 127)
    wanted = var.astype(F64)
    wanted[0, 4], wanted[1, 0] = codes[0, 0], codes[1, 0]
    np.testing.assert_array_equal(found, wanted.astype(I8))


@pytest.mark.parametrize("kind", [0, 1, 2])
@pytest.mark.parametrize("active", [-1, 5])
def test_rows_by_expert(active, kind):
    x, scale = sample("any", (4, 3), F32), sample("any", (4,), F32, 1)
    experts = np.array([[2, 0], [1, 2], [0, 0], [3, 1]], I32)
    attrs = {"expert_num": 5, "expert_tokens_num_flag": True, "expert_tokens_num_type": kind}
    found = run("MoeInitRoutingV3", x, experts, scale, active_num=active, **attrs)
    choices = sorted(((int(e), r * 2 + k) for (r, k), e in np.ndenumerate(experts)))
    taken = choices if active < 0 else choices[:active]
    np.testing.assert_array_equal(found[0], [x[c // 2] for _, c in taken])
    places = [next(i for i, (_, c) in enumerate(choices) if c == choice) for choice in range(8)]
    assert found[1].tolist() == places
    counts = [int((experts == e).sum()) for e in range(5)]
    wanted = {0: counts, 1: np.cumsum(counts), 2: list(enumerate(counts))}[kind]
    np.testing.assert_array_equal(found[2], wanted)
    np.testing.assert_array_equal(found[3], [scale[c // 2] for _, c in taken])
    order = run("MoeInitRoutingV3", x, experts, scale, row_idx_type=1, **attrs)[1]
    assert order.tolist() == [c for _, c in choices]


def test_rows_by_expert_refuse_values():
    x, experts = np.ones((2, 3), F32), np.array([[0], [7]], I32)
    with pytest.raises(ValueError, match=r"an expert is outside \[0, 5\), expected all inside"):
        run("MoeInitRoutingV3", x, experts, expert_num=5, expert_tokens_num_flag=True)
    with pytest.raises(ValueError, match="drop_pad_mode, quant_mode or active_expert_range is set"):
        run("MoeInitRoutingV3", x, experts, expert_num=8, quant_mode=1)
