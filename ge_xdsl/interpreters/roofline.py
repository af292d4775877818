"""A bound that no schedule can beat: counted work over peak, counted bytes over bandwidth.

It takes nothing from the simulated order: no latency, no start of an instruction, no short row,
no wait. What is counted is what the most loaded core does, and what all cores get from HBM.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ge_xdsl.targets import Target

BLOCK_BYTES = 16 * 16 * 32
"""Products per cycle of the cube unit times the size of an element [CUBE]."""
LANE_BYTES = 256
"""Bytes of results per cycle of the vector unit [VEC]."""


def roofline(counts: Sequence[Mapping[str, float]], hbm_read: float, target: Target) -> float:
    """Cycles of the longest of cube, vector unit, ports of a core, and HBM.

    `counts` are those of the cores that were simulated, by path and unit.
    """
    found = hbm_read / max(target.hbm_ub_bandwidth, target.hbm_l1_bandwidth) * target.clock_hz
    for core in counts:
        found = max(
            found,
            core.get("products", 0.0) / BLOCK_BYTES,
            core.get("lanes", 0.0) / LANE_BYTES,
            core.get("gm_l1", 0.0) / target.gm_l1_rate,
            core.get("gm_ub", 0.0) / target.gm_ub_rate,
            core.get("ub_gm", 0.0) / target.ub_gm_rate,
            core.get("fixpipe", 0.0) / target.l0c_gm_rate,
        )
    return found
