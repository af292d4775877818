// RUN: ge-opt %s -p ge-cse --split-input-file | filecheck %s

// The second Relu goes, then the two sums are equal and one goes too.
// CHECK-LABEL: @chain
func.func @chain(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  // CHECK: %a = ge.Relu(%x)
  // CHECK-NEXT: %s = ge.Add(%a, %a)
  // CHECK-NEXT: func.return %s, %s
  %a = ge.Relu(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %b = ge.Relu(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %s = ge.Add(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %t = ge.Add(%b, %a) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %s, %t : tensor<2x3xf32>, tensor<2x3xf32>
}

// -----

// Another attribute, another operand order: nothing is equal.
// CHECK-LABEL: @differs
func.func @differs(%x: tensor<2x2xf32>, %y: tensor<2x2xf32>) -> tensor<2x2xf32> {
  // CHECK: %a = ge.MatMul(%x, %y)
  // CHECK: %b = ge.MatMul(%x, %y) {transpose_x1 = true}
  // CHECK: %c = ge.MatMul(%y, %x)
  %a = ge.MatMul(%x, %y) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %b = ge.MatMul(%x, %y) {transpose_x1 = true} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %c = ge.MatMul(%y, %x) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %d = ge.Add(%a, %b) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %e = ge.Add(%d, %c) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  func.return %e : tensor<2x2xf32>
}

// -----

// An op at a control edge keeps its place in the order, so it stays.
// CHECK-LABEL: @edge
func.func @edge(%x: tensor<2xf32>, %y: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  // CHECK: %a = ge.Relu(%x)
  // CHECK: %b = ge.Relu(%x)
  %a = ge.Relu(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %b = ge.Relu(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %c = ge.Relu(%y) : (tensor<2xf32>) -> tensor<2xf32>
  ge.control_edge(%c, %b) : (tensor<2xf32>, tensor<2xf32>) -> ()
  func.return %a, %b, %c : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

// -----

// Constants are equal by their bits: 0.0 is not -0.0, a type is part of a value.
// CHECK-LABEL: @constants
func.func @constants() -> (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xi32>) {
  // CHECK: %a = ge.Const
  // CHECK-NEXT: %c = ge.Const
  // CHECK-NEXT: %d = ge.Const
  // CHECK-NEXT: func.return %a, %a, %c, %d
  %a = ge.Const() {value = dense<0.0> : tensor<1xf32>} : () -> tensor<1xf32>
  %b = ge.Const() {value = dense<0.0> : tensor<1xf32>} : () -> tensor<1xf32>
  %c = ge.Const() {value = dense<-0.0> : tensor<1xf32>} : () -> tensor<1xf32>
  %d = ge.Const() {value = dense<0> : tensor<1xi32>} : () -> tensor<1xi32>
  func.return %a, %b, %c, %d : tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xi32>
}
