"""Rewrites checked without rounding and on edge values: what floats within a tolerance miss."""

from __future__ import annotations

from fractions import Fraction
from math import inf, nan

import numpy as np
import pytest
from op_text import module_of
from test_verify_rewrites import function, pattern_rule, run

from ge_xdsl.dialects.ge.graph import ge_ops, main_function
from ge_xdsl.dialects.ge.op import constant_of
from ge_xdsl.dialects.ge.text import module_text, parse_module
from ge_xdsl.dialects.ge.types import DataType, Tensor, numpy_dtype, tensor_of
from ge_xdsl.pattern import exact
from ge_xdsl.pattern.exact import Inexact
from ge_xdsl.pattern.samples import (
    EDGES,
    EVERY_SAMPLE,
    HUGE,
    NONFINITE,
    RANDOM,
    SIZES,
    Difference,
    compared,
    sample,
    turns_of,
)
from ge_xdsl.pattern.verify import Verifier

CONST = "%{} = ge.Const() {{value = dense<{}> : tensor<{}>}} : () -> tensor<{}>"


def chain(*calls, kind="f32"):
    """Lines `op` or `op value`: x goes through each; a value is a scalar second operand."""
    lines, last = [], "%x"
    for i, call in enumerate(calls):
        op, _, value = call.partition(" ")
        name = "%y" if i == len(calls) - 1 else f"%v{i}"
        if value == "x":
            lines.append(f"{name} = ge.{op}({last}, %x) : (T, T) -> T")
        elif value:
            lines.append(CONST.format(f"c{i}", value, kind, kind))
            lines.append(f"{name} = ge.{op}({last}, %c{i}) : (T, tensor<{kind}>) -> T")
        else:
            lines.append(f"{name} = ge.{op}({last}) : (T) -> T")
        last = name
    return function(lines, f"tensor<2x6x{kind}>")


def checked(old, new, kind="f32"):
    """The verifier after the rule old -> new was tried on old."""
    module, verifier = chain(*old, kind=kind), Verifier()
    before = module_text(module)
    run(module, pattern_rule(chain(*old, kind=kind), chain(*new, kind=kind)), verifier)
    if verifier.failures:
        assert module_text(module) == before
    return verifier


ONLY_AT_THE_EDGE = {
    "x * 0 is not 0 for NaN": (["Mul 0.0"], ["ZerosLike"], "f32", "NaN and infinite values"),
    "x / x is not 1 at 0": (["RealDiv x"], ["OnesLike"], "f32", "edge values"),
    "x - x is not 0 for NaN": (["Sub x"], ["ZerosLike"], "f32", "NaN and infinite values"),
    "the sign of zero": (["Add 0.0", "Reciprocal"], ["Reciprocal"], "f32", "edge values"),
    "relu of 0": (["Relu", "RealDiv x"], ["Sign", "Relu"], "f32", "edge values"),
    "integers wrap": (["Mul 2", "Div 2"], ["Identity"], "i32", "edge values"),
    "the lowest integer": (["Neg", "Maximum x"], ["Abs", "Maximum 0"], "i8", "edge values"),
    "unsigned above its end": (["Add 1", "Maximum 1"], ["Add 1"], "ui8", "edge values"),
    "an end of the type that moves": (["Mul 2.0"], ["Mul 2.0", "Minimum 100.0"], "f32", "edge v"),
    "a number below zero": (["Abs"], ["Identity"], "i32", "edge values"),
    "an overflow on the way": (["Identity"], ["Mul 1.0e25", "Mul 1.0e-25"], "f32", "huge values"),
}


@pytest.mark.parametrize("name", ONLY_AT_THE_EDGE)
def test_what_is_wrong_only_at_the_edge_is_undone(name) -> None:
    old, new, kind, where = ONLY_AT_THE_EDGE[name]
    [failure] = checked(old, new, kind).failures
    assert failure.sample.startswith(where)
    assert failure.rule == "rule"
    assert failure.site == f"ge.{old[-1].split()[0]} 'y'"


