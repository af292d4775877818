"""Case, For and the stateless forms: Python's own control flow against the interpreter."""

import numpy as np
import pytest

from ge_xdsl.dialects.ge.control import CaseOp
from ge_xdsl.dialects.ge.graph import ge_ops, main_function, verify
from ge_xdsl.dialects.ge.text import module_text, parse_module
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor
from ge_xdsl.errors import CompileError
from ge_xdsl.interpreters.ge import LOOP_LIMIT, run_function

F32, I32 = np.float32, np.int32

CASE = """
func.func @main(%k: tensor<i32>, %a: tensor<3xf32>) -> tensor<3xf32> {
  %y = ge.Case(%k, [%a]) branches0 {
  ^bb0(%p: tensor<3xf32>):
    ge.yield([%p]) : (tensor<3xf32>) -> ()
  } branches1 {
  ^bb0(%p: tensor<3xf32>):
    %s = ge.Neg(%p) : (tensor<3xf32>) -> tensor<3xf32>
    ge.yield([%s]) : (tensor<3xf32>) -> ()
  } branches2 {
  ^bb0(%p: tensor<3xf32>):
    %m = ge.Mul(%p, %p) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    ge.yield([%m]) : (tensor<3xf32>) -> ()
  } : (tensor<i32>, tensor<3xf32>) -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}
"""

FOR = """
func.func @main(%b: tensor<i32>, %e: tensor<i32>, %d: tensor<i32>, %x: tensor<2xi32>)
    -> tensor<2xi32> {
  %r = ge.For(%b, %e, %d, [%x]) body {
  ^bb0(%i: tensor<i32>, %v: tensor<2xi32>):
    %t = ge.Mul(%v, %i) : (tensor<2xi32>, tensor<i32>) -> tensor<2xi32>
    %w = ge.Add(%t, %v) : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
    ge.yield([%w]) : (tensor<2xi32>) -> ()
  } : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<2xi32>) -> tensor<2xi32>
  func.return %r : tensor<2xi32>
}
"""

OTHERS = {
    "StatelessIf": (
        "ge.StatelessIf(%c, [%a]) then_branch {\n^bb0(%p: tensor<3xf32>):\n"
        "ge.yield([%p]) : (tensor<3xf32>) -> ()\n} else_branch {\n^bb0(%p: tensor<3xf32>):\n"
        "%s = ge.Neg(%p) : (tensor<3xf32>) -> tensor<3xf32>\n"
        "ge.yield([%s]) : (tensor<3xf32>) -> ()\n} : (tensor<i1>, tensor<3xf32>)"
    ),
    "StatefulPartitionedCall": (
        "ge.StatefulPartitionedCall([%a]) f {\n^bb0(%p: tensor<3xf32>):\n"
        "%s = ge.Neg(%p) : (tensor<3xf32>) -> tensor<3xf32>\n"
        "ge.yield([%s]) : (tensor<3xf32>) -> ()\n} : (tensor<3xf32>)"
    ),
}


def graph(text):
    """The main function of a module that verifies and prints as it was read."""
    module = parse_module(text)
    verify(module)
    printed = module_text(module)
    assert module_text(parse_module(printed)) == printed
    return main_function(module)


@pytest.mark.parametrize("op_type", ["Case", "StatelessCase"])
@pytest.mark.parametrize("index", [-1, 0, 1, 2, 3])
def test_case(index, op_type):
    a = np.array([1, 2, 3], F32)
    text = CASE.replace("ge.Case", f"ge.{op_type}")
    [y] = run_function(graph(text), {"k": np.array(index, I32), "a": a})
    np.testing.assert_array_equal(y, {0: a, 1: -a}.get(index, a * a))


def test_branches_of_several_shapes_give_an_unknown_dimension():
    text = CASE.replace(
        "%m = ge.Mul(%p, %p) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>",
        "%m = ge.ConcatD([%p, %p]) {concat_dim = 0} : (tensor<3xf32>, tensor<3xf32>) "
        "-> tensor<6xf32>",
    ).replace("ge.yield([%m]) : (tensor<3xf32>)", "ge.yield([%m]) : (tensor<6xf32>)")
    op = next(op for op in ge_ops(graph(text)) if isinstance(op, CaseOp))
    assert op.inferred() == [Tensor(DataType.DT_FLOAT, (DYNAMIC,))]


def rounds(start, limit, delta):
    """i of each round: as many as |limit - start| / |delta| rounded up, from start by delta."""
    n = 0
    while n * abs(delta) < abs(limit - start):
        yield start + n * delta
        n += 1


