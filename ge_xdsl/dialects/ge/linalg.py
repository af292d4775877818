"""Determinants, inverses, solvers, products of vectors, Einstein sums and norms."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.elements import COMPLEX, FLOATS, INTEGERS, one_element_type, require
from ge_xdsl.dialects.ge.extents import at_least_rank, bounded, merge_shapes, of_rank
from ge_xdsl.dialects.ge.fields import (
    boolean,
    floating,
    integer,
    integers,
    operand,
    result,
    string,
    variadic,
)
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.reduce import reduced_axes
from ge_xdsl.dialects.ge.shapes import merge_dim, normalize_axis, shape_text
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

_REAL = "a floating-point or complex type"


def _check_square(x: Tensor, name: str = "x") -> tuple[int, ...] | None:
    """The leading shape of square matrices of floating-point or complex numbers."""
    require(x, name, FLOATS | COMPLEX, _REAL)  # C1
    at_least_rank(x, 2, name)  # C2
    if x.shape is None:
        return None
    merge_dim(x.shape[-2], x.shape[-1], "rows and columns")  # C3
    return x.shape[:-2]


class MatrixDeterminantOp(GeOp):
    """y = the determinants of the matrices x [..., m, m].

    C1: x is a floating-point or complex tensor. C2: it has rank >= 2. C3: the matrices are square.
    """

    name = "ge.MatrixDeterminant"

    x = operand()
    y = result()

    widens = True

    def infer(self, x: Tensor) -> Tensor:
        return x.with_shape(_check_square(x))

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        return np.asarray(np.linalg.det(x)).astype(x.dtype, copy=False)


class SignedLog(GeOp):
    """sign = the sign of the determinants of x [..., m, m], y = the log of their size.

    sign is 0 and y -inf for singular matrices. C1: x is a floating-point or complex tensor. C2: it
    has rank >= 2. C3: the matrices are square.
    """

    x = operand()
    sign = result()
    y = result()

    widens = True

    def infer(self, x: Tensor) -> tuple[Tensor, Tensor]:
        y = x.with_shape(_check_square(x))
        return y, y

    def evaluate(self, x: Array) -> tuple[Array, Array]:
        import numpy as np

        sign, size = np.linalg.slogdet(x)
        return np.asarray(sign).astype(x.dtype), np.asarray(size).astype(x.dtype)


class LogMatrixDeterminantOp(SignedLog):
    """sign = the sign of the determinants of x [..., m, m], y = the log of their size.

    sign is 0 and y -inf for singular matrices. C1: x is a floating-point or complex tensor. C2: it
    has rank >= 2. C3: the matrices are square.
    """

    name = "ge.LogMatrixDeterminant"


class SlogdetOp(SignedLog):
    """sign = the sign of the determinants of x [..., m, m], y = the log of their size.

    sign is 0 and y -inf for singular matrices. C1: x is a floating-point or complex tensor. C2: it
    has rank >= 2. C3: the matrices are square.
    """

    name = "ge.Slogdet"


def _adjoint(x: Array) -> Array:
    return x.swapaxes(-1, -2).conj()


def _of_regular(function: Callable[..., Array], what: str, expected: str, *arrays: Array) -> Array:
    """What a function of numpy.linalg gives; ValueError for matrices it is not defined on."""
    import numpy as np

    try:
        return function(*arrays)
    except np.linalg.LinAlgError:
        raise ValueError(f"{what}, expected {expected}") from None


def _solved(matrix: Array, rhs: Array) -> Array:
    import numpy as np

    return _of_regular(np.linalg.solve, "matrix is singular", "an invertible one", matrix, rhs)


class MatrixInverseOp(GeOp):
    """y = the inverses of the matrices x [..., m, m], of their adjoints when adjoint.

    Singular matrices are not defined. C1: x is a floating-point or complex tensor. C2: it has
    rank >= 2. C3: the matrices are square.
    """

    name = "ge.MatrixInverse"

    x = operand()
    y = result()
    adjoint = boolean(False)

    widens = True

    def infer(self, x: Tensor) -> Tensor:
        _check_square(x)
        return x

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        y = _of_regular(np.linalg.inv, "x is singular", "an invertible matrix", x)
        return _adjoint(y) if self.adjoint else y


class CholeskyOp(GeOp):
    """y = lower triangular with y @ adjoint(y) = x; only the lower triangle of x is read.

    Matrices that are not positive definite are not defined. C1: x is a floating-point or complex
    tensor. C2: it has rank >= 2. C3: the matrices are square.
    """

    name = "ge.Cholesky"

    x = operand()
    y = result()

    widens = True

    def infer(self, x: Tensor) -> Tensor:
        _check_square(x)
        return x

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        expected = "a positive definite matrix"
        return _of_regular(np.linalg.cholesky, "x is not positive definite", expected, x)


class _Solve(GeOp):
    widens = True

    def check(self, matrix: Tensor, rhs: Tensor) -> Tensor:
        head = _check_square(matrix, "matrix")  # C1 C2 C3
        one_element_type(matrix, rhs)  # C4
        at_least_rank(rhs, 2, "rhs")  # C5
        if head is None or matrix.shape is None or rhs.shape is None:
            return rhs
        merge_shapes(head, rhs.shape[:-2], "leading shapes of matrix and rhs")  # C5
        merge_dim(matrix.shape[-1], rhs.shape[-2], "sizes of matrix and rows of rhs")  # C5
        return rhs


class MatrixSolveOp(_Solve):
    """y with matrix @ y = rhs [..., m, k]; with the adjoint of matrix when adjoint.

    Singular matrices are not defined. C1: matrix is a floating-point or complex tensor. C2: it has
    rank >= 2. C3: its matrices are square. C4: rhs has its element type. C5: rhs has its leading
    dimensions and m rows.
    """

    name = "ge.MatrixSolve"

    matrix = operand()
    rhs = operand()
    y = result()
    adjoint = boolean(False)

    def infer(self, matrix: Tensor, rhs: Tensor) -> Tensor:
        return self.check(matrix, rhs)

    def evaluate(self, matrix: Array, rhs: Array) -> Array:
        return _solved(_adjoint(matrix) if self.adjoint else matrix, rhs)


class MatrixTriangularSolveOp(_Solve):
    """y with T @ y = rhs [..., m, k], T the lower (or upper) triangle of matrix.

    The other triangle is not read; with adjoint T's adjoint takes its place. Singular matrices are
    not defined. C1: matrix is a floating-point or complex tensor. C2: it has rank >= 2. C3: its
    matrices are square. C4: rhs has its element type. C5: rhs has its leading dimensions and m
    rows.
    """

    name = "ge.MatrixTriangularSolve"

    matrix = operand()
    rhs = operand()
    y = result()
    lower = boolean(True)
    adjoint = boolean(False)

    def infer(self, matrix: Tensor, rhs: Tensor) -> Tensor:
        return self.check(matrix, rhs)

    def evaluate(self, matrix: Array, rhs: Array) -> Array:
        import numpy as np

        triangle = np.tril(matrix) if self.lower else np.triu(matrix)
        return _solved(_adjoint(triangle) if self.adjoint else triangle, rhs)


_SUMS = {
    **dict.fromkeys(FLOATS | COMPLEX),
    **dict.fromkeys(INTEGERS | {DataType.DT_BOOL}, DataType.DT_INT64),
    **{t: DataType.DT_UINT64 for t in INTEGERS if t.name.startswith("DT_UINT")},
}


class TraceOp(GeOp):
    """y = the sum of the main diagonal of the matrix x.

    Unsigned integers give u64, other integers and booleans i64. C1: x has rank 2. C2: x is a tensor
    of numbers.
    """

    name = "ge.Trace"

    x = operand()
    y = result()

    widens = True

    def infer(self, x: Tensor) -> Tensor:
        of_rank(x, 2, "x")  # C1
        require(x, "x", _SUMS, "numbers")  # C2
        return Tensor(_SUMS.get(x.dtype) or x.dtype, ())

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        kinds = {"i": np.int64, "b": np.int64, "u": np.uint64}
        return np.asarray(np.trace(x, dtype=kinds.get(x.dtype.kind, x.dtype)))


class DotOp(GeOp):
    """output = the sum of input_x * input_y; integers wrap.

    C1: both are vectors of one length. C2: they have one element type.
    """

    name = "ge.Dot"

    input_x = operand()
    input_y = operand()
    output = result()

    widens = True

    def infer(self, input_x: Tensor, input_y: Tensor) -> Tensor:
        of_rank(input_x, 1, "input_x")  # C1
        of_rank(input_y, 1, "input_y")  # C1
        merge_shapes(input_x.shape, input_y.shape, "shapes of input_x and input_y")  # C1
        return Tensor(one_element_type(input_x, input_y), ())  # C2

    def evaluate(self, input_x: Array, input_y: Array) -> Array:
        import numpy as np

        return np.asarray(np.sum(input_x * input_y, dtype=input_x.dtype))


class GerOp(GeOp):
    """y[i, j] = x1[i] * x2[j]. C1: x1 and x2 are vectors. C2: they have one element type."""

    name = "ge.Ger"

    x1 = operand()
    x2 = operand()
    y = result()

    widens = True

    def infer(self, x1: Tensor, x2: Tensor) -> Tensor:
        of_rank(x1, 1, "x1")  # C1
        of_rank(x2, 1, "x2")  # C1
        rows, columns = (DYNAMIC if x.shape is None else x.shape[0] for x in (x1, x2))
        return Tensor(one_element_type(x1, x2), bounded((rows, columns)))  # C2

    def evaluate(self, x1: Array, x2: Array) -> Array:
        return x1[:, None] * x2


_FIRST_OF_3 = -65530
"""The dim of Cross that means the first dimension of size 3."""


class CrossOp(GeOp):
    """y = the cross products of the vectors of three along dim of x1 and x2.

    The default dim stands for the first dimension of size 3. C1: x1 and x2 have one shape. C2: they
    have one element type. C3: dim is a dimension of 3.
    """

    name = "ge.Cross"

    x1 = operand()
    x2 = operand()
    y = result()
    dim = integer(_FIRST_OF_3)

    widens = True

    def infer(self, x1: Tensor, x2: Tensor) -> Tensor:
        dtype = one_element_type(x1, x2)  # C2
        shape = merge_shapes(x1.shape, x2.shape, "shapes of x1 and x2")  # C1
        if shape is not None and (self.dim != _FIRST_OF_3 or DYNAMIC not in shape):
            self._place(shape)  # C3
        return Tensor(dtype, shape)

    def _place(self, shape: Sequence[int]) -> int:
        if self.dim == _FIRST_OF_3:
            if 3 not in shape:
                raise VerifyException(f"x1 is {shape_text(shape)}, expected a dimension of 3")
            return list(shape).index(3)
        place = normalize_axis(self.dim, len(shape), "dim")
        if not shape or shape[place] not in (3, DYNAMIC):
            raise VerifyException(f"x1 is {shape_text(shape)}, expected 3 in dimension {place}")
        return place

    def evaluate(self, x1: Array, x2: Array) -> Array:
        import numpy as np

        place = self._place(x1.shape)
        (a, b, c), (d, e, f) = (np.moveaxis(x, place, 0) for x in (x1, x2))
        return np.stack([b * f - c * e, c * d - a * f, a * e - b * d], axis=place)


_TERM = re.compile(r"[A-Za-z]*(\.\.\.)?[A-Za-z]*")


def einsum_terms(equation: str, count: int) -> tuple[list[str], str]:
    """The labels of the operands and of the result; raises VerifyException for a bad equation."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if not arrow or not all(_TERM.fullmatch(term) for term in (*terms, right)):
        raise VerifyException(f"equation is '{equation}', expected labels such as 'ij,jk->ik'")
    if len(terms) != count:
        raise VerifyException(f"equation is '{equation}', expected {count} terms before '->'")
    known = set("".join(terms))
    unknown = [label for label in right if label not in known]
    if unknown or len(set(right.replace(".", ""))) != len(right.replace(".", "")):
        raise VerifyException(f"equation is '{equation}', expected each result label once before")
    return terms, right


