"""Ops that GE does not have: nodes of a foreign model, kept as they are.

An importer that finds no meaning for an op keeps it under `ge.<domain>.<type>`: operands, results
and attributes stay, the op has no shape rule and no values, and an exporter of the model's own
format writes it as it was. Since nothing is known of it, it is never merged, moved or removed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, cast

from xdsl.dialects.builtin import IntegerAttr, StringAttr, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import traits_def
from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.op import NAME, GeOp
from ge_xdsl.dialects.ge.prototype import Io, Prototype, check_utf8, decode, encode

DOMAIN = "onnx.domain"
OP_TYPE = "onnx.op_type"
VERSION = "onnx.version"
"""The version of the operator set of the domain that the model asks for."""
MISSING = "onnx.missing_inputs"
"""Positions among the node's inputs that are left out."""
UNUSED = "onnx.unused_outputs"
"""Positions among the node's outputs that are left out; the op has a result for each."""
ATTRIBUTE = "attr."
"""What the keys of the node's own attributes start with."""

_BAD = re.compile(r"[^\w.]", re.ASCII)


class OpaqueOp(GeOp):
    """A node of a model in a foreign format whose meaning is not known.

    Subclasses have the names; `onnx.domain` and `onnx.op_type` tell the node's own.
    """

    traits = traits_def()

    def evaluate(self, *operands: Any, **_: Any) -> NoReturn:
        """Raises ValueError: there is nothing to compute."""
        raise ValueError(f"{self.name}: has no evaluation, {self.title()} is not known")

    @classmethod
    def has_evaluate(cls) -> bool:
        return False

    def title(self) -> str:
        """The node's own op type with its domain, for messages."""
        return f"ONNX op {self.text(DOMAIN) or 'ai.onnx'}::{self.text(OP_TYPE)}"

    def text(self, key: str) -> str:
        """A string attribute, '' when it is not there."""
        found = self.attributes.get(key)
        return found.data if isinstance(found, StringAttr) else ""

    def positions(self, key: str) -> Sequence[int]:
        """A list of positions, empty when it is not there."""
        found = self.attributes.get(key)
        return () if found is None else cast("Sequence[int]", decode(found))

    def version(self) -> int:
        """The version of the domain's operator set."""
        found = self.attributes.get(VERSION)
        value = None if found is None else decode(found)
        return value if isinstance(value, int) else 1

    def node_attributes(self) -> dict[str, Attribute]:
        """The node's own attributes by name."""
        return {
            key.removeprefix(ATTRIBUTE): value
            for key, value in self.attributes.items()
            if key.startswith(ATTRIBUTE)
        }

    def verify_(self) -> None:
        super().verify_()
        if not self.text(OP_TYPE):
            raise VerifyException(f"is no GE op and has no {OP_TYPE}, expected one of them")
        for key, count in ((MISSING, len(self.operands)), (UNUSED, len(self.results))):
            if key in self.attributes:
                found = self.positions(key)
                total = count + len(found) if key == MISSING else count
                if list(found) != sorted(set(found)) or any(not 0 <= i < total for i in found):
                    raise VerifyException(f"{key} is {list(found)}, expected positions in order")


def opaque_name(domain: str, op_type: str) -> str:
    """The GE type that stands for an op of a domain: `com.acme.Fancy`."""
    return _BAD.sub("_", f"{domain or 'ai.onnx'}.{op_type}")


def opaque_class(name: str) -> type[GeOp]:
    """The class of the opaque ops of a type that `opaque_name` gave."""
    proto = Prototype(name, (Io("x", "dynamic"),), (Io("y", "dynamic"),))
    return type(f"{name.rpartition('.')[2]}Op", (OpaqueOp,), {"name": f"ge.{name}",
                                                             "prototype": proto})  # fmt: skip


def opaque_op(
    domain: str,
    op_type: str,
    version: int,
    inputs: Sequence[SSAValue | None],
    result_types: Sequence[Attribute],
    unused: Sequence[int],
    node_name: str,
    attributes: Mapping[str, Attribute],
) -> GeOp:
    """A node as an opaque op; `attributes` are its own, in the IR's form."""
    from ge_xdsl.dialects.ge.registry import op_class

    kept: dict[str, Attribute] = {
        NAME: StringAttr(check_utf8(node_name)),
        DOMAIN: StringAttr(domain),
        OP_TYPE: StringAttr(op_type),
        VERSION: IntegerAttr(version, i64),
    }
    missing = [i for i, value in enumerate(inputs) if value is None]
    for key, places in ((MISSING, missing), (UNUSED, list(unused))):
        if places:
            kept[key] = encode("ListInt", places)
    kept.update((f"{ATTRIBUTE}{name}", value) for name, value in attributes.items())
    cls = op_class(opaque_name(domain, op_type))
    assert cls is not None
    return cls.create(
        operands=[value for value in inputs if value is not None],
        result_types=result_types,
        attributes=kept,
    )
