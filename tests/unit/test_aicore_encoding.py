"""What the fields of an instruction hold: ops of more stand for several, or are refused."""

import re

import aicore_rules
import pytest

from ge_xdsl.dialects.aicore.encoding import copy_instructions, cut_instructions, vector_work
from ge_xdsl.dialects.aicore.legality import check
from ge_xdsl.dialects.aicore.op import Instruction
from ge_xdsl.dialects.aicore.types import Tile
from ge_xdsl.dialects.ge.text import parse_module
from ge_xdsl.errors import CompileError
from ge_xdsl.targets import target
from ge_xdsl.targets.cost import Work, cost, instructions

B1 = target("Ascend910B1")
REGISTERS = target("Ascend950PR_958x")
ARCHES = {
    "100": "Ascend910A",
    "200": "Ascend310P3",
    "2201": "Ascend910B1",
    "3510": "Ascend950PR_958x",
}


def ub(rows, cols, element="f32"):
    return Tile((rows, cols), element, "ub")


STRIDED = {
    # rows, columns, size, tiles -> instructions, repeats of each
    "whole rows, as many as there are": (64, 256, 4, [ub(64, 256)] * 3, 1, 256),
    "one row of a wide tile": (1, 100, 4, [ub(16, 256)] * 2, 1, 2),
    "rows with a gap, 256 bytes at a time": (64, 128, 4, [ub(64, 256)] * 2, 2, 64),
    "less than a repeat of each row": (64, 8, 4, [ub(64, 64)], 1, 64),
    "a tail in the last block": (64, 61, 4, [ub(64, 64)] * 2, 1, 64),
    "more columns than rows": (2, 1000, 4, [ub(2, 2000)] * 2, 2, 16),
    "rows further apart than a stride reaches": (8, 64, 4, [ub(8, 2056)] * 2, 8, 1),
    "rows as far apart as a stride reaches": (8, 64, 4, [ub(8, 2040)] * 2, 1, 8),
    "rows of two lengths": (64, 100, 4, [ub(64, 100, "f16"), ub(64, 100)], 2, 64),
    "rows of one length": (64, 112, 4, [ub(64, 112, "f16"), ub(64, 112)], 1, 112),
    "no tiles known": (64, 100, 4, [], 1, 104),
}


