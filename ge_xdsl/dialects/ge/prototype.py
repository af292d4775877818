"""Prototypes: the declared operands, results, attributes and subgraphs of a GE op.

A prototype is GE's REG_OP record as data. It drives the assembly format, verification, the
`ge.es` function and the matcher; typed op classes build theirs from their field declarations.
The second half of the module is the codec between Python values and op attributes.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    f32,
    i1,
    i64,
)
from xdsl.ir import Attribute

from ge_xdsl.dialects.ge.types import DataType, DataTypeAttr
from ge_xdsl.dialects.ge.weights import WeightAttr

IoKind: TypeAlias = Literal["required", "optional", "dynamic"]
AttrKind: TypeAlias = Literal[
    "Int",
    "Float",
    "Bool",
    "String",
    "Type",
    "Tensor",
    "ListInt",
    "ListFloat",
    "ListBool",
    "ListString",
    "ListType",
    "ListListInt",
]


OPERAND_SEGMENTS = "operandSegmentSizes"
"""The property with the operand count of each declared input, where counts can differ."""
RESULT_SEGMENTS = "resultSegmentSizes"


@dataclass(frozen=True, slots=True)
class Io:
    """One declared operand or result."""

    name: str
    kind: IoKind = "required"
    dtypes: tuple[DataType, ...] = ()
    newer: bool = field(default=False, compare=False)
    """Whether only newer forms of the op have it; such ones are optional and stand last."""


@dataclass(frozen=True, slots=True)
class AttrSpec:
    """One declared attribute; `default` is the decoded value of an optional one."""

    name: str
    kind: AttrKind
    required: bool = False
    default: Any = None
    unset: Any = field(init=False, repr=False, compare=False)
    """What an op without the attribute has: the default as GE stores it, floats as f32."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "unset", as_stored(self.default))


def round_f32(value: float) -> float:
    """`value` rounded to f32, which is what GE stores; out of range gives an infinity."""
    try:
        return struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def as_stored(default: Any) -> Any:
    """A default as GE stores it: floats rounded to f32, lists as tuples."""
    if isinstance(default, list | tuple):
        return tuple(as_stored(item) for item in cast("Sequence[Any]", default))
    return round_f32(default) if isinstance(default, float) else default


@dataclass(frozen=True, slots=True)
class Subgraph:
    """One declared subgraph: a single region, or any number of them."""

    name: str
    kind: Literal["static", "dynamic"] = "static"


@dataclass(frozen=True)
class Prototype:
    """The prototype of one op type, with the look-ups that hot paths need."""

    op_type: str
    inputs: tuple[Io, ...] = ()
    outputs: tuple[Io, ...] = ()
    attrs: tuple[AttrSpec, ...] = ()
    subgraphs: tuple[Subgraph, ...] = ()
    module: str = "all"
    input_index: dict[str, int] = field(init=False, repr=False, compare=False)
    output_index: dict[str, int] = field(init=False, repr=False, compare=False)
    attr_by_name: dict[str, AttrSpec] = field(init=False, repr=False, compare=False)
    fixed_operands: int = field(init=False, compare=False, repr=False)
    """Operand count when every input is required, else -1."""
    fixed_results: int = field(init=False, compare=False, repr=False)
    oldest_inputs: int = field(init=False, compare=False, repr=False)
    """How many inputs the oldest form of the op has: graphs with the others left out load too."""

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "input_index", {io.name: i for i, io in enumerate(self.inputs)})
        put(self, "output_index", {io.name: i for i, io in enumerate(self.outputs)})
        put(self, "attr_by_name", {attr.name: attr for attr in self.attrs})
        fixed = all(io.kind == "required" for io in self.inputs)
        put(self, "fixed_operands", len(self.inputs) if fixed else -1)
        fixed = all(io.kind == "required" for io in self.outputs)
        put(self, "fixed_results", len(self.outputs) if fixed else -1)
        put(self, "oldest_inputs", sum(not io.newer for io in self.inputs))

    @property
    def needs_operand_segments(self) -> bool:
        """Whether the operand count alone does not tell which inputs are there."""
        return sum(io.kind != "required" for io in self.inputs) > 1

    @property
    def written(self) -> Sequence[str]:
        """The inputs that the op writes: a result that is called as an input is that input's."""
        return [io.name for io in self.outputs if io.name in self.input_index]

    @property
    def needs_result_segments(self) -> bool:
        return sum(io.kind == "dynamic" for io in self.outputs) > 1


