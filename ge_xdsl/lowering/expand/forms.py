"""Second forms of ops, with attributes in place of operands or other names, as the first ones."""

from __future__ import annotations

from math import prod

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.types import DataType
from ge_xdsl.lowering.expand.builder import Builder, Expansion
from ge_xdsl.lowering.expand.picks import moved
from ge_xdsl.lowering.expand.terms import Formula, Term, formula, term

SAME = {
    "AddV2": "Add",
    "SubV2": "Sub",
    "MulV2": "Mul",
    "MaximumV2": "Maximum",
    "CeilV2": "Ceil",
    "SquareV2": "Square",
    "TanV2": "Tan",
    "TruncV2": "Trunc",
    "Log1pV2": "Log1p",
}
"""Op type -> the one that is the same but for its name."""


def _first_form(op_type: str) -> Expansion:
    return lambda build, op: build(op_type, *op.operands)


def _axpy_v1(build: Builder, op: GeOp, a: Term, x: Term, y: Term) -> Term:
    return a.reshape([1] * max(len(x.shape), 1)) * x + y


def _axpy_v2(build: Builder, op: GeOp, x1: Term, x2: Term, alpha: Term) -> Term:
    return x1 + alpha.reshape([1] * max(len(x1.shape), 1)) * x2


def _axpy_v3(build: Builder, op: GeOp, x: Term, y: Term) -> Term:
    return x * op.get_attr("a") + y


def _mul_add_loss(build: Builder, op: GeOp, x1: Term, x2: Term, x3: Term) -> list[Term]:
    number = x3.reshape([1] * max(len(x1.shape), 1))
    return [x1 * number + x2, x1.square().sum(range(len(x1.shape))) * 0.5]


def _cross(build: Builder, op: GeOp, x1: Term, x2: Term) -> Term:
    """a b' - b a' of the dimension of 3, the parts in turn"""
    shape, dim = x1.shape, op.get_attr("dim")
    axis = list(shape).index(3) if dim < -len(shape) else dim % len(shape)
    p, q = ([Term(build, build.slice(t.value, axis, k, 1)) for k in range(3)] for t in (x1, x2))
    parts = [p[(k + 1) % 3] * q[(k + 2) % 3] - p[(k + 2) % 3] * q[(k + 1) % 3] for k in range(3)]
    return Term(build, build.concat([part.value for part in parts], axis))


def _relu_v2(build: Builder, op: GeOp) -> list[SSAValue]:
    x = term(build, op.operands[0])
    return [t.like(r) for t, r in zip((x.call("Relu"), x > 0.0), op.results, strict=True)]


def _relu_grad_v2(build: Builder, op: GeOp) -> SSAValue:
    grads, mask = op.operands
    hot = build.cast(mask, DataType.DT_BOOL)
    return build.where(hot, grads, 0.0)


def _confusion(build: Builder, op: GeOp) -> SSAValue:
    """A reshape and a transpose, in either order"""
    x, perm = op.operands[0], list(op.get_attr("perm"))
    if op.get_attr("transpose_first"):
        return build.like(build.transpose(x, perm), op.results[0])
    shape = build.shape(op.results[0])
    wanted = [shape[perm.index(i)] for i in range(len(perm))]
    return build.transpose(build.reshape(x, wanted), perm)


def _phony_concat(build: Builder, op: GeOp) -> SSAValue:
    return build.concat(build.many("x"), op.get_attr("concat_dim")[0])


def _copies(build: Builder, op: GeOp) -> list[SSAValue]:
    return [build("Identity", op.operands[0]) for _ in op.results]


def _filled(build: Builder, op: GeOp) -> SSAValue:
    """The one number of an operand everywhere"""
    names = op.prototype.input_index
    value = build.slot("value") if "value" in names else build.slot("fill_value")
    assert value is not None
    shape = build.shape(op.results[0])
    return build.spread(build.reshape(value, [1] * max(len(shape), 1)), shape)


