"""Text forms of graphs: the readable dump to the letter, `ge_proto`, `ge_onnx`, files."""

import re
from pathlib import Path

import numpy as np
import pytest
from ge.es import GraphBuilder, register_module
from ge.es.all import BatchNorm, ConcatV2, Const, If, MatMul, Relu, Split, While
from ge.es.graph_builder import InputType, control_dependency_scope
from ge.graph import DataType, DumpFormat, Format, Graph, Tensor

from ge_xdsl.exporters.readable import tensor_text

REQUIRED = {
    "op": "phony_req_attrs",
    "inputs": [{"name": "x"}],
    "outputs": [{"name": "y"}],
    "attrs": [
        {"name": "req_data_type", "type": "Type", "required": True},
        {"name": "req_list_data_type", "type": "ListType", "required": True},
        {"name": "req_list_list_int", "type": "ListListInt", "required": True},
        {"name": "req_tensor", "type": "Tensor", "required": True},
        {"name": "req_list_string", "type": "ListString", "required": True},
    ],
}
CASE = {
    "op": "phony_case",
    "inputs": [{"name": "index"}, {"name": "input", "kind": "dynamic"}],
    "outputs": [{"name": "output", "kind": "dynamic"}],
    "subgraphs": [{"name": "branches", "kind": "dynamic"}],
}
SCALARS = {
    "op": "phony_scalars",
    "inputs": [{"name": "x"}],
    "outputs": [],
    "attrs": [
        {"name": "i", "type": "Int", "default": 0},
        {"name": "f", "type": "Float", "default": 0.0},
        {"name": "b", "type": "Bool", "default": False},
        {"name": "s", "type": "String", "default": "d"},
        {"name": "li", "type": "ListInt", "default": []},
        {"name": "lf", "type": "ListFloat", "default": []},
        {"name": "lb", "type": "ListBool", "default": []},
    ],
}


@pytest.fixture(scope="module")
def phony():
    return register_module("dump_ops", [REQUIRED, CASE, SCALARS])


def identity(name, count=1):
    builder = GraphBuilder(name)
    return builder.build_and_reset([Relu(x) for x in builder.create_inputs(count)])


def one_op():
    builder = GraphBuilder("one")
    return builder.build_and_reset([Relu(builder.create_input(0, name="x"))])


def test_one_node():
    assert str(one_op()) == (
        'graph("one"):\n'
        "  %x : [#users=1] = Node[type=Data] (attrs = {index: 0})\n"
        "  %Relu_0 : [#users=1] = Node[type=Relu] (inputs = (x=%x))\n"
        "\n"
        "  return (%Relu_0)\n"
    )


def test_an_empty_graph_has_its_name_only():
    assert str(Graph("nothing")) == 'graph("nothing"):\n'


def test_a_node_without_inputs_and_attributes():
    builder = GraphBuilder("v")
    builder.create_variable(0, "var")
    graph = builder.build_and_reset([])
    assert str(graph).splitlines()[1].startswith("  %var : [#users=1] = Node[type=Variable] (")


def test_several_outputs_count_their_own_readers():
    builder = GraphBuilder("g")
    x = builder.create_input(0)
    first, second = Split(0, x, 2, num_split=2)
    third, _ = Split(0, first, 2, num_split=2)
    graph = builder.build_and_reset([third + first, second])
    body = str(graph).splitlines()[1:]
    assert body == [
        "  %input_0 : [#users=1] = Node[type=Data] (attrs = {index: 0})",
        "  %Const_0 : [#users=1] = Node[type=Const] (attrs = {value: [0]})",
        "  %Split_1 : [#users=2] = Node[type=Split] "
        "(inputs = (split_dim=%Const_0, x=%input_0), attrs = {num_split: 2})",
        "  %ret : [#users=2] = get_element[node=%Split_1](0)",
        "  %ret_1 : [#users=1] = get_element[node=%Split_1](1)",
        "  %Const_2 : [#users=1] = Node[type=Const] (attrs = {value: [0]})",
        "  %Split_3 : [#users=2] = Node[type=Split] "
        "(inputs = (split_dim=%Const_2, x=%ret), attrs = {num_split: 2})",
        "  %ret_2 : [#users=1] = get_element[node=%Split_3](0)",
        "  %ret_3 : [#users=0] = get_element[node=%Split_3](1)",
        "  %Add_4 : [#users=1] = Node[type=Add] (inputs = (x1=%ret_2, x2=%ret))",
        "",
        "  return (output_0=%Add_4, output_1=%ret_1)",
    ]


