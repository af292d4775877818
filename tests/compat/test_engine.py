"""`ge.session`, `ge.ge_global`, `ge.offline_compile`, `ge.utils`, `ge.error`, `ge.pyatc`."""

import copy
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from ge.allocator import Allocator, MemBlock
from ge.error import GeError, get_ge_error_msg, raise_ge_error
from ge.es import GraphBuilder
from ge.es.all import If, MatMul, Relu, Reshape
from ge.ge_global import GeApi
from ge.graph import DataType, Graph, Tensor
from ge.offline_compile import (
    GraphWithOptions,
    ModelBuffer,
    build_finalize,
    build_initialize,
    build_model,
    bundle_build_model,
    bundle_save_model,
    save_model,
)
from ge.passes import (
    FusionBasePass,
    PassStage,
    clear_registered_passes,
    get_registered_passes,
    register_fusion_pass,
)
from ge.session import Session
from ge.utils import GeUtils

PASS = """
from ge.passes import PassStage, PatternFusionPass, PatternMatcherConfigBuilder
from ge.passes import pattern, register_fusion_pass
from ge.es.all import Relu


@register_fusion_pass(name="DropSecond", stage=PassStage.AFTER_INFER_SHAPE)
class DropSecond(PatternFusionPass):
    @pattern
    def two(self, inputs):
        return Relu(Relu(inputs[0]))

    def replacement(self, inputs):
        return Relu(inputs[0])
"""


@pytest.fixture(autouse=True)
def _plugins(tmp_path, monkeypatch):
    monkeypatch.delenv("ASCEND_GE_PY_PASS_PATH", raising=False)
    yield
    for _ in range(8):
        GeApi.ge_finalize()


def relus(count=2, shape=(2,)):
    builder = GraphBuilder("relus")
    y = builder.create_input(0, name="x", shape=list(shape))
    for _ in range(count):
        y = Relu(y)
    return builder.build_and_reset([y])


def tensor(values, shape, dtype=DataType.DT_FLOAT):
    return Tensor(values, data_type=dtype, shape=shape)


# Session


def test_a_graph_is_compiled_and_run():
    builder = GraphBuilder("g")
    a, b = builder.create_input(0, shape=[2, 3]), builder.create_input(1, shape=[3, 2])
    graph = builder.build_and_reset([MatMul(a, b) + 1.0, Relu(a)])
    session = Session({"ge.socVersion": "Ascend910B1"})
    assert session.add_graph(1, graph) == 0
    left, right = np.arange(6.0).reshape(2, 3) - 3, np.ones((3, 2))
    given = [tensor(left.ravel().tolist(), [2, 3]), tensor(right.ravel().tolist(), [3, 2])]
    product, clipped = session.run_graph(1, given)
    np.testing.assert_array_equal(product.get_data(), left @ right + 1)
    np.testing.assert_array_equal(clipped.get_data(), np.maximum(left, 0))
    assert product.get_data_type() == DataType.DT_FLOAT
    assert session.remove_graph(1) == 0
    assert [node.type for node in graph.get_direct_nodes()].count("MatMul") == 1  # untouched


def test_passes_run_in_the_first_compile(tmp_path, monkeypatch):
    (tmp_path / "p.py").write_text(PASS)
    monkeypatch.setenv("ASCEND_GE_PY_PASS_PATH", str(tmp_path))
    assert GeApi.ge_initialize({"ge.exec.deviceId": "0"}) == 0
    session = Session()
    session.add_graph(0, relus())
    [y] = session.run_graph(0, [tensor([-1.0, 2.0], [2])])
    assert y.get_data() == [0.0, 2.0]
    func = session._graphs[0].func
    assert [op.name for op in func.body.block.ops] == ["ge.Relu", "func.return"]
    assert GeApi.ge_finalize() == 0
    assert get_registered_passes() == []


