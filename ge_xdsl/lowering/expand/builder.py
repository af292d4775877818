"""Graphs of GE ops that take the place of one op that has no kernel of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, cast

from xdsl.ir import Attribute, SSAValue

from ge_xdsl.dialects.ge.data import ConstOp
from ge_xdsl.dialects.ge.op import GeOp, constant_of
from ge_xdsl.dialects.ge.registry import op_class
from ge_xdsl.dialects.ge.types import HALVES, DataType, numpy_dtype, tensor_of
from ge_xdsl.dialects.ge.weights import const_attr

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


class NotExpandedError(Exception):
    """An op has no expansion for its attributes, shapes or element types; the text says why."""


class Builder:
    """Makes the ops of an expansion, detached, and knows what they are for.

    `reason` tells why an op has no kernel on the chip, '' when it has one.
    """

    def __init__(self, op: GeOp, reason: Callable[[GeOp], str] = lambda op: "") -> None:
        self.op = op
        self.reason = reason
        self.made: list[GeOp] = []

    def __call__(self, op_type: str, *inputs: Any, **attrs: Any) -> SSAValue:
        """The first result of a new op."""
        return self.results(op_type, *inputs, **attrs)[0]

    def results(
        self,
        op_type: str,
        *inputs: Any,
        count: Sequence[int] = (),
        result_types: Sequence[Attribute] | None = None,
        **attrs: Any,
    ) -> list[SSAValue]:
        """All results of a new op; `count` of each dynamic output, types where none is inferred."""
        like = next(iter(_values(inputs)), None)
        values = [self._value(item, like) for item in inputs]
        cls = op_class(op_type)
        assert cls is not None
        made = cls.build(*values, result_counts=count, result_types=result_types, **attrs)
        made.source = self.op.source
        self.made.append(made)
        return list(made.results)

    def _value(self, item: Any, like: SSAValue | None) -> Any:
        if item is None or isinstance(item, SSAValue):
            return cast("SSAValue | None", item)
        if isinstance(item, list | tuple):
            many = cast("Sequence[Any]", item)
            return list(many) if _values(many) else self.const(many, DataType.DT_INT64)
        return self.const(item, DataType.DT_INT64 if like is None else self.dtype(like))

    def const(self, values: Any, dtype: DataType) -> SSAValue:
        """A constant of an element type; raises NotExpandedError for numbers that it has not."""
        import numpy as np

        array = np.asarray(values)
        wanted = numpy_dtype(dtype)
        if wanted.kind in "iu" and array.dtype.kind == "f" and (array != np.trunc(array)).any():
            raise self.decline("for integers with a number that is none")
        return self.array(array.astype(wanted), dtype)

    def array(self, array: Array, dtype: DataType | None = None) -> SSAValue:
        """A constant of these values."""
        key = f"{self.op.node_name or self.op.op_type}_{len(self.made)}"
        made = ConstOp.build(value=const_attr(array, key, dtype))
        self.made.append(made)
        return made.results[0]

    def multiplies(self, dtype: DataType) -> bool:
        """Whether the chip has products of matrices of an element type."""
        made = len(self.made)
        block = self.const([[0.0] * 16] * 16, dtype)
        product = self("MatMulV2", block, block).owner
        found = isinstance(product, GeOp) and not self.reason(product)
        for op in reversed(self.made[made:]):
            op.drop_all_references()
        del self.made[made:]
        return found

    # What is known

    def shape(self, value: SSAValue) -> tuple[int, ...]:
        """The static shape of a value."""
        return tuple(tensor_of(value.type).shape or ())

    def dtype(self, value: SSAValue) -> DataType:
        return tensor_of(value.type).dtype

    def attr(self, name: str) -> Any:
        """An attribute of the op that is expanded."""
        return self.op.get_attr(name)

    def slot(self, name: str) -> SSAValue | None:
        """An operand of the op by name, None when it is missing."""
        found = self.op.operand_slot(name)
        return found if isinstance(found, SSAValue) else None

    def many(self, name: str) -> list[SSAValue]:
        """The operands of a dynamic input."""
        found = self.op.operand_slot(name)
        return [found] if isinstance(found, SSAValue) else list(found or ())

    def known(self, value: SSAValue | None, what: str) -> Array:
        """The values of an operand; raises NotExpandedError when they are not constant."""
        array = None if value is None else constant_of(value)
        if array is None:
            raise NotExpandedError(f"no lowering for {what} that is not constant")
        return array

    def decline(self, why: str) -> NotExpandedError:
        return NotExpandedError(f"no lowering {why}")

    # Often used ops

    def cast(self, x: SSAValue, dtype: DataType) -> SSAValue:
        """`x` in another element type."""
        return x if self.dtype(x) == dtype else self("Cast", x, dst_type=int(dtype))

    def wide(self, x: SSAValue) -> SSAValue:
        """`x` in f32 when it is of half floats."""
        return self.cast(x, DataType.DT_FLOAT) if self.dtype(x) in HALVES else x

    def narrow(self, x: SSAValue) -> SSAValue:
        """What `x` is a cast of, made here and used by nothing yet, which then goes; else `x`."""
        op = x.owner
        if not isinstance(op, GeOp) or op.op_type != "Cast" or list(x.uses):
            return x
        if all(made is not op for made in self.made):
            return x
        source = op.operands[0]
        self.made = [made for made in self.made if made is not op]
        op.drop_all_references()
        return source

    def like(self, x: SSAValue, result: SSAValue) -> SSAValue:
        """`x` in the element type and shape of a result of the op."""
        x = self.cast(x, self.dtype(result))
        return self.reshape(x, self.shape(result))

    def reshape(self, x: SSAValue, shape: Sequence[int]) -> SSAValue:
        """`x` in another shape."""
        if self.shape(x) == tuple(shape):
            return x
        known = constant_of(x)
        if known is not None:
            return self.array(known.reshape(shape), self.dtype(x))
        op = x.owner
        if isinstance(op, GeOp) and op.op_type == "Cast" and op.operands[0] in self.op.operands:
            # so that the cast is part of what reads the new shape, not a kernel of its own
            return self.cast(self.reshape(op.operands[0], shape), self.dtype(x))
        return self("Reshape", x, list(shape))

    def transpose(self, x: SSAValue, perm: Sequence[int]) -> SSAValue:
        """`x` with its dimensions in another order."""
        if list(perm) == list(range(len(perm))):
            return x
        known = constant_of(x)
        if known is not None:
            return self.array(known.transpose(perm).copy(), self.dtype(x))
        return self("Transpose", x, list(perm))

    def flip(self, x: SSAValue, axes: Sequence[int]) -> SSAValue:
        """`x` backwards along some dimensions."""
        known = constant_of(x)
        if known is not None:
            import numpy as np

            return self.array(np.flip(known, tuple(axes)).copy(), self.dtype(x))
        return self("ReverseV2", x, list(axes))

    def to_last(self, x: SSAValue, axis: int) -> SSAValue:
        """`x` with a dimension moved to the end."""
        rank = len(self.shape(x))
        return self.transpose(x, [*(i for i in range(rank) if i != axis % rank), axis % rank])

    def from_last(self, x: SSAValue, axis: int) -> SSAValue:
        """The inverse of `to_last`."""
        rank = len(self.shape(x))
        order = list(range(rank - 1))
        order.insert(axis % rank, rank - 1)
        return self.transpose(x, order)

    def slice(self, x: SSAValue, axis: int, start: int, size: int) -> SSAValue:
        """Elements [start, start + size) of a dimension."""
        shape = list(self.shape(x))
        axis %= len(shape)
        if size == shape[axis]:
            return x
        begin = [0] * len(shape)
        begin[axis], shape[axis] = start, size
        return self("SliceD", x, offsets=begin, size=shape)

    def halves(self, x: SSAValue, axis: int) -> tuple[SSAValue, SSAValue]:
        """The two halves of a dimension."""
        size = self.shape(x)[axis] // 2
        return self.slice(x, axis, 0, size), self.slice(x, axis, size, size)

    def concat(self, parts: Sequence[SSAValue], axis: int) -> SSAValue:
        """Values side by side."""
        if len(parts) == 1:
            return parts[0]
        return self("ConcatD", list(parts), concat_dim=axis, N=len(parts))

    def spread(self, x: SSAValue, shape: Sequence[int]) -> SSAValue:
        """`x` broadcast to a shape."""
        return x if self.shape(x) == tuple(shape) else self("BroadcastTo", x, list(shape))

    def where(self, mask: SSAValue, a: SSAValue | float, b: SSAValue | float) -> SSAValue:
        """a where the mask is true, else b; a number is of the other's type."""
        like = a if isinstance(a, SSAValue) else b
        dtype = self.dtype(like) if isinstance(like, SSAValue) else DataType.DT_FLOAT
        one, two = (v if isinstance(v, SSAValue) else self.const(v, dtype) for v in (a, b))
        return self("SelectV2", mask, one, two)

    def reduce(self, kind: str, x: SSAValue, axes: Sequence[int], keep: bool = True) -> SSAValue:
        """`kind` of Sum, Mean, Max, Min, Prod over dimensions."""
        rank = len(self.shape(x))
        if not rank:
            return x
        dims = [axis % rank for axis in axes]
        if all(self.shape(x)[axis] == 1 for axis in dims):
            kept = [d for i, d in enumerate(self.shape(x)) if keep or i not in dims]
            return self.reshape(x, kept)
        return self(f"Reduce{kind}", x, dims, keep_dims=keep)

    def count(self, x: SSAValue) -> int:
        """Number of elements."""
        return prod(self.shape(x))


Expansion = Callable[[Builder, GeOp], "SSAValue | Sequence[SSAValue]"]
"""The values that take the place of an op's results; raises NotExpandedError."""


def _values(inputs: Sequence[Any]) -> list[SSAValue]:
    """The values in a list, and in lists in it."""
    found: list[SSAValue] = []
    for item in inputs:
        if isinstance(item, SSAValue):
            found.append(cast("SSAValue", item))
        elif isinstance(item, list | tuple):
            found += _values(cast("Sequence[Any]", item))
    return found
