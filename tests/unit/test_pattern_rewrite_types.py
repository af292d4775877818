"""Replacing subgraphs: the types of the new nodes, of graph outputs and of unknown tensors."""

from __future__ import annotations

import pytest
from graph_text import graph, module_of, node
from replace_case import ONE, PAIR, boundary
from xdsl.dialects.func import CallOp

from ge_xdsl.dialects.ge.graph import verify
from ge_xdsl.dialects.ge.text import module_text
from ge_xdsl.dialects.ge.types import DataType, Tensor
from ge_xdsl.errors import CompileError
from ge_xdsl.pattern.rewrite import replace


def test_types_are_inferred_from_the_real_inputs() -> None:
    func = graph("x[2,3]\n a = Abs(x)\n y = Neg(a)\n return y")
    module = module_of(func)
    (new,) = replace(func.body.block, boundary(func, "x", "y"), graph(ONE, "r"))
    assert new.results[0].type == Tensor(DataType.DT_FLOAT, (2, 3)).type
    verify(module)


def test_types_follow_constant_values() -> None:
    """Two replacements that differ in the value of a constant only."""
    for shape in ([8, 2], [2, 8], [8, 2]):
        func = graph("x\n y = Neg(x)\n return y")
        module = module_of(func)
        func.body.block.last_op.operands[0].owner.results[0]._type = Tensor(  # pyright: ignore
            DataType.DT_FLOAT, None
        ).type
        func.update_function_type()
        new = graph(f"a\n s = Const int32 {shape}\n r = Reshape(a, s)\n return r", "r")
        made = replace(func.body.block, boundary(func, "x", "y"), new)
        assert made[1].results[0].type == Tensor(DataType.DT_FLOAT, tuple(shape)).type
        verify(module)


def test_graph_output_that_becomes_known_changes_the_signature() -> None:
    func = graph("x\n y = Neg(x)\n return y")
    module = module_of(func)
    dynamic = Tensor(DataType.DT_FLOAT, None).type
    node(func, "y").results[0]._type = dynamic
    func.update_function_type()
    verify(module)
    replace(func.body.block, boundary(func, "x", "y"), graph(ONE, "r"))
    assert list(func.function_type.outputs) == [Tensor(DataType.DT_FLOAT, (4, 4)).type]
    verify(module)


def test_replacement_holds_ge_ops_only() -> None:
    func = graph(PAIR)
    module = module_of(func)
    before = module_text(module)
    new = graph(ONE, "r")
    types = [arg.type for arg in new.body.block.args]
    new.body.block.insert_op_before(CallOp("f", list(new.body.block.args), types), node(new, "n"))
    with pytest.raises(CompileError, match="replacement holds func.call, expected GE ops"):
        replace(func.body.block, boundary(func, "x", "y"), new)
    assert module_text(module) == before


def test_without_inference_unknown_types_come_from_the_readers() -> None:
    func = graph(PAIR)
    module_of(func)
    new = graph("a\n n = Neg(a)\n m = Neg(n)\n return m", "r")
    for name in ("n", "m"):
        node(new, name).results[0]._type = Tensor(DataType.DT_UNDEFINED, None).type
    made = replace(func.body.block, boundary(func, "x", "y"), new, infer=False)
    assert made[1].results[0].type == Tensor(DataType.DT_FLOAT, (4, 4)).type


def test_known_dimensions_of_the_readers_are_kept() -> None:
    func = graph(PAIR)
    module_of(func)
    dynamic = Tensor(DataType.DT_FLOAT, None).type
    func.body.block.args[0]._type = dynamic
    (new,) = replace(func.body.block, boundary(func, "x", "y"), graph(ONE, "r"))
    assert new.results[0].type == Tensor(DataType.DT_FLOAT, (4, 4)).type
