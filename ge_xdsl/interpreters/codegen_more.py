"""The statements of moves on some chips, constants, picking, scalars, and between cores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from xdsl.ir import Operation, SSAValue

from ge_xdsl.dialects.aicore.cross import (
    AffineOp,
    BlockIdxOp,
    BoundOp,
    CrossSetOp,
    CrossWaitOp,
    SubBlockIdxOp,
    SyncAllOp,
    TakeOp,
    WorkspaceOp,
)
from ge_xdsl.dialects.aicore.op import Index, Instruction
from ge_xdsl.dialects.aicore.paths import (
    CopyL0cUbOp,
    CopyL1GmOp,
    CopyL1UbOp,
    CopyUbL1Op,
    CopyUbUbOp,
    FillL0Op,
    FillOp,
    LoadQuantOp,
)
from ge_xdsl.dialects.aicore.pick import ScalarLoadOp, ScalarStoreOp, VcompactOp, ViotaOp
from ge_xdsl.dialects.aicore.types import tile_of
from ge_xdsl.dialects.aicore.vector import VcmpsOp, VfmaOp, VselsOp
from ge_xdsl.dialects.ge.types import numpy_dtype
from ge_xdsl.interpreters.tiles import DATA_TYPES, Buffer, Memory

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

CALLS = {
    "eq": "np.equal",
    "ne": "np.not_equal",
    "lt": "np.less",
    "le": "np.less_equal",
    "gt": "np.greater",
    "ge": "np.greater_equal",
}


class Source(Protocol):
    """What a statement needs of the source that it goes into."""

    objects: dict[str, Any]

    def name(self, value: SSAValue) -> str:
        """The Python name of a value."""
        ...

    def index(self, value: Index) -> str:
        """The text of an index."""
        ...

    def indices(self, values: Sequence[Index]) -> str:
        """Several, with commas."""
        ...


Statement = Callable[[Any, Any], str]


def _read(src: Source, op: Instruction, name: str) -> str:
    return f"{src.name(op.tile(name))}.read({src.indices(op.sizes)})"


def _write(src: Source, op: Instruction) -> str:
    return f"{src.name(op.written)}.write({src.indices(op.sizes)})"


def _number(src: Source, op: Instruction, value: float) -> str:
    """A number in the element type that the op reads or fills."""
    names = op.tile_names()
    element = op.tile_type(names[max(len(names) - 2, 0)]).element
    src.objects[element] = numpy_dtype(DATA_TYPES[element]).type
    return f"{element}({int(value) if 'i' in element else value!r})"


def _copy_part(src: Source, op: Instruction) -> str:
    part = f"{src.indices(op.offsets)}, {src.indices(op.sizes)}"
    return f"{src.name(op.written)}.put({src.name(op.tile('src'))}.get({part}))"


def _copy_corner(src: Source, op: Instruction) -> str:
    values = f"{src.name(op.tile('src'))}.get(0, 0, {src.indices(op.sizes)})"
    return f"{src.name(op.tile('dst'))}.store(({src.indices(op.offsets)},), {values})"


def _fill(src: Source, op: Instruction) -> str:
    number = _number(src, op, op.option("value"))
    return f"{src.name(op.written)}.put(np.full(({src.indices(op.sizes)}), {number}))"


def _iota(src: Source, op: ViotaOp) -> str:
    cols = src.index(op.sizes[1])
    element = tile_of(op.written).element
    src.objects[f"{element}_dtype"] = numpy_dtype(DATA_TYPES[element])
    row = f"({op.start!r} + {op.step!r} * np.arange({cols})).astype({element}_dtype)"
    return f"{_write(src, op)}[...] = {row}"


def _compact(src: Source, op: VcompactOp) -> str:
    return f"compact({_read(src, op, 'src')}, {_read(src, op, 'mask')}, {_write(src, op)})"


def _fma(src: Source, op: VfmaOp) -> str:
    kind = op.option("kind")
    old = "None"
    if kind.startswith("muladd"):
        old = f"{src.name(op.written)}.read({src.indices(op.sizes)}).copy()"
    values = f"{_read(src, op, 'a')}, {_read(src, op, 'b')}, {old}"
    return f"{_write(src, op)}[...] = fused({kind!r}, {values})"


def _compare(src: Source, op: VcmpsOp) -> str:
    number = _number(src, op, op.option("value"))
    call = CALLS[op.option("kind")]
    return f"{call}({_read(src, op, 'src')}, {number}, out={_write(src, op)})"


def _select(src: Source, op: VselsOp) -> str:
    number = _number(src, op, op.option("value"))
    values = f"{_read(src, op, 'mask')}, {_read(src, op, 'src')}, {number}"
    return f"{_write(src, op)}[...] = np.where({values})"


def _scalar_load(src: Source, op: ScalarLoadOp) -> str:
    where = src.indices(op.offsets)
    return f"{src.name(op.results[0])} = element({src.name(op.tile('src'))}, ({where},))"


def _scalar_store(src: Source, op: ScalarStoreOp) -> str:
    return f"{_write(src, op)}[...] = {src.index(op.at[0])}"


# Between cores


def _workspace(src: Source, op: WorkspaceOp) -> str:
    name = src.name(op.results[0])
    src.objects[f"{name}tile"] = op.tile
    return f"{name} = cross.workspace({name.rstrip('_')!r}, {name}tile, {op.buffers}, core, sub)"


def _take(src: Source, op: TakeOp) -> str:
    return f"{src.name(op.results[0])} = {src.name(op.operands[0])}.take()"


def _cross_set(src: Source, op: CrossSetOp) -> str:
    return f"cross.set(core, sub, {op.first}, {op.count}, {op.mode})"


def _cross_wait(src: Source, op: CrossWaitOp) -> str:
    return f"yield cross.wait(core, sub, {op.first}, {op.count}, {op.mode})"


def _sync_all(src: Source, op: SyncAllOp) -> str:
    return f"yield cross.all(core, sub, {op.cores!r})"


def _affine(src: Source, op: AffineOp) -> str:
    terms = [f"{f} * {src.index(v)}" for f, v in zip(op.factors, op.operands, strict=True)]
    return f"{src.name(op.results[0])} = {' + '.join([*terms, str(op.constant)])}"


def _bound(src: Source, op: BoundOp) -> str:
    whole = f"{src.index(op.operands[0])} // {op.by} * {op.by}"
    return f"{src.name(op.results[0])} = min(max({whole}, {op.low}), {op.high})"


MORE_STATEMENTS: dict[type[Operation], Statement] = {
    CopyUbUbOp: _copy_part,
    CopyUbL1Op: _copy_part,
    CopyL1UbOp: _copy_part,
    CopyL0cUbOp: _copy_part,
    LoadQuantOp: _copy_part,
    CopyL1GmOp: _copy_corner,
    FillOp: _fill,
    FillL0Op: _fill,
    ViotaOp: _iota,
    VcompactOp: _compact,
    VfmaOp: _fma,
    VcmpsOp: _compare,
    VselsOp: _select,
    ScalarLoadOp: _scalar_load,
    ScalarStoreOp: _scalar_store,
}
"""Instruction -> the Python statement that executes it."""

CROSS_STATEMENTS: dict[type[Operation], Statement] = {
    WorkspaceOp: _workspace,
    TakeOp: _take,
    CrossSetOp: _cross_set,
    CrossWaitOp: _cross_wait,
    SyncAllOp: _sync_all,
    BlockIdxOp: lambda src, op: f"{src.name(op.results[0])} = core",
    SubBlockIdxOp: lambda src, op: f"{src.name(op.results[0])} = sub",
    AffineOp: _affine,
    BoundOp: _bound,
}
"""What tells cores apart and orders them -> the statement."""


# What the statements call


def fused(kind: str, a: Array, b: Array, old: Array | None) -> Array:
    """The fused instructions, each step rounded to the element type."""
    import numpy as np

    if kind == "addrelu":
        return np.maximum(a + b, 0)
    if kind == "subrelu":
        return np.maximum(a - b, 0)
    assert old is not None
    if kind == "muladddst":
        return a * b + old
    found = a * old + b
    return np.maximum(found, 0) if kind == "muladdrelu" else found


def by_scalar(kind: str, x: Array, value: Any, old: Array | None) -> Array:
    """The scalar instructions that are no single numpy call."""
    import numpy as np

    if kind == "lrelu":
        return np.where(x < 0, x * value, x)
    if kind == "axpy":
        assert old is not None
        return x * value + old
    return np.left_shift(x, value) if kind == "shl" else np.right_shift(x, value)


def compact(values: Array, mask: Array, out: Array) -> None:
    """Each row's elements whose bit is set, in order; zero in what is left."""
    import numpy as np

    order = np.argsort(~mask, axis=1, kind="stable")
    out[...] = np.where(np.take_along_axis(mask, order, 1), np.take_along_axis(values, order, 1), 0)


def element(tile: Buffer | Memory, where: Sequence[int]) -> int:
    """One element, as a number."""
    if isinstance(tile, Memory):
        return int(tile.load(where, 1, 1)[0, 0])
    return int(tile.get(where[0], where[1], 1, 1)[0, 0])


MORE_CALLS: dict[str, Any] = {
    "fused": fused,
    "by_scalar": by_scalar,
    "compact": compact,
    "element": element,
}
"""The functions that the statements name."""