SESSION_TYPES = [
    (lambda s: Session([]), "option must be a dictionary"),
    (lambda s: Session({"a": 1}), "option must be a dictionary"),
    (lambda s: s.add_graph("1", Graph()), "Graph_id must be an integer"),
    (lambda s: s.add_graph(1, "g"), "Add_graph must be a Graph"),
    (lambda s: s.add_graph(1, Graph(), []), "options must be a dictionary"),
    (lambda s: s.remove_graph("1"), "Graph_id must be an integer"),
    (lambda s: s.run_graph("1", []), "Graph_id must be an integer"),
    (lambda s: s.run_graph(1, ()), "inputs must be a list of Tensor"),
    (lambda s: s.run_graph(1, [1]), "All elements in inputs must be the type of Tensor"),
    (lambda s: s.run_graph_with_stream_async("1", 1, []), "Graph_id must be an integer"),
    (lambda s: s.run_graph_with_stream_async(1, "1", []), "Stream must be an integer"),
    (lambda s: s.run_graph_with_stream_async(1, 1, [1]), "All elements in inputs must be"),
    (lambda s: s.register_external_allocator("1", None), "stream must be an integer"),
    (lambda s: s.register_external_allocator(1, None), "allocator must be an Allocator instance"),
    (lambda s: s.unregister_external_allocator("1"), "stream must be an integer"),
]


@pytest.mark.parametrize(("call", "text"), SESSION_TYPES)
def test_session_types(call, text):
    with pytest.raises(TypeError, match=text):
        call(Session())


class Memory(Allocator):
    def malloc(self, size):
        return MemBlock(16, size)

    def free(self, block):
        pass


def test_an_allocator_is_abstract():
    with pytest.raises(TypeError, match="abstract"):
        Allocator()
    assert Memory().malloc(4) == MemBlock(addr=16, size=4)


OF_DEVICE = [
    (lambda s: s.run_graph_with_stream_async(1, 1, []), "RunGraphWithStreamAsync"),
    (lambda s: s.register_external_allocator(1, Memory()), "RegisterExternalAllocator"),
    (lambda s: s.unregister_external_allocator(1), "UnregisterExternalAllocator"),
]


@pytest.mark.parametrize(("call", "name"), OF_DEVICE)
def test_what_needs_a_device_says_so(call, name):
    with pytest.raises(GeError, match=f"{name} failed; it needs an Ascend device") as caught:
        call(Session())
    assert caught.value.api_name == name


def closed():
    session = Session()
    session.add_graph(1, relus())
    return session


SESSION_FAILURES = [
    (lambda s: s.add_graph(1, relus()), "AddGraph failed; graph_id=1; the graph id is taken"),
    (lambda s: s.remove_graph(2), "RemoveGraph failed; graph_id=2; no graph has this id"),
    (lambda s: s.run_graph(2, []), "RunGraph failed; graph_id=2; no graph has this id"),
    (lambda s: s.run_graph(1, []), "RunGraph failed; graph_id=1; error: 0 inputs are given, exp"),
    (lambda s: s.run_graph(1, [Tensor()]), "graph input 'x': tensor has no data, expected values"),
    (
        lambda s: s.run_graph(1, [tensor([1.0], [1])]),
        r"graph input 'x': array is \[1\], expected \[2\]|array is 1, expected 2",
    ),
    (
        lambda s: s.run_graph(1, [tensor([1, 2], [2], DataType.DT_INT8)]),
        "graph input 'x': array is int8, expected float32",
    ),
]


@pytest.mark.parametrize(("call", "text"), SESSION_FAILURES)
def test_session_failures(call, text):
    with pytest.raises(GeError, match=text):
        call(closed())


