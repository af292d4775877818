"""The onnx package's node tests pass, except those that `onnx_node_gaps.txt` lists with a reason.

A listed test that passes and an unlisted one that does not are both failures.
"""

import onnx
import pytest
from onnx_node_runs import cases, failure, gaps

from ge_xdsl.importers.onnx.table import CONVERTERS, FAMILIES

OTHERS = "no converter"

UNTESTED = {"contrib": "test_import_onnx_contrib"}
"""Start of the names of families that no node test is about, and what tests them."""

pytestmark = [
    pytest.mark.skipif(
        not onnx.__version__.startswith("1.23."),
        reason=f"onnx is {onnx.__version__}, the list of gaps is for the tests of onnx 1.23",
    ),
    pytest.mark.filterwarnings("ignore:.* is not known in domain"),
]


@pytest.mark.parametrize("family", [*FAMILIES, OTHERS])
def test_family(family):
    known = gaps()
    ours = [case for case in cases() if CONVERTERS.get(case.op, OTHERS) == family]
    assert bool(ours) != (family.partition("_")[0] in UNTESTED), len(ours)
    wrong = []
    for case in ours:
        reason = failure(case)
        if reason and case.name not in known:
            wrong.append(f"{case.name}: {reason}")
        elif not reason and case.name in known:
            wrong.append(f"{case.name}: passes but is listed: {known[case.name]}")
    assert not wrong, "\n" + "\n".join(wrong)


def test_every_gap_is_a_test_with_a_reason():
    names = {case.name for case in cases()}
    for name, reason in gaps().items():
        assert name in names, f"{name} is no test of onnx {onnx.__version__}"
        assert len(reason) > 10, f"{name} has no reason"


def test_most_node_tests_pass():
    known = gaps()
    passing = [case for case in cases() if case.name not in known]
    assert sum(not case.expanded for case in passing) >= 1250
    assert sum(case.expanded for case in passing) >= 430
