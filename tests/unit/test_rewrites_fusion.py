"""Fusion rules: they fire, decline near misses with a reason, and keep the numbers."""

import numpy as np
import pytest
from rewrite_case import check_declines, check_fires, graph, rewrite, types_of

from ge_xdsl.dialects.ge.graph import ge_ops, main_function
from ge_xdsl.dialects.ge.names import output_names
from ge_xdsl.dialects.ge.text import parse_module
from ge_xdsl.interpreters.ge import run_function
from ge_xdsl.rewrites.fusion.conv2d_bias_relu import FuseConv2DBiasRelu
from ge_xdsl.rewrites.fusion.matmul_bias import FuseMatMulBias

FUSED = "FusedConv2D_BiasAdd_ReLU"
PADDED = "strides = [1, 1, 1, 1], pads = [1, 1, 1, 1]"
CONV = f'{{{PADDED}, data_format = "NCHW"}}'
IN = "x: 2x4x5x5xf32, f: 6x4x3x3xf32"
Y = "2x6x5x5xf32"


def conv_case(
    tail: str, inputs: str = f"{IN}, b: 6xf32", returns: str = "r", conv: str = "x, f"
) -> str:
    return graph(inputs, f"c = Conv2D({conv}) {CONV} : {Y}\n{tail}", returns)


BIAS_ADD = f'BiasAdd(c, b) {{data_format = "NCHW"}} : {Y}'

CONV_FIRES = {
    "bias_add": conv_case(f"s = {BIAS_ADD}\nr = Relu(s) : {Y}"),
    "add": conv_case(f"s = Add(c, b) : {Y}\nr = Relu(s) : {Y}", f"{IN}, b: 1x6x1x1xf32"),
    "add_swapped": conv_case(f"s = Add(b, c) : {Y}\nr = Relu(s) : {Y}", f"{IN}, b: 6x1x1xf32"),
    "own_bias": conv_case(f"r = Relu(c) : {Y}", conv="x, f, bias = b"),
    "several_relu_readers": conv_case(
        f"s = {BIAS_ADD}\nr = Relu(s) : {Y}\nn = Neg(r) : {Y}\nm = Add(r, n) : {Y}",
        returns="n, r, m",
    ),
    "nhwc": graph(
        "x: 1x5x6x3xf32, f: 3x3x3x8xf32, b: 8xf32",
        "c = Conv2D(x, f) {strides = [1, 2, 1, 1], pads = [1, 1, 1, 1]} : 1x3x6x8xf32\n"
        "s = Add(c, b) : 1x3x6x8xf32\nr = Relu(s) : 1x3x6x8xf32",
        "r",
    ),
    "grouped": graph(
        "x: 1x4x7x7xf32, f: 6x2x3x3xf32, b: 6xf32",
        "c = Conv2D(x, f) {strides = [1, 1, 2, 2], pads = [0, 1, 1, 0], groups = 2, "
        'data_format = "NCHW"} : 1x6x3x3xf32\n'
        's = BiasAdd(c, b) {data_format = "NCHW"} : 1x6x3x3xf32\nr = Relu(s) : 1x6x3x3xf32',
        "r",
    ),
    "dilated": graph(
        "x: 1x1x7x7xf32, f: 2x1x3x3xf32, b: 2xf32",
        "c = Conv2D(x, f) {strides = [1, 1, 1, 1], pads = [0, 0, 0, 0], "
        'dilations = [1, 1, 2, 2], data_format = "NCHW"} : 1x2x3x3xf32\n'
        's = BiasAdd(c, b) {data_format = "NCHW"} : 1x2x3x3xf32\nr = Relu(s) : 1x2x3x3xf32',
        "r",
    ),
    "undeclared_padding": graph(
        "x: 1x1x5x5xf32, f: 2x1x3x3xf32, b: 2xf32",
        "c = Conv2D(x, f) {strides = [1, 1, 1, 1], pads = [0, 0, 0, 0], "
        'data_format = "NCHW", ge.padding = "SAME"} : 1x2x5x5xf32\n'
        's = BiasAdd(c, b) {data_format = "NCHW"} : 1x2x5x5xf32\nr = Relu(s) : 1x2x5x5xf32',
        "r",
    ),
    "i8": conv_case(
        f"s = {BIAS_ADD}\nr = Relu(s) : {Y}", "x: 2x4x5x5xi8, f: 6x4x3x3xi8, b: 6xi32"
    ).replace(Y, "2x6x5x5xi32"),
}


