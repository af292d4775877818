"""Ascend910B4: 20 cube and 40 vector cores of arch 2201, half the L2 and half the bandwidth."""

from ge_xdsl.targets.ascend910b1 import KB
from ge_xdsl.targets.ascend910b1 import TARGET as B1

TARGET = B1.variant(
    "Ascend910B4",
    "INI-8.1",
    cube_cores=20,
    vector_cores=40,
    clock_mhz=1500,
    l2=96 * KB**2,
    hbm=32 * KB**3,
).variant("Ascend910B4", "PTO", hbm_ub_bandwidth=0.74e12, hbm_l1_bandwidth=0.705e12)
