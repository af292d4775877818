"""Recurrent ops: onnxruntime's LSTM and GRU against `evaluate`."""

import numpy as np
import pytest
from op_runs import make, onnx_outputs, run
from op_witness import F16, F32, F64, I32, assert_close, sample

from ge_xdsl.dialects.ge.types import DataType, Tensor

T, B, X, H = 5, 3, 4, 6
LENGTHS = np.array([5, 2, 3], I32)
IJFO = [0, 3, 2, 1]
"""ONNX blocks i, o, f, c -> the columns i, j, f, o."""


def weights(gates, count, dtype=F32):
    """x, w, r and b as ONNX has them, for `count` directions."""
    shapes = [(T, B, X), (count, gates * H, X), (count, gates * H, H), (count, 2 * gates * H)]
    return [sample("unit", shape, dtype, seed) for seed, shape in enumerate(shapes)]


def states(count, number, dtype=F32):
    return [sample("unit", (count, B, H), dtype, 10 + k) for k in range(number)]


def close(found, expected, scale=8):
    assert len(found) == len(expected)
    for have, want in zip(found, expected, strict=True):
        assert_close(have, want, scale=scale)


@pytest.mark.parametrize("extras", ["none", "bias", "lengths", "states", "all"])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_common_lstm_as_onnx(direction, extras):
    count = 2 if direction == "bidirectional" else 1
    x, w, r, b = weights(4, count)
    operands = [
        b if extras in ("bias", "all") else None,
        LENGTHS if extras in ("lengths", "all") else None,
        *(states(count, 2) if extras in ("states", "all") else (None, None)),
    ]
    attrs = {"direction": direction, "hidden_size": H}
    expected = onnx_outputs("LSTM", x, w, r, *operands, count=3, **attrs)
    close(run("CommonLSTM", x, w, r, *operands, **attrs), expected)


@pytest.mark.parametrize("extras", ["none", "bias", "lengths", "states", "all"])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_common_gru_as_onnx_with_the_reset_after(direction, extras):
    count = 2 if direction == "bidirectional" else 1
    x, w, r, b = weights(3, count)
    operands = [
        b if extras in ("bias", "all") else None,
        LENGTHS if extras in ("lengths", "all") else None,
        *(states(count, 1) if extras in ("states", "all") else (None,)),
    ]
    attrs = {"direction": direction, "hidden_size": H}
    expected = onnx_outputs("GRU", x, w, r, *operands, count=2, linear_before_reset=1, **attrs)
    close(run("CommonGRU", x, w, r, *operands, **attrs), expected)


def columns(weight, order):
    """ONNX [gates * H, n] -> [n, gates * H] with the blocks in `order`."""
    blocks = weight.reshape(len(order), H, -1)[order]
    return blocks.reshape(len(order) * H, -1).T


@pytest.mark.parametrize("lengths", [False, True])
@pytest.mark.parametrize("direction", ["forward", "reverse"])
@pytest.mark.parametrize("gate_order", ["ijfo", "ifjo", "ifco"])
def test_dynamic_rnn_as_onnx(gate_order, direction, lengths):
    x, w, r, b = weights(4, 1)
    h, c = states(1, 2)
    order = IJFO if gate_order == "ijfo" else [0, 2, 3, 1]
    forget = np.zeros((1, 8 * H), F32)
    forget[0, 2 * H : 3 * H] = 0.7
    given = LENGTHS if lengths else None
    y, y_h, y_c = onnx_outputs(
        "LSTM", x, w, r, b + forget, given, h, c, count=3, direction=direction, hidden_size=H
    )
    parts = [columns(v[0], order) for v in (w, r)]
    bias = columns((b[0, : 4 * H] + b[0, 4 * H :])[:, None], order)[0]
    attrs = {"gate_order": gate_order, "forget_bias": 0.7}
    attrs["direction"] = "UNIDIRECTIONAL" if direction == "forward" else "REDIRECTIONAL"
    if gate_order != "ifco" and not lengths:
        found = run("DynamicRNN", x, np.concatenate(parts), bias, None, h, c, **attrs)
        close([found[0], found[1]], [y[:, 0]] * 2)
        assert_close(found[2][-1 if direction == "forward" else 0], y_c[0], scale=8)
        if gate_order == "ijfo":
            del attrs["gate_order"]
            again = run("DynamicRNNV3", x, np.concatenate(parts), bias, None, h, c, **attrs)
            close(again, found, scale=1)
    if gate_order != "ifjo":
        attrs["gate_order"] = gate_order
        found = run("DynamicRNNV2", x, *parts, bias, given, h, c, **attrs)
        close([found[1], found[2]], [y_h, y_c])
        for t in range(T):
            rows = t < LENGTHS if lengths else np.ones(B, bool)
            assert_close(found[0][t][rows], y[t, 0][rows], scale=8)
    if lengths and gate_order == "ijfo" and direction == "forward":
        held = found[0]
        assert_close(held[4, 1], held[1, 1])  # a sequence of 2 steps keeps its last state


