"""Opt-in extensions of pattern matching that GE does not have.

    from ge_xdsl.patterns import matching

    @register_fusion_pass(name="Bias", stage=PassStage.AFTER_INFER_SHAPE)
    @matching(commutative=True, through_copies=True)
    class Bias(PatternFusionPass): ...

A pass file that imports this module matches more here than in CANN, where it does not exist.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ge_xdsl.pattern.extended import ATTRIBUTE, COMMUTATIVE, Matching

__all__ = ["COMMUTATIVE", "Matching", "matching"]

C = TypeVar("C", bound=type)


def matching(*, commutative: bool = False, through_copies: bool = False) -> Callable[[C], C]:
    """Let the patterns of a pass class match beyond GE's rules.

    `commutative`: operands of the op types in COMMUTATIVE match in either order, their own first;
    a match that `meet_requirements` refuses is not tried again in the other.
    `through_copies`: Identity and a Cast to the same type may stand between two nodes; they are
    replaced together with them and must have no other reader.
    """

    def decorate(cls: C) -> C:
        setattr(cls, ATTRIBUTE, Matching(commutative, through_copies))
        return cls

    return decorate
