"""What rewrites are tried on, how far above them is computed, and what is left unchecked."""

from __future__ import annotations

import numpy as np
import pytest
from graph_text import graph, node, pattern
from xdsl.dialects.func import FuncOp

from ge_xdsl.dialects.ge.graph import main_function
from ge_xdsl.dialects.ge.text import parse_module
from ge_xdsl.dialects.ge.types import DataType, Tensor
from ge_xdsl.pattern.cone import Cone, meeting
from ge_xdsl.pattern.driver import PatternRule, run_ge
from ge_xdsl.pattern.samples import LARGE, RANDOM, SIZES, SMALL, sample, turns_of
from ge_xdsl.pattern.verify import Verifier


def one(op: str, kind: str, result: str = "", inputs: int = 1) -> FuncOp:
    """A function of one op whose operands all have a type, the result's by default."""
    names = ["%x", "%z"][:inputs]
    args = ", ".join(f"{name}: {kind}" for name in names)
    types, result = ", ".join([kind] * inputs), result or kind
    text = f"func.func @main({args}) -> {result} {{\n  %y = ge.{op}({', '.join(names)}) : "
    text += f"({types}) -> {result}\n  func.return %y : {result}\n}}\n"
    return main_function(parse_module(text, "g.mlir"))


def checked(func: FuncOp, old: str, new: str, limit: int | None = None) -> Verifier:
    """The verifier after one sweep of `old -> new` over a graph."""
    replacement = graph(new)
    rule = PatternRule(pattern(old), lambda match: replacement, name="rule")
    verifier = Verifier() if limit is None else Verifier(limit=limit)
    run_ge(func.body.block, [rule], recorders=[verifier])
    return verifier


def outcome(verifier: Verifier) -> str:
    """The kind of sample that a rewrite failed on, 'right', or why it was not checked."""
    for failure in verifier.failures:
        return failure.sample.split(" (")[0]
    return next(iter(verifier.unchecked), "right" if verifier.passed else "nothing")


RMS = """x
 s = Square(x)
 m = ReduceMeanD(s) axes=[1] keep_dims=True
 e = Const 1e-6
 {0}
 y = RealDiv(x, q)
 return y"""
INSIDE = RMS.format("a = Add(m, e)\n q = Sqrt(a)")
OUTSIDE = RMS.format("r = Sqrt(m)\n q = Add(r, e)")
RECIPROCAL = INSIDE.replace("q = Sqrt(a)", "q = Rsqrt(a)").replace("RealDiv", "Mul")
F16, F32 = "tensor<4x4xf16>", "tensor<4x4xf32>"
ABS, ROOT = "x\n y = Abs(x)\n return y", "x\n s = Mul(x, x)\n y = Sqrt(s)\n return y"
WIDE_ROOT = """x
 w = Cast(x) dst_type=0
 s = Mul(w, w)
 r = Sqrt(s)
 y = Cast(r) dst_type=1
 return y"""
BOOL = "tensor<1xi1>"
OR, NOT_EQUAL = (f"x, z\n y = {op}(x, z)\n return y" for op in ("LogicalOr", "NotEqual"))
DIVIDE, FLOOR = (f"x, z\n y = {op}(x, z)\n return y" for op in ("TruncateDiv", "FloorDiv"))
PLUS_MINUS = "x\n o = Const 1.0\n a = Add(x, o)\n y = Sub(a, o)\n return y"

TRIED = {
    "an epsilon outside of the root": (graph(INSIDE), INSIDE, OUTSIDE, SMALL),
    "the same in another form": (graph(INSIDE), INSIDE, RECIPROCAL, "right"),
    "a square that f16 does not hold": (one("Abs", F16), ABS, ROOT, LARGE),
    "the same in f32 between casts": (one("Abs", F16), ABS, WIDE_ROOT, "right"),
    "the same where all is f32": (one("Abs", F32), ABS, ROOT, "right"),
    "two bits": (one("LogicalOr", BOOL, inputs=2), OR, NOT_EQUAL, RANDOM),
    "a quotient's sign": (one("TruncateDiv", "tensor<8xi32>", inputs=2), DIVIDE, FLOOR, "edge"),
    "rounding of small values": (
        graph(PLUS_MINUS),
        PLUS_MINUS,
        "x\n y = Neg(x)\n z = Neg(y)\n return z",
        "right",
    ),
}


@pytest.mark.parametrize(("func", "old", "new", "expected"), TRIED.values(), ids=TRIED)
def test_what_samples_tell(func, old, new, expected) -> None:
    assert outcome(checked(func, old, new)).startswith(expected)


def test_small_values_are_small_and_signed() -> None:
    for dtype in (DataType.DT_FLOAT, DataType.DT_FLOAT16, DataType.DT_BF16):
        values = np.abs(sample(Tensor(dtype, (64,)), SMALL, 0, SIZES[0]).astype(np.float64))
        assert 0 < values.max() < 0.05
        assert (values.astype(np.float32) ** 2).min() > 0
    signed = sample(Tensor(DataType.DT_INT32, (64,)), SMALL, 0, SIZES[0])
    assert (signed.min(), signed.max()) == (-4, 4)
    assert sample(Tensor(DataType.DT_UINT8, (64,)), SMALL, 0, SIZES[0]).max() == 7


