// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Slices written at rows of indices, in place and not.
// CHECK-LABEL: func.func @main
func.func @main(%a0: tensor<4x1xi32>, %a1: tensor<4x3xf32>, %a2: tensor<5x3xf32>, %a3: tensor<5x?xf32>, %a4: tensor<4x?xi32>, %a5: tensor<*xf32>) {
  // CHECK-NEXT: %c0 = ge.Const() {value = dense<[5, 3]> : tensor<2xi64>} : () -> tensor<2xi64>
  %c0 = ge.Const() {value = dense<[5, 3]> : tensor<2xi64>} : () -> tensor<2xi64>
  // CHECK-NEXT: %scatter_nd = ge.ScatterNd(%a0, %a1, %c0) : (tensor<4x1xi32>, tensor<4x3xf32>, tensor<2xi64>) -> tensor<5x3xf32>
  %scatter_nd = ge.ScatterNd(%a0, %a1, %c0) : (tensor<4x1xi32>, tensor<4x3xf32>, tensor<2xi64>) -> tensor<5x3xf32>
  // CHECK-NEXT: %scatter_nd_d = ge.ScatterNdD(%a0, %a1) {shape = [5, 3]} : (tensor<4x1xi32>, tensor<4x3xf32>) -> tensor<5x3xf32>
  %scatter_nd_d = ge.ScatterNdD(%a0, %a1) {shape = [5, 3]} : (tensor<4x1xi32>, tensor<4x3xf32>) -> tensor<5x3xf32>
  // CHECK-NEXT: %scatter_nd_update = ge.ScatterNdUpdate(%a2, %a0, %a1) : (tensor<5x3xf32>, tensor<4x1xi32>, tensor<4x3xf32>) -> tensor<5x3xf32>
  %scatter_nd_update = ge.ScatterNdUpdate(%a2, %a0, %a1) : (tensor<5x3xf32>, tensor<4x1xi32>, tensor<4x3xf32>) -> tensor<5x3xf32>
  // CHECK-NEXT: %scatter_nd_add = ge.ScatterNdAdd(%a2, %a0, %a1) {use_locking = true} : (tensor<5x3xf32>, tensor<4x1xi32>, tensor<4x3xf32>) -> tensor<5x3xf32>
  %scatter_nd_add = ge.ScatterNdAdd(%a2, %a0, %a1) {use_locking = true} : (tensor<5x3xf32>, tensor<4x1xi32>, tensor<4x3xf32>) -> tensor<5x3xf32>
  // CHECK-NEXT: %scatter_nd_sub = ge.ScatterNdSub(%a3, %a0, %a1) : (tensor<5x?xf32>, tensor<4x1xi32>, tensor<4x3xf32>) -> tensor<5x?xf32>
  %scatter_nd_sub = ge.ScatterNdSub(%a3, %a0, %a1) : (tensor<5x?xf32>, tensor<4x1xi32>, tensor<4x3xf32>) -> tensor<5x?xf32>
  // CHECK-NEXT: %scatter_nd_max = ge.ScatterNdMax(%a2, %a4, %a5) : (tensor<5x3xf32>, tensor<4x?xi32>, tensor<*xf32>) -> tensor<5x3xf32>
  %scatter_nd_max = ge.ScatterNdMax(%a2, %a4, %a5) : (tensor<5x3xf32>, tensor<4x?xi32>, tensor<*xf32>) -> tensor<5x3xf32>
  // CHECK-NEXT: %scatter_nd_min = ge.ScatterNdMin(%a2, %a0, %a1) : (tensor<5x3xf32>, tensor<4x1xi32>, tensor<4x3xf32>) -> tensor<5x3xf32>
  %scatter_nd_min = ge.ScatterNdMin(%a2, %a0, %a1) : (tensor<5x3xf32>, tensor<4x1xi32>, tensor<4x3xf32>) -> tensor<5x3xf32>
  // CHECK-NEXT: %tensor_scatter_update = ge.TensorScatterUpdate(%a2, %a0, %a1) : (tensor<5x3xf32>, tensor<4x1xi32>, tensor<4x3xf32>) -> tensor<5x3xf32>
  %tensor_scatter_update = ge.TensorScatterUpdate(%a2, %a0, %a1) : (tensor<5x3xf32>, tensor<4x1xi32>, tensor<4x3xf32>) -> tensor<5x3xf32>
  // CHECK-NEXT: %tensor_scatter_add = ge.TensorScatterAdd(%a5, %a0, %a1) : (tensor<*xf32>, tensor<4x1xi32>, tensor<4x3xf32>) -> tensor<*xf32>
  %tensor_scatter_add = ge.TensorScatterAdd(%a5, %a0, %a1) : (tensor<*xf32>, tensor<4x1xi32>, tensor<4x3xf32>) -> tensor<*xf32>
  // CHECK-NEXT: %tensor_scatter_sub = ge.TensorScatterSub(%a2, %a0, %a1) : (tensor<5x3xf32>, tensor<4x1xi32>, tensor<4x3xf32>) -> tensor<5x3xf32>
  %tensor_scatter_sub = ge.TensorScatterSub(%a2, %a0, %a1) : (tensor<5x3xf32>, tensor<4x1xi32>, tensor<4x3xf32>) -> tensor<5x3xf32>
  // CHECK-NEXT: %tensor_scatter_max = ge.TensorScatterMax(%a2, %a0, %a1) : (tensor<5x3xf32>, tensor<4x1xi32>, tensor<4x3xf32>) -> tensor<5x3xf32>
  %tensor_scatter_max = ge.TensorScatterMax(%a2, %a0, %a1) : (tensor<5x3xf32>, tensor<4x1xi32>, tensor<4x3xf32>) -> tensor<5x3xf32>
  // CHECK-NEXT: %tensor_scatter_min = ge.TensorScatterMin(%a2, %a0, %a1) : (tensor<5x3xf32>, tensor<4x1xi32>, tensor<4x3xf32>) -> tensor<5x3xf32>
  %tensor_scatter_min = ge.TensorScatterMin(%a2, %a0, %a1) : (tensor<5x3xf32>, tensor<4x1xi32>, tensor<4x3xf32>) -> tensor<5x3xf32>
  // CHECK-NEXT: %scatter_non_aliasing_add = ge.ScatterNonAliasingAdd(%a2, %a0, %a1) : (tensor<5x3xf32>, tensor<4x1xi32>, tensor<4x3xf32>) -> tensor<5x3xf32>
  %scatter_non_aliasing_add = ge.ScatterNonAliasingAdd(%a2, %a0, %a1) : (tensor<5x3xf32>, tensor<4x1xi32>, tensor<4x3xf32>) -> tensor<5x3xf32>
  func.return
}
