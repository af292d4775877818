"""One call of an fx graph as converters see it: arguments by name, defaults filled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, TypeAlias, TypeGuard, cast

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.types import DYNAMIC, DataType
from ge_xdsl.errors import CompileError
from ge_xdsl.importers.torch.values import dtype_of_torch

Dim: TypeAlias = int | SSAValue
"""A size: a number, or an i64 scalar that the run tells."""


def is_value(item: object) -> TypeGuard[SSAValue]:
    """Whether an argument is a value of the graph."""
    return isinstance(item, SSAValue)


class Call:
    """A node of an fx graph. Arguments that are nodes stand as IR values, the rest as they are.

    `name` and `op_type` are what messages and node names are made of.
    """

    def __init__(self, node: Any, op_type: str, args: Mapping[str, Any]) -> None:
        self.node = node
        self.name: str = node.name
        self.op_type = op_type
        self.args = args

    def fail(self, message: str) -> NoReturn:
        """Raise the error that this call is not supported."""
        raise CompileError(message, subject=f"{self.op_type} '{self.name}'")

    # Arguments

    def raw(self, name: str) -> Any:
        """An argument as it is, None when the operator has none of this name."""
        return self.args.get(name)

    def value(self, name: str) -> SSAValue:
        """A required tensor."""
        found = self.raw(name)
        if not is_value(found):
            self.fail(f"argument '{name}' is {found}, expected a tensor")
        return found

    def optional(self, name: str) -> SSAValue | None:
        found = self.raw(name)
        return None if found is None else self.value(name)

    def values(self, name: str) -> list[SSAValue]:
        """A list of tensors."""
        return [self._tensor(name, item) for item in cast("Sequence[Any]", self.raw(name))]

    def _tensor(self, name: str, found: Any) -> SSAValue:
        if not is_value(found):
            self.fail(f"argument '{name}' holds {found}, expected tensors")
        return found

    def integer(self, name: str) -> int:
        """A number that the program knows."""
        found = self.raw(name)
        if isinstance(found, bool) or not isinstance(found, int):
            self.fail(f"argument '{name}' is known at run time only, expected an integer")
        return found

    def number(self, name: str) -> int | float | bool:
        """A number, which may be a fraction."""
        found = self.raw(name)
        if not isinstance(found, int | float):
            self.fail(f"argument '{name}' is {found}, expected a number")
        return found

    def flag(self, name: str) -> bool:
        return bool(self.raw(name))

    def integers(self, name: str) -> list[int]:
        """A list of numbers that the program knows; one number is a list of one."""
        found = self.raw(name)
        items = cast("list[Any]", [found] if isinstance(found, int) else list(found or ()))
        if not all(isinstance(item, int) for item in items):
            self.fail(f"argument '{name}' is known at run time only, expected integers")
        return items

    def dims(self, name: str) -> list[Dim]:
        """A list of sizes."""
        return list(cast("Sequence[Dim]", self.raw(name)))

    def spread(self, name: str, count: int, default: Sequence[int] = ()) -> list[int]:
        """`count` numbers: one number given is repeated, none given is `default`."""
        found = self.integers(name) or list(default)
        return found * count if len(found) == 1 else found

    # What torch knows of the results

    @property
    def results(self) -> list[Any]:
        """What the call gives, as fake tensors and numbers; None where that is not known."""
        found = self.node.meta.get("val")
        if isinstance(found, list | tuple):
            return list(cast("Sequence[Any]", found))
        return [found]

    @property
    def dtype(self) -> DataType:
        """The element type of the first result."""
        return dtype_of_torch(self.results[0].dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the first result."""
        return shape_of_fake(self.results[0])


def shape_of_fake(tensor: Any) -> tuple[int, ...]:
    """The shape of a fake tensor, symbolic dimensions as unknown ones."""
    return tuple(dim if isinstance(dim, int) else DYNAMIC for dim in tensor.shape)
