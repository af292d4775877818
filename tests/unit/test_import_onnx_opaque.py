"""ONNX ops without a meaning: kept, told once, written back, refused where they would compute."""

import warnings

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx_graphs import X, model, node
from xdsl.dialects.builtin import StringAttr, UnitAttr

from ge_xdsl.cli import opt, run
from ge_xdsl.dialects.ge.graph import main_function, verify
from ge_xdsl.dialects.ge.text import module_text, parse_module
from ge_xdsl.errors import CompileError
from ge_xdsl.exporters.onnx.model import onnx_bytes
from ge_xdsl.importers.onnx.reader import import_onnx_bytes
from ge_xdsl.interpreters.ge import run_function
from ge_xdsl.passes.session import Session, SessionContext

FANCY = {
    "alpha": 0.1,
    "mode": 'q"\n',
    "raw": b"\xff\x00",
    "sizes": [1, -2],
    "names": ["a", ""],
    "none": helper.make_attribute("none", [], attr_type=onnx.AttributeProto.STRINGS),
    "weights": [0.5, 1e-30],
    "table": numpy_helper.from_array(np.arange(100, dtype=np.float32)),
    "flags": numpy_helper.from_array(np.array([True, False])),
}


def with_attrs(made, attrs):
    for name, value in attrs.items():
        given = value if isinstance(value, onnx.AttributeProto) else None
        made.attribute.append(given or helper.make_attribute(name, value))
    return made


def fancy(**changes):
    """x through a foreign op that has attributes of every kind and leaves slots out."""
    one = node("Fancy", ["a", "", "w"], ["b", "", "c"], "one", domain="com.acme")
    nodes = [
        node("Relu", ["x"], ["a"], "r"),
        with_attrs(one, changes.pop("attrs", FANCY)),
        node("Fancy", ["b"], ["d"], "two", domain="com.acme"),
        node("Add", ["b", "d"], ["y"], "sum"),
    ]
    info = helper.make_tensor_value_info("b", TensorProto.FLOAT, ["n", 4])
    out = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 4])
    made = model(nodes, {"x": X}, [out], 17, {"w": X[0]}, {"x": ["n", 4]}, value_info=[info])
    made.opset_import.append(helper.make_opsetid("com.acme", 3))
    return made


def imported(made, strict=False):
    session = Session(strict=strict)
    module = import_onnx_bytes(made.SerializeToString(), ctx=SessionContext(session))
    verify(module)
    return module, session.messages


def test_it_is_told_once():
    module, messages = imported(fancy())
    assert messages == [
        "warning: Fancy 'one': the op is not known in domain 'com.acme' and is kept as "
        "ge.com.acme.Fancy"
    ]
    types = [str(op.results[0].type) for op in module.walk() if op.name == "ge.com.acme.Fancy"]
    assert types == ["tensor<?x4xf32>", "tensor<*x!ge.element<DT_UNDEFINED>>"]
    with pytest.warns(UserWarning, match="is kept as ge.com.acme.Fancy"):
        import_onnx_bytes(fancy().SerializeToString())


def test_the_text_reads_back():
    module, _ = imported(fancy())
    for generic in (False, True):
        again = parse_module(module_text(module, generic=generic))
        verify(again)
        assert module_text(again) == module_text(module)


def test_it_is_written_back_as_it_was():
    made = fancy()
    module, _ = imported(made)
    written = onnx.load_from_string(onnx_bytes(main_function(module)))
    onnx.checker.check_model(written)
    assert {(o.domain, o.version) for o in written.opset_import} == {("", 18), ("com.acme", 3)}
    for ours, theirs in zip(written.graph.node, made.graph.node, strict=True):
        assert (ours.op_type, ours.domain, ours.name) == (
            theirs.op_type, theirs.domain, theirs.name,
        )  # fmt: skip
    one = written.graph.node[1]
    assert [bool(name) for name in one.input] == [True, False, True]
    assert [bool(name) for name in one.output] == [True, False, True]
    found = {attr.name: attr for attr in one.attribute}
    for theirs in made.graph.node[1].attribute:
        ours = found.pop(theirs.name)
        assert ours.type == theirs.type
        if theirs.type == onnx.AttributeProto.TENSOR:
            np.testing.assert_array_equal(*(numpy_helper.to_array(a.t) for a in (ours, theirs)))
        else:
            one, two = (helper.get_attribute_value(a) for a in (ours, theirs))
            assert one == two
    assert not found
    again, _ = imported(written)
    assert module_text(again).count("ge.com.acme.Fancy") == 2


