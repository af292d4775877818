// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Layer normalisation.
// CHECK-LABEL: func.func @main
func.func @main(%a1: tensor<*xf32>, %a2: tensor<1xi64>, %a3: tensor<8xf32>, %a4: tensor<2x8xf32>, %a5: tensor<2x1xf32>, %a6: tensor<2x3x4x5xf32>) {
  // CHECK-NEXT: %layer_norm_v4:3 = ge.LayerNormV4(%a1, %a2, gamma = %a3) : (tensor<*xf32>, tensor<1xi64>, tensor<8xf32>) -> (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>)
  %layer_norm_v4:3 = ge.LayerNormV4(%a1, %a2, gamma = %a3) : (tensor<*xf32>, tensor<1xi64>, tensor<8xf32>) -> (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>)
  // CHECK-NEXT: %add_layer_norm:4 = ge.AddLayerNorm(%a4, %a4, %a3, %a3) : (tensor<2x8xf32>, tensor<2x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<2x8xf32>, tensor<2x1xf32>, tensor<2x1xf32>, tensor<2x8xf32>)
  %add_layer_norm:4 = ge.AddLayerNorm(%a4, %a4, %a3, %a3) : (tensor<2x8xf32>, tensor<2x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<2x8xf32>, tensor<2x1xf32>, tensor<2x1xf32>, tensor<2x8xf32>)
  // CHECK-NEXT: %inplace_add_layer_norm:4 = ge.InplaceAddLayerNorm(%a4, %a4, %a3, %a3) : (tensor<2x8xf32>, tensor<2x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<2x8xf32>, tensor<2x1xf32>, tensor<2x1xf32>, tensor<2x8xf32>)
  %inplace_add_layer_norm:4 = ge.InplaceAddLayerNorm(%a4, %a4, %a3, %a3) : (tensor<2x8xf32>, tensor<2x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<2x8xf32>, tensor<2x1xf32>, tensor<2x1xf32>, tensor<2x8xf32>)
  // CHECK-NEXT: %deep_norm:3 = ge.DeepNorm(%a4, %a4, %a3, %a3) : (tensor<2x8xf32>, tensor<2x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<2x1xf32>, tensor<2x1xf32>, tensor<2x8xf32>)
  %deep_norm:3 = ge.DeepNorm(%a4, %a4, %a3, %a3) : (tensor<2x8xf32>, tensor<2x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<2x1xf32>, tensor<2x1xf32>, tensor<2x8xf32>)
  // CHECK-NEXT: %layer_norm_x_backprop = ge.LayerNormXBackprop(%a4, %a4, %a5, %a5, %a3) : (tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x1xf32>, tensor<2x1xf32>, tensor<8xf32>) -> tensor<2x8xf32>
  %layer_norm_x_backprop = ge.LayerNormXBackprop(%a4, %a4, %a5, %a5, %a3) : (tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x1xf32>, tensor<2x1xf32>, tensor<8xf32>) -> tensor<2x8xf32>
  // CHECK-NEXT: %layer_norm_x_backprop_v2:2 = ge.LayerNormXBackpropV2(%a4, %a4, %a5, %a5, %a3) : (tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x1xf32>, tensor<2x1xf32>, tensor<8xf32>) -> (tensor<2x8xf32>, tensor<2x8xf32>)
  %layer_norm_x_backprop_v2:2 = ge.LayerNormXBackpropV2(%a4, %a4, %a5, %a5, %a3) : (tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x1xf32>, tensor<2x1xf32>, tensor<8xf32>) -> (tensor<2x8xf32>, tensor<2x8xf32>)
  // CHECK-NEXT: %layer_norm_grad:3 = ge.LayerNormGrad(%a4, %a4, %a5, %a5, %a3) : (tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x1xf32>, tensor<2x1xf32>, tensor<8xf32>) -> (tensor<2x8xf32>, tensor<8xf32>, tensor<8xf32>)
  %layer_norm_grad:3 = ge.LayerNormGrad(%a4, %a4, %a5, %a5, %a3) : (tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x1xf32>, tensor<2x1xf32>, tensor<8xf32>) -> (tensor<2x8xf32>, tensor<8xf32>, tensor<8xf32>)
  // CHECK-NEXT: %layer_norm_beta_gamma_backprop_v2:2 = ge.LayerNormBetaGammaBackpropV2(%a4, %a4) {shape_gamma = [8]} : (tensor<2x8xf32>, tensor<2x8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  %layer_norm_beta_gamma_backprop_v2:2 = ge.LayerNormBetaGammaBackpropV2(%a4, %a4) {shape_gamma = [8]} : (tensor<2x8xf32>, tensor<2x8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  // CHECK-NEXT: %mvn_v2 = ge.MVNV2(%a6) : (tensor<2x3x4x5xf32>) -> tensor<2x3x4x5xf32>
  %mvn_v2 = ge.MVNV2(%a6) : (tensor<2x3x4x5xf32>) -> tensor<2x3x4x5xf32>
  // CHECK-NEXT: %layer_norm_beta_gamma_backprop:2 = ge.LayerNormBetaGammaBackprop(%a4, %a4, %a5, %a5) {shape_gamma = [8]} : (tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x1xf32>, tensor<2x1xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  %layer_norm_beta_gamma_backprop:2 = ge.LayerNormBetaGammaBackprop(%a4, %a4, %a5, %a5) {shape_gamma = [8]} : (tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x1xf32>, tensor<2x1xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  // CHECK-NEXT: func.return
  func.return
}
