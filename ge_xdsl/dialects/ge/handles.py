"""Sequences behind handles, and constants in files: what is not a tensor of the graph itself.

A handle is a scalar of the type DT_RESOURCE, which has no numpy value here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.elements import INDICES, one_element_type, require
from ge_xdsl.dialects.ge.extents import at_least_rank, checked_shape, count_of, merge_shapes
from ge_xdsl.dialects.ge.fields import (
    boolean,
    data_type,
    integer,
    integers,
    operand,
    optional,
    result,
    string,
    tensor_value,
    variadic,
    variadic_result,
)
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.operands import check_index, check_scalar
from ge_xdsl.dialects.ge.rounding import chosen
from ge_xdsl.dialects.ge.shapes import normalize_axis
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor, tensor_of
from ge_xdsl.dialects.ge.weights import tensor_of_const

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

HANDLE = Tensor(DataType.DT_RESOURCE, ())


def check_handle(handle: Tensor) -> None:
    """A resource."""
    require(handle, "handle", (DataType.DT_RESOURCE,), "DT_RESOURCE")


def check_place(index: Tensor | None) -> None:
    """One i32 or i64, if it is there."""
    if index is not None:
        require(index, "index", INDICES, "DT_INT32 or DT_INT64")
        check_scalar(index, "index")


class DataOp(GeOp):
    """y = x, the graph's input number index."""

    name = "ge.Data"

    x = operand()
    y = result()
    index = integer(0)

    def infer(self, x: Tensor) -> Tensor:
        return x

    def evaluate(self, x: Array) -> Array:
        return x


class RefDataOp(DataOp):
    """y = x, the graph's input number index, which the graph may write."""

    name = "ge.RefData"


class FileConstantOp(GeOp):
    """y = values of the type dtype in the shape `shape`, which stand in a file

    This project reads no file that a graph names. C1: shape has no negative entry. C2: file_path or
    file_id is given. C3: offset and length are 0 or more.
    """

    name = "ge.FileConstant"

    y = result()
    file_path = string("")
    file_id = string("")
    shape = integers()
    dtype = data_type()
    offset = integer(0)
    length = integer(0)

    def infer(self) -> Tensor:
        if not self.file_path and not self.file_id:  # C2
            raise VerifyException("file_path and file_id are empty, expected one of them")
        if min(self.offset, self.length) < 0:  # C3
            raise VerifyException(
                f"offset is {self.offset} and length {self.length}, expected none negative"
            )
        return Tensor(self.dtype, checked_shape(self.shape))  # C1


class SequenceConstructOp(GeOp):
    """handle = a sequence of the inputs, in order

    C1: at least one input. C2: one element type.
    """

    name = "ge.SequenceConstruct"

    inputs = variadic()
    handle = result()

    def infer(self, inputs: list[Tensor]) -> Tensor:
        if not inputs:  # C1
            raise VerifyException("has no inputs, expected at least one")
        one_element_type(*inputs)  # C2
        return HANDLE


class SequenceEmptyOp(GeOp):
    """handle = a sequence of no tensors of the type dtype"""

    name = "ge.SequenceEmpty"

    handle = result()
    dtype = data_type(DataType.DT_FLOAT)

    def infer(self) -> Tensor:
        return HANDLE


class _OfHandle(GeOp):
    """A tensor out of a sequence, whose element type the handle does not tell."""

    def given(self) -> Tensor:
        """A tensor of unknown rank in the element type that the result has, f32 by default."""
        known = tensor_of(self.results[0].type).dtype
        return Tensor(DataType.DT_FLOAT if known is DataType.DT_UNDEFINED else known, None)


class SequenceAtOp(_OfHandle):
    """y = tensor index of the sequence, of any shape; negative numbers count from the end

    The handle does not tell the element type: y keeps the one that it has. C1: handle is a
    resource. C2: index is one i32 or i64.
    """

    name = "ge.SequenceAt"

    handle = operand()
    index = operand()
    y = result()

    def infer(self, handle: Tensor, index: Tensor) -> Tensor:
        check_handle(handle)  # C1
        check_place(index)  # C2
        return self.given()


class SequenceInsertOp(GeOp):
    """handle_y = the sequence with value before place index, at the end without one

    C1: handle is a resource. C2: index is one i32 or i64.
    """

    name = "ge.SequenceInsert"

    handle = operand()
    value = operand()
    index = optional()
    handle_y = result()

    def infer(self, handle: Tensor, value: Tensor, index: Tensor | None) -> Tensor:
        check_handle(handle)  # C1
        check_place(index)  # C2
        return HANDLE


class SequenceEraseOp(GeOp):
    """handle_y = the sequence without tensor index, without its last one when there is no index

    C1: handle is a resource. C2: index is one i32 or i64.
    """

    name = "ge.SequenceErase"

    handle = operand()
    index = optional()
    handle_y = result()

    def infer(self, handle: Tensor, index: Tensor | None) -> Tensor:
        check_handle(handle)  # C1
        check_place(index)  # C2
        return HANDLE


class SequenceLengthOp(GeOp):
    """length = the number of tensors in the sequence, an i64 scalar

    C1: handle is a resource.
    """

    name = "ge.SequenceLength"

    handle = operand()
    length = result()

    def infer(self, handle: Tensor) -> Tensor:
        check_handle(handle)  # C1
        return Tensor(DataType.DT_INT64, ())


