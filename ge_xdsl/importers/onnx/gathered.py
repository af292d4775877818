"""Values that each turn of a loop gives, gathered along a new first dimension."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Attribute, SSAValue

from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor, tensor_of
from ge_xdsl.importers.onnx.builder import Builder


@dataclass(frozen=True)
class Gathered:
    """A tensor that grows by one value a turn, for values of one known shape."""

    tensor: Tensor
    count = 1

    @property
    def types(self) -> list[Attribute]:
        """The types of the loop values that hold what was gathered so far."""
        return [self.tensor.with_shape((DYNAMIC, *(self.tensor.shape or ()))).type]

    def initial(self, g: Builder) -> list[SSAValue]:
        """The loop values before the first turn."""
        return [g.empty((0, *(self.tensor.shape or ())), self.tensor.dtype)]

    def grow(
        self, g: Builder, held: Sequence[SSAValue], value: SSAValue, prepend: bool
    ) -> list[SSAValue]:
        """The loop values after a turn."""
        row = g.part("Unsqueeze", value, axes=[0])
        parts = [row, held[0]] if prepend else [held[0], row]
        return [g.part("ConcatD", parts, concat_dim=0, N=2)]

    def result(self, g: Builder, held: Sequence[SSAValue], turns: SSAValue) -> SSAValue:
        """The gathered tensor after `turns` turns."""
        return held[0]


@dataclass(frozen=True)
class Flat(Gathered):
    """The same for values whose shape the run tells: their elements in a row, and their shape."""

    count = 2

    @property
    def types(self) -> list[Attribute]:
        rank = len(self.tensor.shape or ())
        return [
            self.tensor.with_shape((DYNAMIC,)).type,
            Tensor(DataType.DT_INT64, (rank,)).type,
        ]

    def initial(self, g: Builder) -> list[SSAValue]:
        rank = len(self.tensor.shape or ())
        return [g.empty((0,), self.tensor.dtype), g.helper([0] * rank, "int64")]

    def grow(
        self, g: Builder, held: Sequence[SSAValue], value: SSAValue, prepend: bool
    ) -> list[SSAValue]:
        row = g.part("Reshape", value, g.helper([-1], "int64"))
        parts = [row, held[0]] if prepend else [held[0], row]
        grown = g.part("ConcatD", parts, concat_dim=0, N=2)
        return [grown, g.part("Shape", value, dtype=int(DataType.DT_INT64))]

    def result(self, g: Builder, held: Sequence[SSAValue], turns: SSAValue) -> SSAValue:
        count = g.part("Unsqueeze", turns, axes=[0])
        shape = g.part("ConcatD", [count, held[1]], concat_dim=0, N=2)
        return g.reshape_exactly(held[0], shape)


def gathered(g: Builder, value: SSAValue) -> Gathered:
    """How values like this one are gathered; raises CompileError when its rank is unknown."""
    tensor = tensor_of(value.type)
    if tensor.shape is None:
        raise g.error("a value that is gathered has unknown rank, expected a known one")
    return (Gathered if tensor.is_static else Flat)(tensor)
