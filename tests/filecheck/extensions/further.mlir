// RUN: ge-opt %s --load %S/../cases/Inputs/matching.py -p 'ge-custom-passes{only=Attention}' --explain -o /dev/null | filecheck %s

// A Cast to another type is no copy; what stands behind it is named.
// CHECK: Attention/Attention_scores_pattern: 0 of 2 sites rewritten
// CHECK-DAG: operand 0: is Cast, expected MatMul (MatMul is one step further) [1 of 2 nodes matched] at 'cast'
// CHECK-DAG: operand 0: is graph input 'q', expected MatMul [1 of 2 nodes matched] at 'none'
func.func @main(%q: tensor<4x8xf32>, %k: tensor<8x4xf32>) -> (tensor<4x4xf16>, tensor<4x8xf32>) {
  %m = ge.MatMul(%q, %k) : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %c = ge.Cast(%m) {dst_type = 1} : (tensor<4x4xf32>) -> tensor<4x4xf16>
  %cast = ge.SoftmaxV2(%c) : (tensor<4x4xf16>) -> tensor<4x4xf16>
  %none = ge.SoftmaxV2(%q) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return %cast, %none : tensor<4x4xf16>, tensor<4x8xf32>
}
