// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Quantised matrix products.
// CHECK-LABEL: func.func @main
func.func @main(%a1: tensor<2x8xi8>, %a2: tensor<8x5xi8>, %a3: tensor<5xf32>, %a4: tensor<5xi32>, %a5: tensor<2xf32>, %a6: tensor<2x64xf16>, %a7: tensor<64x5xi8>, %a8: tensor<5xf16>) {
  // CHECK-NEXT: %quant_batch_matmul_v3 = ge.QuantBatchMatmulV3(%a1, %a2, %a3, bias = %a4, pertoken_scale = %a5) {dtype = 0} : (tensor<2x8xi8>, tensor<8x5xi8>, tensor<5xf32>, tensor<5xi32>, tensor<2xf32>) -> tensor<2x5xf32>
  %quant_batch_matmul_v3 = ge.QuantBatchMatmulV3(%a1, %a2, %a3, bias = %a4, pertoken_scale = %a5) {dtype = 0} : (tensor<2x8xi8>, tensor<8x5xi8>, tensor<5xf32>, tensor<5xi32>, tensor<2xf32>) -> tensor<2x5xf32>
  // CHECK-NEXT: %weight_quant_batch_matmul_v2 = ge.WeightQuantBatchMatmulV2(%a6, %a7, %a8) : (tensor<2x64xf16>, tensor<64x5xi8>, tensor<5xf16>) -> tensor<2x5xf16>
  %weight_quant_batch_matmul_v2 = ge.WeightQuantBatchMatmulV2(%a6, %a7, %a8) : (tensor<2x64xf16>, tensor<64x5xi8>, tensor<5xf16>) -> tensor<2x5xf16>
  // CHECK-NEXT: func.return
  func.return
}
