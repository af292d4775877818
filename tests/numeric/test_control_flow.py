"""If, While and PartitionedCall: Python's own control flow against the interpreter."""

import numpy as np
import pytest

from ge_xdsl.dialects.ge.control import IfOp
from ge_xdsl.dialects.ge.graph import ge_ops, main_function, verify
from ge_xdsl.dialects.ge.text import module_text, parse_module
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor
from ge_xdsl.errors import CompileError
from ge_xdsl.interpreters.ge import run_function

IF = """
func.func @main(%c: tensor<{cond}>, %a: tensor<3xf32>, %b: tensor<3xf32>) -> tensor<3xf32> {{
  %y = ge.If(%c, [%a, %b]) then_branch {{
  ^bb0(%p: tensor<3xf32>, %q: tensor<3xf32>):
    %s = ge.Add(%p, %q) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    ge.yield([%s]) : (tensor<3xf32>) -> ()
  }} else_branch {{
  ^bb0(%p: tensor<3xf32>, %q: tensor<3xf32>):
    %m = ge.Mul(%p, %q) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    ge.yield([%m]) : (tensor<3xf32>) -> ()
  }} : (tensor<{cond}>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}}
"""

WHILE = """
func.func @main(%i: tensor<i32>, %n: tensor<i32>, %x: tensor<2xf32>) -> tensor<2xf32> {
  %r:3 = ge.While([%i, %n, %x]) cond {
  ^bb0(%j: tensor<i32>, %m: tensor<i32>, %v: tensor<2xf32>):
    %t = ge.Less(%j, %m) : (tensor<i32>, tensor<i32>) -> tensor<i1>
    ge.yield([%t]) : (tensor<i1>) -> ()
  } body {
  ^bb0(%j: tensor<i32>, %m: tensor<i32>, %v: tensor<2xf32>):
    %one = ge.Const() {value = dense<1> : tensor<i32>} : () -> tensor<i32>
    %k = ge.Add(%j, %one) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %w = ge.Add(%v, %v) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    ge.yield([%k, %m, %w]) : (tensor<i32>, tensor<i32>, tensor<2xf32>) -> ()
  } : (tensor<i32>, tensor<i32>, tensor<2xf32>) -> (tensor<i32>, tensor<i32>, tensor<2xf32>)
  func.return %r#2 : tensor<2xf32>
}
"""

GROWING = """
func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  %r = ge.While([%x]) cond {
  ^bb0(%v: tensor<?xf32>):
    %s = ge.Size(%v) : (tensor<?xf32>) -> tensor<i32>
    %ten = ge.Const() {value = dense<10> : tensor<i32>} : () -> tensor<i32>
    %t = ge.Less(%s, %ten) : (tensor<i32>, tensor<i32>) -> tensor<i1>
    ge.yield([%t]) : (tensor<i1>) -> ()
  } body {
  ^bb0(%v: tensor<?xf32>):
    %w = ge.ConcatD([%v, %v]) {concat_dim = 0} : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    ge.yield([%w]) : (tensor<?xf32>) -> ()
  } : (tensor<?xf32>) -> tensor<?xf32>
  func.return %r : tensor<?xf32>
}
"""

CALL = """
func.func @main(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %r:2 = ge.PartitionedCall([%x]) f {
  ^bb0(%v: tensor<2xf32>):
    %w = ge.Add(%v, %v) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    ge.yield([%v, %w]) : (tensor<2xf32>, tensor<2xf32>) -> ()
  } : (tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  func.return %r#0, %r#1 : tensor<2xf32>, tensor<2xf32>
}
"""


def graph(text):
    """The main function of a module that verifies and prints as it was read."""
    module = parse_module(text)
    verify(module)
    printed = module_text(module)
    assert module_text(parse_module(printed)) == printed
    return main_function(module)


@pytest.mark.parametrize(
    ("cond", "value", "taken"),
    [
        ("i1", np.array(True), True),
        ("i1", np.array(False), False),
        ("1xi32", np.array([7], np.int32), True),
        ("f32", np.array(0, np.float32), False),
        ("2xi32", np.array([0, 0], np.int32), True),
        ("0xi32", np.array([], np.int32), False),
    ],
)
def test_if(cond, value, taken):
    a, b = np.array([1, 2, 3], np.float32), np.array([4, 5, 6], np.float32)
    [y] = run_function(graph(IF.format(cond=cond)), {"c": value, "a": a, "b": b})
    np.testing.assert_array_equal(y, a + b if taken else a * b)


