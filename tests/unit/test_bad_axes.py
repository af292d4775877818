"""Ops with an attribute that names dimensions refuse one that their operands do not have, from
either end, with a message that says so: those with a base in `constraint_tables`, and those that
take equal operands of rank 3 and nothing else."""

import pytest
from op_cases import changed, op_text, result_count
from op_text import module_of
from test_constraint_tables import BASES
from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.graph import main_function, verify
from ge_xdsl.dialects.ge.registry import op_class
from ge_xdsl.dialects.ge.text import parse_module
from ge_xdsl.errors import CompileError

NAMES = ("axis", "axes", "dim", "dims", "dimension", "split_dim", "concat_dim", "seq_dim")
SHAPES = {("FillD", "dims"), ("FillV2D", "dims")}
"""What has one of those names and lists sizes."""
FREE = {("ConcatFromSequence", "axis"): "the rank of what stands behind a handle is not known"}
"""(op, attribute) -> why any number is accepted there."""


def walk():
    for op_type in BASES:
        for spec in op_class(op_type).prototype.attrs:
            if (op_type, spec.name) in SHAPES:
                continue
            if spec.name in NAMES and spec.kind in ("Int", "ListInt"):
                for place in (99, -99):
                    yield op_type, spec.name, [place] if spec.kind == "ListInt" else place


@pytest.mark.parametrize(("op_type", "name", "value"), list(walk()))
def test_a_dimension_that_is_not_there_is_refused(op_type, name, value):
    operands, attrs = changed(BASES[op_type], op_type, {name: value})
    text = module_of(op_text(op_type, operands, attrs), result_count(op_type, attrs))
    module = parse_module(text)
    if (op_type, name) in FREE:
        verify(module)
        return
    with pytest.raises(CompileError) as caught:
        verify(module)
    assert "99" in caught.value.message
    assert "expected" in caught.value.message
    assert caught.value.subject.startswith(f"ge.{op_type}")


PLAIN = [
    "LogSoftmaxV2",
    "ArgMaxD",
    "ArgMinD",
    "ArgMaxWithValue",
    "ArgMinWithValue",
    "HardMax",
    "Sort",
    "SortV2",
    "SortWithIndex",
    "CumsumD",
    "CumprodD",
    "CumulativeLogsumexpD",
    "LpNorm",
    "LpNormV2",
    "EuclideanNormD",
    "SquareSumV1",
    "SquareSumV2",
    "ReduceMeanVariance",
    "ReduceStdV2",
    "ReduceVar",
    "ReverseV2D",
    "MVNV2",
    "L2Normalize",
    "SoftmaxGrad",
    "LogSoftmaxGrad",
    "ConfusionMulGrad",
    "SwiGlu",
    "GLU",
    "GeGluV2",
    "Unpack",
    "SplitD",
    "Flatten",
    "FlattenV2",
]
ATTRS = {"Unpack": {"num": 2}, "SplitD": {"num_split": 2}}
RESULTS = {"Unpack": 2, "SplitD": 2}
TYPES = {"SortWithIndex": ["2x2x2xf32", "2x2x2xi32"]}


def plain(op_type, place):
    """The text of an op whose attribute names dimension `place` of its operands."""
    proto = op_class(op_type).prototype
    spec = next(s for s in proto.attrs if s.name in NAMES)
    required = [io for io in proto.inputs if io.kind == "required"]
    types = TYPES.get(op_type, ["2x2x2xf32"] * len(required))
    operands = {io.name: text for io, text in zip(required, types, strict=True)}
    attrs = {**ATTRS.get(op_type, {}), spec.name: [place] if spec.kind == "ListInt" else place}
    return module_of(op_text(op_type, operands, attrs), RESULTS.get(op_type, len(proto.outputs)))


def inferred(op_type, place):
    module = parse_module(plain(op_type, place))
    ops = main_function(module).body.block.ops
    return next(op for op in ops if op.name == f"ge.{op_type}").inferred()


@pytest.mark.parametrize("place", [99, -99])
@pytest.mark.parametrize("op_type", PLAIN)
def test_equal_operands(op_type, place):
    assert inferred(op_type, 0) is not None
    with pytest.raises(VerifyException) as caught:
        inferred(op_type, place)
    assert "99" in str(caught.value)
    assert "expected" in str(caught.value)
