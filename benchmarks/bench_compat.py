"""The `ge` package: views of nodes, listing a graph, building with `ge.es`, importing `ge.passes`.

CPU time, the best of several runs, with the cost of xDSL's own walk, creation and import beside it
as peers. Limits that the project sets itself: a view a few microseconds, 10k nodes listed in 30 ms,
an op built in 40 microseconds, the import 50 ms on top of `ge-opt`'s own.
"""

import gc
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable

NODES = 10_000
RUNS = 5


def best(call: Callable[[], object], runs: int = RUNS) -> float:
    """The least CPU seconds of a call."""
    times = []
    for _ in range(runs):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def built():
    """A graph of `NODES` Add and Relu nodes, and its builder's module functions."""
    from ge.es.graph_builder import GraphBuilder
    from ge.es.math import Add
    from ge.es.nn import Relu

    builder = GraphBuilder("bench")
    value = start = builder.create_input(0)
    for i in range(NODES):
        value = Relu(value) if i % 2 else Add(value, start)
    return builder.build_and_reset([value])


def created() -> None:
    """The same number of bare xDSL operations, as the peer of building."""
    from xdsl.dialects.builtin import TensorType, f32
    from xdsl.dialects.test import TestOp

    kind = TensorType(f32, [1])
    value = TestOp(result_types=[kind]).results[0]
    for _ in range(NODES):
        value = TestOp(operands=[value], result_types=[kind]).results[0]


def import_ms() -> float:
    """CPU milliseconds that importing `ge.passes` adds to a process with a parsed graph."""
    base = "from ge_xdsl.dialects.ge.text import parse_module; from ge_xdsl.passes import manager"
    code = f"{base}; import ge_xdsl; ge_xdsl.activate()"
    return 1000 * (process_seconds(f"{code}; import ge.passes") - process_seconds(code))


def process_seconds(code: str) -> float:
    """The least CPU seconds of a Python process that runs some code."""
    times = []
    for _ in range(RUNS):
        before = os.times()
        subprocess.run([sys.executable, "-c", code], check=True)
        after = os.times()
        user = after.children_user - before.children_user
        times.append(user + after.children_system - before.children_system)
    return min(times)


def main() -> None:
    """Print the JSON."""
    import ge_xdsl as gx

    gx.activate()
    gc.set_threshold(100_000, 50, 1000)
    graph = built()
    nodes = graph.get_all_nodes()
    build = best(built, 3)
    peer = best(created, 3)
    print(
        json.dumps(
            {
                "benchmark": "compat",
                "unit": "CPU time, best of several",
                "build_us_per_op": round(1e6 * build / NODES, 1),
                "build_over_bare_xdsl_ops": round(build / peer, 2),
                "get_all_nodes_ms_at_10k": round(1000 * best(graph.get_all_nodes), 1),
                "node_name_and_type_us": round(
                    1e6 * best(lambda: [(n.name, n.type) for n in nodes]) / len(nodes), 2
                ),
                "input_of_node_us": round(
                    1e6
                    * best(lambda: [n.get_in_data_nodes_and_port_indexes(0) for n in nodes[1:-1]])
                    / len(nodes),
                    2,
                ),
                "import_ge_passes_ms": round(import_ms(), 1),
            }
        )
    )


if __name__ == "__main__":
    main()
