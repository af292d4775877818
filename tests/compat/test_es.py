"""`ge.es`: the builder, holders and their operators, and the functions of the op modules."""

import copy
import importlib
import inspect

import numpy as np
import pytest
from ge.es import GraphBuilder, TensorHolder, get_plugin, list_plugins
from ge.es.all import (
    GEMM,
    BatchNorm,
    Const,
    Conv2D,
    If,
    MatMul,
    Relu,
    Split,
)
from ge.es.graph_builder import attr_scope, control_dependency_scope
from ge.es.tensor_like import _flatten_and_infer_shape, _unflatten, resolve_builder
from ge.graph import DataType, Format, Graph, Tensor

from ge_xdsl.dialects.ge.prototypes import known_ops, prototype_of
from ge_xdsl.dialects.ge.types import tensor_of
from ge_xdsl.interpreters.ge import run_function


def find(graph, name):
    return graph.find_node_by_name(name)


def build(make, inputs=1):
    builder = GraphBuilder("g")
    return builder.build_and_reset([make(*builder.create_inputs(inputs))])


# Builder


def test_inputs_may_come_in_any_order():
    builder = GraphBuilder()
    second = builder.create_input(1, name="second", data_type=DataType.DT_INT32, shape=[2, -1])
    first = builder.create_input(0)
    graph = builder.build_and_reset([second, first])
    data = graph.get_direct_nodes()[:2]
    assert [n.name for n in data] == ["input_0", "second"]
    assert [n.get_attr("index") for n in data] == [0, 1]
    assert data[1].get_output_desc(0).shape == [2, -1]


def test_a_built_graph_computes():
    builder = GraphBuilder()
    x = builder.create_input(0, shape=[2])
    graph = builder.build_and_reset([x * 3.0 + [1.0, 2.0]])
    func = graph._handle.parent_op()
    for op in func.body.block.ops:
        if op.name.startswith("ge."):
            op.update_types()
    array = np.array([1.0, -1.0], np.float32)
    [found] = run_function(func, {"input_0": array})
    np.testing.assert_array_equal(found, array * 3 + np.array([1, 2], np.float32))


BAD_CALLS = [
    (lambda b: b.create_input("0"), TypeError, "Input index must be an integer"),
    (lambda b: b.create_input(-1), RuntimeError, "Failed to create input"),
    (lambda b: b.create_input(1, shape=(1,)), TypeError, "Shape must be a list of integers"),
    (lambda b: b.create_input(0, type_str="Data"), AttributeError, "value"),
    (lambda b: b.create_input(0, data_type=0), AttributeError, "data_type is 0, which has no"),
    (lambda b: b.create_input(0, format=None), AttributeError, "format is None, which has no"),
    (lambda b: b.create_inputs(0), TypeError, "Number of inputs must be a positive integer"),
    (lambda b: b.create_inputs(1, -1), TypeError, "Start index must be a non-negative integer"),
    (lambda b: b.create_const_int64([1], [2]), ValueError, r"Value count \(1\) doesn't match"),
    (lambda b: b.create_const_int32(0.5), TypeError, "Value must be an integer or list"),
    (lambda b: b.create_const_float("x"), TypeError, "Value must be a float or list of floats"),
    (lambda b: b.create_const_float([1.0], (1,)), TypeError, "Shape must be a list"),
    (lambda b: b.create_vector_int64(1), TypeError, "Value must be a list of integers"),
    (lambda b: b.create_scalar_int64(0.5), TypeError, "Value must be an integer"),
    (lambda b: b.create_scalar_float("x"), TypeError, "Value must be a number"),
    (lambda b: b.create_scalar_uint64(-1), ValueError, "must be non-negative for uint64"),
    (lambda b: b.create_scalar_uint32(2**32), ValueError, r"in range \[0, 2\^32-1\]"),
    (lambda b: b.create_const_uint32(-1), ValueError, r"in range \[0, 2\^32-1\] for uint32"),
    (lambda b: b.create_const_uint64([-1], []), ValueError, "must be non-negative for uint64"),
    (lambda b: b.create_variable("0", "v"), TypeError, "Index must be an integer"),
    (lambda b: b.create_variable(0, 1), TypeError, "Name must be a string"),
    (lambda b: b.set_graph_output(1, 0), TypeError, "Tensor must be a TensorHolder"),
    (lambda b: b.build_and_reset((1,)), TypeError, "Outputs must be a list"),
    (lambda b: b.build_and_reset([1]), TypeError, "All outputs must be TensorHolder objects"),
    (lambda b: b.set_graph_attr_int64("a", "x"), TypeError, "Value must be an integer"),
    (lambda b: b.set_graph_attr_string(1, "x"), TypeError, "Attribute name must be a string"),
    (lambda b: b.add_control_dependency(1, []), TypeError, "dst_tensor must be a TensorHolder"),
    (lambda b: GraphBuilder(1), TypeError, "Graph name must be a string"),
    (lambda b: copy.copy(b), RuntimeError, "GraphBuilder does not support copy"),
]