def test_dynamic_inputs_are_numbered_and_missing_optional_ones_left_out():
    builder = GraphBuilder("g")
    a, b, c = builder.create_inputs(3)
    graph = builder.build_and_reset(
        [ConcatV2([a, b], 0, N=2), MatMul(a, b, None, transpose_x2=True), MatMul(a, b, c)]
    )
    text = str(graph)
    assert "(inputs = (x_0=%input_0, x_1=%input_1, concat_dim=%Const_0), attrs = {N: 2})" in text
    assert "(inputs = (x1=%input_0, x2=%input_1), attrs = {transpose_x2: true})" in text
    assert "(inputs = (x1=%input_0, x2=%input_1, bias=%input_2))" in text


def test_subgraphs_come_after_the_graph_depth_first():
    inner = GraphBuilder("outer_then")
    x = inner.create_input(0)
    out = If(inner.create_scalar_int32(1), [x], 1, identity("deep_a"), identity("deep_b"))
    then_graph = inner.build_and_reset(out)
    builder = GraphBuilder("root")
    x, c = builder.create_inputs(2)
    graph = builder.build_and_reset(If(c, [x], 1, then_graph, identity("outer_else")))
    text = str(graph)
    assert re.findall(r'graph\("(\w+)"\)', text) == [
        "root", "outer_then", "deep_a", "deep_b", "outer_else",
    ]  # fmt: skip
    assert (
        "(inputs = (cond=%input_1, input_0=%input_0), "
        "attrs = {then_branch: %outer_then, else_branch: %outer_else})" in text
    )
    assert text.count('\n\ngraph("') == 4
    assert [g.name for g in graph.get_all_subgraphs()] == [
        "outer_then", "outer_else", "deep_a", "deep_b",
    ]  # fmt: skip


def test_a_loop_does_not_show_its_default():
    builder = GraphBuilder("g")
    cond = GraphBuilder("cond")
    condition = cond.build_and_reset([cond.create_input(0)])
    out = While([builder.create_input(0)], 1, condition, identity("body"))
    text = str(builder.build_and_reset(out))
    assert "attrs = {cond: %cond, body: %body})" in text


def test_dynamic_subgraphs_have_no_underscore(phony):
    builder = GraphBuilder("g")
    i, x = builder.create_inputs(2)
    out = phony.phony_case(i, [x], 1, [identity("a"), identity("b")])
    assert "attrs = {branches0: %a, branches1: %b})" in str(builder.build_and_reset(out))


def test_required_attributes_of_every_kind(phony):
    builder = GraphBuilder("g")
    y = phony.phony_req_attrs(
        builder.create_input(0),
        req_data_type=DataType.DT_INT8,
        req_list_data_type=[DataType.DT_FLOAT, DataType.DT_BF16],
        req_list_list_int=[[0, 1], [2, 3]],
        req_tensor=Tensor(),
        req_list_string=["s"],
    )
    assert (
        "attrs = {req_data_type: DT_INT8, req_list_data_type: {DT_FLOAT, DT_BF16}, "
        'req_list_list_int: {{0, 1}, {2, 3}}, req_tensor: <empty>, req_list_string: {"s"}})'
    ) in str(builder.build_and_reset([y]))


def test_scalar_attributes_and_a_node_without_outputs(phony):
    builder = GraphBuilder("g")
    x = builder.create_input(0)
    made = phony.phony_scalars(x, i=1, f=0.5, b=True, s="", li=[1, 2], lf=[0.5], lb=[True, False])
    assert made.name == "phony_scalars_0"
    text = str(builder.build_and_reset([x]))
    assert (
        "%phony_scalars_0 : [#users=0] = Node[type=phony_scalars] (inputs = (x=%input_0), attrs = "
        "{i: 1, f: 0.500000, b: true, li: {1, 2}, lf: {0.500000}, lb: {true, false}})"
    ) in text


