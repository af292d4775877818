"""Documents name files that exist."""

import re
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
FOLDERS = "ge_xdsl|tests|examples|tools|docs|benchmarks"
DOCUMENTS = sorted([*PROJECT.glob("*.md"), *PROJECT.glob("docs/*.md")])


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda p: p.name)
def test_links_and_paths(document):
    text = document.read_text()
    missing = [
        link
        for link in re.findall(r"\]\(([^)#:]+)\)", text)
        if not (document.parent / link).exists()
    ]
    missing += [
        path
        for path in re.findall(rf"`((?:{FOLDERS})/[\w/.-]+)`", text)
        if not (PROJECT / path).exists()
    ]
    assert not missing