def lstm(x, w, b, h, c, project, hard):
    """An LSTM with the columns i, j, f, o by its formula, in f64: every result per time."""

    def squash(z):
        return np.clip(0.2 * z + 0.5, 0, 1) if hard else 1 / (1 + np.exp(-z))

    found = []
    x, w, b, h, c = (v.astype(F64) for v in (x, w, b, h, c))
    for row in x:
        i, j, f, o = np.split(np.concatenate([row, h], axis=1) @ w + b, 4, axis=1)
        i, j, f, o = squash(i), np.tanh(j), squash(f), squash(o)
        c = f * c + i * j
        h = o * np.tanh(c)
        h = h if project is None else h @ project.astype(F64)
        found.append((h, c, i, j, f, o, np.tanh(c)))
    return [np.stack(v).astype(F32) for v in zip(*found, strict=True)]


def test_every_result_of_an_lstm():
    x, w, b = (
        sample("unit", s, F32, k) for k, s in enumerate([(T, B, X), (X + H, 4 * H), (4 * H,)])
    )
    h, c = states(1, 2)
    expected = lstm(x, w, b, h[0], c[0], None, False)
    found = run("DynamicRNN", x, w, b, None, h, c)
    close(found, [expected[0], *expected])
    expected = lstm(x, w, b, h[0], c[0], None, True)
    found = run("DynamicRNNV2", x, w[:X], w[X:], b, None, h, c, recurrent_activation="hard_sigmoid")
    close(found, [expected[0], expected[0][-1:], expected[1][-1:], *expected[2:]])


def test_projected_states():
    size = 2
    shapes = [(T, B, X), (X + size, 4 * H), (4 * H,), (H, size)]
    x, w, b, project = (sample("unit", s, F32, k) for k, s in enumerate(shapes))
    h, c = sample("unit", (1, B, size), F32, 8), sample("unit", (1, B, H), F32, 9)
    expected = lstm(x, w, b, h[0], c[0], project, False)
    found = run("DynamicRNNV3", x, w, b, None, h, c, None, None, None, None, None, project)
    close(found, [expected[0], *expected])


def test_types_of_results():
    x, w = sample("unit", (T, B, X), F16), sample("unit", (X + H, 4 * H), F16, 1)
    b = sample("unit", (4 * H,), F32, 2)
    y, output_h, output_c, *_ = run("DynamicRNN", x, w, b)
    assert (y.dtype, output_h.dtype, output_c.dtype) == (F32, F16, F32)
    assert_close(output_h, y.astype(F16))
    y, output_h, output_c, *_ = run("DynamicRNNV2", x, w[:X], w[X:])
    assert {v.dtype for v in (y, output_h, output_c)} == {np.dtype(F16)}


@pytest.mark.parametrize("lengths", [False, True])
@pytest.mark.parametrize("direction", ["forward", "reverse"])
@pytest.mark.parametrize("gate_order", ["zrh", "rzh"])
def test_dynamic_gru_as_onnx(gate_order, direction, lengths):
    x, w, r, b = weights(3, 1)
    [h] = states(1, 1)
    given = LENGTHS if lengths else None
    y, y_h = onnx_outputs(
        "GRU", x, w, r, b, given, h, count=2, direction=direction, hidden_size=H,
        linear_before_reset=1,
    )  # fmt: skip
    order = [0, 1, 2] if gate_order == "zrh" else [1, 0, 2]
    parts = [columns(v[0], order) for v in (w, r)]
    biases = [columns(v[:, None], order)[0] for v in (b[0, : 3 * H], b[0, 3 * H :])]
    attrs = {"gate_order": gate_order}
    attrs["direction"] = "UNIDIRECTIONAL" if direction == "forward" else "REDIRECTIONAL"
    found = run("DynamicGRUV2", x, *parts, *biases, given, h, **attrs)
    for t in range(T):
        rows = t < LENGTHS if lengths else np.ones(B, bool)
        assert_close(found[0][t][rows], y[t, 0][rows], scale=8)
    assert_close(found[1], found[0])
    assert_close(found[0][-1 if direction == "forward" else 0], y_h[0], scale=8)
    none = np.zeros((T, B), F32)
    attended = run("DynamicAUGRU", x, *parts, none, *biases, given, h, **attrs)
    close([attended[k] for k in (0, 1, 2, 4, 5, 6)], found, scale=1)
    assert_close(attended[3], attended[2])


