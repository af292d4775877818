"""The aicore dialect: what its verifiers and its text refuse, and the check against a chip."""

import pytest
from aicore_text import COPY, instruction
from xdsl.dialects.builtin import IntegerAttr, i64

from ge_xdsl.dialects.aicore import AICORE
from ge_xdsl.dialects.aicore.cross import AffineOp, BoundOp
from ge_xdsl.dialects.aicore.legality import check
from ge_xdsl.dialects.aicore.op import Instruction
from ge_xdsl.dialects.aicore.structure import KernelOp
from ge_xdsl.dialects.aicore.types import PIPES
from ge_xdsl.dialects.ge.graph import verify
from ge_xdsl.dialects.ge.text import module_text, parse_module
from ge_xdsl.errors import CompileError
from ge_xdsl.targets import target

LEGAL = [
    "aicore.copy_gm_l1 %x[0, 0], %l1, [64, 64] : x, l1",
    "aicore.copy_gm_l1 %x[0, 0], %row, [1, 64] : x, row",
    "aicore.copy_gm_ub %x[0, 0], %ub, [64, 64] : x, ub",
    "aicore.copy_ub_gm %ub, %y[0, 0], [64, 64] : ub, y",
    "aicore.load_l0a %l1[0, 0], %l0a, [64, 64] {transpose} : l1, l0a",
    "aicore.load_l0b %l1[0, 16], %l0b, [64, 48] : l1, l0b",
    "aicore.load_bias %row[0, 0], %bt, [1, 64] : row, bt",
    "aicore.mmad %l0a, %l0b, %l0c, [64, 64, 64] : l0a, l0b, l0c",
    "aicore.mmad %l0a, %l0b, %bt, %l0c, [64, 64, 64] {init = bias} : l0a, l0b, bt, l0c",
    "aicore.fixpipe %l0c, %y[0, 0], [64, 64] {relu} : l0c, y",
    "aicore.vunary %ub, %ub, [64, 64] {kind = exp} : ub, ub",
    "aicore.vbinary %ubi, %ubi, %ubi, [64, 64] {kind = max} : ubi, ubi, ubi",
    "aicore.vscalar %ubf, %ubf, [1, 1] {kind = muls, value = -1.5e-07} : ubf, ubf",
    "aicore.vcast %ubb, %ubf, [64, 64] : ubb, ubf",
    "aicore.vdup %ubf, [64, 64] {value = 2.0} : ubf",
    "aicore.vunary %ubb, %ubb, [64, 64] {kind = copy} : ubb, ubb",
    "aicore.vcmp %ub, %ub, %bits, [64, 64] {kind = le} : ub, ub, bits",
    "aicore.vsel %bits, %ubi, %ubi, %ubi, [64, 64] : bits, ubi, ubi, ubi",
    "aicore.vreduce %ubf, %ubf, [64, 64] {kind = max, axis = rows} : ubf, ubf",
    "aicore.vtranspose %ubb, %ubb, [32, 64] : ubb, ubb",
    "aicore.copy_rows %x[0, 0], %ubi, %ub, [64, 64] {wraps} : x, ubi, ub",
]


@pytest.mark.parametrize("text", LEGAL)
def test_legal_instructions_verify_and_print_as_they_are(text):
    module = parse_module(instruction(text))
    verify(module)
    printed = module_text(module)
    assert text.split(" : ")[0] in printed
    assert module_text(parse_module(printed)) == printed


