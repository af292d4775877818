"""Start-up: `ge-opt --version`, `ge-opt` and `xdsl-opt` on a five-op file, as CPU milliseconds.

CPU time (user + system) of whole processes, the minimum and median of several runs in turn;
the ratio is to `xdsl-opt` in the same run.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

RUNS = 9
BIN = Path(sys.executable).parent

GE_FILE = """func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %a = ge.MatMul(%x, %w) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %b = ge.Relu(%a) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %c = ge.Add(%b, %x) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %d = ge.Mul(%c, %x) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %e = ge.Relu(%d) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return %e : tensor<4x8xf32>
}
"""
XDSL_FILE = """func.func @main(%x: f32, %y: f32) -> f32 {
  %a = arith.mulf %x, %y : f32
  %b = arith.negf %a : f32
  %c = arith.addf %b, %x : f32
  %d = arith.mulf %c, %x : f32
  %e = arith.negf %d : f32
  func.return %e : f32
}
"""


def cpu_ms(command: list[str]) -> float:
    """User and system time of one finished process, in milliseconds."""
    before = os.times()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    used = after.children_user - before.children_user
    return 1000 * (used + after.children_system - before.children_system)


def main() -> None:
    """Print the JSON."""
    with tempfile.TemporaryDirectory() as folder:
        ge, xdsl = Path(folder, "ge.mlir"), Path(folder, "xdsl.mlir")
        ge.write_text(GE_FILE)
        xdsl.write_text(XDSL_FILE)
        commands = {
            "ge-opt --version": [str(BIN / "ge-opt"), "--version"],
            "ge-opt five ops": [str(BIN / "ge-opt"), str(ge)],
            "xdsl-opt five ops": [str(BIN / "xdsl-opt"), str(xdsl)],
        }
        samples: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(RUNS):
            for name, command in commands.items():
                samples[name].append(cpu_ms(command))
    medians = {name: statistics.median(values) for name, values in samples.items()}
    print(
        json.dumps(
            {
                "benchmark": "startup",
                "unit": "CPU ms per process, median",
                **{name: round(value, 1) for name, value in medians.items()},
                "ratio five ops ge-opt/xdsl-opt": round(
                    medians["ge-opt five ops"] / medians["xdsl-opt five ops"], 2
                ),
            }
        )
    )


if __name__ == "__main__":
    main()
