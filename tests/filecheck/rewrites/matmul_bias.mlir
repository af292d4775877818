// RUN: ge-opt %s -p 'ge-fuse{only=FuseMatMulBias}' --split-input-file | filecheck %s

// CHECK-LABEL: @matmul
func.func @matmul(%x: tensor<64x256xf16>, %w: tensor<256x128xf16>, %b: tensor<128xf16>) -> tensor<64x128xf16> {
  // CHECK-NEXT: %p = ge.MatMul(%x, %w, bias = %b) {transpose_x1 = false, ge.has_bias = true
  // CHECK-NEXT: func.return %p
  %p = ge.MatMul(%x, %w) {transpose_x1 = false} : (tensor<64x256xf16>, tensor<256x128xf16>) -> tensor<64x128xf16>
  %s = ge.Add(%p, %b) : (tensor<64x128xf16>, tensor<128xf16>) -> tensor<64x128xf16>
  func.return %s : tensor<64x128xf16>
}

// -----

// BatchMatMul has no bias, its V2 has.
// CHECK-LABEL: @batch
func.func @batch(%x: tensor<2x4x5xf32>, %w: tensor<2x3x5xf32>, %b: tensor<3xf32>) -> tensor<2x4x3xf32> {
  // CHECK-NEXT: %p = ge.BatchMatMulV2(%x, %w, bias = %b) {adj_x2 = true
  %p = ge.BatchMatMul(%x, %w) {adj_x2 = true} : (tensor<2x4x5xf32>, tensor<2x3x5xf32>) -> tensor<2x4x3xf32>
  %s = ge.Add(%b, %p) : (tensor<3xf32>, tensor<2x4x3xf32>) -> tensor<2x4x3xf32>
  func.return %s : tensor<2x4x3xf32>
}

// -----

// A whole matrix is no bias.
// CHECK-LABEL: @matrix
func.func @matrix(%x: tensor<4x5xf32>, %w: tensor<5x3xf32>, %b: tensor<4x3xf32>) -> tensor<4x3xf32> {
  // CHECK-NEXT: %p = ge.MatMul(%x, %w)
  // CHECK-NEXT: %s = ge.Add(%p, %b)
  %p = ge.MatMul(%x, %w) : (tensor<4x5xf32>, tensor<5x3xf32>) -> tensor<4x3xf32>
  %s = ge.Add(%p, %b) : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  func.return %s : tensor<4x3xf32>
}
