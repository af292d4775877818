"""Running passes one after another: times, hooks, checks, and errors that name the pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import perf_counter

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException, VerifyException

from ge_xdsl.dialects.ge.graph import verify
from ge_xdsl.errors import CompileError, PassError

Hook = Callable[[ModulePass, ModuleOp], None]
"""Called with a pass and the module, before or after the pass runs."""


@dataclass
class PassManager:
    """A list of passes and what happens around each of them."""

    ctx: Context
    passes: Sequence[ModulePass]
    verify_each: bool = False
    before: list[Hook] = field(default_factory=list[Hook])
    after: list[Hook] = field(default_factory=list[Hook])
    seconds: list[tuple[str, float]] = field(default_factory=list[tuple[str, float]])
    """Wall time of each pass that ran, in order."""

    def run(self, module: ModuleOp) -> None:
        """Verify the module, run the passes in place, verify the result.

        Raises PassError, which names the pass that failed and its predecessors, and CompileError
        for a module that is wrong before the first pass.
        """
        verify(module)
        for index, item in enumerate(self.passes):
            for hook in self.before:
                hook(item, module)
            start = perf_counter()
            self._step(index, lambda item=item: item.apply(self.ctx, module))
            self.seconds.append((item.name, perf_counter() - start))
            for hook in self.after:
                hook(item, module)
            if self.verify_each or index == len(self.passes) - 1:
                self._step(index, lambda: verify(module))

    def _step(self, index: int, step: Callable[[], None]) -> None:
        """Run one step of a pass; every error that it raises tells the pass."""
        try:
            step()
        except CompileError as error:
            raise PassError(
                error.message,
                subject=error.subject,
                location=error.location,
                notes=[*error.notes, self.place(index)],
            ) from error
        except (VerifyException, PassFailedException) as error:
            text = str(error).strip().split("\n")[0]
            raise PassError(text, notes=[self.place(index)]) from error
        except Exception as error:
            error.add_note(self.place(index))
            raise

    def place(self, index: int) -> str:
        """Which pass this is, and what ran before it."""
        names = [item.name for item in self.passes[:index]]
        return f"in pass {self.passes[index].name}, " + (
            f"after {', '.join(names)}" if names else "the first one"
        )
