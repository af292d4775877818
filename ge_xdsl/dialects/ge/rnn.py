"""LSTM layers over a sequence, time major. Sums run in f32 for half floats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.op import (
    GeOp,
    boolean,
    floating,
    integer,
    operand,
    optional,
    result,
    string,
)
from ge_xdsl.dialects.ge.recurrent import (
    BOTH,
    REVERSE,
    Lstm,
    check_cell,
    check_choice,
    check_lengths,
    dims,
    expect,
    first_state,
    hard_sigmoid,
    held,
    lstm_step,
    part_of,
    require_plain,
    running,
    sigmoid,
    times,
)
from ge_xdsl.dialects.ge.shapes import add_dims, merge_dim, multiply_dims
from ge_xdsl.dialects.ge.types import DYNAMIC, Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ge_xdsl.dialects.ge.types import Array

_ORDERS = {"ijfo": (0, 1, 2, 3), "ifjo": (0, 2, 1, 3), "ifco": (0, 2, 1, 3)}
"""Order of the gates' columns -> the blocks of i, j, f and o."""


def ordered(z: Array, order: str) -> list[Array]:
    """[B, 4H] -> the columns of i, j, f and o."""
    size = z.shape[1] // 4
    return [z[:, k * size : (k + 1) * size] for k in _ORDERS[order]]


def refuse_peepholes(op: GeOp, *values: Tensor | None) -> None:
    """Peephole weights and dropout masks have no confirmed effect."""
    if op.get_attr("use_peephole") or any(value is not None for value in values):
        raise VerifyException("wci, wcf, wco, mask or use_peephole is given, expected none")


class _Lstm(GeOp):
    """One set of states that runs over time; the results as arrays [T, B, H]."""

    widens = True

    def run(
        self,
        z: Sequence[Array],
        weight: Array,
        states: tuple[Array, Array],
        order: str,
        activation: Any = sigmoid,
        lengths: Array | None = None,
        project: Array | None = None,
    ) -> tuple[list[Array], Array, Array]:
        """`z`: x @ weights + bias per time. h, c, i, j, f, o, tanhc over time; last h and c."""
        import numpy as np

        bias: float = self.get_attr("forget_bias")
        h, c = states
        found: list[Any] = [None] * len(z)
        for t in times(len(z), self.get_attr("direction") == REVERSE):
            step = lstm_step(ordered(z[t] + h @ weight, order), c, bias, activation)
            new = step.h if project is None else step.h @ project
            mask = running(lengths, t)
            h, c = held(mask, new, h), held(mask, step.c, c)
            found[t] = Lstm(h, c, *step[2:])
        if not found:
            empty = [np.zeros((0, *a.shape), a.dtype) for a in (h, *[c] * 6)]
            return empty, h, c
        return [np.stack(part) for part in zip(*found, strict=True)], h, c


