"""What a compiled graph uses beyond the element types that GE's prototypes list.

Such a graph has values here, but GE's op library may refuse the op, or cast its operands as the
precision mode says. So a run ends with a warning per op type, or with an error when it is strict.
"""

from __future__ import annotations

from collections import Counter

from xdsl.dialects.builtin import ModuleOp

from ge_xdsl.dialects.ge.check import foreign_element_type
from ge_xdsl.dialects.ge.graph import op_error
from ge_xdsl.dialects.ge.names import describe
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.passes.session import Session


def check_element_types(module: ModuleOp, session: Session) -> None:
    """Warn of each op type with such an op, of the first one by name; linear in the ops.

    Raises CompileError at the first op when the session is strict.
    """
    first: dict[str, str] = {}
    found: Counter[str] = Counter()
    for op in module.walk():
        text = foreign_element_type(op) if isinstance(op, GeOp) else ""
        if not text:
            continue
        if session.strict:
            raise op_error(op, text)
        found[op.name] += 1
        first.setdefault(op.name, f"{describe(op)}: {text}")
    for name, text in first.items():
        more = f" (and {found[name] - 1} more)" if found[name] > 1 else ""
        session.warn(f"{text}{more}")
