// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Suppression.
// CHECK-LABEL: func.func @main
func.func @main(%a0: tensor<5x4xf32>, %a1: tensor<5xf32>, %a2: tensor<f32>, %a3: tensor<f32>, %a4: tensor<1x5x4xf32>, %a5: tensor<1x2x5xf32>, %a6: tensor<1x5x1x4xf32>, %a7: tensor<1x5x2xf32>, %a8: tensor<f32>, %a9: tensor<f32>, %a10: tensor<5x5xf32>) {
  // CHECK-NEXT: %c0_v2 = ge.Const() {value = dense<3> : tensor<i32>} : () -> tensor<i32>
  %c0_v2 = ge.Const() {value = dense<3> : tensor<i32>} : () -> tensor<i32>
  // CHECK-NEXT: %non_max_suppression_v4:2 = ge.NonMaxSuppressionV4(%a0, %a1, %c0_v2, %a2, %a3) : (tensor<5x4xf32>, tensor<5xf32>, tensor<i32>, tensor<f32>, tensor<f32>) -> (tensor<?xi32>, tensor<i32>)
  %non_max_suppression_v4:2 = ge.NonMaxSuppressionV4(%a0, %a1, %c0_v2, %a2, %a3) : (tensor<5x4xf32>, tensor<5xf32>, tensor<i32>, tensor<f32>, tensor<f32>) -> (tensor<?xi32>, tensor<i32>)
  // CHECK-NEXT: %c2_v2 = ge.Const() {value = dense<3> : tensor<i32>} : () -> tensor<i32>
  %c2_v2 = ge.Const() {value = dense<3> : tensor<i32>} : () -> tensor<i32>
  // CHECK-NEXT: %non_max_suppression_v6 = ge.NonMaxSuppressionV6(%a4, %a5, max_output_size = %c2_v2) : (tensor<1x5x4xf32>, tensor<1x2x5xf32>, tensor<i32>) -> tensor<6x3xi32>
  %non_max_suppression_v6 = ge.NonMaxSuppressionV6(%a4, %a5, max_output_size = %c2_v2) : (tensor<1x5x4xf32>, tensor<1x2x5xf32>, tensor<i32>) -> tensor<6x3xi32>
  // CHECK-NEXT: %c4_v2 = ge.Const() {value = dense<3> : tensor<i32>} : () -> tensor<i32>
  %c4_v2 = ge.Const() {value = dense<3> : tensor<i32>} : () -> tensor<i32>
  // CHECK-NEXT: %c4_v3 = ge.Const() {value = dense<4> : tensor<i32>} : () -> tensor<i32>
  %c4_v3 = ge.Const() {value = dense<4> : tensor<i32>} : () -> tensor<i32>
  // CHECK-NEXT: %combined_non_max_suppression:4 = ge.CombinedNonMaxSuppression(%a6, %a7, %c4_v2, %c4_v3, %a8, %a9) : (tensor<1x5x1x4xf32>, tensor<1x5x2xf32>, tensor<i32>, tensor<i32>, tensor<f32>, tensor<f32>) -> (tensor<1x4x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1xi32>)
  %combined_non_max_suppression:4 = ge.CombinedNonMaxSuppression(%a6, %a7, %c4_v2, %c4_v3, %a8, %a9) : (tensor<1x5x1x4xf32>, tensor<1x5x2xf32>, tensor<i32>, tensor<i32>, tensor<f32>, tensor<f32>) -> (tensor<1x4x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1xi32>)
  // CHECK-NEXT: %nmswith_mask:3 = ge.NMSWithMask(%a10) : (tensor<5x5xf32>) -> (tensor<5x5xf32>, tensor<5xi32>, tensor<5xui8>)
  %nmswith_mask:3 = ge.NMSWithMask(%a10) : (tensor<5x5xf32>) -> (tensor<5x5xf32>, tensor<5xi32>, tensor<5xui8>)
  // CHECK-NEXT: func.return
  func.return
}