@pytest.mark.parametrize("name", STRIDED)
def test_instructions_of_a_vector_op(name):
    rows, cols, size, tiles, count, repeats = STRIDED[name]
    work = vector_work("add", (rows, cols), size, tiles=tiles)
    assert work.instructions == count
    assert -(-work.elements // (256 // size * count)) == repeats


@pytest.mark.parametrize(
    ("repeats", "counted", "expected"),
    [(255, False, 1), (256, False, 2), (510, False, 2), (511, False, 3), (511, True, 1)],
)
def test_an_instruction_repeats_at_most_255_times(repeats, counted, expected):
    work = Work("vector", elements=64 * repeats, size=4, op="abs", counted=counted)
    assert instructions(work, B1) == expected
    assert cost(work, B1).busy == 24 * expected + repeats
    assert instructions(work, REGISTERS) == 1


def test_each_of_several_instructions_repeats_so_often():
    work = Work("vector", elements=64 * 300 * 4, size=4, op="abs", instructions=4)
    assert instructions(work, B1) == 8
    assert cost(work, B1).busy == 24 * 8 + 1200


@pytest.mark.parametrize(
    ("bursts", "burst", "pitch", "expected"),
    [
        (4095, 32, 64, 1),
        (4096, 32, 64, 2),
        (8, 32, 32 + 65535 * 32, 1),
        (8, 32, 32 + 65536 * 32, 8),
        (1, 32, 1 << 30, 1),
    ],
)
def test_instructions_of_a_copy(bursts, burst, pitch, expected):
    assert copy_instructions(bursts, burst, pitch) == expected


def test_instructions_that_cut_rows_into_blocks():
    assert cut_instructions(128, 65535) == 1
    assert cut_instructions(128, 65536) == 128


@pytest.mark.parametrize("kind", ["gm_ub", "ub_gm", "gm_l1"])
def test_each_copy_has_its_issue(kind):
    one = cost(Work(kind, bytes=64, rows=1), B1).busy
    assert one == B1.dma_issue
    assert cost(Work(kind, bytes=64, rows=8, instructions=8), B1).busy == 8 * one


Y = "(%y : !aicore.tile<8x64xf16, gm>)"
KERNEL = """
aicore.kernel @k(%x : !aicore.tile<8x{width}xf16, gm>) writes {y} on {core} * 1 {{
  aicore.for (%r : %vr) in [8] by [8] over cores {{
    %t = aicore.alloc : !aicore.tile<{tile}>
    aicore.{op} %x[%r, 0], %t, [%vr, 64] : !aicore.tile<8x{width}xf16, gm>, !aicore.tile<{tile}>
  }}
}}
"""


@pytest.mark.parametrize(
    ("op", "core", "tile", "width", "expected"),
    [
        ("copy_gm_l1", "cube", "16x64xf16, l1, nz", 65535, 1),
        ("copy_gm_l1", "cube", "16x64xf16, l1, nz", 65536, 8),
        ("copy_gm_l1", "cube", "16x64xf16, l1", 65536, 1),
        ("copy_gm_ub", "vector", "8x64xf16, ub", 65536, 1),
        ("copy_gm_ub", "vector", "8x64xf16, ub", 64 + 65535 * 16, 1),
        ("copy_gm_ub", "vector", "8x64xf16, ub", 64 + 65536 * 16, 8),
    ],
)
def test_instructions_of_a_copy_op(op, core, tile, width, expected):
    text = KERNEL.format(y=Y, op=op, core=core, tile=tile, width=width)
    (found,) = [o for o in parse_module(text).walk() if isinstance(o, Instruction)]
    assert found.work((8, 64)).instructions == expected


LIST = {
    "paths of the architecture": ["check_kernel K2", "check_kernel K3"],
    "addresses": ["aicore.alloc C3"],
    "windows in L1 and UB": [
        *("aicore.copy_ub_ub C3", "aicore.copy_ub_l1 C3", "aicore.copy_l1_ub C3"),
        *("aicore.load_bias C3", "aicore.load_quant C3", "aicore.copy_l0c_ub C3"),
        *("_Load C3", "aicore.fixpipe C7"),
    ],
    "capacity times buffers": ["check_kernel K5", "aicore.alloc C2"],
    "repeats of a load": ["_Load C4"],
    "rows and columns of nd2nz": ["aicore.copy_gm_l1 C4"],
    "strides, kernels and dilations of load3d": ["aicore.load3d C3"],
    "element types of an op": ["Vector C1", "aicore.vcast C1", "aicore.mmad C1", "check_kernel K3"],
    "layouts": ["check_kernel K4", "Instruction I3"],
    "mmad against its tiles": ["aicore.mmad C2", "aicore.mmad C3"],
    "n and m of the fixpipe": ["aicore.fixpipe C5", "aicore.fixpipe C8"],
    "flags in pairs": ["check_order O3", "check_order O4", "check_order O5"],
    "ids of flags": ["Flag C2"],
    "ids and counters between cores": ["CrossFlag C2", "check_cross_order X4"],
}
"""What a verifier has to find -> the rules that find it. Repeats of vector instructions, bursts
and gaps are in no rule: such ops stand for several instructions, as tested above."""


@pytest.mark.parametrize("what", LIST)
def test_every_limit_has_a_rule_that_is_broken(what):
    broken = aicore_rules.tests()
    for rule in LIST[what]:
        assert broken.get(tuple(rule.split())), rule


@pytest.mark.parametrize("arch", ARCHES)
def test_every_architecture_has_its_own_refusals(arch):
    text = (aicore_rules.FILES / f"checks_{arch}.mlir").read_text()
    assert f"--target {ARCHES[arch]}" in text
    assert {"K3", "K5"} <= set(re.findall(r"RULE check_kernel (K\d)", text))


SOME = {
    "aicore.copy_l1_gm": {"100", "200", "2201"},
    "aicore.copy_ub_l1": {"100", "200", "3510"},
    "aicore.copy_l1_ub": {"100", "200", "3510"},
    "aicore.copy_l0c_ub": {"100", "200"},
    "aicore.fixpipe": {"2201", "3510"},
    "aicore.fixpipe to ub": {"3510"},
    "aicore.mmad of f32": {"2201", "3510"},
    "aicore.mmad of bf16": {"2201", "3510"},
    "aicore.vbinary in bf16": {"3510"},
    "aicore.vscalar in bf16": {"3510"},
}
"""Instructions that only some architectures have; the others are in all."""
WIDE = """
  %ub16 = aicore.alloc : !aicore.tile<64x64xbf16, ub>
  aicore.vbinary %ub16, %ub16, %ub16, [64, 64] {kind = add} : B, B, B
  aicore.vscalar %ub16, %ub16, [64, 64] {kind = adds, value = 1.0} : B, B
""".replace("B", "!aicore.tile<64x64xbf16, ub>")


def labels(op):
    """The name of an op, with what makes it rarer."""
    name, parts = op.name, [op.name]
    element = op.tile_type(op.tile_names()[0]).element
    if name == "aicore.fixpipe" and op.tile_type("dst").space == "ub":
        parts = [f"{name} to ub"]
    if name == "aicore.mmad" and element in ("f32", "bf16"):
        parts = [f"{name} of {element}"]
    if name in ("aicore.vbinary", "aicore.vscalar") and element == "bf16":
        parts = [f"{name} in bf16"]
    return parts[0]


def test_the_architectures_of_every_instruction():
    seen = {}
    for text in [path.read_text() for path in sorted(aicore_rules.FILES.glob("inst*.mlir"))]:
        for part in text.split("// -----"):
            for op in parse_module(part).walk():
                if isinstance(op, Instruction):
                    seen[labels(op)] = set(op.needed_arches()) or set(ARCHES)
    kernel = f"aicore.kernel @k() writes (%o : !aicore.tile<1x1xf16, gm>) on vector * 1 {{{WIDE}}}"
    for op in parse_module(kernel).walk():
        if isinstance(op, Instruction):
            seen[labels(op)] = set(op.needed_arches())
    assert {name: arches for name, arches in seen.items() if len(arches) < 4} == {
        name: arches for name, arches in SOME.items() if name in seen
    }
    assert {"aicore.copy_ub_l1", "aicore.fixpipe", "aicore.vbinary in bf16"} <= set(seen)


@pytest.mark.parametrize("chip", ["Ascend910A", "Ascend910B1"])
def test_a_memory_that_the_chip_has_not(chip):
    text = """
aicore.kernel @k() writes (%o : !aicore.tile<1x1xf16, gm>) on cube * 1 {
  aicore.for (%r : %vr) in [8] by [8] over cores {
    %b = aicore.alloc : !aicore.tile<1x64xf32, bt>
  }
}"""
    if chip == "Ascend910B1":
        check(parse_module(text), target(chip))
        return
    message = f"aicore.alloc in @k: is in bt, expected a memory that {chip} has: l1, l0a"
    with pytest.raises(CompileError, match=message):
        check(parse_module(text), target(chip))
