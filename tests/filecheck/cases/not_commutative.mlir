// RUN: ge-opt %s --load %S/Inputs/commute.py -p ge-custom-passes --verify-each --verify-rewrites=pass --explain=C_Sub -o %t.mlir --expect-matches=C_Sub:1 | filecheck %s

// Only the difference whose first operand is the constant matches.
// CHECK: C_Sub/Difference_left_pattern: 0 of 2 sites rewritten
// CHECK: C_Sub/Difference_right_pattern: 1 of 3 sites rewritten
// CHECK-NEXT: rewrote 'y1'
// CHECK: operand 0: is graph input 'b', expected Const (matches with operands 0 and 1 swapped) [2 of 3 nodes matched] at 'y2'
func.func @main(%b: tensor<4xf32>, %c: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %a1 = ge.Const() {value = dense<2.0> : tensor<f32>} : () -> tensor<f32>
  %s1 = ge.Sub(%a1, %b) : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %y1 = ge.Mul(%s1, %c) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %a2 = ge.Const() {value = dense<2.0> : tensor<f32>} : () -> tensor<f32>
  %s2 = ge.Sub(%b, %a2) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %y2 = ge.Mul(%s2, %c) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %y1, %y2 : tensor<4xf32>, tensor<4xf32>
}
