"""Boxes: overlaps, and what encodes them, with one row of numbers for each coordinate."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, pi

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.types import DataType
from ge_xdsl.lowering.expand.builder import Builder, Expansion
from ge_xdsl.lowering.expand.terms import Term, term

TINY = 1e-9
"""What DIoU and CIoU add to divisors."""


def rows_of(build: Builder, boxes: SSAValue, turned: bool = True) -> list[Term]:
    """The four coordinates [1, N] of boxes [N, 4], or of [4, N] when they are not turned."""
    wide = build.transpose(boxes, [1, 0]) if turned else boxes
    return [term(build, build.slice(wide, 0, k, 1)) for k in range(4)]


def boxes_of(build: Builder, rows: Sequence[Term], like: SSAValue, turned: bool = True) -> SSAValue:
    """Four rows as boxes in the element type and shape of a result."""
    joined = build.concat([build.cast(row.value, build.dtype(like)) for row in rows], 0)
    return build.transpose(joined, [1, 0]) if turned else joined


def _centers(rows: Sequence[Term]) -> tuple[list[Term], list[Term]]:
    """Centres and sizes, which count both ends."""
    x1, y1, x2, y2 = rows
    return [(x1 + x2) * 0.5, (y1 + y2) * 0.5], [x2 - x1 + 1.0, y2 - y1 + 1.0]


def _larger(a: Term, b: Term | float) -> Term:
    return a.call("Maximum", b)


def _smaller(a: Term, b: Term | float) -> Term:
    return a.call("Minimum", b)


def iou(build: Builder, op: GeOp) -> SSAValue:
    """Intersection over union, or over the area of gtboxes, of all pairs"""
    second = rows_of(build, op.operands[0])
    first = [row.reshape([row.shape[1], 1]) for row in rows_of(build, op.operands[1])]
    if op.get_attr("aligned"):
        second = [row.reshape([row.shape[1], 1]) for row in second]
    eps = op.get_attr("eps")
    inner = eps if eps == 1 else 0.0
    a, b = first, second
    sides = [_smaller(a[k + 2], b[k + 2]) - _larger(a[k], b[k]) for k in (0, 1)]
    sides = [_larger(side + inner if inner else side, 0.0) for side in sides]
    inter = sides[0] * sides[1]
    areas = [(r[2] - r[0] + eps) * (r[3] - r[1] + eps) for r in (a, b)]
    below = areas[0] + areas[1] - inter if op.get_attr("mode") == "iou" else areas[0]
    return (inter / below).like(op.results[0])


def encode(build: Builder, op: GeOp) -> SSAValue:
    """BoundingBoxEncode: offsets of centres over sizes, logarithms of ratios"""
    place, size = _centers(rows_of(build, op.operands[0]))
    wanted, wide = _centers(rows_of(build, op.operands[1]))
    found = [(w - p) / s for w, p, s in zip(wanted, place, size, strict=True)]
    found += [(w / s).log() for w, s in zip(wide, size, strict=True)]
    means, stds = op.get_attr("means"), op.get_attr("stds")
    rows = [
        (row - mean) / std if (mean, std) != (0, 1) else row
        for row, mean, std in zip(found, means, stds, strict=True)
    ]
    return boxes_of(build, rows, op.results[0])


def decode(build: Builder, op: GeOp) -> SSAValue:
    """BoundingBoxDecode: corners around moved centres, inside the image"""
    place, size = _centers(rows_of(build, op.operands[0]))
    stds, means = op.get_attr("stds"), op.get_attr("means")
    deltas = rows_of(build, op.operands[1])
    d = [t * s + m for t, s, m in zip(deltas, stds, means, strict=True)]
    center = [p + s * t for p, s, t in zip(place, size, d[:2], strict=True)]
    reach = [s * t.exp() * 0.5 for s, t in zip(size, d[2:], strict=True)]
    corners = [c - r + 0.5 for c, r in zip(center, reach, strict=True)]
    corners += [c + r - 0.5 for c, r in zip(center, reach, strict=True)]
    high, wide = op.get_attr("max_shape")
    rows = [
        t.same(t).pick(t.clip(0.0, float(limit)), 0.0)
        for t, limit in zip(corners, (wide, high, wide, high), strict=True)
    ]
    return boxes_of(build, rows, op.results[0])


def decode_v2(build: Builder, op: GeOp) -> SSAValue:
    """DecodeBboxV2: ymin, xmin, ymax, xmax from scaled codes"""
    turned = not op.get_attr("reversed_box")
    t, old = (rows_of(build, v, turned) for v in op.operands)
    t = [row / s for row, s in zip(t, op.get_attr("scales"), strict=True)]
    size = [old[2] - old[0], old[3] - old[1]]
    cut = op.get_attr("decode_clip")
    growth = [_smaller(row, cut) if cut else row for row in t[2:]]
    center = [t[k] * size[k] + old[k] + size[k] * 0.5 for k in (0, 1)]
    reach = [size[k] * growth[k].exp() * 0.5 for k in (0, 1)]
    rows = [*(center[k] - reach[k] for k in (0, 1)), *(center[k] + reach[k] for k in (0, 1))]
    return boxes_of(build, rows, op.results[0], turned)


def yolo_encode(build: Builder, op: GeOp) -> SSAValue:
    """YoloBoxesEncode: places in a cell, logarithms of ratios"""
    anchor, wanted = (rows_of(build, v) for v in op.operands[:2])
    step = Term(build, build.cast(op.operands[2], DataType.DT_FLOAT))
    step = step.reshape([1, step.shape[0]])
    least = 1e-6
    rows: list[Term] = []
    for k in (0, 1):
        near, far = (anchor[k] + anchor[k + 2]) * 0.5, (wanted[k] + wanted[k + 2]) * 0.5
        rows.append(((far - near) / step + 0.5).clip(least, 1 - least))
    for k in (0, 1):
        ratio = (wanted[k + 2] - wanted[k]) / (anchor[k + 2] - anchor[k])
        rows.append(_larger(ratio, least).log())
    return boxes_of(build, rows, op.results[0])


def _sides(build: Builder, op: GeOp, boxes: SSAValue) -> list[Term]:
    """x1, y1, x2, y2 of boxes [4, N], of centres and sizes under trans."""
    x, y, w, h = rows_of(build, boxes, False)
    if not op.get_attr("trans"):
        return [x, y, w, h]
    return [x - w * 0.5, y - h * 0.5, x + w * 0.5, y + h * 0.5]


def distance_iou(build: Builder, op: GeOp) -> list[SSAValue]:
    """DIoU and CIoU of pairs"""
    if op.get_attr("is_cross"):
        raise build.decline("with is_cross set")
    a, b = (_sides(build, op, v) for v in op.operands)
    sides = [_larger(_smaller(a[k + 2], b[k + 2]) - _larger(a[k], b[k]), 0.0) for k in (0, 1)]
    inter = sides[0] * sides[1]
    first, second = ([r[2] - r[0], r[3] - r[1]] for r in (a, b))
    union = first[0] * first[1] + second[0] * second[1] - inter
    hull = [_larger(a[k + 2], b[k + 2]) - _smaller(a[k], b[k]) for k in (0, 1)]
    apart = [(a[k] + a[k + 2] - b[k] - b[k + 2]) * 0.5 for k in (0, 1)]
    distance = (apart[0] * apart[0] + apart[1] * apart[1]) / (
        hull[0] * hull[0] + hull[1] * hull[1] + TINY
    )
    overlap = inter / (union + TINY)
    if op.op_type == "DIoU":
        return [(overlap - distance).like(op.results[0])]
    tilt = _angle(second) - _angle(first)
    v = tilt * tilt * (4 / pi**2)
    weight = v / (1 - overlap + v + TINY)
    found = [overlap - distance - weight * v, tilt]
    return [t.like(r) for t, r in zip(found, op.results, strict=True)]


def _angle(size: Sequence[Term]) -> Term:
    return (size[0] / (size[1] + TINY)).call("Atan")


CENTRAL = (
    1.50140941, 0.246640727, -0.00417768164, -0.00125372503, 0.00021858087, -4.39150654e-06,
    -3.5233877e-06, 3.43273939e-07, 2.81022636e-08,
)  # fmt: skip
TAIL = (
    2.83297682, 1.00167406, 0.00943887047, -0.0076224613, 0.00573950773, -0.00367342844,
    0.00134934322, 0.000100950558, -0.000200214257,
)  # fmt: skip
"""erfinv(x) = x P(w - 2.5) for w = -ln(1 - x^2) below 5, else x P(sqrt(w) - 3): the coefficients of
M. Giles, "Approximating the erfinv function" (2010), of a relative error of a few 1e-7."""


def erfinv(build: Builder, op: GeOp) -> SSAValue:
    """Two polynomials; infinite at -1 and 1, NaN beyond"""
    x = term(build, op.operands[0])
    w = -((1 - x) * (1 + x)).log()
    near, far = _horner(w - 2.5, CENTRAL), _horner(w.call("Maximum", 5.0).sqrt() - 3.0, TAIL)
    y = (w < 5.0).pick(near, far) * x
    ends = (x > 0.0).pick(
        Term(build, build.spread(build.const(inf, build.dtype(x.value)), x.shape)), -inf
    )
    return x.abs().same(1.0).pick(ends, y).like(op.results[0])


def _horner(z: Term, coefficients: Sequence[float]) -> Term:
    y = z * coefficients[-1] + coefficients[-2]
    for c in coefficients[-3::-1]:
        y = y * z + c
    return y


EXPANSIONS: dict[str, Expansion] = {
    "Iou": iou,
    "BoundingBoxEncode": encode,
    "BoundingBoxDecode": decode,
    "DecodeBboxV2": decode_v2,
    "YoloBoxesEncode": yolo_encode,
    **dict.fromkeys(("DIoU", "CIoU"), distance_iou),
    "Erfinv": erfinv,
}