def test_a_graph_that_cannot_be_compiled():
    builder = GraphBuilder("g")
    a, b = builder.create_input(0, shape=[2, 3]), builder.create_input(1, shape=[2, 3])
    session = Session()
    session.add_graph(1, builder.build_and_reset([MatMul(a, b)]))
    with pytest.raises(GeError, match="RunGraph failed; graph_id=1; error: ge.MatMul 'MatMul_0'"):
        session.run_graph(1, [tensor([0.0] * 6, [2, 3])] * 2)
    emptied = relus()
    emptied._handle = None
    session.add_graph(2, emptied)
    with pytest.raises(GeError, match="graph is empty or a subgraph, expected a whole one"):
        session.run_graph(2, [])
    session.add_graph(3, relus(), {"ge.socVersion": "Ascend1"})
    with pytest.raises(GeError, match="ge.socVersion: .*Ascend1"):
        session.run_graph(3, [tensor([0.0, 0.0], [2])])


@pytest.mark.parametrize("make", [Session, ModelBuffer])
def test_sessions_and_models_are_not_copied(make):
    with pytest.raises(RuntimeError, match=f"{make.__name__} does not support copy"):
        copy.copy(make())
    with pytest.raises(RuntimeError, match=f"{make.__name__} does not support deepcopy"):
        copy.deepcopy(make())


# The engine of the process


def test_initialization_is_counted(tmp_path, monkeypatch):
    (tmp_path / "p.py").write_text(PASS)
    monkeypatch.setenv("ASCEND_GE_PY_PASS_PATH", str(tmp_path))
    GeApi.ge_initialize({"a": "b"})
    build_initialize()
    GeApi.ge_finalize()
    assert [d.pass_name for d in get_registered_passes()] == ["DropSecond"]
    build_finalize()
    assert get_registered_passes() == []
    build_finalize()
    GeApi.ge_initialize({"a": "b"})
    assert len(get_registered_passes()) == 1


def test_initialization_errors(tmp_path, monkeypatch):
    with pytest.raises(TypeError, match="Ge init config must be a dictionary"):
        GeApi.ge_initialize([])
    with pytest.raises(TypeError, match="Ge init config must not be empty"):
        GeApi.ge_initialize({})
    (tmp_path / "p.py").write_text("raise KeyError('mine')")
    monkeypatch.setenv("ASCEND_GE_PY_PASS_PATH", str(tmp_path))
    with pytest.raises(GeError, match="GEInitialize failed; loading pass plugins raised KeyError"):
        GeApi.ge_initialize({"a": "b"})
    with pytest.raises(TypeError, match="Ge init config must be a dictionary of strings"):
        GeApi.ge_initialize({"a": 1})


def test_options_of_an_initialization_hold_until_its_end():
    seen = []

    def attempt(options):
        @register_fusion_pass(name=f"Read{len(seen)}", stage=PassStage.AFTER_INFER_SHAPE)
        class Read(FusionBasePass):
            def run(self, graph, context):
                seen.append([context.get_option_value(key) for key in ("own", "both")])

        session = Session(options)
        session.add_graph(0, relus(1))
        session.run_graph(0, [Tensor([1.0, 2.0], shape=[2])])
        clear_registered_passes()

    assert GeApi.ge_initialize({"own": "global", "both": "global"}) == 0
    attempt({"both": "session"})
    assert seen == [["global", "session"]]
    GeApi.ge_finalize()
    with pytest.raises(GeError, match="Failed to get option value for key: own"):
        attempt({"both": "session"})


# Offline compile


def test_a_model_is_the_optimised_graph(tmp_path, monkeypatch):
    (tmp_path / "p.py").write_text(PASS)
    monkeypatch.setenv("ASCEND_GE_PY_PASS_PATH", str(tmp_path / "p.py"))
    build_initialize({"ge.socVersion": "Ascend910B1"})
    model = build_model(relus(4), {"input_format": "ND"})
    save_model(str(tmp_path / "out"), model)
    assert model.length == model.get_length() == (tmp_path / "out.air").stat().st_size
    back = Graph()
    back.load_from_air(str(tmp_path / "out.air"))
    assert [node.type for node in back.get_direct_nodes()] == ["Data", "Relu", "NetOutput"]
    save_model(str(tmp_path / "again.air"), model)
    assert sorted(p.name for p in tmp_path.glob("*.air")) == ["again.air", "out.air"]


