"""What `--upstream-quirks` brings back: each row of docs/divergences.md marked so, both ways."""

import re
from pathlib import Path

import pytest
from ge.es import GraphBuilder
from ge.es.all import Add, Const, MatMul, Relu, Sigmoid, Split
from ge.graph import DataType, Tensor
from ge.passes import (
    FusionBasePass,
    PassStage,
    PatternFusionPass,
    PatternMatcherConfigBuilder,
    pattern,
    register_fusion_pass,
)

from ge_xdsl.compat.ge.graph.graph import function_of
from ge_xdsl.errors import PassError
from ge_xdsl.passes.ge_custom_passes import run_stage
from ge_xdsl.passes.session import Session

STAGE = "BeforeInferShape"


def run(cls, graph, quirks):
    """Run a pass class over a graph: the session's messages, or the PassError that it raised."""
    register_fusion_pass(name=cls.__name__, stage=PassStage.BEFORE_INFER_SHAPE)(cls)
    session = Session(upstream_quirks=quirks)
    changed = run_stage(function_of(graph), STAGE, session)
    return changed, session.messages


def types(graph):
    return [node.type for node in graph.get_direct_nodes()]


def built(make, inputs=1):
    builder = GraphBuilder("g")
    values = [builder.create_input(i, shape=[2, 2, 1, 1]) for i in range(inputs)]
    return builder.build_and_reset([make(*values)])


# Matching


class SameTypes(PatternFusionPass):
    def __init__(self):
        super().__init__(PatternMatcherConfigBuilder().enable_ir_attr_match().build())

    @pattern
    def add_of_relu(self, inputs):
        return Add(Relu(inputs[0]), inputs[1])

    def replacement(self, inputs):
        return Sigmoid(Add(*inputs[:2]))


class TwoOps(PatternFusionPass):
    @pattern
    def two(self, inputs):
        return Add(Relu(inputs[0]), Relu(inputs[1]))

    def replacement(self, inputs):
        return Sigmoid(Add(*inputs[:2]))


class OneTensor(PatternFusionPass):
    @pattern
    def twice(self, inputs):
        return Add(inputs[0], inputs[0])

    def replacement(self, inputs):
        return Sigmoid(inputs[0])


class SameOptional(PatternFusionPass):
    @pattern
    def with_bias(self, inputs):
        return MatMul(*inputs[:3])

    def replacement(self, inputs):
        return Sigmoid(Add(Add(inputs[0], inputs[1]), inputs[2]))


def split_sum(x):
    parts = Split(0, x, 2, num_split=2)
    return Add(parts[0], parts[1])


def one_relu(x):
    y = Relu(x)
    return Add(y, y)


class OffsetNoBias(PatternFusionPass):
    """A pattern with one optional operand against a node with another one."""

    @pattern
    def conv(self, inputs):
        from ge.es.all import Conv2D

        x, w, b = inputs[:3]
        return Conv2D(x, w, b, None, strides=[1, 1, 1, 1], pads=[0, 0, 0, 0])

    def replacement(self, inputs):
        return Sigmoid(Add(Add(inputs[0], inputs[1]), inputs[2]))


def conv_with_offset(x, w, o):
    from ge.es.all import Conv2D

    return Conv2D(x, w, None, o, strides=[1, 1, 1, 1], pads=[0, 0, 0, 0])


MATCHES = [
    ("op types of inner nodes", SameTypes, lambda: built(lambda x, y: Add(Sigmoid(x), y), 2)),
    ("two pattern nodes on one node", TwoOps, lambda: built(one_relu)),
    ("a pattern input used twice", OneTensor, lambda: built(split_sum)),
    ("optional inputs", OffsetNoBias, lambda: built(conv_with_offset, 3)),
]


@pytest.mark.parametrize("quirks", [False, True], ids=["strict", "quirks"])
@pytest.mark.parametrize(("row", "cls", "graph"), MATCHES, ids=[row for row, *_ in MATCHES])
def test_unsafe_matches(row, cls, graph, quirks):
    # what an unsafe match leads to differs (a rewrite, or a replacement that does not fit);
    # that there is one does not
    made = graph()
    before = str(made)
    try:
        changed, _ = run(cls, made, quirks)
    except PassError:
        changed = [cls.__name__]
    assert bool(changed) == quirks
    assert quirks or str(made) == before


# Captures


class CaptureTwice(PatternFusionPass):
    seen: list = []

    @pattern
    def identity(self, inputs):
        a, b = inputs[:2]
        return Add(a, b), a

    def meet_requirements(self, match_result):
        for index in range(4):
            try:
                self.seen.append(match_result.get_captured_tensor(index).node.name)
            except RuntimeError as error:
                self.seen.append(str(error))
        return False


