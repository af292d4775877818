"""What a pattern says of its tensors beyond op types and edges: predicates, `*xs`, optional ones.

The marks lie beside the pattern's graph, by tensor, so that the graph itself is one like any
other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, cast

from xdsl.ir import Block, BlockArgument, OpResult, SSAValue

from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.prototype import AttrSpec
from ge_xdsl.dialects.ge.registry import op_class, unknown_op
from ge_xdsl.dialects.ge.shapes import shape_text
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, tensor_of
from ge_xdsl.errors import PassError, nearest
from ge_xdsl.pattern.equal import attr_text, attr_value, same_value

Test: TypeAlias = "Callable[[Any], bool]"
_KEY = "ge_xdsl_marks"


@dataclass(frozen=True, slots=True)
class Mark:
    """What is asked of one tensor of a pattern."""

    dtypes: tuple[DataType, ...] = ()
    """The element types that it may have, any when empty."""
    rank: int | None = None
    shape: tuple[int, ...] | None = None
    """Its shape, DYNAMIC for any size."""
    attrs: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Attribute of its node -> the value, a set of values, or a test."""
    variadic: bool = False
    """A pattern input that stands for one or more operands of a dynamic input."""
    optional: bool = False
    """A pattern input that stands for an optional operand, or for none."""

    def merged(self, other: Mark) -> Mark:
        """What both ask for; the later one wins where they differ."""
        return replace(
            self,
            dtypes=other.dtypes or self.dtypes,
            rank=self.rank if other.rank is None else other.rank,
            shape=self.shape if other.shape is None else other.shape,
            attrs={**self.attrs, **other.attrs},
            variadic=self.variadic or other.variadic,
            optional=self.optional or other.optional,
        )

    def tensor_difference(self, value: SSAValue) -> str:
        """Why a tensor does not fit, '' when it does; one whose type is not known does not."""
        tensor = tensor_of(value.type)
        if self.dtypes and tensor.dtype not in self.dtypes:
            wanted = " or ".join(dtype.name for dtype in self.dtypes)
            return f"is {tensor.dtype.name}, expected {wanted}"
        if self.rank is not None and (tensor.shape is None or len(tensor.shape) != self.rank):
            return f"is {shape_text(tensor.shape)}, expected rank {self.rank}"
        if self.shape is not None and not _same_shape(self.shape, tensor.shape):
            return f"is {shape_text(tensor.shape)}, expected {shape_text(self.shape)}"
        return ""

    def node_difference(self, op: GeOp) -> str:
        """Why the attributes of a node do not fit, '' when they do."""
        for name, wanted in self.attrs.items():
            spec = op.prototype.attr_by_name.get(name)
            value = None if spec is None else attr_value(op, spec)
            if not _accepts(name, wanted, value):
                return f"attribute {name} is {attr_text(value)}, expected {_wanted_text(wanted)}"
        return ""

    def examples(self) -> dict[str, Any]:
        """A value for each attribute that is asked for, but for those with a test."""
        found: dict[str, Any] = {}
        for name, wanted in self.attrs.items():
            if isinstance(wanted, set | frozenset):
                found[name] = min(cast("set[Any]", wanted), key=attr_text)
            elif not callable(wanted):
                found[name] = wanted
        return found

    def notes(self) -> list[str]:
        """What is asked for, in words."""
        found = [f"element type {' or '.join(d.name for d in self.dtypes)}"] * bool(self.dtypes)
        found += [f"rank {self.rank}"] * (self.rank is not None)
        found += [f"shape {shape_text(self.shape)}"] * (self.shape is not None)
        found += [f"{name} {_wanted_text(wanted)}" for name, wanted in self.attrs.items()]
        found += ["one or more tensors"] * self.variadic
        return found + ["given or not"] * self.optional


NO_MARK = Mark()


def rank_of(rank: Any) -> int | None:
    """A rank as it was given. Raises ValueError for what is no rank."""
    if rank is None or (isinstance(rank, int) and not isinstance(rank, bool) and rank >= 0):
        return rank
    raise ValueError(f"rank is {_plain(rank)}, expected a number of dimensions")


def shape_of(dims: object) -> tuple[int, ...] | None:
    """A shape as types have it, from one with -1 for any size. Raises ValueError for another."""
    if dims is None:
        return None
    sizes = cast("Sequence[object]", dims) if isinstance(dims, list | tuple) else (None,)
    found = tuple(dim for dim in sizes if isinstance(dim, int))
    if len(found) != len(sizes):
        raise ValueError(
            f"shape is {_plain(cast('object', dims))}, expected a list of sizes, -1 for any"
        )
    return tuple(DYNAMIC if dim < 0 else dim for dim in found)


