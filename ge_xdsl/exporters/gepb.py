"""IR -> GE's own serialized graphs: `.air` files and `ge_proto_*.txt` dumps.

Data, Const and NetOutput become nodes again; subgraphs become graphs of the model that their op
names. Field tables and both forms are in `dialects/ge/gepb`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue

from ge_xdsl.dialects.ge import hifloat8, nodes
from ge_xdsl.dialects.ge.gepb import (
    ATTR_DEF,
    LIST_KINDS,
    PROTO_DTYPES,
    GepbError,
    Message,
    encode,
)
from ge_xdsl.dialects.ge.gepb_text import parse, text_of
from ge_xdsl.dialects.ge.names import INPUT_NAMES, describe, fresh_name, ssa_name
from ge_xdsl.dialects.ge.op import CONSTANT_TYPES, NAME, GeOp
from ge_xdsl.dialects.ge.prototype import AttrKind, Io, decode, kind_of
from ge_xdsl.dialects.ge.store import chunks, unreadable
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Format, Tensor, tensor_of
from ge_xdsl.dialects.ge.weights import WeightAttr, tensor_of_const
from ge_xdsl.errors import CompileError

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

_NUMBER_OF = {name: number for number, name in PROTO_DTYPES.items()}
_KIND_NUMBERS = {"required": 0, "optional": 1, "dynamic": 2}
INTERNAL = (NAME, nodes.SUBGRAPH_NAMES, INPUT_NAMES, nodes.INPUT_TYPES)
"""Attributes that stand for other parts of a node than its attributes."""

_INTERNAL_PREFIXES = (
    f"{INPUT_NAMES}.",
    f"{nodes.INPUT_TYPES}.",
    "ge.input_desc.",
    "ge.input_attr.",
    "ge.output_attr.",
    "ge.graph_attr.",
    "ge.unlisted_subgraphs",
)

WITHOUT_WEIGHTS = 2
"""The dump level from which constants are written without their values."""


def air_bytes(func: FuncOp) -> bytes:
    """A graph as the bytes of an `.air` file; raises CompileError for what GE cannot hold."""
    return encode(model_of(func))


def proto_text(func: FuncOp | Block, level: int = 1) -> str:
    """A graph as the text of a `ge_proto` dump; from level 2 on without the values of constants."""
    return text_of(model_of(func, level))


INLINE_LIMIT = 2**30
"""Weights of more bytes in all stand in files of their own, one for each constant."""
LEAST_OUTSIDE = 1024
"""Constants of fewer bytes stay in the model."""
FOLDER = "air_weight"
"""The folder beside a model that holds the folders of such files, as GE names it."""


@dataclass
class Outside:
    """Constants that stand in files: where, relative to the model, and what the files hold."""

    folder: str
    files: dict[str, Array] = field(default_factory=dict[str, "Array"])

    def put(self, node: str, array: Array) -> str:
        """Keep the values of a node; the path of their file."""
        stem = ssa_name(node).replace(".", "_")[:100]
        path, count = f"{self.folder}/{stem}_file", 0
        while path in self.files:
            count += 1
            path = f"{self.folder}/{stem}_{count}_file"
        self.files[path] = array
        return path


def write_air(func: FuncOp, path: Path) -> None:
    """Write an `.air` file, and for weights above `INLINE_LIMIT` their files, those first.

    Raises CompileError for what GE cannot hold and what cannot be written.
    """
    from ge_xdsl.exporters.files import is_replaceable, replacing, write_bytes
    from ge_xdsl.exporters.onnx.model import weight_bytes

    if weight_bytes(func) <= INLINE_LIMIT or not is_replaceable(path):
        write_bytes(path, air_bytes(func))
        return
    outside = Outside(f"{FOLDER}/{path.stem}")
    data = encode(model_of(func, outside=outside))
    try:
        (path.parent / outside.folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unreadable(path.parent / outside.folder, error) from None
    with ExitStack() as stack:
        stack.enter_context(replacing(path)).write(data)
        for name, array in outside.files.items():
            file = stack.enter_context(replacing(path.parent / name))
            for chunk in chunks(array):
                file.write(chunk)


def model_of(func: FuncOp | Block, level: int = 1, outside: Outside | None = None) -> Message:
    """The `ModelDef` of a graph: first it, then all of its subgraphs.

    With `outside` large constants become FileConstants whose values it keeps.
    """
    root = func if isinstance(func, Block) else func.body.block
    blocks = [root, *nodes.sub_blocks(root)]
    names = [nodes.graph_name(block) for block in blocks]
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise CompileError(f"two graphs are named '{twice[0]}', expected names of their own")
    graphs = [_GraphWriter(block, level, outside).graph() for block in blocks]
    return Message("ModelDef", {"name": names[0], "version": 1, "graph": graphs})


class _GraphWriter:
    """Writes one graph; nameless nodes get a name for the file only."""

    def __init__(self, block: Block, level: int, outside: Outside | None = None) -> None:
        self.block = block
        self.level = level
        self.outside = outside
        self.handles = list(nodes.handles(block))
        self.names: dict[int, str] = {}
        taken = {nodes.handle_name(handle) for handle in self.handles}
        counters: dict[str, int] = {}
        for handle in self.handles:
            name = nodes.handle_name(handle)
            name = name or fresh_name(nodes.handle_type(handle), taken, counters)
            self.names[id(handle)] = name

    def graph(self) -> Message:
        ops = [self.op(i, handle) for i, handle in enumerate(self.handles)]
        last = self.block.last_op
        outputs = [self.source(value) for value in last.operands] if last is not None else []
        owner = self.block.parent_op()
        attrs = extra_attrs(owner) if isinstance(owner, FuncOp) else {}
        return Message(
            "GraphDef",
            {
                "name": nodes.graph_name(self.block),
                "input": [f"{self.names[id(arg)]}:0" for arg in self.block.args],
                "output": outputs,
                "op": ops,
                "attr": attrs,
            },
        )

    def source(self, value: SSAValue) -> str:
        """How a node names a tensor it reads; '' for an operand that is left unconnected."""
        handle = nodes.handle_of(value)
        if handle is None:
            return ""
        index = value.index if isinstance(value, OpResult) else 0
        return f"{self.names[id(handle)]}:{index}"

    def op(self, index: int, handle: nodes.Handle) -> Message:
        slots = [] if isinstance(handle, BlockArgument) else nodes.input_slots(handle)
        after = [
            f"{self.names[id(nodes.handle_of(edge.src))]}:-1"
            for edge in nodes.control_edges(handle, outgoing=False)
        ]
        fields: dict[str, Any] = {
            "name": self.names[id(handle)],
            "type": nodes.handle_type(handle),
            "input": [*("" if v is None else self.source(v) for v in slots), *after],
            "attr": self.attrs(handle),
            "id": index,
            "input_desc": [_port(handle, i, value) for i, value in enumerate(slots)],
            "output_desc": [
                descriptor(_tensor(value, handle), _port_attrs(handle, "output", i))
                for i, value in enumerate(nodes.outputs(handle))
            ],
        }
        if isinstance(handle, GeOp) and handle.regions:
            fields["subgraph_name"] = nodes.region_graph_names(handle)
        if self.outside is not None and isinstance(handle, GeOp):
            self.move_outside(handle, fields, self.outside)
        return Message("OpDef", fields)

    def moves(self, op: GeOp) -> bool:
        """Whether an op is a constant whose values go to a file."""
        array = (
            op.get_attr("value")
            if self.outside is not None and op.op_type in CONSTANT_TYPES
            else None
        )
        if array is None or array.nbytes < LEAST_OUTSIDE:
            return False
        return tensor_of(op.results[0].type).dtype not in _PACKED

    def move_outside(self, op: GeOp, fields: dict[str, Any], outside: Outside) -> None:
        """Make a large Const a FileConstant."""
        if not self.moves(op):
            return
        tensor = tensor_of(op.results[0].type)
        array = hifloat8.as_stored(op.get_attr("value"), tensor.dtype)
        place = outside.put(fields["name"], array).encode()
        dims = Message("ListValue", {"i": list(array.shape), "val_type": LIST_KINDS["i"]})
        attrs: dict[str, Message] = fields["attr"]
        for name, value in (
            ("file_path", {"s": place}), ("location", {"s": place}), ("offset", {"i": 0}),
            ("length", {"i": array.nbytes}), ("dtype", {"dt": int(tensor.dtype)}),
            ("shape", {"list": dims}),
        ):  # fmt: skip
            attrs[name] = Message("AttrDef", value)
        fields["type"] = "FileConstant"

    def attrs(self, handle: nodes.Handle) -> dict[str, Message]:
        if isinstance(handle, BlockArgument):
            found = argument_attrs(handle)
            found["index"] = Message("AttrDef", {"i": handle.index})
            if not isinstance(self.block.parent_op(), FuncOp):
                found["_parent_node_index"] = Message("AttrDef", {"i": handle.index})
            return found
        found = extra_attrs(handle)
        if not isinstance(handle, GeOp) or nodes.is_terminator(handle):
            return found
        for spec in handle.prototype.attrs:
            stored = handle.properties.get(spec.name)
            without = self.level >= WITHOUT_WEIGHTS or self.moves(handle)
            dropped = spec.kind == "Tensor" and without
            if stored is not None and not dropped:
                found[spec.name] = attr_def(stored, spec.kind, handle)
        return found | _declaration(handle)


def _declaration(op: GeOp) -> dict[str, Message]:
    """What the attributes of a node say of its prototype."""
    proto = op.prototype
    inputs = list(_slot_names(proto.inputs, op.operand_counts()))
    outputs = list(_slot_names(proto.outputs, op.result_counts()))
    optional = [io.name for io in proto.inputs if io.kind == "optional"]
    ranks = [min(_KIND_NUMBERS[io.kind], 1) for io in proto.outputs]
    lists: dict[str, tuple[str, Sequence[Any]]] = {
        "_input_name_key": ("s", inputs),
        "_input_name_value": ("i", list(range(len(inputs)))),
        "_output_name_key": ("s", outputs),
        "_output_name_value": ("i", list(range(len(outputs)))),
        "_opt_input": ("s", optional),
        "_ir_attr_names": ("s", [spec.name for spec in proto.attrs]),
        "_ir_inputs_key": ("s", [io.name for io in proto.inputs]),
        "_ir_inputs_value": ("i", [_KIND_NUMBERS[io.kind] for io in proto.inputs]),
        "_ir_outputs_key": ("s", [io.name for io in proto.outputs]),
        "_ir_outputs_value": ("i", ranks),
    }
    return {
        key: Message("AttrDef", {"list": Message("ListValue", {name: _bytes_or(name, values)})})
        for key, (name, values) in lists.items()
        if values
    }


def _bytes_or(name: str, values: Sequence[Any]) -> list[Any]:
    return [v.encode("utf-8") for v in values] if name == "s" else list(values)


def _slot_names(ios: Sequence[Io], counts: Sequence[int]) -> Iterator[str]:
    """The name of each port: `x`, or `x0`, `x1`, ... for a dynamic one."""
    for io, count in zip(ios, counts, strict=True):
        if io.kind == "dynamic":
            yield from (f"{io.name}{i}" for i in range(count))
        else:
            yield io.name


# Attributes


def attr_name(key: str) -> str:
    """GE's name of an attribute that no prototype declares; the inverse of `extra_key`."""
    return key.removeprefix("ge.attr.") if key.startswith("ge.attr.") else key.removeprefix("ge.")


