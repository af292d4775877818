#!/usr/bin/env python3
"""Check the prototype table: every line parses, is written canonically and stands in order.

tools/check_prototypes.py                  check ge_xdsl/dialects/ge/prototypes.txt
tools/check_prototypes.py --write ROWS     write it from rows of JSON, one op a row:
    {"op", "module", "inputs": [{"name", "kind", "dtypes"}], "outputs": [...],
     "attrs": [{"name", "type", "required", "default"}], "subgraphs": [{"name", "kind"}]}
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ge_xdsl.dialects.ge import prototypes
from ge_xdsl.dialects.ge.prototype import AttrSpec, Io, Prototype, Subgraph, encode
from ge_xdsl.dialects.ge.types import DataType

HEADER = (
    "# GE op prototypes; prototypes.py describes the lines, tools/check_prototypes.py them all."
)

_REAL = "DOUBLE FLOAT FLOAT16 INT16 INT32 INT64 INT8 UINT16 UINT32 UINT64 UINT8 BF16"
_NUMBER = f"{_REAL} COMPLEX128 COMPLEX64 COMPLEX32 QINT32 QINT8 QUINT8"
TYPE_SETS = {
    "BasicType": f"{_NUMBER} QINT16 QUINT16",
    "NumberType": _NUMBER,
    "RealNumberType": _REAL,
    "FloatingDataType": "DOUBLE FLOAT FLOAT16 BF16",
    "UnaryDataType": "COMPLEX128 COMPLEX64 DOUBLE FLOAT FLOAT16 BF16",
    "IndexNumberType": "INT32 INT64",
}
"""GE's named type sets (`TensorType::BasicType()`, ...)."""
SPELLINGS = {
    "BFLOAT16": "BF16",
    "FLOAT64": "DOUBLE",
    "FLOAT32": "FLOAT",
    "FP32": "FLOAT",
    "FP8_E5M2": "FLOAT8_E5M2",
    "FP8_E4M3FN": "FLOAT8_E4M3FN",
    "FLOAT8_E4M3": "FLOAT8_E4M3FN",
    "FLOAT8_E4M3_FN": "FLOAT8_E4M3FN",
    "FP4X2_E2M1": "FLOAT4_E2M1",
    "FP4X2_E1M2": "FLOAT4_E1M2",
    "RESOURSE": "RESOURCE",
}
"""Other spellings of element types that the rows have -> GE's own."""


def dtypes_of_row(words: list[str]) -> tuple[DataType, ...]:
    """The types that a row names, each once; () when one of them is computed (promotion)."""
    found: dict[DataType, None] = {}
    for word in words:
        stem = word.removeprefix("TensorType::").removesuffix("()")
        short = stem.upper().removeprefix("DT_").removeprefix("DA_").removeprefix("DI_")
        for name in TYPE_SETS.get(stem, SPELLINGS.get(short, short)).split():
            if f"DT_{name}" not in DataType.__members__:
                return ()
            found[DataType[f"DT_{name}"]] = None
    return tuple(found)


def prototype_of_row(row: dict[str, Any]) -> Prototype:
    """The prototype that a row of JSON describes."""

    def io(entry: dict[str, Any]) -> Io:
        return Io(entry["name"], entry["kind"], dtypes_of_row(entry["dtypes"]))

    def attr(entry: dict[str, Any]) -> AttrSpec:
        kind, required = entry["type"], entry["required"]
        default = None if required else default_of_row(kind, entry["default"])
        return AttrSpec(entry["name"], kind, required, default)

    return Prototype(
        row["op"],
        tuple(map(io, row["inputs"])),
        tuple(map(io, row["outputs"])),
        tuple(map(attr, row["attrs"])),
        tuple(Subgraph(entry["name"], entry["kind"]) for entry in row["subgraphs"]),
        row["module"].removeprefix("ge.es."),
    )