ILLEGAL = [
    # paths: there is none from ub to l1, from l1 to ub, or from l0c to ub
    ("aicore.copy_gm_l1 %ub[0, 0], %l1, [64, 64] : ub, l1", "'src' is in ub in layout nd, exp"),
    ("aicore.copy_gm_ub %l1[0, 0], %ub, [64, 64] : l1, ub", "'src' is in l1 in layout nz, exp"),
    ("aicore.copy_ub_gm %l0c, %y[0, 0], [64, 64] : l0c, y", "'src' is in l0c in layout nz, exp"),
    ("aicore.fixpipe %l0c, %l0b[0, 0], [64, 64] : l0c, l0b", "'dst' is in l0b in layout zn, exp"),
    # layouts
    ("aicore.load_l0a %l1[0, 0], %l0b, [64, 64] : l1, l0b", "l0b in layout zn, expected l0a:zz"),
    ("aicore.load_l0b %row[0, 0], %l0b, [1, 64] : row, l0b", "'src' is in l1 in layout nd, exp"),
    # element types
    ("aicore.copy_gm_ub %x[0, 0], %ubf, [64, 64] : x, ubf", "elements are f16 and f32, expected o"),
    ("aicore.load_l0b %l1[0, 0], %l0bf, [64, 64] : l1, l0bf", "elements are f16 and f32, expect"),
    ("aicore.load_bias %row[0, 0], %row, [1, 64] : row, row", "'dst' is in l1 in layout nd, expe"),
    ("aicore.mmad %l0a, %l0bf, %l0c, [64, 64, 64] : l0a, l0bf, l0c", "factors are f16 and f32, e"),
    ("aicore.vunary %ubb, %ubb, [64, 64] {kind = abs} : ubb, ubb", "computes in bf16, expected on"),
    ("aicore.vunary %ubi, %ubi, [64, 64] {kind = abs} : ubi, ubi", "computes in i32, expected one"),
    ("aicore.vunary %ub, %ubf, [64, 64] {kind = abs} : ub, ubf", "elements are f16, f32, expected"),
    (
        "aicore.vbinary %ubi, %ubi, %ubi, [64, 64] {kind = div} : ubi, ubi, ubi",
        "divides in i32, expected f16 or f32",
    ),
    (
        "aicore.vcast %ub, %ubb, [64, 64] : ub, ubb",
        "casts f16 to bf16, expected one of bf16 to f32",
    ),
    ("aicore.vbrc %ub, %ubf, [64, 64] : ub, ubf", "elements are f16 and f32, expected one"),
    ("aicore.vbrc %ub, %ub, [64, 64] : ub, ub", "shapes are 64x64 and 64x64, expected a first"),
    ("aicore.vcmp %ub, %ubf, %bits, [64, 64] : ub, ubf, bits", "compares f16 and f32 to bit"),
    ("aicore.vcmp %ub, %ub, %ub, [64, 64] : ub, ub, ub", "compares f16 and f16 to f16, expec"),
    (
        "aicore.vsel %ub, %ub, %ub, %ub, [64, 64] : ub, ub, ub, ub",
        "selects f16, f16, f16 by f16",
    ),
    (
        "aicore.vsel %bits, %ub, %ubf, %ub, [64, 64] : bits, ub, ubf, ub",
        "selects f16, f32, f16 by bit, expected one element type of 2 or 4 bytes by bit",
    ),
    (
        "aicore.vreduce %ub, %ubf, [64, 64] : ub, ubf",
        "reduces f16 to f32, expected f16",
    ),
    (
        "aicore.vtranspose %bits, %bits, [64, 64] : bits, bits",
        "turns bit to bit, expected one elem",
    ),
    (
        "aicore.vtranspose %ub, %ubf, [64, 64] : ub, ubf",
        "turns f16 to f32, expected one element typ",
    ),
    (
        "aicore.copy_rows %x[0, 0], %ub, %ub, [64, 64] : x, ub, ub",
        "f16 and f16 by f16, exp",
    ),
    (
        "aicore.copy_rows %x[0, 0], %ubi, %ub, [65, 64] : x, ubi, ub",
        "size is 65 in 'dst', expected",
    ),
    # sizes
    ("aicore.copy_gm_ub %x[0, 0], %ub, [65, 64] : x, ub", "size is 65 in 'dst', expected 1 to 64"),
    ("aicore.copy_gm_ub %x[0, 0], %ub, [64, 0] : x, ub", "size is 0 in 'dst', expected 1 to 64"),
    ("aicore.copy_gm_ub %x[0, 0], %ub, [64] : x, ub", "has 1 sizes, expected 2"),
    ("aicore.copy_gm_ub %x[0], %ub, [64, 64] : x, ub", "has 1 offsets, expected 2"),
    ("aicore.mmad %l0a, %l0b, %l0c, [64, 65, 64] : l0a, l0b, l0c", "size is 65 in 'b', expected 1"),
    ("aicore.load_bias %row[0, 0], %bt, [1, 65] : row, bt", "size is 65 in 'dst', expected 1 to"),
    ("aicore.fixpipe %l0c, %y[0, 0], [65, 64] : l0c, y", "size is 65 in 'src', expected 1 to 64"),
    # options
    ("aicore.vunary %ub, %ub, [64, 64] {kind = sin} : ub, ub", "option 'kind' is sin, expected on"),
    (
        "aicore.vscalar %ub, %ub, [64, 64] {kind = adds} : ub, ub",
        "option 'value' is missing, it is",
    ),
    ("aicore.vdup %ub, [64, 64] : ub", "option 'value' is missing, it is required"),
    # operands
    ("aicore.vunary %ub, [64, 64] {kind = abs} : ub", "has 1 operands, expected 2 tiles"),
    (
        "aicore.mmad %l0a, %l0b, %l0c, %bt, [64, 64, 64] : l0a, l0b, l0c, bt",
        "index operand is !aicore.tile<1x64xf32, bt>, expected index",
    ),
]


