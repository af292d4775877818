"""GE's serialized graphs: codec against the protobuf library, text form, and bad files."""

import io
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ge_xdsl.dialects.ge.gepb import KINDS, GepbError, Message, decode, encode
from ge_xdsl.dialects.ge.gepb_text import float_text, parse, quoted, text_of
from ge_xdsl.dialects.ge.graph import main_function, verify
from ge_xdsl.dialects.ge.text import module_text, parse_module
from ge_xdsl.errors import CompileError
from ge_xdsl.exporters.ge_onnx import ge_onnx_text
from ge_xdsl.exporters.gepb import air_bytes, proto_text
from ge_xdsl.importers import load_module
from ge_xdsl.importers.gepb.reader import module_of_model

SCALAR_TYPES = {"int": "TYPE_INT64", "bool": "TYPE_BOOL", "float": "TYPE_FLOAT"}
SCALAR_TYPES |= {"string": "TYPE_STRING", "bytes": "TYPE_BYTES"}


@pytest.fixture(scope="module")
def library():
    """The same messages, made by the protobuf library from the same field numbers."""
    pytest.importorskip("google.protobuf")
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(name="ge.proto", package="t", syntax="proto3")
    kinds = descriptor_pb2.FieldDescriptorProto
    for kind, fields in KINDS.items():
        made = file.message_type.add(name=kind)
        for spec in fields:
            field = made.field.add(name=spec.name, number=spec.number)
            many = spec.repeated or spec.type == "map"
            field.label = kinds.LABEL_REPEATED if many else kinds.LABEL_OPTIONAL
            if spec.type in SCALAR_TYPES:
                field.type = getattr(kinds, SCALAR_TYPES[spec.type])
                continue
            field.type = kinds.TYPE_MESSAGE
            field.type_name = f".t.{spec.type}"
            if spec.type == "map":
                name = "".join(part.capitalize() for part in spec.name.split("_")) + "Entry"
                entry = made.nested_type.add(name=name)
                entry.options.map_entry = True
                entry.field.add(name="key", number=1, type=kinds.TYPE_STRING, label=1)
                entry.field.add(
                    name="value", number=2, type=kinds.TYPE_MESSAGE, label=1, type_name=".t.AttrDef"
                )
                field.type_name = f".t.{kind}.{name}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return lambda kind: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"t.{kind}"))


@pytest.fixture
def module():
    text = """
func.func @net(%x: T, %c: tensor<i1>) -> (T, tensor<3xf16>, T) {
  %w = ge.Const() {value = dense<[1.5, -0.0, 3.0]> : tensor<3xf32>} : () -> tensor<3xf32>
  %r = ge.Relu(%x) {_note = "a\\22b", ge.sizes = array<i64: 1, -2>, ge.off = []} : (T) -> T
  %t = ge.Cast(%w) {dst_type = 1} : (tensor<3xf32>) -> tensor<3xf16>
  %o = ge.If(%c, [%r]) then_branch {
  ^bb0(%a: T):
    %n = ge.Neg(%a) : (T) -> T
    ge.yield([%n]) : (T) -> ()
  } else_branch {
  ^bb0(%b: T):
    ge.yield([%b]) : (T) -> ()
  } : (tensor<i1>, T) -> T
  ge.control_edge(%w, %r) : (tensor<3xf32>, T) -> ()
  func.return %r, %t, %o : T, tensor<3xf16>, T
}
"""
    made = parse_module(text.replace("T", "tensor<2x?xf16>"), "net.mlir")
    verify(made)
    return made


