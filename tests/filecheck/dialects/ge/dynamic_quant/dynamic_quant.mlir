// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Dynamic quantisation.
// CHECK-LABEL: func.func @main
func.func @main(%a1: tensor<6x4xf32>, %a2: tensor<2x4xf32>, %a3: tensor<2xi32>, %a4: tensor<2x8xf32>, %a5: tensor<8xf32>, %a6: tensor<4xf32>, %a7: tensor<2x8xi32>) {
  // CHECK-NEXT: %group_quant = ge.GroupQuant(%a1, %a2, %a3) : (tensor<6x4xf32>, tensor<2x4xf32>, tensor<2xi32>) -> tensor<6x4xi8>
  %group_quant = ge.GroupQuant(%a1, %a2, %a3) : (tensor<6x4xf32>, tensor<2x4xf32>, tensor<2xi32>) -> tensor<6x4xi8>
  // CHECK-NEXT: %dynamic_quant:2 = ge.DynamicQuant(%a4, smooth_scales = %a5) : (tensor<2x8xf32>, tensor<8xf32>) -> (tensor<2x8xi8>, tensor<2xf32>)
  %dynamic_quant:2 = ge.DynamicQuant(%a4, smooth_scales = %a5) : (tensor<2x8xf32>, tensor<8xf32>) -> (tensor<2x8xi8>, tensor<2xf32>)
  // CHECK-NEXT: %dynamic_quant_v2:3 = ge.DynamicQuantV2(%a4, smooth_scales = %a5) : (tensor<2x8xf32>, tensor<8xf32>) -> (tensor<2x8xi8>, tensor<2xf32>, tensor<2xf32>)
  %dynamic_quant_v2:3 = ge.DynamicQuantV2(%a4, smooth_scales = %a5) : (tensor<2x8xf32>, tensor<8xf32>) -> (tensor<2x8xi8>, tensor<2xf32>, tensor<2xf32>)
  // CHECK-NEXT: %swi_glu_quant:2 = ge.SwiGluQuant(%a4, smooth_scales = %a6) : (tensor<2x8xf32>, tensor<4xf32>) -> (tensor<2x4xi8>, tensor<2xf32>)
  %swi_glu_quant:2 = ge.SwiGluQuant(%a4, smooth_scales = %a6) : (tensor<2x8xf32>, tensor<4xf32>) -> (tensor<2x4xi8>, tensor<2xf32>)
  // CHECK-NEXT: %dequant_swiglu_quant:2 = ge.DequantSwigluQuant(%a7) : (tensor<2x8xi32>) -> (tensor<2x4xi8>, tensor<2xf32>)
  %dequant_swiglu_quant:2 = ge.DequantSwigluQuant(%a7) : (tensor<2x8xi32>) -> (tensor<2x4xi8>, tensor<2xf32>)
  // CHECK-NEXT: func.return
  func.return
}
