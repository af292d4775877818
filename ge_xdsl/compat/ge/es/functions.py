"""The `ge.es` function of an op, made from its prototype.

Parameters: inputs in declared order, the builder where no input tells it, the number of results of
each dynamic output, subgraphs, then attributes by keyword, required ones first.
"""

# The API names its own internals with underscores; this package shares them.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import keyword
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import Parameter, Signature
from typing import Any, cast

from xdsl.ir import Attribute

from ge_xdsl.compat.ge._quirks import upstream_quirks
from ge_xdsl.compat.ge.es.graph_builder import GraphBuilder
from ge_xdsl.compat.ge.es.subgraphs import attach, check_graphs, graph_list
from ge_xdsl.compat.ge.es.tensor_holder import TensorHolder
from ge_xdsl.compat.ge.es.tensor_like import TensorLike, convert_to_tensor_holder, resolve_builder
from ge_xdsl.compat.ge.graph.attributes import tensor_attribute
from ge_xdsl.compat.ge.graph.graph import Graph
from ge_xdsl.compat.ge.graph.tensor import Tensor
from ge_xdsl.dialects.ge.nodes import outputs
from ge_xdsl.dialects.ge.op import CONSTANT_TYPES, GeOp
from ge_xdsl.dialects.ge.prototype import AttrSpec, Io, encode
from ge_xdsl.dialects.ge.prototypes import prototype_of
from ge_xdsl.dialects.ge.types import DataType
from ge_xdsl.passes.registry import current_run

OpFunction = Callable[..., Any]

_ANNOTATIONS: dict[str, Any] = {
    "Int": int,
    "Float": float,
    "Bool": bool,
    "String": str,
    "Type": DataType,
    "Tensor": Tensor,
    "ListInt": list[int],
    "ListFloat": list[float],
    "ListBool": list[bool],
    "ListString": list[str],
    "ListType": list[DataType],
    "ListListInt": list[list[int]],
}


@dataclass
class OpCall:
    """What a call of one op's function needs: parameter names and the strict signature."""

    cls: type[GeOp]
    inputs: list[str] = field(init=False)
    builder: str = field(init=False, default="")
    counts: list[str] = field(init=False)
    graphs: list[str] = field(init=False)
    attrs: dict[str, AttrSpec] = field(init=False)
    """Parameter name -> attribute, required ones first."""
    takes_numbers: bool = field(init=False)
    signature: Signature = field(init=False)
    output_class: type | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        proto = self.cls.prototype
        ios = proto.inputs
        names = {io.name for io in ios}
        self.inputs = [_safe(io.name, "in_") for io in ios]
        optional = all(io.kind == "optional" for io in ios)
        if optional:
            self.builder = "owner_builder" if ios else "owner_graph_builder"
        self.takes_numbers = len(ios) > 1 or optional
        self.counts = [f"{_safe(o.name, 'out_')}_num" for o in proto.outputs if o.kind == "dynamic"]
        self.graphs = [_safe(graph.name, "subgraph_") for graph in proto.subgraphs]
        ordered = sorted(proto.attrs, key=lambda spec: not spec.required)
        self.attrs = {
            f"attr_{spec.name}" if spec.name in names else _safe(spec.name, "attr_"): spec
            for spec in ordered
        }
        if len(proto.outputs) > 1:
            self.output_class = _output_class(proto.op_type, self.output_names())
        self.signature = _signature(self)

    def output_names(self) -> list[str]:
        """The attribute names of the op's output object."""
        names = {io.name for io in self.cls.prototype.inputs}
        return [
            f"ref_{io.name}" if io.name in names else _safe(io.name, "out_")
            for io in self.cls.prototype.outputs
        ]

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Parameter name -> argument; attributes by position are taken too, with a warning.

        Raises TypeError as a Python function with this signature would.
        """
        args = self._of_oldest(args, kwargs)
        plain = len(self.inputs) + bool(self.builder) + len(self.counts) + len(self.graphs)
        extra = args[plain:]
        named = dict(kwargs)
        if extra and len(extra) <= len(self.attrs) and not upstream_quirks():
            by_position = dict(zip(self.attrs, extra, strict=False))
            twice = next((name for name in by_position if name in named), None)
            if twice is not None:
                raise TypeError(f"{self.op_type}() got multiple values for argument '{twice}'")
            named |= by_position
            args = args[:plain]
            _warn_positional(self.op_type, list(by_position))
        try:
            return self.signature.bind(*args, **named).arguments
        except TypeError as error:
            unknown = any(name not in self.signature.parameters for name in named)
            known = f", expected one of: {', '.join(self.signature.parameters)}" if unknown else ""
            raise TypeError(f"{self.op_type}() {error}{known}") from None

    def _of_oldest(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Sequence[Any]:
        """Arguments for the op's oldest form, which ends in counts, as arguments for its newest."""
        oldest = self.cls.prototype.oldest_inputs
        missing = len(self.inputs) - oldest
        named = any(name in kwargs for name in self.counts)
        if not missing or not self.counts or named or len(args) != oldest + len(self.counts):
            return args
        return [*args[:oldest], *[None] * missing, *args[oldest:]]

    @property
    def op_type(self) -> str:
        return self.cls.prototype.op_type


