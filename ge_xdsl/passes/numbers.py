"""Checking whole passes by numbers: the graph's outputs before and after, on sampled inputs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ge_xdsl.dialects.ge.graph import main_function
from ge_xdsl.dialects.ge.names import input_names, output_names
from ge_xdsl.dialects.ge.types import DataType, tensor_of
from ge_xdsl.errors import CompileError, PassError
from ge_xdsl.interpreters.ge import run_function
from ge_xdsl.pattern.verify import SAMPLES, SIZES, NotChecked, difference, sample

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


@dataclass
class NumberCheck:
    """Runs the main graph around each pass; unknown dimensions are tried as 3, 1, 2."""

    seed: int = 0
    passed: int = 0
    unchecked: dict[str, int] = field(default_factory=dict[str, int])
    """Reason -> passes that could not be checked for it."""
    inputs: dict[str, Array] = field(default_factory=dict[str, "Array"])
    outputs: list[Array] | None = None

    def before(self, item: ModulePass, module: ModuleOp) -> None:
        """Run the graph as it is, unless the last pass's run already tells its outputs."""
        if self.outputs is None:
            try:
                self.inputs, self.outputs = self._first_run(module)
            except NotChecked as reason:
                self._skip(reason)

    def after(self, item: ModulePass, module: ModuleOp) -> None:
        """Compare with the run before; raises PassError when an output differs."""
        if self.outputs is None:
            return
        old, self.outputs = self.outputs, None
        try:
            new = run_function(main_function(module), self.inputs)
        except CompileError as error:
            self._skip(NotChecked(error.message))
            return
        names = output_names(main_function(module))
        if len(new) != len(old):
            raise PassError(f"the graph has {len(new)} outputs, it had {len(old)}")
        for name, a, b, dtype in zip(names, old, new, _returned(module), strict=True):
            text = difference(a, b, dtype)
            if text:
                raise PassError(
                    f"pass {item.name} changes the result on {SAMPLES[0]}: it {text}",
                    subject=f"graph output '{name}'",
                )
        self.passed += 1
        self.outputs = new

    def _first_run(self, module: ModuleOp) -> tuple[dict[str, Array], list[Array]]:
        func = main_function(module)
        reason = NotChecked("no size of the unknown dimensions fits")
        for size in SIZES:
            inputs = {
                name: sample(tensor_of(arg.type), SAMPLES[0], self.seed + i, size)
                for i, (name, arg) in enumerate(
                    zip(input_names(func), func.body.block.args, strict=True)
                )
            }
            try:
                return inputs, run_function(func, inputs)
            except CompileError as error:
                reason = NotChecked(error.message)
        raise reason

    def _skip(self, reason: NotChecked) -> None:
        text = str(reason)
        self.unchecked[text] = self.unchecked.get(text, 0) + 1

    def summary(self) -> str:
        """What was checked, in one line."""
        parts = [f"checked {self.passed} passes by numbers"]
        parts += [f"{count} not checked: {why}" for why, count in sorted(self.unchecked.items())]
        return "; ".join(parts)


def _returned(module: ModuleOp) -> list[DataType]:
    last = main_function(module).body.block.last_op
    assert last is not None
    return [tensor_of(value.type).dtype for value in last.operands]
