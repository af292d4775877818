"""`ge.es`: op packages, plugins, nodes without outputs, the pinned signatures, scopes that fail."""

import importlib
import inspect
import itertools
import sys
from types import ModuleType

import pytest
from ge.es import (
    GraphBuilder,
    TensorHolder,
    _plugin_loader,
    get_plugin,
    list_plugins,
    register_module,
)
from ge.es.all import If, NoOp, Relu
from ge.es.graph_builder import attr_scope, control_dependency_scope
from ge.es.tensor_like import convert_to_tensor_holder, resolve_builder
from ge.graph import DataType, Graph

# Signatures

IN, OPT, DYN = "required", "optional", "dynamic"


def record(op, inputs, outputs, attrs=(), subgraphs=()):
    return {
        "op": op,
        "inputs": [{"name": name, "kind": kind} for name, kind in inputs],
        "outputs": [{"name": name, "kind": kind} for name, kind in outputs],
        "attrs": [
            {"name": name, "type": kind, "required": default is None, "default": default}
            for name, kind, default in attrs
        ],
        "subgraphs": [{"name": name, "kind": kind} for name, kind in subgraphs],
    }


Y = [("y", IN)]
INDEX = [("index", "Int", 0)]
LISTED = [("index", "ListInt", [10, 10, 10])]
MANY = [
    ("li", "ListInt", [10, 10]),
    ("f", "Float", 0.5),
    ("s", "String", "s"),
    ("b", "Bool", True),
    ("lf", "ListFloat", [0.25]),
    ("lb", "ListBool", [True, False]),
]
MIX = [("cond", "static"), ("branches", "dynamic")]

SIGNATURES = [
    (record("phony_1i_1o", [("x", IN)], Y, INDEX), "(x, *, index=0)"),
    (
        record("phony_1i1dyi_1o", [("x", IN), ("dx", DYN)], Y, LISTED),
        "(x, dx, *, index=[10, 10, 10])",
    ),
    (
        record(
            "phony_1opi1i_1o",
            [("x", IN), ("dx", OPT)],
            Y,
            [("dt", "Type", "DT_FLOAT"), ("flag", "Bool", None)],
        ),
        "(x, dx=None, *, flag, dt=<DataType.DT_FLOAT: 0>)",
    ),
    (record("phony_2opi1i_1o", [("x1", OPT), ("x2", OPT), ("x3", IN)], Y), "(x1, x2, x3)"),
    (
        record("phony_3opi_1o", [("x1", OPT), ("x2", OPT), ("x3", OPT)], Y),
        "(x1=None, x2=None, x3=None, owner_builder=None)",
    ),
    (
        record("phony_1opi_1o", [("x1", OPT)], Y, [("flag", "Bool", None)]),
        "(x1=None, owner_builder=None, *, flag)",
    ),
    (
        record("phony_1i_1dyo", [("x", IN)], [("dy", DYN)], INDEX),
        "(x, dy_num, *, index=0)",
    ),
    (
        record("phony_1i_1dyo1o", [("x", IN)], [("dy", DYN), ("y", IN)], INDEX),
        "(x, dy_num, *, index=0)",
    ),
    (record("phony_1i_2o", [("x", IN)], [("y1", IN), ("y2", IN)]), "(x)"),
    (
        record(
            "phony_mix_subgraphs", [("opt_input", OPT), ("input", DYN)], [("output", DYN)], (), MIX
        ),
        "(opt_input, input, output_num, cond, branches)",
    ),
    (
        record(
            "phony_keyword",
            [("for", IN), ("case", DYN)],
            [("if", DYN)],
            [("not", "Int", 0)],
            [("or", "static")],
        ),
        "(in_for, case, out_if_num, subgraph_or, *, attr_not=0)",
    ),
    (
        record("phony_multi_attr", [], Y, MANY),
        "(owner_graph_builder, *, li=[10, 10], f=0.5, s='s', b=True, lf=[0.25], lb=[True, False])",
    ),
    (
        record("phony_clash", [("x", IN), ("z", IN)], [("x", IN)], [("z", "Int", 1)]),
        "(x, z, *, attr_z=1)",
    ),
    (record("phony_dyn_opt", [("x", IN), ("b", OPT)], [("y", DYN)]), "(x, b, y_num)"),
]


@pytest.fixture(scope="module")
def phony():
    return register_module("phony_signatures", [proto for proto, _ in SIGNATURES])