@pytest.mark.parametrize("case", CONV_FIRES)
def test_conv_fires(case: str):
    after = check_fires(CONV_FIRES[case], [FuseConv2DBiasRelu()])
    assert types_of(after).count(FUSED) == 1
    assert not {"Conv2D", "BiasAdd", "Relu"} & set(types_of(after))


def test_conv_half_is_rounded_once():
    text = CONV_FIRES["bias_add"].replace("f32", "f16")
    check_fires(text, [FuseConv2DBiasRelu()], tolerance=2e-3)


def test_conv_inherits_and_keeps_the_name():
    text = CONV_FIRES["grouped"].replace("groups = 2", '_user_stream_label = "s1", groups = 2')
    text = text.replace(
        "-> (tensor<1x6x3x3xf32>) {",
        '-> (tensor<1x6x3x3xf32>) attributes {ge.output_names = ["out"]} {',
    )
    before = parse_module(text)
    after, _ = rewrite(text, [FuseConv2DBiasRelu()])
    (op,) = [op for op in ge_ops(main_function(after)) if op.op_type == FUSED]
    assert op.node_name == "r"
    assert output_names(main_function(after)) == output_names(main_function(before)) == ["out"]
    conv = next(op for op in ge_ops(main_function(before)) if op.op_type == "Conv2D")
    for name in ("strides", "pads", "dilations", "groups", "data_format", "offset_x"):
        assert op.get_attr(name) == conv.get_attr(name), name
    assert op.get_attr("activation") == "ReLU"
    assert op.attributes["_user_stream_label"] == conv.attributes["_user_stream_label"]
    assert '["c", "s", "r"]' in str(op.attributes["_datadump_original_op_names"])


