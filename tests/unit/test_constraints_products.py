"""Constraints of later, quantised and grouped products: graphs accepted and refused."""

import pytest
from constraint_table import bad, build, good
from op_constraints import snake
from xdsl.utils.exceptions import VerifyException

GOOD = good("""
MatMulV3 BatchMatMulV3 FusedMatMul | x1: 2x3xf32, x2: 3x5xf32
TransposeBatchMatMul | x1: 2x3x4xf32, x2: 2x4x5xf32
FullyConnection | x: 2x3x4xf32, w: 5x12xf32; num_output=5
QuantBatchMatmulV3 | x1: 2x8xi8, x2: 8x5xi8, scale: 5xf32; dtype=0
WeightQuantBatchMatmulV2 | x: 2x64xf16, weight: 64x5xi8, antiquant_scale: 5xf16
GroupedMatmul | x: 2x4xf32 + 3x4xf32, weight: 4x5xf32 + 4x5xf32; results=[2]
FFN | x: 2x4xf32, weight1: 4x8xf32, weight2: 8x4xf32; activation="relu"
""")
BAD = bad(
    """
MatMulV3 | c1 | x1: 1x2x2x3xf32 | x1 is 1x2x2x3, expected rank 1 or 2
MatMulV3 | c1_swapped | x1: 1x2x3xf32; transpose_x1=True | x1 is 1x2x3, expected rank 1 or 2
FusedMatMul | c1 | x1: 1x2x3xf32 | x1 is 1x2x3, expected rank 1 or 2
BatchMatMulV3 | c1 | x1: f32 | shapes are scalar and 3x5, expected rank >= 1
MatMulV3 BatchMatMulV3 FusedMatMul | c2 | x2: 4x5xf32 | inner dimensions are 3 and 4, expected \
equal ones
MatMulV3 BatchMatMulV3 FusedMatMul | c3 | x2: 3x5xf16 | operands are DT_FLOAT and DT_FLOAT16, \
expected one element type
MatMulV3 FusedMatMul | c4 | bias: 4xf32 | columns and bias length are 5 and 4, expected equal ones
MatMulV3 FusedMatMul | c4_rows | bias: 2x5xf32 | bias is 2x5, expected one row
BatchMatMulV3 | c4 | x1: 2x2x3xf32, x2: 3x3x5xf32 | shapes are 2 and 3, expected ones that \
broadcast
BatchMatMulV3 | c5 | bias: 4xf32 | columns and bias length are 5 and 4, expected equal ones
MatMulV3 | c5 | ; offset_x=1 | offset_x is 1, expected 0: GE reserves it
MatMulV3 | c6 | ; opImplMode=64 | opImplMode is 64, expected 1
BatchMatMulV3 | c6 | offset_w: 5xi8 | offset_w is given, expected none: GE reserves it
BatchMatMulV3 | c7 | ; enable_hf32=True | enable_hf32 is true, expected false: its rounding is not \
modelled
FusedMatMul | c5 | ; fused_op_type="sub" | fused_op_type is 'sub', expected '', add, mul, relu, \
gelu_tanh, gelu_erf or 16cast32
FusedMatMul | c6 | ; fused_op_type="add" | x3 is missing, expected it for add and mul only
FusedMatMul | c6_given | x3: 2x5xf32 | x3 is given, expected it for add and mul only
FusedMatMul | c6_shape | x3: 5xf32; fused_op_type="mul" | y and x3 are 2x5 and 5, expected equal \
ones
FusedMatMul | c7 | ; enable_hf32=True | enable_hf32 is true, expected false: its rounding is not \
modelled
TransposeBatchMatMul | c1 | x1: 3x4xf32 | x1 is 3x4, expected rank 3
TransposeBatchMatMul | c2 | ; perm_x1=[0, 1] | perm_x1 is [0, 1], expected an order of 0, 1 and 2
TransposeBatchMatMul | c3 | x2: 3x4x5xf32 | batch dimensions are 2 and 3, expected equal ones
TransposeBatchMatMul | c3_inner | x2: 2x3x5xf32 | inner dimensions are 4 and 3, expected equal \
ones
TransposeBatchMatMul | c4 | x2: 2x4x5xf16 | operands are DT_FLOAT and DT_FLOAT16, expected one \
element type
TransposeBatchMatMul | c5 | bias: 4xf32 | bias is 4, expected 5
TransposeBatchMatMul | c6 | scale: 5xu64 | scale is given, expected none: its mode is not modelled
TransposeBatchMatMul | c6_factor | ; batch_split_factor=2 | batch_split_factor is 2, expected 1
TransposeBatchMatMul | c7 | ; enable_hf32=True | enable_hf32 is true, expected false: its rounding \
is not modelled
FullyConnection | c1 | ; axis=0 | axis is 0, expected 1 or 2
FullyConnection | c1_rank | ; axis=3 | axis is 3, expected one in [-3, 3)
FullyConnection | c1_unknown | x: *xf32; axis=3 | axis is 3, expected 1 or 2
FullyConnection | c2 | w: 5x3x4xf32 | w is 5x3x4, expected rank 2
FullyConnection | c3 | w: 5x11xf32 | inner dimensions are 12 and 11, expected equal ones
FullyConnection | c4 | w: 5x12xf16 | operands are DT_FLOAT and DT_FLOAT16, expected one element \
type
FullyConnection | c5 | b: 4xf32 | b is 4, expected 5
FullyConnection | c6 | ; offset_x=2 | offset_x is 2, expected 0: GE reserves it
QuantBatchMatmulV3 | c1 | x1: 2x8xf32 | x1 is DT_FLOAT, expected DT_INT8, DT_INT4 or an 8-bit \
float
QuantBatchMatmulV3 | c1_types | x1: 2x8xi4 | operands are DT_INT4 and DT_INT8, expected one \
element type
QuantBatchMatmulV3 | c2 | x1: 8xi8 | x1 is 8, expected rank 2 to 6
QuantBatchMatmulV3 | c2_inner | x1: 2x7xi8 | inner dimensions are 7 and 8, expected equal ones
QuantBatchMatmulV3 | c3 | scale: 4xf32 | scale is 4, expected 5
QuantBatchMatmulV3 | c4 | bias: 4xi32 | columns and bias length are 5 and 4, expected equal ones
QuantBatchMatmulV3 | c4_rows | bias: 2x5xi32 | bias is 2x5, expected one row
QuantBatchMatmulV3 | c5 | pertoken_scale: 3xf32 | pertoken_scale is 3, expected 2
QuantBatchMatmulV3 | c6 | ; dtype=4 | dtype is 4, expected 0 (DT_FLOAT), 1 (DT_FLOAT16), 2 \
(DT_INT8), 3 (DT_INT32) or 27 (DT_BF16)
QuantBatchMatmulV3 | c7 | ; group_size=32 | group_size is 32, expected 0
QuantBatchMatmulV3 | c8 | offset: 1xf32 | offset is given for DT_FLOAT, expected it for DT_INT8
QuantBatchMatmulV3 | c8_rows | pertoken_scale: 2xf32; dtype=2 | pertoken_scale is given for \
DT_INT8, expected a float
WeightQuantBatchMatmulV2 | c1 | x: 2x64xf32 | x is DT_FLOAT, expected DT_FLOAT16 or DT_BF16
WeightQuantBatchMatmulV2 | c1_weight | weight: 64x5xi32 | weight is DT_INT32, expected DT_INT8 or \
DT_INT4
WeightQuantBatchMatmulV2 | c2 | x: 64xf16 | x is 64, expected rank 2
WeightQuantBatchMatmulV2 | c2_inner | x: 2x63xf16 | inner dimensions are 63 and 64, expected equal \
ones
WeightQuantBatchMatmulV2 | c3 | antiquant_scale: 4xf16 | antiquant_scale is 4, expected 1x5
WeightQuantBatchMatmulV2 | c3_groups | antiquant_scale: 3x5xf16; antiquant_group_size=32 | \
antiquant_scale is 3x5, expected 2x5
WeightQuantBatchMatmulV2 | c4 | antiquant_scale: 5xu64 | antiquant_scale is DT_UINT64, expected a \
floating-point type
WeightQuantBatchMatmulV2 | c5 | ; antiquant_group_size=16 | antiquant_group_size is 16, expected 0 \
or a multiple of 32 below K
WeightQuantBatchMatmulV2 | c5_large | ; antiquant_group_size=64 | antiquant_group_size is 64, \
expected 0 or a multiple of 32 below K
WeightQuantBatchMatmulV2 | c6 | ; dtype=2 | dtype is 2, expected -1 or 1
WeightQuantBatchMatmulV2 | c7 | bias: 4xf32 | bias is 4, expected 5
WeightQuantBatchMatmulV2 | c7_offset | quant_offset: 5xf32 | quant_scale is missing, expected it \
with quant_offset
GroupedMatmul | c1 | ; group_type=1 | group_type is 1, expected -1, 0 or 2
GroupedMatmul | c2 | ; split_item=3 | split_item is 3, expected 0 or 1
GroupedMatmul | c2_single | ; group_type=0, split_item=0 | split_item is 0, expected 2 or 3
GroupedMatmul | c3 | x: 2x4xf32 + 2x4xf32 + 2x4xf32 | x lists 3 tensors and weight 2, expected as \
many or one x
GroupedMatmul | c4 | weight: 4x5xf32 + 3x5xf32 | inner dimensions are 4 and 3, expected equal ones
GroupedMatmul | c4_split | x: 6x2xf32, weight: 5x3xf32, group_list: 2xi64; group_type=2, \
split_item=2, transpose_x=True | inner dimensions are 6 and 5, expected equal ones
GroupedMatmul | c5 | x: 5x4xf32; group_type=0, split_item=3 | group_list is missing, expected it \
for one x that is split
GroupedMatmul | c5_type | group_list: 2xf32 | group_list is DT_FLOAT, expected DT_INT32 or \
DT_INT64
GroupedMatmul | c5_rank | group_list: 2x1xi64 | group_list is 2x1, expected rank 1
GroupedMatmul | c6 | weight: 4x5xf16 + 4x5xf16 | operands are DT_FLOAT and DT_FLOAT16, expected \
one element type
GroupedMatmul | c7 | ; transpose_x=True | transpose_x and group_type 2 come together, expected \
both or none
GroupedMatmul | c5_table | group_list: 2xi64; group_list_type=2 | group_list is 2, expected rank 2
GroupedMatmul | c8 | bias: 5xf32 + 5xf32 + 5xf32 | bias lists 3 tensors, expected 2, 1 or none
GroupedMatmul | c8_one | x: 5x4xf32, weight: 2x4x5xf32, scale: 5xf32 + 5xf32, group_list: 2xi64; \
group_type=0, split_item=3 | scale lists 2 tensors, expected 1 or none
GroupedMatmul | c9 | ; group_list_type=3 | group_list_type is 3, expected 0, 1 or 2
GroupedMatmul | c10 | ; act_type=3 | act_type is 3, expected 0, 1, 2, 4 or 5
FFN | c1 | x: 4xf32 | x is 4, expected rank 2 or more
FFN | c2 | ; activation="tanh" | activation is 'tanh', expected fastgelu, gelu, relu, silu, geglu, \
swiglu or reglu
FFN | c3 | weight1: 2x4x8xf32 | weight1 is 2x4x8, expected rank 2
FFN | c4 | weight1: 5x8xf32 | inner dimensions are 4 and 5, expected equal ones
FFN | c4_second | weight2: 8x5xf32 | columns of x and weight2 are 4 and 5, expected equal ones
FFN | c5 | expert_tokens: 2xf32 | expert_tokens is DT_FLOAT, expected DT_INT32 or DT_INT64
FFN | c5_rank | expert_tokens: 2x1xi64 | expert_tokens is 2x1, expected rank 1
FFN | c6 | ; output_dtype=2 | output_dtype is 2, expected -1, 0 or 1
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
