// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Rows replaced, raised and lowered.
// CHECK-LABEL: func.func @main
func.func @main(%a0: tensor<5x?xf32>, %a1: tensor<2xi32>, %a2: tensor<2x3xf32>) {
  // CHECK-NEXT: %inplace_update = ge.InplaceUpdate(%a0, %a1, %a2) : (tensor<5x?xf32>, tensor<2xi32>, tensor<2x3xf32>) -> tensor<5x?xf32>
  %inplace_update = ge.InplaceUpdate(%a0, %a1, %a2) : (tensor<5x?xf32>, tensor<2xi32>, tensor<2x3xf32>) -> tensor<5x?xf32>
  // CHECK-NEXT: %inplace_add = ge.InplaceAdd(%a0, %a1, %a2) : (tensor<5x?xf32>, tensor<2xi32>, tensor<2x3xf32>) -> tensor<5x?xf32>
  %inplace_add = ge.InplaceAdd(%a0, %a1, %a2) : (tensor<5x?xf32>, tensor<2xi32>, tensor<2x3xf32>) -> tensor<5x?xf32>
  // CHECK-NEXT: %inplace_sub = ge.InplaceSub(%a0, %a1, %a2) : (tensor<5x?xf32>, tensor<2xi32>, tensor<2x3xf32>) -> tensor<5x?xf32>
  %inplace_sub = ge.InplaceSub(%a0, %a1, %a2) : (tensor<5x?xf32>, tensor<2xi32>, tensor<2x3xf32>) -> tensor<5x?xf32>
  // CHECK-NEXT: %inplace_update_d = ge.InplaceUpdateD(%a0, %a2) {indices = [1, 0]} : (tensor<5x?xf32>, tensor<2x3xf32>) -> tensor<5x?xf32>
  %inplace_update_d = ge.InplaceUpdateD(%a0, %a2) {indices = [1, 0]} : (tensor<5x?xf32>, tensor<2x3xf32>) -> tensor<5x?xf32>
  // CHECK-NEXT: %inplace_add_d = ge.InplaceAddD(%a0, %a2) {indices = [1, 0]} : (tensor<5x?xf32>, tensor<2x3xf32>) -> tensor<5x?xf32>
  %inplace_add_d = ge.InplaceAddD(%a0, %a2) {indices = [1, 0]} : (tensor<5x?xf32>, tensor<2x3xf32>) -> tensor<5x?xf32>
  // CHECK-NEXT: %inplace_sub_d = ge.InplaceSubD(%a0, %a2) {indices = [1, 0]} : (tensor<5x?xf32>, tensor<2x3xf32>) -> tensor<5x?xf32>
  %inplace_sub_d = ge.InplaceSubD(%a0, %a2) {indices = [1, 0]} : (tensor<5x?xf32>, tensor<2x3xf32>) -> tensor<5x?xf32>
  func.return
}
