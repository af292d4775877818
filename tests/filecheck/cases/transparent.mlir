// RUN: ge-opt %s --load %S/Inputs/softmax.py -p ge-custom-passes --verify-each --verify-rewrites=pass --explain --expect-matches=Attention:1 -o %t.mlir | filecheck %s
// RUN: ge-opt %s --load %S/Inputs/softmax.py -p ge-simplify,ge-custom-passes --verify-each --verify-rewrites=pass --expect-matches=Attention:2 -o %t.mlir
// RUN: ge-opt %s --load %S/Inputs/matching.py -p ge-custom-passes --verify-each --verify-rewrites=pass -o %t.mlir --expect-matches=Attention:2

// A copy between the nodes stops the match and is named; after ge-simplify both sites match.
// CHECK: Attention/Attention_scores_pattern: 1 of 3 sites rewritten
// CHECK-NEXT: rewrote 'plain'
// CHECK: operand 0: is Identity, expected MatMul (Identity and Cast in between, matches without) [1 of 2 nodes matched] at 'copied'
func.func @main(%q: tensor<4x8xf32>, %k: tensor<8x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %m1 = ge.MatMul(%q, %k) : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %c = ge.Cast(%m1) {dst_type = 0} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %i = ge.Identity(%c) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %copied = ge.SoftmaxV2(%i) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %m2 = ge.MatMul(%q, %k) : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %plain = ge.SoftmaxV2(%m2) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %copied, %plain : tensor<4x4xf32>, tensor<4x4xf32>
}
