"""Runs and imports leave the garbage collector as they found it, and leave no garbage for good."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Generator

import pytest
from graph_text import graph, pattern

from ge_xdsl.dialects.ge import collect
from ge_xdsl.dialects.ge.collect import PER_OP, SELDOM, paused, seldom
from ge_xdsl.errors import CompileError
from ge_xdsl.pattern.driver import PatternRule, run_ge

RELUS = "a\n r = Relu(a)\n s = Relu(r)\n return s"


class Cycle:
    """Garbage that only a walk finds."""

    def __init__(self) -> None:
        self.me = self


@pytest.fixture(autouse=True)
def collector() -> Generator[None]:
    """A collector in a known state, that of before comes back."""
    before = gc.get_threshold()
    gc.collect()
    yield
    gc.unfreeze()
    gc.set_threshold(*before)
    gc.enable()


def test_thresholds_come_back_after_a_run_that_fails() -> None:
    seen: list[tuple[int, int, int]] = []

    def build(_: object) -> None:
        seen.append(gc.get_threshold())

    func = graph(RELUS)
    for threshold in ((700, 10, 10), (0, 10, 2000)):
        gc.set_threshold(*threshold)
        with pytest.raises(CompileError, match="replacement is None"):
            run_ge(func.body.block, [PatternRule(pattern(RELUS), build)])
        assert gc.get_threshold() == threshold
    assert seen == [SELDOM, (0, SELDOM[1], 2000)]


@pytest.mark.parametrize(("ops", "young"), [(0, SELDOM[0]), (10**6, PER_OP * 10**6)])
def test_a_large_graph_is_walked_as_seldom_as_a_small_one(ops: int, young: int) -> None:
    gc.set_threshold(700, 10, 10)
    with seldom(ops):
        assert gc.get_threshold() == (young, *SELDOM[1:])
    with seldom(0), seldom(ops), seldom(0):
        assert gc.get_threshold()[0] == young


@pytest.mark.parametrize("held", [lambda: seldom(0), paused], ids=["seldom", "paused"])
def test_new_objects_are_old_at_the_end(held: collect.Held) -> None:
    gc.set_threshold(700, 10, 10)
    with held():
        made = [Cycle() for _ in range(5000)]
        assert gc.get_count()[0] > 5000
    assert gc.get_count()[0] < 700
    assert len(made) == 5000


def test_what_grew_old_is_collected_when_it_is_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collect, "ROOM", 30_000)
    monkeypatch.setattr(collect.Aged, "room", 30_000)
    monkeypatch.setattr(collect.Aged, "objects", 0)
    gc.set_threshold(700, 10, 10)
    lost: list[weakref.ref[Cycle]] = []
    for _ in range(8):
        with paused():
            cycles = [Cycle() for _ in range(5000)]
            lost.append(weakref.ref(cycles[0]))
            del cycles
    assert [ref() is None for ref in (lost[0], lost[-1])] == [True, False]
    assert collect.Aged.room > 30_000, "as many as there were objects at all"


def test_frozen_objects_stay_frozen() -> None:
    gc.set_threshold(700, 10, 10)
    gc.freeze()
    with paused():
        made = [Cycle() for _ in range(5000)]
    assert gc.get_freeze_count() > 0
    assert len(made) == 5000


def test_a_collector_that_is_off_stays_off() -> None:
    gc.disable()
    with paused(), seldom(0):
        assert not gc.isenabled()
    assert not gc.isenabled()