def test_options_of_a_build_come_before_those_of_the_initialization():
    seen = []

    @register_fusion_pass(name="Read", stage=PassStage.AFTER_INFER_SHAPE)
    class Read(FusionBasePass):
        def run(self, graph, context):
            seen.append([context.get_option_value(key) for key in ("own", "both")])

    build_initialize({"own": "global", "both": "global"})
    build_model(relus(1), {"both": "build"})
    build_finalize()
    assert seen == [["global", "build"]]


OFFLINE = [
    (lambda: build_initialize([]), TypeError, "global_options must be a dictionary of strings"),
    (lambda: build_initialize({"a": 1}), TypeError, "global_options must be a dictionary of str"),
    (lambda: build_model("g"), TypeError, "graph must be a Graph"),
    (lambda: build_model(Graph(), {1: "a"}), TypeError, "build_options must be a dictionary of"),
    (lambda: save_model(1, ModelBuffer()), TypeError, "output_file must be a string"),
    (lambda: save_model("a", b""), TypeError, "model must be a ModelBuffer"),
    (
        lambda: save_model("/no/such/folder/m", ModelBuffer()),
        GeError,
        "aclgrphSaveModel failed; output_file=/no/such/folder/m",
    ),
    (lambda: bundle_build_model(()), TypeError, "must be a list of GraphWithOptions"),
    (lambda: bundle_build_model([1]), TypeError, "must be a list of GraphWithOptions"),
    (
        lambda: bundle_build_model([GraphWithOptions(Graph())]),
        ValueError,
        "graph_with_options size must be larger than 1",
    ),
    (
        lambda: bundle_build_model([GraphWithOptions(Graph(), {"a": "b"})] * 2),
        GeError,
        "aclgrphBundleBuildModel failed; it needs an Ascend device",
    ),
    (lambda: bundle_save_model(1, ModelBuffer()), TypeError, "output_file must be a string"),
    (lambda: bundle_save_model("a", 1), TypeError, "model must be a ModelBuffer"),
    (
        lambda: bundle_save_model("a", ModelBuffer()),
        GeError,
        "aclgrphBundleSaveModel failed; it needs an Ascend device",
    ),
]


