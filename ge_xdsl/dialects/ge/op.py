"""What every GE op promises: a declared prototype, `infer` and `evaluate`.

An op class declares its fields by name and gives two functions:

    class MatMulOp(GeOp):
        name = "ge.MatMul"
        x1 = operand()
        x2 = operand()
        bias = optional()
        transpose_x1 = boolean(False)
        y = result()

        def infer(self, x1: Tensor, x2: Tensor, bias: Tensor | None) -> Tensor: ...
        def evaluate(self, x1: Array, x2: Array, bias: Array | None) -> Array: ...

Both take one argument per declared operand (a list for a variadic one, None for a missing one)
and return one value per declared result (a list for a variadic one). `infer` is the only shape
rule and verification compares with it; `evaluate` is the only value semantics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, cast

from xdsl.dialects.builtin import DenseArrayBase, StringAttr, i32
from xdsl.ir import Attribute, Operation, OpResult, Region, SSAValue
from xdsl.irdl import traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.check import check_arity, check_attrs, check_types
from ge_xdsl.dialects.ge.fields import (
    boolean,
    booleans,
    data_type,
    data_types,
    floating,
    floats,
    integer,
    integer_lists,
    integers,
    operand,
    optional,
    prototype_of_fields,
    result,
    string,
    strings,
    subgraph,
    subgraphs,
    tensor_value,
    variadic,
    variadic_result,
)
from ge_xdsl.dialects.ge.prototype import (
    OPERAND_SEGMENTS,
    RESULT_SEGMENTS,
    Io,
    Prototype,
    check_utf8,
    decode,
    encode,
    normalize,
)
from ge_xdsl.dialects.ge.quick import QuickOperation, string_attr
from ge_xdsl.dialects.ge.types import (
    HALVES,
    DataType,
    Tensor,
    check_extent,
    is_tensor_type,
    numpy_dtype,
    tensor_of,
)

if TYPE_CHECKING:
    from xdsl.parser import Parser
    from xdsl.printer import Printer

    from ge_xdsl.dialects.ge.types import Array
    from ge_xdsl.errors import Location

NAME = "ge.name"
"""The attribute that holds a node's name."""

V = TypeVar("V")

__all__ = [  # the declarations of `fields` are the other half of this door
    "CONSTANT_TYPES",
    "NAME",
    "OPERAND_SEGMENTS",
    "RESULT_SEGMENTS",
    "GeOp",
    "KnownValues",
    "boolean",
    "booleans",
    "check_arity",
    "check_attrs",
    "check_types",
    "constant_of",
    "data_type",
    "data_types",
    "extra_key",
    "floating",
    "floats",
    "integer",
    "integer_lists",
    "integers",
    "operand",
    "operand_tensors",
    "optional",
    "result",
    "segments",
    "set_type",
    "string",
    "strings",
    "subgraph",
    "subgraphs",
    "tensor_value",
    "variadic",
    "variadic_result",
]


