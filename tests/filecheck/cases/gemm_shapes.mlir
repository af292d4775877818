// RUN: ge-opt %s -p ge-fuse --verify-each --verify-rewrites=pass --explain=ge-fuse --expect-matches=FuseMatMulBias:1 -o %t.mlir | filecheck %s

// A MatMul has rank 2; the batched product takes a row as its bias, no more.
// CHECK: ge-fuse/FuseMatMulBias: 1 of {{[45]}} sites rewritten
// CHECK-NEXT: rewrote 'm2'
// CHECK-DAG: bias is 1x4 and broadcasts the product, expected 1
// CHECK-DAG: bias is 2x3x4, expected 4
func.func @main(%x: tensor<3x3xf32>, %w: tensor<3x1xf32>, %b: tensor<1x4xf32>, %x2: tensor<4x8xf32>, %w2: tensor<8x8xf32>, %b2: tensor<8xf32>, %u: tensor<2x3x4xf32>, %v: tensor<2x4x4xf32>) -> (tensor<3x4xf32>, tensor<4x8xf32>, tensor<2x3x4xf32>) {
  %m1 = ge.MatMul(%x, %w) : (tensor<3x3xf32>, tensor<3x1xf32>) -> tensor<3x1xf32>
  %y1 = ge.Add(%m1, %b) : (tensor<3x1xf32>, tensor<1x4xf32>) -> tensor<3x4xf32>
  %m2 = ge.MatMul(%x2, %w2) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %y2 = ge.Add(%m2, %b2) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %m3 = ge.BatchMatMulV2(%u, %v) : (tensor<2x3x4xf32>, tensor<2x4x4xf32>) -> tensor<2x3x4xf32>
  %y3 = ge.Add(%m3, %u) : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  func.return %y1, %y2, %y3 : tensor<3x4xf32>, tensor<4x8xf32>, tensor<2x3x4xf32>
}
