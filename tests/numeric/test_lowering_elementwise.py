"""Elementwise chains as vector kernels: equal to the ops one by one, stored where needed."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ge_xdsl.dialects.aicore.legality import check
from ge_xdsl.dialects.ge.graph import main_function, verify
from ge_xdsl.dialects.ge.text import module_text, parse_module
from ge_xdsl.dialects.ge.types import numpy_dtype, tensor_of
from ge_xdsl.interpreters import aicore
from ge_xdsl.interpreters.compare import accept
from ge_xdsl.interpreters.ge import run_function
from ge_xdsl.lowering import lower, lowered_op_types
from ge_xdsl.lowering.calls import BYTES
from ge_xdsl.targets import target, target_names

CHIP = "Ascend910B1"


def arrays_for(func, low=-4.0, high=4.0, seed=0):
    rng = np.random.default_rng(seed)
    made = {}
    for arg in func.body.block.args:
        tensor = tensor_of(arg.type)
        dtype = numpy_dtype(tensor.dtype)
        values = rng.uniform(low, high, tensor.shape)
        made[arg.name_hint] = values.astype(dtype)
    return made


def check_graph(text, chip=CHIP, low=-4.0, high=4.0):
    """Lower, verify, round-trip, run, and hold the results against the whole-tensor run."""
    module = parse_module(text)
    verify(module)
    lowered = lower(module, chip)
    verify(lowered)
    check(lowered, target(chip))
    printed = module_text(lowered)
    assert module_text(parse_module(printed)) == printed
    func = main_function(module)
    inputs = arrays_for(func, low, high)
    got, report = aicore.run(lowered, inputs, chip)
    for g, w in zip(got, run_function(func, inputs), strict=True):
        assert g.dtype == w.dtype
        result = accept(g, w)
        assert result.ok, result.text
    return lowered, report


def unary(op, element, shape="37x129", attrs=""):
    t = f"tensor<{shape}x{element}>"
    return f"""func.func @main(%x : {t}) -> {t} {{
  %y = ge.{op}(%x) {attrs} : ({t}) -> {t}
  func.return %y : {t}
}}"""


UNARY = {
    "Relu": (-4, 4),
    "Abs": (-4, 4),
    "Neg": (-4, 4),
    "Square": (-4, 4),
    "Exp": (-4, 4),
    "Log": (0.1, 9),
    "Sqrt": (0, 9),
    "Rsqrt": (0.1, 9),
    "Reciprocal": (0.1, 9),
    "Tanh": (-12, 12),
    "Sigmoid": (-12, 12),
    "Erf": (-6, 6),
}


@pytest.mark.parametrize("element", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("op", UNARY)
def test_unary(op, element):
    _, report = check_graph(unary(op, element), low=UNARY[op][0], high=UNARY[op][1])
    assert len(report.kernels) == 1
    assert not report.calls


@pytest.mark.parametrize(("op", "witness"), [("Erf", math.erf), ("Tanh", math.tanh)])
def test_functions_made_of_instructions_against_the_c_library(op, witness):
    x = np.concatenate([np.linspace(-7, 7, 2000), np.geomspace(1e-6, 1, 48)]).astype(np.float32)
    module = lower(parse_module(unary(op, "f32", "2048")), CHIP)
    (y,), _ = aicore.run(module, {"x": x}, CHIP)
    want = np.array([witness(float(v)) for v in x])
    assert np.abs(y - want).max() < 5e-7
    nonzero = want != 0
    assert (np.abs(y - want)[nonzero] / np.abs(want[nonzero])).max() < 1e-6


@pytest.mark.parametrize("element", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("op", ["Adds", "Muls"])
def test_attribute_numbers(op, element):
    check_graph(unary(op, element, attrs="{value = 0.1}"))


def binary(op, a, b, y):
    ta, tb, ty = (f"tensor<{t}>" for t in (a, b, y))
    return f"""func.func @main(%a : {ta}, %b : {tb}) -> {ty} {{
  %y = ge.{op}(%a, %b) : ({ta}, {tb}) -> {ty}
  func.return %y : {ty}
}}"""


BINARY = ["Add", "Sub", "Mul", "RealDiv", "Div", "Maximum", "Minimum", "SquaredDifference"]


@pytest.mark.parametrize("element", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("op", BINARY)
def test_binary(op, element):
    low = 0.5 if "Div" in op else -4
    check_graph(binary(op, *[f"5x7x11x{element}"] * 3), low=low)


@pytest.mark.parametrize("op", ["Add", "Sub", "Mul", "Maximum", "Minimum"])
def test_integers(op):
    _, report = check_graph(binary(op, "64x100xi32", "100xi32", "64x100xi32"), low=-99, high=99)
    assert not report.calls


BROADCAST = [
    ("4x1x6", "1x5x1", "4x5x6"),
    ("2x3x50x50", "2x1x1x50", "2x3x50x50"),
    ("1", "64x33", "64x33"),
    ("", "64x33", "64x33"),
    ("64x1", "64x33", "64x33"),
    ("7", "5x1", "5x7"),
    ("2x1x3x1x5", "1x4x1x6x5", "2x4x3x6x5"),
    ("1x1", "1x1", "1x1"),
    ("", "", ""),
    ("100000", "100000", "100000"),
    ("3x20000", "20000", "3x20000"),
]


@pytest.mark.parametrize(("a", "b", "y"), BROADCAST)
def test_broadcast(a, b, y):
    types = (f"{t}x{'f16'}".lstrip("x") for t in (a, b, y))
    check_graph(binary("Add", *types))


@pytest.mark.parametrize(
    ("source", "dst", "number"),
    [
        ("f16", "f32", 0),
        ("f32", "f16", 1),
        ("f32", "bf16", 27),
        ("f16", "bf16", 27),
        ("f32", "i32", 3),
        ("i32", "f32", 0),
        ("bf16", "f16", 1),
    ],
)
def test_casts(source, dst, number):
    a, b = f"tensor<33x70x{source}>", f"tensor<33x70x{dst}>"
    text = f"""func.func @main(%x : {a}) -> {b} {{
  %y = ge.Cast(%x) {{dst_type = {number}}} : ({a}) -> {b}
  func.return %y : {b}
}}"""
    _, report = check_graph(text, low=-90, high=90)
    assert not report.calls


T = "tensor<64x96xf16>"


CALL, SAME = "Bitcast", "{type = DT_FLOAT16}"
"""An op without a lowering, and the attributes with which it changes nothing."""


def body(lines, results=("y",), args=("x",)):
    head = ", ".join(f"%{a} : {T}" for a in args)
    types = ", ".join([T] * len(results))
    values = ", ".join(f"%{r}" for r in results)
    text = "\n".join(f"  {line}" for line in lines)
    return f"func.func @main({head}) -> ({types}) {{\n{text}\n  func.return {values} : {types}\n}}"


def op(y, name, *args, attrs=""):
    types = ", ".join([T] * len(args))
    call = ", ".join(f"%{a}" for a in args)
    return f"%{y} = ge.{name}({call}) {attrs} : ({types}) -> {T}"


def test_a_chain_is_one_kernel():
    lines = [op("a", "Relu", "x"), op("b", "Exp", "a"), op("c", "Mul", "b", "x")]
    _, report = check_graph(body([*lines, op("y", "Add", "c", "a")]))
    assert [kernel.ops for kernel in report.kernels] == [("a", "b", "c", "y")]


@pytest.mark.parametrize("chip", target_names())
def test_a_chain_on_every_chip(chip):
    lines = [op("a", "Tanh", "x"), op("y", "Add", "a", "x")]
    _, report = check_graph(body(lines), chip)
    (kernel,) = report.kernels
    assert kernel.blocks <= target(chip).vector_cores
    assert report.target == chip


def test_an_inner_value_with_a_later_user_is_stored_too():
    lines = [op("a", "Relu", "x"), op("y", "Exp", "a"), op("z", CALL, "a", attrs=SAME)]
    lowered, report = check_graph(body(lines, ("y", "z", "a")))
    assert [kernel.ops for kernel in report.kernels] == [("a", "y")]
    assert dict(report.calls) == {CALL: 1}
    assert module_text(lowered).count("aicore.copy_ub_gm") == 2


def test_a_value_used_outside_before_the_root_cuts_the_chain():
    lines = [op("a", "Relu", "x"), op("s", CALL, "a", attrs=SAME), op("y", "Add", "a", "s")]
    _, report = check_graph(body(lines))
    assert [kernel.ops for kernel in report.kernels] == [("a",), ("y",)]


def test_a_long_chain_is_cut_at_the_limit():
    names = ["x", *(f"v{i}" for i in range(60))]
    lines = [op(b, "Relu", a) for a, b in pairwise(names)]
    _, report = check_graph(body(lines, (names[-1],)))
    assert [len(kernel.ops) for kernel in report.kernels] == [12, 24, 24]


def test_constants_of_one_number_become_scalars():
    c = "tensor<f16>"
    lines = [
        f"%k = ge.Const() {{value = dense<0.5> : {c}}} : () -> {c}",
        f"%a = ge.Mul(%k, %x) : ({c}, {T}) -> {T}",
        f"%b = ge.Sub(%a, %k) : ({T}, {c}) -> {T}",
        f"%d = ge.RealDiv(%b, %k) : ({T}, {c}) -> {T}",
        f"%y = ge.Sub(%k, %d) : ({c}, {T}) -> {T}",
    ]
    lowered, report = check_graph(body(lines))
    text = module_text(lowered)
    assert "ge.Const" not in text
    assert "{kind = adds, value = -0.5}" in text
    assert len(report.kernels) == 1


def test_bf16_is_computed_in_f32_and_rounded_after_each_op():
    t = "tensor<64xbf16>"
    text = f"""func.func @main(%x : {t}) -> {t} {{
  %a = ge.Add(%x, %x) : ({t}, {t}) -> {t}
  %y = ge.Mul(%a, %x) : ({t}, {t}) -> {t}
  func.return %y : {t}
}}"""
    lowered, _ = check_graph(text)
    for line in module_text(lowered).splitlines():
        assert "bf16" not in line or "vbinary" not in line
    module = parse_module(text)
    inputs = arrays_for(main_function(module))
    (got,), _ = aicore.run(lowered, inputs, CHIP)
    (want,) = run_function(main_function(module), inputs)
    assert (got == want).all()


DECLINED = [
    ("Add", "f64", "", "no lowering for element type DT_DOUBLE"),
    (CALL, "f16", SAME, f"no lowering: {BYTES}"),
    ("Adds", "i32", "{value = 0.5}", "no lowering for element type i32"),
    ("Asin", "i64", "", "no lowering for element type i64"),
    ("Muls", "f32", "{value = inf}", "no lowering with a value that is not finite"),
]


@pytest.mark.parametrize(("name", "element", "attrs", "why"), DECLINED)
def test_what_has_no_kernel_is_told_why(name, element, attrs, why):
    text = unary(name, element, "8", attrs)
    if name in BINARY:
        text = binary(name, *[f"8x{element}"] * 3)
    module = lower(parse_module(text), CHIP)
    assert aicore.estimate(module, CHIP).reasons == {name: [why]}


def test_control_edges_stay():
    lines = [op("a", "Relu", "x"), op("y", "Exp", "a"), op("z", "Abs", "x")]
    lines.append(f"ge.control_edge(%a, %z) : ({T}, {T}) -> ()")
    lowered, report = check_graph(body(lines, ("y", "z")))
    assert "ge.control_edge(%a, %z)" in module_text(lowered)
    assert not report.calls


def test_the_op_types_with_a_lowering():
    known = lowered_op_types()
    assert known == sorted(known)
    assert {"MatMul", "BatchMatMulV2", "Add", "Erf", "Softplus"} <= set(known)
    assert not {CALL, "Const"} & set(known)


OPS = ["Relu", "Abs", "Neg", "Square", "Add", "Sub", "Mul", "Maximum", CALL]


@st.composite
def random_graphs(draw):
    """A DAG of elementwise ops with some that stay, several outputs, values used many times."""
    values = ["x", "w"]
    lines = []
    for i in range(draw(st.integers(1, 14))):
        name = draw(st.sampled_from(OPS))
        count = 2 if name in ("Add", "Sub", "Mul", "Maximum") else 1
        args = [draw(st.sampled_from(values)) for _ in range(count)]
        lines.append(op(f"v{i}", name, *args, attrs=SAME if name == CALL else ""))
        values.append(f"v{i}")
    made = values[2:]
    results = sorted({made[-1], *draw(st.lists(st.sampled_from(made), max_size=3))})
    return body(lines, results, ("x", "w"))


@settings(max_examples=25, deadline=None)
@given(random_graphs())
def test_any_graph_keeps_its_values_exactly(text):
    module = parse_module(text)
    func = main_function(module)
    lowered = lower(module, CHIP)
    verify(lowered)
    check(lowered, target(CHIP))
    inputs = arrays_for(func, -1, 1)
    got, _ = aicore.run(lowered, inputs, CHIP)
    for g, w in zip(got, run_function(func, inputs), strict=True):
        np.testing.assert_array_equal(g, w)


T32, T16 = "tensor<37x129xf32>", "tensor<37x129xf16>"
SUM = f"""func.func @main(%a : {T32}, %b : {T32}) -> ({T32}, {T16}) {{
  %s = ge.Add(%a, %b) : ({T32}, {T32}) -> {T32}
  %early = CAST
  %y = ge.Tanh(%s) : ({T32}) -> {T32}
  %z = ge.Mul(%y, %y) : ({T32}, {T32}) -> {T32}
  %late = CAST
  func.return %z, RESULT : {T32}, {T16}
}}"""
CAST = f"ge.Cast(%s) {{dst_type = 1 : i64}} : ({T32}) -> {T16}"


@pytest.mark.parametrize("chip", ["Ascend910B1", "Ascend310P3", "Ascend950PR_958x"])
def test_a_second_result_that_is_a_cast_costs_no_kernel(chip):
    text = SUM.replace("%early = CAST", "").replace("RESULT", "%late").replace("CAST", CAST)
    _, report = check_graph(text, chip)
    assert len(report.kernels) == 1


def test_a_cast_that_is_needed_before_the_chain_stays_apart():
    text = SUM.replace("%late = CAST", "").replace("RESULT", "%early").replace("CAST", CAST)
    m, r = "tensor<37x37xf16>", "tensor<37x1xf16>"
    lines = [
        f"%m = ge.MatMul(%early, %early) {{transpose_x2 = true}} : ({T16}, {T16}) -> {m}",
        f"%r = ge.ReduceMaxD(%m) {{axes = [1], keep_dims = true}} : ({m}) -> {r}",
        f"%w = ge.Cast(%r) {{dst_type = 0 : i64}} : ({r}) -> tensor<37x1xf32>",
        "%y = ge.Tanh(%s)",
    ]
    text = text.replace(lines[-1], "\n  ".join(lines))
    text = text.replace(f"(%y, %y) : ({T32}, {T32})", f"(%y, %w) : ({T32}, tensor<37x1xf32>)")
    _, report = check_graph(text)
    assert "MatMul" in [kernel.name for kernel in report.kernels]
