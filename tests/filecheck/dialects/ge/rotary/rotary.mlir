// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Rotary position embedding.
// CHECK-LABEL: func.func @main
func.func @main(%a1: tensor<2x3x4x8xf32>, %a2: tensor<1x3x1x8xf32>, %a3: tensor<2x3x2x8xf32>, %a4: tensor<2x3x1x8xf32>, %a5: tensor<2x1x3x12xf32>, %a6: tensor<8xf32>, %a7: tensor<2x1x3x4xf32>, %a8: tensor<2x3xi64>, %a9: tensor<2x1x9x4xf32>, %a10: tensor<2x1x9x8xf32>) {
  // CHECK-NEXT: %rotary_mul = ge.RotaryMul(%a1, %a2, %a2) : (tensor<2x3x4x8xf32>, tensor<1x3x1x8xf32>, tensor<1x3x1x8xf32>) -> tensor<2x3x4x8xf32>
  %rotary_mul = ge.RotaryMul(%a1, %a2, %a2) : (tensor<2x3x4x8xf32>, tensor<1x3x1x8xf32>, tensor<1x3x1x8xf32>) -> tensor<2x3x4x8xf32>
  // CHECK-NEXT: %rotary_mul_grad:3 = ge.RotaryMulGrad(%a1, %a2, %a2, %a1) : (tensor<2x3x4x8xf32>, tensor<1x3x1x8xf32>, tensor<1x3x1x8xf32>, tensor<2x3x4x8xf32>) -> (tensor<2x3x4x8xf32>, tensor<1x3x1x8xf32>, tensor<1x3x1x8xf32>)
  %rotary_mul_grad:3 = ge.RotaryMulGrad(%a1, %a2, %a2, %a1) : (tensor<2x3x4x8xf32>, tensor<1x3x1x8xf32>, tensor<1x3x1x8xf32>, tensor<2x3x4x8xf32>) -> (tensor<2x3x4x8xf32>, tensor<1x3x1x8xf32>, tensor<1x3x1x8xf32>)
  // CHECK-NEXT: %rotary_position_embedding = ge.RotaryPositionEmbedding(%a1, %a2, %a2) : (tensor<2x3x4x8xf32>, tensor<1x3x1x8xf32>, tensor<1x3x1x8xf32>) -> tensor<2x3x4x8xf32>
  %rotary_position_embedding = ge.RotaryPositionEmbedding(%a1, %a2, %a2) : (tensor<2x3x4x8xf32>, tensor<1x3x1x8xf32>, tensor<1x3x1x8xf32>) -> tensor<2x3x4x8xf32>
  // CHECK-NEXT: %apply_rotary_pos_emb:2 = ge.ApplyRotaryPosEmb(%a1, %a3, %a4, %a4) : (tensor<2x3x4x8xf32>, tensor<2x3x2x8xf32>, tensor<2x3x1x8xf32>, tensor<2x3x1x8xf32>) -> (tensor<2x3x4x8xf32>, tensor<2x3x2x8xf32>)
  %apply_rotary_pos_emb:2 = ge.ApplyRotaryPosEmb(%a1, %a3, %a4, %a4) : (tensor<2x3x4x8xf32>, tensor<2x3x2x8xf32>, tensor<2x3x1x8xf32>, tensor<2x3x1x8xf32>) -> (tensor<2x3x4x8xf32>, tensor<2x3x2x8xf32>)
  // CHECK-NEXT: %interleave_rope = ge.InterleaveRope(%a1, %a2, %a2) : (tensor<2x3x4x8xf32>, tensor<1x3x1x8xf32>, tensor<1x3x1x8xf32>) -> tensor<2x3x4x8xf32>
  %interleave_rope = ge.InterleaveRope(%a1, %a2, %a2) : (tensor<2x3x4x8xf32>, tensor<1x3x1x8xf32>, tensor<1x3x1x8xf32>) -> tensor<2x3x4x8xf32>
  // CHECK-NEXT: %kv_rms_norm_rope_cache:4 = ge.KvRmsNormRopeCache(%a5, %a6, %a7, %a7, %a8, %a9, %a10) : (tensor<2x1x3x12xf32>, tensor<8xf32>, tensor<2x1x3x4xf32>, tensor<2x1x3x4xf32>, tensor<2x3xi64>, tensor<2x1x9x4xf32>, tensor<2x1x9x8xf32>) -> (tensor<2x1x9x4xf32>, tensor<2x1x9x8xf32>, tensor<2x1x3x4xf32>, tensor<2x1x3x8xf32>)
  %kv_rms_norm_rope_cache:4 = ge.KvRmsNormRopeCache(%a5, %a6, %a7, %a7, %a8, %a9, %a10) : (tensor<2x1x3x12xf32>, tensor<8xf32>, tensor<2x1x3x4xf32>, tensor<2x1x3x4xf32>, tensor<2x3xi64>, tensor<2x1x9x4xf32>, tensor<2x1x9x8xf32>) -> (tensor<2x1x9x4xf32>, tensor<2x1x9x8xf32>, tensor<2x1x3x4xf32>, tensor<2x1x3x8xf32>)
  // CHECK-NEXT: func.return
  func.return
}
