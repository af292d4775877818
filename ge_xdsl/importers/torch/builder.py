"""The builder of ONNX import with what torch's calls need besides: sizes, promotion, results."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from xdsl.ir import Block, SSAValue

from ge_xdsl.dialects.ge.op import set_type
from ge_xdsl.dialects.ge.text import GeContext
from ge_xdsl.dialects.ge.types import DYNAMIC, FLOATS, DataType, Tensor, numpy_dtype, tensor_of
from ge_xdsl.errors import Location
from ge_xdsl.importers.onnx.builder import Builder
from ge_xdsl.importers.onnx.tensors import TensorReader
from ge_xdsl.importers.torch.call import Call, Dim, shape_of_fake
from ge_xdsl.importers.torch.values import DTYPES, dtype_of_torch, torch_module

Operand = SSAValue | int | float | bool


class TorchBuilder(Builder):
    """Appends GE ops to a block. `node` is the call that is being converted."""

    node: Any

    def __init__(self, block: Block, location: Location) -> None:
        super().__init__(block, location, TensorReader(location.file, None), GeContext())

    # Numbers

    def operand(self, value: Operand, dtype: DataType) -> SSAValue:
        """A tensor in an element type, or a number as a scalar Const of it."""
        if isinstance(value, SSAValue):
            return self.cast(value, dtype)
        import numpy as np

        with np.errstate(all="ignore"):
            array = np.array(value).astype(numpy_dtype(dtype))
        return self.const(array, self.part_name("Const"))

    def promoted(self, left: Operand, right: Operand) -> DataType:
        """The element type that torch compares or computes two operands in."""
        torch = torch_module()
        given = (self._stand_in(left), self._stand_in(right))
        return dtype_of_torch(torch.result_type(*given))

    def _stand_in(self, value: Operand) -> Any:
        """A tensor without elements that promotes like `value`."""
        if not isinstance(value, SSAValue):
            return value
        torch, dtype = torch_module(), self.dtype(value)
        name = next(name for name, known in DTYPES.items() if known == dtype)
        shape = (0,) * len(self.shape(value) or ())
        return torch.empty(shape, dtype=getattr(torch, name), device="meta")

    # Sizes

    def sizes(self, dims: Sequence[Dim]) -> SSAValue:
        """Sizes as an i64 vector, a Const when all are numbers."""
        numbers = [dim for dim in dims if isinstance(dim, int)]
        if len(numbers) == len(dims):
            return self.helper(numbers, "int64")
        scalars = [self.size(dim) for dim in dims]
        return self.part("Pack", scalars, axis=0, N=len(scalars))

    def size(self, dim: Dim) -> SSAValue:
        """A size as an i64 scalar."""
        return self.scalar(dim, "int64") if isinstance(dim, int) else dim

    def entry(self, dim: Dim) -> SSAValue:
        """A size as an i64 vector of one."""
        return self.helper([dim], "int64") if isinstance(dim, int) else self.sizes([dim])

    def known_dim(self, value: SSAValue, axis: int) -> Dim:
        """One dimension, as a number where it is known."""
        shape = self.shape(value)
        if shape is not None and shape[axis] != DYNAMIC:
            return shape[axis]
        return self.dim(value, axis)

    def reshape(self, value: SSAValue, dims: Sequence[Dim], name: str = "") -> SSAValue:
        """Reshape; one size that the run tells becomes -1."""
        unknown = [k for k, dim in enumerate(dims) if not isinstance(dim, int)]
        if len(unknown) == 1 and not any(dim == -1 or dim == 0 for dim in dims):
            dims = [-1 if k == unknown[0] else dim for k, dim in enumerate(dims)]
        name = name or self.part_name("Reshape")
        return self.add("Reshape", (value, self.sizes(dims)), {}, name).results[0]

    def broadcast(self, value: SSAValue, dims: Sequence[Dim], name: str = "") -> SSAValue:
        """BroadcastTo; nothing where the value has that shape."""
        if self.shape(value) == tuple(dims):
            return value
        name = name or self.part_name("BroadcastTo")
        return self.add("BroadcastTo", (value, self.sizes(dims)), {}, name).results[0]

    def axes_of(self, axes: Sequence[int], value: SSAValue) -> list[int]:
        """Dimensions counted from 0; all of them when none is given."""
        rank = self.rank(value, "an axis")
        return [axis % rank for axis in axes] if axes and rank else list(range(rank))

    def count(self, value: SSAValue, axes: Sequence[int], dtype: DataType) -> SSAValue:
        """The number of elements along some dimensions as a scalar in an element type."""
        dims = [self.known_dim(value, axis) for axis in axes]
        numbers = [dim for dim in dims if isinstance(dim, int)]
        found = self.operand(prod(numbers), dtype)
        for dim in dims:
            if not isinstance(dim, int):
                found = self.part("Mul", found, self.cast(dim, dtype))
        return found

    # Results

    def floating(self, value: SSAValue, dtype: DataType) -> SSAValue:
        """The value as a float: in its own type, or for others in `dtype`."""
        return value if self.dtype(value) in FLOATS else self.cast(value, dtype)

    def settle(self, call: Call, value: SSAValue, fake: Any) -> SSAValue:
        """The value in the element type that torch gives, with the sizes that torch knows.

        Raises CompileError when the two shapes contradict each other.
        """
        if not hasattr(fake, "dtype"):
            return value
        value = self.cast(value, dtype_of_torch(fake.dtype))
        wanted, found = shape_of_fake(fake), tensor_of(value.type)
        if found.shape is None:
            set_type(value, found.with_shape(wanted).type)
            return value
        if len(found.shape) != len(wanted) or any(
            DYNAMIC not in pair and pair[0] != pair[1]
            for pair in zip(found.shape, wanted, strict=True)
        ):
            call.fail(f"result is {found}, expected {Tensor(found.dtype, wanted)} as in torch")
        merged = tuple(b if a == DYNAMIC else a for a, b in zip(found.shape, wanted, strict=True))
        if merged != found.shape:
            set_type(value, found.with_shape(merged).type)
        return value
