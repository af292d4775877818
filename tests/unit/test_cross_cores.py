"""Mixed kernels: cores in turn, flags between them, workspaces; in runs without a proof before."""

import re
from pathlib import Path

import numpy as np
import pytest
from aicore_text import GM, UB

import ge_xdsl as gx
from ge_xdsl.dialects.ge.text import parse_module
from ge_xdsl.errors import CompileError
from ge_xdsl.interpreters import aicore

ROOT = Path(__file__).parents[2]
MIXED = (ROOT / "tests/filecheck/dialects/aicore/mixed.mlir").read_text()
KERNEL = "\n".join(
    line
    for line in MIXED.split("// CHECK-LABEL: aicore.kernel @indices")[0].splitlines()
    if not line.lstrip().startswith("//")
)
MAIN = """
func.func @main(%x : tensor<64x64xf16>, %w : tensor<64x64xf16>) -> tensor<64x64xf16> {
  %y = aicore.launch @mix(%x, %w) : (tensor<64x64xf16>, tensor<64x64xf16>) -> tensor<64x64xf16>
  func.return %y : tensor<64x64xf16>
}
"""
RNG = np.random.default_rng(0)
X, W = (RNG.standard_normal((64, 64)).astype(np.float16) for _ in range(2))


def run(text, checked=True):
    module = parse_module(text + MAIN)
    return aicore.run(module, {"x": X, "w": W}, "Ascend910B1", checked=checked)[0][0]


@pytest.mark.parametrize("checked", [False, True])
def test_a_mixed_kernel_runs(checked):
    want = np.maximum(X.astype(np.float32) @ W.astype(np.float32), 0)
    assert np.abs(run(KERNEL, checked) - want).max() < 2e-2


SET, WAIT = "aicore.cross_set FIX, 0 of 2", "aicore.cross_wait MTE2, 0 of 2"
STORE = r"aicore\.fixpipe .*\n"
WRONG = [
    (
        (SET, ""),
        "aicore.kernel @mix: all cores wait: vector core 0.0 for flag 0, vector core 0.1 for flag "
        "0, vector core 1.0 for flag 0, vector core 1.1 for flag 0",
    ),
    ((WAIT, ""), "aicore.kernel @mix: flag 0 between cores is set and not waited for at the end"),
    (
        (SET, "\n".join([SET.replace("0 of 2", "7")] * 16)),
        "aicore.cross_set in aicore.kernel @mix: sets flag 7 16 times before it is waited for, "
        "expected at most 15 times",
    ),
    (
        (re.compile(STORE).search(KERNEL).group(), ""),
        "aicore.copy_gm_ub in aicore.kernel @mix: reads 16x64 at [0, 0] of workspace 'ws', of "
        "which 1024 elements are not written",
    ),
    (
        (WAIT, f"{WAIT}\naicore.sync_all all"),
        "all cores wait: vector core 0.0 for all cores, vector core 0.1 for all cores, vector co",
    ),
]


@pytest.mark.parametrize(("change", "message"), WRONG)
def test_wrong_orders_between_cores(change, message):
    assert change[0] in KERNEL
    with pytest.raises(CompileError) as error:
        run(KERNEL.replace(*change))
    assert message in str(error.value)


def test_more_than_four_cores_that_wait_are_counted():
    text = (
        KERNEL.replace("mix * 2", "mix * 4")
        .replace(SET, "")
        .replace("by [32] over", "by [16] over")
    )
    with pytest.raises(CompileError, match="vector core 1.1 for flag 0 and 4 more"):
        run(text)


PART = "!aicore.tile<16x64xf16, gm>"
MEET = f"""
aicore.kernel @mix(%x : {GM}, %w : {GM}) writes (%y : {GM}) on vector * 4 {{
  %ws = aicore.workspace : {PART}
  %s = aicore.take %ws : {PART}
  %b = aicore.block_idx : index
  %r = aicore.affine 16 * %b : index
  %t = aicore.alloc : {UB}
  aicore.copy_gm_ub %x[%r, 0], %t, [16, 64] : {GM}, {UB}
  aicore.copy_ub_gm %t, %s[0, 0], [16, 64] : {UB}, {PART}
  aicore.sync_all vector
  aicore.cross_set MTE3, 1 mode 0
  aicore.cross_wait MTE2, 1 mode 0
  %u = aicore.alloc : {UB}
  aicore.copy_gm_ub %s[0, 0], %u, [16, 64] : {PART}, {UB}
  aicore.copy_ub_gm %u, %y[%r, 0], [16, 64] : {UB}, {GM}
}}
"""


@pytest.mark.parametrize("checked", [False, True])
def test_cores_of_a_kind_meet(checked):
    assert (run(MEET, checked) == X).all()


def test_checked_is_for_level_aicore():
    module = parse_module(KERNEL + MAIN)
    with pytest.raises(gx.UsageError, match="checked is for level aicore, expected level='aicore'"):
        gx.run(module, {"x": X, "w": W}, checked=True)
    outputs, _ = gx.run(module, {"x": X, "w": W}, level="aicore", checked=True)
    assert (outputs["output_0"] == run(KERNEL)).all()