def test_large_values_have_one_sign_per_turn() -> None:
    half = Tensor(DataType.DT_FLOAT16, (32,))
    assert turns_of(LARGE, [32]) == 2
    assert sample(half, LARGE, 0, SIZES[0]).min() == 300
    assert sample(half, LARGE, 0, SIZES[0], 1).max() == -300
    assert np.abs(sample(Tensor(DataType.DT_FLOAT, (32,)), LARGE, 0, SIZES[0])).max() < 10


def test_scalars_see_many_random_values() -> None:
    bit = Tensor(DataType.DT_BOOL, ())
    for kind in (RANDOM, "edge values"):
        assert {bool(sample(bit, kind, 0, SIZES[0], turn)) for turn in range(8)} == {True, False}


# How far above a rewrite is computed


def chain(count: int, last: str = "Neg") -> str:
    """Negations one after another."""
    lines = [f"v{i} = Neg({f'v{i - 1}' if i else 'x'})" for i in range(count - 1)]
    return "\n".join(["x", *lines, f"y = {last}(v{count - 2})", "return y"])


@pytest.mark.parametrize(("count", "expected"), [(14, "right"), (15, RANDOM)])
def test_a_pattern_deeper_than_the_context(count, expected) -> None:
    """The old side reads the inputs of the match, however far they are above it."""
    text = chain(count)
    assert outcome(checked(graph(text), text, "x\n y = Identity(x)\n return y")) == expected


def product(size: int, above: str = "") -> FuncOp:
    """A product and a sum, f32 matrices of `size` rows."""
    return graph(
        f"a[{size},{size}] b[{size},{size}]\n{above or 'x = Relu(a)'}\n"
        "m = MatMul(x, b)\n y = Add(m, b)\n return y"
    )


FUSED = "x b\n m = MatMul(x, b)\n y = Add(m, b)\n return y"
OTHER = "x b\n m = MatMulV2(x, b)\n y = Add(m, b)\n return y"


def test_too_much_work_is_not_checked() -> None:
    why = "takes more than 1000000 multiplications, raise the limit with --verify-limit"
    verifier = checked(product(200), FUSED, OTHER, 1_000_000)
    assert (verifier.passed, verifier.unchecked) == (0, {why: 1})
    assert verifier.summary() == f"checked 0 rewrites by numbers, 0 wrong; 1 not checked: {why}"
    assert outcome(checked(product(200), FUSED, OTHER, 60_000_000)) == "right"


def test_less_is_computed_above_a_rewrite_where_that_is_much_work() -> None:
    products = "\n".join(f"x{i} = MatMul({f'x{i - 1}' if i else 'a'}, b)" for i in range(12))
    func = product(64, f"{products}\n x = Relu(x11)")
    limit = Cone([node(func, "y").results[0]], 4).work()
    assert outcome(checked(func, FUSED, OTHER, limit)) == "right"


def test_unknown_sizes_that_differ_above_a_rewrite() -> None:
    text = """func.func @main(%x: tensor<?x?xf32>, %w: tensor<5x4xf32>) -> tensor<?x4xf32> {
  %a = ge.MatMul(%x, %w) : (tensor<?x?xf32>, tensor<5x4xf32>) -> tensor<?x4xf32>
  %b = ge.Abs(%a) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %c = ge.Neg(%b) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %y = ge.Abs(%c) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  func.return %y : tensor<?x4xf32>
}
"""
    func = main_function(parse_module(text, "g.mlir"))
    old = "x\n a = Neg(x)\n y = Abs(a)\n return y"
    assert outcome(checked(func, old, ABS)) == "right"


def test_results_without_elements_are_not_checked() -> None:
    verifier = checked(one("Abs", "tensor<0x4xf32>"), ABS, "x\n y = Neg(x)\n return y")
    assert (verifier.passed, verifier.unchecked) == (0, {"the results have no elements": 1})


def test_where_two_sides_part() -> None:
    func = graph(
        "x w\n a = Relu(x)\n m = MatMul(a, w)\n y = Add(m, x)\n n = Sub(a, x)\n return y, n"
    )
    y, n, a = (node(func, name).results[0] for name in ("y", "n", "a"))
    x, w = func.body.block.args
    assert meeting([y], [n]) == [x, a]
    assert meeting([y], [a]) == [x, a]
    assert w in Cone([y, n], 1, [x, a]).leaves


def test_pairs_of_integers_that_overflow() -> None:
    text = """func.func @main(%x: tensor<4x4xi32>, %z: tensor<4x4xi32>) -> tensor<4x4xi32> {
  %a = ge.Minimum(%x, %z) : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi32>
  %b = ge.Maximum(%x, %z) : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi32>
  %y = ge.Sub(%b, %a) : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi32>
  func.return %y : tensor<4x4xi32>
}
"""
    func = main_function(parse_module(text, "g.mlir"))
    old = "x z\n a = Minimum(x, z)\n b = Maximum(x, z)\n y = Sub(b, a)\n return y"
    new = "x z\n d = Sub(x, z)\n y = Abs(d)\n return y"
    assert outcome(checked(func, old, new)) == "edge values"
