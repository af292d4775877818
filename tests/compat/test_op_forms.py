"""Ops whose newer forms have more inputs: their functions take calls of each form."""

import inspect

import pytest
from ge.es import GraphBuilder
from ge.es.all import FlashAttentionScore, GroupedMatmul, RotaryPositionEmbedding
from xdsl.dialects.builtin import ModuleOp

from ge_xdsl.dialects.ge.graph import main_function
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.text import module_text, parse_module


def the_node(graph, op_type):
    """The node of this type, after the graph was printed and read back."""
    func = graph._handle.parent_op()
    module = parse_module(module_text(ModuleOp([func.clone()])))
    found = [op for op in main_function(module).walk() if isinstance(op, GeOp)]
    return next(op for op in found if op.op_type == op_type)


def inputs(*shapes):
    builder = GraphBuilder("forms")
    return builder, [builder.create_input(i, shape=list(s)) for i, s in enumerate(shapes)]


@pytest.mark.parametrize("newer", [False, True])
def test_flash_attention_score(newer):
    builder, (q, k, v) = inputs((2, 3, 8), (2, 5, 8), (2, 5, 8))
    prefix = builder.create_const_int64([1, 2])
    rest = {"prefix": prefix} if newer else {}
    attrs = {"sparse_mode": 5} if newer else {"is_flash": True}
    out = FlashAttentionScore(q, k, v, **rest, head_num=2, input_layout="BSH", **attrs)
    node = the_node(builder.build_and_reset([out.attention_out]), "FlashAttentionScore")
    assert list(node.operand_counts()) == [1, 1, 1, 0, 0, 0, 0, int(newer), 0, 0, 0, 0]
    assert node.get_attr("is_flash") is True
    assert node.get_attr("sparse_mode") == (5 if newer else 0)


@pytest.mark.parametrize("form", ["old", "new", "named"])
def test_grouped_matmul(form):
    builder, (x, w, scale, groups) = inputs((5, 4), (2, 4, 3), (5,), (2,))
    lists = [x], [w], [], [], [], [], []
    attrs = {"split_item": 3, "group_type": 0}
    if form == "old":
        (y,) = GroupedMatmul(*lists, groups, 1, **attrs)
    elif form == "new":
        (y,) = GroupedMatmul(*lists, groups, scale, 1, act_type=1, **attrs)
    else:
        (y,) = GroupedMatmul(*lists, groups, None, y_num=1, **attrs)
    node = the_node(builder.build_and_reset([y]), "GroupedMatmul")
    assert list(node.operand_counts()) == [1, 1, 0, 0, 0, 0, 0, 1, int(form == "new")]
    assert node.get_attr("act_type") == int(form == "new")


def test_wrong_counts_of_arguments_are_refused():
    _, (x, w, groups) = inputs((5, 4), (2, 4, 3), (2,))
    with pytest.raises(TypeError, match="missing a required argument: 'per_token_scale'"):
        GroupedMatmul([x], [w], [], [], [], [], [], groups)
    with pytest.raises(TypeError, match="missing a required argument: 'group_list'"):
        GroupedMatmul([x], [w], [], [], [], [], [])


def test_the_signature_is_the_newest():
    names = list(inspect.signature(GroupedMatmul).parameters)
    assert names[7:12] == ["group_list", "per_token_scale", "y_num", "split_item", "dtype"]
    assert inspect.signature(RotaryPositionEmbedding).parameters["rotate"].default is None
