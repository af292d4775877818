"""The fast paths of the parser and the stock parser of xDSL read the whole corpus alike."""

from pathlib import Path

import pytest
from xdsl.parser import Parser

from ge_xdsl.dialects.ge.fasttext import LineParser
from ge_xdsl.dialects.ge.text import GeContext, GeParser, module_text, parse_module
from ge_xdsl.errors import CompileError

USED_BEFORE = "aicore.kernel C6"
"""The rule whose bad examples use values before their definition: xDSL's comparison of structures
takes no such module for equal to any, their text alone is compared."""
FOLDER = Path(__file__).parents[1] / "filecheck"
FILES = sorted(path for path in FOLDER.rglob("*.mlir") if "Output" not in path.parts)


def parts():
    """The texts of the corpus that parse, with the file each is from."""
    for path in FILES:
        for text in path.read_text(encoding="utf-8").split("// -----"):
            try:
                module = parse_module(text)
            except CompileError:
                continue
            yield path, text, module


@pytest.fixture(scope="module")
def corpus():
    return list(parts())


def test_the_corpus_is_large(corpus):
    assert len(corpus) > 120
    assert len({path for path, _, _ in corpus}) > 60


def test_the_fast_path_reads_what_the_general_parser_reads(corpus, monkeypatch):
    """The same module and the same generic text without the one-line regular expression, the
    memoised types and the dense literals read at once."""
    monkeypatch.setattr(LineParser, "parse", lambda self, text, start: None)
    monkeypatch.setattr(GeParser, "parse_optional_type", Parser.parse_optional_type)
    monkeypatch.setattr(GeParser, "_parse_builtin_dense_attr", Parser._parse_builtin_dense_attr)
    for path, text, module in corpus:
        slow = parse_module(text)
        if f"RULE {USED_BEFORE}" not in text:
            assert slow.is_structurally_equivalent(module), path
        assert module_text(slow, generic=True) == module_text(module, generic=True), path


def test_the_stock_parser_reads_the_generic_form(corpus):
    for path, _, module in corpus:
        generic = module_text(module, generic=True)
        stock = Parser(GeContext(), generic).parse_module()
        assert module_text(stock, generic=True) == generic, path