def plain(function):
    """A signature without its annotations."""
    found = inspect.signature(function)
    parameters = [p.replace(annotation=p.empty) for p in found.parameters.values()]
    return str(found.replace(parameters=parameters, return_annotation=found.empty))


@pytest.mark.parametrize(("proto", "text"), SIGNATURES, ids=[p["op"] for p, _ in SIGNATURES])
def test_signatures(phony, proto, text):
    assert plain(getattr(phony, proto["op"])) == text


def test_what_functions_return(phony):
    builder = GraphBuilder()
    x = builder.create_input(0)
    assert isinstance(phony.phony_1i_1o(x), TensorHolder)
    assert [type(t) for t in phony.phony_1i_1dyo(x, 3)] == [TensorHolder] * 3
    mixed = phony.phony_1i_1dyo1o(x, 2)
    assert type(mixed).__name__ == "phony_1i_1dyo1oOutput"
    assert type(mixed) is phony.phony_1i_1dyo1oOutput
    assert len(mixed.dy) == 2
    assert isinstance(mixed.y, TensorHolder)
    both = phony.phony_1i_2o(x)
    assert both.y1.name == both.y2.name
    with pytest.raises(TypeError):
        both[0]
    assert phony.phony_clash(x, x).name.startswith("phony_clash_")


def test_the_builder_comes_from_where_the_signature_says(phony):
    builder = GraphBuilder()
    x = builder.create_input(0)
    assert phony.phony_3opi_1o(None, x, 1).get_owner_builder() is builder
    assert phony.phony_3opi_1o(owner_builder=builder).name == "phony_3opi_1o_2"
    assert phony.phony_1opi_1o(2.0, builder, flag=True).get_owner_builder() is builder
    assert phony.phony_multi_attr(builder, f=0.25).get_owner_builder() is builder
    with pytest.raises(ValueError, match="at least one input tensor or an explicit owner_builder"):
        phony.phony_3opi_1o()
    with pytest.raises(AttributeError, match="get_owner_builder"):
        phony.phony_1i_1o(1.0)
    with pytest.raises(TypeError, match="missing a required argument: 'flag'"):
        phony.phony_1opi_1o(x)


def test_dynamic_inputs_take_numbers_among_tensors(phony):
    builder = GraphBuilder()
    x = builder.create_input(0)
    made = phony.phony_1i1dyi_1o(x, [x, 1, [2.0]])
    node = made._get_node_snapshot()
    sources = [node.get_in_data_nodes_and_port_indexes(i)[0].type for i in range(4)]
    assert sources == ["Data", "Data", "Const", "Const"]


def test_attributes_are_stored_when_they_differ_from_the_default(phony):
    builder = GraphBuilder()
    node = phony.phony_multi_attr(builder, li=[1], f=0.5, s="t", b=False)._get_node_snapshot()
    assert node.get_attr("li") == [1]
    assert node.get_attr("s") == "t"
    assert node.get_attr("b") is False
    assert not node.has_attr("f")
    with pytest.raises(RuntimeError, match="Failed to get attribute 'lf' from Node"):
        node.get_attr("lf")


# Nodes without outputs


def test_an_output_of_an_inputs_name_is_a_reference():
    row = {
        "op": "RefNameTest",
        "inputs": [{"name": "x"}],
        "outputs": [{"name": "x"}, {"name": "y"}],
    }
    function = register_module("ref_names", [row]).RefNameTest
    made = function(GraphBuilder().create_input(0))
    assert sorted(vars(made)) == ["ref_x", "y"]
    assert function.__doc__.endswith("Results:\n    ref_x: any data type\n    y: any data type")


def test_a_node_without_outputs_orders_others():
    builder = GraphBuilder("g")
    x = builder.create_input(0)
    nothing = NoOp(builder)
    assert nothing.name == "NoOp_0"
    y = Relu(x)
    builder.add_control_dependency(y, [nothing])
    builder.set_node_attr_int64(nothing, "mine", 1)
    with control_dependency_scope([nothing]):
        z = Relu(y)
    with pytest.raises(RuntimeError, match="node NoOp_0 has no output, expected one"):
        builder.set_graph_output(nothing, 0)
    with pytest.raises(RuntimeError, match="node NoOp_0 has no output, expected one"):
        Relu(nothing)
    graph = builder.build_and_reset([z])
    node = graph.find_node_by_name("NoOp_0")
    assert node.get_attr("mine") == 1
    assert [n.name for n in node.get_out_control_nodes()] == ["Relu_1", "Relu_2"]
    assert node.get_outputs_size() == 0


# Scopes