class GeOp(QuickOperation):
    """Base of all GE ops; see the module's docstring for what a subclass gives."""

    prototype: ClassVar[Prototype]
    traits = traits_def(Pure())
    widens: ClassVar[bool] = False
    """Compute f16 and bf16 in f32 and round the results once (`spec` of the vector and cube
    units); data movement leaves it off."""
    token: ClassVar[bool] = False
    """Whether `build` adds a result that is no output, for control edges to start and end at."""
    source: Location | None = None
    """Where the op was read from."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        name = cls.__dict__.get("name")
        if name is not None and "prototype" not in cls.__dict__:
            cls.prototype = prototype_of_fields(cls, name.removeprefix("ge."))
            if cls.traits is GeOp.traits and cls.prototype.written:
                cls.traits = traits_def()  # GE lets such an op write the operand's own memory

    # The contract of a subclass

    def infer(self, *operands: Any, **_: Any) -> Any:
        """Result tensors from operand tensors; None when the op has no shape rule."""
        return None

    def evaluate(self, *operands: Any, **_: Any) -> Any:
        """Result arrays from operand arrays.

        Raises ValueError for values the op is not defined on.
        """
        raise ValueError(f"{self.name}: has no value semantics, expected an op with evaluate")

    @classmethod
    def has_infer(cls) -> bool:
        return cls.infer is not GeOp.infer

    @classmethod
    def has_evaluate(cls) -> bool:
        return cls.evaluate is not GeOp.evaluate

    # Fields

    @property
    def op_type(self) -> str:
        """GE's type string: `MatMul` for `ge.MatMul`."""
        return self.prototype.op_type

    @property
    def node_name(self) -> str:
        """The node's name, '' while it has none."""
        attr = self.attributes.get(NAME)
        return attr.data if isinstance(attr, StringAttr) else ""

    @node_name.setter
    def node_name(self, name: str) -> None:
        self.attributes[NAME] = StringAttr(check_utf8(name))

    def operand_counts(self) -> Sequence[int]:
        """How many operands each declared input has, in order."""
        proto = self.prototype
        stored = self.properties.get(OPERAND_SEGMENTS)
        counts = _counts(proto.inputs, len(self._operands), stored)
        missing = len(proto.inputs) - len(counts)
        if missing > 0 and len(counts) >= proto.oldest_inputs:  # written for an older form
            return (*counts, *(0,) * missing)
        return counts

    def result_counts(self) -> Sequence[int]:
        outputs, count = self.prototype.outputs, 0 if self.token else len(self.results)
        return _counts(outputs, count, self.properties.get(RESULT_SEGMENTS))

    def operand_slot(self, name: str) -> SSAValue | Sequence[SSAValue] | None:
        """The operand of a required input, the operand or None, or the operands of a dynamic."""
        index = self.prototype.input_index[name]
        if self.prototype.fixed_operands >= 0:
            return self._operands[index]
        return _slot(self._operands, self.prototype.inputs, self.operand_counts(), index)

    def result_slot(self, name: str) -> SSAValue | Sequence[SSAValue] | None:
        index = self.prototype.output_index[name]
        if self.prototype.fixed_results >= 0:
            return self.results[index]
        return _slot(self.results, self.prototype.outputs, self.result_counts(), index)

    def arrange(self, values: Sequence[V]) -> list[V | list[V] | None]:
        """One value per operand -> one entry per declared input, as `infer` takes them."""
        proto = self.prototype
        if proto.fixed_operands >= 0:
            return list(values)
        arranged: list[V | list[V] | None] = []
        start = 0
        for io, count in zip(proto.inputs, self.operand_counts(), strict=True):
            part = list(values[start : start + count])
            arranged.append(part if io.kind == "dynamic" else part[0] if part else None)
            start += count
        return arranged

    def get_attr(self, name: str) -> Any:
        """The decoded value of a declared attribute: stored, else the default.

        Raises KeyError for a name that the prototype does not declare.
        """
        spec = self.prototype.attr_by_name[name]
        stored = self.properties.get(name)
        if stored is not None:
            return decode(stored)
        return spec.unset

    def set_attr(self, name: str, value: Any) -> None:
        """Store a declared attribute; raises ValueError for a value of another kind."""
        self.properties[name] = encode(self.prototype.attr_by_name[name].kind, value)

    def constant(self, name: str) -> Array | None:
        """The values of a required or optional operand when they are known at compile time."""
        value = self.operand_slot(name)
        return constant_of(value) if isinstance(value, SSAValue) else None

    # Building

    @classmethod
    def build(
        cls,
        *inputs: SSAValue | Sequence[SSAValue] | None,
        result_types: Sequence[Attribute] | None = None,
        result_counts: Sequence[int] = (),
        regions: Sequence[Region] = (),
        node_name: str = "",
        **attrs: Any,
    ) -> Self:
        """A new op with its result types inferred.

        `inputs`: one entry per declared operand, trailing missing ones may be left out.
        `result_counts`: the number of results of each dynamic output. `attrs`: Python values or
        ready attributes. Raises ValueError for a wrong call, VerifyException for bad operands.
        """
        proto = cls.prototype
        if proto.subgraphs and result_types is None:  # else they may be attached later
            _check_regions(proto, len(regions))
        operands, counts = _flatten_inputs(proto, inputs)
        properties = _encode_attrs(proto, attrs)
        if proto.fixed_operands < 0 and proto.needs_operand_segments:
            properties[OPERAND_SEGMENTS] = segments(counts)
        count = proto.fixed_results
        if count < 0 or result_counts:
            per_output = _output_counts(proto, result_counts)
            count = sum(per_output)
            if proto.needs_result_segments:
                properties[RESULT_SEGMENTS] = segments(per_output)
        types = result_types or (_UNDEFINED.type,) * (count + cls.token)
        op = cls.create(
            operands=operands,
            result_types=types,
            properties=properties,
            attributes={NAME: string_attr(check_utf8(node_name))} if node_name else {},
            regions=regions,
        )
        if result_types is None:
            op.update_types()
        return op

    # Types

    def inferred(self, operands: Sequence[Tensor] | None = None) -> list[Tensor] | None:
        """The result tensors that `infer` gives, flat; None for an op without a shape rule."""
        tensors = operand_tensors(self) if operands is None else operands
        try:
            found = self.infer(*self.arrange(tensors))
        except ArithmeticError as error:  # sizes and attributes that a rule divides by
            raise VerifyException(f"shapes cannot be inferred, {error}") from None
        if found is None:
            return None
        flat: list[Tensor] = _flatten(found)
        try:
            for tensor in flat:
                check_extent(tensor.shape)
        except ValueError as error:
            raise VerifyException(f"result {error}") from None
        return flat

    def update_types(self) -> bool:
        """Set the result types to what `infer` gives; returns whether one changed."""
        found = self.inferred()
        if found is None:
            return False
        if len(found) != len(self.results):
            raise VerifyException(f"has {len(self.results)} results, expected {len(found)}")
        changed = False
        for value, tensor in zip(self.results, found, strict=True):
            changed |= set_type(value, tensor.type)
        return changed

    # Values

    def execute(self, arrays: Sequence[Array]) -> list[Array]:
        """`evaluate` on one array per operand; one array per result.

        Half floats are widened and rounded back once where the op asks for it. Raises ValueError
        when the op has no value semantics, is not defined on these values, or would give more than
        ELEMENT_LIMIT elements.
        """
        from ge_xdsl.dialects.ge.limits import check_sizes

        check_sizes(self, arrays)
        return self.execute_checked(arrays)

    def execute_checked(self, arrays: Sequence[Array]) -> list[Array]:
        """`execute` on operands whose results are known to be small enough."""
        halves = self.widens and any(_is_half(a) for a in arrays)
        operands = self.arrange([_widen(a) for a in arrays] if halves else arrays)
        try:
            found = self.evaluate(*operands)
        except VerifyException as error:  # of the shape maths that infer and evaluate share
            raise ValueError(str(error)) from None
        return self.narrowed(found)

    def narrowed(self, found: Any) -> list[Array]:
        """What `evaluate` gave, flat and in the results' element types.

        Raises ValueError where that would be more than the one rounding of a half float.
        """
        flat = _flatten(found)
        return [_narrow(self, a, r.type) for a, r in zip(flat, self.results, strict=True)]

    # Verification and assembly

    def verify_(self) -> None:
        check_arity(self)
        check_attrs(self)
        for i, value in enumerate(self._operands):
            if not is_tensor_type(value.type):
                raise VerifyException(f"operand #{i} is {value.type}, expected a tensor")
        check_types(self)

    def print(self, printer: Printer) -> None:
        from ge_xdsl.dialects.ge.assembly import print_op

        print_op(self, printer)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        from ge_xdsl.dialects.ge.assembly import parse_op

        return cast("Self", parse_op(cls, parser))


