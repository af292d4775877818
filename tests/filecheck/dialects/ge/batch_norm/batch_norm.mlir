// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Batch normalisation.
// CHECK-LABEL: func.func @main
func.func @main(%a1: tensor<2x3x4xf32>, %a2: tensor<3xf32>, %a3: tensor<2x3x4x5x6xf32>) {
  // CHECK-NEXT: %bn_infer = ge.BNInfer(%a1, %a2, %a2, %a2, %a2) {epsilon = 0.5} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  %bn_infer = ge.BNInfer(%a1, %a2, %a2, %a2, %a2) {epsilon = 0.5} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  // CHECK-NEXT: %bn_inference_d = ge.BNInferenceD(%a1, %a2, %a2) : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  %bn_inference_d = ge.BNInferenceD(%a1, %a2, %a2) : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  // CHECK-NEXT: %batch_norm3_d:5 = ge.BatchNorm3D(%a3, %a2, %a2) : (tensor<2x3x4x5x6xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4x5x6xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  %batch_norm3_d:5 = ge.BatchNorm3D(%a3, %a2, %a2) : (tensor<2x3x4x5x6xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4x5x6xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  // CHECK-NEXT: %bn_training_reduce:2 = ge.BNTrainingReduce(%a1) : (tensor<2x3x4xf32>) -> (tensor<3xf32>, tensor<3xf32>)
  %bn_training_reduce:2 = ge.BNTrainingReduce(%a1) : (tensor<2x3x4xf32>) -> (tensor<3xf32>, tensor<3xf32>)
  // CHECK-NEXT: %bn3_d_training_reduce:2 = ge.BN3DTrainingReduce(%a1) : (tensor<2x3x4xf32>) -> (tensor<3xf32>, tensor<3xf32>)
  %bn3_d_training_reduce:2 = ge.BN3DTrainingReduce(%a1) : (tensor<2x3x4xf32>) -> (tensor<3xf32>, tensor<3xf32>)
  // CHECK-NEXT: %bn_training_update:5 = ge.BNTrainingUpdate(%a1, %a2, %a2, %a2, %a2, %a2, %a2) {factor = 0.5, epsilon = 0.5} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  %bn_training_update:5 = ge.BNTrainingUpdate(%a1, %a2, %a2, %a2, %a2, %a2, %a2) {factor = 0.5, epsilon = 0.5} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  // CHECK-NEXT: %bn3_d_training_update:5 = ge.BN3DTrainingUpdate(%a1, %a2, %a2, %a2, %a2, %a2, %a2) {factor = 0.5, epsilon = 0.5} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  %bn3_d_training_update:5 = ge.BN3DTrainingUpdate(%a1, %a2, %a2, %a2, %a2, %a2, %a2) {factor = 0.5, epsilon = 0.5} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  // CHECK-NEXT: %bn_training_update_v2:3 = ge.BNTrainingUpdateV2(%a1, %a2, %a2, %a2, %a2) {epsilon = 0.5} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>)
  %bn_training_update_v2:3 = ge.BNTrainingUpdateV2(%a1, %a2, %a2, %a2, %a2) {epsilon = 0.5} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>)
  // CHECK-NEXT: %bn_training_update_v3:5 = ge.BNTrainingUpdateV3(%a1, %a2, %a2, %a2, %a2) {epsilon = 0.5} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  %bn_training_update_v3:5 = ge.BNTrainingUpdateV3(%a1, %a2, %a2, %a2, %a2) {epsilon = 0.5} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  // CHECK-NEXT: %bn_infer_grad = ge.BNInferGrad(%a1, %a2, %a2) : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  %bn_infer_grad = ge.BNInferGrad(%a1, %a2, %a2) : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  // CHECK-NEXT: %bn_training_update_grad:2 = ge.BNTrainingUpdateGrad(%a1, %a1, %a2, %a2) : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>)
  %bn_training_update_grad:2 = ge.BNTrainingUpdateGrad(%a1, %a1, %a2, %a2) : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>)
  // CHECK-NEXT: %bn3_d_training_update_grad:2 = ge.BN3DTrainingUpdateGrad(%a1, %a1, %a2, %a2) : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>)
  %bn3_d_training_update_grad:2 = ge.BN3DTrainingUpdateGrad(%a1, %a1, %a2, %a2) : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>)
  // CHECK-NEXT: %bn_training_reduce_grad = ge.BNTrainingReduceGrad(%a1, %a1, %a2, %a2, %a2, %a2, %a2) : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  %bn_training_reduce_grad = ge.BNTrainingReduceGrad(%a1, %a1, %a2, %a2, %a2, %a2, %a2) : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  // CHECK-NEXT: %bn3_d_training_reduce_grad = ge.BN3DTrainingReduceGrad(%a1, %a1, %a2, %a2, %a2, %a2, %a2) : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  %bn3_d_training_reduce_grad = ge.BN3DTrainingReduceGrad(%a1, %a1, %a2, %a2, %a2, %a2, %a2) : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  // CHECK-NEXT: func.return
  func.return
}
