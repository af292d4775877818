"""Memory of a compile: at most 30 MiB above the interpreter, whatever the weights take.

Each step runs in a process of its own; `memory_probe.py` tells its peak. Ordinary runs take the
70 MB model, when it was fetched, and a model with 300 MB of weights in a sparse file; nightly ones
3 GB, and write its text with the weights beside it.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper
from test_models import model_path

PROBE = Path(__file__).with_name("memory_probe.py")
LIMIT = 30
"""MiB above the interpreter with its imports."""
NIGHTLY = os.environ.get("GE_XDSL_NIGHTLY") == "1"
ROWS, COLUMNS = 4096, 4096


def external(folder, megabytes):
    """A chain of MatMuls with weights in a sparse file beside the model."""
    count = max(megabytes * 2**20 // (ROWS * COLUMNS * 4), 1)
    size = ROWS * COLUMNS * 4
    with open(folder / "w.bin", "wb") as file:
        file.truncate(count * size)
    weights, nodes, value = [], [], "x"
    for k in range(count):
        weight = TensorProto(name=f"w{k}", data_type=TensorProto.FLOAT, dims=[ROWS, COLUMNS],
                             data_location=TensorProto.EXTERNAL)  # fmt: skip
        entries = (("location", "w.bin"), ("offset", str(k * size)), ("length", str(size)))
        for key, text in entries:
            weight.external_data.add(key=key, value=text)
        weights.append(weight)
        nodes.append(helper.make_node("MatMul", [value, f"w{k}"], [f"v{k}"], f"mm{k}"))
        value = f"v{k}"
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes, "g", [info("x", TensorProto.FLOAT, ["n", ROWS])],
        [info(value, TensorProto.FLOAT, ["n", COLUMNS])], weights,
    )  # fmt: skip
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    (folder / "m.onnx").write_bytes(made.SerializeToString())
    assert onnx.checker.check_model(str(folder / "m.onnx")) is None
    return folder / "m.onnx"


def peak(model, step, output):
    run = subprocess.run(
        [sys.executable, PROBE, model, step, output], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


pytestmark = pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="peaks are read from Linux's /proc"
)


@pytest.mark.parametrize("step", ["import", "infer", "passes", "text", "again"])
def test_a_model_of_70_megabytes(tmp_path, step):
    path = model_path("minilm_l3_fp32")
    output = tmp_path / "m.mlir"
    if step == "again":
        peak(path, "text", output)
    found = peak(path, step, output)
    assert found["peak"] <= LIMIT, found
    assert found["anonymous"] <= 10, found


@pytest.mark.parametrize("megabytes", [3072 if NIGHTLY else 300])
def test_external_data(tmp_path, megabytes):
    path = external(tmp_path, megabytes)
    output = tmp_path / "m.mlir"
    steps = ["import", "infer", "passes", *(["text", "again"] if NIGHTLY else [])]
    for step in steps:
        found = peak(path, step, output)
        assert found["peak"] <= LIMIT, (step, found)
    if NIGHTLY:
        assert output.with_suffix(".safetensors").stat().st_size > megabytes * 2**20


def test_the_probe_sees_memory(tmp_path):
    """The witness itself: memory that a step takes is in its figure."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import memory_probe as m, json\n"
        "m.reset_peak(); before = m.status(); data = bytearray(50 * 2**20); after = m.status()\n"
        "print(after['VmHWM'] - before['VmRSS'])"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, PROBE.parent], capture_output=True, text=True, check=True
    )
    assert 45 < float(run.stdout) < 60
