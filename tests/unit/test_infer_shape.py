"""ge-infer-shape: precision, subgraphs, loops, and what is folded."""

import pytest

from ge_xdsl.dialects.ge.graph import ge_ops, main_function, verify
from ge_xdsl.dialects.ge.text import module_text, parse_module
from ge_xdsl.errors import CompileError
from ge_xdsl.passes.infer_shape import (
    GeInferShapePass,
    parse_dims,
    parse_shapes,
    set_input_shapes,
)
from ge_xdsl.passes.session import SessionContext


def inferred(text, shapes=""):
    module = parse_module(text)
    GeInferShapePass(shapes).apply(SessionContext(), module)
    verify(module)
    return module


def types(module):
    return {op.node_name: str(op.results[0].type) for op in ge_ops(module) if op.results}


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("1x3", (1, 3)),
        ("1,3", (1, 3)),
        ("4", (4,)),
        ("", ()),
        ("scalar", ()),
        ("0x2", (0, 2)),
        ("-1x?x3", (-1, -1, 3)),
    ],
)
def test_dims(text, shape):
    assert tuple(-1 if d < 0 else d for d in parse_dims(text)) == shape


@pytest.mark.parametrize("text", ["a", "1x", "1x-2", "1.5", "99999999999999999999"])
def test_wrong_dims(text):
    why = f"shape is '{text}', expected dimensions such as 1x3x224x224"
    with pytest.raises(ValueError, match=why):
        parse_dims(text)


def test_shapes_of_several_inputs():
    assert parse_shapes("a:1x2; b/c:0:3,4;") == {"a": (1, 2), "b/c:0": (3, 4)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x", "input shape is 'x', expected NAME:1x3x224x224"),
        (":1", "input shape is ':1', expected NAME:1x3x224x224"),
        ("x:1;x:2", "the shape of input 'x' is given twice, expected it once"),
    ],
)
def test_wrong_shapes(text, message):
    with pytest.raises(ValueError) as caught:
        parse_shapes(text)
    assert str(caught.value) == message


TWO = """func.func @main(%x: tensor<?x3xf32>, %y: tensor<*xf32>)
    -> (tensor<?x3xf32>, tensor<*xf32>) {
  %a = ge.Relu(%x) : (tensor<?x3xf32>) -> tensor<?x3xf32>
  %b = ge.Add(%a, %y) : (tensor<?x3xf32>, tensor<*xf32>) -> tensor<*xf32>
  func.return %a, %b : tensor<?x3xf32>, tensor<*xf32>
}
"""


def test_types_and_signature_follow_the_inputs():
    module = inferred(TWO, "x:2x3;y:3")
    assert types(module) == {"a": "tensor<2x3xf32>", "b": "tensor<2x3xf32>"}
    signature = str(main_function(module).function_type)
    assert signature == ("(tensor<2x3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)")


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ({"x": (2, 4)}, "graph input 'x': shape is 2x4, expected one that fits ?x3"),
        ({"x": (2,)}, "graph input 'x': shape is 2, expected one that fits ?x3"),
        ({"z": (2,)}, "no graph input 'z', expected one of: x, y"),
    ],
)
def test_a_shape_that_does_not_fit(shapes, message):
    module = parse_module(TWO)
    before = module_text(module)
    with pytest.raises(CompileError) as caught:
        set_input_shapes(main_function(module), shapes)
    assert str(caught.value) == f"error: {message}"
    assert module_text(module) == before


def test_declared_types_fill_what_the_rule_leaves_open():
    module = inferred(
        """func.func @main(%x: tensor<?x?xf32>) -> tensor<4x?xf32> {
  %a = ge.Relu(%x) : (tensor<?x?xf32>) -> tensor<4x?xf32>
  func.return %a : tensor<4x?xf32>
}
"""
    )
    assert types(module) == {"a": "tensor<4x?xf32>"}


def test_a_contradicting_declaration_gives_way():
    module = parse_module(
        """func.func @main(%x: tensor<2x3xf32>) -> tensor<9xf32> {
  %a = ge.Relu(%x) : (tensor<2x3xf32>) -> tensor<9xf32>
  func.return %a : tensor<9xf32>
}
"""
    )
    GeInferShapePass().apply(SessionContext(), module)
    assert types(module) == {"a": "tensor<2x3xf32>"}


def test_an_op_that_cannot_be_typed_is_named_with_its_place():
    with pytest.raises(CompileError) as caught:
        inferred(TWO, "x:2x3;y:4")
    assert str(caught.value) == (
        "<input>:4:3: error: ge.Add 'b': shapes are 2x3 and 4, expected ones that broadcast"
    )


def test_an_op_with_too_many_results():
    text = """func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %a:2 = ge.IdentityN([%x]) : (tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  func.return %a#0 : tensor<2xf32>
}
"""
    with pytest.raises(CompileError) as caught:
        GeInferShapePass().apply(SessionContext(), parse_module(text))
    assert str(caught.value) == "<input>:2:3: error: ge.IdentityN 'a': has 2 results, expected 1"


