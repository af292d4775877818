"""Mutated files of every format: a result, or one line that is no accident, and nothing else.

500 inputs for each format, 20,000 in nightly runs. Each is real file with bytes changed, or drawn
by hypothesis. No traceback, no more than 5 seconds of work, no more than 1 GiB of memory, and no
file that was not asked for.
"""

import os
import random
import resource
import signal
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper
from test_fuzz import holds, models, mutated

import ge_xdsl as gx
from ge_xdsl.cli import opt
from ge_xdsl.dialects.ge.text import parse_module
from ge_xdsl.errors import CompileError

COUNT = 20_000 if os.environ.get("GE_XDSL_NIGHTLY") == "1" else 500
PARTS = 5
"""Test cases for each format, so that they spread over processes."""
SECONDS = 5
MEMORY = 2**30
FOLDER = Path(__file__).parents[1] / "filecheck"
SOURCES = sorted(path for path in FOLDER.rglob("*.mlir") if "Output" not in path.parts)


class HangError(BaseException):
    """An input took too long; no handler of the tools takes it for an error of its own."""


@contextmanager
def limits():
    """At most `SECONDS` of processor time and `MEMORY` more bytes of data."""
    pages = int(Path("/proc/self/statm").read_text().split()[5])
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)

    def late(*_):
        raise HangError(f"more than {SECONDS} s")

    before = signal.signal(signal.SIGPROF, late)
    resource.setrlimit(resource.RLIMIT_DATA, (pages * resource.getpagesize() + MEMORY, hard))
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))
        signal.signal(signal.SIGPROF, before)


pytestmark = pytest.mark.skipif(
    not Path("/proc/self/statm").exists(), reason="memory is read from Linux's /proc"
)


def changed(rng, data):
    """Bytes with one to three changes: bits, cuts, insertions, runs of 0xff, pieces moved."""
    data = bytearray(data)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(data) + 1)
        kind = rng.randrange(7)
        if kind == 0 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del data[at : at + rng.choice([1, 2, 5, 50])]
        elif kind == 2:
            data[at:at] = rng.randbytes(rng.randint(1, 8))
        elif kind == 3:
            data[at : at + 9] = b"\xff" * rng.randint(1, 10)
        elif kind == 4:
            start = rng.randrange(len(data) + 1)
            data[at:at] = data[start : start + rng.randint(1, 40)]
        elif kind == 5 and at < len(data):
            data[at] = rng.randrange(256)
        else:
            data = data[: rng.randrange(len(data) + 1)] if rng.random() < 0.3 else data
    return bytes(data)


def onnx_sources():
    """Models with contrib, foreign, function and loop nodes, and external data."""
    made = models()
    info = helper.make_tensor_value_info
    weight = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2, 2],
                         data_location=TensorProto.EXTERNAL)  # fmt: skip
    for key, text in (("location", "w.bin"), ("offset", "4"), ("length", "16")):
        weight.external_data.add(key=key, value=text)
    step = helper.make_graph(
        [helper.make_node("MatMul", ["v", "w"], ["u"]), helper.make_node("Identity", ["c"], ["d"])],
        "body",
        [info("i", TensorProto.INT64, []), info("c", TensorProto.BOOL, []),
         info("v", TensorProto.FLOAT, [2, 2])],
        [info("d", TensorProto.BOOL, []), info("u", TensorProto.FLOAT, [2, 2])],
    )  # fmt: skip
    nodes = [
        helper.make_node("Fancy", ["x"], ["f"], "fancy", domain="com.acme", a=[1, 2], s="t"),
        helper.make_node("FusedMatMul", ["x", "w"], ["m"], "fm", domain="com.microsoft", transA=1),
        helper.make_node("Loop", ["n", "", "m"], ["l"], "loop", body=step),
        helper.make_node("Twice", ["l"], ["y"], "twice", domain="here"),
    ]
    twice = helper.make_function(
        "here", "Twice", ["a"], ["b"], [helper.make_node("Add", ["a", "a"], ["b"])],
        [helper.make_opsetid("", 17)],
    )  # fmt: skip
    graph = helper.make_graph(
        nodes, "g", [info("x", TensorProto.FLOAT, [2, 2])], [info("y", TensorProto.FLOAT, [2, 2])],
        [weight, numpy_helper.from_array(np.array(2, np.int64), "n")],
    )  # fmt: skip
    domains = ("", 17), ("com.acme", 1), ("com.microsoft", 1), ("here", 1)
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid(*pair) for pair in domains], functions=[twice],
        ir_version=8,
    )  # fmt: skip
    assert isinstance(onnx.load_from_string(model.SerializeToString()), onnx.ModelProto)
    return [*made, model.SerializeToString()]


def texts():
    """The parts of the corpus, and one with a weight."""
    return [part for path in SOURCES for part in path.read_text().split("// -----")]


GRAPHS = """
func.func @g(%x: T, %c: tensor<i1>) -> (T, U) {
  %w = ge.Const() {value = dense<0.5> : tensor<3xf32>} : () -> tensor<3xf32>
  %a = ge.Add(%x, %w) {_k = [1.5 : f32], ge.n = "t"} : (T, tensor<3xf32>) -> T
  %i = ge.If(%c, [%a]) then_branch {
  ^bb0(%p: T):
    %r = ge.Relu(%p) : (T) -> T
    ge.yield([%r]) : (T) -> ()
  } else_branch {
  ^bb0(%q: T):
    ge.yield([%q]) : (T) -> ()
  } : (tensor<i1>, T) -> T
  %y = ge.ConcatD([%i, %a]) {concat_dim = 0, N = 2} : (T, T) -> U
  ge.control_edge(%a, %y) : (T, U) -> ()
  func.return %i, %y : T, U
}
"""
GRAPHS = GRAPHS.replace("T", "tensor<2x3xf32>").replace("U", "tensor<4x3xf32>")


