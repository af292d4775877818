"""Ops made field by field are those that xDSL's constructor makes."""

import gc

import pytest
from onnx_graphs import linear
from xdsl.dialects.builtin import UNKNOWN_LOC, FileLineColLoc, IntAttr, StringAttr
from xdsl.ir import Block, Operation, Region

from ge_xdsl.dialects.ge.data import YieldOp
from ge_xdsl.dialects.ge.quick import string_attr
from ge_xdsl.dialects.ge.registry import op_class
from ge_xdsl.dialects.ge.types import DataType, Tensor
from ge_xdsl.importers.onnx.reader import import_onnx_bytes

ADD, IF = op_class("Add"), op_class("If")
T = Tensor(DataType.DT_FLOAT, (2, 3)).type
PLACE = FileLineColLoc(StringAttr("m.onnx"), IntAttr(1), IntAttr(2))


def arguments(block):
    return {
        "operands": [block.args[0], block.args[0]],
        "result_types": [T],
        "properties": {"p": StringAttr("1")},
        "attributes": {"a": StringAttr("2")},
    }


@pytest.mark.parametrize("place", [None, PLACE])
def test_the_fields_are_those_of_the_inherited_constructor(place):
    block = Block(arg_types=[T])
    options = {**arguments(block), "location": place}
    quick = ADD.create(**options)
    stock = ADD.__new__(ADD)
    Operation.__init__(stock, **options)
    assert vars(quick).keys() <= vars(stock).keys()
    for name in ("_operands", "properties", "attributes", "location", "regions", "successors"):
        found, wanted = getattr(quick, name), getattr(stock, name)
        assert list(found) == list(wanted) if name == "successors" else found == wanted, name
    assert [r.type for r in quick.results] == [r.type for r in stock.results]
    assert [(r.op is quick, r.index) for r in quick.results] == [(True, 0)]
    assert quick.location is (UNKNOWN_LOC if place is None else PLACE)
    assert (quick.parent, quick.next_op, quick.prev_op) == (None, None, None)
    uses = [(use.operation is quick, use.index) for use in block.args[0].uses]
    assert uses.count((True, 0)) == uses.count((True, 1)) == 1
    assert uses.count((False, 0)) == uses.count((False, 1)) == 1


def test_the_maps_are_its_own():
    block = Block(arg_types=[T])
    options = arguments(block)
    made = ADD.create(**options)
    made.attributes["b"] = StringAttr("3")
    made.properties["q"] = StringAttr("3")
    assert set(options["attributes"]) == {"a"}
    assert set(options["properties"]) == {"p"}
    assert ADD.create().attributes is not ADD.create().attributes


def test_regions_belong_to_the_op_and_uses_end_with_it():
    block = Block(arg_types=[T])
    regions = [Region(Block([YieldOp.create()])) for _ in range(2)]
    made = IF.create(operands=[block.args[0]], regions=regions)
    assert [region.parent is made for region in made.regions] == [True, True]
    with pytest.raises(ValueError, match="already attached"):
        IF.create(regions=regions)
    made.drop_all_references()
    assert not list(block.args[0].uses)


def test_successors_are_left_to_the_inherited_constructor():
    target = Block()
    Region(target)
    made = ADD.create(successors=[target])
    assert list(made.successors) == [target]


def test_a_quick_string_is_a_string():
    assert string_attr("x") == StringAttr("x")
    assert hash(string_attr("x")) == hash(StringAttr("x"))
    assert str(string_attr('a"b')) == str(StringAttr('a"b'))


@pytest.mark.parametrize("enabled", [True, False])
def test_an_import_leaves_the_collector_as_it_was(enabled):
    model = linear()
    before = gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    try:
        module = import_onnx_bytes(model.SerializeToString())
        assert gc.isenabled() is enabled
        assert gc.get_freeze_count() == 0
        gc.freeze()
        frozen = gc.get_freeze_count()
        import_onnx_bytes(model.SerializeToString())
        assert 0 < gc.get_freeze_count() <= frozen  # some of them may have been given up since
    finally:
        gc.unfreeze()
        (gc.enable if before else gc.disable)()
    assert module.ops.first is not None
