"""Type stubs of the `ge` package, so that pyright checks pass files.

    python -m ge_xdsl.compat.stubs [FOLDER]

writes them into FOLDER, by default `typings`, which is where pyright looks for stubs without being
told. Every op has its function with its own parameters; the hooks of pass classes are declared
loosely, because a pass chooses their parameters.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import cast

from ge_xdsl.compat.ge.es.functions import OpCall
from ge_xdsl.compat.ge.es.modules import TABLE_MODULES, OpModule
from ge_xdsl.dialects.ge.prototype import AttrSpec, Io
from ge_xdsl.dialects.ge.registry import op_class

ROOT = Path(__file__).with_name("ge")
PACKAGE = "ge_xdsl.compat.ge"
FOLDER = "typings"

_HEADER = '"""Written by `python -m ge_xdsl.compat.stubs`."""\n\n'
_OPS_HEADER = (
    _HEADER
    + """from collections.abc import Sequence

from ge_xdsl.compat.ge.es.graph_builder import GraphBuilder as GraphBuilder
from ge_xdsl.compat.ge.es.tensor_holder import TensorHolder as TensorHolder
from ge_xdsl.compat.ge.es.tensor_like import TensorLike as _Like
from ge_xdsl.compat.ge.graph.graph import Graph as Graph
from ge_xdsl.compat.ge.graph.tensor import Tensor as Tensor
from ge_xdsl.compat.ge.graph.types import DataType as DataType
from ge_xdsl.compat.ge.graph.types import Format as Format

"""
)
_BASE = (
    _HEADER
    + """from typing import Any, ClassVar

from ge_xdsl.compat.ge.passes.base import FusionBasePass as FusionBasePass
from ge_xdsl.compat.ge.passes.base import PassStage as PassStage
from ge_xdsl.compat.ge.passes.base import PatternOrGraph as PatternOrGraph
from ge_xdsl.compat.ge.passes.base import StatusLike as StatusLike
from ge_xdsl.compat.ge.passes.values import PatternMatcherConfig

class PatternFusionPass(FusionBasePass):
    patterns: Any
    meet_requirements: Any
    replacement: Any
    def __init__(self, matcher_config: PatternMatcherConfig | None = None) -> None: ...
    @property
    def matcher_config(self) -> PatternMatcherConfig | None: ...

class DecomposePass(FusionBasePass):
    op_types: ClassVar[list[str] | None]
    meet_requirements: Any
    replacement: Any
"""
)
_ATTRS = {
    "Int": "int",
    "Float": "float",
    "Bool": "bool",
    "String": "str",
    "Type": "DataType",
    "Tensor": "Tensor",
    "ListInt": "Sequence[int]",
    "ListFloat": "Sequence[float]",
    "ListBool": "Sequence[bool]",
    "ListString": "Sequence[str]",
    "ListType": "Sequence[DataType]",
    "ListListInt": "Sequence[Sequence[int]]",
}


def write_stubs(folder: Path) -> list[Path]:
    """Write every stub below `folder`; the files, in order."""
    written: list[Path] = []
    for name, text in stub_files():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        written.append(path)
    return written


def stub_files() -> Iterator[tuple[str, str]]:
    """Path below the folder and text of each stub."""
    for path in sorted(ROOT.rglob("*.py")):
        relative = path.relative_to(ROOT)
        if relative.name.startswith("_") and relative.name != "__init__.py":
            continue
        yield str(Path("ge") / relative.with_suffix(".pyi")), _module_text(relative)
    for short in TABLE_MODULES:
        yield f"ge/es/{short}.pyi", _all_ops() if short == "all" else _some_ops(short)
        yield f"es_{short}.pyi", f"{_HEADER}from ge.es.{short} import *\n"


def _module_text(relative: Path) -> str:
    """A stub that hands on the public names of a module of the compat package."""
    parts = [*relative.with_suffix("").parts]
    if parts[-1] == "__init__":
        parts.pop()
    if parts == ["passes", "base"]:
        return _BASE
    lines = [
        f"from {_home(parts, name)} import {name} as {name}" for name in _public(ROOT / relative)
    ]
    if parts == ["es"]:
        lines = [line for line in lines if line.split()[-1] not in TABLE_MODULES]
        lines += [f"from ge.es import {name} as {name}" for name in TABLE_MODULES]
    return _HEADER + "".join(f"{line}\n" for line in lines)


def _home(parts: list[str], name: str) -> str:
    """The module that a stub takes a name from."""
    if parts == ["passes"] and name in ("PatternFusionPass", "DecomposePass"):
        return "ge.passes.base"
    return ".".join([PACKAGE, *parts])


def _public(path: Path) -> list[str]:
    """The names that a module hands out: its `__all__`, else what it defines itself."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found: list[str] = []
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            found.append(node.name)
            continue
        targets = node.targets if isinstance(node, ast.Assign) else []
        targets = [node.target] if isinstance(node, ast.AnnAssign) else targets
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        if "__all__" in names and isinstance(node, ast.Assign):
            return cast("list[str]", ast.literal_eval(node.value))
        found += names
    return [name for name in found if not name.startswith("_")]


