"""`ge.passes`: class definition, registration, `inputs`, patterns and contexts."""

import importlib

import pytest
from ge.es.graph_builder import GraphBuilder
from ge.es.math import Add, Split
from ge.es.nn import Relu
from ge.graph import Graph
from ge.passes import (
    DecomposePass,
    FusionBasePass,
    MatchResult,
    NodeIo,
    PassContext,
    PassStage,
    Pattern,
    PatternFusionPass,
    PatternMatcherConfig,
    PatternMatcherConfigBuilder,
    clear_registered_passes,
    create_pattern,
    create_replacement,
    get_registered_pass_by_descriptor_key,
    get_registered_pass_dicts,
    get_registered_passes,
    pattern,
    register_decompose_pass,
    register_fusion_pass,
)
from ge.passes.pattern import PatternInputs, ensure_pattern

from ge_xdsl.passes import registry as engine
from ge_xdsl.passes.session import Session

BEFORE = PassStage.BEFORE_INFER_SHAPE


def define(base, **members):
    return type("Made", (base,), members)


DEFINITIONS = [
    (PatternFusionPass, {"run": lambda self, graph, context: None}, r"overrides run\(\)"),
    (DecomposePass, {"run": lambda self, graph, context: None}, r"overrides run\(\)"),
    (
        PatternFusionPass,
        {"p": pattern(lambda self, inputs: inputs[0]), "patterns": lambda self: []},
        r"cannot combine @pattern methods with patterns\(\)",
    ),
    (
        PatternFusionPass,
        {"p": pattern(lambda self: None)},
        r"@pattern methods only support method\(self, inputs\)",
    ),
    (
        PatternFusionPass,
        {"p": pattern(lambda self, inputs, more=None: None)},
        r"@pattern methods only support method\(self, inputs\)",
    ),
    (
        PatternFusionPass,
        {"p": pattern(lambda self, inputs, *, flag: None)},
        r"@pattern methods only support method\(self, inputs\)",
    ),
    (
        PatternFusionPass,
        {"p": pattern(lambda self, *args: None)},
        r"@pattern methods only support method\(self, inputs\)",
    ),
    (
        PatternFusionPass,
        {"meet_requirements": lambda self: True},
        "meet_requirements only supports",
    ),
    (
        PatternFusionPass,
        {"replacement": lambda self, match_result, context, more: None},
        r"replacement only supports .*, or replacement\(self, inputs\)$",
    ),
    (
        PatternFusionPass,
        {"replacement": lambda self, inputs, match_result, other: None},
        "four arguments must use",
    ),
    (
        PatternFusionPass,
        {"replacement": lambda self, inputs, a, b, c: None},
        "Expression-style replacement only supports",
    ),
    (
        PatternFusionPass,
        {"replacement": lambda self, inputs, *, flag: None},
        "Expression-style replacement only supports",
    ),
    (DecomposePass, {"replacement": lambda self: None}, "replacement only supports"),
    (
        DecomposePass,
        {"meet_requirements": lambda self, a, b, c: True},
        r"meet_requirements only supports meet_requirements\(self, node\)",
    ),
]


@pytest.mark.parametrize(("base", "members", "text"), DEFINITIONS)
def test_wrong_hooks_are_refused_at_class_definition(base, members, text):
    with pytest.raises(TypeError, match=text):
        define(base, **members)


FORMS = [
    (lambda self, inputs: self.see(inputs[0]), ()),
    (lambda self, inputs, context: self.see(inputs[0], context), ("C",)),
    (lambda self, inputs, match: self.see(inputs[0], match), ("M",)),
    (lambda self, inputs, match, context: self.see(inputs[0], match, context), ("M", "C")),
]


@pytest.mark.parametrize(("hook", "expected"), FORMS)
def test_expression_replacements_get_what_their_names_say(hook, expected):
    seen = []

    def see(self, value, *extra):
        seen.extend(extra)
        return value

    made = define(PatternFusionPass, replacement=hook, see=see)()
    graph = made.replacement("M", "C")
    assert tuple(seen) == expected
    assert graph.name == "Made_replacement"


def test_value_hooks_take_the_context_when_they_have_room():
    base = {"meet_requirements": lambda self, m, anything: anything == "C"}
    assert define(PatternFusionPass, **base)().meet_requirements("M", "C")
    assert define(DecomposePass, **base)().meet_requirements("M", "C")
    assert not define(DecomposePass, **base)().meet_requirements("M")


def test_base_hooks():
    assert PatternFusionPass().meet_requirements(None) is True
    assert DecomposePass().meet_requirements(None) is True
    for call, text in (
        (
            lambda: PatternFusionPass().patterns(),
            "patterns must be implemented, or a method marked",
        ),
        (lambda: PatternFusionPass().replacement(None), "replacement must be implemented"),
        (lambda: DecomposePass().replacement(None), "replacement must be implemented"),
        (lambda: FusionBasePass().run(None, None), "run must be implemented"),
    ):
        with pytest.raises(NotImplementedError, match=text):
            call()


