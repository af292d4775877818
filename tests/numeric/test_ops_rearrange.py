"""Rolling, reversing, repeating and moving blocks: onnxruntime and loops against `evaluate`."""

import numpy as np
import pytest
from op_runs import make, onnx_outputs, run
from op_witness import BF16, F16, F32, I32, I64, assert_close, sample

DTYPES = (F32, F16, BF16, I32)


@pytest.mark.parametrize("dtype", DTYPES)
def test_roll(dtype):
    x = sample("any", (3, 4), dtype)
    expected = np.empty_like(x)
    for i, j in np.ndindex(3, 4):
        expected[(i + 1) % 3, (j - 2) % 4] = x[i, j]
    assert_close(run("Roll", x, shifts=[1, -2], dims=[0, -1])[0], expected)
    flat = np.concatenate([x.reshape(-1)[-5:], x.reshape(-1)[:-5]]).reshape(3, 4)
    assert_close(run("Roll", x, shifts=[5])[0], flat)


@pytest.mark.parametrize("axis", [[0], [1, -1], []])
def test_reverse(axis):
    x = sample("any", (3, 4, 5), F16)
    steps = [-1 if i in [a % 3 for a in axis] else 1 for i in range(3)]
    expected = x[:: steps[0], :: steps[1], :: steps[2]]
    assert_close(run("ReverseV2", x, np.array(axis, I32))[0], expected)
    assert_close(run("ReverseV2D", x, axis=axis)[0], expected)


@pytest.mark.parametrize(("batch", "time"), [(0, 1), (1, 0)])
def test_reverse_sequence_as_onnx(batch, time):
    x, lengths = sample("any", (4, 4, 3), F32), np.array([0, 1, 3, 4])
    expected = onnx_outputs(
        "ReverseSequence", x, np.maximum(lengths, 1), batch_axis=batch, time_axis=time
    )[0]
    y = run("ReverseSequence", x, lengths, seq_dim=time, batch_dim=batch)[0]
    assert_close(y, expected)


def test_reverse_sequence_along_a_later_dimension():
    x, lengths = sample("any", (2, 3, 4), F32), np.array([2, 4, 3], I32)
    expected = x.copy()
    for b, n in enumerate(lengths):
        expected[:, b, :n] = x[:, b, :n][:, ::-1]
    assert_close(run("ReverseSequence", x, lengths, seq_dim=-1, batch_dim=1)[0], expected)


@pytest.mark.parametrize("repeats", [2, [3], [0, 1, 3], 0])
def test_repeat(repeats):
    x = sample("any", (2, 3), F32)
    each = np.resize(np.array(repeats), 3)
    columns = [x[:, i] for i in range(3) for _ in range(each[i])]
    expected = np.stack(columns, 1) if columns else np.zeros((2, 0), F32)
    assert_close(run("RepeatInterleave", x, np.array(repeats, I64), axis=-1)[0], expected)


@pytest.mark.parametrize("mode", ["DCR", "CRD"])
def test_depth_to_space_as_onnx(mode):
    x = sample("any", (2, 12, 3, 2), F32)
    expected = onnx_outputs("DepthToSpace", x, blocksize=2, mode=mode)[0]
    attrs = {"block_size": 2, "mode": mode}
    assert_close(run("DepthToSpace", x, data_format="NCHW", **attrs)[0], expected)
    y = run("DepthToSpace", np.ascontiguousarray(x.transpose(0, 2, 3, 1)), **attrs)[0]
    assert_close(y, expected.transpose(0, 2, 3, 1))


def test_space_to_depth():
    x = sample("any", (2, 6, 4, 3), F32)
    expected = onnx_outputs("SpaceToDepth", x.transpose(0, 3, 1, 2), blocksize=2)[0]
    y = run("SpaceToDepth", x, block_size=2)[0]
    assert_close(y, expected.transpose(0, 2, 3, 1))


def test_space_to_depth_of_channels_first_keeps_channels_outermost():
    x = sample("any", (2, 3, 6, 4), F32)
    y = run("SpaceToDepth", x, block_size=2, data_format="NCHW")[0]
    for n, c, i, j, h, w in np.ndindex(2, 3, 2, 2, 3, 2):
        assert y[n, 4 * c + 2 * i + j, h, w] == x[n, c, 2 * h + i, 2 * w + j]
    back = run("DepthToSpace", y, block_size=2, mode="CRD", data_format="NCHW")[0]
    assert_close(back, x)


@pytest.mark.parametrize(
    ("op_type", "arrays", "attrs", "text"),
    [
        ("ReverseSequence", [np.zeros((2, 3), F32), np.array([1, 4])], {"seq_dim": 1},
         r"seq_lengths are \[1, 4\], expected 0 to 3"),
        ("RepeatInterleave", [np.zeros(2, F32), np.array([1, -1])], {"axis": 0},
         r"repeats are \[1, -1\], expected none negative"),
    ],
)  # fmt: skip
def test_refused_values(op_type, arrays, attrs, text):
    op = make(op_type, arrays, False, attrs=attrs)
    with pytest.raises(ValueError, match=text):
        op.execute(arrays)
