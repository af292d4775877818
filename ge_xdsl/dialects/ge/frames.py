"""Control flow of old graphs: branches by dead values, and frames of loops.

`Switch` sends its data to one of two outputs and leaves the other dead; `Merge` takes the value
that is alive. A graph interpreter that runs every node has no dead values, so that these two have
shapes only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.elements import BOOL, one_element_type, require
from ge_xdsl.dialects.ge.fields import boolean, operand, result, string, variadic
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.operands import check_scalar
from ge_xdsl.dialects.ge.shapes import Shape
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


class _Switch(GeOp):
    """output_true = data where pred is true, else output_false; the other one is dead.

    C1: pred is one boolean.
    """

    data = operand()
    pred = operand()
    output_false = result()
    output_true = result()

    def infer(self, data: Tensor, pred: Tensor) -> tuple[Tensor, Tensor]:
        require(pred, "pred", BOOL, "DT_BOOL")  # C1
        check_scalar(pred, "pred")  # C1
        return data, data


class SwitchOp(_Switch):
    """output_true = data where pred is true, else output_false; the other one is dead.

    C1: pred is one boolean.
    """

    name = "ge.Switch"


class RefSwitchOp(_Switch):
    """output_true = the variable data where pred is true, else output_false; the other is dead.

    C1: pred is one boolean.
    """

    name = "ge.RefSwitch"


class _Merge(GeOp):
    """y = the x that is alive, value_index = which one.

    C1: at least one x. C2: one element type. Dimensions that differ are unknown, differing ranks
    give an unknown rank.
    """

    x = variadic()
    y = result()
    value_index = result()

    def infer(self, x: list[Tensor]) -> tuple[Tensor, Tensor]:
        if not x:  # C1
            raise VerifyException("has no x, expected at least one")
        one_element_type(*x)  # C2
        shape: Shape = x[0].shape
        for tensor in x[1:]:
            if shape is None or tensor.shape is None or len(shape) != len(tensor.shape):
                shape = None
                break
            pairs = zip(shape, tensor.shape, strict=True)
            shape = tuple(a if a == b else DYNAMIC for a, b in pairs)
        return x[0].with_shape(shape), Tensor(DataType.DT_INT32, ())


class MergeOp(_Merge):
    """y = the x that is alive, value_index = which one, an i32 scalar.

    C1: at least one x. C2: one element type.
    """

    name = "ge.Merge"


class RefMergeOp(_Merge):
    """y = the variable x that is alive, value_index = which one, an i32 scalar.

    C1: at least one x. C2: one element type.
    """

    name = "ge.RefMerge"


class _Same(GeOp):
    """y = x"""

    x = operand()
    y = result()

    def infer(self, x: Tensor) -> Tensor:
        return x

    def evaluate(self, x: Array) -> Array:
        return x


class EnterOp(_Same):
    """y = x inside the loop frame_name

    is_constant has no effect: a value that no iteration changes stays as it is.
    """

    name = "ge.Enter"

    frame_name = string()
    is_constant = boolean()


class ExitOp(_Same):
    """y = x outside the loop"""

    name = "ge.Exit"


class NextIterationOp(_Same):
    """y = x in the next round of the loop"""

    name = "ge.NextIteration"


class LoopCondOp(_Same):
    """y = x, whether the loop goes on

    C1: x is one boolean.
    """

    name = "ge.LoopCond"

    def infer(self, x: Tensor) -> Tensor:
        require(x, "x", BOOL, "DT_BOOL")  # C1
        check_scalar(x, "x")  # C1
        return x
