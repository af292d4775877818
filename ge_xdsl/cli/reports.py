"""What `--stats`, `--explain` and `--expect-matches` collect and print."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ge_xdsl.passes.session import Session


class Reports:
    def __init__(self, args: argparse.Namespace, session: Session) -> None:
        self.args = args

    def finish(self) -> int:
        return 0
