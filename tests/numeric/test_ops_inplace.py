"""Rows replaced, raised and lowered: loops against `evaluate`."""

import numpy as np
import pytest
from op_runs import make, run
from op_witness import BF16, F32, I32, assert_close, sample


@pytest.mark.parametrize("dtype", [F32, BF16, I32])
@pytest.mark.parametrize("how", ["Update", "Add", "Sub"])
def test_rows(how, dtype):
    x, v = sample("any", (4, 3), dtype), sample("any", (5, 3), dtype, 1)
    indices = np.array([1, -1, 9, 1, 0], I32)
    wide = x.astype(F32)
    for i, row in zip(indices, v.astype(F32), strict=True):
        old = wide[i % 4]
        wide[i % 4] = {"Update": row, "Add": old + row, "Sub": old - row}[how]
    assert_close(run(f"Inplace{how}", x, indices, v)[0], wide.astype(dtype))
    y = run(f"Inplace{how}D", x, v, indices=indices.tolist())[0]
    assert_close(y, wide.astype(dtype))


def test_nothing_to_change():
    arrays = [np.zeros((0, 2), F32), np.array([0], I32), np.zeros((1, 2), F32)]
    op = make("InplaceAdd", arrays, True)
    with pytest.raises(ValueError, match="x has no rows, expected at least one"):
        op.execute(arrays)
    none = run("InplaceAddD", np.zeros((0, 2), F32), np.zeros((0, 2), F32), indices=[])[0]
    assert none.shape == (0, 2)
