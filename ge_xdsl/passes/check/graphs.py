"""Graphs made from a pattern, or around one op type, to try a pass on.

The pattern's own graph is given inputs of several shapes and element types; its variants differ
in one place each: another constant, another attribute, a second reader of an inner node, swapped
operands, a copy in between, one tensor in the place of all inputs.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.cast import IdentityOp
from ge_xdsl.dialects.ge.data import ConstOp
from ge_xdsl.dialects.ge.graph import ge_ops, main_function, verify
from ge_xdsl.dialects.ge.names import ensure_names
from ge_xdsl.dialects.ge.op import CONSTANT_TYPES, GeOp, constant_of, set_type
from ge_xdsl.dialects.ge.prototype import AttrKind
from ge_xdsl.dialects.ge.prototypes import prototype_of
from ge_xdsl.dialects.ge.registry import op_class
from ge_xdsl.dialects.ge.types import DataType, Tensor, numpy_dtype, tensor_of
from ge_xdsl.dialects.ge.weights import const_attr
from ge_xdsl.errors import CompileError
from ge_xdsl.passes.extract import extract
from ge_xdsl.pattern.compile import CompiledPattern
from ge_xdsl.pattern.graph import PatternGraph
from ge_xdsl.pattern.match import Match
from ge_xdsl.pattern.samples import THRESHOLDS

DTYPES = (DataType.DT_FLOAT, DataType.DT_FLOAT16, DataType.DT_BF16, DataType.DT_INT32)
PLAIN = (DataType.DT_INT32, DataType.DT_INT64, DataType.DT_BOOL)
"""What inputs are that can be no floats, the likeliest first."""
Shapes: TypeAlias = tuple[tuple[int, ...], ...]
SHAPES: Shapes = (
    (4, 4),
    (2, 3),
    (3, 4),
    (4,),
    (),
    (1,),
    (2, 3, 4),
    (2, 4, 4),
    (1, 4, 6, 6),
    (4, 4, 3, 3),
    (4, 2, 3, 3),
    (3,),
    (1, 4),
    (2, 1, 4, 4),
)
"""Shapes that inputs are tried with, the likeliest first."""
ATTEMPTS = 600
"""How many assignments of shapes are tried for one graph."""
GRAPHS = 6
"""How many assignments of shapes are kept for one graph and element type."""
CONSTANTS: Sequence[tuple[int, ...] | int] = (
    (1, 0),
    (0, 2, 1),
    (0, 2, 3, 1),
    (0,),
    (-1,),
    (2, 8),
    (2, 2),
    (0, 0),
    (1, 1),
    0,
    1,
)
"""Axes, orders, shapes and offsets that inputs are tried as, the likeliest first."""
CHOICES = 120
"""How many choices of them are tried for one graph."""
_NO_TYPES = (VerifyException, ValueError, CompileError, IndexError, TypeError)


@dataclass(frozen=True)
class Sample:
    """A graph to try a pass on, and what it is."""

    module: ModuleOp
    variant: str
    dtype: DataType
    shapes: Shapes


def own_module(graph: PatternGraph) -> ModuleOp:
    """The pattern's own graph as a module of its own, with the attributes that it asks for."""
    module = extract(list(graph.outputs))
    ensure_names(main_function(module))
    by_name = {op.node_name: op for op in ge_ops(module)}
    for value, mark in graph.marks.items():
        op = by_name.get(value.owner.node_name) if isinstance(value.owner, GeOp) else None
        for name, wanted in mark.examples().items() if op is not None else ():
            _set_attribute(op, name, wanted)
    return module


def _set_attribute(op: GeOp | None, name: str, value: Any) -> None:
    """Set an attribute; an integer stands for the float of its value."""
    if op is not None:
        is_float = op.prototype.attr_by_name[name].kind == "Float"
        op.set_attr(name, float(value) if is_float else value)


def own_match(pattern: CompiledPattern) -> Match:
    """The match of a pattern at its own graph; raises CompileError when there is none."""
    for op in ge_ops(own_module(pattern.graph)):
        found = pattern.match(op) if type(op) in pattern.root_classes else None
        if found is not None:
            return found
    raise CompileError("does not match its own graph, expected it to", subject=pattern.name)