_UNDEFINED = Tensor(DataType.DT_UNDEFINED, None)


def extra_key(name: str) -> str:
    """The attribute key of a node attribute that no prototype declares.

    Names that start with `_` stand as they are, others get the dialect's prefix.
    """
    if name.startswith("_") or "." in name:
        return name
    return f"ge.attr.{name}" if name == "name" else f"ge.{name}"


def segments(counts: Sequence[int]) -> Attribute:
    """The segment-size property for these counts."""
    key = tuple(counts)
    found = _SEGMENTS.get(key)
    if found is None:
        found = _SEGMENTS[key] = DenseArrayBase.from_list(i32, key)
        _SEGMENT_VALUES[id(found)] = key
    return found


_SEGMENTS: dict[tuple[int, ...], Attribute] = {}
_SEGMENT_VALUES: dict[int, tuple[int, ...]] = {}


def _counts(ios: Sequence[Io], total: int, attr: Attribute | None) -> Sequence[int]:
    if attr is not None:
        found = _SEGMENT_VALUES.get(id(attr))
        if found is None and isinstance(attr, DenseArrayBase):
            found = tuple(cast("DenseArrayBase[Any]", attr).get_values())
        return found or ()
    loose = sum(io.kind != "required" for io in ios)
    if not loose:
        return (1,) * total
    left = total - (len(ios) - loose)
    return tuple(1 if io.kind == "required" else left if loose == 1 else 0 for io in ios)