@pytest.mark.parametrize("ending", ["txt", "air", "pbtxt"])
def test_the_formats_of_ge_hold_it(tmp_path, ending, capsys):
    attrs = {k: v for k, v in FANCY.items() if k not in ("raw", "none")}
    (tmp_path / "m.onnx").write_bytes(fancy(attrs=attrs).SerializeToString())
    path = tmp_path / f"m.{ending}"
    assert opt.main([str(tmp_path / "m.onnx"), "-o", str(path)]) == 0
    assert opt.main([str(path)]) == 0
    text = capsys.readouterr().out
    assert "ge.com.acme.Fancy([%r, %w])" in text
    assert "onnx.missing_inputs = array<i64: 1>" in text


STRICT = [
    (
        fancy(),
        "error: Fancy 'one': the op is not known in domain 'com.acme', expected one that has a "
        "converter",
    ),
    (
        model([node("Rellu", ["x"], ["y"], "n")], {"x": X}, ["y"]),
        "Rellu 'n': the op is not known in domain 'ai.onnx', expected one that has a converter, "
        "did you mean 'Relu'?",
    ),
    (
        model([node("FastGeluu", ["x"], ["y"], "n", domain="com.microsoft")], {"x": X}, ["y"]),
        "FastGeluu 'n': the op is not known in domain 'com.microsoft', expected one that has a "
        "converter, did you mean 'FastGelu'?",
    ),
]


@pytest.mark.parametrize(("made", "text"), STRICT, ids=["domain", "main domain", "contrib"])
def test_strict(made, text):
    with pytest.raises(CompileError) as error:
        imported(made, strict=True)
    assert text in str(error.value)


def test_the_tools(tmp_path, capsys):
    path = tmp_path / "m.onnx"
    path.write_bytes(fancy().SerializeToString())
    assert opt.main([str(path), "--strict"]) == 1
    assert "Fancy 'one': the op is not known" in capsys.readouterr().err
    passes = "ge-infer-shape,ge-simplify,ge-fold-constants,ge-cse,ge-dce,ge-fuse,ge-decompose"
    assert opt.main([str(path), "-p", passes]) == 0
    found = capsys.readouterr()
    assert found.out.count("ge.com.acme.Fancy") == 2
    assert found.err.count("is not known") == 1
    for level in ("ge", "aicore"):
        argv = [str(path), "--random-inputs", "--shape", "x=2x4", "--level", level]
        assert run.main(argv) == 1
        assert (
            "ge.com.acme.Fancy 'one': has no evaluation, ONNX op com.acme::Fancy is not known"
        ) in capsys.readouterr().err


def test_nothing_is_known_so_nothing_is_merged_or_removed():
    nodes = [
        node("Draw", ["x"], ["a"], "one", domain="com.acme"),
        node("Draw", ["x"], ["b"], "two", domain="com.acme"),
        node("Relu", ["a"], ["y"], "r"),
    ]
    module, _ = imported(model(nodes, {"x": X}, ["y"]))
    from ge_xdsl.passes.manager import PassManager
    from ge_xdsl.passes.pipeline import make_passes

    PassManager(SessionContext(), make_passes("ge-cse,ge-dce")).run(module)
    assert module_text(module).count("ge.com.acme.Draw") == 2
    with pytest.raises(CompileError, match="Draw 'one': has no evaluation"):
        run_function(main_function(module), {"x": X})


def graph_attribute():
    made = node("Fancy", ["x"], ["y"], "n", domain="com.acme")
    made.attribute.append(helper.make_attribute("body", helper.make_graph([], "g", [], [])))
    return made


