// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Root-mean-square normalisation.
// CHECK-LABEL: func.func @main
func.func @main(%a1: tensor<?x3x8xf32>, %a2: tensor<8xf32>, %a3: tensor<2x8xf32>, %a4: tensor<2x1xf32>) {
  // CHECK-NEXT: %rms_norm:2 = ge.RmsNorm(%a1, %a2) : (tensor<?x3x8xf32>, tensor<8xf32>) -> (tensor<?x3x8xf32>, tensor<?x3x1xf32>)
  %rms_norm:2 = ge.RmsNorm(%a1, %a2) : (tensor<?x3x8xf32>, tensor<8xf32>) -> (tensor<?x3x8xf32>, tensor<?x3x1xf32>)
  // CHECK-NEXT: %rms_norm_grad:2 = ge.RmsNormGrad(%a3, %a3, %a4, %a2) : (tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x1xf32>, tensor<8xf32>) -> (tensor<2x8xf32>, tensor<8xf32>)
  %rms_norm_grad:2 = ge.RmsNormGrad(%a3, %a3, %a4, %a2) : (tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x1xf32>, tensor<8xf32>) -> (tensor<2x8xf32>, tensor<8xf32>)
  // CHECK-NEXT: %add_rms_norm:3 = ge.AddRmsNorm(%a3, %a3, %a2) : (tensor<2x8xf32>, tensor<2x8xf32>, tensor<8xf32>) -> (tensor<2x8xf32>, tensor<2x1xf32>, tensor<2x8xf32>)
  %add_rms_norm:3 = ge.AddRmsNorm(%a3, %a3, %a2) : (tensor<2x8xf32>, tensor<2x8xf32>, tensor<8xf32>) -> (tensor<2x8xf32>, tensor<2x1xf32>, tensor<2x8xf32>)
  // CHECK-NEXT: %inplace_add_rms_norm:3 = ge.InplaceAddRmsNorm(%a3, %a3, %a2) : (tensor<2x8xf32>, tensor<2x8xf32>, tensor<8xf32>) -> (tensor<2x8xf32>, tensor<2x1xf32>, tensor<2x8xf32>)
  %inplace_add_rms_norm:3 = ge.InplaceAddRmsNorm(%a3, %a3, %a2) : (tensor<2x8xf32>, tensor<2x8xf32>, tensor<8xf32>) -> (tensor<2x8xf32>, tensor<2x1xf32>, tensor<2x8xf32>)
  // CHECK-NEXT: %fused_add_rms_norm:3 = ge.FusedAddRmsNorm(%a3, %a3, %a2) : (tensor<2x8xf32>, tensor<2x8xf32>, tensor<8xf32>) -> (tensor<2x8xf32>, tensor<2x1xf32>, tensor<2x8xf32>)
  %fused_add_rms_norm:3 = ge.FusedAddRmsNorm(%a3, %a3, %a2) : (tensor<2x8xf32>, tensor<2x8xf32>, tensor<8xf32>) -> (tensor<2x8xf32>, tensor<2x1xf32>, tensor<2x8xf32>)
  // CHECK-NEXT: %add_rms_norm_cast:4 = ge.AddRmsNormCast(%a3, %a3, %a2) : (tensor<2x8xf32>, tensor<2x8xf32>, tensor<8xf32>) -> (tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x1xf32>, tensor<2x8xf32>)
  %add_rms_norm_cast:4 = ge.AddRmsNormCast(%a3, %a3, %a2) : (tensor<2x8xf32>, tensor<2x8xf32>, tensor<8xf32>) -> (tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x1xf32>, tensor<2x8xf32>)
  // CHECK-NEXT: %add_rms_norm_quant:3 = ge.AddRmsNormQuant(%a3, %a3, %a2, %a2) : (tensor<2x8xf32>, tensor<2x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<2x8xi8>, tensor<2x8xi8>, tensor<2x8xf32>)
  %add_rms_norm_quant:3 = ge.AddRmsNormQuant(%a3, %a3, %a2, %a2) : (tensor<2x8xf32>, tensor<2x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<2x8xi8>, tensor<2x8xi8>, tensor<2x8xf32>)
  // CHECK-NEXT: %add_rms_norm_dynamic_quant:5 = ge.AddRmsNormDynamicQuant(%a3, %a3, %a2, smooth_scale1 = %a2, smooth_scale2 = %a2) : (tensor<2x8xf32>, tensor<2x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<2x8xi8>, tensor<2x8xi8>, tensor<2x8xf32>, tensor<2xf32>, tensor<2xf32>)
  %add_rms_norm_dynamic_quant:5 = ge.AddRmsNormDynamicQuant(%a3, %a3, %a2, smooth_scale1 = %a2, smooth_scale2 = %a2) : (tensor<2x8xf32>, tensor<2x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<2x8xi8>, tensor<2x8xi8>, tensor<2x8xf32>, tensor<2xf32>, tensor<2xf32>)
  // CHECK-NEXT: %add_rms_norm_dynamic_quant_v2:7 = ge.AddRmsNormDynamicQuantV2(%a3, %a3, %a2) : (tensor<2x8xf32>, tensor<2x8xf32>, tensor<8xf32>) -> (tensor<2x8xi8>, tensor<1xi8>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<2xf32>, tensor<1xf32>)
  %add_rms_norm_dynamic_quant_v2:7 = ge.AddRmsNormDynamicQuantV2(%a3, %a3, %a2) : (tensor<2x8xf32>, tensor<2x8xf32>, tensor<8xf32>) -> (tensor<2x8xi8>, tensor<1xi8>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<2xf32>, tensor<1xf32>)
  // CHECK-NEXT: %multi_add_rms_norm_dynamic_quant:6 = ge.MultiAddRmsNormDynamicQuant([%a3, %a3], %a3, %a2) : (tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<8xf32>) -> (tensor<2x8xi8>, tensor<1xi8>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<2xf32>, tensor<1xf32>)
  %multi_add_rms_norm_dynamic_quant:6 = ge.MultiAddRmsNormDynamicQuant([%a3, %a3], %a3, %a2) : (tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<8xf32>) -> (tensor<2x8xi8>, tensor<1xi8>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<2xf32>, tensor<1xf32>)
  // CHECK-NEXT: %rms_norm_dynamic_quant:2 = ge.RmsNormDynamicQuant(%a3, %a2) : (tensor<2x8xf32>, tensor<8xf32>) -> (tensor<2x8xi8>, tensor<2xf32>)
  %rms_norm_dynamic_quant:2 = ge.RmsNormDynamicQuant(%a3, %a2) : (tensor<2x8xf32>, tensor<8xf32>) -> (tensor<2x8xi8>, tensor<2xf32>)
  // CHECK-NEXT: func.return
  func.return
}