class DynamicRNNOp(_Lstm):
    """An LSTM over time: with z = concat(x[t], h) @ w + b in the columns of gate_order,

        c = sigmoid(f + forget_bias) * c + sigmoid(i) * tanh(j);  h = sigmoid(o) * tanh(c)

    x is [T, B, I], w [I + H, 4H], b [4H], init_h and init_c [1, B, H]; every result is [T, B, H],
    output_h in the type of x and the others in that of b; y is output_h. REDIRECTIONAL runs from
    the last time to the first. BIDIRECTIONAL gives [T, B, 2H] states and [2T, B, H] gates but has
    no value here, nor have seq_length, cell_depth, keep_prob, num_proj and cell_clip >= 0.
    is_training says whether the gates are wanted, they always come. C1: x has rank 3, w 2, b 1. C2:
    w has 4H columns and I + H rows (twice that for both directions). C3: b has 4H entries, init_h
    and init_c are [1, B, H] (twice that for both directions). C4: seq_length holds B i32. C5:
    gate_order is ijfo or ifjo, cell_type LSTM, time_major true, activation tanh. C6: no peephole
    weights and no mask.
    """

    name = "ge.DynamicRNN"

    x = operand()
    w = operand()
    b = operand()
    seq_length = optional()
    init_h = optional()
    init_c = optional()
    wci = optional()
    wcf = optional()
    wco = optional()
    mask = optional()
    y = result()
    output_h = result()
    output_c = result()
    i = result()
    j = result()
    f = result()
    o = result()
    tanhc = result()
    cell_type = string("LSTM")
    direction = string("UNIDIRECTIONAL")
    cell_depth = integer(1)
    use_peephole = boolean(False)
    keep_prob = floating(1.0)
    cell_clip = floating(-1.0)
    num_proj = integer(0)
    time_major = boolean(True)
    activation = string("tanh")
    forget_bias = floating(0.0)
    gate_order = string("ijfo")
    is_training = boolean(True)

    def infer(
        self,
        x: Tensor,
        w: Tensor,
        b: Tensor,
        seq_length: Tensor | None,
        init_h: Tensor | None,
        init_c: Tensor | None,
        *rest: Tensor | None,
    ) -> list[Tensor]:
        check_cell(self)  # C5
        check_choice(self, "cell_type", ("LSTM",))
        check_choice(self, "gate_order", ("ijfo", "ifjo"))
        refuse_peepholes(self, *rest)  # C6
        time, batch, inputs = dims(x, 3, "x")  # C1
        rows, columns = dims(w, 2, "w")
        hidden = part_of(columns, 4, "w")  # C2
        both = 2 if self.direction == BOTH else 1
        depth = multiply_dims(both, add_dims(inputs, hidden))
        merge_dim(rows, depth, "rows of w and I + H")
        expect(b, (multiply_dims(4 * both, hidden),), "b")  # C1 C3
        for init, name in ((init_h, "init_h"), (init_c, "init_c")):
            expect(init, (both, batch, hidden), name)
        check_lengths(seq_length, batch)  # C4
        state = (time, batch, multiply_dims(both, hidden))
        gates = Tensor(b.dtype, (multiply_dims(both, time), batch, hidden))
        y = Tensor(b.dtype, state)
        return [y, Tensor(x.dtype, state), y, *[gates] * 5]

    def evaluate(
        self,
        x: Array,
        w: Array,
        b: Array,
        seq_length: Array | None,
        init_h: Array | None,
        init_c: Array | None,
        *rest: Array | None,
    ) -> list[Array]:
        require_plain(self)
        if seq_length is not None:
            raise ValueError("seq_length is given, expected none: its effect is unconfirmed")
        hidden = w.shape[1] // 4
        states = tuple(first_state(v, x.shape[1], hidden, b) for v in (init_h, init_c))
        rows = [step @ w[: x.shape[2]] + b for step in x]
        weight = w[x.shape[2] :]
        found, _, _ = self.run(rows, weight, (states[0], states[1]), self.gate_order)
        h = found[0]
        return [h, h.astype(x.dtype), *found[1:]]


class DynamicRNNV2Op(_Lstm):
    """DynamicRNN with weights [I, 4H] and [H, 4H], an optional b and masked steps.

    A step at or after a sequence's length keeps h and c, and y repeats h there. output_h and
    output_c are [1, B, H], the states after the last step that ran; y and the gates are [T, B, H].
    Types: output_h as x, the others as b, else init_c, else x. recurrent_activation is sigmoid or
    hard_sigmoid, clip(0.2 x + 0.5, 0, 1); gate_order is ijfo or ifco. REDIRECTIONAL runs backwards;
    BIDIRECTIONAL has no shape and no value here, and cell_depth, keep_prob, num_proj and cell_clip
    >= 0 have no value. is_training says whether the gates are wanted, they always come; merge_mode
    is for two directions; stateful has no effect, states come and go by operands. C1: x has rank 3,
    the weights 2. C2: weight_input is [I, 4H] and weight_hidden [H, 4H]. C3: b has 4H entries,
    init_h and init_c are [1, B, H]. C4: seq_length holds B i32. C5: gate_order,
    recurrent_activation, cell_type LSTM, time_major true and activation tanh. C6: no peephole
    weights and no mask.
    """

    name = "ge.DynamicRNNV2"

    x = operand()
    weight_input = operand()
    weight_hidden = operand()
    b = optional()
    seq_length = optional()
    init_h = optional()
    init_c = optional()
    wci = optional()
    wcf = optional()
    wco = optional()
    mask = optional()
    y = result()
    output_h = result()
    output_c = result()
    i = result()
    j = result()
    f = result()
    o = result()
    tanhc = result()
    cell_type = string("LSTM")
    direction = string("UNIDIRECTIONAL")
    cell_depth = integer(1)
    use_peephole = boolean(False)
    keep_prob = floating(1.0)
    cell_clip = floating(-1.0)
    num_proj = integer(0)
    time_major = boolean(True)
    activation = string("tanh")
    recurrent_activation = string("sigmoid")
    forget_bias = floating(0.0)
    gate_order = string("ijfo")
    stateful = boolean(False)
    merge_mode = string("concat")
    is_training = boolean(True)

    def infer(
        self,
        x: Tensor,
        weight_input: Tensor,
        weight_hidden: Tensor,
        b: Tensor | None,
        seq_length: Tensor | None,
        init_h: Tensor | None,
        init_c: Tensor | None,
        *rest: Tensor | None,
    ) -> list[Tensor]:
        check_cell(self)  # C5
        check_choice(self, "cell_type", ("LSTM",))
        check_choice(self, "gate_order", ("ijfo", "ifco"))
        check_choice(self, "recurrent_activation", ("sigmoid", "hard_sigmoid"))
        refuse_peepholes(self, *rest)  # C6
        dtype = (b or init_c or x).dtype
        time, batch, inputs = dims(x, 3, "x")  # C1
        if self.direction == BOTH:
            return [Tensor(dtype, None), Tensor(x.dtype, None), *[Tensor(dtype, None)] * 6]
        hidden, columns = dims(weight_hidden, 2, "weight_hidden")
        hidden = merge_dim(
            hidden, part_of(columns, 4, "weight_hidden"), "rows and columns / 4 of weight_hidden"
        )  # C2
        expect(weight_input, (inputs, multiply_dims(4, hidden)), "weight_input")
        expect(b, (multiply_dims(4, hidden),), "b")  # C3
        for init, name in ((init_h, "init_h"), (init_c, "init_c")):
            expect(init, (1, batch, hidden), name)
        check_lengths(seq_length, batch)  # C4
        steps, last = Tensor(dtype, (time, batch, hidden)), (1, batch, hidden)
        return [steps, Tensor(x.dtype, last), Tensor(dtype, last), *[steps] * 5]

    def evaluate(
        self,
        x: Array,
        weight_input: Array,
        weight_hidden: Array,
        b: Array | None,
        seq_length: Array | None,
        init_h: Array | None,
        init_c: Array | None,
        *rest: Array | None,
    ) -> list[Array]:
        require_plain(self)
        hidden = weight_hidden.shape[0]
        states = tuple(first_state(v, x.shape[1], hidden, x) for v in (init_h, init_c))
        rows = [step @ weight_input + (0 if b is None else b) for step in x]
        hard = self.recurrent_activation == "hard_sigmoid"
        found, h, c = self.run(
            rows, weight_hidden, (states[0], states[1]), self.gate_order,
            hard_sigmoid if hard else sigmoid, seq_length,
        )  # fmt: skip
        return [found[0], h[None], c[None], *found[2:]]


