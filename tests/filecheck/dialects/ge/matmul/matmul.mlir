// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Matrix products.
// CHECK-LABEL: func.func @main
func.func @main(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>, %row: tensor<4xf32>, %i: tensor<2x3xi8>, %j: tensor<3x4xi8>, %x: tensor<?x2x3xf16>, %z: tensor<3x5xf16>, %k: tensor<1xf32>, %c: tensor<2x4xf32>, %u: tensor<*xf32>) {
  // CHECK-NEXT: %matmul = ge.MatMul(%a, %b) : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %matmul = ge.MatMul(%a, %b) : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: %matmul_bias = ge.MatMul(%a, %b, bias = %row) {transpose_x1 = false, transpose_x2 = false} : (tensor<2x3xf32>, tensor<3x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %matmul_bias = ge.MatMul(%a, %b, bias = %row) {transpose_x1 = false, transpose_x2 = false} : (tensor<2x3xf32>, tensor<3x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: %matmul_rank = ge.MatMul(%u, %b) : (tensor<*xf32>, tensor<3x4xf32>) -> tensor<*xf32>
  %matmul_rank = ge.MatMul(%u, %b) : (tensor<*xf32>, tensor<3x4xf32>) -> tensor<*xf32>
  // CHECK-NEXT: %matmul_v2 = ge.MatMulV2(%i, %j) {offset_x = 0} : (tensor<2x3xi8>, tensor<3x4xi8>) -> tensor<2x4xi32>
  %matmul_v2 = ge.MatMulV2(%i, %j) {offset_x = 0} : (tensor<2x3xi8>, tensor<3x4xi8>) -> tensor<2x4xi32>
  // CHECK-NEXT: %batch = ge.BatchMatMul(%x, %z) : (tensor<?x2x3xf16>, tensor<3x5xf16>) -> tensor<?x2x5xf16>
  %batch = ge.BatchMatMul(%x, %z) : (tensor<?x2x3xf16>, tensor<3x5xf16>) -> tensor<?x2x5xf16>
  // CHECK-NEXT: %batch_v2 = ge.BatchMatMulV2(%x, %z) {adj_x1 = false, adj_x2 = false} : (tensor<?x2x3xf16>, tensor<3x5xf16>) -> tensor<?x2x5xf16>
  %batch_v2 = ge.BatchMatMulV2(%x, %z) {adj_x1 = false, adj_x2 = false} : (tensor<?x2x3xf16>, tensor<3x5xf16>) -> tensor<?x2x5xf16>
  // CHECK-NEXT: %gemm = ge.GEMM(%a, %b, %c, %k, %k) {transpose_a = false} : (tensor<2x3xf32>, tensor<3x4xf32>, tensor<2x4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<2x4xf32>
  %gemm = ge.GEMM(%a, %b, %c, %k, %k) {transpose_a = false} : (tensor<2x3xf32>, tensor<3x4xf32>, tensor<2x4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: func.return
  func.return
}
