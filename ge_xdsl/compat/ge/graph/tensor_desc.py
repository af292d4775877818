"""`ge.graph.tensor_desc`: shape, format and element type as values of their own.

A description that a node hands out is a copy; `Node.update_output_desc` writes one back.
"""

from __future__ import annotations

from typing import Any, NoReturn, Self

from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Format, Layout, Tensor

UNKNOWN_DIM = -1
"""A dimension that is not known yet."""
UNKNOWN_DIM_NUM = -2
"""The only entry of a shape whose rank is not known."""
UNKNOWN_DIM_SIZE = -1


def refuse_copy(self: object, word: str) -> NoReturn:
    """Raise the error of an object that owns a part of a graph and cannot be copied."""
    raise RuntimeError(f"{type(self).__name__} does not support {word}")


class NotCopyable:
    """Base of the API objects that `copy` and `deepcopy` must refuse."""

    def __copy__(self) -> NoReturn:
        refuse_copy(self, "copy")

    def __deepcopy__(self, memo: dict[int, Any]) -> NoReturn:
        refuse_copy(self, "deepcopy")


def is_int_list(value: object) -> bool:
    """Whether `value` is a list that holds only integers."""
    return isinstance(value, list) and all(isinstance(item, int) for item in value)  # pyright: ignore[reportUnknownVariableType]


class Shape(list[int]):
    """The dimensions of a tensor; empty for a scalar, -1 unknown dimension, -2 unknown rank."""

    def __init__(self, dims: list[int] | None = None) -> None:
        if dims is not None and not is_int_list(dims):
            raise TypeError("dims must be a list of integers")
        super().__init__(dims or [])

    def get_shape_size(self) -> int:
        """The number of elements, -1 while it is unknown; 0 for an empty shape, as in GE."""
        if not self:
            return 0
        if self.is_unknown_shape():
            return UNKNOWN_DIM_SIZE
        count = 1
        for dim in self:
            count *= dim
        return count

    def is_unknown_shape(self) -> bool:
        return UNKNOWN_DIM in self or UNKNOWN_DIM_NUM in self


class TensorDesc(NotCopyable):
    """Element type, format, shape, and the format and shape before any layout change."""

    def __init__(
        self,
        shape: list[int] | None = None,
        format: Format = Format.FORMAT_ND,
        data_type: DataType = DataType.DT_FLOAT,
    ) -> None:
        _check_format(format)
        _check_data_type(data_type)
        _check_dims(shape or [], "shape")
        self._shape = Shape(shape)
        self._origin_shape: Shape | None = None
        self._format = format
        self._origin_format = format
        self._data_type = data_type

    @classmethod
    def _create_from(cls, tensor: Tensor | None) -> Self:
        if tensor is None:
            raise ValueError("TensorDesc pointer cannot be None")
        if tensor.dtype == DataType.DT_UNDEFINED and tensor.shape is None:
            return cls()
        undefined = tensor.dtype == DataType.DT_UNDEFINED
        desc = cls(
            dims_of(tensor.shape),
            tensor.layout.format,
            DataType.DT_FLOAT if undefined else tensor.dtype,
        )
        desc._origin_format = tensor.layout.origin_format
        if tensor.layout.origin_shape is not None:
            desc._origin_shape = Shape(dims_of(tensor.layout.origin_shape))
        return desc

    def _tensor(self) -> Tensor:
        """The dialect's value for this description."""
        origin = self._origin_shape
        same = origin is None or origin == self._shape
        layout = Layout(
            self._format, self._origin_format, None if same else shape_of(origin or Shape())
        )
        return Tensor(self._data_type, shape_of(self._shape), layout)

    def get_shape(self) -> Shape:
        return Shape(self._shape)

    def set_shape(self, shape: list[int]) -> Self:
        _check_dims(shape, "shape")
        self._shape = Shape(shape)
        return self

    def get_origin_shape(self) -> Shape:
        return Shape(self._shape if self._origin_shape is None else self._origin_shape)

    def set_origin_shape(self, shape: list[int]) -> Self:
        _check_dims(shape, "origin shape")
        self._origin_shape = Shape(shape)
        return self

    def get_format(self) -> Format:
        return self._format

    def set_format(self, format: Format) -> Self:
        _check_format(format)
        self._format = format
        return self

    def get_origin_format(self) -> Format:
        return self._origin_format

    def set_origin_format(self, format: Format) -> Self:
        _check_format(format)
        self._origin_format = format
        return self

    def get_data_type(self) -> DataType:
        return self._data_type

    def set_data_type(self, data_type: DataType) -> Self:
        _check_data_type(data_type)
        self._data_type = data_type
        return self

    shape = property(get_shape)
    origin_shape = property(get_origin_shape)
    format = property(get_format)
    origin_format = property(get_origin_format)
    data_type = property(get_data_type)

    def __repr__(self) -> str:
        return (
            f"TensorDesc(shape={self._shape}, format={self._format!r}, "
            f"data_type={self._data_type!r})"
        )


def dims_of(shape: tuple[int, ...] | None) -> list[int]:
    """GE's dimensions of a dialect shape: -1 for an unknown one, [-2] for unknown rank."""
    if shape is None:
        return [UNKNOWN_DIM_NUM]
    return [UNKNOWN_DIM if dim == DYNAMIC else dim for dim in shape]


def shape_of(dims: list[int]) -> tuple[int, ...] | None:
    """The dialect shape of GE's dimensions."""
    if UNKNOWN_DIM_NUM in dims:
        return None
    return tuple(DYNAMIC if dim == UNKNOWN_DIM else dim for dim in dims)


def _check_dims(dims: object, what: str) -> None:
    if not is_int_list(dims):
        raise TypeError(f"{what} must be a list of integers")


def _check_format(value: object) -> None:
    if not isinstance(value, Format):
        raise TypeError("Format must be a Format")


def _check_data_type(value: object) -> None:
    if not isinstance(value, DataType):
        raise TypeError("Data type must be a DataType")
