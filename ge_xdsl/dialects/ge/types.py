"""GE data types, formats and tensor types, and their one table to MLIR and numpy.

`Tensor` is the plain value that `infer` takes and returns; `Tensor.type` is the xDSL type that
stands for it in the IR. Both directions are interned: equal tensors share one type object, so
building and comparing types costs a dictionary look-up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    BFloat16Type,
    ComplexType,
    Float4E2M1FNType,
    Float6E2M3FNType,
    Float6E3M2FNType,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float8E8M0FNUType,
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerType,
    NoneAttr,
    Signedness,
    TensorType,
    UnrankedTensorType,
)
from xdsl.ir import Attribute, Data, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

if TYPE_CHECKING:
    import numpy as np

    Array: TypeAlias = np.ndarray[Any, Any]

DYNAMIC = DYNAMIC_INDEX
"""An unknown dimension inside a shape (GE's -1)."""


class DataType(IntEnum):
    """GE's element types with GE's numbers (`ge.graph.types.DataType`)."""

    __hash__ = int.__hash__  # an Enum's own hash is a Python call, and types are looked up often

    DT_FLOAT = 0
    DT_FLOAT16 = 1
    DT_INT8 = 2
    DT_INT32 = 3
    DT_UINT8 = 4
    DT_INT16 = 6
    DT_UINT16 = 7
    DT_UINT32 = 8
    DT_INT64 = 9
    DT_UINT64 = 10
    DT_DOUBLE = 11
    DT_BOOL = 12
    DT_STRING = 13
    DT_DUAL_SUB_INT8 = 14
    DT_DUAL_SUB_UINT8 = 15
    DT_COMPLEX64 = 16
    DT_COMPLEX128 = 17
    DT_QINT8 = 18
    DT_QINT16 = 19
    DT_QINT32 = 20
    DT_QUINT8 = 21
    DT_QUINT16 = 22
    DT_RESOURCE = 23
    DT_STRING_REF = 24
    DT_DUAL = 25
    DT_VARIANT = 26
    DT_BF16 = 27
    DT_UNDEFINED = 28
    DT_INT4 = 29
    DT_UINT1 = 30
    DT_INT2 = 31
    DT_UINT2 = 32
    DT_COMPLEX32 = 33
    DT_HIFLOAT8 = 34
    DT_FLOAT8_E5M2 = 35
    DT_FLOAT8_E4M3FN = 36
    DT_FLOAT8_E8M0 = 37
    DT_FLOAT6_E3M2 = 38
    DT_FLOAT6_E2M3 = 39
    DT_FLOAT4_E2M1 = 40
    DT_FLOAT4_E1M2 = 41
    DT_HIFLOAT4 = 42
    DT_MAX = 43


class Format(IntEnum):
    """GE's storage formats with GE's numbers (`ge.graph.types.Format`)."""

    __hash__ = int.__hash__

    FORMAT_NCHW = 0
    FORMAT_NHWC = 1
    FORMAT_ND = 2
    FORMAT_NC1HWC0 = 3
    FORMAT_FRACTAL_Z = 4
    FORMAT_NC1C0HWPAD = 5
    FORMAT_NHWC1C0 = 6
    FORMAT_FSR_NCHW = 7
    FORMAT_FRACTAL_DECONV = 8
    FORMAT_C1HWNC0 = 9
    FORMAT_FRACTAL_DECONV_TRANSPOSE = 10
    FORMAT_FRACTAL_DECONV_SP_STRIDE_TRANS = 11
    FORMAT_NC1HWC0_C04 = 12
    FORMAT_FRACTAL_Z_C04 = 13
    FORMAT_CHWN = 14
    FORMAT_FRACTAL_DECONV_SP_STRIDE8_TRANS = 15
    FORMAT_HWCN = 16
    FORMAT_NC1KHKWHWC0 = 17
    FORMAT_BN_WEIGHT = 18
    FORMAT_FILTER_HWCK = 19
    FORMAT_HASHTABLE_LOOKUP_LOOKUPS = 20
    FORMAT_HASHTABLE_LOOKUP_KEYS = 21
    FORMAT_HASHTABLE_LOOKUP_VALUE = 22
    FORMAT_HASHTABLE_LOOKUP_OUTPUT = 23
    FORMAT_HASHTABLE_LOOKUP_HITS = 24
    FORMAT_C1HWNCoC0 = 25
    FORMAT_MD = 26
    FORMAT_NDHWC = 27
    FORMAT_FRACTAL_ZZ = 28
    FORMAT_FRACTAL_NZ = 29
    FORMAT_NCDHW = 30
    FORMAT_DHWCN = 31
    FORMAT_NDC1HWC0 = 32
    FORMAT_FRACTAL_Z_3D = 33
    FORMAT_CN = 34
    FORMAT_NC = 35
    FORMAT_DHWNC = 36
    FORMAT_FRACTAL_Z_3D_TRANSPOSE = 37
    FORMAT_FRACTAL_ZN_LSTM = 38
    FORMAT_FRACTAL_Z_G = 39
    FORMAT_RESERVED = 40
    FORMAT_ALL = 41
    FORMAT_NULL = 42
    FORMAT_ND_RNN_BIAS = 43
    FORMAT_FRACTAL_ZN_RNN = 44
    FORMAT_NYUV = 45
    FORMAT_NYUV_A = 46
    FORMAT_NCL = 47
    FORMAT_FRACTAL_Z_WINO = 48
    FORMAT_C1HWC0 = 49
    FORMAT_FRACTAL_NZ_C0_16 = 50
    FORMAT_FRACTAL_NZ_C0_32 = 51
    FORMAT_END = 52
    FORMAT_MAX = 53


@irdl_attr_definition
class ElementType(Data[str], TypeAttribute):
    """`!ge.element<DT_QINT8>`: a GE element type that MLIR has no type for."""

    name = "ge.element"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> str:
        with parser.in_angle_brackets():
            name = parser.parse_identifier()
            if name not in DataType.__members__:
                parser.raise_error(f"'{name}' is not a GE data type, expected DT_...")
            return name

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data}>")


