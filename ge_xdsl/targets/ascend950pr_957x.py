"""Ascend950PR_957x: arch 3510, 28 cube and 56 vector cores."""

from ge_xdsl.targets.ascend950pr_958x import TARGET as PR

TARGET = PR.variant("Ascend950PR_957x", "INI-pypto", cube_cores=28, vector_cores=56).variant(
    "Ascend950PR_957x", "ABSENT", hbm=0
)
