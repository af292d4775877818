"""LSTM and GRU layers: one product for all inputs, then a product and gates for each time."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.types import DataType
from ge_xdsl.lowering.expand.builder import Builder, Expansion
from ge_xdsl.lowering.expand.products import product

MAX_STEPS = 512
"""Times of the longest sequence that is unrolled."""


def _plain(build: Builder, op: GeOp) -> None:
    for name in ("activation_alpha", "activation_beta", "activations"):
        if op.get_attr(name):
            raise build.decline(f"with {name} set")
    if op.get_attr("clip") > 0 or (op.op_type == "CommonLSTM" and op.get_attr("input_forget")):
        raise build.decline("with clip or input_forget set")


def _inputs(build: Builder, x: SSAValue, w: SSAValue, bias: SSAValue | None) -> SSAValue:
    """x[t] w^T + bias of all times: [T, B, I] -> [T * B, rows of w]"""
    time, batch, size = build.shape(x)
    flat = build.reshape(x, [time * batch, size])
    y = build("MatMulV2", flat, w, transpose_x2=True)
    return y if bias is None else build("Add", y, build.reshape(bias, [1, build.count(bias)]))


def _blocks(build: Builder, x: SSAValue, count: int) -> list[SSAValue]:
    """[B, count * H] -> one [B, H] each."""
    hidden = build.shape(x)[1] // count
    return [build.slice(x, 1, k * hidden, hidden) for k in range(count)]


class _Layer:
    """One direction of an ONNX layer."""

    def __init__(self, build: Builder, op: GeOp, d: int, gates: int) -> None:
        self.build = build
        x, w, r = (build.wide(v) for v in op.operands[:3])
        self.time, self.batch, _ = build.shape(x)
        self.hidden = build.shape(r)[2]
        rows = gates * self.hidden
        self.w = self.part(w, d)
        self.r = self.part(r, d)
        self.x = x
        b = build.slot("b")
        self.wb = self.rb = None
        if b is not None:
            row = self.part(build.wide(b), d)
            self.wb = build.slice(row, 0, 0, rows)
            self.rb = build.slice(row, 0, rows, rows)
        self.lengths = build.slot("sequence_lens")

    def part(self, value: SSAValue, d: int) -> SSAValue:
        """value[d]"""
        shape = self.build.shape(value)
        return self.build.reshape(self.build.slice(value, 0, d, 1), shape[1:])

    def state(self, name: str, d: int) -> SSAValue:
        """The first state, zeros when it is not given."""
        value = self.build.slot(name)
        if value is None:
            zero = self.build.const(0, DataType.DT_FLOAT)
            return self.build.spread(zero, [self.batch, self.hidden])
        return self.part(self.build.wide(value), d)

    def times(self, reverse: bool) -> Sequence[int]:
        return range(self.time - 1, -1, -1) if reverse else range(self.time)

    def row(self, rows: SSAValue, t: int) -> SSAValue:
        """The rows of one time."""
        return self.build.slice(rows, 0, t * self.batch, self.batch)

    def held(self, t: int, new: SSAValue, old: SSAValue) -> SSAValue:
        """new, and old where the sequence has ended."""
        if self.lengths is None:
            return new
        running = self.build("Greater", self.lengths, t)
        mask = self.build.spread(
            self.build.reshape(running, [self.batch, 1]), [self.batch, self.hidden]
        )
        return self.build("SelectV2", mask, new, old)


def _directions(op: GeOp) -> list[bool]:
    known = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}
    return known[op.get_attr("direction")]


def _stacked(build: Builder, steps: list[list[SSAValue]]) -> SSAValue:
    """[direction][time] of [B, H] -> [T, D, B, H]"""
    parts = [
        build.reshape(value, [1, 1, *build.shape(value)])
        for pair in zip(*steps, strict=True)
        for value in pair
    ]
    time, count = len(steps[0]), len(steps)
    joined = build.concat(parts, 0)
    return build.reshape(joined, [time, count, *build.shape(parts[0])[2:]])


def _many(build: Builder, values: list[SSAValue]) -> SSAValue:
    """[B, H] of each direction -> [D, B, H]"""
    return build.concat([build.reshape(v, [1, *build.shape(v)]) for v in values], 0)


def _check(build: Builder, op: GeOp) -> None:
    _plain(build, op)
    time = build.shape(op.operands[0])[0]
    if time > MAX_STEPS:
        raise build.decline(f"for a sequence of {time} steps, expected at most {MAX_STEPS}")


def gru(build: Builder, op: GeOp) -> list[SSAValue]:
    """z and r from one product, n = tanh(xn + r hn), h = (h - n) z + n"""
    _check(build, op)
    steps: list[list[SSAValue]] = []
    last: list[SSAValue] = []
    for d, reverse in enumerate(_directions(op)):
        layer = _Layer(build, op, d, 3)
        rows = _inputs(build, layer.x, layer.w, layer.wb)
        h = layer.state("initial_h", d)
        still = build.spread(build.const(0, DataType.DT_FLOAT), build.shape(h))
        found: dict[int, SSAValue] = {}
        for t in layer.times(reverse):
            product = build("MatMulV2", h, layer.r, transpose_x2=True)
            if layer.rb is not None:
                product = build("Add", product, build.reshape(layer.rb, [1, 3 * layer.hidden]))
            new = _gru_step(build, layer.row(rows, t), product, h)
            found[t] = layer.held(t, new, still)
            h = layer.held(t, new, h)
        steps.append([found[t] for t in range(layer.time)])
        last.append(h)
    return _results(build, op, [_stacked(build, steps), _many(build, last)])


def _gru_step(build: Builder, row: SSAValue, product: SSAValue, h: SSAValue) -> SSAValue:
    xz, xr, xn = _blocks(build, row, 3)
    hz, hr, hn = _blocks(build, product, 3)
    update = build("Sigmoid", build("Add", xz, hz))
    reset = build("Sigmoid", build("Add", xr, hr))
    new = build("Tanh", build("Add", xn, build("Mul", reset, hn)))
    return build("Add", build("Mul", build("Sub", h, new), update), new)


def _results(build: Builder, op: GeOp, values: Sequence[SSAValue]) -> list[SSAValue]:
    return [build.like(v, r) for v, r in zip(values, op.results, strict=True)]


def lstm(build: Builder, op: GeOp) -> list[SSAValue]:
    """c = sigmoid(f) c + sigmoid(i) tanh(g), h = sigmoid(o) tanh(c)"""
    _check(build, op)
    steps: list[list[SSAValue]] = []
    last: tuple[list[SSAValue], list[SSAValue]] = ([], [])
    for d, reverse in enumerate(_directions(op)):
        layer = _Layer(build, op, d, 4)
        bias = None
        if layer.wb is not None and layer.rb is not None:
            bias = build("Add", layer.wb, layer.rb)
        rows = _inputs(build, layer.x, layer.w, bias)
        h, c = layer.state("initial_h", d), layer.state("initial_c", d)
        still = build.spread(build.const(0, DataType.DT_FLOAT), build.shape(h))
        found: dict[int, SSAValue] = {}
        for t in layer.times(reverse):
            product = build("MatMulV2", h, layer.r, transpose_x2=True)
            gates = build("Add", layer.row(rows, t), product)
            new_h, new_c = _lstm_step(build, _blocks(build, gates, 4), c)[:2]
            found[t] = layer.held(t, new_h, still)
            h, c = layer.held(t, new_h, h), layer.held(t, new_c, c)
        steps.append([found[t] for t in range(layer.time)])
        last[0].append(h)
        last[1].append(c)
    return _results(
        build, op, [_stacked(build, steps), _many(build, last[0]), _many(build, last[1])]
    )


def _lstm_step(
    build: Builder,
    gates: Sequence[SSAValue],
    c: SSAValue,
    forget_bias: float = 0.0,
    activation: str = "Sigmoid",
) -> list[SSAValue]:
    """h, c and the gates i, j, f, o and tanh(c), of the blocks i, o, f, j"""
    i, o, f, j = gates
    i, o = build(activation, i), build(activation, o)
    f = build("Adds", f, value=forget_bias) if forget_bias else f
    f, j = build(activation, f), build("Tanh", j)
    c = build("Add", build("Mul", f, c), build("Mul", i, j))
    tanhc = build("Tanh", c)
    return [build("Mul", o, tanhc), c, i, j, f, o, tanhc]


GRU_ORDERS = {"zrh": (0, 1, 2), "rzh": (1, 0, 2)}
"""Order of the gates' columns -> the blocks of update, reset and candidate."""


