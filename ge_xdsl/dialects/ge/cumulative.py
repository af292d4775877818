"""Running sums and products along one axis.

`reverse` runs from the end; with `exclusive` an element does not take part in its own result, and
the first one is the neutral element.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from ge_xdsl.dialects.ge.elements import FLOATS, require
from ge_xdsl.dialects.ge.extents import int_of, limit_of
from ge_xdsl.dialects.ge.fields import boolean, integer, operand, result
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.operands import check_index, check_scalar, known_int
from ge_xdsl.dialects.ge.shapes import normalize_axis
from ge_xdsl.dialects.ge.types import Tensor, tensor_of

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


class _Cumulative(GeOp):
    widens = True

    @abstractmethod
    def accumulate(self, x: Array, axis: int) -> Array:
        """The running result along `axis`, each element included."""

    def neutral(self) -> float:
        """What an exclusive run starts with."""
        return 0

    def run(self, x: Array, axis: int, exclusive: bool, reverse: bool) -> Array:
        import numpy as np

        place = normalize_axis(axis, x.ndim)
        flat = np.atleast_1d(x)
        if reverse:
            flat = np.flip(flat, place)
        if exclusive and flat.shape[place]:
            first = np.full((*flat.shape[:place], 1, *flat.shape[place + 1 :]), self.neutral())
            most = flat[(slice(None),) * place + (slice(-1),)]
            run = self.accumulate(most, place)
            flat = np.concatenate([first.astype(x.dtype), run], axis=place)
        else:
            flat = self.accumulate(flat, place)
        return (np.flip(flat, place) if reverse else flat).reshape(x.shape)

    def check_place(self, x: Tensor, axis: int | None) -> Tensor:
        if x.shape is not None and axis is not None:
            normalize_axis(axis, len(x.shape))  # C1
        return x


class _Sum(_Cumulative):
    def accumulate(self, x: Array, axis: int) -> Array:
        import numpy as np

        return np.cumsum(x, axis=axis, dtype=x.dtype)


class _Product(_Cumulative):
    def accumulate(self, x: Array, axis: int) -> Array:
        import numpy as np

        return np.multiply.accumulate(x, axis=axis, dtype=x.dtype)

    def neutral(self) -> float:
        return 1


class _LogSum(_Cumulative):
    def accumulate(self, x: Array, axis: int) -> Array:
        import numpy as np

        return np.logaddexp.accumulate(x, axis=axis)

    def neutral(self) -> float:
        return limit_of(tensor_of(self.results[0].type).dtype, lowest=True)

    def check_place(self, x: Tensor, axis: int | None) -> Tensor:
        require(x, "x", FLOATS, "a floating-point type")  # C3, of the D op C2
        return super().check_place(x, axis)


class _ByOperand(_Cumulative):
    x = operand()
    axis = operand()
    y = result()
    exclusive = boolean(False)
    reverse = boolean(False)

    def infer(self, x: Tensor, axis: Tensor) -> Tensor:
        check_index(axis, "axis")  # C2
        check_scalar(axis, "axis")  # C2
        return self.check_place(x, known_int(self, "axis"))

    def evaluate(self, x: Array, axis: Array) -> Array:
        return self.run(x, int_of(axis, "axis"), self.exclusive, self.reverse)


class _ByAttribute(_Cumulative):
    x = operand()
    y = result()
    axis = integer()
    exclusive = boolean(False)
    reverse = boolean(False)

    def infer(self, x: Tensor) -> Tensor:
        return self.check_place(x, self.axis)

    def evaluate(self, x: Array) -> Array:
        return self.run(x, self.axis, self.exclusive, self.reverse)


class CumsumOp(_Sum, _ByOperand):
    """y = the running sum of x along axis; integers wrap.

    C1: axis is a dimension of x. C2: it is one i32 or i64.
    """

    name = "ge.Cumsum"


class CumsumDOp(_Sum, _ByAttribute):
    """y = the running sum of x along axis; integers wrap.

    C1: axis is a dimension of x.
    """

    name = "ge.CumsumD"


class CumprodOp(_Product, _ByOperand):
    """y = the running product of x along axis; integers wrap.

    C1: axis is a dimension of x. C2: it is one i32 or i64.
    """

    name = "ge.Cumprod"


class CumprodDOp(_Product, _ByAttribute):
    """y = the running product of x along axis; integers wrap.

    C1: axis is a dimension of x.
    """

    name = "ge.CumprodD"


class CumulativeLogsumexpOp(_LogSum, _ByOperand):
    """y = log of the running sum of exp(x) along axis.

    An exclusive run starts with the smallest finite value of the type. C1: axis is a dimension of
    x. C2: it is one i32 or i64. C3: x is a floating-point tensor.
    """

    name = "ge.CumulativeLogsumexp"


class CumulativeLogsumexpDOp(_LogSum, _ByAttribute):
    """y = log of the running sum of exp(x) along axis.

    An exclusive run starts with the smallest finite value of the type. C1: axis is a dimension of
    x. C2: x is a floating-point tensor.
    """

    name = "ge.CumulativeLogsumexpD"