def test_a_subclass_replaces_its_parents_patterns():
    class Parent(PatternFusionPass):
        @pattern
        def one(self, inputs):
            return inputs[0] + 1

        @pattern
        def two(self, inputs):
            return inputs[0] * 2

    class Same(Parent):
        pass

    class Other(Parent):
        @pattern
        def three(self, inputs):
            return Relu(inputs[0])

    names = [[p._func.sym_name.data for p in cls().patterns()] for cls in (Parent, Same, Other)]
    assert names == [
        ["Parent_one_pattern", "Parent_two_pattern"],
        ["Same_one_pattern", "Same_two_pattern"],
        ["Other_three_pattern"],
    ]


def made_patterns(method):
    cls = define(PatternFusionPass, p=pattern(method))
    return cls().patterns()


def test_captures_are_inputs_then_outputs():
    [made] = made_patterns(lambda self, inputs: [Relu(inputs[2]), inputs[0] + inputs[1]])
    captured = [(c.node.name, c.index) for c in made.get_captured_tensors()]
    assert captured == [
        ("input_0", 0),
        ("input_1", 0),
        ("input_2", 0),
        ("Relu_0", 0),
        ("Add_1", 0),
    ]


RETURNS = [
    (
        lambda self, inputs: None,
        "Expression-style patterns must return a TensorHolder or a non-empty list/tuple of "
        "TensorHolder, not NoneType",
    ),
    (lambda self, inputs: [], "Expression-style patterns must return a TensorHolder"),
    (lambda self, inputs: [inputs[0], 1], "Expression-style patterns must return"),
    (lambda self, inputs: [Graph(), Graph()], "supports a single pattern only"),
]


@pytest.mark.parametrize(("method", "text"), RETURNS)
def test_what_a_pattern_must_return(method, text):
    with pytest.raises(TypeError, match=text):
        made_patterns(method)
    if "single" not in text:
        with pytest.raises(TypeError, match="Expression-style replacement must return"):
            define(PatternFusionPass, replacement=_renamed(method))().replacement("M")


def _renamed(method):
    return lambda self, inputs: method(self, inputs)


def test_a_graph_is_a_pattern_of_its_own():
    builder = GraphBuilder("own")
    x = builder.create_input(0)
    graph = builder.build_and_reset([Relu(x)])
    [made] = made_patterns(lambda self, inputs: graph)
    assert made.get_captured_tensors() == []
    with pytest.raises(RuntimeError, match="Failed to get Graph name"):
        _ = graph.name
    with pytest.raises(RuntimeError, match="Pattern graph handle is empty"):
        create_pattern(graph)
    with pytest.raises(RuntimeError, match="Graph object must carry _handle"):
        Pattern(1)
    with pytest.raises(TypeError, match="patterns must return Pattern or Graph objects"):
        ensure_pattern(1)


def test_capture_tensor_sources():
    builder = GraphBuilder()
    x = builder.create_input(0)
    split = Split(0, x, 2, num_split=2)
    graph = builder.build_and_reset(split)
    node = graph.find_node_by_name("Split_1")
    made = create_pattern(graph)
    assert made.capture_tensor(split[1]).capture_tensor(node) is made
    made.capture_tensor(node, 1).capture_tensor(NodeIo(node, 1)).capture_tensor(split[0], 1)
    assert [c.index for c in made.get_captured_tensors()] == [1, 0, 1, 1, 1]
    for bad, index in ((1, None), (NodeIo(node, 1), 0)):
        with pytest.raises(RuntimeError, match="Node object must carry _handle"):
            made.capture_tensor(bad, index)
    assert made.is_valid()
    made._release()
    assert not made.is_valid()
    with pytest.raises(RuntimeError, match="Pattern handle has been released"):
        made.get_captured_tensors()


INPUTS = [
    (lambda i: i[-1], ValueError, "PatternInputs index must be non-negative"),
    (lambda i: i["a"], TypeError, "PatternInputs index must be an integer or slice"),
    (lambda i: i[0.5], TypeError, "PatternInputs index must be an integer or slice"),
    (lambda i: i[:3:2], ValueError, "PatternInputs slice step must be 1"),
    (lambda i: i[1:], ValueError, "PatternInputs slice must provide a stop index"),
    (lambda i: i[-1:2], ValueError, "PatternInputs slice indices must be non-negative"),
    (lambda i: i[2:1], ValueError, "slice stop must be greater than or equal to start"),
    (lambda i: i["a":"b"], TypeError, "PatternInputs index must be an integer or slice"),
    (lambda i: list(i), TypeError, r"cannot be iterated .* use inputs\[:N\]"),
    (lambda i: 1 in i, TypeError, "is not (a container or )?iterable"),
    (lambda i: len(i), TypeError, "has no len"),
]


@pytest.mark.parametrize(("use", "error", "text"), INPUTS)
def test_wrong_uses_of_inputs(use, error, text):
    with pytest.raises(error, match=text):
        use(PatternInputs(GraphBuilder()))


