"""`ge.graph`: graphs, nodes, tensors, descriptions and attributes."""

import copy

import numpy as np
import pytest
from ge.es import GraphBuilder
from ge.es.all import ConcatV2, Conv2D, Identity, If, MatMul, Relu, Split
from ge.es.graph_builder import InputType
from ge.graph import DataType, Format, Graph, Node, Tensor, TensorDesc
from ge.utils import GeUtils

from ge_xdsl.dialects.ge.text import module_text, parse_module


def small():
    """x, y -> Add -> Relu; Const feeds a Mul."""
    builder = GraphBuilder("small")
    x, y = builder.create_inputs(2)
    builder_sum = x + y
    out = Relu(builder_sum) * 2.0
    return builder.build_and_reset([out])


def node(graph, name):
    return graph.find_node_by_name(name)


def test_nodes_of_a_graph():
    graph = small()
    kinds = [(n.name, n.type) for n in graph.get_direct_nodes()]
    assert kinds == [
        ("input_0", "Data"),
        ("input_1", "Data"),
        ("Add_0", "Add"),
        ("Relu_1", "Relu"),
        ("Const_2", "Const"),
        ("Mul_3", "Mul"),
        ("NetOutput_small", "NetOutput"),
    ]
    assert graph.name == "small"
    assert [n.name for n in graph.get_all_nodes()] == [n for n, _ in kinds]


def test_a_node_prints_its_type_and_name():
    graph = small()
    assert repr(node(graph, "Add_0")) == "<Node Add 'Add_0'>"
    assert repr(node(graph, "input_0")) == "<Node Data 'input_0'>"


def test_edges_of_a_node():
    graph = small()
    add, mul = node(graph, "Add_0"), node(graph, "Mul_3")
    producer, port = mul.get_in_data_nodes_and_port_indexes(1)
    assert (producer.name, port) == ("Const_2", 0)
    users = [(n.name, i) for n, i in add.get_out_data_nodes_and_port_indexes(0)]
    assert users == [("Relu_1", 0)]
    assert add.get_out_data_nodes_and_port_indexes(5) == []
    assert (mul.get_inputs_size(), mul.get_outputs_size()) == (2, 1)
    output = node(graph, "NetOutput_small")
    assert output.get_in_data_nodes_and_port_indexes(0)[0].name == "Mul_3"


def test_ports_keep_the_slot_of_a_missing_optional_input():
    builder = GraphBuilder()
    x, w, offset = builder.create_inputs(3)
    y = Conv2D(x, w, None, offset, strides=[1, 1, 1, 1], pads=[0, 0, 0, 0])
    graph = builder.build_and_reset([y])
    conv = node(graph, "Conv2D_0")
    assert conv.get_in_data_nodes_and_port_indexes(3)[0].name == "input_2"
    assert node(graph, "input_2").get_out_data_nodes_and_port_indexes(0)[0][1] == 3
    with pytest.raises(RuntimeError, match="Failed to get input data node for index 2"):
        conv.get_in_data_nodes_and_port_indexes(2)
    assert conv.get_inputs_size() == 3


def test_a_dynamic_input_counts_its_tensors():
    builder = GraphBuilder()
    x, y = builder.create_inputs(2)
    graph = builder.build_and_reset([ConcatV2([x, y], 1, N=2)])
    concat = node(graph, "ConcatV2_1")
    assert concat.get_inputs_size() == 3
    assert concat.get_in_data_nodes_and_port_indexes(2)[0].type == "Const"


STORED = [
    ("s", "text"),
    ("f", 0.5),
    ("b", True),
    ("i", -7),
    ("d", DataType.DT_INT8),
    ("lf", [0.5, 1.5]),
    ("lb", [True, False]),
    ("li", [1, 2]),
    ("ls", ["a", "b"]),
]


@pytest.mark.parametrize(("key", "value"), STORED, ids=[k for k, _ in STORED])
def test_attributes_read_back(key, value):
    graph = small()
    for owner in (graph, node(graph, "Relu_1"), node(graph, "input_0")):
        owner.set_attr(key, value)
        found = owner.get_attr(key)
        assert found == value
        assert type(found) is type(value)
    assert node(graph, "Relu_1").has_attr(key)