@pytest.mark.parametrize(("text", "message"), ILLEGAL)
def test_illegal_instructions(text, message):
    module = parse_module(instruction(text))
    with pytest.raises(CompileError) as error:
        verify(module)
    assert message in str(error.value)
    assert text.split(" ")[0] in str(error.value)


def tiles(**changed):
    """One mmad between tiles that have one thing changed."""
    types = {"a": "16x16xf16, l0a, zz", "b": "16x16xf16, l0b, zn", "c": "16x16xf32, l0c, nz"}
    types.update(changed)
    allocs = "\n".join(f"%{n} = aicore.alloc : !aicore.tile<{t}>" for n, t in types.items())
    listed = ", ".join(f"!aicore.tile<{t}>" for t in types.values())
    return f"""aicore.kernel @k() writes (%y : {"!aicore.tile<16x16xf16, gm>"}) on cube * 1 {{
{allocs}
aicore.mmad %a, %b, %c, [16, 16, 16] : {listed}
}}"""


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"c": "16x16xf16, l0c, nz"}, "'c' is f16, expected f32"),
        ({"a": "16x16xi8, l0a, zz"}, "factors are i8 and f16, expected both f16, bf16 or f32"),
        ({"a": "16x4112xf16, l0a, zz"}, "k is up to 4112, expected at most 4095"),
        ({"a": "16x16xf16, l0a"}, "'a' is in l0a in layout nd, expected l0a:zz or l0a:nz"),
    ],
)
def test_illegal_products(changed, message):
    with pytest.raises(CompileError, match=message):
        verify(parse_module(tiles(**changed)))


def test_fixpipe_and_bias_element_types():
    gm = "!aicore.tile<16x16xi32, gm>"
    c = "!aicore.tile<16x16xf32, l0c, nz>"
    text = f"""aicore.kernel @k() writes (%y : {gm}) on cube * 1 {{
  %c = aicore.alloc : {c}
  aicore.fixpipe %c, %y[0, 0], [16, 16] : {c}, {gm}
}}"""
    with pytest.raises(
        CompileError, match="elements are f32 and i32, expected f32 to f32, f32 to f16"
    ):
        verify(parse_module(text))
    row, table = "!aicore.tile<1x16xbf16, l1>", "!aicore.tile<1x16xf32, bt>"
    text = f"""aicore.kernel @k() writes (%y : {gm}) on cube * 1 {{
  %r = aicore.alloc : {row}
  %t = aicore.alloc : {table}
  aicore.load_bias %r[0, 0], %t, [1, 16] : {row}, {table}
}}"""
    with pytest.raises(CompileError, match="elements are bf16 and f32, expected f16 or f32, and f"):
        verify(parse_module(text))


STRUCTURE = [
    ("alloc buffers 2 ", "alloc buffers 5 ", "has 5 buffers, expected 1 to 4"),
    ("16x64xf16, ub>", "16x64xf16, gm>", "allocates in gm, expected a memory space of the"),
    ("in [64] by [16]", "in [64] by [0]", "extent or step is 0, expected at least 1"),
    ("in [64] by [16]", "in [64, 64] by [16]", "1 steps, expected as many, at least one each"),
    ("in [64] by [16]", "in [64, 64] by [16, 16]", "body has 2 arguments, expected 4"),
    ("over cores {", "over cores strips of 2 {", "goes by strips, expected two dimensions over c"),
    ("on vector * 2", "on tensor * 2", "core kind is 'tensor', expected cube, vector or mix"),
    ("on vector * 2", "on vector * 0", "runs on 0 cores, expected at least 1"),
    ("@k(%x : !aicore.tile<64x64xf16, gm>)", f"@k(%x : {'!aicore.tile<64x64xf16, ub>'})", "gm"),
]


@pytest.mark.parametrize(("old", "new", "message"), STRUCTURE)
def test_structure(old, new, message):
    assert old in COPY
    with pytest.raises(CompileError) as error:
        verify(parse_module(COPY.replace(old, new)))
    assert message in str(error.value)