@irdl_attr_definition
class DataTypeAttr(Data[DataType]):
    """`#ge.dtype<DT_FLOAT>`: the value of an op attribute of kind Type."""

    name = "ge.dtype"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> DataType:
        with parser.in_angle_brackets():
            name = parser.parse_identifier()
            if name not in DataType.__members__:
                parser.raise_error(f"'{name}' is not a GE data type, expected DT_...")
            return DataType[name]

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data.name}>")


@dataclass(frozen=True, slots=True)
class Layout:
    """Storage format, and the format and shape of the tensor before any layout pass."""

    format: Format = Format.FORMAT_ND
    origin_format: Format = Format.FORMAT_ND
    origin_shape: tuple[int, ...] | None = None


DEFAULT_LAYOUT = Layout()


@irdl_attr_definition
class LayoutAttr(Data[Layout]):
    """`#ge.layout<NC1HWC0, NCHW, [1, 3, 224, 224]>`: a tensor encoding that is not plain ND.

    The origin format is left out when equal to the format, the origin shape when it is the shape.
    """

    name = "ge.layout"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Layout:
        with parser.in_angle_brackets():
            storage = _parse_format(parser)
            origin, shape = storage, None
            if parser.parse_optional_punctuation(","):
                origin = _parse_format(parser)
                if parser.parse_optional_punctuation(","):
                    shape = tuple(
                        parser.parse_comma_separated_list(
                            parser.Delimiter.SQUARE, lambda: _parse_dim(parser)
                        )
                    )
            return Layout(storage, origin, shape)

    def print_parameter(self, printer: Printer) -> None:
        layout = self.data
        parts = [layout.format.name.removeprefix("FORMAT_")]
        if layout.origin_format != layout.format or layout.origin_shape is not None:
            parts.append(layout.origin_format.name.removeprefix("FORMAT_"))
        if layout.origin_shape is not None:
            dims = ("?" if d == DYNAMIC else str(d) for d in layout.origin_shape)
            parts.append(f"[{', '.join(dims)}]")
        printer.print_string(f"<{', '.join(parts)}>")