def test_floats_are_stored_as_float32_and_integers_wrap():
    relu = node(small(), "Relu_1")
    relu.set_attr("f", 0.1)
    assert relu.get_attr("f") == np.float32(0.1)
    relu.set_attr("i", 2**64 + 5)
    assert relu.get_attr("i") == 5


@pytest.mark.parametrize(
    "value", [{}, (1,), None, [[1]], [1, 0.5], np.ones(2), TensorDesc()], ids=lambda v: str(type(v))
)
def test_attribute_values_of_no_kind_are_refused(value):
    with pytest.raises(ValueError, match="Unsupported attribute type: <class"):
        node(small(), "Relu_1").set_attr("a", value)


def test_attribute_errors():
    graph = small()
    relu = node(graph, "Relu_1")
    with pytest.raises(ValueError, match="Empty list is not supported"):
        relu.set_attr("a", [])
    with pytest.raises(TypeError, match="Attribute key must be a string"):
        relu.get_attr(1)
    with pytest.raises(TypeError, match="attr_name must be a string"):
        relu.has_attr(1)
    with pytest.raises(RuntimeError, match="Failed to get attribute 'nope' from Node"):
        relu.get_attr("nope")
    with pytest.raises(RuntimeError, match="Failed to get attribute 'nope' from Graph small"):
        graph.get_attr("nope")


def test_a_tensor_without_data_is_a_tensor_without_elements():
    relu = node(small(), "Relu_1")
    relu.set_attr("t", Tensor())
    assert relu.get_attr("t").get_data() == []


def test_an_optional_attribute_at_its_default_is_not_stored():
    builder = GraphBuilder()
    x, y = builder.create_inputs(2)
    product = MatMul(x, y, transpose_x1=False, transpose_x2=True)
    graph = builder.build_and_reset([product])
    matmul = node(graph, "MatMul_0")
    assert matmul.get_attr("transpose_x2") is True
    assert not matmul.has_attr("transpose_x1")
    with pytest.raises(RuntimeError, match="Failed to get attribute 'transpose_x1'"):
        matmul.get_attr("transpose_x1")


def test_a_declared_attribute_keeps_its_kind():
    builder = GraphBuilder()
    x, y = builder.create_inputs(2)
    graph = builder.build_and_reset([MatMul(x, y)])
    matmul = node(graph, "MatMul_0")
    matmul.set_attr("transpose_x1", True)
    assert matmul.get_attr("transpose_x1") is True
    with pytest.raises(ValueError, match="attribute 'transpose_x1' of MatMul is 'yes', expected"):
        matmul.set_attr("transpose_x1", "yes")
    with pytest.raises(RuntimeError, match="Unsupported attribute type"):
        _list_list_node().get_attr("rows")


def _list_list_node():
    text = """func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %y = ge.Relu(%x) {_rows = [[1 : i64], [2 : i64]]} : (tensor<2xf32>) -> tensor<2xf32>
      func.return %y : tensor<2xf32>
    }"""
    func = parse_module(text).body.block.first_op
    relu = Graph._create_from(func).find_node_by_name("y")
    relu._handle.attributes["ge.rows"] = relu._handle.attributes["_rows"]
    return relu


def test_port_attributes():
    relu = node(small(), "Relu_1")
    relu.set_input_attr("a", 0, 3)
    relu.set_output_attr("a", 0, "out")
    assert relu.get_input_attr("a", 0) == 3
    assert relu.get_output_attr("a", 0) == "out"
    with pytest.raises(RuntimeError, match="Failed to get Node Relu_1 input attribute 'b'"):
        relu.get_input_attr("b", 0)
    with pytest.raises(RuntimeError, match="Failed to set Node Relu_1 output attribute 'a'"):
        relu.set_output_attr("a", 4, 1)
    with pytest.raises(TypeError, match="Input index must be an integer"):
        relu.get_input_attr("a", "0")
    with pytest.raises(TypeError, match="Attribute name must be a string"):
        relu.get_input_attr(0, 0)


