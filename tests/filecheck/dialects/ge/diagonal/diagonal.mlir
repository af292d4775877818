// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Diagonals, triangles and bands.
// CHECK-LABEL: func.func @main
func.func @main(%a0: tensor<2x?xf32>, %a1: tensor<6x6xf32>, %a2: tensor<2x?x2x3xf32>, %a3: tensor<2x3xf32>, %a4: tensor<6xf32>, %a5: tensor<i64>) {
  // CHECK-NEXT: %diag = ge.Diag(%a0) : (tensor<2x?xf32>) -> tensor<2x?x2x?xf32>
  %diag = ge.Diag(%a0) : (tensor<2x?xf32>) -> tensor<2x?x2x?xf32>
  // CHECK-NEXT: %diag_d = ge.DiagD(%a0, %a1) : (tensor<2x?xf32>, tensor<6x6xf32>) -> tensor<2x?x2x?xf32>
  %diag_d = ge.DiagD(%a0, %a1) : (tensor<2x?xf32>, tensor<6x6xf32>) -> tensor<2x?x2x?xf32>
  // CHECK-NEXT: %diag_part = ge.DiagPart(%a2) : (tensor<2x?x2x3xf32>) -> tensor<2x3xf32>
  %diag_part = ge.DiagPart(%a2) : (tensor<2x?x2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %diag_part_d = ge.DiagPartD(%a2, %a1) : (tensor<2x?x2x3xf32>, tensor<6x6xf32>) -> tensor<2x3xf32>
  %diag_part_d = ge.DiagPartD(%a2, %a1) : (tensor<2x?x2x3xf32>, tensor<6x6xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %diag_flat = ge.DiagFlat(%a3) {diagonal = -1} : (tensor<2x3xf32>) -> tensor<7x7xf32>
  %diag_flat = ge.DiagFlat(%a3) {diagonal = -1} : (tensor<2x3xf32>) -> tensor<7x7xf32>
  // CHECK-NEXT: %diag_v2 = ge.DiagV2(%a3) {diagonal = 1} : (tensor<2x3xf32>) -> tensor<2xf32>
  %diag_v2 = ge.DiagV2(%a3) {diagonal = 1} : (tensor<2x3xf32>) -> tensor<2xf32>
  // CHECK-NEXT: %matrix_diag = ge.MatrixDiag(%a0) : (tensor<2x?xf32>) -> tensor<2x?x?xf32>
  %matrix_diag = ge.MatrixDiag(%a0) : (tensor<2x?xf32>) -> tensor<2x?x?xf32>
  // CHECK-NEXT: %matrix_diag_d = ge.MatrixDiagD(%a3, %a1) : (tensor<2x3xf32>, tensor<6x6xf32>) -> tensor<2x3x3xf32>
  %matrix_diag_d = ge.MatrixDiagD(%a3, %a1) : (tensor<2x3xf32>, tensor<6x6xf32>) -> tensor<2x3x3xf32>
  // CHECK-NEXT: %matrix_diag_part = ge.MatrixDiagPart(%a2) : (tensor<2x?x2x3xf32>) -> tensor<2x?x2xf32>
  %matrix_diag_part = ge.MatrixDiagPart(%a2) : (tensor<2x?x2x3xf32>) -> tensor<2x?x2xf32>
  // CHECK-NEXT: %matrix_diag_part_d = ge.MatrixDiagPartD(%a2, %a1) : (tensor<2x?x2x3xf32>, tensor<6x6xf32>) -> tensor<2x?x2xf32>
  %matrix_diag_part_d = ge.MatrixDiagPartD(%a2, %a1) : (tensor<2x?x2x3xf32>, tensor<6x6xf32>) -> tensor<2x?x2xf32>
  // CHECK-NEXT: %matrix_set_diag = ge.MatrixSetDiag(%a1, %a4) : (tensor<6x6xf32>, tensor<6xf32>) -> tensor<6x6xf32>
  %matrix_set_diag = ge.MatrixSetDiag(%a1, %a4) : (tensor<6x6xf32>, tensor<6xf32>) -> tensor<6x6xf32>
  // CHECK-NEXT: %matrix_set_diag_d = ge.MatrixSetDiagD(%a1, %a4, %a1) : (tensor<6x6xf32>, tensor<6xf32>, tensor<6x6xf32>) -> tensor<6x6xf32>
  %matrix_set_diag_d = ge.MatrixSetDiagD(%a1, %a4, %a1) : (tensor<6x6xf32>, tensor<6xf32>, tensor<6x6xf32>) -> tensor<6x6xf32>
  // CHECK-NEXT: %tril = ge.Tril(%a2) {diagonal = 1} : (tensor<2x?x2x3xf32>) -> tensor<2x?x2x3xf32>
  %tril = ge.Tril(%a2) {diagonal = 1} : (tensor<2x?x2x3xf32>) -> tensor<2x?x2x3xf32>
  // CHECK-NEXT: %triu = ge.Triu(%a2) : (tensor<2x?x2x3xf32>) -> tensor<2x?x2x3xf32>
  %triu = ge.Triu(%a2) : (tensor<2x?x2x3xf32>) -> tensor<2x?x2x3xf32>
  // CHECK-NEXT: %trilu = ge.Trilu(%a1, k = %a5) {upper = 1} : (tensor<6x6xf32>, tensor<i64>) -> tensor<6x6xf32>
  %trilu = ge.Trilu(%a1, k = %a5) {upper = 1} : (tensor<6x6xf32>, tensor<i64>) -> tensor<6x6xf32>
  // CHECK-NEXT: %matrix_band_part = ge.MatrixBandPart(%a1, %a5, %a5) : (tensor<6x6xf32>, tensor<i64>, tensor<i64>) -> tensor<6x6xf32>
  %matrix_band_part = ge.MatrixBandPart(%a1, %a5, %a5) : (tensor<6x6xf32>, tensor<i64>, tensor<i64>) -> tensor<6x6xf32>
  // CHECK-NEXT: %eye = ge.Eye() {num_rows = 3, num_columns = 4, batch_shape = [2]} : () -> tensor<2x3x4xf32>
  %eye = ge.Eye() {num_rows = 3, num_columns = 4, batch_shape = [2]} : () -> tensor<2x3x4xf32>
  // CHECK-NEXT: %fill_diagonal = ge.FillDiagonal(%a1) {fill_value = 1.0, wrap = true} : (tensor<6x6xf32>) -> tensor<6x6xf32>
  %fill_diagonal = ge.FillDiagonal(%a1) {fill_value = 1.0, wrap = true} : (tensor<6x6xf32>) -> tensor<6x6xf32>
  func.return
}
