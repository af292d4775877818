"""Constraints of matmul, conv, pool and norm ops: one refused graph per constraint."""

import pytest
from op_text import check_refused, module_of

from ge_xdsl.dialects.ge.graph import verify
from ge_xdsl.dialects.ge.text import module_text, parse_module

CONV = "strides = [1, 1, 1, 1], pads = [0, 0, 0, 0]"
NCHW = f'{CONV}, data_format = "NCHW"'
X, W = "<1x3x8x8xf32>", "<4x3x3x3xf32>"
POOL = "ksize = [1, 1, 2, 2], strides = [1, 1, 1, 1]"
BN = '{is_training = false, data_format = "NCHW"}'

CASES = {
    "matmul_c1": ("ge.MatMul(<1x2x3xf32>, <3x4xf32>)", "x1 is 1x2x3, expected rank 1 or 2"),
    "matmul_c2": (
        "ge.MatMul(<2x3xf32>, <4x5xf32>)",
        "inner dimensions are 3 and 4, expected equal ones",
    ),
    "matmul_c2_swapped": (
        "ge.MatMul(<2x3xf32>, <3x5xf32>) {transpose_x1 = true}",
        "inner dimensions are 2 and 3, expected equal ones",
    ),
    "matmul_c3": (
        "ge.MatMul(<2x3xf32>, <3x5xf16>)",
        "operands are DT_FLOAT and DT_FLOAT16, expected one element type",
    ),
    "matmul_c4_rows": (
        "ge.MatMul(<2x3xf32>, <3x5xf32>, bias = <2x5xf32>)",
        "bias is 2x5, expected one row",
    ),
    "matmul_c4_length": (
        "ge.MatMul(<2x3xf32>, <3x5xf32>, bias = <4xf32>)",
        "columns and bias length are 5 and 4, expected equal ones",
    ),
    "matmul_v2_c5_offset_w": (
        "ge.MatMulV2(<2x3xi8>, <3x5xi8>, offset_w = <5xi8>)",
        "offset_w is given, expected none: GE reserves it",
    ),
    "matmul_v2_c5_offset_x": (
        "ge.MatMulV2(<2x3xi8>, <3x5xi8>) {offset_x = 3}",
        "offset_x is 3, expected 0: GE reserves it",
    ),
    "batch_matmul_c1": (
        "ge.BatchMatMul(<f32>, <3x5xf32>)",
        "shapes are scalar and 3x5, expected rank >= 1",
    ),
    "batch_matmul_c2": (
        "ge.BatchMatMul(<2x2x3xf32>, <4x5xf32>)",
        "inner dimensions are 3 and 4, expected equal ones",
    ),
    "batch_matmul_c3": (
        "ge.BatchMatMul(<2x2x3xf32>, <3x5xbf16>)",
        "operands are DT_FLOAT and DT_BF16, expected one element type",
    ),
    "batch_matmul_c4": (
        "ge.BatchMatMul(<2x2x3xf32>, <3x3x5xf32>)",
        "shapes are 2 and 3, expected ones that broadcast",
    ),
    "batch_matmul_v2_c5": (
        "ge.BatchMatMulV2(<2x3xf32>, <3x5xf32>, bias = <4xf32>)",
        "columns and bias length are 5 and 4, expected equal ones",
    ),
    "batch_matmul_v2_c6": (
        "ge.BatchMatMulV2(<2x3xi8>, <3x5xi8>) {offset_x = 1}",
        "offset_x is 1, expected 0: GE reserves it",
    ),
    "gemm_c1": (
        "ge.GEMM(<2x3xf32>, <3xf32>, <2x5xf32>, <1xf32>, <1xf32>)",
        "b is 3, expected rank 2",
    ),
    "gemm_c2": (
        "ge.GEMM(<2x3xf32>, <4x5xf32>, <2x5xf32>, <1xf32>, <1xf32>)",
        "inner dimensions are 3 and 4, expected equal ones",
    ),
    "gemm_c3": (
        "ge.GEMM(<2x3xf32>, <3x5xf16>, <2x5xf32>, <1xf32>, <1xf32>)",
        "operands are DT_FLOAT and DT_FLOAT16, expected one element type",
    ),
    "gemm_c4": (
        "ge.GEMM(<2x3xf32>, <3x5xf32>, <2x4xf32>, <1xf32>, <1xf32>)",
        "columns of c and a @ b are 4 and 5, expected equal ones",
    ),
    "gemm_c5": (
        "ge.GEMM(<2x3xf32>, <3x5xf32>, <2x5xf32>, <2xf32>, <1xf32>)",
        "alpha is 2, expected one element",
    ),
    "gemm_c6": (
        "ge.GEMM(<2x3xf32>, <3x5xf32>, <2x5xf32>, <1xf16>, <1xf32>)",
        "alpha is DT_FLOAT16, expected the type of c, DT_FLOAT",
    ),
    "conv2d_c1": (
        f'ge.Conv2D({X}, {W}) {{{CONV}, data_format = "NCL"}}',
        "data_format is 'NCL', expected NCHW or NHWC",
    ),
    "conv2d_c2_strides": (
        f"ge.Conv2D({X}, {W}) {{strides = [1, 1], pads = [0, 0, 0, 0]}}",
        "strides has 2 entries, expected 4",
    ),
    "conv2d_c2_pads": (
        f"ge.Conv2D({X}, {W}) {{strides = [1, 1, 1, 1], pads = [0]}}",
        "pads has 1 entries, expected 4",
    ),
    "conv2d_c2_dilations": (
        f"ge.Conv2D({X}, {W}) {{{CONV}, dilations = []}}",
        "dilations has 0 entries, expected 4",
    ),
    "conv2d_c3_negative": (
        f"ge.Conv2D({X}, {W}) {{strides = [1, 1, 1, 1], pads = [0, -1, 0, 0]}}",
        "strides are [1, 1, 1, 1], dilations [1, 1, 1, 1], pads [0, -1, 0, 0], expected strides "
        "and dilations >= 1 and pads >= 0",
    ),
    "conv2d_c3_channel_stride": (
        f"ge.Conv2D({X}, {W}) {{strides = [1, 1, 1, 2], pads = [0, 0, 0, 0]}}",
        "strides are [1, 1, 1, 2], expected 1 for N and C",
    ),
    "conv2d_c4_x": (f"ge.Conv2D(<3x8x8xf32>, {W}) {{{NCHW}}}", "x is 3x8x8, expected rank 4"),
    "conv2d_c4_filter": (
        f"ge.Conv2D({X}, <4x3x3xf32>) {{{NCHW}}}",
        "filter is 4x3x3, expected rank 4",
    ),
    "conv2d_c5": (
        f"ge.Conv2D({X}, <4x3x3x3xf16>) {{{NCHW}}}",
        "operands are DT_FLOAT and DT_FLOAT16, expected one element type",
    ),
    "conv2d_c6": (
        f"ge.Conv2D({X}, <4x2x3x3xf32>) {{{NCHW}}}",
        "x has 3 channels, expected 2 for a filter depth of 2 in 1 groups",
    ),
    "conv2d_c7": (
        f"ge.Conv2D(<1x6x8x8xf32>, <4x2x3x3xf32>) {{{NCHW}, groups = 3}}",
        "4 output channels in 3 groups, expected a multiple of the groups",
    ),
    "conv2d_c8": (
        f"ge.Conv2D({X}, {W}, bias = <3xf32>) {{{NCHW}}}",
        "bias is 3, expected 4",
    ),
    "conv2d_c9": (
        f"ge.Conv2D({X}, {W}, offset_w = <4xi8>) {{{NCHW}}}",
        "offset_w is given, expected none: GE reserves it",
    ),
    "conv2d_c10_large": (
        f"ge.Conv2D(<1x3x2x8xf32>, {W}) {{{NCHW}}}",
        "window of 3 is larger than the padded input, expected at most 2",
    ),
    "conv2d_c10_empty": (
        f"ge.Conv2D({X}, <4x3x0x3xf32>) {{{NCHW}}}",
        "kernel has size 0, expected at least 1",
    ),
    "conv2d_c11": (
        f'ge.Conv2D({X}, {W}) {{{NCHW}, ge.auto_pad = "SOME"}}',
        "auto_pad is 'SOME', expected one of EXPLICIT, NOTSET, SAME, SAME_UPPER, SAME_LOWER, VALID",
    ),
    "conv2d_filter_format": (
        f"ge.Conv2D({X}, <4x3x3x3xf32, #ge.layout(CHWN)>) {{{NCHW}}}",
        "filter format is FORMAT_CHWN, expected one of NCHW, NHWC, HWCN",
    ),
    "fused_conv2d_c12": (
        f'ge.FusedConv2D_BiasAdd_ReLU({X}, {W}, <4xf32>) {{{NCHW}, activation = "Tanh"}}',
        "activation is 'Tanh', expected 'ReLU'",
    ),
    "depthwise_c4": (
        f"ge.DepthwiseConv2D({X}, <3x3x1xf32>) {{{NCHW}}}",
        "filter is 3x3x1, expected rank 4",
    ),
    "depthwise_c5": (
        f"ge.DepthwiseConv2D({X}, <3x3x3x1xf16>) {{{NCHW}}}",
        "operands are DT_FLOAT and DT_FLOAT16, expected one element type",
    ),
    "depthwise_c6": (
        f"ge.DepthwiseConv2D({X}, <3x3x2x1xf32>) {{{NCHW}}}",
        "x has 3 channels, expected 2 as in filter",
    ),
    "depthwise_c8": (
        f"ge.DepthwiseConv2D({X}, <3x3x3x2xf32>, bias = <3xf32>) {{{NCHW}}}",
        "bias is 3, expected 6",
    ),
    "depthwise_c9": (
        f"ge.DepthwiseConv2D({X}, <3x3x3x2xf32>, offset_w = <3xf32>) {{{NCHW}}}",
        "offset_w is given, expected none: GE reserves it",
    ),
    "depthwise_c10": (
        f"ge.DepthwiseConv2D({X}, <9x3x3x2xf32>) {{{NCHW}}}",
        "window of 9 is larger than the padded input, expected at most 8",
    ),
    "max_pool_c1": (
        f'ge.MaxPool({X}) {{{POOL}, padding = "SAME", data_format = "ND"}}',
        "data_format is 'ND', expected NCHW or NHWC",
    ),
    "max_pool_c2_length": (
        f'ge.MaxPool({X}) {{ksize = [2], strides = [1, 1, 1, 1], padding = "SAME"}}',
        "ksize has 1 entries, expected 4",
    ),
    "max_pool_c2_channels": (
        f'ge.MaxPool({X}) {{{POOL}, padding = "SAME"}}',
        "ksize are [1, 1, 2, 2], expected positive ones, 1 for N and C",
    ),
    "avg_pool_c3": (
        f'ge.AvgPool({X}) {{{POOL}, padding = "FULL", data_format = "NCHW"}}',
        "padding is 'FULL', expected one of SAME, VALID",
    ),
    "max_pool_v3_c3": (
        f'ge.MaxPoolV3({X}) {{{POOL}, padding_mode = "FULL"}}',
        "padding is 'FULL', expected one of CALCULATED, SAME, VALID",
    ),
    "max_pool_v3_c4": (f"ge.MaxPoolV3(<3x8x8xf32>) {{{POOL}}}", "x is 3x8x8, expected rank 4"),
    "avg_pool_v2_c5": (
        f"ge.AvgPoolV2(<1x3x1x8xf32>) {{{POOL}}}",
        "window of 2 is larger than the padded input, expected at most 1",
    ),
    "avg_pool_v2_c6_length": (
        f"ge.AvgPoolV2({X}) {{{POOL}, pads = [0, 0]}}",
        "pads has 2 entries, expected 4",
    ),
    "max_pool_v3_c6_negative": (
        f"ge.MaxPoolV3({X}) {{{POOL}, pads = [0, 0, -1, 0]}}",
        "pads are [0, 0, -1, 0], expected none negative",
    ),
    "global_average_pool_c1": (
        "ge.GlobalAveragePool(<3x8xf32>)",
        "x is 3x8, expected rank 3, 4 or 5",
    ),
    "bn_inference_c1": (
        "ge.BNInference(<8xf32>, <8xf32>, <8xf32>, <1xf32>)",
        "x is 8, expected rank 2 or more",
    ),
    "bn_inference_c2": (
        "ge.BNInference(<1x3xf32>, <3xf32>, <3xf32>, <1xf32>, scale = <4xf32>)",
        "scale is 4, expected 3",
    ),
    "bn_inference_c3": (
        "ge.BNInference(<1x3xf32>, <3xf32>, <3xf32>, <2xf32>)",
        "momentum is 2, expected one element",
    ),
    "bn_inference_c4": (
        "ge.BNInference(<1x3xf32>, <3xf32>, <3xf32>, <1xf32>) {use_global_stats = false}",
        "use_global_stats is false, expected true: mean is given",
    ),
}