def test_a_kernel_writes_no_more_than_its_arguments():
    module = parse_module(COPY)
    kernel = module.body.block.first_op
    assert isinstance(kernel, KernelOp)
    kernel.properties["outputs"] = IntegerAttr(3, i64)
    with pytest.raises(CompileError, match="writes 3 arguments, expected 0 to 2"):
        verify(module)


def test_a_loop_over_cores_is_at_the_top_and_of_constant_extent():
    inner = COPY.replace(
        "%t = aicore.alloc",
        "aicore.for (%q : %vq) in [4] by [4] over cores {\n}\n%t = aicore.alloc",
    )
    with pytest.raises(CompileError, match="runs over cores inside a loop, expected the kernel's"):
        verify(parse_module(inner))
    dynamic = inner.replace("[4] by [4]", "[%vr] by [4]")
    with pytest.raises(CompileError, match="runs over cores with a dynamic extent, expected cons"):
        verify(parse_module(dynamic))


VECTOR = "aicore.kernel @k() writes (%y : !aicore.tile<64x64xf16, gm>) on vector * 1 {"
STRUCTURE = {
    f"""{VECTOR}
  %z = aicore.affine 0 : index
  aicore.for (%r : %vr) in [64] from [%z] by [16] over cores {{ }}
}}""": "3:3: error: aicore.for: runs over cores from a base, expected to start at 0",
    f"""{VECTOR.replace("vector", "mix")}
  aicore.section cube {{ }}
  aicore.section vector {{ }}
  aicore.for (%r : %vr) in [64] by [16] {{ }}
}}""": "1:1: error: aicore.kernel: has aicore.for outside its sections, expected it in one",
    f"""{VECTOR}
  %z = "aicore.affine"(%y) <{{factors = array<i64: 1>, constant = 0 : i64}}> :
      (!aicore.tile<64x64xf16, gm>) -> index
}}""": "2:3: error: aicore.affine: has an operand or result that is no index, expected indices",
    f"""{VECTOR}
  %z = "aicore.bound"(%y) <{{by = 1 : i64, low = 0 : i64, high = 2 : i64}}> :
      (!aicore.tile<64x64xf16, gm>) -> index
}}""": "2:3: error: aicore.bound: is not of an index, expected one and an index result",
    f"""{VECTOR}
  %z = aicore.affine 0 : index
  %b = aicore.bound %z by 0 in [0, 2] : index
}}""": "3:3: error: aicore.bound: is by 0, expected at least 1",
    f"""{VECTOR}
  %z = aicore.affine 0 : index
  %b = aicore.bound %z by 8 in [16, 8] : index
}}""": "3:3: error: aicore.bound: is in [16, 8], expected bounds in order",
}


@pytest.mark.parametrize("text", STRUCTURE)
def test_structure_errors(text):
    with pytest.raises(CompileError) as error:
        verify(parse_module(text, "k.mlir"))
    assert str(error.value) == f"k.mlir:{STRUCTURE[text]}"


TEXT = [
    ("xf16, ub", "xf17, ub", "'f17' is no element type, expected one of f32"),
    ("xf16, ub", "xf16, l9", "'l9' is no memory space, expected one of gm"),
    ("xf16, ub", "xf16, ub, xy", "'xy' is no layout, expected one of nd"),
    ("<16x64xf16, ub", "<0x64xf16, ub", "tile has a dimension 0, expected at least 1"),
    ("<16x64xf16, ub", "<1x2x3xf16, l1, nz", "tile has rank 3, expected 2 in layout nz"),
    ("{kind = relu}", "{sort = relu}", "option 'sort' is unknown, expected: kind"),
    ("buffers 2 : !aicore.tile<16x64xf16, ub>", ": index", "expected !aicore.tile"),
]


def test_bounds_come_in_pairs():
    text = f"{VECTOR}\n  %z = aicore.affine 0 : index\n  %b = aicore.bound %z in [3] : index\n}}"
    with pytest.raises(CompileError, match="has 1 bounds, expected two"):
        parse_module(text)


@pytest.mark.parametrize(("value", "found"), [(-9, 4), (11, 8), (12, 12), (99, 14)])
def test_a_bound_is_a_whole_number_of_steps_within_its_ends(value, found):
    zero = AffineOp.make([], value)
    assert BoundOp.make(zero.results[0], 4, 4, 14).of(value) == found


