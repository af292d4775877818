"""`ge.custom_op`, `ge.onnx_plugin`, `ge.runtime` and `Operator`: ops of a user's own."""

import pytest
from ge import custom_op, runtime
from ge.custom_op import (
    EagerExecuteOp,
    clear_registered_op_impls,
    get_registered_op_impl_by_descriptor_key,
    get_registered_op_impl_dicts,
    get_registered_op_impls,
    load_custom_op_plugins,
    register_op,
    register_op_impl,
)
from ge.error import GeError
from ge.es import GraphBuilder
from ge.graph import DataType, Operator, Tensor, TensorDesc
from ge.onnx_plugin import (
    OnnxNode,
    clear_registered_onnx_plugins,
    get_registered_onnx_plugin,
    get_registered_onnx_plugins,
    onnx_plugin,
    parse,
)
from ge.utils import GeUtils


@pytest.fixture(autouse=True)
def _registries():
    clear_registered_op_impls()
    clear_registered_onnx_plugins()
    yield
    clear_registered_op_impls()
    clear_registered_onnx_plugins()


# Prototypes


def test_an_annotated_function_is_an_op():
    @register_op(op_type="PadLastTest")
    def pad_last(x: Tensor, other: Tensor | None, *, count: int, mode: str = "zero") -> Tensor:
        shape = x.get_shape()
        return TensorDesc([*shape[:-1], shape[-1] + count], x.format, x.data_type)

    from ge.es.custom import PadLastTest

    assert str(PadLastTest.__signature__).startswith("(x: ")
    builder = GraphBuilder("g")
    x = builder.create_input(0, shape=[2, 3])
    graph = builder.build_and_reset([PadLastTest(x, None, count=2)])
    GeUtils.infer_shape(graph, [[4, 5]])
    node = graph.find_node_by_name("PadLastTest_0")
    assert node.get_output_desc(0).shape == [4, 7]
    assert not node.has_attr("mode")


def test_inputs_and_outputs_of_every_kind():
    @register_op(op_type="ManyTest", mutates_args=("xs",))
    def many(
        xs: list[TensorDesc],
        bias: runtime.Tensor | None,
        *,
        axes: list[int] = (1,),
        f: float = 0.5,
    ) -> tuple[Tensor, Tensor]:
        return xs[0], xs[-1]

    from ge.es.custom import ManyTest

    builder = GraphBuilder("g")
    x = builder.create_input(0, shape=[2])
    out = ManyTest([x, x], x, axes=[1, 2])
    graph = builder.build_and_reset([out.y0, out.y1])
    GeUtils.infer_shape(graph, [[7]])
    assert graph.find_node_by_name("ManyTest_0").get_output_desc(1).shape == [7]


def test_a_shape_function_that_refuses():
    @register_op(op_type="RefuseTest")
    def refuse(x: Tensor) -> Tensor:
        raise ValueError("rank 1, expected 2")

    @register_op(op_type="WrongTest")
    def wrong(x: Tensor) -> Tensor:
        return [1, 2]

    from ge.es.custom import RefuseTest, WrongTest

    for function, text in (
        (RefuseTest, "shape function raised ValueError: rank 1, expected 2"),
        (WrongTest, "shape function returned int, expected TensorDesc"),
    ):
        builder = GraphBuilder("g")
        graph = builder.build_and_reset([function(builder.create_input(0))])
        with pytest.raises(RuntimeError, match=text):
            GeUtils.infer_shape(graph, [[1]])


def test_no_and_many_outputs():
    @register_op(op_type="SinkTest")
    def sink(x: Tensor) -> None: ...

    @register_op(op_type="SpreadTest")
    def spread(x: Tensor) -> list[Tensor]:
        return [x, x]

    from ge.es.custom import SinkTest, SpreadTest

    builder = GraphBuilder("g")
    x = builder.create_input(0)
    assert SinkTest(x).name == "SinkTest_0"
    assert len(SpreadTest(x, 2)) == 2


def described(op_type="BadTest", **more):
    def decorate(function):
        return lambda: register_op(op_type=op_type, **more)(function)

    return decorate


