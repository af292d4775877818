"""The table of mutations fits the code: each text that one replaces stands once in its file."""

import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TABLE = tomllib.loads((ROOT / "tests/mutation/mutations.toml").read_text())["mutation"]


@pytest.mark.parametrize("row", TABLE, ids=[row["name"] for row in TABLE])
def test_the_text_stands_once(row):
    text = (ROOT / "ge_xdsl" / row["file"]).read_text()
    assert text.count(row["old"]) == 1
    assert row["old"] != row["new"]
