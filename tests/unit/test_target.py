"""Targets: every number has a source, names are checked, costs follow the model's equations."""

import dataclasses

import pytest

from ge_xdsl.errors import CompileError, UsageError
from ge_xdsl.targets import target, target_names
from ge_xdsl.targets.ascend910b1 import LINEAR
from ge_xdsl.targets.calibration import FITTED
from ge_xdsl.targets.cost import Work, conflict_cycles, cost, row_loss
from ge_xdsl.targets.fields import FIELDS, describe, description, rate_tag, unchecked
from ge_xdsl.targets.sources import SOURCES, UNCHECKED

B1 = target("Ascend910B1")
NO_NUMBERS = {"name", "arch", "lowers", "sources", "rate_sources"}


@pytest.mark.parametrize("name", target_names())
def test_every_number_has_a_known_source(name):
    chip = target(name)
    assert chip.name == name
    fields = {f.name for f in dataclasses.fields(chip)} - NO_NUMBERS
    assert fields <= set(chip.sources)
    assert fields == set(FIELDS)
    for field in fields:
        assert chip.sources[field] in SOURCES
        if chip.sources[field] == "FITTED":
            assert field in FITTED


def test_at_most_twenty_numbers_are_fitted_and_all_of_them_on_arch_2201():
    assert len(FITTED) <= 20
    assert set(FITTED) <= set(FIELDS)
    for name in target_names():
        chip = target(name)
        fitted = {field for field, tag in chip.sources.items() if tag == "FITTED"}
        assert fitted <= set(FITTED) if chip.arch == "2201" else not fitted
    assert {field for field, tag in B1.sources.items() if tag == "FITTED"} == set(FITTED)


@pytest.mark.parametrize("name", target_names())
def test_a_description_has_every_number_with_unit_and_source(name):
    lines = describe(target(name)).splitlines()
    assert lines[0].startswith(f"{name}: arch ")
    for item in description(target(name)):
        (line,) = [text for text in lines if text.split()[0] == item["field"]]
        assert str(item["source"]) in line
        assert str(item["meaning"]) in line
        assert f"[{item['tag']}]" in line


@pytest.mark.parametrize(
    ("name", "teraflops"),
    [
        ("Ascend910A", 262.1),
        ("Ascend310P3", 69.5),
        ("Ascend910B1", 363.7),
        ("Ascend910B2", 353.9),
        ("Ascend910B3", 294.9),
        ("Ascend910B4", 245.8),
        ("Ascend910_9391", 363.7),
        ("Ascend910_9362", 245.8),
        ("Ascend950PR_958x", 432.5),
        ("Ascend950PR_957x", 378.5),
        ("Ascend950DT_958x", 432.5),
        ("Ascend950DT_957x", 378.5),
    ],
)
def test_peaks(name, teraflops):
    """cores x 8192 f16 operations per cycle x clock, as the chips' tables have it."""
    chip = target(name)
    assert chip.cube_cores * 8192 * chip.clock_hz / 1e12 == pytest.approx(teraflops, rel=1e-3)


def test_a_target_is_its_own_description():
    assert target(B1) is B1
    assert B1.cores("cube") == 24
    assert B1.cores("vector") == 48


def test_an_unknown_name_is_met_with_the_nearest():
    with pytest.raises(UsageError, match=r"unknown target 'Ascend910B5', did you mean 'Asc"):
        target("Ascend910B5")
    with pytest.raises(UsageError, match=r"unknown target '910b4', did you mean 'Ascend910B4'"):
        target("910b4")
    several = "Ascend950PR_958x, Ascend950PR_957x, Ascend950DT_958x or Ascend950DT_957x"
    with pytest.raises(UsageError, match=rf"unknown target 'ascend950', did you mean {several}\?"):
        target("ascend950")
    with pytest.raises(UsageError, match=r"unknown target 'H', expected one of Ascend910B1, "):
        target("H")


