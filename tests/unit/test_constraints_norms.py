"""Constraints of norms: graphs accepted and refused."""

import pytest
from constraint_table import bad, build, good
from op_constraints import snake
from xdsl.utils.exceptions import VerifyException

GOOD = good("""
RmsNorm | x: 2x3x8xf32, gamma: 8xf32
RmsNormGrad | dy: 2x8xf32, x: 2x8xf32, rstd: 2x1xf32, gamma: 8xf32
AddRmsNorm InplaceAddRmsNorm FusedAddRmsNorm AddRmsNormCast AddRmsNormDynamicQuant \
AddRmsNormDynamicQuantV2 | x1: 2x8xf32, x2: 2x8xf32, gamma: 8xf32
AddRmsNormQuant | x1: 2x8xf32, x2: 2x8xf32, gamma: 8xf32, scales1: 8xf32
MultiAddRmsNormDynamicQuant | x1: 2x8xf32 + 2x8xf32, x2: 2x8xf32, gamma: 8xf32
RmsNormDynamicQuant | x: 2x8xf32, gamma: 8xf32
LayerNormV4 | x: 2x3x8xf32, normalized_shape: 1xi64, gamma: 8xf32
AddLayerNorm InplaceAddLayerNorm | x1: 2x8xf32, x2: 2x8xf32, gamma: 8xf32, beta: 8xf32
DeepNorm | x: 2x8xf32, gx: 2x8xf32, beta: 8xf32, gamma: 8xf32
LayerNormXBackprop LayerNormXBackpropV2 LayerNormGrad | dy: 2x8xf32, x: 2x8xf32, variance: \
2x1xf32, mean: 2x1xf32, gamma: 8xf32
LayerNormBetaGammaBackpropV2 | dy: 2x8xf32, res_for_gamma: 2x8xf32; shape_gamma=[8]
LayerNormBetaGammaBackprop | dy: 2x8xf32, x: 2x8xf32, variance: 2x1xf32, mean: 2x1xf32; \
shape_gamma=[8]
MVNV2 | x: 2x3x4x5xf32
BNInfer | x: 2x3x4xf32, scale: 3xf32, offset: 3xf32, mean: 3xf32, variance: 3xf32; epsilon=0.5
BNInferenceD | x: 2x3x4xf32, mean: 3xf32, variance: 3xf32
BatchNorm3D | x: 2x3x4x5x6xf32, scale: 3xf32, offset: 3xf32
BNTrainingReduce BN3DTrainingReduce | x: 2x3x4xf32
BNTrainingUpdate BN3DTrainingUpdate | x: 2x3x4xf32, sum: 3xf32, square_sum: 3xf32, scale: 3xf32, \
offset: 3xf32, mean: 3xf32, variance: 3xf32; factor=0.5, epsilon=0.5
BNTrainingUpdateV2 BNTrainingUpdateV3 | x: 2x3x4xf32, sum: 3xf32, square_sum: 3xf32, scale: 3xf32, \
offset: 3xf32; epsilon=0.5
BNInferGrad | grads: 2x3x4xf32, scale: 3xf32, batch_variance: 3xf32
BNTrainingUpdateGrad BN3DTrainingUpdateGrad | grads: 2x3x4xf32, x: 2x3x4xf32, batch_mean: 3xf32, \
batch_variance: 3xf32
BNTrainingReduceGrad BN3DTrainingReduceGrad | grads: 2x3x4xf32, x: 2x3x4xf32, diff_scale: 3xf32, \
diff_offset: 3xf32, scale: 3xf32, batch_mean: 3xf32, batch_variance: 3xf32
GroupNorm GroupNormV2 GroupNormRelu GroupNormSilu GroupNormSwish | x: 2x6x4xf32, gamma: 6xf32, \
beta: 6xf32; num_groups=3
INTrainingReduceV2 | x: 2x3x4x5xf32
INTrainingUpdateV2 | x: 2x3x4x5xf32, sum: 2x3x1x1xf32, square_sum: 2x3x1x1xf32
INInferV2 | x: 2x3x4x5xf32, mean: 2x3x1x1xf32, variance: 2x3x1x1xf32
L2Normalize | x: 2x3xf32
Normalize | x1: 2x3x4x5xf32, x2: 1xf32
LRN | x: 2x3x4x5xf32
Scale | x: 2x3x4xf32, scale: 3xf32
Bias | x: 2x3x4xf32, bias: 3xf32
""")
BAD = bad(
    """
RmsNorm RmsNormDynamicQuant LayerNormV4 LayerNormGrad LayerNormXBackprop LayerNormXBackpropV2 \
LayerNormBetaGammaBackprop BNTrainingReduce BN3DTrainingReduce GroupNorm GroupNormV2 GroupNormRelu \
GroupNormSilu GroupNormSwish DeepNorm | c1 | x: 2x6x8xi32 | x is DT_INT32, expected a \
floating-point type
RmsNorm | c2 | gamma: 7xf32 | gamma is 7, expected the last dimensions of 2x3x8
RmsNormDynamicQuant | c2 | gamma: 7xf32 | gamma is 7, expected the last dimensions of 2x8
RmsNorm | c2_rank | gamma: 1x2x3x8xf32 | gamma is 1x2x3x8, expected the last dimensions of 2x3x8
RmsNorm | c2_scalar | gamma: f32 | gamma is scalar, expected the last dimensions of 2x3x8
RmsNormGrad | c1 | gamma: 8xi32 | gamma is DT_INT32, expected a floating-point type
RmsNormGrad | c2 | dy: 3x8xf32 | dy and x are 3x8 and 2x8, expected equal ones
RmsNormGrad | c3 | gamma: 7xf32 | gamma is 7, expected the last dimensions of 2x8
AddRmsNorm InplaceAddRmsNorm FusedAddRmsNorm AddRmsNormCast AddRmsNormDynamicQuant \
AddRmsNormDynamicQuantV2 AddRmsNormQuant AddLayerNorm InplaceAddLayerNorm | c1 | x1: 2x8xi32 | x1 \
is DT_INT32, expected a floating-point type
AddRmsNorm InplaceAddRmsNorm FusedAddRmsNorm AddRmsNormCast AddRmsNormDynamicQuant \
AddRmsNormDynamicQuantV2 AddRmsNormQuant AddLayerNorm InplaceAddLayerNorm | c2 | x2: 3x8xf32 | x1 \
and x2 are 2x8 and 3x8, expected equal ones
AddRmsNorm InplaceAddRmsNorm FusedAddRmsNorm AddRmsNormCast AddRmsNormDynamicQuant \
AddRmsNormDynamicQuantV2 AddRmsNormQuant AddLayerNorm InplaceAddLayerNorm | c3 | gamma: 7xf32 | \
gamma is 7, expected the last dimensions of 2x8
AddRmsNormDynamicQuant AddRmsNormDynamicQuantV2 AddRmsNormQuant AddLayerNorm | c3_beta | beta: \
7xf32 | beta is 7, expected the last dimensions of 2x8
AddLayerNorm InplaceAddLayerNorm | c3_bias | bias: 7xf32 | bias is 7, expected the last dimensions \
of 2x8
AddRmsNormQuant | c4 | scales1: 7xf32 | scales1 is 7, expected the last dimensions of 2x8
AddRmsNormQuant | c4_zero | zero_points2: 7xi32 | zero_points2 is 7, expected the last dimensions \
of 2x8
AddRmsNormQuant | c5 | ; dst_type=4 | dst_type is 4, expected 2 (DT_INT8), 34 (DT_HIFLOAT8), 35 \
(DT_FLOAT8_E5M2) or \
36 (DT_FLOAT8_E4M3FN)
AddRmsNormQuant | c6 | ; axis=1 | axis is 1, expected -1
AddRmsNormDynamicQuant AddRmsNormDynamicQuantV2 | c4 | smooth_scale1: 7xf32 | smooth_scale1 is 7, \
expected the last dimensions of 2x8
AddRmsNormDynamicQuant AddRmsNormDynamicQuantV2 | c4_first | smooth_scale2: 8xf32 | smooth_scale1 \
is missing, expected it with smooth_scale2
AddRmsNormDynamicQuant AddRmsNormDynamicQuantV2 | c5 | ; dst_type=4 | dst_type is 4, expected 2 \
(DT_INT8) or 29 (DT_INT4)
AddRmsNormDynamicQuant | c6 | ; output_mask=[True, True, True] | output_mask has 3 entries, \
expected 0 or 2
AddRmsNormDynamicQuantV2 | c6 | ; output_mask=[True, True, True] | output_mask has 3 entries, \
expected 0 or 4
MultiAddRmsNormDynamicQuant | c1 | x1: - | x1 holds 0 tensors, expected 1 to 5
MultiAddRmsNormDynamicQuant | c2 | x1: 2x8xi32 | x1[0] is DT_INT32, expected a floating-point type
MultiAddRmsNormDynamicQuant | c2_types | x1: 2x8xf16 | operands are DT_FLOAT16 and DT_FLOAT, \
expected one element type
MultiAddRmsNormDynamicQuant | c3 | x1: 2x8xf32 + 3x8xf32 | x1[0] and x1[1] are 2x8 and 3x8, \
expected equal ones
MultiAddRmsNormDynamicQuant | c4 | gamma: 7xf32 | gamma is 7, expected the last dimensions of 2x8
MultiAddRmsNormDynamicQuant | c5 | smooth_scale2: 8xf32 | smooth_scale1 is missing, expected it \
with smooth_scale2
RmsNormDynamicQuant | c2_smooth | smooth_scales: 7xf32 | smooth_scales is 7, expected the last \
dimensions of 2x8
RmsNormDynamicQuant | c3 | ; dst_type=29 | dst_type is 29, expected 2 (DT_INT8)
LayerNormV4 | c2 | normalized_shape: 4xi64 | normalized_shape has 4 entries, expected at most 3
LayerNormV4 | c2_type | normalized_shape: 1xf32 | normalized_shape is DT_FLOAT, expected DT_INT32 \
or DT_INT64
LayerNormV4 | c3 | gamma: 7xf32 | gamma is 7, expected the last dimensions of 2x3x8
LayerNormV4 | c3_beta | beta: 7xf32 | beta is 7, expected the last dimensions of 2x3x8
DeepNorm | c2 | gx: 3x8xf32 | x and gx are 2x8 and 3x8, expected equal ones
DeepNorm | c3 | gamma: 7xf32 | gamma is 7, expected the last dimensions of 2x8
LayerNormXBackprop LayerNormXBackpropV2 LayerNormGrad LayerNormBetaGammaBackprop | c2 | dy: \
3x8xf32 | dy and x are 3x8 and 2x8, expected equal ones
LayerNormBetaGammaBackpropV2 | c2 | dy: 3x8xf32 | dy and res_for_gamma are 3x8 and 2x8, expected \
equal ones
LayerNormXBackprop LayerNormXBackpropV2 LayerNormGrad | c3 | gamma: 7xf32 | gamma is 7, expected \
the last dimensions of 2x8
LayerNormBetaGammaBackpropV2 | c1 | dy: 2x8xi32 | dy is DT_INT32, expected a floating-point type
LayerNormBetaGammaBackprop LayerNormBetaGammaBackpropV2 | c3 | ; shape_gamma=[7] | shape_gamma is \
[7], expected the last dimensions of 2x8
MVNV2 | c1 | x: 2x3x4x5xi32 | x is DT_INT32, expected a floating-point type
MVNV2 | c2 | ; axes=[4] | axes is 4, expected one in [-4, 4)
BNInfer BNInferenceD BNTrainingUpdate BN3DTrainingUpdate BNTrainingUpdateV2 BNTrainingUpdateV3 | \
c1 | x: 3xf32 | x is 3, expected rank 2 or more
BNInfer BNTrainingUpdate BN3DTrainingUpdate BNTrainingUpdateV2 BNTrainingUpdateV3 | c2 | scale: \
4xf32 | scale is 4, expected 3
BNInferenceD | c2 | b: 4xf32 | b is 4, expected 3
BNInferenceD | c3 | ; use_global_stats=False | use_global_stats is false, expected true: mean is \
given
BatchNorm3D | c1 | ; data_format="NCHW" | data_format is 'NCHW', expected NDHWC or NCDHW
BatchNorm3D | c2 | x: 2x3x4xf32 | x is 2x3x4, expected rank 5
BatchNorm3D | c3 | offset: 4xf32 | offset is 4, expected 3
BatchNorm3D | c4 | mean: 3xf32; is_training=False | mean or variance is missing, expected both \
when not training
BNTrainingReduce BN3DTrainingReduce | c2 | x: 3xf32 | x is 3, expected rank 2 or more
BNInferGrad | c1 | grads: 3xf32 | grads is 3, expected rank 2 or more
BNInferGrad | c2 | scale: 4xf32 | scale is 4, expected 3
BNTrainingUpdateGrad BN3DTrainingUpdateGrad BNTrainingReduceGrad BN3DTrainingReduceGrad | c1 | \
grads: 2x3x5xf32 | grads and x are 2x3x5 and 2x3x4, expected equal ones
BNTrainingUpdateGrad BN3DTrainingUpdateGrad BNTrainingReduceGrad BN3DTrainingReduceGrad | c2 | \
batch_mean: 4xf32 | batch_mean is 4, expected 3
GroupNorm GroupNormV2 GroupNormRelu GroupNormSilu GroupNormSwish | c2 | x: 6xf32 | x is 6, \
expected rank 2 or more
GroupNorm GroupNormV2 GroupNormRelu GroupNormSilu GroupNormSwish | c3 | ; num_groups=4 | \
num_groups is 4, expected a divisor of 6 channels
GroupNorm | c3_zero | ; num_groups=0 | num_groups is 0, expected a divisor of 6 channels
GroupNorm GroupNormV2 GroupNormRelu GroupNormSilu GroupNormSwish | c4 | gamma: 5xf32 | gamma is 5, \
expected 6
GroupNormSilu | c4_beta | beta: 5xf32 | beta is 5, expected 6
GroupNormSwish | c5 | ; data_format="NHWC" | data_format is 'NHWC', expected NCHW
INTrainingReduceV2 | c1 | x: 2x3x4xi32 | x is DT_INT32, expected a floating-point type
INTrainingReduceV2 | c2 | x: 2x3xf32 | x is 2x3, expected rank 3 or more
INTrainingUpdateV2 INInferV2 | c1 | x: 2x3xf32 | x is 2x3, expected rank 3 or more
INTrainingUpdateV2 INInferV2 | c2 | gamma: 2x4x1x1xf32 | gamma is 2x4x1x1, expected one that \
broadcasts to 2x3x1x1
INTrainingUpdateV2 | c2_rank | gamma: 1x2x3x1x1xf32 | gamma is 1x2x3x1x1, expected one that \
broadcasts to 2x3x1x1
INInferV2 | c3 | variance: - | mean or variance is missing, expected both
INInferV2 | c3_shape | variance: 1x3x1x1xf32 | moments and variance are 2x3x1x1 and 1x3x1x1, \
expected equal ones
L2Normalize | c1 | x: 2x3xi32 | x is DT_INT32, expected a floating-point type
L2Normalize | c2 | ; axis=[2] | axis is 2, expected one in [-2, 2)
Normalize | c1 | x2: 1xi32 | x2 is DT_INT32, expected a floating-point type
Normalize | c2 | x1: 2x3x4xf32 | x1 is 2x3x4, expected rank 4
Normalize | c3 | x2: 3xf32 | x2 is 3, expected 1
Normalize | c3_channel | x2: 4xf32; channel_shared=False | x2 is 4, expected 3
LRN | c1 | x: 2x3x4x5xi32 | x is DT_INT32, expected a floating-point type
LRN | c2 | x: 2x3x4xf32 | x is 2x3x4, expected rank 4
LRN | c3 | ; depth_radius=-1 | depth_radius is -1, expected 0 or more
LRN | c4 | ; norm_region="WITHIN_CHANNEL" | norm_region is 'WITHIN_CHANNEL', expected \
ACROSS_CHANNELS
Scale | c1 | scale: 3xi32 | scale is DT_INT32, expected a floating-point type
Bias | c1 | bias: 3xf16 | operands are DT_FLOAT and DT_FLOAT16, expected one element type
Scale Bias | c2 | ; axis=3 | axis is 3, expected one in [-3, 3)
Scale Bias | c3 | ; num_axes=-2 | num_axes is -2, expected -1 or more
Scale | c4 | scale: 4xf32 | scale is 4, expected dimensions of 2x3x4 from 1 on
Scale | c4_bias | bias: 4xf32 | bias is 4, expected dimensions of 2x3x4 from 1 on
Scale | c4_rank | scale: 3x4xf32 | scale is 3x4, expected dimensions of 2x3x4 from 1 on
Bias | c4 | bias: 4xf32 | bias is 4, expected dimensions of 2x3x4 from 1 on
""",
    snake,
)


@pytest.mark.parametrize("op_type", GOOD)
def test_accepted(op_type):
    build(op_type, *GOOD[op_type])


@pytest.mark.parametrize("name", BAD)
def test_refused(name):
    op_type, operands, attrs, message = BAD[name]
    plain, defaults = GOOD[op_type]
    with pytest.raises(VerifyException) as caught:
        build(op_type, plain | operands, defaults | attrs)
    assert str(caught.value) == message