@pytest.mark.parametrize(("old", "new", "message"), TEXT)
def test_text(old, new, message):
    assert old in COPY
    with pytest.raises(CompileError) as error:
        parse_module(COPY.replace(old, new), "k.mlir")
    assert message in str(error.value)
    assert str(error.value).startswith("k.mlir:")


def test_options_and_symbols_of_the_generic_form_are_checked():
    module = parse_module(COPY)
    generic = module_text(module, generic=True)
    again = parse_module(generic)
    verify(again)
    assert module_text(again) == module_text(module)


DYNAMIC = "-9223372036854775808"
GENERIC = [
    ('<{kind = "relu", ', '<{kin = "relu", ', "option 'kin' is unknown, expected: kind"),
    ("kernel = @k", 'kernel = "k"', "names no kernel, expected a symbol"),
    (
        f"sizes = array<i64: {DYNAMIC}, 64>",
        f"sizes = array<i64: {DYNAMIC}, {DYNAMIC}>",
        "has too f",
    ),
    ('sym_name = "k", ', "", "has no symbol name, expected one"),
    ("tile<16x64xf16, ub>", "tile<64xf16, ub>", "'dst' has rank 1, expected 2 (or more in gm)"),
    ("steps = array<i64: 16>, ", "", "has 1 extents and 0 steps"),
]


@pytest.mark.parametrize(("old", "new", "message"), GENERIC)
def test_generic_text_is_checked_as_well(old, new, message):
    generic = module_text(parse_module(COPY), generic=True)
    assert old in generic
    with pytest.raises(CompileError) as error:
        verify(parse_module(generic.replace(old, new)))
    assert message in str(error.value)


EMPTY = [
    ('"aicore.for"() <{extents = array<i64: 4>, steps = array<i64: 4>}> : () -> ()', "has no body"),
    ('"aicore.kernel"() <{sym_name = "k"}> : () -> ()', "has no body of one block, expected one"),
    ('"aicore.alloc"() : () -> ()', "has 0 results, expected one"),
    ('%q = "aicore.alloc"() : () -> index', "type is index, expected !aicore.tile<...>"),
    (
        '%q = "aicore.vdup"() <{sizes = array<i64: 1>}> : () -> index',
        "has 1 results, expected none",
    ),
]


@pytest.mark.parametrize(("text", "message"), EMPTY)
def test_malformed_generic_ops(text, message):
    with pytest.raises(CompileError) as error:
        verify(parse_module(f"builtin.module {{\n{text}\n}}"))
    assert message in str(error.value)


CHIP = [
    ("on vector * 2", "on vector * 49", "runs on 49 vector cores, expected at most 48"),
    ("on vector * 2", "on cube * 2", "runs on pipe V, expected one of a cube core"),
    (
        "16x64xf16, ub>",
        "16x5904xf16, ub>",
        "takes 377856 bytes of ub (t 2 x 188928), expected at most 188416 on Ascend910B1",
    ),
]


@pytest.mark.parametrize(("old", "new", "message"), CHIP)
def test_kernels_that_a_chip_cannot_run(old, new, message):
    module = parse_module(COPY.replace(old, new))
    with pytest.raises(CompileError) as error:
        check(module, target("Ascend910B1"))
    assert message in str(error.value)
    assert "@k" in str(error.value)


def test_l0a_has_another_layout_on_another_arch():
    text = instruction("aicore.load_l0a %l1[0, 0], %l0a, [64, 64] : l1, l0a", "cube")
    module = parse_module(text)
    check(module, target("Ascend910B1"))
    with pytest.raises(CompileError, match="l0a is in layout zz, expected nz on Ascend950PR_958x"):
        check(module, target("Ascend950PR_958x"))


def test_every_instruction_states_its_work():
    class NoOp(Instruction):
        name = "aicore.nothing"

    with pytest.raises(NotImplementedError, match="aicore.nothing"):
        NoOp.create().work(())
    for cls in AICORE.operations:
        if issubclass(cls, Instruction):
            assert cls.work is not Instruction.work
            assert cls.pipe in PIPES


def test_a_kernel_that_says_it_has_flags_and_has_none():
    text = COPY.replace("on vector * 2", "on vector * 2 synced")
    with pytest.raises(CompileError) as caught:
        check(parse_module(text), target("Ascend910B1"))
    want = (
        "aicore.vunary on V reads 't' while aicore.copy_gm_ub on MTE2 may still be at it (writes), "
        "expected a flag between them"
    )
    assert want in str(caught.value)
