"""`ge-opt --coverage`: what is known and covered, counted from the registries themselves."""

from __future__ import annotations

import json
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
    """What is covered -> the sorted names; imports every op family."""
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
        "ONNX ops imported": sorted(CONVERTERS),
        **{name: sorted(rule.name for rule in found) for name, found in rules.items()},
        "targets": list(target_names()),
    }
