// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Running sums and products.
// CHECK-LABEL: func.func @main
func.func @main(%a0: tensor<4x?xf32>, %a1: tensor<i32>, %a2: tensor<*xf32>) {
  // CHECK-NEXT: %c0 = ge.Const() {value = dense<1> : tensor<i32>} : () -> tensor<i32>
  %c0 = ge.Const() {value = dense<1> : tensor<i32>} : () -> tensor<i32>
  // CHECK-NEXT: %cumsum = ge.Cumsum(%a0, %c0) {exclusive = true} : (tensor<4x?xf32>, tensor<i32>) -> tensor<4x?xf32>
  %cumsum = ge.Cumsum(%a0, %c0) {exclusive = true} : (tensor<4x?xf32>, tensor<i32>) -> tensor<4x?xf32>
  // CHECK-NEXT: %cumsum_d = ge.CumsumD(%a0) {axis = 0, reverse = true} : (tensor<4x?xf32>) -> tensor<4x?xf32>
  %cumsum_d = ge.CumsumD(%a0) {axis = 0, reverse = true} : (tensor<4x?xf32>) -> tensor<4x?xf32>
  // CHECK-NEXT: %cumprod = ge.Cumprod(%a0, %a1) : (tensor<4x?xf32>, tensor<i32>) -> tensor<4x?xf32>
  %cumprod = ge.Cumprod(%a0, %a1) : (tensor<4x?xf32>, tensor<i32>) -> tensor<4x?xf32>
  // CHECK-NEXT: %cumprod_d = ge.CumprodD(%a2) {axis = 0} : (tensor<*xf32>) -> tensor<*xf32>
  %cumprod_d = ge.CumprodD(%a2) {axis = 0} : (tensor<*xf32>) -> tensor<*xf32>
  // CHECK-NEXT: %cumulative_logsumexp = ge.CumulativeLogsumexp(%a0, %c0) : (tensor<4x?xf32>, tensor<i32>) -> tensor<4x?xf32>
  %cumulative_logsumexp = ge.CumulativeLogsumexp(%a0, %c0) : (tensor<4x?xf32>, tensor<i32>) -> tensor<4x?xf32>
  // CHECK-NEXT: %cumulative_logsumexp_d = ge.CumulativeLogsumexpD(%a0) {axis = -1} : (tensor<4x?xf32>) -> tensor<4x?xf32>
  %cumulative_logsumexp_d = ge.CumulativeLogsumexpD(%a0) {axis = -1} : (tensor<4x?xf32>) -> tensor<4x?xf32>
  func.return
}