class EinsumOp(GeOp):
    """y = the Einstein sum of x by an equation such as `ij,jk->ik`, where `...` is any dimensions.

    C1: the equation has `->`, letters and at most one `...` per term, and one term per operand.
    C2: the operands have one element type. C3: a term has as many labels as its operand
    dimensions. C4: a label stands for one size. C5: N is the number of operands.
    """

    name = "ge.Einsum"

    x = variadic()
    y = result()
    equation = string()
    N = integer()

    widens = True

    def infer(self, x: list[Tensor]) -> Tensor:
        if len(x) != self.N or not x:  # C5
            raise VerifyException(f"has {len(x)} operands, expected N = {self.N}, at least 1")
        terms, right = einsum_terms(self.equation, len(x))  # C1
        dtype = one_element_type(*x)  # C2
        sizes: dict[str, int] = {}
        for term, tensor in zip(terms, x, strict=True):
            if tensor.shape is not None:
                self._bind(term, tensor.shape, sizes)
        if "." in right:
            return Tensor(dtype, None)
        return Tensor(dtype, bounded([sizes.get(label, DYNAMIC) for label in right]))

    def _bind(self, term: str, shape: Sequence[int], sizes: dict[str, int]) -> None:
        before, dots, after = term.partition("...")
        spare = len(shape) - len(before) - len(after)
        if spare < 0 or (spare and not dots):  # C3
            raise VerifyException(f"an operand is {shape_text(shape)}, expected labels '{term}'")
        dims = (*shape[: len(before)], *shape[len(shape) - len(after) :])
        for label, dim in zip(before + after, dims, strict=True):
            sizes[label] = merge_dim(sizes.get(label, DYNAMIC), dim, f"sizes of '{label}'")  # C4

    def evaluate(self, x: list[Array]) -> Array:
        import numpy as np

        return np.asarray(np.einsum(self.equation, *x, optimize=len(x) > 2))


