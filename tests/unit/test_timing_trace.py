"""The trace of a timed run: the trace-event format, tracks, identical cores, and its times."""

from itertools import pairwise

import pytest
from aicore_text import COPY

from ge_xdsl.dialects.ge.text import parse_module
from ge_xdsl.interpreters import aicore
from ge_xdsl.interpreters.timing import ALL_PIPES, KernelTiming, Report, difference_table
from ge_xdsl.interpreters.trace import MOST_CLASSES, core_classes, listed, trace
from ge_xdsl.lowering import lower
from ge_xdsl.targets import target

B1 = target("Ascend910B1")
HEAD = "(%x : tensor<500x300xf16>, %w : tensor<300x700xf16>) -> tensor<500x700xf16>"
GRAPH = f"""func.func @main{HEAD} {{
  %a = ge.MatMul(%x, %w) : (tensor<500x300xf16>, tensor<300x700xf16>) -> tensor<500x700xf16>
  %b = ge.Exp(%a) : (tensor<500x700xf16>) -> tensor<500x700xf16>
  %c = ge.SoftmaxV2(%b) {{axes = [-1]}} : (tensor<500x700xf16>) -> tensor<500x700xf16>
  func.return %c : tensor<500x700xf16>
}}"""


def traced(text, lowered=False):
    module = parse_module(text)
    module = module if lowered else lower(module, B1)
    report = aicore.estimate(module, B1)
    return report, trace(report, aicore.kernels_of(module), B1)


def check_format(found):
    """The trace-event format: metadata, and complete events on named tracks."""
    assert set(found) == {"traceEvents", "displayTimeUnit", "otherData"}
    assert found["displayTimeUnit"] in ("ns", "ms")
    named_processes, named_threads = set(), set()
    for event in found["traceEvents"]:
        assert isinstance(event["pid"], int)
        assert isinstance(event["args"], dict)
        if event["ph"] == "M":
            wanted = {
                "process_name": {"name"},
                "process_sort_index": {"sort_index"},
                "thread_name": {"name"},
            }[event["name"]]
            assert set(event["args"]) == wanted
            if event["name"] == "process_name":
                named_processes.add(event["pid"])
            if event["name"] == "thread_name":
                named_threads.add((event["pid"], event["tid"]))
            continue
        assert event["ph"] == "X"
        assert isinstance(event["name"], str)
        assert event["name"]
        assert event["ts"] >= 0
        assert event["dur"] >= 0
        assert event["pid"] in named_processes
        assert (event["pid"], event["tid"]) in named_threads


def slices(found, pid=None, tid=None):
    return [
        e
        for e in found["traceEvents"]
        if e["ph"] == "X" and pid in (None, e["pid"]) and tid in (None, e["tid"])
    ]


def test_a_trace_is_in_the_trace_event_format():
    _, found = traced(GRAPH)
    check_format(found)
    assert found["otherData"]["target"] == "Ascend910B1"
    assert found["otherData"]["identical cores"].startswith("shown once")


def test_launches_follow_each_other_and_take_their_time():
    report, found = traced(GRAPH)
    launches = slices(found, 0)
    assert [e["name"] for e in launches] == [k.name for k in report.kernels]
    time = 0.0
    for event, kernel in zip(launches, report.kernels, strict=True):
        assert event["ts"] == pytest.approx(time, abs=1e-5)
        assert event["dur"] == pytest.approx(kernel.us, abs=1e-5)
        assert event["args"]["bound"] == kernel.bound
        assert event["args"]["roofline_us"] > 0
        time += kernel.us
    assert time == pytest.approx(report.us)


def test_slices_of_a_pipe_do_not_overlap_and_lie_in_their_launch():
    _, found = traced(GRAPH)
    tracks = {(e["pid"], e["tid"]) for e in slices(found) if e["pid"]}
    assert len(tracks) > 6
    for pid, tid in tracks:
        parts = sorted(slices(found, pid, tid), key=lambda e: e["ts"])
        for a, b in pairwise(parts):
            assert a["ts"] + a["dur"] <= b["ts"] + 1e-4
    for event in slices(found):
        if event["pid"]:
            around = [e for e in slices(found, 0) if e["ts"] <= event["ts"] + 1e-6]
            last = around[-1]
            assert event["ts"] + event["dur"] <= last["ts"] + last["dur"] + 1e-3


