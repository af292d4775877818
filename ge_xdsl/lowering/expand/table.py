"""Op type -> its expansion."""

from __future__ import annotations

from ge_xdsl.lowering.expand.builder import Expansion

EXPANSIONS: dict[str, Expansion] = {}
"""All expansions by op type."""
