"""Ascend910B1: arch 2201, 24 cube and 48 vector cores that exchange data through L2."""

from ge_xdsl.targets.target import Target

KB = 1024

VECTOR_RATES = {
    # full rate: 256 bytes per cycle
    **dict.fromkeys(("add", "sub", "mul", "max", "min"), (128, 64)),
    **dict.fromkeys(("adds", "muls", "maxs", "mins"), (128, 64)),
    **dict.fromkeys(("abs", "relu", "rec", "rsqrt", "copy", "dup", "brc"), (128, 64)),
    # the same rate for half and float
    **dict.fromkeys(("exp", "ln", "sqrt", "div"), (32, 32)),
    # 128 when both types have at most 16 bits, 64 when one has 32
    "cast": (128, 64),
    **dict.fromkeys(("compare", "select", "transpose"), (128, 64)),
    "muladd": (64, 32),
    # elements per cycle when a repeat of 256 bytes becomes one element in 7 cycles
    "reduce": (18, 9),
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
        "l2",
        "hbm",
        "gm_l1_rate",
        "ub_gm_rate",
    ],
    "INI-pypto",
)
_ARCH = dict.fromkeys(("l0a_layout", "ub_reserved", "l1_reserved"), "ARCH")
_CUBE = dict.fromkeys(("l1_l0a_rate", "l1_l0b_rate", "l1_bt_rate", "l0c_elements"), "CUBE")
_DERIVED = dict.fromkeys(
    [
        "gm_ub_rate",
        "load_start",
        "mmad_start",
        "dma_issue",
        "hbm_ub_bandwidth",
        "hbm_l1_bandwidth",
        "vector_start",
        "bank_conflict",
        "launch_us",
        "ub_row",
    ],
    "DERIVED",
)
_SPIKE = dict.fromkeys(
    [
        "ub_latency",
        "l1_latency",
        "nd2nz_row",
        "nd2nz_hit_rate",
        "nd2nz_cold_rate",
        "hbm_write_efficiency",
        "hbm_dma_loss",
        "l2_usable",
    ],
    "SPIKE",
)

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
    l2=192 * KB * KB,
    hbm=64 * KB**3,
    l0a_layout="zz",
    lowers=("cube", "vector"),
    ub_reserved=8 * KB,
    l1_reserved=256,
    gm_l1_rate=110,
    gm_ub_rate=68,
    ub_gm_rate=64,
    l0c_gm_rate=41,
    l0c_elements=64,
    l1_l0a_rate=256,
    l1_l0b_rate=128,
    l1_bt_rate=32,
    load_start=46,
    mmad_start=11,
    vector_start=24,
    dma_issue=20.6,
    ub_latency=450,
    l1_latency=620,
    # 128-byte rows arrive at 1.37 TB/s of 1.48: the fixed part of a row is at most a few cycles
    ub_row=2,
    nd2nz_row=2,
    nd2nz_hit_rate=153,
    nd2nz_cold_rate=55,
    hbm_ub_bandwidth=1.48e12,
    hbm_l1_bandwidth=1.41e12,
    hbm_write_efficiency=0.67,
    hbm_dma_loss=700,
    l2_usable=0.9,
    join_power=6,
    launch_us=6,
    mmad_fp32_factor=2,
    bank_conflict=2,
    vector_rates=VECTOR_RATES,
    sources={
        **_INI,
        **_ARCH,
        **_CUBE,
        **_DERIVED,
        **_SPIKE,
        "l0c_gm_rate": "PTO",
        "join_power": "SETTLED",
        "mmad_fp32_factor": "CUBE",
        "vector_rates": "VEC",
    },
)
