"""Ascend910B3: 20 cube and 40 vector cores of arch 2201."""

from ge_xdsl.targets.ascend910b1 import TARGET as B1

TARGET = B1.variant("Ascend910B3", "INI-8.1", cube_cores=20, vector_cores=40, clock_mhz=1800)