def test_the_library_reads_what_is_written(module, library):
    data = air_bytes(main_function(module))
    model = library("ModelDef").FromString(data)
    root = model.graph[0]
    assert [graph.name for graph in model.graph] == ["net", "o_then_branch", "o_else_branch"]
    assert [op.type for op in root.op] == [
        "Data",
        "Data",
        "Const",
        "Relu",
        "Cast",
        "If",
        "NetOutput",
    ]
    relu = root.op[3]
    assert list(relu.input) == ["x:0", "w:-1"]
    assert relu.attr["_note"].s == b'a"b'
    assert list(relu.attr["sizes"].list.i) == [1, -2]
    assert relu.attr["sizes"].list.val_type == 2
    assert list(relu.output_desc[0].shape.dim) == [2, -1]
    assert relu.output_desc[0].dtype == 2  # float16 in this numbering
    assert root.op[4].attr["dst_type"].i == 1  # and in GE's own
    assert root.op[2].attr["value"].t.data == struct.pack("<3f", 1.5, -0.0, 3.0)
    assert list(root.op[5].subgraph_name) == ["o_then_branch", "o_else_branch"]
    assert model.SerializeToString(deterministic=True)


def test_what_the_library_writes_is_read(module, library):
    data = air_bytes(main_function(module))
    again = library("ModelDef").FromString(data).SerializeToString(deterministic=True)
    assert module_text(module_of_model(decode("ModelDef", again), "f")) == module_text(
        module_of_model(decode("ModelDef", data), "f")
    )


def test_the_library_reads_the_text(module, library):
    from google.protobuf import text_format

    text = proto_text(main_function(module))
    for dtype, number in (("DT_FLOAT16", 2), ("DT_FLOAT", 1), ("DT_BOOL", 11)):
        text = text.replace(f"dtype: {dtype}\n", f"dtype: {number}\n")
    for name, number in (("STRING", 1), ("INT", 2)):
        text = text.replace(f"val_type: VT_LIST_{name}\n", f"val_type: {number}\n")
    parsed = text_format.Parse(text, library("ModelDef")())
    binary = library("ModelDef").FromString(air_bytes(main_function(module)))
    assert parsed == binary


@pytest.mark.parametrize("ending", ["air", "txt", "pbtxt"])
def test_a_module_survives(module, tmp_path, ending):
    func = main_function(module)
    path = tmp_path / f"m.{ending}"
    path.write_bytes(air_bytes(func) if ending == "air" else proto_text(func).encode())
    back = load_module(path)
    verify(back)
    assert air_bytes(main_function(back)) == air_bytes(func)
    assert "ge.off = []" in module_text(back)


def test_a_dump_without_weights(module):
    full, short = (proto_text(main_function(module), level) for level in (1, 2))
    assert 'key: "value"' in full
    assert len(short) < len(full)
    assert 'key: "dst_type"' in short


MESSAGES = st.recursive(
    st.builds(
        lambda i, s, f: Message("AttrDef", {"i": i, "s": s, "f": f}),
        st.integers(-(2**63), 2**63 - 1),
        st.binary(max_size=6),
        st.floats(width=32, allow_nan=False),
    ),
    lambda inner: st.builds(
        lambda attrs, ints, floats, flags: Message(
            "AttrDef",
            {
                "func": Message("NamedAttrs", {"name": "n", "attr": attrs}),
                "list": Message("ListValue", {"i": ints, "f": floats, "b": flags}),
            },
        ),
        st.dictionaries(st.text(max_size=4), inner, min_size=1, max_size=3),
        st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=3),
        st.lists(st.floats(width=32, allow_nan=False), min_size=1, max_size=3),
        st.lists(st.booleans(), min_size=1, max_size=3),
    ),
    max_leaves=6,
)


@settings(max_examples=60, deadline=None)
@given(message=MESSAGES)
def test_both_forms_keep_a_message(message, library):
    data = encode(message)
    assert encode(decode("AttrDef", data)) == data
    assert encode(parse("AttrDef", text_of(message))) == data
    assert library("AttrDef").FromString(data).SerializeToString(deterministic=True) is not None


@settings(max_examples=150, deadline=None)
@given(data=st.binary(max_size=40))
def test_no_bytes_end_in_another_error(data):
    try:
        decode("ModelDef", data)
    except GepbError as error:
        assert "expected" in str(error)


@settings(max_examples=150, deadline=None)
@given(text=st.text(alphabet='{}<>[]:"\\ \n,;-#graphopnme01.', max_size=30))
def test_no_text_ends_in_another_error(text):
    try:
        parse("ModelDef", text)
    except GepbError as error:
        assert "expected" in str(error)


