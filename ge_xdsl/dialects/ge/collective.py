"""Communication between devices: the shapes, and the values of a group of one device.

What another device holds is unknown here, so that a value exists where the group is one device
only: then each op gives its operand back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from xdsl.irdl import traits_def
from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.concat import check_results
from ge_xdsl.dialects.ge.extents import at_least_rank, checked_shape, count_of
from ge_xdsl.dialects.ge.fields import (
    AttrField,
    data_type,
    integer,
    integers,
    operand,
    result,
    string,
    variadic,
    variadic_result,
)
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.operands import check_index, known_ints
from ge_xdsl.dialects.ge.rounding import chosen
from ge_xdsl.dialects.ge.shapes import multiply_dims
from ge_xdsl.dialects.ge.types import DYNAMIC, Tensor

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

REDUCTIONS = ("sum", "prod", "max", "min")


class _Collective(GeOp):
    """An op that other devices see: none is dropped, moved or merged with another."""

    traits = traits_def()


class HcomAllReduceOp(_Collective):
    """y = x reduced over the devices of the group; x itself for a group of one

    fusion and fusion_id have no effect: they steer which calls a device joins. C1: reduction is
    sum, prod, max or min.
    """

    name = "ge.HcomAllReduce"

    x = operand()
    y = result()
    reduction = string()
    group = string()
    fusion = integer(1)
    fusion_id = integer(-1)

    def infer(self, x: Tensor) -> Tensor:
        chosen(self.reduction, "reduction", REDUCTIONS)  # C1
        return x

    def evaluate(self, x: Array) -> Array:
        return x


class HcomReduceOp(_Collective):
    """y = x reduced over the devices, on device root_rank; x itself for a group of one

    fusion and fusion_id have no effect: they steer which calls a device joins. C1: reduction is
    sum, prod, max or min.
    """

    name = "ge.HcomReduce"

    x = operand()
    y = result()
    root_rank = integer()
    reduction = string()
    group = string()
    fusion = integer(0)
    fusion_id = integer(-1)

    def infer(self, x: Tensor) -> Tensor:
        chosen(self.reduction, "reduction", REDUCTIONS)  # C1
        return x

    def evaluate(self, x: Array) -> Array:
        return x


class _Ranked(_Collective):
    """An op whose first dimension the number of devices changes."""

    rank_size: ClassVar[AttrField[int]]

    def alone(self, x: Array) -> Array:
        """x for a group of one device; raises ValueError for a larger one."""
        if self.rank_size != 1:
            raise ValueError(f"rank_size is {self.rank_size}, expected 1 to have a value")
        return x


class HcomAllGatherOp(_Ranked):
    """y = the x of all rank_size devices one after the other in dimension 0

    group, fusion and fusion_id have no effect: they steer which calls a device joins. C1: rank_size
    is at least 1. C2: x has rank >= 1.
    """

    name = "ge.HcomAllGather"

    x = operand()
    y = result()
    rank_size = integer()
    group = string()
    fusion = integer(0)
    fusion_id = integer(-1)

    def infer(self, x: Tensor) -> Tensor:
        count = count_of(self.rank_size, "rank_size", 1)  # C1
        at_least_rank(x, 1, "x")  # C2
        if not x.shape:
            return x
        return x.with_shape((multiply_dims(x.shape[0], count), *x.shape[1:]))

    def evaluate(self, x: Array) -> Array:
        return self.alone(x)


class HcomReduceScatterOp(_Ranked):
    """y = this device's part of x reduced over rank_size devices, parts along dimension 0

    group, fusion and fusion_id have no effect: they steer which calls a device joins. C1: rank_size
    is at least 1. C2: x has rank >= 1. C3: reduction is sum, prod, max or min. C4: rank_size
    divides dimension 0.
    """

    name = "ge.HcomReduceScatter"

    x = operand()
    y = result()
    reduction = string()
    fusion = integer(0)
    fusion_id = integer(-1)
    group = string()
    rank_size = integer()

    def infer(self, x: Tensor) -> Tensor:
        chosen(self.reduction, "reduction", REDUCTIONS)  # C3
        count = count_of(self.rank_size, "rank_size", 1)  # C1
        at_least_rank(x, 1, "x")  # C2
        if not x.shape:
            return x
        first = x.shape[0]
        if first != DYNAMIC and first % count:  # C4
            raise VerifyException(f"dimension 0 is {first}, expected a multiple of {count}")
        return x.with_shape((first if first == DYNAMIC else first // count, *x.shape[1:]))

    def evaluate(self, x: Array) -> Array:
        return self.alone(x)


class HcomBroadcastOp(_Collective):
    """y[k] = x[k] of device root_rank; x itself for a group of one

    fusion and fusion_id have no effect: they steer which calls a device joins. C1: there are as
    many y as x.
    """

    name = "ge.HcomBroadcast"

    x = variadic()
    y = variadic_result()
    root_rank = integer()
    group = string()
    fusion = integer(0)
    fusion_id = integer(-1)

    def infer(self, x: list[Tensor]) -> list[Tensor]:
        check_results(self, len(x), "the number of x")  # C1
        return x

    def evaluate(self, x: list[Array]) -> list[Array]:
        return x


class HcomSendOp(_Collective):
    """x goes to device dest_rank; there is no result."""

    name = "ge.HcomSend"

    x = operand()
    group = string()
    sr_tag = integer()
    dest_rank = integer()

    def infer(self, x: Tensor) -> list[Tensor]:
        return []


class HcomReceiveOp(_Collective):
    """y = what device src_rank sends: of the type dtype, in the shape `shape`

    C1: shape has no negative entry.
    """

    name = "ge.HcomReceive"

    y = result()
    group = string()
    sr_tag = integer()
    src_rank = integer()
    shape = integers()
    dtype = data_type()

    def infer(self) -> Tensor:
        return Tensor(self.dtype, checked_shape(self.shape))  # C1


class HcomAllToAllOp(_Collective):
    """y = part k of x from each device k; x itself for a group of one"""

    name = "ge.HcomAllToAll"

    x = operand()
    y = result()
    group = string()

    def infer(self, x: Tensor) -> Tensor:
        return x

    def evaluate(self, x: Array) -> Array:
        return x


class HcomAllToAllVOp(_Collective):
    """recv_data = recv_counts[k] elements from each device k, in a row

    Its length is the sum of recv_counts, which is unconfirmed. C1: counts and displacements are i32
    or i64. C2: recv_counts are not negative.
    """

    name = "ge.HcomAllToAllV"

    send_data = operand()
    send_counts = operand()
    send_displacements = operand()
    recv_counts = operand()
    recv_displacements = operand()
    recv_data = result()
    group = string()

    def infer(self, send_data: Tensor, *rest: Tensor) -> Tensor:
        for io, tensor in zip(self.prototype.inputs[1:], rest, strict=True):
            check_index(tensor, io.name)  # C1
        counts = known_ints(self, "recv_counts")
        if counts is None:
            return send_data.with_shape((DYNAMIC,))
        if min(counts, default=0) < 0:  # C2
            raise VerifyException(f"recv_counts are {list(counts)}, expected none negative")
        return send_data.with_shape(checked_shape((sum(counts),)))
