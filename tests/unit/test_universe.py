"""The package inside xDSL's own tools."""

import subprocess
import sys
from pathlib import Path

from xdsl.universe import Universe

from ge_xdsl.passes import table
from ge_xdsl.universe import GE_UNIVERSE

TEXT = """func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %a = ge.Relu(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %b = ge.Relu(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %c = ge.Add(%a, %b) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %c : tensor<2xf32>
}
"""


def test_the_entry_point_is_found_and_clashes_with_nothing():
    found = Universe.get_multiverse()
    assert found.all_dialects["ge"] is GE_UNIVERSE.all_dialects["ge"]
    assert set(table.PASSES) <= set(found.all_passes)


def test_dialects_and_passes_are_made_on_demand():
    ge = GE_UNIVERSE.all_dialects["ge"]()
    names = [op.name for op in ge.operations]
    assert len(names) == len(set(names)) > 1900
    assert {"ge.Conv2D", "ge.control_edge"} <= set(names)
    assert GE_UNIVERSE.all_dialects["aicore"]().name == "aicore"
    for name, factory in GE_UNIVERSE.all_passes.items():
        assert factory().name == name


def test_the_import_is_light():
    script = "import sys, ge_xdsl.universe; print('numpy' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"


def test_xdsl_opt_runs_our_passes(tmp_path):
    (tmp_path / "a.mlir").write_text(TEXT)
    tool = Path(sys.executable).with_name("xdsl-opt")
    done = subprocess.run(
        [tool, tmp_path / "a.mlir", "-p", "ge-cse,ge-dce"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.count("ge.Relu") == 1
    assert "ge.Add(%a, %a)" in done.stdout
