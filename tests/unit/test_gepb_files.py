"""GE's files: the form for viewers read back, attributes of rare kinds, weights in files."""

import re

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ge_xdsl as gx
from ge_xdsl.dialects.ge.gepb import KINDS, Message
from ge_xdsl.dialects.ge.graph import ge_ops, main_function, verify
from ge_xdsl.dialects.ge.text import module_text, parse_module
from ge_xdsl.errors import CompileError
from ge_xdsl.exporters import gepb as writer
from ge_xdsl.exporters.ge_onnx import ge_onnx_text
from ge_xdsl.exporters.gepb import air_bytes, model_of, proto_text
from ge_xdsl.importers import load_module
from ge_xdsl.importers.gepb.reader import module_of_model
from ge_xdsl.importers.gepb.viewer import is_viewer_text, model_of_text

NET = """
func.func @net(%x: TT, %c: tensor<i1>) -> (TT, tensor<70xf16>, TT) attributes {
    ge.output_names = ["a", "b", "c"], ge.depth = 3 : i64} {
  %w = ge.Const() {value = dense<1.5> : tensor<70xf32>} : () -> tensor<70xf32>
  %r = ge.Relu(%x) {_note = "a\\22b", ge.sizes = array<i64: 1, -2>, ge.off = [], ge.on = true,
    ge.flags = [true, false], ge.kind = #ge.dtype<DT_INT8>,
    ge.rows = [array<i64: 1>, array<i64: 2, 3>], ge.names = ["p", ""], ge.half = 0.5 : f32,
    ge.output_attr.0.deep = true} : (TT) -> TT
  %t = ge.Cast(%w) {dst_type = 1} : (tensor<70xf32>) -> tensor<70xf16>
  %o = ge.If(%c, [%r]) then_branch {
  ^bb0(%a: TT):
    %n = ge.Neg(%a) : (TT) -> TT
    %c2 = ge.Const() {value = dense<true> : tensor<i1>} : () -> tensor<i1>
    %i = ge.If(%c2, [%n]) then_branch {
    ^bb0(%d: TT):
      ge.yield([%d]) : (TT) -> ()
    } else_branch {
    ^bb0(%e: TT):
      %z = ge.Abs(%e) : (TT) -> TT
      ge.yield([%z]) : (TT) -> ()
    } : (tensor<i1>, TT) -> TT
    ge.yield([%i]) : (TT) -> ()
  } else_branch {
  ^bb0(%b: TT):
    ge.yield([%b]) : (TT) -> ()
  } : (tensor<i1>, TT) -> TT
  ge.control_edge(%w, %r) : (tensor<70xf32>, TT) -> ()
  func.return %r, %t, %o : TT, tensor<70xf16>, TT
}
"""


@pytest.fixture
def module():
    made = parse_module(NET.replace("TT", "tensor<2x?xf16>"), "net.mlir")
    verify(made)
    return made


