"""Conv2D, bias and Relu in one kernel."""

from __future__ import annotations

from typing import cast

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from ge_xdsl.dialects.ge.conv import Conv2DOp, FusedConv2DBiasAddReluOp
from ge_xdsl.dialects.ge.elementwise import BiasAddOp
from ge_xdsl.dialects.ge.names import describe
from ge_xdsl.dialects.ge.op import NAME, GeOp
from ge_xdsl.dialects.ge.prototype import encode
from ge_xdsl.dialects.ge.shapes import shape_text
from ge_xdsl.dialects.ge.types import DYNAMIC
from ge_xdsl.pattern.rule import Applied, Declined, Outcome, Rule
from ge_xdsl.rewrites.support import fuse, make_like, merge_problem, sole_consumer, tensor


class FuseConv2DBiasRelu(Rule):
    """Conv2D(x, filter), then BiasAdd or Add of b, then Relu -> FusedConv2D_BiasAdd_ReLU

        Relu(BiasAdd(Conv2D(x, filter), b)) -> FusedConv2D_BiasAdd_ReLU(x, filter, b)
        Relu(Add(Conv2D(x, filter), b))     -> the same, b one value per channel, either order
        Relu(Conv2D(x, filter, b))          -> the same

    The convolution and the sum have one consumer each (a graph output is one), the Relu any
    number. Half floats are rounded once instead of three times.
    """

    name = "FuseConv2DBiasRelu"
    root_types = ("Conv2D",)
    required_types = ("Relu",)

    def attempt(self, op: GeOp, rewriter: PatternRewriter) -> Outcome:
        conv = cast("Conv2DOp", op)
        chain = _chain(conv)
        if isinstance(chain, Declined):
            return chain
        ops, bias = chain
        problem = merge_problem(ops)
        if problem:
            return Declined(problem, ops[-1], len(ops), matched=True)
        attrs = {
            a.name: value for a in conv.prototype.attrs if (value := conv.properties.get(a.name))
        }
        inputs = (conv.x, conv.filter, bias, conv.offset_w)
        # `padding` and `auto_pad` are undeclared attributes of the convolution: they count.
        extra = {key: attr for key, attr in conv.attributes.items() if key != NAME}
        attrs["activation"] = encode("String", "ReLU")
        new = make_like(ops[-1], FusedConv2DBiasAddReluOp, inputs, attrs, extra)
        if isinstance(new, str):
            return Declined(new, conv, len(ops), matched=True)
        fuse(rewriter, new, ops, self.name)
        return Applied()


def _chain(conv: Conv2DOp) -> tuple[list[GeOp], SSAValue] | Declined:
    """The ops from the convolution to the Relu, and the bias."""
    reader = sole_consumer(conv.y, "conv output")
    if isinstance(reader, str):
        return Declined(reader, conv)
    if _is(reader, "Relu") and conv.bias is not None:
        return [conv, cast("GeOp", reader)], conv.bias
    if not _is(reader, "BiasAdd", "Add"):
        wanted = "BiasAdd or Add" if conv.bias is None else "Relu"
        return Declined(f"consumer of conv is {describe(reader)}, expected {wanted}", reader)
    if conv.bias is not None:
        return Declined("conv has a bias already, expected none", conv, 1)
    add = cast("GeOp", reader)
    bias = add.operands[1] if add.operands[0] is conv.y else add.operands[0]
    problem = bias_problem(conv, add, bias)
    if problem:
        return Declined(problem, add, 1)
    last = sole_consumer(add.results[0], f"{add.op_type} output")
    if isinstance(last, str):
        return Declined(last, add, 2)
    if not _is(last, "Relu"):
        return Declined(f"consumer of {add.op_type} is {describe(last)}, expected Relu", last, 2)
    return [conv, add, cast("GeOp", last)], bias


def _is(op: Operation, *op_types: str) -> bool:
    return isinstance(op, GeOp) and op.op_type in op_types


def bias_problem(conv: Conv2DOp, add: GeOp, bias: SSAValue) -> str:
    """Why `add` does not add one value per channel of the convolution, '' when it does."""
    y, b = tensor(conv.y), tensor(bias)
    axis = conv.data_format.index("C")
    if isinstance(add, BiasAddOp):
        if add.x is not conv.y:
            return "conv output is the bias of BiasAdd, expected its x"
        along = add.channel_axis(y) % 4
        if along != axis:
            return f"BiasAdd adds along dimension {along}, conv has its channels in {axis}"
        return ""
    if y.shape is None or b.shape is None:
        return f"bias is {shape_text(b.shape)}, expected a known rank"
    channels = y.shape[axis]
    aligned = (1,) * (4 - len(b.shape)) + b.shape
    wanted = [channels if i == axis else 1 for i in range(4)]
    if not b.shape or DYNAMIC in aligned or list(aligned) != wanted:
        want = "x".join(map(shape_text, ((d,) for d in wanted[axis:])))
        return f"bias is {shape_text(b.shape)}, expected one value per channel ({want})"
    if y.dtype != b.dtype:
        return f"bias is {b.dtype.name}, expected {y.dtype.name}"
    return ""
