"""Matrix products as tile programs on every arch: equal to the whole-tensor op."""

import numpy as np
import pytest

from ge_xdsl.dialects.aicore.legality import check
from ge_xdsl.dialects.ge.graph import main_function, verify
from ge_xdsl.dialects.ge.text import module_text, parse_module
from ge_xdsl.dialects.ge.types import dtype_of_numpy, tensor_of
from ge_xdsl.errors import CompileError
from ge_xdsl.interpreters import aicore
from ge_xdsl.interpreters.compare import THRESHOLD, accept
from ge_xdsl.interpreters.ge import run_function
from ge_xdsl.lowering import lower
from ge_xdsl.lowering.tensors import UNKNOWN
from ge_xdsl.targets import target

NUMPY = {"f16": "float16", "bf16": "bfloat16", "f32": "float32"}


def arrays_for(func, seed=0):
    import ml_dtypes

    rng = np.random.default_rng(seed)
    made = {}
    for i, arg in enumerate(func.body.block.args):
        tensor = tensor_of(arg.type)
        name = NUMPY[str(arg.type.element_type)]
        dtype = np.dtype(getattr(ml_dtypes, name) if name == "bfloat16" else name)
        made[arg.name_hint or f"input_{i}"] = rng.normal(size=tensor.shape).astype(dtype)
    return made


def check_graph(text, chip="Ascend910B1", calls=None):
    """Lower, verify, round-trip, run, and compare with the whole-tensor run."""
    module = parse_module(text)
    verify(module)
    before = module_text(module)
    lowered = lower(module, chip)
    assert module_text(module) == before
    verify(lowered)
    check(lowered, target(chip))
    printed = module_text(lowered)
    again = parse_module(printed)
    verify(again)
    assert module_text(again) == printed
    func = main_function(module)
    inputs = arrays_for(func)
    want = run_function(func, inputs)
    got, report = aicore.run(lowered, inputs, chip)
    for g, w in zip(got, want, strict=True):
        assert g.dtype == w.dtype
        result = accept(g, w, dtype_of_numpy(w.dtype))
        # sums of a product cancel: the largest relative error of few elements tells nothing
        assert result.mere < THRESHOLD[dtype_of_numpy(w.dtype)], result.text
        assert result.plain or w.dtype.name == "bfloat16", result.text
    assert dict(report.calls) == (calls or {})
    return lowered, report


def matmul(m, k, n, dtype="f16", t1=False, t2=False, bias=False, relu=False, op="MatMul"):
    x1 = f"tensor<{k}x{m}x{dtype}>" if t1 else f"tensor<{m}x{k}x{dtype}>"
    x2 = f"tensor<{n}x{k}x{dtype}>" if t2 else f"tensor<{k}x{n}x{dtype}>"
    y = f"tensor<{m}x{n}x{dtype}>"
    b = f"tensor<{n}x{dtype}>"
    more = f", %b : {b}" if bias else ""
    attrs = f"{{transpose_x1 = {str(t1).lower()}, transpose_x2 = {str(t2).lower()}}}"
    call = "%x1, %x2, bias = %b" if bias else "%x1, %x2"
    types = f"({x1}, {x2}, {b})" if bias else f"({x1}, {x2})"
    lines = [f"  %y = ge.{op}({call}) {attrs} : {types} -> {y}"]
    if relu:
        lines.append(f"  %z = ge.Relu(%y) : ({y}) -> {y}")
    lines.append(f"  func.return %{'z' if relu else 'y'} : {y}")
    head = f"func.func @main(%x1 : {x1}, %x2 : {x2}{more}) -> {y} {{"
    return "\n".join([head, *lines, "}"])


@pytest.mark.parametrize("chip", ["Ascend910B1", "Ascend910B4", "Ascend950PR_958x"])
@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32"])
@pytest.mark.parametrize("turn", [(False, False), (True, False), (False, True), (True, True)])
def test_types_and_transposes(chip, dtype, turn):
    check_graph(matmul(70, 100, 90, dtype, *turn), chip)


@pytest.mark.parametrize(
    "shape",
    [(1, 1, 1), (1, 768, 33), (16, 384, 1536), (129, 257, 65), (300, 17, 500), (33, 1000, 1)],
)
def test_shapes_with_tails(shape):
    check_graph(matmul(*shape))


@pytest.mark.parametrize("dtype", ["f16", "f32"])
@pytest.mark.parametrize("relu", [False, True])
def test_bias_and_relu(dtype, relu):
    lowered, report = check_graph(matmul(50, 320, 700, dtype, bias=True, relu=relu))
    assert len(report.kernels) == 1
    assert ("{relu}" in module_text(lowered)) == relu


def test_long_k_runs_through_several_l1_tiles():
    lowered, _ = check_graph(matmul(16, 5000, 40, "f32", op="MatMulV2"))
    assert "in [5000] by" in module_text(lowered)


BATCHED = [
    ("8x24x40", "8x40x56", "8x24x56", False, False),
    ("2x3x24x40", "2x3x40x56", "2x3x24x56", False, False),
    ("2x3x24x40", "2x3x56x40", "2x3x24x56", False, True),
    ("2x3x40x24", "2x3x40x56", "2x3x24x56", True, False),
    ("2x3x24x40", "40x56", "2x3x24x56", False, False),
    ("2x3x40x24", "40x56", "2x3x24x56", True, False),
    ("24x40", "2x3x40x56", "2x3x24x56", False, False),
    ("3x24x40", "1x40x56", "3x24x56", False, False),
]


