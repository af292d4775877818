"""`ge.es.graph_builder`: builds a graph node by node."""

# The API names its own internals with underscores; this package shares them.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from enum import Enum
from typing import Any, cast

from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, OpResult, SSAValue

from ge_xdsl.compat.ge.es.scopes import apply_scopes, attr_scope, control_dependency_scope
from ge_xdsl.compat.ge.es.tensor_holder import TensorHolder
from ge_xdsl.compat.ge.graph import attributes as attrs
from ge_xdsl.compat.ge.graph.graph import (
    Graph,
    add_control_edge,
    new_function,
    update_function_type,
)
from ge_xdsl.compat.ge.graph.tensor import Tensor
from ge_xdsl.compat.ge.graph.tensor_desc import NotCopyable, TensorDesc, is_int_list
from ge_xdsl.compat.ge.graph.types import DataType, Format
from ge_xdsl.dialects.ge.data import ConstOp
from ge_xdsl.dialects.ge.names import INPUT_NAMES, set_string_list
from ge_xdsl.dialects.ge.nodes import INPUT_TYPES, graph_name, outputs, sub_blocks
from ge_xdsl.dialects.ge.op import NAME, GeOp
from ge_xdsl.dialects.ge.prototype import encode
from ge_xdsl.dialects.ge.registry import op_class
from ge_xdsl.dialects.ge.types import DataType as _DataType
from ge_xdsl.dialects.ge.types import Tensor as TensorType
from ge_xdsl.dialects.ge.weights import const_attr

__all__ = [
    "DataType",
    "Format",
    "Graph",
    "GraphBuilder",
    "InputType",
    "TensorHolder",
    "attr_scope",
    "control_dependency_scope",
]

UNDEFINED = TensorType(_DataType.DT_UNDEFINED, None).type
"""The type of a node's outputs until shapes are inferred."""


class InputType(Enum):
    """What kind of node a graph input is."""

    DATA = "Data"
    REF_DATA = "RefData"
    AIPP_DATA = "AippData"
    ANY_DATA = "AnyData"


_INPUT_TYPES = frozenset(member.value for member in InputType)