class DynamicRNNV3Op(_Lstm):
    """DynamicRNN whose hidden state is projected: h = (sigmoid(o) * tanh(c)) @ project.

    x is [T, B, I], project [H, P], w [I + P, 4H] in the columns i, j, f, o, init_h [1, B, P]; y and
    output_h are [T, B, P], the others [T, B, H]. Without project, P is H and h is not projected.
    real_mask, seq_length, BIDIRECTIONAL, cell_depth, keep_prob, num_proj and cell_clip >= 0 have no
    value here. is_training says whether the gates are wanted, they always come. C1: x has rank 3, w
    2, b 1. C2: w has 4H columns and I + P rows, for one direction. C3: b has 4H entries, init_h is
    [1, B, P], init_c [1, B, H]. C4: project is [H, P]. C5: cell_type is LSTM, time_major true,
    activation tanh. C6: no peephole weights and no mask.
    """

    name = "ge.DynamicRNNV3"

    x = operand()
    w = operand()
    b = operand()
    seq_length = optional()
    init_h = optional()
    init_c = optional()
    wci = optional()
    wcf = optional()
    wco = optional()
    mask = optional()
    real_mask = optional()
    project = optional()
    y = result()
    output_h = result()
    output_c = result()
    i = result()
    j = result()
    f = result()
    o = result()
    tanhc = result()
    cell_type = string("LSTM")
    direction = string("UNIDIRECTIONAL")
    cell_depth = integer(1)
    use_peephole = boolean(False)
    keep_prob = floating(1.0)
    cell_clip = floating(-1.0)
    num_proj = integer(0)
    time_major = boolean(True)
    activation = string("tanh")
    forget_bias = floating(0.0)
    is_training = boolean(True)

    def infer(
        self,
        x: Tensor,
        w: Tensor,
        b: Tensor,
        seq_length: Tensor | None,
        init_h: Tensor | None,
        init_c: Tensor | None,
        *rest: Tensor | None,
    ) -> list[Tensor]:
        *peepholes, _, project = rest
        check_cell(self)  # C5
        check_choice(self, "cell_type", ("LSTM",))
        refuse_peepholes(self, *peepholes)  # C6
        time, batch, inputs = dims(x, 3, "x")  # C1
        if self.direction == BOTH:
            return [Tensor(b.dtype, None), Tensor(x.dtype, None), *[Tensor(b.dtype, None)] * 6]
        rows, columns = dims(w, 2, "w")
        hidden = part_of(columns, 4, "w")  # C2
        size = hidden
        if project is not None:
            found, size = dims(project, 2, "project")  # C4
            merge_dim(found, hidden, "rows of project and H")
        merge_dim(rows, add_dims(inputs, size), "rows of w and I + P")  # C2
        expect(b, (multiply_dims(4, hidden),), "b")  # C3
        expect(init_h, (1, batch, size), "init_h")
        expect(init_c, (1, batch, hidden), "init_c")
        state, cell = (time, batch, size), Tensor(b.dtype, (time, batch, hidden))
        return [Tensor(b.dtype, state), Tensor(x.dtype, state), *[cell] * 6]

    def evaluate(
        self,
        x: Array,
        w: Array,
        b: Array,
        seq_length: Array | None,
        init_h: Array | None,
        init_c: Array | None,
        *rest: Array | None,
    ) -> list[Array]:
        require_plain(self)
        *_, real_mask, project = rest
        if seq_length is not None or real_mask is not None:
            raise ValueError("seq_length or real_mask is given, expected neither")
        hidden, inputs = w.shape[1] // 4, x.shape[2]
        size = hidden if project is None else project.shape[1]
        h = first_state(init_h, x.shape[1], size, b)
        c = first_state(init_c, x.shape[1], hidden, b)
        rows = [step @ w[:inputs] + b for step in x]
        found, _, _ = self.run(rows, w[inputs:], (h, c), "ijfo", project=project)
        return [found[0], found[0].astype(x.dtype), *found[1:]]


