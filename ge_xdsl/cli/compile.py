"""One run of passes over one module, as `ge-opt`, `ge-run` and `pyatc` all do it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ge_xdsl.errors import CompileError, Location, one_line

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.passes import ModulePass

    from ge_xdsl.cli.ge_log import GeLog
    from ge_xdsl.passes.manager import Hook, PassManager
    from ge_xdsl.passes.numbers import NumberCheck
    from ge_xdsl.passes.session import Session


@dataclass
class Watch:
    """What to show around passes: IR before or after the named ones ('' for all), and times."""

    verify_each: bool = False
    print_before: Sequence[str] = ()
    print_after: Sequence[str] = ()
    generic: bool = False
    seconds: list[tuple[str, float]] = field(default_factory=list[tuple[str, float]])
    numbers: NumberCheck | None = None
    log: GeLog | None = None

    def attach(self, manager: PassManager) -> None:
        """Let a pass manager call this watch."""
        manager.verify_each = self.verify_each
        manager.seconds = self.seconds
        if self.numbers is not None:
            manager.before.append(self.numbers.before)
            manager.after.append(self.numbers.after)
        if self.log is not None:
            manager.before.append(self.log.before)
            manager.after.append(self.log.after)
        if self.print_before:
            manager.before.append(self.dump("Before", self.print_before))
        if self.print_after:
            manager.after.append(self.dump("After", self.print_after))

    def dump(self, when: str, names: Sequence[str]) -> Hook:
        """A hook that prints the module to stderr around the named passes."""

        def show(item: ModulePass, module: ModuleOp) -> None:
            from ge_xdsl.dialects.ge.text import module_text

            if "" in names or item.name in names:
                text = module_text(module, self.generic)
                print(f"// -----// IR Dump {when} {item.name} //----- //\n{text}", file=sys.stderr)

        return show

    def table(self, total: float) -> str:
        """The passes' times as text, a line each, within a run of `total` seconds."""
        rest = total - sum(seconds for _, seconds in self.seconds)
        rows = [*self.seconds, ("reading, verifying and writing", rest), ("total", total)]
        scale = max(total, 1e-9)
        return "\n".join(
            f"{seconds:10.4f} s {seconds / scale:6.1%}  {name}" for name, seconds in rows
        )


def run_passes(
    module: ModuleOp,
    passes: Sequence[ModulePass],
    session: Session,
    watch: Watch | None = None,
    file: str = "",
    for_device: bool = True,
) -> None:
    """Run passes in place; an error that has no place of its own gets the file's name.

    `for_device`: the result is for CANN, so the element types are held against its prototypes.
    """
    from ge_xdsl.cli.failures import user_code
    from ge_xdsl.passes.element_types import check_element_types
    from ge_xdsl.passes.graph_dumps import watch_graphs
    from ge_xdsl.passes.manager import PassManager
    from ge_xdsl.passes.session import SessionContext

    manager = PassManager(SessionContext(session), passes)
    watch_graphs(manager, session)
    if watch is not None:
        watch.attach(manager)
    try:
        with user_code():
            manager.run(module)
        if for_device:
            check_element_types(module, session)
    except CompileError as error:
        if file:
            error.with_location(Location(file))
        raise


def show_messages(session: Session) -> None:
    """Print the warnings of a run, once."""
    for line in session.messages:
        print(one_line(line), file=sys.stderr)
    session.messages.clear()
