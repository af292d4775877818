"""Constraints of quantisation: graphs accepted and refused."""

import pytest
from constraint_table import bad, build, good
from op_constraints import snake
from xdsl.utils.exceptions import VerifyException

GOOD = good("""
AscendQuant | x: 2x3xf32; scale=0.5, offset=0.0
AscendQuantV2 | x: 2x3x4xf32, scale: 4xf32
AscendDequant | x: 2x3xi32, deq_scale: 3xf32
AscendRequant | x: 2x3xi32, req_scale: 1xu64
AscendDequantS16 | x0: 2x3xi32, deq_scale: 1xu64
AscendAntiQuant | x: 2x3xi8; scale=0.5, offset=0.0
AscendAntiQuantV2 | x: 2x3xi8, scale: 3xf32
AscendWeightQuant | x: 2x3xi8, offset: 3xi8
Quantize | x: 2x3xf32, scales: 3xf32; dtype="torch.qint8"
Dequantize | x: 2x3xi8, min_range: f32, max_range: f32
TransQuantParamV2 | scale: 3xf32
DequantBias | x: 2x3xi32, weight_scale: 3xf32; output_dtype=1
GroupQuant | x: 6x4xf32, scale: 2x4xf32, group_index: 2xi32
DynamicQuant DynamicQuantV2 | x: 2x8xf32, smooth_scales: 8xf32
SwiGluQuant | x: 2x8xf32, smooth_scales: 4xf32
DequantSwigluQuant | x: 2x8xi32
FakeQuantWithMinMaxArgs | x: 2x3xf32
FakeQuantWithMinMaxArgsGradient | gradients: 2x3xf32, x: 2x3xf32
FakeQuantWithMinMaxVars | x: 2x3xf32, min: f32, max: f32
FakeQuantWithMinMaxVarsGradient | gradients: 2x3xf32, x: 2x3xf32, min: f32, max: f32
FakeQuantWithMinMaxVarsPerChannel | x: 2x3xf32, min: 3xf32, max: 3xf32
FakeQuantWithMinMaxVarsPerChannelGradient | gradients: 2x3xf32, x: 2x3xf32, min: 3xf32, max: 3xf32
""")
BAD = bad(
    """
AscendQuant AscendQuantV2 DynamicQuant DynamicQuantV2 SwiGluQuant Quantize GroupQuant | c1 | x: \
2x8xi32 | x is DT_INT32, expected a floating-point type
AscendQuant | c2 | ; round_mode="round" | round_mode is 'round', expected Round, Floor, Ceil or \
Trunc
AscendQuant | c3 | ; dst_type=3 | dst_type is 3, expected 2 (DT_INT8), 29 (DT_INT4), 34 \
(DT_HIFLOAT8), 35 (DT_FLOAT8_E5M2) or 36 (DT_FLOAT8_E4M3FN)
AscendQuantV2 | c1_types | scale: 4xf16 | operands are DT_FLOAT and DT_FLOAT16, expected one \
element type
AscendQuantV2 | c2 | ; axis=3 | axis is 3, expected one in [-3, 3)
AscendQuantV2 | c2_far | ; axis=0 | axis is 0, expected one of the last two
AscendQuantV2 | c3 | scale: 3xf32 | scale is 3, expected one number or 4
AscendQuantV2 | c3_full | scale: 1x3x1xf32 | scale is 1x3x1, expected one number or 4
AscendQuantV2 | c3_offset | offset: 1x3x4xf32 | offset is 1x3x4, expected one number or 4
AscendQuantV2 | c4 | ; round_mode="Round" | round_mode is 'Round', expected round, rint, floor, \
ceil or trunc
AscendQuantV2 | c5 | ; dst_type=3 | dst_type is 3, expected 2 (DT_INT8), 29 (DT_INT4), 34 \
(DT_HIFLOAT8), 35 (DT_FLOAT8_E5M2) or 36 (DT_FLOAT8_E4M3FN)
AscendDequant | c1 | x: 2x3xi8 | x is DT_INT8, expected DT_INT32
AscendDequant | c2 | ; dtype=2 | dtype is 2, expected 0 (DT_FLOAT), 1 (DT_FLOAT16) or 27 (DT_BF16)
AscendDequant | c3 | deq_scale: 2xf32 | deq_scale is 2, expected one number or 3
AscendDequant | c4 | deq_scale: 3xi32 | deq_scale is DT_INT32, expected a floating-point type, \
DT_UINT64 or DT_INT64
AscendDequant | c4_sqrt | ; sqrt_mode=True | deq_scale is DT_FLOAT, expected DT_FLOAT16
AscendRequant | c1 | x: 2x3xi8 | x is DT_INT8, expected DT_INT32
AscendRequant | c2 | req_scale: 1xf32 | req_scale is DT_FLOAT, expected DT_UINT64 or DT_INT64
AscendRequant | c3 | req_scale: 2xu64 | req_scale is 2, expected one number or 3
AscendDequantS16 | c1 | x0: 2x3xi8 | x0 is DT_INT8, expected DT_INT32
AscendDequantS16 | c2 | deq_scale: 1xf32 | deq_scale is DT_FLOAT, expected DT_UINT64 or DT_INT64
AscendDequantS16 | c3 | x1: 3xi32 | x1 is DT_INT32, expected DT_INT16
AscendAntiQuant AscendAntiQuantV2 | c1 | x: 2x3xi32 | x is DT_INT32, expected DT_INT8, DT_INT4 or \
an 8-bit float
AscendAntiQuant | c2 | ; dtype=27 | dtype is 27, expected 0 (DT_FLOAT) or 1 (DT_FLOAT16)
AscendAntiQuantV2 | c2 | scale: 3xi32 | scale is DT_INT32, expected a floating-point type
AscendAntiQuantV2 | c2_types | offset: 3xf16 | operands are DT_FLOAT and DT_FLOAT16, expected one \
element type
AscendAntiQuantV2 | c3 | scale: 4xf32 | scale is 4, expected one number or 3 or 2
AscendAntiQuantV2 | c4 | ; dst_type=2 | dst_type is 2, expected 0 (DT_FLOAT), 1 (DT_FLOAT16) or 27 \
(DT_BF16)
AscendWeightQuant | c1 | offset: 3xi32 | offset is DT_INT32, expected DT_INT8
AscendWeightQuant | c2 | ; dst_type=3 | dst_type is 3, expected 2 (DT_INT8) or 29 (DT_INT4)
Quantize | c2 | ; dtype="torch.int8" | dtype is 'torch.int8', expected torch.qint8, torch.quint8, \
torch.qint32, torch.float8_e5m2 or torch.float8_e4m3fn
Quantize | c3 | scales: 2xf32 | scales is 2, expected one number or 3
Quantize | c3_none | scales: 1x0xf32 | scales is 1x0, expected one number or 3
Quantize | c3_axis | ; axis=2 | axis is 2, expected one in [-2, 2)
Dequantize | c1 | x: 2x3xf32 | x is DT_FLOAT, expected an 8-bit or 32-bit integer
Dequantize | c2 | min_range: i32 | min_range is DT_INT32, expected DT_FLOAT
Dequantize | c2_count | max_range: 2xf32 | max_range is 2, expected one element
Dequantize | c3 | ; mode="MIN_FIRST" | mode is 'MIN_FIRST', expected MIN_COMBINED or SCALED
TransQuantParamV2 | c1 | scale: 3xf16 | scale is DT_FLOAT16, expected DT_FLOAT
TransQuantParamV2 | c2 | offset: 2xf32 | shapes are 3 and 2, expected ones that broadcast
TransQuantParamV2 | c3 | ; round_mode=2 | round_mode is 2, expected 0 or 1
DequantBias | c1 | x: 2x3xf32 | x is DT_FLOAT, expected DT_INT32
DequantBias | c1_rank | x: 3xi32 | x is 3, expected rank 2
DequantBias | c2 | ; output_dtype=0 | output_dtype is 0, expected 1 (DT_FLOAT16) or 27 (DT_BF16)
GroupQuant | c1_rank | scale: 4xf32 | scale is 4, expected rank 2
GroupQuant | c2 | scale: 2x5xf32 | columns of x and scale are 4 and 5, expected equal ones
GroupQuant | c3 | group_index: 2xf32 | group_index is DT_FLOAT, expected DT_INT32 or DT_INT64
GroupQuant | c3_rank | group_index: 2x1xi32 | group_index is 2x1, expected rank 1
GroupQuant | c3_length | group_index: 3xi32 | rows of scale and group_index are 2 and 3, expected \
equal ones
GroupQuant | c4 | offset: 2xf32 | offset is 2, expected one element
GroupQuant | c5 | ; dst_type=3 | dst_type is 3, expected 2 (DT_INT8) or 29 (DT_INT4)
DynamicQuant DynamicQuantV2 | c2 | x: 8xf32 | x is 8, expected rank 2 or more
DynamicQuant DynamicQuantV2 | c3 | smooth_scales: 7xf32 | lengths of x and smooth_scales are 8 and \
7, expected equal ones
DynamicQuant DynamicQuantV2 | c3_rank | smooth_scales: 2x8xf32 | smooth_scales is 2x8, expected \
rank 1
DynamicQuant DynamicQuantV2 | c3_groups | smooth_scales: -, group_index: 2xi32 | smooth_scales is \
missing, expected it with group_index
DynamicQuant DynamicQuantV2 | c4 | smooth_scales: 2x8xf32, group_index: 2xf32 | group_index is \
DT_FLOAT, expected DT_INT32 or DT_INT64
DynamicQuant | c5 | ; dst_type=3 | dst_type is 3, expected 2 (DT_INT8), 29 (DT_INT4), 34 \
(DT_HIFLOAT8), 35 (DT_FLOAT8_E5M2) or 36 (DT_FLOAT8_E4M3FN)
DynamicQuantV2 | c5 | ; dst_type=3 | dst_type is 3, expected 2 (DT_INT8) or 29 (DT_INT4)
DynamicQuantV2 | c5_f8 | ; dst_type=35 | dst_type is 35, expected 2 (DT_INT8) or 29 (DT_INT4)
DynamicQuantV2 | c6 | ; quant_mode="perrow" | quant_mode is 'perrow', expected pertoken, \
perchannel or pertensor
DynamicQuantV2 | c7 | ; dst_type_max=1.0 | dst_type_max is 1.0, expected 0
DynamicQuantV2 | c8 | smooth_scales: 2x2xf32, group_index: 2xi32; quant_mode="perchannel" | \
quant_mode is 'perchannel', expected pertoken
SwiGluQuant | c2 | x: 8xf32 | x is 8, expected rank 2 or more
SwiGluQuant | c2_odd | x: 2x7xf32 | x is 2x7, expected an even dimension 1
SwiGluQuant | c3 | smooth_scales: 8xf32 | lengths of a half of x and smooth_scales are 4 and 8, \
expected equal ones
SwiGluQuant | c3_rank | offsets: 2x4xf32 | offsets is 2x4, expected rank 1
SwiGluQuant | c4 | smooth_scales: 2x4xf32, group_index: 2xf32 | group_index is DT_FLOAT, expected \
DT_INT32 or DT_INT64
SwiGluQuant | c5 | ; dst_type=3 | dst_type is 3, expected 2 (DT_INT8) or 29 (DT_INT4)
SwiGluQuant | c6 | ; quant_mode="none" | quant_mode is 'none', expected dynamic or static
SwiGluQuant | c7 | ; group_list_type=2 | group_list_type is 2, expected 0 or 1
DequantSwigluQuant | c1 | x: 2x7xi32 | x is 2x7, expected an even dimension 1
DequantSwigluQuant | c2 | ; activate_dim=0 | activate_dim is 0, expected the last one
DequantSwigluQuant | c3 | ; dst_type=3 | dst_type is 3, expected 2 (DT_INT8)
FakeQuantWithMinMaxArgs FakeQuantWithMinMaxArgsGradient FakeQuantWithMinMaxVars \
FakeQuantWithMinMaxVarsGradient FakeQuantWithMinMaxVarsPerChannel \
FakeQuantWithMinMaxVarsPerChannelGradient | c1 | x: 2x3xf16 | x is DT_FLOAT16, expected DT_FLOAT
FakeQuantWithMinMaxArgs FakeQuantWithMinMaxArgsGradient FakeQuantWithMinMaxVars \
FakeQuantWithMinMaxVarsGradient FakeQuantWithMinMaxVarsPerChannel \
FakeQuantWithMinMaxVarsPerChannelGradient | c2 | ; num_bits=17 | num_bits is 17, expected 2 to 16
FakeQuantWithMinMaxArgs FakeQuantWithMinMaxArgsGradient | c3 | ; min=6.0 | min is 6.0 and max 6.0, \
expected min < max
FakeQuantWithMinMaxVars FakeQuantWithMinMaxVarsGradient | c3 | min: 2xf32 | min is 2, expected one \
element
FakeQuantWithMinMaxVarsPerChannel FakeQuantWithMinMaxVarsPerChannelGradient | c3 | max: 4xf32 | \
channels of x and max are 3 and 4, expected equal ones
FakeQuantWithMinMaxVarsPerChannel FakeQuantWithMinMaxVarsPerChannelGradient | c3_rank | max: \
1x3xf32 | max is 1x3, expected rank 1
FakeQuantWithMinMaxArgsGradient FakeQuantWithMinMaxVarsGradient \
FakeQuantWithMinMaxVarsPerChannelGradient | c4 | gradients: 3x3xf32 | gradients and x are 3x3 and \
2x3, expected equal ones
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
