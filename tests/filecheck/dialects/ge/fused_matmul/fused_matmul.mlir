// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Later and fused matrix products.
// CHECK-LABEL: func.func @main
func.func @main(%a1: tensor<2x3xf32>, %a2: tensor<3x5xf32>, %a3: tensor<2x3x4xf32>, %a4: tensor<2x4x5xf32>, %a5: tensor<5x12xf32>) {
  // CHECK-NEXT: %mat_mul_v3 = ge.MatMulV3(%a1, %a2) : (tensor<2x3xf32>, tensor<3x5xf32>) -> tensor<2x5xf32>
  %mat_mul_v3 = ge.MatMulV3(%a1, %a2) : (tensor<2x3xf32>, tensor<3x5xf32>) -> tensor<2x5xf32>
  // CHECK-NEXT: %batch_mat_mul_v3 = ge.BatchMatMulV3(%a1, %a2) : (tensor<2x3xf32>, tensor<3x5xf32>) -> tensor<2x5xf32>
  %batch_mat_mul_v3 = ge.BatchMatMulV3(%a1, %a2) : (tensor<2x3xf32>, tensor<3x5xf32>) -> tensor<2x5xf32>
  // CHECK-NEXT: %fused_mat_mul = ge.FusedMatMul(%a1, %a2) : (tensor<2x3xf32>, tensor<3x5xf32>) -> tensor<2x5xf32>
  %fused_mat_mul = ge.FusedMatMul(%a1, %a2) : (tensor<2x3xf32>, tensor<3x5xf32>) -> tensor<2x5xf32>
  // CHECK-NEXT: %transpose_batch_mat_mul = ge.TransposeBatchMatMul(%a3, %a4) : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
  %transpose_batch_mat_mul = ge.TransposeBatchMatMul(%a3, %a4) : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
  // CHECK-NEXT: %fully_connection = ge.FullyConnection(%a3, %a5) {num_output = 5} : (tensor<2x3x4xf32>, tensor<5x12xf32>) -> tensor<2x5xf32>
  %fully_connection = ge.FullyConnection(%a3, %a5) {num_output = 5} : (tensor<2x3x4xf32>, tensor<5x12xf32>) -> tensor<2x5xf32>
  // CHECK-NEXT: func.return
  func.return
}
