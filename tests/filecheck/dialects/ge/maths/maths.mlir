// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Further elementwise arithmetic.
// CHECK-LABEL: func.func @main
func.func @main(%a0: tensor<2x?xf32>, %a1: tensor<3xf32>, %a2: tensor<*xf32>, %a3: tensor<3xi32>, %a4: tensor<2x3xf32>, %a5: tensor<f32>) {
  // CHECK-NEXT: %acos = ge.Acos(%a0) : (tensor<2x?xf32>) -> tensor<2x?xf32>
  %acos = ge.Acos(%a0) : (tensor<2x?xf32>) -> tensor<2x?xf32>
  // CHECK-NEXT: %asin = ge.Asin(%a0) : (tensor<2x?xf32>) -> tensor<2x?xf32>
  %asin = ge.Asin(%a0) : (tensor<2x?xf32>) -> tensor<2x?xf32>
  // CHECK-NEXT: %tan = ge.Tan(%a0) : (tensor<2x?xf32>) -> tensor<2x?xf32>
  %tan = ge.Tan(%a0) : (tensor<2x?xf32>) -> tensor<2x?xf32>
  // CHECK-NEXT: %rint = ge.Rint(%a0) : (tensor<2x?xf32>) -> tensor<2x?xf32>
  %rint = ge.Rint(%a0) : (tensor<2x?xf32>) -> tensor<2x?xf32>
  // CHECK-NEXT: %sinc = ge.Sinc(%a0) : (tensor<2x?xf32>) -> tensor<2x?xf32>
  %sinc = ge.Sinc(%a0) : (tensor<2x?xf32>) -> tensor<2x?xf32>
  // CHECK-NEXT: %trunc = ge.Trunc(%a0) : (tensor<2x?xf32>) -> tensor<2x?xf32>
  %trunc = ge.Trunc(%a0) : (tensor<2x?xf32>) -> tensor<2x?xf32>
  // CHECK-NEXT: %nan_to_num = ge.NanToNum(%a0) {nan = 0.0, posinf = 1.0, neginf = -1.0} : (tensor<2x?xf32>) -> tensor<2x?xf32>
  %nan_to_num = ge.NanToNum(%a0) {nan = 0.0, posinf = 1.0, neginf = -1.0} : (tensor<2x?xf32>) -> tensor<2x?xf32>
  // CHECK-NEXT: %is_pos_inf = ge.IsPosInf(%a0) : (tensor<2x?xf32>) -> tensor<2x?xi1>
  %is_pos_inf = ge.IsPosInf(%a0) : (tensor<2x?xf32>) -> tensor<2x?xi1>
  // CHECK-NEXT: %is_neg_inf = ge.IsNegInf(%a0) : (tensor<2x?xf32>) -> tensor<2x?xi1>
  %is_neg_inf = ge.IsNegInf(%a0) : (tensor<2x?xf32>) -> tensor<2x?xi1>
  // CHECK-NEXT: %xlogy = ge.Xlogy(%a0, %a1) : (tensor<2x?xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %xlogy = ge.Xlogy(%a0, %a1) : (tensor<2x?xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %xdivy = ge.Xdivy(%a0, %a1) : (tensor<2x?xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %xdivy = ge.Xdivy(%a0, %a1) : (tensor<2x?xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %mul_no_nan = ge.MulNoNan(%a0, %a1) : (tensor<2x?xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %mul_no_nan = ge.MulNoNan(%a0, %a1) : (tensor<2x?xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %truncate_mod = ge.TruncateMod(%a0, %a2) : (tensor<2x?xf32>, tensor<*xf32>) -> tensor<*xf32>
  %truncate_mod = ge.TruncateMod(%a0, %a2) : (tensor<2x?xf32>, tensor<*xf32>) -> tensor<*xf32>
  // CHECK-NEXT: %atan2 = ge.Atan2(%a0, %a1) : (tensor<2x?xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %atan2 = ge.Atan2(%a0, %a1) : (tensor<2x?xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %gcd = ge.Gcd(%a3, %a3) : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi32>
  %gcd = ge.Gcd(%a3, %a3) : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi32>
  // CHECK-NEXT: %is_close = ge.IsClose(%a0, %a1) {equal_nan = true} : (tensor<2x?xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  %is_close = ge.IsClose(%a0, %a1) {equal_nan = true} : (tensor<2x?xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  // CHECK-NEXT: %approximate_equal = ge.ApproximateEqual(%a0, %a4) : (tensor<2x?xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
  %approximate_equal = ge.ApproximateEqual(%a0, %a4) : (tensor<2x?xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
  // CHECK-NEXT: %eltwise = ge.Eltwise([%a0, %a4]) {N = 2, coeff = [1.0, 0.5]} : (tensor<2x?xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %eltwise = ge.Eltwise([%a0, %a4]) {N = 2, coeff = [1.0, 0.5]} : (tensor<2x?xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %fused_mul_add_add = ge.FusedMulAddAdd(%a4, %a1, %a1, %a4) : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %fused_mul_add_add = ge.FusedMulAddAdd(%a4, %a1, %a1, %a4) : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %fused_mul_add_n = ge.FusedMulAddN(%a0, %a4, %a5) : (tensor<2x?xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<2x?xf32>
  %fused_mul_add_n = ge.FusedMulAddN(%a0, %a4, %a5) : (tensor<2x?xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<2x?xf32>
  // CHECK-NEXT: %clip_by_value_v2 = ge.ClipByValueV2(%a0, %a5, %a5) : (tensor<2x?xf32>, tensor<f32>, tensor<f32>) -> tensor<2x?xf32>
  %clip_by_value_v2 = ge.ClipByValueV2(%a0, %a5, %a5) : (tensor<2x?xf32>, tensor<f32>, tensor<f32>) -> tensor<2x?xf32>
  func.return
}
