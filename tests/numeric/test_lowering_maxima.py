"""Places of maxima by kernels, against numpy: which of equal ones is named, and NaN."""

import numpy as np
import pytest
from lowered_op import make_with, module_of
from lowering_check import CHIP
from op_runs import SHAPING
from op_witness import F16, F32, sample

from ge_xdsl.interpreters import aicore
from ge_xdsl.lowering import lower

HIGH, WIDE = 13, 17


def ends(size, count):
    """Where adaptive windows over a dimension begin and end."""
    return [slice(i * size // count, -(-(i + 1) * size // count)) for i in range(count)]


def steps(size, kernel, stride):
    return [slice(i, i + kernel) for i in range(0, size - kernel + 1, stride)]


CASES = {
    "whole planes": ("AdaptiveMaxPool2d", {"output_size": [1, 1]}, ends(HIGH, 1), ends(WIDE, 1)),
    "whole rows": ("AdaptiveMaxPool2d", {"output_size": [3, 1]}, ends(HIGH, 3), ends(WIDE, 1)),
    "adaptive": ("AdaptiveMaxPool2d", {"output_size": [2, 3]}, ends(HIGH, 2), ends(WIDE, 3)),
    "large": (
        "MaxPoolWithArgmaxV3",
        {"ksize": [5, 4], "strides": [4, 3], "pads": [0, 0]},
        steps(HIGH, 5, 4),
        steps(WIDE, 4, 3),
    ),
    "small": (
        "MaxPoolWithArgmaxV3",
        {"ksize": [2, 3], "strides": [1, 2], "pads": [0, 0]},
        steps(HIGH, 2, 1),
        steps(WIDE, 3, 2),
    ),
}
"""Name -> op type, attributes, and the rows and columns of the windows."""


def lowered(op_type, x, attrs):
    return lower(module_of(make_with(op_type, [x], SHAPING, (), attrs)), CHIP)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", [F32, F16])
def test_the_first_of_equal_maxima_is_named(name, dtype):
    """In row order, and the first NaN before all numbers: as argmax has it."""
    op_type, attrs, rows, columns = CASES[name]
    x = np.random.default_rng(3).integers(0, 3, (2, 3, HIGH, WIDE)).astype(dtype)
    x[0, 0, 4, 3] = x[0, 0, 2, 9] = x[1, 2, 12, 16] = np.nan
    x[1, 0] = -np.inf
    (best, index), report = aicore.run(lowered(op_type, x, attrs), {"x0": x}, CHIP, checked=True)
    assert not report.calls
    numbers = np.arange(HIGH * WIDE).reshape(HIGH, WIDE)
    best, index = (v.reshape(2, 3, len(rows), len(columns)) for v in (best, index))
    for i, row in enumerate(rows):
        for j, column in enumerate(columns):
            part = x[..., row, column].reshape(2, 3, -1)
            first = part.argmax(-1)
            np.testing.assert_array_equal(index[..., i, j], numbers[row, column].reshape(-1)[first])
            wanted = np.take_along_axis(part, first[..., None], -1)[..., 0]
            np.testing.assert_array_equal(best[..., i, j], wanted)


@pytest.mark.parametrize(("size", "most"), [(7, 60), (1, 2)])
def test_large_windows_take_no_step_for_each_element(size, most):
    """Windows have 100 elements, or 4096."""
    x = sample("any", (8, 64, 64, 64), F32)
    program = lowered("AdaptiveMaxPool2d", x, {"output_size": [size, size]})
    assert len(aicore.estimate(program, CHIP).kernels) <= most
