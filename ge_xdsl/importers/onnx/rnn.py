"""ONNX recurrences: CommonLSTM and CommonGRU where GE computes the same, else a While per
direction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.types import DataType
from ge_xdsl.importers.onnx.activations import Activation, activation, take_parameters
from ge_xdsl.importers.onnx.builder import Builder
from ge_xdsl.importers.onnx.control import Start, Turn, repeat
from ge_xdsl.importers.onnx.node import Node
from ge_xdsl.importers.onnx.table import Converter

DIRECTIONS = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}
"""Direction -> whether each part of the recurrence runs backwards."""
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
DEFAULTS = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}
"""The activations of one direction."""


@dataclass(frozen=True)
class Cell:
    """What one direction computes with; `clip` is 0 for no limit."""

    functions: Sequence[Activation]
    clip: float
    coupled: bool
    reset_after: bool

    def limited(self, g: Builder, value: SSAValue) -> SSAValue:
        """The argument of an activation within the limit."""
        if not self.clip:
            return value
        return g.part("ClipByValue", value, g.like(-self.clip, value), g.like(self.clip, value))

    def apply(self, g: Builder, index: int, value: SSAValue) -> SSAValue:
        return self.functions[index](g, self.limited(g, value))


States = Sequence[SSAValue]
Step = Callable[[Builder, Cell, SSAValue, Mapping[str, SSAValue], States], States]
"""The next states from the input's share of all gates, the weights and the states before."""


def _gates(g: Builder, value: SSAValue, count: int) -> Sequence[SSAValue]:
    """The gates along the last dimension, in equal parts."""
    if count == 1:
        return [value]
    dim = g.helper(-1, "int32")
    return g.add(
        "Split", (dim, value), {"num_split": count}, g.part_name("Split"), (count,)
    ).results  # fmt: skip


def _hidden(g: Builder, weights: Mapping[str, SSAValue], state: SSAValue) -> SSAValue:
    """state @ R^T + Rb"""
    found = g.part("BatchMatMulV2", state, weights["R"], adj_x2=True)
    return g.part("Add", found, weights["Rb"]) if "Rb" in weights else found


def _rnn(
    g: Builder, cell: Cell, x: SSAValue, weights: Mapping[str, SSAValue], states: States
) -> States:
    """h = f(x W^T + h R^T + Wb + Rb)"""
    return [cell.apply(g, 0, g.part("Add", x, _hidden(g, weights, states[0])))]


def _gru(
    g: Builder, cell: Cell, x: SSAValue, weights: Mapping[str, SSAValue], states: States
) -> States:
    """z, r = f(..); n = g(x + (r*h) R^T + Rb), or with the reset after the product
    g(x + r*(h R^T + Rb)); h = (1 - z)*n + z*h"""
    (state,) = states
    parts = _gates(g, x, 3)
    if cell.reset_after:
        held = _gates(g, _hidden(g, weights, state), 3)
        z, r = (cell.apply(g, 0, g.part("Add", parts[k], held[k])) for k in range(2))
        inner = g.part("Mul", r, held[2])
    else:
        z, r = (
            cell.apply(g, 0, g.part("Add", parts[k], _hidden(g, _part(g, weights, k, 3), state)))
            for k in range(2)
        )
        inner = _hidden(g, _part(g, weights, 2, 3), g.part("Mul", r, state))
    new = cell.apply(g, 1, g.part("Add", parts[2], inner))
    kept = g.part("Mul", z, g.part("Sub", state, new))
    return [g.part("Add", new, kept)]


def _part(
    g: Builder, weights: Mapping[str, SSAValue], index: int, count: int
) -> dict[str, SSAValue]:
    """The weights of one gate: R [gates*H, H] and Rb [gates*H]."""
    found: dict[str, SSAValue] = {}
    for name in ("R", "Rb"):
        if name in weights:
            dim = g.helper(0, "int32")
            split = g.add(
                "Split", (dim, weights[name]), {"num_split": count}, g.part_name("Split"), (count,)
            )
            found[name] = split.results[index]
    return found


