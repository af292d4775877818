"""The import rule: which package may import which, and what may be imported late."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "ge_xdsl"

LAYERS = {
    "errors": set(),
    "targets": {"errors"},
    "dialects": {"errors", "targets"},
    "pattern": {"errors", "targets", "dialects"},
    "rewrites": {"errors", "targets", "dialects", "pattern"},
    "lowering": {"errors", "targets", "dialects", "pattern", "interpreters"},
    "interpreters": {"errors", "targets", "dialects"},
    "importers": {"errors", "dialects"},
    "exporters": {"errors", "dialects"},
    "passes": {
        "errors",
        "targets",
        "dialects",
        "pattern",
        "rewrites",
        "lowering",
        "interpreters",
        "importers",
        "exporters",
    },
}
LAYERS["patterns"] = {"pattern"}
LAYERS["compat"] = {*LAYERS["passes"], "passes"}
LAYERS["cli"] = {*LAYERS["compat"], "compat", "door"}
LAYERS["universe"] = {*LAYERS["cli"], "cli"}
LAYERS["kernels"] = {"errors", "targets", "dialects", "lowering", "interpreters"}
LAYERS["door"] = {*LAYERS["compat"], "compat", "universe", "pytest_plugin", "kernels"}
LAYERS["torch_backend"] = {*LAYERS["compat"], "door"}
LAYERS["pytest_plugin"] = {"door", "passes", "compat"}
"""Package -> the packages of the project that it may import. `door` is `ge_xdsl/__init__.py`."""

LATE = {"numpy", "onnx", "torch", "matplotlib", "ml_dtypes", "safetensors", "onnxruntime"}
"""Heavy packages: imported inside functions only."""

FILES = sorted(ROOT.rglob("*.py"))


def layer_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return "door" if parts == ("__init__",) else parts[0]


def imports(path: Path):
    """(module, line, is_late) of each import; an import under TYPE_CHECKING counts as late."""
    tree = ast.parse(path.read_text())
    late: set[ast.AST] = set()
    for node in ast.walk(tree):
        typing_only = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        if typing_only or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            late.update(ast.walk(node))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno, node in late
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            yield node.module or "", node.lineno, node in late


def test_the_table_names_every_package():
    found = {layer_of(path) for path in FILES}
    assert found <= set(LAYERS), found - set(LAYERS)


@pytest.mark.parametrize("layer", sorted(LAYERS))
def test_imports_point_one_way(layer):
    allowed = LAYERS[layer] | {layer}
    wrong = []
    for path in FILES:
        if layer_of(path) != layer:
            continue
        for module, line, _ in imports(path):
            if module.split(".")[0] != "ge_xdsl":
                continue
            parts = module.split(".")
            target = parts[1] if len(parts) > 1 else "door"
            if target not in allowed:
                wrong.append(f"{path.relative_to(ROOT)}:{line} imports {module}")
    assert not wrong, "\n".join(wrong)


def test_heavy_packages_are_imported_late():
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {module}"
        for path in FILES
        for module, line, late in imports(path)
        if module.split(".")[0] in LATE and not late
    ]
    assert not wrong, "\n".join(wrong)