TENSORS = [
    (np.array(5, np.int64), "[5]"),
    (np.arange(6, dtype=np.int32), "[0 1 2 3 4 5]"),
    (np.arange(7, dtype=np.uint8), "[0 1 2 ... 4 5 6]"),
    (np.array([[0.5, -1.0]], np.float32), "[0.500000 -1.000000]"),
    (np.array([1.0], np.float16), "[1.000000]"),
    (np.array([True, False]), "[1 0]"),
    (np.zeros((0,), np.float32), "<empty>"),
    (np.zeros((2,), np.complex64), "<not_supported>"),
    (np.array(["a"], object), "<not_supported>"),
]


@pytest.mark.parametrize(("array", "text"), TENSORS, ids=[text for _, text in TENSORS])
def test_tensor_values(array, text):
    assert tensor_text(array) == text


def test_control_edges_and_private_attributes_are_not_shown():
    builder = GraphBuilder("g")
    x = builder.create_input(0)
    with control_dependency_scope([x]):
        y = Relu(x)
    graph = builder.build_and_reset([y])
    graph.find_node_by_name("Relu_0").set_attr("_mine", 1)
    assert "_mine" not in str(graph)
    assert len(str(graph).splitlines()) == 5


def test_kinds_of_inputs():
    builder = GraphBuilder("g")
    values = [builder.create_input(i, type_str=kind) for i, kind in enumerate(InputType)]
    graph = builder.build_and_reset([values[0]])
    types = [node.type for node in graph.get_direct_nodes()]
    assert types == ["Data", "RefData", "AippData", "AnyData", "NetOutput"]
    assert "Node[type=RefData] (attrs = {index: 1})" in str(graph)


def test_a_struct_result_is_no_sequence():
    builder = GraphBuilder("g")
    out = BatchNorm(*builder.create_inputs(3), None, None, epsilon=0.5)
    with pytest.raises(TypeError, match="not iterable|not subscriptable"):
        list(out)
    text = str(builder.build_and_reset([out.y]))
    assert "  return (%ret)\n" in text
    assert "epsilon: 0.500000" in text


# Other forms and files


def test_the_proto_dump_names_edges_and_descriptions():
    text = one_op().dump_to_stream(DumpFormat.kTxt)
    for line in (
        'name: "Relu_0"',
        'type: "Relu"',
        'input: "x:0"',
        'layout: "ND"',
        "dtype: DT_FLOAT",
    ):
        assert line in text


def test_the_onnx_dump_names_types_and_attributes():
    builder = GraphBuilder("g")
    x, c = builder.create_inputs(2)
    y = Const(builder, value=Tensor([1.0, 2.0], shape=[2]))
    graph = builder.build_and_reset([*If(c, [x], 1, identity("a"), identity("b")), y])
    text = graph.dump_to_stream(DumpFormat.kOnnx)
    assert 'op_type: "ge:If"' in text
    assert 'op_type: "subgraph"' in text
    assert 'name: "value_desc_dtype"' in text
    assert 'producer_name: "GE"' in text


def test_many_descriptions_become_one_string_each():
    builder = GraphBuilder("g")
    values = builder.create_inputs(20)
    graph = builder.build_and_reset([ConcatV2(values, 0, N=20)])
    text = graph.dump_to_stream(DumpFormat.kOnnx)
    assert 'name: "input_desc_20"' in text
    assert 'name: "input_desc_dtype:20"' not in text


FILES = [
    (DumpFormat.kOnnx, r"ge_onnx_\d{8}_graph_0_mine\.pbtxt"),
    (DumpFormat.kTxt, r"ge_proto_\d{8}_graph_0_mine\.txt"),
    (DumpFormat.kReadable, r"ge_readable_\d{8}_graph_0_mine\.txt"),
]


@pytest.mark.parametrize(("form", "name"), FILES, ids=[form.name for form, _ in FILES])
def test_dump_files(tmp_path, monkeypatch, form, name):
    monkeypatch.chdir(tmp_path)
    for variable in ("NPU_COLLECT_PATH", "DUMP_GRAPH_PATH", "ASCEND_WORK_PATH"):
        monkeypatch.delenv(variable, raising=False)
    graph = one_op()
    graph.dump_to_file(form, "mine")
    graph.dump_to_file(form, "mine")
    first, second = sorted(tmp_path.iterdir())
    assert re.fullmatch(name, first.name)
    number = int(re.search(r"\d{8}", first.name).group())
    assert int(re.search(r"\d{8}", second.name).group()) == number + 1
    assert first.read_text() == graph.dump_to_stream(form)
    assert first.stat().st_mode & 0o777 == 0o600