@pytest.mark.parametrize(("call", "error", "text"), BAD_CALLS)
def test_builder_errors(call, error, text):
    with pytest.raises(error, match=text):
        call(GraphBuilder())


def test_output_and_input_indices_have_no_gaps():
    builder = GraphBuilder("holes")
    x = builder.create_input(1)
    with pytest.raises(RuntimeError, match=r"Failed to build graph holes: input indices are \[1\]"):
        builder.build_and_reset([x])
    with pytest.raises(RuntimeError, match="Failed to set graph output for graph holes output"):
        builder.set_graph_output(x, 0)
    with pytest.raises(TypeError, match="Output index must be an integer"):
        builder.set_graph_output(x, "0")
    with pytest.raises(TypeError, match="src_tensors must be a list"):
        builder.add_control_dependency(x, x)
    with pytest.raises(TypeError, match="src_tensors must be a list of TensorHolder"):
        builder.add_control_dependency(x, [1])


CLOSED = [
    ("create input", lambda b, t: b.create_input(1)),
    ("create inputs", lambda b, t: b.create_inputs(1)),
    ("create constant", lambda b, t: b.create_const_int64([1])),
    ("create vector", lambda b, t: b.create_vector_int64([1])),
    ("create scalar", lambda b, t: b.create_scalar_float(1.0)),
    ("create scalar", lambda b, t: t + 1),
    ("create variable", lambda b, t: b.create_variable(0, "v")),
    ("set graph output", lambda b, t: b.set_graph_output(t, 1)),
    ("set graph attribute", lambda b, t: b.set_graph_attr_bool("a", True)),
    ("set tensor attribute", lambda b, t: b.set_tensor_attr_bool(t, "a", True)),
    ("set node attribute", lambda b, t: b.set_node_attr_bool(t, "a", True)),
    ("add control dependency", lambda b, t: b.add_control_dependency(t, [])),
    ("build_and_reset", lambda b, t: b.build_and_reset([t])),
    ("set data type", lambda b, t: t.set_data_type(DataType.DT_INT8)),
    ("set format", lambda b, t: t.set_format(Format.FORMAT_ND)),
    ("set shape", lambda b, t: t.set_shape([1])),
    ("create constant", lambda b, t: b.create_const_int64(1)),
    ("create constant", lambda b, t: b.create_const_float(["x"])),
    ("add", lambda b, t: t + t),
    ("div", lambda b, t: t / t),
    ("create Relu", lambda b, t: Relu(t)),
]


@pytest.mark.parametrize(("word", "call"), CLOSED)
def test_a_built_builder_is_closed(word, call):
    builder = GraphBuilder()
    x = builder.create_input(0)
    builder.build_and_reset([x])
    with pytest.raises(RuntimeError, match=f"Cannot {word}: GraphBuilder has already been built"):
        call(builder, x)


def test_attributes_through_the_builder():
    builder = GraphBuilder("g")
    x = builder.create_input(0)
    y = Relu(x)
    builder.set_graph_attr_int64("level", 3)
    builder.set_tensor_attr_string(y, "t", "out")
    builder.set_node_attr_bool(y, "n", True)
    builder.set_node_attr_int64(y, "one", True)
    builder.set_tensor_attr_int64(x, "t", 1)
    graph = builder.build_and_reset([y])
    assert graph.get_attr("level") == 3
    assert find(graph, "Relu_0").get_output_attr("t", 0) == "out"
    assert find(graph, "Relu_0").get_attr("n") is True
    assert type(find(graph, "Relu_0").get_attr("one")) is int
    assert find(graph, "input_0").get_output_attr("t", 0) == 1


def test_inputs_from_an_index_on():
    builder = GraphBuilder("g")
    first, second = builder.create_inputs(2, 1)
    builder.create_input(0)
    graph = builder.build_and_reset([second, first])
    assert [(n.name, n.get_attr("index")) for n in graph.get_direct_nodes()[:3]] == [
        ("input_0", 0),
        ("input_1", 1),
        ("input_2", 2),
    ]


