"""Ascend910_9391: one die of the package of two, with the numbers of Ascend910B1."""

from ge_xdsl.targets.ascend910b1 import TARGET as B1

TARGET = B1.variant("Ascend910_9391", "INI-8.1", cube_cores=24, vector_cores=48, clock_mhz=1850)