def default_of_row(kind: str, value: Any) -> Any:
    """The decoded default of an optional attribute; a tensor has none."""
    if kind == "Tensor":
        return None
    if kind == "Type":
        return DataType[value]
    if kind.startswith("List"):
        return tuple(default_of_row(kind.removeprefix("List"), item) for item in value)
    if kind == "Float" and isinstance(value, str):  # a quotient such as `1.f / 4`
        above, below = (float(part.strip().rstrip("f")) for part in value.split("/"))
        return above / below
    return value


def table_text(protos: Iterable[Prototype]) -> str:
    """The whole table for these prototypes; the most used type set is `=0`."""
    ordered = sorted(protos, key=lambda proto: proto.op_type)
    uses = Counter(
        io.dtypes for p in ordered for io in (*p.inputs, *p.outputs) if len(io.dtypes) > 1
    )
    ranked = sorted(uses, key=lambda dtypes: (-uses[dtypes], dtypes))
    aliases = {dtypes: f"={rank}" for rank, dtypes in enumerate(ranked)}
    sets = [
        " ".join([name, *map(prototypes.type_word, dtypes)]) for dtypes, name in aliases.items()
    ]
    ops = [prototypes.line_of(proto, aliases) for proto in ordered]
    return "\n".join([HEADER, *sorted(sets, key=lambda line: line.split(" ")[0]), *ops, ""])


def problems(text: str) -> list[str]:
    """What is wrong with the table, a line each; [] when nothing is."""
    lines = list(prototypes.op_lines(text))
    protos = [prototypes.parse_line(line) for line in lines]
    names = [proto.op_type for proto in protos]
    found = [f"{name}: defined twice" for name, count in Counter(names).items() if count > 1]
    for proto in protos:
        found += [f"{proto.op_type}: {problem}" for problem in prototype_problems(proto)]
    if not found and table_text(protos) != text:
        found.append(f"{prototypes.FILE.name}: is not in canonical form, expected sorted lines")
    return found


def prototype_problems(proto: Prototype) -> list[str]:
    """What is wrong with one prototype."""
    found: list[str] = []
    groups = {"input": proto.inputs, "output": proto.outputs, "attribute": proto.attrs}
    for what, entries in groups.items():
        names = [entry.name for entry in entries]
        found += [
            f"{what} '{n}' is declared twice" for n in sorted(set(names)) if names.count(n) > 1
        ]
        found += [f"{what} '{n}' is no identifier" for n in names if not n.isidentifier()]
    newer = [io.newer for io in proto.inputs]
    if newer != sorted(newer):
        found.append("an input of the oldest form follows a newer one, expected newer ones last")
    found += [
        f"{what} '{io.name}' is newer, expected it optional and an input"
        for what, ios in (("input", proto.inputs), ("output", proto.outputs))
        for io in ios
        if io.newer and (what == "output" or io.kind != "optional")
    ]
    for attr in proto.attrs:
        try:
            if not attr.required and attr.kind != "Tensor":
                encode(attr.kind, attr.default)
        except (ValueError, KeyError) as error:
            found.append(f"attribute '{attr.name}' {error}")
    return found


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="check or write the prototype table")
    parser.add_argument("--write", metavar="ROWS", type=Path, help="write it from rows of JSON")
    options = parser.parse_args(arguments)
    if options.write:
        rows = [json.loads(line) for line in options.write.read_text().splitlines() if line]
        text = table_text(map(prototype_of_row, rows))
        prototypes.FILE.write_text(text)
    text = prototypes.FILE.read_text()
    found = problems(text)
    for problem in found:
        print(f"error: {problem}", file=sys.stderr)
    if found:
        return 1
    protos = [prototypes.parse_line(line) for line in prototypes.op_lines(text)]
    ios = sum(len(p.inputs) + len(p.outputs) for p in protos)
    attrs = sum(len(p.attrs) for p in protos)
    print(f"{len(protos)} ops, {ios} operands and results, {attrs} attributes, {len(text)} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
