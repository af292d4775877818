"""`ge-opt --coverage`: what is known and covered, counted from the registries themselves."""

from __future__ import annotations

import ast
import json
from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import Any

from ge_xdsl.errors import UsageError

FORMATS = ("", "json")


def coverage_text(form: str) -> str:
    """The table, or with `json` the op types and names behind every count."""
    if form not in FORMATS:
        raise UsageError(f"--coverage={form}, expected --coverage or --coverage=json")
    found = coverage()
    if form == "json":
        return json.dumps(found, indent=1) + "\n"
    rows = [(name, len(items)) for name, items in found.items()]
    width = max(len(name) for name, _ in rows)
    return "".join(f"{name:{width}}  {count:5}\n" for name, count in rows)


def coverage() -> dict[str, Any]:
    """What is covered -> the sorted names, or names and more; imports every op family."""
    from ge_xdsl.dialects.ge.prototypes import known_ops
    from ge_xdsl.dialects.ge.registry import load_all
    from ge_xdsl.importers.onnx.table import CONVERTERS
    from ge_xdsl.lowering import lowered_op_types
    from ge_xdsl.rewrites import catalog
    from ge_xdsl.targets import target_names

    classes = {cls.prototype.op_type: cls for cls in load_all()}
    rules = {
        "fusion rules": catalog.fusion_rules(),
        "simplification rules": catalog.simplify_rules(),
        "decomposition rules": catalog.decompose_rules(),
    }
    return {
        "op types with a prototype": sorted({*known_ops(), *classes}),
        "op types with shape inference": sorted(n for n, c in classes.items() if c.has_infer()),
        "op types with values": sorted(n for n, c in classes.items() if c.has_evaluate()),
        "op types with a lowering to aicore": sorted(lowered_op_types()),
        "op types left to calls, with reason": left_to_calls(set(classes), lowered_op_types()),
        "op types that importers make": sorted(made_by_importers()),
        "ONNX ops imported": sorted(CONVERTERS),
        **{name: sorted(rule.name for rule in found) for name, found in rules.items()},
        "targets": list(target_names()),
    }


def left_to_calls(op_types: Collection[str], lowered: Collection[str]) -> dict[str, str]:
    """Op type without a lowering -> why it runs as a whole-tensor call."""
    from ge_xdsl.lowering.calls import CALLS

    return {name: CALLS[name] for name in sorted(CALLS) if name in op_types and name not in lowered}


@cache
def made_by_importers() -> dict[str, list[str]]:
    """Op type -> the importer files that name it (`onnx/conv`), read from their sources.

    A name in a table or a call counts; so does one that is only compared with, which is rare.
    """
    from ge_xdsl import importers
    from ge_xdsl.dialects.ge.prototypes import known_ops

    known = set(known_ops())
    root = Path(importers.__file__).parent
    found: dict[str, list[str]] = {}
    for path in sorted(root.glob("*/*.py")):
        if path.name == "table.py":
            continue  # the foreign ops' names, not GE's
        tree = ast.parse(path.read_text())
        words = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
        for word in sorted(word for word in words if isinstance(word, str) and word in known):
            found.setdefault(word, []).append(path.relative_to(root).with_suffix("").as_posix())
    return found
