"""Every `raise` has a test on its text: some words of it in a row stand in a test."""

import ast
import re
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
PACKAGE, TESTS = PROJECT / "ge_xdsl", PROJECT / "tests"

_WORD = re.compile(r"\w+", re.ASCII)


def words(text):
    return _WORD.findall(text)


RUN = 5
"""Words in a row that a test must have in common with a message, or all of a shorter part."""
PLAIN = set(
    words(
        "a an and are as at be by expected for has have in is it its least more most no none not "
        "of on one or other some than that the them there this to with"
    )
)
"""Words that tell no message from another: a row of these alone is not looked for."""
APART = {"arch", "mutation"}
"""Folders of tests that quote the package's own lines."""

UNTESTED = {
    (
        "interpreters/batched.py",
        "an index that is no loop s",
    ): "only a look ahead meets such an index, and catches it",
}
"""(file, longest part of a message) that no test has, and why."""

_JOINED = re.compile(r"""["']\s*\n\s*[fr]{0,2}["']""")
_CHECKED = re.compile(r"// *(?:[A-Z0-9_-]+:|expected-).*")


def checked_words():
    """The words of all tests, with a space around each; of lit files what they check."""
    parts = []
    for path in sorted(TESTS.rglob("*")):
        if path.relative_to(TESTS).parts[0] in APART or not path.is_file():
            continue
        if path.suffix in (".py", ".txt"):
            parts.append(_JOINED.sub("", path.read_text().replace("\\n", " ").replace("\\", "")))
        elif path.suffix == ".mlir":
            parts += _CHECKED.findall(path.read_text())
    return f" {' '.join(words(chr(10).join(parts)))} "


def raises(node):
    """The raise statements below a node; expressions are not searched."""
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        for child in getattr(node, name, ()):
            if isinstance(child, ast.Raise):
                yield child
            else:
                yield from raises(child)


def messages(source):
    """(line, parts) of each raise with text of its own; a part is what no value interrupts."""
    for node in raises(ast.parse(source)):
        found = [
            words(part.value)
            for part in ast.walk(node.exc or node)
            if isinstance(part, ast.Constant) and isinstance(part.value, str)
        ]
        parts = sorted((part for part in found if len(part) > 1), key=len, reverse=True)
        if parts:
            yield node.lineno, parts


def rows(parts):
    """The rows of words by which a message is known, as long as there are some up to RUN."""
    every = []
    for length in range(min(RUN, len(parts[0])), 1, -1):
        every = [part[i : i + length] for part in parts for i in range(len(part) - length + 1)]
        telling = [row for row in every if not PLAIN.issuperset(row)]
        if telling:
            return telling
    return every


def is_tested(parts, text):
    """Whether a row of words of a message stands in the text of the tests."""
    return any(f" {' '.join(row)} " in text for row in rows(parts))


@pytest.fixture(scope="module")
def untested():
    """(file, longest part) -> line, of the messages that no test has."""
    text, found = checked_words(), {}
    for path in sorted(PACKAGE.rglob("*.py")):
        source = path.read_text()
        if "raise " in source:
            file = str(path.relative_to(PACKAGE))
            for line, parts in messages(source):
                if not is_tested(parts, text):
                    found[file, " ".join(parts[0])] = line
    return found


def test_every_message_has_a_test(untested):
    missing = [
        f"{key[0]}:{line}: {key[1]}" for key, line in untested.items() if key not in UNTESTED
    ]
    assert not missing


def test_the_exceptions_are_still_some(untested):
    assert set(UNTESTED) <= set(untested)


SAMPLES = [
    ('raise ValueError("is no one")', False),
    ('raise ValueError("expected one of them")', True),
    ('raise ValueError(f"shape is {s}, expected dimensions in whole steps")', True),
    ('raise ValueError(f"shape is {s}, expected one of them")', False),
    ('raise self.error("is outside " f"of {x}")', False),
    ("raise ValueError(text) from None", True),
    ('raise ValueError("x has no rank")', True),
]


@pytest.mark.parametrize(("source", "is_found"), SAMPLES)
def test_samples(source, is_found):
    text = " match expected dimensions in whole steps x has no rank expected one of them "
    assert all(is_tested(parts, text) for _, parts in messages(source)) == is_found