# Ops


def _ops_of(short: str) -> list[str]:
    module = import_module(f"{PACKAGE}.es").op_modules[short]
    assert isinstance(module, OpModule)
    return module.op_names()


def _all_ops() -> str:
    return _OPS_HEADER + "".join(map(_op_text, _ops_of("all")))


def _some_ops(short: str) -> str:
    """The stub of a module whose ops `ge.es.all` has too."""
    lines: list[str] = []
    for op_type in _ops_of(short):
        names = [op_type, f"{op_type}Output"] if _has_struct(op_type) else [op_type]
        lines += [f"from ge.es.all import {name} as {name}" for name in names]
    shared = "DataType Format Graph GraphBuilder Tensor TensorHolder"
    lines += [f"from ge.es.all import {name} as {name}" for name in shared.split()]
    return _HEADER + "".join(f"{line}\n" for line in lines)


def _has_struct(op_type: str) -> bool:
    cls = op_class(op_type)
    return cls is not None and len(cls.prototype.outputs) > 1


def _op_text(op_type: str) -> str:
    cls = op_class(op_type)
    assert cls is not None
    call = OpCall(cls)
    outputs = cls.prototype.outputs
    text, returns = "", "TensorHolder"
    if len(outputs) > 1:
        returns = f"{op_type}Output"
        fields = zip(call.output_names(), outputs, strict=True)
        body = "".join(f"    {name}: {_output(io)}\n" for name, io in fields)
        text = f"class {returns}:\n{body}\n"
    elif outputs:
        returns = _output(outputs[0])
    return f"{text}def {op_type}({', '.join(_parameters(call))}) -> {returns}: ...\n\n"


def _output(io: Io) -> str:
    return "list[TensorHolder]" if io.kind == "dynamic" else "TensorHolder"


def _parameters(call: OpCall) -> Iterator[str]:
    proto = call.cls.prototype
    defaults = call.signature.parameters
    types = [_input(io, call.takes_numbers) for io in proto.inputs]
    types += ["GraphBuilder | None" if proto.inputs else "GraphBuilder"] if call.builder else []
    types += ["int"] * len(call.counts)
    types += ["Graph" if g.kind == "static" else "list[Graph]" for g in proto.subgraphs]
    names = [*call.inputs, *([call.builder] if call.builder else []), *call.counts, *call.graphs]
    for name, kind in zip(names, types, strict=True):
        has_default = defaults[name].default is not defaults[name].empty
        yield f"{name}: {kind}{' = ...' if has_default else ''}"
    if call.attrs:
        yield "*"
    yield from (f"{name}: {_attr(spec)}" for name, spec in call.attrs.items())


def _input(io: Io, takes_numbers: bool) -> str:
    one = "_Like" if takes_numbers else "TensorHolder"
    if io.kind == "dynamic":
        return f"Sequence[{one}]"
    return f"{one} | None" if io.kind == "optional" else one


def _attr(spec: AttrSpec) -> str:
    return _ATTRS[spec.kind] + ("" if spec.required else " = ...")


def main() -> int:
    """Write the stubs into the folder that the command line names."""
    if len(sys.argv) > 2 or sys.argv[1:2] in (["-h"], ["--help"]):
        print("usage: python -m ge_xdsl.compat.stubs [FOLDER]")
        return 0 if len(sys.argv) == 2 else 2
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else FOLDER)
    try:
        written = write_stubs(folder)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        print(f"{folder}: error: cannot be written, {reason}", file=sys.stderr)
        return 1
    print(f"{len(written)} stubs written to {folder}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
