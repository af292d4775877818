"""Checks on whole graphs, node names, weights in memory, the reference interpreter's errors."""

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from ge_xdsl.dialects.ge.activation import ReluOp
from ge_xdsl.dialects.ge.data import ConstOp
from ge_xdsl.dialects.ge.elementwise import AddOp
from ge_xdsl.dialects.ge.graph import ge_ops, main_function, topological_order, verify
from ge_xdsl.dialects.ge.matmul import MatMulOp
from ge_xdsl.dialects.ge.names import (
    describe,
    describe_value,
    ensure_names,
    fresh_name,
    input_names,
    output_names,
    ssa_name,
)
from ge_xdsl.dialects.ge.op import KnownValues, constant_of
from ge_xdsl.dialects.ge.registry import op_class
from ge_xdsl.dialects.ge.text import module_text, parse_module
from ge_xdsl.dialects.ge.weights import Weight, WeightAttr, array_of, const_attr
from ge_xdsl.errors import CompileError
from ge_xdsl.interpreters.ge import run_function

T = "tensor<2xf32>"


def graph(*lines, results="%x", args=f"%x: {T}"):
    body = "\n".join(f"  {line}" for line in lines)
    count = results.count("%")
    types = ", ".join([T] * count)
    text = (
        f"func.func @main({args}) -> ({types}) {{\n{body}\n  func.return {results} : {types}\n}}\n"
    )
    return parse_module(text, "g.mlir")


BAD = {
    "use before definition": (
        [f"%a = ge.Relu(%b) : ({T}) -> {T}", f"%b = ge.Relu(%x) : ({T}) -> {T}"],
        "g.mlir:2:3: error: ge.Relu 'a': operand #0 is defined below, expected above",
    ),
    "name twice": (
        [f"%a = ge.Relu(%x) : ({T}) -> {T}", f'%b = ge.Relu(%x) {{ge.name = "a"}} : ({T}) -> {T}'],
        "g.mlir:3:3: error: ge.Relu 'a': the node name 'a' is used twice, expected unique names",
    ),
    "unconnected": (
        ["%u = ge.unconnected() : () -> tensor<*x!ge.element<DT_UNDEFINED>>"],
        "error: ge.unconnected 'u': is read by no op, expected none of its kind",
    ),
    "unconnected operand": (
        [f"%u = ge.unconnected() : () -> {T}", f"%y = ge.Add(%x, %u) : ({T}, {T}) -> {T}"],
        "g.mlir:3:3: error: ge.Add 'y': operand #1 is left unconnected, expected a value",
    ),
    "generic, unknown attribute": (
        [f'%a = "ge.Relu"(%x) <{{alpha = 1 : i64}}> : ({T}) -> {T}'],
        "error: ge.Relu 'a': attribute 'alpha' is not in the prototype, expected: none",
    ),
    "generic, kind": (
        [f'%a = "ge.MatMul"(%x, %x) <{{transpose_x1 = 1 : i64}}> : ({T}, {T}) -> {T}'],
        "error: ge.MatMul 'a': attribute 'transpose_x1' is 1 : i64, expected true or false",
    ),
    "generic, arity": (
        [f'%a = "ge.Add"(%x) : ({T}) -> {T}'],
        "error: ge.Add 'a': has 1 operands, expected 2",
    ),
    "generic, optional arity": (
        [f'%a = "ge.MatMul"(%x) : ({T}) -> {T}'],
        "error: ge.MatMul 'a': has 1 operands, expected 2 to 3",
    ),
    "generic, results": (
        [f'%a, %b = "ge.Relu"(%x) : ({T}) -> ({T}, {T})'],
        "has 2 results, expected 1",
    ),
    "no tensor": (
        ["%c = arith.constant 1 : i32"],
        "arith.constant: is no known op, expected a GE op type",
    ),
}


@pytest.mark.parametrize(("lines", "text"), BAD.values(), ids=BAD)
def test_verify(lines, text):
    with pytest.raises(CompileError) as error:
        verify(graph(*lines))
    assert text in str(error.value)
    assert "\n" not in str(error.value)


def test_missing_required_attribute():
    module = parse_module(
        f'func.func @f(%x: {T}) {{\n  %a = "ge.Cast"(%x) : ({T}) -> {T}\n  func.return\n}}',
        "g.mlir",
    )
    with pytest.raises(CompileError, match="attribute 'dst_type' is missing, it is required"):
        verify(module)


def test_main_function():
    with pytest.raises(CompileError, match="module has 0 functions, expected one or a 'main'"):
        main_function(ModuleOp([]))
    two = "func.func @a() { func.return }\nfunc.func @main() { func.return }"
    assert main_function(parse_module(two)).sym_name.data == "main"


def test_topological_order():
    module = graph(f"%a = ge.Relu(%b) : ({T}) -> {T}", f"%b = ge.Relu(%x) : ({T}) -> {T}")
    order = topological_order(main_function(module).body.block)
    assert [getattr(op, "node_name", "return") for op in order] == ["b", "a", "return"]
    cycle = graph(f"%a = ge.Relu(%b) : ({T}) -> {T}", f"%b = ge.Relu(%a) : ({T}) -> {T}")
    assert topological_order(main_function(cycle).body.block) is None


def test_control_edges_order_the_ops_and_close_no_cycle():
    ops = [f"%a = ge.Relu(%x) : ({T}) -> {T}", f"%b = ge.Abs(%x) : ({T}) -> {T}"]
    edge = f"ge.control_edge(%b, %a) : ({T}, {T}) -> ()"
    module = graph(*ops, edge)
    verify(module)
    order = topological_order(main_function(module).body.block)
    assert [op.name for op in order] == ["ge.Abs", "ge.Relu", "ge.control_edge", "func.return"]
    cycle = graph(ops[0], f"%b = ge.Abs(%a) : ({T}) -> {T}", edge)
    assert topological_order(main_function(cycle).body.block) is None
    with pytest.raises(CompileError, match="ge.control_edge: closes a cycle of edges, expected no"):
        verify(cycle)