def test_descriptions_are_copies_until_written_back():
    graph = small()
    relu = node(graph, "Relu_1")
    assert relu.get_output_desc(0).get_shape() == []
    desc = TensorDesc([2, -1], Format.FORMAT_NCHW, DataType.DT_FLOAT16)
    relu.update_output_desc(0, desc)
    desc.set_shape([9])
    found = relu.get_output_desc(0)
    assert (found.shape, found.format, found.data_type) == (
        [2, -1],
        Format.FORMAT_NCHW,
        DataType.DT_FLOAT16,
    )
    relu.update_input_desc(0, TensorDesc([-2]))
    assert relu.get_input_desc(0).get_shape() == [-2]
    assert node(graph, "Add_0").get_output_desc(0).get_shape() == []
    data = node(graph, "input_0")
    data.update_input_desc(0, TensorDesc([4]))
    assert data.get_output_desc(0).shape == [4]


def test_inputs_say_nothing_before_shapes_are_inferred():
    """An op that was just built has default descriptions of its inputs, not the producer's."""
    builder = GraphBuilder()
    x, w, b = (
        builder.create_input(i, shape=[2, 2], data_type=DataType.DT_FLOAT16) for i in range(3)
    )
    y = MatMul(x, w, 1.5)
    z = Relu(MatMul(y, w, None))
    graph = builder.build_and_reset([z, b])
    first, second, last = (node(graph, name) for name in ("MatMul_1", "MatMul_2", "Relu_3"))
    built = [first.get_input_desc(i) for i in range(3)]
    assert {repr(desc) for desc in built} == {repr(TensorDesc())}
    with pytest.raises(RuntimeError, match="Failed to get input desc for index 2"):
        second.get_input_desc(2)
    graph.add_data_edge(node(graph, "input_2"), 0, second, 2)
    assert repr(second.get_input_desc(2)) == repr(TensorDesc())
    second.update_input_desc(2, TensorDesc([2]))
    assert second.get_input_desc(2).shape == [2]
    GeUtils.infer_shape(graph, [[2, 2], [2, 2], [2]])
    assert [first.get_input_desc(i).data_type for i in range(3)] == [
        DataType.DT_FLOAT16,
        DataType.DT_FLOAT16,
        DataType.DT_FLOAT,
    ]
    assert last.get_input_desc(0).shape == [2, 2]
    assert node(graph, "NetOutput_graph").get_input_desc(0).shape == [2, 2]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda n: n.get_input_desc(9), RuntimeError, "Failed to get input desc for index 9"),
        (lambda n: n.get_output_desc(9), RuntimeError, "Failed to get output desc for index 9"),
        (
            lambda n: n.update_input_desc(9, TensorDesc()),
            RuntimeError,
            "Failed to update input desc for index 9",
        ),
        (
            lambda n: n.update_output_desc(9, TensorDesc()),
            RuntimeError,
            "Failed to update output desc for index 9",
        ),
        (lambda n: n.update_output_desc(0, 1), TypeError, "tensor_desc must be a TensorDesc"),
        (lambda n: n.get_output_desc("0"), TypeError, "Output index must be an integer"),
        (lambda n: Node(), RuntimeError, "Node objects should not be created directly"),
        (lambda n: copy.copy(n), RuntimeError, "Node does not support copy"),
        (lambda n: copy.deepcopy(n), RuntimeError, "Node does not support deepcopy"),
    ],
)
def test_node_errors(call, error, text):
    with pytest.raises(error, match=text):
        call(node(small(), "Relu_1"))


def test_edits_and_what_they_leave_open():
    graph = small()
    add, relu, mul = (node(graph, n) for n in ("Add_0", "Relu_1", "Mul_3"))
    graph.remove_node(relu)
    with pytest.raises(RuntimeError, match="Failed to get Node name"):
        _ = relu.name
    with pytest.raises(RuntimeError, match="Failed to get input data node for index 0"):
        mul.get_in_data_nodes_and_port_indexes(0)
    assert "unconnected" in module_text(graph._handle.parent_op())
    graph.add_data_edge(add, 0, mul, 0)
    assert mul.get_in_data_nodes_and_port_indexes(0)[0].name == "Add_0"
    assert "unconnected" not in module_text(graph._handle.parent_op())
    graph.remove_edge(add, 0, mul, 0)
    assert add.get_out_data_nodes_and_port_indexes(0) == []