def dynamic_gru(build: Builder, op: GeOp) -> list[SSAValue]:
    """DynamicGRUV2, and DynamicAUGRU, whose attention takes part in the update"""
    for name, wanted in (("cell_depth", 1), ("keep_prob", 1.0), ("num_proj", 0)):
        if op.get_attr(name) != wanted:
            raise build.decline(f"with {name} set")
    reverse = op.get_attr("direction") == "REDIRECTIONAL"
    if op.get_attr("direction") == "BIDIRECTIONAL" or op.get_attr("cell_clip") >= 0:
        raise build.decline("for both directions or with cell_clip set")
    slots = {io.name: build.slot(io.name) for io in op.prototype.inputs}
    x, hidden = slots["x"], slots["weight_hidden"]
    first, lengths, attention = (slots.get(n) for n in ("weight_input", "seq_length", "weight_att"))
    assert x is not None
    assert first is not None
    assert hidden is not None
    time, batch, inputs = build.shape(x)
    if time > MAX_STEPS:
        raise build.decline(f"for a sequence of {time} steps, expected at most {MAX_STEPS}")
    size = build.shape(hidden)[0]
    rows = product(build, build.reshape(x, [time * batch, inputs]), first)
    rows = _with_bias(build, rows, slots["bias_input"])
    zero = build.spread(build.const(0, DataType.DT_FLOAT), [batch, size])
    start = slots["init_h"]
    h = zero if start is None else build.reshape(build.wide(start), [batch, size])
    order = GRU_ORDERS[op.get_attr("gate_order")]
    found: dict[int, list[SSAValue]] = {}
    for t in range(time - 1, -1, -1) if reverse else range(time):
        # the cube multiplies the state as it is given on
        state = build.cast(h, build.dtype(op.results[0]))
        again = _with_bias(build, product(build, state, hidden), slots["bias_hidden"])
        blocks = _blocks(build, build.slice(rows, 0, t * batch, batch), 3), _blocks(build, again, 3)
        weight = None if attention is None else build.slice(attention, 0, t, 1)
        new, *gates = _gru_gates(build, h, [[b[k] for k in order] for b in blocks], weight)
        if lengths is not None:
            running = build.reshape(build("Greater", lengths, t), [batch, 1])
            new = build("SelectV2", build.spread(running, [batch, size]), new, h)
        h = new
        found[t] = [h, *gates]
    parts = [_many(build, [found[t][k] for t in range(time)]) for k in range(len(found[0]))]
    return _results(build, op, [parts[0], *parts])


