"""Every rule of the aicore dialect is broken on purpose, every op printed, the table current."""

from pathlib import Path

import aicore_rules
import pytest

from ge_xdsl.dialects.aicore import AICORE

DOC = Path(__file__).parents[2] / "docs" / "aicore.md"
TEXTS = {path.name: path.read_text() for path in aicore_rules.FILES.glob("*.mlir")}


@pytest.mark.parametrize("rule", aicore_rules.rules(), ids=" ".join)
def test_every_rule_is_broken_by_a_test(rule):
    assert aicore_rules.tests().get(rule), f"no '// RULE {' '.join(rule)}'"


def test_every_label_names_a_rule():
    assert set(aicore_rules.tests()) <= set(aicore_rules.rules())


@pytest.mark.parametrize("op", [op.name for op in AICORE.operations])
def test_every_op_is_read_and_printed(op):
    printed = [text for text in TEXTS.values() if "RUN: ge-opt %s | filecheck %s" in text]
    assert any(f"{op} " in line for text in printed for line in text.splitlines() if "//" in line)


def test_the_document_has_the_tables():
    text = DOC.read_text()
    assert aicore_rules.ops_table() in text
    assert aicore_rules.table() in text