def _safe(name: str, prefix: str) -> str:
    return prefix + name if keyword.iskeyword(name) else name


def _signature(call: OpCall) -> Signature:
    proto = call.cls.prototype
    kind = Parameter.POSITIONAL_OR_KEYWORD
    plain: list[Parameter] = []
    trailing = not call.counts and not call.graphs
    tensor: Any = TensorLike if call.takes_numbers else TensorHolder
    for i, (name, io) in enumerate(zip(call.inputs, proto.inputs, strict=True)):
        rest_optional = all(later.kind == "optional" for later in proto.inputs[i:])
        default = None if rest_optional and trailing else Parameter.empty
        plain.append(Parameter(name, kind, default=default, annotation=_io_annotation(io, tensor)))
    if call.builder:
        default = None if plain and trailing else Parameter.empty
        plain.append(Parameter(call.builder, kind, default=default, annotation=GraphBuilder))
    plain += [Parameter(name, kind, annotation=int) for name in call.counts]
    for name, graph in zip(call.graphs, proto.subgraphs, strict=True):
        annotation = Graph if graph.kind == "static" else list[Graph]
        plain.append(Parameter(name, kind, annotation=annotation))
    return Signature([*plain, *_attr_parameters(call)], return_annotation=_returns(call))


def _attr_parameters(call: OpCall) -> list[Parameter]:
    return [
        Parameter(
            name,
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if spec.required else _default(spec),
            annotation=_ANNOTATIONS[spec.kind],
        )
        for name, spec in call.attrs.items()
    ]


def _io_annotation(io: Io, tensor: Any) -> Any:
    if io.kind == "dynamic":
        return list[tensor]
    return tensor | None if io.kind == "optional" else tensor


def _default(spec: AttrSpec) -> Any:
    if spec.kind == "ListListInt" and spec.default is not None:
        return [list(row) for row in spec.default]
    if spec.kind.startswith("List") and spec.default is not None:
        return list(spec.default)
    return spec.default if spec.kind != "Tensor" else None


def _returns(call: OpCall) -> Any:
    outputs = call.cls.prototype.outputs
    if call.output_class is not None:
        return call.output_class
    return list[TensorHolder] if outputs and outputs[0].kind == "dynamic" else TensorHolder


def _output_class(op_type: str, names: list[str]) -> type:
    """The class of an op's several outputs: one attribute each, no sequence."""

    def __init__(self: Any, **outputs: Any) -> None:
        for name in names:
            setattr(self, name, outputs[name])

    return type(f"{op_type}Output", (), {"__init__": __init__, "__doc__": f"Outputs of {op_type}."})


def make_function(cls: type[GeOp]) -> tuple[OpFunction, type | None]:
    """The function of an op, and the class of its outputs when it has several."""
    call = OpCall(cls)

    def function(*args: Any, **kwargs: Any) -> Any:
        return build(call, call.bind(args, kwargs))

    function.__name__ = function.__qualname__ = call.op_type
    function.__doc__ = _documentation(call)
    function.__signature__ = call.signature  # pyright: ignore[reportFunctionMemberAccess]
    return function, call.output_class


def _documentation(call: OpCall) -> str:
    """The docstring of an op's function: its call, its inputs, attributes and results."""
    proto = call.cls.prototype
    names = ", ".join(call.signature.parameters)
    parts = [f"{call.op_type}({names}): a node of op type {call.op_type}."]
    groups = {
        "Inputs": _io_lines(call, call.inputs, proto.inputs),
        "Attributes": [f"{name}: {_attr_text(spec)}" for name, spec in call.attrs.items()],
        "Results": _io_lines(call, call.output_names(), proto.outputs),
    }
    parts += ["\n    ".join([f"{title}:", *lines]) for title, lines in groups.items() if lines]
    return "\n\n".join(parts)


def _io_lines(call: OpCall, names: Sequence[str], ios: Sequence[Io]) -> list[str]:
    """A line per input or output, with the element types of the prototype table."""
    listed = prototype_of(call.op_type)
    known = {io.name: io.dtypes for io in (*listed.inputs, *listed.outputs)} if listed else {}
    lines: list[str] = []
    for name, io in zip(names, ios, strict=True):
        dtypes = ", ".join(dtype.name for dtype in known.get(io.name, io.dtypes))
        kind = {"required": "", "optional": "optional, ", "dynamic": "list, "}[io.kind]
        lines.append(f"{name}: {kind}{dtypes or 'any data type'}")
    return lines


def _attr_text(spec: AttrSpec) -> str:
    return spec.kind if spec.required else f"{spec.kind}, {_default(spec)!r} by default"