@described()
def any_number(*x: Tensor) -> Tensor: ...


@described()
def number_input(x: int) -> Tensor: ...


@described()
def odd_attr(x: Tensor, *, a: dict) -> Tensor: ...


@described()
def odd_default(x: Tensor, *, a: int = "1") -> Tensor: ...


@described()
def odd_output(x: Tensor) -> int: ...


@described(mutates_args=["y"])
def odd_mutation(x: Tensor) -> Tensor: ...


@described(op_type="Relu")
def taken(x: Tensor, y: Tensor) -> Tensor: ...


@described(op_type="")
def nameless(x: Tensor) -> Tensor: ...


WRONG = [
    (any_number, TypeError, "parameter 'x' takes any number, expected one"),
    (
        number_input,
        TypeError,
        r"input 'x' is annotated <class 'int'>, expected Tensor, Tensor \| None or list\[Tensor\]",
    ),
    (
        odd_attr,
        TypeError,
        "attribute 'a' is annotated <class 'dict'>, expected int, float, bool, str, DataType or a "
        "list of them",
    ),
    (odd_default, TypeError, "attribute 'a' is '1', expected an integer"),
    (odd_output, TypeError, "returns <class 'int'>, expected Tensor"),
    (odd_mutation, ValueError, "mutates_args names 'y', expected an input"),
    (taken, ValueError, "op Relu already exists, expected a new op type"),
    (nameless, TypeError, "register_op op_type must be a non-empty string"),
]


@pytest.mark.parametrize(("call", "error", "text"), WRONG, ids=[text[:30] for *_, text in WRONG])
def test_functions_that_describe_no_op(call, error, text):
    with pytest.raises(error, match=text):
        call()


# Implementations


def test_implementations_are_listed():
    @register_op_impl(op_type="AddTest")
    class Add(EagerExecuteOp):
        def execute(self, x, y):
            return x

    @register_op_impl(op_type="BothTest")
    class Both:
        def execute(self): ...
        def declare_launch_args(self): ...

    first, second = get_registered_op_impls()
    assert (first.cls, first.kinds) == (Add, ("eager_execute",))
    assert second.kinds == ("eager_execute", "annotated_args")
    assert get_registered_op_impl_dicts()[0]["op_type"] == "AddTest"
    assert get_registered_op_impl_by_descriptor_key(first.descriptor_key) is first
    assert get_registered_op_impl_by_descriptor_key("nope") is None
    with pytest.raises(ValueError, match="python op impl of AddTest already exists"):
        register_op_impl(op_type="AddTest")(Add)
    with pytest.raises(NotImplementedError, match="EagerExecuteOp.execute must be implemented"):
        EagerExecuteOp().execute()


def test_wrong_implementations():
    with pytest.raises(TypeError, match="register_op_impl op_type must be a non-empty string"):
        register_op_impl(op_type=1)
    with pytest.raises(TypeError, match="register_op_impl expects a class"):
        register_op_impl(op_type="XTest")(len)
    with pytest.raises(TypeError, match="has neither execute nor declare_launch_args"):
        register_op_impl(op_type="XTest")(int)


@pytest.mark.parametrize(
    "name",
    [
        "AnnotatedArgsContext",
        "AnnotatedKernelArgs",
        "AnnotatedKernelLaunchInfo",
        "EagerOpExecutionContext",
        "WorkspaceAddr",
        "get_declare_launch_args_ctx",
        "get_execute_ctx",
    ],
)
def test_what_only_a_device_gives(name):
    with pytest.raises(GeError, match=f"{name} failed; it needs an Ascend device"):
        getattr(custom_op, name)()


