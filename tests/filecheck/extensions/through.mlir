// RUN: ge-opt %s --load %S/Inputs/through.py -p ge-custom-passes --verify-each --verify-rewrites --explain --expect-matches=Twice:2 -o %t.mlir | filecheck %s
// RUN: ge-opt %t.mlir | filecheck %s --check-prefix=GRAPH

// A cast to another type stands in between only because the pass names it.
// CHECK: Twice/Twice_twice_pattern: 2 of
// CHECK-NEXT: rewrote 'a', 'b'
// CHECK: operand 0: is Abs, expected Relu [1 of 2 nodes matched] at 'c'

// GRAPH-NOT: ge.Cast
// GRAPH: ge.Relu(%x)
// GRAPH-NOT: ge.Identity
func.func @main(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  %r1 = ge.Relu(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %c1 = ge.Cast(%r1) {dst_type = 11} : (tensor<2x3xf32>) -> tensor<2x3xf64>
  %c2 = ge.Cast(%c1) {dst_type = 0} : (tensor<2x3xf64>) -> tensor<2x3xf32>
  %a = ge.Relu(%c2) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %r2 = ge.Relu(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %i = ge.Identity(%r2) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %s = ge.StopGradient(%i) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %b = ge.Relu(%s) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %n = ge.Abs(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %c = ge.Relu(%n) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %a, %b, %c : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}