PLACES = [
    ("ASCEND_WORK_PATH", ""),
    ("DUMP_GRAPH_PATH", "pid_*_deviceid_0"),
    ("NPU_COLLECT_PATH", "extra-info/graph/*_0"),
]


@pytest.mark.parametrize(("variable", "below"), PLACES, ids=[v for v, _ in PLACES])
def test_dump_folders(tmp_path, monkeypatch, variable, below):
    for name, _ in PLACES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, str(tmp_path))
    one_op().dump_to_file()
    assert len(list(tmp_path.glob(f"{below}/ge_readable_*.txt" if below else "*.txt"))) == 1


def test_dump_errors(tmp_path, monkeypatch):
    graph = one_op()
    with pytest.raises(TypeError, match="Suffix must be a string"):
        graph.dump_to_file(suffix=1)
    for call in (graph.dump_to_file, graph.dump_to_stream):
        with pytest.raises(TypeError, match=r"Format must be in \[DumpFormat.kOnnx, "):
            call("readable")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("NPU_COLLECT_PATH", str(tmp_path / "file"))
    with pytest.raises(RuntimeError, match="Failed to dump graph: .*not a directory"):
        graph.dump_to_file()


# Air


def rich():
    builder = GraphBuilder("rich")
    x = builder.create_input(
        0, name="x", data_type=DataType.DT_FLOAT16, format=Format.FORMAT_NCHW, shape=[1, -1, 2]
    )
    c = builder.create_input(1, type_str=InputType.REF_DATA, data_type=DataType.DT_BOOL)
    big = Const(builder, value=Tensor([float(i) for i in range(100)], shape=[100]))
    parts = Split(0, x, 3, num_split=3)
    joined = ConcatV2([parts[0], parts[2]], 1, N=2)
    named = GraphBuilder("named")
    y = named.create_input(0, name="inner")
    branch = If(c, [joined], 1, named.build_and_reset([y]), identity("other"))
    norm = BatchNorm(x, big, big, None, None, data_format="NCHW", is_training=False)
    graph = builder.build_and_reset([*branch, norm.y, MatMul(x, x, None, transpose_x1=True)])
    relu = graph.find_node_by_name(branch[0].name)
    relu.set_attr("note", ["a", "b"])
    relu.set_attr("_private", 3)
    relu.set_output_attr("quant", 0, 0.5)
    graph.find_node_by_name("x").set_attr("calib", 1.5)
    graph.set_attr("version", 7)
    graph.add_control_edge(graph.find_node_by_name("x"), graph.find_node_by_name(norm.y.name))
    return graph


def test_air_keeps_a_graph(tmp_path):
    path = str(tmp_path / "g.air")
    graph = rich()
    graph.save_to_air(path)
    assert [p.name for p in tmp_path.iterdir()] == ["g.air"]
    back = Graph("other")
    back.load_from_air(path)
    assert back.name == "rich"
    assert str(back) == str(graph)
    assert back.dump_to_stream(DumpFormat.kTxt) == graph.dump_to_stream(DumpFormat.kTxt)
    relu = next(node for node in back.get_direct_nodes() if node.type == "If")
    assert relu.get_attr("note") == ["a", "b"]
    assert relu.get_attr("_private") == 3
    assert back.get_attr("version") == 7
    data = back.find_node_by_name("x")
    assert data.get_attr("calib") == 1.5
    desc = data.get_output_desc(0)
    assert (desc.format, desc.data_type, list(desc.shape)) == (
        Format.FORMAT_NCHW, DataType.DT_FLOAT16, [1, -1, 2],
    )  # fmt: skip
    [after] = data.get_out_control_nodes()
    assert after.type == "BatchNorm"
    const = next(n for n in back.get_direct_nodes() if n.type == "Const" and n.name == "Const_0")
    assert const.get_attr("value").get_data() == [float(i) for i in range(100)]
    assert back.get_subgraph("named").get_direct_nodes()[0].name == "inner"


