"""Every numbered constraint of every typed op has a graph that is refused for it, by its name."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest
from op_constraints import snake, stated

from ge_xdsl.dialects.ge.registry import typed_ops

TESTS = Path(__file__).resolve().parents[1]
FILES = [
    *sorted(TESTS.glob("unit/test_constraint*.py")),
    *sorted(TESTS.glob("unit/test_op_constraints_*.py")),
    *sorted(TESTS.glob("numeric/test_control_*.py")),
]
LISTS = ("CASES", "MANY", "BAD", "REFUSED")
"""How those files call what they try: names such as `tile_c2` or `tile_c2_negative`."""


def loaded(path):
    """The module of a test file."""
    if path.stem in sys.modules:
        return sys.modules[path.stem]
    spec = importlib.util.spec_from_file_location(f"{path.stem}_again", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def tried():
    """`op_c2` for each constraint that some file tries."""
    found = set()
    for path in FILES:
        module = loaded(path)
        names = [n for key in LISTS for n in getattr(module, key, ()) if isinstance(n, str)]
        found |= {m.group() for name in names if (m := re.match(r".*?_c\d+(?=_|$)", name))}
        if path.stem == "test_constraint_tables":
            found |= {f"{snake(op)}_{word}" for op, word in module.REFUSED}
    return found


TRIED = tried()


@pytest.mark.parametrize("op_type", typed_ops())
def test_each_constraint_is_tried(op_type):
    assert [n for n in stated(op_type) if f"{snake(op_type)}_c{n}" not in TRIED] == []


def test_the_walk_sees_the_docstrings_of_bases():
    assert stated("AddV2") == [1, 2]
    assert stated("LogicalAnd") == [1, 2, 3]
    assert len(TRIED) > 1500