@pytest.mark.parametrize("times", [0, 1, 5])
def test_while(times):
    x = np.array([1, 3], np.float32)
    inputs = {"i": np.array(0, np.int32), "n": np.array(times, np.int32), "x": x}
    [y] = run_function(graph(WHILE), inputs)
    np.testing.assert_array_equal(y, x * 2**times)


def test_while_values_may_grow():
    [y] = run_function(graph(GROWING), {"x": np.arange(3, dtype=np.float32)})
    np.testing.assert_array_equal(y, np.tile(np.arange(3), 4))


def test_partitioned_call():
    x = np.array([1, 3], np.float32)
    same, twice = run_function(graph(CALL), {"x": x})
    np.testing.assert_array_equal(same, x)
    np.testing.assert_array_equal(twice, 2 * x)


def test_an_observer_sees_the_ops_of_subgraphs():
    seen = []
    inputs = {"i": np.array(0, np.int32), "n": np.array(2, np.int32), "x": np.ones(2, np.float32)}
    run_function(graph(WHILE), inputs, lambda op, results: seen.append(op.name))
    once, body = ["ge.Less"], ["ge.Const", "ge.Add", "ge.Add"]
    assert seen == [*once, *body, *once, *body, *once, "ge.While"]


def test_a_failing_op_in_a_subgraph_names_itself():
    text = CALL.replace(
        "%w = ge.Add(%v, %v) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>",
        "%i = ge.Const() {value = dense<5> : tensor<i32>} : () -> tensor<i32>\n"
        "    %z = ge.Const() {value = dense<0> : tensor<i32>} : () -> tensor<i32>\n"
        "    %w = ge.GatherV2(%v, %i, %z) : (tensor<2xf32>, tensor<i32>, tensor<i32>) "
        "-> tensor<f32>",
    ).replace("tensor<2xf32>, tensor<2xf32>) -> ()", "tensor<2xf32>, tensor<f32>) -> ()")
    text = text.replace(
        "(tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)\n",
        "(tensor<2xf32>) -> (tensor<2xf32>, tensor<f32>)\n",
    )
    text = text.replace(
        "(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)",
        "(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<f32>)",
    )
    text = text.replace(": tensor<2xf32>, tensor<2xf32>\n}", ": tensor<2xf32>, tensor<f32>\n}")
    with pytest.raises(
        CompileError, match=r"ge.GatherV2 'w': index is 5, expected one in \[0, 2\)"
    ):
        run_function(graph(text), {"x": np.ones(2, np.float32)})


def test_branches_of_two_shapes_give_an_unknown_dimension():
    text = (
        IF.format(cond="i1")
        .replace(
            "%m = ge.Mul(%p, %q) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>",
            "%m = ge.ConcatD([%p, %q]) {concat_dim = 0} : (tensor<3xf32>, tensor<3xf32>) "
            "-> tensor<6xf32>",
        )
        .replace("ge.yield([%m]) : (tensor<3xf32>)", "ge.yield([%m]) : (tensor<6xf32>)")
    )
    func = graph(text)
    op = next(op for op in ge_ops(func) if isinstance(op, IfOp))
    assert op.inferred() == [Tensor(DataType.DT_FLOAT, (DYNAMIC,))]


def test_a_loop_condition_of_two_elements_fails():
    text = WHILE.replace(
        "%t = ge.Less(%j, %m) : (tensor<i32>, tensor<i32>) -> tensor<i1>",
        "%t = ge.NonZero(%v) : (tensor<2xf32>) -> tensor<?x1xi64>",
    ).replace("ge.yield([%t]) : (tensor<i1>)", "ge.yield([%t]) : (tensor<?x1xi64>)")
    inputs = {"i": np.array(0, np.int32), "n": np.array(2, np.int32), "x": np.ones(2, np.float32)}
    with pytest.raises(CompileError, match="ge.While 'r': cond gives 2 elements, expected 1"):
        run_function(graph(text), inputs)


