// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// One operand, whose shape the result has.
// CHECK-LABEL: func.func @main
func.func @main(%a: tensor<2x3xf32>, %n: tensor<2x3xi32>, %u: tensor<*xf16>) {
  // CHECK-NEXT: %abs = ge.Abs(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %abs = ge.Abs(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %neg = ge.Neg(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %neg = ge.Neg(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %sign = ge.Sign(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %sign = ge.Sign(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %square = ge.Square(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %square = ge.Square(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %reciprocal = ge.Reciprocal(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %reciprocal = ge.Reciprocal(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %sqrt = ge.Sqrt(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %sqrt = ge.Sqrt(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %rsqrt = ge.Rsqrt(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %rsqrt = ge.Rsqrt(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %exp = ge.Exp(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %exp = ge.Exp(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %log = ge.Log(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %log = ge.Log(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %expm1 = ge.Expm1(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %expm1 = ge.Expm1(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %log1p = ge.Log1p(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %log1p = ge.Log1p(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %erf = ge.Erf(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %erf = ge.Erf(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %erfc = ge.Erfc(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %erfc = ge.Erfc(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %sin = ge.Sin(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %sin = ge.Sin(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %cos = ge.Cos(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %cos = ge.Cos(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %atan = ge.Atan(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %atan = ge.Atan(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %sinh = ge.Sinh(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %sinh = ge.Sinh(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %cosh = ge.Cosh(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %cosh = ge.Cosh(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %asinh = ge.Asinh(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %asinh = ge.Asinh(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %acosh = ge.Acosh(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %acosh = ge.Acosh(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %atanh = ge.Atanh(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %atanh = ge.Atanh(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %floor = ge.Floor(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %floor = ge.Floor(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %ceil = ge.Ceil(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %ceil = ge.Ceil(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %round = ge.Round(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %round = ge.Round(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %is_nan = ge.IsNan(%a) : (tensor<2x3xf32>) -> tensor<2x3xi1>
  %is_nan = ge.IsNan(%a) : (tensor<2x3xf32>) -> tensor<2x3xi1>
  // CHECK-NEXT: %is_inf = ge.IsInf(%a) : (tensor<2x3xf32>) -> tensor<2x3xi1>
  %is_inf = ge.IsInf(%a) : (tensor<2x3xf32>) -> tensor<2x3xi1>
  // CHECK-NEXT: %is_finite = ge.IsFinite(%a) : (tensor<2x3xf32>) -> tensor<2x3xi1>
  %is_finite = ge.IsFinite(%a) : (tensor<2x3xf32>) -> tensor<2x3xi1>
  // CHECK-NEXT: %exp_2 = ge.Exp(%a) {base = 2.0, scale = 0.5, shift = 1.0} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %exp_2 = ge.Exp(%a) {base = 2.0, scale = 0.5, shift = 1.0} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %log_n = ge.Log(%n) {base = 5.0} : (tensor<2x3xi32>) -> tensor<2x3xf32>
  %log_n = ge.Log(%n) {base = 5.0} : (tensor<2x3xi32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %round_2 = ge.Round(%a) {decimals = -2} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %round_2 = ge.Round(%a) {decimals = -2} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %rank = ge.Abs(%u) : (tensor<*xf16>) -> tensor<*xf16>
  %rank = ge.Abs(%u) : (tensor<*xf16>) -> tensor<*xf16>
  // CHECK-NEXT: func.return
  func.return
}