@pytest.mark.parametrize(("a", "b", "y", "adj1", "adj2"), BATCHED)
def test_batches(a, b, y, adj1, adj2):
    adj = f"{{adj_x1 = {str(adj1).lower()}, adj_x2 = {str(adj2).lower()}}}"
    check_graph(
        f"""func.func @main(%a : tensor<{a}xf16>, %b : tensor<{b}xf16>) -> tensor<{y}xf16> {{
  %y = ge.BatchMatMulV2(%a, %b) {adj} : (tensor<{a}xf16>, tensor<{b}xf16>) -> tensor<{y}xf16>
  func.return %y : tensor<{y}xf16>
}}"""
    )


def graph(op, types, result):
    names = [f"%v{i}" for i in range(len(types))]
    args = ", ".join(f"{n} : tensor<{t}>" for n, t in zip(names, types, strict=True))
    call = ", ".join([*names[:2], *(f"bias = {n}" for n in names[2:])])
    listed = ", ".join(f"tensor<{t}>" for t in types)
    return f"""func.func @main({args}) -> tensor<{result}> {{
  %y = ge.{op}({call}) : ({listed}) -> tensor<{result}>
  func.return %y : tensor<{result}>
}}"""


IN_STEPS = [
    # batches that broadcast in part, a bias of bf16, one that is no row
    ("BatchMatMul", ["2x1x8x8xf16", "1x3x8x8xf16"], "2x3x8x8xf16"),
    ("MatMul", ["8x8xbf16", "8x8xbf16", "8xbf16"], "8x8xbf16"),
    ("BatchMatMulV2", ["2x8x8xf16", "2x8x8xf16", "2x8x8xf16"], "2x8x8xf16"),
]


@pytest.mark.parametrize(("op", "types", "result"), IN_STEPS)
def test_products_that_take_several_kernels(op, types, result):
    _, report = check_graph(graph(op, types, result))
    assert "cube" in {kernel.core for kernel in report.kernels}


@pytest.mark.parametrize(
    ("types", "result", "why"),
    [
        (["?x8xf16", "8x8xf16"], "?x8xf16", UNKNOWN),
        (["8x8xi32", "8x8xi32"], "8x8xi32", "no lowering for element type DT_INT32"),
    ],
)
def test_what_stays_is_told_why(types, result, why):
    module = lower(parse_module(graph("MatMulV2", types, result)), "Ascend910B1")
    report = aicore.estimate(module, "Ascend910B1")
    assert report.reasons["MatMulV2"] == [why]


COUPLED = [
    (matmul(8, 8, 8), "f16"),
    (matmul(17, 33, 129, t1=True, relu=True), "f16"),
    (matmul(128, 64, 200, bias=True, relu=True), "f32"),
    (matmul(300, 700, 500, t2=True), "f16"),
    (matmul(1000, 96, 600, bias=True), "f32"),
    (matmul(1, 1024, 1000), "f16"),
    (matmul(2048, 64, 64), "f16"),
]
"""Products, and the element type in which their sums come to UB."""


@pytest.mark.parametrize("chip", ["Ascend910A", "Ascend310P3"])
@pytest.mark.parametrize(("text", "element"), COUPLED)
def test_a_chip_without_fixpipe_drains_products_through_ub(text, element, chip):
    lowered, report = check_graph(text, chip)
    (kernel,) = report.kernels
    assert kernel.core == "cube"
    assert kernel.busy["V"] > 0
    assert kernel.busy["MTE3"] > 0
    assert kernel.busy.get("FIX", 0) == 0
    printed = module_text(lowered)
    assert "fixpipe" not in printed
    assert "load_bias" not in printed
    sums = next(line for line in printed.splitlines() if "copy_l0c_ub" in line)
    assert sums.endswith(f"x{element}, ub>")


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_a_chip_without_wide_factors_keeps_their_products(dtype):
    _, report = check_graph(matmul(8, 8, 8, dtype=dtype), "Ascend910A", calls={"MatMul": 1})
    assert report.reasons["MatMul"] == [
        f"no {dtype} factors on the cube unit of Ascend910A, expected f16, i8 or ui8"
    ]


def test_equal_products_share_a_kernel():
    t = "tensor<32x32xf16>"
    text = f"""func.func @main(%x : {t}, %a : {t}, %b : {t}) -> {t} {{
  %u = ge.MatMul(%x, %a) : ({t}, {t}) -> {t}
  %v = ge.MatMul(%u, %b) : ({t}, {t}) -> {t}
  func.return %v : {t}
}}"""
    lowered, report = check_graph(text)
    assert module_text(lowered).count("aicore.kernel @") == 1
    assert [kernel.ops for kernel in report.kernels] == [("u",), ("v",)]


def test_a_result_that_others_use_keeps_its_relu_apart():
    text = """func.func @main(%x : tensor<32x32xf16>) -> (tensor<32x32xf16>, tensor<32x32xf16>) {
  %u = ge.MatMul(%x, %x) : (tensor<32x32xf16>, tensor<32x32xf16>) -> tensor<32x32xf16>
  %v = ge.Relu(%u) : (tensor<32x32xf16>) -> tensor<32x32xf16>
  func.return %u, %v : tensor<32x32xf16>, tensor<32x32xf16>
}"""
    _, report = check_graph(text)
    assert [kernel.core for kernel in report.kernels] == ["cube", "vector"]


def test_wide_factors_are_refused_by_the_cube_unit_of_arch_100():
    lowered = lower(parse_module(matmul(16, 16, 16, dtype="bf16")), "Ascend910B1")
    message = "aicore.mmad in @MatMul: of bf16 factors is of arch 2201 and 3510, expected one"
    with pytest.raises(CompileError, match=message):
        check(lowered, target("Ascend910A"))