class _Norm(GeOp):
    widens = True

    def norm_type(self, x: Tensor, axes: Sequence[int], keep: bool) -> Tensor:
        if x.shape is None:
            return x
        gone = reduced_axes(axes, len(x.shape), False)
        dims = [1 if i in gone else d for i, d in enumerate(x.shape) if keep or i not in gone]
        return x.with_shape(dims)


def lp_norm(x: Array, p: float, axes: tuple[int, ...], keep: bool) -> Array:
    """(sum |x|^p)^(1/p); the largest or smallest |x| for p = inf or -inf, the count for 0."""
    import numpy as np

    size = np.abs(x)
    if math.isinf(p):
        if not size.size:
            raise ValueError(f"x has no elements, expected some for p = {p}")
        return (np.max if p > 0 else np.min)(size, axis=axes, keepdims=keep)
    if p == 0:
        return np.sum(x != 0, axis=axes, keepdims=keep).astype(x.dtype)
    if p == 2:
        return np.sqrt(np.sum(np.square(size), axis=axes, keepdims=keep))
    return np.power(np.sum(np.power(size, p), axis=axes, keepdims=keep), 1 / p).astype(x.dtype)


class LpNormOp(_Norm):
    """y = max((sum |x|^p)^(1/p) over axes, epsilon); all axes when none is named.

    C1: each axis is a dimension of x. C2: x is a floating-point tensor.
    """

    name = "ge.LpNorm"

    x = operand()
    y = result()
    p = integer(2)
    axes = integers(())
    keepdim = boolean(False)
    epsilon = floating(1e-12)

    def infer(self, x: Tensor) -> Tensor:
        require(x, "x", FLOATS, "a floating-point type")  # C2
        return self.norm_type(x, self.axes, self.keepdim)  # C1

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        gone = reduced_axes(self.axes, x.ndim, False)
        found = lp_norm(x, self.p, gone, self.keepdim)
        return np.maximum(found, x.dtype.type(self.epsilon))