def _parse_format(parser: AttrParser) -> Format:
    name = parser.parse_identifier()
    if f"FORMAT_{name}" not in Format.__members__:
        parser.raise_error(f"'{name}' is not a GE format, expected ND, NCHW, FRACTAL_NZ, ...")
    return Format[f"FORMAT_{name}"]


def _parse_dim(parser: AttrParser) -> int:
    return DYNAMIC if parser.parse_optional_punctuation("?") else parser.parse_integer()


def _integer(width: int, signedness: Signedness = Signedness.SIGNLESS) -> IntegerType:
    return IntegerType(width, signedness)


_UNSIGNED = Signedness.UNSIGNED

_TABLE: dict[DataType, tuple[Attribute, str]] = {
    DataType.DT_FLOAT: (Float32Type(), "float32"),
    DataType.DT_FLOAT16: (Float16Type(), "float16"),
    DataType.DT_INT8: (_integer(8), "int8"),
    DataType.DT_INT32: (_integer(32), "int32"),
    DataType.DT_UINT8: (_integer(8, _UNSIGNED), "uint8"),
    DataType.DT_INT16: (_integer(16), "int16"),
    DataType.DT_UINT16: (_integer(16, _UNSIGNED), "uint16"),
    DataType.DT_UINT32: (_integer(32, _UNSIGNED), "uint32"),
    DataType.DT_INT64: (_integer(64), "int64"),
    DataType.DT_UINT64: (_integer(64, _UNSIGNED), "uint64"),
    DataType.DT_DOUBLE: (Float64Type(), "float64"),
    DataType.DT_BOOL: (_integer(1), "bool"),
    DataType.DT_COMPLEX64: (ComplexType(Float32Type()), "complex64"),
    DataType.DT_COMPLEX128: (ComplexType(Float64Type()), "complex128"),
    DataType.DT_COMPLEX32: (ComplexType(Float16Type()), ""),
    DataType.DT_BF16: (BFloat16Type(), "ml_dtypes.bfloat16"),
    DataType.DT_INT4: (_integer(4), "ml_dtypes.int4"),
    DataType.DT_INT2: (_integer(2), "ml_dtypes.int2"),
    DataType.DT_UINT1: (_integer(1, _UNSIGNED), "bool"),
    DataType.DT_UINT2: (_integer(2, _UNSIGNED), "ml_dtypes.uint2"),
    DataType.DT_HIFLOAT8: (ElementType("DT_HIFLOAT8"), "float16"),  # see `hifloat8`
    DataType.DT_FLOAT8_E5M2: (Float8E5M2Type(), "ml_dtypes.float8_e5m2"),
    DataType.DT_FLOAT8_E4M3FN: (Float8E4M3FNType(), "ml_dtypes.float8_e4m3fn"),
    DataType.DT_FLOAT8_E8M0: (Float8E8M0FNUType(), "ml_dtypes.float8_e8m0fnu"),
    DataType.DT_FLOAT6_E3M2: (Float6E3M2FNType(), "ml_dtypes.float6_e3m2fn"),
    DataType.DT_FLOAT6_E2M3: (Float6E2M3FNType(), "ml_dtypes.float6_e2m3fn"),
    DataType.DT_FLOAT4_E2M1: (Float4E2M1FNType(), "ml_dtypes.float4_e2m1fn"),
    DataType.DT_QINT8: (ElementType("DT_QINT8"), "int8"),
    DataType.DT_QINT16: (ElementType("DT_QINT16"), "int16"),
    DataType.DT_QINT32: (ElementType("DT_QINT32"), "int32"),
    DataType.DT_QUINT8: (ElementType("DT_QUINT8"), "uint8"),
    DataType.DT_QUINT16: (ElementType("DT_QUINT16"), "uint16"),
    DataType.DT_STRING: (ElementType("DT_STRING"), "object"),
}
"""DataType -> (MLIR element type, numpy name or '' where no numpy type exists)."""