def test_capacities():
    assert B1.capacity("ub") == 192 * 1024 - 8 * 1024
    assert B1.capacity("l1") == 512 * 1024 - 256
    with pytest.raises(CompileError, match="Ascend910A has no memory 'bt', expected one of l1"):
        target("Ascend910A").capacity("bt")
    with pytest.raises(CompileError, match="Ascend910B1 has no memory 'xy', expected one of l1"):
        B1.capacity("xy")


COSTS = [
    # 128 x 256 x 64 in f16: 8 * 16 * 4 blocks; f32 takes twice as many, two cycles each
    (Work("mmad", m=128, n=256, k=64, size=2), 512 + 11),
    (Work("mmad", m=128, n=256, k=64, size=4), 2 * 1024 + 11),
    (Work("mmad", m=1, n=1, k=1, size=2), 1 + 11),
    (Work("l1_l0a", bytes=16384), 64 + 46),
    (Work("l1_l0b", bytes=32768), 256 + 46),
    (Work("l1_bt", bytes=1024), 32 + 46),
    (Work("gm_ub", bytes=32), 20.6),
    (Work("gm_ub", bytes=6800), 100),
    (Work("ub_gm", bytes=6400), 100),
    (Work("fixpipe", bytes=72000, elements=64), 1000),
    (Work("fixpipe", bytes=41, elements=6400), 100),
    (Work("scalar"), 8),
    # 128 half elements are one repeat; exp does 32 elements per cycle
    (Work("vector", elements=1280, size=2, op="abs"), 24 + 10),
    (Work("vector", elements=1281, size=2, op="abs"), 24 + 11),
    (Work("vector", elements=640, size=4, op="exp"), 24 + 20),
    (Work("vector", elements=1280, size=2, op="exp"), 24 + 40),
    (Work("vector", elements=640, size=4, op="add", two_sources=True), 24 + 20),
    # sources that meet in no bank
    (Work("vector", elements=640, size=4, op="add", two_sources=True, conflict=False), 24 + 10),
    (Work("vector", elements=640, size=4, op="div", two_sources=True), 24 + 40),
]


@pytest.mark.parametrize(("work", "cycles"), COSTS)
def test_costs(work, cycles):
    assert cost(work, B1).busy == pytest.approx(cycles)


def test_cold_rows_cost_more():
    work = Work("gm_l1", bytes=128 * 512, rows=128)
    warm, cold = cost(work, B1, 0.0), cost(work, B1, 1.0)
    assert warm.busy == pytest.approx(max(128 * 512 / 110, 128 * (2 + 512 / 153)))
    assert cold.busy == pytest.approx(128 * (2 + 512 / 55))
    assert cold.latency == 620


def test_cores_that_read_the_same_rows_hold_each_other_up():
    work = Work("gm_l1", bytes=128 * 128, rows=128)
    alone, shared = cost(work, B1).busy, cost(work, B1, sharers=6).busy
    assert shared == pytest.approx(alone * (1 + 5 * B1.line_sharing))


def test_short_copies_and_rows_across_lines_cost_more_of_hbm():
    whole = Work("gm_ub", bytes=32768)
    assert row_loss(whole, B1) == pytest.approx(1 + B1.hbm_dma_loss / 32768)
    short = Work("gm_ub", bytes=128)
    assert row_loss(short, B1) == pytest.approx(1 + B1.hbm_dma_loss / 8192)
    across = Work("gm_ub", bytes=65536, rows=64, unaligned=True)
    assert row_loss(across, B1) == pytest.approx(1 + B1.hbm_dma_loss / 65536 + 512 / 1024)


def test_bank_conflicts_are_the_cycles_beyond_those_without():
    work = Work("vector", elements=640, size=4, op="add", two_sources=True)
    assert conflict_cycles(work, B1) == pytest.approx(10)
    assert conflict_cycles(Work("mmad", m=16, n=16, k=16), B1) == 0


def test_a_launch_starts_every_core():
    assert B1.launch("cube", 24) - B1.launch("cube", 0) == pytest.approx(24 * B1.core_start_us)
    assert B1.launch("mix", 24) == B1.launch("vector", 72)


