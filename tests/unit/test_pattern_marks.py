"""Marks on patterns and constants by value: what fits, what does not and why, and misuse."""

from __future__ import annotations

import re

import ml_dtypes
import numpy as np
import pytest
from graph_text import graph, node, pattern

from ge_xdsl.dialects.ge.graph import ge_ops
from ge_xdsl.dialects.ge.registry import op_class
from ge_xdsl.dialects.ge.types import DataType, Tensor
from ge_xdsl.errors import CompileError, PassError
from ge_xdsl.pattern.extended import (
    ExtendedMatch,
    ExtendedPattern,
    Matching,
    extend_pattern,
    is_commutative,
)
from ge_xdsl.pattern.graph import PatternGraph
from ge_xdsl.pattern.marks import Mark, add_mark, dtypes_of, shape_of
from ge_xdsl.pattern.match import MatcherConfig
from ge_xdsl.pattern.rule import Declined
from ge_xdsl.pattern.same_numbers import keeps_ranks, number_difference
from ge_xdsl.patterns import bind, exposed, matching, optional, variadic, where

F16, F32, F64 = DataType.DT_FLOAT16, DataType.DT_FLOAT, DataType.DT_DOUBLE
BF16, I32, I64 = DataType.DT_BF16, DataType.DT_INT32, DataType.DT_INT64


class Holder:
    """Stands for a tensor of the pattern under construction."""

    def __init__(self, value) -> None:
        self._handle = value


def marked(text, marks, matching=None, **config):
    """An extended pattern; marks: input index or node name -> Mark."""
    func = graph(text, "p")
    for key, mark in marks.items():
        args = func.body.block.args
        add_mark(args[key] if isinstance(key, int) else node(func, key).results[0], mark)
    made = PatternGraph.from_function(func, (), "p")
    return extend_pattern(made, MatcherConfig(**config), matching or Matching())


def outcomes(compiled, text):
    """The nodes of each match, and the reason of each miss, by root."""
    found = {}
    for op in ge_ops(graph(text)):
        if type(op) in compiled.root_classes:
            match = compiled.explain(op)
            miss = isinstance(match, Declined)
            found[op.node_name] = match.reason if miss else [t.node_name for t in match.targets]
    return found


