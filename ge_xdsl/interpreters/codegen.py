"""A kernel as Python source: loops over tiles, and one numpy call or move per instruction.

The source is the loop nest of the kernel with numbers filled in; `compile_kernel` executes it
to get functions that run one core's share: `kernel`, or `cube` and `vector` of a mixed kernel.
Where cores wait for each other they are generators, which give what they wait for (`cross_cores`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from xdsl.ir import Block, Operation, SSAValue

from ge_xdsl.dialects.aicore.cross import CrossFlag, SyncAllOp
from ge_xdsl.dialects.aicore.cube import FixpipeOp, MmadOp
from ge_xdsl.dialects.aicore.indexed import (
    ScalarOp,
    VargreduceOp,
    VgatherOp,
    VscanOp,
    VscatterOp,
    VsortOp,
)
from ge_xdsl.dialects.aicore.maps import (
    CopyMapL1Op,
    CopyMapUbOp,
    Geometry,
    Load3dOp,
    MapInstruction,
    VspreadOp,
    VtapOp,
)
from ge_xdsl.dialects.aicore.move import (
    CopyGmL1Op,
    CopyGmUbOp,
    CopyRowsOp,
    CopyUbGmOp,
    LoadBiasOp,
    LoadL0aOp,
    LoadL0bOp,
)
from ge_xdsl.dialects.aicore.op import Index, Instruction
from ge_xdsl.dialects.aicore.structure import AllocOp, ForOp, KernelOp, SectionOp
from ge_xdsl.dialects.aicore.sync import PipeBarrierOp, SetFlagOp, WaitFlagOp
from ge_xdsl.dialects.aicore.types import tile_of
from ge_xdsl.dialects.aicore.vector import (
    VbinaryOp,
    VbrcOp,
    VcastOp,
    VcmpOp,
    VdupOp,
    VreduceOp,
    VscalarOp,
    VselOp,
    VtransposeOp,
    VunaryOp,
)
from ge_xdsl.dialects.aicore.view import StridedOp
from ge_xdsl.dialects.ge.elements import convert
from ge_xdsl.dialects.ge.types import numpy_dtype
from ge_xdsl.errors import CompileError
from ge_xdsl.interpreters.checked import CheckedRing, connect
from ge_xdsl.interpreters.codegen_more import CROSS_STATEMENTS, MORE_CALLS, MORE_STATEMENTS
from ge_xdsl.interpreters.indexed_tiles import FUNCTIONS, statement
from ge_xdsl.interpreters.map_tiles import copy_map_l1, copy_map_ub, load3d, vspread, vtap
from ge_xdsl.interpreters.tiles import DATA_TYPES, Ring, copy_rows, fixpipe, load_l0, mmad

KernelFunction = Callable[..., Any]
"""`kernel(core, cores, sub, cross, *gm)`: `core` of `cores` on one `Memory` per argument.