def test_attributes_of_the_output_that_a_tensor_is():
    builder = GraphBuilder("g")
    first, second = Split(0, builder.create_input(0), 2, num_split=2)
    builder.set_tensor_attr_int64(second, "which", 1)
    split = find(builder.build_and_reset([first, second]), "Split_1")
    assert split.get_output_attr("which", 1) == 1
    with pytest.raises(RuntimeError, match="output attribute 'which' for index 0"):
        split.get_output_attr("which", 0)


def test_scopes_nest():
    builder = GraphBuilder()
    x = builder.create_input(0)
    with attr_scope({"a": 1, "b": 1}):
        with attr_scope({"b": 2}):
            inner = Relu(x)
        outer = Relu(x)
    with control_dependency_scope([inner]):
        late = Relu(x)
        with control_dependency_scope([outer]):
            last = Relu(x)
    graph = builder.build_and_reset([inner, outer, late, last])
    before = find(graph, "Relu_3").get_in_control_nodes()
    assert [n.name for n in before] == ["Relu_0", "Relu_1"]
    a, b, c = (find(graph, f"Relu_{i}") for i in range(3))
    assert (a.get_attr("a"), a.get_attr("b"), b.get_attr("b")) == (1, 2, 1)
    assert not c.has_attr("a")
    assert [n.name for n in c.get_in_control_nodes()] == ["Relu_0"]


# Holders

OPERATORS = [
    (lambda x: x + 1, ("Add", 0, 1), 1),
    (lambda x: 1 + x, ("Add", 0, 1), 1),
    (lambda x: x - 2, ("Sub", 0, 1), 2),
    (lambda x: 2 - x, ("Sub", 1, 0), 2),
    (lambda x: x * 0.5, ("Mul", 0, 1), 0.5),
    (lambda x: 0.5 * x, ("Mul", 0, 1), 0.5),
    (lambda x: x / [1, 2], ("Div", 0, 1), [1, 2]),
    (lambda x: [1, 2.5] / x, ("Div", 1, 0), [1.0, 2.5]),
]


@pytest.mark.parametrize(("expression", "expected", "value"), OPERATORS)
def test_operators(expression, expected, value):
    graph = build(expression)
    op_type, x_port, const_port = expected
    node = find(graph, f"{op_type}_1")
    assert node.type == op_type
    assert node.get_in_data_nodes_and_port_indexes(x_port)[0].type == "Data"
    const, _ = node.get_in_data_nodes_and_port_indexes(const_port)
    found = const.get_attr("value")
    assert (const.name, found.data) == ("Const_0", value)
    is_float = "." in repr(value)
    assert found.data_type == (DataType.DT_FLOAT if is_float else DataType.DT_INT64)


LITERALS = [
    (True, DataType.DT_INT64, [], 1),
    (7, DataType.DT_INT64, [], 7),
    (np.float64(0.5), DataType.DT_FLOAT, [], 0.5),
    ([5], DataType.DT_INT64, [1], [5]),
    ([], DataType.DT_INT64, [0], []),
    ([[1, 2], [3, 4.0]], DataType.DT_FLOAT, [2, 2], [[1.0, 2.0], [3.0, 4.0]]),
    ([True, False], DataType.DT_INT64, [2], [1, 0]),
]


@pytest.mark.parametrize(("value", "dtype", "shape", "data"), LITERALS)
def test_literals(value, dtype, shape, data):
    const = find(build(lambda x: x + value), "Const_0").get_attr("value")
    assert (const.data_type, const.shape, const.data) == (dtype, shape, data)


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        ((1,), TypeError, "Value must be TensorHolder or int"),
        ("1", TypeError, "Value must be TensorHolder or int"),
        (np.ones(2), TypeError, "Value must be TensorHolder or int"),
        ([[1], [1, 2]], ValueError, "Irregular nested list"),
        ([[]], TypeError, "Value must be int|float or nested lists"),
        (["a"], TypeError, "Value must be int|float or nested lists"),
        (None, AttributeError, "Cannot perform add: the other operand is None"),
    ],
)
def test_values_that_are_no_tensor(value, error, text):
    with pytest.raises(error, match=text):
        build(lambda x: x.add(value))


