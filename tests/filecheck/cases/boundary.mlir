// RUN: ge-opt %s --load %S/Inputs/gemm.py -p ge-custom-passes --verify-each --verify-rewrites=pass --explain --expect-matches=Gemm:1 -o %t.mlir | filecheck %s

// CHECK: Gemm/Gemm_matmul_add_pattern: 1 of 3 sites rewritten
// CHECK-NEXT: rewrote 'y3'
// CHECK-NEXT: ge.MatMul 'a1' is used outside the match by the graph output, expected no other consumer [2 of 2 nodes matched] at 'y1'
// CHECK-NEXT: ge.MatMul 'a2' is used outside the match by ge.Relu 'r', expected no other consumer [2 of 2 nodes matched] at 'y2'
func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>, %b: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %a1 = ge.MatMul(%x, %w) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %y1 = ge.Add(%a1, %b) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %a2 = ge.MatMul(%x, %w) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %y2 = ge.Add(%a2, %b) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %r = ge.Relu(%a2) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %a3 = ge.MatMul(%x, %w) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %y3 = ge.Add(%a3, %b) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return %a1, %y1, %y2, %r, %y3 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}