def dumps(folder, ending):
    """Graphs of the corpus in a format of GE's."""
    found = []
    for k, text in enumerate([GRAPHS, *texts()[::7]]):
        try:
            gx.save(parse_module(text), folder / f"{k}.{ending}")
        except (CompileError, gx.UsageError):
            continue
        found.append((folder / f"{k}.{ending}").read_bytes())
    assert len(found) > 5
    return found


def weights(folder):
    """A text whose weights stand beside it."""
    rng = np.random.default_rng(0)
    shapes = ((80,), (9, 10), (3, 4, 9))
    arrays = {f"w{k}": rng.standard_normal(shape).astype("f4") for k, shape in enumerate(shapes)}
    nodes = [helper.make_node("Add", ["x", "w0"], ["a"]), helper.make_node("Exp", ["w1"], ["b"]),
             helper.make_node("Exp", ["w2"], ["c"])]  # fmt: skip
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes, "g", [info("x", 1, [80])], [info(name, 1, None) for name in "abc"],
        [numpy_helper.from_array(array, name) for name, array in arrays.items()],
    )  # fmt: skip
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    (folder / "m.onnx").write_bytes(made.SerializeToString())
    gx.save(gx.load(folder / "m.onnx"), folder / "m.mlir")
    return (folder / "m.mlir").read_text(), (folder / "m.safetensors").read_bytes()


class Bench:
    """A folder to read from, one to write to, and a file beside them that nobody may touch."""

    def __init__(self, root):
        self.root = root
        self.inside, self.out = root / "in", root / "out"
        self.inside.mkdir()
        self.out.mkdir()
        (root / "secret").write_text("kept")
        (self.inside / "w.bin").write_bytes(bytes(range(64)))

    def run(self, name, argv, capsys):
        outputs = ["o.mlir", "o.txt", "o.air", "o.onnx", "o.pbtxt"]
        output = self.out / outputs[len(name + "".join(argv)) % len(outputs)]
        with limits():
            holds(opt.main, [str(self.inside / name), *argv, "-o", str(output)], capsys)

    def check(self):
        assert (self.root / "secret").read_text() == "kept"
        assert sorted(path.name for path in self.root.iterdir()) == ["in", "out", "secret"]
        assert all(path.name.startswith("o.") for path in self.out.iterdir())


@pytest.fixture
def bench(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return Bench(tmp_path)


PIPELINES = [[], ["-p", "ge-infer-shape"], ["-p", "ge-fold-constants,ge-simplify,ge-cse,ge-dce"]]
FORMATS = ["onnx", "mlir", "txt", "pbtxt", "air", "safetensors"]


def written(rng, kind, sources, bench):
    """Write one mutated input and give the name of the file to read."""
    if kind == "safetensors":
        text, data = sources
        (bench.inside / "m.mlir").write_text(text)
        (bench.inside / "m.safetensors").write_bytes(changed(rng, data))
        return "m.mlir"
    name = f"t.{kind}"
    source = rng.choice(sources)
    if kind == "mlir":
        (bench.inside / name).write_text(mutated(rng, source), encoding="utf-8")
    elif kind in ("txt", "pbtxt") and rng.random() < 0.5:
        text = mutated(rng, source.decode())
        (bench.inside / name).write_text(text, encoding="utf-8")
    else:
        (bench.inside / name).write_bytes(changed(rng, source))
    return name


def sources_of(kind, folder):
    if kind == "onnx":
        return onnx_sources()
    if kind == "mlir":
        return texts()
    return weights(folder) if kind == "safetensors" else dumps(folder, kind)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("kind", FORMATS)
def test_changed_bytes(kind, part, bench, tmp_path_factory, capsys):
    sources = sources_of(kind, tmp_path_factory.mktemp("sources"))
    rng = random.Random(f"{kind} {part}")
    for _ in range(COUNT // PARTS):
        name = written(rng, kind, sources, bench)
        bench.run(name, rng.choice(PIPELINES), capsys)
    bench.check()


WORDS = [
    *(b"graph {", b"op {", b"node {", b"}", b'name: "a"', b"\x0a\x03abc", b"func.func", b"%x"),
    *(b"ge.Relu", b"tensor<2xf32>", b"\xff\xff\xff\xff\x0f", b"dense<", b"\n"),
]
PIECE = st.one_of(st.binary(max_size=40), st.sampled_from(WORDS))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", FORMATS)
def test_drawn_bytes(kind, tmp_path_factory, capsys):
    root = tmp_path_factory.mktemp("drawn")
    bench = Bench(root)
    text, _ = weights(tmp_path_factory.mktemp("sources"))

    @settings(
        max_examples=max(COUNT // 20, 25), deadline=None, database=None,
        suppress_health_check=list(HealthCheck), derandomize=True,
    )  # fmt: skip
    @given(st.lists(PIECE, max_size=12))
    def run(pieces):
        name = "m.mlir" if kind == "safetensors" else f"t.{kind}"
        data = b" ".join(pieces)
        if kind == "safetensors":
            (bench.inside / "m.mlir").write_text(text)
            (bench.inside / "m.safetensors").write_bytes(len(data).to_bytes(8, "little") + data)
        else:
            (bench.inside / name).write_bytes(data)
        bench.run(name, [], capsys)

    run()
    bench.check()


def test_the_limits_hold():
    """The witness itself: work and memory above the limits are seen."""
    with pytest.raises(MemoryError), limits():
        bytearray(2 * MEMORY)
    with pytest.raises(HangError), limits():
        busy()


def busy():
    signal.setitimer(signal.ITIMER_PROF, 0.01)
    while True:
        pass
