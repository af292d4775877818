"""The example pass files on small graphs: what they rewrite, what they leave, and the numbers."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from ge_xdsl.dialects.ge.graph import main_function, verify
from ge_xdsl.dialects.ge.names import input_names
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.text import parse_module
from ge_xdsl.dialects.ge.types import numpy_dtype, tensor_of
from ge_xdsl.interpreters.ge import run_function
from ge_xdsl.passes import loader
from ge_xdsl.passes.ge_custom_passes import GeCustomPassesPass
from ge_xdsl.passes.registry import STAGES
from ge_xdsl.passes.session import Session, SessionContext
from ge_xdsl.pattern.statistics import Statistics

EXAMPLES = Path(__file__).parents[2] / "examples" / "passes"


def table(expected, cases):
    return pytest.mark.parametrize(
        ("text", expected), [case[1:] for case in cases], ids=[case[0] for case in cases]
    )


def types_of(func):
    return Counter(op.op_type for op in func.body.block.ops if isinstance(op, GeOp))


def run(example, text, options=None):
    """The graph before and after the example's passes, and the session."""
    loader.load([str(EXAMPLES / example)])
    before = main_function(parse_module(text))
    module = parse_module(text)
    session = Session(options=options or {})
    for stage in STAGES:
        GeCustomPassesPass(stage).apply(SessionContext(session), module)
    verify(module)
    return before, main_function(module), session


def values(func, seed=0):
    rng = np.random.default_rng(seed)
    return {
        name: rng.standard_normal(tensor_of(arg.type).shape).astype(
            numpy_dtype(tensor_of(arg.type).dtype)
        )
        for name, arg in zip(input_names(func), func.body.block.args, strict=True)
    }


def same_numbers(before, after, tolerance=1e-5):
    inputs = values(before)
    results = zip(run_function(before, inputs), run_function(after, inputs), strict=True)
    for old, new in results:
        assert old.dtype == new.dtype
        np.testing.assert_allclose(
            old.astype(np.float64), new.astype(np.float64), tolerance, tolerance
        )


def add(constant, kind="2x3xf32", const_kind="f32", order="%x, %c"):
    types = f"tensor<{kind}>, tensor<{const_kind}>"
    if order.startswith("%c"):
        types = f"tensor<{const_kind}>, tensor<{kind}>"
    value = f"dense<{constant}> : tensor<{const_kind}>"
    return f"""
    func.func @main(%x: tensor<{kind}>) -> tensor<{kind}> {{
      %c = ge.Const() {{value = {value}}} : () -> tensor<{const_kind}>
      %a = ge.Add({order}) : ({types}) -> tensor<{kind}>
      %y = ge.Relu(%a) : (tensor<{kind}>) -> tensor<{kind}>
      func.return %y : tensor<{kind}>
    }}"""


SHARED_ZERO = """
    func.func @main(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
      %c = ge.Const() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
      %a = ge.Add(%x, %c) : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
      %m = ge.Mul(%x, %c) : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
      func.return %a, %m : tensor<2xf32>, tensor<2xf32>
    }"""

TO_RELU = {"Relu": 1}
KEPT = {"Const": 1, "Add": 1, "Relu": 1}

ADD_ZERO = [
    ("zero", add("0.0"), TO_RELU),
    ("nearly zero", add("1.0e-07"), TO_RELU),
    ("zero in one element", add("0.0", const_kind="1x1xf32"), TO_RELU),
    ("integer zero", add("0", kind="2xi32", const_kind="i32"), TO_RELU),
    ("double zero", add("0.0", kind="2xf64", const_kind="f64"), TO_RELU),
    ("half is no type of the rule", add("0.0", kind="2xf16", const_kind="f16"), KEPT),
    ("not zero", add("0.5"), KEPT),
    ("two zeros", add("[0.0, 0.0, 0.0]", const_kind="3xf32"), KEPT),
    ("constant first", add("0.0", order="%c, %x"), KEPT),
    ("shared constant", SHARED_ZERO, {"Const": 1, "Add": 1, "Mul": 1}),
]


@table("expected", ADD_ZERO)
def test_add_zero(text, expected):
    before, after, session = run("add_zero.py", text)
    assert types_of(after) == expected
    assert session.messages == []
    if "i32" not in text:
        same_numbers(before, after, 1e-6)


@pytest.mark.parametrize("example", sorted(path.name for path in EXAMPLES.glob("*.py")))
def test_ge_check_finds_no_error(example, capsys, tmp_path, monkeypatch):
    from ge_xdsl.cli import check

    monkeypatch.chdir(tmp_path)
    assert check.main([str(EXAMPLES / example)]) == 0, capsys.readouterr().out
    assert not list(tmp_path.iterdir()), "no counterexample"


CONST_MATCH = [
    ("zero", add("0.0"), TO_RELU),
    ("nearly zero", add("1.0e-07"), KEPT),
    ("minus zero", add("-0.0"), KEPT),
    ("another rank", add("0.0", const_kind="1xf32"), KEPT),
    ("another type", add("0", kind="2xi32", const_kind="i32"), KEPT),
]


@table("expected", CONST_MATCH)
def test_add_zero_const_match(text, expected):
    before, after, _ = run("add_zero_const_match.py", text)
    assert types_of(after) == expected
    if "i32" not in text:
        same_numbers(before, after, 0)