def test_a_graph_input_is_removed_with_what_is_kept_for_it():
    builder = GraphBuilder("g")
    a = builder.create_input(0, name="a", shape=[1])
    b = builder.create_input(1, name="b", shape=[2], type_str=InputType.REF_DATA)
    c = builder.create_input(2, name="c", shape=[3])
    for index, tensor in enumerate((a, b, c)):
        builder.set_node_attr_int64(tensor, "mark", index)
    builder.add_control_dependency(b, [a])
    graph = builder.build_and_reset([Identity(a), b, Identity(c)])
    graph.remove_node(node(graph, "a"))
    assert [n.name for n in graph.get_direct_nodes()][:2] == ["b", "c"]
    found = [node(graph, name) for name in "bc"]
    assert [n.get_attr("index") for n in found] == [0, 1]
    assert [n.get_attr("mark") for n in found] == [1, 2]
    assert [n.type for n in found] == ["RefData", "Data"]
    assert found[0].get_in_control_nodes() == []
    with pytest.raises(RuntimeError, match="Failed to get input data node for index 0"):
        node(graph, "Identity_0").get_in_data_nodes_and_port_indexes(0)
    graph.remove_node(node(graph, "Identity_0"))
    graph.remove_edge(found[0], 0, node(graph, "NetOutput_g"), 1)
    graph.add_data_edge(found[0], 0, node(graph, "NetOutput_g"), 0)
    func = graph._handle.parent_op()
    assert [kind.get_shape() for kind in func.function_type.inputs] == [(2,), (3,)]


def test_an_input_of_a_subgraph_stays():
    builder = GraphBuilder("g")
    cond, x = builder.create_inputs(2)
    branches = []
    for name in ("then", "else"):
        inner = GraphBuilder(name)
        branches.append(inner.build_and_reset([inner.create_input(0)]))
    graph = builder.build_and_reset(If(cond, [x], 1, *branches))
    inner = graph.get_subgraph("then")
    with pytest.raises(RuntimeError, match="Failed to remove Node input_0 from Graph then"):
        inner.remove_node(node(inner, "input_0"))


def test_the_index_of_an_input_is_its_place():
    graph = small()
    data = node(graph, "input_0")
    data.set_attr("index", 0)
    with pytest.raises(RuntimeError, match="Failed to set attribute 'index': input 0 is by place"):
        data.set_attr("index", 3)
    assert data.get_attr("index") == 0


def test_an_optional_input_is_connected_and_cut():
    builder = GraphBuilder()
    x, y, b = builder.create_inputs(3)
    graph = builder.build_and_reset([MatMul(x, y), Identity(b)])
    matmul, bias = node(graph, "MatMul_0"), node(graph, "input_2")
    graph.add_data_edge(bias, 0, matmul, 2)
    assert matmul.get_inputs_size() == 3
    graph.remove_edge(bias, 0, matmul, 2)
    assert matmul.get_inputs_size() == 2


def test_control_edges():
    graph = small()
    add, mul = node(graph, "Add_0"), node(graph, "Mul_3")
    graph.add_control_edge(add, mul)
    assert [n.name for n in mul.get_in_control_nodes()] == ["Add_0"]
    assert [n.name for n in add.get_out_control_nodes()] == ["Mul_3"]
    assert len(graph.get_direct_nodes()) == 7
    graph.remove_edge(add, -1, mul, -1)
    assert mul.get_in_control_nodes() == []
    with pytest.raises(RuntimeError, match="Failed to remove Edge from Node Add_0"):
        graph.remove_edge(add, -1, mul, -1)
    with pytest.raises(RuntimeError, match="Failed to add Control from Node Add_0"):
        graph.add_control_edge(add, node(graph, "NetOutput_small"))


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda g: Graph(None), TypeError, "Graph name must be a string"),
        (lambda g: g.find_node_by_name(1), TypeError, "name must be a string"),
        (lambda g: g.find_node_by_name("q"), RuntimeError, "Failed to find Node name q"),
        (lambda g: g.remove_node(1), TypeError, "node must be a Node"),
        (
            lambda g: g.remove_node(node(g, "NetOutput_small")),
            RuntimeError,
            "Failed to remove Node NetOutput_small from Graph small",
        ),
        (lambda g: g.get_subgraph(1), TypeError, "name must be a string"),
        (
            lambda g: g.add_data_edge(node(g, "Add_0"), 0, node(g, "Mul_3"), 0),
            RuntimeError,
            "Failed to add DataEdge from Node Add_0, Port Index 0 to Node Mul_3, Port Index 0",
        ),
        (
            lambda g: g.add_data_edge(node(g, "Add_0"), "0", node(g, "Mul_3"), 0),
            TypeError,
            "src_port_index must be an integer",
        ),
        (
            lambda g: g.remove_edge(node(g, "Add_0"), 0, node(g, "Mul_3"), 0),
            RuntimeError,
            "Failed to remove Edge from Node Add_0, Port Index 0 to Node Mul_3, Port Index 0",
        ),
        (lambda g: Graph._create_from(None), ValueError, "Graph pointer cannot be None"),
        (lambda g: copy.copy(g), RuntimeError, "Graph does not support copy"),
    ],
)
def test_graph_errors(call, error, text):
    with pytest.raises(error, match=text):
        call(small())