def build(call: OpCall, given: Mapping[str, Any]) -> Any:
    """Add the node of a bound call; its outputs in the form that the function returns."""
    builder = _builder(call, given)
    builder._check_open(f"create {call.op_type}")
    inputs = [
        _input(call, builder, given.get(name), io.kind == "dynamic")
        for name, io in zip(call.inputs, call.cls.prototype.inputs, strict=True)
    ]
    counts = [_count(call, name, given[name]) for name in call.counts]
    graphs = [
        (parameter, graph)
        for parameter in call.graphs
        for graph in graph_list(call.op_type, parameter, given[parameter])
    ]
    lists: list[list[Any]] = [value for value in inputs if isinstance(value, list)]
    handed = len(lists[0]) if lists else 0
    check_graphs(call.op_type, graphs, handed, counts[0] if counts else None)
    made = builder._make(call.cls, inputs, counts, _properties(call, builder, given))
    attach(made, [graph for _, graph in graphs], builder, handed)
    if call.op_type in CONSTANT_TYPES and made.properties:
        made.update_types()
    values = outputs(made)
    if not values:
        return TensorHolder._of_node(made, builder)
    return _results(call, [builder._holder(value) for value in values], counts)


def _builder(call: OpCall, given: Mapping[str, Any]) -> GraphBuilder:
    if not call.takes_numbers:
        first = given[call.inputs[0]]
        dynamic = call.cls.prototype.inputs[0].kind == "dynamic"
        tensor = first[0] if dynamic else first
        if not hasattr(tensor, "get_owner_builder"):
            raise AttributeError(
                f"{call.op_type}() input '{call.inputs[0]}' is {type(tensor).__name__}, which has "
                "no get_owner_builder, expected a tensor"
            )
        return tensor.get_owner_builder()
    values: list[Any] = []
    for name in (*call.inputs, call.builder):
        value = given.get(name)
        values += cast("list[Any]", value) if isinstance(value, list) else [value]
    return resolve_builder(*values)


def _input(call: OpCall, builder: GraphBuilder, value: Any, dynamic: bool = False) -> Any:
    """The SSA value (list of them for a dynamic input) of one input argument."""
    if dynamic:
        if not isinstance(value, list | tuple):
            raise TypeError(f"{call.op_type}() got {value!r}, expected a list of tensors")
        return [_input(call, builder, item) for item in cast("list[Any]", value)]
    holder = convert_to_tensor_holder(value, builder)
    if holder is None:
        return None
    if holder.get_owner_builder() is not builder:
        raise ValueError(
            f"Cannot build {call.op_type}: tensors from different GraphBuilders "
            f"('{builder.name}' vs '{holder.get_owner_builder().name}')"
        )
    return holder._handle


def _properties(call: OpCall, builder: GraphBuilder, given: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes to store: required ones, and optional ones that differ from the default."""
    stored: dict[str, Attribute] = {}
    for name, spec in call.attrs.items():
        if name not in given or given[name] is None:
            continue
        attr = _attribute(call, builder, name, spec, given[name])
        is_default = not spec.required and spec.kind != "Tensor" and spec.default is not None
        if not is_default or attr != encode(spec.kind, spec.default):
            stored[spec.name] = attr
    return stored


def _attribute(
    call: OpCall, builder: GraphBuilder, name: str, spec: AttrSpec, value: Any
) -> Attribute:
    if spec.kind == "Tensor" and isinstance(value, Tensor):
        value._transfer_ownership_when_pass_as_attr(builder)
        return tensor_attribute(value, f"{call.op_type}.{spec.name}")
    if spec.kind == "Type" and not isinstance(value, DataType):
        raise TypeError(f"{call.op_type}() argument '{name}' is {value!r}, expected a DataType")
    if spec.kind == "Int" and isinstance(value, bool):
        value = int(value)
    try:
        return encode(spec.kind, value)
    except ValueError as error:
        raise TypeError(f"{call.op_type}() argument '{name}' {error}") from None


def _count(call: OpCall, name: str, value: Any) -> int:
    if not isinstance(value, int) or value < 0:
        raise TypeError(f"{call.op_type}() argument '{name}' is {value!r}, expected a count")
    return value


def _results(call: OpCall, holders: list[TensorHolder], counts: Sequence[int]) -> Any:
    left = iter(counts)
    grouped: list[Any] = []
    start = 0
    for io in call.cls.prototype.outputs:
        count = next(left) if io.kind == "dynamic" else 1
        part = holders[start : start + count]
        grouped.append(part if io.kind == "dynamic" else part[0])
        start += count
    if call.output_class is not None:
        return call.output_class(**dict(zip(call.output_names(), grouped, strict=True)))
    return grouped[0]


def _warn_positional(op_type: str, names: list[str]) -> None:
    """Say that CANN takes these attributes by keyword only, at the user's line."""
    wanted = ", ".join(f"{name}=..." for name in names)
    text = f"{op_type} attributes are given by position, CANN takes them as {wanted}"
    run = current_run()
    if run is None:
        warnings.warn(text, stacklevel=4)
        return
    frame = sys._getframe(3)
    run.session.warn(f"{frame.f_code.co_filename}:{frame.f_lineno}: {text}")
