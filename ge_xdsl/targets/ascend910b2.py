"""Ascend910B2: the cores and memories of Ascend910B1 at 1800 MHz."""

from ge_xdsl.targets.ascend910b1 import TARGET as B1

TARGET = B1.variant("Ascend910B2", "INI-8.1", clock_mhz=1800)
