// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Linear algebra.
// CHECK-LABEL: func.func @main
func.func @main(%a0: tensor<?x3x3xf32>, %a1: tensor<*xf32>, %a2: tensor<2x3x1xf32>, %a3: tensor<3x?xi8>, %a4: tensor<3xf32>, %a5: tensor<?xf32>, %a6: tensor<2x3x3xf32>) {
  // CHECK-NEXT: %matrix_determinant = ge.MatrixDeterminant(%a0) : (tensor<?x3x3xf32>) -> tensor<?xf32>
  %matrix_determinant = ge.MatrixDeterminant(%a0) : (tensor<?x3x3xf32>) -> tensor<?xf32>
  // CHECK-NEXT: %log_matrix_determinant:2 = ge.LogMatrixDeterminant(%a0) : (tensor<?x3x3xf32>) -> (tensor<?xf32>, tensor<?xf32>)
  %log_matrix_determinant:2 = ge.LogMatrixDeterminant(%a0) : (tensor<?x3x3xf32>) -> (tensor<?xf32>, tensor<?xf32>)
  // CHECK-NEXT: %slogdet:2 = ge.Slogdet(%a1) : (tensor<*xf32>) -> (tensor<*xf32>, tensor<*xf32>)
  %slogdet:2 = ge.Slogdet(%a1) : (tensor<*xf32>) -> (tensor<*xf32>, tensor<*xf32>)
  // CHECK-NEXT: %matrix_inverse = ge.MatrixInverse(%a0) {adjoint = true} : (tensor<?x3x3xf32>) -> tensor<?x3x3xf32>
  %matrix_inverse = ge.MatrixInverse(%a0) {adjoint = true} : (tensor<?x3x3xf32>) -> tensor<?x3x3xf32>
  // CHECK-NEXT: %cholesky = ge.Cholesky(%a0) : (tensor<?x3x3xf32>) -> tensor<?x3x3xf32>
  %cholesky = ge.Cholesky(%a0) : (tensor<?x3x3xf32>) -> tensor<?x3x3xf32>
  // CHECK-NEXT: %matrix_solve = ge.MatrixSolve(%a0, %a2) : (tensor<?x3x3xf32>, tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %matrix_solve = ge.MatrixSolve(%a0, %a2) : (tensor<?x3x3xf32>, tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  // CHECK-NEXT: %matrix_triangular_solve = ge.MatrixTriangularSolve(%a0, %a2) {lower = false} : (tensor<?x3x3xf32>, tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %matrix_triangular_solve = ge.MatrixTriangularSolve(%a0, %a2) {lower = false} : (tensor<?x3x3xf32>, tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  // CHECK-NEXT: %trace = ge.Trace(%a3) : (tensor<3x?xi8>) -> tensor<i64>
  %trace = ge.Trace(%a3) : (tensor<3x?xi8>) -> tensor<i64>
  // CHECK-NEXT: %dot = ge.Dot(%a4, %a5) : (tensor<3xf32>, tensor<?xf32>) -> tensor<f32>
  %dot = ge.Dot(%a4, %a5) : (tensor<3xf32>, tensor<?xf32>) -> tensor<f32>
  // CHECK-NEXT: %ger = ge.Ger(%a4, %a5) : (tensor<3xf32>, tensor<?xf32>) -> tensor<3x?xf32>
  %ger = ge.Ger(%a4, %a5) : (tensor<3xf32>, tensor<?xf32>) -> tensor<3x?xf32>
  // CHECK-NEXT: %cross = ge.Cross(%a0, %a6) {dim = 1} : (tensor<?x3x3xf32>, tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  %cross = ge.Cross(%a0, %a6) {dim = 1} : (tensor<?x3x3xf32>, tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  // CHECK-NEXT: %einsum = ge.Einsum([%a0, %a2]) {equation = "bij,bjk->bik", N = 2} : (tensor<?x3x3xf32>, tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %einsum = ge.Einsum([%a0, %a2]) {equation = "bij,bjk->bik", N = 2} : (tensor<?x3x3xf32>, tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  // CHECK-NEXT: %lp_norm = ge.LpNorm(%a0) {axes = [1], keepdim = true} : (tensor<?x3x3xf32>) -> tensor<?x1x3xf32>
  %lp_norm = ge.LpNorm(%a0) {axes = [1], keepdim = true} : (tensor<?x3x3xf32>) -> tensor<?x1x3xf32>
  // CHECK-NEXT: %lp_norm_v2 = ge.LpNormV2(%a0) {p = 3.0, axes = [0]} : (tensor<?x3x3xf32>) -> tensor<3x3xf32>
  %lp_norm_v2 = ge.LpNormV2(%a0) {p = 3.0, axes = [0]} : (tensor<?x3x3xf32>) -> tensor<3x3xf32>
  // CHECK-NEXT: %l2_loss = ge.L2Loss(%a0) : (tensor<?x3x3xf32>) -> tensor<f32>
  %l2_loss = ge.L2Loss(%a0) : (tensor<?x3x3xf32>) -> tensor<f32>
  func.return
}
