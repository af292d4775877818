"""Ops of a dialect other than ge that know where they were read from."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ge_xdsl.errors import Location


class Located:
    """An op with the place that it was read from."""

    source: Location | None = None
