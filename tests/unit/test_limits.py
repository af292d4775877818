"""What is refused for its size or form, before memory, time or another tool suffers from it."""

import numpy as np
import pytest

from ge_xdsl.cli import opt, run
from ge_xdsl.dialects.ge import limits
from ge_xdsl.dialects.ge.graph import main_function, verify
from ge_xdsl.dialects.ge.registry import op_class
from ge_xdsl.errors import LINE_LIMIT, CompileError, Location, one_line
from ge_xdsl.importers.mlir import mlir_module
from ge_xdsl.interpreters.ge import run_function
from ge_xdsl.passes.fold_constants import GeFoldConstantsPass
from ge_xdsl.passes.session import Session, SessionContext

T = "tensor<2x3xf32>"


def graph(*lines, args=f"%x: {T}", result=T):
    body = "".join(f"  {line}\n" for line in lines)
    return f"func.func @main({args}) -> {result} {{\n{body}  func.return %y : {result}\n}}\n"


def read(text, folder):
    return mlir_module(text, "g.mlir", folder)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\nb", "a b"),
        (" a\r\n\tb ", "a   b"),
        ("a\u2028b\x85c", "a b c"),
        ("\x1b[2J\x00\x7f", "\\x1b[2J\\x00\\x7f"),
        ("\xe9\u4f60", "\xe9\u4f60"),
        ("a" * LINE_LIMIT, "a" * LINE_LIMIT),
        ("a" * 500 + "b" * 9000 + "c" * 500, "a" * 500 + " ... " + "c" * 500),
    ],
)
def test_a_message_is_one_short_line(text, shown):
    assert one_line(text) == shown


def test_a_file_name_is_on_the_line_too():
    error = CompileError("is bad", subject="a\nb", location=Location("c\nd", 1, 2))
    assert error.render() == "c d:1:2: error: a b: is bad"


GROWING = [
    ("Range", "%a, %b, %b", ["i64", "i64", "i64"], [0, 10**12, 1], "1000000000000"),
    ("Fill", "%a, %b", ["2xi64", "f32"], [[10**6, 10**6], 1.0], "1000000000000"),
    ("Tile", "%a, %b", ["2xf32", "1xi64"], [[1, 2], [10**9]], "2000000000"),
    ("BroadcastTo", "%a, %b", ["1xf32", "2xi64"], [[1], [30000, 30000]], "900000000"),
    ("Add", "%a, %b", ["20000x1xf32", "1x20000xf32"], [0, 0], "400000000"),
    ("PadV3", "%a, %b", ["1xf32", "2xi64"], [[1], [10**9, 7]], "1000000008"),
]


@pytest.mark.parametrize(("op", "operands", "types", "values", "count"), GROWING)
def test_a_result_above_the_limit_is_not_computed(op, operands, types, values, count, tmp_path):
    names = dict(zip(["%a", "%b", "%c"], (f"tensor<{t}>" for t in types), strict=False))
    if op == "Range":
        operands = "%a, %b, %c"
    args = ", ".join(f"{name}: {t}" for name, t in names.items())
    element = types[0].split("x")[-1] if op != "Fill" else "f32"
    unknown = f"tensor<*x{element}>"
    line = f"%y = ge.{op}({operands}) : ({', '.join(names.values())}) -> {unknown}"
    module = read(graph(line, args=args, result=unknown), tmp_path)
    verify(module)
    inputs = {}
    for (name, text), value in zip(names.items(), values, strict=True):
        dims = [int(d) for d in text[7:-1].split("x")[:-1]]
        dtype = np.float32 if text.endswith("f32>") else np.int64
        inputs[name[1:]] = np.broadcast_to(np.array(value, dtype), dims)
    with pytest.raises(CompileError) as caught:
        run_function(main_function(module), inputs)
    expected = f"result has {count} elements, expected at most {limits.ELEMENT_LIMIT}"
    assert caught.value.message == expected
    assert caught.value.subject == f"ge.{op} 'y'"


