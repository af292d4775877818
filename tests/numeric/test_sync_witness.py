"""The proof of order against a witness: a kernel written out in full, every path searched."""

import random

import pytest
from lowering_check import const, graph

from ge_xdsl.dialects.aicore.op import Instruction
from ge_xdsl.dialects.aicore.ordering import DMA_PIPES, check_order
from ge_xdsl.dialects.aicore.structure import AllocOp, ForOp
from ge_xdsl.dialects.aicore.sync import ALL, PipeBarrierOp, SetFlagOp, WaitFlagOp
from ge_xdsl.dialects.aicore.types import PIPES
from ge_xdsl.dialects.ge.text import parse_module
from ge_xdsl.errors import CompileError
from ge_xdsl.interpreters.aicore import kernels_of
from ge_xdsl.lowering import lower, matmul
from ge_xdsl.lowering.tiling import MatmulTiling
from ge_xdsl.targets import target

B1 = target("Ascend910B1")


class Witness:
    """All iterations of a kernel on one core, as events with bits for those that come before.

    An instruction has an event where it starts and one where it ends. A pipe starts its
    instructions in order; DMA pipes do not wait for the end of the one before.
    """

    def __init__(self, kernel):
        self.before = []
        self.started = dict.fromkeys(PIPES, 0)
        self.ended = dict.fromkeys(PIPES, 0)
        self.last = dict.fromkeys(PIPES, 0)
        self.flags, self.turns, self.rings, self.lengths = {}, {}, {}, {}
        self.uses = {}
        self.races = 0
        self.block(kernel.body)

    def event(self, mask):
        """A new event after those of a mask; the mask with it."""
        self.before.append(mask)
        return mask | 1 << (len(self.before) - 1)

    def block(self, block):
        for op in block.ops:
            if isinstance(op, AllocOp):
                self.rings[op.results[0]] = (self.rings.get(op.results[0], -1) + 1) % op.buffers
            elif isinstance(op, ForOp):
                self.loop(op)
            elif isinstance(op, Instruction):
                self.instruction(op)
            elif isinstance(op, SetFlagOp | WaitFlagOp):
                self.flag(op)
            elif isinstance(op, PipeBarrierOp):
                done = 0
                for pipe in PIPES if op.pipe == ALL else [op.pipe]:
                    done |= self.ended[pipe] | self.started[pipe]
                for pipe in PIPES if op.pipe == ALL else [op.pipe]:
                    self.started[pipe] |= done

    def loop(self, op):
        """Every iteration with its true length."""
        counts = []
        for dim, step in zip(op.extents, op.steps, strict=True):
            extent = dim if isinstance(dim, int) else self.lengths[dim]
            counts.append([min(step, extent - at) for at in range(0, extent, step)])
        places = [[]]
        for part in counts:
            places = [[*place, length] for place in places for length in part]
        for lengths in places:
            for i, length in enumerate(lengths):
                self.lengths[op.length(i)] = length
            self.block(op.body)

    def instruction(self, op):
        pipe = op.pipe
        start = self.started[pipe]
        if pipe not in DMA_PIPES:
            start |= self.last[pipe]
        start = self.event(start)
        reads = [v for v in op.read() if v in self.rings]
        writes = [op.written] if op.written in self.rings else []
        for value in dict.fromkeys((*reads, *writes)):
            for earlier, wrote in self.uses.get((value, self.rings[value]), []):
                if (wrote or value in writes) and not start >> earlier & 1:
                    self.races += 1
        end = self.event(start)
        number = len(self.before) - 1
        for value in dict.fromkeys((*reads, *writes)):
            key = (value, self.rings[value])
            self.uses.setdefault(key, []).append((number, value in writes))
        self.started[pipe] = start
        self.last[pipe] = end
        self.ended[pipe] |= end

    def flag(self, op):
        turn = self.turns.get(op, 0)
        self.turns[op] = turn + 1
        queue = self.flags.setdefault((op.src, op.dst, op.first + turn % op.count), [])
        if isinstance(op, SetFlagOp):
            queue.append(self.ended[op.src] | self.started[op.src])
        else:
            self.started[op.dst] |= queue.pop(0)