def test_a_subgraph_is_a_graph_of_its_op():
    branches = []
    for name in ("then", "else"):
        inner = GraphBuilder(name)
        branches.append(inner.build_and_reset([Relu(inner.create_input(0))]))
    builder = GraphBuilder("outer")
    cond, x = builder.create_inputs(2)
    outputs = If(cond, [x], 1, *branches)
    graph = builder.build_and_reset(outputs)
    assert [g.name for g in graph.get_all_subgraphs()] == ["then", "else"]
    assert graph.get_subgraph("else").get_direct_nodes()[1].type == "Relu"
    assert graph.get_subgraph("missing") is None
    assert [n.type for n in graph.get_all_nodes()].count("Relu") == 2
    with pytest.raises(RuntimeError, match="already has an new owner builder :outer"):
        branches[0]._transfer_ownership_when_pass_as_subgraph(builder)


def test_a_graph_between_the_root_and_an_inner_one():
    """It lists no subgraphs and finds every one by name; each graph has its own attributes."""

    def branch(name, *graphs):
        builder = GraphBuilder(name)
        cond, x = builder.create_inputs(2)
        outputs = If(cond, [cond, x], 1, *graphs) if graphs else [Relu(x)]
        return builder.build_and_reset(outputs)

    middle = branch("middle", branch("left"), branch("right"))
    root = branch("root", middle, branch("other"))
    assert [g.name for g in root.get_all_subgraphs()] == ["middle", "other", "left", "right"]
    found = root.get_subgraph("middle")
    assert found.get_all_subgraphs() == []
    assert [found.get_subgraph(n).name for n in ("left", "other")] == ["left", "other"]
    names = ("middle", "other", "left", "right")
    for name in names:
        root.get_subgraph(name).set_attr("own", name)
    assert [root.get_subgraph(name).get_attr("own") for name in names] == list(names)
    with pytest.raises(RuntimeError, match="Failed to get attribute 'own' from Graph root"):
        root.get_attr("own")


def test_several_outputs():
    builder = GraphBuilder()
    x = builder.create_input(0)
    first, second = Split(0, x, 2, num_split=2)
    graph = builder.build_and_reset([second, first])
    output = graph.get_direct_nodes()[-1]
    assert output.get_in_data_nodes_and_port_indexes(0)[1] == 1
    assert node(graph, "Split_1").get_outputs_size() == 2


def test_inputs_of_subgraphs_have_no_attributes_of_their_own():
    inner = GraphBuilder("then")
    other = GraphBuilder("else")
    branches = [b.build_and_reset([Relu(b.create_input(0))]) for b in (inner, other)]
    builder = GraphBuilder()
    cond, x = builder.create_inputs(2)
    graph = builder.build_and_reset(If(cond, [x], 1, *branches))
    data = graph.get_all_subgraphs()[0].get_direct_nodes()[0]
    assert (data.type, data.get_attr("index")) == ("Data", 0)
    with pytest.raises(RuntimeError, match="Failed to set attribute 'k' of an input of a subgraph"):
        data.set_attr("k", 1)


def test_a_weight_without_its_store_cannot_be_read():
    func = parse_module("""func.func @main() -> tensor<2xf32> {
      %k = ge.Const() {value = #ge.weight<"w">} : () -> tensor<2xf32>
      func.return %k : tensor<2xf32>
    }""").body.block.first_op
    const = node(Graph._create_from(func), "k")
    with pytest.raises(RuntimeError, match="Failed to read the tensor: weight 'w' has no data"):
        const.get_attr("value")
