// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Losses.
// CHECK-LABEL: func.func @main
func.func @main(%a0: tensor<?x5xf32>, %a1: tensor<4x5xf32>, %a2: tensor<4xi32>, %a3: tensor<5xf32>) {
  // CHECK-NEXT: %softmax_cross_entropy_with_logits:2 = ge.SoftmaxCrossEntropyWithLogits(%a0, %a1) : (tensor<?x5xf32>, tensor<4x5xf32>) -> (tensor<4xf32>, tensor<4x5xf32>)
  %softmax_cross_entropy_with_logits:2 = ge.SoftmaxCrossEntropyWithLogits(%a0, %a1) : (tensor<?x5xf32>, tensor<4x5xf32>) -> (tensor<4xf32>, tensor<4x5xf32>)
  // CHECK-NEXT: %sparse_softmax_cross_entropy_with_logits:2 = ge.SparseSoftmaxCrossEntropyWithLogits(%a0, %a2) : (tensor<?x5xf32>, tensor<4xi32>) -> (tensor<4xf32>, tensor<?x5xf32>)
  %sparse_softmax_cross_entropy_with_logits:2 = ge.SparseSoftmaxCrossEntropyWithLogits(%a0, %a2) : (tensor<?x5xf32>, tensor<4xi32>) -> (tensor<4xf32>, tensor<?x5xf32>)
  // CHECK-NEXT: %sigmoid_cross_entropy_with_logits = ge.SigmoidCrossEntropyWithLogits(%a0, %a1) : (tensor<?x5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
  %sigmoid_cross_entropy_with_logits = ge.SigmoidCrossEntropyWithLogits(%a0, %a1) : (tensor<?x5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
  // CHECK-NEXT: %sigmoid_cross_entropy_with_logits_v2 = ge.SigmoidCrossEntropyWithLogitsV2(%a0, %a1, pos_weight = %a3) {reduction = "none"} : (tensor<?x5xf32>, tensor<4x5xf32>, tensor<5xf32>) -> tensor<4x5xf32>
  %sigmoid_cross_entropy_with_logits_v2 = ge.SigmoidCrossEntropyWithLogitsV2(%a0, %a1, pos_weight = %a3) {reduction = "none"} : (tensor<?x5xf32>, tensor<4x5xf32>, tensor<5xf32>) -> tensor<4x5xf32>
  // CHECK-NEXT: %smooth_l1_loss = ge.SmoothL1Loss(%a0, %a1) {sigma = 2.0} : (tensor<?x5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
  %smooth_l1_loss = ge.SmoothL1Loss(%a0, %a1) {sigma = 2.0} : (tensor<?x5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
  // CHECK-NEXT: %smooth_l1_loss_v2 = ge.SmoothL1LossV2(%a0, %a1) : (tensor<?x5xf32>, tensor<4x5xf32>) -> tensor<f32>
  %smooth_l1_loss_v2 = ge.SmoothL1LossV2(%a0, %a1) : (tensor<?x5xf32>, tensor<4x5xf32>) -> tensor<f32>
  // CHECK-NEXT: %mse_loss = ge.MseLoss(%a0, %a1) {reduction = "sum"} : (tensor<?x5xf32>, tensor<4x5xf32>) -> tensor<f32>
  %mse_loss = ge.MseLoss(%a0, %a1) {reduction = "sum"} : (tensor<?x5xf32>, tensor<4x5xf32>) -> tensor<f32>
  // CHECK-NEXT: %lp_loss = ge.LpLoss(%a0, %a1) {p = 1} : (tensor<?x5xf32>, tensor<4x5xf32>) -> tensor<f32>
  %lp_loss = ge.LpLoss(%a0, %a1) {p = 1} : (tensor<?x5xf32>, tensor<4x5xf32>) -> tensor<f32>
  // CHECK-NEXT: %soft_margin_loss = ge.SoftMarginLoss(%a0, %a1) : (tensor<?x5xf32>, tensor<4x5xf32>) -> tensor<f32>
  %soft_margin_loss = ge.SoftMarginLoss(%a0, %a1) : (tensor<?x5xf32>, tensor<4x5xf32>) -> tensor<f32>
  // CHECK-NEXT: %binary_cross_entropy = ge.BinaryCrossEntropy(%a0, %a1, weight = %a3) : (tensor<?x5xf32>, tensor<4x5xf32>, tensor<5xf32>) -> tensor<f32>
  %binary_cross_entropy = ge.BinaryCrossEntropy(%a0, %a1, weight = %a3) : (tensor<?x5xf32>, tensor<4x5xf32>, tensor<5xf32>) -> tensor<f32>
  // CHECK-NEXT: %kl_div_v2 = ge.KLDivV2(%a0, %a1) {reduction = "batchmean"} : (tensor<?x5xf32>, tensor<4x5xf32>) -> tensor<f32>
  %kl_div_v2 = ge.KLDivV2(%a0, %a1) {reduction = "batchmean"} : (tensor<?x5xf32>, tensor<4x5xf32>) -> tensor<f32>
  // CHECK-NEXT: %poisson_nll_loss = ge.PoissonNllLoss(%a0, %a1) {reduction = "none"} : (tensor<?x5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
  %poisson_nll_loss = ge.PoissonNllLoss(%a0, %a1) {reduction = "none"} : (tensor<?x5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
  // CHECK-NEXT: %nll_loss:2 = ge.NLLLoss(%a0, %a2, weight = %a3) : (tensor<?x5xf32>, tensor<4xi32>, tensor<5xf32>) -> (tensor<f32>, tensor<f32>)
  %nll_loss:2 = ge.NLLLoss(%a0, %a2, weight = %a3) : (tensor<?x5xf32>, tensor<4xi32>, tensor<5xf32>) -> (tensor<f32>, tensor<f32>)
  // CHECK-NEXT: %softmax_cross_entropy_loss:2 = ge.SoftmaxCrossEntropyLoss(%a0, %a2) {reduction = "none"} : (tensor<?x5xf32>, tensor<4xi32>) -> (tensor<4xf32>, tensor<?x5xf32>)
  %softmax_cross_entropy_loss:2 = ge.SoftmaxCrossEntropyLoss(%a0, %a2) {reduction = "none"} : (tensor<?x5xf32>, tensor<4xi32>) -> (tensor<4xf32>, tensor<?x5xf32>)
  func.return
}
