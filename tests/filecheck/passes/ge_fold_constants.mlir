// RUN: ge-opt %s -p ge-fold-constants,ge-dce --split-input-file | filecheck %s
// RUN: ge-opt %s -p 'ge-fold-constants{limit=0},ge-dce' --split-input-file | filecheck %s

// A chain on constants becomes one constant that keeps the last op's name. The results are as
// large as the operands, so even a limit of 0 bytes folds them.
// CHECK-LABEL: @chain
func.func @chain(%x: tensor<2xf32>) -> tensor<2xf32> {
  // CHECK-NEXT: %twice = ge.Const() {value = dense<[8.000000e+00, -1.200000e+01]> : tensor<2xf32>}
  // CHECK-NEXT: %y = ge.Mul(%x, %twice)
  // CHECK-NEXT: func.return %y
  %c = ge.Const() {value = dense<[2.0, -3.0]> : tensor<2xf32>} : () -> tensor<2xf32>
  %sum = ge.Add(%c, %c) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %twice = ge.Add(%sum, %sum) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %y = ge.Mul(%x, %twice) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}

// -----

// Half floats are computed in f32 and rounded once: 2048 + 1 + ... stays what evaluate gives.
// CHECK-LABEL: @half
func.func @half() -> tensor<1xf16> {
  // CHECK-NEXT: %y = ge.Const() {value = dense<2.048000e+03> : tensor<1xf16>}
  %a = ge.Const() {value = dense<2048.0> : tensor<1xf16>} : () -> tensor<1xf16>
  %b = ge.Const() {value = dense<1.0> : tensor<1xf16>} : () -> tensor<1xf16>
  %y = ge.Add(%a, %b) : (tensor<1xf16>, tensor<1xf16>) -> tensor<1xf16>
  func.return %y : tensor<1xf16>
}

// -----

// An op at a control edge is not folded.
// CHECK-LABEL: @edge
func.func @edge(%x: tensor<1xf32>) -> (tensor<1xf32>, tensor<1xf32>) {
  // CHECK: %y = ge.Add(%c, %c)
  %first = ge.Relu(%x) : (tensor<1xf32>) -> tensor<1xf32>
  %c = ge.Const() {value = dense<1.0> : tensor<1xf32>} : () -> tensor<1xf32>
  %y = ge.Add(%c, %c) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
  ge.control_edge(%first, %y) : (tensor<1xf32>, tensor<1xf32>) -> ()
  func.return %first, %y : tensor<1xf32>, tensor<1xf32>
}