REFUSED = [
    (graph_attribute(), "Fancy 'n': attribute 'body' is a graph, a type or sparse, expected"),
    (
        node("Fancy", ["x"], ["y"], "n", domain="com.acme", t=helper.make_tensor(
            "t", TensorProto.STRING, [1], [b"a"])),
        "attribute 't' element type is STRING, expected numbers",
    ),
    (
        node("Fancy", ["x"], ["y"], "n", domain="com.acme", t=helper.make_tensor(
            "t", TensorProto.COMPLEX128, [1], [1j])),
        "attribute 't' has complex128 elements, expected numbers",
    ),
    (
        node("Fancy", ["x"], ["y"], "n", domain="com.acme", names=[b"\xff"]),
        "attribute 'names' is no UTF-8 text, expected some",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("made", "text"), REFUSED, ids=["graph", "strings", "complex", "bytes"])
def test_what_cannot_be_kept(made, text):
    with pytest.raises(CompileError) as error:
        imported(model([made], {"x": X}, ["y"]))
    assert text in str(error.value)


def test_an_overload_is_refused():
    made = node("Fancy", ["x"], ["y"], "n", domain="com.acme")
    made.overload = "two"
    with pytest.raises(CompileError, match="Fancy 'n': calls overload 'two', expected a function"):
        imported(model([made], {"x": X}, ["y"]))


WRONG_TEXTS = [
    ("", "ge.a.B: is no GE op and has no onnx.op_type, expected one of them"),
    (
        'onnx.op_type = "B", onnx.missing_inputs = array<i64: 5>',
        r"ge.a.B: onnx.missing_inputs is \[5\], expected positions in order",
    ),
    (
        'onnx.op_type = "B", onnx.unused_outputs = array<i64: 0, 0>',
        r"ge.a.B: onnx.unused_outputs is \[0, 0\], expected positions in order",
    ),
]


@pytest.mark.parametrize(("attrs", "text"), WRONG_TEXTS, ids=["type", "missing", "unused"])
def test_wrong_texts(attrs, text):
    source = (
        "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
        f"  %y = ge.a.B([%x]) {{{attrs}}} : (tensor<2xf32>) -> tensor<2xf32>\n"
        "  func.return %y : tensor<2xf32>\n}\n"
    )
    module = parse_module(source)
    with pytest.raises(CompileError, match=text.replace("ge.a.B: ", "")):
        verify(module)


def test_in_a_loop_body():
    body = helper.make_graph(
        [node("Fancy", ["v"], ["u"], "inner", domain="com.acme"), node("Identity", ["c"], ["go"])],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("c", TensorProto.BOOL, []),
            helper.make_tensor_value_info("v", TensorProto.FLOAT, [3, 4]),
        ],
        [
            helper.make_tensor_value_info("go", TensorProto.BOOL, []),
            helper.make_tensor_value_info("u", TensorProto.FLOAT, [3, 4]),
        ],
    )
    count = {"n": np.array(2, np.int64)}
    made = model([node("Loop", ["n", "", "x"], ["y"], "l", body=body)], {"x": X}, ["y"], 17, count)
    module, messages = imported(made)
    assert len(messages) == 1
    assert module_text(module).count("ge.com.acme.Fancy") == 1


def test_a_known_model_is_silent():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = model([node("Relu", ["x"], ["y"])], {"x": X}, ["y"])
        import_onnx_bytes(made.SerializeToString())


@pytest.mark.parametrize("field", ["domain", "attribute"])
def test_names_that_are_no_text(field):
    """The protobuf library leaves bytes that are no UTF-8 text where a name should be."""
    made = fancy(attrs={"sizes": [1]}).SerializeToString()
    old, new = (b"com.acme", b"c\xccm.acme") if field == "domain" else (b"sizes", b"s\xcczes")
    with pytest.raises(CompileError, match="a name is b'.*', expected UTF-8 text"):
        import_onnx_bytes(made.replace(old, new))


def test_an_attribute_that_onnx_has_no_form_for():
    module, _ = imported(fancy())
    (op,) = [op for op in module.walk() if op.attributes.get("ge.name") == StringAttr("one")]
    op.attributes["attr.odd"] = UnitAttr()
    with pytest.raises(CompileError, match="'one': attribute is unit, expected a value of ONNX's"):
        onnx_bytes(main_function(module))
