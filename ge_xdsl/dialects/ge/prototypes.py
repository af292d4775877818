"""The table of every public GE op's prototype, read one op at a time."""

from __future__ import annotations

from ge_xdsl.dialects.ge.prototype import Prototype


def prototype_of(op_type: str) -> Prototype | None:
    return None


def known_ops() -> list[str]:
    return []
