// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Dropout and masked softmax.
// CHECK-LABEL: func.func @main
func.func @main(%a1: tensor<2x3xf32>, %a2: tensor<2x8xf32>, %a3: tensor<16xui8>, %a4: tensor<1xf32>, %a5: tensor<1x2x3x4xf32>, %a6: tensor<1x1x3x4xi1>, %a7: tensor<2x3x4x5x6xf32>, %a8: tensor<3x5x6xf32>, %a9: tensor<4x5x6xf32>) {
  // CHECK-NEXT: %dropout = ge.Dropout(%a1) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %dropout = ge.Dropout(%a1) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %drop_out_do_mask = ge.DropOutDoMask(%a2, %a3, %a4) : (tensor<2x8xf32>, tensor<16xui8>, tensor<1xf32>) -> tensor<2x8xf32>
  %drop_out_do_mask = ge.DropOutDoMask(%a2, %a3, %a4) : (tensor<2x8xf32>, tensor<16xui8>, tensor<1xf32>) -> tensor<2x8xf32>
  // CHECK-NEXT: %drop_out_do_mask_v3 = ge.DropOutDoMaskV3(%a2, %a3, %a4) : (tensor<2x8xf32>, tensor<16xui8>, tensor<1xf32>) -> tensor<2x8xf32>
  %drop_out_do_mask_v3 = ge.DropOutDoMaskV3(%a2, %a3, %a4) : (tensor<2x8xf32>, tensor<16xui8>, tensor<1xf32>) -> tensor<2x8xf32>
  // CHECK-NEXT: %drop_out_do_mask_v3_d = ge.DropOutDoMaskV3D(%a2, %a3) {keep_prob = 0.5} : (tensor<2x8xf32>, tensor<16xui8>) -> tensor<2x8xf32>
  %drop_out_do_mask_v3_d = ge.DropOutDoMaskV3D(%a2, %a3) {keep_prob = 0.5} : (tensor<2x8xf32>, tensor<16xui8>) -> tensor<2x8xf32>
  // CHECK-NEXT: %softmax_v2_with_drop_out_do_mask_v3_d:2 = ge.SoftmaxV2WithDropOutDoMaskV3D(%a2, %a3) {keep_prob = 0.5} : (tensor<2x8xf32>, tensor<16xui8>) -> (tensor<2x8xf32>, tensor<2x8xf32>)
  %softmax_v2_with_drop_out_do_mask_v3_d:2 = ge.SoftmaxV2WithDropOutDoMaskV3D(%a2, %a3) {keep_prob = 0.5} : (tensor<2x8xf32>, tensor<16xui8>) -> (tensor<2x8xf32>, tensor<2x8xf32>)
  // CHECK-NEXT: %axpy_with_softmax_and_drop_out_do_mask:2 = ge.AxpyWithSoftmaxAndDropOutDoMask(%a2, %a2, %a3) {alpha = 0.5, input_keep_prob = 0.5} : (tensor<2x8xf32>, tensor<2x8xf32>, tensor<16xui8>) -> (tensor<2x8xf32>, tensor<2x8xf32>)
  %axpy_with_softmax_and_drop_out_do_mask:2 = ge.AxpyWithSoftmaxAndDropOutDoMask(%a2, %a2, %a3) {alpha = 0.5, input_keep_prob = 0.5} : (tensor<2x8xf32>, tensor<2x8xf32>, tensor<16xui8>) -> (tensor<2x8xf32>, tensor<2x8xf32>)
  // CHECK-NEXT: %scaled_masked_softmax = ge.ScaledMaskedSoftmax(%a5, mask = %a6) : (tensor<1x2x3x4xf32>, tensor<1x1x3x4xi1>) -> tensor<1x2x3x4xf32>
  %scaled_masked_softmax = ge.ScaledMaskedSoftmax(%a5, mask = %a6) : (tensor<1x2x3x4xf32>, tensor<1x1x3x4xi1>) -> tensor<1x2x3x4xf32>
  // CHECK-NEXT: %masked_scale = ge.MaskedScale(%a1, %a1) {value = 0.5} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %masked_scale = ge.MaskedScale(%a1, %a1) {value = 0.5} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %masked_softmax_with_rel_pos_bias = ge.MaskedSoftmaxWithRelPosBias(%a7, atten_mask = %a8, %a9) : (tensor<2x3x4x5x6xf32>, tensor<3x5x6xf32>, tensor<4x5x6xf32>) -> tensor<2x3x4x5x6xf32>
  %masked_softmax_with_rel_pos_bias = ge.MaskedSoftmaxWithRelPosBias(%a7, atten_mask = %a8, %a9) : (tensor<2x3x4x5x6xf32>, tensor<3x5x6xf32>, tensor<4x5x6xf32>) -> tensor<2x3x4x5x6xf32>
  // CHECK-NEXT: func.return
  func.return
}