def test_every_result_of_a_gru_with_attention():
    shapes = [(T, B, X), (X, 3 * H), (H, 3 * H), (3 * H,), (3 * H,)]
    x, wi, wh, bi, bh = (sample("unit", s, F32, k) for k, s in enumerate(shapes))
    att = np.abs(sample("unit", (T, B), F32, 9))
    h = np.zeros((B, H))
    found = []
    for row, weight in zip(x.astype(F64), att.astype(F64), strict=True):
        xz, xr, xn = np.split(row @ wi + bi, 3, axis=1)
        hz, hr, hn = np.split(h @ wh + bh, 3, axis=1)
        z, r = 1 / (1 + np.exp(-xz - hz)), 1 / (1 + np.exp(-xr - hr))
        n = np.tanh(xn + r * hn)
        attended = z - z * weight[:, None]
        h = (h - n) * attended + n
        found.append((h, h, z, attended, r, n, hn))
    expected = [np.stack(v).astype(F32) for v in zip(*found, strict=True)]
    close(run("DynamicAUGRU", x, wi, wh, att, bi, bh), expected)


def test_no_steps():
    x = np.zeros((0, B, X), F32)
    w, r = np.zeros((X, 4 * H), F32), np.zeros((H, 4 * H), F32)
    assert run("DynamicRNNV2", x, w, r)[0].shape == (0, B, H)
    assert run("DynamicGRUV2", x, w[:, : 3 * H], r[:, : 3 * H])[0].shape == (0, B, H)


REFUSED = {
    "both": ("DynamicGRUV2", {"direction": "BIDIRECTIONAL"}, "direction is 'BIDIRECTIONAL'"),
    "clip": ("DynamicGRUV2", {"cell_clip": 2.0}, "cell_clip is 2, expected a negative one"),
    "keep": ("DynamicGRUV2", {"keep_prob": 0.5}, "keep_prob is 0.5, expected 1.0"),
    "activations": ("CommonGRU", {"activations": ["Relu"]}, r"activations is \['Relu'\], expected"),
    "onnx clip": ("CommonGRU", {"clip": 3.0}, "clip is 3, expected none"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_values_that_are_unconfirmed(name):
    op_type, attrs, text = REFUSED[name]
    if op_type == "CommonGRU":
        operands, attrs = weights(3, 1)[:3], {"hidden_size": H, **attrs}
    else:
        operands = [np.zeros(s, F32) for s in ((T, B, X), (X, 3 * H), (H, 3 * H))]
    with pytest.raises(ValueError, match=text):
        make(op_type, operands, True, (), None, attrs).execute(operands)


def test_more_values_that_are_unconfirmed():
    x, w, b = (np.zeros(s, F32) for s in ((T, B, X), (X + H, 4 * H), (4 * H,)))
    with pytest.raises(ValueError, match="seq_length is given, expected none: its effect"):
        run("DynamicRNN", x, w, b, LENGTHS)
    with pytest.raises(ValueError, match="seq_length or real_mask is given, expected neither"):
        run("DynamicRNNV3", x, w, b, LENGTHS)
    with pytest.raises(ValueError, match="input_forget is 1, expected 0"):
        run("CommonLSTM", *weights(4, 1)[:3], hidden_size=H, input_forget=1)


def test_both_directions_have_a_shape():
    shapes = ((T, B, X), (2 * (X + H), 4 * H), (8 * H,))
    op = make("DynamicRNN", [np.zeros(s, F32) for s in shapes], True, (), None,
              {"direction": "BIDIRECTIONAL"})  # fmt: skip
    found = op.inferred()
    assert [t.shape for t in found[:4]] == [(T, B, 2 * H)] * 3 + [(2 * T, B, H)]


def test_cells_without_a_value_have_shapes():
    x, h, w, b = (np.zeros(s, F32) for s in ((B, X), (B, H), (X + H, 4 * H), (4 * H,)))
    op = make("BasicLSTMCell", (x, h, h, w, b), True)
    assert op.inferred() == [Tensor(DataType.DT_FLOAT, (B, H))] * 7
    shapes = ((B, T, X), (4 * H, X), (4 * H,), (4 * H, 2), (2, H))
    op = make("LSTMP", [np.zeros(s, F32) for s in shapes], True)
    assert [t.shape for t in op.inferred()] == [(B, T, 2), (1, B, 2), (1, B, H)]
    assert not op.has_evaluate()