@pytest.mark.parametrize(("call", "error", "text"), OFFLINE)
def test_offline_compile_errors(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_a_model_of_a_bad_graph():
    builder = GraphBuilder("g")
    a = builder.create_input(0, shape=[2, 3])
    with pytest.raises(GeError, match="aclgrphBuildModel failed; graph=g; error: ge.MatMul"):
        build_model(builder.build_and_reset([MatMul(a, a)]))


# Utilities


def test_infer_shape_of_a_cycle():
    graph = relus()
    first, second = graph.find_node_by_name("Relu_0"), graph.find_node_by_name("Relu_1")
    graph.remove_edge(graph.find_node_by_name("x"), 0, first, 0)
    graph.add_data_edge(second, 0, first, 0)
    with pytest.raises(RuntimeError, match="the nodes form a cycle, expected none"):
        GeUtils.infer_shape(graph, [[2]])


def test_infer_shape_of_a_graph():
    builder = GraphBuilder("g")
    x, c = builder.create_input(0), builder.create_input(1, data_type=DataType.DT_BOOL)
    inner = GraphBuilder("branch")
    branches = [inner.build_and_reset([Relu(inner.create_input(0))])]
    inner = GraphBuilder("other")
    branches.append(inner.build_and_reset([inner.create_input(0)]))
    out = If(c, [Reshape(x, [3, 2])], 1, *branches)
    graph = builder.build_and_reset(out)
    GeUtils.infer_shape(graph, [[2, 3], []])
    assert graph.find_node_by_name("If_2").get_output_desc(0).shape == [3, 2]
    relu = graph.get_subgraph("branch").find_node_by_name("Relu_0")
    assert relu.get_output_desc(0).shape == [3, 2]


UTILS = [
    (lambda: GeUtils.infer_shape("g", []), TypeError, "graph must be a Graph"),
    (lambda: GeUtils.infer_shape(relus(), ()), TypeError, "must be a list of shape lists"),
    (lambda: GeUtils.infer_shape(relus(), [1]), TypeError, "must be a list of shape lists"),
    (lambda: GeUtils.infer_shape(relus(), [["a"]]), TypeError, "each shape dim must be an integer"),
    (lambda: GeUtils.infer_shape(relus(), []), RuntimeError, "Failed to infer shape: 0 shapes"),
    (lambda: GeUtils.check_node_support_on_aicore(1), TypeError, "node must be a Node"),
]


@pytest.mark.parametrize(("call", "error", "text"), UTILS)
def test_utility_errors(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_a_failed_inference_leaves_the_types():
    builder = GraphBuilder("g")
    a, b = builder.create_input(0, shape=[2, 3]), builder.create_input(1, shape=[3, 2])
    graph = builder.build_and_reset([MatMul(a, b)])
    with pytest.raises(RuntimeError, match="Failed to infer shape: ge.MatMul 'MatMul_0'"):
        GeUtils.infer_shape(graph, [[2, 3], [2, 3]])
    assert graph.find_node_by_name("input_1").get_output_desc(0).shape == [3, 2]
    graph._handle = None
    with pytest.raises(RuntimeError, match="Failed to infer shape: graph is empty"):
        GeUtils.infer_shape(graph, [])


def test_support_on_the_ai_core():
    graph = relus(1)
    node = graph.find_node_by_name("Relu_0")
    assert GeUtils.check_node_support_on_aicore(node) == (True, "")
    ok, why = GeUtils.check_node_support_on_aicore(graph.find_node_by_name("x"))
    assert (ok, why) == (False, "op type Data has no lowering to the AI core")
    graph.remove_node(node)
    with pytest.raises(RuntimeError, match="Failed to get Node type"):
        GeUtils.check_node_support_on_aicore(node)


# Errors


def test_errors_carry_their_parts():
    get_ge_error_msg()
    with pytest.raises(GeError, match=r"^Run failed; status=3, id=7$") as caught:
        raise_ge_error("Run", 3, id=7)
    assert caught.value.api_name == "Run"
    assert caught.value.context == {"status": 3, "id": 7}
    assert isinstance(caught.value, RuntimeError)
    plain = GeError("text")
    assert (plain.error_message, plain.api_name, plain.context) == (None, None, None)
    assert get_ge_error_msg() == ""


# pyatc


def test_main_ends_with_the_exit_code(monkeypatch, capsys):
    from ge.pyatc.__main__ import main

    with pytest.raises(SystemExit) as caught:
        main("/opt/bin/own_atc", ["--help"])
    assert caught.value.code == 0
    text = capsys.readouterr().out
    assert text.startswith("usage: own_atc [-h]"), text
    assert "--soc_version" in text
    monkeypatch.setattr(sys, "argv", ["pyatc", "--nope"])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 2
    assert capsys.readouterr().err.startswith("pyatc: error: ")
    monkeypatch.setattr(sys, "argv", ["/x/ge/pyatc/__main__.py", "--nope"])
    with pytest.raises(SystemExit):
        main()
    name = f"{Path(sys.executable).name} -m ge.pyatc"
    assert capsys.readouterr().err.startswith(f"{name}: error: ")
    with pytest.raises(ImportError):
        exec("from ge.pyatc import main")


def test_the_module_runs_by_its_name():
    folder = subprocess.run(
        [sys.executable, "-m", "ge_xdsl.compat.path"], capture_output=True, text=True, check=True
    ).stdout.strip()
    assert Path(folder, "ge", "__init__.py").is_file()
    done = subprocess.run(
        [sys.executable, "-m", "ge.pyatc", "--help"],
        env={**os.environ, "PYTHONPATH": folder},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "--framework" in done.stdout
