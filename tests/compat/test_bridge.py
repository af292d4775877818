"""`ge.passes._bridge`: the protocol by which an engine creates passes and calls their hooks."""

import importlib
import sys

import pytest
from ge.es import GraphBuilder
from ge.es.all import Relu
from ge.graph import Graph
from ge.passes import (
    DecomposePass,
    FusionBasePass,
    PassStage,
    PatternFusionPass,
    PatternMatcherConfigBuilder,
    get_registered_passes,
    pattern,
    register_decompose_pass,
    register_fusion_pass,
)
from ge.passes import _bridge as bridge
from ge.passes import _native as native

from ge_xdsl.passes.registry import StageRun
from ge_xdsl.passes.session import Session


@pytest.fixture(autouse=True)
def _no_holders():
    bridge.clear_pass_holders()
    yield
    bridge.clear_pass_holders()


def graph(name="g"):
    builder = GraphBuilder(name)
    return builder.build_and_reset([Relu(builder.create_input(0))])


def registered(cls, name="P", **more):
    """Registers a class and makes holder 1 of it."""
    register_fusion_pass(name=name, stage=PassStage.BEFORE_INFER_SHAPE, **more)(cls)
    key = get_registered_passes()[-1].descriptor_key
    assert bridge.create_pass_holder(1, key) is True
    return key


class FakeMatch:
    """Stands for a match: what a hook was given, and whether it ended."""

    ended = False

    def _invalidate(self):
        self.ended = True


@pytest.fixture
def match(monkeypatch):
    made = FakeMatch()
    monkeypatch.setattr(bridge, "borrow_match_result", lambda handle: made)
    return made


def test_holders_have_their_own_instances():
    class Counting(FusionBasePass):
        def __init__(self):
            self.runs = 0

        def run(self, graph, context):
            self.runs += 1
            return self.runs

    key = registered(Counting)
    assert bridge.create_pass_holder(2, key)
    assert bridge.create_pass_holder(2, key)
    assert [bridge.run_fusion_base_pass(i, None) for i in (1, 1, 2)] == [1, 2, 1]
    assert bridge.destroy_pass_holder(1) is True
    assert bridge.destroy_pass_holder(1) is False
    with pytest.raises(KeyError, match="python pass holder is not created: 1"):
        bridge.run_fusion_base_pass(1, None)
    with pytest.raises(KeyError, match="descriptor is not registered: nope"):
        bridge.create_pass_holder(3, "nope")


def test_run_takes_a_context_or_none():
    seen = []

    class Seeing(FusionBasePass):
        def run(self, graph, context):
            seen.append((graph, context))
            return "raw"

    registered(Seeing)
    context = native.PassContext._create_from(StageRun(Session(), "BeforeInferShape"))
    assert bridge.run_fusion_base_pass(1, "graph", context) == "raw"
    assert seen == [("graph", context)]
    with pytest.raises(TypeError, match="context type error"):
        bridge.run_fusion_base_pass(1, "graph", {})


def test_patterns_are_handed_over():
    class Two(PatternFusionPass):
        @pattern
        def one(self, inputs):
            return Relu(inputs[0])

        @pattern
        def two(self, inputs):
            return graph("mine")

    registered(Two)
    handles = bridge.get_pass_patterns(1)
    assert len(set(handles)) == 2
    functions = [native.take(handle)[0] for handle in handles]
    assert [func.sym_name.data for func in functions] == ["Two_one_pattern", "mine"]
    with pytest.raises(RuntimeError, match="expected one that was handed over"):
        native.held(handles[0])


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (3, "PatternFusionPass.patterns must return an iterable of Pattern or Graph"),
        ("text", "PatternFusionPass.patterns must return an iterable of Pattern or Graph"),
        (b"", "PatternFusionPass.patterns must return an iterable of Pattern or Graph"),
        ([1], "PatternFusionPass.patterns must return Pattern or Graph objects"),
    ],
)
def test_wrong_patterns(found, text):
    class Wrong(PatternFusionPass):
        def patterns(self):
            return found

    registered(Wrong)
    with pytest.raises(TypeError, match=text):
        bridge.get_pass_patterns(1)


