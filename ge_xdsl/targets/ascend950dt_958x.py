"""Ascend950DT_958x: arch 3510, 32 cube and 64 vector cores, more memory bandwidth than the PR."""

from ge_xdsl.targets.ascend950pr_958x import TARGET as PR

# ddr_read_rate of 80 bytes per cycle x cube cores x clock; arch 2201 reaches 1.48 and 1.42 of 1.8
NOMINAL = 80 * 32 * 1.65e9

TARGET = PR.variant(
    "Ascend950DT_958x",
    "NOMINAL",
    hbm_ub_bandwidth=NOMINAL * 1.48 / 1.8,
    hbm_l1_bandwidth=NOMINAL * 1.42 / 1.8,
).variant("Ascend950DT_958x", "ABSENT", hbm=0)
