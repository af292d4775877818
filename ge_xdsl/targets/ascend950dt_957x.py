"""Ascend950DT_957x: arch 3510, 28 cube and 56 vector cores, more memory bandwidth than the PR."""

from ge_xdsl.targets.ascend910b1 import KB
from ge_xdsl.targets.ascend950dt_958x import TARGET as DT

TARGET = DT.variant(
    "Ascend950DT_957x", "INI-pypto", cube_cores=28, vector_cores=56, hbm=96 * KB**3
).variant(
    "Ascend950DT_957x",
    "NOMINAL",
    hbm_ub_bandwidth=DT.hbm_ub_bandwidth * 28 / 32,
    hbm_l1_bandwidth=DT.hbm_l1_bandwidth * 28 / 32,
)