REFUSED = {
    "if_c1_blocks": (
        IF.format(cond="i1").replace(
            "    ge.yield([%s]) : (tensor<3xf32>) -> ()",
            "    ge.yield([%s]) : (tensor<3xf32>) -> ()\n  ^bb1():\n    ge.yield([]) : () -> ()",
        ),
        "then_branch has 2 blocks, expected 1",
    ),
    "if_c1_count": (
        IF.format(cond="i1").replace(
            "^bb0(%p: tensor<3xf32>, %q: tensor<3xf32>):\n    %m = ge.Mul(%p, %q)",
            "^bb0(%p: tensor<3xf32>):\n    %m = ge.Mul(%p, %p)",
        ),
        "inputs of else_branch: 1 values, expected 2",
    ),
    "if_c2": (
        IF.format(cond="i1").replace("    ge.yield([%m]) : (tensor<3xf32>) -> ()\n", ""),
        "else_branch ends with ge.Mul, expected ge.yield",
    ),
    "if_c3_count": (
        IF.format(cond="i1").replace(
            "ge.yield([%m]) : (tensor<3xf32>)",
            "ge.yield([%m, %m]) : (tensor<3xf32>, tensor<3xf32>)",
        ),
        "branches give 1 and 2 outputs, expected equal numbers",
    ),
    "if_c3_type": (
        IF.format(cond="i1").replace(
            "ge.yield([%m]) : (tensor<3xf32>)",
            "%z = ge.Shape(%m) : (tensor<3xf32>) -> tensor<1xi32>\n"
            "    ge.yield([%z]) : (tensor<1xi32>)",
        ),
        "output #0 is DT_FLOAT or DT_INT32, expected one element type",
    ),
    "if_c4": (
        IF.format(cond="i1").replace("ge.Mul(%p, %q)", "ge.Mul(%p, %a)"),
        "ge.Mul reads a value from outside the subgraph, expected subgraph inputs and values of "
        "its own",
    ),
    "while_c1": (
        WHILE.replace("%v: tensor<2xf32>):\n    %t", "%v: tensor<4xf32>):\n    %t"),
        "inputs of cond: #2 is tensor<4xf32>, expected tensor<2xf32>",
    ),
    "while_c2": (
        WHILE.replace("    ge.yield([%t]) : (tensor<i1>) -> ()\n", ""),
        "cond ends with ge.Less, expected ge.yield",
    ),
    "while_c3": (
        WHILE.replace("ge.yield([%t]) : (tensor<i1>)", "ge.yield([%v]) : (tensor<2xf32>)"),
        "cond yields tensor<2xf32>, expected one element",
    ),
    "while_c3_nothing": (
        WHILE.replace("ge.yield([%t]) : (tensor<i1>)", "ge.yield([]) : ()"),
        "cond yields nothing, expected one element",
    ),
    "while_c4": (
        WHILE.replace(
            "ge.yield([%k, %m, %w]) : (tensor<i32>, ", "ge.yield([%w, %m, %w]) : (tensor<2xf32>, "
        ),
        "outputs of body: #0 is tensor<2xf32>, expected tensor<i32>",
    ),
    "while_c5": (
        WHILE.replace("ge.Add(%v, %v)", "ge.Add(%v, %x)"),
        "ge.Add reads a value from outside the subgraph, expected subgraph inputs and values of "
        "its own",
    ),
    "partitioned_call_c1": (
        CALL.replace("ge.PartitionedCall([%x])", "ge.PartitionedCall([%x, %x])").replace(
            "} : (tensor<2xf32>)", "} : (tensor<2xf32>, tensor<2xf32>)"
        ),
        "inputs of f: 1 values, expected 2",
    ),
    "partitioned_call_c2": (
        CALL.replace("    ge.yield([%v, %w]) : (tensor<2xf32>, tensor<2xf32>) -> ()\n", ""),
        "f ends with ge.Add, expected ge.yield",
    ),
    "partitioned_call_c3": (
        CALL.replace("ge.Add(%v, %v)", "ge.Add(%v, %x)"),
        "ge.Add reads a value from outside the subgraph, expected subgraph inputs and values of "
        "its own",
    ),
}


FORMS = {
    "stateless_if": ("if", "ge.If(", "ge.StatelessIf("),
    "_if": ("if", "ge.If(", "ge._If("),
    "stateless_while": ("while", "ge.While(", "ge.StatelessWhile("),
    "stateful_partitioned_call": (
        "partitioned_call",
        "ge.PartitionedCall(",
        "ge.StatefulPartitionedCall(",
    ),
}
CASES = REFUSED | {
    f"{form}{name.removeprefix(stem)}": (text.replace(plain, other), message)
    for form, (stem, plain, other) in FORMS.items()
    for name, (text, message) in REFUSED.items()
    if name.startswith(f"{stem}_c")
}
"""The refused graphs of each form of an op."""


@pytest.mark.parametrize("name", CASES)
def test_constraint(name):
    text, message = CASES[name]
    with pytest.raises(CompileError) as caught:
        verify(parse_module(text))
    assert caught.value.message == message
