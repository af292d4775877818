"""What listens to the drivers: statistics, explanations, checkers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.op import GeOp
    from ge_xdsl.pattern.rule import Outcome


class Recorder(Protocol):
    """Takes what the drivers report."""

    @property
    def explains(self) -> bool:
        """Whether it wants every miss, with its reason, and not only the matches."""
        ...

    def attempt(
        self, pass_name: str, rule: str, root: GeOp, outcome: Outcome, micros: float
    ) -> None:
        """An attempt that matched (applied, or refused by a check); with `explains` any attempt."""
        ...

    def swept(self, pass_name: str, rule: str, tried: int, micros: float) -> None:
        """A rule's run over one graph is done: how many roots it tried, in how much time."""
        ...