class ConcatFromSequenceOp(_OfHandle):
    """y = the tensors of the sequence one after the other along axis, stacked with new_axis 1

    The handle does not tell the element type: y keeps the one that it has. C1: handle is a
    resource. C2: new_axis is 0 or 1.
    """

    name = "ge.ConcatFromSequence"

    handle = operand()
    y = result()
    axis = integer()
    new_axis = integer(0)

    def infer(self, handle: Tensor) -> Tensor:
        check_handle(handle)  # C1
        chosen(self.new_axis, "new_axis", (0, 1))  # C2
        return self.given()


class SplitToSequenceOp(GeOp):
    """handle = the parts of x along axis, of 1, of the size `split` or of the sizes it lists

    C1: x has rank >= 1. C2: axis is in [-rank, rank). C3: split is i32 or i64, of rank 0 or 1.
    """

    name = "ge.SplitToSequence"

    x = operand()
    split = optional()
    handle = result()
    axis = integer(0)
    keepdims = boolean(True)

    def infer(self, x: Tensor, split: Tensor | None) -> Tensor:
        at_least_rank(x, 1, "x")  # C1
        if x.shape is not None:
            normalize_axis(self.axis, len(x.shape))  # C2
        check_index(split, "split")  # C3
        if split is not None and split.rank not in (None, 0, 1):  # C3
            raise VerifyException(f"split has rank {split.rank}, expected 0 or 1")
        return HANDLE


class VariableOp(GeOp):
    """y = the variable, of the type and shape of value, when that is given

    A run has no store of variables, so the value of y is value. index, container and shared_name,
    which say where a run keeps it, have no effect. C1: x, when given, has the shape and element
    type of value.
    """

    name = "ge.Variable"

    x = optional()
    y = result()
    index = integer(0)
    value = tensor_value()
    container = string("")
    shared_name = string("")

    def infer(self, x: Tensor | None) -> Tensor | None:
        attr = self.properties.get("value")
        if attr is None:
            return x
        held = tensor_of_const(attr)
        if x is not None and held is not None:
            one_element_type(x, held)  # C1
            merge_shapes(x.shape, held.shape, "shapes of x and value")  # C1
        return held

    def evaluate(self, x: Array | None) -> Array:
        found = self.value if x is None else x
        if found is None:
            raise ValueError("value is missing, expected one: a run has no store of variables")
        return found


class BatchOp(GeOp):
    """y_tensors = the x_tensors of several calls, put behind each other; y_index [B, 3], y_id []

    Which calls meet is decided at run time, so there are no values. C1: as many y_tensors as
    x_tensors. C2: x_tensors have rank 1 or more. C3: num_batch_threads and max_batch_size are 1 or
    more, the other numbers not negative. C4: allowed_batch_sizes rise and end with max_batch_size.
    """

    name = "ge.Batch"

    x_tensors = variadic()
    y_tensors = variadic_result()
    y_index = result()
    y_id = result()
    num_batch_threads = integer()
    max_batch_size = integer()
    max_enqueued_batches = integer(10)
    batch_timeout_micros = integer()
    allowed_batch_sizes = integers(())
    grad_timeout_micros = integer()
    container = string("")
    shared_name = string("")
    batching_queue = string("")

    def infer(self, x_tensors: list[Tensor]) -> list[Tensor | list[Tensor]]:
        for name, least in (
            ("num_batch_threads", 1), ("max_batch_size", 1), ("max_enqueued_batches", 0),
            ("batch_timeout_micros", 0), ("grad_timeout_micros", 0),
        ):  # fmt: skip
            count_of(self.get_attr(name), name, least)  # C3
        sizes = list(self.allowed_batch_sizes)
        if sizes and (sorted(set(sizes)) != sizes or sizes[-1] != self.max_batch_size):  # C4
            raise VerifyException(
                f"allowed_batch_sizes are {sizes}, expected rising ones up to {self.max_batch_size}"
            )
        if len(self.results) != len(x_tensors) + 2:  # C1
            raise VerifyException(
                f"{len(self.results) - 2} y_tensors, expected {len(x_tensors)} as x_tensors"
            )
        for i, tensor in enumerate(x_tensors):
            at_least_rank(tensor, 1, f"x_tensors[{i}]")  # C2
        ys = [t.with_shape(None if t.shape is None else (DYNAMIC, *t.shape[1:])) for t in x_tensors]
        return [ys, Tensor(DataType.DT_INT64, (DYNAMIC, 3)), Tensor(DataType.DT_INT64, ())]


class CompressOp(GeOp):
    """weight_compress and compress_index = the weights packed for the hardware, of unknown lengths

    The packing belongs to the hardware, so there are no values. C1: weight is i8 or f16. C2:
    compress_parameters are not negative.
    """

    name = "ge.Compress"

    weight = operand()
    weight_compress = result()
    compress_index = result()
    compress_parameters = integers()

    def infer(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        allowed = (DataType.DT_INT8, DataType.DT_FLOAT16)
        require(weight, "weight", allowed, "DT_INT8 or DT_FLOAT16")  # C1
        if min(self.compress_parameters, default=0) < 0:  # C2
            raise VerifyException(
                f"compress_parameters are {list(self.compress_parameters)}, expected none negative"
            )
        return weight.with_shape((DYNAMIC,)), Tensor(DataType.DT_INT8, (DYNAMIC,))