NCHW = 'strides = [1, 1, 1, 1], data_format = "NCHW"'
GRAPHS = {
    "MatMul": graph(
        ["y = ge.MatMul(x, w, bias=b) -> 100x70xf16"],
        "y",
        **{"x": "100x150xf16", "w": "150x70xf16", "b": "70xf32"},
    ),
    "Conv2D": graph(
        [
            const("w", "0.5", "40x48x3x3xf16"),
            f"y = ge.Conv2D(x, w, bias=b) {{pads = [1, 1, 1, 1], {NCHW}}} -> 1x40x20x21xf16",
        ],
        "y",
        **{"x": "1x48x20x21xf16", "b": "40xf16"},
    ),
    "SoftmaxV2": graph(["y = ge.SoftmaxV2(x) -> 400x384xf16"], "y", x="400x384xf16"),
    "Add": graph(
        ["a = ge.Add(x, z) -> 2000x999xf16", "y = ge.Mul(a, x) -> 2000x999xf16"],
        "y",
        **{"x": "2000x999xf16", "z": "999xf16"},
    ),
    "GatherV2": graph(
        [const("a", "0", "i32"), "y = ge.GatherV2(x, i, a) -> 7000x64xf16"],
        "y",
        **{"x": "50x64xf16", "i": "7000xi32"},
    ),
}
FORMS = {
    "doubled": MatmulTiling(16, 16, 32, 64, 2),
    "single": MatmulTiling(16, 16, 48, 96, 1, 1, 1, 1),
    "a stays": MatmulTiling(16, 16, 32, 32, 2, 1, 3, stay="a"),
    "b stays": MatmulTiling(16, 16, 160, 160, 1, 2, 1, stay="b"),
    "groups": MatmulTiling(16, 16, 48, 48, 1, 2, 2, stay="b", group=3),
}


def kernels():
    """Name and kernel of every case, with its flags."""
    found = {}
    plain = matmul.best_tiling
    for form, tiling in FORMS.items():
        matmul.best_tiling = lambda what, chip, build, tile, tiling=tiling: tiling
        module = lower(parse_module(GRAPHS["MatMul"]), B1)
        found |= {f"{form} {name}": k for name, k in kernels_of(module).items()}
    matmul.best_tiling = plain
    for name in GRAPHS:
        module = lower(parse_module(GRAPHS[name]), B1)
        found |= {f"{name} {symbol}": k for symbol, k in kernels_of(module).items()}
    return found


KERNELS = kernels()


def groups(kernel):
    """The flags of a kernel: the ops in loops, and around them those of the same pipes and ids."""
    ops = [op for op in kernel.walk() if isinstance(op, SetFlagOp | WaitFlagOp)]
    found = {}
    for op in ops:
        if op.parent_op() is not kernel:
            found.setdefault((op.src, op.dst, op.first, op.count), []).append(op)
    for op in ops:
        if op.parent_op() is kernel:
            (key,) = [k for k in found if k[:2] == (op.src, op.dst) and 0 <= op.first - k[2] < k[3]]
            found[key].append(op)
    barriers = [[op] for op in kernel.walk() if isinstance(op, PipeBarrierOp)]
    return [*found.values(), *barriers]


def without(taken):
    """Take ops out of their blocks; what puts them back."""
    places = []
    for op in taken:
        places.append((op, op.parent, op.next_op))
        op.detach()

    def back():
        for op, block, after in reversed(places):
            if after is None:
                block.add_op(op)
            else:
                block.insert_op_before(op, after)

    return back


def verdict(kernel):
    try:
        check_order(kernel)
    except CompileError as error:
        return error.message
    return ""


@pytest.mark.parametrize("name", KERNELS)
def test_no_race_is_left_and_no_flag_too_many(name):
    """All iterations with their true lengths have no race; without any one flag there is one."""
    kernel = KERNELS[name]
    assert verdict(kernel) == ""
    assert Witness(kernel).races == 0
    for group in groups(kernel):
        back = without(group)
        text, races = verdict(kernel), Witness(kernel).races
        back()
        assert "may still be at it" in text
        assert races, text
    assert verdict(kernel) == ""


@pytest.mark.parametrize("name", KERNELS)
def test_the_proof_and_the_witness_agree_on_fewer_flags(name):
    kernel = KERNELS[name]
    flags = groups(kernel)
    rng = random.Random(1)
    for _ in range(8):
        part = [op for group in flags if rng.random() < 0.4 for op in group]
        back = without(part)
        text, races = verdict(kernel), Witness(kernel).races
        back()
        assert bool(text) == bool(races), text
