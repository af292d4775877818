"""GRU layers over a sequence, time major, with the reset gate after the hidden product."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

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
    Gru,
    check_cell,
    check_choice,
    check_lengths,
    dims,
    expect,
    first_state,
    gru_step,
    held,
    part_of,
    require_plain,
    running,
    times,
)
from ge_xdsl.dialects.ge.shapes import merge_dim, multiply_dims
from ge_xdsl.dialects.ge.types import Tensor

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

_ORDERS = {"zrh": (0, 1, 2), "rzh": (1, 0, 2)}
"""Order of the columns -> the blocks of update, reset and candidate."""


class _Gru(GeOp):
    """A GRU that runs over time; the results are [T, B, H]."""

    widens = True

    def shape_of(
        self,
        x: Tensor,
        weight_input: Tensor,
        weight_hidden: Tensor,
        biases: Sequence[Tensor | None],
        seq_length: Tensor | None,
        init_h: Tensor | None,
    ) -> Tensor:
        """The tensor of each result."""
        check_cell(self)  # C5
        check_choice(self, "gate_order", ("zrh", "rzh"))
        check_choice(self, "reset_after", (True,))
        dtype = next((t for t in (*biases, init_h) if t is not None), x).dtype
        time, batch, inputs = dims(x, 3, "x")  # C1
        if self.get_attr("direction") == BOTH:
            return Tensor(dtype, None)
        hidden, columns = dims(weight_hidden, 2, "weight_hidden")
        hidden = merge_dim(
            hidden, part_of(columns, 3, "weight_hidden"), "rows and columns / 3 of weight_hidden"
        )  # C2
        gates = multiply_dims(3, hidden)
        expect(weight_input, (inputs, gates), "weight_input")
        for bias, name in zip(biases, ("bias_input", "bias_hidden"), strict=True):  # C3
            expect(bias, (gates,), name)
        expect(init_h, (1, batch, hidden), "init_h")
        check_lengths(seq_length, batch)  # C4
        return Tensor(dtype, (time, batch, hidden))

    def run(
        self,
        x: Array,
        weights: tuple[Array, Array],
        biases: tuple[Array | None, Array | None],
        lengths: Array | None,
        init_h: Array | None,
        attention: Array | None = None,
    ) -> list[Array]:
        """h, update, reset, new and hidden_new over time."""
        import numpy as np

        require_plain(self)
        bias_input, bias_hidden = (0 if bias is None else bias for bias in biases)
        hidden = weights[1].shape[0]
        h = first_state(init_h, x.shape[1], hidden, x)
        order = _ORDERS[self.get_attr("gate_order")]

        def split(z: Array) -> list[Array]:
            return [z[:, k * hidden : (k + 1) * hidden] for k in order]

        found: list[Any] = [None] * x.shape[0]
        for t in times(x.shape[0], self.get_attr("direction") == REVERSE):
            row, recurrent = x[t] @ weights[0] + bias_input, h @ weights[1] + bias_hidden
            weight = None if attention is None else attention[t][:, None]
            step = gru_step(split(row), split(recurrent), h, weight)
            h = held(running(lengths, t), step.h, h)
            found[t] = Gru(h, *step[1:])
        if not found:
            return [np.zeros((0, *h.shape), h.dtype)] * 5
        return [np.stack(part) for part in zip(*found, strict=True)]


class DynamicGRUV2Op(_Gru):
    """A GRU over time: with z, r and n in the columns of gate_order (zrh or rzh),

        z = sigmoid(xz + hz);  r = sigmoid(xr + hr);  n = tanh(xn + r * hn);  h = (h - n) * z + n

    where x[t] @ weight_input + bias_input gives xz, xr, xn and h @ weight_hidden + bias_hidden
    gives hz, hr, hn. x is [T, B, I], the weights [I, 3H] and [H, 3H], the biases [3H], init_h [1,
    B, H]. Results [T, B, H]: y and output_h hold h, then z, r, n and hn; their type is that of
    bias_input, else bias_hidden, else init_h, else x. A step at or after a sequence's length keeps
    h. REDIRECTIONAL runs backwards; BIDIRECTIONAL has no shape and no value here, and cell_depth,
    keep_prob, num_proj and cell_clip >= 0 have no value. is_training says whether the gates are
    wanted, they always come. C1: x has rank 3, the weights 2. C2: weight_input is [I, 3H] and
    weight_hidden [H, 3H]. C3: the biases have 3H entries, init_h is [1, B, H]. C4: seq_length holds
    B i32. C5: gate_order is known, reset_after and time_major true, activation tanh.
    """

    name = "ge.DynamicGRUV2"

    x = operand()
    weight_input = operand()
    weight_hidden = operand()
    bias_input = optional()
    bias_hidden = optional()
    seq_length = optional()
    init_h = optional()
    y = result()
    output_h = result()
    update = result()
    reset = result()
    new = result()
    hidden_new = result()
    direction = string("UNIDIRECTIONAL")
    cell_depth = integer(1)
    keep_prob = floating(1.0)
    cell_clip = floating(-1.0)
    num_proj = integer(0)
    time_major = boolean(True)
    activation = string("tanh")
    gate_order = string("zrh")
    reset_after = boolean(True)
    is_training = boolean(True)

    def infer(
        self,
        x: Tensor,
        weight_input: Tensor,
        weight_hidden: Tensor,
        bias_input: Tensor | None,
        bias_hidden: Tensor | None,
        seq_length: Tensor | None,
        init_h: Tensor | None,
    ) -> list[Tensor]:
        biases = (bias_input, bias_hidden)
        return [self.shape_of(x, weight_input, weight_hidden, biases, seq_length, init_h)] * 6

    def evaluate(
        self,
        x: Array,
        weight_input: Array,
        weight_hidden: Array,
        bias_input: Array | None,
        bias_hidden: Array | None,
        seq_length: Array | None,
        init_h: Array | None,
    ) -> list[Array]:
        weights, biases = (weight_input, weight_hidden), (bias_input, bias_hidden)
        found = self.run(x, weights, biases, seq_length, init_h)
        return [found[0], *found]


class DynamicAUGRUOp(_Gru):
    """DynamicGRUV2 with an attention: (1 - weight_att[t]) * z stands for z in the new state.

    weight_att is [T, B]; update_att is that product. The constraints are DynamicGRUV2's.
    is_training says whether the gates are wanted, they always come. C1: x has rank 3, the weights
    2. C2: weight_input is [I, 3H] and weight_hidden [H, 3H]. C3: the biases have 3H entries, init_h
    is [1, B, H]. C4: seq_length holds B i32. C5: gate_order is known, reset_after and time_major
    true, activation tanh. C6: weight_att is [T, B].
    """

    name = "ge.DynamicAUGRU"

    x = operand()
    weight_input = operand()
    weight_hidden = operand()
    weight_att = operand()
    bias_input = optional()
    bias_hidden = optional()
    seq_length = optional()
    init_h = optional()
    y = result()
    output_h = result()
    update = result()
    update_att = result()
    reset = result()
    new = result()
    hidden_new = result()
    direction = string("UNIDIRECTIONAL")
    cell_depth = integer(1)
    keep_prob = floating(1.0)
    cell_clip = floating(-1.0)
    num_proj = integer(0)
    time_major = boolean(True)
    activation = string("tanh")
    gate_order = string("zrh")
    reset_after = boolean(True)
    is_training = boolean(True)

    def infer(
        self,
        x: Tensor,
        weight_input: Tensor,
        weight_hidden: Tensor,
        weight_att: Tensor,
        bias_input: Tensor | None,
        bias_hidden: Tensor | None,
        seq_length: Tensor | None,
        init_h: Tensor | None,
    ) -> list[Tensor]:
        expect(weight_att, dims(x, 3, "x")[:2], "weight_att")  # C6
        biases = (bias_input, bias_hidden)
        return [self.shape_of(x, weight_input, weight_hidden, biases, seq_length, init_h)] * 7

    def evaluate(
        self,
        x: Array,
        weight_input: Array,
        weight_hidden: Array,
        weight_att: Array,
        bias_input: Array | None,
        bias_hidden: Array | None,
        seq_length: Array | None,
        init_h: Array | None,
    ) -> list[Array]:
        weights, biases = (weight_input, weight_hidden), (bias_input, bias_hidden)
        found = self.run(x, weights, biases, seq_length, init_h, weight_att)
        h, update, reset, new, hidden_new = found
        attended = update * (update.dtype.type(1) - weight_att[:, :, None])
        return [h, h, update, attended, reset, new, hidden_new]
