"""What a converter writes ONNX nodes with: names of values, constants, checks of types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.op import GeOp, constant_of
from ge_xdsl.dialects.ge.types import DataType, Tensor, numpy_dtype, tensor_of
from ge_xdsl.exporters.onnx.tensors import number_of, tensor_proto, type_name

if TYPE_CHECKING:
    from onnx import GraphProto, TensorProto

    from ge_xdsl.dialects.ge.types import Array

OPSET = 18
"""The version of the standard operators that is written."""
DOMAIN = "ai.ge"
"""Where GE ops without a standard form are: op type and attributes are GE's."""


class NoFormError(Exception):
    """An op, with these attributes and types, has no exact form in standard ONNX ops."""


@dataclass
class Node:
    """A node that is being written."""

    op_type: str
    inputs: list[str]
    outputs: list[str]
    attrs: dict[str, Any] = field(default_factory=dict[str, Any])
    domain: str = ""
    name: str = ""


class Names:
    """Unique names of values and nodes of one model."""

    def __init__(self) -> None:
        self.taken: set[str] = set()
        self.counters: dict[str, int] = {}

    def unique(self, stem: str) -> str:
        """`stem`, or the first of `stem_1`, `stem_2`, ... that is free; notes it as taken."""
        name, count = stem, self.counters.get(stem, 0)
        while name in self.taken:
            count += 1
            name = f"{stem}_{count}"
        self.counters[stem] = count
        self.taken.add(name)
        return name


@dataclass(frozen=True)
class Weight:
    """An initializer and its values, which are put in when all sizes are known."""

    proto: TensorProto
    array: Array