def test_files_of_the_environment(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(
        "from ge.custom_op import register_op_impl\n\n"
        "@register_op_impl(op_type='FileTest')\n"
        "class File:\n    def execute(self): ...\n"
    )
    monkeypatch.setenv("ASCEND_CUSTOM_OPP_PATH", str(tmp_path))
    [module] = load_custom_op_plugins()
    assert [d.op_type for d in get_registered_op_impls()] == ["FileTest"]
    assert load_custom_op_plugins() == [module]
    monkeypatch.setenv("ASCEND_CUSTOM_OPP_PATH", str(tmp_path / "missing"))
    with pytest.raises(FileNotFoundError, match="python pass path does not exist"):
        load_custom_op_plugins()


def test_runtime_classes_are_their_own():
    assert runtime.Tensor is not Tensor
    assert runtime.Tensor([1.0], shape=[1]).get_data() == [1.0]
    assert runtime.Shape([2, 3]).get_shape_size() == 6
    assert runtime.TensorDesc([1]).shape == [1]


# ONNX plugins


def test_a_plugin_describes_an_op():
    plugin = onnx_plugin(source="MyOp", domain="my.domain", opsets=[1, 2], target="PadD")

    @plugin.parse_node
    def parse_my_op(node, operator):
        operator.set_attr("paddings", node.get_attr("pads", [0]))
        operator.register_input("x")
        operator.register_optional_input("b")
        operator.register_dynamic_input("xs", 2)
        operator.register_output("y")
        operator.register_dynamic_output("ys", 1)

    assert list(get_registered_onnx_plugins()) == ["my.domain::1::MyOp", "my.domain::2::MyOp"]
    assert get_registered_onnx_plugin("my.domain", 2, "MyOp") is plugin
    assert get_registered_onnx_plugin("my.domain", 3, "MyOp") is None
    made = parse(plugin, OnnxNode("MyOp", "n", attrs={"pads": [1, 2]}))
    assert (made.name, made.type) == ("n", "PadD")
    assert made._attrs == {"paddings": [1, 2]}
    assert [(io.name, io.kind) for io in made._inputs] == [
        ("x", "required"), ("b", "optional"), ("xs0", "required"), ("xs1", "required"),
    ]  # fmt: skip
    assert [io.name for io in made._outputs] == ["y", "ys0"]


def plugin(**changes):
    onnx_plugin(**{"source": "A", "domain": "", "opsets": [1], "target": "B", **changes})


PLUGINS = [
    (lambda: plugin(source=""), TypeError, "onnx_plugin source must be a non-empty string"),
    (lambda: plugin(domain=1), TypeError, "onnx_plugin domain must be a non-empty string"),
    (lambda: plugin(opsets="1"), TypeError, "opsets must be an iterable of integers"),
    (lambda: plugin(opsets=[]), ValueError, "opsets must be positive integers"),
    (lambda: plugin(opsets=[0]), ValueError, "opsets must be positive integers"),
    (lambda: [plugin(), plugin()], ValueError, "onnx plugin already exists: ::1::A"),
]


@pytest.mark.parametrize(("call", "error", "text"), PLUGINS)
def test_wrong_plugins(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_a_plugin_has_one_callback():
    made = onnx_plugin(source="A", domain="", opsets=(1,), target="B")
    with pytest.raises(RuntimeError, match="onnx plugin of A has no parse_node, expected one"):
        parse(made, OnnxNode("A"))
    with pytest.raises(TypeError, match="parse_node expects a function"):
        made.parse_node(1)
    made.parse_node(lambda node, operator: None)
    with pytest.raises(ValueError, match="parse_node of A is given twice, expected once"):
        made.parse_node(lambda node, operator: None)


def test_operators():
    with pytest.raises(RuntimeError, match="Operator objects should not be created directly"):
        Operator()
    made = Operator._create_from("n", "T")
    for call, text in (
        (lambda: made.register_input(1), "name must be a string"),
        (lambda: made.register_dynamic_input(1, 1), "name must be a string"),
        (lambda: made.register_dynamic_output("y", -1), "count must be an integer of at least 0"),
        (lambda: made.set_attr(1, 1), "Attribute key must be a string"),
    ):
        with pytest.raises(TypeError, match=text):
            call()
    with pytest.raises(ValueError, match="Unsupported attribute type"):
        made.set_attr("a", {})
    made.set_attr("t", DataType.DT_INT8)
    assert made._attrs == {"t": DataType.DT_INT8}
