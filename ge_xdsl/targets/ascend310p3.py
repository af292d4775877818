"""Ascend310P3: arch 200, 8 cores with cube and vector unit and 7 further vector cores."""

from ge_xdsl.targets.ascend910a import TARGET as A
from ge_xdsl.targets.ascend910b1 import KB

TARGET = A.variant(
    "Ascend310P3",
    "INI-8.1",
    arch="200",
    cube_cores=8,
    vector_cores=15,
    clock_mhz=1060,
    l1=1024 * KB,
    l0c=256 * KB,
    ub=256 * KB,
    l2=16 * KB**2,
    gm_l1_rate=114,
    gm_ub_rate=57,
    ub_gm_rate=57,
    l1_l0a_rate=512,
    l1_l0b_rate=256,
    l0c_ub_rate=512,
    l1_ub_rate=128,
    ub_l1_rate=256,
    # ddr_rate x cores x clock; vector kernels run on the 7 vector cores, too
    hbm_ub_bandwidth=17 * 8 * 1.06e9 + 9 * 7 * 1.0e9,
    hbm_l1_bandwidth=17 * 8 * 1.06e9,
)
