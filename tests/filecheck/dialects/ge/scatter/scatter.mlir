// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Slices and elements written along one dimension, in place and not.
// CHECK-LABEL: func.func @main
func.func @main(%a0: tensor<5x3xf32>, %a1: tensor<4xi32>, %a2: tensor<4x3xf32>, %a3: tensor<5x?xf32>, %a4: tensor<?xi32>, %a5: tensor<*xf32>, %a6: tensor<2x3xi32>, %a7: tensor<2x3xf32>, %a8: tensor<3xi1>, %a9: tensor<?xf32>, %a10: tensor<f32>) {
  // CHECK-NEXT: %scatter_update = ge.ScatterUpdate(%a0, %a1, %a2) : (tensor<5x3xf32>, tensor<4xi32>, tensor<4x3xf32>) -> tensor<5x3xf32>
  %scatter_update = ge.ScatterUpdate(%a0, %a1, %a2) : (tensor<5x3xf32>, tensor<4xi32>, tensor<4x3xf32>) -> tensor<5x3xf32>
  // CHECK-NEXT: %scatter_add = ge.ScatterAdd(%a3, %a1, %a2) : (tensor<5x?xf32>, tensor<4xi32>, tensor<4x3xf32>) -> tensor<5x?xf32>
  %scatter_add = ge.ScatterAdd(%a3, %a1, %a2) : (tensor<5x?xf32>, tensor<4xi32>, tensor<4x3xf32>) -> tensor<5x?xf32>
  // CHECK-NEXT: %scatter_sub = ge.ScatterSub(%a0, %a1, %a2) : (tensor<5x3xf32>, tensor<4xi32>, tensor<4x3xf32>) -> tensor<5x3xf32>
  %scatter_sub = ge.ScatterSub(%a0, %a1, %a2) : (tensor<5x3xf32>, tensor<4xi32>, tensor<4x3xf32>) -> tensor<5x3xf32>
  // CHECK-NEXT: %scatter_mul = ge.ScatterMul(%a0, %a4, %a2) : (tensor<5x3xf32>, tensor<?xi32>, tensor<4x3xf32>) -> tensor<5x3xf32>
  %scatter_mul = ge.ScatterMul(%a0, %a4, %a2) : (tensor<5x3xf32>, tensor<?xi32>, tensor<4x3xf32>) -> tensor<5x3xf32>
  // CHECK-NEXT: %scatter_div = ge.ScatterDiv(%a0, %a1, %a2) : (tensor<5x3xf32>, tensor<4xi32>, tensor<4x3xf32>) -> tensor<5x3xf32>
  %scatter_div = ge.ScatterDiv(%a0, %a1, %a2) : (tensor<5x3xf32>, tensor<4xi32>, tensor<4x3xf32>) -> tensor<5x3xf32>
  // CHECK-NEXT: %scatter_max = ge.ScatterMax(%a0, %a1, %a2) : (tensor<5x3xf32>, tensor<4xi32>, tensor<4x3xf32>) -> tensor<5x3xf32>
  %scatter_max = ge.ScatterMax(%a0, %a1, %a2) : (tensor<5x3xf32>, tensor<4xi32>, tensor<4x3xf32>) -> tensor<5x3xf32>
  // CHECK-NEXT: %scatter_min = ge.ScatterMin(%a0, %a1, %a5) : (tensor<5x3xf32>, tensor<4xi32>, tensor<*xf32>) -> tensor<5x3xf32>
  %scatter_min = ge.ScatterMin(%a0, %a1, %a5) : (tensor<5x3xf32>, tensor<4xi32>, tensor<*xf32>) -> tensor<5x3xf32>
  // CHECK-NEXT: %scatter_elements = ge.ScatterElements(%a0, %a6, %a7) {reduction = "add"} : (tensor<5x3xf32>, tensor<2x3xi32>, tensor<2x3xf32>) -> tensor<5x3xf32>
  %scatter_elements = ge.ScatterElements(%a0, %a6, %a7) {reduction = "add"} : (tensor<5x3xf32>, tensor<2x3xi32>, tensor<2x3xf32>) -> tensor<5x3xf32>
  // CHECK-NEXT: %scatter_elements_v2 = ge.ScatterElementsV2(%a0, %a6, %a7) {axis = 1, include_self = false} : (tensor<5x3xf32>, tensor<2x3xi32>, tensor<2x3xf32>) -> tensor<5x3xf32>
  %scatter_elements_v2 = ge.ScatterElementsV2(%a0, %a6, %a7) {axis = 1, include_self = false} : (tensor<5x3xf32>, tensor<2x3xi32>, tensor<2x3xf32>) -> tensor<5x3xf32>
  // CHECK-NEXT: %masked_scatter = ge.MaskedScatter(%a0, %a8, %a9) : (tensor<5x3xf32>, tensor<3xi1>, tensor<?xf32>) -> tensor<5x3xf32>
  %masked_scatter = ge.MaskedScatter(%a0, %a8, %a9) : (tensor<5x3xf32>, tensor<3xi1>, tensor<?xf32>) -> tensor<5x3xf32>
  // CHECK-NEXT: %index_add = ge.IndexAdd(%a0, %a1, %a2) : (tensor<5x3xf32>, tensor<4xi32>, tensor<4x3xf32>) -> tensor<5x3xf32>
  %index_add = ge.IndexAdd(%a0, %a1, %a2) : (tensor<5x3xf32>, tensor<4xi32>, tensor<4x3xf32>) -> tensor<5x3xf32>
  // CHECK-NEXT: %inplace_index_add = ge.InplaceIndexAdd(%a0, %a1, %a2, alpha = %a10) {axis = 0} : (tensor<5x3xf32>, tensor<4xi32>, tensor<4x3xf32>, tensor<f32>) -> tensor<5x3xf32>
  %inplace_index_add = ge.InplaceIndexAdd(%a0, %a1, %a2, alpha = %a10) {axis = 0} : (tensor<5x3xf32>, tensor<4xi32>, tensor<4x3xf32>, tensor<f32>) -> tensor<5x3xf32>
  // CHECK-NEXT: %index_fill = ge.IndexFill(%a0, %a1, %a10) {dim = 1} : (tensor<5x3xf32>, tensor<4xi32>, tensor<f32>) -> tensor<5x3xf32>
  %index_fill = ge.IndexFill(%a0, %a1, %a10) {dim = 1} : (tensor<5x3xf32>, tensor<4xi32>, tensor<f32>) -> tensor<5x3xf32>
  // CHECK-NEXT: %inplace_index_fill = ge.InplaceIndexFill(%a0, %a1, %a10) {dim = 1} : (tensor<5x3xf32>, tensor<4xi32>, tensor<f32>) -> tensor<5x3xf32>
  %inplace_index_fill = ge.InplaceIndexFill(%a0, %a1, %a10) {dim = 1} : (tensor<5x3xf32>, tensor<4xi32>, tensor<f32>) -> tensor<5x3xf32>
  func.return
}