def matmul(op="MatMul", attrs="", a="4x8", b="8x16", c="4x16", out="4x16", extra="", swap=False):
    order, types = "%p, %c", f"tensor<{out}xf32>, tensor<{c}xf32>"
    if swap:
        order, types = "%c, %p", f"tensor<{c}xf32>, tensor<{out}xf32>"
    outputs = f"%y{extra}"
    kinds = ", ".join([f"tensor<{out}xf32>"] * outputs.count("%"))
    return f"""
    func.func @main(%a: tensor<{a}xf32>, %b: tensor<{b}xf32>, %c: tensor<{c}xf32>) -> ({kinds}) {{
      %p = ge.{op}(%a, %b) {attrs} : (tensor<{a}xf32>, tensor<{b}xf32>) -> tensor<{out}xf32>
      %y = ge.Add({order}) : ({types}) -> tensor<{out}xf32>
      func.return {outputs} : {kinds}
    }}"""


GEMM = {"GEMM": 1, "Const": 2}
PRODUCT = {"MatMul": 1, "Add": 1}
BATCH = {"BatchMatMulV2": 1, "Add": 1}

MATMUL_CASES = [
    ("matmul", matmul(), GEMM),
    ("batch matmul of matrices", matmul("BatchMatMulV2"), GEMM),
    ("real batch", matmul("BatchMatMulV2", a="2x4x8", b="2x8x16", c="2x4x16", out="2x4x16"), BATCH),
    ("transposed", matmul(attrs="{transpose_x1 = true}", a="8x4"), PRODUCT),
    ("adjoint", matmul("BatchMatMulV2", attrs="{adj_x2 = true}", b="16x8"), BATCH),
    ("row of c", matmul(c="16"), PRODUCT),
    ("sum first", matmul(swap=True), PRODUCT),
    ("product used elsewhere", matmul(extra=", %p"), PRODUCT),
]


@table("expected", MATMUL_CASES)
def test_matmul_add_gemm(text, expected):
    before, after, session = run("matmul_add_gemm.py", text)
    assert types_of(after) == expected
    assert session.messages == []
    same_numbers(before, after)


CAPTURED = [c for c in MATMUL_CASES if "BatchMatMulV2" not in c[1]]


@table("expected", CAPTURED)
def test_matmul_add_gemm_captured(text, expected):
    before, after, session = run("matmul_add_gemm_captured.py", text)
    assert types_of(after) == expected
    assert session.messages == []
    same_numbers(before, after)


ATTRS = [
    ("plain", matmul(), {}),
    ("first", matmul(attrs="{transpose_x1 = true}", a="8x4"), {"transpose_a": True}),
    ("second", matmul(attrs="{transpose_x2 = true}", b="16x8"), {"transpose_b": True}),
    (
        "both",
        matmul(attrs="{transpose_x1 = true, transpose_x2 = true}", a="8x4", b="16x8"),
        {"transpose_a": True, "transpose_b": True},
    ),
]
ENABLED = {"ge.custom.enable_rule": "1"}


@table("stored", ATTRS)
def test_matmul_add_gemm_keeps_the_transposes(text, stored):
    before, after, session = run("matmul_add_gemm_attrs.py", text, ENABLED)
    assert types_of(after) == GEMM
    [gemm] = [op for op in after.body.block.ops if op.name == "ge.GEMM"]
    assert {name: gemm.get_attr(name) for name in stored} == stored
    assert set(gemm.properties) == set(stored)
    same_numbers(before, after)
    assert session.messages == []


@pytest.mark.parametrize("options", [{}, {"ge.custom.enable_rule": "0"}], ids=["unset", "off"])
def test_the_option_turns_the_rule_on(options):
    _, after, session = run("matmul_add_gemm_attrs.py", matmul(), options)
    assert types_of(after) == PRODUCT
    assert session.messages == []


def conv(attrs, x="1x4x5x5", w="6x2x3x3", y="1x6x3x3", bias=False):
    x, w, y = (f"tensor<{shape}xf32>" for shape in (x, w, y))
    inputs = f"%x: {x}, %w: {w}" + (", %b: tensor<6xf32>" if bias else "")
    operands = "%x, %w" + (", bias = %b" if bias else "")
    types = f"{x}, {w}" + (", tensor<6xf32>" if bias else "")
    return f"""
    func.func @main({inputs}) -> {y} {{
      %y = ge.Conv2D({operands}) {{strides = [1, 1, 1, 1], pads = [0, 0, 0, 0], {attrs}}}
        : ({types}) -> {y}
      func.return %y : {y}
    }}"""


NCHW = 'data_format = "NCHW"'
CONV = [
    ("two groups", conv(f"groups = 2, {NCHW}"), {"Conv2D": 2, "Split": 2, "Concat": 1, "Const": 2}),
    (
        "depthwise",
        conv(f"groups = 4, {NCHW}", w="4x1x3x3", y="1x4x3x3"),
        {"Conv2D": 1},
    ),
    (
        "dilated",
        conv(f"groups = 2, dilations = [1, 1, 2, 2], {NCHW}", y="1x6x1x1"),
        {"Conv2D": 2, "Split": 2, "Concat": 1, "Const": 2},
    ),
    ("no groups", conv(NCHW, w="6x4x3x3"), {"Conv2D": 1}),
    ("one group, stored", conv(f"groups = 1, {NCHW}", w="6x4x3x3"), {"Conv2D": 1}),
    ("with bias", conv(f"groups = 2, {NCHW}", bias=True), {"Conv2D": 1}),
]


@table("expected", CONV)
def test_decompose_grouped_conv(text, expected):
    before, after, session = run("decompose_grouped_conv.py", text)
    assert types_of(after) == expected
    assert session.messages == []
    same_numbers(before, after)


def test_matches_are_recorded():
    loader.load([str(EXAMPLES / "add_zero.py")])
    statistics = Statistics()
    session = Session(recorders=[statistics])
    module = parse_module(add("0.0"))
    GeCustomPassesPass().apply(SessionContext(session), module)
    counts = statistics.of("PythonAddZeroPass", "PythonAddZeroPass_add_zero_pattern")
    assert (counts.tried, counts.matched, counts.applied) == (1, 1, 1)
