"""Descriptions of chips, as data: `target("Ascend910B1")` gives one.

A chip's file holds numbers only, each with its source; `cost` turns the machine-independent
amounts that ops state into cycles on a target.
"""

from ge_xdsl.targets.registry import target, target_names
from ge_xdsl.targets.target import Target

__all__ = ["Target", "target", "target_names"]
