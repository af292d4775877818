"""Checked runs: wrong kernels are told by kernel, instruction, buffer and range."""

import numpy as np
import pytest
from aicore_text import COPY, GM, UB

from ge_xdsl.dialects.aicore.structure import KernelOp
from ge_xdsl.dialects.aicore.types import Tile
from ge_xdsl.dialects.ge.text import parse_module
from ge_xdsl.errors import CompileError
from ge_xdsl.interpreters import aicore
from ge_xdsl.interpreters.checked import CheckedBuffer, CheckedMemory, CheckedRing, connect
from ge_xdsl.interpreters.kernels import Kernel

X = np.random.default_rng(0).standard_normal((64, 64)).astype(np.float16)


def run(text, checked=True):
    return aicore.run(parse_module(text), {"x": X}, "Ascend910B1", checked=checked)[0]


def error_of(text, checked=True):
    with pytest.raises(CompileError) as error:
        run(text, checked)
    return str(error.value)


def test_a_right_kernel_gives_the_same():
    (fast,), (checked,) = run(COPY, False), run(COPY)
    assert (fast == checked).all()
    assert (fast == np.maximum(X, 0)).all()


STORE = f"aicore.copy_ub_gm %t, %y[%r, 0], [%vr, 64] : {UB}, {GM}"
WRONG = [
    (
        "copy_gm_ub %x[%r, 0], %t, [%vr, 64]",
        "copy_gm_ub %x[%r, 0], %t, [%vr, 32]",
        "aicore.vunary in aicore.kernel @k: reads [0:16, 0:64] of 't', of which 512 elements are "
        "not written, the first at [0, 32]",
    ),
    (
        "copy_gm_ub %x[%r, 0]",
        "copy_gm_ub %x[%r, 1]",
        "aicore.copy_gm_ub in aicore.kernel @k: window 16x64 at [0, 1] leaves 'x', a tile of 64x64",
    ),
    (
        f"%t = aicore.alloc buffers 2 : {UB}\n      aicore.copy_gm_ub",
        f"%t = aicore.alloc : {UB}\n      aicore.vdup %t, [16, 64] {{value = 0.0}} : {UB}\n"
        f"      %t2 = aicore.alloc : {UB}\n      aicore.copy_ub_gm %t2, %y[%r, 0], [%vr, 64] : "
        f"{UB}, {GM}\n      aicore.copy_gm_ub",
        "aicore.copy_ub_gm in aicore.kernel @k: reads [0:16, 0:64] of 't2', of which 1024 elements",
    ),
    (
        STORE,
        f"{STORE}\n      {STORE}",
        "aicore.copy_ub_gm in aicore.kernel @k: writes 16x64 at [0, 0] of 'y', of which 1024 "
        "elements are written before",
    ),
    (
        "[64] by [16] over",
        "[48] by [16] over",
        "aicore.kernel @k: leaves 1024 of 4096 elements of 'y' unwritten, the first at [48, 0], "
        "expected each to be written once",
    ),
    ("%y[%r, 0], [%vr, 64]", "%y[%r, 0], [%vr, 63]", "unwritten, the first at [0, 63], expected"),
]


@pytest.mark.parametrize(("old", "new", "message"), WRONG)
def test_wrong_kernels(old, new, message):
    assert old in COPY
    text = COPY.replace(old, new)
    assert message in error_of(text)
    assert "<input>:" in error_of(text)


def test_a_write_in_place_of_two_others_is_seen_though_the_count_is_right():
    """The first tile is written twice, the last one never: as many elements as there should be."""
    text = COPY.replace("%y[%r, 0]", "%y[%q, 0]").replace(
        "%t = aicore", "%q = aicore.affine 1 * %r + 0 : index\n      %t = aicore"
    )
    right = run(text)[0]
    assert (right == np.maximum(X, 0)).all()
    assert "are written before" in error_of(text.replace("1 * %r + 0", "0 * %r + 0"))