SHAPES = """func.func @main(%x: tensor<?x3xf32>) -> (tensor<i32>, tensor<i32>, tensor<2xi64>) {
  %rank = ge.Rank(%x) : (tensor<?x3xf32>) -> tensor<i32>
  %size = ge.Size(%x) {dtype = DT_INT32} : (tensor<?x3xf32>) -> tensor<i32>
  %shape = ge.Shape(%x) {dtype = DT_INT64} : (tensor<?x3xf32>) -> tensor<2xi64>
  func.return %rank, %size, %shape : tensor<i32>, tensor<i32>, tensor<2xi64>
}
"""


@pytest.mark.parametrize(
    ("shapes", "values"),
    [
        ("", {"rank": 2}),
        ("x:5x3", {"rank": 2, "size": 15, "shape": [5, 3]}),
        ("x:0x3", {"rank": 2, "size": 0, "shape": [0, 3]}),
        ("x:1000000000000x3", {"rank": 2, "shape": [10**12, 3]}),
    ],
)
def test_shape_readers_become_constants(shapes, values):
    module = inferred(SHAPES, shapes)
    found = {op.node_name: op.value.tolist() for op in ge_ops(module) if op.op_type == "Const"}
    assert {key: found[key] for key in values} == values


def test_a_size_that_does_not_fit_its_type_stays_and_is_warned_about():
    module = parse_module(SHAPES)
    ctx = SessionContext()
    GeInferShapePass("x:1000000000000x3").apply(ctx, module)
    assert [op.node_name for op in ge_ops(module) if op.op_type == "Size"] == ["size"]
    (message,) = ctx.session.messages
    assert message.startswith("warning: ge.Size 'size': not folded: ")


BRANCHES = """func.func @main(%c: tensor<i1>, %x: tensor<?x3xf32>) -> tensor<*xf32> {
  %y = ge.If(%c, [%x]) then_branch {
  ^bb0(%a: tensor<*xf32>):
    %r = ge.Relu(%a) : (tensor<*xf32>) -> tensor<*xf32>
    ge.yield([%r]) : (tensor<*xf32>) -> ()
  } else_branch {
  ^bb0(%a: tensor<*xf32>):
    %s = ge.Add(%a, %a) : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
    ge.yield([%s]) : (tensor<*xf32>) -> ()
  } : (tensor<i1>, tensor<?x3xf32>) -> (tensor<*xf32>)
  func.return %y : tensor<*xf32>
}
"""


def test_types_flow_into_branches_and_out_of_them():
    assert types(inferred(BRANCHES, "x:2x3")) == dict.fromkeys("yrs", "tensor<2x3xf32>")


LOOP = """func.func @main(%c: tensor<i1>, %x: tensor<?x3xf32>) -> tensor<*xf32> {
  %y:2 = ge.While([%c, %x]) cond {
  ^bb0(%d: tensor<*xi1>, %a: tensor<*xf32>):
    ge.yield([%d]) : (tensor<*xi1>) -> ()
  } body {
  ^bb0(%d: tensor<*xi1>, %a: tensor<*xf32>):
    %r = BODY
    ge.yield([%d, %r]) : (tensor<*xi1>, tensor<*xf32>) -> ()
  } : (tensor<i1>, tensor<?x3xf32>) -> (tensor<*xi1>, tensor<*xf32>)
  func.return %y#1 : tensor<*xf32>
}
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("ge.Relu(%a) : (tensor<*xf32>) -> tensor<*xf32>", "tensor<2x3xf32>"),
        (
            "ge.ConcatD([%a, %a]) {concat_dim = 0, N = 2} : (tensor<*xf32>, tensor<*xf32>) "
            "-> tensor<*xf32>",
            "tensor<?x3xf32>",
        ),
    ],
)
def test_a_dimension_that_a_loop_changes_is_unknown(body, expected):
    module = inferred(LOOP.replace("BODY", body), "x:2x3")
    assert types(module)["r"] == expected
    loop = next(op for op in ge_ops(module) if op.op_type == "While")
    assert [str(result.type) for result in loop.results] == ["tensor<i1>", expected]


def test_what_feeds_a_shape_is_folded_and_large_constants_are_not():
    text = """func.func @main() -> tensor<8192xf32> {
  %a = ge.Const() {value = dense<1.0> : tensor<8192xf32>} : () -> tensor<8192xf32>
  %b = ge.Add(%a, %a) : (tensor<8192xf32>, tensor<8192xf32>) -> tensor<8192xf32>
  func.return %b : tensor<8192xf32>
}
"""
    kinds = [op.op_type for op in ge_ops(inferred(text))]
    assert kinds == ["Const", "Add"]
    kinds = [op.op_type for op in ge_ops(inferred(text.replace("8192", "8")))]
    assert kinds == ["Const", "Const"]