def test_an_op_without_a_rate_is_an_error():
    with pytest.raises(CompileError, match="Ascend910B1 has no rate for vector op 'sin', expe"):
        cost(Work("vector", elements=1, op="sin"), B1)


def test_microbenchmark_of_the_cube():
    """Published: 4209 to 4225 cycles for 128 x 256 x 512 in 8 instructions, 2172 for n = 128."""
    step = cost(Work("mmad", m=128, n=256, k=64), B1).busy
    assert 8 * step == pytest.approx(4217, rel=0.01)
    step = cost(Work("mmad", m=128, n=128, k=64), B1).busy
    assert 8 * step == pytest.approx(2172, rel=0.02)


@pytest.mark.parametrize("name", target_names())
def test_what_no_document_gives_is_said_to_be_unchecked(name):
    chip = target(name)
    text, found = describe(chip), unchecked(chip)
    lines = [line for line in text.splitlines()[1:] if "] unchecked: " in line]
    assert len(lines) == len(found) + (chip.sources["vector_rates"] in UNCHECKED)
    assert (f"  unchecked: {len(found)} of " in text) == bool(found) == (chip.arch != "2201")


DOCUMENTED = {
    # the platform files: clock, ports of a core, ways between UB, L1 and L0C, L2
    "Ascend910A": (1000, 110, 64, 512, 256, 256, 128, 128, 32),
    "Ascend310P3": (1060, 57, 57, 512, 256, 512, 128, 256, 16),
    "Ascend950PR_958x": (1650, 100, 42, 256, 256, 128, 128, 128, 128),
    "Ascend950DT_957x": (1650, 100, 42, 256, 256, 128, 128, 128, 128),
}
NAMES = ("clock_mhz", "gm_ub_rate", "ub_gm_rate", "l1_l0a_rate", "l1_l0b_rate")
WAYS = ("l0c_ub_rate", "l1_ub_rate", "ub_l1_rate")


@pytest.mark.parametrize("name", DOCUMENTED)
def test_numbers_of_the_platform_files(name):
    chip = target(name)
    *values, cache = DOCUMENTED[name]
    assert [getattr(chip, field) for field in (*NAMES, *WAYS)] == values
    assert chip.l2 == cache << 20
    assert not {chip.sources[field] for field in (*NAMES, *WAYS, "l2")} & set(UNCHECKED)
    assert not {rate_tag(chip, op) for op in LINEAR} & set(UNCHECKED)


def test_memory_of_310p3_serves_the_seven_vector_cores_too():
    chip = target("Ascend310P3")
    cores = 17 * 8 * 1060e6
    assert chip.hbm_l1_bandwidth == cores
    assert chip.hbm_ub_bandwidth == cores + 9 * 7 * 1000e6


@pytest.mark.parametrize(
    ("kind", "name", "expected"),
    [
        ("l1_ub", "Ascend910A", 46 + 10),
        ("ub_l1", "Ascend310P3", 46 + 5),
        ("ub_l1", "Ascend950PR_958x", 37 + 10),
        ("l0c_ub", "Ascend910A", 24 + 5),
        ("l0c_ub", "Ascend310P3", 24 + 2.5),
        ("fixpipe_ub", "Ascend950PR_958x", 10),
    ],
)
def test_ways_within_a_core(kind, name, expected):
    assert cost(Work(kind, bytes=1280), target(name)).busy == expected


@pytest.mark.parametrize(
    ("kind", "way"),
    [
        ("l1_ub", "l1 to ub"),
        ("ub_l1", "ub to l1"),
        ("l0c_ub", "l0c to ub"),
        ("fixpipe_ub", "l0c to ub"),
    ],
)
def test_a_way_that_the_chip_has_not(kind, way):
    with pytest.raises(CompileError, match=f"Ascend910B1 has no way from {way}, expected one"):
        cost(Work(kind, bytes=1280), B1)
