"""IR -> `.mlir` text, and its weights -> a `.safetensors` file beside it."""

from __future__ import annotations

import contextlib
from io import StringIO
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Attribute

from ge_xdsl.dialects.ge.names import describe
from ge_xdsl.dialects.ge.store import (
    WEIGHTS,
    Item,
    stored_dtype,
    weight_uses,
    write_store,
)
from ge_xdsl.dialects.ge.text import GePrinter
from ge_xdsl.dialects.ge.types import Tensor
from ge_xdsl.dialects.ge.weights import Weight, WeightAttr
from ge_xdsl.errors import CompileError, Location
from ge_xdsl.exporters.files import is_replaceable, replacing, write_through


class WeightPrinter(GePrinter):
    """Prints weights by the key that they have in the store being written."""

    def __init__(
        self, stream: StringIO, keys: dict[int, str], generic: bool = False, origins: bool = True
    ) -> None:
        super().__init__(stream, print_generic_format=generic, origins=origins)
        self.keys = keys

    def print_attribute(self, attribute: Attribute) -> None:
        if isinstance(attribute, WeightAttr):
            key = self.keys.get(id(attribute.data), attribute.data.key)
            self.print_string("#ge.weight<")
            self.print_string_literal(key)
            self.print_string(">")
            return
        super().print_attribute(attribute)


def write_mlir(module: ModuleOp, path: str | Path, generic: bool = False) -> Path | None:
    """Write `path` and, if the module has weights, the `.safetensors` file beside it.

    Both files are written under temporary names and renamed when complete, so a failure leaves
    what was there, and a store that is mapped while it is replaced stays readable. Returns the
    weights' path. Raises CompileError.
    """
    path = Path(path)
    keys, items = stored_items(module)
    store = path.with_suffix(".safetensors") if path.name else path
    if items and store == path:
        raise CompileError("ending is '.safetensors', expected .mlir", location=Location(str(path)))
    text = _text(module, keys, store.name if items else "", generic)
    if not is_replaceable(path):
        if items:
            raise CompileError(
                "is no regular file, expected one beside which the weights can stand",
                location=Location(str(path)),
            )
        write_through(path, text.encode("utf-8"))
        return None
    with contextlib.ExitStack() as stack:
        stack.enter_context(replacing(path)).write(text.encode("utf-8"))
        if items:  # entered last, so its rename comes first: the text never names a stale store
            write_store(stack.enter_context(replacing(store)), items)
    return store if items else None


def mlir_text(module: ModuleOp, generic: bool = False, origins: bool = True) -> tuple[str, str]:
    """The module as text, for a stream, and a warning for the user or ''.

    Without `origins` the text leaves out what rewrites noted of the nodes they replaced.

    The weights stay where they are: when all come from one .safetensors file the text names it,
    else its weights have no data when it is read back, which the warning says.
    """
    weights = {id(attr.data): attr.data for _, attr in weight_uses(module)}
    sources = list(dict.fromkeys(weight.source for weight in weights.values()))
    if len(sources) == 1 and sources[0]:
        return _text(module, {}, Path(sources[0]).name, generic, origins), ""
    warning = ""
    if weights:
        count = f"{len(weights)} weight{'s' if len(weights) > 1 else ''}"
        warning = f"the data of {count} is not written, expected -o FILE.mlir"
    return _text(module, {}, "", generic, origins), warning


def stored_items(module: ModuleOp) -> tuple[dict[int, str], list[Item]]:
    """The key of each weight by identity, and what the store must hold, in order of first use.

    A key that two different weights claim gets the suffix _1, _2, ... in the later one; equal
    weights share an item.
    """
    keys: dict[int, str] = {}
    by_key: dict[str, Weight] = {}
    items: list[Item] = []
    for op, attr in weight_uses(module):
        weight = attr.data
        if id(weight) in keys:
            continue
        if not weight.attached or weight.tensor is None:
            raise CompileError(
                f"weight '{weight.key}' has no data, expected its .safetensors file",
                subject=describe(op),
            )
        key = _free_key(weight, by_key)
        keys[id(weight)] = key
        if key not in by_key:
            by_key[key] = weight
            items.append(_item(key, weight, weight.tensor))
    return keys, items


def _item(key: str, weight: Weight, tensor: Tensor) -> Item:
    stored_dtype(tensor, key)  # refuse before a file is touched
    return Item(key, tensor, weight.array())


def _free_key(weight: Weight, by_key: dict[str, Weight]) -> str:
    key, count = weight.key, 0
    while (other := by_key.get(key)) is not None and other != weight:
        count += 1
        key = f"{weight.key}_{count}"
    return key


def _text(
    module: ModuleOp, keys: dict[int, str], store: str, generic: bool, origins: bool = True
) -> str:
    """The module's text with `ge.weights = store`, or without it; the module stays as it is."""
    kept = dict(module.attributes)
    module.attributes.pop(WEIGHTS, None)
    if store:
        module.attributes[WEIGHTS] = StringAttr(store)
    stream = StringIO()
    try:
        WeightPrinter(stream, keys, generic, origins).print_op(module)
    finally:
        module.attributes.clear()
        module.attributes.update(kept)
    return stream.getvalue() + "\n"