class Graph:
    """The nodes of a graph. Converters give the names of an op's results, as `add` makes them."""

    def __init__(self, names: Names, outer: Graph | None = None) -> None:
        self.names = names
        self.values: dict[SSAValue, str] = {} if outer is None else dict(outer.values)
        self.types: dict[str, DataType] = {} if outer is None else dict(outer.types)
        self.nodes: list[Node] = []
        self.weights: list[Weight] = []
        self.pending: list[Node] = []
        self.op: GeOp | None = None

    def part(self) -> Graph:
        """A graph that writes into this one and whose values are its own."""
        made = Graph(self.names, self)
        made.types, made.nodes, made.weights = self.types, self.nodes, self.weights
        return made

    # What is known of a value

    def of(self, value: SSAValue | None) -> str:
        """The name of a value, '' for a missing operand."""
        return "" if value is None else self.values[value]

    def tensor(self, value: SSAValue) -> Tensor:
        return tensor_of(value.type)

    def dtype(self, value: SSAValue) -> DataType:
        return tensor_of(value.type).dtype

    def rank(self, value: SSAValue) -> int:
        """The rank of a value; raises NoFormError while it is unknown."""
        shape = tensor_of(value.type).shape
        if shape is None:
            raise NoFormError("the rank is unknown")
        return len(shape)

    def is_scalar(self, value: SSAValue) -> bool:
        """Whether a value is known to have no dimension. What has an unknown rank is taken for
        one with dimensions: onnxruntime refuses a scalar in its place."""
        return tensor_of(value.type).shape == ()

    def dims(self, value: SSAValue) -> tuple[int, ...]:
        """The dimensions of a value, which have to be known."""
        shape = tensor_of(value.type).shape
        if shape is None or min(shape, default=0) < 0:
            raise NoFormError("the shape is unknown")
        return shape

    def known(self, value: SSAValue | None) -> list[int]:
        """The integers of a constant operand; raises NoFormError for any other operand."""
        array = None if value is None else constant_of(value)
        if array is None or array.dtype.kind not in "iu":
            raise NoFormError("an operand is no constant")
        return [int(n) for n in array.reshape(-1).tolist()]

    def number(self, value: SSAValue | None) -> int:
        """The one integer of a constant operand."""
        found = self.known(value)
        if len(found) != 1:
            raise NoFormError(f"an operand has {len(found)} elements, not one")
        return found[0]

    def defaults(self, op: GeOp, *names: str) -> None:
        """Demand that attributes, all of them by default, have their default values."""
        for spec in op.prototype.attrs:
            if (not names or spec.name in names) and op.get_attr(spec.name) != spec.unset:
                raise NoFormError(f"attribute '{spec.name}' is not the default")

    # Writing

    def add(
        self,
        op_type: str,
        *inputs: str,
        dtype: DataType | None = None,
        count: int = 1,
        **attrs: Any,
    ) -> str:
        """Append a standard node and give the name of its first output.

        `dtype` is the element type of the output, that of the first input by default. Raises
        NoFormError when the standard does not have the op for these types.
        """
        return self.several(op_type, inputs, count, dtype, attrs)[0]

    def several(
        self,
        op_type: str,
        inputs: Sequence[str],
        count: int,
        dtype: DataType | None = None,
        attrs: dict[str, Any] | None = None,
    ) -> list[str]:
        """Append a standard node with `count` outputs and give their names."""
        check_types(op_type, [self.types.get(name) if name else None for name in inputs])
        stem = self.op.node_name if self.op is not None else ""
        outputs = [self.names.unique(f"{stem or 'value'}_{op_type}") for _ in range(count)]
        given = list(inputs)
        while given and not given[-1]:
            given.pop()
        self.pending.append(Node(op_type, given, outputs, dict(attrs or {}), name=outputs[0]))
        for output in outputs:
            self.types[output] = self.types[inputs[0]] if dtype is None else dtype
        return outputs

    def const(self, values: Any, dtype: DataType) -> str:
        """The name of a new constant with these values."""
        import numpy as np

        stem = self.op.node_name if self.op is not None else ""
        array = np.array(values, numpy_dtype(dtype))
        return self.weight(array, dtype, self.names.unique(f"{stem or 'value'}_const"))

    def weight(self, array: Array, dtype: DataType, name: str) -> str:
        """Keep a constant under a name; raises ValueError for a type that ONNX lacks."""
        self.weights.append(Weight(tensor_proto(array, dtype, name), array))
        self.types[name] = dtype
        return name

    def ints(self, values: Sequence[int]) -> str:
        """The name of a new i64 vector, which ONNX takes for axes and shapes."""
        return self.const(list(values), DataType.DT_INT64)

    def number_like(self, number: float, name: str) -> str:
        """The name of a new scalar in the element type of a value."""
        return self.const(number, self.types[name])

    def cast(self, name: str, dtype: DataType) -> str:
        """A value in another element type."""
        if self.types[name] == dtype:
            return name
        if not type_name(dtype) or "COMPLEX" in dtype.name:
            raise NoFormError(f"Cast does not give {dtype.name}")
        return self.add("Cast", name, dtype=dtype, to=number_of(dtype))

    def long(self, value: SSAValue) -> str:
        """An integer operand in i64."""
        return self.cast(self.of(value), DataType.DT_INT64)

    def vector(self, value: SSAValue) -> str:
        """A value as a vector, whatever its shape."""
        if self.rank(value) == 1:
            return self.of(value)
        return self.add("Reshape", self.of(value), self.ints([-1]))

    def transpose(self, name: str, perm: Sequence[int]) -> str:
        if list(perm) == list(range(len(perm))):
            return name
        return self.add("Transpose", name, perm=list(perm))

    # Finishing an op

    def finish(self, op: GeOp, results: Sequence[str | None]) -> None:
        """Give the results of a converted op their names and keep its nodes.

        Raises NoFormError for a result that is read and was not made, or is of another type.
        """
        made = {output: node for node in self.pending for output in node.outputs}
        renamed: dict[str, str] = {}
        title: str | None = op.node_name or None
        for value, name in zip(op.results, results, strict=True):
            if name is None:
                if value.uses:
                    raise NoFormError("a result is read that ONNX does not have")
                continue
            if DataType.DT_UNDEFINED not in (known := {self.types[name], self.dtype(value)}) and (
                len(known) > 1
            ):
                raise NoFormError(
                    f"the result would be {self.types[name].name}, not {self.dtype(value).name}"
                )
            wanted = self.values[value]
            if name not in made or name in renamed:
                self.pending.append(Node("Identity", [name], [wanted], name=wanted))
            else:
                renamed[name] = wanted
                made[name].name = wanted if title is None else title
                title = None
            self.types[wanted] = self.types[name]
        for node in self.pending:
            node.inputs = [renamed.get(name, name) for name in node.inputs]
            node.outputs = [renamed.get(name, name) for name in node.outputs]
        self.keep()

    def keep(self) -> None:
        """Keep the pending nodes as they are."""
        self.nodes += self.pending
        self.pending = []

    def drop(self, weights: int) -> None:
        """Forget the nodes of an op that turned out to have no form, and its constants."""
        self.pending = []
        del self.weights[weights:]

    def proto(self, name: str) -> GraphProto:
        """The graph with its nodes and initializers, without inputs and outputs."""
        from onnx import GraphProto, helper

        made = GraphProto(name=name)
        for node in self.nodes:
            made.node.append(
                helper.make_node(
                    node.op_type, node.inputs, node.outputs, node.name, domain=node.domain
                )
            )
            for key, value in node.attrs.items():
                made.node[-1].attribute.append(attribute(key, value))
        return made


def attribute(key: str, value: Any) -> Any:
    """An ONNX attribute of a Python value, a tensor, a graph or a ready attribute."""
    from onnx import AttributeProto, helper

    if isinstance(value, AttributeProto):
        return value
    return helper.make_attribute(key, value)


@cache
def _schema(op_type: str) -> tuple[list[tuple[str, bool]], dict[str, frozenset[str]]]:
    """The type of each input of an op and whether it repeats, and the types a variable allows."""
    from onnx import defs

    found = defs.get_schema(op_type, OPSET, "")
    repeats = defs.OpSchema.FormalParameterOption.Variadic
    inputs = [(item.type_str, item.option == repeats) for item in found.inputs]
    allowed = {c.type_param_str: frozenset(c.allowed_type_strs) for c in found.type_constraints}
    return inputs, allowed


def check_types(op_type: str, dtypes: Sequence[DataType | None]) -> None:
    """Raise NoFormError unless the standard has an op for operands of these element types."""
    inputs, allowed = _schema(op_type)
    bound: dict[str, str] = {}
    for index, dtype in enumerate(dtypes):
        variable, _ = inputs[min(index, len(inputs) - 1)]
        if dtype is None or dtype is DataType.DT_UNDEFINED:
            continue  # left out, or the result of an op of which nothing is known
        name = type_name(dtype)
        fits = name in allowed.get(variable, (variable,))
        same = bound.setdefault(variable, name) == name or inputs[-1][1]
        if not fits or not same:
            raise NoFormError(f"{op_type} does not take {dtype.name}")