def is_internal(key: str) -> bool:
    """Whether an attribute of the IR is no attribute of the GE node."""
    return key in INTERNAL or key.startswith(_INTERNAL_PREFIXES)


def extra_attrs(op: Operation) -> dict[str, Message]:
    return {
        attr_name(key): attr_def(attr, kind_of(attr), op)
        for key, attr in op.attributes.items()
        if not is_internal(key)
    }


def argument_attrs(arg: BlockArgument) -> dict[str, Message]:
    """The attributes of a graph input; {} for an input of a subgraph."""
    func = arg.block.parent_op()
    if not isinstance(func, FuncOp) or func.arg_attrs is None:
        return {}
    entries = func.arg_attrs.data[arg.index].data
    return {attr_name(key): attr_def(attr, kind_of(attr), func) for key, attr in entries.items()}


def _port_attrs(handle: nodes.Handle, side: str, index: int) -> dict[str, Message]:
    if isinstance(handle, BlockArgument):
        return {}
    prefix = f"ge.{side}_attr.{index}."
    return {
        key.removeprefix(prefix): attr_def(attr, kind_of(attr), handle)
        for key, attr in handle.attributes.items()
        if key.startswith(prefix)
    }


def attr_def(attr: Attribute, kind: AttrKind | None, op: Operation) -> Message:
    """An attribute value; raises CompileError for one that GE has no form for."""
    if kind is None and attr == ArrayAttr([]):
        return Message("AttrDef", {"list": Message("ListValue")})
    if kind is None and (written := _of_text(attr, op)) is not None:
        return written
    if kind is None:
        raise CompileError(f"attribute is {attr}, expected a value of GE's", subject=describe(op))
    if kind == "Tensor":
        return Message("AttrDef", {"t": tensor_def(attr, op)})
    value = decode(attr)
    if kind == "ListListInt":
        rows = [Message("ListInt", {"list_i": list(row)}) for row in value]
        return Message("AttrDef", {"list_list_int": Message("ListListInt", {"list_list_i": rows})})
    name = _FIELD_OF[kind.removeprefix("List")]
    if kind.startswith("List"):
        items = [_item(name, item) for item in value]
        return Message(
            "AttrDef",
            {"list": Message("ListValue", {name: items, "val_type": LIST_KINDS[name]})},
        )
    return Message("AttrDef", {name: _item(name, value)})