def test_the_message_has_rule_site_inputs_and_values() -> None:
    [failure] = checked(["RealDiv x"], ["OnesLike"]).failures
    assert failure.error().render() == (
        "g.mlir:2:3: error: ge.RealDiv 'y': rule 'rule' of pass 'P' changes the result on edge "
        "values ('x'[1, 2] = -0): output 0 differs in 2 infinite or NaN elements of 12 (1 at "
        "[1, 2], it was nan), expected the same values (the rewrite is undone)"
    )


INEXACT = {
    "a factor that is almost 1": (["Mul 1.0005"], ["Identity"], "f32"),
    "a factor that is one step from 1": (["Mul 1.0009765625"], ["Identity"], "f16"),
    "a divisor that is almost 3": (["Mul 0.3334"], ["RealDiv 3.0"], "f32"),
    "a sum that is almost nothing": (["Add 0.0001"], ["Identity"], "f32"),
    "a wrong constant beside its rounding": (["Mul 0.1", "Mul 0.7"], ["Mul 0.07005"], "f32"),
    "a rounded third for a third": (["Mul 0.33333334"], ["RealDiv 3.0"], "f32"),
}


@pytest.mark.parametrize("name", INEXACT)
def test_what_a_tolerance_lets_pass_is_not_equal(name) -> None:
    old, new, kind = INEXACT[name]
    [failure] = checked(old, new, kind).failures
    assert "is off by up to" in failure.difference
    assert "without rounding, in " in failure.difference


RIGHT = {
    "a sum in another order": (["Add x", "Add 2.0"], ["Add 2.0", "Add x"], "f32", True),
    "a factor out of a sum": (["Mul 3.0", "Add x"], ["Mul 4.0"], "f16", True),
    "a constant rounded once": (["Mul 0.1", "Mul 0.7"], ["Mul 0.07"], "f32", True),
    "a third as a factor": (["RealDiv 3.0"], ["Mul 0.33333334"], "f32", True),
    "a square": (["Mul x"], ["Square"], "bf16", True),
    "integers that wrap on both sides": (["Mul 2"], ["Add x"], "i32", True),
    "an overflow that goes away": (["Exp", "Log"], ["Identity"], "f32", False),
    "a smaller type that overflowed": (["Exp", "Log"], ["Identity"], "bf16", False),
    "an exponential": (["Neg", "Exp"], ["Exp", "Reciprocal"], "f32", False),
}


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_is_kept(name) -> None:
    old, new, kind, without = RIGHT[name]
    verifier = checked(old, new, kind)
    assert [f.difference for f in verifier.failures] == []
    assert (verifier.passed, verifier.exact) == (1, int(without))
    want = "1 equal without rounding" if without else "1 within a tolerance: ge.Exp has no exact"
    assert want in verifier.summary()


def test_a_product_of_exponentials_may_overflow_less() -> None:
    """exp(x) exp(y) is infinite or NaN where exp(x + y) is 1; the other way round is wrong."""
    lines = ["%a = ge.Exp(%x) : (T) -> T", "%b = ge.Exp(%n) : (T) -> T"]
    neg = "%n = ge.Neg(%x) : (T) -> T"
    product = [neg, *lines, "%y = ge.Mul(%a, %b) : (T, T) -> T"]
    of_sum = [neg, "%s = ge.Add(%x, %n) : (T, T) -> T", "%y = ge.Exp(%s) : (T) -> T"]
    kind = "tensor<4xf32>"
    for old, new, wrong in ((product, of_sum, 0), (of_sum, product, 1)):
        module, verifier = function(old, kind), Verifier()
        rule = pattern_rule(function(old, kind), function(new, kind))
        run(module, rule, verifier)
        assert (verifier.passed, len(verifier.failures)) == (1 - wrong, wrong)


