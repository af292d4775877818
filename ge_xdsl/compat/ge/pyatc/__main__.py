"""`python -m ge.pyatc`: the project's `pyatc`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

_TOOL = "ge_xdsl.cli.atc"
"""The command line; it is named and not imported because it stands above this package."""


def main(cmdline_argv0: str | None = None, args: Sequence[str] | None = None) -> NoReturn:
    """Run `pyatc` and end the process with its exit code.

    With `cmdline_argv0` the arguments are `args`, else those of the process.
    """
    given = sys.argv[1:] if cmdline_argv0 is None else list(args or ())
    sys.exit(import_module(_TOOL).main(given))


if __name__ == "__main__":
    main()