class BasicLSTMCellOp(GeOp):
    """One LSTM step of x [B, I] with w [I + H, 4H]: ct, it, jt, ft, ot and tanhct as c, ht as h.

    The value semantics is unconfirmed (the order of the gates), so that there is none. C1: x, h,
    c and w have rank 2. C2: w is [I + H, 4H] and h, c [B, H]. C3: b has 4H entries.
    """

    name = "ge.BasicLSTMCell"

    x = operand()
    h = operand()
    c = operand()
    w = operand()
    b = operand()
    mask = optional()
    ct = result()
    ht = result()
    it = result()
    jt = result()
    ft = result()
    ot = result()
    tanhct = result()
    keep_prob = floating(1.0)
    forget_bias = floating(1.0)
    state_is_tuple = boolean(True)
    activation = string("tanh")

    def infer(
        self, x: Tensor, h: Tensor, c: Tensor, w: Tensor, b: Tensor, mask: Tensor | None
    ) -> list[Tensor]:
        batch, inputs = dims(x, 2, "x")  # C1
        rows, columns = dims(w, 2, "w")
        hidden = part_of(columns, 4, "w")  # C2
        merge_dim(rows, add_dims(inputs, hidden), "rows of w and I + H")
        for state, name in ((h, "h"), (c, "c")):
            expect(state, (batch, hidden), name)
        if b.rank == 1:
            expect(b, (multiply_dims(4, hidden),), "b")  # C3
        return [c, h, c, c, c, c, c]


class LSTMPOp(GeOp):
    """An LSTM with a projected state: wx [4H, I], wr [4H, R], bias [4H], project [R, H].

    x is [B, T, I], with time_major [T, B, I]; y is [B, T, R] or [T, B, R], output_h [1, B, R] and
    output_c [1, B, H]. The value semantics is unconfirmed (the order of the gates), so that there
    is none. C1: x has rank 3, wx, wr and project 2. C2: wx, wr, bias and project fit H, R and I.
    """

    name = "ge.LSTMP"

    x = operand()
    wx = operand()
    bias = operand()
    wr = operand()
    project = operand()
    real_mask = optional()
    init_h = optional()
    init_c = optional()
    y = result()
    output_h = result()
    output_c = result()
    time_major = boolean(False)

    def infer(
        self,
        x: Tensor,
        wx: Tensor,
        bias: Tensor,
        wr: Tensor,
        project: Tensor,
        *rest: Tensor | None,
    ) -> list[Tensor]:
        first, second, inputs = dims(x, 3, "x")  # C1
        size, hidden = dims(project, 2, "project")
        gates = DYNAMIC if hidden == DYNAMIC else 4 * hidden
        expect(wx, (gates, inputs), "wx")  # C2
        expect(wr, (gates, size), "wr")
        expect(bias, (gates,), "bias")
        batch = second if self.time_major else first
        return [
            Tensor(x.dtype, (first, second, size)),
            Tensor(x.dtype, (1, batch, size)),
            Tensor(x.dtype, (1, batch, hidden)),
        ]
