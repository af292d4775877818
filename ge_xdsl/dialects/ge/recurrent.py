"""What recurrent ops share: dimensions, directions, held states and the LSTM and GRU steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.elements import require
from ge_xdsl.dialects.ge.extents import of_rank
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.shapes import shape_text
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

FORWARD, BOTH, REVERSE = "UNIDIRECTIONAL", "BIDIRECTIONAL", "REDIRECTIONAL"


def dims(tensor: Tensor | None, rank: int, name: str) -> tuple[int, ...]:
    """The dimensions of an operand of `rank`, unknown ones while it is absent or unknown."""
    if tensor is None or tensor.shape is None:
        return (DYNAMIC,) * rank
    of_rank(tensor, rank, name)
    return tensor.shape


def expect(tensor: Tensor | None, wanted: Sequence[int], name: str) -> None:
    """An operand that is there has the shape `wanted`, as far as both are known."""
    have = dims(tensor, len(wanted), name)
    if any(h != w and DYNAMIC not in (h, w) for h, w in zip(have, wanted, strict=True)):
        raise VerifyException(f"{name} is {shape_text(have)}, expected {shape_text(wanted)}")


def part_of(total: int, parts: int, name: str) -> int:
    """total / parts; raises when they do not divide."""
    if total == DYNAMIC:
        return DYNAMIC
    if total % parts or total == 0:
        raise VerifyException(f"{name} has {total} columns, expected a multiple of {parts}")
    return total // parts


def check_choice(op: GeOp, attr: str, known: Sequence[object]) -> None:
    """An attribute has one of the values `known`."""
    value = op.get_attr(attr)
    if value not in known:
        names = " or ".join(map(repr, known))
        raise VerifyException(f"{attr} is {value!r}, expected {names}")


def check_cell(op: GeOp) -> None:
    """The attributes that all Dynamic ops have: time-major tanh cells, nothing unconfirmed."""
    check_choice(op, "direction", (FORWARD, BOTH, REVERSE))
    check_choice(op, "time_major", (True,))
    check_choice(op, "activation", ("tanh",))


def require_plain(op: GeOp) -> None:
    """Raises ValueError for what changes values in an unconfirmed way."""
    for attr, plain in (("cell_depth", 1), ("keep_prob", 1.0), ("num_proj", 0)):
        if op.get_attr(attr) != plain:
            raise ValueError(f"{attr} is {op.get_attr(attr)}, expected {plain}")
    if op.get_attr("cell_clip") >= 0:
        raise ValueError(f"cell_clip is {op.get_attr('cell_clip'):g}, expected a negative one")
    if op.get_attr("direction") == BOTH:
        raise ValueError("direction is 'BIDIRECTIONAL', expected one direction")


def check_lengths(lengths: Tensor | None, batch: int, name: str = "seq_length") -> None:
    """The operand holds one i32 per sequence."""
    if lengths is not None:
        require(lengths, name, {DataType.DT_INT32}, "DT_INT32")
        expect(lengths, (batch,), name)


def sigmoid(x: Array) -> Array:
    """1 / (1 + exp(-x)), without overflow."""
    import numpy as np

    half = x.dtype.type(0.5)
    y = np.asarray(x * half)
    np.tanh(y, out=y)
    y *= half
    y += half
    return y


def hard_sigmoid(x: Array) -> Array:
    """clip(0.2 x + 0.5, 0, 1)"""
    import numpy as np

    return np.clip(x * x.dtype.type(0.2) + x.dtype.type(0.5), 0, 1)


class Lstm(NamedTuple):
    """One step of an LSTM: the new states, its gates and tanh of the new cell."""

    h: Array
    c: Array
    i: Array
    j: Array
    f: Array
    o: Array
    tanhc: Array


def lstm_step(
    gates: Sequence[Array], c: Array, forget_bias: float, activation: Any = sigmoid
) -> Lstm:
    """i, j, f, o before their activations -> f*c + i*j and o*tanh of it."""
    import numpy as np

    i, j, f, o = gates
    i, o, j = activation(i), activation(o), np.tanh(j)
    f = activation(f + f.dtype.type(forget_bias))
    c = f * c + i * j
    tanhc = np.tanh(c)
    return Lstm(o * tanhc, c, i, j, f, o, tanhc)


class Gru(NamedTuple):
    """One step of a GRU: the new state, its gates, the candidate and its hidden part."""

    h: Array
    update: Array
    reset: Array
    new: Array
    hidden_new: Array


def gru_step(
    x: Sequence[Array], hidden: Sequence[Array], h: Array, attention: Array | None = None
) -> Gru:
    """Input and hidden parts of update, reset and candidate -> (h - n)*z + n, reset after.

    With `attention`, (1 - attention) * z stands for z in the new state.
    """
    import numpy as np

    update, reset = sigmoid(x[0] + hidden[0]), sigmoid(x[1] + hidden[1])
    new = np.tanh(x[2] + reset * hidden[2])
    kept = update if attention is None else update * (update.dtype.type(1) - attention)
    return Gru((h - new) * kept + new, update, reset, new, hidden[2])


def times(count: int, reverse: bool) -> Sequence[int]:
    """The order in which the steps run."""
    return range(count - 1, -1, -1) if reverse else range(count)


def running(lengths: Array | None, t: int) -> Array | None:
    """[B, 1]: which sequences have a step at time t; None for all."""
    return None if lengths is None else (t < lengths).reshape(-1, 1)


def held(mask: Array | None, new: Array, old: Array) -> Array:
    """The new state where the sequence runs, else the old one."""
    import numpy as np

    return new if mask is None else np.where(mask, new, old)


def first_state(init: Array | None, batch: int, hidden: int, like: Array) -> Array:
    """The state [B, H] before the first step, zeros without `init` [1, B, H]."""
    import numpy as np

    if init is None:
        return np.zeros((batch, hidden), like.dtype)
    return init.reshape(batch, hidden)