def _slot(values: Sequence[V], ios: Sequence[Io], counts: Sequence[int], index: int) -> Any:
    start = sum(counts[:index])
    if ios[index].kind == "dynamic":
        return values[start : start + counts[index]]
    return values[start] if counts[index] else None


_VALUES = (OpResult, SSAValue)
"""The class that most values have stands first: for it no abstract base class is asked."""


def _flatten_inputs(
    proto: Prototype, inputs: Sequence[SSAValue | Sequence[SSAValue] | None]
) -> tuple[list[SSAValue], list[int]]:
    if len(inputs) > len(proto.inputs):
        raise ValueError(f"ge.{proto.op_type}: {len(inputs)} inputs, expected {len(proto.inputs)}")
    if len(inputs) == proto.fixed_operands and all(isinstance(v, _VALUES) for v in inputs):
        return cast("list[SSAValue]", list(inputs)), [1] * len(inputs)
    flat: list[SSAValue] = []
    counts: list[int] = []
    for i, io in enumerate(proto.inputs):
        value = inputs[i] if i < len(inputs) else None
        if isinstance(value, _VALUES):
            part: Sequence[SSAValue] = (value,)
        else:
            part = () if value is None else value
        if io.kind == "required" and len(part) != 1:
            raise ValueError(f"ge.{proto.op_type}: input '{io.name}' is missing, it is required")
        flat += part
        counts.append(len(part))
    return flat, counts


def _check_regions(proto: Prototype, count: int) -> None:
    wanted = sum(graph.kind == "static" for graph in proto.subgraphs)
    if count < wanted:
        raise ValueError(f"ge.{proto.op_type}: {count} regions, expected {wanted}")


def _output_counts(proto: Prototype, counts: Sequence[int]) -> list[int]:
    left = list(counts)
    per_output = [left.pop(0) if io.kind == "dynamic" and left else 1 for io in proto.outputs]
    if left:
        raise ValueError(f"ge.{proto.op_type}: {len(counts)} result counts, expected fewer")
    return per_output


