"""Constraints of attention, rotary embedding and routing: graphs accepted and refused."""

import pytest
from constraint_table import bad, build, good
from op_constraints import snake
from xdsl.utils.exceptions import VerifyException

GOOD = good("""
FlashAttentionScore | query: 2x3x8xf32, key: 2x5x8xf32, value: 2x5x8xf32; head_num=2, \
is_flash=True, input_layout="BSH"
PromptFlashAttention | query: 2x3x8xf32, key: 2x5x8xf32, value: 2x5x8xf32; num_heads=2, \
num_key_value_heads=0
IncreFlashAttention | query: 2x1x8xf32, key: 2x5x8xf32, value: 2x5x8xf32; num_heads=2, \
num_key_value_heads=0
FusedInferAttentionScore | query: 2x3x8xf32, key: 2x5x8xf32, value: 2x5x8xf32; num_heads=2
RotaryMul | x: 2x3x4x8xf32, r1: 1x3x1x8xf32, r2: 1x3x1x8xf32
RotaryMulGrad | x: 2x3x4x8xf32, r1: 1x3x1x8xf32, r2: 1x3x1x8xf32, dy: 2x3x4x8xf32
RotaryPositionEmbedding InterleaveRope | x: 2x3x4x8xf32, cos: 1x3x1x8xf32, sin: 1x3x1x8xf32
ApplyRotaryPosEmb | query: 2x3x4x8xf32, key: 2x3x2x8xf32, cos: 2x3x1x8xf32, sin: 2x3x1x8xf32
KvRmsNormRopeCache | kv: 2x1x3x12xf32, gamma: 8xf32, cos: 2x1x3x4xf32, sin: 2x1x3x4xf32, index: \
2x3xi64, k_cache: 2x1x9x4xf32, ckv_cache: 2x1x9x8xf32
MoeGatingTopKSoftmax MoeGatingTopKSoftmaxV2 | x: 5x8xf32; k=2
MoeGatingTopK | x: 5x8xf32; k=2, group_count=4, k_group=2
MoeInitRouting | x: 5x8xf32, row_idx: 5x2xi32, expert_idx: 5x2xi32; active_num=5
MoeInitRoutingQuant | x: 5x8xf32, row_idx: 5x2xi32, expert_idx: 5x2xi32; active_num=5, scale=0.5, \
offset=0.0
MoeComputeExpertTokens | sorted_experts: 9xi32; num_experts=4
MoeFinalizeRouting | expanded_x: 10x8xf32, x1: 5x8xf32, bias: 4x8xf32, scales: 5x2xf32, \
expanded_row_idx: 10xi32, expanded_expert_idx: 5x2xi32
MoeFinalizeRoutingV2 | expanded_x: 10x8xf32, expanded_row_idx: 10xi32, scales: 5x2xf32
""")
BAD = bad(
    """
FlashAttentionScore | c1 | ; input_layout="NTD" | input_layout is 'NTD', expected BSH, SBH, BSND, \
BNSD or TND
PromptFlashAttention | c1 | ; input_layout="NTD" | input_layout is 'NTD', expected BSH, BSND, \
BNSD, NSD, SH, BNSD_BSND, TND or NTD_TND
IncreFlashAttention | c1 | ; input_layout="TND" | input_layout is 'TND', expected BSH, BSND, BNSD, \
NSD or SH
FusedInferAttentionScore | c1 | ; input_layout="NTD" | input_layout is 'NTD', expected BSH, BSND, \
BNSD, NSD, SH, BNSD_BSND, BNSD_NBSD, BSND_NBSD, BSH_NBSD, TND, TND_NTD or NTD_TND
FlashAttentionScore | c2 | key: 2x5x8xi32 | key is DT_INT32, expected a floating-point type
FlashAttentionScore PromptFlashAttention | c2_types | key: 2x5x8xf16 | operands are DT_FLOAT and \
DT_FLOAT16, expected one element type
PromptFlashAttention IncreFlashAttention FusedInferAttentionScore | c2 | query: 2x3x8xi32 | query \
is DT_INT32, expected a floating-point type or DT_INT8
FlashAttentionScore PromptFlashAttention FusedInferAttentionScore | c3 | query: 3x3x8xf32 | \
batches of query and key are 3 and 2, expected equal ones
IncreFlashAttention | c3 | query: 3x1x8xf32 | batches of query and key are 3 and 2, expected equal \
ones
FlashAttentionScore PromptFlashAttention FusedInferAttentionScore | c3_rank | value: 5x8xf32 | \
value is 5x8, expected rank 3
FlashAttentionScore PromptFlashAttention FusedInferAttentionScore | c3_sequence | value: 2x6x8xf32 \
| sequences of key and value are 5 and 6, expected equal ones
FlashAttentionScore | c3_heads | ; head_num=3 | 3 heads of query and 4 of key, expected a multiple
FlashAttentionScore | c3_count | ; head_num=0 | 0 heads of query and 0 of key, expected a multiple
PromptFlashAttention IncreFlashAttention FusedInferAttentionScore | c3_groups | ; num_heads=2, \
num_key_value_heads=4 | 2 heads of query and 4 of key, expected a multiple
PromptFlashAttention | c3_length | key: 2x5x10xf32 | head lengths of query and key are 4 and 5, \
expected equal ones
FlashAttentionScore | c3_columns | key: 2x5x12xf32, value: 2x5x9xf32 | 2 heads of query and 3 of \
key, expected a multiple
PromptFlashAttention | c3_named | query: 2x3x4x8xf32, key: 2x2x4x8xf32, value: 2x2x4x8xf32; \
input_layout="BNSD" | heads of query and the attribute are 3 and 2, expected equal ones
IncreFlashAttention FusedInferAttentionScore | c3_lists | value: 2x5x8xf32 + 2x5x8xf32 | key lists \
1 tensors and value 2, expected as many, 1 or more
IncreFlashAttention FusedInferAttentionScore | c3_items | key: 1x5x8xf32 + 1x5x8xf32 + 1x5x8xf32, \
value: 1x5x8xf32 + 1x5x8xf32 + 1x5x8xf32 | key lists 3 tensors, expected 1 or 2
FlashAttentionScore PromptFlashAttention FusedInferAttentionScore | c4 | atten_mask: 3x4xf32 | \
atten_mask is 3x4, expected one that broadcasts to 2x2x3x5
PromptFlashAttention FusedInferAttentionScore | c4_shift | pse_shift: 2x3x3x5xf32 | pse_shift is \
2x3x3x5, expected one that broadcasts to 2x2x3x5
FlashAttentionScore | c4_shift | real_shift: 5xf32 | real_shift is 5, expected one that broadcasts \
to 2x2x3x5
FlashAttentionScore | c5 | padding_mask: 3x5xf32 | padding_mask is given, expected none: GE \
reserves it
FlashAttentionScore | c6 | ; keep_prob=0.0 | keep_prob is 0.0, expected above 0, at most 1
FlashAttentionScore | c7 | ; sparse_mode=9 | sparse_mode is 9, expected 0, 1, 2, 3, 4, 5, 6, 7 or 8
FlashAttentionScore | c7_shift | ; pse_type=4 | pse_type is 4, expected 0, 1, 2 or 3
FlashAttentionScore | c8 | query: 6x2x4xf32, key: 9x2x4xf32, value: 9x2x4xf32, actual_seq_qlen: \
2xi64; input_layout="TND" | actual_seq_kvlen is missing, expected it for input_layout TND
FlashAttentionScore | c8_rank | query: 6x2x4xf32, key: 9x2x4xf32, value: 9x2x4xf32, \
actual_seq_qlen: 2x1xi64, actual_seq_kvlen: 2xi64; input_layout="TND" | actual_seq_qlen is 2x1, \
expected rank 1
FlashAttentionScore | c9 | ; sparse_mode=5 | prefix is missing, expected it for sparse_mode 5
FlashAttentionScore | c9_count | prefix: 3xi64; sparse_mode=6 | lengths in prefix and batch are 3 \
and 2, expected equal ones
IncreFlashAttention | c4 | query: 2x2x8xf32 | query has 2 places, expected 1
IncreFlashAttention | c5 | atten_mask: 2x1x1x6xi1 | atten_mask is 2x1x1x6, expected one that \
broadcasts to 2x2x1x5
PromptFlashAttention FusedInferAttentionScore | c5 | actual_seq_lengths: 3xi64 | lengths in \
actual_seq_lengths and batch are 3 and 2, expected equal ones
PromptFlashAttention FusedInferAttentionScore | c5_type | actual_seq_lengths_kv: 2xf32 | \
actual_seq_lengths_kv is DT_FLOAT, expected DT_INT32 or DT_INT64
PromptFlashAttention | c5_rank | actual_seq_lengths: 2x1xi64 | actual_seq_lengths is 2x1, expected \
rank 1
IncreFlashAttention | c6 | actual_seq_lengths: 3xi64 | lengths in actual_seq_lengths and batch are \
3 and 2, expected equal ones
PromptFlashAttention FusedInferAttentionScore | c6 | ; sparse_mode=5 | sparse_mode is 5, expected \
0, 1, 2, 3 or 4
FusedInferAttentionScore | c7 | ; pse_type=2 | pse_type is 2, expected 0
FusedInferAttentionScore | c8 | ; out_dtype=1 | out_dtype is 1, expected 0
RotaryMul RotaryMulGrad RotaryPositionEmbedding InterleaveRope | c1 | x: 2x3x4x8xi32 | x is \
DT_INT32, expected a floating-point type
RotaryMul RotaryPositionEmbedding | c1_types | x: 2x3x4x8xf16 | operands are DT_FLOAT16 and \
DT_FLOAT, expected one element type
RotaryMul RotaryMulGrad InterleaveRope | c2 | x: 2x3x4x7xf32 | x is 2x3x4x7, expected a last \
dimension that 2 divides
RotaryMul RotaryMulGrad | c3 | r1: 1x3x1x1xf32 | r1 is 1x3x1x1, expected one that broadcasts to \
2x3x4x8
RotaryMul | c2_quarter | x: 2x3x4x6xf32; rotary_mode="quarter" | x is 2x3x4x6, expected a last \
dimension that 4 divides
RotaryMul | c4 | ; rotary_mode="full" | rotary_mode is 'full', expected half, interleave or quarter
RotaryPositionEmbedding | c5 | rotate: 8x4xf32 | last dimension of x and rotate are 8x8 and 8x4, \
expected equal ones
RotaryMulGrad | c4 | dy: 2x3x4x1xf32 | x and dy are 2x3x4x8 and 2x3x4x1, expected equal ones
RotaryPositionEmbedding | c2 | ; mode=4 | mode is 4, expected 0, 1, 2 or 3
RotaryPositionEmbedding | c3 | x: 3x4x8xf32 | x is 3x4x8, expected rank 4
RotaryPositionEmbedding | c3_quarter | x: 2x3x4x6xf32; mode=2 | x is 2x3x4x6, expected a last \
dimension that 4 divides
RotaryPositionEmbedding | c4 | cos: 1x2x1x8xf32 | cos is 1x2x1x8, expected one that broadcasts to \
2x3x4x8
InterleaveRope | c3 | sin: 1x2x1x8xf32 | sin is 1x2x1x8, expected one that broadcasts to 2x3x4x8
ApplyRotaryPosEmb | c1 | query: 2x3x4x8xi32 | query is DT_INT32, expected a floating-point type
ApplyRotaryPosEmb | c2 | ; layout=5 | layout is 5, expected 1, 2, 3 or 4
ApplyRotaryPosEmb | c3 | ; rotary_mode="full" | rotary_mode is 'full', expected half, interleave \
or quarter
ApplyRotaryPosEmb | c4 | ; layout=4 | query is 2x3x4x8, expected rank 3
ApplyRotaryPosEmb | c4_odd | key: 2x3x2x7xf32 | key is 2x3x2x7, expected a last dimension that 2 \
divides
ApplyRotaryPosEmb | c5 | cos: 2x3x3x8xf32 | cos is 2x3x3x8, expected one that broadcasts to \
2x3x4x8
KvRmsNormRopeCache | c1 | kv: 2x1x3x12xi32 | kv is DT_INT32, expected a floating-point type
KvRmsNormRopeCache | c2 | kv: 2x3x12xf32 | kv is 2x3x12, expected rank 4
KvRmsNormRopeCache | c2_heads | kv: 2x2x3x12xf32 | heads of kv and of the caches are 2 and 1, \
expected equal ones
KvRmsNormRopeCache | c3 | gamma: 7xf32, ckv_cache: 2x1x9x7xf32 | columns of kv and of both parts \
are 12 and 11, expected equal ones
KvRmsNormRopeCache | c3_odd | cos: 2x1x3x5xf32 | cos is 2x1x3x5, expected a last dimension that 2 \
divides
KvRmsNormRopeCache | c3_rows | cos: 2x1x4x4xf32 | cos is 2x1x4x4, expected one that broadcasts to \
2x1x3x4
KvRmsNormRopeCache | c4 | k_cache: 2x1x9x5xf32 | columns of k_cache and of its rows are 5 and 4, \
expected equal ones
KvRmsNormRopeCache | c4_rank | ckv_cache: 9x8xf32 | ckv_cache is 9x8, expected rank 4
KvRmsNormRopeCache | c5 | index: 2x3xf32 | index is DT_FLOAT, expected DT_INT32 or DT_INT64
KvRmsNormRopeCache | c5_shape | index: 6xi64 | rows of kv and index are 2x3 and 6, expected equal \
ones
KvRmsNormRopeCache | c6 | ; cache_mode="BNSD" | cache_mode is 'BNSD', expected Norm, PA, PA_BNSD, \
PA_NZ, PA_BLK_BNSD or PA_BLK_NZ
MoeGatingTopKSoftmax MoeGatingTopKSoftmaxV2 MoeGatingTopK | c1 | x: 5x8xi32 | x is DT_INT32, \
expected a floating-point type
MoeGatingTopKSoftmax MoeGatingTopKSoftmaxV2 | c1_rank | x: 8xf32 | x is 8, expected rank 2 or 3
MoeGatingTopKSoftmax MoeGatingTopKSoftmaxV2 | c2 | ; k=9 | k is 9, expected 1 to 8
MoeGatingTopKSoftmax | c2_zero | ; k=0 | k is 0, expected 1 to 8
MoeGatingTopKSoftmax MoeGatingTopKSoftmaxV2 | c3 | finished: 5xi32 | finished is DT_INT32, \
expected DT_BOOL
MoeGatingTopKSoftmax MoeGatingTopKSoftmaxV2 | c3_rows | finished: 4xi1 | rows of x and finished \
are 5 and 4, expected equal ones
MoeGatingTopKSoftmaxV2 | c4 | ; renorm=2 | renorm is 2, expected 0 or 1
MoeGatingTopK | c2 | x: 5x2x8xf32 | x is 5x2x8, expected rank 2
MoeGatingTopK | c3 | bias: 7xf32 | experts of x and bias are 8 and 7, expected equal ones
MoeGatingTopK | c4 | ; group_count=3 | group_count is 3 and k_group 2, expected a divisor of the \
experts and 1 to it
MoeGatingTopK | c4_used | ; k_group=5 | group_count is 4 and k_group 5, expected a divisor of the \
experts and 1 to it
MoeGatingTopK | c5 | ; k=5 | k is 5, expected 1 to the experts of 2 groups
MoeGatingTopK | c6 | ; renorm=1 | renorm is 1, expected 0
MoeGatingTopK | c6_mode | ; group_select_mode=2 | group_select_mode is 2, expected 0 or 1
MoeGatingTopK | c6_norm | ; norm_type=2 | norm_type is 2, expected 0 or 1
MoeGatingTopK | c7 | ; group_count=8, group_select_mode=1 | a group has 1 expert, expected 2 for \
group_select_mode 1
MoeInitRouting MoeInitRoutingQuant | c1 | x: 8xf32 | x is 8, expected rank 2
MoeInitRoutingQuant | c1_type | x: 5x8xi32 | x is DT_INT32, expected a floating-point type
MoeInitRouting MoeInitRoutingQuant | c2 | row_idx: 5x2xi64 | row_idx is DT_INT64, expected \
DT_INT32
MoeInitRouting MoeInitRoutingQuant | c2_shape | row_idx: 5x3xi32 | row_idx and expert_idx are 5x3 \
and 5x2, expected equal ones
MoeInitRouting | c2_rows | row_idx: 4x2xi32, expert_idx: 4x2xi32 | rows of x and choices are 4 and \
5, expected equal ones
MoeInitRouting | c2_rank | row_idx: 10xi32 | row_idx is 10, expected rank 2
MoeInitRouting MoeInitRoutingQuant | c3 | ; active_num=-1 | active_num is -1, expected 0 or more
MoeComputeExpertTokens | c1 | sorted_experts: 9xi64 | sorted_experts is DT_INT64, expected \
DT_INT32
MoeComputeExpertTokens | c1_rank | sorted_experts: 3x3xi32 | sorted_experts is 3x3, expected rank \
1
MoeComputeExpertTokens | c2 | ; num_experts=0 | num_experts is 0, expected 1 to 1099511627776
MoeFinalizeRouting MoeFinalizeRoutingV2 | c1 | expanded_x: 10x8xi32 | expanded_x is DT_INT32, \
expected a floating-point type
MoeFinalizeRouting | c1_types | x1: 5x8xf16 | operands are DT_FLOAT and DT_FLOAT16, expected one \
element type
MoeFinalizeRouting | c2 | bias: 4x7xf32 | columns of expanded_x and bias are 8 and 7, expected \
equal ones
MoeFinalizeRouting | c2_rank | x1: 8xf32 | x1 is 8, expected rank 2
MoeFinalizeRouting | c3 | scales: 5x3xf32 | scales and expanded_expert_idx are 5x3 and 5x2, \
expected equal ones
MoeFinalizeRouting | c3_type | expanded_row_idx: 10xi64 | expanded_row_idx is DT_INT64, expected \
DT_INT32
MoeFinalizeRouting | c3_rows | expanded_row_idx: 9xi32 | choices and expanded_row_idx are 10 and \
9, expected equal ones
MoeFinalizeRouting | c3_first | x1: 4x8xf32 | rows of scales and x1 are 5 and 4, expected equal \
ones
MoeFinalizeRouting | c3_rank | expanded_row_idx: 5x2xi32 | expanded_row_idx is 5x2, expected rank \
1
MoeFinalizeRouting | c4 | x2: 4x8xf32 | x1 and x2 are 5x8 and 4x8, expected equal ones
MoeFinalizeRoutingV2 | c2 | ; drop_pad_mode=4 | drop_pad_mode is 4, expected 0, 1, 2 or 3
MoeFinalizeRoutingV2 | c3 | expanded_x: 2x5x8xf32 | expanded_x is 2x5x8, expected rank 2
MoeFinalizeRoutingV2 | c4 | x1: 5x7xf32 | columns of expanded_x and x1 are 8 and 7, expected equal \
ones
MoeFinalizeRoutingV2 | c5 | expanded_row_idx: 10xi64 | expanded_row_idx is DT_INT64, expected \
DT_INT32
MoeFinalizeRoutingV2 | c5_rank | expanded_row_idx: 5x2xi32 | expanded_row_idx is 5x2, expected \
rank 1
MoeFinalizeRoutingV2 | c6 | bias: 4x8xf32 | expert_idx is missing, expected it with bias
MoeFinalizeRoutingV2 | c6_rows | expert_idx: 4x2xi32 | rows of scales and expert_idx are 5 and 4, \
expected equal ones
MoeFinalizeRoutingV2 | c6_type | expert_idx: 5x2xi64 | expert_idx is DT_INT64, expected DT_INT32
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
