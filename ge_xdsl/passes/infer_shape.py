"""`ge-infer-shape`: types of all values from the graph's inputs, and shapes as constants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.control import merge_tensors
from ge_xdsl.dialects.ge.graph import functions, main_function, op_error
from ge_xdsl.dialects.ge.names import input_names, symbolic_dims
from ge_xdsl.dialects.ge.op import GeOp, set_type
from ge_xdsl.dialects.ge.shapes import shape_text
from ge_xdsl.dialects.ge.types import DYNAMIC, Tensor, compatible, numpy_dtype, tensor_of
from ge_xdsl.errors import CompileError, nearest
from ge_xdsl.passes.edits import Folder, Replacements, merged, ordered_ops
from ge_xdsl.passes.fold_constants import evaluated, values_of
from ge_xdsl.passes.session import Session, session_of

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

SHAPE_LIMIT = 1 << 14
"""Constants of at most this many bytes are followed: shapes, axes, index lists, small tables."""

SHAPE_READERS = frozenset({"Rank", "Shape", "ShapeN", "Size"})
"""Ops whose results depend on the shapes of their operands only."""

LOOPS = frozenset({"For", "StatelessWhile", "While"})
"""Ops whose subgraph runs again on its own results."""


@dataclass(frozen=True)
class GeInferShapePass(ModulePass):
    """Infer every type again from the graph inputs, and fold what depends on shapes only.

    `input-shapes="x:1x3x224x224;ids:1,128"` first fixes unknown dimensions of graph inputs, which
    is how a model with dynamic shapes becomes static.
    """

    name = "ge-infer-shape"
    input_shapes: str = ""

    def __post_init__(self) -> None:
        parse_shapes(self.input_shapes)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        wanted = parse_shapes(self.input_shapes)
        if wanted:
            set_input_shapes(main_function(op), wanted)
        for func in functions(op):
            _Inference(func, session_of(ctx)).run()


def parse_shapes(text: str) -> dict[str, tuple[int, ...]]:
    """Input shapes as text, `name:1x3;other:4,-1`; raises ValueError for anything else."""
    found: dict[str, tuple[int, ...]] = {}
    for entry in filter(None, (part.strip() for part in text.split(";"))):
        name, colon, dims = entry.rpartition(":")
        if not colon or not name:
            raise ValueError(f"input shape is '{entry}', expected NAME:1x3x224x224")
        if name in found:
            raise ValueError(f"the shape of input '{name}' is given twice, expected it once")
        found[name] = parse_dims(dims)
    return found


def parse_dims(text: str) -> tuple[int, ...]:
    """`1x3x224` or `1,3,-1` as dimensions, '' and `scalar` as rank 0; raises ValueError."""
    if text.strip() in ("", "scalar"):
        return ()
    dims: list[int] = []
    for part in text.replace(",", "x").split("x"):
        try:
            dim = DYNAMIC if part.strip() in ("?", "-1") else int(part)
        except ValueError:
            dim = DYNAMIC - 1
        if not (dim == DYNAMIC or 0 <= dim < 2**63):
            raise ValueError(f"shape is '{text}', expected dimensions such as 1x3x224x224")
        dims.append(dim)
    return tuple(dims)


def set_input_shapes(func: FuncOp, shapes: Mapping[str, Sequence[int]]) -> None:
    """Fix unknown dimensions of graph inputs; raises CompileError where a shape does not fit.

    A name may be that of a symbolic dimension, with its size: it holds in every input.
    """
    names = input_names(func)
    shapes = with_symbols(func, shapes)
    for name, shape in shapes.items():
        if name not in names:
            symbols = dict.fromkeys(dim for dims in symbolic_dims(func) for dim in dims if dim)
            both = list(dict.fromkeys([*names, *symbols]))
            known, hint = ", ".join(both) or "none", nearest(name, both)
            raise CompileError(f"no graph input '{name}', expected one of: {known}{hint}")
        arg = func.body.block.args[names.index(name)]
        tensor = tensor_of(arg.type)
        given = tensor.with_shape(shape)
        if not compatible(given, tensor):
            raise CompileError(
                f"shape is {shape_text(shape)}, expected one that fits {shape_text(tensor.shape)}",
                subject=f"graph input '{name}'",
            )
        set_type(arg, merged(given, tensor).type)
    func.update_function_type()


def with_symbols(func: FuncOp, shapes: Mapping[str, Sequence[int]]) -> dict[str, tuple[int, ...]]:
    """Shapes by input, the sizes of symbolic dimensions put in: `batch: 4` for all inputs that have
    it. An input's own shape comes first; other names stay as they are."""
    names = input_names(func)
    found = {name: tuple(shape) for name, shape in shapes.items()}
    symbols = symbolic_dims(func)
    known = {symbol for dims in symbols for symbol in dims if symbol}
    sizes = {
        name: found.pop(name)[0]
        for name, shape in shapes.items()
        if name in known and name not in names and len(shape) == 1
    }
    for name, arg, dims in zip(names, func.body.block.args, symbols, strict=True):
        declared = tensor_of(arg.type).shape
        if name in found or declared is None or not any(symbol in sizes for symbol in dims):
            continue
        pairs = zip(declared, dims, strict=True)
        found[name] = tuple(sizes.get(symbol, dim) for dim, symbol in pairs)
    return found


