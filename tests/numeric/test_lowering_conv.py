"""Convolutions and pools as tile programs: on the cube, by kernel taps, and as products."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lowering_check import CHIP, check_graph, graph

from ge_xdsl.dialects.aicore.types import Tile
from ge_xdsl.dialects.ge.text import module_text, parse_module
from ge_xdsl.interpreters import aicore
from ge_xdsl.interpreters.cycles import time_kernel
from ge_xdsl.lowering import lower
from ge_xdsl.lowering.conv import blocked_filter, filter_movement
from ge_xdsl.targets import target

FLOATS = ["f32", "f16"]


def weight(shape, element, seed=0):
    """A constant filter as text."""
    values = np.random.default_rng(seed).uniform(-1, 1, shape).round(2)
    t = f"{'x'.join(map(str, shape))}x{element}"
    return f"w = ge.Const() {{value = dense<{values.tolist()}> : tensor<{t}>}} -> {t}"


def conv(
    x,
    w,
    element="f16",
    stride=(1, 1),
    pads=(0, 0, 0, 0),
    dilation=(1, 1),
    groups=1,
    bias="",
    relu="",
    form="NCHW",
    constant=True,
    op="Conv2D",
):
    """The graph of one convolution, of shapes given as tuples."""
    nhwc = form == "NHWC"
    size = x[1:3] if nhwc else x[2:]
    kernel = w[:2] if nhwc or op == "DepthwiseConv2D" else w[2:]
    counts = [
        (s + pads[2 * i] + pads[2 * i + 1] - (k - 1) * d - 1) // st_ + 1
        for i, (s, k, st_, d) in enumerate(zip(size, kernel, stride, dilation, strict=True))
    ]
    out = w[3] if nhwc else w[0]
    if op == "DepthwiseConv2D":
        out = w[2] * w[3]
    shape = (x[0], *counts, out) if nhwc else (x[0], out, *counts)
    y = f"{'x'.join(map(str, shape))}x{element}"
    spatial = (lambda a, b: f"[1, {a}, {b}, 1]") if nhwc else (lambda a, b: f"[1, 1, {a}, {b}]")
    attrs = (
        f"{{strides = {spatial(*stride)}, pads = {list(pads)}, dilations = {spatial(*dilation)}, "
        f'data_format = "{form}"'
    )
    attrs += f", groups = {groups} : i64}}" if op != "DepthwiseConv2D" else "}"
    types = {"x": f"{'x'.join(map(str, x))}x{element}"}
    if not constant:
        types["w"] = f"{'x'.join(map(str, w))}x{element}"
    if bias:
        types["b"] = f"{out}x{bias}"
    named = "b" if op.startswith("Fused") else "bias=b"
    args = f"x, w, {named}" if bias else "x, w"
    lines = [weight(w, element)] if constant else []
    lines.append(f"y = ge.{op}({args}) {attrs} -> {y}")
    if relu:
        lines.append(f"z = ge.Relu(y) -> {y}")
    return graph(lines, "z" if relu else "y", **types)


CASES = [
    {"x": (1, 3, 20, 24), "w": (8, 3, 3, 3), "stride": (2, 2), "pads": (1, 1, 1, 1)},
    {"x": (2, 20, 9, 7), "w": (17, 20, 3, 3), "pads": (1, 1, 1, 1)},
    {"x": (1, 5, 12, 40), "w": (33, 5, 5, 3), "pads": (2, 0, 1, 3), "stride": (1, 3)},
    {"x": (1, 4, 15, 15), "w": (6, 4, 3, 3), "dilation": (2, 3), "pads": (2, 2, 3, 3)},
    {"x": (1, 16, 9, 9), "w": (16, 16, 7, 7), "stride": (4, 4), "pads": (3, 3, 3, 3)},
    {"x": (2, 12, 8, 8), "w": (8, 3, 3, 3), "groups": 4, "pads": (1, 1, 1, 1)},
    {"x": (1, 40, 6, 6), "w": (10, 20, 1, 1), "groups": 2},
    {"x": (1, 6, 5, 5), "w": (4, 6, 5, 5)},
    {"x": (1, 3, 6, 6), "w": (1, 3, 3, 3)},
    {"x": (1, 70, 3, 3), "w": (20, 70, 1, 1), "stride": (2, 2)},
    {"x": (1, 2, 3, 300), "w": (3, 2, 2, 2), "pads": (0, 1, 0, 1)},
]


@pytest.mark.parametrize("element", FLOATS)
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_im2col_products(case, bias, element):
    kind = element if bias else ""
    lowered, report = check_graph(
        conv(**case, element=element, bias=kind, relu="z"), low=-1, high=1
    )
    text = module_text(lowered)
    assert "aicore.load3d" in text
    assert "{relu}" in text
    assert report.timed == 2
    assert len(report.kernels) >= 2


@pytest.mark.parametrize("case", CASES[:6])
def test_filters_that_are_inputs_are_put_in_blocks_by_a_kernel(case):
    _, report = check_graph(conv(**case, constant=False), low=-1, high=1)
    names = [kernel.name for kernel in report.kernels]
    assert names[:3] == ["TransData", "TransData_1", "Conv2D"]


@pytest.mark.parametrize(
    ("shape", "axes", "groups", "c0"),
    [
        ((32, 16, 3, 3), (0, 1, 2, 3), 1, 16),
        ((40, 20, 3, 2), (0, 1, 2, 3), 2, 16),
        ((3, 3, 5, 40), (3, 2, 0, 1), 1, 16),
        ((8, 3, 7, 7), (0, 1, 2, 3), 1, 8),
    ],
)
def test_a_moved_filter_is_the_stored_one(shape, axes, groups, c0):
    """Each element is written once."""
    array = np.arange(1, np.prod(shape) + 1, dtype=np.float32).reshape(shape)
    movement = filter_movement(shape, axes, groups, c0, "f32")
    got = np.full(movement.outputs[0], np.nan, np.float32)
    for copy in movement.copies:
        places = np.indices(copy.shape).reshape(len(copy.shape), -1).T
        to = copy.dst.offset + places @ copy.dst.strides
        assert np.isnan(got[to]).all()
        come = places @ copy.src.strides + copy.src.offset if copy.src else None
        got[to] = 0 if come is None else array.reshape(-1)[come]
    want = blocked_filter(array.transpose(axes), groups, c0)
    np.testing.assert_array_equal(got, want.reshape(-1))


def test_the_stored_filter_by_its_formula():
    rng = np.random.default_rng(0)
    w = rng.normal(size=(6, 5, 2, 3)).astype(np.float32)
    got = blocked_filter(w, 2, 8)
    assert got.shape == (2, 1 * 2 * 3, 1, 16, 8)
    for o, c, u, v in [(0, 0, 0, 0), (2, 4, 1, 2), (5, 3, 0, 1), (3, 0, 1, 0)]:
        assert got[o // 3, u * 3 + v, 0, o % 3, c] == w[o, c, u, v]
    assert not got[:, :, :, 3:].any()
    assert not got[..., 5:].any()
    assert Tile((2, 48, 3), "f32", "gm", "zn").storage == got.shape


POINTWISE = [
    {"x": (1, 24, 7, 9), "w": (40, 24, 1, 1)},
    {"x": (3, 24, 7, 9), "w": (40, 24, 1, 1)},
    {"x": (2, 24, 1, 1), "w": (40, 24, 1, 1)},
    {"x": (2, 7, 9, 24), "w": (1, 1, 24, 40), "form": "NHWC"},
]


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize(
    ("element", "bias"),
    [*((element, bias) for element in FLOATS for bias in (False, True)), ("bf16", False)],
)
@pytest.mark.parametrize("case", POINTWISE)
def test_pointwise_ones_are_products_without_layout_changes(case, bias, element, constant):
    text = conv(**case, element=element, bias=element if bias else "", relu="z", constant=constant)
    lowered, report = check_graph(text, low=-1, high=1)
    assert "vtranspose" not in module_text(lowered)
    spread = bias and case["x"][-1] == 9
    assert len(report.kernels) == (2 if spread else 1)


DEPTHWISE = [
    {"x": (1, 16, 12, 48), "w": (16, 1, 3, 3), "pads": (1, 1, 1, 1)},
    {"x": (2, 11, 13, 10), "w": (11, 1, 5, 5), "pads": (2, 2, 2, 2), "stride": (2, 2)},
    {"x": (1, 3, 9, 9), "w": (3, 1, 3, 3), "dilation": (2, 1), "stride": (1, 3)},
    {"x": (1, 9, 30, 30), "w": (9, 1, 3, 2), "pads": (0, 2, 1, 0), "stride": (2, 1)},
    {"x": (1, 100, 4, 4), "w": (100, 1, 4, 4)},
]


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("element", [*FLOATS, "bf16"])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("case", DEPTHWISE)
def test_depthwise_ones_go_by_taps(case, bias, element, constant):
    groups = case["x"][1]
    text = conv(
        **case, element=element, groups=groups, bias=element if bias else "", constant=constant
    )
    lowered, report = check_graph(text, low=-1, high=1)
    kernel = case["w"][2] * case["w"][3]
    assert module_text(lowered).count("aicore.vtap") == kernel
    assert len(report.kernels) == 1


def test_depthwise_op_with_its_filter_in_hwcn():
    text = conv((1, 9, 8, 8), (3, 3, 9, 1), pads=(1, 1, 1, 1), op="DepthwiseConv2D", bias="f16")
    check_graph(text, low=-1, high=1)


def test_the_fused_op():
    text = conv((1, 5, 8, 8), (6, 5, 3, 3), bias="f16", op="FusedConv2D_BiasAdd_ReLU")
    lowered, _ = check_graph(text, low=-1, high=1)
    assert "{relu}" in module_text(lowered)


def test_a_relu_with_another_user_beside_it_stays_apart():
    lines = [
        weight((8, 3, 3, 3), "f16"),
        "y = ge.Conv2D(x, w) {strides = [1, 1, 1, 1], pads = [0, 0, 0, 0], "
        'data_format = "NCHW"} -> 1x8x4x4xf16',
        "z = ge.Relu(y) -> 1x8x4x4xf16",
    ]
    _, report = check_graph(graph(lines, "y, z", x="1x3x6x6xf16"))
    assert [kernel.ops for kernel in report.kernels if kernel.ops] == [("y",), ("z",)]


IN_STEPS = [
    {"x": (1, 4, 4, 3), "w": (3, 3, 3, 8), "form": "NHWC"},
    {"x": (1, 8, 6, 6), "w": (16, 1, 3, 3), "groups": 8, "bias": "bf16", "element": "bf16"},
    {"x": (1, 8, 6, 6), "w": (3, 3, 8, 2), "op": "DepthwiseConv2D"},
    {"x": (1, 8, 6, 6), "w": (3, 3, 8, 1), "op": "DepthwiseConv2D", "constant": False},
    {"x": (1, 3, 3, 6000), "w": (8, 3, 3, 3)},
    {"x": (1, 8, 3, 6000), "w": (8, 1, 3, 3), "groups": 8},
]
"""NHWC, a bias of bf16, a channel multiplier, maps that do not fit."""


@pytest.mark.parametrize("case", IN_STEPS)
def test_convolutions_that_take_several_kernels(case):
    _, report = check_graph(conv(**case), low=-1, high=1)
    assert len(report.kernels) > 1


@pytest.mark.parametrize("chip", ["Ascend910A", "Ascend310P3"])
def test_chips_without_fixpipe(chip):
    for case in CASES[:6]:
        text = conv(**case, bias="f16", relu="z")
        lowered, report = check_graph(text, chip, low=-1, high=1)
        assert "aicore.copy_l0c_ub" in module_text(lowered)
        assert "cube" in {kernel.core for kernel in report.kernels}
    check_graph(conv((1, 8, 6, 6), (8, 1, 3, 3), groups=8), chip)


def test_a_chip_without_wide_factors_keeps_their_convolutions():
    chip, case = "Ascend910A", {"x": (1, 3, 6, 6), "w": (8, 3, 3, 3), "element": "f32"}
    report = aicore.estimate(lower(parse_module(conv(**case)), chip), chip)
    why = "no f32 factors on the cube unit of Ascend910A, expected f16, i8 or ui8"
    assert report.reasons == {"Conv2D": [why]}


@pytest.mark.parametrize("chip", ["Ascend910B4", "Ascend950PR_958x"])
def test_other_chips(chip):
    check_graph(conv(**CASES[1]), chip, low=-1, high=1)
    check_graph(conv(**DEPTHWISE[1], groups=11), chip, low=-1, high=1)


POOLS = [
    ("MaxPoolV3", {"ksize": (3, 3), "strides": (2, 2), "pads": (1, 1, 1, 1)}, (9, 11), (5, 6)),
    ("MaxPoolV3", {"ksize": (2, 2), "strides": (2, 2), "ceil_mode": "true"}, (9, 11), (5, 6)),
    ("AvgPoolV2", {"ksize": (3, 3), "strides": (2, 2), "pads": (1, 1, 1, 1)}, (9, 11), (5, 6)),
    (
        "AvgPoolV2",
        {"ksize": (3, 2), "strides": (1, 1), "pads": (1, 0, 1, 0), "exclusive": "false"},
        (9, 11),
        (8, 11),
    ),
    (
        "AvgPoolV2",
        {"ksize": (2, 2), "strides": (2, 2), "divisor_override": "3 : i64"},
        (8, 8),
        (4, 4),
    ),
]


@pytest.mark.parametrize("element", [*FLOATS, "bf16"])
@pytest.mark.parametrize("channels", [3, 8, 21])
@pytest.mark.parametrize(("name", "attrs", "size", "out"), POOLS)
def test_pools(name, attrs, size, out, channels, element):
    parts = ['padding_mode = "CALCULATED"', 'data_format = "NCHW"']
    for key, value in attrs.items():
        if key in ("ksize", "strides"):
            value = f"[1, 1, {value[0]}, {value[1]}]"
        parts.append(f"{key} = {list(value) if isinstance(value, tuple) else value}")
    y = f"2x{channels}x{out[0]}x{out[1]}x{element}"
    line = f"y = ge.{name}(x) {{{', '.join(parts)}}} -> {y}"
    text = graph([line], "y", x=f"2x{channels}x{size[0]}x{size[1]}x{element}")
    lowered, _ = check_graph(text)
    assert "aicore.vtap" in module_text(lowered)


@pytest.mark.parametrize("name", ["MaxPool", "AvgPool"])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_pools_with_a_padding_mode(name, padding):
    out = "4x5" if padding == "SAME" else "3x4"
    line = (
        f'y = ge.{name}(x) {{ksize = [1, 1, 3, 3], strides = [1, 1, 2, 2], padding = "{padding}", '
        f'data_format = "NCHW"}} -> 1x9x{out}xf32'
    )
    check_graph(graph([line], "y", x="1x9x7x9xf32"))


def test_a_maximum_of_minus_infinities():
    line = (
        "y = ge.MaxPool(x) {ksize = [1, 1, 3, 3], strides = [1, 1, 1, 1], "
        'padding = "SAME", data_format = "NCHW"} -> 1x2x4x4xf16'
    )
    x = np.full((1, 2, 4, 4), -np.inf, np.float16)
    check_graph(graph([line], "y", x="1x2x4x4xf16"), inputs={"x": x}, exact=True)


def test_a_pool_of_rows_that_do_not_fit_is_not_lowered():
    line = (
        "y = ge.MaxPool(x) {ksize = [1, 1, 2, 2], strides = [1, 1, 1, 1], "
        'padding = "VALID", data_format = "NCHW"} -> 1x8x3x8999xf32'
    )
    module = parse_module(graph([line], "y", x="1x8x4x9000xf32"))
    report = aicore.estimate(lower(module, CHIP), CHIP)
    ((reason,),) = report.reasons.values()
    assert reason.startswith("no lowering: an output row of")


sizes = st.integers(1, 14)


@settings(max_examples=25, deadline=None)
@given(
    st.integers(1, 2),
    st.integers(1, 20),
    st.integers(1, 20),
    st.tuples(sizes, sizes),
    st.tuples(st.integers(1, 4), st.integers(1, 4)),
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.tuples(st.integers(1, 2), st.integers(1, 2)),
    st.tuples(*[st.integers(0, 2)] * 4),
    st.booleans(),
)
def test_any_convolution(n, c, out, size, kernel, stride, dilation, pads, depthwise):
    for i in range(2):
        if (kernel[i] - 1) * dilation[i] + 1 > size[i] + pads[2 * i] + pads[2 * i + 1]:
            kernel = tuple(1 if j == i else k for j, k in enumerate(kernel))
    groups = c if depthwise else 1
    w = (c if depthwise else out, 1 if depthwise else c, *kernel)
    text = conv((n, c, *size), w, "f16", stride, pads, dilation, groups)
    check_graph(text, low=-1, high=1)


def test_wider_strides_load_slower():
    def mte1(stride):
        text = conv((1, 64, 32, 32), (64, 64, 3, 3), stride=(1, stride), pads=(1, 1, 1, 1))
        module = lower(parse_module(text), CHIP)
        kernels = aicore.kernels_of(module)
        timing = time_kernel(kernels["Conv2D"], target(CHIP))
        pixels = 32 * -(-32 // stride)
        return timing.busy["MTE1"] * timing.blocks / pixels

    assert mte1(1) < mte1(2)
