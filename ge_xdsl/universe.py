"""What xDSL's own tools (`xdsl-opt`, `xdsl-gui`) find of this package: the entry point's object.

Everything is a factory, so nothing of the project is imported before it is named.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Dialect, Operation
from xdsl.passes import ModulePass
from xdsl.universe import Universe

from ge_xdsl.passes import table


def ge_dialect() -> Dialect:
    """The ge dialect with all typed ops and, by prototype, all other public GE ops."""
    from ge_xdsl.dialects.ge.prototypes import known_ops
    from ge_xdsl.dialects.ge.registry import ATTRIBUTES, op_class, typed_ops

    names = dict.fromkeys([*typed_ops(), *known_ops()])
    classes: list[type[Operation]] = [c for c in map(op_class, names) if c is not None]
    return Dialect("ge", classes, list(ATTRIBUTES))


def aicore_dialect() -> Dialect:
    """The aicore dialect: tiles, instructions, loops, kernels."""
    from ge_xdsl.dialects.aicore import AICORE

    return AICORE


def pass_factory(name: str) -> Callable[[], type[ModulePass]]:
    """A function that imports a pass when it is called."""
    return lambda: table.pass_class(name)


GE_UNIVERSE = Universe(
    all_dialects={"ge": ge_dialect, "aicore": aicore_dialect},
    all_passes={name: pass_factory(name) for name in table.PASSES},
)
