"""Constraints of ops by the tables in `constraint_tables`: one refused graph per line.

A table holds `base OP... | operands | attributes`, the form that is accepted, and then
`cN OP... | change | message` with what constraint N refuses, or `gives OP... | change | types` with
what `infer` gives; see `op_cases`.
"""

import json
from pathlib import Path

import pytest
from op_cases import check_accepted, check_case, check_given

TABLES = Path(__file__).with_name("constraint_tables")


def lines():
    """Every line of every table: first word, op types, the two other parts."""
    for table in sorted(TABLES.glob("*.txt")):
        for line in table.read_text().splitlines():
            if not line or line.startswith("#"):
                continue
            head, first, second = (part.strip() for part in line.split("|", 2))
            word, *ops = head.split()
            yield word, ops, json.loads(first), second


BASES = {
    op: (operands, json.loads(attrs))
    for word, ops, operands, attrs in lines()
    if word == "base"
    for op in ops
}
CASES = [
    pytest.param(op, change, message, id=f"{op}_{word}_{'_'.join(change)}")
    for word, ops, change, message in lines()
    if word not in ("base", "gives")
    for op in ops
]
GIVEN = [
    pytest.param(op, change, types, id=f"{op}_{'_'.join(change)}")
    for word, ops, change, types in lines()
    if word == "gives"
    for op in ops
]
REFUSED = {(op, word) for word, ops, _, _ in lines() if word[0] == "c" for op in ops}


@pytest.mark.parametrize(("op_type", "change", "message"), CASES)
def test_constraint(op_type, change, message):
    check_case(BASES, op_type, change, message)


@pytest.mark.parametrize(("op_type", "change", "types"), GIVEN)
def test_inferred_types(op_type, change, types):
    check_given(BASES, op_type, change, types)


@pytest.mark.parametrize("op_type", BASES)
def test_base_is_accepted(op_type):
    check_accepted(BASES, op_type)
