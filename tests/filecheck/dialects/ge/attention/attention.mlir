// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Attention.
// CHECK-LABEL: func.func @main
func.func @main(%a1: tensor<2x3x8xf32>, %a2: tensor<2x5x8xf32>, %a3: tensor<3x5xi1>, %a4: tensor<2xi64>, %a5: tensor<2x1x8xf32>, %a6: tensor<1x5x8xf32>, %a7: tensor<1x4x8xf32>) {
  // CHECK-NEXT: %flash_attention_score:4 = ge.FlashAttentionScore(%a1, %a2, %a2) {head_num = 2, is_flash = true, input_layout = "BSH"} : (tensor<2x3x8xf32>, tensor<2x5x8xf32>, tensor<2x5x8xf32>) -> (tensor<2x2x3x8xf32>, tensor<2x2x3x8xf32>, tensor<0x0x0x0xf32>, tensor<2x3x8xf32>)
  %flash_attention_score:4 = ge.FlashAttentionScore(%a1, %a2, %a2) {head_num = 2, is_flash = true, input_layout = "BSH"} : (tensor<2x3x8xf32>, tensor<2x5x8xf32>, tensor<2x5x8xf32>) -> (tensor<2x2x3x8xf32>, tensor<2x2x3x8xf32>, tensor<0x0x0x0xf32>, tensor<2x3x8xf32>)
  // CHECK-NEXT: %prompt_flash_attention = ge.PromptFlashAttention(%a1, %a2, %a2, atten_mask = %a3, actual_seq_lengths_kv = %a4) {num_heads = 2, num_key_value_heads = 0} : (tensor<2x3x8xf32>, tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<3x5xi1>, tensor<2xi64>) -> tensor<2x3x8xf32>
  %prompt_flash_attention = ge.PromptFlashAttention(%a1, %a2, %a2, atten_mask = %a3, actual_seq_lengths_kv = %a4) {num_heads = 2, num_key_value_heads = 0} : (tensor<2x3x8xf32>, tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<3x5xi1>, tensor<2xi64>) -> tensor<2x3x8xf32>
  // CHECK-NEXT: %incre_flash_attention = ge.IncreFlashAttention(%a5, [%a6, %a7], [%a6, %a7]) {num_heads = 2, num_key_value_heads = 0} : (tensor<2x1x8xf32>, tensor<1x5x8xf32>, tensor<1x4x8xf32>, tensor<1x5x8xf32>, tensor<1x4x8xf32>) -> tensor<2x1x8xf32>
  %incre_flash_attention = ge.IncreFlashAttention(%a5, [%a6, %a7], [%a6, %a7]) {num_heads = 2, num_key_value_heads = 0} : (tensor<2x1x8xf32>, tensor<1x5x8xf32>, tensor<1x4x8xf32>, tensor<1x5x8xf32>, tensor<1x4x8xf32>) -> tensor<2x1x8xf32>
  // CHECK-NEXT: %fused_infer_attention_score:2 = ge.FusedInferAttentionScore(%a1, [%a2], [%a2], actual_seq_lengths_kv = %a4) {num_heads = 2} : (tensor<2x3x8xf32>, tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<2xi64>) -> (tensor<2x3x8xf32>, tensor<0xf32>)
  %fused_infer_attention_score:2 = ge.FusedInferAttentionScore(%a1, [%a2], [%a2], actual_seq_lengths_kv = %a4) {num_heads = 2} : (tensor<2x3x8xf32>, tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<2xi64>) -> (tensor<2x3x8xf32>, tensor<0xf32>)
  // CHECK-NEXT: func.return
  func.return
}
