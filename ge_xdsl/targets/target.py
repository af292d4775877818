"""`Target`: one chip as numbers, all that the compiler and the timing model know about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ge_xdsl.errors import CompileError

SUB_CORES = 2
"""Vector cores that a cube core of a mixed kernel has with it."""
CORE_SPACES = ("l1", "l0a", "l0b", "l0c", "ub", "bt", "fb")
"""The memories of a core; each has its size in the field of the same name."""


@dataclass(frozen=True, slots=True)
class Target:
    """Capacities in bytes, rates in bytes per core cycle, latencies in cycles.

    `sources` names for every number the table or measurement it is taken from (the tags are
    explained in `targets/sources.py`). `lowers` lists the core kinds that kernels can be made for.
    """

    name: str
    arch: str
    cube_cores: int
    vector_cores: int
    clock_mhz: int
    l1: int
    l0a: int
    l0b: int
    l0c: int
    ub: int
    bt: int
    fb: int
    l2: int
    hbm: int
    """Size of the memory in bytes; 0 where no table gives it."""
    l0a_layout: str
    lowers: tuple[str, ...]

    ub_reserved: int
    l1_reserved: int

    gm_l1_rate: float
    gm_ub_rate: float
    ub_gm_rate: float
    l0c_gm_rate: float
    l0c_ub_rate: float
    """L0C to UB; 0, as the next two, where there is no such way."""
    l1_ub_rate: float
    ub_l1_rate: float
    l0c_elements: float
    """Elements per cycle through the fixpipe's cast and quantisation stages."""
    l1_l0a_rate: float
    l1_l0b_rate: float
    l1_bt_rate: float

    load_start: float
    mmad_start: float
    vector_start: float
    dma_issue: float
    scalar_latency: float
    """Cycles from a vector result through the scalar unit back to the vector unit."""
    sync_all: float
    ub_latency: float
    l1_latency: float
    nd2nz_row: float
    nd2nz_hit_rate: float
    nd2nz_cold_rate: float
    line_sharing: float
    """Share by which each further core that reads the same L2 lines at once slows a row."""

    hbm_ub_bandwidth: float
    """Bytes per second of a stream into UB, all cores together."""
    hbm_l1_bandwidth: float
    hbm_write_efficiency: float
    hbm_dma_loss: float
    """Bytes of HBM time that every copy costs on top of its own."""
    l2_line: int
    l2_usable: float
    """Share of L2 that data can fill before other data is pushed out."""
    ub_stall: float
    """Share of the cycles of a bank conflict in UB for which copies stand still."""
    join_power: float
    """Exponent p of (core^p + hbm^p)^(1/p), the smooth maximum of core time and HBM time."""
    launch_us: float
    core_start_us: float
    """What every core that a kernel runs on adds to its launch."""

    mmad_fp32_factor: int
    vector_repeats: int
    """The most repeats of one vector instruction; 0 for no limit."""
    bank_conflict: float
    """Cycles per repeat of a two-source vector op, in units of the table's."""
    vector_rates: Mapping[str, tuple[int, int]]
    """Vector op kind -> result elements per cycle for 2-byte and for 4-byte elements."""

    rate_sources: Mapping[str, str] = field(repr=False, default_factory=dict[str, str])
    """Vector op kind -> the tag of its rates, where it is not that of `vector_rates`."""
    sources: Mapping[str, str] = field(repr=False, default_factory=dict[str, str])

    @property
    def clock_hz(self) -> float:
        return self.clock_mhz * 1e6

    def cores(self, kind: str) -> int:
        """Number of cores that run kernels of a kind, `cube` or `vector`."""
        return self.cube_cores if kind == "cube" else self.vector_cores

    def launch(self, kind: str, blocks: int) -> float:
        """Microseconds until all cores of a kernel run; `blocks` of kind mix are three each."""
        cores = blocks * (1 + SUB_CORES) if kind == "mix" else blocks
        return self.launch_us + self.core_start_us * cores

    def has(self, space: str) -> bool:
        """Whether a core has a memory of that name."""
        return space in CORE_SPACES and getattr(self, space) > 0

    def capacity(self, space: str) -> int:
        """Bytes of a memory space that a kernel may allocate.

        Raises CompileError for a space that the chip does not have.
        """
        reserved = self.l1_reserved if space == "l1" else self.ub_reserved if space == "ub" else 0
        size = int(getattr(self, space)) - reserved if space in CORE_SPACES else 0
        if size <= 0:
            have = ", ".join(name for name in CORE_SPACES if getattr(self, name))
            raise CompileError(f"{self.name} has no memory '{space}', expected one of {have}")
        return size

    def variant(self, name: str, source: str, **numbers: Any) -> Target:
        """A chip that differs from this one in `numbers`, all of them from `source`."""
        sources = {**self.sources, **dict.fromkeys(numbers, source)}
        return replace(self, name=name, sources=sources, **numbers)
