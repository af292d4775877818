"""Ascend910_9362: a die with 20 cube and 40 vector cores of arch 2201."""

from ge_xdsl.targets.ascend910b1 import KB
from ge_xdsl.targets.ascend910b1 import TARGET as B1

TARGET = B1.variant(
    "Ascend910_9362",
    "INI-8.1",
    cube_cores=20,
    vector_cores=40,
    clock_mhz=1500,
    l2=168 * KB**2,
    hbm=32 * KB**3,
)