BYTES = [
    (b"\x0b", "ModelDef has a field of wire type 3, expected 0, 1, 2 or 5"),
    (b"\x0a\x05ab", "ModelDef ends inside a field, expected 5 more bytes of it"),
    (b"\xff" * 11, "ModelDef ends inside a number, expected at most 10 bytes of it"),
    (b"\x0a\x01\xff", "field name is no UTF-8 text, expected some"),
    (b"\x10" + b"\x01" + b"\x08\x01", "field name has wire type 0, expected that of string"),
    (b"\x58\x01", "field attr has wire type 0, expected that of map"),
]


@pytest.mark.parametrize(("data", "text"), BYTES, ids=[text[:30] for _, text in BYTES])
def test_bad_bytes(data, text):
    with pytest.raises(GepbError, match=text):
        decode("ModelDef", data)


def test_messages_inside_each_other_have_a_limit():
    message = Message("AttrDef", {"i": 1})
    for _ in range(70):
        message = Message("AttrDef", {"func": Message("NamedAttrs", {"attr": {"a": message}})})
    with pytest.raises(GepbError, match="messages are nested deeper than 64, expected fewer"):
        decode("AttrDef", encode(message))
    with pytest.raises(GepbError, match="messages are nested deeper than 64, expected fewer"):
        parse("AttrDef", text_of(message))


TEXTS = [
    ("name: 1", "line 1: '1', expected a string"),
    ('graph {\n name: "a" ', "line 2: 'the end', expected a field of GraphDef"),
    ("version: x", "line 1: 'x', expected int for field version"),
    ("version: 99999999999999999999", "expected int for field version"),
    ("graph: 3", "line 1: '3', expected {"),
    ("\n@", "line 2: '@', expected a field"),
    ("attr { nope: 1 }", "expected key or value of a map entry"),
    ("unknown {", "expected the end of a field"),
    ("unknown:", "expected a value"),
    ('name: "\\377"', "field name is no UTF-8 text, expected some"),
    ("graph { op { has_out_attr: 7 } }", "expected bool for field has_out_attr"),
]


@pytest.mark.parametrize(("text", "message"), TEXTS, ids=[m[:40] for _, m in TEXTS])
def test_bad_text(text, message):
    with pytest.raises(GepbError, match=message):
        parse("ModelDef", text)


def test_text_that_other_writers_make():
    message = parse(
        "OpDef",
        "# a comment\nname: 'a' \"b\"; id: 0x10, has_out_attr: t\n"
        "unknown { x: [1, 2] y < z: 'q' > }\n"
        "input_i: [1, -2] attr: < key: 'k' value { f: 1.5f } > other: -3 more: 'a' 'b'",
    )
    assert message.fields["name"] == "ab"
    assert message.fields["id"] == 16
    assert message.fields["has_out_attr"] is True
    assert message.fields["input_i"] == [1, -2]
    assert message.fields["attr"]["k"].fields == {"f": 1.5}


def test_literals():
    assert quoted(b'a"\n\x00\xff') == '"a\\"\\n\\000\\377"'
    assert float_text(0.1) == "0.1"
    assert [float_text(v) for v in (float("nan"), float("inf"), -float("inf"))] == [
        "nan",
        "inf",
        "-inf",
    ]


def op(name, op_type, *inputs, desc="output_desc { dtype: DT_FLOAT shape { dim: 2 } }", more=""):
    listed = " ".join(f'input: "{entry}"' for entry in inputs)
    return f'op {{ name: "{name}" type: "{op_type}" {listed} {desc} {more} }}\n'