def samples_of(module: ModuleOp) -> Iterator[Sample]:
    """The graph and its variants with types; element types other than f32 for the graph itself
    and for other constants. Each once as it is and once with scalar constants of that type."""
    for label, variant in variants(module):
        for dtype in DTYPES if label in ("as it is", "another constant") else DTYPES[:1]:
            yield from typed(variant, label, dtype)
            cast = _cast_constants(variant, dtype)
            if cast is not None:
                yield from typed(cast, f"{label}, constants cast", dtype)


def _cast_constants(module: ModuleOp, dtype: DataType) -> ModuleOp | None:
    """A copy whose scalar constants are of another element type; None when it has none."""
    copy = module.clone()
    found = False
    for op in ge_ops(copy):
        value = constant_of(op.results[0]) if op.op_type in CONSTANT_TYPES else None
        if value is not None and value.size == 1 and value.dtype != numpy_dtype(dtype):
            op.properties["value"] = const_attr(value.astype(numpy_dtype(dtype)))
            found = True
    return copy if found else None


def typed(module: ModuleOp, label: str, dtype: DataType) -> Iterator[Sample]:
    """A graph with up to GRAPHS assignments of shapes to its inputs, of different ranks first.

    An input that can be no float has a type of its own; where all are such there is one type.
    """
    own = [own_type(arg) for arg in main_function(module).body.block.args]
    if own and all(own) and dtype is not DTYPES[0]:
        return
    dtypes = [found or dtype for found in own]
    dtype, count = dtypes[0] if own and all(own) else dtype, len(own)
    ranks: set[tuple[int, ...]] = set()
    spare: list[Sample] = []
    scratch = module.clone()
    for shapes in assignments(count):
        tensors = [Tensor(found, shape) for found, shape in zip(dtypes, shapes, strict=True)]
        # Most do not fit, and one copy serves to find that out.
        made = with_types(module, tensors) if set_types(scratch, tensors) else None
        if made is None:
            continue
        sample = Sample(made, label, dtype, shapes)
        found = tuple(map(len, shapes))
        if found in ranks:
            spare.append(sample)
            continue
        ranks.add(found)
        yield sample
        if len(ranks) == GRAPHS:
            return
    yield from spare[: GRAPHS - len(ranks)]


def own_type(value: SSAValue) -> DataType | None:
    """The element type of a tensor whose readers take no floats: an index, a condition."""
    allowed: set[DataType] | None = None
    for use in value.uses:
        op = use.operation
        if isinstance(op, GeOp):
            listed = set(_listed_types(op, use.index))
            allowed = listed if allowed is None else allowed & listed
    if not allowed or allowed & set(THRESHOLDS):
        return None
    return next((dtype for dtype in PLAIN if dtype in allowed), None)


def _listed_types(op: GeOp, index: int) -> Sequence[DataType]:
    """The element types that GE lists for an operand; none where it lists none."""
    prototype = prototype_of(op.op_type)
    slots = [slot for slot, count in enumerate(op.operand_counts()) for _ in range(count)]
    if prototype is None or slots[index] >= len(prototype.inputs):
        return ()
    return prototype.inputs[slots[index]].dtypes


def assignments(count: int) -> Iterator[Shapes]:
    """Shapes for `count` inputs: one for all, matrices with scalars, mixed ones, one for all."""
    if len(SHAPES) ** count <= ATTEMPTS:
        mixed = list(itertools.product(SHAPES, repeat=count))
    else:
        rng = random.Random(count)
        mixed = [tuple(rng.choices(SHAPES[:8], k=count)) for _ in range(ATTEMPTS)]
        mixed += [tuple(rng.choices(SHAPES, k=count)) for _ in range(ATTEMPTS)]
    mixed.sort(key=lambda shapes: -len(set(shapes)))  # they tell more
    equal = [(shape,) * count for shape in SHAPES]
    yield from dict.fromkeys([equal[0], *_with_scalars(count), *mixed, *equal])


def _with_scalars(count: int) -> Iterator[Shapes]:
    """Matrices with a scalar in the place of two, or of one, of them."""
    for few in (2, 1):
        for places in itertools.combinations(range(count), few) if few < count else ():
            yield tuple(() if place in places else SHAPES[0] for place in range(count))


def with_types(module: ModuleOp, inputs: Sequence[Tensor]) -> ModuleOp | None:
    """A copy with these input types and what follows from them; None when they do not fit."""
    copy = module.clone()
    if not set_types(copy, inputs):
        return None
    try:
        verify(copy)
    except _NO_TYPES:
        return None
    return copy