def _with_bias(build: Builder, y: SSAValue, bias: SSAValue | None) -> SSAValue:
    if bias is None:
        return y
    return build("Add", y, build.wide(build.reshape(bias, [1, build.count(bias)])))


def _gru_gates(
    build: Builder, h: SSAValue, blocks: Sequence[Sequence[SSAValue]], weight: SSAValue | None
) -> list[SSAValue]:
    """The new state, the update (and that with the attention), reset, new and hidden gates."""
    (xz, xr, xn), (hz, hr, hn) = blocks
    update = build("Sigmoid", build("Add", xz, hz))
    reset = build("Sigmoid", build("Add", xr, hr))
    new = build("Tanh", build("Add", xn, build("Mul", reset, hn)))
    updates = [update]
    if weight is not None:
        column = build.wide(build.reshape(weight, [build.count(weight), 1]))
        updates.append(build("Mul", update, build("Adds", build("Neg", column), value=1.0)))
    state = build("Add", build("Mul", build("Sub", h, new), updates[-1]), new)
    return [state, *updates, reset, new, hn]


ORDERS = {"ijfo": (0, 3, 2, 1), "ifjo": (0, 3, 1, 2), "ifco": (0, 3, 1, 2)}
"""Order of the gates' columns -> the blocks of i, o, f and j."""


