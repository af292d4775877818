"""Functions that the vector unit lacks, as sequences of what it has, all in f32; integer ops.

Coefficients are those of Taylor series unless it says otherwise; arguments are first brought to
where the series is short. Relative errors stay below 2e-6.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import factorial, log, pi, sqrt

from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.lowering.emitter import UNSIGNED, Emitter, Operand, Recipe, cast_to

INFINITY = 1e39
"""Beyond f32: a number in an instruction that is rounded to infinity."""
Function = Callable[[Emitter, int], int]


def _function(call: Function) -> Recipe:
    return lambda emit, op, args: call(emit, emit.value(args[0]))


def _flag(emit: Emitter, bits: int) -> int:
    """Bits as truth values in bytes."""
    found = cast_to(emit.program, Emitter(emit.program, "f16").select(bits, 1.0, 0.0), "i1")
    emit.program.bits[found] = bits
    return found


def _test(kind: str, value: Callable[[Emitter, int], Operand], other: float | None) -> Recipe:
    def recipe(emit: Emitter, op: GeOp, args: Sequence[Operand]) -> int:
        x = emit.value(args[0])
        return _flag(emit, emit.compare(kind, value(emit, x), x if other is None else other))

    return recipe


def _abs(emit: Emitter, x: int) -> int:
    return emit.unary("abs", x)


def sign(emit: Emitter, x: int) -> int:
    """1 above 0, -1 below, x itself (0 or NaN) else."""
    above = emit.select(emit.compare("gt", x, 0.0), 1.0, x)
    return emit.select(emit.compare("lt", x, 0.0), -1.0, above)


def signed(emit: Emitter, y: int, x: int) -> int:
    """y with the sign of x, which y does not have yet."""
    return emit.select(emit.compare("lt", x, 0.0), emit.scalar("muls", y, -1.0), y)


def expm1(emit: Emitter, x: int) -> int:
    """exp(x) - 1; x (1 + x/2! + x^2/3! + ...) for |x| < 0.5"""
    small = emit.binary("mul", x, emit.polynomial(x, [1 / factorial(n) for n in range(1, 9)]))
    large = emit.scalar("adds", emit.unary("exp", x), -1.0)
    return emit.select(emit.compare("lt", _abs(emit, x), 0.5), small, large)


def log1p(emit: Emitter, x: int) -> int:
    """ln(u) x / (u - 1), u = 1 + x as it is rounded: ln and u - 1 err alike; x at u = 1"""
    u = emit.scalar("adds", x, 1.0)
    below = emit.scalar("adds", u, -1.0)
    ratio = emit.binary("div", emit.binary("mul", emit.unary("ln", u), x), below)
    out = emit.select(emit.compare("eq", below, 0.0), x, ratio)
    return emit.select(emit.compare("eq", x, INFINITY), x, out)


ERFC = (
    -1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806, 0.27886807, -1.13520398,
    1.48851587, -0.82215223, 0.17087277,
)  # fmt: skip
"""erfc(z) = t exp(-z^2 + P(t)), t = 1 / (1 + z / 2), for z >= 0: a Chebyshev fit of relative error
1.2e-7 (Numerical Recipes, section 6.2)."""


def erfc(emit: Emitter, x: int) -> int:
    z = _abs(emit, x)
    t = emit.binary("div", 1.0, emit.scalar("adds", emit.scalar("muls", z, 0.5), 1.0))
    power = emit.binary("sub", emit.polynomial(t, ERFC), emit.binary("mul", z, z))
    y = emit.binary("mul", t, emit.unary("exp", power))
    below = emit.scalar("adds", emit.scalar("muls", y, -1.0), 2.0)
    return emit.select(emit.compare("lt", x, 0.0), below, y)


PI_PARTS = (3.140625, 0.0009670257568359375, 6.277114152908325e-07, 1.2154201256553420e-10)
"""pi as a sum of numbers of 8 bits each (the last of all that is left): k times one is exact."""
SIN = [(-1) ** n / factorial(2 * n + 1) for n in range(6)]


def _sine(emit: Emitter, x: int, k: int) -> int:
    """sin(x - k pi) (-1)^k, where k is whole or x - k pi was shifted by pi / 2"""
    r = x
    for part in PI_PARTS:
        r = emit.binary("sub", r, emit.scalar("muls", k, part))
    s = emit.binary("mul", r, emit.polynomial(emit.binary("mul", r, r), SIN))
    return s


def _alternating(emit: Emitter, y: int, k: int) -> int:
    """y (-1)^k for a whole k"""
    half = emit.rounded(emit.scalar("muls", k, 0.5), "floor")
    odd = emit.binary("sub", k, emit.scalar("muls", half, 2.0))
    return emit.binary("mul", y, emit.scalar("adds", emit.scalar("muls", odd, -2.0), 1.0))


def sin(emit: Emitter, x: int) -> int:
    k = emit.rounded(emit.scalar("muls", x, 1 / pi), "rint")
    return _alternating(emit, _sine(emit, x, k), k)


def cos(emit: Emitter, x: int) -> int:
    """cos(x) = (-1)^(k + 1) sin(x - (k + 1/2) pi), k + 1/2 nearest to x / pi"""
    k = emit.rounded(emit.scalar("adds", emit.scalar("muls", x, 1 / pi), -0.5), "rint")
    centre = emit.scalar("adds", k, 0.5)
    return emit.scalar("muls", _alternating(emit, _sine(emit, x, centre), k), -1.0)


def tan(emit: Emitter, x: int) -> int:
    return emit.binary("div", sin(emit, x), cos(emit, x))


ATAN = [(-1) ** n / (2 * n + 1) for n in range(8)]
EIGHTH = sqrt(2) - 1
"""tan(pi / 8)"""


def atan(emit: Emitter, x: int) -> int:
    """pi/2 - atan(1/t) above 1, pi/4 + atan((t-1)/(t+1)) above tan(pi/8), then a series"""
    z = _abs(emit, x)
    above = emit.compare("gt", z, 1.0)
    t = emit.select(above, emit.unary("rec", z), z)
    steep = emit.compare("gt", t, EIGHTH)
    turned = emit.binary("div", emit.scalar("adds", t, -1.0), emit.scalar("adds", t, 1.0))
    r = emit.select(steep, turned, t)
    y = emit.binary("mul", r, emit.polynomial(emit.binary("mul", r, r), ATAN))
    y = emit.select(steep, emit.scalar("adds", y, pi / 4), y)
    rest = emit.scalar("adds", emit.scalar("muls", y, -1.0), pi / 2)
    return signed(emit, emit.select(above, rest, y), x)


def _cosine_of(emit: Emitter, x: int) -> int:
    """sqrt((1 - x) (1 + x))"""
    below = emit.scalar("adds", emit.scalar("muls", x, -1.0), 1.0)
    return emit.unary("sqrt", emit.binary("mul", below, emit.scalar("adds", x, 1.0)))


def asin(emit: Emitter, x: int) -> int:
    """atan(x / sqrt(1 - x^2))"""
    return atan(emit, emit.binary("div", x, _cosine_of(emit, x)))


def acos(emit: Emitter, x: int) -> int:
    """2 atan(sqrt((1 - x) / (1 + x)))"""
    below = emit.scalar("adds", emit.scalar("muls", x, -1.0), 1.0)
    ratio = emit.binary("div", below, emit.scalar("adds", x, 1.0))
    return emit.scalar("muls", atan(emit, emit.unary("sqrt", ratio)), 2.0)


def sinh(emit: Emitter, x: int) -> int:
    """(e + e / (e + 1)) / 2 with e = exp(x) - 1 of |x|"""
    e = expm1(emit, _abs(emit, x))
    part = emit.binary("div", e, emit.scalar("adds", e, 1.0))
    half = emit.scalar("muls", emit.binary("add", e, part), 0.5)
    # inf / inf is NaN where exp overflows
    large = emit.compare("ge", e, 1e30)
    half = emit.select(large, emit.scalar("muls", e, 0.5), half)
    return signed(emit, half, x)


def cosh(emit: Emitter, x: int) -> int:
    e = emit.unary("exp", _abs(emit, x))
    return emit.scalar("muls", emit.binary("add", e, emit.unary("rec", e)), 0.5)


def asinh(emit: Emitter, x: int) -> int:
    """log1p(z + z^2 / (1 + sqrt(1 + z^2))) of z = |x|; ln(z) + ln(2) for large ones"""
    z = _abs(emit, x)
    square = emit.binary("mul", z, z)
    root = emit.unary("sqrt", emit.scalar("adds", square, 1.0))
    more = emit.binary("div", square, emit.scalar("adds", root, 1.0))
    y = log1p(emit, emit.binary("add", z, more))
    large = emit.scalar("adds", emit.unary("ln", z), log(2))
    return signed(emit, emit.select(emit.compare("gt", z, 1e9), large, y), x)


def acosh(emit: Emitter, x: int) -> int:
    """log1p(t + sqrt(2 t + t^2)) of t = x - 1"""
    t = emit.scalar("adds", x, -1.0)
    inner = emit.binary("mul", t, emit.scalar("adds", t, 2.0))
    return log1p(emit, emit.binary("add", t, emit.unary("sqrt", inner)))


def atanh(emit: Emitter, x: int) -> int:
    """log1p(2 z / (1 - z)) / 2 of z = |x|"""
    z = _abs(emit, x)
    below = emit.scalar("adds", emit.scalar("muls", z, -1.0), 1.0)
    y = log1p(emit, emit.binary("div", emit.scalar("muls", z, 2.0), below))
    return signed(emit, emit.scalar("muls", y, 0.5), x)


def softplus(emit: Emitter, x: int) -> int:
    """max(x, 0) + log1p(exp(-|x|))"""
    tail = log1p(emit, emit.unary("exp", emit.scalar("muls", _abs(emit, x), -1.0)))
    return emit.binary("add", emit.scalar("maxs", x, 0.0), tail)


def mish(emit: Emitter, x: int) -> int:
    """x tanh(softplus(x)) = x n / (n + 2) with n = e (e + 2), e = exp(x)"""
    e = emit.unary("exp", emit.scalar("mins", x, 30.0))
    n = emit.binary("mul", e, emit.scalar("adds", e, 2.0))
    return emit.binary("mul", x, emit.binary("div", n, emit.scalar("adds", n, 2.0)))


def _elu_of(emit: Emitter, x: int, alpha: float, scale: float, slope: float) -> int:
    """scale x above 0, scale alpha (exp(slope x) - 1) below"""
    inner = emit.scalar("muls", x, slope) if slope != 1 else x
    below = emit.scalar("muls", expm1(emit, inner), scale * alpha)
    above = emit.scalar("muls", x, scale) if scale != 1 else x
    return emit.select(emit.compare("gt", x, 0.0), above, below)


def _elu(emit: Emitter, op: GeOp, args: Sequence[Operand]) -> int:
    x = emit.value(args[0])
    return _elu_of(emit, x, op.get_attr("alpha"), op.get_attr("scale"), op.get_attr("input_scale"))


def _selu(emit: Emitter, op: GeOp, args: Sequence[Operand]) -> int:
    return _elu_of(emit, emit.value(args[0]), 1.6732632423543772, 1.0507009873554805, 1.0)


def softsign(emit: Emitter, x: int) -> int:
    return emit.binary("div", x, emit.scalar("adds", _abs(emit, x), 1.0))


def power(emit: Emitter, a: int, b: int) -> int:
    """|a|^b = exp(b ln|a|), with the sign of a for a whole odd b, NaN for a < 0 and no whole b"""
    size = emit.size(a, b)
    a, b = emit.fit(a, size), emit.fit(b, size)
    z = emit.unary("exp", emit.binary("mul", b, emit.unary("ln", _abs(emit, a))))
    whole = emit.rounded(b, "floor")
    half = emit.rounded(emit.scalar("muls", b, 0.5), "floor")
    odd = emit.binary("sub", whole, emit.scalar("muls", half, 2.0))
    negative = emit.binary("mul", z, emit.scalar("adds", emit.scalar("muls", odd, -2.0), 1.0))
    # 0 / 0 where b is not whole
    nothing = emit.binary("sub", b, b)
    nothing = emit.binary("div", nothing, nothing)
    negative = emit.select(emit.compare("eq", whole, b), negative, nothing)
    y = emit.select(emit.compare("lt", a, 0.0), negative, z)
    y = emit.select(emit.compare("eq", b, 0.0), 1.0, y)
    return emit.select(emit.compare("eq", a, 1.0), 1.0, y)


def _pow(emit: Emitter, op: GeOp, args: Sequence[Operand]) -> int:
    a, b = args
    if not isinstance(b, int):
        return _fixed_power(emit, emit.value(a), b)
    return power(emit, emit.value(a), emit.value(b))


def _fixed_power(emit: Emitter, x: int, exponent: float) -> int:
    """x to a known exponent: products for small whole ones, roots, else exp(b ln x)"""
    if exponent == 0.5:
        return emit.unary("sqrt", x)
    if exponent == int(exponent) and 1 <= abs(exponent) <= 8:
        y = x
        for _ in range(int(abs(exponent)) - 1):
            y = emit.binary("mul", y, x)
        return emit.unary("rec", y) if exponent < 0 else y
    return power(emit, x, emit.fit(exponent, emit.size(x)))


def _power(emit: Emitter, op: GeOp, args: Sequence[Operand]) -> int:
    """(scale x + shift)^power"""
    x = emit.value(args[0])
    if op.get_attr("scale") == 0:  # whatever x is, infinite too
        return _fixed_power(
            emit, emit.fit(op.get_attr("shift"), emit.size(x)), op.get_attr("power")
        )
    x = emit.scalar("muls", x, op.get_attr("scale"))
    return _fixed_power(emit, emit.scalar("adds", x, op.get_attr("shift")), op.get_attr("power"))


def _quotient(emit: Emitter, args: Sequence[Operand], mode: str) -> int:
    return emit.rounded(emit.binary("div", args[0], args[1]), mode)


def _whole_division(kind: str, mode: str) -> Recipe:
    """A division rounded to a whole number, by the scalar unit for integers"""

    def recipe(emit: Emitter, op: GeOp, args: Sequence[Operand]) -> int:
        if emit.element in WHOLE:
            return emit.one_by_one(kind, args[0], args[1])
        return _quotient(emit, args, mode)

    return recipe


def _remainder(kind: str, mode: str) -> Recipe:
    """a - b round(a / b)"""

    def recipe(emit: Emitter, op: GeOp, args: Sequence[Operand]) -> int:
        if emit.element in WHOLE:
            return emit.one_by_one(kind, args[0], args[1])
        whole = _quotient(emit, args, mode)
        return emit.binary("sub", args[0], emit.binary("mul", whole, args[1]))

    return recipe


def _division(emit: Emitter, op: GeOp, args: Sequence[Operand]) -> int:
    if emit.element in WHOLE:
        return emit.one_by_one("div", args[0], args[1])
    return emit.binary("div", args[0], args[1])


def _div_no_nan(emit: Emitter, op: GeOp, args: Sequence[Operand]) -> int:
    a, b = args
    if emit.element in WHOLE:
        return emit.one_by_one("floordiv", a, b)
    return emit.select(emit.compare("eq", b, 0.0), 0.0, emit.binary("div", a, b))


def _axpy(emit: Emitter, op: GeOp, args: Sequence[Operand]) -> int:
    return emit.binary("add", args[0], emit.scalar("muls", args[1], op.get_attr("alpha")))


def _lerp(emit: Emitter, op: GeOp, args: Sequence[Operand]) -> int:
    start, end, weight = args
    step = emit.either("mul", emit.sub(end, start), weight)
    return emit.either("add", start, step)


def _addcmul(emit: Emitter, op: GeOp, args: Sequence[Operand]) -> int:
    x, a, b, value = args
    return emit.either("add", x, emit.either("mul", emit.either("mul", a, b), value))


def _addcdiv(emit: Emitter, op: GeOp, args: Sequence[Operand]) -> int:
    x, a, b, value = args
    return emit.either("add", x, emit.either("mul", emit.binary("div", a, b), value))


def _prelu(emit: Emitter, op: GeOp, args: Sequence[Operand]) -> int:
    x, weight = args
    below = emit.either("mul", emit.scalar("mins", x, 0.0), weight)
    return emit.either("add", emit.scalar("maxs", x, 0.0), below)


def _sign(emit: Emitter, op: GeOp, args: Sequence[Operand]) -> int:
    if emit.element not in WHOLE:
        return sign(emit, emit.value(args[0]))
    return emit.program.step("scalar", (emit.value(args[0]),), emit.size(args[0]), "sign")


def _absolute(emit: Emitter, op: GeOp, args: Sequence[Operand]) -> int:
    if emit.element not in WHOLE:
        return emit.unary("abs", args[0])
    return emit.program.step("scalar", (emit.value(args[0]),), emit.size(args[0]), "abs")


def _bits(kind: str) -> Recipe:
    return lambda emit, op, args: emit.one_by_one(kind, args[0], args[1])


def _invert(emit: Emitter, op: GeOp, args: Sequence[Operand]) -> int:
    return emit.program.step("scalar", (emit.value(args[0]),), emit.size(args[0]), "not")


def _rounding(mode: str) -> Recipe:
    return lambda emit, op, args: emit.rounded(args[0], mode)


def _same(emit: Emitter, op: GeOp, args: Sequence[Operand]) -> int:
    return emit.value(args[0])


FLOATS = frozenset({"f16", "bf16", "f32"})
WHOLE = frozenset({"i64", "i32", "i16", "i8", *UNSIGNED})
NUMBERS = FLOATS | WHOLE

MATHS: dict[str, tuple[Recipe, frozenset[str]]] = {
    "Sign": (_sign, NUMBERS),
    "Expm1": (_function(expm1), FLOATS),
    "Log1p": (_function(log1p), FLOATS),
    "Erfc": (_function(erfc), FLOATS),
    "Sin": (_function(sin), FLOATS),
    "Cos": (_function(cos), FLOATS),
    "Tan": (_function(tan), FLOATS),
    "Atan": (_function(atan), FLOATS),
    "Asin": (_function(asin), FLOATS),
    "Acos": (_function(acos), FLOATS),
    "Sinh": (_function(sinh), FLOATS),
    "Cosh": (_function(cosh), FLOATS),
    "Asinh": (_function(asinh), FLOATS),
    "Acosh": (_function(acosh), FLOATS),
    "Atanh": (_function(atanh), FLOATS),
    "Floor": (_rounding("floor"), FLOATS),
    "Ceil": (_rounding("ceil"), FLOATS),
    "Trunc": (_rounding("trunc"), FLOATS),
    "Rint": (_rounding("rint"), FLOATS),
    "Round": (_rounding("rint"), FLOATS),
    "Softplus": (_function(softplus), FLOATS),
    "Softsign": (_function(softsign), FLOATS),
    "Mish": (_function(mish), FLOATS),
    "Elu": (_elu, FLOATS),
    "Selu": (_selu, FLOATS),
    "PRelu": (_prelu, FLOATS),
    "Inv": (_function(lambda emit, x: emit.unary("rec", x)), FLOATS),
    "Pow": (_pow, FLOATS),
    "Power": (_power, FLOATS),
    "FloorDiv": (_whole_division("floordiv", "floor"), NUMBERS),
    "TruncateDiv": (_whole_division("div", "trunc"), NUMBERS),
    "Div": (_division, NUMBERS),
    "RealDiv": (_division, NUMBERS),
    "DivNoNan": (_div_no_nan, NUMBERS),
    "Mod": (_remainder("rem", "trunc"), NUMBERS),
    "TruncateMod": (_remainder("rem", "trunc"), NUMBERS),
    "FloorMod": (_remainder("mod", "floor"), NUMBERS),
    "Axpy": (_axpy, FLOATS),
    "Lerp": (_lerp, FLOATS),
    "Addcmul": (_addcmul, FLOATS),
    "Addcdiv": (_addcdiv, FLOATS),
    "Abs": (_absolute, NUMBERS),
    "BitwiseAnd": (_bits("and"), WHOLE),
    "BitwiseOr": (_bits("or"), WHOLE),
    "BitwiseXor": (_bits("xor"), WHOLE),
    "LeftShift": (_bits("shl"), WHOLE),
    "RightShift": (_bits("shr"), WHOLE),
    "BitwiseNot": (_invert, WHOLE),
    "Invert": (_invert, WHOLE),
    "InvertV2": (_invert, WHOLE),
    "TensorMove": (_same, NUMBERS | {"i1"}),
}
"""Op type -> its recipe and the element types of what it computes with; f16 and bf16 go by f32."""

TESTS: dict[str, Recipe] = {
    "IsNan": _test("ne", lambda emit, x: x, None),
    "IsInf": _test("eq", _abs, INFINITY),
    "IsFinite": _test("lt", _abs, INFINITY),
    "IsPosInf": _test("eq", lambda emit, x: x, INFINITY),
    "IsNegInf": _test("eq", lambda emit, x: x, -INFINITY),
}
"""Op type -> its recipe: a truth value of a number."""