def set_types(module: ModuleOp, inputs: Sequence[Tensor]) -> bool:
    """Set these input types and what follows from them; whether every op can have them."""
    func = main_function(module)
    block = func.body.block
    try:
        for arg, tensor in zip(block.args, inputs, strict=True):
            set_type(arg, tensor.type)
        for op in block.ops:
            if isinstance(op, GeOp) and not op.update_types() and not op.has_infer():
                return False
        last = block.last_op
        assert last is not None
        types = [value.type for value in last.operands]
        func.function_type = FunctionType.from_lists([a.type for a in block.args], types)
    except _NO_TYPES:
        return False
    return all(tensor_of(t).dtype != DataType.DT_UNDEFINED for t in types)


# Variants


def variants(module: ModuleOp) -> Iterator[tuple[str, ModuleOp]]:
    """The graph as it is, and with one thing changed."""
    yield "as it is", module
    for fixed in with_constants(module):
        yield "integers are constants", fixed
    count = len(list(ge_ops(module)))
    for position in range(count):
        for label, edit in EDITS:
            copy = module.clone()
            op = list(ge_ops(copy))[position]
            if edit(op):
                yield label, copy
        yield from _attribute_variants(module, position)
    copy = module.clone()
    if _read_inner_nodes(main_function(copy)):
        yield "inner nodes are read outside", copy
    args = main_function(module).body.block.args
    if len(args) > 1:
        yield "one tensor for all inputs", _merged(module)


def with_constants(module: ModuleOp) -> Iterator[ModuleOp]:
    """Copies with constants for the inputs beside others that can only be integers, such as axes.

    Up to GRAPHS that some shapes of the others fit: without, random orders or offsets seldom do.
    """
    args = main_function(module).body.block.args
    places = [arg.index for arg in args if own_type(arg) in (DataType.DT_INT32, DataType.DT_INT64)]
    choices = itertools.product(CONSTANTS, repeat=len(places))
    if len(CONSTANTS) ** len(places) > CHOICES:
        rng = random.Random(len(places))
        choices = (tuple(rng.choices(CONSTANTS, k=len(places))) for _ in range(CHOICES))
    found = 0
    for values in choices if 0 < len(places) < len(args) else ():
        fixed = _fixed(module, dict(zip(places, values, strict=True)))
        if _has_types(fixed):
            yield fixed
            found += 1
        if found == GRAPHS:
            return


def _fixed(module: ModuleOp, values: dict[int, Sequence[int] | int]) -> ModuleOp:
    """A copy with constants in the place of some inputs."""
    import numpy as np

    copy = module.clone()
    block = main_function(copy).body.block
    first, last = block.first_op, block.last_op
    assert first is not None
    assert last is not None
    for index, value in values.items():
        arg = block.args[index]
        array = np.array(value, numpy_dtype(own_type(arg) or DataType.DT_INT64))
        made = ConstOp.build(value=const_attr(array), node_name=f"constant_{index}")
        block.insert_op_before(made, first)
        arg.replace_all_uses_with(made.results[0])
    return extract(list(last.operands))


def _has_types(module: ModuleOp) -> bool:
    """Whether some shapes of the inputs fit, of one shape for all and the first assignments."""
    count = len(main_function(module).body.block.args)
    equal = [(shape,) * count for shape in SHAPES]
    scratch = module.clone()
    return any(
        set_types(scratch, [Tensor(DTYPES[0], shape) for shape in shapes])
        for shapes in [*equal, *itertools.islice(assignments(count), len(SHAPES))]
    )


def _another_constant(op: GeOp) -> bool:
    """Change the value of a constant."""
    value = constant_of(op.results[0]) if op.op_type in CONSTANT_TYPES else None
    if value is None or value.size == 0 or value.dtype.kind not in "fiu":
        return False
    op.properties["value"] = const_attr((value + value.dtype.type(1)).astype(value.dtype))
    return True


def _swapped(op: GeOp) -> bool:
    """Swap the two operands of an op."""
    if len(op.operands) != 2 or op.operands[0] is op.operands[1]:
        return False
    op.operands = [op.operands[1], op.operands[0]]
    return True


