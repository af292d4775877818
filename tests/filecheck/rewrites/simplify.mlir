// RUN: ge-opt %s -p ge-simplify --split-input-file | filecheck %s

// CHECK-LABEL: @transposes
func.func @transposes(%x: tensor<2x3x4xf32>) -> tensor<2x4x3xf32> {
  // CHECK-NOT: ge.Identity
  // CHECK: %z_perm = ge.Const() {value = dense<[0, 2, 1]> : tensor<3xi32>}
  // CHECK-NEXT: %z = ge.Transpose(%x, %z_perm) : (tensor<2x3x4xf32>, tensor<3xi32>) -> tensor<2x4x3xf32>
  // CHECK-NEXT: func.return %z
  %p = ge.Const() {value = dense<[2, 0, 1]> : tensor<3xi64>} : () -> tensor<3xi64>
  %q = ge.Const() {value = dense<[1, 0, 2]> : tensor<3xi32>} : () -> tensor<3xi32>
  %i = ge.Identity(%x) : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %y = ge.Transpose(%i, %p) : (tensor<2x3x4xf32>, tensor<3xi64>) -> tensor<4x2x3xf32>
  %z = ge.Transpose(%y, %q) : (tensor<4x2x3xf32>, tensor<3xi32>) -> tensor<2x4x3xf32>
  func.return %z : tensor<2x4x3xf32>
}

// -----

// They cancel: nothing is left.
// CHECK-LABEL: @round_trip
func.func @round_trip(%x: tensor<2x3xf16>) -> tensor<2x3xf16> {
  // CHECK-NEXT: func.return %x
  %a = ge.TransposeD(%x) {perm = [1, 0]} : (tensor<2x3xf16>) -> tensor<3x2xf16>
  %b = ge.Cast(%a) {dst_type = 0} : (tensor<3x2xf16>) -> tensor<3x2xf32>
  %c = ge.Cast(%b) {dst_type = 1} : (tensor<3x2xf32>) -> tensor<3x2xf16>
  %d = ge.TransposeD(%c) {perm = [1, 0]} : (tensor<3x2xf16>) -> tensor<2x3xf16>
  func.return %d : tensor<2x3xf16>
}

// -----

// CHECK-LABEL: @reshapes
func.func @reshapes(%x: tensor<2x3x4xf32>) -> tensor<6x4xf32> {
  // CHECK: %z = ge.Reshape(%x, %t) : (tensor<2x3x4xf32>, tensor<2xi64>) -> tensor<6x4xf32>
  // CHECK-NEXT: func.return %z
  %t = ge.Const() {value = dense<[6, -1]> : tensor<2xi64>} : () -> tensor<2xi64>
  %y = ge.Flatten(%x) : (tensor<2x3x4xf32>) -> tensor<2x12xf32>
  %z = ge.Reshape(%y, %t) : (tensor<2x12xf32>, tensor<2xi64>) -> tensor<6x4xf32>
  func.return %z : tensor<6x4xf32>
}

// -----

// The sum of zeros has the wider shape, so it stays; the product of ones goes.
// CHECK-LABEL: @neutral
func.func @neutral(%x: tensor<4xf32>) -> tensor<2x4xf32> {
  // CHECK: %r = ge.Relu(%x)
  // CHECK-NEXT: %a = ge.Add(%r, %zeros)
  // CHECK-NEXT: func.return %a
  %ones = ge.Const() {value = dense<1.0> : tensor<4xf32>} : () -> tensor<4xf32>
  %zeros = ge.Const() {value = dense<0.0> : tensor<2x4xf32>} : () -> tensor<2x4xf32>
  %m = ge.Mul(%ones, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %r = ge.Relu(%m) : (tensor<4xf32>) -> tensor<4xf32>
  %s = ge.Relu(%r) : (tensor<4xf32>) -> tensor<4xf32>
  %a = ge.Add(%s, %zeros) : (tensor<4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return %a : tensor<2x4xf32>
}