_MLIR: dict[DataType, Attribute] = {
    dtype: _TABLE[dtype][0] if dtype in _TABLE else ElementType(dtype.name) for dtype in DataType
}
_DTYPE_OF: dict[Attribute, DataType] = {attr: dtype for dtype, attr in _MLIR.items()}
_NUMPY: dict[DataType, Any] = {}

FLOATS = frozenset(
    {
        DataType.DT_FLOAT,
        DataType.DT_FLOAT16,
        DataType.DT_BF16,
        DataType.DT_DOUBLE,
    }
)
"""The element types with full floating-point arithmetic."""

HALVES = frozenset({DataType.DT_FLOAT16, DataType.DT_BF16})
"""The types that arithmetic widens to f32 and rounds once at the end (`GeOp.widens`)."""

HELD_AS_HALVES = HALVES | {DataType.DT_HIFLOAT8}
"""The types whose numbers stand in memory as f16 or bf16."""


def element_type(dtype: DataType) -> Attribute:
    """The MLIR element type of a GE data type."""
    return _MLIR[dtype]


def numpy_dtype(dtype: DataType) -> np.dtype[Any]:
    """The numpy (or ml_dtypes) dtype that holds values of `dtype`.

    Raises ValueError for types without one (RESOURCE, VARIANT, COMPLEX32, ...).
    """
    found = _NUMPY.get(dtype)
    if found is None:
        import numpy as np

        name = _TABLE.get(dtype, (None, ""))[1]
        if not name:
            raise ValueError(f"{dtype.name} has no numpy type, expected one that can be evaluated")
        if name.startswith("ml_dtypes."):
            import ml_dtypes

            found = np.dtype(getattr(ml_dtypes, name.removeprefix("ml_dtypes.")))
        else:
            found = np.dtype(name)
        _NUMPY[dtype] = found
    return found


def dtype_of_numpy(dtype: np.dtype[Any]) -> DataType:
    """The GE data type of a numpy dtype; raises ValueError for types GE does not have."""
    found = _OF_NUMPY.get(dtype)
    if found is None:
        found = _OF_NUMPY[dtype] = _search_numpy(dtype)
    return found


_OF_NUMPY: dict[Any, DataType] = {}


def _search_numpy(dtype: np.dtype[Any]) -> DataType:
    name = dtype.name
    for ge_type in DataType:
        entry = _TABLE.get(ge_type)
        if entry and entry[1].removeprefix("ml_dtypes.") == name:
            return ge_type
    if dtype.kind in "OSUT":
        return DataType.DT_STRING
    raise ValueError(f"numpy type {name} has no GE data type, expected one that has")


@dataclass(frozen=True, slots=True)
class Tensor:
    """Element type, shape and layout of one value.

    `shape` is None for unknown rank (GE's [-2]) and holds `DYNAMIC` for an unknown dimension.
    """

    dtype: DataType
    shape: tuple[int, ...] | None
    layout: Layout = DEFAULT_LAYOUT

    @property
    def type(self) -> Attribute:
        """The interned xDSL type of this tensor."""
        found = _TYPE_OF.get(self)
        return _make_type(self) if found is None else found

    @property
    def rank(self) -> int | None:
        return None if self.shape is None else len(self.shape)

    @property
    def is_static(self) -> bool:
        return self.shape is not None and DYNAMIC not in self.shape

    def size(self) -> int | None:
        """Number of elements, None while a dimension is unknown."""
        if self.shape is None or DYNAMIC in self.shape:
            return None
        count = 1
        for dim in self.shape:
            count *= dim
        return count

    def with_shape(self, shape: Sequence[int] | None) -> Tensor:
        """The same element type with another shape, in the default layout."""
        return Tensor(self.dtype, None if shape is None else tuple(shape))

    def with_dtype(self, dtype: DataType) -> Tensor:
        return self if dtype is self.dtype else Tensor(dtype, self.shape, self.layout)

    def __str__(self) -> str:
        return str(self.type)


