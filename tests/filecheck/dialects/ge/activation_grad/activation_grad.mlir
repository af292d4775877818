// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Gradients of activation functions.
// CHECK-LABEL: func.func @main
func.func @main(%a1: tensor<2x3xf32>, %a2: tensor<3xf32>) {
  // CHECK-NEXT: %relu_grad = ge.ReluGrad(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %relu_grad = ge.ReluGrad(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %relu6_grad = ge.Relu6Grad(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %relu6_grad = ge.Relu6Grad(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %leaky_relu_grad = ge.LeakyReluGrad(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %leaky_relu_grad = ge.LeakyReluGrad(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %softplus_grad = ge.SoftplusGrad(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %softplus_grad = ge.SoftplusGrad(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %softsign_grad = ge.SoftsignGrad(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %softsign_grad = ge.SoftsignGrad(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %threshold_grad_v2_d = ge.ThresholdGradV2D(%a1, %a1) {threshold = 0.5} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %threshold_grad_v2_d = ge.ThresholdGradV2D(%a1, %a1) {threshold = 0.5} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %hard_shrink_grad = ge.HardShrinkGrad(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %hard_shrink_grad = ge.HardShrinkGrad(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %soft_shrink_grad = ge.SoftShrinkGrad(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %soft_shrink_grad = ge.SoftShrinkGrad(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %log_sigmoid_grad = ge.LogSigmoidGrad(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %log_sigmoid_grad = ge.LogSigmoidGrad(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %hard_sigmoid_grad = ge.HardSigmoidGrad(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %hard_sigmoid_grad = ge.HardSigmoidGrad(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %hard_swish_grad = ge.HardSwishGrad(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %hard_swish_grad = ge.HardSwishGrad(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %hardtanh_grad = ge.HardtanhGrad(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %hardtanh_grad = ge.HardtanhGrad(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %elu_grad = ge.EluGrad(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %elu_grad = ge.EluGrad(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %elu_grad_v2 = ge.EluGradV2(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %elu_grad_v2 = ge.EluGradV2(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %selu_grad = ge.SeluGrad(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %selu_grad = ge.SeluGrad(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %logit_grad = ge.LogitGrad(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %logit_grad = ge.LogitGrad(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %silu_grad = ge.SiluGrad(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %silu_grad = ge.SiluGrad(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %fast_gelu_grad = ge.FastGeluGrad(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %fast_gelu_grad = ge.FastGeluGrad(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %gelu_grad_v2 = ge.GeluGradV2(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %gelu_grad_v2 = ge.GeluGradV2(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %gelu_grad = ge.GeluGrad(%a1, %a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %gelu_grad = ge.GeluGrad(%a1, %a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %swish_grad = ge.SwishGrad(%a1, %a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %swish_grad = ge.SwishGrad(%a1, %a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %mish_grad = ge.MishGrad(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %mish_grad = ge.MishGrad(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %p_relu_grad:2 = ge.PReluGrad(%a1, %a1, %a2) : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>)
  %p_relu_grad:2 = ge.PReluGrad(%a1, %a1, %a2) : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>)
  // CHECK-NEXT: func.return
  func.return
}
