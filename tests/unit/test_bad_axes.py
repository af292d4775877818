"""Ops refuse a dimension that their operands do not have, from either end, with a message that says
so, whether an attribute names it or an operand: every attribute and operand of every op, but for
those with a reason in a table. -1, where it is taken, is the last dimension.
"""

import re

import numpy as np
import pytest
from op_bases import BASES, NO_FORM
from xdsl.ir import Block
from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.graph import main_function, verify
from ge_xdsl.dialects.ge.op import KnownValues, constant_of, operand_tensors
from ge_xdsl.dialects.ge.registry import op_class, typed_ops
from ge_xdsl.dialects.ge.text import parse_module
from ge_xdsl.dialects.ge.types import numpy_dtype, tensor_of
from ge_xdsl.errors import CompileError

NAMED = re.compile(r"axis|axes|dim|perm|order")
LISTS = ("ListInt", "ListListInt")

SIZES = {
    "attn_dim_per_head": "the length of a head",
    "head_dim": "the length of a head",
    "min_dimension": "the size of an image",
    "max_dimension": "the size of an image",
    "out_box_dim": "the rank of a result, 2 or 3",
    "output_dim": "a number of channels",
    "output_dim0": "the length of a result",
    "new_axis_mask": "a bit per entry of begin",
    "shrink_axis_mask": "a bit per entry of begin",
    "new_axis": "0 or 1: concatenate or stack",
    "num_axes": "how many dimensions, -1 for all that are left",
}
"""Names that match and are no dimension -> what they are."""
OTHERS = {
    ("FillD", "dims"): "sizes",
    ("FillV2D", "dims"): "sizes",
    ("Fill", "dims"): "sizes",
    ("ConcatFromSequence", "axis"): "the rank of what stands behind a handle is not known",
}
"""(op, attribute or operand) -> why any number is accepted there."""
FIXED = {
    ("SoftmaxGradExt", "axes"),
    ("AddRmsNormQuant", "axis"),
    ("DequantSwigluQuant", "activate_dim"),
}
"""What takes one value only, or names a dimension by no number from the end."""


def is_dimension(op_type, name):
    return NAMED.search(name) and name not in SIZES and (op_type, name) not in OTHERS


ATTRIBUTES = [
    (op_type, spec.name)
    for op_type in BASES
    for spec in op_class(op_type).prototype.attrs
    if spec.kind in ("Int", *LISTS) and is_dimension(op_type, spec.name)
]
OPERANDS = [
    (op_type, io.name)
    for op_type in BASES
    for io in op_class(op_type).prototype.inputs
    if is_dimension(op_type, io.name)
]


def placed(op_type, name, place):
    """The values of the attribute to try: the dimension alone, and in the base form's list."""
    op = BASES[op_type]()
    kind = op.prototype.attr_by_name[name].kind
    if kind == "ListListInt":
        return [[[0, place]]]
    if kind == "Int":
        return [place]
    held = list(op.get_attr(name) or ())
    permutes = name.startswith(("perm", "order"))
    return [[place], [place, *held[1:]]][permutes:]


def with_attribute(op_type, name, value):
    op = BASES[op_type]()
    op.set_attr(name, value)
    return op


def test_every_op_is_walked():
    assert [op for op in typed_ops() if op not in BASES and op not in NO_FORM] == []
    assert [op for op in NO_FORM if op in BASES] == []


@pytest.mark.parametrize("place", [99, -99])
@pytest.mark.parametrize(("op_type", "name"), ATTRIBUTES)
def test_an_attribute_names_a_dimension_that_is_not_there(op_type, name, place):
    for value in placed(op_type, name, place):
        op = with_attribute(op_type, name, value)
        with pytest.raises(VerifyException, match=r"99.*, expected|shapes .* 99") as caught:
            op.inferred()
        assert "expected" in str(caught.value)


def types_at(op_type, name, place):
    """The result types with the dimension in the attribute; None where it is refused."""
    for value in placed(op_type, name, place):
        try:
            return [t.type for t in with_attribute(op_type, name, value).inferred()]
        except VerifyException as error:
            assert "expected" in str(error)
    return None


@pytest.mark.parametrize(("op_type", "name"), [pair for pair in ATTRIBUTES if pair not in FIXED])
def test_minus_one_is_the_last_dimension(op_type, name):
    last = types_at(op_type, name, -1)
    op = BASES[op_type]()
    values = [*operand_tensors(op), *(tensor_of(r.type) for r in op.results)]
    ranks = sorted({len(t.shape) for t in values if t.shape} | {1})
    if last is not None:
        assert last in [types_at(op_type, name, rank - 1) for rank in ranks]


def operand_index(op, name):
    """Where the operand stands among the op's operands; None where the base form lacks it."""
    start = 0
    for io, count in zip(op.prototype.inputs, op.operand_counts(), strict=True):
        if io.name == name:
            return start if count else None
        start += count
    raise AssertionError(name)


@pytest.mark.parametrize("place", [99, -99])
@pytest.mark.parametrize(("op_type", "name"), OPERANDS)
def test_an_operand_names_a_dimension_that_is_not_there(op_type, name, place):
    op = BASES[op_type]()
    index = operand_index(op, name)
    arrays = [
        np.zeros(t.shape, numpy_dtype(t.dtype)) if (c := constant_of(v)) is None else c
        for v, t in zip(op.operands, operand_tensors(op), strict=True)
    ]
    held = np.array(arrays[index])
    held.reshape(-1)[0] = place
    arrays[index] = held
    op.operands[index] = Block(arg_types=[op.operands[index].type]).args[0]
    with (
        KnownValues({op.operands[index]: held}),
        pytest.raises(VerifyException, match=rf"{place}.*, expected"),
    ):
        op.inferred()
    with pytest.raises(ValueError, match=rf"{place}.*, expected"):
        op.execute(arrays)


def test_the_message_names_op_and_node():
    text = """func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %y = ge.SoftmaxV2(%x) {axes = [2]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}
"""
    module = parse_module(text)
    assert main_function(module).body.block.first_op.node_name == "y"
    with pytest.raises(CompileError) as caught:
        verify(module)
    assert caught.value.subject == "ge.SoftmaxV2 'y'"
    assert caught.value.message == "axes is 2, expected one in [-2, 2)"
