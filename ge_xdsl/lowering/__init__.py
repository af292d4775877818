"""GE graphs to tile programs: `lower(module, target)` gives a module of kernels and launches."""

from ge_xdsl.lowering.convert import convert, decompose, lower, lowered_op_types

__all__ = ["convert", "decompose", "lower", "lowered_op_types"]