def _of_text(attr: Attribute, op: Operation) -> Message | None:
    """The value of an attribute that is the text of one; raises CompileError for wrong text."""
    if not isinstance(attr, DictionaryAttr) or list(attr.data) != [ATTR_DEF]:
        return None
    text = attr.data[ATTR_DEF]
    try:
        return parse("AttrDef", text.data if isinstance(text, StringAttr) else str(text))
    except GepbError as error:
        raise CompileError(f"attribute {ATTR_DEF}: {error}", subject=describe(op)) from None


_FIELD_OF = {"Int": "i", "Float": "f", "Bool": "b", "String": "s", "Type": "dt"}


def _item(name: str, value: Any) -> Any:
    if name == "s":
        return value.encode("utf-8")
    return int(value) if name == "dt" else value


def tensor_def(attr: Attribute, op: Operation) -> Message:
    """A constant with its values; raises CompileError for element types without bytes of theirs."""
    import numpy as np

    tensor = tensor_of_const(attr)
    if tensor is None or (isinstance(attr, WeightAttr) and not attr.data.attached):
        raise CompileError("constant has no data, expected its weights", subject=describe(op))
    array = decode(attr)
    if array.dtype.hasobject or tensor.dtype in _PACKED:
        raise CompileError(
            f"constant is {tensor.dtype.name}, expected elements of whole bytes",
            subject=describe(op),
        )
    flat = np.ascontiguousarray(hifloat8.as_stored(array, tensor.dtype))
    data = flat.astype(flat.dtype.newbyteorder("<"), copy=False).tobytes()
    return Message("TensorDef", {"desc": descriptor(tensor), "data": data})