def test_holders():
    builder = GraphBuilder("one")
    x = builder.create_input(0)
    y = Relu(x)
    assert (x.name, y.name) == ("input_0", "Relu_0")
    assert y.get_owner_builder() is builder
    assert y.set_shape([2, -1]).set_data_type(DataType.DT_INT8).set_format(Format.FORMAT_NCHW) is y
    desc = y._get_node_snapshot().get_output_desc(0)
    assert (desc.shape, desc.data_type, desc.origin_format) == (
        [2, -1],
        DataType.DT_INT8,
        Format.FORMAT_NCHW,
    )
    other = GraphBuilder("two").create_input(0)
    with pytest.raises(ValueError, match=r"Cannot perform mul: .* \('one' vs 'two'\)"):
        _ = x * other
    with pytest.raises(ValueError, match=r"Cannot build MatMul: .* \('one' vs 'two'\)"):
        MatMul(x, other)
    with pytest.raises(RuntimeError, match="TensorHolder objects should not be created directly"):
        TensorHolder()
    with pytest.raises(ValueError, match="Tensor handle cannot be None"):
        TensorHolder._create_from(None, builder)
    with pytest.raises(ValueError, match="Owner builder cannot be None"):
        TensorHolder._create_from(x._handle, None)
    for call, text in (
        (lambda: x.set_data_type(1), "Data type must be a DataType enum"),
        (lambda: x.set_format(1), "Format must be a Format enum"),
        (lambda: x.set_shape((1,)), "Shape must be a list of integers"),
        (lambda: x.set_shape([0.5]), "All shape dimensions must be integers"),
    ):
        with pytest.raises(TypeError, match=text):
            call()


def test_tensor_like_helpers():
    assert _flatten_and_infer_shape([[1, 2], [3, 4]]) == ([1, 2, 3, 4], [2, 2])
    assert _unflatten([1, 2, 3, 4], [2, 2]) == [[1, 2], [3, 4]]
    with pytest.raises(ValueError, match="Shape cannot be empty"):
        _unflatten([1], [])
    with pytest.raises(ValueError, match=r"Length of list 1 does not match shape \[2\]"):
        _unflatten([1], [2])
    with pytest.raises(ValueError, match="At least one argument is required"):
        resolve_builder()
    with pytest.raises(ValueError, match="at least one input tensor or an explicit owner_builder"):
        resolve_builder(1, None)


# Functions

SIGNATURES = [
    (MatMul, "(x1, x2, bias=None, *, transpose_x1=False, transpose_x2=False)"),
    (GEMM, "(a, b, c, alpha, beta, *, transpose_a=False, transpose_b=False)"),
    (
        Conv2D,
        "(x, filter, bias=None, offset_w=None, *, strides, pads, dilations=[1, 1, 1, 1], "
        "groups=1, data_format='NHWC', offset_x=0)",
    ),
    (Split, "(split_dim, x, y_num, *, num_split)"),
    (If, "(cond, input, output_num, then_branch, else_branch)"),
    (Const, "(owner_graph_builder, *, value=None)"),
]


@pytest.mark.parametrize(("function", "expected"), SIGNATURES)
def test_signatures(function, expected):
    signature = inspect.signature(function)
    bare = [p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values()]
    text = str(inspect.Signature(bare))
    assert text == expected
    assert function.__module__ == "ge.es.all"
    names = ", ".join(signature.parameters)
    assert function.__doc__.startswith(f"{function.__name__}({names}): a node of op type ")


def test_documentation_of_a_function():
    assert Split.__doc__.split("\n") == [
        "Split(split_dim, x, y_num, num_split): a node of op type Split.",
        "",
        "Inputs:",
        "    split_dim: DT_INT32",
        f"    x: {', '.join(io.name for io in prototype_of('Split').inputs[1].dtypes)}",
        "",
        "Attributes:",
        "    num_split: Int",
        "",
        "Results:",
        f"    y: list, {', '.join(io.name for io in prototype_of('Split').outputs[0].dtypes)}",
    ]
    assert "\n    bias: optional, DT_FLOAT16, " in Conv2D.__doc__
    assert "\n    data_format: String, 'NHWC' by default\n" in Conv2D.__doc__


def test_every_known_op_has_a_function_in_all():
    module = importlib.import_module("ge.es.all")
    skipped = {"Data", "NetOutput", "Variable", "Switch", "Merge", "Enter", "Exit"}
    names = set(module.__all__)
    assert len(names) > 1900
    missing = set(known_ops()) - names
    assert skipped & set(known_ops()) <= missing
    assert len(missing) < 30
    for name in sorted(names):
        assert inspect.signature(getattr(module, name)) is not None


