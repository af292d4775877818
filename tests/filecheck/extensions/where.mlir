// RUN: ge-opt %s --load %S/Inputs/where.py -p ge-custom-passes --verify-each --verify-rewrites --explain --expect-matches=A_Halves:1 --expect-matches=B_Slope:1 --expect-matches=C_Steep:1 -o %t.mlir | filecheck %s
// RUN: ge-opt --load %S/Inputs/where.py --emit=patterns | filecheck %s --check-prefix=TEXT

// CHECK: A_Halves/Halves_relu_pattern: 1 of
// CHECK-NEXT: rewrote 'y1'
// CHECK-DAG: operand 0: is DT_FLOAT, expected DT_FLOAT16 or DT_BF16 [2 of 2 nodes matched] at 'y2'
// CHECK-DAG: operand 0: is 2, expected rank 2 [1 of 2 nodes matched] at 'y3'
// CHECK: B_Slope/Slope_zero_pattern: 1 of 3 sites rewritten
// CHECK-DAG: attribute negative_slope is 2.0, expected 0 or 1.0
// CHECK-DAG: is 3x2, expected 2x? [0 of 1 nodes matched] at 'y5'
// CHECK: C_Steep/Steep_steep_pattern: 1 of 2 sites rewritten
// CHECK: attribute negative_slope is 0.0, expected one that the pattern's test accepts

// TEXT: // beyond PDL: input 0: element type DT_FLOAT16 or DT_BF16
// TEXT: // beyond PDL: Relu: rank 2
// TEXT: // beyond PDL: LeakyRelu: shape 2x?
// TEXT: // beyond PDL: LeakyRelu: negative_slope 0 or 1.0
// TEXT: // beyond PDL: LeakyRelu: negative_slope one that the pattern's test accepts
func.func @main(%a: tensor<2x3xf16>, %b: tensor<2x3xf32>, %c: tensor<2xf16>, %d: tensor<3x2xf32>) -> (tensor<2x3xf16>, tensor<2x3xf32>, tensor<2xf16>, tensor<2x3xf32>, tensor<3x2xf32>, tensor<2x3xf32>) {
  %r1 = ge.Relu(%a) : (tensor<2x3xf16>) -> tensor<2x3xf16>
  %y1 = ge.Relu(%r1) : (tensor<2x3xf16>) -> tensor<2x3xf16>
  %r2 = ge.Relu(%b) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %y2 = ge.Relu(%r2) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %r3 = ge.Relu(%c) : (tensor<2xf16>) -> tensor<2xf16>
  %y3 = ge.Relu(%r3) : (tensor<2xf16>) -> tensor<2xf16>
  %y4 = ge.LeakyRelu(%b) {negative_slope = 0.0} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %y5 = ge.LeakyRelu(%d) {negative_slope = 0.0} : (tensor<3x2xf32>) -> tensor<3x2xf32>
  %y6 = ge.LeakyRelu(%b) {negative_slope = 2.0} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %y1, %y2, %y3, %y4, %y5, %y6 : tensor<2x3xf16>, tensor<2x3xf32>, tensor<2xf16>, tensor<2x3xf32>, tensor<3x2xf32>, tensor<2x3xf32>
}
