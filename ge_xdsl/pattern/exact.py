"""Values without rounding: integers as they wrap, floats as the rationals that they stand for.

`evaluate` computes an op on object arrays of `Fraction`. An op whose result would need rounding
(a root, an exponential) has no exact values: it raises Inexact, and the caller falls back to
floats. A division by zero gives the infinity or NaN that floats give; zero has no sign here.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import reduce
from math import inf, isfinite, isnan, nan
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.reduce import reduced_axes
from ge_xdsl.dialects.ge.types import DataType, numpy_dtype, tensor_of
from ge_xdsl.pattern.samples import Difference

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.elementwise import BiasAddOp
    from ge_xdsl.dialects.ge.reduce import AttributeReduction, OperandReduction
    from ge_xdsl.dialects.ge.types import Array

Number: TypeAlias = "Fraction | float"
"""A rational, or one of the floats that are none: an infinity, NaN."""

LIMIT = 1 << 12
"""Arrays of more elements are not computed exactly: rationals take microseconds each."""
PRODUCTS = 1 << 15
"""Most multiplications of one matrix product."""

MANTISSA = {
    DataType.DT_FLOAT16: 11,
    DataType.DT_BF16: 8,
    DataType.DT_FLOAT: 24,
    DataType.DT_DOUBLE: 53,
    DataType.DT_FLOAT8_E4M3FN: 4,
    DataType.DT_FLOAT8_E5M2: 3,
}
"""Binary digits of a float type, the hidden one included."""

MOVES = frozenset(
    (
        "BatchToSpaceND",
        "BroadcastTo",
        "Concat",
        "ConcatD",
        "ConcatV2",
        "ConcatV2D",
        "DepthToSpace",
        "Expand",
        "ExpandDims",
        "Flatten",
        "FlattenV2",
        "Gather",
        "GatherNd",
        "GatherV2",
        "GatherV2D",
        "Identity",
        "IdentityN",
        "Pack",
        "Pad",
        "PadV3",
        "RepeatInterleave",
        "Reshape",
        "ReverseSequence",
        "ReverseV2",
        "ReverseV2D",
        "Roll",
        "Select",
        "SelectV2",
        "Slice",
        "SliceD",
        "SpaceToDepth",
        "Split",
        "SplitD",
        "SplitV",
        "Squeeze",
        "SqueezeV3",
        "StridedSlice",
        "StridedSliceV2",
        "Tile",
        "Transpose",
        "TransposeD",
        "Unpack",
        "Unsqueeze",
        "UnsqueezeV3",
    )
)
"""Ops that put elements elsewhere and look at none: their own `evaluate` moves any element."""

CHOICES = frozenset(
    (
        "ArgMaxD",
        "ArgMaxV2",
        "ArgMin",
        "Ceil",
        "Equal",
        "Floor",
        "Greater",
        "GreaterEqual",
        "IsFinite",
        "IsInf",
        "IsNan",
        "Less",
        "LessEqual",
        "NotEqual",
        "Relu6",
        "Round",
        "Sign",
        "ZerosLike",
        "OnesLike",
    )
)
"""Ops that round nothing: exact wherever their operands are floats of their type."""


class Inexact(Exception):
    """An op, or a tensor, without exact values; the text says why."""


def lifted(array: Array, dtype: DataType) -> Array:
    """Floats as rationals; other types as they are. Raises Inexact for complex or large arrays."""
    import numpy as np

    if dtype not in MANTISSA:
        if array.dtype.kind not in "biu":
            raise Inexact(f"{dtype.name} has no exact values")
        return array
    if array.size > LIMIT:
        raise Inexact(f"a tensor has more than {LIMIT} elements")
    made: Array = np.empty(array.size, object)
    made[:] = [_number(float(value)) for value in array.ravel()]
    return made.reshape(array.shape)


def _number(value: float) -> Number:
    return Fraction(value) if isfinite(value) else value


def evaluate(op: GeOp, arrays: Sequence[Array]) -> list[Array]:
    """The results of an op on exact arrays, one per operand; raises Inexact, or what `execute`
    raises for operands it is not defined on."""
    kinds = {array.dtype.kind for array in arrays}
    if "O" not in kinds and all(
        tensor_of(result.type).dtype not in MANTISSA for result in op.results
    ):
        return op.execute(arrays)
    try:
        found = _results(op, arrays)
    except OverflowError:
        raise Inexact(f"{op.name} overflows") from None
    if any(array.size > LIMIT for array in found):
        raise Inexact(f"a tensor has more than {LIMIT} elements")
    return found


def _results(op: GeOp, arrays: Sequence[Array]) -> list[Array]:
    import numpy as np

    name = op.op_type
    if not arrays:
        return [
            lifted(array, tensor_of(result.type).dtype)
            for array, result in zip(op.execute(arrays), op.results, strict=True)
        ]
    if name in MOVES:
        return _moved(op, arrays)
    if name in CHOICES:
        return _chosen(op, arrays)
    function = ARITHMETIC.get(name)
    mixed = any(array.dtype.kind != "O" for array in arrays[: 1 if name in REDUCTIONS else None])
    if function is None or (mixed and name != "Cast"):
        raise Inexact(f"{op.name} has no exact values")
    return [np.asarray(function(op, op.arrange(arrays)), object)]


def _moved(op: GeOp, arrays: Sequence[Array]) -> list[Array]:
    import numpy as np

    found: Any = op.evaluate(*op.arrange(arrays))
    parts = cast("list[Array]", found if isinstance(found, list | tuple) else [found])
    made = [np.asarray(part) for part in parts]
    wanted = [tensor_of(result.type).dtype in MANTISSA for result in op.results]
    if [array.dtype.kind == "O" for array in made] != wanted:
        raise Inexact(f"{op.name} has no exact values")
    return [_tidy(array) if array.dtype.kind == "O" else array for array in made]


def _tidy(array: Array) -> Array:
    """The numbers that an op filled in, as rationals."""
    return _each(_rational, array)


def _of_integer(value: Any) -> Number:
    return Fraction(int(value))


def _rational(value: int | Number) -> Number:
    return Fraction(value) if isinstance(value, int) else value


def _chosen(op: GeOp, arrays: Sequence[Array]) -> list[Array]:
    given = [
        rounded(array, tensor_of(value.type).dtype, op.name)
        for array, value in zip(arrays, op.operands, strict=True)
    ]
    return [
        lifted(array, tensor_of(result.type).dtype)
        for array, result in zip(op.execute(given), op.results, strict=True)
    ]


def rounded(array: Array, dtype: DataType, what: str) -> Array:
    """Exact numbers as floats of a type; raises Inexact when one is none of them."""
    import numpy as np

    if array.dtype.kind != "O":
        return array
    with np.errstate(all="ignore"):
        made = array.astype(np.float64).astype(numpy_dtype(dtype))
    back = made.astype(np.float64)
    for have, want in zip(back.ravel(), array.ravel(), strict=True):
        if not same(_number(float(have)), want):
            raise Inexact(f"{what} rounds to {dtype.name}")
    return made


def same(a: Number, b: Number) -> bool:
    """Equality in which NaN is NaN."""
    return a == b or (isnan(a) and isnan(b))


# Arithmetic

Inputs: TypeAlias = "Sequence[Any]"
Arithmetic: TypeAlias = "Callable[[GeOp, Inputs], Any]"


def _each(function: Callable[..., Any], *arrays: Any) -> Array:
    import numpy as np

    return np.asarray(np.frompyfunc(function, len(arrays), 1)(*arrays), object)


def _divided(a: Number, b: Number) -> Number:
    if b == 0:
        return nan if a == 0 or isnan(a) else inf if a > 0 else -inf
    return a / b


def _divided_or_zero(a: Number, b: Number) -> Number:
    return Fraction(0) if b == 0 else _divided(a, b)


def _inverse(a: Number) -> Number:
    return _divided(Fraction(1), a)


def _square(a: Number) -> Number:
    return a * a


def _squared_difference(a: Number, b: Number) -> Number:
    return _square(a - b)


def _multiplied_and_added(a: Number, b: Number, c: Number) -> Number:
    return a * b + c


def _positive(a: Number) -> Number:
    return _larger(a, Fraction(0))


def _larger(a: Number, b: Number) -> Number:
    return nan if isnan(a) or isnan(b) else max(a, b)


def _smaller(a: Number, b: Number) -> Number:
    return nan if isnan(a) or isnan(b) else min(a, b)


def _sum(op: GeOp, values: Inputs) -> Any:
    return reduce(operator.add, values[0])


def _bias_add(op: GeOp, values: Inputs) -> Any:
    x, bias = values
    axis = cast("BiasAddOp", op).channel_axis(tensor_of(op.operands[0].type)) % x.ndim
    return x + bias.reshape([-1 if i == axis else 1 for i in range(x.ndim)])


def _product(transpose: tuple[str, str]) -> Arithmetic:
    def multiply(op: GeOp, values: Inputs) -> Any:
        a, b, *more = values
        a = a.swapaxes(-1, -2) if op.get_attr(transpose[0]) and a.ndim > 1 else a
        b = b.swapaxes(-1, -2) if op.get_attr(transpose[1]) and b.ndim > 1 else b
        if a.size * b.size // max(1, a.shape[-1]) > PRODUCTS:
            raise Inexact(f"{op.name} takes more than {PRODUCTS} multiplications")
        y = a @ b
        return y if not more or more[0] is None else y + more[0]

    return multiply


def _gemm(op: GeOp, values: Inputs) -> Any:
    a, b, c, alpha, beta = values
    product = _product(("transpose_a", "transpose_b"))(op, (a, b))
    return alpha.reshape(()) * product + beta.reshape(()) * c


def _reduction(combine: Callable[..., Any], empty: Number) -> Arithmetic:
    """An op that reduces over the axes which its class tells."""

    def reduced(op: GeOp, values: Inputs) -> Any:
        import numpy as np

        x: Array = values[0]
        axes = _axes(op, values)
        kept = tuple(i for i in range(x.ndim) if i not in axes)
        moved = x.transpose((*kept, *axes)).reshape((*(x.shape[i] for i in kept), -1))
        rows = moved.reshape(-1, moved.shape[-1])
        made = np.empty(len(rows), object)
        made[:] = [reduce(combine, row, empty) for row in rows]
        keep = bool(op.get_attr("keep_dims"))
        shape = [1 if i in axes else n for i, n in enumerate(x.shape) if keep or i not in axes]
        return made.reshape(shape)

    return reduced


def _mean(op: GeOp, values: Inputs) -> Any:
    total = _reduction(operator.add, Fraction(0))(op, values)
    x: Array = values[0]
    count = 1
    for axis in _axes(op, values):
        count *= x.shape[axis]
    return _each(_divided, total, Fraction(count))


def _axes(op: GeOp, values: Inputs) -> tuple[int, ...]:
    """The axes that a reduction runs over, counted from the front."""
    reduction = cast("OperandReduction | AttributeReduction", op)
    x, *more = values
    named = more[0].ravel().tolist() if more else cast("AttributeReduction", reduction).axes
    return tuple(reduced_axes(named, x.ndim, reduction.noop()))


def _elementwise(function: Callable[..., Any]) -> Arithmetic:
    return lambda op, values: _each(function, *values)


def _cast(op: GeOp, values: Inputs) -> Any:
    """A conversion of floats, exact where every number is one of the new type."""
    want = tensor_of(op.results[0].type).dtype
    if want not in MANTISSA:
        raise Inexact(f"{op.name} rounds to {want.name}")
    x: Array = values[0]
    numbers = x if x.dtype.kind == "O" else _each(_of_integer, x)
    rounded(numbers, want, op.name)
    return numbers


ARITHMETIC: dict[str, Arithmetic] = {
    "Abs": _elementwise(abs),
    "AccumulateNV2": _sum,
    "Add": _elementwise(operator.add),
    "AddN": _sum,
    "BatchMatMul": _product(("adj_x1", "adj_x2")),
    "BatchMatMulV2": _product(("adj_x1", "adj_x2")),
    "BiasAdd": _bias_add,
    "Cast": _cast,
    "Div": _elementwise(_divided),
    "DivNoNan": _elementwise(_divided_or_zero),
    "FusedMulAdd": _elementwise(_multiplied_and_added),
    "GEMM": _gemm,
    "MatMul": _product(("transpose_x1", "transpose_x2")),
    "MatMulV2": _product(("transpose_x1", "transpose_x2")),
    "Maximum": _elementwise(_larger),
    "Minimum": _elementwise(_smaller),
    "Mul": _elementwise(operator.mul),
    "Neg": _elementwise(operator.neg),
    "RealDiv": _elementwise(_divided),
    "Reciprocal": _elementwise(_inverse),
    "ReduceMaxD": _reduction(_larger, -inf),
    "ReduceMax": _reduction(_larger, -inf),
    "ReduceMean": _mean,
    "ReduceMeanD": _mean,
    "ReduceMin": _reduction(_smaller, inf),
    "ReduceMinD": _reduction(_smaller, inf),
    "ReduceProd": _reduction(operator.mul, Fraction(1)),
    "ReduceProdD": _reduction(operator.mul, Fraction(1)),
    "ReduceSum": _reduction(operator.add, Fraction(0)),
    "ReduceSumD": _reduction(operator.add, Fraction(0)),
    "Relu": _elementwise(_positive),
    "Square": _elementwise(_square),
    "SquaredDifference": _elementwise(_squared_difference),
    "Sub": _elementwise(operator.sub),
}
"""Ops that are made of +, -, *, / and the order of numbers, on exact operands."""


REDUCTIONS = frozenset(name for name in ARITHMETIC if name.startswith("Reduce"))


def roundings(array: Array, dtype: DataType) -> bool:
    """Whether a float constant looks like the rounding of another number: one of its elements
    uses more than half the digits of its type."""
    digits = MANTISSA.get(dtype)
    if digits is None or array.size > LIMIT:
        return digits is not None
    for value in array.ravel():
        number = _number(float(value))
        if isinstance(number, Fraction) and number:
            odd = abs(number.numerator)
            odd //= odd & -odd
            if odd.bit_length() > (digits + 1) // 2:
                return True
    return False


def compared(old: Array, new: Array, slack: float) -> Difference | None:
    """How exact arrays differ; `slack` is allowed relative to the largest old value."""
    import numpy as np

    if "O" not in (old.dtype.kind, new.dtype.kind):
        return None  # compared as they are
    finite = [abs(v) for v in old.ravel() if isinstance(v, Fraction)]
    allowed = Fraction(slack) * max(finite, default=Fraction(0))
    pairs = enumerate(zip(old.flat, new.flat, strict=True))
    wrong = [i for i, (a, b) in pairs if not _near(a, b, allowed)]
    if not wrong:
        return None
    gaps = [abs(old.flat[i] - new.flat[i]) for i in wrong]
    worst = max(range(len(wrong)), key=lambda k: gaps[k] if isfinite(gaps[k]) else inf)
    count = f"{len(wrong)} of {old.size} elements"
    if isfinite(gaps[worst]):
        text = f"is off by up to {float(gaps[worst]):.3g} without rounding, in {count}"
    else:
        text = f"differs without rounding in {count}"
    return Difference(text, tuple(int(i) for i in np.unravel_index(wrong[worst], old.shape)))


def _near(a: Number, b: Number, allowed: Fraction) -> bool:
    if same(a, b):
        return True
    both = isinstance(a, Fraction) and isinstance(b, Fraction)
    return both and abs(a - b) <= allowed
