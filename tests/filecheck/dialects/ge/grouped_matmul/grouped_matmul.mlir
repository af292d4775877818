// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Grouped matrix products.
// CHECK-LABEL: func.func @main
func.func @main(%a1: tensor<2x4xf32>, %a2: tensor<3x4xf32>, %a3: tensor<4x5xf32>, %a4: tensor<4x8xf32>, %a5: tensor<8x4xf32>, %a6: tensor<8xf32>) {
  // CHECK-NEXT: %grouped_matmul:2 = ge.GroupedMatmul([%a1, %a2], [%a3, %a3], [], [], [], [], []) : (tensor<2x4xf32>, tensor<3x4xf32>, tensor<4x5xf32>, tensor<4x5xf32>) -> (tensor<2x5xf32>, tensor<3x5xf32>)
  %grouped_matmul:2 = ge.GroupedMatmul([%a1, %a2], [%a3, %a3], [], [], [], [], []) : (tensor<2x4xf32>, tensor<3x4xf32>, tensor<4x5xf32>, tensor<4x5xf32>) -> (tensor<2x5xf32>, tensor<3x5xf32>)
  // CHECK-NEXT: %ffn = ge.FFN(%a1, %a4, %a5, bias1 = %a6) {activation = "relu"} : (tensor<2x4xf32>, tensor<4x8xf32>, tensor<8x4xf32>, tensor<8xf32>) -> tensor<2x4xf32>
  %ffn = ge.FFN(%a1, %a4, %a5, bias1 = %a6) {activation = "relu"} : (tensor<2x4xf32>, tensor<4x8xf32>, tensor<8x4xf32>, tensor<8xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: func.return
  func.return
}
