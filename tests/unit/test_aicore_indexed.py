"""Gather, scatter, sort, scan and scalar instructions: what they refuse, do and cost."""

import numpy as np
import pytest
from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.aicore.indexed import (
    ScalarOp,
    VargreduceOp,
    VgatherOp,
    VscanOp,
    VscatterOp,
    VsortOp,
)
from ge_xdsl.dialects.aicore.structure import AllocOp
from ge_xdsl.dialects.aicore.types import Tile
from ge_xdsl.dialects.aicore.vector import VcastOp
from ge_xdsl.interpreters.indexed_tiles import (
    round_to_whole,
    scalar,
    vargreduce,
    vgather,
    vscan,
    vscatter,
    vsort,
)
from ge_xdsl.interpreters.tiles import Buffer
from ge_xdsl.targets import target
from ge_xdsl.targets.cost import SCALAR_CYCLES, cost

CHIP = target("Ascend910B1")
FLOATS, HALVES = Tile((4, 64), "f32", "ub"), Tile((4, 64), "f16", "ub")
WHOLE, WIDE = Tile((4, 64), "i32", "ub"), Tile((4, 64), "i64", "ub")
TRUTHS, ROW = Tile((4, 64), "i1", "ub"), Tile((1, 64), "i32", "ub")
THREE = Tile((3, 64), "i32", "ub")


def build(cls, *tiles, sizes=(4, 64), at=0, **options):
    values = [AllocOp.make(tile.type).results[0] for tile in tiles]
    places = [AllocOp.make(ROW.type).results[0] for _ in range(at)]
    return cls.build(*values, sizes=list(sizes), at=places, **options)


ILLEGAL = [
    (VgatherOp, (FLOATS, FLOATS, FLOATS), {}, "gathers f32 to f32 by f32, expected one element"),
    (VgatherOp, (FLOATS, THREE, FLOATS), {}, "index has 3 rows, expected 1 or 4 as 'dst' has"),
    (VgatherOp, (FLOATS, WHOLE, FLOATS), {"sizes": (5, 64)}, "size is 5 in 'dst', expected 1 to 4"),
    (VsortOp, (WHOLE, WHOLE), {}, "sorts i32 to i32, expected f16 or f32 to i32"),
    (VsortOp, (FLOATS, WHOLE), {"sizes": (4, 65)}, "size is 65 in 'src', expected 1 to 64"),
    (VargreduceOp, (FLOATS, FLOATS), {}, "reduces f32 to f32, expected f16 or f32 to i32"),
    (VargreduceOp, (FLOATS, ROW), {"axis": "cols"}, "size is 4 in 'dst', expected 1 to 1"),
    (VscanOp, (FLOATS, HALVES), {}, "scans f32 to f16, expected one of f16, f32, i32 for both"),
    (VscanOp, (FLOATS, FLOATS), {"sizes": (9, 1)}, "size is 9 in 'src', expected 1 to 4"),
    (VscatterOp, (FLOATS, WIDE, FLOATS), {"at": 1}, "scatters f32 to f32 by i64, expected one"),
    (VscatterOp, (FLOATS, ROW, FLOATS), {}, "has 0 indices, expected that of the first row"),
    (ScalarOp, (WIDE,), {"kind": "fill"}, "option 'value' is missing, it is required"),
    (ScalarOp, (WIDE, WIDE, WIDE), {"kind": "lt"}, "compares to i64, expected i1"),
    (ScalarOp, (WIDE, WIDE, WHOLE), {"kind": "add"}, "elements are i64, i64, i32, expected one"),
    (ScalarOp, (WIDE, WIDE, WIDE, WIDE), {"kind": "select"}, "selects by i64, expected i1"),
    (VcastOp, (FLOATS, FLOATS), {}, "option 'round' is missing, it is required from f32 to f32"),
    (VcastOp, (FLOATS, HALVES), {"round": "floor"}, "rounds f32 to f16, expected it to an integer"),
]


@pytest.mark.parametrize(("cls", "tiles", "options", "message"), ILLEGAL)
def test_illegal(cls, tiles, options, message):
    op = build(cls, *tiles, **options)
    with pytest.raises(VerifyException) as caught:
        op.check()
    assert message in str(caught.value)


LEGAL = [
    (VgatherOp, (WIDE, ROW, WIDE), {}),
    (VsortOp, (HALVES, WHOLE), {"descending": True}),
    (VargreduceOp, (FLOATS, ROW), {"kind": "min", "axis": "rows"}),
    (VscanOp, (WHOLE, WHOLE), {"kind": "max"}),
    (VscatterOp, (FLOATS, ROW, FLOATS), {"at": 1}),
    (ScalarOp, (WIDE, TRUTHS), {"kind": "ge", "value": 3.0}),
    (ScalarOp, (TRUTHS, WIDE, WIDE, WIDE), {"kind": "select"}),
    (ScalarOp, (WIDE, HALVES), {"kind": "cast"}),
]


@pytest.mark.parametrize(("cls", "tiles", "options"), LEGAL)
def test_legal_instructions_have_a_cost(cls, tiles, options):
    op = build(cls, *tiles, **options)
    op.check()
    assert cost(op.work((4, 64)), CHIP).busy > cost(op.work((1, 8)), CHIP).busy


def test_the_scalar_unit_takes_its_cycles_for_each_element():
    op = build(ScalarOp, WIDE, WIDE, WIDE, kind="add")
    assert cost(op.work((4, 64)), CHIP).busy == 4 * 64 * SCALAR_CYCLES