class GraphBuilder(NotCopyable):
    """Builds one graph; after `build_and_reset` the builder is spent."""

    def __init__(self, name: str | None = None) -> None:
        if not isinstance(cast("object", name), str | None):
            raise TypeError("Graph name must be a string")
        self._name = name or "graph"
        self._block = Block()
        self._func = new_function(self._name, self._block)
        self._inputs: list[int] = []
        self._input_names: list[str] = []
        self._input_types: list[str] = []
        self._outputs: dict[int, SSAValue] = {}
        self._counter = 0
        self._built = False

    @property
    def name(self) -> str:
        return self._name

    @property
    def _handle(self) -> FuncOp:
        return self._func

    def _check_open(self, operation: str) -> None:
        if self._built:
            raise RuntimeError(
                f"Cannot {operation}: GraphBuilder has already been built. "
                "Create a new GraphBuilder to build another graph."
            )

    def _holder(self, value: SSAValue) -> TensorHolder:
        return TensorHolder._create_from(value, self)

    # Inputs

    def create_input(
        self,
        index: int,
        *,
        name: str | None = None,
        type_str: InputType = InputType.DATA,
        data_type: DataType = DataType.DT_FLOAT,
        format: Format = Format.FORMAT_ND,
        shape: list[int] | None = None,
    ) -> TensorHolder:
        """Graph input `index`, a Data node."""
        self._check_open("create input")
        if not isinstance(cast("object", index), int):
            raise TypeError("Input index must be an integer")
        if shape is not None and not is_int_list(shape):
            raise TypeError("Shape must be a list of integers")
        _check_members(
            type_str=(type_str, InputType), data_type=(data_type, DataType), format=(format, Format)
        )
        at = bisect_left(self._inputs, index)
        kind = str(type_str.value)
        if index < 0 or self._inputs[at : at + 1] == [index] or kind not in _INPUT_TYPES:
            raise RuntimeError(f"Failed to create input {index} of type {kind}")
        desc = TensorDesc(shape, format, data_type)
        value = self._block.insert_arg(desc._tensor().type, at)
        self._inputs.insert(at, index)
        self._input_names.insert(at, name or f"input_{index}")
        self._input_types.insert(at, kind)
        plain = at == index == len(self._inputs) - 1 and not name
        if not plain or INPUT_NAMES in self._func.attributes:
            set_string_list(self._func, INPUT_NAMES, self._input_names)
        if kind != "Data" or INPUT_TYPES in self._func.attributes:
            set_string_list(self._func, INPUT_TYPES, self._input_types)
        try:
            apply_scopes(value)
        except (ValueError, TypeError):
            self._drop_input(at)
            raise
        return self._holder(value)

    def _drop_input(self, at: int) -> None:
        self._block.erase_arg(self._block.args[at])
        for listed in (self._inputs, self._input_names, self._input_types):
            del listed[at]
        set_string_list(self._func, INPUT_NAMES, self._input_names)

    def create_inputs(self, num: int, start_index: int = 0) -> list[TensorHolder]:
        """Graph inputs `start_index` to `start_index + num - 1`."""
        self._check_open("create inputs")
        if not isinstance(cast("object", num), int) or num <= 0:
            raise TypeError("Number of inputs must be a positive integer")
        if not isinstance(cast("object", start_index), int) or start_index < 0:
            raise TypeError("Start index must be a non-negative integer")
        return [self.create_input(start_index + i) for i in range(num)]

    # Constants

    def create_const_int64(self, value: int | list[int], shape: list[int] | None = None) -> Any:
        return self._integers(value, shape, DataType.DT_INT64)

    def create_const_int32(self, value: int | list[int], shape: list[int] | None = None) -> Any:
        return self._integers(value, shape, DataType.DT_INT32)

    def create_const_uint64(self, value: int | list[int], shape: list[int] | None = None) -> Any:
        return self._integers(value, shape, DataType.DT_UINT64)

    def create_const_uint32(self, value: int | list[int], shape: list[int] | None = None) -> Any:
        return self._integers(value, shape, DataType.DT_UINT32)

    def create_const_float(
        self, value: float | list[float], shape: list[int] | None = None
    ) -> TensorHolder:
        self._check_open("create constant")
        message = "Value must be a float or list of floats"
        flat, dims = _value_list(value, shape, int | float, message)
        return self._constant(flat, DataType.DT_FLOAT, dims)

    def create_vector_int64(self, value: list[int]) -> TensorHolder:
        self._check_open("create vector")
        if not is_int_list(value):
            raise TypeError("Value must be a list of integers")
        return self._constant(value, DataType.DT_INT64, [len(value)], "vector")

    def create_scalar_int64(self, value: int) -> TensorHolder:
        return self._scalar(value, DataType.DT_INT64)

    def create_scalar_int32(self, value: int) -> TensorHolder:
        return self._scalar(value, DataType.DT_INT32)

    def create_scalar_uint64(self, value: int) -> TensorHolder:
        return self._scalar(value, DataType.DT_UINT64)

    def create_scalar_uint32(self, value: int) -> TensorHolder:
        return self._scalar(value, DataType.DT_UINT32)

    def create_scalar_float(self, value: float) -> TensorHolder:
        self._check_open("create scalar")
        if not isinstance(cast("object", value), int | float):
            raise TypeError("Value must be a number")
        return self._constant([value], DataType.DT_FLOAT, [], "scalar")

    def _scalar(self, value: int, dtype: DataType) -> TensorHolder:
        self._check_open("create scalar")
        if not isinstance(cast("object", value), int):
            raise TypeError("Value must be an integer")
        if dtype == DataType.DT_UINT64 and value < 0:
            raise ValueError("Value must be non-negative for uint64")
        if dtype == DataType.DT_UINT32 and not 0 <= value < 1 << 32:
            raise ValueError("Value must be in range [0, 2^32-1] for uint32")
        return self._constant([value], dtype, [], "scalar")

    def _integers(
        self, value: int | list[int], shape: list[int] | None, dtype: DataType
    ) -> TensorHolder:
        self._check_open("create constant")
        flat, dims = _value_list(value, shape, int, "Value must be an integer or list of integers")
        if not dims and len(flat) == 1:
            return self._scalar(flat[0], dtype)
        return self._constant(flat, dtype, dims)

    def _constant(
        self, flat: list[Any], dtype: DataType, shape: list[int], what: str = "constant"
    ) -> TensorHolder:
        """A Const node; `flat` holds its values in row-major order."""
        self._check_open(f"create {what}")
        tensor = Tensor(flat, data_type=dtype, shape=shape) if not _bools(flat) else None
        if tensor is None:  # numbers are meant, whatever class they have
            tensor = Tensor([int(v) for v in flat], data_type=dtype, shape=shape)
        array = tensor._values()
        assert array is not None
        name = self._fresh_name("Const")
        made = ConstOp.build(value=const_attr(array, name), node_name=name)
        return self._add(made)[0]

    def create_variable(self, index: int, name: str) -> TensorHolder:
        """A Variable node."""
        self._check_open("create variable")
        if not isinstance(cast("object", index), int):
            raise TypeError("Index must be an integer")
        if not isinstance(cast("object", name), str):
            raise TypeError("Name must be a string")
        cls = _class_of("Variable")
        made = cls.create(
            result_types=[UNDEFINED],
            properties={"index": encode("Int", index)},
            attributes={NAME: StringAttr(name)},
        )
        return self._add(made)[0]

    # Ops

    def _fresh_name(self, op_type: str) -> str:
        name = f"{op_type}_{self._counter}"
        self._counter += 1
        return name

    def _add(self, op: Operation) -> list[TensorHolder]:
        self._block.add_op(op)
        try:
            apply_scopes(op)
        except (ValueError, TypeError):
            op.detach()
            op.erase()
            raise
        return [self._holder(value) for value in outputs(op)]

    def _node(self, op_type: str, inputs: Sequence[TensorHolder]) -> TensorHolder:
        """A node with plain inputs, no attributes and one output."""
        made = self._make(_class_of(op_type), [value._handle for value in inputs])
        return self._holder(made.results[0])

    def _make(
        self,
        cls: type[GeOp],
        inputs: Sequence[SSAValue | Sequence[SSAValue] | None],
        result_counts: Sequence[int] = (),
        properties: dict[str, Any] | None = None,
    ) -> GeOp:
        """A node without its subgraphs. Raises TypeError for a wrong call."""
        self._check_open(f"create {cls.prototype.op_type}")
        counts = iter(result_counts)
        total = sum(next(counts) if io.kind == "dynamic" else 1 for io in cls.prototype.outputs)
        try:
            made = cls.build(
                *inputs,
                result_types=[UNDEFINED] * total,
                result_counts=result_counts,
                node_name=self._fresh_name(cls.prototype.op_type),
                **(properties or {}),
            )
        except ValueError as error:
            raise TypeError(str(error).removeprefix("ge.")) from None
        self._add(made)
        return made

    # Outputs, attributes, control dependencies

    def set_graph_output(self, tensor: TensorHolder, output_index: int) -> None:
        """Make `tensor` the graph output of that index."""
        _check_holder(tensor, "Tensor must be a TensorHolder")
        if not isinstance(cast("object", output_index), int):
            raise TypeError("Output index must be an integer")
        owner = tensor.get_owner_builder()
        owner._check_open("set graph output")
        if owner is not self or output_index < 0 or output_index in self._outputs:
            raise RuntimeError(
                f"Failed to set graph output for graph {self._name} output index {output_index}"
            )
        self._outputs[output_index] = tensor._handle

    def set_graph_attr_int64(self, attr_name: str, value: int) -> None:
        self._set_graph_attr(attr_name, value, int, "an integer")

    def set_graph_attr_string(self, attr_name: str, value: str) -> None:
        self._set_graph_attr(attr_name, value, str, "a string")

    def set_graph_attr_bool(self, attr_name: str, value: bool) -> None:
        self._set_graph_attr(attr_name, value, bool, "a boolean")

    def _set_graph_attr(self, name: str, value: Any, cls: type, word: str) -> None:
        self._check_open("set graph attribute")
        attrs.set_extra(self._func.attributes, name, _checked(name, value, cls, word))

    def set_tensor_attr_int64(self, tensor: TensorHolder, attr_name: str, value: int) -> None:
        self._set_tensor_attr(tensor, attr_name, value, int, "an integer")

    def set_tensor_attr_string(self, tensor: TensorHolder, attr_name: str, value: str) -> None:
        self._set_tensor_attr(tensor, attr_name, value, str, "a string")

    def set_tensor_attr_bool(self, tensor: TensorHolder, attr_name: str, value: bool) -> None:
        self._set_tensor_attr(tensor, attr_name, value, bool, "a boolean")

    def _set_tensor_attr(
        self, tensor: TensorHolder, name: str, value: Any, cls: type, word: str
    ) -> None:
        self._check_open("set tensor attribute")
        _check_holder(tensor, "Tensor must be a TensorHolder")
        value = _checked(name, value, cls, word)
        handle = tensor._handle
        port = handle.index if isinstance(handle, OpResult) else 0
        tensor._get_node_snapshot().set_output_attr(name, port, value)

    def set_node_attr_int64(self, tensor: TensorHolder, attr_name: str, value: int) -> None:
        self._set_node_attr(tensor, attr_name, value, int, "an integer")

    def set_node_attr_string(self, tensor: TensorHolder, attr_name: str, value: str) -> None:
        self._set_node_attr(tensor, attr_name, value, str, "a string")

    def set_node_attr_bool(self, tensor: TensorHolder, attr_name: str, value: bool) -> None:
        self._set_node_attr(tensor, attr_name, value, bool, "a boolean")

    def _set_node_attr(
        self, tensor: TensorHolder, name: str, value: Any, cls: type, word: str
    ) -> None:
        self._check_open("set node attribute")
        _check_holder(tensor, "Tensor must be a TensorHolder")
        tensor._get_node_snapshot().set_attr(name, _checked(name, value, cls, word))

    def add_control_dependency(
        self, dst_tensor: TensorHolder, src_tensors: list[TensorHolder]
    ) -> None:
        """Make the node of `dst_tensor` run after the nodes of `src_tensors`."""
        self._check_open("add control dependency")
        _check_holder(dst_tensor, "dst_tensor must be a TensorHolder")
        if not isinstance(cast("object", src_tensors), list):
            raise TypeError("src_tensors must be a list")
        for source in src_tensors:
            _check_holder(source, "src_tensors must be a list of TensorHolder")
        for source in src_tensors:
            self._depend([dst_tensor._anchor()], source._anchor())

    def _depend(self, results: Sequence[SSAValue], source: SSAValue) -> None:
        if results:
            add_control_edge(self._block, source, results[0])

    # The graph

    def build_and_reset(self, outputs: list[TensorHolder] | None = None) -> Graph:
        """The finished graph. Raises RuntimeError when inputs or outputs have gaps."""
        self._check_open("build_and_reset")
        if outputs is not None and not isinstance(cast("object", outputs), list):
            raise TypeError("Outputs must be a list")
        for tensor in outputs or []:
            _check_holder(tensor, "All outputs must be TensorHolder objects")
        for index, tensor in enumerate(outputs or []):
            self.set_graph_output(tensor, index)
        count = len(self._outputs)
        graphs = [self._name, *map(graph_name, sub_blocks(self._block))]
        twice = [graph for graph, times in Counter(graphs).items() if times > 1]
        if twice:
            raise RuntimeError(
                f"Failed to build graph {self._name}: two graphs are named '{twice[0]}', "
                "expected names of their own"
            )
        gaps = self._inputs != list(range(len(self._inputs)))
        if gaps or sorted(self._outputs) != list(range(count)):
            raise RuntimeError(
                f"Failed to build graph {self._name}: input indices are {self._inputs} and "
                f"output indices {sorted(self._outputs)}, expected 0 to n-1"
            )
        last = ReturnOp.create(
            operands=[self._outputs[i] for i in range(count)],
            attributes={NAME: StringAttr(f"NetOutput_{self._name}")},
        )
        self._block.add_op(last)
        update_function_type(self._func)
        self._built = True
        return Graph._create_from(self._func)