def test_few_elements_see_all_edge_values() -> None:
    """A scalar is tried on each value of a list, not on one of them."""
    scalar = Tensor(DataType.DT_FLOAT, ())
    for kind in (EDGES, NONFINITE):
        turns = turns_of(kind, [1])
        values = {str(float(sample(scalar, kind, 5, SIZES[0], turn))) for turn in range(turns)}
        assert len(values) >= 7
    assert turns_of(EDGES, [4]) == 3
    assert turns_of(EDGES, [4, 100]) == 8  # more pairs of values than are tried
    assert turns_of(EDGES, [100, 100]) == 2
    assert turns_of(EDGES, [4, 100_000]) == turns_of(EDGES, [0]) == turns_of(RANDOM, [16]) == 1
    assert turns_of(RANDOM, [1]) == turns_of(RANDOM, [100, 1]) == 16


# The ops themselves: to each the values that floats give, on numbers that floats hold.

OPS = [
    "ge.Abs(<2x3xf32>)",
    "ge.AccumulateNV2([<2x3xf32>, <2x3xf32>]) {N = 2}",
    "ge.Add(<2x3xf32>, <3xf32>)",
    "ge.AddN([<2x3xf32>, <2x3xf32>, <2x3xf32>]) {N = 3}",
    "ge.ArgMaxD(<2x3xf32>) {dimension = 1}",
    "ge.ArgMaxV2(<2x3xf32>, <1: i32>)",
    "ge.ArgMin(<2x3xf32>, <0: i32>)",
    "ge.BatchMatMul(<2x3xf32>, <2x3xf32>) {adj_x2 = true}",
    "ge.BatchMatMulV2(<2x3xf32>, <3x2xf32>)",
    "ge.BatchToSpaceND(<4x2x2xf32>, <[2, 2]: 2xi64>, <[[0, 0], [0, 0]]: 2x2xi64>)",
    "ge.BiasAdd(<2x3xf32>, <3xf32>)",
    "ge.BroadcastTo(<3xf32>, <[2, 3]: 2xi64>)",
    "ge.Cast(<2x3xf32>) {dst_type = 11}",
    "ge.Cast(<2x3xi32>) {dst_type = 0}",
    "ge.Ceil(<2x3xf32>)",
    "ge.Concat(<1: i32>, [<2x3xf32>, <2x3xf32>]) {N = 2}",
    "ge.ConcatD([<2x3xf32>, <2x3xf32>]) {concat_dim = 0, N = 2}",
    "ge.ConcatV2([<2x3xf32>, <2x3xf32>], <1: i32>) {N = 2}",
    "ge.ConcatV2D([<2x3xf32>, <2x3xf32>]) {concat_dim = 0, N = 2}",
    "ge.DepthToSpace(<1x2x3x4xf32>) {block_size = 2}",
    "ge.Div(<2x3xf32>, <3xf32>)",
    "ge.DivNoNan(<2x3xf32>, <3xf32>)",
    "ge.Equal(<2x3xf32>, <2x3xf32>)",
    "ge.Expand(<3xf32>, <[2, 3]: 2xi64>)",
    "ge.ExpandDims(<2x3xf32>, <0: i32>)",
    "ge.Flatten(<2x3x2xf32>)",
    "ge.FlattenV2(<2x3x2xf32>)",
    "ge.Floor(<2x3xf32>)",
    "ge.FusedMulAdd(<2x3xf32>, <2x3xf32>, <2x3xf32>)",
    "ge.GEMM(<2x3xf32>, <3x2xf32>, <2x2xf32>, <f32>, <f32>)",
    "ge.Gather(<2x3xf32>, <[1, 0, 1]: 3xi32>)",
    "ge.GatherNd(<2x3xf32>, <[[1, 0], [0, 2]]: 2x2xi32>)",
    "ge.GatherV2(<2x3xf32>, <[2, 0]: 2xi32>, <1: i32>)",
    "ge.GatherV2D(<2x3xf32>, <[2, 0]: 2xi32>) {axis = 1}",
    "ge.Greater(<2x3xf32>, <2x3xf32>)",
    "ge.GreaterEqual(<2x3xf32>, <2x3xf32>)",
    "ge.Identity(<2x3xf32>)",
    "ge.IsFinite(<2x3xf32>)",
    "ge.IsInf(<2x3xf32>)",
    "ge.IsNan(<2x3xf32>)",
    "ge.Less(<2x3xf32>, <2x3xf32>)",
    "ge.LessEqual(<2x3xf32>, <2x3xf32>)",
    "ge.MatMul(<2x3xf32>, <2x3xf32>) {transpose_x2 = true}",
    "ge.MatMulV2(<2x3xf32>, <3x2xf32>, bias = <2xf32>)",
    "ge.Maximum(<2x3xf32>, <3xf32>)",
    "ge.Minimum(<2x3xf32>, <3xf32>)",
    "ge.Mul(<2x3xf32>, <3xf32>)",
    "ge.Neg(<2x3xf32>)",
    "ge.NotEqual(<2x3xf32>, <2x3xf32>)",
    "ge.OnesLike(<2x3xf32>)",
    "ge.Pack([<2x3xf32>, <2x3xf32>]) {N = 2, axis = 1}",
    "ge.Pad(<2x3xf32>, <[[1, 0], [0, 2]]: 2x2xi64>)",
    "ge.PadV3(<2x3xf32>, <[[1, 0], [0, 2]]: 2x2xi64>, constant_values = <2.5: f32>)",
    "ge.RealDiv(<2x3xf32>, <3xf32>)",
    "ge.Reciprocal(<2x3xf32>)",
    "ge.ReduceMax(<2x3xf32>, <[1]: 1xi64>)",
    "ge.ReduceMaxD(<2x3xf32>) {axes = [0], keep_dims = true}",
    "ge.ReduceMean(<2x3xf32>, <[-1]: 1xi64>)",
    "ge.ReduceMeanD(<2x3xf32>) {axes = [0, 1]}",
    "ge.ReduceMin(<2x3xf32>, <[0]: 1xi64>)",
    "ge.ReduceMinD(<2x3xf32>) {axes = []}",
    "ge.ReduceProd(<2x3xf32>, <[1]: 1xi64>)",
    "ge.ReduceProdD(<2x3x2xf32>) {axes = [2, 0]}",
    "ge.ReduceSum(<2x3xf32>, <[1]: 1xi64>) {keep_dims = true}",
    "ge.ReduceSumD(<2x3x2xf32>) {axes = [1]}",
    "ge.Relu(<2x3xf32>)",
    "ge.Relu6(<2x3xf32>)",
    "ge.RepeatInterleave(<2x3xf32>, <2: i64>) {axis = 1}",
    "ge.Reshape(<2x3xf32>, <[3, 2]: 2xi64>)",
    "ge.ReverseSequence(<2x3xf32>, <[2, 1]: 2xi32>) {seq_dim = 1, batch_dim = 0}",
    "ge.ReverseV2(<2x3xf32>, <[1]: 1xi64>)",
    "ge.ReverseV2D(<2x3xf32>) {axis = [0]}",
    "ge.Roll(<2x3xf32>) {shifts = [1], dims = [1]}",
    "ge.Round(<2x3xf32>)",
    "ge.Select(<[true, false]: 2xi1>, <2x3xf32>, <2x3xf32>)",
    "ge.SelectV2(<[true, false, true]: 3xi1>, <2x3xf32>, <f32>)",
    "ge.Sign(<2x3xf32>)",
    "ge.Slice(<2x3xf32>, <[0, 1]: 2xi64>, <[2, 2]: 2xi64>)",
    "ge.SliceD(<2x3xf32>) {offsets = [0, 1], size = [1, 2]}",
    "ge.SpaceToDepth(<1x2x4x2xf32>) {block_size = 2}",
    "ge.Square(<2x3xf32>)",
    "ge.SquaredDifference(<2x3xf32>, <3xf32>)",
    "ge.Squeeze(<2x1x3xf32>)",
    "ge.SqueezeV3(<2x1x3xf32>)",
    "ge.StridedSlice(<2x3xf32>, <[0, 2]: 2xi64>, <[2, 0]: 2xi64>, <[1, -1]: 2xi64>)",
    "ge.StridedSliceV2(<2x3xf32>, <[0, 1]: 2xi64>, <[2, 3]: 2xi64>)",
    "ge.Sub(<2x3xf32>, <3xf32>)",
    "ge.Tile(<2x3xf32>, <[2, 1]: 2xi64>)",
    "ge.Transpose(<2x3xf32>, <[1, 0]: 2xi64>)",
    "ge.TransposeD(<2x3xf32>) {perm = [1, 0]}",
    "ge.Unsqueeze(<2x3xf32>) {axes = [0]}",
    "ge.UnsqueezeV3(<2x3xf32>, <[0]: 1xi64>)",
    "ge.ZerosLike(<2x3xf32>)",
]
MANY = {
    "IdentityN": ("ge.IdentityN([<2x3xf32>, <3xf32>])", 2),
    "Split": ("ge.Split(<1: i32>, <2x4xf32>) {num_split = 2}", 2),
    "SplitD": ("ge.SplitD(<2x4xf32>) {split_dim = 1, num_split = 2}", 2),
    "SplitV": ("ge.SplitV(<2x3xf32>, <[1, 2]: 2xi64>, <1: i32>) {num_split = 2}", 2),
    "Unpack": ("ge.Unpack(<2x3xf32>) {num = 2, axis = 0}", 2),
}
FORMS = {**{text: (text, 1) for text in OPS}, **MANY}