_TYPE_OF: dict[Tensor, Attribute] = {}
_TENSOR_OF: dict[int, tuple[Attribute, Tensor]] = {}


def _make_type(tensor: Tensor) -> Attribute:
    element = _MLIR[tensor.dtype]
    if tensor.shape is None:
        made: Attribute = UnrankedTensorType(element)
    elif tensor.layout == DEFAULT_LAYOUT:
        made = TensorType(element, tensor.shape)
    else:
        made = TensorType(element, tensor.shape, LayoutAttr(tensor.layout))
    _TYPE_OF[tensor] = made
    _TENSOR_OF[id(made)] = (made, tensor)
    return made


def tensor_of(attr: Attribute) -> Tensor:
    """The `Tensor` that an xDSL tensor type stands for.

    Raises ValueError for types that are no tensors or whose element type GE does not have.
    """
    found = _TENSOR_OF.get(id(attr))
    if found is not None:
        return found[1]
    if isinstance(attr, TensorType):
        ranked = cast("TensorType[Attribute]", attr)
        shape: tuple[int, ...] | None = ranked.get_shape()
        element = ranked.element_type
        encoding = ranked.encoding
        layout = encoding.data if isinstance(encoding, LayoutAttr) else DEFAULT_LAYOUT
        if not isinstance(encoding, LayoutAttr | NoneAttr):
            raise ValueError(f"tensor encoding is {encoding}, expected #ge.layout<...>")
    elif isinstance(attr, UnrankedTensorType):
        unranked = cast("UnrankedTensorType[Attribute]", attr)
        shape, element, layout = None, unranked.element_type, DEFAULT_LAYOUT
    else:
        raise ValueError(f"type is {attr}, expected a tensor")
    dtype = _DTYPE_OF.get(element)
    if dtype is None:
        raise ValueError(f"element type is {element}, expected one of GE's")
    check_extent(shape)
    return Tensor(dtype, shape, layout)


RANK_LIMIT = 64
"""Most dimensions of a tensor, as in numpy."""
EXTENT_LIMIT = 2**63
"""The number of elements, of known dimensions, that no tensor reaches: it must fit 64 bits."""


def check_extent(shape: Sequence[int] | None) -> None:
    """Raise ValueError for more dimensions or elements than any array can have."""
    if not shape:
        return
    if len(shape) > RANK_LIMIT:
        raise ValueError(f"tensor has {len(shape)} dimensions, expected at most {RANK_LIMIT}")
    count = prod(dim for dim in shape if dim > 0)
    if count >= EXTENT_LIMIT:
        raise ValueError(f"tensor has {count} elements, expected fewer than {EXTENT_LIMIT}")


def is_tensor_type(attr: Attribute) -> bool:
    """Whether `attr` is a tensor type whose element type GE has."""
    if id(attr) in _TENSOR_OF:
        return True
    if isinstance(attr, TensorType | UnrankedTensorType):
        return cast("TensorType[Attribute]", attr).element_type in _DTYPE_OF
    return False


def compatible(inferred: Tensor, declared: Tensor) -> bool:
    """Same element type, and no two known dimensions (or ranks) that differ."""
    if inferred.dtype != declared.dtype and DataType.DT_UNDEFINED not in (
        inferred.dtype,
        declared.dtype,
    ):
        return False
    if inferred.shape is None or declared.shape is None:
        return True
    return len(inferred.shape) == len(declared.shape) and all(
        a == b or DYNAMIC in (a, b) for a, b in zip(inferred.shape, declared.shape, strict=True)
    )
