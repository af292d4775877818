"""The table of upstream's tests is whole, and what it names exists."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest
from engine_behaviours import BEHAVIOURS

TESTS = Path(__file__).parents[1]


@cache
def source_of(file: str) -> tuple[str, frozenset[str]]:
    """The text of a test file, and the names of its tests."""
    text = (TESTS / file).read_text()
    names = {item.name for item in ast.parse(text).body if isinstance(item, ast.FunctionDef)}
    return text, frozenset(names)


def test_all_207_are_there() -> None:
    assert sum(count for count, _ in BEHAVIOURS.values()) == 207
    assert {group: len(rows) for group, (_, rows) in BEHAVIOURS.items()} == {
        group: count for group, (count, _) in BEHAVIOURS.items()
    }


@pytest.mark.parametrize("group", BEHAVIOURS)
def test_places_exist(group: str) -> None:
    for behaviour, place in BEHAVIOURS[group][1].items():
        if place.startswith("- "):
            assert len(place) > 10, behaviour
            continue
        file, _, test = place.partition("::")
        name, _, row = test.rstrip("]").partition("[")
        text, names = source_of(file)
        assert name in names, place
        # rows of a table that is written out; those that a comprehension makes end in two words
        known = f'"{row}": (' in text or f'"{row}": ' in text or "const value, " in row
        assert not row or known, place


def test_rows_that_a_comprehension_makes_exist() -> None:
    from test_engine_conformance import ACCEPTS, REFUSES

    for _, rows in BEHAVIOURS.values():
        for place in rows.values():
            row = place.rstrip("]").partition("[")[2]
            if row.startswith("const value, "):
                assert row in ACCEPTS or row in REFUSES, place
