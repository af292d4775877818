// RUN: ge-opt %s --load %S/Inputs/commute.py -p ge-custom-passes --verify-each --verify-rewrites=pass --stats -o %t.mlir --expect-matches=B_Gemm:2 --expect-matches=A_Scaled:1 | filecheck %s
// RUN: filecheck %s --input-file %t.mlir --check-prefix=GRAPH
// RUN: ge-opt %s --load %S/Inputs/matching.py -p ge-custom-passes --verify-each --verify-rewrites=pass -o %t.mlir --expect-matches=B_Gemm:2 --expect-matches=A_Scaled:1
// RUN: filecheck %s --input-file %t.mlir --check-prefix=COMMUTED

// Both orders of a sum are two patterns of one pass.
// CHECK: A_Scaled  Scaled_as_written_pattern {{.*}} 0  0
// CHECK-NOT: refused
// CHECK: A_Scaled  Scaled_swapped_pattern {{.*}} 1  1
// CHECK: B_Gemm {{ *}} Gemm_left_pattern {{ *[0-9]+}} {{ *}} 1 {{ *}} 1
// CHECK: B_Gemm {{ *}} Gemm_right_pattern {{ *[0-9]+}} {{ *}} 1 {{ *}} 1

// GRAPH-COUNT-3: ge.GEMM
// GRAPH-NOT: ge.Add

// With `matching(commutative=True)` one pattern each is enough.
// COMMUTED-COUNT-2: ge.GEMM
// COMMUTED: ge.MatMulV2
// COMMUTED-NOT: ge.MatMul(
func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>, %b: tensor<4x8xf32>, %alpha: tensor<f32>, %beta: tensor<f32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %m1 = ge.MatMul(%x, %w) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %y1 = ge.Add(%b, %m1) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %m2 = ge.MatMul(%x, %w) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %y2 = ge.Add(%m2, %b) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %m3 = ge.MatMul(%x, %w) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %c3 = ge.Mul(%beta, %b) : (tensor<f32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %p3 = ge.Mul(%alpha, %m3) : (tensor<f32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %y3 = ge.Add(%c3, %p3) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return %y1, %y2, %y3 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}
