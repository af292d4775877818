"""Amounts of work into cycles of one core, by the equations of the target model.

mmad      ceil(m/16) ceil(n/16) ceil(k size/32) p + 11,  p = 2 for f32 on arch 2201
load l0   bytes / rate + 46, between L1 and UB, too; from L0C to UB bytes / rate + 24
dma       max(issues, bytes / rate), nd2nz by rows; usable a latency later
fixpipe   max(elements / 64, bytes / rate)
vector    24 per 255 repeats + repeats * slope, twice the slope where sources meet in UB banks
reduce    additions down to 256 bytes per row, then 24 + 7 per row
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from ge_xdsl.errors import CompileError
from ge_xdsl.targets.target import Target

WorkKind = Literal[
    "gm_l1",
    "gm_ub",
    "ub_gm",
    "rows",
    "l1_ub",
    "ub_l1",
    "l0c_ub",
    "fixpipe_ub",
    "l1_l0a",
    "l1_l0b",
    "load3d",
    "l1_bt",
    "mmad",
    "fixpipe",
    "vector",
    "reduce",
    "scalar",
]

FROM_L1 = {
    "l1_l0a": "l1_l0a_rate",
    "l1_l0b": "l1_l0b_rate",
    "l1_bt": "l1_bt_rate",
    "l1_ub": "l1_ub_rate",
    "ub_l1": "ub_l1_rate",
}
"""Ways from L1, and the one back from UB: the field of their rate."""
SCALAR_CYCLES = 8.0
"""Cycles of the scalar unit for one element: two loads, the operation, a store, and the count,
comparison, address and jump of the loop, one instruction per cycle [DERIVED]."""
SMALL_DMA = 8192
"""The fixed HBM cost of a copy is not applied to ones of fewer bytes: neighbours share lines."""
REPEAT_BYTES = 256
"""Bytes of the wider operand that one repeat of a vector op covers."""


class Work(NamedTuple):
    """What one instruction has to do; nothing here depends on a chip.

    `rows` of `bytes // rows` bytes are moved; `m`, `n`, `k` are a matrix product's sizes;
    `elements` of `size` bytes are computed, by the vector op `op`; so many `instructions` do it,
    before the limit of repeats of a chip;
    `two_sources` tells that both operands come from UB. `stride` and `lines` are the step along a
    row of a feature map and the output rows that 16 pixels touch.
    """

    kind: WorkKind
    bytes: int = 0
    rows: int = 1
    m: int = 0
    n: int = 0
    k: int = 0
    size: int = 2
    elements: int = 0
    op: str = ""
    two_sources: bool = False
    instructions: int = 1
    stride: int = 1
    lines: int = 1
    conflict: bool = True
    """Whether the two sources of a vector op lie in the same banks of UB."""
    counted: bool = False
    """Whether a vector instruction counts elements, not repeats: as many as there are in a row."""
    unaligned: bool = False
    """Whether rows in GM begin at other than multiples of an L2 line."""


class Cost(NamedTuple):
    """Cycles that a pipe is busy, and cycles from its end until the result can be used."""

    busy: float
    latency: float = 0.0


def ceil_div(a: int, b: int) -> int:
    return -(-a // b)


def cost(work: Work, target: Target, cold: float = 0.0, sharers: float = 1.0) -> Cost:
    """Cycles of `work` on a core of `target`; `cold` is the share of its bytes not in L2.

    `sharers` cores read the same bytes of GM at the same time.

    Raises CompileError for a vector op that the target has no rate for, and a way it has not.
    """
    match work.kind:
        case "gm_l1":
            return Cost(_nd2nz(work, target, cold, sharers), target.l1_latency)
        case "gm_ub":
            busy = max(_issue(work, target), work.bytes / target.gm_ub_rate)
            return Cost(busy, target.ub_latency)
        case "ub_gm":
            busy = max(_issue(work, target), work.bytes / target.ub_gm_rate)
            return Cost(busy, target.ub_latency / 2)
        case "l0c_ub":
            return Cost(work.bytes / _way(work, target.l0c_ub_rate, target) + target.vector_start)
        case "fixpipe_ub":
            busy = work.bytes / _way(work, target.l0c_ub_rate, target)
            return Cost(max(work.elements / target.l0c_elements, busy), target.l1_latency)
        case "rows":
            each = max(target.dma_issue, work.bytes / work.rows / target.gm_ub_rate)
            return Cost(work.rows * each, target.ub_latency)
        case "l1_l0a" | "l1_l0b" | "l1_bt" | "l1_ub" | "ub_l1":
            rate = _way(work, getattr(target, FROM_L1[work.kind]), target)
            return Cost(work.bytes / rate + target.load_start)
        case "load3d":
            return Cost(work.bytes / _load3d_rate(work) + target.load_start)
        case "mmad":
            return Cost(_mmad(work, target))
        case "fixpipe":
            busy = max(work.elements / target.l0c_elements, work.bytes / target.l0c_gm_rate)
            return Cost(busy, target.l1_latency)
        case "vector":
            return Cost(_vector(work, target))
        case "reduce":
            return Cost(_reduce(work, target))
        case "scalar":
            return Cost(max(work.elements, 1) * SCALAR_CYCLES, target.scalar_latency)


def instructions(work: Work, target: Target) -> int:
    """Instructions of the hardware that do some work: one repeats so often and no more."""
    if work.kind != "vector" or work.counted or not target.vector_repeats:
        return work.instructions
    repeats = ceil_div(work.elements, max(work.instructions, 1) * (REPEAT_BYTES // work.size))
    return work.instructions * ceil_div(repeats, target.vector_repeats)


def _nd2nz(work: Work, target: Target, cold: float, sharers: float) -> float:
    """Cycles of a copy into L1 that cuts rows into blocks: a fixed part per row.

    Cores that read the same lines at the same time are served one after the other.
    """
    row = work.bytes / work.rows
    per_byte = (1 - cold) / target.nd2nz_hit_rate + cold / target.nd2nz_cold_rate
    by_rows = work.rows * (target.nd2nz_row + row * per_byte)
    by_rows *= 1 + target.line_sharing * (sharers - 1)
    return max(_issue(work, target), work.bytes / target.gm_l1_rate, by_rows)


def _way(work: Work, rate: float, target: Target) -> float:
    """A rate that is not 0."""
    if not rate:
        source, _, space = work.kind.replace("fixpipe", "l0c").partition("_")
        raise CompileError(f"{target.name} has no way from {source} to {space}, expected one")
    return rate


def _issue(work: Work, target: Target) -> float:
    """Cycles of a copy at least, whatever it moves."""
    return work.instructions * target.dma_issue


def row_loss(work: Work, target: Target) -> float:
    """HBM bytes that a read costs per byte that it wants: short copies, rows across L2 lines."""
    row = max(1.0, work.bytes / max(work.rows, 1))
    across = target.l2_line / row if work.unaligned else 0.0
    return 1 + target.hbm_dma_loss / max(work.bytes, SMALL_DMA) + across


def _load3d_rate(work: Work) -> float:
    """Bytes per cycle of im2col into L0A [CUBE, arch 2201; taken for the others too].

    256 for stride 1 within a row, 512 / (lines + 2) over several; strides of 2, 4 and 8 take
    twice the stride, others the smallest rate, which is 32.
    """
    several = work.lines if work.lines > 1 else 0
    if work.stride == 1:
        return max(32.0, 512 / (several + 2))
    if work.stride in (2, 4, 8):
        return max(32.0, 512 / (2 * work.stride + several))
    return 32.0


def _mmad(work: Work, target: Target) -> float:
    factor = target.mmad_fp32_factor if work.size == 4 and work.op != "hf32" else 1
    blocks = ceil_div(work.m, 16) * ceil_div(work.n, 16) * ceil_div(work.k * work.size, 32)
    return blocks * factor + target.mmad_start


def conflict_cycles(work: Work, target: Target) -> float:
    """The cycles of a vector op that it would not take if its sources met in no bank."""
    if work.kind != "vector" or not work.conflict:
        return 0.0
    return _vector(work, target) - _vector(work._replace(conflict=False), target)


def _vector(work: Work, target: Target) -> float:
    rates = target.vector_rates.get(work.op)
    if rates is None:
        raise CompileError(f"{target.name} has no rate for vector op '{work.op}', expected one")
    rate = rates[0] if work.size <= 2 else rates[1] * 4 / work.size
    per_repeat = REPEAT_BYTES // work.size
    cycles = ceil_div(work.elements, per_repeat) * per_repeat / rate
    if work.two_sources and work.conflict and rate * work.size >= REPEAT_BYTES:
        cycles *= target.bank_conflict
    return instructions(work, target) * target.vector_start + cycles


def _reduce(work: Work, target: Target) -> float:
    """Cycles of a reduction of rows: fold each to one repeat by `add`, then that to an element.

    A fold is one instruction per 256-byte column of the tile, with a repeat per row, or halves
    the rows one by one, whichever is less.
    """
    per_repeat = REPEAT_BYTES // work.size
    columns = ceil_div(ceil_div(work.elements, work.rows), per_repeat)

    def adds(repeats: int, instructions: int) -> float:
        count = repeats * per_repeat
        # neighbouring repeats lie 256 bytes apart, so they meet in no bank
        part = Work("vector", elements=count, size=work.size, op="add")
        return _vector(part._replace(instructions=instructions), target)

    by_column = adds((columns - 1) * work.rows, columns - 1)
    by_halves = adds((columns - 1) * work.rows, work.rows * (columns - 1).bit_length())
    last = Work("vector", elements=work.rows * per_repeat, size=work.size, op="reduce")
    return min(by_column, by_halves) + _vector(last, target)
