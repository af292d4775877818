// RUN: ge-opt %s --load %S/Inputs/constants.py -p ge-custom-passes --verify-each --explain --expect-matches=A_Zero:3 --expect-matches=B_Half:2 -o %t.mlir --expect-matches=C_Tenth:0 --expect-matches=D_Near:0 | filecheck %s
// RUN: ge-opt --load %S/Inputs/constants.py --emit=patterns | filecheck %s --check-prefix=TEXT

// One pattern for f32, f16 and i32; a constant of one element is a scalar unless it gives the
// result its rank.
// CHECK: A_Zero/Zero_plus_zero_pattern: 3 of
// CHECK-NEXT: rewrote 'a', 'b', 'c'
// CHECK-DAG: operand 1: const value is {{.*}}5{{.*}}, expected 0.0
// CHECK-DAG: operand 1: const is tensor<1xf32>, expected tensor<f32>
// CHECK: B_Half/Half_twice_half_pattern: 2 of

// TEXT: // beyond PDL: constants match by value, whatever their element type
// TEXT: // beyond PDL: constants match by value, whatever their element type, 2 steps apart at most
func.func @main(%f: tensor<2xf32>, %h: tensor<2xf16>, %i: tensor<2xi32>, %s: tensor<f32>, %g: tensor<2xbf16>) -> (tensor<2xf32>, tensor<2xf16>, tensor<2xi32>, tensor<2xf32>, tensor<1xf32>, tensor<2xf16>, tensor<2xbf16>) {
  %z1 = ge.Const() {value = dense<0.0> : tensor<1xf32>} : () -> tensor<1xf32>
  %a = ge.Add(%f, %z1) : (tensor<2xf32>, tensor<1xf32>) -> tensor<2xf32>
  %z2 = ge.Const() {value = dense<0.0> : tensor<f16>} : () -> tensor<f16>
  %b = ge.Add(%z2, %h) : (tensor<f16>, tensor<2xf16>) -> tensor<2xf16>
  %z3 = ge.Const() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
  %c = ge.Add(%i, %z3) : (tensor<2xi32>, tensor<i32>) -> tensor<2xi32>
  %z4 = ge.Const() {value = dense<5.0> : tensor<f32>} : () -> tensor<f32>
  %d = ge.Add(%f, %z4) : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  %z5 = ge.Const() {value = dense<0.0> : tensor<1xf32>} : () -> tensor<1xf32>
  %e = ge.Add(%s, %z5) : (tensor<f32>, tensor<1xf32>) -> tensor<1xf32>
  %two1 = ge.Const() {value = dense<2.0> : tensor<f16>} : () -> tensor<f16>
  %m1 = ge.Mul(%h, %two1) : (tensor<2xf16>, tensor<f16>) -> tensor<2xf16>
  %half1 = ge.Const() {value = dense<0.5> : tensor<f16>} : () -> tensor<f16>
  %o1 = ge.Mul(%m1, %half1) : (tensor<2xf16>, tensor<f16>) -> tensor<2xf16>
  %two2 = ge.Const() {value = dense<2> : tensor<i32>} : () -> tensor<i32>
  %wide = ge.Cast(%two2) {dst_type = 27} : (tensor<i32>) -> tensor<bf16>
  %m2 = ge.Mul(%g, %wide) : (tensor<2xbf16>, tensor<bf16>) -> tensor<2xbf16>
  %half2 = ge.Const() {value = dense<0.5> : tensor<bf16>} : () -> tensor<bf16>
  %o2 = ge.Mul(%m2, %half2) : (tensor<2xbf16>, tensor<bf16>) -> tensor<2xbf16>
  func.return %a, %b, %c, %d, %e, %o1, %o2 : tensor<2xf32>, tensor<2xf16>, tensor<2xi32>, tensor<2xf32>, tensor<1xf32>, tensor<2xf16>, tensor<2xbf16>
}
