"""Ascend910B1: arch 2201, 24 cube and 48 vector cores that exchange data through L2."""

from ge_xdsl.targets.calibration import FITTED
from ge_xdsl.targets.target import Target

KB = 1024

LINEAR = (
    *("add", "sub", "mul", "max", "min", "adds", "muls", "maxs", "mins"),
    *("abs", "relu", "copy", "dup"),
)
"""What every chip does as fast as it has lanes: 128 of f16, by its platform file."""
VECTOR_RATES = {
    # full rate: 256 bytes per cycle
    **dict.fromkeys(LINEAR, (128, 64)),
    **dict.fromkeys(("rec", "rsqrt", "brc"), (128, 64)),
    # the same rate for half and float
    **dict.fromkeys(("exp", "ln", "sqrt"), (32, 32)),
    # two and four cycles per 256-byte repeat of f32, as measured [PTO]; the table has one and two
    "cast": (128, 32),
    "div": (16, 16),
    **dict.fromkeys(("compare", "select", "transpose"), (128, 64)),
    "muladd": (64, 32),
    # elements per cycle when a repeat of 256 bytes becomes one element in 7 cycles
    "reduce": (18, 9),
    # by element, whatever its size
    "gather": (5, 5),
    # sort32, and each merge of four runs
    "sort": (2, 2),
}
"""Vector op kind -> result elements per cycle of 2 and of 4 bytes [VEC]."""

_INI = dict.fromkeys(
    [
        "cube_cores",
        "vector_cores",
        "clock_mhz",
        "l1",
        "l0a",
        "l0b",
        "l0c",
        "ub",
        "bt",
        "fb",
        "l2",
        "hbm",
        "gm_l1_rate",
        "ub_gm_rate",
    ],
    "INI-pypto",
)
_ABSENT = dict.fromkeys(("l0c_ub_rate", "l1_ub_rate", "ub_l1_rate"), "ABSENT")
_ARCH = dict.fromkeys(("l0a_layout", "ub_reserved", "l1_reserved", "vector_repeats"), "ARCH")
_CUBE = dict.fromkeys(("l1_l0a_rate", "l1_l0b_rate", "l1_bt_rate", "l0c_elements"), "CUBE")
_FITTED = dict.fromkeys(FITTED, "FITTED")

TARGET = Target(
    name="Ascend910B1",
    arch="2201",
    cube_cores=24,
    vector_cores=48,
    clock_mhz=1850,
    l1=512 * KB,
    l0a=64 * KB,
    l0b=64 * KB,
    l0c=128 * KB,
    ub=192 * KB,
    bt=1 * KB,
    fb=7 * KB,
    l2=192 * KB * KB,
    hbm=64 * KB**3,
    l0a_layout="zz",
    lowers=("cube", "vector"),
    ub_reserved=8 * KB,
    l1_reserved=256,
    gm_l1_rate=110,
    gm_ub_rate=68,
    ub_gm_rate=64,
    l0c_gm_rate=72,
    l0c_ub_rate=0,
    l1_ub_rate=0,
    ub_l1_rate=0,
    l0c_elements=64,
    l1_l0a_rate=256,
    l1_l0b_rate=128,
    l1_bt_rate=32,
    load_start=46,
    mmad_start=11,
    vector_start=24,
    dma_issue=20.6,
    scalar_latency=290,
    sync_all=1000,
    ub_latency=450,
    l1_latency=620,
    nd2nz_row=2,
    nd2nz_hit_rate=153,
    nd2nz_cold_rate=55,
    line_sharing=0.02,
    hbm_ub_bandwidth=1.48e12,
    # ddr_read_rate of 32 bytes per cycle x 24 cores x 1850 MHz
    hbm_l1_bandwidth=1.42e12,
    hbm_write_efficiency=0.67,
    hbm_dma_loss=700,
    l2_line=512,
    l2_usable=0.9,
    ub_stall=0.5,
    join_power=6,
    launch_us=3.4,
    core_start_us=0.085,
    mmad_fp32_factor=2,
    vector_repeats=255,
    bank_conflict=2,
    vector_rates=VECTOR_RATES,
    rate_sources={"cast": "PTO", "div": "PTO"},
    sources={
        **_INI,
        **_ARCH,
        **_ABSENT,
        **_CUBE,
        **_FITTED,
        "load_start": "PTO",
        "vector_start": "PTO",
        "bank_conflict": "VEC",
        "sync_all": "PTO",
        "l2_line": "ARCH",
        "hbm_l1_bandwidth": "INI-pypto",
        "mmad_fp32_factor": "CUBE",
        "vector_rates": "VEC",
    },
)
