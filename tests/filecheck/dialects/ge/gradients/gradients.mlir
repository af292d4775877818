// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Gradients of elementwise maths.
// CHECK-LABEL: func.func @main
func.func @main(%a1: tensor<2x3xf32>, %a2: tensor<1xf32>, %a3: tensor<3xf32>) {
  // CHECK-NEXT: %sqrt_grad = ge.SqrtGrad(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %sqrt_grad = ge.SqrtGrad(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %rsqrt_grad = ge.RsqrtGrad(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %rsqrt_grad = ge.RsqrtGrad(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %reciprocal_grad = ge.ReciprocalGrad(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %reciprocal_grad = ge.ReciprocalGrad(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %asin_grad = ge.AsinGrad(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %asin_grad = ge.AsinGrad(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %acos_grad = ge.AcosGrad(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %acos_grad = ge.AcosGrad(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %atan_grad = ge.AtanGrad(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %atan_grad = ge.AtanGrad(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %asinh_grad = ge.AsinhGrad(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %asinh_grad = ge.AsinhGrad(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %acosh_grad = ge.AcoshGrad(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %acosh_grad = ge.AcoshGrad(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %abs_grad = ge.AbsGrad(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %abs_grad = ge.AbsGrad(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %sigmoid_grad = ge.SigmoidGrad(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %sigmoid_grad = ge.SigmoidGrad(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %tanh_grad = ge.TanhGrad(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %tanh_grad = ge.TanhGrad(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %inv_grad = ge.InvGrad(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %inv_grad = ge.InvGrad(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %softmax_grad = ge.SoftmaxGrad(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %softmax_grad = ge.SoftmaxGrad(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %log_softmax_grad = ge.LogSoftmaxGrad(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %log_softmax_grad = ge.LogSoftmaxGrad(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %softmax_grad_ext = ge.SoftmaxGradExt(%a1, %a1, %a2) : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<1xf32>) -> tensor<2x3xf32>
  %softmax_grad_ext = ge.SoftmaxGradExt(%a1, %a1, %a2) : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<1xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %confusion_softmax_grad = ge.ConfusionSoftmaxGrad(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %confusion_softmax_grad = ge.ConfusionSoftmaxGrad(%a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %confusion_mul_grad:2 = ge.ConfusionMulGrad(%a1, %a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<f32>)
  %confusion_mul_grad:2 = ge.ConfusionMulGrad(%a1, %a1, %a1) : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<f32>)
  // CHECK-NEXT: %bias_add_grad = ge.BiasAddGrad(%a1) : (tensor<2x3xf32>) -> tensor<3xf32>
  %bias_add_grad = ge.BiasAddGrad(%a1) : (tensor<2x3xf32>) -> tensor<3xf32>
  // CHECK-NEXT: %maximum_grad:2 = ge.MaximumGrad(%a1, %a1, %a3) : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>)
  %maximum_grad:2 = ge.MaximumGrad(%a1, %a1, %a3) : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>)
  // CHECK-NEXT: %minimum_grad:2 = ge.MinimumGrad(%a1, %a1, %a3) : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>)
  %minimum_grad:2 = ge.MinimumGrad(%a1, %a1, %a3) : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>)
  // CHECK-NEXT: func.return
  func.return
}