def op_type(text):
    return text.removeprefix("ge.").partition("(")[0]


def test_every_exact_op_is_tried() -> None:
    known = {*exact.MOVES, *exact.CHOICES, *exact.ARITHMETIC}
    assert known == {op_type(text) for text, _ in FORMS.values()}


@pytest.mark.parametrize("name", FORMS)
def test_exact_values_are_those_of_floats(name) -> None:
    module = parse_module(module_of(*FORMS[name]))
    op = list(ge_ops(main_function(module)))[-1]
    op.update_types()
    rng = np.random.default_rng(0)
    arrays = []
    for value in op.operands:
        known, tensor = constant_of(value), tensor_of(value.type)
        some = np.asarray(rng.choice([-2, -1, 0, 1, 3, 0.25, -1.5], tensor.shape))
        arrays.append(some.astype(numpy_dtype(tensor.dtype)) if known is None else known)
    with np.errstate(all="ignore"):
        wanted = op.execute(arrays)
    pairs = zip(arrays, op.operands, strict=True)
    found = exact.evaluate(op, [exact.lifted(a, tensor_of(v.type).dtype) for a, v in pairs])
    assert len(found) == len(wanted)
    for want, have in zip(wanted, found, strict=True):
        assert have.shape == want.shape
        if want.dtype.kind == "f":
            assert all(isinstance(v, Fraction | float) for v in have.flat)
            np.testing.assert_allclose(np.abs(have.astype(want.dtype)), np.abs(want), rtol=1e-6)
        else:
            np.testing.assert_array_equal(have, want)