def test_a_name_that_no_file_can_hold():
    module = graph(f"%a = ge.Relu(%x) : ({T}) -> {T}")
    op = next(iter(ge_ops(module)))
    with pytest.raises(ValueError, match=r"is 'a\\ud800', expected text that UTF-8 can hold"):
        op.node_name = "a\ud800"
    with pytest.raises(ValueError, match="expected text that UTF-8 can hold"):
        type(op).build(op.operands[0], node_name="\ud800")
    assert op.node_name == "a"


def test_names():
    assert [ssa_name(n) for n in ("a/b:0", "463", "", "a.b")] == ["a_b_0", "_463", "_", "a.b"]
    module = graph(f"%0 = ge.Relu(%x) : ({T}) -> {T}", f"%Relu_0 = ge.Relu(%0) : ({T}) -> {T}")
    func = main_function(module)
    ops = list(func.body.block.ops)
    assert describe(ops[0]) == "ge.Relu"
    ensure_names(func)
    assert [op.node_name for op in ops[:2]] == ["Relu_1", "Relu_0"]
    assert (input_names(func), output_names(func)) == (["x"], ["output_0"])
    assert describe_value(func.body.block.args[0]) == "graph input 'x'"
    assert describe_value(ops[0].results[0]) == "ge.Relu 'Relu_1'"
    taken = {"A_0"}
    assert [fresh_name("A", taken, {}), fresh_name("A", taken, {})] == ["A_1", "A_2"]


def test_constants_and_weights():
    small = np.arange(4, dtype=np.int64)
    big = np.arange(100, dtype=np.float32)
    assert array_of(const_attr(small)).tolist() == [0, 1, 2, 3]
    attr = const_attr(big, "w")
    assert isinstance(attr, WeightAttr)
    assert array_of(attr) is big
    assert not big.flags.writeable
    assert attr == const_attr(big.copy(), "other")
    assert attr != const_attr(big + 1, "w")
    nan = np.full(100, np.nan, np.float32)
    assert const_attr(nan) == const_attr(nan.copy())
    zero = np.zeros(100, np.float32)
    assert const_attr(zero) != const_attr(-zero)
    with pytest.raises(
        ValueError, match=r"weight 'k' has no data, expected its \.safetensors file"
    ):
        Weight("k").array()


def test_constant_of():
    const = ConstOp.build(value=const_attr(np.array([1, 2])))
    relu = ReluOp.build(const.y)
    assert constant_of(const.y).tolist() == [1, 2]
    assert constant_of(relu.y) is None
    with KnownValues({relu.y: np.array([7])}):
        assert constant_of(relu.y).tolist() == [7]
    assert constant_of(relu.y) is None


CALLS = {
    "too many": (lambda v: AddOp.build(v, v, v), "ge.Add: 3 inputs, expected 2"),
    "missing": (lambda v: AddOp.build(v), "ge.Add: input 'x2' is missing, it is required"),
    "attribute": (
        lambda v: MatMulOp.build(v, v, tranpose_x1=True),
        "ge.MatMul: no attribute 'tranpose_x1', expected: transpose_x1, transpose_x2",
    ),
    "kind": (
        lambda v: MatMulOp.build(v, v, transpose_x1=3),
        "ge.MatMul: attribute 'transpose_x1' is 3, expected true or false",
    ),
    "regions": (lambda v: op_class("If").build(v), "ge.If: 0 regions, expected 2"),
    "counts": (lambda v: AddOp.build(v, v, result_counts=[2]), "1 result counts, expected fewer"),
}


@pytest.mark.parametrize(("call", "text"), CALLS.values(), ids=CALLS)
def test_build_errors(call, text):
    value = ConstOp.build(value=const_attr(np.zeros((2, 2), np.float32))).y
    with pytest.raises(ValueError, match=text):
        call(value)


X = np.array([1, -2], np.float32)
RUNS = {
    "missing": ({}, "error: graph input 'x': no array given, expected one"),
    "unknown": ({"x": X, "z": X}, "error: no graph input 'z', expected one of x"),
    "dtype": ({"x": X.astype(np.float64)}, "'x': array is float64, expected float32"),
    "shape": ({"x": np.zeros((3,), np.float32)}, "'x': array is 3, expected 2"),
    "rank": ({"x": np.zeros((2, 1), np.float32)}, "'x': array is 2x1, expected 2"),
}


@pytest.mark.parametrize(("inputs", "text"), RUNS.values(), ids=RUNS)
def test_run_errors(inputs, text):
    module = graph(f"%a = ge.Relu(%x) : ({T}) -> {T}", results="%a")
    with pytest.raises(CompileError) as error:
        run_function(main_function(module), inputs)
    assert text in str(error.value)


def test_run_without_semantics_names_the_op():
    module = graph(f"%a = ge.FastGeluV2(%x) : ({T}) -> {T}", results="%a")
    with pytest.raises(
        CompileError, match=r"g\.mlir:2:3: error: ge\.FastGeluV2 'a': has no value semantics"
    ):
        run_function(main_function(module), {"x": X})


def test_weight_text_has_no_values():
    const = ConstOp.build(value=const_attr(np.zeros(1000, np.float32), "big"), node_name="big")
    assert '#ge.weight<"big">' in module_text(const)
    assert len(module_text(const)) < 120
