// RUN: ge-opt %s --load %S/Inputs/optional.py -p ge-custom-passes --verify-each --verify-rewrites --explain --expect-matches=Newer:2 --expect-matches=Without:1 -o %t.mlir | filecheck %s
// RUN: ge-opt %t.mlir | filecheck %s --check-prefix=GRAPH

// RUN: ge-opt --load %S/Inputs/optional.py --emit=patterns | filecheck %s --check-prefix=TEXT

// TEXT: // not expressible in PDL: input 2 stands for a tensor or for none

// A bias that the pattern calls optional may be there or not; one that it leaves out must not.
// CHECK: Newer/Newer_product_pattern: 2 of
// CHECK: rewrote 'y1', 'y2'
// CHECK: Without/Without_product_pattern: 1 of 2 sites rewritten
// CHECK: MatMulV2 has operand 'bias', expected no operand 'bias' [0 of 1 nodes matched]

// GRAPH: ge.BatchMatMulV2(%x, %w) :
// GRAPH: ge.MatMulV2(%x, %w, bias = %b)
// GRAPH-NOT: ge.MatMul(
func.func @main(%x: tensor<2x3xf32>, %w: tensor<3x4xf32>, %b: tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %m1 = ge.MatMul(%x, %w) : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %y1 = ge.Relu(%m1) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %m2 = ge.MatMul(%x, %w, bias = %b) : (tensor<2x3xf32>, tensor<3x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %y2 = ge.Relu(%m2) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return %y1, %y2 : tensor<2x4xf32>, tensor<2x4xf32>
}
