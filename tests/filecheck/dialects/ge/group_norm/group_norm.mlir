// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Group and instance normalisation.
// CHECK-LABEL: func.func @main
func.func @main(%a1: tensor<2x6x4xf32>, %a2: tensor<6xf32>, %a3: tensor<2x3x4x5xf32>, %a4: tensor<2x3x1x1xf32>, %a5: tensor<2x3xf32>, %a6: tensor<1xf32>, %a7: tensor<2x3x4xf32>, %a8: tensor<3xf32>) {
  // CHECK-NEXT: %group_norm:3 = ge.GroupNorm(%a1, %a2, %a2) {num_groups = 3} : (tensor<2x6x4xf32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<2x6x4xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  %group_norm:3 = ge.GroupNorm(%a1, %a2, %a2) {num_groups = 3} : (tensor<2x6x4xf32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<2x6x4xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  // CHECK-NEXT: %group_norm_v2:3 = ge.GroupNormV2(%a1, %a2, %a2) {num_groups = 3} : (tensor<2x6x4xf32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<2x6x4xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  %group_norm_v2:3 = ge.GroupNormV2(%a1, %a2, %a2) {num_groups = 3} : (tensor<2x6x4xf32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<2x6x4xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  // CHECK-NEXT: %group_norm_relu = ge.GroupNormRelu(%a1, %a2, %a2) {num_groups = 3} : (tensor<2x6x4xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<2x6x4xf32>
  %group_norm_relu = ge.GroupNormRelu(%a1, %a2, %a2) {num_groups = 3} : (tensor<2x6x4xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<2x6x4xf32>
  // CHECK-NEXT: %group_norm_silu:3 = ge.GroupNormSilu(%a1, gamma = %a2, beta = %a2) {num_groups = 3} : (tensor<2x6x4xf32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<2x6x4xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  %group_norm_silu:3 = ge.GroupNormSilu(%a1, gamma = %a2, beta = %a2) {num_groups = 3} : (tensor<2x6x4xf32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<2x6x4xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  // CHECK-NEXT: %group_norm_swish:3 = ge.GroupNormSwish(%a1, %a2, %a2) {num_groups = 3} : (tensor<2x6x4xf32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<2x6x4xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  %group_norm_swish:3 = ge.GroupNormSwish(%a1, %a2, %a2) {num_groups = 3} : (tensor<2x6x4xf32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<2x6x4xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  // CHECK-NEXT: %in_training_reduce_v2:2 = ge.INTrainingReduceV2(%a3) : (tensor<2x3x4x5xf32>) -> (tensor<2x3x1x1xf32>, tensor<2x3x1x1xf32>)
  %in_training_reduce_v2:2 = ge.INTrainingReduceV2(%a3) : (tensor<2x3x4x5xf32>) -> (tensor<2x3x1x1xf32>, tensor<2x3x1x1xf32>)
  // CHECK-NEXT: %in_training_update_v2:3 = ge.INTrainingUpdateV2(%a3, %a4, %a4) : (tensor<2x3x4x5xf32>, tensor<2x3x1x1xf32>, tensor<2x3x1x1xf32>) -> (tensor<2x3x4x5xf32>, tensor<2x3x1x1xf32>, tensor<2x3x1x1xf32>)
  %in_training_update_v2:3 = ge.INTrainingUpdateV2(%a3, %a4, %a4) : (tensor<2x3x4x5xf32>, tensor<2x3x1x1xf32>, tensor<2x3x1x1xf32>) -> (tensor<2x3x4x5xf32>, tensor<2x3x1x1xf32>, tensor<2x3x1x1xf32>)
  // CHECK-NEXT: %in_infer_v2:3 = ge.INInferV2(%a3, mean = %a4, variance = %a4) : (tensor<2x3x4x5xf32>, tensor<2x3x1x1xf32>, tensor<2x3x1x1xf32>) -> (tensor<2x3x4x5xf32>, tensor<2x3x1x1xf32>, tensor<2x3x1x1xf32>)
  %in_infer_v2:3 = ge.INInferV2(%a3, mean = %a4, variance = %a4) : (tensor<2x3x4x5xf32>, tensor<2x3x1x1xf32>, tensor<2x3x1x1xf32>) -> (tensor<2x3x4x5xf32>, tensor<2x3x1x1xf32>, tensor<2x3x1x1xf32>)
  // CHECK-NEXT: %l2_normalize = ge.L2Normalize(%a5) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %l2_normalize = ge.L2Normalize(%a5) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %normalize = ge.Normalize(%a3, %a6) : (tensor<2x3x4x5xf32>, tensor<1xf32>) -> tensor<2x3x4x5xf32>
  %normalize = ge.Normalize(%a3, %a6) : (tensor<2x3x4x5xf32>, tensor<1xf32>) -> tensor<2x3x4x5xf32>
  // CHECK-NEXT: %lrn = ge.LRN(%a3) : (tensor<2x3x4x5xf32>) -> tensor<2x3x4x5xf32>
  %lrn = ge.LRN(%a3) : (tensor<2x3x4x5xf32>) -> tensor<2x3x4x5xf32>
  // CHECK-NEXT: %scale = ge.Scale(%a7, %a8) : (tensor<2x3x4xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  %scale = ge.Scale(%a7, %a8) : (tensor<2x3x4xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  // CHECK-NEXT: %bias = ge.Bias(%a7, %a8) : (tensor<2x3x4xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  %bias = ge.Bias(%a7, %a8) : (tensor<2x3x4xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  // CHECK-NEXT: func.return
  func.return
}
