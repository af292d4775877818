// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// A tensor and numbers, lists of operands, three operands, biases.
// CHECK-LABEL: func.func @main
func.func @main(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>, %c: tensor<3xf32>, %s: tensor<f32>, %i: tensor<1x3x8x8xf32, #ge.layout<NCHW>>) {
  // CHECK-NEXT: %adds = ge.Adds(%a) {value = 1.5} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %adds = ge.Adds(%a) {value = 1.5} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %muls = ge.Muls(%a) {value = -2.0} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %muls = ge.Muls(%a) {value = -2.0} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %axpy = ge.Axpy(%a, %b) {alpha = 0.5} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %axpy = ge.Axpy(%a, %b) {alpha = 0.5} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %power = ge.Power(%a) {power = 2.0, scale = 0.5, shift = 1.0} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %power = ge.Power(%a) {power = 2.0, scale = 0.5, shift = 1.0} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %power_plain = ge.Power(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %power_plain = ge.Power(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %add_n = ge.AddN([%a, %b, %s]) {N = 3} : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %add_n = ge.AddN([%a, %b, %s]) {N = 3} : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %accumulate = ge.AccumulateNV2([%a]) {N = 1} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %accumulate = ge.AccumulateNV2([%a]) {N = 1} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %bias = ge.BiasAdd(%a, %c) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %bias = ge.BiasAdd(%a, %c) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %bias_nchw = ge.BiasAdd(%a, %c) {data_format = "NCHW"} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %bias_nchw = ge.BiasAdd(%a, %c) {data_format = "NCHW"} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %bias_format = ge.BiasAdd(%i, %c) : (tensor<1x3x8x8xf32, #ge.layout<NCHW>>, tensor<3xf32>) -> tensor<1x3x8x8xf32, #ge.layout<NCHW>>
  %bias_format = ge.BiasAdd(%i, %c) : (tensor<1x3x8x8xf32, #ge.layout<NCHW>>, tensor<3xf32>) -> tensor<1x3x8x8xf32, #ge.layout<NCHW>>
  // CHECK-NEXT: %clip = ge.ClipByValue(%a, %s, %s) : (tensor<2x3xf32>, tensor<f32>, tensor<f32>) -> tensor<2x3xf32>
  %clip = ge.ClipByValue(%a, %s, %s) : (tensor<2x3xf32>, tensor<f32>, tensor<f32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %lerp = ge.Lerp(%a, %b, %s) : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %lerp = ge.Lerp(%a, %b, %s) : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %fma = ge.FusedMulAdd(%a, %b, %c) : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %fma = ge.FusedMulAdd(%a, %b, %c) : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %addcmul = ge.Addcmul(%a, %b, %c, %s) : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %addcmul = ge.Addcmul(%a, %b, %c, %s) : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<3xf32>, tensor<f32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %addcdiv = ge.Addcdiv(%a, %b, %c, %s) : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %addcdiv = ge.Addcdiv(%a, %b, %c, %s) : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<3xf32>, tensor<f32>) -> tensor<2x3xf32>
  // CHECK-NEXT: func.return
  func.return
}