_ENCODED: dict[tuple[str, str], Attribute] = {}
_DECODED: dict[int, tuple[Attribute, Any]] = {}


def encode(kind: AttrKind, value: Any) -> Attribute:
    """The interned attribute that holds `value`; raises ValueError when it has another kind."""
    if kind == "Tensor":
        return _tensor(value)
    if not _is_plain(value):
        value = _decode(_ENCODERS[kind](value))
    # The text tells apart what compares equal but is not the same: -0.0 and 0.0, True and 1.
    key = (kind, repr(value))
    found = _ENCODED.get(key)
    if found is None:
        found = _ENCODERS[kind](value)
        _ENCODED[key] = found
        _DECODED[id(found)] = (found, _decode(found))
    return found


_PLAIN = frozenset({int, float, bool, str, DataType})


def _is_plain(value: Any) -> bool:
    """Whether the text of a value tells it whole: an array's leaves elements out, an iterator's
    holds an address that another one gets later."""
    if type(value) in (list, tuple):
        return all(type(item) in _PLAIN or _is_plain_list(item) for item in value)
    return type(value) in _PLAIN


def _is_plain_list(value: Any) -> bool:
    return type(value) in (list, tuple) and all(type(item) in _PLAIN for item in value)


def decode(attr: Attribute) -> Any:
    """The Python value of an op attribute: int, float, bool, str, DataType, tuple or array."""
    found = _DECODED.get(id(attr))
    return found[1] if found is not None else _decode(attr)


def _decode(attr: Attribute) -> Any:
    if isinstance(attr, IntegerAttr):
        integer = cast("IntegerAttr[IntegerType]", attr)
        return bool(integer.value.data) if integer.type == i1 else integer.value.data
    if isinstance(attr, StringAttr):
        return attr.data
    if isinstance(attr, FloatAttr):
        return cast("FloatAttr[Any]", attr).value.data
    if isinstance(attr, DataTypeAttr):
        return attr.data
    if isinstance(attr, DenseArrayBase):
        return tuple(cast("DenseArrayBase[Any]", attr).get_values())
    if isinstance(attr, ArrayAttr):
        return tuple(decode(item) for item in cast("ArrayAttr[Attribute]", attr).data)
    if isinstance(attr, DenseIntOrFPElementsAttr | WeightAttr):
        from ge_xdsl.dialects.ge.weights import array_of

        return array_of(cast("DenseIntOrFPElementsAttr | WeightAttr", attr))
    return attr


def kind_of(attr: Attribute) -> AttrKind | None:
    """The attribute kind that `attr` is stored as, None for an attribute that is no GE value."""
    if isinstance(attr, IntegerAttr):
        return "Bool" if cast("IntegerAttr[IntegerType]", attr).type == i1 else "Int"
    if isinstance(attr, DenseArrayBase):
        element = cast("DenseArrayBase[Any]", attr).elt_type
        return "ListInt" if isinstance(element, IntegerType) else "ListFloat"
    if isinstance(attr, ArrayAttr):
        items = {kind_of(item) for item in cast("ArrayAttr[Attribute]", attr).data}
        return _LIST_OF.get(items.pop()) if len(items) == 1 else None
    return next((kind for cls, kind in _SIMPLE if isinstance(attr, cls)), None)


_SIMPLE: tuple[tuple[type[Attribute], AttrKind], ...] = (
    (FloatAttr, "Float"),
    (StringAttr, "String"),
    (DataTypeAttr, "Type"),
    (DenseIntOrFPElementsAttr, "Tensor"),
    (WeightAttr, "Tensor"),
)
_LIST_OF: dict[Any, AttrKind] = {
    "Bool": "ListBool",
    "String": "ListString",
    "Type": "ListType",
    "ListInt": "ListListInt",
    "Int": "ListInt",
    "Float": "ListFloat",
}


def has_kind(attr: Attribute, kind: AttrKind) -> bool:
    """Whether `attr` may stand for a declared attribute of `kind`; [] fits every list."""
    found = kind_of(attr)
    if found == kind:
        return True
    if not kind.startswith("List") or not isinstance(attr, ArrayAttr):
        return False
    return not cast("ArrayAttr[Attribute]", attr).data