def test_every_core_is_shown_or_stood_for():
    report, found = traced(GRAPH)
    by_kernel = {}
    for event in slices(found, tid=0):
        if event["pid"]:
            by_kernel.setdefault(event["args"]["kernel"], 0)
            by_kernel[event["args"]["kernel"]] += event["args"]["count"]
    assert by_kernel == {k.name: k.blocks for k in report.kernels}


def test_a_second_launch_shows_no_pipes():
    twice = COPY.replace(
        "    func.return %y",
        '    %z = aicore.launch @k(%y) for ["again"] : (tensor<64x64xf16>) -> tensor<64x64xf16>\n'
        "    func.return %z",
    )
    _, found = traced(twice, lowered=True)
    first, second = slices(found, 0)
    assert "pipes" not in first["args"]
    assert second["args"]["pipes"] == "as in the first launch of this kernel"
    assert all(e["ts"] < second["ts"] for e in slices(found) if e["pid"])


def test_skipped_iterations_are_said():
    text = GRAPH.replace("500x700", "4000x7000").replace("300x700", "300x7000")
    _, found = traced(text.replace("500x300", "4000x300"))
    skipped = [e for e in slices(found) if e["name"] == "equal iterations"]
    assert skipped
    assert all(e["args"]["repeats"] >= 1 for e in skipped)


def test_classes_of_cores():
    (kernel,) = aicore.kernels_of(parse_module(COPY)).values()
    assert core_classes(kernel, 48) == [[0, 1]]
    (kernel,) = aicore.kernels_of(parse_module(COPY.replace("in [64]", "in [56]"))).values()
    assert core_classes(kernel, 48) == [[0], [1]]
    text = COPY.replace("in [64] by [16]", "in [61] by [1]").replace("vector * 2", "vector * 40")
    (kernel,) = aicore.kernels_of(parse_module(text)).values()
    classes = core_classes(kernel, 40)
    assert len(classes) <= MOST_CLASSES
    assert sorted(core for members in classes for core in members) == list(range(40))
    assert [len(members) for members in classes] == [21, 19]


@pytest.mark.parametrize(
    ("numbers", "text"), [([0], "0"), ([0, 1, 2, 5], "0-2, 5"), ([1, 3], "1, 3")]
)
def test_lists_of_cores(numbers, text):
    assert listed(numbers) == text


def timing(name, us, hbm=1000):
    return KernelTiming(name, (), "vector", 1, 100, us, 1, {"V": 80.0}, hbm, "V")


def test_the_difference_of_a_fusion():
    before = Report("T", [timing("A", 10), timing("B", 20), timing("B", 20), timing("C", 5)])
    after = Report("T", [timing("AB", 18, 500), timing("B", 20), timing("C", 5)])
    assert difference_table(before, after).splitlines() == [
        "kernels in both: 2",
        "gone: 1 x B, 20.00 us",
        "gone: 1 x A, 10.00 us",
        "new: 1 x AB, 18.00 us",
        "launches: 4 before, 3 after, 25.0 % saved",
        "HBM MB: 0.004 before, 0.0025 after, 37.5 % saved",
        "us: 55 before, 43 after, 21.8 % saved",
    ]


def test_the_difference_counts_what_is_not_timed():
    before = Report("T", [], {"Det": 2})
    assert difference_table(before, Report("T")).splitlines()[-1] == (
        "ops that are not timed: 2 before, 0 after"
    )


@pytest.mark.parametrize(
    ("bound", "text"),
    [
        ("V", "vector unit: busy 80 % of the time"),
        ("AIV.V", "vector unit: busy 0 % of the time"),
        ("HBM", "bandwidth of HBM"),
        ("launch", "the launch takes longer than the work"),
        ("latency", "pipes wait for each other"),
    ],
)
def test_what_limits_a_kernel_in_words(bound, text):
    found = KernelTiming("k", (), "vector", 1, 100, 2, 1, {"V": 80.0}, 0, bound)
    assert found.limit == text
    assert found.to_json()["limit"] == text


def test_every_pipe_has_a_name():
    assert len(ALL_PIPES) == 14
    for pipe in ALL_PIPES:
        found = KernelTiming("k", (), "mix", 1, 100, 2, 1, {pipe: 80.0}, 0, pipe)
        assert found.limit.endswith("busy 80 % of the time")