@pytest.mark.parametrize(
    ("module", "names"),
    [
        ("math", "GEMM Add MatMul Split Concat ConcatV2 Identity TensorMove BatchMatMulV2"),
        ("nn", "BatchMatMulV2 Conv2D Relu GEMM"),
        ("all", "GEMM Add MatMul BatchMatMulV2 Relu Conv2D Split Concat Const"),
    ],
)
def test_samples_find_their_ops(module, names):
    found = importlib.import_module(f"ge.es.{module}")
    for name in names.split():
        assert callable(getattr(found, name)), name


def test_missing_names_are_import_errors():
    with pytest.raises(ImportError, match="cannot import name 'NoSuchOp'"):
        exec("from ge.es.math import NoSuchOp")
    import ge.es.nn

    with pytest.raises(AttributeError, match=r"module 'ge.es.nn' has no attribute 'Add'"):
        _ = ge.es.nn.Add
    with pytest.raises(AttributeError, match="has no attribute 'ReluOutput'"):
        _ = ge.es.nn.ReluOutput
    assert get_plugin("math") is importlib.import_module("ge.es.math")
    assert get_plugin("nope") is None
    assert list_plugins()[:5] == ["math", "nn", "cv", "transformer", "all"]


def test_attributes_by_position_are_taken_with_a_warning():
    builder = GraphBuilder()
    a, b, c = builder.create_inputs(3)
    with pytest.warns(UserWarning, match="GEMM attributes are given by position, CANN takes"):
        y = GEMM(a, b, c, 1.0, 1.0, True, False)
    graph = builder.build_and_reset([y])
    node = find(graph, "GEMM_2")
    assert node.get_attr("transpose_a") is True
    assert not node.has_attr("transpose_b")


def test_several_outputs_are_an_object():
    builder = GraphBuilder()
    x, scale, offset = builder.create_inputs(3)
    out = BatchNorm(x, scale, offset)
    assert type(out).__name__ == "BatchNormOutput"
    assert isinstance(out.y, TensorHolder)
    with pytest.raises(TypeError, match="not iterable"):
        iter(out)


BAD_OP_CALLS = [
    (lambda x: Relu(), TypeError, r"Relu\(\) missing a required argument: 'x'"),
    (lambda x: Relu(x, nope=1), TypeError, r"Relu\(\) got an unexpected keyword"),
    (
        lambda x: Relu(1.0),
        AttributeError,
        r"Relu\(\) input 'x' is float, which has no get_owner_builder, expected a tensor",
    ),
    (lambda x: Relu(x, y=1), TypeError, "unexpected keyword argument 'y', expected one of: x$"),
    (lambda x: MatMul(1.0, 2.0), ValueError, "at least one input tensor"),
    (lambda x: MatMul(x, x, transpose_x1="a"), TypeError, "argument 'transpose_x1' is 'a'"),
    (lambda x: MatMul(x, None), TypeError, "input 'x2' is missing"),
    (lambda x: GEMM(x, x, x, 1.0, 1.0, True, transpose_a=1), TypeError, "multiple values"),
    (lambda x: Split(0, x, "2", num_split=2), TypeError, "'y_num' is '2', expected a count"),
    (lambda x: If(x, x, 1, None, None), TypeError, "expected a list of tensors"),
    (lambda x: If(x, [x], 1, None, None), TypeError, "'then_branch' is no Graph"),
    (lambda x: If(x, [x], 0, _emptied(), Graph()), RuntimeError, "Graph handle is empty"),
    (lambda x: Const(1), ValueError, "at least one input tensor"),
]


def _emptied():
    graph = Graph()
    graph._handle = None
    return graph


@pytest.mark.parametrize(("call", "error", "text"), BAD_OP_CALLS)
def test_wrong_calls(call, error, text):
    with pytest.raises(error, match=text):
        call(GraphBuilder().create_input(0))


def test_a_data_type_attribute_is_no_integer():
    from ge.es.math import Cast

    x = GraphBuilder().create_input(0)
    assert Cast(x, dst_type=3).name == "Cast_0"  # declared Int
    from ge.es.all import RandomUniform

    with pytest.raises(TypeError, match="argument 'dtype' is 1, expected a DataType"):
        RandomUniform(x, dtype=1)


def test_const_types_its_output():
    builder = GraphBuilder()
    value = Const(builder, value=Tensor([1, 2], data_type=DataType.DT_INT32, shape=[2]))
    tensor = tensor_of(value._handle.type)
    assert (tensor.dtype, tensor.shape) == (DataType.DT_INT32, (2,))
