"""Integer arithmetic on shapes."""

import pytest
from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge import shapes
from ge_xdsl.dialects.ge.types import DYNAMIC

D = DYNAMIC


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ([(2, 3), (3,)], (2, 3)),
        ([(2, 1), (1, 3)], (2, 3)),
        ([(), (4,)], (4,)),
        ([(D,), (3,)], (3,)),
        ([(D,), (1,)], (D,)),
        ([(0,), (1,)], (0,)),
        ([None, (3,)], None),
        ([(2,), (2,), (5, 1)], (5, 2)),
    ],
)
def test_broadcast(given, wanted):
    assert shapes.broadcast(*given) == wanted


@pytest.mark.parametrize(
    ("count", "shape", "wanted"),
    [
        (6, (2, 3), (2, 3)),
        (6, (-1, 3), (2, 3)),
        (0, (0, 3), (0, 3)),
        (None, (-1, 3), (D, 3)),
        (None, (2, 3), (2, 3)),
        (1, (), ()),
    ],
)
def test_reshape_dims(count, shape, wanted):
    assert shapes.reshape_dims(count, shape) == wanted


def test_axes_and_dims():
    assert shapes.normalize_axis(-1, 3) == 2
    assert shapes.normalize_axis(-1, 0) == 0
    assert shapes.normalize_axes([2, -3], 3) == (0, 2)
    assert shapes.add_dims(1, D) == D
    assert shapes.multiply_dims(0, D) == 0
    assert shapes.multiply_dims(2, D) == D
    assert shapes.multiply_dims() == 1
    assert shapes.merge_dim(D, 3, "x") == 3
    assert shapes.shape_text(None) == "unknown rank"
    assert shapes.shape_text(()) == "scalar"
    assert shapes.shape_text((2, D)) == "2x?"


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: shapes.broadcast((2,), (3,)), "shapes are 2 and 3, expected ones that broadcast"),
        (lambda: shapes.normalize_axis(3, 3), r"axis is 3, expected one in \[-3, 3\)"),
        (lambda: shapes.normalize_axes([0, -2], 2), r"axes are \[0, -2\], expected no axis twice"),
        (lambda: shapes.merge_dim(2, 3, "sizes"), "sizes are 2 and 3, expected equal ones"),
        (lambda: shapes.reshape_dims(6, (-1, -1)), "expected at most one unknown"),
        (lambda: shapes.reshape_dims(6, (4, 2)), "shape 4x2 has 8 elements, expected 6"),
        (lambda: shapes.reshape_dims(6, (-1, 4)), "6 elements, expected a multiple of 4"),
        (lambda: shapes.reshape_dims(6, (-1, 0)), "6 elements, expected a multiple of 0"),
    ],
)
def test_errors(call, text):
    with pytest.raises(VerifyException, match=text):
        call()