def test_conv_numbers_against_a_formula():
    """max(0, sum over c, u, v of x * f + b), written out."""
    after, notes = rewrite(CONV_FIRES["grouped"], [FuseConv2DBiasRelu()])
    assert notes.applied == 1
    rng = np.random.default_rng(3)
    shapes = {"x": (1, 4, 7, 7), "f": (6, 2, 3, 3), "b": (6,)}
    arrays = {k: rng.standard_normal(s).astype(np.float32) for k, s in shapes.items()}
    (y,) = run_function(main_function(after), arrays)
    padded = np.pad(arrays["x"][0], ((0, 0), (0, 1), (1, 0))).astype(np.float64)
    for o in range(6):
        part = padded[2 * (o // 3) : 2 * (o // 3) + 2]
        for i in range(3):
            for j in range(3):
                window = part[:, 2 * i : 2 * i + 3, 2 * j : 2 * j + 3]
                want = max(0.0, (window * arrays["f"][o]).sum() + arrays["b"][o])
                assert abs(y[0, o, i, j] - want) < 1e-4


TWO = f"s = {BIAS_ADD}\nr = Relu(s) : {Y}"
CONV_DECLINES = {
    "conv_read_twice": (
        conv_case(f"{TWO}\nn = Neg(c) : {Y}", returns="r, n"),
        "conv output has 2 consumers, expected 1",
    ),
    "conv_is_output": (
        conv_case(TWO, returns="r, c"),
        "conv output has 2 consumers, expected 1",
    ),
    "conv_unused": (
        graph(IN, f"c = Conv2D(x, f) {CONV} : {Y}", "x"),
        "conv output has 0 consumers, expected 1",
    ),
    "bias_read_twice": (
        conv_case(f"{TWO}\nn = Neg(s) : {Y}", returns="r, n"),
        "BiasAdd output has 2 consumers, expected 1",
    ),
    "bias_is_output": (
        conv_case(TWO, returns="r, s"),
        "BiasAdd output has 2 consumers, expected 1",
    ),
    "no_bias": (
        conv_case(f"r = Relu(c) : {Y}"),
        "consumer of conv is ge.Relu 'r', expected BiasAdd or Add",
    ),
    "conv_to_output": (
        graph(IN, f"c = Conv2D(x, f) {CONV} : {Y}", "c"),
        "consumer of conv is func.return, expected BiasAdd or Add",
    ),
    "own_bias_other_reader": (
        conv_case(f"r = Neg(c) : {Y}", conv="x, f, bias = b"),
        "consumer of conv is ge.Neg 'r', expected Relu",
    ),
    "no_relu": (
        conv_case(f"s = {BIAS_ADD}\nr = Tanh(s) : {Y}"),
        "consumer of BiasAdd is ge.Tanh 'r', expected Relu",
    ),
    "two_biases": (
        conv_case(TWO, conv="x, f, bias = b"),
        "conv has a bias already, expected none",
    ),
    "along_the_width": (
        graph(
            "x: 1x1x5x6xf32, f: 6x1x1x1xf32, b: 6xf32",
            'c = Conv2D(x, f) {strides = [1, 1, 1, 1], pads = [0, 0, 0, 0], data_format = "NCHW"}'
            " : 1x6x5x6xf32\ns = Add(c, b) : 1x6x5x6xf32\nr = Relu(s) : 1x6x5x6xf32",
            "r",
        ),
        "bias is 6, expected one value per channel (6x1x1)",
    ),
    "not_per_channel": (
        conv_case(f"s = Add(c, b) : {Y}\nr = Relu(s) : {Y}", f"{IN}, b: 6x5x1xf32"),
        "bias is 6x5x1, expected one value per channel (6x1x1)",
    ),
    "per_image": (
        conv_case(f"s = Add(c, b) : {Y}\nr = Relu(s) : {Y}", f"{IN}, b: 2x6x1x1xf32"),
        "bias is 2x6x1x1, expected one value per channel (6x1x1)",
    ),
    "one_for_all": (
        conv_case(f"s = Add(c, b) : {Y}\nr = Relu(s) : {Y}", f"{IN}, b: 1xf32"),
        "bias is 1, expected one value per channel (6x1x1)",
    ),
    "unknown_bias": (
        conv_case(f"s = Add(c, b) : {Y}\nr = Relu(s) : {Y}", f"{IN}, b: *xf32"),
        "bias is unknown rank, expected a known rank",
    ),
    "dynamic_bias": (
        conv_case(f"s = Add(c, b) : {Y}\nr = Relu(s) : {Y}", f"{IN}, b: ?x1x1xf32"),
        "bias is ?x1x1, expected one value per channel (6x1x1)",
    ),
    "twice_itself": (
        conv_case(f"s = Add(c, c) : {Y}\nr = Relu(s) : {Y}"),
        "conv output has 2 consumers, expected 1",
    ),
    "other_channels": (
        graph(
            "x: 1x4x6x6xf32, f: 6x4x1x1xf32, b: 6xf32",
            'c = Conv2D(x, f) {strides = [1, 1, 1, 1], pads = [0, 0, 0, 0], data_format = "NCHW"}'
            " : 1x6x6x6xf32\ns = BiasAdd(c, b) : 1x6x6x6xf32\nr = Relu(s) : 1x6x6x6xf32",
            "r",
        ),
        "BiasAdd adds along dimension 3, conv has its channels in 1",
    ),
    "ordered": (
        conv_case(TWO, returns="r").replace(
            "func.return",
            "%q = ge.Neg(%x) : (tensor<2x4x5x5xf32>) -> tensor<2x4x5x5xf32>\n"
            "ge.control_edge(%s, %q) : (tensor<2x6x5x5xf32>, tensor<2x4x5x5xf32>) -> ()\n"
            "func.return",
        ),
        "ge.BiasAdd 's' is at a control edge, expected none",
    ),
    "two_streams": (
        conv_case(TWO)
        .replace("ge.Relu(%s)", 'ge.Relu(%s) {_user_stream_label = "a"}')
        .replace('data_format = "NCHW"}', 'data_format = "NCHW", _user_stream_label = "b"}'),
        "there are multiple _user_stream_label",
    ),
}


@pytest.mark.parametrize("case", CONV_DECLINES)
def test_conv_declines(case: str):
    text, reason = CONV_DECLINES[case]
    check_declines(text, [FuseConv2DBiasRelu()], reason)


# Matrix products

M = "4x3xf32"
MATMUL_IN = "x: 4x5xf32, w: 5x3xf32, b: 3xf32"


def matmul_case(op: str, add: str = "s = Add(p, b)", inputs: str = MATMUL_IN, y: str = M) -> str:
    return graph(inputs, f"p = {op} : {y}\n{add} : {y}", "s")


MATMUL_FIRES = {
    "matmul": (matmul_case("MatMul(x, w)"), "MatMul"),
    "swapped": (matmul_case("MatMul(x, w)", "s = Add(b, p)"), "MatMul"),
    "bias_add": (matmul_case("MatMulV2(x, w)", "s = BiasAdd(p, b)"), "MatMulV2"),
    "transposed": (
        matmul_case(
            "MatMulV2(x, w) {transpose_x1 = true, transpose_x2 = true}",
            inputs="x: 5x4xf32, w: 3x5xf32, b: 3xf32",
        ),
        "MatMulV2",
    ),
    "batch_v2": (
        matmul_case(
            "BatchMatMulV2(x, w) {adj_x2 = true}",
            inputs="x: 2x4x5xf32, w: 3x5xf32, b: 3xf32",
            y="2x4x3xf32",
        ),
        "BatchMatMulV2",
    ),
    "batch": (
        matmul_case(
            "BatchMatMul(x, w) {adj_x1 = true}",
            inputs="x: 2x5x4xf32, w: 5x3xf32, b: 3xf32",
            y="2x4x3xf32",
        ),
        "BatchMatMulV2",
    ),
    "rows_unknown": (
        matmul_case("MatMul(x, w)", inputs="x: ?x5xf32, w: 5x3xf32, b: 3xf32", y="?x3xf32"),
        "MatMul",
    ),
    "i8": (
        matmul_case("MatMulV2(x, w)", inputs="x: 4x5xi8, w: 5x3xi8, b: 3xi32", y="4x3xi32"),
        "MatMulV2",
    ),
}


@pytest.mark.parametrize("case", MATMUL_FIRES)
def test_matmul_fires(case: str):
    text, op_type = MATMUL_FIRES[case]
    after = check_fires(text, [FuseMatMulBias()])
    assert types_of(after) == [op_type]
    (op,) = ge_ops(main_function(after))
    assert op.node_name == "p"
    assert "ge.has_bias" in op.attributes


MATMUL_DECLINES = {
    "read_twice": (
        graph(MATMUL_IN, f"p = MatMul(x, w) : {M}\ns = Add(p, b) : {M}", "s, p"),
        "MatMul output has 2 consumers, expected 1",
    ),
    "no_sum": (
        graph(MATMUL_IN, f"p = MatMul(x, w) : {M}\ns = Relu(p) : {M}", "s"),
        "consumer is ge.Relu 's', expected BiasAdd or Add",
    ),
    "own_bias": (
        matmul_case("MatMul(x, w, bias = b)"),
        "MatMul has 3 operands, expected 2",
    ),
    "matrix": (
        matmul_case("MatMul(x, w)", inputs="x: 4x5xf32, w: 5x3xf32, b: 4x3xf32"),
        "bias is 4x3, expected 3",
    ),
    "one_row": (
        matmul_case("MatMul(x, w)", inputs="x: 4x5xf32, w: 5x3xf32, b: 1x3xf32"),
        "bias is 1x3, expected 3",
    ),
    "repeated": (
        matmul_case("MatMul(x, w)", inputs="x: 4x5xf32, w: 5x3xf32, b: 1xf32"),
        "bias is 1, expected 3",
    ),
    "unknown_length": (
        matmul_case("MatMul(x, w)", inputs="x: 4x5xf32, w: 5x3xf32, b: ?xf32"),
        "bias is ?, expected 3",
    ),
    "unknown_rank": (
        matmul_case("MatMul(x, w)", inputs="x: *xf32, w: 5x3xf32, b: 3xf32", y="*xf32"),
        "shapes are unknown rank and 3, expected known ranks",
    ),
    "vector": (
        matmul_case("MatMul(x, w)", inputs="x: 5xf32, w: 5x3xf32, b: 3xf32", y="3xf32"),
        "product is 3, expected rank 2",
    ),
    "batch_rows": (
        matmul_case(
            "BatchMatMulV2(x, w)",
            's = BiasAdd(p, b) {data_format = "NCHW"}',
            "x: 2x3x5xf32, w: 5x3xf32, b: 3xf32",
            "2x3x3xf32",
        ),
        "BiasAdd adds along dimension 1 of 2x3x3, expected the last",
    ),
    "is_the_bias": (
        graph(
            "x: 5xf32, w: 5x3xf32, b: 4x3xf32",
            "p = BatchMatMulV2(x, w) : 3xf32\ns = BiasAdd(b, p) : 4x3xf32",
            "s",
        ),
        "the product is the bias of BiasAdd, expected its x",
    ),
    "ordered": (
        matmul_case("MatMul(x, w)").replace(
            "func.return",
            "%q = ge.Neg(%x) : (tensor<4x5xf32>) -> tensor<4x5xf32>\n"
            "ge.control_edge(%q, %p) : (tensor<4x5xf32>, tensor<4x3xf32>) -> ()\n"
            "func.return",
        ),
        "ge.MatMul 'p' is at a control edge, expected none",
    ),
}


@pytest.mark.parametrize("case", MATMUL_DECLINES)
def test_matmul_declines(case: str):
    text, reason = MATMUL_DECLINES[case]
    check_declines(text, [FuseMatMulBias()], reason)
