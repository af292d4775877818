"""The target model against published measurements: errors, order, and nothing left unsaid."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from ge_xdsl.dialects.aicore.legality import check_kernel
from ge_xdsl.errors import CompileError
from ge_xdsl.interpreters.traffic import traffic_of
from ge_xdsl.targets import target

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))
leave_out, model, report = (
    importlib.import_module(f"benchmarks.target_model.{name}")
    for name in ("leave_out", "model", "report")
)


@pytest.fixture(scope="module")
def rows():
    return model.rows()


def test_errors(rows):
    found = model.errors(rows)
    assert len(found) >= 60
    assert model.mean(found) <= 0.08
    assert model.median(found) <= 0.05
    assert found[-1] <= 0.35


def test_every_step_of_a_ladder_is_in_order(rows):
    found = model.pairs(rows)
    assert len(found) == 19
    for pair in found:
        assert pair.slow.measured > pair.fast.measured
        assert pair.ordered, f"{pair.slow.label} -> {pair.fast.label}: {pair.gain}"


def test_a_measurement_that_is_not_compared_says_why():
    for point in model.points():
        assert "reason" in point or ("kernels" in point and point["reading"])
    reasons = [p["id"] for p in model.points() if "reason" in p]
    assert len(reasons) == 6


def test_no_prediction_beats_its_roofline(rows):
    for row in rows:
        for timing in row.timings:
            assert timing.launch_us < timing.roofline_us <= timing.us


def test_the_kernels_fit_their_chips():
    seen = set()
    for point in model.points():
        for spec in point.get("kernels", ()):
            key = json.dumps(spec)
            if key in seen or spec["make"] == "read":  # its copies wait for nothing, on purpose
                continue
            seen.add(key)
            chip = target(point["target"])
            check_kernel(model.make_kernel(spec, chip), chip)


def test_a_unit_flag_takes_the_place_of_flags_between_cube_and_fixpipe():
    spec = {"make": "product", "m": 512, "n": 512, "k": 256, "tile": [128, 256, 64]}
    chip = target("Ascend910B1")
    with_flags = str(model.make_kernel(spec, chip))
    kernel = model.make_kernel({**spec, "unit_flag": True}, chip)
    assert "set_flag M -> FIX" in with_flags
    assert "set_flag FIX -> M" in with_flags
    assert "FIX" not in str(kernel)
    assert str(kernel).count("{unit_flag}") == 1
    check_kernel(kernel, chip)
    del next(op for op in kernel.walk() if op.name == "aicore.fixpipe").properties["unit_flag"]
    with pytest.raises(CompileError, match="aicore.fixpipe on FIX reads 'tile' while aicore.mmad"):
        check_kernel(kernel, chip)


def test_cores_share_the_keys_but_not_their_workspaces():
    chip = target("Ascend910B2")
    spec = {"make": "attention", "rows": 4096, "depth": 128, "q": 128, "kv": 256}
    kernel = model.make_kernel(spec, chip)
    found = traffic_of(kernel, chip).sharers
    reads = {
        source: {found.get(op, 1.0) for op in kernel.walk() if is_read(op, source)}
        for source in ("aicore.take", "argument")
    }
    assert reads["aicore.take"] == {1.0}
    assert reads["argument"] == {1.0, 24.0}


def is_read(op, source):
    if op.name != "aicore.copy_gm_l1":
        return False
    owner = op.operands[0].owner
    return getattr(owner, "name", "argument") == source


def test_summary_and_table(rows):
    found = report.summary(rows)
    assert found["measurements"] == len(model.points()) == found["compared"] + 6
    lines = list(report.table_lines(rows))
    assert len(lines) == found["measurements"] + 1
    assert report.summary_line(rows).startswith(f"{found['compared']} of {found['measurements']} ")
    steps = list(report.ladder_lines(rows))
    assert steps[0] == "19 of 19 ladder steps in order, each by at least 0.5 %"
    assert len(steps) == 20


def test_a_wrong_order_is_seen(rows):
    pair = model.pairs(rows)[0]
    turned = model.Pair(pair.fast, pair.slow)
    assert not turned.ordered
    assert turned.gain < 0


def test_median_and_mean():
    assert model.median([]) == model.mean([]) == 0
    assert model.median([1.0, 2.0, 9.0]) == 2
    assert model.median([1.0, 2.0, 4.0, 9.0]) == 3
    assert model.mean([1.0, 3.0]) == 2


def test_a_refit_takes_back_a_wrong_number():
    """Rows that one number makes too long by its slope are put right by that number."""
    import numpy as np

    point = {"id": "x", "measured": 100.0, "family": "a", "target": "Ascend910B1"}
    rows = [model.Row(point, 110.0), model.Row(point, 100.0)]
    found = leave_out.Sensitivity(rows, ["launch_us"], np.array([[1.0], [0.0]]))
    (step,) = leave_out.refit(found, [0, 1])
    assert step == pytest.approx(-np.log(1.1) / (1 + (0.05 / 0.2) ** 2))
    assert found.strongest("launch_us") == ["x"]


def test_the_command():
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks.target_model", "--nothing"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 2
    assert run.stderr == "error: unknown option '--nothing', expected --json or --quick\n"