@pytest.mark.parametrize("quirks", [False, True], ids=["strict", "quirks"])
def test_a_tensor_captured_twice(quirks):
    CaptureTwice.seen = []
    builder = GraphBuilder("g")
    a, b = builder.create_input(0, name="a"), builder.create_input(1, name="b")
    run(CaptureTwice, builder.build_and_reset([Add(a, b), a]), quirks)
    first = CaptureTwice.seen[0]
    if quirks:
        assert first == "Failed to get captured tensor from MatchResult: captured again"
    else:
        assert first == "a"
    assert CaptureTwice.seen[1:] == ["b", "Add_0", "a"]


class CaptureSecond(PatternFusionPass):
    seen: list = []

    def patterns(self):
        from ge.es.all import BatchNorm
        from ge.passes import create_pattern

        builder = GraphBuilder("p")
        out = BatchNorm(*builder.create_inputs(3), None, None)
        made = create_pattern(builder.build_and_reset([out.y, out.batch_mean]))
        made.capture_tensor(out.batch_mean)
        return [made]

    def meet_requirements(self, match_result):
        self.seen.append(match_result.get_captured_tensor(0).index)
        return False


@pytest.mark.parametrize(("quirks", "index"), [(False, 1), (True, 0)], ids=["strict", "quirks"])
def test_capturing_another_output(quirks, index):
    from ge.es.all import BatchNorm

    CaptureSecond.seen = []
    builder = GraphBuilder("g")
    out = BatchNorm(*builder.create_inputs(3), None, None)
    run(CaptureSecond, builder.build_and_reset([out.y, out.batch_mean]), quirks)
    assert CaptureSecond.seen == [index]


# Values that a pass reads


def reading(read):
    """A pass class that keeps what `read(graph)` gives or raises."""

    class Reading(FusionBasePass):
        def run(self, graph, context):
            try:
                Reading.found = read(graph)
            except (ValueError, RuntimeError, TypeError) as error:
                Reading.found = f"{type(error).__name__}: {error}"

    return Reading


def constant(tensor):
    builder = GraphBuilder("g")
    return builder.build_and_reset([Const(builder, value=tensor)])


def value(graph):
    return graph.find_node_by_name("Const_0").get_attr("value").get_data()


READS = [
    (lambda: constant(Tensor([1e-9, 0.1], shape=[2])), value, "floats", [0.0, 0.1]),
    (
        lambda: constant(Tensor([[1.5, 2.0]][0], shape=[1, 2])),
        value,
        None,
        [[1.5, 2.0]],
    ),
    (lambda: constant(Tensor([3], data_type=DataType.DT_INT8)), value, None, 3),
    (
        lambda: constant(Tensor([True], shape=[1])),
        value,
        [True],
        "ValueError: Invalid item: GE reads no values of DT_BOOL [1]",
    ),
    (
        lambda: constant(Tensor()),
        value,
        [],
        "ValueError: Invalid item: GE reads no values of DT_FLOAT [0]",
    ),
]


@pytest.mark.parametrize(("make", "read", "strict", "quirk"), READS)
def test_tensor_values(make, read, strict, quirk):
    cls = reading(read)
    run(cls, make(), True)
    assert cls.found == quirk
    other = reading(read)
    other.__name__ = "Strict"
    run(other, make(), False)
    if strict == "floats":
        assert other.found[0] == pytest.approx(1e-9, rel=1e-6)
    else:
        assert other.found == (quirk if strict is None else strict)


def test_values_outside_of_a_pass_are_exact():
    assert Tensor([1e-9], shape=[1]).get_data()[0] != 0.0


@pytest.mark.parametrize(
    ("quirks", "found"),
    [(False, []), (True, "RuntimeError: Failed to get list value: the list is empty")],
)
def test_stored_empty_lists(quirks, found):
    from ge.es.all import ReduceMeanD

    builder = GraphBuilder("g")
    graph = builder.build_and_reset([ReduceMeanD(builder.create_input(0), axes=[])])
    cls = reading(lambda graph: graph.find_node_by_name("ReduceMeanD_0").get_attr("axes"))
    run(cls, graph, quirks)
    assert cls.found == found


@pytest.mark.parametrize("quirks", [False, True], ids=["strict", "quirks"])
def test_attributes_by_position(quirks):
    def build(_):
        builder = GraphBuilder("r")
        x = builder.create_input(0)
        return MatMul(x, x, None, True).name

    cls = reading(build)
    _, messages = run(cls, built(Relu), quirks)
    if quirks:
        assert cls.found.startswith("TypeError: MatMul() too many positional arguments")
        assert messages == []
    else:
        assert cls.found == "MatMul_0"
        assert "MatMul attributes are given by position" in messages[0]


def test_every_row_is_here():
    """The table's rows with a quirk are those that this file tests."""
    text = (Path(__file__).parents[2] / "docs/divergences.md").read_text()
    rows = re.findall(r"^\| (.*?) \|.*\| yes \|$", text, re.MULTILINE)
    tested = [row for row, *_ in MATCHES]
    tested += ["a tensor captured twice", "capturing another output", "attributes of an op"]
    tested += ["`Tensor.data` of floats", "`Tensor.data` of bool", "stored empty lists"]
    assert len(rows) == len(tested)
    for name in tested:
        assert any(row.startswith(name) for row in rows), name
