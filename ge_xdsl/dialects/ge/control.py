"""Control flow: ops that hold subgraphs as regions.

A region has one block: its arguments are the subgraph's inputs, its `ge.yield` the outputs. It
reads nothing from outside. `interpreters/ge.py` runs the regions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.data import YieldOp
from ge_xdsl.dialects.ge.elements import require
from ge_xdsl.dialects.ge.op import (
    GeOp,
    integer,
    operand,
    operand_tensors,
    string,
    subgraph,
    subgraphs,
    variadic,
    variadic_result,
)
from ge_xdsl.dialects.ge.operands import check_scalar
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor, compatible, tensor_of


def subgraph_block(region: Region, name: str) -> tuple[Block, YieldOp]:
    """The block of a subgraph and its terminator; raises for a region of another form."""
    blocks = list(region.blocks)
    if len(blocks) != 1:
        raise VerifyException(f"{name} has {len(blocks)} blocks, expected 1")
    last = blocks[0].last_op
    if not isinstance(last, YieldOp):
        raise VerifyException(
            f"{name} ends with {last.name if last else 'nothing'}, expected ge.yield"
        )
    return blocks[0], last


def arguments_of(region: Region, name: str) -> list[Tensor]:
    """The input tensors of a subgraph."""
    block, _ = subgraph_block(region, name)
    try:
        return [tensor_of(arg.type) for arg in block.args]
    except ValueError as error:
        raise VerifyException(f"{name} input {error}") from None


def yields_of(region: Region, name: str) -> list[Tensor]:
    """The output tensors of a subgraph."""
    return operand_tensors(subgraph_block(region, name)[1])


def check_all_compatible(given: Sequence[Tensor], wanted: Sequence[Tensor], what: str) -> None:
    """Counts and types agree, unknown dimensions with any; `what` names both sides."""
    if len(given) != len(wanted):
        raise VerifyException(f"{what}: {len(given)} values, expected {len(wanted)}")
    for i, (have, want) in enumerate(zip(given, wanted, strict=True)):
        if not compatible(want, have):
            raise VerifyException(f"{what}: #{i} is {have}, expected {want}")


def merge_tensors(a: Tensor, b: Tensor) -> Tensor:
    """What is known of a value that is either: differing dimensions are unknown."""
    if a.shape is None or b.shape is None or len(a.shape) != len(b.shape):
        return a.with_shape(None)
    if a.shape == b.shape:
        return a
    return a.with_shape([x if x == y else DYNAMIC for x, y in zip(a.shape, b.shape, strict=True)])


def check_isolated(op: GeOp) -> None:
    """The regions read only values that are defined inside them."""
    for region in op.regions:
        for inner in region.walk():
            for value in inner.operands:
                if not _is_inside(value, region):
                    raise VerifyException(
                        f"{inner.name} reads a value from outside the subgraph, expected "
                        "subgraph inputs and values of its own"
                    )


def _is_inside(value: SSAValue, region: Region) -> bool:
    owner = value.owner
    block = value.block if isinstance(value, BlockArgument) else cast("Operation", owner).parent
    return block is not None and region.is_ancestor(block)


class _ControlOp(GeOp):
    def verify_(self) -> None:
        super().verify_()
        check_isolated(self)


def merged_branches(
    branches: Sequence[tuple[Region, str]], input: Sequence[Tensor]
) -> list[Tensor]:
    """What is known of the outputs of one of several subgraphs that take `input`."""
    for region, name in branches:  # C1 C2
        check_all_compatible(arguments_of(region, name), input, f"inputs of {name}")
    first, *others = (yields_of(*branch) for branch in branches)
    for other in others:
        if len(first) != len(other):  # C3
            raise VerifyException(
                f"branches give {len(first)} and {len(other)} outputs, expected equal numbers"
            )
        for i, (a, b) in enumerate(zip(first, other, strict=True)):
            if a.dtype != b.dtype:  # C3
                raise VerifyException(
                    f"output #{i} is {a.dtype.name} or {b.dtype.name}, expected one element type"
                )
        first = [merge_tensors(a, b) for a, b in zip(first, other, strict=True)]
    return first


class IfOp(_ControlOp):
    """output = then_branch(input) if cond else else_branch(input).

    A cond of one element is true when it is not 0, another when it has elements. Where the
    branches give different dimensions, the result's are unknown, unless cond is a constant. C1:
    both branches have one block with the types of input as arguments. C2: both end with ge.yield.
    C3: their outputs have equal counts and element types. C4: branches read nothing from outside.
    """

    name = "ge.If"

    cond = operand()
    input = variadic()
    output = variadic_result()
    then_branch = subgraph()
    else_branch = subgraph()

    def infer(self, cond: Tensor, input: list[Tensor]) -> list[Tensor]:
        branches = ((self.then_branch, "then_branch"), (self.else_branch, "else_branch"))
        found = merged_branches(branches, input)
        known = self.constant("cond")
        if known is None:
            return found
        holds = bool(known.reshape(-1)[0]) if known.size == 1 else known.size > 0
        return yields_of(*branches[0 if holds else 1])


class StatelessIfOp(IfOp):
    """If, whose branches keep no state between runs."""

    name = "ge.StatelessIf"


class UnderscoreIfOp(IfOp):
    """If, as TensorFlow names its lowered form."""

    name = "ge._If"


class CaseOp(_ControlOp):
    """output = branches[branch_index](input), the last branch for an index that names none.

    Where the branches give different dimensions, the result's are unknown. C1: each branch has
    one block with the types of input as arguments. C2: each ends with ge.yield. C3: their outputs
    have equal counts and element types. C4: branches read nothing from outside. C5: there is a
    branch. C6: branch_index is one i32.
    """

    name = "ge.Case"

    branch_index = operand()
    input = variadic()
    output = variadic_result()
    branches = subgraphs()

    def infer(self, branch_index: Tensor, input: list[Tensor]) -> list[Tensor]:
        require(branch_index, "branch_index", {DataType.DT_INT32}, "DT_INT32")  # C6
        check_scalar(branch_index, "branch_index")
        if not self.branches:  # C5
            raise VerifyException("has no branches, expected at least one")
        named = [(region, f"branch {i}") for i, region in enumerate(self.branches)]
        return merged_branches(named, input)


class StatelessCaseOp(CaseOp):
    """Case, whose branches keep no state between runs."""

    name = "ge.StatelessCase"


class WhileOp(_ControlOp):
    """values = input; while cond(values): values = body(values); output = values.

    Where input and the body's outputs have different dimensions, the result's are unknown.
    C1: cond and body have one block with the types of the loop values as arguments. C2: both end
    with ge.yield. C3: cond yields one value, of one element where its shape is known. C4: body
    yields the loop values. C5: the subgraphs read nothing from outside.
    """

    name = "ge.While"

    input = variadic()
    output = variadic_result()
    cond = subgraph()
    body = subgraph()
    parallel_iterations = integer(10)

    def infer(self, input: list[Tensor]) -> list[Tensor]:
        for region, name in ((self.cond, "cond"), (self.body, "body")):  # C1 C2
            check_all_compatible(arguments_of(region, name), input, f"inputs of {name}")
        flags = yields_of(self.cond, "cond")
        if len(flags) != 1 or flags[0].size() not in (None, 1):  # C3
            text = ", ".join(str(flag) for flag in flags) or "nothing"
            raise VerifyException(f"cond yields {text}, expected one element")
        carried = yields_of(self.body, "body")
        check_all_compatible(carried, arguments_of(self.body, "body"), "outputs of body")  # C4
        return [merge_tensors(a, b) for a, b in zip(input, carried, strict=True)]


class StatelessWhileOp(WhileOp):
    """While, whose subgraphs keep no state between runs."""

    name = "ge.StatelessWhile"


class ForOp(_ControlOp):
    """values = input; for n while n * |delta| < |limit - start|: values = body(i, values).

    i = start + n * delta, also when delta leads away from limit; output = values. Where input and
    the body's outputs have different dimensions, the result's are unknown. C1: body has one block
    with the types of start and of the loop values as arguments. C2: it ends with ge.yield. C3: it
    yields the loop values. C4: it reads nothing from outside. C5: start, limit and delta are one
    i32 each.
    """

    name = "ge.For"

    start = operand()
    limit = operand()
    delta = operand()
    input = variadic()
    output = variadic_result()
    body = subgraph()

    def infer(
        self, start: Tensor, limit: Tensor, delta: Tensor, input: list[Tensor]
    ) -> list[Tensor]:
        for tensor, name in ((start, "start"), (limit, "limit"), (delta, "delta")):  # C5
            require(tensor, name, {DataType.DT_INT32}, "DT_INT32")
            check_scalar(tensor, name)
        arguments = arguments_of(self.body, "body")
        check_all_compatible(arguments, [start, *input], "inputs of body")  # C1
        carried = yields_of(self.body, "body")  # C2
        check_all_compatible(carried, arguments[1:], "outputs of body")  # C3
        return [merge_tensors(a, b) for a, b in zip(input, carried, strict=True)]


class PartitionedCallOp(_ControlOp):
    """output = f(args).

    C1: f has one block with the types of args as arguments. C2: it ends with ge.yield. C3: it
    reads nothing from outside.
    """

    name = "ge.PartitionedCall"

    args = variadic()
    output = variadic_result()
    f = subgraph()
    config = string("")
    config_proto = string("")
    executor_type = string("")

    def infer(self, args: list[Tensor]) -> list[Tensor]:
        check_all_compatible(arguments_of(self.f, "f"), args, "inputs of f")  # C1
        return yields_of(self.f, "f")  # C2


class StatefulPartitionedCallOp(PartitionedCallOp):
    """PartitionedCall of a subgraph that may keep state between runs."""

    name = "ge.StatefulPartitionedCall"