def dynamic_rnn(build: Builder, op: GeOp) -> list[SSAValue]:
    """GE's own LSTM, its weights [I + H, 4H] or apart"""
    names = op.prototype.attr_by_name
    for name, wanted in (("cell_depth", 1), ("keep_prob", 1.0), ("num_proj", 0)):
        if name in names and op.get_attr(name) != wanted:
            raise build.decline(f"with {name} set")
    if op.get_attr("direction") == "BIDIRECTIONAL" or op.get_attr("cell_clip") >= 0:
        raise build.decline("for both directions or with cell_clip set")
    x = build.wide(op.operands[0])
    time, batch, inputs = build.shape(x)
    if time > MAX_STEPS or build.slot("seq_length") is not None:
        raise build.decline("for long sequences, and sequences of different lengths")
    both = build.slot("w") if "w" in op.prototype.input_index else None
    if both is not None:
        w = build.wide(both)
        hidden = build.shape(w)[1] // 4
        first = build.slice(w, 0, 0, inputs)
        second = build.slice(w, 0, inputs, build.shape(w)[0] - inputs)
    else:
        first, second = (build.wide(_slot(build, n)) for n in ("weight_input", "weight_hidden"))
        hidden = build.shape(second)[0]
    rows = build("MatMulV2", build.reshape(x, [time * batch, inputs]), first)
    bias = build.slot("b")
    if bias is not None:
        rows = build("Add", rows, build.reshape(build.wide(bias), [1, 4 * hidden]))
    project = build.slot("project") if "project" in op.prototype.input_index else None
    return _run(build, op, rows, second, hidden, None if project is None else build.wide(project))


def _slot(build: Builder, name: str) -> SSAValue:
    """A required operand."""
    value = build.slot(name)
    assert value is not None
    return value


def _run(
    build: Builder,
    op: GeOp,
    rows: SSAValue,
    weight: SSAValue,
    hidden: int,
    project: SSAValue | None,
) -> list[SSAValue]:
    """All times of DynamicRNN; the results as the op has them."""
    time, batch, _ = build.shape(op.operands[0])
    size = build.shape(weight)[0]
    zero = build.const(0, DataType.DT_FLOAT)
    states: list[SSAValue] = []
    for name, n in (("init_h", size), ("init_c", hidden)):
        value = build.slot(name)
        start = build.spread(zero, [batch, n]) if value is None else build.wide(value)
        states.append(build.reshape(start, [batch, n]))
    h, c = states
    names = op.prototype.attr_by_name
    order = ORDERS[op.get_attr("gate_order") if "gate_order" in names else "ijfo"]
    hard = "recurrent_activation" in names and op.get_attr("recurrent_activation") != "sigmoid"
    if hard:
        raise build.decline("for hard_sigmoid")
    reverse = op.get_attr("direction") == "REDIRECTIONAL"
    found: dict[int, list[SSAValue]] = {}
    for t in range(time - 1, -1, -1) if reverse else range(time):
        row = build.slice(rows, 0, t * batch, batch)
        blocks = _blocks(build, build("Add", row, build("MatMulV2", h, weight)), 4)
        step = _lstm_step(build, [blocks[k] for k in order], c, op.get_attr("forget_bias"))
        if project is not None:
            step[0] = build("MatMulV2", step[0], project)
        h, c = step[:2]
        found[t] = step
    parts = [_many(build, [found[t][k] for t in range(time)]) for k in range(7)]
    if op.op_type == "DynamicRNNV2":
        values = [parts[0], _many(build, [h]), _many(build, [c]), *parts[2:]]
    else:
        values = [parts[0], *parts]
    return _results(build, op, values)


EXPANSIONS: dict[str, Expansion] = {
    "CommonGRU": gru,
    "CommonLSTM": lstm,
    **dict.fromkeys(("DynamicRNN", "DynamicRNNV2", "DynamicRNNV3"), dynamic_rnn),
    **dict.fromkeys(("DynamicGRUV2", "DynamicAUGRU"), dynamic_gru),
}