def _copy_between(op: GeOp) -> bool:
    """Read the first operand that another node gives through an Identity."""
    for index, value in enumerate(op.operands):
        if isinstance(value.owner, GeOp) and value.owner.op_type not in CONSTANT_TYPES:
            between = IdentityOp.build(value, node_name=f"{op.node_name}_between")
            assert op.parent is not None
            op.parent.insert_op_before(between, op)
            op.operands[index] = between.results[0]
            return True
    return False


EDITS: Sequence[tuple[str, Callable[[GeOp], bool]]] = (
    ("another constant", _another_constant),
    ("operands swapped", _swapped),
    ("Identity in between", _copy_between),
)
"""Label and what changes one op; False when there is nothing to change."""


def _attribute_variants(module: ModuleOp, position: int) -> Iterator[tuple[str, ModuleOp]]:
    op = list(ge_ops(module))[position]
    for spec in op.prototype.attrs if op.op_type not in CONSTANT_TYPES else ():
        for value in other_values(spec.kind, op.get_attr(spec.name)):
            copy = module.clone()
            try:
                list(ge_ops(copy))[position].set_attr(spec.name, value)
            except ValueError:
                continue
            yield f"another {spec.name}", copy


def other_values(kind: AttrKind, value: Any) -> Sequence[Any]:
    """Values to try in the place of an attribute's."""
    if kind == "Bool":
        return [not value]
    if kind == "Int":
        return [(value or 0) + 1, -1]
    if kind == "Float":
        return [(value or 0.0) + 1.0]
    return []


def _read_inner_nodes(func: FuncOp) -> bool:
    """Return what only nodes read as well."""
    last = func.body.block.last_op
    assert last is not None
    known = set(last.operands)
    inner = [
        op.results[0]
        for op in func.body.block.ops
        if isinstance(op, GeOp) and op.results and op.results[0] not in known
    ]
    if inner:
        last.operands = [*last.operands, *inner]
    return bool(inner)


def _merged(module: ModuleOp) -> ModuleOp:
    """A copy in which the first input stands for all."""
    copy = module.clone()
    func = main_function(copy)
    block = func.body.block
    for arg in list(block.args)[1:]:
        arg.replace_all_uses_with(block.args[0])
    last = block.last_op
    assert last is not None
    return extract(list(last.operands))


# Around one op type

ATTRIBUTES: dict[str, Sequence[Any]] = {
    "Int": (1, 0, 2),
    "Float": (1.0, 0.5),
    "Bool": (False, True),
    "String": ("NCHW", "SAME"),
    "ListInt": ((1, 1, 1, 1), (0,), (0, 0, 0, 0), (1, 1)),
    "ListFloat": ((1.0,),),
    "Type": (DataType.DT_FLOAT,),
}
"""What required attributes are tried with, by kind."""


def op_modules(op_type: str) -> Iterator[ModuleOp]:
    """Graphs of one node of a type, with each choice of its required attributes; NCHW layout."""
    cls = op_class(op_type)
    if cls is None or any(io.kind == "dynamic" for io in cls.prototype.inputs):
        return
    required = [s for s in cls.prototype.attrs if s.required or s.name == "data_format"]
    options = [ATTRIBUTES.get(spec.kind, ()) for spec in required]
    for values in itertools.islice(itertools.product(*options), ATTEMPTS // 20):
        attrs = {spec.name: value for spec, value in zip(required, values, strict=True)}
        made = _op_module(cls, attrs)
        if made is not None:
            yield made


def _op_module(cls: type[GeOp], attrs: dict[str, Any]) -> ModuleOp | None:
    inputs = [io for io in cls.prototype.inputs if io.kind == "required"]
    block = Block(arg_types=[Tensor(DataType.DT_FLOAT, None).type] * len(inputs))
    given: list[SSAValue | None] = []
    free: Iterator[SSAValue] = iter(block.args)
    for io in cls.prototype.inputs:
        given.append(next(free) if io.kind == "required" else None)
    undefined = Tensor(DataType.DT_UNDEFINED, None).type
    counts = len(cls.prototype.outputs)
    try:
        op: Operation = cls.build(*given, result_types=[undefined] * counts, **attrs)
    except _NO_TYPES:
        return None
    block.add_op(op)
    block.add_op(ReturnOp(*op.results))
    types = [value.type for value in op.results]
    func = FuncOp("main", ([arg.type for arg in block.args], types), Region(block))
    module = ModuleOp([func])
    ensure_names(func)
    return module