def test_a_chain_that_doubles_stops_at_the_limit(tmp_path):
    lines = ["%v0 = ge.ConcatD([%x, %x]) {concat_dim = 0, N = 2} : (tensor<?xf32>, tensor<?xf32>)"]
    lines[0] += " -> tensor<?xf32>"
    for i in range(1, 40):
        lines.append(lines[0].replace("%v0", f"%v{i}").replace("%x", f"%v{i - 1}"))
    lines.append("%y = ge.Relu(%v39) : (tensor<?xf32>) -> tensor<?xf32>")
    text = graph(*lines, args="%x: tensor<?xf32>", result="tensor<?xf32>")
    start = np.zeros(limits.ELEMENT_LIMIT // 1024, np.float32)
    with pytest.raises(CompileError, match=r"268435456 elements, expected at most 134217728"):
        run_function(main_function(read(text, tmp_path)), {"x": start})


def test_padding_is_part_of_the_count():
    with pytest.raises(ValueError, match=r"padded input has 1000000000000 elements, expected"):
        limits.check_shape((1, 1, 10**6, 10**6), "padded input")
    limits.check_shape((1, -1, 10**6, 10**6))
    limits.check_shape((0, 10**6, 10**6))
    limits.check_shape(())


def test_a_loop_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr("ge_xdsl.interpreters.ge.LOOP_LIMIT", 100)
    text = """func.func @main(%x: tensor<i1>) -> tensor<i1> {
  %y = "ge.While"(%x) ({
  ^cond(%c: tensor<i1>):
    "ge.yield"(%c) : (tensor<i1>) -> ()
  }, {
  ^body(%b: tensor<i1>):
    "ge.yield"(%b) : (tensor<i1>) -> ()
  }) : (tensor<i1>) -> tensor<i1>
  func.return %y : tensor<i1>
}
"""
    func = main_function(read(text, tmp_path))
    assert not run_function(func, {"x": np.array(False)})[0]
    with pytest.raises(CompileError) as caught:
        run_function(func, {"x": np.array(True)})
    assert caught.value.message == "cond holds after 100 iterations, expected a loop that ends"


def test_folding_does_not_grow_constants(tmp_path):
    lines = [
        "%v0 = ge.Const() {value = dense<1.0> : tensor<200000xf32>} : () -> tensor<200000xf32>"
    ]
    size = 200000
    for i in range(1, 8):
        old, size = size, size * 2
        two = f"(tensor<{old}xf32>, tensor<{old}xf32>)"
        lines.append(
            f"%v{i} = ge.ConcatD([%v{i - 1}, %v{i - 1}]) {{concat_dim = 0, N = 2}} : {two} "
            f"-> tensor<{size}xf32>"
        )
    text = graph(*lines, result=f"tensor<{size}xf32>").replace("return %y", "return %v7")
    module = read(text, tmp_path)
    GeFoldConstantsPass().apply(SessionContext(Session()), module)
    ops = [op.name for op in main_function(module).body.block.ops]
    assert ops == ["ge.Const", *["ge.ConcatD"] * 7, "func.return"]


BIG = "1" + "0" * 40


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (graph(f"%y = ge.Relu(%x) : (tensor<{BIG}xf32>) -> {T}"), f"tensor has {BIG} elements"),
        (graph(f"%y = ge.Relu(%x) : (tensor<{'2x' * 70}f32>) -> {T}"), "tensor has 70 dimensions"),
        (
            graph(f"%y = ge.Relu(%x) : (tensor<{'1x' * 50000}f32>) -> {T}"),
            "shape is too long, expected at most 1000 characters",
        ),
        (
            graph("%y = ge.Const() {value = dense<1.0> : tensor<99999999999xf32>} : () -> " + T),
            "literal has 99999999999 elements, expected at most 16777216",
        ),
        (
            graph(
                f'%y = "ge.Elu"(%x) <{{alpha = 1.0 : f32}}> {{alpha = 1.0 : f32}} : ({T}) -> {T}'
            ),
            "ge.Elu: attribute 'alpha' is given twice, expected it once",
        ),
        (
            graph(f'%y = "ge.Elu"(%x) {{alpha = "a"}} : ({T}) -> {T}'),
            "ge.Elu 'y': attribute 'alpha' is \"a\", expected a number",
        ),
        (
            graph("%y = ge.Relu(%x) : (i32) -> i32", args="%x: i32", result="i32"),
            "type is i32, expected a tensor",
        ),
        (
            "func.func @main(%x: i32) -> i32 {\n  func.return %x : i32\n}\n",
            "func.func: input #0: type is i32, expected a tensor",
        ),
        (
            f'func.func @main(%x: {T}) -> {T} {{\n  "ge.yield"(%x) : ({T}) -> ()\n}}\n',
            "func.func: terminator is ge.yield, expected func.return",
        ),
        (
            f"func.func @main(%x: {T}) -> {T} {{\n  func.return %x : {T}\n^b:\n"
            f"  func.return %x : {T}\n}}\n",
            "func.func: has 2 blocks, expected one",
        ),
        ('"func.func"() : () -> ()\n', "func.func: Expected 1 region, but got 0"),
        (
            graph(f"%y = ge.Relu(%x) : ({T}) -> {T}", "builtin.module {}"),
            "builtin.module: stands inside an op, expected it in a module",
        ),
        (
            graph("func.func @g() {\n func.return\n }", f"%y = ge.Relu(%x) : ({T}) -> {T}"),
            "func.func: stands inside an op, expected it in a module",
        ),
    ],
)
@pytest.mark.parametrize("main", [opt.main, run.main])
def test_a_text_that_is_no_graph(main, text, error, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.mlir").write_text(text)
    argv = ["bad.mlir"] if main is opt.main else ["bad.mlir", "--random-inputs"]
    assert main(argv) == 1
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith("bad.mlir")
    assert error in err


def test_attributes_of_the_generic_form_are_the_declared_ones(tmp_path):
    text = graph(f'%y = "ge.Elu"(%x) {{alpha = 2.0 : f32}} : ({T}) -> {T}')
    op = main_function(read(text, tmp_path)).body.block.first_op
    assert op.get_attr("alpha") == 2.0
    assert "alpha" not in op.attributes


def test_errors_of_a_run_name_the_model(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    huge = f"tensor<{10**9}xf32>"
    text = graph(f"%y = ge.Relu(%x) : ({huge}) -> {huge}", args=f"%x: {huge}", result=huge)
    (tmp_path / "g.mlir").write_text(text)
    (tmp_path / "none.mlir").write_text("builtin.module {}\n")
    assert run.main(["g.mlir", "--random-inputs"]) == 1
    assert run.main(["none.mlir"]) == 1
    assert capsys.readouterr().err == (
        "g.mlir: error: graph input 'x': array has 1000000000 elements, "
        "expected at most 134217728\n"
        "none.mlir: error: the module has 0 functions, expected one or a 'main'\n"
    )


def test_an_archive_that_unpacks_to_much(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("ge_xdsl.cli.arrays.NPZ_LIMIT", 10_000)
    (tmp_path / "g.mlir").write_text(graph(f"%y = ge.Relu(%x) : ({T}) -> {T}"))
    np.savez_compressed(tmp_path / "x.npz", x=np.zeros(100_000, np.float32))
    assert run.main(["g.mlir", "--inputs", "x.npz"]) == 1
    assert capsys.readouterr().err == (
        "x.npz: error: cannot be read, it unpacks to 400128 bytes and may to 10000, "
        "expected an .npz file\n"
    )


def test_a_rule_that_divides_by_zero(tmp_path, monkeypatch):
    module = read(graph(f"%y = ge.Relu(%x) : ({T}) -> {T}"), tmp_path)
    monkeypatch.setattr(op_class("Relu"), "infer", lambda self, x: 1 // 0)
    with pytest.raises(CompileError) as caught:
        verify(module)
    assert caught.value.message == ("shapes cannot be inferred, integer division or modulo by zero")


def test_one_scale_for_a_scalar(tmp_path):
    types = "(tensor<f16>, tensor<2xf16>)"
    line = f"%y = ge.AscendQuantV2(%x, %s) : {types} -> tensor<i8>"
    text = graph(line, args="%x: tensor<f16>, %s: tensor<2xf16>", result="tensor<i8>")
    with pytest.raises(CompileError, match="scale is 2, expected one number$"):
        verify(read(text, tmp_path))


def test_an_estimate_makes_no_arrays(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    huge = "tensor<16384x16384xf16>"
    text = graph(
        f"%y = ge.MatMul(%x, %x) : ({huge}, {huge}) -> {huge}", args=f"%x: {huge}", result=huge
    )
    (tmp_path / "g.mlir").write_text(text)
    assert run.main(["g.mlir", "--estimate"]) == 0
    assert "in 1 launch\n" in capsys.readouterr().out