class _Inference:
    """The forward pass over one function."""

    def __init__(self, func: FuncOp, session: Session) -> None:
        self.func = func
        self.session = session
        self.replacements = Replacements()
        self.folder = Folder(func, self.replacements)

    def run(self) -> None:
        self.visit(self.func.body.block, fold=True)
        self.replacements.finish()
        self.func.update_function_type()

    def visit(self, block: Block, fold: bool) -> None:
        pinned = ordered_ops(block)
        for op in list(block.ops):
            self.replacements.rewire(op)
            if not isinstance(op, GeOp):
                continue
            if op.regions:
                self.visit_subgraphs(op, fold)
            self.infer(op)
            if fold and op not in pinned:
                arrays = shape_values(op, self.session) or evaluated(
                    op, SHAPE_LIMIT, self.session, small=True
                )
                if arrays is not None:
                    self.folder.fold(op, arrays)

    def infer(self, op: GeOp) -> None:
        """Set the op's result types; the declared ones fill what the rule leaves open."""
        try:
            tensors = op.inferred()
        except VerifyException as error:
            raise op_error(op, str(error)) from None
        if tensors is None:
            return
        if len(tensors) != len(op.results):
            raise op_error(op, f"has {len(op.results)} results, expected {len(tensors)}")
        for result, tensor in zip(op.results, tensors, strict=True):
            declared = tensor_of(result.type)
            fits = compatible(tensor, declared)
            set_type(result, (merged(tensor, declared) if fits else tensor).type)

    def visit_subgraphs(self, op: GeOp, fold: bool) -> None:
        """Types flow from the op's last operands into the arguments of its subgraphs."""
        is_loop = op.op_type in LOOPS
        invariant = self.loop_invariant(op, op.regions[-1].block) if is_loop else []
        for region in op.regions:
            block = region.block
            if is_loop and len(block.args) == len(invariant):
                set_arguments(block, invariant)
            else:
                set_arguments(block, argument_tensors(op, block))
            self.visit(block, fold)

    def loop_invariant(self, op: GeOp, body: Block) -> list[Tensor]:
        """Argument types that hold in every iteration: dimensions that change become unknown.

        Each round makes a dimension or a rank unknown or is the last one, so it ends.
        """
        tensors = argument_tensors(op, body)
        while True:
            set_arguments(body, tensors)
            self.forget(body)
            self.visit(body, fold=False)
            results = body.last_op.operands if body.last_op is not None else ()
            start = len(tensors) - len(results)
            if start < 0:
                return tensors
            joined = tensors[:start] + [
                merge_tensors(tensor, tensor_of(value.type))
                for tensor, value in zip(tensors[start:], results, strict=True)
            ]
            if joined == tensors:
                return tensors
            tensors = joined

    def forget(self, block: Block) -> None:
        """Drop what earlier rounds inferred from narrower argument types."""
        for op in block.walk():
            if isinstance(op, GeOp) and op.has_infer() and op.operands:
                for result in op.results:
                    set_type(result, tensor_of(result.type).with_shape(None).type)


def argument_tensors(op: GeOp, block: Block) -> list[Tensor]:
    """What the op hands to a subgraph: its last operands; the declared types if too few."""
    values = list(op.operands)[len(op.operands) - len(block.args) :]
    given = values if len(values) == len(block.args) else block.args
    return [tensor_of(value.type) for value in given]


def set_arguments(block: Block, tensors: Sequence[Tensor]) -> None:
    """Give the arguments of a subgraph these types."""
    for arg, tensor in zip(block.args, tensors, strict=True):
        set_type(arg, tensor.type)


def shape_values(op: GeOp, session: Session) -> Sequence[Array] | None:
    """The results of Shape, Size and Rank where the operand's type tells them.

    They are computed by the op's own `evaluate`, on an array of the right shape that takes the
    memory of one element.
    """
    if op.op_type not in SHAPE_READERS or not op.has_evaluate():
        return None
    import numpy as np

    arrays: list[Array] = []
    for value in op.operands:
        tensor = tensor_of(value.type)
        if tensor.shape is None or (op.op_type != "Rank" and not tensor.is_static):
            return None
        shape = tuple(max(dim, 1) if op.op_type == "Rank" else dim for dim in tensor.shape)
        try:
            zero = np.zeros((), numpy_dtype(tensor.dtype))
            arrays.append(np.broadcast_to(zero, shape))
        except ValueError:
            return None
    return values_of(op, arrays, session)
