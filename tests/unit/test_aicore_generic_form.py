"""Ops of the aicore dialect in MLIR's generic form, which spells what the short form cannot."""

import pytest
from aicore_text import GM, UB

from ge_xdsl.dialects.ge.graph import verify
from ge_xdsl.dialects.ge.text import parse_module
from ge_xdsl.errors import CompileError


def kernel(body, core="vector * 2"):
    lines = "\n".join(f"  {line}" for line in body)
    return f"aicore.kernel @k(%x : {GM}) writes (%y : {GM}) on {core} {{\n{lines}\n}}"


def loop(properties, arguments=1):
    args = ", ".join(f"%a{i} : index" for i in range(2 * arguments))
    return f'"aicore.for"() <{{{properties}}}> ({{\n^bb0({args}):\n}}) : () -> ()'


SCALAR = "tensor<f32>"
WRONG = [
    (kernel(['"aicore.workspace"() : () -> ()']), "aicore.workspace: gives no tile, expected one"),
    (
        kernel(['%i = "aicore.block_idx"() : () -> i32']),
        "aicore.block_idx: gives no index, expected one",
    ),
    (
        kernel([
            "%zero = aicore.affine 0 : index",
            '%i = "aicore.affine"(%zero) <{factors = array<i64: 1, 2>, constant = 0 : i64}> : '
            "(index) -> index",
        ]),
        "aicore.affine: has 2 factors for 1 indices, expected one each",
    ),
    (
        kernel([f"%t = aicore.alloc : {UB}",
                f'"aicore.vdup"(%t) <{{sizes = array<i64: -9223372036854775808, 64>, '
                f"value = 0.0 : f32}}> : ({UB}) -> ()"]),
        "aicore.vdup: has too few index operands, expected one per '?'",
    ),
    (
        kernel([loop("extents = array<i64: 64>, steps = array<i64: 16>, "
                     "bases = array<i64: 0, 0>")]),
        "aicore.for: starts from 2 bases, expected 1",
    ),
    (
        kernel(["%n = aicore.affine 4 : index",
                "aicore.for (%r : %vr) in [%n] by [16] over cores {", "}"]),
        "aicore.for: runs over cores with a dynamic extent, expected constants",
    ),
    (
        kernel([loop("extents = array<i64: 64>, steps = array<i64: 16>, over_cores, "
                     "over_subcores")]),
        "aicore.for: runs over cores and subcores, expected one of them",
    ),
    (
        f'func.func @main(%x : {SCALAR}) {{\n  "aicore.view"(%x, %x) : ({SCALAR}, {SCALAR}) -> '
        "()\n  func.return\n}",
        "aicore.view: has 2 operands and 0 results, expected one each",
    ),
    (
        kernel([f'"aicore.strided"(%x) <{{offset = 0 : i64, strides = array<i64: 1>}}> : '
                f"({GM}) -> ()"]),
        "aicore.strided: has 1 operands and 0 results, expected one each",
    ),
    (
        kernel([f"%t = aicore.strided %x, 0, [1, 1] : {GM}, {GM.replace('f16', 'f32')}"]),
        f"aicore.strided: is {GM} as {GM.replace('f16', 'f32')}, expected row-major tiles of one "
        "element type",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), WRONG, ids=[message for _, message in WRONG])
def test_an_op_that_is_wrong(text, message):
    with pytest.raises(CompileError) as error:
        verify(parse_module(text))
    assert f"{error.value.subject}: {error.value.message}" == message
    assert error.value.location
