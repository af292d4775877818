"""Ops that move elements as tile programs: exactly what the whole-tensor ops give."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lowering_check import CHIP, check_graph, const, graph

from ge_xdsl.dialects.ge.text import module_text, parse_module
from ge_xdsl.errors import CompileError
from ge_xdsl.interpreters import aicore
from ge_xdsl.lowering import lower
from ge_xdsl.lowering.movement import Copy, Side, contiguous, merged

ELEMENTS = ["f16", "f32", "i64", "i8", "i1"]


def ints(values):
    return f"[{', '.join(map(str, values))}]"


def transpose(shape, perm, element):
    out = "x".join(str(shape[p]) for p in perm)
    x = f"{'x'.join(map(str, shape))}x{element}"
    lines = [
        const("p", ints(perm), f"{len(perm)}xi64"),
        f"y = ge.Transpose(x, p) -> {out}x{element}",
    ]
    return graph(lines, "y", x=x)


TRANSPOSES = [
    ((37, 129), (1, 0)),
    ((3, 20, 33), (0, 2, 1)),
    ((2, 16, 5, 32), (0, 2, 1, 3)),
    ((2, 3, 4, 50), (3, 0, 2, 1)),
    ((2, 3, 4, 5, 6), (4, 1, 3, 0, 2)),
    ((5, 1, 7), (2, 1, 0)),
    ((1, 64, 300), (2, 1, 0)),
    ((700, 3), (1, 0)),
]


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize(("shape", "perm"), TRANSPOSES)
def test_transposes(shape, perm, element):
    lowered, report = check_graph(transpose(shape, perm, element), exact=True)
    assert len(report.kernels) == 1
    turns = element != "i64" and perm[-1] != len(shape) - 1
    assert ("vtranspose" in module_text(lowered)) == turns


def test_a_transpose_that_keeps_the_order_is_a_view():
    _, report = check_graph(transpose((5, 1, 7), (1, 0, 2), "f16"), exact=True)
    assert report.views == 1


SLICED = [
    ([const("o", "[1, 0, 2]", "3xi64"), const("s", "[2, -1, 5]", "3xi64"),
      "y = ge.Slice(x, o, s) -> 2x6x5x{e}"]),
    (["y = ge.SliceD(x) {{offsets = [0, 2, 0], size = [4, 3, 40]}} -> 4x3x40x{e}"]),
    ([const("b", "[0, 1, 0]", "3xi64"), const("e", "[4, 6, 40]", "3xi64"),
      const("s", "[2, 2, 3]", "3xi64"), "y = ge.StridedSlice(x, b, e, s) -> 2x3x14x{e}"]),
    ([const("b", "[1, 2]", "2xi64"), const("e", "[2, 5]", "2xi64"), const("s", "[1, 1]", "2xi64"),
      "y = ge.StridedSlice(x, b, e, s) {{shrink_axis_mask = 1 : i64}} -> 3x40x{e}"]),
    ([const("b", "[3]", "1xi64"), const("e", "[40]", "1xi64"), const("a", "[-1]", "1xi64"),
      "y = ge.StridedSliceV2(x, b, e, axes=a) -> 4x6x37x{e}"]),
]  # fmt: skip


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("lines", SLICED)
def test_slices(lines, element):
    lines = [line.replace("{e}", element).replace("{{", "{").replace("}}", "}") for line in lines]
    check_graph(graph(lines, "y", x=f"4x6x40x{element}"), exact=True)


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_splits_and_joins(axis, element):
    part = [4, 6, 10]
    part[axis] //= 2
    p = f"{'x'.join(map(str, part))}x{element}"
    lines = [
        f"a, b = ge.SplitD(x) {{split_dim = {axis} : i64, num_split = 2 : i64}} -> {p}, {p}",
        f"y = ge.ConcatD([b, a]) {{concat_dim = {axis} : i64, N = 2 : i64}} -> 4x6x10x{element}",
    ]
    _, report = check_graph(graph(lines, "y, a", x=f"4x6x10x{element}"), exact=True)
    assert len(report.kernels) == 2


def test_uneven_splits_and_joins_with_the_axis_as_operand():
    lines = [
        const("s", "[1, 3, 2]", "3xi64"),
        const("d", "1", "i32"),
        "a, b, c = ge.SplitV(x, s, d) {num_split = 3 : i64} -> 4x1x7xf16, 4x3x7xf16, 4x2x7xf16",
        "y = ge.Concat(d, [b, c, a]) {N = 3 : i64} -> 4x6x7xf16",
        "z = ge.ConcatV2([c, b], d) {N = 2 : i64} -> 4x5x7xf16",
    ]
    check_graph(graph(lines, "y, z", x="4x6x7xf16"), exact=True)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_pack_and_unpack(axis):
    shape = [5, 7]
    shape.insert(axis if axis >= 0 else 3 + axis, 3)
    p = f"{'x'.join(map(str, shape))}xf16"
    lines = [
        f"y = ge.Pack([a, b, c]) {{axis = {axis} : i64, N = 3 : i64}} -> {p}",
        f"u, v, w = ge.Unpack(y) {{axis = {axis} : i64, num = 3 : i64}} -> "
        "5x7xf16, 5x7xf16, 5x7xf16",
    ]
    types = dict.fromkeys("abc", "5x7xf16")
    check_graph(graph(lines, "y, v, w", **types), exact=True)


PADS = ["[1, 2, 0, 3, 2, 1]", "[0, 0, 0, 0, 5, 0]", "[-1, 2, 1, -2, 0, 0]", "[0, 0, 0, 0, 0, 0]"]


@pytest.mark.parametrize("element", ["f16", "f32", "bf16", "i32"])
@pytest.mark.parametrize("pads", PADS)
@pytest.mark.parametrize("value", [None, 3])
def test_pads(pads, value, element):
    numbers = eval(pads)
    out = [n + numbers[2 * i] + numbers[2 * i + 1] for i, n in enumerate((4, 6, 20))]
    y = f"{'x'.join(map(str, out))}x{element}"
    lines = [const("p", pads, "6xi64"), f"y = ge.Pad(x, p) -> {y}"]
    if value:
        number = value if element == "i32" else float(value)
        lines = [
            lines[0],
            const("v", number, element),
            f"y = ge.PadV3(x, p, constant_values=v) -> {y}",
        ]
    check_graph(graph(lines, "y", x=f"4x6x20x{element}"), exact=True)


REPEATS = [("3x5", "[2, 3]", "6x15"), ("4", "[3, 2]", "3x8"), ("2x1x9", "[1, 7, 1]", "2x7x9")]


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize(("x", "times", "y"), REPEATS)
def test_tile(x, times, y, element):
    lines = [
        const("m", times, f"{times.count(',') + 1}xi64"),
        f"y = ge.Tile(x, m) -> {y}x{element}",
    ]
    check_graph(graph(lines, "y", x=f"{x}x{element}"), exact=True)


@pytest.mark.parametrize("element", ["i64", "i8", "i1"])
@pytest.mark.parametrize(("x", "y"), [("3x1", "3x40"), ("40", "2x3x40"), ("1x4x1", "2x4x5")])
def test_broadcasts_of_what_no_vector_op_computes(x, y, element):
    dims = y.split("x")
    lines = [
        const("s", ints(dims), f"{len(dims)}xi64"),
        f"y = ge.BroadcastTo(x, s) -> {y}x{element}",
    ]
    check_graph(graph(lines, "y", x=f"{x}x{element}"), exact=True)


GATHERS = [
    ("50x33", "7", "7x33"),
    ("50x4x8", "2x3", "2x3x4x8"),
    ("9", "40", "40"),
    ("5x9000", "", "9000"),
]


@pytest.mark.parametrize("index", ["i32", "i64"])
@pytest.mark.parametrize("element", ["f16", "f32", "i64"])
@pytest.mark.parametrize(("x", "places", "y"), GATHERS)
def test_gathers(x, places, y, element, index):
    shape = [int(d) for d in places.split("x")] if places else []
    rng = np.random.default_rng(0)
    kind = np.dtype("int32" if index == "i32" else "int64")
    found = np.asarray(rng.integers(0, int(x.split("x")[0]), shape)).astype(kind)
    lines = [const("a", "0", "i32"), f"y = ge.GatherV2(x, i, a) -> {y}x{element}"]
    text = graph(lines, "y", x=f"{x}x{element}", i=f"{places}x{index}".lstrip("x"))
    _, report = check_graph(text, inputs={"i": found}, exact=True)
    assert len(report.kernels) == 1


@pytest.mark.parametrize("wraps", [True, False])
def test_negative_indices(wraps):
    attrs = "{negative_index_support = true}" if wraps else ""
    lines = [const("a", "0", "i32"), f"y = ge.GatherV2(x, i, a) {attrs} -> 3x4xf16"]
    text = graph(lines, "y", x="9x4xf16", i="3xi32")
    inputs = {"i": np.array([1, -1, 8], np.int32)}
    if wraps:
        check_graph(text, inputs=inputs, exact=True)
        return
    x = np.zeros((9, 4), np.float16)
    with pytest.raises(CompileError, match=r"index is -1, expected one in \[0, 9\)"):
        aicore.run(lower(parse_module(text), CHIP), {"x": x, **inputs}, CHIP)


P = const("p", "[1, 0]", "2xi64")
DECLINED = [
    ([P, "y = ge.Transpose(x, p) -> 5x4xf64"], "4x5xf64", "no lowering for element type DT_DOUBLE"),
    (
        [P, "y = ge.Transpose(x, p) -> 5x0xf16"],
        "0x5xf16",
        "no lowering for a tensor without elements",
    ),
    (
        [
            const("p", "[0, 1, 0, 1]", "4xi64"),
            const("v", "0x7E00", "f16"),
            'y = ge.PadV3(x, p, constant_values=v) {mode = "constant"} -> 5x6xf16',
        ],
        "4x5xf16",
        "no lowering for a pad with a value that is no number",
    ),
    (
        [const("p", "[-4, 1, 0, 1]", "4xi64"), "y = ge.Pad(x, p) -> 1x6xf16"],
        "4x5xf16",
        "no lowering for a pad that keeps nothing",
    ),
    (
        [const("i", "[0, 1]", "2xi32"), "y = ge.GatherV2(x, i, q) -> 2x5xf16"],
        "4x5xf16",
        "no lowering for an axis that is not constant",
    ),
    (
        ["y = ge.Slice(x, q2, q2) -> 4x5xf16"],
        "4x5xf16",
        "no lowering for operands that are not constant",
    ),
]


@pytest.mark.parametrize(("lines", "x", "why"), DECLINED)
def test_what_is_not_moved_is_told_why(lines, x, why):
    text = graph(lines, "y", x=x, q="i32", q2="2xi64")
    report = aicore.estimate(lower(parse_module(text), CHIP), CHIP)
    (reasons,) = report.reasons.values()
    assert reasons[0].startswith(why)


BY_INDEX = [
    # a pad that mirrors, a slice that goes backwards, a gather from the last dimension, 64 bits
    [const("p", "[0, 1, 0, 1]", "4xi64"), 'y = ge.PadV3(x, p) {mode = "reflect"} -> 5x6x{e}'],
    [const("b", "[3, 0]", "2xi64"), const("e", "[-5, 5]", "2xi64"), const("s", "[-1, 1]", "2xi64"),
     "y = ge.StridedSlice(x, b, e, s) -> 4x5x{e}"],
    [const("a", "1", "i32"), const("i", "[0, 1]", "2xi32"), "y = ge.GatherV2(x, i, a) -> 4x2x{e}"],
    [const("p", "[0, 1, 0, 1]", "4xi64"), "y = ge.Pad(x, p) -> 5x6x{e}"],
]  # fmt: skip


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("lines", BY_INDEX)
def test_moves_by_index(lines, element):
    lines = [line.replace("{e}", element) for line in lines]
    check_graph(graph(lines, "y", x=f"4x5x{element}"), exact=True)


def test_dimensions_merge_where_both_sides_allow():
    side = Side(0, 0, contiguous((2, 3, 4)))
    assert merged(Copy((2, 3, 4), side, Side(1, 0, (12, 4, 1)))).shape == (24,)
    assert merged(Copy((2, 3, 4), side, Side(1, 0, (20, 4, 1)))).shape == (2, 12)
    assert merged(Copy((2, 1, 4), Side(0, 0, (4, 99, 1)), Side(1, 0, (4, 7, 1)))).shape == (8,)
    assert merged(Copy((1, 1), Side(0, 0, (1, 1)), Side(1, 0, (1, 1)))).shape == (1,)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_any_transpose(shape, rng):
    perm = list(range(len(shape)))
    rng.shuffle(perm)
    check_graph(transpose(tuple(shape), tuple(perm), "f16"), exact=True)


def us(text):
    return aicore.estimate(lower(parse_module(text), CHIP), CHIP).us


GROUPED = [
    ((64, 12, 16, 64), (0, 2, 1, 3)),
    ((24, 5, 4, 6, 32), (0, 3, 1, 2, 4)),
    ((96, 4, 3, 50), (0, 1, 3, 2)),
    ((98, 7, 64), (0, 2, 1)),
]


@pytest.mark.parametrize("chip", ["Ascend910B1", "Ascend310P3"])
@pytest.mark.parametrize(("shape", "perm"), GROUPED)
def test_small_tiles_are_moved_together(shape, perm, chip):
    lowered, _ = check_graph(transpose(shape, perm, "f16"), chip, exact=True)
    assert module_text(lowered).count("aicore.copy_ub_gm") > 1


NEAR = [
    ((64, 12, 64, 64), (0, 2, 1, 3)),
    ((8, 64, 56, 56), (0, 2, 3, 1)),
    ((8, 56, 56, 64), (0, 3, 1, 2)),
    ((8, 512, 28, 28), (0, 2, 3, 1)),
    ((8, 224, 224, 3), (0, 3, 1, 2)),
]


@pytest.mark.parametrize(("shape", "perm"), NEAR)
def test_transposes_are_near_what_memory_gives(shape, perm):
    fast = 2 * 2 * np.prod(shape) / 1.48e6 + 5.4  # GM -> UB of a cold stream, and a launch [us]
    assert us(transpose(shape, perm, "f16")) < 1.25 * fast


def test_short_runs_take_longer():
    fast = us(transpose((64, 512, 512), (1, 0, 2), "f16"))
    slow = us(transpose((64, 32768, 8), (1, 0, 2), "f16"))
    assert fast > 6
    assert slow > 1.2 * fast


@pytest.mark.parametrize("chip", ["Ascend910A", "Ascend950PR_958x"])
def test_other_chips(chip):
    check_graph(transpose((3, 20, 33), (0, 2, 1), "f16"), chip, exact=True)