DATA = op("x", "Data")
BAD_MODELS = [
    ("", "model has no graph, expected one"),
    (
        op("a", "Relu", "b:0") + op("b", "Relu", "a:0"),
        "depends on itself, expected a graph without",
    ),
    (op("a", "Relu", "nope:0"), "reads 'nope:0', expected an output of a node of the graph"),
    (DATA + op("a", "Relu", "x:1"), "reads 'x:1', expected an output of a node"),
    (DATA + op("a", "Relu", "x:y"), "input is 'x:y', expected <node>:<index>"),
    (DATA + DATA, "node 'x': 2 nodes have this name, expected one"),
    (DATA + op("a", "Reluu", "x:0"), "ge.Reluu is no known op, expected a GE op type"),
    (DATA + op("a", "Relu", "x:0", "x:0"), "node 'a': has 2 inputs, expected 1"),
    (DATA + op("a", "Add", "x:0"), "input 'x2' is missing, it is required"),
    (
        DATA + op("a", "Relu", "x:0", desc="output_desc { } output_desc { }"),
        "node 'a': has 2 outputs, expected 1",
    ),
    (op("x", "Data", desc=""), "has no output description, expected one"),
    (DATA + op("n", "NetOutput", "", desc=""), "has an input without a source, expected one"),
    (DATA + op("n", "NetOutput", "q:0", desc=""), "reads 'q:0'"),
    (op("x", "Data", desc="output_desc { dtype: 99 }"), "element type is number 99, expected one"),
    (op("x", "Data", desc='output_desc { layout: "Q" }'), "format is 'Q', expected one of GE's"),
    (op("x", "Data", desc="output_desc { shape { dim: -3 } }"), r"shape is \[-3\], expected dim"),
    (
        op("x", "Data", desc="output_desc { shape { " + "dim: 1 " * 70 + "} }"),
        "shape has 70 dimensions, expected at most 64",
    ),
    (
        op(
            "c",
            "Const",
            more='attr { key: "value" value { t { desc { dtype: DT_INT8 shape { dim: 3 '
            '} } data: "a" } } }',
        ),
        "attribute 'value' constant has 1 bytes, expected 3",
    ),
    (
        op("c", "Const", more='attr { key: "value" value { t { desc { shape { dim: -1 } } } } }'),
        "attribute 'value' constant is .*, expected a known shape",
    ),
    (
        DATA + op("a", "Cast", "x:0", more='attr { key: "dst_type" value { s: "a" } }'),
        "attribute 'dst_type' is 'a', expected an integer",
    ),
    (
        DATA + op("a", "Cast", "x:0", more='attr { key: "dst_type" value { t { } } }'),
        "attribute 'dst_type' is a tensor, expected Int",
    ),
    (
        DATA + op("a", "Cast", "x:0", more='attr { key: "dst_type" value { g { } } }'),
        "attribute 'dst_type' is a value of form g, expected Int",
    ),
    (
        DATA + op("a", "Relu", "x:0", more='attr { key: "k" value { s: "\\377" } }'),
        "no UTF-8 text, expected a string",
    ),
    (
        DATA + op("a", "PartitionedCall", "x:0", more='subgraph_name: "f"'),
        "subgraph 'f' is not in the model, expected one of its own",
    ),
    (op("v", "NoOp", desc="") + op("a", "Relu", "w:0", "v:-1"), "reads 'w:0'"),
]


@pytest.mark.parametrize(("ops", "text"), BAD_MODELS, ids=[text[:40] for _, text in BAD_MODELS])
def test_bad_models(tmp_path, ops, text):
    path = tmp_path / "m.txt"
    path.write_text(f'graph {{ name: "g" {ops} }}' if ops else "")
    with pytest.raises(CompileError, match=text) as caught:
        load_module(path)
    assert str(caught.value).startswith(f"{path}: error: ")


def test_nodes_may_stand_in_any_order(tmp_path):
    path = tmp_path / "m.txt"
    ops = (
        op("n", "NetOutput", "b:0", desc="")
        + op("b", "Relu", "a:0")
        + op("a", "Relu", "x:0")
        + DATA
    )
    path.write_text(f'graph {{ name: "g" {ops} }}')
    module = load_module(path)
    verify(module)
    names = [o.node_name for o in main_function(module).body.block.ops if o.name == "ge.Relu"]
    assert names == ["a", "b"]


