"""`.mlir` -> IR: the text, and the weights from the `.safetensors` file beside it."""

from __future__ import annotations

from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation

from ge_xdsl.dialects.ge.graph import verify_signatures
from ge_xdsl.dialects.ge.names import describe
from ge_xdsl.dialects.ge.op import CONSTANT_TYPES, GeOp
from ge_xdsl.dialects.ge.store import WEIGHTS, Store, inside, open_regular, weight_uses
from ge_xdsl.dialects.ge.text import parse_module
from ge_xdsl.dialects.ge.types import Tensor, tensor_of
from ge_xdsl.dialects.ge.weights import WeightAttr
from ge_xdsl.errors import CompileError, Location


def load_mlir(path: str | Path, ctx: Context | None = None) -> ModuleOp:
    """The module of an `.mlir` file with its weights mapped from the file it names.

    Raises CompileError for unreadable, ill-formed or inconsistent files.
    """
    path = Path(path)
    with open_regular(path) as file:
        data = file.read()
    return mlir_module(decoded(data, str(path)), str(path), path.parent, ctx)


def decoded(data: bytes, file: str) -> str:
    """A text file's contents; raises CompileError when they are not UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        raise CompileError(
            f"byte is 0x{data[error.start]:02x}, expected UTF-8 text",
            location=Location(file, line, column),
        ) from None


def mlir_module(text: str, file: str, folder: Path, ctx: Context | None = None) -> ModuleOp:
    """The module of a text; `folder` holds its weights, `file` is how errors name it."""
    module = parse_module(text, file, ctx)
    try:
        verify_signatures(module)
    except CompileError as error:
        raise error.with_location(Location(file)) from None
    attach_weights(module, file, folder)
    return module


def attach_weights(module: ModuleOp, file: str, folder: Path) -> None:
    """Give every weight that the module names its buffer in the store file."""
    name = module.attributes.get(WEIGHTS)
    store: Store | None = None
    for op, attr in weight_uses(module):
        if attr.data.attached:
            continue
        place = op.source if isinstance(op, GeOp) and op.source else Location(file)
        if name is None:
            raise CompileError(
                f"weight '{attr.data.key}' has no data, expected the module attribute {WEIGHTS}",
                subject=describe(op),
                location=place,
            )
        store = store or _open_store(name, file, folder)
        try:
            tensor = _declared(op, attr)
            attr.data.attach(store.array(attr.data.key, tensor), tensor, str(store.path))
        except CompileError as error:
            raise _at(error, op, place) from None


def _declared(op: Operation, attr: WeightAttr) -> Tensor:
    """The type that a weight must have: that of the constant it is the value of."""
    if isinstance(op, GeOp) and op.op_type in CONSTANT_TYPES and len(op.results) == 1:
        try:
            return tensor_of(op.results[0].type)
        except ValueError as error:
            raise CompileError(str(error), subject=f"weight '{attr.data.key}'") from None
    raise CompileError(
        "is not the value of a Const, expected one", subject=f"weight '{attr.data.key}'"
    )


def _at(error: CompileError, op: Operation, place: Location) -> CompileError:
    """A store's error at the op that names the weight, with the store as a note."""
    where = f"{error.location}: " if error.location else ""
    return CompileError(
        f"{error.subject} {error.message}" if error.subject else error.message,
        subject=describe(op),
        location=place,
        notes=[f"{where}the weights are here"] if where else [],
    )


def _open_store(name: object, file: str, folder: Path) -> Store:
    if not isinstance(name, StringAttr):
        raise CompileError(f"{WEIGHTS} is {name}, expected a string", location=Location(file))
    if name.data in ("", ".", "..") or Path(name.data).name != name.data:
        raise CompileError(
            f"{WEIGHTS} is '{name.data}', expected a file in the same folder",
            location=Location(file),
        )
    return Store(inside(folder, name.data, WEIGHTS, file))