def test_air_errors(tmp_path):
    graph = one_op()
    for call in (graph.save_to_air, graph.load_from_air):
        with pytest.raises(TypeError, match="file_path must be a string"):
            call(1)
    with pytest.raises(RuntimeError, match="Failed to save graph to AIR format"):
        graph.save_to_air(str(tmp_path / "no" / "x.air"))
    bad = Path(tmp_path / "bad.air")
    for data in (b"", b"\xff\xff", b"garbage of some length"):
        bad.write_bytes(data)
        with pytest.raises(RuntimeError, match="Failed to load graph from AIR format"):
            graph.load_from_air(str(bad))
    with pytest.raises(RuntimeError, match="Failed to load graph from AIR format"):
        graph.load_from_air(str(tmp_path / "missing.air"))
    assert str(graph) == str(one_op())
    builder = GraphBuilder("g")
    x, c = builder.create_inputs(2)
    whole = builder.build_and_reset(If(c, [x], 1, identity("a"), identity("b")))
    with pytest.raises(RuntimeError, match="Failed to save graph to AIR format: graph was taken"):
        whole.get_subgraph("a").save_to_air(str(tmp_path / "x.air"))


# Subgraphs of a graph


def test_the_list_of_subgraphs():
    builder = GraphBuilder("g")
    x, c = builder.create_inputs(2)
    graph = builder.build_and_reset(If(c, [x], 1, identity("a"), identity("b")))
    branch = graph.get_subgraph("a")
    with pytest.raises(RuntimeError, match="Failed to add subgraph 'a' to graph 'g'"):
        graph.add_subgraph(branch)
    graph.remove_subgraph("nope")
    graph.remove_subgraph("a")
    assert [g.name for g in graph.get_all_subgraphs()] == ["b"]
    assert graph.get_subgraph("a") is None
    graph.add_subgraph(branch)
    assert graph.get_subgraph("b").get_subgraph("a").name == "a"
    with pytest.raises(RuntimeError, match="Failed to add subgraph 'one' to graph 'g'"):
        graph.add_subgraph(one_op())
    with pytest.raises(TypeError, match="subgraph must be a Graph"):
        graph.add_subgraph("a")
    with pytest.raises(TypeError, match="name must be a string"):
        graph.remove_subgraph(1)
    branch.set_attr("mine", 1)
    assert branch.get_attr("mine") == 1
    with pytest.raises(RuntimeError, match="Failed to get attribute 'mine' from Graph b"):
        graph.get_subgraph("b").get_attr("mine")


def test_a_graph_is_given_away_once():
    builder = GraphBuilder("g")
    x, c = builder.create_inputs(2)
    branch, other = identity("a"), identity("b")
    with pytest.raises(RuntimeError, match="Graph :a already has an new owner builder :If"):
        If(c, [x], 1, branch, branch)
    If(c, [x], 1, branch, other)
    with pytest.raises(
        RuntimeError,
        match="Graph :a already has an new owner builder :g, cannot transfer ownership again",
    ):
        If(c, [x], 1, branch, identity("c"))
    assert branch.name == "a"


MISFITS = [
    (lambda: (identity("a", 2), identity("b")), "'a' for 'then_branch' of If has 2 inputs"),
    (lambda: (identity("a"), Graph("b")), "'b' for 'else_branch' of If has 0 outputs"),
]


@pytest.mark.parametrize(("graphs", "text"), MISFITS)
def test_graphs_that_do_not_fit_their_op(graphs, text):
    builder = GraphBuilder("g")
    x, c = builder.create_inputs(2)
    branches = graphs()
    with pytest.raises(ValueError, match=f"Tensor handle cannot be None: graph {text}"):
        If(c, [x], 1, *branches)
    assert str(branches[0]).startswith('graph("a")')  # unharmed


def test_two_graphs_of_one_name():
    builder = GraphBuilder("g")
    x, c = builder.create_inputs(2)
    out = If(c, [x], 1, identity("a"), identity("a"))
    why = "Failed to build graph g: two graphs are named 'a', expected names of their own"
    with pytest.raises(RuntimeError, match=why):
        builder.build_and_reset(out)


def test_a_branch_may_read_fewer_inputs():
    builder = GraphBuilder("g")
    x, y, c = builder.create_inputs(3)
    out = If(c, [x, y], 1, identity("a"), identity("b"))
    branch = builder.build_and_reset(out).get_subgraph("a")
    assert [node.type for node in branch.get_direct_nodes()] == [
        "Data",
        "Data",
        "Relu",
        "NetOutput",
    ]
