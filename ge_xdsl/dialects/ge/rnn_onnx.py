"""The LSTM and GRU of ONNX as GE ops: directions on an axis of their own, gate-major weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.op import (
    GeOp,
    floating,
    floats,
    integer,
    operand,
    optional,
    result,
    string,
    strings,
)
from ge_xdsl.dialects.ge.recurrent import (
    check_choice,
    check_lengths,
    dims,
    expect,
    gru_step,
    held,
    lstm_step,
    part_of,
    running,
    times,
)
from ge_xdsl.dialects.ge.shapes import merge_dim, multiply_dims
from ge_xdsl.dialects.ge.types import Tensor

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


class _Onnx(GeOp):
    """y [T, D, B, H] and last states [D, B, H] for `gates` blocks of weights."""

    widens = True
    gates: int

    def sizes(
        self,
        x: Tensor,
        w: Tensor,
        r: Tensor,
        b: Tensor | None,
        lengths: Tensor | None,
        states: Sequence[tuple[Tensor | None, str]],
    ) -> tuple[int, int, int, int]:
        """T, D, B and H."""
        check_choice(self, "direction", ("forward", "reverse", "bidirectional"))  # C4
        count = 2 if self.get_attr("direction") == "bidirectional" else 1
        time, batch, inputs = dims(x, 3, "x")  # C1
        _, rows, _ = dims(w, 3, "w")
        hidden = merge_dim(part_of(rows, self.gates, "w"), dims(r, 3, "r")[2], "H of w and r")  # C2
        if self.get_attr("hidden_size"):
            what = "H and hidden_size"
            hidden = merge_dim(hidden, self.get_attr("hidden_size"), what)  # C2
        blocks = multiply_dims(self.gates, hidden)
        expect(w, (count, blocks, inputs), "w")
        expect(r, (count, blocks, hidden), "r")
        expect(b, (count, multiply_dims(2, blocks)), "b")  # C3
        for state, name in states:
            expect(state, (count, batch, hidden), name)
        check_lengths(lengths, batch, "sequence_lens")  # C3
        return time, count, batch, hidden

    def require_defaults(self) -> None:
        """Raises ValueError for what GE takes from ONNX but does not apply."""
        for attr in ("activation_alpha", "activation_beta", "activations"):
            if self.get_attr(attr):
                raise ValueError(f"{attr} is {list(self.get_attr(attr))}, expected none")
        if self.get_attr("clip") > 0:
            raise ValueError(f"clip is {self.get_attr('clip'):g}, expected none")

    def directions(self) -> list[bool]:
        """Whether each direction runs backwards."""
        found = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}
        return found[self.get_attr("direction")]

    def blocks(self, z: Array, hidden: int) -> list[Array]:
        """[B, gates * H] -> one [B, H] per gate."""
        return [z[:, k * hidden : (k + 1) * hidden] for k in range(self.gates)]


def halves(b: Array | None, d: int) -> tuple[Any, Any]:
    """The input and hidden bias of direction `d`; 0 without b."""
    if b is None:
        return 0, 0
    half = b.shape[1] // 2
    return b[d, :half], b[d, half:]


def inputs_of(x: Array, w: Array, bias: Any) -> Array:
    """x[t] @ w^T + bias of all steps in one product: [T, B, I] -> [T, B, gates * H]."""
    time, batch, size = x.shape
    rows = x.reshape(time * batch, size) @ w.T
    rows += bias
    return rows.reshape(time, batch, w.shape[0])


class CommonLSTMOp(_Onnx):
    """ONNX LSTM: with x[t] @ w^T + h @ r^T + wb + rb in the blocks i, o, f, c,

        c = sigmoid(f) * c + sigmoid(i) * tanh(c block);  h = sigmoid(o) * tanh(c)

    x is [T, B, I], w [D, 4H, I], r [D, 4H, H], b [D, 8H] (wb, rb), initial_h and initial_c
    [D, B, H]; y [T, D, B, H] is 0 after the end of a sequence, y_h and y_c [D, B, H] are the
    states after its last step. Activations, clip and input_forget other than the defaults have no
    value: GE does not apply them. C1: x, w and r have rank 3. C2: w has 4H rows, r [4H, H], and
    hidden_size is H (or 0). C3: b, the initial states and sequence_lens (i32) fit. C4: direction
    is forward, reverse or bidirectional. C5: no peephole weights p.
    """

    name = "ge.CommonLSTM"
    gates = 4

    x = operand()
    w = operand()
    r = operand()
    b = optional()
    sequence_lens = optional()
    initial_h = optional()
    initial_c = optional()
    p = optional()
    y = result()
    y_h = result()
    y_c = result()
    activation_alpha = floats(())
    activation_beta = floats(())
    activations = strings(())
    clip = floating(-1.0)
    direction = string("forward")
    hidden_size = integer()
    input_forget = integer(0)

    def infer(
        self,
        x: Tensor,
        w: Tensor,
        r: Tensor,
        b: Tensor | None,
        sequence_lens: Tensor | None,
        initial_h: Tensor | None,
        initial_c: Tensor | None,
        p: Tensor | None,
    ) -> list[Tensor]:
        if p is not None:  # C5
            raise VerifyException("p is given, expected no peephole weights")
        states = ((initial_h, "initial_h"), (initial_c, "initial_c"))
        time, count, batch, hidden = self.sizes(x, w, r, b, sequence_lens, states)
        last = Tensor(x.dtype, (count, batch, hidden))
        return [Tensor(x.dtype, (time, count, batch, hidden)), last, last]

    def evaluate(
        self,
        x: Array,
        w: Array,
        r: Array,
        b: Array | None,
        sequence_lens: Array | None,
        initial_h: Array | None,
        initial_c: Array | None,
        p: Array | None,
    ) -> list[Array]:
        import numpy as np

        self.require_defaults()
        if self.input_forget:
            raise ValueError(f"input_forget is {self.input_forget}, expected 0")
        hidden, batch = r.shape[2], x.shape[1]
        y = np.zeros((x.shape[0], w.shape[0], batch, hidden), x.dtype)
        last = np.zeros((2, w.shape[0], batch, hidden), x.dtype)
        still = np.zeros((batch, hidden), x.dtype)
        for d, reverse in enumerate(self.directions()):
            h, c = (still if init is None else init[d] for init in (initial_h, initial_c))
            rows = inputs_of(x, w[d], sum(halves(b, d)))
            matrix = r[d].T
            for t in times(x.shape[0], reverse):
                i, o, f, g = self.blocks(h @ matrix + rows[t], hidden)
                step = lstm_step((i, g, f, o), c, 0.0)
                mask = running(sequence_lens, t)
                y[t, d] = held(mask, step.h, still)
                h, c = held(mask, step.h, h), held(mask, step.c, c)
            last[0, d], last[1, d] = h, c
        return [y, last[0], last[1]]


class CommonGRUOp(_Onnx):
    """ONNX GRU with the reset gate after the hidden product, as the device computes it:

        z = sigmoid(xz + hz);  r = sigmoid(xr + hr);  n = tanh(xn + r * hn);
        h = (1 - z) * n + z * h

    x[t] @ w^T + wb gives xz, xr, xn and h @ r^T + rb gives hz, hr, hn. x is [T, B, I], w
    [D, 3H, I], r [D, 3H, H], b [D, 6H] (wb, rb), initial_h [D, B, H]; y [T, D, B, H] is 0 after
    the end of a sequence, y_h [D, B, H] is the last state; their type is that of b, else
    initial_h, else x. linear_before_reset is not read: ONNX's 0 puts the reset before the product,
    which GE does not do. Activations and clip other than the defaults have no value. C1: x, w and
    r have rank 3. C2: w has 3H rows, r [3H, H], and hidden_size is H (or 0). C3: b, initial_h and
    sequence_lens (i32) fit. C4: direction is forward, reverse or bidirectional.
    """

    name = "ge.CommonGRU"
    gates = 3

    x = operand()
    w = operand()
    r = operand()
    b = optional()
    sequence_lens = optional()
    initial_h = optional()
    y = result()
    y_h = result()
    activation_alpha = floats(())
    activation_beta = floats(())
    activations = strings(())
    clip = floating(-1.0)
    direction = string("forward")
    hidden_size = integer()
    linear_before_reset = integer(0)

    def infer(
        self,
        x: Tensor,
        w: Tensor,
        r: Tensor,
        b: Tensor | None,
        sequence_lens: Tensor | None,
        initial_h: Tensor | None,
    ) -> list[Tensor]:
        states = ((initial_h, "initial_h"),)
        time, count, batch, hidden = self.sizes(x, w, r, b, sequence_lens, states)
        dtype = (b or initial_h or x).dtype
        y = Tensor(dtype, (time, count, batch, hidden))
        return [y, Tensor(dtype, (count, batch, hidden))]

    def evaluate(
        self,
        x: Array,
        w: Array,
        r: Array,
        b: Array | None,
        sequence_lens: Array | None,
        initial_h: Array | None,
    ) -> list[Array]:
        import numpy as np

        self.require_defaults()
        hidden, batch = r.shape[2], x.shape[1]
        y = np.zeros((x.shape[0], w.shape[0], batch, hidden), x.dtype)
        last = np.zeros((w.shape[0], batch, hidden), x.dtype)
        still = np.zeros((batch, hidden), x.dtype)
        for d, reverse in enumerate(self.directions()):
            h: Array = still if initial_h is None else initial_h[d]
            wb, rb = halves(b, d)
            rows = inputs_of(x, w[d], wb)
            matrix = r[d].T
            for t in times(x.shape[0], reverse):
                row = self.blocks(rows[t], hidden)
                step = gru_step(row, self.blocks(h @ matrix + rb, hidden), h)
                mask = running(sequence_lens, t)
                y[t, d] = held(mask, step.h, still)
                h = held(mask, step.h, h)
            last[d] = h
        return [y, last]
