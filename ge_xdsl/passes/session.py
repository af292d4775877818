"""What one run of the compiler is told and what it finds out.

The command line, `pyatc` and the Python door fill a `Session`; passes read it from the context.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from xdsl.context import Context

from ge_xdsl.dialects.ge.text import GeContext
from ge_xdsl.pattern.recorder import Recorder

DEFAULT_TARGET = "Ascend910B1"


@dataclass
class Session:
    """Options and findings of one compile."""

    target: str = DEFAULT_TARGET
    options: dict[str, str] = field(default_factory=dict[str, str])
    """What `PassContext.get_option_value` reads."""
    tile: str = ""
    """M,N,K of the matrix products and convolutions that have no tile of their own."""
    source: Path | None = None
    upstream_quirks: bool = False
    strict: bool = False
    """Whether an element type that GE's prototypes do not list, and an op of a model that the
    importer does not know, are errors, not warnings."""
    recorders: list[Recorder] = field(default_factory=list[Recorder])
    messages: list[str] = field(default_factory=list[str])
    """Warnings and notes for the user, one line each, printed on stderr at the end."""

    def warn(self, text: str) -> None:
        """Note a warning once."""
        line = f"warning: {text}"
        if line not in self.messages:
            self.messages.append(line)


class SessionContext(GeContext):
    """The xDSL context that carries a session to the passes."""

    def __init__(self, session: Session | None = None, allow_unregistered: bool = False) -> None:
        super().__init__(allow_unregistered)
        self.session = session or Session()
        self.strict = self.session.strict

    def warn(self, text: str) -> None:
        """Note a warning, once."""
        self.session.warn(text)


def session_of(ctx: Context) -> Session:
    """The session of a context; a default one under a plain xDSL context (xdsl-opt)."""
    return ctx.session if isinstance(ctx, SessionContext) else Session()