def test_inputs_are_created_up_to_the_one_that_is_named():
    inputs = PatternInputs(GraphBuilder())
    assert inputs[:0] == []
    third = inputs[2]
    assert [h.name for h in inputs.created()] == ["input_0", "input_1", "input_2"]
    assert inputs[2] is third
    assert inputs[1:3] == [inputs[1], third]
    assert inputs[True] is inputs[1]


def test_values_without_constructor():
    for cls in (PassContext, MatchResult, PatternMatcherConfig):
        with pytest.raises(TypeError, match="has no constructor"):
            cls()
    config = PatternMatcherConfigBuilder().enable_const_value_match().build()
    assert (config.is_enable_const_value_match(), config.is_enable_ir_attr_match()) == (True, False)
    assert PatternMatcherConfigBuilder().enable_ir_attr_match().build().is_enable_ir_attr_match()


def test_create_replacement():
    graph = Graph("g")
    assert create_replacement(graph) is graph
    with pytest.raises(TypeError, match="replacement graph must be a ge"):
        create_replacement(1)


def test_contexts():
    run = engine.StageRun(Session(options={"k": "v"}), "BeforeInferShape", "P")
    context = PassContext._create_from(run)
    assert (context.get_pass_name(), context.get_option_value("k")) == ("P", "v")
    assert context.get_error_message() == ""
    context.set_error_message("why")
    context.set_pass_name("Q")
    assert (run.error_message, run.pass_name) == ("why", "Q")
    with pytest.raises(RuntimeError, match="Failed to get option value for key: nope"):
        context.get_option_value("nope")
    context._invalidate()
    with pytest.raises(RuntimeError, match="PassContext handle has expired"):
        context.get_pass_name()


def test_registration():
    @register_fusion_pass(name="B", stage=BEFORE)
    class B(PatternFusionPass):
        pass

    @register_decompose_pass(name="A", stage="AfterInferShape", op_types=(t for t in ["Add"]))
    class A(DecomposePass):
        pass

    @register_fusion_pass(name="C", stage=BEFORE)
    class C(FusionBasePass):
        pass

    found = get_registered_passes()
    assert [(d.pass_name, d.kind) for d in found] == [
        ("B", "pattern_fusion"),
        ("A", "decompose"),
        ("C", "fusion_base"),
    ]
    assert A.op_types == ["Add"]
    assert B.__ge_pass_descriptor__ is found[0]
    key = f"{__name__}:B:B"
    assert get_registered_pass_by_descriptor_key(key) is found[0]
    assert get_registered_pass_by_descriptor_key("x") is None
    A.op_types.append("Sub")
    get_registered_pass_dicts()[1]["op_types"].append("Mul")
    assert get_registered_pass_dicts()[1]["op_types"] == ["Add"], "each is a list of its own"
    assert get_registered_pass_dicts()[1]["stage"] == "AfterInferShape"
    assert [p.name for p in engine.passes_of("BeforeInferShape")] == ["B", "C"]
    with pytest.raises(ValueError, match="python pass descriptor_key already exists"):
        register_fusion_pass(name="B", stage=BEFORE)(B)
    with pytest.raises(ValueError, match="python pass name already exists: B"):
        register_fusion_pass(name="B", stage=BEFORE)(C)
    clear_registered_passes()
    assert get_registered_passes() == []


REGISTRATIONS = [
    (
        lambda: register_fusion_pass(name="x", stage=BEFORE)(int),
        TypeError,
        "register_fusion_pass expects a FusionBasePass subclass",
    ),
    (
        lambda: register_decompose_pass(name="x", stage=BEFORE, op_types=["A"])(PatternFusionPass),
        TypeError,
        "register_decompose_pass expects a DecomposePass subclass",
    ),
    (
        lambda: register_decompose_pass(name="x", stage=BEFORE, op_types="A"),
        TypeError,
        "must be an iterable of strings",
    ),
    (
        lambda: register_decompose_pass(name="x", stage=BEFORE, op_types=[]),
        ValueError,
        "requires at least one op type",
    ),
    (
        lambda: register_decompose_pass(name="x", stage=BEFORE, op_types=["A", ""]),
        TypeError,
        "must contain non-empty strings",
    ),
]


@pytest.mark.parametrize(("call", "error", "text"), REGISTRATIONS)
def test_wrong_registrations(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_the_pattern_attribute_is_the_decorator():
    passes = importlib.import_module("ge.passes")
    module = importlib.import_module("ge.passes.pattern")
    assert passes.pattern is pattern is module.pattern
    assert importlib.import_module("ge.passes").pattern is pattern
    with pytest.raises(AttributeError, match=r"module 'ge.passes' has no attribute 'nope'"):
        _ = passes.nope
    assert PassStage.BEFORE_INFER_SHAPE == "BeforeInferShape"
    assert Add.__name__ == "Add"