ENDINGS = ["air", "txt", "pbtxt"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_what_is_written_reads_back(module, tmp_path, ending):
    path = tmp_path / f"m.{ending}"
    gx.save(module, path)
    back = load_module(path)
    verify(back)
    assert air_bytes(main_function(back)) == air_bytes(main_function(module))
    gx.save(back, tmp_path / f"n.{ending}")
    assert (tmp_path / f"n.{ending}").read_bytes() == path.read_bytes()
    assert "ge.kind = #ge.dtype<DT_INT8>" in module_text(back)
    assert 'ge.output_names = ["a", "b", "c"]' in module_text(back)


@pytest.mark.parametrize("ending", ["txt", "pbtxt"])
def test_the_text_tells_which_form_it_has(module, tmp_path, ending):
    for text in (proto_text(main_function(module)), ge_onnx_text(main_function(module).body.block)):
        path = tmp_path / f"m.{ending}"
        path.write_text(text)
        assert air_bytes(main_function(load_module(path))) == air_bytes(main_function(module))


def test_forms():
    assert is_viewer_text("ir_version: 6")
    assert is_viewer_text('graph {\n node { name: "a" } }')
    assert not is_viewer_text('name: "m"\ngraph { op { name: "node {" } }')
    assert not is_viewer_text("")


def test_dumps_without_weights_and_without_attributes(module):
    for level, missing in ((2, "value"), (3, "dst_type")):
        text = ge_onnx_text(main_function(module).body.block, level)
        model = model_of_text(text)
        attrs = {key for op in model.get("graph")[0].get("op") for key in op.get("attr")}
        assert missing not in attrs


def test_dumps_of_other_writers(module):
    """Without notes on kinds what the prototype declares comes out; the rest are integers."""
    text = ge_onnx_text(main_function(module).body.block)
    text = re.sub(r"\n *doc_string: .*", "", text)
    back = module_of_model(model_of_text(text), "f")
    verify(back)
    [cast] = [op for op in ge_ops(back) if op.op_type == "Cast"]
    assert cast.get_attr("dst_type") == 1
    assert "ge.on = 1 : i64" in module_text(back)


def test_many_descriptions(tmp_path):
    names = [f"%a{k}" for k in range(25)]
    kind = "tensor<3xf32>"
    made = parse_module(
        f"func.func @g({', '.join(f'{n}: {kind}' for n in names)}) -> tensor<75xf32> {{\n"
        f"  %y = ge.ConcatD([{', '.join(names)}]) {{concat_dim = 0, N = 25}} : "
        f"({', '.join([kind] * 25)}) -> tensor<75xf32>\n"
        "  func.return %y : tensor<75xf32>\n}\n"
    )
    gx.save(made, tmp_path / "m.pbtxt")
    assert "input_desc_24" in (tmp_path / "m.pbtxt").read_text()
    back = load_module(tmp_path / "m.pbtxt")
    assert air_bytes(main_function(back)) == air_bytes(main_function(made))


RARE = [
    'func { name: "f" attr { key: "a" value { i: 3 } } }',
    'bt: "\\377\\000a"',
    'g { name: "inner" op { name: "n" type: "Relu" } }',
    "td { dtype: DT_FLOAT16 shape { dim: 2 } }",
    "list_list_float { list_list_f { list_f: 0.5 list_f: 1 } }",
    'expression: "s0 + 1"',
    'list { na { name: "f" } na { name: "g" } val_type: VT_LIST_NAMED_ATTRS }',
    'list { bt: "\\001" bt: "" val_type: VT_LIST_BYTES }',
]


@pytest.mark.parametrize("value", RARE, ids=[value.split()[0] for value in RARE])
@pytest.mark.parametrize("ending", [*ENDINGS, "mlir"])
def test_attributes_of_rare_kinds(tmp_path, value, ending):
    path = tmp_path / "m.txt"
    desc = "output_desc { dtype: DT_FLOAT shape { dim: 2 } }"
    path.write_text(
        f'graph {{ name: "g" op {{ name: "x" type: "Data" {desc} }} op {{ name: "a" type: "Relu" '
        f'input: "x:0" {desc} attr {{ key: "k" value {{ {value} }} }} }} }}'
    )
    first = load_module(path)
    verify(first)
    data = air_bytes(main_function(first))
    [attr] = [op.get("attr")["k"] for op in model_of(main_function(first)).get("graph")[0].get("op")
              if "k" in op.get("attr")]  # fmt: skip
    assert value.split()[0].rstrip(":") in attr.fields
    gx.save(first, tmp_path / f"n.{ending}")
    again = load_module(tmp_path / f"n.{ending}")
    verify(again)
    assert air_bytes(main_function(again)) == data


def test_wrong_text_of_an_attribute(module):
    text = module_text(module).replace("ge.on = true", 'ge.on = {"ge.attr_def" = "nope {"}')
    with pytest.raises(CompileError, match=r"ge.Relu 'r': attribute ge.attr_def: line 1: "):
        air_bytes(main_function(parse_module(text)))


NODE = 'node { name: "%s" op_type: "%s" %s }'
BAD = [
    (NODE % ("s", "subgraph", ""), "subgraph 's' comes first, expected an op before"),
    (
        NODE % ("a", "ge:If", "") + NODE % ("s", "subgraph", ""),
        "subgraph 's' has no graph, expected one",
    ),
    (
        NODE % ("a", "ge:Relu", 'attribute { name: "output_desc_nums" i: 99999999 }'),
        "output_desc_nums is 99999999, expected at most 65536",
    ),
    (
        NODE % ("a", "ge:Relu", 'attribute { name: "output_desc_dtype:99999999" s: "DT_INT8" }'),
        "description 99999999 is too far, expected at most 65536",
    ),
    (
        NODE % ("a", "ge:Relu", 'attribute { name: "output_desc_dtype:0" s: "DT_Q" }'),
        "element type is 'DT_Q', expected one of GE's",
    ),
    (
        NODE % ("a", "ge:Relu", 'attribute { name: "k" strings: "[" doc_string: "list_list_int" }'),
        "attribute 'k' is no list of lists, expected one",
    ),
]


@pytest.mark.parametrize(("nodes", "text"), BAD, ids=[text[:40] for _, text in BAD])
def test_bad_dumps(tmp_path, nodes, text):
    path = tmp_path / "m.pbtxt"
    path.write_text(f'ir_version: 6 graph {{ name: "g" {nodes} }}')
    with pytest.raises(CompileError, match=re.escape(text)) as caught:
        load_module(path)
    assert str(caught.value).startswith(f"{path}: error: ")


# Weights in files


def big():
    rng = np.random.default_rng(0)
    text = (
        "func.func @main(%x: tensor<2x400xf32>) -> tensor<2x3xf32> {\n"
        '  %w = ge.Const() {value = #ge.weight<"w">, ge.tag = 3 : i64} : () -> tensor<400x3xf32>\n'
        "  %b = ge.Const() {value = dense<0.5> : tensor<3xf32>} : () -> tensor<3xf32>\n"
        "  %y = ge.MatMul(%x, %w, bias = %b) : (tensor<2x400xf32>, tensor<400x3xf32>, "
        "tensor<3xf32>) -> tensor<2x3xf32>\n  func.return %y : tensor<2x3xf32>\n}\n"
    )
    module = parse_module(text)
    [weight] = [op for op in ge_ops(module) if op.node_name == "w"]
    array = rng.standard_normal((400, 3)).astype(np.float32)
    from ge_xdsl.dialects.ge.weights import const_attr

    weight.properties["value"] = const_attr(array, "w")
    verify(module)
    return module, array


def test_large_weights_stand_in_files(tmp_path, monkeypatch):
    module, array = big()
    monkeypatch.setattr(writer, "INLINE_LIMIT", 1000)
    gx.save(module, tmp_path / "m.air")
    file = tmp_path / "air_weight" / "m" / "w_file"
    assert file.read_bytes() == array.tobytes()
    assert (tmp_path / "m.air").stat().st_size < 4000
    back = load_module(tmp_path / "m.air")
    verify(back)
    x = np.ones((2, 400), np.float32)
    np.testing.assert_array_equal(
        gx.run(back, {"x": x})["output_0"], gx.run(module, {"x": x})["output_0"]
    )
    monkeypatch.undo()
    assert air_bytes(main_function(back)) == air_bytes(main_function(module))
    file.unlink()
    with pytest.raises(CompileError, match=r"w_file: error: cannot use the file, no such file"):
        load_module(tmp_path / "m.air")


def file_constant(path, **attrs):
    given = {
        "file_path": 's: "w.bin"', "shape": "list { i: 2 i: 3 }", "dtype": "dt: 0", **attrs,
    }  # fmt: skip
    listed = " ".join(f'attr {{ key: "{k}" value {{ {v} }} }}' for k, v in given.items() if v)
    desc = "output_desc { dtype: DT_FLOAT shape { dim: 2 dim: 3 } }"
    path.write_text(
        f'graph {{ name: "g" op {{ name: "c" type: "FileConstant" {desc} {listed} }} op {{ name: '
        f'"a" type: "Relu" input: "c:0" {desc} }} op {{ name: "n" type: "NetOutput" input: "a:0" '
        "} }"
    )
    return path


def test_a_file_constant_of_ge(tmp_path):
    numbers = np.arange(10, dtype=np.float32)
    (tmp_path / "w.bin").write_bytes(numbers.tobytes())
    module = load_module(file_constant(tmp_path / "m.txt", offset="i: 8"))
    verify(module)
    np.testing.assert_array_equal(gx.run(module, {})["output_0"], numbers[2:8].reshape(2, 3))
    kept = load_module(file_constant(tmp_path / "m.txt", file_path="", file_id='s: "7"'))
    verify(kept)
    assert "ge.FileConstant()" in module_text(kept)


BAD_FILES = [
    ({"offset": "i: 24"}, "node 'c': ends at byte 48, expected at most 40, the size of 'w.bin'"),
    ({"length": "i: 8"}, "node 'c': has 8 bytes, expected 24 for"),
    ({"offset": "i: -1"}, "expected numbers in a file"),
    ({"dtype": "dt: 999"}, "attribute 'dtype' is 999, expected a number of an element type"),
    ({"shape": "list { i: 7 }"}, "expected one type"),
    ({"file_path": 's: "../w.bin"'}, "file of weights is '../w.bin', expected a file in the same"),
    ({"file_path": 's: "/etc/passwd"'}, "expected a file in the same folder"),
    ({"file_path": 's: "link.bin"'}, "expected a file in the same folder"),
    ({"file_path": 's: "gone.bin"'}, "gone.bin: error: cannot use the file, no such file"),
    ({"file_path": 's: "."'}, "error: is no regular file, expected one"),
]


@pytest.mark.parametrize(("attrs", "text"), BAD_FILES, ids=[text[-30:] for _, text in BAD_FILES])
def test_bad_file_constants(tmp_path, attrs, text):
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "w.bin").write_bytes(bytes(40))
    (tmp_path / "w.bin").write_bytes(bytes(40))
    (folder / "link.bin").symlink_to(tmp_path / "w.bin")
    with pytest.raises(CompileError) as error:
        load_module(file_constant(folder / "m.txt", **attrs))
    assert text in str(error.value)


