"""A kernel that is written: run it, check it, price it, print it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp

from ge_xdsl.interpreters.aicore import LoweredProgram, estimate
from ge_xdsl.targets import Target

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array
    from ge_xdsl.interpreters.timing import Report


@dataclass
class KernelProgram:
    """A kernel with a function that launches it; `module` is a module like those of `gx.lower`."""

    module: ModuleOp
    target: Target
    inputs: Sequence[str]
    outputs: Sequence[str]
    ready: dict[bool, LoweredProgram] = field(default_factory=dict[bool, LoweredProgram])

    def run(self, *arrays: Array, checked: bool = False, **named: Array) -> dict[str, Array]:
        """The outputs by name, for the inputs in order or by name.

        With `checked` an access of what was not written, or out of bounds, is an error that names
        instruction, buffer and range. Raises CompileError for wrong inputs.
        """
        program = self.ready.get(checked)
        if program is None:
            program = LoweredProgram(self.module, self.target, checked=checked)
            self.ready[checked] = program
        inputs = dict(zip(self.inputs, arrays, strict=False)) | named
        return dict(zip(self.outputs, program.run(inputs), strict=True))

    def estimate(self) -> Report:
        """What a launch costs on the target; nothing is executed."""
        return estimate(self.module, self.target)

    def __str__(self) -> str:
        """The kernel as `ge-opt` prints it."""
        from ge_xdsl.dialects.ge.text import module_text

        return module_text(self.module)