def test_subgraphs_inside_a_scope():
    builder = GraphBuilder("g")
    x, c = builder.create_inputs(2)
    branches = [GraphBuilder(name) for name in "ab"]
    graphs = [b.build_and_reset([Relu(b.create_input(0))]) for b in branches]
    with control_dependency_scope([x]):
        out = If(c, [x], 1, *graphs)
    graph = builder.build_and_reset(out)
    assert [g.name for g in graph.get_all_subgraphs()] == ["a", "b"]
    assert [n.name for n in graph.find_node_by_name("If_0").get_in_control_nodes()] == ["input_0"]


def test_a_scope_that_refuses_leaves_no_node_behind():
    builder = GraphBuilder("g")
    x = builder.create_input(0)
    with attr_scope({"bad": object()}):
        with pytest.raises(ValueError, match="Unsupported attribute type"):
            Relu(x)
        with pytest.raises(ValueError, match="Unsupported attribute type"):
            builder.create_scalar_int64(1)
        with pytest.raises(ValueError, match="Unsupported attribute type"):
            builder.create_input(1)
    graph = builder.build_and_reset([Relu(x)])
    assert [node.type for node in graph.get_direct_nodes()] == ["Data", "Relu", "NetOutput"]


# Conversions


@pytest.mark.parametrize(
    ("value", "dtype", "shape"),
    [
        (True, DataType.DT_INT64, []),
        (3, DataType.DT_INT64, []),
        (1.5, DataType.DT_FLOAT, []),
        ([5], DataType.DT_INT64, [1]),
        ([[1, 2], [3, 4]], DataType.DT_INT64, [2, 2]),
        ([1, 2.0], DataType.DT_FLOAT, [2]),
        ([], DataType.DT_INT64, [0]),
        (DataType.DT_BOOL, DataType.DT_INT64, []),
    ],
)
def test_numbers_become_constants(value, dtype, shape):
    holder = convert_to_tensor_holder(value, GraphBuilder())
    desc = holder._get_node_snapshot().get_output_desc(0)
    assert (desc.data_type, desc.shape) == (dtype, shape)
    assert holder.name == "Const_0"


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (
            [[1], [2, 3]],
            ValueError,
            "Irregular nested list: all sub-lists must have the same shape",
        ),
        ([[]], TypeError, r"Value must be int\|float or nested lists of int\|float"),
        (["a"], TypeError, r"Value must be int\|float or nested lists of int\|float"),
        ((1, 2), TypeError, r"Value must be TensorHolder or int\|float or nested lists"),
        ("a", TypeError, r"Value must be TensorHolder or int\|float or nested lists"),
    ],
)
def test_values_that_are_no_tensors(value, error, text):
    with pytest.raises(error, match=text):
        convert_to_tensor_holder(value, GraphBuilder())


def test_lists_are_not_searched_for_a_builder():
    builder = GraphBuilder()
    x = builder.create_input(0)
    assert resolve_builder(None, 1, builder) is builder
    assert resolve_builder(x) is builder
    with pytest.raises(ValueError, match="Please ensure at least one input tensor"):
        resolve_builder([x])
    with pytest.raises(ValueError, match="At least one argument is required"):
        resolve_builder()


# Packages and plugins


@pytest.mark.parametrize("name", ["all", "math", "nn", "cv", "transformer"])
def test_op_packages(name):
    package = importlib.import_module(f"es_{name}")
    assert package is importlib.import_module(f"ge.es.{name}")
    assert package.get_module() is package
    for leaked in ("GraphBuilder", "TensorHolder", "DataType", "Format", "Graph", "Tensor", "List"):
        assert hasattr(package, leaked)
        assert leaked in package.__all__


def test_a_missing_op_is_an_import_error():
    with pytest.raises(ImportError, match="cannot import name 'Nope'"):
        exec("from ge.es.math import Nope")


class Entry:
    def __init__(self, name, value):
        self.name, self.value = name, value

    def load(self):
        if isinstance(self.value, Exception):
            raise self.value
        return self.value


@pytest.fixture
def loaded(monkeypatch):
    """Loads fake entry points; gives the modules and what was told."""
    told = []
    monkeypatch.setattr(
        _plugin_loader, "debug_print", lambda level, text, *args: told.append((level, text % args))
    )

    def load(*entries):
        monkeypatch.setattr(_plugin_loader, "_iter_plugin_entry_points", lambda: list(entries))
        return _plugin_loader.load_all_plugins(), told

    yield load
    for package, name in itertools.product(("ge.es", "ge_xdsl.compat.ge.es"), ("mine", "good")):
        sys.modules.pop(f"{package}.{name}", None)