def _lstm(
    g: Builder, cell: Cell, x: SSAValue, weights: Mapping[str, SSAValue], states: States
) -> States:
    """i, f = f(..); c = f*c + i*g(..); o = f(..); h = o*h(c); peepholes add p*c to i, o and f"""
    state, memory = states
    i, o, f, c = _gates(g, g.part("Add", x, _hidden(g, weights, state)), 4)
    peepholes = _gates(g, weights["P"], 3) if "P" in weights else None
    if peepholes is not None:
        i = g.part("Add", i, g.part("Mul", peepholes[0], memory))
        f = g.part("Add", f, g.part("Mul", peepholes[2], memory))
    gate = cell.apply(g, 0, i)
    if cell.coupled:
        forget = g.part("Adds", g.part("Neg", gate), value=1.0)
    else:
        forget = cell.apply(g, 0, f)
    new = g.part("Mul", gate, cell.apply(g, 1, c))
    memory = g.part("Add", g.part("Mul", forget, memory), new)
    if peepholes is not None:
        o = g.part("Add", o, g.part("Mul", peepholes[1], memory))
    return [g.part("Mul", cell.apply(g, 0, o), cell.functions[2](g, memory)), memory]


STEPS: dict[str, Step] = {"RNN": _rnn, "GRU": _gru, "LSTM": _lstm}


def recurrence(node: Node, g: Builder) -> Sequence[SSAValue]:
    """The outputs Y, Y_h and, for LSTM, Y_c"""
    kind = node.op_type
    direction = node.string("direction", "forward")
    if direction not in DIRECTIONS:
        node.fail(
            f"attribute 'direction' is '{direction}', expected one of {', '.join(DIRECTIONS)}"
        )
    backward = DIRECTIONS[direction]
    hidden = node.integer("hidden_size", 0)
    batch_first = node.flag("layout", False)
    cells = _cells(node, kind, len(backward))
    x = node.input(0)
    first = [node.optional(5), node.optional(6)][: 2 if kind == "LSTM" else 1]
    if batch_first:
        x = g.transpose(x, [1, 0, 2])
        first = [None if value is None else g.transpose(value, [1, 0, 2]) for value in first]
    if _is_common(node, kind, cells):
        found = _common(node, g, kind, direction, hidden, x, first)
    else:
        found = _by_loops(node, g, kind, backward, cells, x, first)
    if batch_first:
        orders = ([2, 0, 1, 3], [1, 0, 2], [1, 0, 2])
        found = [g.transpose(value, p) for value, p in zip(found, orders, strict=False)]
    return found


def _cells(node: Node, kind: str, count: int) -> list[Cell]:
    """Activations and limits of each direction, from the attributes."""
    default = DEFAULTS[kind]
    names = node.strings("activations") or default * count
    if len(names) != len(default) * count:
        node.fail(
            f"attribute 'activations' has {len(names)} entries, expected {len(default) * count}"
        )
    parameters = take_parameters(node, names)
    functions = [activation(node, name, p) for name, p in zip(names, parameters, strict=True)]
    clip = node.floating("clip", 0.0)
    coupled = node.flag("input_forget", False)
    after = node.flag("linear_before_reset", False)
    size = len(default)
    return [Cell(functions[k * size : (k + 1) * size], clip, coupled, after) for k in range(count)]


def _is_common(node: Node, kind: str, cells: Sequence[Cell]) -> bool:
    """Whether GE's CommonLSTM or CommonGRU computes this: GE has the reset after the product, no
    peepholes, limits or other activations."""
    if kind == "RNN" or (kind == "LSTM" and node.optional(7) is not None):
        return False
    plain = [activation(node, name, (None, None)) for name in DEFAULTS[kind]]
    return all(
        list(cell.functions) == plain
        and not cell.clip
        and not cell.coupled
        and (kind == "LSTM" or cell.reset_after)
        for cell in cells
    )


def _common(
    node: Node,
    g: Builder,
    kind: str,
    direction: str,
    hidden: int,
    x: SSAValue,
    first: Sequence[SSAValue | None],
) -> list[SSAValue]:
    """CommonLSTM or CommonGRU"""
    weights = node.input(1), node.input(2), node.optional(3), node.optional(4)
    attrs = {"direction": direction, "hidden_size": hidden or _hidden_size(node, g)}
    return list(g.add(f"Common{kind}", (x, *weights, *first), attrs, node.name).results)


