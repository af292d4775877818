// RUN: ge-opt %s -p 'ge-decompose{to=target}' --split-input-file | filecheck %s

// A resize has no kernel: it becomes products with the matrices of its taps.

// CHECK: %BatchMatMulV2_0 = ge.BatchMatMulV2(
// CHECK: %MatMulV2_0 = ge.MatMulV2(
// CHECK: %y = ge.Reshape(%MatMulV2_0
func.func @main(%x : tensor<2x3x8x8xf32>) -> tensor<2x3x16x16xf32> {
  %s = ge.Const() {value = dense<[16, 16]> : tensor<2xi64>} : () -> tensor<2xi64>
  %y = ge.ResizeBilinearV2(%x, %s) : (tensor<2x3x8x8xf32>, tensor<2xi64>) -> tensor<2x3x16x16xf32>
  func.return %y : tensor<2x3x16x16xf32>
}

// -----

// What has a kernel stays, and what has neither.

// CHECK: %a = ge.SoftmaxV2(%x)
// CHECK: %y = ge.Bitcast(%a)
func.func @main(%x : tensor<2x8xf32>) -> tensor<2x8xf32> {
  %a = ge.SoftmaxV2(%x) : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %y = ge.Bitcast(%a) {type = DT_FLOAT} : (tensor<2x8xf32>) -> tensor<2x8xf32>
  func.return %y : tensor<2x8xf32>
}