def test_a_row_sort_takes_a_pass_for_each_fourfold_length():
    op = build(VsortOp, Tile((1, 4096), "f32", "ub"), Tile((1, 4096), "i32", "ub"))
    passes = [op.work((1, n)).instructions for n in (32, 33, 128, 129, 4096)]
    assert passes == [1, 2, 2, 3, 5]


def buffer(array, element="f32", written=True):
    found = Buffer("t", Tile(array.shape, element, "ub"))
    if written:
        found.put(array)
    return found


def test_gather():
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    y = buffer(np.zeros((3, 2), np.float32), written=False)
    vgather(buffer(x), buffer(np.array([[3, 0]], np.int32), "i32"), y, 3, 2)
    np.testing.assert_array_equal(y.get(0, 0, 3, 2), x[:, [3, 0]])
    each = np.array([[0, 1], [3, 3], [2, 0]], np.int32)
    vgather(buffer(x), buffer(each, "i32"), y, 3, 2)
    np.testing.assert_array_equal(y.get(0, 0, 3, 2), np.take_along_axis(x, each, 1))


def test_gather_of_an_element_that_is_not_there():
    x, y = np.ones((1, 4), np.float32), buffer(np.zeros((1, 1), np.float32), written=False)
    with pytest.raises(ValueError, match="gathers element 4 of 't', which has 4"):
        vgather(buffer(x), buffer(np.array([[4]], np.int32), "i32"), y, 1, 1)


@pytest.mark.parametrize("descending", [False, True])
def test_sort_keeps_the_order_of_equals_and_takes_nan_for_the_largest(descending):
    x = np.array([[2, np.nan, 1, 2, -np.inf]], np.float32)
    order = buffer(np.zeros((1, 5), np.int32), "i32", written=False)
    vsort(buffer(x), order, 1, 5, descending)
    want = [1, 0, 3, 2, 4] if descending else [4, 2, 0, 3, 1]
    assert order.get(0, 0, 1, 5)[0].tolist() == want


def test_argreduce_takes_the_first_of_equals():
    x = np.array([[1, 3, 3], [0, -1, 5]], np.float32)
    out = buffer(np.zeros((2, 1), np.int32), "i32", written=False)
    vargreduce(buffer(x), out, 2, 3, "max", "cols")
    assert out.get(0, 0, 2, 1)[:, 0].tolist() == [1, 2]
    down = buffer(np.zeros((1, 3), np.int32), "i32", written=False)
    vargreduce(buffer(x), down, 2, 3, "min", "rows")
    assert down.get(0, 0, 1, 3)[0].tolist() == [1, 1, 0]


SCANS = [
    ("add", False, False, [1, 3, 6]),
    ("add", True, False, [0, 1, 3]),
    ("mul", False, True, [6, 6, 3]),
    ("mul", True, True, [6, 3, 1]),
    ("max", False, False, [1, 2, 3]),
]


@pytest.mark.parametrize(("kind", "exclusive", "reverse", "want"), SCANS)
def test_scan(kind, exclusive, reverse, want):
    x = np.array([[1], [2], [3]], np.float32)
    y = buffer(np.zeros((3, 1), np.float32), written=False)
    vscan(buffer(x), y, 3, 1, kind, exclusive, reverse)
    assert y.get(0, 0, 3, 1)[:, 0].tolist() == want


def test_scatter_passes_over_rows_of_other_tiles():
    y = buffer(np.zeros((2, 3), np.float32))
    updates = np.arange(1, 10, dtype=np.float32).reshape(3, 3)
    index = buffer(np.array([[5, 4, 7]], np.int32), "i32")
    vscatter(buffer(updates), index, y, 3, 3, "update", False, 4)
    np.testing.assert_array_equal(y.get(0, 0, 2, 3), updates[[1, 0]])
    each = buffer(np.array([[4, 5, 9], [4, 5, 5], [0, 4, 4]], np.int32), "i32")
    z = buffer(np.zeros((2, 3), np.float32))
    vscatter(buffer(updates), each, z, 3, 3, "add", True, 4)
    np.testing.assert_array_equal(z.get(0, 0, 2, 3), [[5, 8, 9], [0, 7, 6]])


DIVISIONS = [
    ("div", [2, -2, -2, 2, 0]),
    ("rem", [1, -1, 1, -1, 7]),
    ("floordiv", [2, -3, -3, 2, 0]),
    ("mod", [1, 2, -2, -1, 7]),
]


@pytest.mark.parametrize(("kind", "want"), DIVISIONS)
def test_integer_divisions(kind, want):
    a, b = np.array([7, -7, 7, -7, 7], np.int64), np.array([3, 3, -3, -3, 0], np.int64)
    assert scalar(kind, a.dtype, a, b).tolist() == want


def test_shifts_by_more_bits_than_there_are():
    a = np.array([1, -8], np.int32)
    assert scalar("shr", a.dtype, a, np.array([40, 40], np.int32)).tolist() == [0, -1]
    assert scalar("shl", a.dtype, a, np.array([3, 1], np.int32)).tolist() == [8, -16]


@pytest.mark.parametrize(
    ("mode", "want"),
    [
        ("rint", [2, -2, 0, 1]),
        ("floor", [1, -3, 0, 1]),
        ("ceil", [2, -2, 1, 2]),
        ("trunc", [1, -2, 0, 1]),
        ("round", [2, -3, 0, 1]),
    ],
)
def test_rounding(mode, want):
    x = np.array([1.5, -2.5, np.nextafter(np.float32(0.5), 0), 1.25], np.float32)
    assert round_to_whole(x, mode).tolist() == want