MODULE = ModuleType("found_module")


@pytest.mark.parametrize(
    "value", [MODULE, "json", lambda: MODULE, lambda: "json", lambda: lambda: MODULE]
)
def test_what_a_plugin_may_give(loaded, value):
    modules, told = loaded(Entry("mine", value))
    assert modules["mine"].__name__ in ("found_module", "json")
    assert sys.modules["ge.es.mine"] is modules["mine"]
    assert told == [("INFO", f"ES plugin 'mine' loaded: {modules['mine'].__name__}")]


@pytest.mark.parametrize(
    ("entry", "level", "text"),
    [
        (
            Entry("a", 3),
            "ERROR",
            "ES plugin 'a' failed: ES plugin 'a' gives int, expected a module",
        ),
        (Entry("a", ImportError("gone")), "ERROR", "ES plugin 'a' cannot be imported: gone"),
        (Entry("a", AttributeError("x")), "ERROR", "ES plugin 'a' lacks an attribute: x"),
        (Entry("a", RuntimeError("y")), "ERROR", "ES plugin 'a' failed: y"),
        (
            Entry("a", "no.such.module"),
            "ERROR",
            "ES plugin 'a' cannot be imported: No module named",
        ),
        (Entry("", MODULE), "WARNING", "ES plugin without a name is left out"),
    ],
)
def test_a_plugin_that_cannot_be_loaded(loaded, entry, level, text):
    modules, told = loaded(entry, Entry("good", MODULE))
    assert modules == {"good": MODULE}
    assert told[0][0] == level
    assert told[0][1].startswith(text)


class Selectable(list):
    def select(self, group):
        return [entry for entry in self if group == "ge.es.plugins"]


@pytest.mark.parametrize(
    "find",
    [
        lambda group: [1],
        lambda group: {group: [1], "other": [2]},
        lambda: {"ge.es.plugins": [1]},
        lambda: Selectable([1]),
    ],
    ids=["list", "dict", "old dict", "old select"],
)
def test_every_form_of_entry_points(monkeypatch, find):
    monkeypatch.setattr(_plugin_loader, "entry_points", find)
    assert _plugin_loader._iter_plugin_entry_points() == [1]


def test_errors_are_told_on_standard_error(capsys):
    _plugin_loader.debug_print("INFO", "loaded %s", "x")
    _plugin_loader.debug_print("ERROR", "lost %s", "y")
    assert capsys.readouterr() == ("", "[ERROR] [ge.es._plugin_loader] lost y\n")
    _plugin_loader.debug_print("WARNING", "100% lost", "z", 1)
    assert capsys.readouterr().err == "[WARNING] [ge.es._plugin_loader] 100% lost z 1\n"


def test_entry_points_that_cannot_be_listed(monkeypatch, capsys):
    def fail(**_):
        raise RuntimeError("metadata is broken")

    monkeypatch.setattr(_plugin_loader, "entry_points", fail)
    assert _plugin_loader.load_all_plugins() == {}
    text = "[ERROR] [ge.es._plugin_loader] ES plugins cannot be listed: metadata is broken\n"
    assert capsys.readouterr() == ("", text)


def test_the_package_knows_its_modules(tmp_path):
    assert list_plugins()[:5] == ["math", "nn", "cv", "transformer", "all"]
    assert get_plugin(None) is None
    assert get_plugin("nope") is None
    import ge.es as package

    package._add("math", MODULE)
    assert package.math is not MODULE
    _plugin_loader._publish("math", MODULE)
    assert sys.modules["ge.es.math"] is package.math
    _plugin_loader._publish("plugged", MODULE)
    package._add("plugged", MODULE)
    try:
        assert package.plugged is MODULE
        assert get_plugin("plugged") is MODULE
        assert "plugged" in package.__all__
        assert sys.modules["ge.es.plugged"] is MODULE
    finally:
        del package.op_modules["plugged"], package.plugged
        package.__all__.remove("plugged")
        for name in ("ge.es.plugged", "ge_xdsl.compat.ge.es.plugged"):
            assert sys.modules.pop(name) is MODULE


def test_a_graph_has_no_netoutput_before_it_is_built():
    assert Graph("g").get_all_nodes() == []
    graph = GraphBuilder("g").build_and_reset()
    assert [node.name for node in graph.get_all_nodes()] == ["NetOutput_g"]