NOT_EXACT = {
    "ge.Exp(<3xf32>)": "ge.Exp has no exact values",
    "ge.Mul(<3xcomplex(f32)>, <3xcomplex(f32)>)": "DT_COMPLEX64 has no exact values",
    "ge.Neg(<5000xf32>)": "a tensor has more than 4096 elements",
    "ge.MatMul(<40x40xf32>, <40x40xf32>)": "ge.MatMul takes more than 32768 multiplications",
    "ge.Cast(<3xf32>) {dst_type = 3}": "ge.Cast rounds to DT_INT32",
    "ge.BroadcastTo(<1xf32>, <[5000]: 1xi64>)": "a tensor has more than 4096 elements",
}


def lifted(value):
    known, tensor = constant_of(value), tensor_of(value.type)
    return exact.lifted(
        sample(tensor, RANDOM, 0, SIZES[0]) if known is None else known, tensor.dtype
    )


@pytest.mark.parametrize("text", NOT_EXACT)
def test_what_has_no_exact_values_says_so(text) -> None:
    module = parse_module(module_of(text))
    op = list(ge_ops(main_function(module)))[-1]
    op.update_types()
    with pytest.raises(Inexact) as caught:
        exact.evaluate(op, [lifted(value) for value in op.operands])
    assert str(caught.value) == NOT_EXACT[text]


