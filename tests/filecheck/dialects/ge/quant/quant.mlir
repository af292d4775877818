// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Quantisation.
// CHECK-LABEL: func.func @main
func.func @main(%a1: tensor<2x3xf32>, %a2: tensor<2x3x4xf32>, %a3: tensor<4xf32>, %a4: tensor<2x3xi32>, %a5: tensor<3xf32>, %a6: tensor<1xui64>, %a7: tensor<2x3xi8>, %a8: tensor<3xi8>, %a9: tensor<f32>) {
  // CHECK-NEXT: %ascend_quant = ge.AscendQuant(%a1) {scale = 0.5, offset = 0.0} : (tensor<2x3xf32>) -> tensor<2x3xi8>
  %ascend_quant = ge.AscendQuant(%a1) {scale = 0.5, offset = 0.0} : (tensor<2x3xf32>) -> tensor<2x3xi8>
  // CHECK-NEXT: %ascend_quant_v2 = ge.AscendQuantV2(%a2, %a3, offset = %a3) {dst_type = 29} : (tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x3x4xi4>
  %ascend_quant_v2 = ge.AscendQuantV2(%a2, %a3, offset = %a3) {dst_type = 29} : (tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x3x4xi4>
  // CHECK-NEXT: %ascend_dequant = ge.AscendDequant(%a4, %a5) : (tensor<2x3xi32>, tensor<3xf32>) -> tensor<2x3xf32>
  %ascend_dequant = ge.AscendDequant(%a4, %a5) : (tensor<2x3xi32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %ascend_requant = ge.AscendRequant(%a4, %a6) : (tensor<2x3xi32>, tensor<1xui64>) -> tensor<2x3xi8>
  %ascend_requant = ge.AscendRequant(%a4, %a6) : (tensor<2x3xi32>, tensor<1xui64>) -> tensor<2x3xi8>
  // CHECK-NEXT: %ascend_dequant_s16 = ge.AscendDequantS16(%a4, %a6) : (tensor<2x3xi32>, tensor<1xui64>) -> tensor<2x3xi16>
  %ascend_dequant_s16 = ge.AscendDequantS16(%a4, %a6) : (tensor<2x3xi32>, tensor<1xui64>) -> tensor<2x3xi16>
  // CHECK-NEXT: %ascend_anti_quant = ge.AscendAntiQuant(%a7) {scale = 0.5, offset = 0.0} : (tensor<2x3xi8>) -> tensor<2x3xf32>
  %ascend_anti_quant = ge.AscendAntiQuant(%a7) {scale = 0.5, offset = 0.0} : (tensor<2x3xi8>) -> tensor<2x3xf32>
  // CHECK-NEXT: %ascend_anti_quant_v2 = ge.AscendAntiQuantV2(%a7, %a5) : (tensor<2x3xi8>, tensor<3xf32>) -> tensor<2x3xf16>
  %ascend_anti_quant_v2 = ge.AscendAntiQuantV2(%a7, %a5) : (tensor<2x3xi8>, tensor<3xf32>) -> tensor<2x3xf16>
  // CHECK-NEXT: %ascend_weight_quant = ge.AscendWeightQuant(%a7, %a8) : (tensor<2x3xi8>, tensor<3xi8>) -> tensor<2x3xi8>
  %ascend_weight_quant = ge.AscendWeightQuant(%a7, %a8) : (tensor<2x3xi8>, tensor<3xi8>) -> tensor<2x3xi8>
  // CHECK-NEXT: %quantize = ge.Quantize(%a1, %a5) {dtype = "torch.qint8"} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi8>
  %quantize = ge.Quantize(%a1, %a5) {dtype = "torch.qint8"} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi8>
  // CHECK-NEXT: %dequantize = ge.Dequantize(%a7, %a9, %a9) : (tensor<2x3xi8>, tensor<f32>, tensor<f32>) -> tensor<2x3xf32>
  %dequantize = ge.Dequantize(%a7, %a9, %a9) : (tensor<2x3xi8>, tensor<f32>, tensor<f32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %trans_quant_param_v2 = ge.TransQuantParamV2(%a5) : (tensor<3xf32>) -> tensor<3xui64>
  %trans_quant_param_v2 = ge.TransQuantParamV2(%a5) : (tensor<3xf32>) -> tensor<3xui64>
  // CHECK-NEXT: %dequant_bias = ge.DequantBias(%a4, %a5) {output_dtype = 1} : (tensor<2x3xi32>, tensor<3xf32>) -> tensor<2x3xf16>
  %dequant_bias = ge.DequantBias(%a4, %a5) {output_dtype = 1} : (tensor<2x3xi32>, tensor<3xf32>) -> tensor<2x3xf16>
  // CHECK-NEXT: func.return
  func.return
}
