"""Variables, optimisers, collectives of one device and loop frames, against loops in f64."""

import math

import numpy as np
import pytest
from op_runs import run
from op_witness import BF16, F16, F32, F64, I32, assert_close, sample

FLOATS = (F32, F16, BF16)
SHAPE = (3, 4)


def number(value, dtype=F32):
    return np.array(value, dtype)


def check(found, exact, dtype=F32):
    assert_close(found, np.asarray(exact).astype(dtype), scale=4)


@pytest.mark.parametrize("dtype", [*FLOATS, I32])
def test_assignments(dtype):
    x, v = sample("any", SHAPE, dtype), sample("any", SHAPE, dtype, 1)
    wide = (x, v) if dtype is I32 else (x.astype(F64), v.astype(F64))
    np.testing.assert_array_equal(run("Assign", x, v[:2])[0], v[:2])
    check(run("AssignAdd", x, v)[0], wide[0] + wide[1], dtype)
    check(run("AssignSub", x, v)[0], wide[0] - wide[1], dtype)


@pytest.mark.parametrize("nesterov", [False, True])
@pytest.mark.parametrize("dtype", FLOATS)
def test_momentum(dtype, nesterov):
    var, accum, grad = (sample("any", SHAPE, dtype, i) for i in range(3))
    v, a, g = (x.astype(F64) for x in (var, accum, grad))
    lr, momentum = number(0.125, dtype), number(0.5, dtype)
    operands = var, accum, lr, grad, momentum
    moved = a * 0.5 + g
    step = 0.125 * g + 0.125 * 0.5 * moved if nesterov else 0.125 * moved
    check(run("ApplyMomentum", *operands, use_nesterov=nesterov)[0], v - step, dtype)
    moved = 0.5 * a - 0.125 * g
    step = 0.5 * moved - 0.125 * g if nesterov else moved
    check(run("ApplyKerasMomentum", *operands, use_nesterov=nesterov)[0], v + step, dtype)


@pytest.mark.parametrize("nesterov", [False, True])
def test_fused_momentum(nesterov):
    var, accum, x1 = (sample("any", SHAPE, F32, i) for i in range(3))
    copy = var.astype(F16)
    operands = var, accum, number(0.125), x1, number(0.5), number(3.0), copy
    new_var, new_copy, new_accum = run(
        "FusedMulApplyMomentumExtern", *operands, use_nesterov=nesterov
    )
    grad = x1.astype(F64) * 3
    moved = accum.astype(F64) * 0.5 + grad
    step = 0.125 * (grad + 0.5 * moved) if nesterov else 0.125 * moved
    check(new_accum, moved)
    check(new_var, var - step)
    np.testing.assert_allclose(new_copy.astype(F64), copy - step, rtol=2e-3, atol=4e-3)


def adam(var, m, v, grad, vhat=None, nesterov=False):
    """Element by element, beta1 0.75, beta2 0.5, their powers 0.25 and 0.125, lr 0.5, eps 0.01."""
    outs = [np.zeros(SHAPE) for _ in range(3)]
    rate = 0.5 * math.sqrt(1 - 0.125) / (1 - 0.25)
    for at in np.ndindex(*SHAPE):
        g = float(grad[at])
        m1 = float(m[at]) * 0.75 + g * 0.25
        v1 = float(v[at]) * 0.5 + g * g * 0.5
        under = max(float(vhat[at]), v1) if vhat is not None else v1
        top = m1 * 0.75 + 0.25 * g if nesterov else m1
        outs[0][at] = float(var[at]) - rate * top / (0.01 + math.sqrt(under))
        outs[1][at], outs[2][at] = m1, v1
    return outs


@pytest.mark.parametrize("dtype", FLOATS)
def test_adam(dtype):
    var, m, grad = (sample("any", SHAPE, dtype, i) for i in range(3))
    v, vhat = sample("positive", SHAPE, dtype, 3), sample("positive", SHAPE, dtype, 4)
    numbers = [number(n, dtype) for n in (0.25, 0.125, 0.5, 0.75, 0.5)]
    numbers.append(number(0.01, F64).astype(dtype))
    for nesterov in (False, True):
        exact = adam(var, m, v, grad, nesterov=nesterov)
        found = run("ApplyAdamD", var, m, v, *numbers, grad, use_nesterov=nesterov)
        for have, want in zip(found, exact, strict=True):
            check(have, want, dtype)
        (found,) = run("ApplyAdam", var, m, v, *numbers, grad, use_nesterov=nesterov)
        check(found, exact[0], dtype)
    (found,) = run("ApplyAdamWithAmsgrad", var, m, v, vhat, *numbers, grad)
    check(found, adam(var, m, v, grad, vhat)[0], dtype)


@pytest.mark.parametrize("clip", [False, True])
def test_lars(clip):
    w, g = sample("any", SHAPE, F32), sample("any", SHAPE, F32, 1)
    decay, rate = number(0.25), number(0.01)
    ww, gg = (math.sqrt(sum(float(v) ** 2 for v in a.flat)) for a in (w, g))
    c = 0.5 * ww / (0.25 * ww + gg + 1e-5)
    c = min(max(c / 0.01, 0), 1) if clip else c
    exact = (w.astype(F64) * 0.25 + g) * c
    attrs = {"hyperpara": 0.5, "use_clip": clip}
    check(run("LarsV2", w, g, decay, rate, **attrs)[0], exact)
    sums = number(ww * ww), number(gg * gg)
    check(run("LarsV2Update", w, g, *sums, decay, rate, **attrs)[0], exact)


def test_collectives_of_one_device():
    x = sample("any", SHAPE, F32)
    group = {"group": "world"}
    for op, attrs in {
        "HcomAllReduce": {"reduction": "sum"},
        "HcomReduce": {"reduction": "max", "root_rank": 0},
        "HcomAllGather": {"rank_size": 1},
        "HcomReduceScatter": {"rank_size": 1, "reduction": "sum"},
        "HcomAllToAll": {},
    }.items():
        np.testing.assert_array_equal(run(op, x, **attrs, **group)[0], x)
    for have in run("HcomBroadcast", [x, x], root_rank=0, counts=[2], **group):
        np.testing.assert_array_equal(have, x)
    with pytest.raises(ValueError, match="rank_size is 2, expected 1 to have a value"):
        run("HcomAllGather", x, rank_size=2, **group)


def test_frames_pass_values_on():
    x = sample("any", SHAPE, F32)
    for op, attrs in {
        "Enter": {"frame_name": "loop", "is_constant": False},
        "Exit": {},
        "NextIteration": {},
    }.items():
        np.testing.assert_array_equal(run(op, x, **attrs)[0], x)
    assert run("LoopCond", np.array(True))[0]
