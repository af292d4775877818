"""Whether the pass that is running asked for GE's own behaviour (`--upstream-quirks`)."""

from __future__ import annotations

from ge_xdsl.passes.registry import current_run


def upstream_quirks() -> bool:
    """True inside a pass of a session with `upstream_quirks`; `docs/divergences.md` lists them."""
    run = current_run()
    return run is not None and run.session.upstream_quirks
