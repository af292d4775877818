"""Kernels that are not run for all tiles at once, and what is told of why (`Kernel.why`)."""

import re

import pytest
from aicore_text import COPY, GM, UB

import ge_xdsl as gx
from ge_xdsl.dialects.aicore.structure import KernelOp
from ge_xdsl.dialects.ge.text import parse_module
from ge_xdsl.interpreters import kernels
from ge_xdsl.interpreters.kernels import Kernel

POOL = 'ksize = [1, 1, 2, 2], strides = [1, 1, 2, 2], padding = "VALID"'
CONV = "strides = [1, 1, 1, 1], pads = [0, 0, 0, 0]"
ORDER = 'data_format = "NCHW"'
SOURCES = {
    "product": ("MatMulV2", ["32x32xf16", "32x32xf16"], "", "32x32xf16"),
    "conv": (
        "Conv2D",
        ["1x16x8x8xf16", "16x16x3x3xf16"],
        f" {{{CONV}, {ORDER}}}",
        "1x16x6x6xf16",
    ),
    "pool": ("MaxPool", ["1x16x8x8xf32"], f" {{{POOL}, {ORDER}}}", "1x16x4x4xf32"),
    "gather": ("GatherV2D", ["64x64xf32", "8xi32"], " {axis = 0}", "8x64xf32"),
    "sum": ("ReduceSumD", ["64x64xf32"], " {axes = [1]}", "64xf32"),
}
STRIDED = (
    r"\1    %v = aicore.strided %x, 64, [{0}] : !aicore.tile<{1}, gm>, !aicore.tile<{1}, gm>\n"
)
VIEWED = STRIDED.format("64, 1", "64x64xf32")
MAPPED = STRIDED.format("1024, 64, 1", "1x16x64xf32")
KERNEL = r"(aicore.kernel @\w+\(%x : .*\n)"
TAKEN = r"(aicore.alloc.*l0c.*)"
MMAD = r"(aicore.mmad .*) \[%vm, %vn, %vk0\](.*)"
TAP = r"(aicore.vtap %pixels, %sums, )\[%vc, %vm\](.*\n)"
SPREAD = r"(aicore.vspread .*\n)"
# a kernel, what is replaced in it and by what, why it is refused
CASES = [
    (
        "copy",
        r"(aicore.for)",
        rf"%u = aicore.alloc : {UB}\n \1",
        "aicore.alloc outside a loop over cores",
    ),
    (
        "copy",
        r"\[%vr, 64\] {kind",
        "[%r, 64] {kind",
        "a size or condition that differs between tiles",
    ),
    (
        "copy",
        r"(aicore.vunary.*\n)",
        r"\1 aicore.for (%s : %vs) in [16] by [8] over subcores {\n }\n",
        "a loop over subcores",
    ),
    ("copy", r"copy_gm_ub %x", "copy_gm_ub %y", "reads what the kernel writes"),
    ("copy", r"%t, %y\[", "%t, %x[", "no plain store"),
    (
        "copy",
        r"%x : (.*)\) writes(.*\n.*\n.*\n.*\n.*vunary) %t",
        f"%x : {GM}, %u : {UB}) writes\\2 %u",
        "a buffer that stays from one tile to the next",
    ),
    ("product", r"(aicore.fixpipe.*\[%vm, %vn\])", r"\1 {quant = f16}", "a fixpipe that quantises"),
    ("product", r"(aicore.fixpipe.*\[%vm, %vn\])", r"\1 {slope = 0.5}", "a fixpipe with slopes"),
    ("product", "32x32xf32, l0c", "32x32xi32, l0c", "a product in other types"),
    (
        "product",
        MMAD,
        r"\1 [%vm, %vn, %vk0]\2\n \1 [%vm, 16, %vk0]\2",
        "sums of several sizes",
    ),
    ("sum", "axis = cols", "axis = all", "a reduction of both dimensions"),
    ("gather", KERNEL, VIEWED, "rows of a strided array"),
    ("pool", KERNEL, MAPPED, "a map that is no argument"),
    ("pool", SPREAD, r"\1\1", "a map of several sources"),
    (
        "pool",
        SPREAD,
        r"aicore.for (%q : %vq) in [1] by [1] {\n \1 }\n",
        "a map from another loop",
    ),
    ("pool", r"(aicore.vtap.*)pad = \[0, 0\]", r"\1pad = [1, 1]", "a map of another geometry"),
    ("conv", r"(aicore.load3d.*)pad = \[0, 0\]", r"\1pad = [1, 1]", "a map of another geometry"),
    ("pool", r"by \[1, 8, 4\]", "by [1, 8, 2]", "a tile of part of an output row"),
    ("pool", TAP, r"\1[%vc, %vm]\2 \1[%vc, 2]\2", "sums of several sizes"),
]


@pytest.fixture(scope="module")
def texts():
    """The kernels as text, by name."""
    made = {"copy": COPY}
    for name, (op, inputs, attrs, result) in SOURCES.items():
        kinds = [f"tensor<{kind}>" for kind in (*inputs, result)]
        args = ", ".join(f"%a{i}: {kind}" for i, kind in enumerate(kinds[:-1]))
        names = ", ".join(f"%a{i}" for i in range(len(inputs)))
        body = f"  %y = ge.{op}({names}){attrs} : ({', '.join(kinds[:-1])}) -> {kinds[-1]}\n"
        body += f"  func.return %y : {kinds[-1]}\n"
        module = parse_module(f"func.func @main({args}) -> {kinds[-1]} {{\n{body}}}")
        made[name] = gx.text(gx.lower(module))
    return made


def all_kernels(text):
    return [op for op in parse_module(text).walk() if isinstance(op, KernelOp)]


def reasons(text):
    return [why for op in all_kernels(text) if (why := Kernel(op).why)]


@pytest.mark.parametrize(("name", "old", "new", "why"), CASES)
def test_refusal(texts, name, old, new, why):
    assert reasons(texts[name]) == []
    changed, count = re.subn(old, new, texts[name])
    assert count
    if new in (VIEWED, MAPPED):
        changed = re.sub(r"(copy_rows|copy_map_ub) %x", r"\1 %v", changed)
    assert reasons(changed) == [why]


def test_a_map_that_is_too_large(texts, monkeypatch):
    monkeypatch.setattr(kernels, "UNFOLDED_BYTES", 100)
    assert reasons(texts["pool"]) == ["a map that is too large to unfold"]