MANY = {
    "batch_norm_c1": (
        6,
        f'ge.BatchNorm({X}, <3xf32>, <3xf32>) {{data_format = "NC"}}',
        "data_format is 'NC', expected NCHW or NHWC or NCDHW or NDHWC",
    ),
    "batch_norm_c2": (
        6,
        "ge.BatchNorm(<3xf32>, <3xf32>, <3xf32>)",
        "x is 3, expected rank 2 or more",
    ),
    "batch_norm_c3": (
        6,
        f"ge.BatchNorm({X}, <3xf32>, <4xf32>, mean = <3xf32>, variance = <3xf32>) {BN}",
        "offset is 4, expected 3",
    ),
    "batch_norm_c3_unknown": (
        6,
        f"ge.BatchNorm(<1x?x4x4xf32>, <2x3xf32>, <4xf32>, mean = <3xf32>, variance = <3xf32>) {BN}",
        "scale is 2x3, expected one number per channel",
    ),
    "batch_norm_c4": (
        6,
        f"ge.BatchNorm({X}, <3xf32>, <3xf32>, mean = <3xf32>) {BN}",
        "mean or variance is missing, expected both when not training",
    ),
    "layer_norm_c1": (
        3,
        "ge.LayerNorm(<2x3xf32>, <3xf32>, <3xf32>) {begin_norm_axis = 2}",
        "begin_norm_axis is 2, expected one in [-2, 2)",
    ),
    "layer_norm_c2": (
        3,
        "ge.LayerNorm(<2x3xf32>, <3xf32>, <3xf32>) {begin_params_axis = -3}",
        "begin_params_axis is -3, expected one in [-2, 2)",
    ),
    "layer_norm_c3": (
        3,
        "ge.LayerNorm(<2x1xf32>, <3xf32>, <1xf32>) {begin_norm_axis = 1}",
        "gamma is 3, expected one that broadcasts to 2x1",
    ),
    "layer_norm_c3_shapes": (
        3,
        "ge.LayerNorm(<2x3xf32>, <3xf32>, <4xf32>) {begin_norm_axis = 1}",
        "shapes are 2x3 and 4, expected ones that broadcast",
    ),
    "layer_norm_v3_c3": (
        3,
        "ge.LayerNormV3(<3xf32>, <3xf32>, <2x3xf32>)",
        "beta is 2x3, expected one that broadcasts to 3",
    ),
    "instance_norm_c1": (
        3,
        f'ge.InstanceNorm({X}, <3xf32>, <3xf32>) {{data_format = "CN"}}',
        "data_format is 'CN', expected NCHW or NHWC or NCDHW or NDHWC or ND",
    ),
    "instance_norm_c2": (
        3,
        "ge.InstanceNorm(<3xf32>, <3xf32>, <3xf32>)",
        "x is 3, expected rank 2 or more",
    ),
    "instance_norm_c3": (
        3,
        f'ge.InstanceNorm({X}, <3xf32>, <8xf32>) {{data_format = "NCHW"}}',
        "beta is 8, expected 3",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_constraint(name):
    op, message = CASES[name]
    check_refused(op, message)


@pytest.mark.parametrize("name", MANY)
def test_constraint_of_an_op_with_many_results(name):
    results, op, message = MANY[name]
    check_refused(op, message, results)


@pytest.mark.parametrize(
    ("op", "results", "result_type"),
    [
        (f"ge.Conv2D({X}, {W}) {{{NCHW}}}", 1, "1x4x6x6xf32"),
        (f"ge.Conv2D({X}, {W}, bias = <4xf32>) {{{NCHW}}}", 1, "?x4x?x6xf32"),
        (f"ge.FusedConv2D_BiasAdd_ReLU({X}, {W}, <4xf32>) {{{NCHW}}}", 1, "1x4x6x6xf32"),
        (f'ge.BatchNorm({X}, <3xf32>, <3xf32>) {{data_format = "NCHW"}}', 6, "*xf32"),
    ],
)
def test_accepted_and_printed_as_read(op, results, result_type):
    module = parse_module(module_of(op, results, result_type))
    verify(module)
    text = module_text(module)
    assert module_text(parse_module(text)) == text
