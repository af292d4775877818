"""Putting a graph in order after a user pass: producers first, nothing open, types inferred."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import FunctionType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block
from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.data import UnconnectedOp
from ge_xdsl.dialects.ge.graph import op_error, root_blocks, topological_order
from ge_xdsl.dialects.ge.names import describe
from ge_xdsl.dialects.ge.op import GeOp, set_type
from ge_xdsl.dialects.ge.types import DataType, compatible, tensor_of
from ge_xdsl.errors import PassError
from ge_xdsl.passes.registry import UserPass
from ge_xdsl.pattern.rewrite import merged


def settle(func: FuncOp, user_pass: UserPass, *, infer: bool) -> None:
    """Order, check and (with `infer`) type the graph that a pass has changed.

    Raises PassError for a cycle, an operand left unconnected, and an op that does not take its
    operands.
    """
    for block in root_blocks(func):
        if user_pass.kind == "fusion_base":
            _check_connected(block, user_pass)
            _sort(block, user_pass)
        if infer:
            _infer(block, user_pass)
    last = func.body.block.last_op
    outputs = [value.type for value in last.operands] if last is not None else []
    func.function_type = FunctionType.from_lists([a.type for a in func.body.block.args], outputs)


def _fail(user_pass: UserPass, message: str, notes: Sequence[str] = ()) -> PassError:
    return PassError(
        message,
        subject=f"pass '{user_pass.name}'",
        location=user_pass.location,
        notes=notes,
    )


def _check_connected(block: Block, user_pass: UserPass) -> None:
    for op in block.ops:
        for index, value in enumerate(op.operands):
            if isinstance(value.owner, UnconnectedOp):
                what = describe(op) if isinstance(op, GeOp) else "the graph output"
                raise _fail(
                    user_pass, f"leaves input {index} of {what} unconnected, expected a value"
                )


def _sort(block: Block, user_pass: UserPass) -> None:
    """Put producers before consumers; what is in order keeps its place."""
    order = topological_order(block)
    if order is None:
        raise _fail(user_pass, "leaves a cycle in the graph, expected none")
    last = block.last_op
    ordered = [op for op in order if op is not last]
    if last is not None:
        ordered.append(last)
    if ordered == list(block.ops):
        return
    for op in ordered:
        op.detach()
    block.add_ops(ordered)


def _infer(block: Block, user_pass: UserPass) -> None:
    """Result types from operand types; what was known and still fits is kept."""
    for op in block.ops:
        if isinstance(op, GeOp) and op is not block.last_op:
            try:
                _infer_op(op)
            except (VerifyException, ValueError) as error:
                failed = op_error(op, str(error))
                raise _fail(
                    user_pass,
                    f"leaves {failed.subject} that does not fit: {failed.message}",
                    [f"the node is at {failed.location}"] if failed.location else [],
                ) from None


def _infer_op(op: GeOp) -> None:
    if any(tensor_of(v.type).dtype == DataType.DT_UNDEFINED for v in op.operands):
        return  # an op without a shape rule feeds it: nothing is known
    tensors = op.inferred()
    if tensors is None or len(tensors) != len(op.results):
        return
    for value, new in zip(op.results, tensors, strict=True):
        old = tensor_of(value.type)
        set_type(value, (merged(new, old) if compatible(new, old) else new).type)