_PACKED = frozenset(
    {
        DataType.DT_INT4,
        DataType.DT_INT2,
        DataType.DT_UINT1,
        DataType.DT_UINT2,
        DataType.DT_FLOAT6_E3M2,
        DataType.DT_FLOAT6_E2M3,
        DataType.DT_FLOAT4_E2M1,
    }
)
"""Element types of which GE packs several into a byte."""


# Descriptions


def descriptor(tensor: Tensor, attrs: dict[str, Message] | None = None) -> Message:
    """A description: element type, shape, format, and what stood before layout changes."""
    layout = tensor.layout
    origin = layout.origin_shape if layout.origin_shape is not None else tensor.shape
    dims = _dims(origin)
    known: dict[str, Any] = {
        "origin_format": {"s": format_text(layout.origin_format).encode()},
        "origin_format_for_int": {"i": int(layout.origin_format)},
        "format_for_int": {"i": int(layout.format)},
        "origin_shape_initialized": {"b": origin is not None},
    }
    if origin is not None:
        value = Message("ListValue", {"i": dims, "val_type": LIST_KINDS["i"]})
        known["origin_shape"] = {"list": value}
    entries = {key: Message("AttrDef", value) for key, value in known.items()}
    return Message(
        "TensorDescriptor",
        {
            "dtype": _NUMBER_OF.get(tensor.dtype.name, 0),
            "shape": Message("ShapeDef", {"dim": _dims(tensor.shape)}),
            "layout": format_text(layout.format),
            "attr": entries | (attrs or {}),
            "device_type": "NPU",
        },
    )


def format_text(format: Format) -> str:
    return format.name.removeprefix("FORMAT_")


def _dims(shape: tuple[int, ...] | None) -> list[int]:
    return [-2] if shape is None else [-1 if dim == DYNAMIC else dim for dim in shape]


_ABSENT = Tensor(DataType.DT_UNDEFINED, ())


def _port(handle: nodes.Handle, index: int, value: SSAValue | None) -> Message:
    """The description of an input port: one written to it, else the producer's."""
    assert isinstance(handle, Operation)
    own = handle.attributes.get(f"ge.input_desc.{index}")
    if own is not None:
        tensor = tensor_of(own)
    else:
        tensor = _ABSENT if value is None else _tensor(value, handle)
    return descriptor(tensor, _port_attrs(handle, "input", index))


def _tensor(value: SSAValue, handle: nodes.Handle) -> Tensor:
    try:
        return tensor_of(value.type)
    except ValueError as error:
        subject = describe(handle) if isinstance(handle, Operation) else "graph input"
        raise CompileError(str(error), subject=subject) from None
