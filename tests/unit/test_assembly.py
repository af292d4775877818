"""The shared assembly: round trips on both parser paths, names, places, and every mistake."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ge_xdsl.dialects.ge.assembly import float_text, string_text
from ge_xdsl.dialects.ge.graph import main_function, verify
from ge_xdsl.dialects.ge.names import INPUT_NAMES, string_list
from ge_xdsl.dialects.ge.prototype import round_f32
from ge_xdsl.dialects.ge.text import GeContext, GeParser, module_text, parse_module
from ge_xdsl.errors import CompileError


def func(body, args="%x: tensor<2x3xf32>", results="tensor<2x3xf32>"):
    return f"func.func @main({args}) -> {results} {{\n{body}\n}}\n"


ONE = func(
    "  %y = ge.Relu(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>\n  func.return %y : tensor<2x3xf32>"
)

BODIES = {
    "optional by name": (
        "%m = ge.MatMul(%x, %w, bias = %b) {transpose_x2 = true} : "
        "(tensor<2x3xf32>, tensor<4x3xf32>, tensor<4xf32>) -> tensor<2x4xf32>"
    ),
    "optional missing": (
        "%m = ge.MatMul(%x, %w) {transpose_x2 = true} : "
        "(tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>"
    ),
    "private attributes": (
        '%m = ge.Relu(%x) {_label = "a \\22b\\22", ge.pass_name = ["P", "Q"]} : '
        "(tensor<2x3xf32>) -> tensor<2x3xf32>"
    ),
    "attribute name that is no word": (
        '%m = ge.Relu(%x) {"_a b" = 1 : i64, "ge.x:0" = "v"} : (tensor<2x3xf32>) -> tensor<2x3xf32>'
    ),
    "name that SSA cannot hold": (
        '%a_b_0 = ge.Relu(%x) {ge.name = "a/b:0"} : (tensor<2x3xf32>) -> tensor<2x3xf32>'
    ),
    "numbered name": "%conv_12 = ge.Relu(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>",
    "nameless": "%0 = ge.Relu(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>",
    "unknown shape": "%u = ge.Relu(%d) : (tensor<?x3xf32>) -> tensor<?x3xf32>",
    "unknown rank": "%u = ge.Relu(%r) : (tensor<*xf32>) -> tensor<*xf32>",
    "layout": (
        "%u = ge.Relu(%l) : (tensor<1x3x2x2xf32, #ge.layout<NCHW>>) "
        "-> tensor<1x3x2x2xf32, #ge.layout<NCHW>>"
    ),
    "constant": ("%c = ge.Const() {value = dense<[1, 2]> : tensor<2xi64>} : () -> tensor<2xi64>"),
    "weight": '%c = ge.Const() {value = #ge.weight<"k/1">} : () -> tensor<200x2xf32>',
    "control edge": "ge.control_edge(%x, %w) : (tensor<2x3xf32>, tensor<4x3xf32>) -> ()",
}
ARGS = (
    "%x: tensor<2x3xf32>, %w: tensor<4x3xf32>, %b: tensor<4xf32>, %d: tensor<?x3xf32>, "
    "%r: tensor<*xf32>, %l: tensor<1x3x2x2xf32, #ge.layout<NCHW>>"
)


@pytest.mark.parametrize("line", BODIES.values(), ids=BODIES)
def test_round_trip(line):
    text = func(f"  {line}\n  func.return", ARGS, "()").replace(" -> () {", " {")
    module = parse_module(text)
    printed = module_text(module)
    assert line in printed
    assert module_text(parse_module(printed)) == printed
    assert module_text(parse_module(module_text(module, generic=True))) == printed
    # A comment after the op sends the line to the general parser.
    slow = text.replace(line, f"{line} // slow")
    assert module_text(parse_module(slow)) == printed


def test_names_are_kept_apart_from_ssa_names():
    module = parse_module(
        func(
            '  %a = ge.Relu(%x) {ge.name = "n 1"} : (tensor<2x3xf32>) -> tensor<2x3xf32>\n'
            '  %b = ge.Relu(%a) {ge.name = "n/1"} : (tensor<2x3xf32>) -> tensor<2x3xf32>\n'
            "  func.return %b : tensor<2x3xf32>"
        )
    )
    printed = module_text(module)
    assert '%n_1 = ge.Relu(%x) {ge.name = "n 1"}' in printed
    assert '%n_1_1 = ge.Relu(%n_1) {ge.name = "n/1"}' in printed
    assert string_list(main_function(module), INPUT_NAMES) == ["x"]


def test_input_names_that_ssa_cannot_hold_are_written_out():
    module = parse_module(ONE)
    main_function(module).attributes[INPUT_NAMES] = parse_attr('["input:0"]')
    printed = module_text(module)
    assert 'attributes {ge.input_names = ["input:0"]}' in printed
    assert module_text(parse_module(printed)) == printed


def parse_attr(text):
    return GeParser(GeContext(), text).parse_attribute()


T = "tensor<2x3xf32>"
MISTAKES = {
    "unknown op": (
        f"%y = ge.Rel(%x) : ({T}) -> {T}",
        "f.mlir:2:8: error: ge.Rel: is no known op, expected a GE op type, did you mean 'Relu'?",
    ),
    "an op in other capitals": (
        f"%y = ge.ReLU(%x) : ({T}) -> {T}",
        "f.mlir:2:8: error: ge.ReLU: is no known op, expected a GE op type, did you mean 'Relu'?",
    ),
    "an op without its dialect": (
        f"%y = Relu(%x) : ({T}) -> {T}",
        "f.mlir:2:8: error: Relu: is no known op, expected a GE op type, did you mean 'ge.Relu'?",
    ),
    "unknown attribute": (
        f"%y = ge.MatMul(%x, %x) {{transpose_1 = true}} : ({T}, {T}) -> {T}",
        "error: ge.MatMul: attribute 'transpose_1' is not in the prototype, "
        "expected: transpose_x1, transpose_x2, did you mean 'transpose_x1'?",
    ),
    "attribute of another kind": (
        f"%y = ge.MatMul(%x, %x) {{transpose_x1 = 3}} : ({T}, {T}) -> {T}",
        "error: ge.MatMul: attribute 'transpose_x1' is 3, expected true or false",
    ),
    "bare word": (
        f"%y = ge.MatMul(%x, %x) {{transpose_x1 = yes}} : ({T}, {T}) -> {T}",
        "attribute 'transpose_x1' is 'yes', expected true or false",
    ),
    "attribute twice": (
        f"%y = ge.MatMul(%x, %x) {{transpose_x1 = true, transpose_x1 = true}} : ({T}, {T}) -> {T}",
        "attribute 'transpose_x1' given twice",
    ),
    "name that is no string": (
        f"%y = ge.Relu(%x) {{ge.name = 1 : i64}} : ({T}) -> {T}",
        "error: ge.Relu: ge.name is no string",
    ),
    "missing input": (f"%y = ge.Add(%x) : ({T}) -> {T}", "error: ge.Add: input 'x2' is missing"),
    "too many inputs": (
        f"%y = ge.Relu(%x, %x) : ({T}, {T}) -> {T}",
        "error: ge.Relu: more inputs than the prototype has, expected: x",
    ),
    "optional input without its name": (
        f"%y = ge.MatMul(%x, %x, %x) : ({T}, {T}, {T}) -> {T}",
        "error: ge.MatMul: more inputs than the prototype has, expected: x1, x2, bias = ...",
    ),
    "unknown input": (
        f"%y = ge.MatMul(%x, %x, bia = %x) : ({T}, {T}, {T}) -> {T}",
        "error: ge.MatMul: no input 'bia', did you mean 'bias'?",
    ),
    "input twice": (
        f"%y = ge.MatMul(%x, %x, bias = %x, bias = %x) : ({T}, {T}, {T}, {T}) -> {T}",
        "error: ge.MatMul: input given twice",
    ),
    "type count": (
        f"%y = ge.Relu(%x) : ({T}, {T}) -> {T}",
        "error: ge.Relu: 2 operand types, expected 1",
    ),
    "operand type": (
        f"%y = ge.Relu(%x) : (tensor<9xf32>) -> {T}",
        "operand is used with type tensor<9xf32>, but has been previously used or defined with",
    ),
    "result type": (
        f"%y = ge.Relu(%x) : ({T}) -> tensor<9xf32>",
        "f.mlir:2:3: error: ge.Relu 'y': result #0 is tensor<9xf32>, infer gives tensor<2x3xf32>",
    ),
    "no tensor": (f"%y = ge.Relu(%x) : ({T}) -> i32", "result #0 is i32, expected a tensor"),
    "undefined value": (f"%y = ge.Relu(%z) : ({T}) -> {T}", "%z"),
    "unterminated": ("%y = ge.Relu(", "f.mlir:"),
}


LEFTOVERS = {
    "after attributes": (
        "%y = ge.Relu(%x) {_a = 1} rest {_b = 2} : (tensor<2xf32>) -> tensor<2xf32>",
        "Expected ':'",
    ),
    "after operand types": (
        "%y = ge.Relu(%x) : (tensor<2xf32>] rest) -> tensor<2xf32>",
        "')' expected",
    ),
    "after result types": (
        "%y = ge.Relu(%x) : (tensor<2xf32>) -> tensor<2xf32>] rest",
        "in block definition",
    ),
    "after operands": (
        "%y = ge.AddN([%x, %x] rest) {N = 2} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>",
        "')' expected",
    ),
    "in operands": (
        "%y = ge.AddN([[%x]) {N = 1} : (tensor<2xf32>) -> tensor<2xf32>",
        "operand expected",
    ),
    "results without parentheses": (
        "%y:2 = ge.IdentityN([%x, %x]) : (tensor<2xf32>, tensor<2xf32>) -> "
        "tensor<2xf32>, tensor<2xf32>",
        "Operation",
    ),
    "name that starts with a digit": (
        "%1y = ge.Relu(%x) : (tensor<2xf32>) -> tensor<2xf32>",
        "Expected",
    ),
}


@pytest.mark.parametrize(("line", "text"), LEFTOVERS.values(), ids=LEFTOVERS)
def test_the_fast_path_takes_no_line_with_leftovers(line, text):
    source = func(f"  {line}\n  func.return %x : tensor<2xf32>", "%x: tensor<2xf32>")
    with pytest.raises(CompileError) as caught:
        parse_module(source, "f.mlir")
    assert text in caught.value.message
    assert caught.value.location.line in (2, 3)


@pytest.mark.parametrize(("line", "text"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes(line, text):
    with pytest.raises(CompileError) as error:
        verify(parse_module(func(f"  {line}\n  func.return", results="()"), "f.mlir"))
    assert text in str(error.value)
    assert "\n" not in str(error.value)
    assert str(error.value).startswith("f.mlir:")


@settings(max_examples=60, deadline=None)
@example('"' + "a" * 60)
@given(st.text(alphabet='%ge.Relu(x):tnso<23f>-{}="\n #^@0', max_size=60))
def test_garbage_is_one_line_or_accepted(garbage):
    text = ONE.replace("%y = ge", f"{garbage}%y = ge", 1)
    try:
        verify(parse_module(text, "f.mlir"))
    except CompileError as error:
        assert "\n" not in str(error)


@pytest.mark.parametrize("cut", range(0, len(ONE), 7))
def test_truncated_text_is_one_line(cut):
    try:
        verify(parse_module(ONE[:cut], "f.mlir"))
    except CompileError as error:
        assert str(error).startswith("f.mlir:")
        assert "\n" not in str(error)


def test_deep_nesting_is_an_error():
    with pytest.raises(CompileError, match=r"f\.mlir: error: nesting is too deep, expected less"):
        parse_module("module {" * 5000, "f.mlir")


@given(st.floats(width=32, allow_nan=False))
def test_float_text_is_the_shortest_exact(value):
    text = float_text(value)
    assert round_f32(float(text)) == value
    assert "inf" in text or any(c in text for c in ".e")


def test_float_and_string_text():
    assert float_text(float("nan")) == "nan"
    assert [float_text(round_f32(v)) for v in (1e-7, 0.1, 1.0, -0.0)] == [
        "1.0e-07",
        "0.1",
        "1.0",
        "-0.0",
    ]
    assert string_text('a"\\\n') == '"a\\22\\\\\\0A"'
