"""An accepted instance of each op: base forms of the constraint tables and of their modules."""

import importlib

from op_cases import op_text, result_count
from op_text import module_of

from ge_xdsl.dialects.ge.graph import main_function
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.text import parse_module

MODULES = ("attention", "gradients", "norms", "products", "quant")


def from_tables():
    """Op type -> a function that makes its op, from the tables."""
    bases = importlib.import_module("test_constraint_tables").BASES
    return {op: lambda op=op: table_op(op, bases[op]) for op in bases}


def table_op(op_type, base):
    text = module_of(op_text(op_type, *base), result_count(op_type, base[1]))
    ops = [op for op in main_function(parse_module(text)).body.block.ops if isinstance(op, GeOp)]
    found = next(op for op in ops if op.op_type == op_type)
    found.update_types()
    return found


def from_modules():
    """Op type -> a function that makes its op, from the modules with good and bad rows."""
    from constraint_table import build

    found = {}
    for name in MODULES:
        good = importlib.import_module(f"test_constraints_{name}").GOOD
        found |= {op: lambda op=op, good=good: build(op, *good[op]) for op in good}
    return found


BASES = from_modules() | from_tables()

NO_FORM = {
    **dict.fromkeys(("Const", "Constant"), "its value is its form"),
    **dict.fromkeys(("NoOp", "control_edge", "unconnected", "yield"), "no operator on tensors"),
    **dict.fromkeys(("If", "_If", "StatelessIf", "Case", "StatelessCase"), "holds subgraphs"),
    **dict.fromkeys(("While", "StatelessWhile", "For"), "holds subgraphs"),
    **dict.fromkeys(("PartitionedCall", "StatefulPartitionedCall"), "holds subgraphs"),
}
"""Op type -> why it has no base form."""