`sub` is the number of a vector core in its AI core, `cross` the flags and workspaces.
"""

RESERVED = ("core", "cores", "sub", "cross", "np", "t", "strip", "place", "height", "number")
UNARY = {
    "abs": "np.abs({0}, out={1})",
    "relu": "np.maximum({0}, 0, out={1})",
    "exp": "np.exp({0}, out={1})",
    "ln": "np.log({0}, out={1})",
    "sqrt": "np.sqrt({0}, out={1})",
    "rsqrt": "{1}[...] = 1 / np.sqrt({0}.astype(np.float32))",
    "rec": "np.reciprocal({0}, out={1})",
    "copy": "{1}[...] = {0}",
}
BINARY = {
    "add": "np.add",
    "sub": "np.subtract",
    "mul": "np.multiply",
    "div": "np.divide",
    "max": "np.maximum",
    "min": "np.minimum",
    "and": "np.bitwise_and",
    "or": "np.bitwise_or",
}
COMPARE = {
    "eq": "np.equal",
    "ne": "np.not_equal",
    "lt": "np.less",
    "le": "np.less_equal",
    "gt": "np.greater",
    "ge": "np.greater_equal",
}
REDUCE = {"sum": "np.add", "max": "np.maximum", "min": "np.minimum", "prod": "np.multiply"}
SCALAR = {"adds": "np.add", "muls": "np.multiply", "maxs": "np.maximum", "mins": "np.minimum"}


def name_of(value: SSAValue, names: dict[SSAValue, str], taken: set[str]) -> str:
    """The Python name of an SSA value, after its hint; a new one is noted in `names` and `taken`.

    It ends in `_` or `_` and a number, as nothing does that generated source names by itself.
    """
    found = names.get(value)
    if found is None:
        stem = re.sub(r"\W", "_", value.name_hint or "v", flags=re.ASCII)
        found, k = f"{stem}_", 0
        while found in taken:
            k += 1
            found = f"{stem}_{k}"
        taken.add(found)
        names[value] = found
    return found


@dataclass(frozen=True, slots=True)
class CompiledKernel:
    """The functions of a kernel by kind of core, and the op of each line of their source."""

    functions: Mapping[str, KernelFunction]
    file: str
    """What tracebacks call the source."""
    ops: Mapping[int, Operation]
    takes_turns: bool
    """Whether cores wait for each other: the functions are generators."""


class KernelSource:
    """The source text of one kernel and the objects that it names."""

    def __init__(self, kernel: KernelOp) -> None:
        self.names: dict[SSAValue, str] = {}
        self.taken: set[str] = set(RESERVED)
        self.head: list[str] = []
        self.lines: list[str] = []
        self.objects: dict[str, Any] = {}
        self.marks: list[tuple[int, Operation]] = []
        self.rings: list[str] = []
        """The buffers that have addresses, so may share bytes."""
        self.ops: dict[int, Operation] = {}
        """Line number -> the instruction that it executes."""
        self.text = ""
        self.takes_turns = takes_turns(kernel)
        args = ", ".join(self.name(arg) for arg in kernel.body.args)
        if kernel.core != "mix":
            self.function("kernel", args, [kernel.body])
        for section in kernel.sections if kernel.core == "mix" else ():
            self.function(section.core, args, [kernel.body, section.body])

    def function(self, name: str, args: str, blocks: Sequence[Block]) -> None:
        """One function, of a section after what stands outside of all."""
        self.head, self.lines, self.marks, self.rings = [], [], [], []
        if self.takes_turns:
            self.head.append("    yield None")
        for block in blocks:
            self.block(block, 1)
        if self.rings:
            self.head.append(f"    connect([{', '.join(self.rings)}])")
        start = self.text.count("\n") + 1 + len(self.head)
        self.ops.update((start + line, op) for line, op in self.marks)
        body = self.head + (self.lines or ["    pass"])
        self.text += "\n".join([f"def {name}(core, cores, sub, cross, {args}):", *body]) + "\n"

    def name(self, value: SSAValue) -> str:
        """The Python name of an SSA value."""
        return name_of(value, self.names, self.taken)

    def index(self, value: Index) -> str:
        return str(value) if isinstance(value, int) else self.names[value]

    def indices(self, values: Sequence[Index]) -> str:
        return ", ".join(self.index(v) for v in values)

    def emit(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def block(self, block: Block, depth: int) -> None:
        """The statements of a block."""
        for op in block.ops:
            if isinstance(op, ForOp):
                self.loop(op, depth)
            elif isinstance(op, AllocOp):
                self.alloc(op, depth)
            elif isinstance(op, StridedOp):
                name, shape = self.name(op.results[0]), tile_of(op.results[0]).shape
                view = f"strided({op.offset}, {op.strides}, {list(shape)})"
                self.emit(depth, f"{name} = {self.name(op.operands[0])}.{view}")
            elif isinstance(op, SetFlagOp | WaitFlagOp | PipeBarrierOp | SectionOp):
                continue  # one core's instructions run in program order
            elif type(op) in _STATEMENTS:
                self.statement(op, depth, _STATEMENTS[type(op)](self, op))
            elif type(op) in CROSS_STATEMENTS:
                self.statement(op, depth, CROSS_STATEMENTS[type(op)](self, op))
            else:
                raise CompileError("has no execution, expected an aicore op", subject=op.name)

    def statement(self, op: Operation, depth: int, text: str) -> None:
        """The line that executes an op, which is noted for errors."""
        if text:
            self.emit(depth, text)
            self.marks.append((len(self.lines), op))

    def alloc(self, op: AllocOp, depth: int) -> None:
        name = self.name(op.results[0])
        ring = f"{name}ring"
        self.objects[f"{ring}_tile"] = tile_of(op.results[0])
        spec = f"{name.rstrip('_')!r}, {ring}_tile, {op.buffers}"
        self.head.append(f"    {ring} = Ring({spec}, {op.address})")
        if op.address is not None:
            self.rings.append(ring)
        self.emit(depth, f"{name} = {ring}.take()")

    def loop(self, op: ForOp, depth: int) -> None:
        """A loop per dimension, or one over the core's share of all iterations."""
        dims = list(zip(op.extents, op.steps, strict=True))
        origins = [self.name(op.origin(i)) for i in range(len(dims))]
        if op.over_cores:
            counts = [-(-e // s) for e, s in dims if isinstance(e, int)]
            total = _product(counts)
            self.emit(depth, f"for t in range(core, {total}, cores):")
            depth += 1
            self.unrank(op, origins, counts, depth)
        if op.over_subcores:
            self.emit(depth, f"for number, ({', '.join(origins)},) in enumerate(product(")
            for (extent, step), base in zip(dims, op.bases, strict=True):
                low = self.index(base)
                self.emit(depth + 1, f"range({low}, {low} + {self.index(extent)}, {step}),")
            self.emit(depth, ")):")
            depth += 1
            self.emit(depth, "if number % 2 != sub: continue")
        for i, ((extent, step), base) in enumerate(zip(dims, op.bases, strict=True)):
            end = self.index(extent) if base == 0 else f"{self.index(base)} + {self.index(extent)}"
            if not op.over_cores and not op.over_subcores:
                self.emit(depth, f"for {origins[i]} in range({self.index(base)}, {end}, {step}):")
                depth += 1
            self.emit(depth, f"{self.name(op.length(i))} = min({step}, {end} - {origins[i]})")
        self.block(op.body, depth)

    def unrank(self, op: ForOp, origins: list[str], counts: list[int], depth: int) -> None:
        """Assign the origins of iteration `t` of a loop over cores."""
        for i, step in enumerate(op.steps):
            inner = _product(counts[i + 1 :])
            if op.strip and i == len(counts) - 2:
                break
            self.emit(depth, f"{origins[i]} = t // {inner} % {counts[i]} * {step}")
        if op.strip:
            rows, cols = counts[-2:]
            self.emit(depth, f"strip, place = divmod(t % {rows * cols}, {op.strip * cols})")
            self.emit(depth, f"height = min({op.strip}, {rows} - strip * {op.strip})")
            row = f"(strip * {op.strip} + place % height)"
            self.emit(depth, f"{origins[-2]} = {row} * {op.steps[-2]}")
            self.emit(depth, f"{origins[-1]} = place // height * {op.steps[-1]}")


def _product(numbers: Sequence[int]) -> int:
    out = 1
    for number in numbers:
        out *= number
    return out


def _copy_in(src: KernelSource, op: Instruction) -> str:
    load = f"{src.name(op.tile('src'))}.load(({src.indices(op.offsets)},), {src.indices(op.sizes)})"
    return f"{src.name(op.tile('dst'))}.put({load})"


def _copy_out(src: KernelSource, op: Instruction) -> str:
    values = f"{src.name(op.tile('src'))}.read({src.indices(op.sizes)})"
    how = op.option("atomic")
    if how != "none":
        place = f"({src.indices(op.offsets)},)"
        return f"{src.name(op.tile('dst'))}.join({place}, {values}, {how!r})"
    return f"{src.name(op.tile('dst'))}.store(({src.indices(op.offsets)},), {values})"


def _load(src: KernelSource, op: Instruction) -> str:
    tiles = f"{src.name(op.tile('src'))}, {src.indices(op.offsets)}, {src.name(op.tile('dst'))}"
    return f"load_l0({tiles}, {src.indices(op.sizes)}, {op.option('transpose')})"


def _load_bias(src: KernelSource, op: Instruction) -> str:
    get = f"{src.name(op.tile('src'))}.get({src.indices(op.offsets)}, {src.indices(op.sizes)})"
    return f"{src.name(op.tile('dst'))}.put({get})"


def _mmad(src: KernelSource, op: MmadOp) -> str:
    tiles = ", ".join(src.name(op.tile(name)) for name in ("a", "b", "c"))
    first = " and ".join(f"{src.index(v)} == 0" for v in op.at) or "True"
    if op.option("init") == "acc":
        first = "False"
    bias = src.name(op.tile("bias")) if op.option("init") == "bias" else "None"
    hf32 = ", True" if op.option("hf32") else ""
    return f"mmad({tiles}, {src.indices(op.sizes)}, {first}, {bias}{hf32})"


def _fixpipe(src: KernelSource, op: FixpipeOp) -> str:
    tiles = f"{src.name(op.tile('src'))}, {src.name(op.tile('dst'))}, ({src.indices(op.offsets)},)"
    names = op.tile_names()
    scale = src.name(op.tile("scales")) if "scales" in names else repr(op.option("scale"))
    slope = src.name(op.tile("slopes")) if "slopes" in names else repr(op.option("slope"))
    if op.option("relu"):
        slope = "0"
    how = f"{scale}, {slope}, {op.option('atomic')!r}"
    return f"fixpipe({tiles}, {src.indices(op.sizes)}, {how})"


def _read_written(src: KernelSource, op: Instruction) -> str:
    """What the op's destination holds before."""
    return f"{src.name(op.written)}.read({src.indices(op.sizes)}).copy()"


def _read(src: KernelSource, op: Instruction, name: str) -> str:
    return f"{src.name(op.tile(name))}.read({src.indices(op.sizes)})"


def _write(src: KernelSource, op: Instruction) -> str:
    return f"{src.name(op.written)}.write({src.indices(op.sizes)})"


def _unary(src: KernelSource, op: Instruction) -> str:
    if op.option("kind") == "not":
        return f"np.invert({_read(src, op, 'src')}, out={_write(src, op)})"
    return UNARY[op.option("kind")].format(_read(src, op, "src"), _write(src, op))


def _binary(src: KernelSource, op: Instruction) -> str:
    a, b = _read(src, op, "a"), _read(src, op, "b")
    return f"{BINARY[op.option('kind')]}({a}, {b}, out={_write(src, op)})"


def _number(src: KernelSource, op: Instruction) -> str:
    """The scalar of an op, rounded to the element type."""
    element = tile_of(op.written).element
    src.objects[element] = numpy_dtype(DATA_TYPES[element]).type
    value = op.option("value")
    return f"{element}({int(value) if element.startswith('i') else value!r})"


def _scalar(src: KernelSource, op: Instruction) -> str:
    kind = op.option("kind")
    if kind not in SCALAR:
        old = _read_written(src, op) if kind == "axpy" else "None"
        args = f"{kind!r}, {_read(src, op, 'src')}, {_number(src, op)}, {old}"
        return f"{_write(src, op)}[...] = by_scalar({args})"
    call = SCALAR[kind]
    return f"{call}({_read(src, op, 'src')}, {_number(src, op)}, out={_write(src, op)})"


def _cast(src: KernelSource, op: Instruction) -> str:
    element = tile_of(op.written).element
    source = _read(src, op, "src")
    if "round" in op.properties:
        source = f"round_to_whole({source}, {op.option('round')!r})"
    if not element.startswith(("i", "ui")):
        return f"{_write(src, op)}[...] = {source}"
    src.objects[f"{element}_dtype"] = numpy_dtype(DATA_TYPES[element])
    return f"{_write(src, op)}[...] = convert({source}, {element}_dtype)"


def _copy_rows(src: KernelSource, op: Instruction) -> str:
    tiles = [src.name(op.tile(name)) for name in ("src", "index", "dst")]
    sizes, wraps = src.indices(op.sizes), op.option("wraps")
    column = src.index(op.offsets[1])
    return f"copy_rows({tiles[0]}, {column}, {tiles[1]}, {tiles[2]}, {sizes}, {wraps})"


def _compare(src: KernelSource, op: Instruction) -> str:
    a, b = _read(src, op, "a"), _read(src, op, "b")
    return f"{COMPARE[op.option('kind')]}({a}, {b}, out={_write(src, op)})"


def _select(src: KernelSource, op: Instruction) -> str:
    mask, a, b = (_read(src, op, name) for name in ("mask", "a", "b"))
    return f"{_write(src, op)}[...] = np.where({mask}, {a}, {b})"


def _reduce(src: KernelSource, op: VreduceOp) -> str:
    out = f"{src.name(op.written)}.write({src.indices(op.left(*op.sizes))})"
    axis = {"rows": "0", "cols": "1", "all": "None"}[op.option("axis")]
    call = REDUCE[op.option("kind")]
    return f"{out}[...] = {call}.reduce({_read(src, op, 'src')}, axis={axis}, keepdims=True)"


def _transpose(src: KernelSource, op: Instruction) -> str:
    r, c = (src.index(size) for size in op.sizes)
    return f"{src.name(op.written)}.write({c}, {r})[...] = {_read(src, op, 'src')}.T"


def _dup(src: KernelSource, op: Instruction) -> str:
    return f"{_write(src, op)}[...] = {_number(src, op)}"


def _broadcast(src: KernelSource, op: Instruction) -> str:
    shape = tile_of(op.tile("src")).shape
    sizes = ["1" if d == 1 else src.index(s) for d, s in zip(shape, op.sizes, strict=True)]
    return f"{_write(src, op)}[...] = {src.name(op.tile('src'))}.read({', '.join(sizes)})"


def _geometry(src: KernelSource, op: MapInstruction) -> str:
    geometry = op.geometry
    for name, known in src.objects.items():
        if isinstance(known, Geometry) and known == geometry:
            return name
    name = f"geometry_{len(src.objects)}"
    src.objects[name] = geometry
    return name


def _window(src: KernelSource, op: Instruction) -> str:
    return f"({src.indices(op.offsets)},)"


def _copy_map(src: KernelSource, op: MapInstruction) -> str:
    call = "copy_map_l1" if isinstance(op, CopyMapL1Op) else "copy_map_ub"
    tiles = f"{src.name(op.tile('src'))}, {_window(src, op)}, {src.name(op.tile('dst'))}"
    return f"{call}({tiles}, {src.indices(op.sizes)}, {_geometry(src, op)})"


def _load3d(src: KernelSource, op: MapInstruction) -> str:
    tiles = f"{src.name(op.tile('src'))}, {src.indices(op.offsets)}, {src.name(op.tile('dst'))}"
    return f"load3d({tiles}, {src.indices(op.sizes)}, {_geometry(src, op)})"


def _spread(src: KernelSource, op: MapInstruction) -> str:
    tiles = f"{src.name(op.tile('src'))}, {src.name(op.tile('dst'))}"
    value = repr(op.option("value"))
    pixels = f"{src.indices(op.sizes)}, {src.index(op.at[0])}"
    return f"vspread({tiles}, {pixels}, {value}, {_geometry(src, op)})"


def _tap(src: KernelSource, op: MapInstruction) -> str:
    kind = op.option("kind")
    weight = src.name(op.tile("weight")) if kind == "muladd" else "None"
    tiles = f"{src.name(op.tile('src'))}, {weight}, {src.name(op.tile('dst'))}"
    how = f"{kind!r}, {op.option('tap')}, {op.option('first')}, {_geometry(src, op)}"
    return f"vtap({tiles}, {src.indices(op.sizes)}, {how})"


def _indexed(src: KernelSource, op: Instruction) -> str:
    return statement(op, src.name, src.index, src.objects)


_STATEMENTS: dict[type[Operation], Callable[[KernelSource, Any], str]] = {
    **MORE_STATEMENTS,
    CopyGmL1Op: _copy_in,
    CopyGmUbOp: _copy_in,
    CopyUbGmOp: _copy_out,
    LoadL0aOp: _load,
    LoadL0bOp: _load,
    LoadBiasOp: _load_bias,
    MmadOp: _mmad,
    FixpipeOp: _fixpipe,
    VunaryOp: _unary,
    VbinaryOp: _binary,
    VscalarOp: _scalar,
    VcastOp: _cast,
    VdupOp: _dup,
    VbrcOp: _broadcast,
    VcmpOp: _compare,
    VselOp: _select,
    VreduceOp: _reduce,
    VtransposeOp: _transpose,
    CopyRowsOp: _copy_rows,
    CopyMapL1Op: _copy_map,
    CopyMapUbOp: _copy_map,
    Load3dOp: _load3d,
    VspreadOp: _spread,
    VtapOp: _tap,
    **dict.fromkeys((VgatherOp, VsortOp, VargreduceOp, VscanOp, VscatterOp, ScalarOp), _indexed),
}
"""Instruction -> the Python statement that executes it."""


def takes_turns(kernel: KernelOp) -> bool:
    """Whether cores of the kernel wait for each other."""
    return kernel.core == "mix" or any(
        isinstance(op, CrossFlag | SyncAllOp) for op in kernel.walk()
    )


def compile_kernel(kernel: KernelOp, *, checked: bool = False) -> CompiledKernel:
    """The functions that run one core's share of a kernel; `checked` is told by `tiles`."""
    import numpy as np

    source = KernelSource(kernel)
    file = f"<kernel {kernel.sym_name}>"
    names: dict[str, Any] = {
        "np": np,
        "product": product,
        "Ring": CheckedRing if checked else Ring,
        "connect": connect if checked else len,
        **MORE_CALLS,
        "load_l0": load_l0,
        "mmad": mmad,
        "fixpipe": fixpipe,
        "convert": convert,
        "copy_rows": copy_rows,
        "copy_map_l1": copy_map_l1,
        "copy_map_ub": copy_map_ub,
        "load3d": load3d,
        "vspread": vspread,
        "vtap": vtap,
        **FUNCTIONS,
        **source.objects,
    }
    exec(compile(source.text, file, "exec"), names)
    kinds = ("cube", "vector") if kernel.core == "mix" else ("kernel",)
    functions = {kind: names[kind] for kind in kinds}
    return CompiledKernel(functions, file, source.ops, source.takes_turns)