@pytest.mark.parametrize(
    ("start", "limit", "delta"), [(0, 4, 1), (1, 6, 2), (5, 0, -2), (0, 3, -1), (2, 2, 1)]
)
def test_for(start, limit, delta):
    x = np.array([1, 3], I32)
    inputs = {"b": start, "e": limit, "d": delta}
    arrays = {name: np.array(value, I32) for name, value in inputs.items()}
    expected = x
    for i in rounds(start, limit, delta):
        expected = expected * i + expected
    [y] = run_function(graph(FOR), {**arrays, "x": x})
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize(("limit", "delta"), [(5, 0), (LOOP_LIMIT + 1, 1)])
def test_a_loop_that_does_not_end(limit, delta):
    arrays = {"b": np.array(0, I32), "e": np.array(limit, I32), "d": np.array(delta, I32)}
    with pytest.raises(CompileError) as caught:
        run_function(graph(FOR), {**arrays, "x": np.ones(2, I32)})
    assert caught.value.message == (
        f"loop from 0 to {limit} by {delta} has more than {LOOP_LIMIT} iterations, expected fewer"
    )


def test_two_indices_of_a_branch():
    text = CASE.replace("tensor<i32>", "tensor<?xi32>")
    with pytest.raises(CompileError, match="branch_index has 2 elements, expected 1"):
        run_function(graph(text), {"k": np.zeros(2, I32), "a": np.ones(3, F32)})


@pytest.mark.parametrize("op_type", OTHERS)
def test_other_forms(op_type):
    text = (
        "func.func @main(%c: tensor<i1>, %a: tensor<3xf32>) -> tensor<3xf32> {\n%y = "
        f"{OTHERS[op_type]} -> tensor<3xf32>\nfunc.return %y : tensor<3xf32>\n}}"
    )
    a = np.array([1, 2, 3], F32)
    [y] = run_function(graph(text), {"c": np.array(False), "a": a})
    np.testing.assert_array_equal(y, -a)


REFUSED = {
    "case_c1": (
        CASE.replace(
            "<3xf32>):\n    ge.yield([%p]) : (tensor<3", "<4xf32>):\n    ge.yield([%p]) : (tensor<4"
        ),
        "inputs of branch 0: #0 is tensor<4xf32>, expected tensor<3xf32>",
    ),
    "case_c2": (
        CASE.replace("    ge.yield([%s]) : (tensor<3xf32>) -> ()\n", ""),
        "branch 1 ends with ge.Neg, expected ge.yield",
    ),
    "case_c3": (
        CASE.replace("ge.yield([%m]) : (tensor<3xf32>)", "ge.yield([]) : ()"),
        "branches give 1 and 0 outputs, expected equal numbers",
    ),
    "case_c4": (
        CASE.replace("ge.Neg(%p)", "ge.Neg(%a)"),
        "ge.Neg reads a value from outside the subgraph, expected subgraph inputs and values of "
        "its own",
    ),
    "case_c5": (
        "func.func @main(%k: tensor<i32>) {\n"
        "%y = ge.Case(%k, []) : (tensor<i32>) -> tensor<3xf32>\nfunc.return\n}",
        "has no branches, expected at least one",
    ),
    "case_c6": (
        CASE.replace("tensor<i32>", "tensor<i64>"),
        "branch_index is DT_INT64, expected DT_INT32",
    ),
    "case_c6_count": (
        CASE.replace("tensor<i32>", "tensor<2xi32>"),
        "branch_index is 2, expected one element",
    ),
    "for_c1": (
        FOR.replace("^bb0(%i: tensor<i32>, %v: tensor<2xi32>)", "^bb0(%v: tensor<2xi32>)").replace(
            "ge.Mul(%v, %i) : (tensor<2xi32>, tensor<i32>)",
            "ge.Mul(%v, %v) : (tensor<2xi32>, tensor<2xi32>)",
        ),
        "inputs of body: 1 values, expected 2",
    ),
    "for_c2": (
        FOR.replace("    ge.yield([%w]) : (tensor<2xi32>) -> ()\n", ""),
        "body ends with ge.Add, expected ge.yield",
    ),
    "for_c3": (
        FOR.replace("ge.yield([%w]) : (tensor<2xi32>)", "ge.yield([%i]) : (tensor<i32>)"),
        "outputs of body: #0 is tensor<i32>, expected tensor<2xi32>",
    ),
    "for_c4": (
        FOR.replace("ge.Add(%t, %v)", "ge.Add(%t, %x)"),
        "ge.Add reads a value from outside the subgraph, expected subgraph inputs and values of "
        "its own",
    ),
    "for_c5": (
        FOR.replace("%d: tensor<i32>", "%d: tensor<i64>").replace(
            "tensor<i32>, tensor<2xi32>) -> tensor<2xi32>\n  func",
            "tensor<i64>, tensor<2xi32>) -> tensor<2xi32>\n  func",
        ),
        "delta is DT_INT64, expected DT_INT32",
    ),
}


CASES = REFUSED | {
    f"stateless_{name}": (text.replace("ge.Case(", "ge.StatelessCase("), message)
    for name, (text, message) in REFUSED.items()
    if name.startswith("case_c")
}


@pytest.mark.parametrize("name", CASES)
def test_constraint(name):
    text, message = CASES[name]
    with pytest.raises(CompileError) as caught:
        verify(parse_module(text))
    assert caught.value.message == message