def _padded(build: Builder, op: GeOp) -> SSAValue:
    """Zeros, or a known number, around x"""
    names = op.prototype.attr_by_name
    if "mode" in names and op.get_attr("mode") != "constant":
        raise build.decline(f"for mode {op.get_attr('mode')}")
    if "paddings_contiguous" in names and not op.get_attr("paddings_contiguous"):
        raise build.decline("for paddings that are not contiguous")
    if "paddings" in names:
        flat = [int(v) for row in op.get_attr("paddings") for v in row]
    else:
        flat = [int(v) for v in build.known(build.slot("paddings"), "paddings").reshape(-1)]
    slot = build.slot("constant_values") if "constant_values" in op.prototype.input_index else None
    value = 0.0
    if slot is not None:
        value = float(build.known(slot, "a value").reshape(-1)[0])
    elif "constant_values" in names:
        value = float(op.get_attr("constant_values"))
    x = op.operands[0]
    fill = build.const(value, build.dtype(x))
    return build("PadV3", x, flat, fill, mode="constant", paddings_contiguous=True)


def _one_hot(build: Builder, op: GeOp) -> SSAValue:
    x, on, off = op.operands
    depth = build.const([op.get_attr("depth")], DataType.DT_INT32)
    return build("OneHot", x, depth, on, off, axis=op.get_attr("axis"))


# Sums of segments


def segments(build: Builder, op: GeOp) -> SSAValue:
    """Rows scattered into what a sum or product starts with; ids below 0 name no row"""
    x, ids = op.operands[:2]
    y = op.results[0]
    how, neutral = ("Add", 0.0) if "Sum" in op.op_type else ("Mul", 1.0)
    shape, tail = build.shape(y), build.shape(x)[len(build.shape(ids)) :]
    width = prod(tail)
    dtype = build.dtype(x)
    wide = build.wide(x)
    start = build.const(neutral, build.dtype(wide))
    table = build.spread(build.reshape(start, [1, 1]), [shape[0], width])
    flat = build.reshape(ids, [build.count(ids)])
    rows = build.reshape(wide, [build.count(ids), width])
    found = build(f"Scatter{how}", table, flat, rows)
    return build.reshape(build.cast(found, dtype), shape)


def _trace(build: Builder, op: GeOp, x: Term) -> Term:
    """The sum of the diagonal, by a mask"""
    import numpy as np

    mask = Term(build, build.array(np.eye(*x.shape, dtype=bool)))
    return mask.pick(x, 0.0).sum([0, 1])


def _logit_grad(build: Builder, op: GeOp, x: Term, dy: Term) -> Term:
    eps = op.get_attr("eps")
    if eps < 0:
        raise build.decline("with a negative eps")
    outside = (x < eps).call("LogicalOr", x > 1 - eps)
    return outside.pick(0.0, dy / (x * (1 - x)))


FORMULAS: dict[str, Formula] = {
    "AxpyV1": _axpy_v1,
    "AxpyV2": _axpy_v2,
    "AxpyV3": _axpy_v3,
    "FusedMulAddNL2loss": _mul_add_loss,
    "Cross": _cross,
    "Trace": _trace,
    "LogitGrad": _logit_grad,
}
"""Op type -> its formula."""


EXPANSIONS: dict[str, Expansion] = {
    **{name: _first_form(first) for name, first in SAME.items()},
    **{name: formula(call) for name, call in FORMULAS.items()},
    "ReluV2": _relu_v2,
    "ReluGradV2": _relu_grad_v2,
    "ConfusionTranspose": _confusion,
    "ConfusionTransposeD": _confusion,
    "PhonyConcat": _phony_concat,
    "Copy": _copies,
    **dict.fromkeys(("FillD", "FillV2"), _filled),
    **dict.fromkeys(("PadD", "PadV2", "PadV2D", "PadV3D"), _padded),
    "OneHotD": _one_hot,
    **{f"UnsortedSegment{kind}{form}": segments for kind in ("Sum", "Prod") for form in ("", "D")},
    **dict.fromkeys(("StridedSliceD", "SliceDV2", "StridedSliceV3", "Permute"), moved),
}
