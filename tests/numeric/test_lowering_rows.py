"""Views, reductions, row kernels and the wider elementwise ops as tile programs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lowering_check import CHIP, check_graph, const, graph

from ge_xdsl.dialects.ge.text import module_text, parse_module
from ge_xdsl.interpreters import aicore
from ge_xdsl.interpreters.timing import report_table
from ge_xdsl.lowering import lower
from ge_xdsl.lowering.tensors import UNKNOWN
from ge_xdsl.targets import target

FLOATS = ["f32", "f16", "bf16"]

VIEWS = [
    ([const("s", "[6, -1]", "2xi64"), "y = ge.Reshape(x, s) -> 6x4xf16"], "2x3x4xf16"),
    (["y = ge.Flatten(x) -> 2x12xf16"], "2x3x4xf16"),
    (["y = ge.FlattenV2(x) {axis = 1 : i64} -> 2x12xf16"], "2x3x4xf16"),
    (["y = ge.Squeeze(x) {axis = [1]} -> 2x4xi64"], "2x1x4xi64"),
    (["y = ge.Unsqueeze(x) {axes = [0]} -> 1x2x4xf32"], "2x4xf32"),
    ([const("a", "0", "i32"), "y = ge.ExpandDims(x, a) -> 1x2x4xi8"], "2x4xi8"),
    (["y = ge.Identity(x) -> 2x4xf64"], "2x4xf64"),
]


@pytest.mark.parametrize(("lines", "x"), VIEWS)
def test_views_take_no_kernel(lines, x):
    lowered, report = check_graph(graph(lines, "y", x=x), exact=True)
    assert report.views == 1
    assert not report.kernels
    assert report.us == 0
    assert "ops: 0 timed, 1 views, 0 not timed" in report_table(report)
    assert report.to_json()["views"] == 1
    assert "aicore.view %x" in module_text(lowered)


def test_an_empty_tensor_is_no_view():
    text = graph(["y = ge.Flatten(x) -> 0x12xf16"], "y", x="0x3x4xf16")
    report = aicore.estimate(lower(parse_module(text), CHIP), CHIP)
    assert report.reasons == {"Flatten": ["no lowering for a tensor without elements"]}


REDUCED = [
    ("37x129", "[1]", "37"),
    ("5x6x70", "[1, 2]", "5"),
    ("5x6x70", "[0, 1, 2]", ""),
    ("3x40x33", "[1]", "3x33"),
    ("3x40x33", "[0]", "40x33"),
    ("2x3x4x5x7", "[2, 3]", "2x3x7"),
    ("1x20000", "[1]", "1"),
    ("9x5000", "[0]", "5000"),
    ("4x1x64x1", "[2, 3]", "4x1"),
]


@pytest.mark.parametrize("element", FLOATS)
@pytest.mark.parametrize("kind", ["Sum", "Mean", "Max", "Min"])
@pytest.mark.parametrize(("shape", "axes", "left"), REDUCED)
def test_reductions(kind, shape, axes, left, element):
    out = f"{left}x{element}".lstrip("x")
    lines = [const("a", axes, f"{axes.count(',') + 1}xi64"), f"y = ge.Reduce{kind}(x, a) -> {out}"]
    lowered, report = check_graph(graph(lines, "y", x=f"{shape}x{element}"), low=0.1)
    assert len(report.kernels) == 1
    assert f"kind = {kind.lower() if kind != 'Mean' else 'sum'}" in module_text(lowered)


@pytest.mark.parametrize("keep", [True, False])
def test_reductions_by_attribute(keep):
    out = "8x1xf32" if keep else "8xf32"
    attrs = f"{{axes = [-1], keep_dims = {str(keep).lower()}}}"
    check_graph(graph([f"y = ge.ReduceMaxD(x) {attrs} -> {out}"], "y", x="8x100xf32"))


ROWS = [
    "y = ge.SoftmaxV2(x) -> {x}",
    "y = ge.SoftmaxV2(x) {{axes = [1]}} -> {x}",
    "y = ge.LogSoftmaxV2(x) -> {x}",
]
SHAPES = ["3x7x129", "2x48x5", "1x1x3000", "200x4x16"]


@pytest.mark.parametrize("element", FLOATS)
@pytest.mark.parametrize(
    ("line", "shape"),
    [
        (line, shape)
        for line in ROWS
        for shape in SHAPES
        if "axes = [1]" not in line or not shape.startswith("1x1x")  # a softmax of one element
    ],
)
def test_softmax(line, shape, element):
    x = f"{shape}x{element}"
    _, report = check_graph(graph([line.format(x=x)], "y", x=x))
    assert len(report.kernels) == 1


@pytest.mark.parametrize("element", FLOATS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ["LayerNorm", "LayerNormV3"])
def test_layer_norm_with_all_results(name, shape, element):
    *lead, last = shape.split("x")
    kept = f"{'x'.join(lead)}x1x{element}"
    x, g = f"{shape}x{element}", f"{last}x{element}"
    attrs = "{begin_norm_axis = -1 : i64, begin_params_axis = -1 : i64, epsilon = 0.00001}"
    line = f"y, m, v = ge.{name}(x, g, b) {attrs} -> {x}, {kept}, {kept}"
    _, report = check_graph(graph([line], "y, m, v", x=x, g=g, b=g))
    assert len(report.kernels) == 1


def test_layer_norm_over_two_dimensions():
    line = (
        "y, m, v = ge.LayerNorm(x, g, b) {begin_norm_axis = 1 : i64, begin_params_axis = 1 : i64} "
        "-> 6x5x8xf32, 6x1x1xf32, 6x1x1xf32"
    )
    check_graph(graph([line], "y, v", x="6x5x8xf32", g="5x8xf32", b="5x8xf32"))


def test_layer_norm_against_its_formula():
    line = (
        "y, m, v = ge.LayerNorm(x, g, b) {begin_norm_axis = 1 : i64, epsilon = 0.001} "
        "-> 9x65xf32, 9x1xf32, 9x1xf32"
    )
    rng = np.random.default_rng(3)
    x, g, b = rng.normal(size=(9, 65)), rng.normal(size=65), rng.normal(size=65)
    module = lower(parse_module(graph([line], "y", x="9x65xf32", g="65xf32", b="65xf32")), CHIP)
    arrays = {k: v.astype(np.float32) for k, v in {"x": x, "g": g, "b": b}.items()}
    (y,), _ = aicore.run(module, arrays, CHIP)
    centred = x - x.mean(1, keepdims=True)
    want = centred / np.sqrt((centred**2).mean(1, keepdims=True) + 0.001) * g + b
    assert np.abs(y - want).max() < 2e-5


def test_layer_norm_v4():
    lines = [
        const("n", "[40]", "1xi64"),
        "y, m, r = ge.LayerNormV4(x, n, gamma=g, beta=b) -> 7x40xf16, 7x1xf32, 7x1xf32",
    ]
    check_graph(graph(lines, "y, m, r", x="7x40xf16", g="40xf16", b="40xf16"))


@pytest.mark.parametrize("element", FLOATS)
@pytest.mark.parametrize("shape", SHAPES)
def test_rms_norm(shape, element):
    *lead, last = shape.split("x")
    kept = f"{'x'.join(lead)}x1xf32"
    x, g = f"{shape}x{element}", f"{last}x{element}"
    check_graph(graph([f"y, r = ge.RmsNorm(x, g) -> {x}, {kept}"], "y, r", x=x, g=g))


def test_global_average_pool():
    check_graph(graph(["y = ge.GlobalAveragePool(x) -> 2x5x1x1xf32"], "y", x="2x5x9x7xf32"))


def test_producers_and_consumers_join_a_row_kernel():
    t = "4x6x50xf16"
    lines = [f"a = ge.Add(x, m) -> {t}", f"s = ge.SoftmaxV2(a) -> {t}", f"y = ge.Relu(s) -> {t}"]
    _, report = check_graph(graph(lines, "y", x=t, m="50xf16"))
    assert [kernel.ops for kernel in report.kernels] == [("a", "s", "y")]


def test_a_norm_in_pieces_is_one_kernel():
    t, s = "12x80xf32", "12x1xf32"
    lines = [
        const("a", "[1]", "1xi64"),
        const("e", "1.0e-05", "f32"),
        f"m = ge.ReduceMean(x, a) {{keep_dims = true}} -> {s}",
        f"c = ge.Sub(x, m) -> {t}",
        f"q = ge.Square(c) -> {t}",
        f"v = ge.ReduceMean(q, a) {{keep_dims = true}} -> {s}",
        f"w = ge.Add(v, e) -> {s}",
        f"d = ge.Sqrt(w) -> {s}",
        f"y = ge.RealDiv(c, d) -> {t}",
    ]
    lowered, report = check_graph(graph(lines, "y, v", x=t))
    assert [len(kernel.ops) for kernel in report.kernels] == [7]
    assert module_text(lowered).count("aicore.copy_gm_ub") == 1


def test_a_reduction_at_the_end_takes_its_producers():
    lines = [
        const("a", "[1]", "1xi64"),
        "c = ge.Mul(x, x) -> 12x80xf32",
        "y = ge.ReduceSum(c, a) -> 12xf32",
    ]
    _, report = check_graph(graph(lines, "y", x="12x80xf32"))
    assert [kernel.ops for kernel in report.kernels] == [("c", "y")]


IN_PARTS = [
    # i32, dimensions that are not neighbours, one element, rows and columns that are too long
    ("ReduceSum", "4x5xi32", "[1]", "4xi32", 1),
    ("ReduceSum", "4x5x6xf32", "[0, 2]", "5xf32", 2),
    ("ReduceSum", "4x1xf32", "[1]", "4xf32", 0),
    ("ReduceSum", "2x100000xf32", "[1]", "2xf32", 2),
    ("ReduceMax", "9000x17xf32", "[0]", "17xf32", 2),
]


@pytest.mark.parametrize(("name", "x", "axes", "y", "kernels"), IN_PARTS)
def test_what_no_kernel_reduces_at_once(name, x, axes, y, kernels):
    lines = [const("a", axes, f"{axes.count(',') + 1}xi64"), f"y = ge.{name}(x, a) -> {y}"]
    _, report = check_graph(graph(lines, "y", x=x))
    assert len(report.kernels) == kernels


DECLINED = [
    ("ReduceMean", "4x5xi32", "[1]", "4xi32", "no lowering for a reduction of element type i32"),
    ("ReduceSum", "4x5xf64", "[1]", "4xf64", "no lowering for element type DT_DOUBLE"),
]


@pytest.mark.parametrize(("name", "x", "axes", "y", "why"), DECLINED)
def test_what_is_not_reduced_is_told_why(name, x, axes, y, why):
    lines = [const("a", axes, f"{axes.count(',') + 1}xi64"), f"y = ge.{name}(x, a) -> {y}"]
    report = aicore.estimate(lower(parse_module(graph(lines, "y", x=x)), CHIP), CHIP)
    assert report.reasons == {name: [why]}


def test_axes_that_are_not_known():
    text = graph(
        ["y = ge.ReduceSum(x, a) {keep_dims = true} -> ?x?xf32"], "y", x="4x5xf32", a="1xi64"
    )
    report = aicore.estimate(lower(parse_module(text), CHIP), CHIP)
    assert report.reasons["ReduceSum"] == [UNKNOWN]


BATCH_NORM = "y, a, b, d, e, f = ge.BatchNorm(x, s, o, mean=m, variance=v)"
CHANNELS = ["2x5x6x7", "1x64x3x3", "3x17"]


@pytest.mark.parametrize("element", FLOATS)
@pytest.mark.parametrize("shape", CHANNELS)
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_batch_norm(shape, element, layout):
    dims = shape.split("x")
    c = dims[1] if layout == "NCHW" else dims[-1]
    t, p = f"{shape}x{element}", f"{c}xf32"
    attrs = f'{{is_training = false, data_format = "{layout}"}}'
    line = f"{BATCH_NORM} {attrs} -> {t}, {p}, {p}, {p}, {p}, 1xf32"
    text = graph([line], "y", x=t, s=p, o=p, m=p, v=p)
    _, report = check_graph(text, low=0.5)
    assert len(report.kernels) == 1


def test_batch_norm_whose_statistics_are_used():
    p = "5xf32"
    attrs = '{is_training = false, data_format = "NCHW"}'
    line = f"{BATCH_NORM} {attrs} -> 2x5x6xf32, {p}, {p}, {p}, {p}, 1xf32"
    text = graph([line], "y, a", x="2x5x6xf32", s=p, o=p, m=p, v=p)
    check_graph(text, low=0.5)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_bias_add(layout):
    c = 5 if layout == "NCHW" else 7
    line = f'y = ge.BiasAdd(x, b) {{data_format = "{layout}"}} -> 2x5x6x7xf16'
    check_graph(graph([line], "y", x="2x5x6x7xf16", b=f"{c}xf16"))


UNARY = {
    "Relu6": "",
    "LeakyRelu": "{negative_slope = 0.1}",
    "HardSigmoid": "{alpha = 0.2, beta = 0.5}",
    "HardSwish": "",
    "Swish": "{scale = 1.5}",
    "FastGelu": "",
    "Gelu": "",
    "GeluV2": "",
}


@pytest.mark.parametrize("element", FLOATS)
@pytest.mark.parametrize("name", UNARY)
def test_activations(name, element):
    t = f"33x70x{element}"
    _, report = check_graph(graph([f"y = ge.{name}(x) {UNARY[name]} -> {t}"], "y", x=t))
    assert len(report.kernels) == 1


@pytest.mark.parametrize("element", [*FLOATS, "i32"])
@pytest.mark.parametrize("known", [True, False])
def test_clip(known, element):
    t = f"33x70x{element}"
    one = "1" if element == "i32" else "1.0"
    lines = [f"y = ge.ClipByValue(x, l, h) -> {t}"]
    types = {"x": t}
    if known:
        lines = [const("l", f"-{one}", element), const("h", one, element), *lines]
    else:
        types |= {"l": element, "h": element}
    lowered, _ = check_graph(
        graph(lines, "y", **types),
        inputs=None if known else {"l": _one(element, -1), "h": _one(element, 2)},
        exact=True,
    )
    assert ("mins" in module_text(lowered)) == known


def _one(element, value):
    from ge_xdsl.dialects.ge.types import numpy_dtype, tensor_of

    module = parse_module(f"func.func @main(%x : tensor<{element}>) -> () {{ func.return }}")
    (func,) = module.body.block.ops
    return np.array(value, numpy_dtype(tensor_of(func.body.block.args[0].type).dtype))


@pytest.mark.parametrize("element", FLOATS)
@pytest.mark.parametrize(
    "name", ["Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual"]
)
def test_comparisons(name, element):
    rng = np.random.default_rng(1)
    line = f"y = ge.{name}(a, b) -> 33x70xi1"
    text = graph([line], "y", a=f"33x70x{element}", b=f"70x{element}")
    x = np.trunc(rng.uniform(-2, 2, (33, 70)))
    kind = _one(element, 0).dtype
    inputs = {"a": x.astype(kind), "b": x[3].astype(kind)}
    check_graph(text, inputs=inputs, exact=True)


@pytest.mark.parametrize("name", ["Equal", "NotEqual"])
def test_integers_that_differ_in_their_last_bit(name):
    text = graph([f"y = ge.{name}(a, b) -> 64xi1"], "y", a="64xi32", b="64xi32")
    a = np.arange(2**31 - 64, 2**31, dtype=np.int64).astype(np.int32)
    b = a.copy()
    b[::3] ^= 1
    b[1] = -(2**31)
    check_graph(text, inputs={"a": a, "b": b}, exact=True)


@pytest.mark.parametrize("element", [*FLOATS, "i32"])
def test_select_with_broadcasts(element):
    t = f"4x33x70x{element}"
    line = f"y = ge.SelectV2(c, a, b) -> {t}"
    check_graph(graph([line], "y", c="33x1xi1", a=t, b=f"70x{element}"), exact=True)


def test_a_comparison_feeds_a_select_as_bits():
    t = "33x70xf16"
    lines = ["c = ge.Greater(a, b) -> 33x70xi1", f"y = ge.SelectV2(c, a, b) -> {t}"]
    lowered, report = check_graph(graph(lines, "y", a=t, b=t), exact=True)
    assert len(report.kernels) == 1
    assert module_text(lowered).count("aicore.vcmp") == 1


def test_logic_and_masks():
    lines = [
        "n = ge.LogicalNot(a) -> 33x70xi1",
        "o = ge.LogicalOr(n, b) -> 33x70xi1",
        "p = ge.LogicalAnd(o, a) -> 33x70xi1",
        const("v", "-1.0e+04", "f16"),
        "y = ge.MaskedFill(x, p, v) -> 33x70xf16",
    ]
    check_graph(graph(lines, "y, p", a="33x70xi1", b="33x70xi1", x="33x70xf16"), exact=True)


CASTS = [
    *(("i1", e, c) for e, c in (("f16", 1), ("f32", 0), ("bf16", 27), ("i32", 3))),
    *((e, "i1", 12) for e in ("f16", "f32", "bf16", "i32")),
    *(("i64", e, c) for e, c in (("f32", 0), ("i32", 3))),
    *((e, "i64", 9) for e in ("f32", "f16", "i32")),
]


@pytest.mark.parametrize(("source", "dst", "number"), CASTS)
def test_casts(source, dst, number):
    line = f"y = ge.Cast(x) {{dst_type = {number} : i64}} -> 33x70x{dst}"
    check_graph(graph([line], "y", x=f"33x70x{source}"), low=-2, high=2, exact=True)


BROADCASTS = [("33x1", "33x70"), ("1x70", "33x70"), ("70", "4x33x70"), ("", "5x6"), ("5x6", "5x6")]


@pytest.mark.parametrize("element", ["f16", "i32"])
@pytest.mark.parametrize("name", ["BroadcastTo", "Expand"])
@pytest.mark.parametrize(("x", "y"), BROADCASTS)
def test_broadcasts(name, x, y, element):
    dims = y.split("x")
    kind = f"{len(dims)}xi64"
    lines = [const("s", f"[{', '.join(dims)}]", kind), f"y = ge.{name}(x, s) -> {y}x{element}"]
    check_graph(graph(lines, "y", x=f"{x}x{element}".lstrip("x")), exact=True)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.integers(1, 22), min_size=1, max_size=3),
    st.sampled_from(["SoftmaxV2", "ReduceMax", "ReduceMean", "LayerNorm"]),
    st.integers(0, 3),
    st.sampled_from(FLOATS),
)
def test_any_shape(dims, name, axis, element):
    axis %= len(dims)
    x = "x".join(map(str, dims)) + f"x{element}"
    kept = [
        1 if (i >= axis and name == "LayerNorm") or i == axis else d for i, d in enumerate(dims)
    ]
    k = "x".join(map(str, kept)) + f"x{element}"
    lines = [f"y = ge.SoftmaxV2(x) {{axes = [{axis}]}} -> {x}"]
    if name.startswith("Reduce"):
        lines = [
            const("a", f"[{axis}]", "1xi64"),
            f"y = ge.{name}(x, a) {{keep_dims = true}} -> {k}",
        ]
    if name == "LayerNorm":
        lines = [
            f"y, m, v = ge.LayerNorm(x, x, x) {{begin_norm_axis = {axis} : i64, epsilon = 0.01}} "
            f"-> {x}, {k}, {k}"
        ]
    text = graph(lines, "y", x=x)
    check_graph(text)


@pytest.mark.parametrize("chip", ["Ascend910A", "Ascend950PR_958x", "Ascend910B4"])
def test_row_kernels_on_other_chips(chip):
    _, report = check_graph(graph(["y = ge.SoftmaxV2(x) -> 40x300xf16"], "y", x="40x300xf16"), chip)
    assert report.kernels[0].blocks <= target(chip).vector_cores


def test_long_rows_give_up_their_second_buffers():
    t = "3x8192xf32"
    lowered, _ = check_graph(
        graph([f"y, r = ge.RmsNorm(x, g) -> {t}, 3x1xf32"], "y, r", x=t, g="8192xf32")
    )
    assert "buffers 2" not in module_text(lowered)


def test_longer_rows_take_longer():
    def us(cols):
        x = f"4096x{cols}xf32"
        text = graph([f"y = ge.SoftmaxV2(x) -> {x}"], "y", x=x)
        return aicore.estimate(lower(parse_module(text), CHIP), CHIP).us

    assert us(64) < us(256) < us(1024) < us(4096)