def normalize(kind: AttrKind, attr: Attribute) -> Attribute:
    """`attr` in the form that `encode` gives, so that [1 : i64] equals array<i64: 1>, and 1 : i32
    equals 1 : i64."""
    if kind in ("ListInt", "ListFloat", "ListListInt") and isinstance(attr, ArrayAttr):
        return encode(kind, decode(cast("ArrayAttr[Attribute]", attr)))
    stored = _STORED.get(kind)
    if stored is None or kind_of(attr) != kind or _element(attr) == stored:
        return attr
    return encode(kind, decode(attr))


_STORED: dict[str, Attribute] = {
    "Int": i64,
    "Float": f32,
    "ListInt": i64,
    "ListFloat": f32,
}


def _element(attr: Attribute) -> Attribute:
    """The type of a number, or of the numbers in a dense array."""
    if isinstance(attr, DenseArrayBase):
        return cast("DenseArrayBase[Any]", attr).elt_type
    return cast("IntegerAttr[Any] | FloatAttr[Any]", attr).type


def _wrong_kind(kind: str, value: Any) -> str:
    return f"is {value!r}, expected {KIND_WORDS[kind]}"


KIND_WORDS: dict[str, str] = {
    "Int": "an integer",
    "Float": "a number",
    "Bool": "true or false",
    "String": "a string",
    "Type": "a data type such as DT_FLOAT",
    "Tensor": "a tensor",
    "ListInt": "a list of integers",
    "ListFloat": "a list of numbers",
    "ListBool": "a list of booleans",
    "ListString": "a list of strings",
    "ListType": "a list of data types",
    "ListListInt": "a list of lists of integers",
}


def _integer(value: Any) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise ValueError(_wrong_kind("Int", value))
    number = value.__index__()
    if not -(2**63) <= number < 2**63:
        raise ValueError(f"is {number}, expected an integer of 64 bits")
    return number


def _number(value: Any) -> float:
    if isinstance(value, bool | str) or not hasattr(value, "__float__"):
        raise ValueError(_wrong_kind("Float", value))
    return round_f32(float(value))


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool) and value not in (0, 1):
        raise ValueError(_wrong_kind("Bool", value))
    return bool(value)


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(_wrong_kind("String", value))
    return check_utf8(str.__str__(value))  # of a subclass, the text alone


def check_utf8(text: str) -> str:
    """`text`; raises ValueError for half a surrogate pair, which no file can hold."""
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise ValueError(f"is {text!r}, expected text that UTF-8 can hold") from None
    return text


def _dtype(value: Any) -> DataType:
    if isinstance(value, bool) or not isinstance(value, int) or value not in _DTYPE_NUMBERS:
        raise ValueError(_wrong_kind("Type", value))
    return DataType(value)


_DTYPE_NUMBERS = frozenset(int(dtype) for dtype in DataType)


def _list(kind: str, value: Any, item: Callable[[Any], Any]) -> list[Any]:
    if isinstance(value, str | bytes) or not hasattr(value, "__iter__"):
        raise ValueError(_wrong_kind(kind, value))
    try:
        return [item(v) for v in value]
    except ValueError:
        raise ValueError(_wrong_kind(kind, value)) from None


def _int_array(value: Any) -> Attribute:
    return DenseArrayBase.from_list(i64, _list("ListInt", value, _integer))


def _tensor(value: Any) -> Attribute:
    if isinstance(value, DenseIntOrFPElementsAttr | WeightAttr):
        return cast("Attribute", value)
    raise ValueError(_wrong_kind("Tensor", value))


_ENCODERS: dict[str, Callable[[Any], Attribute]] = {
    "Int": lambda v: IntegerAttr(_integer(v), i64),
    "Float": lambda v: FloatAttr(_number(v), f32),
    "Bool": lambda v: IntegerAttr(int(_boolean(v)), i1),
    "String": lambda v: StringAttr(_string(v)),
    "Type": lambda v: DataTypeAttr(_dtype(v)),
    "ListInt": _int_array,
    "ListFloat": lambda v: DenseArrayBase.from_list(f32, _list("ListFloat", v, _number)),
    "ListBool": lambda v: ArrayAttr(
        [IntegerAttr(int(b), i1) for b in _list("ListBool", v, _boolean)]
    ),
    "ListString": lambda v: ArrayAttr([StringAttr(s) for s in _list("ListString", v, _string)]),
    "ListType": lambda v: ArrayAttr([DataTypeAttr(d) for d in _list("ListType", v, _dtype)]),
    "ListListInt": lambda v: ArrayAttr(_list("ListListInt", v, _int_array)),
}
