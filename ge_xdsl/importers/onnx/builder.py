"""Building the GE graph: named ops with inferred types, constants, node names."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.data import ConstOp
from ge_xdsl.dialects.ge.op import NAME, GeOp, constant_of, extra_key
from ge_xdsl.dialects.ge.quick import string_attr
from ge_xdsl.dialects.ge.registry import op_class
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor, dtype_of_numpy, tensor_of
from ge_xdsl.dialects.ge.weights import INLINE_LIMIT, Weight, WeightAttr, const_attr
from ge_xdsl.errors import CompileError, Location
from ge_xdsl.importers.onnx.node import Node

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.text import GeContext
    from ge_xdsl.dialects.ge.types import Array
    from ge_xdsl.importers.onnx.tensors import TensorReader

BUILD_ERRORS = (
    VerifyException,
    ValueError,
    IndexError,
    KeyError,
    TypeError,
    ZeroDivisionError,
    OverflowError,
    MemoryError,
)
"""What building an op on hostile operands or attributes can raise."""


HELPER_LIMIT = 2**22
"""Most elements of a Const that a conversion makes."""

UNKNOWN = Tensor(DataType.DT_UNDEFINED, None)


class Builder:
    """Appends GE ops to a block. `node` is the ONNX node that is being converted."""

    def __init__(
        self, block: Block, location: Location, reader: TensorReader, ctx: GeContext
    ) -> None:
        self.block = block
        self.location = location
        self.reader = reader
        self.ctx = ctx
        self.told: set[str] = set()
        self.names: set[str] = set()
        self.taken: list[str] = []
        self.counters: dict[str, int] = {}
        self.node: Node | None = None
        self.inline: dict[tuple[Any, ...], Attribute] = {}
        self.types: dict[tuple[Any, tuple[int, ...]], Attribute] = {}

    # Names

    def unique(self, stem: str) -> str:
        """`stem`, or the first of `stem_1`, `stem_2`, ... that no node has; notes it as taken."""
        name = stem
        if name in self.names:
            count = self.counters.get(stem, 0)
            while name in self.names:
                count += 1
                name = f"{stem}_{count}"
            self.counters[stem] = count
        self.names.add(name)
        self.taken.append(name)
        return name

    def give_back(self, count: int) -> None:
        """Free the names that were taken after the first `count` of them."""
        self.names.difference_update(self.taken[count:])
        for name in self.taken[count:]:
            self.counters.pop(name, None)
        del self.taken[count:]

    def part_name(self, op_type: str) -> str:
        """The name of an op that the current node expands to: `<node>_<GeOp>`."""
        assert self.node is not None
        return self.unique(f"{self.node.name}_{op_type}")

    # Ops

    def op(self, op_type: str, *inputs: Any, **attrs: Any) -> SSAValue:
        """The one result of the op that a node becomes, under the node's own name."""
        assert self.node is not None
        return self.add(op_type, inputs, attrs, self.node.name).results[0]

    def part(self, op_type: str, *inputs: Any, **attrs: Any) -> SSAValue:
        """The first result of one of the ops that a node expands to."""
        return self.add(op_type, inputs, attrs, self.part_name(op_type)).results[0]

    def add(
        self,
        op_type: str,
        inputs: Sequence[Any],
        attrs: dict[str, Any],
        name: str,
        result_counts: Sequence[int] = (),
        extra: Mapping[str, Attribute] | None = None,
        regions: Sequence[Region] = (),
    ) -> GeOp:
        """Append an op with inferred types; raises CompileError at the current node.

        `extra` are node attributes that the prototype does not declare; inference sees them.
        """
        cls = op_class(op_type)
        assert cls is not None, op_type
        try:
            op = cls.build(
                *inputs,
                node_name=name,
                result_counts=result_counts,
                result_types=(UNKNOWN.type,) if extra else None,
                regions=regions,
                **attrs,
            )
            if extra:
                op.attributes.update(extra)
                op.update_types()
        except BUILD_ERRORS as error:
            text = str(error).strip().split("\n")[0] or type(error).__name__
            raise self.error(text.removeprefix(f"ge.{op_type}: ")) from error
        op.source = self.location
        self.block.add_op(op)
        return op

    def error(self, message: str) -> CompileError:
        node = self.node
        subject = f"{node.op_type} '{node.name}'" if node is not None else ""
        return CompileError(message, subject=subject)

    # Constants

    def const(self, array: Array, name: str) -> SSAValue:
        """A Const node with these values, which are kept and not copied when there are many."""
        kind = self.type_like(array)
        op = ConstOp.create(
            result_types=(kind,),
            properties={"value": self._const_attr(array, name, kind)},
            attributes={NAME: string_attr(name)},
        )
        op.source = self.location
        self.block.add_op(op)
        return op.results[0]

    def copy_const(self, value: SSAValue) -> SSAValue:
        """A Const of the same values in the current block."""
        source = value.owner
        assert isinstance(source, ConstOp)
        op = ConstOp.create(
            result_types=(value.type,),
            properties=dict(source.properties),
            attributes={NAME: string_attr(self.unique(source.node_name))},
        )
        op.source = self.location
        self.block.add_op(op)
        return op.results[0]

    @contextmanager
    def into(self, block: Block) -> Generator[None]:
        """Append to another block for the length of a `with`."""
        outer, self.block = self.block, block
        try:
            yield
        finally:
            self.block = outer

    def _const_attr(self, array: Array, name: str, kind: Attribute) -> Attribute:
        if array.size > INLINE_LIMIT:
            return WeightAttr(Weight(name, array, tensor_of(kind)))
        key = (array.dtype, array.shape, array.tobytes())
        found = self.inline.get(key)
        if found is None:
            found = self.inline[key] = const_attr(array, name)
        return found

    def type_like(self, array: Array) -> Attribute:
        """The type of a tensor with an array's element type and shape."""
        key = (array.dtype, array.shape)
        found = self.types.get(key)
        if found is None:
            found = Tensor(dtype_of_numpy(array.dtype), array.shape).type
            self.types[key] = found
        return found

    def helper(self, values: int | Sequence[int], dtype: str) -> SSAValue:
        """A Const that the conversion of the current node needs: `<node>_Const`."""
        import numpy as np

        if not isinstance(values, int):
            self.check_count(len(values))
            values = list(values)
        try:
            array = np.array(values, dtype)
        except OverflowError:
            raise self.error(f"has the numbers {values}, expected {dtype}") from None
        return self.const(array, self.part_name("Const"))

    def check_count(self, count: int) -> None:
        """Refuse to make a Const of more elements than any real model needs: declared sizes,
        which cost a model nothing, do not fill memory."""
        if count > HELPER_LIMIT:
            raise self.error(
                f"needs a constant of {count} elements, expected at most {HELPER_LIMIT}"
            )

    def floats(self, values: Sequence[float]) -> SSAValue:
        """An f32 Const that the conversion of the current node needs."""
        import numpy as np

        with np.errstate(over="ignore"):
            return self.const(np.array(values, np.float32), self.part_name("Const"))

    def scalar(self, number: float, dtype: str) -> SSAValue:
        """A scalar Const that the conversion of the current node needs."""
        import numpy as np

        return self.const(np.array(number, dtype), self.part_name("Const"))

    def empty(self, shape: Sequence[int], dtype: DataType) -> SSAValue:
        """A Const without elements."""
        import numpy as np

        from ge_xdsl.dialects.ge.types import numpy_dtype

        try:
            array = np.zeros(shape, numpy_dtype(dtype))
        except ValueError as error:
            raise self.error(str(error)) from None
        return self.const(array, self.part_name("Const"))

    def local(self, value: SSAValue) -> SSAValue:
        """The value in the current block: a constant of another block is copied into it."""
        owner = value.owner
        if isinstance(owner, ConstOp) and owner.parent is not self.block:
            return self.copy_const(value)
        return value

    # Small pieces that several conversions share

    def cast(self, value: SSAValue, dtype: DataType) -> SSAValue:
        """The value in another element type."""
        if self.dtype(value) == dtype:
            return value
        return self.part("Cast", value, dst_type=int(dtype))

    def less_zero_point(
        self, value: SSAValue, zero: SSAValue | None, dtype: DataType, axis: int | None = None
    ) -> SSAValue:
        """A quantized value less its zero point, in another element type; a zero point that is a
        vector belongs to the dimension `axis`."""
        wide = self.cast(value, dtype)
        if zero is None:
            return wide
        zero = self.cast(zero, dtype)
        shape = self.shape(zero)
        if axis is not None and shape is not None and len(shape) == 1 and shape != (1,):
            zero = self.along(zero, axis, self.rank(value, "a zero point per channel"))
        return self.part("Sub", wide, zero)

    def as_scalar(self, value: SSAValue) -> SSAValue:
        """One element as a scalar."""
        if self.shape(value) == ():
            return value
        return self.part("Reshape", value, self.helper((), "int64"))

    def shape_of(self, value: SSAValue) -> SSAValue:
        """The shape as an i64 vector, a Const where it is known."""
        shape = self.shape(value)
        if shape is not None and DYNAMIC not in shape:
            return self.helper(shape, "int64")
        return self.part("Shape", value, dtype=int(DataType.DT_INT64))

    def dim(self, value: SSAValue, axis: int) -> SSAValue:
        """One dimension as an i64 scalar, a Const where it is known."""
        shape = self.shape(value)
        if shape is not None:
            axis = self.axis(axis, len(shape))
            if shape[axis] != DYNAMIC:
                return self.scalar(shape[axis], "int64")
        shape_value = self.part("Shape", value, dtype=int(DataType.DT_INT64))
        return self.take(shape_value, self.scalar(axis, "int64"), 0)

    def axis(self, axis: int, rank: int) -> int:
        """A dimension counted from 0; raises CompileError for one that is not there."""
        if not -rank <= axis < rank:
            raise self.error(f"the axis is {axis}, expected one in [{-rank}, {rank})")
        return axis % rank

    def take(self, value: SSAValue, index: SSAValue, axis: int) -> SSAValue:
        """The entries of one dimension at an index or indices that count from its start or end."""
        place = self.helper(axis, "int32")
        return self.part("GatherV2", value, index, place, negative_index_support=True)

    def reverse(self, value: SSAValue, axis: int) -> SSAValue:
        """The value with one dimension in reverse order."""
        bounds = ([-1], [-(2**63)], [axis], [-1])
        return self.part("StridedSliceV2", value, *(self.helper(b, "int64") for b in bounds))

    def range(self, count: SSAValue) -> SSAValue:
        """0 .. count - 1 in i64; `count` is an i64 scalar."""
        return self.part("Range", self.scalar(0, "int64"), count, self.scalar(1, "int64"))

    def along(self, vector: SSAValue, axis: int, rank: int) -> SSAValue:
        """A vector as a tensor of a rank with all its elements along one dimension."""
        shape = [1] * rank
        shape[axis] = -1
        return vector if rank == 1 else self.part("Reshape", vector, self.helper(shape, "int64"))

    def sum(self, value: SSAValue, axes: Sequence[int], keep: bool = False) -> SSAValue:
        """The sum over some dimensions."""
        return self.part("ReduceSum", value, self.helper(axes, "int32"), keep_dims=keep)

    def transpose(self, value: SSAValue, perm: Sequence[int]) -> SSAValue:
        if list(perm) == list(range(len(perm))):
            return value
        return self.part("Transpose", value, self.helper(perm, "int32"))

    def move_first(self, value: SSAValue, axis: int) -> SSAValue:
        """The value with its first dimension moved to `axis`."""
        if axis == 0:
            return value
        rank = self.rank(value, "an axis other than 0")
        axis = self.axis(axis, rank)
        rest = list(range(1, rank))
        return self.transpose(value, [*rest[:axis], 0, *rest[axis:]])

    def reshape_exactly(self, value: SSAValue, shape: SSAValue) -> SSAValue:
        """Reshape that takes a 0 for a dimension of length 0."""
        extra = {extra_key("allowzero"): IntegerAttr(1, i64)}
        name = self.part_name("Reshape")
        return self.add("Reshape", (value, shape), {}, name, extra=extra).results[0]

    def like(self, number: float, value: SSAValue) -> SSAValue:
        """A scalar Const in the element type of `value`; refused when that does not hold it."""
        import numpy as np

        from ge_xdsl.dialects.ge.types import numpy_dtype

        dtype = self.dtype(value)
        if dtype is DataType.DT_UNDEFINED:
            raise self.error("the element type of an input is unknown, expected a known one")
        try:
            with np.errstate(over="ignore"):  # the default limits of Clip are infinite in f16
                array = np.array(number, numpy_dtype(dtype))
            return self.const(array, self.part_name("Const"))
        except BUILD_ERRORS as error:
            raise self.error(f"{number} is no {dtype.name}, {error}") from error

    # What is known of a value

    def dtype(self, value: SSAValue) -> DataType:
        return tensor_of(value.type).dtype

    def shape(self, value: SSAValue) -> tuple[int, ...] | None:
        return tensor_of(value.type).shape

    def tensor_text(self, value: SSAValue) -> str:
        """A value's type as messages write it."""
        return str(tensor_of(value.type))

    def rank(self, value: SSAValue, what: str) -> int:
        """The rank of a value; raises CompileError naming `what` needs it when it is unknown."""
        shape = self.shape(value)
        if shape is None:
            raise self.error(f"rank of the input is unknown, {what} needs it")
        return len(shape)

    def known(self, value: SSAValue | None) -> list[int] | None:
        """The integers of a compile-time constant, None for any other value."""
        array = None if value is None else constant_of(value)
        if array is None or array.dtype.kind not in "iu" or array.size > 2**16:
            return None
        return [int(v) for v in array.reshape(-1).tolist()]

    def static_dims(self, dims: Sequence[int], what: str) -> list[int]:
        """`dims`, refused when one is unknown."""
        if DYNAMIC in dims:
            raise self.error(f"a dimension of the input is unknown, {what} needs it")
        return list(dims)
