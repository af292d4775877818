// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Fake quantisation.
// CHECK-LABEL: func.func @main
func.func @main(%a1: tensor<2x3xf32>, %a2: tensor<f32>, %a3: tensor<3xf32>) {
  // CHECK-NEXT: %fake_quant_with_min_max_args = ge.FakeQuantWithMinMaxArgs(%a1) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %fake_quant_with_min_max_args = ge.FakeQuantWithMinMaxArgs(%a1) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %fake_quant_with_min_max_args_gradient = ge.FakeQuantWithMinMaxArgsGradient(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %fake_quant_with_min_max_args_gradient = ge.FakeQuantWithMinMaxArgsGradient(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %fake_quant_with_min_max_vars = ge.FakeQuantWithMinMaxVars(%a1, %a2, %a2) : (tensor<2x3xf32>, tensor<f32>, tensor<f32>) -> tensor<2x3xf32>
  %fake_quant_with_min_max_vars = ge.FakeQuantWithMinMaxVars(%a1, %a2, %a2) : (tensor<2x3xf32>, tensor<f32>, tensor<f32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %fake_quant_with_min_max_vars_gradient:3 = ge.FakeQuantWithMinMaxVarsGradient(%a1, %a1, %a2, %a2) : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<f32>, tensor<f32>) -> (tensor<2x3xf32>, tensor<f32>, tensor<f32>)
  %fake_quant_with_min_max_vars_gradient:3 = ge.FakeQuantWithMinMaxVarsGradient(%a1, %a1, %a2, %a2) : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<f32>, tensor<f32>) -> (tensor<2x3xf32>, tensor<f32>, tensor<f32>)
  // CHECK-NEXT: %fake_quant_with_min_max_vars_per_channel = ge.FakeQuantWithMinMaxVarsPerChannel(%a1, %a3, %a3) : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %fake_quant_with_min_max_vars_per_channel = ge.FakeQuantWithMinMaxVarsPerChannel(%a1, %a3, %a3) : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %fake_quant_with_min_max_vars_per_channel_gradient:3 = ge.FakeQuantWithMinMaxVarsPerChannelGradient(%a1, %a1, %a3, %a3) : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  %fake_quant_with_min_max_vars_per_channel_gradient:3 = ge.FakeQuantWithMinMaxVarsPerChannelGradient(%a1, %a1, %a3, %a3) : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  // CHECK-NEXT: func.return
  func.return
}
