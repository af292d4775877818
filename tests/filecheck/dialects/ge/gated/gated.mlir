// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Gated units and shrinkage.
// CHECK-LABEL: func.func @main
func.func @main(%a1: tensor<2x8xf32>, %a2: tensor<2x4xf32>, %a3: tensor<2x3xf32>) {
  // CHECK-NEXT: %swi_glu = ge.SwiGlu(%a1) : (tensor<2x8xf32>) -> tensor<2x4xf32>
  %swi_glu = ge.SwiGlu(%a1) : (tensor<2x8xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: %glu = ge.GLU(%a1) : (tensor<2x8xf32>) -> tensor<2x4xf32>
  %glu = ge.GLU(%a1) : (tensor<2x8xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: %swi_glu_grad = ge.SwiGluGrad(%a2, %a1) : (tensor<2x4xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %swi_glu_grad = ge.SwiGluGrad(%a2, %a1) : (tensor<2x4xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  // CHECK-NEXT: %glu_grad = ge.GLUGrad(%a2, %a1) : (tensor<2x4xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %glu_grad = ge.GLUGrad(%a2, %a1) : (tensor<2x4xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  // CHECK-NEXT: %ge_glu_v2:2 = ge.GeGluV2(%a1) : (tensor<2x8xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>)
  %ge_glu_v2:2 = ge.GeGluV2(%a1) : (tensor<2x8xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>)
  // CHECK-NEXT: %ge_glu_grad_v2 = ge.GeGluGradV2(%a2, %a1, %a2) : (tensor<2x4xf32>, tensor<2x8xf32>, tensor<2x4xf32>) -> tensor<2x8xf32>
  %ge_glu_grad_v2 = ge.GeGluGradV2(%a2, %a1, %a2) : (tensor<2x4xf32>, tensor<2x8xf32>, tensor<2x4xf32>) -> tensor<2x8xf32>
  // CHECK-NEXT: %gelu_mul = ge.GeluMul(%a1) : (tensor<2x8xf32>) -> tensor<2x4xf32>
  %gelu_mul = ge.GeluMul(%a1) : (tensor<2x8xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: %silu_mul = ge.SiluMul(%a3, %a3) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %silu_mul = ge.SiluMul(%a3, %a3) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %hard_shrink = ge.HardShrink(%a3) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %hard_shrink = ge.HardShrink(%a3) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %soft_shrink = ge.SoftShrink(%a3) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %soft_shrink = ge.SoftShrink(%a3) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %shrink = ge.Shrink(%a3) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %shrink = ge.Shrink(%a3) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %threshold = ge.Threshold(%a3) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %threshold = ge.Threshold(%a3) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %threshold_v2_d = ge.ThresholdV2D(%a3) {threshold = 0.5, value = 1.0} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %threshold_v2_d = ge.ThresholdV2D(%a3) {threshold = 0.5, value = 1.0} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %thresholded_relu = ge.ThresholdedRelu(%a3) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %thresholded_relu = ge.ThresholdedRelu(%a3) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %log_sigmoid = ge.LogSigmoid(%a3) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %log_sigmoid = ge.LogSigmoid(%a3) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %squared_relu = ge.SquaredRelu(%a3) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %squared_relu = ge.SquaredRelu(%a3) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %celu_v2 = ge.CeluV2(%a3) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %celu_v2 = ge.CeluV2(%a3) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %hard_swish_v2 = ge.HardSwishV2(%a3) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %hard_swish_v2 = ge.HardSwishV2(%a3) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %softplus_v2 = ge.SoftplusV2(%a3) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %softplus_v2 = ge.SoftplusV2(%a3) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %softplus_v2_grad = ge.SoftplusV2Grad(%a3, %a3) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %softplus_v2_grad = ge.SoftplusV2Grad(%a3, %a3) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %logit = ge.Logit(%a3) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %logit = ge.Logit(%a3) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %fast_gelu_v2 = ge.FastGeluV2(%a3) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %fast_gelu_v2 = ge.FastGeluV2(%a3) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %inv = ge.Inv(%a3) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %inv = ge.Inv(%a3) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: func.return
  func.return
}