BAD_EXPORTS = [
    (
        "%y = ge.Relu(%x) {_a = unit} : (tensor<2xf32>) -> tensor<2xf32>",
        "attribute is unit, expected",
    ),
    (
        '%y = ge.Const() {value = #ge.weight<"w">} : () -> tensor<2xf32>',
        "constant has no data, expected its weights",
    ),
]


@pytest.mark.parametrize(("line", "text"), BAD_EXPORTS)
def test_what_cannot_be_written(line, text):
    module = parse_module(
        f"func.func @g(%x: tensor<2xf32>) -> tensor<2xf32> {{\n{line}\n"
        "func.return %y : tensor<2xf32>\n}",
        "g.mlir",
    )
    with pytest.raises(CompileError, match=text):
        air_bytes(main_function(module))


def test_packed_elements_cannot_be_written():
    import ml_dtypes
    import numpy as np

    from ge_xdsl.dialects.ge.data import ConstOp
    from ge_xdsl.dialects.ge.weights import const_attr
    from ge_xdsl.exporters.gepb import tensor_def

    attr = const_attr(np.zeros(2, ml_dtypes.int4), "w")
    made = ConstOp.build(value=attr, node_name="w")
    with pytest.raises(CompileError, match="constant is DT_INT4, expected elements of whole bytes"):
        tensor_def(attr, made)


@pytest.mark.parametrize("ending", ["air", "txt"])
def test_standard_input(module, monkeypatch, ending):
    func = main_function(module)
    data = air_bytes(func) if ending == "air" else proto_text(func).encode()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert air_bytes(main_function(load_module("-", input_format=ending))) == air_bytes(func)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xff")))
    with pytest.raises(CompileError, match="^<stdin>"):
        load_module("-", input_format=ending)


def test_levels_of_the_onnx_dump(module):
    block = main_function(module).body.block
    full, short, bare = (ge_onnx_text(block, level) for level in (1, 2, 3))
    assert 'name: "value_data"' in full
    assert 'name: "_note"' in full
    assert 'name: "value_data"' not in short
    assert 'name: "_note"' not in short
    assert 'name: "dst_type"' in short
    assert 'name: "dst_type"' not in bare
    assert 'op_type: "ge:Cast"' in bare


def test_the_library_reads_the_onnx_dump(module, library):
    from google.protobuf import text_format

    text = ge_onnx_text(main_function(module).body.block)
    names = ("FLOATS", "INTS", "STRINGS", "FLOAT", "INT", "STRING", "GRAPH")
    for name, number in zip(names, (6, 7, 8, 1, 2, 3, 5), strict=True):
        text = text.replace(f"type: {name}\n", f"type: {number}\n")
    model = text_format.Parse(text, library("OnnxModel")())
    assert model.producer_name == "GE"
    types = [node.op_type for node in model.graph.node]
    assert types.count("subgraph") == 2
    cast = next(node for node in model.graph.node if node.op_type == "ge:Cast")
    assert [attr.i for attr in cast.attribute if attr.name == "dst_type"] == [1]
    assert list(cast.input) == ["w:0"]


def test_two_dynamic_inputs_are_told_apart_by_their_ports(tmp_path):
    from ge_xdsl.compat.ge.es import GraphBuilder, register_module

    ops = register_module(
        "gepb_ops",
        [
            {
                "op": "gepb_two_lists",
                "inputs": [{"name": "a", "kind": "dynamic"}, {"name": "b", "kind": "dynamic"}],
                "outputs": [{"name": "y", "kind": "dynamic"}, {"name": "z", "kind": "dynamic"}],
            }
        ],
    )
    builder = GraphBuilder("g")
    x, y, z = builder.create_inputs(3)
    out = ops.gepb_two_lists([x], [y, z], 2, 1)
    graph = builder.build_and_reset([*out.y, *out.z])
    graph.save_to_air(str(tmp_path / "g.air"))
    module = load_module(tmp_path / "g.air")
    [op] = [o for o in main_function(module).body.block.ops if o.name == "ge.gepb_two_lists"]
    assert list(op.operand_counts()) == [1, 2]
    assert list(op.result_counts()) == [2, 1]