def test_buffers_come_undefined_each_time():
    ring = CheckedRing("t", Tile((4, 8), "f32", "ub"), 2)
    first = ring.take()
    first.put(np.ones((4, 8), np.float32))
    assert (first.get(1, 2, 2, 2) == 1).all()
    ring.take()
    assert ring.take() is first
    with pytest.raises(ValueError, match=r"reads \[1:2, 1:2\] of 't', of which 1 elements are not"):
        first.get(1, 1, 1, 1)
    assert np.isnan(first.data).all()


@pytest.mark.parametrize(("space", "layout"), [("ub", "nd"), ("l1", "nz"), ("l0b", "zn")])
def test_parts_are_known_one_by_one(space, layout):
    buffer = CheckedBuffer("t", Tile((64, 64), "f16", space, layout))
    part = np.arange(16 * 32, dtype=np.float16).reshape(16, 32)
    buffer.put_at(32, 16, part)
    assert (buffer.get(32, 16, 16, 32) == part).all()
    assert (buffer.get(40, 20, 2, 3) == part[8:10, 4:7]).all()
    with pytest.raises(ValueError, match=r"\[31:33, 16:17\] .* 1 elements .* first at \[31, 16\]"):
        buffer.get(31, 16, 2, 1)
    with pytest.raises(ValueError, match=r"reads \[60:70, 0:1\] of 't', a tile of 64x64"):
        buffer.get(60, 0, 10, 1)


def test_buffers_that_share_bytes_spoil_each_other():
    tile = Tile((4, 8), "f32", "ub")
    rings = [CheckedRing(n, tile, 1, at) for n, at in (("a", 0), ("b", 64), ("c", 128))]
    connect(rings)
    a, b, c = (ring.take() for ring in rings)
    for buffer in (a, c):
        buffer.put(np.zeros((4, 8), np.float32))
    assert (a.get(0, 0, 4, 8) == c.get(0, 0, 4, 8)).all()
    b.put(np.ones((4, 8), np.float32))
    for buffer in (a, c):
        with pytest.raises(ValueError, match="are not written"):
            buffer.get(0, 0, 1, 1)


def test_a_kernel_whose_buffers_share_bytes():
    two = (
        f"%t2 = aicore.alloc at 512 : {UB}\n      aicore.vdup %t2, [16, 64] {{value = 0.0}} : {UB}"
    )
    text = COPY.replace("buffers 2 :", "at 0 :").replace(
        "aicore.vunary", f"{two}\n      aicore.vunary"
    )
    assert "'t' and 't2' share ub from 512, expected buffers that live at one time" in error_of(
        text
    )
    kernel = next(op for op in parse_module(text).walk() if isinstance(op, KernelOp))
    with pytest.raises(
        CompileError, match=r"aicore.vunary .* reads \[0:16, 0:64\] of 't', of which"
    ):
        Kernel(kernel, checked=True).run([X])
    assert (run(text.replace("at 512", "at 2048"))[0] == np.maximum(X, 0)).all()


def test_outputs_know_what_is_written():
    memory = CheckedMemory("y", np.zeros((4, 8)), False)
    view = memory.strided(8, [8, 1], [3, 8])
    view.store((0, 2), np.ones((2, 3)))
    assert memory.done[1:3, 2:5].all()
    assert memory.done.sum() == memory.array.sum() == 6
    with pytest.raises(ValueError, match=r"writes 1x1 at \[1, 4\] of 'y', of which 1 elements"):
        memory.store((1, 4), np.ones((1, 1)))


def test_checked_runs_are_core_by_core():
    module = parse_module(COPY)
    kernel = next(op for op in module.walk() if isinstance(op, KernelOp))
    assert Kernel(kernel, checked=True).batched is None
    fast = Kernel(kernel)
    assert fast.batched is not None
    fast.run([X])
    assert fast.why == ""
