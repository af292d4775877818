"""Picking slices and elements by index, numpy-style indexing, and its sparse relatives."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.elements import one_element_type
from ge_xdsl.dialects.ge.extents import (
    at_least_rank,
    bounded,
    checked_shape,
    count_of,
    ints_of,
    listed_shape,
    merge_shapes,
    of_rank,
)
from ge_xdsl.dialects.ge.fields import (
    boolean,
    integer,
    integer_lists,
    operand,
    result,
    variadic,
    variadic_result,
)
from ge_xdsl.dialects.ge.index import wrap_indices
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.operands import check_index, check_scalar, known_ints
from ge_xdsl.dialects.ge.scatter_nd import flat_places, indexed_slice, put_at
from ge_xdsl.dialects.ge.shapes import Shape, broadcast, merge_dim, normalize_axis, shape_text
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor, numpy_dtype

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


class GatherNdOp(GeOp):
    """y[...] = x[indices[..., 0], ..., indices[..., K-1]], a slice of x when K is below its rank.

    Negative indices count from the end under negative_index_support and are an error without it.
    C1: indices is i32 or i64. C2: it has rank >= 1. C3: K, its last dimension, is at most the rank
    of x.
    """

    name = "ge.GatherNd"

    x = operand()
    indices = operand()
    negative_index_support = boolean(False)
    y = result()

    def infer(self, x: Tensor, indices: Tensor) -> Tensor:
        check_index(indices, "indices")  # C1
        at_least_rank(indices, 1, "indices")  # C2
        if x.shape is None or indices.shape is None:
            return x.with_shape(None)
        shape = indexed_slice(x.shape, indices.shape)  # C3
        return x.with_shape(None if shape is None else bounded(shape))

    def evaluate(self, x: Array, indices: Array) -> Array:
        import numpy as np

        depth = indices.shape[-1]
        if self.negative_index_support:
            sizes = np.array(x.shape[:depth], np.int64)
            indices = np.where(indices < 0, indices + sizes, indices)
        places = flat_places(indices, x.shape)
        tail = x.shape[depth:]
        rows = x.reshape(math.prod(x.shape[:depth]), math.prod(tail))
        return rows[places].reshape((*indices.shape[:-1], *tail))


class GatherV2DOp(GeOp):
    """y[..., j, ...] = x[..., indices[j], ...] along axis. Negative indices are an error.

    C1: indices is i32 or i64. C2: x has rank >= 1. C3: axis is a dimension of x.
    """

    name = "ge.GatherV2D"

    x = operand()
    indices = operand()
    y = result()
    axis = integer()

    def infer(self, x: Tensor, indices: Tensor) -> Tensor:
        check_index(indices, "indices")  # C1
        at_least_rank(x, 1, "x")  # C2
        if x.shape is None:
            return x
        place = normalize_axis(self.axis, len(x.shape))  # C3
        if indices.shape is None:
            return x.with_shape(None)
        return x.with_shape(bounded((*x.shape[:place], *indices.shape, *x.shape[place + 1 :])))

    def evaluate(self, x: Array, indices: Array) -> Array:
        import numpy as np

        place = normalize_axis(self.axis, x.ndim)
        return np.take(x, wrap_indices(indices, x.shape[place], False), axis=place)


class GatherOp(GeOp):
    """y = the rows x[indices]; with batch_dims the first ones of x and indices go together.

    A negative batch_dims counts from the rank of indices. Negative indices count from the end under
    negative_index_support and are an error without it; validate_indices and is_preprocessed are
    hints. C1: indices is i32 or i64. C2: batch_dims is in [-rank(indices), rank(indices)] and below
    the rank of x. C3: the batch dimensions are equal.
    """

    name = "ge.Gather"

    x = operand()
    indices = operand()
    y = result()
    validate_indices = boolean(True)
    batch_dims = integer(0)
    is_preprocessed = boolean(False)
    negative_index_support = boolean(False)

    def infer(self, x: Tensor, indices: Tensor) -> Tensor:
        check_index(indices, "indices")  # C1
        if x.shape is None or indices.shape is None:
            return x.with_shape(None)
        batch = self._batch(len(x.shape), len(indices.shape))
        head = merge_shapes(
            x.shape[:batch], indices.shape[:batch], "batch shapes of x and indices"
        )  # C3
        return x.with_shape(bounded((*(head or ()), *indices.shape[batch:], *x.shape[batch + 1 :])))

    def _batch(self, rank: int, index_rank: int) -> int:
        batch = self.batch_dims + (index_rank if self.batch_dims < 0 else 0)
        if not 0 <= batch <= index_rank or batch >= rank:  # C2
            raise VerifyException(
                f"batch_dims is {self.batch_dims} for ranks {rank} and {index_rank}, "
                "expected one that both have"
            )
        return batch

    def evaluate(self, x: Array, indices: Array) -> Array:
        import numpy as np

        batch = self._batch(x.ndim, indices.ndim)
        picks = wrap_indices(indices, x.shape[batch], self.negative_index_support)
        if not batch:
            return np.take(x, picks, axis=0)
        head, tail = x.shape[:batch], x.shape[batch + 1 :]
        rows = math.prod(head)
        flat = x.reshape(rows, x.shape[batch], math.prod(tail))
        found = flat[np.arange(rows)[:, None], picks.reshape(rows, -1)]
        return found.reshape((*head, *indices.shape[batch:], *tail))


class EmbeddingOp(GeOp):
    """y = the rows x[indices]. C1: indices is i32 or i64. C2: x has rank >= 1."""

    name = "ge.Embedding"

    x = operand()
    indices = operand()
    y = result()

    def infer(self, x: Tensor, indices: Tensor) -> Tensor:
        check_index(indices, "indices")  # C1
        at_least_rank(x, 1, "x")  # C2
        if x.shape is None or indices.shape is None:
            return x.with_shape(None)
        return x.with_shape(bounded((*indices.shape, *x.shape[1:])))

    def evaluate(self, x: Array, indices: Array) -> Array:
        import numpy as np

        return np.take(x, wrap_indices(indices, x.shape[0], False), axis=0)


class EmbeddingDenseGradOp(GeOp):
    """y[indices[...]] += grad[...]: [num_weights, n], the gradient of an embedding's table.

    Rows for padding_idx stay 0. With scale_grad_by_freq each part is divided by how often its index
    appears. C1: indices is i32 or i64. C2: grad is indices.shape + [n]. C3: num_weights is at
    least 0, and y has at most 2^40 elements.
    """

    name = "ge.EmbeddingDenseGrad"

    grad = operand()
    indices = operand()
    y = result()
    num_weights = integer()
    padding_idx = integer(-1)
    scale_grad_by_freq = boolean(False)

    widens = True

    def infer(self, grad: Tensor, indices: Tensor) -> Tensor:
        check_index(indices, "indices")  # C1
        at_least_rank(grad, 1, "grad")  # C2
        count = count_of(self.num_weights, "num_weights")  # C3
        width = DYNAMIC
        if grad.shape is not None:
            width = grad.shape[-1]
            merge_shapes(grad.shape[:-1], indices.shape, "leading shapes of grad and indices")  # C2
        return grad.with_shape(bounded((count, width)))  # C3

    def evaluate(self, grad: Array, indices: Array) -> Array:
        import numpy as np

        places = indices.reshape(-1)
        rows = grad.reshape(places.size, grad.shape[-1])
        kept = places != self.padding_idx
        places, rows = wrap_indices(places[kept], self.num_weights, False), rows[kept]
        if self.scale_grad_by_freq:
            counts = np.bincount(places, minlength=1)
            rows = rows / counts[places][:, None].astype(rows.dtype)
        y = np.zeros((self.num_weights, grad.shape[-1]), grad.dtype)
        np.add.at(y, places, rows)
        return y


class GatherShapesOp(GeOp):
    """shape[i] = the dimension axes[i][1] of x[axes[i][0]].

    C1: dtype is 3 (i32) or 9 (i64). C2: each entry of axes names a dimension of an operand.
    """

    name = "ge.GatherShapes"

    x = variadic()
    shape = result()
    axes = integer_lists()
    dtype = integer(3)

    def infer(self, x: list[Tensor]) -> Tensor:
        if self.dtype not in (3, 9):  # C1
            raise VerifyException(f"dtype is {self.dtype}, expected 3 (DT_INT32) or 9 (DT_INT64)")
        for entry in self.axes:
            if len(entry) != 2 or not 0 <= entry[0] < len(x):  # C2
                raise VerifyException(
                    f"axes has {list(entry)}, expected an operand below {len(x)} and a dimension"
                )
            shape = x[int(entry[0])].shape
            if shape is not None and not 0 <= entry[1] < len(shape):  # C2
                raise VerifyException(
                    f"axes has {list(entry)}, expected a dimension of {shape_text(shape)}"
                )
        return Tensor(DataType(self.dtype), (len(self.axes),))

    def evaluate(self, x: list[Array]) -> Array:
        import numpy as np

        found = [x[int(entry[0])].shape[int(entry[1])] for entry in self.axes]
        return np.array(found, numpy_dtype(DataType(self.dtype)))


def _marked(sizes: tuple[int, ...], count: int, rank: int) -> list[int]:
    """The dimensions that indexed_sizes marks with 1, one for each index operand."""
    places = [i for i, size in enumerate(sizes) if size == 1]
    if len(places) != count or len(sizes) > rank:
        raise VerifyException(
            f"indexed_sizes is {list(sizes)}, expected {count} marks of 1 in at most {rank} entries"
        )
    return places


def _index_tuple(sizes: Array, indices: list[Array], x: Array) -> tuple[Any, ...]:
    places = _marked(tuple(ints_of(sizes)), len(indices), x.ndim)
    picks = dict(zip(places, indices, strict=True))
    return tuple(
        wrap_indices(picks[i], x.shape[i], True) if i in picks else slice(None)
        for i in range(x.ndim)
    )


class _Indexed(GeOp):
    def indexed_shape(self, x: Shape, indices: list[Tensor]) -> Shape:
        """The shape of x[...]: that of the broadcast indices in place of adjacent dimensions."""
        for i, tensor in enumerate(indices):
            check_index(tensor, f"indices {i}")  # C2
        picked = broadcast(*(tensor.shape for tensor in indices))  # C3
        sizes = known_ints(self, "indexed_sizes")
        if sizes is None or x is None:
            return None
        places = _marked(sizes, len(indices), len(x))  # C4
        if picked is None:
            return None
        if not places:
            return x
        kept = [d for i, d in enumerate(x) if i not in places]
        adjacent = places[-1] - places[0] == len(places) - 1
        first = places[0] if adjacent else 0
        return bounded((*kept[:first], *picked, *kept[first:]))


class IndexOp(_Indexed):
    """y = x[...] with the index operands at the dimensions that indexed_sizes marks with 1.

    Indices broadcast together; their shape takes the place of adjacent dimensions, else it comes
    first. Negative ones count from the end. indexed_strides has no say. C1: indexed_sizes is i32 or
    i64. C2: indices are i32 or i64. C3: they broadcast. C4: there is one mark per index operand and
    at most one entry per dimension of x.
    """

    name = "ge.Index"

    x = operand()
    indexed_sizes = operand()
    indexed_strides = operand()
    indices = variadic()
    y = result()

    def infer(
        self, x: Tensor, indexed_sizes: Tensor, indexed_strides: Tensor, indices: list[Tensor]
    ) -> Tensor:
        check_index(indexed_sizes, "indexed_sizes")  # C1
        return x.with_shape(self.indexed_shape(x.shape, indices))

    def evaluate(
        self, x: Array, indexed_sizes: Array, indexed_strides: Array, indices: list[Array]
    ) -> Array:
        import numpy as np

        return np.asarray(x[_index_tuple(indexed_sizes, indices, x)])


class IndexPutV2Op(_Indexed):
    """x with x[...] = value (+= when accumulate), in place, indexed as Index does it.

    value broadcasts to the indexed shape. Repeated places add up when accumulate, else the last one
    stays (the device: any). C1: indexed_sizes is i32 or i64. C2: indices are i32 or i64. C3: they
    broadcast. C4: there is one mark per index operand and at most one entry per dimension of x.
    C5: x and value have one element type. C6: value broadcasts to the indexed shape.
    """

    name = "ge.IndexPutV2"

    x = operand()
    value = operand()
    indexed_sizes = operand()
    indexed_strides = operand()
    indices = variadic()
    new_x = result("x")
    accumulate = boolean(False)

    widens = True

    def infer(
        self,
        x: Tensor,
        value: Tensor,
        indexed_sizes: Tensor,
        indexed_strides: Tensor,
        indices: list[Tensor],
    ) -> Tensor:
        check_index(indexed_sizes, "indexed_sizes")  # C1
        one_element_type(x, value)  # C5
        shape = self.indexed_shape(x.shape, indices)
        if shape is not None:
            merge_shapes(
                broadcast(shape, value.shape), shape, "shapes of value and of the indexed part"
            )  # C6
        return x

    def evaluate(
        self,
        x: Array,
        value: Array,
        indexed_sizes: Array,
        indexed_strides: Array,
        indices: list[Array],
    ) -> Array:
        y = x.copy()
        place = _index_tuple(indexed_sizes, indices, x)
        put_at(y, place, value, "add" if self.accumulate else "update")
        return y


class SparseToDenseOp(GeOp):
    """y = default_value everywhere, values at indices: one place per row of indices.

    indices is one place (rank 0), places of a vector (rank 1) or rows of coordinates (rank 2);
    values is one number for all or one per place. validate_indices is a hint. C1: indices and
    output_shape are i32 or i64. C2: indices has rank <= 2. C3: values and default_value have one
    element type. C4: default_value is one element. C5: the entries of output_shape are not
    negative, and y has at most 2^40 elements.
    """

    name = "ge.SparseToDense"

    indices = operand()
    output_shape = operand()
    values = operand()
    default_value = operand()
    y = result()
    validate_indices = boolean(True)

    def infer(
        self, indices: Tensor, output_shape: Tensor, values: Tensor, default_value: Tensor
    ) -> Tensor:
        check_index(indices, "indices")  # C1
        if indices.rank not in (None, 0, 1, 2):  # C2
            raise VerifyException(f"indices has rank {indices.rank}, expected at most 2")
        one_element_type(values, default_value)  # C3
        check_scalar(default_value, "default_value")  # C4
        return values.with_shape(listed_shape(self, "output_shape", output_shape))  # C1 C5

    def evaluate(
        self, indices: Array, output_shape: Array, values: Array, default_value: Array
    ) -> Array:
        import numpy as np

        shape = checked_shape(ints_of(output_shape))
        y = np.full(shape, default_value.reshape(()), values.dtype)
        rows = indices if indices.ndim == 2 else indices.reshape(-1, 1)
        if rows.shape[-1] != len(shape):
            raise ValueError(f"indices has {rows.shape[-1]} columns, expected {len(shape)}")
        y.reshape(-1)[flat_places(rows, shape)] = values.reshape(-1) if values.ndim else values
        return y


class SparseTensorDenseAddOp(GeOp):
    """y = x2 with x1_values[i] added at the place x1_indices[i]; repeated places add up.

    C1: x1_values and x2 have one element type. C2: x1_indices is an i32 or i64 matrix, x1_values a
    vector of its length. C3: x1_indices has one column per dimension of x2.
    """

    name = "ge.SparseTensorDenseAdd"

    x1_indices = operand()
    x1_values = operand()
    x1_shape = operand()
    x2 = operand()
    y = result()

    widens = True

    def infer(self, x1_indices: Tensor, x1_values: Tensor, x1_shape: Tensor, x2: Tensor) -> Tensor:
        one_element_type(x1_values, x2)  # C1
        check_index(x1_indices, "x1_indices")  # C2
        of_rank(x1_indices, 2, "x1_indices")  # C2
        of_rank(x1_values, 1, "x1_values")  # C2
        if x1_indices.shape is not None:
            length = (DYNAMIC,) if x1_values.shape is None else x1_values.shape
            merge_dim(x1_indices.shape[0], length[0], "lengths of x1_indices and x1_values")  # C2
            if x2.shape is not None:
                merge_dim(
                    x1_indices.shape[1], len(x2.shape), "columns of x1_indices and dimensions of x2"
                )  # C3
        return x2

    def evaluate(self, x1_indices: Array, x1_values: Array, x1_shape: Array, x2: Array) -> Array:
        import numpy as np

        y = x2.copy()
        np.add.at(y.reshape(-1), flat_places(x1_indices, x2.shape), x1_values)
        return y


class DynamicPartitionOp(GeOp):
    """y[i] = the slices of x where partitions is i, in order: num_partitions results.

    C1: partitions is i32 or i64. C2: x starts with its dimensions. C3: num_partitions is the number
    of results, at least 1.
    """

    name = "ge.DynamicPartition"

    x = operand()
    partitions = operand()
    y = variadic_result()
    num_partitions = integer(1)

    def infer(self, x: Tensor, partitions: Tensor) -> list[Tensor]:
        check_index(partitions, "partitions")  # C1
        if self.num_partitions != len(self.results) or not self.results:  # C3
            raise VerifyException(
                f"num_partitions is {self.num_partitions}, expected the number of results "
                f"({len(self.results)}), at least 1"
            )
        if x.shape is None or partitions.shape is None:
            return [x.with_shape(None)] * self.num_partitions
        depth = len(partitions.shape)
        merge_shapes(x.shape[:depth], partitions.shape, "leading shapes of x and partitions")  # C2
        return [x.with_shape((DYNAMIC, *x.shape[depth:]))] * self.num_partitions

    def evaluate(self, x: Array, partitions: Array) -> list[Array]:
        places = wrap_indices(partitions.reshape(-1), self.num_partitions, False)
        tail = x.shape[partitions.ndim :]
        rows = x.reshape(places.size, *tail)
        return [rows[places == i] for i in range(self.num_partitions)]
