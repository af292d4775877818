"""Ascend910A: arch 100, cube and vector unit in one core.

The cube takes f16 and 8-bit factors, and L0C is drained through UB, by the vector unit. Latencies
and the rates of vector ops that are not linear are those of arch 2201.
"""

from ge_xdsl.targets.ascend910b1 import KB, LINEAR
from ge_xdsl.targets.ascend910b1 import TARGET as B1

_CALIBRATED = [
    "vector_start",
    "dma_issue",
    "ub_latency",
    "l1_latency",
    "nd2nz_row",
    "nd2nz_hit_rate",
    "nd2nz_cold_rate",
    "hbm_write_efficiency",
    "hbm_dma_loss",
    "l2_usable",
    "launch_us",
    "core_start_us",
    "line_sharing",
    "scalar_latency",
    "sync_all",
    "join_power",
    "ub_stall",
    "l2_line",
    "load_start",
    "mmad_start",
    "bank_conflict",
    "vector_repeats",
    "vector_rates",
    "l0c_gm_rate",
    "l0c_elements",
    "l1_bt_rate",
    "mmad_fp32_factor",
    "ub_reserved",
    "l1_reserved",
    "l0a_layout",
]

TARGET = (
    B1.variant("Ascend910A", "2201", **{name: getattr(B1, name) for name in _CALIBRATED})
    .variant("Ascend910A", "ABSENT", bt=0, fb=0, hbm=0)
    .variant(
        "Ascend910A",
        "INI-ge",
        arch="100",
        cube_cores=32,
        vector_cores=32,
        clock_mhz=1000,
        l1=1024 * KB,
        l0c=256 * KB,
        ub=256 * KB,
        l2=32 * KB**2,
        gm_l1_rate=110,
        gm_ub_rate=110,
        ub_gm_rate=64,
        l1_l0a_rate=512,
        l1_l0b_rate=256,
        l0c_ub_rate=256,
        l1_ub_rate=128,
        ub_l1_rate=128,
        # ddr_rate x cores x clock
        hbm_ub_bandwidth=32 * 32 * 1.0e9,
        hbm_l1_bandwidth=32 * 32 * 1.0e9,
        rate_sources=dict.fromkeys(LINEAR, "INI-ge"),
    )
)
