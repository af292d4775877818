"""The rules of the aicore dialect, from its docstrings, and the tests that break each of them.

    python tests/unit/aicore_rules.py

fills the tables of `docs/aicore.md`. A rule is a letter and a number in the docstring of a class
or function; a test of one is a part of a file in `tests/filecheck/dialects/aicore` that begins
with `// RULE name rule`.
"""

import importlib
import inspect
import pkgutil
import re
from pathlib import Path

from ge_xdsl.dialects import aicore
from ge_xdsl.dialects.aicore.op import Instruction

ROOT = Path(__file__).parents[2]
FILES = ROOT / "tests" / "filecheck" / "dialects" / "aicore"
RULE = re.compile(r"\b([CGIKOX][0-9]+): (.*?)(?=\.(?: |$)| [CGIKOX][0-9]+: )", re.S)
LABEL = re.compile(r"^// RULE (\S+) (.*)$", re.M)


def rules() -> dict[tuple[str, str], str]:
    """(class or function, rule) -> its text, in the order of the modules."""
    found: dict[tuple[str, str], str] = {}
    for module in sorted(pkgutil.iter_modules(aicore.__path__), key=lambda m: m.name):
        code = importlib.import_module(f"{aicore.__name__}.{module.name}")
        for name, item in vars(code).items():
            if getattr(item, "__module__", "") == code.__name__ and callable(item):
                text = " ".join((inspect.getdoc(item) or "").split())
                label = getattr(item, "name", name) if inspect.isclass(item) else name
                label = label if isinstance(label, str) else name
                for rule, words in RULE.findall(text):
                    found[label, rule] = words
    return found


def tests() -> dict[tuple[str, str], list[str]]:
    """(class or function, rule) -> the files that break it."""
    found: dict[tuple[str, str], list[str]] = {}
    for path in sorted(FILES.glob("*.mlir")):
        for name, numbers in LABEL.findall(path.read_text()):
            for rule in numbers.split():
                found.setdefault((name, rule), []).append(path.name)
    return found


def table() -> str:
    """Markdown: rule, what it asks for, where it is broken on purpose."""
    broken = tests()
    lines = ["| op or check | rule | what it asks for | broken in |", "|---|---|---|---|"]
    for (name, rule), text in rules().items():
        files = ", ".join(dict.fromkeys(broken.get((name, rule), [])))
        lines.append(f"| `{name}` | {rule} | {text.replace('|', chr(92) + '|')} | {files} |")
    return "\n".join(lines)


def ops_table() -> str:
    """Markdown: every op, the pipe that runs it, the memories of its tiles, its options."""
    lines = ["| op | pipe | tiles | options |", "|---|---|---|---|"]
    for op in aicore.AICORE.operations:
        if not issubclass(op, Instruction):
            lines.append(f"| `{op.name}` |  |  |  |")
            continue
        tiles = ", ".join(f"{name} in {' or '.join(op.spaces[name])}" for name in op.tiles)
        options = ", ".join(f"{name} = {_words(spec)}" for name, spec in op.options.items())
        only = f", arch {' '.join(op.arches)} only" if op.arches else ""
        lines.append(f"| `{op.name}` | {op.pipe}{only} | {tiles} | {options} |")
    return "\n".join(lines)


def _words(spec: object) -> str:
    """What an option takes."""
    names = {bool: "flag", float: "number", list: "integers"}
    return "/".join(spec) if isinstance(spec, tuple) else names[spec]


def fill() -> None:
    """Write the tables into the document."""
    path = ROOT / "docs" / "aicore.md"
    text = path.read_text()
    for start, made in (("| op | pipe |", ops_table()), ("| op or check |", table())):
        old = re.search(rf"^{re.escape(start)}.*?(?=\n\n|\Z)", text, re.M | re.S)
        assert old is not None, start
        text = text.replace(old.group(), made)
    path.write_text(text.rstrip() + "\n")


if __name__ == "__main__":
    fill()