CASES = {
    "a list of any length": (
        "x\n s = AddN(x) N=1\n y = Relu(s)\n return y",
        {0: Mark(variadic=True)},
        "a b\n s = AddN(a, b, a) N=3\n y = Relu(s)\n t = AddN(b) N=1\n z = Relu(t)\n return y, z",
        {"y": ["y", "s"], "z": ["z", "t"]},
    ),
    "a first tensor and others": (
        "f x\n s = AddN(f, x) N=2\n y = Sub(s, f)\n return y",
        {1: Mark(variadic=True)},
        "a b\n s = AddN(a, b, b) N=3\n y = Sub(s, a)\n t = AddN(b) N=1\n z = Sub(t, b)\n"
        " u = AddN(a, b) N=2\n w = Sub(u, b)\n return y, z, w",
        {
            "y": ["y", "s"],
            "z": "'x' has 1 tensors, expected 2 or more",
            "w": "operand 1: is graph input 'b', expected graph input 'a' as elsewhere",
        },
    ),
    "a list of a fixed length": (
        "f x\n y = AddN(f, x) N=2\n return y",
        {},
        "a b\n y = AddN(a, b) N=2\n z = AddN(a, b, a) N=3\n return y, z",
        {"y": ["y"], "z": "AddN has 3 tensors in 'x', expected 2 tensors in 'x'"},
    ),
    "one list twice": (
        "x\n s = AddN(x) N=1\n t = AccumulateNV2(x) N=1\n y = Sub(s, t)\n return y",
        {0: Mark(variadic=True)},
        "a b\n s = AddN(a, b) N=2\n t = AccumulateNV2(a, b) N=2\n y = Sub(s, t)\n"
        " u = AddN(a, b) N=2\n v = AccumulateNV2(b, a) N=2\n z = Sub(u, v)\n return y, z",
        {
            "y": ["y", "s", "t"],
            "z": "operand 0: is graph input 'b', expected graph input 'a' as elsewhere",
        },
    ),
    "an element type that is wanted": (
        "x\n y = Relu(x)\n return y",
        {0: Mark(dtypes=(F16, BF16))},
        "a\n y = Relu(a)\n h = Cast(a) dst_type=1\n z = Relu(h)\n return y, z",
        {"y": "operand 0: is DT_FLOAT, expected DT_FLOAT16 or DT_BF16", "z": ["z"]},
    ),
    "a rank and a shape": (
        "x\n r = Relu(x)\n y = Abs(r)\n return y",
        {"y": Mark(rank=2), "r": Mark(shape=shape_of([4, -1]))},
        "a b[4] c[3,4]\n r = Relu(a)\n y = Abs(r)\n s = Relu(b)\n z = Abs(s)\n"
        " t = Relu(c)\n w = Abs(t)\n return y, z, w",
        {"y": ["y", "r"], "z": "is 4, expected rank 2", "w": "operand 0: is 3x4, expected 4x?"},
    ),
    "an attribute": (
        "x\n y = LeakyRelu(x) negative_slope=0.5\n return y",
        {"y": Mark(attrs={"negative_slope": 0.25})},
        "a\n y = LeakyRelu(a) negative_slope=0.25\n z = LeakyRelu(a) negative_slope=0.5\n"
        " return y, z",
        {"y": ["y"], "z": "attribute negative_slope is 0.5, expected 0.25"},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_marks(name) -> None:
    text, marks, target, expected = CASES[name]
    assert outcomes(marked(text, marks), target) == expected


def test_counts_of_operands_are_no_attributes_to_compare() -> None:
    compiled = marked("x\n y = AddN(x) N=1\n return y", {0: Mark(variadic=True)}, ir_attr=True)
    assert outcomes(compiled, "a b\n y = AddN(a, b) N=2\n return y") == {"y": ["y"]}
    leaky = "x\n y = LeakyRelu(x) negative_slope=0.5\n return y"
    found = outcomes(marked(leaky, {}, ir_attr=True), leaky.replace("0.5", "0.75"))
    assert found == {"y": "attribute negative_slope is 0.75, expected 0.5"}


def test_an_optional_operand_is_bound_or_absent() -> None:
    text = "a w b[4]\n y = MatMulV2(a, w, b)\n return y"
    compiled = marked(text, {2: Mark(optional=True)})
    target = graph("a w b[4]\n y = MatMulV2(a, w, b)\n z = MatMulV2(a, w)\n return y, z")
    given, absent = (compiled.match(node(target, name)) for name in "yz")
    assert isinstance(given, ExtendedMatch)
    assert isinstance(absent, ExtendedMatch)
    assert [len(group) for group in given.groups] == [1, 1, 1]
    assert [len(group) for group in absent.groups] == [1, 1, 0]
    [_, _, b] = compiled.graph.inputs
    assert given.value_of(b) is target.body.block.args[2]
    assert absent.value_of(b) is None
    plain = marked(text, {})
    assert outcomes(plain, "a w b[4]\n z = MatMulV2(a, w)\n return z") == {
        "z": "MatMulV2 has no operand 'bias', expected operand 'bias'"
    }


DIAMOND = "x\n a = Abs(x)\n y = Relu(a)\n return y"
READ_TWICE = "x\n a = Abs(x)\n y = Relu(a)\n e = Exp(a)\n return y, e"


def policy(boundary):
    compiled = marked(DIAMOND, {}, Matching(boundary=boundary))
    target = graph(READ_TWICE)
    return compiled.explain(node(target, "y"))


def test_boundary_policies() -> None:
    refused = policy("refuse")
    assert isinstance(refused, Declined)
    assert refused.reason == (
        "ge.Abs 'a' is used outside the match by ge.Exp 'e', expected no other consumer"
    )
    kept = policy("duplicate")
    assert isinstance(kept, ExtendedMatch)
    assert [op.node_name for op in kept.kept] == ["a"]
    assert len(kept.outputs) == 1
    out = policy("expose")
    assert isinstance(out, ExtendedMatch)
    assert [v.owner.node_name for v in out.outputs] == ["y", "a"]
    assert [v.owner.node_name for v in out.exposed] == ["a"]


def test_an_output_that_an_input_needs_is_no_match_under_any_policy() -> None:
    text = "x b\n a = Abs(x)\n y = Add(a, b)\n return y, a"
    target = "x\n a = Abs(x)\n y = Add(a, a)\n return y"
    for boundary in ("refuse", "duplicate", "expose"):
        compiled = marked(text, {}, Matching(boundary=boundary))
        [reason] = outcomes(compiled, target).values()
        assert "pattern input 1 is computed from an output of the match" in reason


NUMBERS = {
    "a half": ([0.5], F32, np.float16([0.5]), F16, 0, ""),
    "a tenth, at the precision of f16": ([0.1], F32, np.float16([0.1]), F16, 0, ""),
    "a tenth, at the precision of f32": ([0.1], F32, np.float64([0.1]), F64, 0, ""),
    "bf16": ([0.1], F32, np.array([0.1], ml_dtypes.bfloat16), BF16, 0, ""),
    "a neighbour": ([1.0], F32, np.float32([1.0000001]), F32, 0, "const value is"),
    "a neighbour is near": ([1.0], F32, np.float32([1.0000001]), F32, 1, ""),
    "two steps": ([1.0], F32, np.float32([1.0000002]), F32, 1, "const value is"),
    "a neighbour of zero": ([0.0], F32, np.float32([1e-30]), F32, 4, "const value is"),
    "an integer for a float": ([2], I64, np.float16([2]), F16, 0, ""),
    "a large integer": ([2**53 + 1], I64, np.float64([2.0**53]), F64, 0, "const value is"),
    "two integers": ([2], I64, np.int32([2]), I32, 0, ""),
    "NaN is NaN": ([np.nan], F32, np.float16([np.nan]), F16, 0, ""),
    "an infinity is not near": ([np.inf], F32, np.float16([6e4]), F16, 9, "const value is"),
    "many": ([0.5] * 9, F32, np.float16([0.25] * 9), F16, 0, "differs from the 9 numbers expected"),
    "words": ([2], I64, np.array(["a"], object), DataType.DT_STRING, 0, "const is DT_STRING"),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_at_the_precision_of_both(name) -> None:
    wanted, wanted_dtype, have, dtype, ulps, text = NUMBERS[name]
    kind = np.int64 if wanted_dtype is I64 else np.float32
    found = number_difference(have, dtype, np.array(wanted, kind), wanted_dtype, ulps)
    assert bool(found) == bool(text)
    assert text in found


def test_one_element_is_a_scalar_where_it_gives_no_rank() -> None:
    func = graph(
        "v[4] s[]\n c = Const [1.0]\n y = Add(v, c)\n d = Const [1.0]\n z = Add(s, d)\n"
        " e = Const [2.0]\n h = Cast(e) dst_type=11\n w = Cast(v) dst_type=11\n u = Mul(w, h)\n"
        " return y, z, u"
    )
    assert [keeps_ranks(node(func, name)) for name in "cde"] == [True, False, True]


def test_constants_by_value() -> None:
    text = "x\n c = Const 0.5\n y = Mul(x, c)\n return y"
    compiled = marked(text, {}, Matching(constants="value"))
    target = (
        "x\n c = Const [0.5]\n y = Mul(x, c)\n d = Const 0.25\n z = Mul(x, d)\n"
        " e = Const [0.5, 0.5, 0.5, 0.5]\n w = Mul(x, e)\n return y, z, w"
    )
    assert outcomes(compiled, target) == {
        "y": ["y", "c"],
        "z": "operand 1: const value is 0.25, expected 0.5",
        "w": "operand 1: const is tensor<4xf32>, expected tensor<f32>",
    }


def test_commutative_ops_have_the_trait() -> None:
    both = "Add Mul Maximum Minimum SquaredDifference Equal NotEqual LogicalAnd LogicalOr"
    for name in (*both.split(), "BitwiseAnd", "BitwiseOr", "BitwiseXor", "AddV2"):
        cls = op_class(name)
        assert cls is not None
        assert is_commutative(cls.create()), name
    for name in ("Sub", "RealDiv", "Less", "MatMul", "Pow"):
        cls = op_class(name)
        assert cls is not None
        assert not is_commutative(cls.create()), name


# Misuse

REFUSED = {
    "a list that goes on": (
        "f x\n y = AddN(f, x) N=2\n return y",
        {0: Mark(variadic=True)},
        "ge.AddN 'y': 'x' ends in no *xs, expected it to be the last",
    ),
    "a list for one": (
        "x\n y = Relu(x)\n return y",
        {0: Mark(variadic=True)},
        "ge.Relu 'y': 'x' ends in no *xs, expected it to be the last",
    ),
    "an operand that is required": (
        "x\n y = Relu(x)\n return y",
        {0: Mark(optional=True)},
        "ge.Relu 'y': operand 'x' is required, expected an optional one",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_marks_that_mean_nothing_are_refused(name) -> None:
    text, marks, message = REFUSED[name]
    with pytest.raises(CompileError) as caught:
        marked(text, marks)
    assert caught.value.message == message


def test_arguments_of_the_door_are_checked() -> None:
    func = graph("x\n y = LeakyRelu(x)\n z = Relu(y)\n return z", "p")
    x, y = Holder(func.body.block.args[0]), Holder(node(func, "y").results[0])
    z = Holder(node(func, "z").results[0])
    calls = {
        "LeakyRelu has no attribute 'slope', expected a declared one": lambda: where(y, slope=1),
        "Relu has no attribute 'slope', expected none": lambda: where(z, slope=1),
        "rank is [1, 2], expected a number of dimensions": lambda: where(y, rank=[1, 2]),
        "rank is -1, expected a number of dimensions": lambda: where(y, rank=-1),
        "rank is a function, expected a number": lambda: where(y, rank=lambda rank: rank == 1),
        "shape is 4, expected a list of sizes, -1 for any": lambda: where(y, shape=4),
        "shape is ['n'], expected a list of sizes": lambda: where(y, shape=["n"]),
        "dtype is a function, expected one such as f16": lambda: where(y, dtype=lambda d: True),
        "is given 5, expected a tensor of the pattern": lambda: where(5),
        "a pattern input has no attribute 'a', expected a node's": lambda: where(x, a=1),
        "dtype is 'f15', expected one such as f16": lambda: where(x, dtype="f15"),
        "LeakyRelu is no pattern input, expected inputs": lambda: variadic(y),
        "LeakyRelu is no pattern input": lambda: optional(y),
        "boundary is 'drop', expected 'refuse' or 'duplicate' or 'expose'": (
            lambda: matching(boundary="drop")
        ),
        "constants is 'text', expected 'bits' or 'value'": lambda: matching(constants="text"),
        "ulps is 2, expected 0 or more, with constants='value'": lambda: matching(ulps=2),
        "through is 'Cast', expected a list of op types": lambda: matching(through="Cast"),
        "an entry of through is 5, expected an op type": lambda: matching(through=[5]),
        "through: Csat is no known op, expected a GE op type, did you mean 'Cast'?": (
            lambda: matching(through=["Identity", "Csat"])
        ),
        "through: ge.Cast is no known op, expected a GE op type, did you mean 'Cast'?": (
            lambda: matching(through=["ge.Cast"])
        ),
        "commutative is 'no', expected True or False": lambda: matching(commutative="no"),
        "matching() takes only named options, expected @matching(": lambda: matching(Holder),
    }
    for message, call in calls.items():
        with pytest.raises(ValueError, match=re.escape(message)) as caught:
            call()
        assert message in str(caught.value)


def test_a_test_of_an_attribute_that_raises_fails_the_pass() -> None:
    op = node(graph("x\n y = LeakyRelu(x) negative_slope=0.5\n return y", "p"), "y")
    mark = Mark(attrs={"negative_slope": lambda value: 1 / 0})
    with pytest.raises(PassError) as caught:
        mark.node_difference(op)
    assert caught.value.message == (
        "the test of attribute negative_slope raised ZeroDivisionError: division by zero "
        "for 0.5, expected True or False"
    )


def test_where_adds_up_and_gives_the_tensor_back() -> None:
    func = graph("x\n y = LeakyRelu(x)\n return y", "p")
    y = Holder(node(func, "y").results[0])
    assert where(where(y, dtype=["f16", F32], rank=2), negative_slope=1) is y
    made = extend_pattern(
        PatternGraph.from_function(func), MatcherConfig(), Matching(constants="value", ulps=1)
    )
    assert made.notes() == [
        "constants match by value, whatever their element type, 1 steps apart at most",
        "LeakyRelu: element type DT_FLOAT16 or DT_FLOAT",
        "LeakyRelu: rank 2",
        "LeakyRelu: negative_slope 1",
    ]


def test_names_of_element_types() -> None:
    names = ["f16", "float16", "DT_FLOAT16", F16, "float32", "f32", "bfloat16", "bf16", "i64"]
    wanted = (F16, F16, F16, F16, F32, F32, BF16, BF16, I64)
    assert dtypes_of(names) == wanted
    assert dtypes_of({"bf16", "f32", "f16"}) == (F32, F16, BF16)
    assert dtypes_of(None) == ()
    assert dtypes_of("u8") == dtypes_of("ui8") == (DataType.DT_UINT8,)


def test_notes_of_marks() -> None:
    assert Mark(variadic=True).notes() == ["one or more tensors"]
    assert Mark(optional=True).notes() == ["given or not"]
    assert Mark(shape=shape_of([2, -1])).notes() == ["shape 2x?"]
    assert Mark(attrs={"k": {2, 1}, "t": len}).notes() == ["k 1 or 2", "t len"]
    assert Matching(through=("Cast",), boundary="expose").notes() == [
        "Cast may stand between two nodes",
        "inner tensors that something else reads are further outputs",
    ]


def test_examples_of_attributes() -> None:
    mark = Mark(attrs={"k": {2, 1}, "t": len, "s": 0.5})
    assert mark.examples() == {"k": 1, "s": 0.5}


class Result:
    def __init__(self, match) -> None:
        self._match = match


def test_bind_and_exposed_of_a_plain_match_and_of_none() -> None:
    compiled = pattern("a b\n y = Sub(a, b)\n return y")
    target = graph("a b\n y = Sub(a, b)\n return y")
    match = compiled.match(node(target, "y"))
    assert bind(["first", "second", "third"], Result(match)) == ["first", "second"]
    assert exposed(Result(match)) == []
    for call in (lambda: bind([], Result(None)), lambda: exposed(Result(None))):
        with pytest.raises(RuntimeError, match="MatchResult handle has expired"):
            call()


def test_a_tensor_of_unknown_shape_has_no_rank() -> None:
    func = graph("x\n y = Relu(x)\n return y")
    compiled = marked("x\n y = Relu(x)\n return y", {0: Mark(rank=2)})
    assert isinstance(compiled, ExtendedPattern)
    arg = func.body.block.args[0]
    object.__setattr__(arg, "_type", Tensor(F32, None).type)
    [reason] = [compiled.explain(op).reason for op in ge_ops(func)]
    assert reason == "operand 0: is unknown rank, expected rank 2"