class LpNormV2Op(_Norm):
    """y = max((sum |x|^p)^(1/p) over axes, epsilon); all axes when none is named.

    p = inf gives the largest |x|, -inf the smallest, 0 the number of elements that are not 0.
    C1: each axis is a dimension of x. C2: x is a floating-point tensor.
    """

    name = "ge.LpNormV2"

    x = operand()
    y = result()
    p = floating(2.0)
    axes = integers(())
    keepdim = boolean(False)
    epsilon = floating(1e-12)

    def infer(self, x: Tensor) -> Tensor:
        require(x, "x", FLOATS, "a floating-point type")  # C2
        return self.norm_type(x, self.axes, self.keepdim)  # C1

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        gone = reduced_axes(self.axes, x.ndim, False)
        found = lp_norm(x, self.p, gone, self.keepdim)
        return np.maximum(found, x.dtype.type(self.epsilon))


class L2LossOp(GeOp):
    """y = sum(x^2) / 2, a scalar. C1: x is a floating-point tensor."""

    name = "ge.L2Loss"

    x = operand()
    y = result()

    widens = True

    def infer(self, x: Tensor) -> Tensor:
        require(x, "x", FLOATS, "a floating-point type")  # C1
        return x.with_shape(())

    def evaluate(self, x: Array) -> Array:
        import numpy as np

        return np.asarray(np.sum(np.square(x)) / x.dtype.type(2))
