"""Peak memory of one step on one model, in a process of its own.

    python tests/models/memory_probe.py MODEL STEP [OUTPUT]

Prints JSON: MiB of memory at the peak above what the same imports take without a model. Mapped
pages of weights that nobody wrote count once they are read, and are told apart as `file`.
"""

import json
import re
import sys
from pathlib import Path

STEPS = ("nothing", "import", "infer", "passes", "text", "again")
PASSES = "ge-infer-shape,ge-cse,ge-dce,ge-fuse"


def status() -> dict[str, float]:
    """Fields of /proc/self/status in MiB: the peak, anonymous and mapped memory."""
    text = Path("/proc/self/status").read_text()
    return {key: int(kib) / 1024 for key, kib in re.findall(r"(\w+):\s+(\d+) kB", text)}


def reset_peak() -> None:
    """Forget the peak so far."""
    Path("/proc/self/clear_refs").write_text("5")


def warm(path: Path) -> None:
    """Import what the step needs, on a model of one node."""
    import onnx
    from onnx import helper

    from ge_xdsl.dialects.ge.graph import verify
    from ge_xdsl.exporters.mlir import write_mlir
    from ge_xdsl.importers import load_module

    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"])], "g",
        [info("x", onnx.TensorProto.FLOAT, [2])], [info("y", onnx.TensorProto.FLOAT, [2])],
    )  # fmt: skip
    path.with_name("warm.onnx").write_bytes(helper.make_model(graph).SerializeToString())
    module = load_module(path.with_name("warm.onnx"))
    verify(module)
    run_passes(module)
    write_mlir(module, path.with_name("warm.mlir"))
    load_module(path.with_name("warm.mlir"))


def run_passes(module) -> None:
    from ge_xdsl.passes.manager import PassManager
    from ge_xdsl.passes.pipeline import make_passes
    from ge_xdsl.passes.session import SessionContext

    PassManager(SessionContext(), make_passes(PASSES)).run(module)


def step(model: Path, name: str, output: Path) -> None:
    """Import a model, and go as far as the step says."""
    from ge_xdsl.exporters.mlir import write_mlir
    from ge_xdsl.importers import load_module
    from ge_xdsl.passes.infer_shape import GeInferShapePass
    from ge_xdsl.passes.manager import PassManager
    from ge_xdsl.passes.session import SessionContext

    if name == "nothing":
        return
    module = load_module(output.with_suffix(".mlir") if name == "again" else model)
    if name == "infer":
        PassManager(SessionContext(), [GeInferShapePass()]).run(module)
    elif name == "passes":
        run_passes(module)
    elif name in ("text", "again"):
        write_mlir(module, output.with_name(f"{name}.mlir") if name == "again" else output)


def main() -> None:
    """Print the peak of a step."""
    model, name = Path(sys.argv[1]), sys.argv[2]
    output = Path(sys.argv[3])
    warm(output)
    reset_peak()
    before = status()
    step(model, name, output)
    after = status()
    print(
        json.dumps(
            {
                "peak": round(after["VmHWM"] - before["VmRSS"], 1),
                "anonymous": round(after["RssAnon"] - before["RssAnon"], 1),
                "file": round(after["RssFile"] - before["RssFile"], 1),
            }
        )
    )


if __name__ == "__main__":
    main()
