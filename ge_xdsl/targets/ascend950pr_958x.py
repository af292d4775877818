"""Ascend950PR_958x: arch 3510, 32 cube and 64 vector cores."""

from ge_xdsl.targets.ascend910b1 import KB, LINEAR, VECTOR_RATES
from ge_xdsl.targets.ascend910b1 import TARGET as B1

_CALIBRATED = [
    "vector_start",
    "mmad_start",
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
    "l0c_gm_rate",
    "l0c_elements",
    "l1_bt_rate",
    "ub_reserved",
    "l1_reserved",
]

_DOCUMENTED = (*LINEAR, "exp", "div")
_RATE_SOURCES = {
    **{op: "2201" for op in VECTOR_RATES if op not in _DOCUMENTED},
    **dict.fromkeys(("ln", "sqrt", "cast"), "KIN"),
}
_RATES = {
    **VECTOR_RATES,
    # 64 bytes per cycle
    **dict.fromkeys(("exp", "ln", "sqrt", "div"), (32, 16)),
    "cast": (128, 64),
}

TARGET = (
    B1.variant("Ascend950PR_958x", "2201", **{name: getattr(B1, name) for name in _CALIBRATED})
    .variant(
        "Ascend950PR_958x", "VEC", vector_rates=_RATES, bank_conflict=1, rate_sources=_RATE_SOURCES
    )
    .variant("Ascend950PR_958x", "CUBE", l1_l0a_rate=256, l1_l0b_rate=256, load_start=37)
    .variant("Ascend950PR_958x", "CUBE", mmad_fp32_factor=8)
    # a loop over registers takes the place of repeats
    .variant("Ascend950PR_958x", "ABSENT", vector_repeats=0)
    # 1.6 TB/s; arch 2201 reaches 1.48 and 1.42 of 1.8
    .variant(
        "Ascend950PR_958x",
        "NOMINAL",
        hbm_ub_bandwidth=1.6e12 * 1.48 / 1.8,
        hbm_l1_bandwidth=1.6e12 * 1.42 / 1.8,
    )
    .variant(
        "Ascend950PR_958x",
        "INI-pypto",
        arch="3510",
        cube_cores=32,
        vector_cores=64,
        clock_mhz=1650,
        l1=512 * KB,
        l0c=256 * KB,
        ub=248 * KB,
        bt=4 * KB,
        fb=6 * KB,
        l2=128 * KB**2,
        hbm=128 * KB**3,
        l0a_layout="nz",
        gm_l1_rate=100,
        gm_ub_rate=100,
        ub_gm_rate=42,
        l0c_ub_rate=128,
        l1_ub_rate=128,
        ub_l1_rate=128,
    )
)
