"""Keeping a rule only where the model of the target says that it pays.

Each rule is tried alone on a copy of the graph. Both are lowered and priced; a rule after which the
graph takes longer, or has more ops without a kernel, is left out, with a warning that has the two
prices.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from xdsl.dialects.builtin import ModuleOp

from ge_xdsl.errors import CompileError, counted
from ge_xdsl.interpreters.aicore import estimate
from ge_xdsl.lowering import lower
from ge_xdsl.passes.session import Session
from ge_xdsl.pattern.fixpoint import run_fixpoint
from ge_xdsl.pattern.rule import Rule

R = TypeVar("R", bound=Rule)


def price(module: ModuleOp, chip: str) -> tuple[int, float]:
    """How many ops of a graph have no kernel on a chip, and the microseconds of the others.

    Raises CompileError for a graph without kernels, as one of unknown shapes is.
    """
    found = estimate(lower(module, chip), chip)
    if not found.us:
        raise CompileError("no op of the graph has a kernel, expected some and known shapes")
    return sum(found.calls.values()), found.us


def paying(rules: Sequence[R], module: ModuleOp, session: Session, name: str) -> list[R]:
    """The rules after which the graph is no slower, in their order.

    All of them, with a warning, where the graph cannot be priced.
    """
    try:
        before = price(module, session.target)
        return [rule for rule in rules if _pays(rule, module, before, session, name)]
    except CompileError as error:
        session.warn(f"{name}: cost-model has no effect, {error.message}")
        return list(rules)


def _pays(
    rule: Rule, module: ModuleOp, before: tuple[int, float], session: Session, name: str
) -> bool:
    copy = module.clone()
    if not run_fixpoint(copy, [rule], pass_name=name).applied:
        return True
    after = price(copy, session.target)
    if after <= before:
        return True
    session.warn(
        f"{name}: rule {rule.name} does not pay on {session.target}, {_text(*before)} before and "
        f"{_text(*after)} after, left out"
    )
    return False


def _text(untimed: int, us: float) -> str:
    return f"{us:.2f} us" + f" and {counted(untimed, 'op')} without a kernel" * bool(untimed)