def _hidden_size(node: Node, g: Builder) -> int:
    shape = g.shape(node.input(2))
    if shape is None or len(shape) != 3:
        node.fail(f"R is {g.tensor_text(node.input(2))}, expected rank 3")
    return g.static_dims(shape[2:], "the hidden size")[0]


def _by_loops(
    node: Node,
    g: Builder,
    kind: str,
    backward: Sequence[bool],
    cells: Sequence[Cell],
    x: SSAValue,
    first: Sequence[SSAValue | None],
) -> list[SSAValue]:
    """One loop over time per direction, its results side by side"""
    parts = [
        _direction(node, g, kind, k, reverse, cells[k], x, first)
        for k, reverse in enumerate(backward)
    ]
    count = len(parts)
    *lasts, outputs = zip(*parts, strict=True)
    y = g.part("Pack", list(outputs), axis=1, N=count)
    return [y, *(g.part("Pack", list(last), axis=0, N=count) for last in lasts)]


def _direction(
    node: Node,
    g: Builder,
    kind: str,
    index: int,
    reverse: bool,
    cell: Cell,
    x: SSAValue,
    first: Sequence[SSAValue | None],
) -> list[SSAValue]:
    """The last states [B, H] of one direction, and its outputs [T, B, H]"""
    weights = _weights(node, g, kind, index, x)
    total = g.dim(x, 0)
    captured = {**weights, "total": total}
    if (lengths := node.optional(4)) is not None:
        column = g.part("Reshape", lengths, g.helper([-1, 1], "int64"))
        captured["lengths"] = g.cast(column, DataType.DT_INT64)

    def step(
        turn: SSAValue, cond: SSAValue, states: Sequence[SSAValue], inner: Mapping[str, SSAValue]
    ) -> Turn:
        values = {name: g.local(value) for name, value in inner.items()}
        time = turn
        if reverse:
            time = g.part("Sub", g.part("Sub", values["total"], g.scalar(1, "int64")), turn)
        new = STEPS[kind](g, cell, g.take(values["X"], time, 0), values, states)
        output = new[0]
        if "lengths" in values:
            running = g.part("Less", time, values["lengths"])
            output = g.part("SelectV2", running, output, g.part("ZerosLike", output))
            new = [
                g.part("SelectV2", running, after, before)
                for after, before in zip(new, states, strict=True)
            ]
        return Turn(cond, new, [output])

    states = [_initial(g, value, index, x, weights["R"]) for value in first]
    start = Start(total, g.scalar(True, "bool"), states, captured, [reverse])
    return repeat(node, g, start, step, g.part_name("While"))


def _weights(node: Node, g: Builder, kind: str, index: int, x: SSAValue) -> dict[str, SSAValue]:
    """One direction's input share of the gates for all times, X, and R, Rb and P."""
    place = g.scalar(index, "int64")
    product = g.part("BatchMatMulV2", x, g.take(node.input(1), place, 0), adj_x2=True)
    found = {"R": g.take(node.input(2), place, 0)}
    if (bias := node.optional(3)) is not None:
        own = g.take(bias, place, 0)
        dim = g.helper(0, "int32")
        halves = g.add("Split", (dim, own), {"num_split": 2}, g.part_name("Split"), (2,)).results
        product = g.part("Add", product, halves[0])
        found["Rb"] = halves[1]
    if kind == "LSTM" and (peepholes := node.optional(7)) is not None:
        found["P"] = g.take(peepholes, place, 0)
    found["X"] = product
    return found


def _initial(g: Builder, value: SSAValue | None, index: int, x: SSAValue, r: SSAValue) -> SSAValue:
    """The first state of one direction [B, H], zeros when none is given."""
    if value is not None:
        return g.take(value, g.scalar(index, "int64"), 0)
    dims = g.part("Pack", [g.dim(x, 1), g.dim(r, 1)], axis=0, N=2)
    return g.part("Fill", dims, g.like(0, x))


TABLE: dict[str, Converter] = dict.fromkeys(GATES, recurrence)
