"""Constants, and the ops that the IR itself needs: control edges, placeholders, yields.

Graph inputs (GE Data) are block arguments and the graph's outputs (NetOutput) the terminator's
operands, so neither is an op here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.irdl import traits_def
from xdsl.traits import ConstantLike, IsTerminator, Pure
from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.op import GeOp, operand, result, tensor_value, variadic
from ge_xdsl.dialects.ge.types import DataType, Tensor
from ge_xdsl.dialects.ge.weights import tensor_of_const

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


class _Constant(GeOp):
    value = tensor_value()
    y = result()

    traits = traits_def(Pure(), ConstantLike())

    def infer(self) -> Tensor | None:
        attr = self.properties.get("value")
        return None if attr is None else tensor_of_const(attr)

    def evaluate(self) -> Array:
        array = self.value
        if array is None:
            raise ValueError("ge.Const: has no value, expected one")
        return array


class ConstOp(_Constant):
    """y = value, known at compile time. Matching does not tell it from Constant."""

    name = "ge.Const"


class ConstantOp(_Constant):
    """y = value; the type that training graphs use for Const."""

    name = "ge.Constant"


class ControlEdgeOp(GeOp):
    """The node of `src` runs before the node of `dst`. Stands at the end of its block.

    Matching ignores it; topological order, cycle checks and the graph API honour it.
    """

    name = "ge.control_edge"

    src = operand()
    dst = operand()

    traits = traits_def()

    def infer(self, src: Tensor, dst: Tensor) -> list[Tensor]:
        return []


class NoOpOp(GeOp):
    """Computes nothing: it gathers control edges, which start and end at its token."""

    name = "ge.NoOp"
    token = True

    def infer(self) -> list[Tensor]:
        return [_NO_TYPE] * len(self.results)

    def evaluate(self) -> list[Array]:
        import numpy as np

        return [np.zeros(0, np.bool_) for _ in self.results]

    def verify_(self) -> None:
        super().verify_()
        if any(result.type != _NO_TYPE.type for result in self.results):
            raise VerifyException("has 1 results, expected 0 or a token without a type")


_NO_TYPE = Tensor(DataType.DT_UNDEFINED, None)


class UnconnectedOp(GeOp):
    """An operand that an edit through the graph API left open; a graph must not keep one."""

    name = "ge.unconnected"

    y = result()

    def infer(self) -> Tensor:
        return _NO_TYPE


class YieldOp(GeOp):
    """The outputs of a subgraph: the terminator of the regions of If, While, ..."""

    name = "ge.yield"

    x = variadic()

    traits = traits_def(IsTerminator())

    def infer(self, x: list[Tensor]) -> list[Tensor]:
        return []