def _same_shape(wanted: tuple[int, ...], have: tuple[int, ...] | None) -> bool:
    if have is None or len(have) != len(wanted):
        return False
    return all(b in (a, DYNAMIC) for a, b in zip(have, wanted, strict=True))


def _accepts(name: str, wanted: Any, value: Any) -> bool:
    if callable(wanted):
        try:
            return value is not None and bool(cast("Test", wanted)(value))
        except Exception as error:
            raise PassError(
                f"the test of attribute {name} raised {type(error).__name__}: {error} "
                f"for {attr_text(value)}, expected True or False"
            ) from None
    if isinstance(wanted, set | frozenset):
        return any(_is_value(item, value) for item in cast("set[Any]", wanted))
    return _is_value(wanted, value)


def _is_value(wanted: Any, value: Any) -> bool:
    number = isinstance(wanted, int) and not isinstance(wanted, bool) and isinstance(value, float)
    return same_value(float(wanted) if number else wanted, value)


def _wanted_text(wanted: Any) -> str:
    if callable(wanted):
        name: str = getattr(wanted, "__name__", "")
        return "one that the pattern's test accepts" if name in ("", "<lambda>") else name
    if isinstance(wanted, set | frozenset):
        return " or ".join(sorted(attr_text(item) for item in cast("set[Any]", wanted)))
    return attr_text(wanted)


def add_mark(value: SSAValue, mark: Mark) -> None:
    """Ask this of a tensor of a pattern under construction.

    Raises ValueError for an attribute that its node does not have, or when only a pattern input
    can be marked so.
    """
    owner = value.owner
    block = owner if isinstance(owner, Block) else owner.parent
    assert block is not None
    if (mark.variadic or mark.optional) and not isinstance(value, BlockArgument):
        raise ValueError(f"{_owner_text(owner)} is no pattern input, expected inputs[k]")
    for name in mark.attrs:
        _attr_of(value, name)
    marks: dict[SSAValue, Mark] = vars(block).setdefault(_KEY, {})
    marks[value] = marks.get(value, NO_MARK).merged(mark)


def _attr_of(value: SSAValue, name: str) -> AttrSpec:
    if not isinstance(value, OpResult) or not isinstance(value.op, GeOp):
        raise ValueError(f"a pattern input has no attribute '{name}', expected a node's tensor")
    known = value.op.prototype.attr_by_name
    if name not in known:
        hint = nearest(name, list(known))
        raise ValueError(f"{value.op.op_type} has no attribute '{name}', {_expected(known, hint)}")
    return known[name]


def _expected(known: Mapping[str, AttrSpec], hint: str) -> str:
    return f"expected a declared one{hint}" if known else "expected none"


def _plain(value: object) -> str:
    """What somebody gave, without an address."""
    return "a function" if callable(value) else repr(value)


def _owner_text(owner: object) -> str:
    return owner.op_type if isinstance(owner, GeOp) else "the tensor"


def marks_in(block: Block) -> Mapping[SSAValue, Mark]:
    """The marks on the tensors of a pattern's block."""
    found: dict[SSAValue, Mark] = vars(block).get(_KEY, {})
    return found


_SHORT = {
    "f16": "FLOAT16",
    "f32": "FLOAT",
    "float32": "FLOAT",
    "f64": "DOUBLE",
    "float64": "DOUBLE",
    **{f"i{bits}": f"INT{bits}" for bits in (8, 16, 32, 64)},
    **{f"{u}{bits}": f"UINT{bits}" for u in ("u", "ui") for bits in (8, 16, 32, 64)},
    "i1": "BOOL",
    "bfloat16": "BF16",
}


def check_op_type(what: str, op_type: str) -> None:
    """Raise ValueError for a type that no op has, with the nearest one that there is."""
    if op_type.startswith("ge.") or op_class(op_type) is None:
        subject, message = unknown_op(op_type)
        raise ValueError(f"{what}: {subject} {message}")


def dtypes_of(given: Any) -> tuple[DataType, ...]:
    """One or several element types, as `DataType` or by a name of theirs; none for None.

    Raises ValueError for another name.
    """
    if given is None:
        return ()
    if isinstance(given, int | str):
        return (_dtype_of(given),)
    if not isinstance(given, list | tuple | set | frozenset):
        raise ValueError(f"dtype is {_plain(given)}, expected one such as f16, or several")
    dtypes = (_dtype_of(item) for item in cast("Sequence[int | str]", given))
    return tuple(dtypes) if isinstance(given, list | tuple) else tuple(sorted(dtypes))


def _dtype_of(given: int | str) -> DataType:
    if not isinstance(given, str):
        return DataType(given)
    name = _SHORT.get(given, given.removeprefix("DT_").upper())
    known = DataType.__members__.get(f"DT_{name}")
    if known is None:
        raise ValueError(f"dtype is '{given}', expected one such as f16, bfloat16 or DT_INT32")
    return known
