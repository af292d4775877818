"""`ge.ge_global`: starting and ending the engine, which loads and forgets pass files."""

from __future__ import annotations

from typing import cast

from ge_xdsl.compat.ge._engine import acquire, release, string_options

__all__ = ["GeApi"]


class GeApi:
    """The engine of the process."""

    @classmethod
    def ge_initialize(cls, config: dict[str, str]) -> int:
        """Load the pass files that the environment names; 0. Raises GeError when one fails.

        The options hold for every session and build until `ge_finalize`.
        """
        if not isinstance(cast("object", config), dict):
            raise TypeError("Ge init config must be a dictionary")
        if not config:
            raise TypeError("Ge init config must not be empty")
        text = "Ge init config must be a dictionary of strings"
        acquire("GEInitialize", string_options(config, text))
        return 0

    @classmethod
    def ge_finalize(cls) -> int:
        """Forget the pass files once every initialization is undone; 0."""
        release()
        return 0