def test_a_rounding_cast_is_not_exact() -> None:
    array = np.array([Fraction(1, 3)], object)
    with pytest.raises(Inexact, match="ge.Cast rounds to DT_FLOAT16"):
        exact.rounded(array, DataType.DT_FLOAT16, "ge.Cast")
    halves = exact.rounded(np.array([Fraction(1, 2), inf, nan], object), DataType.DT_FLOAT16, "")
    np.testing.assert_array_equal(halves, np.float16([0.5, inf, nan]))


@pytest.mark.parametrize(
    ("values", "dtype", "looks_rounded"),
    [
        ([0.1], DataType.DT_FLOAT, True),
        ([3.0, 0.5, -1024.0, 0.0], DataType.DT_FLOAT, False),
        ([inf, nan], DataType.DT_FLOAT, False),
        ([7], DataType.DT_INT32, False),
        ([0.3], DataType.DT_DOUBLE, True),
    ],
)
def test_roundings(values, dtype, looks_rounded) -> None:
    assert exact.roundings(np.array(values, numpy_dtype(dtype)), dtype) is looks_rounded


def test_exact_arrays_compare() -> None:
    old = np.array([Fraction(1, 3), nan, inf, Fraction(2)], object)
    assert exact.compared(old, old.copy(), 0.0) is None
    new = np.array([Fraction(1, 3), nan, -inf, Fraction(2)], object)
    assert exact.compared(old, new, 0.0) == Difference(
        "differs without rounding in 1 of 4 elements", (2,)
    )
    new = np.array([Fraction(1, 3), nan, inf, Fraction(5, 2)], object)
    assert exact.compared(old, new, 0.0) == Difference(
        "is off by up to 0.5 without rounding, in 1 of 4 elements", (3,)
    )
    assert exact.compared(old, new, 0.25) is None


# The samples


def test_samples_have_what_their_kind_says() -> None:
    floats = {
        kind: sample(Tensor(DataType.DT_FLOAT, (40,)), kind, 0, SIZES[0]) for kind in EVERY_SAMPLE
    }
    assert np.isnan(floats[NONFINITE]).any()
    assert np.isposinf(floats[NONFINITE]).any()
    assert np.isneginf(floats[NONFINITE]).any()
    assert (np.signbit(floats[EDGES]) & (floats[EDGES] == 0)).any()
    assert np.isfinite(floats[HUGE]).all()
    assert np.abs(floats[HUGE]).max() > 1e18
    for name, low, high in (
        ("INT8", -128, 127),
        ("UINT16", 0, 65535),
        ("INT64", -(2**63), 2**63 - 1),
    ):
        integers = sample(Tensor(DataType[f"DT_{name}"], (40,)), EDGES, 0, SIZES[0])
        assert (int(integers.min()), int(integers.max())) == (low, high)
    assert sample(Tensor(DataType.DT_COMPLEX64, (4,)), HUGE, 0, SIZES[0]).dtype == np.complex64
    assert sample(Tensor(DataType.DT_BOOL, (0,)), EDGES, 0, SIZES[0]).shape == (0,)
    assert sample(Tensor(DataType.DT_FLOAT, (0,)), EDGES, 0, SIZES[0]).shape == (0,)


def test_an_overflow_that_was_there_is_no_difference() -> None:
    old, new = np.float32([inf, 1, nan]), np.float32([5, 1, 2])
    assert compared(old, new, DataType.DT_FLOAT, HUGE) is None
    assert compared(new, old, DataType.DT_FLOAT, HUGE) == Difference(
        "overflows in 2 elements of 3, it did not before", (0,)
    )


def test_many_elements_are_drawn_from_the_same_list() -> None:
    many, few = (sample(Tensor(DataType.DT_FLOAT, (n,)), EDGES, 0, SIZES[0]) for n in (5000, 20))
    assert set(many.tolist()) == set(few.tolist())
    same = np.float32([nan, inf, 1.0, -0.0])
    assert compared(same, same.copy(), DataType.DT_FLOAT) is None
    wrong = compared(same, np.float32([0.0, inf, 1.0, 0.0]), DataType.DT_FLOAT)
    assert wrong == Difference("differs in 1 infinite or NaN elements of 4", (0,))
