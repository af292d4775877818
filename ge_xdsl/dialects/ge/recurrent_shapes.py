"""Recurrent ops of which only the shapes are known: gradients through time, Caffe's cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ge_xdsl.dialects.ge.extents import bounded, count_of
from ge_xdsl.dialects.ge.fields import (
    AttrField,
    boolean,
    floating,
    integer,
    operand,
    optional,
    result,
    string,
    variadic_result,
)
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.recurrent import BOTH, FORWARD, REVERSE, dims, part_of
from ge_xdsl.dialects.ge.rounding import chosen
from ge_xdsl.dialects.ge.shapes import merge_dim
from ge_xdsl.dialects.ge.suffix import check_floats
from ge_xdsl.dialects.ge.types import DYNAMIC, Tensor


class _Gradient(GeOp):
    """Gradients through time: of weights in their shapes, of states [B, H]."""

    direction: ClassVar[AttrField[str]]

    def last_state(self, state: Tensor, name: str) -> Tensor:
        """The gradient of an initial state [1, B, H] (or [B, H]): its last two dimensions."""
        check_floats(**{name: state})  # C2
        if state.shape is None:
            return state.with_shape((DYNAMIC, DYNAMIC))
        dims(state, max(2, min(len(state.shape), 3)), name)  # C3
        return state.with_shape(state.shape[-2:])

    def check(self, x: Tensor) -> None:
        chosen(self.direction, "direction", (FORWARD, BOTH, REVERSE))  # C1
        check_floats(x=x)  # C2

    def peepholes(self, weight: Tensor) -> list[list[Tensor]]:
        """Results for the peephole weights, as many as the op has."""
        counts = self.result_counts()[-3:]
        return [[weight.with_shape((DYNAMIC,))] * count for count in counts]


class DynamicRNNGradOp(_Gradient):
    """Gradients of DynamicRNN: dw, db and dx like w, b and x, dh_prev and dc_prev [B, H]

    The values are not modelled. C1: direction is known. C2: x and the states are floating-point
    tensors. C3: init_h and init_c have rank 2 or 3. C4: w has rank 2.
    """

    name = "ge.DynamicRNNGrad"

    x = operand()
    w = operand()
    b = operand()
    y = operand()
    init_h = operand()
    init_c = operand()
    h = operand()
    c = operand()
    dy = operand()
    dh = operand()
    dc = operand()
    i = operand()
    j = operand()
    f = operand()
    o = operand()
    tanhct = optional()
    seq_length = optional()
    mask = optional()
    wci = optional()
    wcf = optional()
    wco = optional()
    dw = result()
    db = result()
    dx = result()
    dh_prev = result()
    dc_prev = result()
    dwci = variadic_result()
    dwcf = variadic_result()
    dwco = variadic_result()
    cell_type = string("LSTM")
    direction = string("UNIDIRECTIONAL")
    cell_depth = integer(0)
    use_peephole = boolean(False)
    keep_prob = floating(-1.0)
    cell_clip = floating(-1.0)
    num_proj = integer(0)
    time_major = boolean(True)
    forget_bias = floating(0.0)
    gate_order = string("ijfo")

    def infer(self, x: Tensor, w: Tensor, b: Tensor, *rest: Tensor) -> object:
        self.check(x)  # C1 C2
        dims(w, 2, "w")  # C4
        states = self.last_state(rest[1], "init_h"), self.last_state(rest[2], "init_c")  # C2 C3
        return x.with_shape(w.shape), x.with_shape(b.shape), x, *states, *self.peepholes(x)


class DynamicRNNV2GradOp(_Gradient):
    """Gradients of DynamicRNNV2: dw_x, dw_h and dx like w_x, w_h and x, db [4 H], states

    dh_prev and dc_prev have the shapes of init_h and init_c. The values are not modelled. C1:
    direction is known. C2: x and the states are floating-point tensors. C3: init_h and init_c have
    rank 2 or 3. C4: w_x and w_h have rank 2 and one number of columns.
    """

    name = "ge.DynamicRNNV2Grad"

    x = operand()
    w_x = operand()
    w_h = operand()
    y = operand()
    init_h = operand()
    init_c = operand()
    h = operand()
    c = operand()
    dy = operand()
    dh = operand()
    dc = operand()
    i = operand()
    j = operand()
    f = operand()
    o = operand()
    tanhct = operand()
    seq_length = optional()
    wci = optional()
    wcf = optional()
    wco = optional()
    mask = optional()
    dw_x = result()
    dw_h = result()
    db = result()
    dx = result()
    dh_prev = result()
    dc_prev = result()
    dwci = variadic_result()
    dwcf = variadic_result()
    dwco = variadic_result()
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
    gate_order = string("ijfo")
    stateful = boolean(False)
    merge_mode = string("concat")

    def infer(self, x: Tensor, w_x: Tensor, w_h: Tensor, *rest: Tensor) -> object:
        self.check(x)  # C1 C2
        width = merge_dim(dims(w_x, 2, "w_x")[1], dims(w_h, 2, "w_h")[1], "columns of w_x and w_h")
        for tensor, name in ((rest[1], "init_h"), (rest[2], "init_c")):
            self.last_state(tensor, name)  # C2 C3
        weights = x.with_shape(w_x.shape), x.with_shape(w_h.shape), x.with_shape((width,))  # C4
        return *weights, x, rest[1], rest[2], *self.peepholes(x)


class _GruGradient(_Gradient):
    """What the gradients of the gated units share."""

    def gated(self, x: Tensor, weights: Sequence[Tensor], init_h: Tensor) -> list[Tensor]:
        self.check(x)  # C1 C2
        names = ("weight_input", "weight_hidden")
        shapes = [dims(w, 2, name) for w, name in zip(weights, names, strict=True)]  # C4
        biases = [x.with_shape((shape[1],)) for shape in shapes]
        kept = [x.with_shape(shape) for shape in shapes]
        return [*kept, *biases, x, self.last_state(init_h, "init_h")]  # C3


class DynamicGRUV2GradOp(_GruGradient):
    """Gradients of DynamicGRUV2: weights and x in their shapes, biases [3 H], dh_prev [B, H]

    The values are not modelled. C1: direction is known. C2: x and init_h are floating-point
    tensors. C3: init_h has rank 2 or 3. C4: weight_input and weight_hidden have rank 2.
    """

    name = "ge.DynamicGRUV2Grad"

    x = operand()
    weight_input = operand()
    weight_hidden = operand()
    y = operand()
    init_h = operand()
    h = operand()
    dy = operand()
    dh = operand()
    update = operand()
    reset = operand()
    new = operand()
    hidden_new = operand()
    seq_length = optional()
    mask = optional()
    dw_input = result()
    dw_hidden = result()
    db_input = result()
    db_hidden = result()
    dx = result()
    dh_prev = result()
    direction = string("UNIDIRECTIONAL")
    cell_depth = integer(0)
    keep_prob = floating(-1.0)
    cell_clip = floating(-1.0)
    num_proj = integer(0)
    time_major = boolean(True)
    gate_order = string("zrh")
    reset_after = boolean(True)

    def infer(self, x: Tensor, *rest: Tensor) -> list[Tensor]:
        return self.gated(x, rest[:2], rest[3])


class DynamicAUGRUGradOp(_GruGradient):
    """Gradients of DynamicAUGRU: those of DynamicGRUV2, and dw_att like weight_att

    The values are not modelled. C1: direction is known. C2: x and init_h are floating-point
    tensors. C3: init_h has rank 2 or 3. C4: weight_input and weight_hidden have rank 2.
    """

    name = "ge.DynamicAUGRUGrad"

    x = operand()
    weight_input = operand()
    weight_hidden = operand()
    weight_att = operand()
    y = operand()
    init_h = operand()
    h = operand()
    dy = operand()
    dh = operand()
    update = operand()
    update_att = operand()
    reset = operand()
    new = operand()
    hidden_new = operand()
    seq_length = optional()
    mask = optional()
    dw_input = result()
    dw_hidden = result()
    db_input = result()
    db_hidden = result()
    dx = result()
    dh_prev = result()
    dw_att = result()
    direction = string("UNIDIRECTIONAL")
    cell_depth = integer(1)
    keep_prob = floating(-1.0)
    cell_clip = floating(-1.0)
    num_proj = integer(0)
    time_major = boolean(True)
    gate_order = string("zrh")
    reset_after = boolean(True)

    def infer(self, x: Tensor, *rest: Tensor) -> list[Tensor]:
        return [*self.gated(x, rest[:2], rest[4]), x.with_shape(rest[2].shape)]


class _Caffe(GeOp):
    """Cells of Caffe: sequences [T, B, ...] and a continuation marker [T, B]."""

    num_output = integer(0)
    expose_hidden = boolean(False)

    def steps(self, x: Tensor, cont: Tensor | None) -> tuple[int, int, int]:
        """(T, B, outputs)."""
        time = batch = DYNAMIC
        if x.shape is not None and len(x.shape) > 2:
            time, batch = x.shape[:2]
        if cont is not None:
            t, b = dims(cont, 2, "cont")  # C1
            time, batch = (
                merge_dim(time, t, "steps of x and cont"),
                merge_dim(batch, b, "batches of x and cont"),
            )
        return time, batch, count_of(self.num_output, "num_output")  # C2


class RNNOp(_Caffe):
    """o [T, B, num_output] and h_t [1, B, num_output] of Caffe's plain cell; no values here

    C1: cont is [T, B], as x. C2: num_output is 0 or more.
    """

    name = "ge.RNN"

    x = operand()
    cont = operand()
    x_static = optional()
    h_0 = optional()
    w_xh = operand()
    bias_h = operand()
    w_sh = optional()
    w_hh = operand()
    w_ho = operand()
    bias_o = operand()
    o = result()
    h_t = result()

    def infer(self, x: Tensor, cont: Tensor, *rest: Tensor) -> tuple[Tensor, Tensor]:
        time, batch, count = self.steps(x, cont)
        bias = rest[3]
        return (
            bias.with_shape(bounded((time, batch, count))),
            bias.with_shape(bounded((1, batch, count))),
        )


class LSTMOp(_Caffe):
    """h [T, B, num_output], h_t and c_t [1, B, num_output] of Caffe's cell; no values here

    C1: cont is [T, B], as x. C2: num_output is 0 or more.
    """

    name = "ge.LSTM"

    x = operand()
    cont = operand()
    w_x = operand()
    bias = operand()
    w_h = operand()
    x_static = optional()
    h_0 = optional()
    c_0 = optional()
    w_x_static = optional()
    h = result()
    h_t = result()
    c_t = result()

    def infer(self, x: Tensor, cont: Tensor, *rest: Tensor) -> tuple[Tensor, ...]:
        time, batch, count = self.steps(x, cont)
        state = x.with_shape(bounded((1, batch, count)))
        return x.with_shape(bounded((time, batch, count))), state, state


class BasicRNNCellOp(GeOp):
    """o_t and h_t [B, num_output] of one step of Caffe's plain cell; no values here

    C1: x is [B, I]. C2: num_output is 0 or more.
    """

    name = "ge.BasicRNNCell"

    x = operand()
    cont = optional()
    w_xh_x_static = optional()
    h_0 = optional()
    w_xh = operand()
    bias_h = operand()
    w_hh = optional()
    w_ho = operand()
    bias_o = operand()
    o_t = result()
    h_t = result()
    expose_hidden = boolean(False)
    num_output = integer(0)

    def infer(self, x: Tensor, *rest: Tensor) -> tuple[Tensor, Tensor]:
        batch = dims(x, 2, "x")[0]  # C1
        count = count_of(self.num_output, "num_output")  # C2
        out = rest[4].with_shape(bounded((batch, count)))
        return out, out


class DynamicLSTMV2Op(_Caffe):
    """y, output_h and output_c [T, B, H], the last ones [1, B, H]; w has 4 H columns; no values

    C1: cont is [T, B], as x. C2: num_output is 0 or more. C3: w has rank 2 and a multiple of 4
    columns.
    """

    name = "ge.DynamicLSTMV2"

    x = operand()
    w = operand()
    b = operand()
    cont = operand()
    w_xc_x_static = optional()
    h0 = optional()
    c0 = optional()
    wci = optional()
    wcf = optional()
    wco = optional()
    mask = optional()
    y = result()
    output_h = result()
    output_c = result()
    last_output_h = result()
    last_output_c = result()
    need_output_last = boolean(False)
    forget_bias = floating(0.0)

    def infer(self, x: Tensor, w: Tensor, b: Tensor, cont: Tensor, *rest: Tensor) -> object:
        time, batch, _ = self.steps(x, cont)
        hidden = part_of(dims(w, 2, "w")[1], 4, "w")  # C3
        every = x.with_shape(bounded((time, batch, hidden)))
        last = x.with_shape(bounded((1, batch, hidden)))
        return every, every, every, last, last