def test_no_patterns_and_generators_of_them():
    class None_(PatternFusionPass):
        def patterns(self):
            return None

    class Some(PatternFusionPass):
        def patterns(self):
            yield graph("a")
            yield graph("b")

    registered(None_)
    assert bridge.get_pass_patterns(1) == []
    bridge.clear_pass_holders()
    registered(Some, "Some")
    assert len(bridge.get_pass_patterns(1)) == 2


def test_matcher_options():
    class Plain(PatternFusionPass):
        pass

    class Strict(PatternFusionPass):
        def __init__(self):
            super().__init__(PatternMatcherConfigBuilder().enable_ir_attr_match().build())

    class Wrong(PatternFusionPass):
        def __init__(self):
            super().__init__("strict")

    registered(Plain, "Plain")
    assert bridge.get_pattern_matcher_config(1) is None
    bridge.clear_pass_holders()
    registered(Strict, "Strict")
    assert native.take(bridge.get_pattern_matcher_config(1)).is_enable_ir_attr_match()
    bridge.clear_pass_holders()
    registered(Wrong, "Wrong")
    with pytest.raises(TypeError, match="matcher_config must be PatternMatcherConfig or None"):
        bridge.get_pattern_matcher_config(1)


def test_hooks_are_given_a_match_that_ends(match):
    seen = []

    class Hooks(PatternFusionPass):
        def meet_requirements(self, match_result, context):
            seen.append((match_result, context, match_result.ended))
            return []

        def replacement(self, match_result):
            seen.append(match_result.ended)
            return graph("new")

    registered(Hooks)
    assert bridge.call_meet_requirements(1, 5, {"any": 1}) is False
    assert match.ended
    match.ended = False
    handle = bridge.call_replacement(1, 5)
    assert match.ended
    assert seen == [(match, {"any": 1}, False), False]
    assert native.take(handle).sym_name.data == "new"


def test_a_hook_that_raises_ends_its_match_too(match):
    class Raising(PatternFusionPass):
        def meet_requirements(self, match_result):
            raise ValueError("no")

        def replacement(self, match_result):
            raise ValueError("never")

    registered(Raising)
    for call, text in ((bridge.call_meet_requirements, "no"), (bridge.call_replacement, "never")):
        match.ended = False
        with pytest.raises(ValueError, match=text):
            call(1, 5)
        assert match.ended


def test_replacements_are_graphs(match):
    class Nothing(PatternFusionPass):
        def replacement(self, match_result):
            return None

    class NoDecompose(DecomposePass):
        def replacement(self, node):
            return None

    registered(Nothing)
    with pytest.raises(
        TypeError, match=r"PatternFusionPass.replacement must return ge.graph.Graph"
    ):
        bridge.call_replacement(1, 5)
    decorate = register_decompose_pass(
        name="D", stage=PassStage.AFTER_INFER_SHAPE, op_types=["Relu"]
    )
    decorate(NoDecompose)
    bridge.create_pass_holder(2, get_registered_passes()[-1].descriptor_key)
    handle = native.hand_over(graph().find_node_by_name("Relu_0")._handle)
    with pytest.raises(TypeError, match=r"DecomposePass.replacement must return ge.graph.Graph"):
        bridge.call_decompose_replacement(2, handle)
    for call in (bridge.call_decompose_meet_requirements, bridge.call_decompose_replacement):
        with pytest.raises(TypeError, match="python pass holder is not DecomposePass: 1"):
            call(1, handle)
    for call in (bridge.call_meet_requirements, bridge.call_replacement):
        with pytest.raises(TypeError, match="python pass holder is not PatternFusionPass: 2"):
            call(2, handle)
    for call in (bridge.get_pass_patterns, bridge.get_pattern_matcher_config):
        with pytest.raises(TypeError, match="python pass holder is not PatternFusionPass: 2"):
            call(2)


