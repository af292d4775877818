"""`python -m ge.pyatc`: the project's `pyatc`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import NoReturn

_TOOL = "ge_xdsl.cli.atc"
"""The command line; it is named and not imported because it stands above this package."""


def main(cmdline_argv0: str | None = None, args: Sequence[str] | None = None) -> NoReturn:
    """Run `pyatc` and end the process with its exit code.

    With `cmdline_argv0`, the name of the program, the arguments are `args`, else those of the
    process.
    """
    own: str | None = sys.argv[0]  # None where an import hook found the module
    name = (own or "__main__.py") if cmdline_argv0 is None else cmdline_argv0
    given = sys.argv[1:] if cmdline_argv0 is None else list(args or ())
    if name.endswith("__main__.py"):
        name = f"{sys.executable} -m ge.pyatc"
    sys.exit(import_module(_TOOL).main(given, Path(name).name))


if __name__ == "__main__":
    main()