def _encode_attrs(proto: Prototype, attrs: Mapping[str, Any]) -> dict[str, Attribute]:
    encoded: dict[str, Attribute] = {}
    for name, value in attrs.items():
        spec = proto.attr_by_name.get(name)
        if spec is None:
            known = ", ".join(proto.attr_by_name) or "none"
            raise ValueError(f"ge.{proto.op_type}: no attribute '{name}', expected: {known}")
        if value is None:
            continue
        if isinstance(value, Attribute):
            encoded[name] = normalize(spec.kind, value)
            continue
        try:
            encoded[name] = encode(spec.kind, value)
        except ValueError as error:
            raise ValueError(f"ge.{proto.op_type}: attribute '{name}' {error}") from None
    return encoded


def _flatten(found: Any) -> list[Any]:
    if not isinstance(found, tuple | list):
        return [found]
    flat: list[Any] = []
    for item in cast("Sequence[Any]", found):
        if isinstance(item, list | tuple):
            flat += cast("Sequence[Any]", item)
        else:
            flat.append(item)
    return flat


def operand_tensors(op: Operation) -> list[Tensor]:
    """The tensors of an op's operands; raises VerifyException for one that is no tensor."""
    try:
        return [tensor_of(value.type) for value in op.operands]
    except ValueError as error:
        raise VerifyException(f"operand {error}") from None


def set_type(value: SSAValue, attr: Attribute) -> bool:
    """Give a value another type in place; returns whether it changed."""
    if value.type is attr or value.type == attr:
        return False
    value._type = attr  # pyright: ignore[reportPrivateUsage]
    return True


class KnownValues:
    """Compile-time values of values that no `Const` defines, for the length of a `with`.

    `ge.passes.infer_shape` uses it to hand a replacement the constants of its boundary inputs.
    """

    current: ClassVar[dict[SSAValue, Any]] = {}
    reads: ClassVar[int] = 0
    """How often `constant_of` was asked: what was computed meanwhile may depend on values."""

    def __init__(self, values: Mapping[SSAValue, Any]) -> None:
        self.values = dict(values)

    def __enter__(self) -> Self:
        self.saved = KnownValues.current
        KnownValues.current = {**self.saved, **self.values}
        return self

    def __exit__(self, *_: object) -> None:
        KnownValues.current = self.saved


def constant_of(value: SSAValue) -> Array | None:
    """The compile-time value of an SSA value: a `Const` or `Constant` with data, else None."""
    KnownValues.reads += 1
    owner = value.owner
    if isinstance(owner, GeOp) and owner.op_type in CONSTANT_TYPES:
        attr = owner.properties.get("value")
        found = None if attr is None or not _has_data(attr) else decode(attr)
        if found is not None:
            return found
    return KnownValues.current.get(value)


CONSTANT_TYPES = frozenset({"Const", "Constant"})


def _has_data(attr: Attribute) -> bool:
    from ge_xdsl.dialects.ge.weights import WeightAttr

    return not isinstance(attr, WeightAttr) or attr.data.attached


def _is_half(array: Array) -> bool:
    return array.dtype.itemsize == 2 and array.dtype.name in ("float16", "bfloat16")


def _widen(array: Array) -> Array:
    return array.astype("float32") if _is_half(array) else array


def _narrow(op: GeOp, array: Array, attr: Attribute) -> Array:
    """An evaluated result in its declared element type; only f32 -> half is a conversion."""
    import numpy as np

    array = np.asarray(array)
    want = tensor_of(attr).dtype
    if want == DataType.DT_UNDEFINED:
        return array
    dtype = numpy_dtype(want)
    if want is DataType.DT_HIFLOAT8 and array.dtype.kind == "f":
        from ge_xdsl.dialects.ge.hifloat8 import nearest

        return nearest(array)
    if array.dtype == dtype:
        return array
    if op.widens and want in HALVES and array.dtype == np.float32:
        with np.errstate(over="ignore"):
            return array.astype(dtype)
    raise ValueError(f"{op.name}: evaluate gives {array.dtype}, infer says {want.name}")
