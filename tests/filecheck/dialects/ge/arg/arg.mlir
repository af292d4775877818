// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Positions of extremes.
// CHECK-LABEL: func.func @main
func.func @main(%a0: tensor<2x?x4xf32>, %a1: tensor<i32>, %a2: tensor<*xf32>, %a3: tensor<2x4xi32>, %a4: tensor<2x4xf32>, %a5: tensor<4xf16>) {
  // CHECK-NEXT: %c0 = ge.Const() {value = dense<1> : tensor<i32>} : () -> tensor<i32>
  %c0 = ge.Const() {value = dense<1> : tensor<i32>} : () -> tensor<i32>
  // CHECK-NEXT: %arg_max_v2 = ge.ArgMaxV2(%a0, %c0) : (tensor<2x?x4xf32>, tensor<i32>) -> tensor<2x4xi64>
  %arg_max_v2 = ge.ArgMaxV2(%a0, %c0) : (tensor<2x?x4xf32>, tensor<i32>) -> tensor<2x4xi64>
  // CHECK-NEXT: %arg_min = ge.ArgMin(%a0, %a1) : (tensor<2x?x4xf32>, tensor<i32>) -> tensor<?x?xi64>
  %arg_min = ge.ArgMin(%a0, %a1) : (tensor<2x?x4xf32>, tensor<i32>) -> tensor<?x?xi64>
  // CHECK-NEXT: %arg_max_d = ge.ArgMaxD(%a0) {dimension = -1} : (tensor<2x?x4xf32>) -> tensor<2x?xi32>
  %arg_max_d = ge.ArgMaxD(%a0) {dimension = -1} : (tensor<2x?x4xf32>) -> tensor<2x?xi32>
  // CHECK-NEXT: %arg_min_d = ge.ArgMinD(%a2) {dimension = -1} : (tensor<*xf32>) -> tensor<*xi32>
  %arg_min_d = ge.ArgMinD(%a2) {dimension = -1} : (tensor<*xf32>) -> tensor<*xi32>
  // CHECK-NEXT: %arg_max_with_value:2 = ge.ArgMaxWithValue(%a0) {dimension = 0, keep_dims = true} : (tensor<2x?x4xf32>) -> (tensor<1x?x4xi32>, tensor<1x?x4xf32>)
  %arg_max_with_value:2 = ge.ArgMaxWithValue(%a0) {dimension = 0, keep_dims = true} : (tensor<2x?x4xf32>) -> (tensor<1x?x4xi32>, tensor<1x?x4xf32>)
  // CHECK-NEXT: %arg_min_with_value:2 = ge.ArgMinWithValue(%a0) {dimension = 2, indice_dtype = DT_INT64} : (tensor<2x?x4xf32>) -> (tensor<2x?xi64>, tensor<2x?xf32>)
  %arg_min_with_value:2 = ge.ArgMinWithValue(%a0) {dimension = 2, indice_dtype = DT_INT64} : (tensor<2x?x4xf32>) -> (tensor<2x?xi64>, tensor<2x?xf32>)
  // CHECK-NEXT: %arg_max_grad = ge.ArgMaxGrad(%a0, %a3, %a4) {dimension = 1} : (tensor<2x?x4xf32>, tensor<2x4xi32>, tensor<2x4xf32>) -> tensor<2x?x4xf32>
  %arg_max_grad = ge.ArgMaxGrad(%a0, %a3, %a4) {dimension = 1} : (tensor<2x?x4xf32>, tensor<2x4xi32>, tensor<2x4xf32>) -> tensor<2x?x4xf32>
  // CHECK-NEXT: %arg_max_grad_d = ge.ArgMaxGradD(%a0, %a3, %a4, %a5) {dimension = 1} : (tensor<2x?x4xf32>, tensor<2x4xi32>, tensor<2x4xf32>, tensor<4xf16>) -> tensor<2x?x4xf32>
  %arg_max_grad_d = ge.ArgMaxGradD(%a0, %a3, %a4, %a5) {dimension = 1} : (tensor<2x?x4xf32>, tensor<2x4xi32>, tensor<2x4xf32>, tensor<4xf16>) -> tensor<2x?x4xf32>
  // CHECK-NEXT: %hard_max = ge.HardMax(%a0) : (tensor<2x?x4xf32>) -> tensor<2x?x4xf32>
  %hard_max = ge.HardMax(%a0) : (tensor<2x?x4xf32>) -> tensor<2x?x4xf32>
  func.return
}