def test_decompose_hooks_are_given_the_node(monkeypatch):
    seen = []

    class Decompose(DecomposePass):
        def meet_requirements(self, node, context):
            seen.append((node.name, context))
            return 1

        def replacement(self, node):
            return graph(f"for_{node.name}")

    decorate = register_decompose_pass(
        name="D", stage=PassStage.AFTER_INFER_SHAPE, op_types=["Relu"]
    )
    decorate(Decompose)
    bridge.create_pass_holder(1, get_registered_passes()[-1].descriptor_key)
    whole = graph()
    handle = native.hand_over(whole.find_node_by_name("Relu_0")._handle)
    assert bridge.call_decompose_meet_requirements(1, handle, "ctx") is True
    assert seen == [("Relu_0", "ctx")]
    released = []
    monkeypatch.setattr(bridge, "release_graph", lambda made: released.append(made.name) or 9)
    assert bridge.call_decompose_replacement(1, handle) == 9
    assert released == ["for_Relu_0"]


def test_a_released_graph_is_empty():
    made = graph()
    assert bridge.release_graph(made) > 0
    with pytest.raises(RuntimeError, match="Graph handle is empty"):
        bridge.release_graph(made)
    with pytest.raises(RuntimeError, match="Failed to get Graph name"):
        _ = made.name


def test_a_pattern_is_released_once():
    made = native.Pattern(graph())
    assert made.is_valid()
    assert isinstance(made.release(), int)
    assert not made.is_valid()
    for call in (made.release, made.get_captured_tensors, lambda: made.capture_tensor(1)):
        with pytest.raises(RuntimeError, match="Pattern handle has been released"):
            call()


def test_files_of_the_environment_are_loaded_and_forgotten(tmp_path, monkeypatch):
    (tmp_path / "p.py").write_text(
        "from ge.passes import *\n\n"
        "@register_fusion_pass(name='File', stage=PassStage.BEFORE_INFER_SHAPE)\n"
        "class File(FusionBasePass):\n    pass\n"
    )
    monkeypatch.setenv("ASCEND_GE_PY_PASS_PATH", str(tmp_path))
    [found] = bridge.load_and_get_pass_descriptors()
    assert found["pass_name"] == "File"
    assert found["op_types"] == []
    assert found["module_name"] in sys.modules
    bridge.clear_loaded_pass_modules()
    assert found["module_name"] not in sys.modules


# The package


def test_names_are_imported_when_they_are_used():
    package = importlib.import_module("ge.passes")
    assert len(package.__all__) == 27
    assert all(getattr(package, name) is not None for name in package.__all__)
    assert set(package.__all__) <= set(dir(package))
    with pytest.raises(AttributeError, match=r"module 'ge.passes' has no attribute 'nope'"):
        _ = package.nope
    with pytest.raises(ImportError):
        exec("from ge.passes import load_pass_plugins")


def test_lazy_names_stay_out_until_they_are_used():
    import subprocess

    code = (
        "import sys\n"
        "from ge_xdsl.passes.loader import activate; activate(force=True)\n"
        "import ge.passes\n"
        "assert 'ge_xdsl.compat.ge.passes.fuse_inspector' not in sys.modules\n"
        "ge.passes.can_fuse\n"
        "assert 'ge_xdsl.compat.ge.passes.fuse_inspector' in sys.modules\n"
        "import ge.passes.pattern\n"
        "assert callable(ge.passes.pattern) and ge.passes.pattern.__name__ == 'pattern'\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_native_module_can_be_asked_for():
    runtime = importlib.import_module("ge.passes.runtime")
    assert runtime.load_native_module() is importlib.import_module("ge.passes._native")
    assert native.MatchResult is importlib.import_module("ge.passes").MatchResult


def test_stages_are_strings():
    assert PassStage.AFTER_INFER_SHAPE == "AfterInferShape"
    assert str(PassStage.AFTER_INFER_SHAPE) == "PassStage.AFTER_INFER_SHAPE"
    assert f"{PassStage.AFTER_INFER_SHAPE}" == "PassStage.AFTER_INFER_SHAPE"
    assert [stage.value for stage in PassStage] == [
        "BeforeInferShape",
        "AfterInferShape",
        "AfterBuiltinFusionPass",
        "AfterOriginGraphOptimize",
    ]


def test_nodes_without_a_handle_cannot_be_fused():
    from ge.passes import can_fuse

    node = graph().find_node_by_name("Relu_0")
    node._handle = None
    with pytest.raises(RuntimeError, match="Node handle is empty"):
        can_fuse([node])
    assert isinstance(graph(), Graph)