def test_a_folder_that_cannot_be_made(tmp_path, monkeypatch):
    module, _ = big()
    monkeypatch.setattr(writer, "INLINE_LIMIT", 1000)
    (tmp_path / "air_weight").write_text("in the way")
    with pytest.raises(CompileError, match="cannot use the file"):
        gx.save(module, tmp_path / "m.air")
    assert not (tmp_path / "m.air").exists()


SCALARS = st.one_of(
    st.builds(lambda v: Message("AttrDef", {"i": v}), st.integers(-(2**63), 2**63 - 1)),
    st.builds(lambda v: Message("AttrDef", {"b": v}), st.booleans()),
    st.builds(lambda v: Message("AttrDef", {"s": v.encode()}), st.text(max_size=5)),
    st.builds(lambda v: Message("AttrDef", {"f": v}), st.floats(width=32, allow_nan=False)),
    st.builds(
        lambda v: Message("AttrDef", {"func": Message("NamedAttrs", {"name": v})}),
        st.text(max_size=5),
    ),
    st.builds(lambda v: Message("AttrDef", {"bt": v}), st.binary(max_size=5)),
)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.dictionaries(st.from_regex(r"[a-z]{1,6}", fullmatch=True), SCALARS, max_size=4))
def test_attributes_survive_every_form(tmp_path_factory, attrs):
    desc = Message("TensorDescriptor", {"dtype": 1, "shape": Message("ShapeDef", {"dim": [2]})})
    data = Message("OpDef", {"name": "x", "type": "Data", "output_desc": [desc]})
    relu = Message(
        "OpDef",
        {"name": "r", "type": "Relu", "input": ["x:0"], "output_desc": [desc],
         "attr": {f"_{key}": value for key, value in attrs.items()}},
    )  # fmt: skip
    graph = Message("GraphDef", {"name": "g", "op": [data, relu]})
    module = module_of_model(Message("ModelDef", {"graph": [graph]}), "f")
    expected = air_bytes(main_function(module))
    folder = tmp_path_factory.mktemp("forms")
    for ending in [*ENDINGS, "mlir"]:
        gx.save(module, folder / f"m.{ending}")
        again = load_module(folder / f"m.{ending}")
        assert air_bytes(main_function(again)) == expected, ending
    assert KINDS["AttrDef"]
