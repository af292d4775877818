"""Slices that a vector kernel reads in place: where they are taken, and where not."""

import pytest
from lowering_check import check_graph, const, graph

from ge_xdsl.dialects.ge.text import module_text
from ge_xdsl.lowering.windows import Window


def sliced(offset, size, shape, element="f16", more=()):
    """A slice of x, and two ops on it."""
    rank, t = len(shape), "x".join(map(str, size))
    lines = [
        const("o", list(offset), f"{rank}xi64"),
        const("s", list(size), f"{rank}xi64"),
        f"a = ge.Slice(x, o, s) -> {t}x{element}",
        f"b = ge.Relu(a) -> {t}x{element}",
        f"y = ge.Add(a, b) -> {t}x{element}",
        *more,
    ]
    x = f"{'x'.join(map(str, shape))}x{element}"
    return graph(lines, "y, z" if more else "y", x=x)


IN_PLACE = [
    ((0, 100), (30, 157), (30, 300)),
    ((3, 0), (20, 64), (30, 64)),
    ((0, 3, 0), (5, 4, 40), (5, 9, 40)),
    ((2, 0, 0), (3, 9, 40), (5, 9, 40)),
    ((1, 0, 17), (1, 9, 80), (3, 9, 100)),
]


@pytest.mark.parametrize(("offset", "size", "shape"), IN_PLACE)
@pytest.mark.parametrize("element", ["f16", "f32"])
def test_a_slice_for_one_chain_is_read_in_place(offset, size, shape, element):
    lowered, report = check_graph(sliced(offset, size, shape, element), exact=True)
    assert len(report.kernels) == 1
    assert report.timed == 3
    assert module_text(lowered).count("aicore.strided") == 1


APART = [
    ((0, 3), (30, 20), (30, 300)),  # rows of 40 bytes
    ((2, 3, 0), (3, 4, 70), (5, 9, 80)),  # planes of rows: two strides
    ((2, 0, 3), (3, 7, 80), (5, 9, 100)),
]


@pytest.mark.parametrize(("offset", "size", "shape"), APART)
def test_slices_of_short_rows_and_of_several_strides_are_copied(offset, size, shape):
    _, report = check_graph(sliced(offset, size, shape), exact=True)
    assert len(report.kernels) == 2


def test_a_slice_with_other_users_is_copied():
    more = [const("p", [1, 0], "2xi64"), "z = ge.Transpose(a, p) -> 157x30xf16"]
    text = sliced((0, 100), (30, 157), (30, 300), more=more)
    _, report = check_graph(text, exact=True)
    assert len(report.kernels) == 3


def test_a_slice_that_is_broadcast_is_copied():
    lines = [
        const("o", [1, 0], "2xi64"),
        const("s", [1, 80], "2xi64"),
        "a = ge.Slice(x, o, s) -> 1x80xf16",
        "y = ge.Add(x, a) -> 30x80xf16",
    ]
    _, report = check_graph(graph(lines, "y", x="30x80xf16"), exact=True)
    assert len(report.kernels) == 2


def test_a_reduction_reads_its_rows_in_place():
    lines = [
        const("o", [0, 100], "2xi64"),
        const("s", [30, 157], "2xi64"),
        "a = ge.Slice(x, o, s) -> 30x157xf32",
        "y = ge.SoftmaxV2(a) {axes = [-1]} -> 30x157xf32",
    ]
    _, report = check_graph(graph(lines, "y", x="30x300xf32"))
    assert len(report.kernels) == 1


@pytest.mark.parametrize("op", ["SwiGlu", "GLU"])
@pytest.mark.parametrize(("dim", "x", "y"), [(-1, "37x514", "37x257"), (0, "38x200", "19x200")])
def test_gates_are_one_kernel(op, dim, x, y):
    text = graph([f"y = ge.{op}(x) {{dim = {dim} : i64}} -> {y}xf16"], "y", x=f"{x}xf16")
    lowered, report = check_graph(text)
    assert len(report.kernels) == 1
    assert module_text(lowered).count("aicore.strided") == 2


def test_the_strides_of_a_window():
    """Rows of 12 elements that stand 40 apart, seen with one row in one or in two dimensions."""
    window = Window(200, 5, 12, 40)
    assert window.strides((5, 12)) == (40, 1)
    assert window.strides((5, 3, 4)) == (40, 4, 1)
    assert window.strides((1, 5, 12)) == (200, 40, 1)
    assert window.splits((5, 3, 4)) == [(5, 1, 1)]
    assert window.splits((12,)) == []


@pytest.mark.parametrize(("shape", "axis"), [((1, 512), 1), ((512,), 0), ((4, 128), 0)])
def test_parts_of_a_vector_are_read_in_place_or_copied(shape, axis):
    """The gates of a recurrent step: four parts of one row, all used by one chain."""
    part = "x".join(str(d // 4 if k == axis else d) for k, d in enumerate(shape))
    lines = [
        f"a, b, c, d = ge.SplitD(x) {{split_dim = {axis}, num_split = 4}}"
        f" -> {part}xf32, {part}xf32, {part}xf32, {part}xf32",
        f"e = ge.Mul(a, b) -> {part}xf32",
        f"f = ge.Mul(c, d) -> {part}xf32",
        f"y = ge.Add(e, f) -> {part}xf32",
    ]
    x = f"{'x'.join(map(str, shape))}xf32"
    check_graph(graph(lines, "y", x=x), exact=True)