def _class_of(op_type: str) -> type[GeOp]:
    cls = op_class(op_type)
    assert cls is not None, f"{op_type} is in the prototype table"
    return cls


def _check_members(**given: tuple[object, type]) -> None:
    """Raise AttributeError for what is no member of its enumeration, as GE's access to it does."""
    for what, (value, kind) in given.items():
        if not hasattr(value, "value"):
            raise AttributeError(
                f"{what} is {value!r}, which has no attribute 'value', expected a member of "
                f"{kind.__name__}"
            )


def _bools(flat: list[Any]) -> bool:
    return set(map(type, flat)) == {bool}


def _value_list(
    value: Any, shape: list[int] | None, cls: Any, message: str
) -> tuple[list[Any], list[int]]:
    """The values and dimensions of a constant; raises when their counts differ."""
    values = cast("list[Any]", value if isinstance(value, list) else [value])
    if not all(isinstance(item, cls) for item in values):
        raise TypeError(message)
    if shape is not None and not is_int_list(shape):
        raise TypeError("Shape must be a list of integers")
    dims = shape if shape is not None else [len(values)] if isinstance(value, list) else []
    count = 1
    for dim in dims:
        count *= dim
    if count != len(values):
        raise ValueError(
            f"Value count ({len(values)}) doesn't match shape {dims} (expected {count} elements)"
        )
    return values, dims


def _check_holder(value: object, message: str) -> None:
    if not isinstance(value, TensorHolder):
        raise TypeError(message)


def _checked(name: object, value: Any, cls: type, word: str) -> Any:
    """The value to store: a bool that is given for an integer is one."""
    attrs.check_key(name, "Attribute name")
    if not isinstance(value, cls):
        raise TypeError(f"Value must be {word}")
    return int(value) if cls is int else value
