// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Bit operations, packing and reinterpretation.
// CHECK-LABEL: func.func @main
func.func @main(%a0: tensor<2x?xi32>, %a1: tensor<3xi32>, %a2: tensor<*xi32>, %a3: tensor<16xf32>, %a4: tensor<?xui8>, %a5: tensor<f32>) {
  // CHECK-NEXT: %bitwise_and = ge.BitwiseAnd(%a0, %a1) : (tensor<2x?xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  %bitwise_and = ge.BitwiseAnd(%a0, %a1) : (tensor<2x?xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  // CHECK-NEXT: %bitwise_or = ge.BitwiseOr(%a0, %a1) : (tensor<2x?xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  %bitwise_or = ge.BitwiseOr(%a0, %a1) : (tensor<2x?xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  // CHECK-NEXT: %bitwise_xor = ge.BitwiseXor(%a2, %a1) : (tensor<*xi32>, tensor<3xi32>) -> tensor<*xi32>
  %bitwise_xor = ge.BitwiseXor(%a2, %a1) : (tensor<*xi32>, tensor<3xi32>) -> tensor<*xi32>
  // CHECK-NEXT: %bitwise_not = ge.BitwiseNot(%a0) : (tensor<2x?xi32>) -> tensor<2x?xi32>
  %bitwise_not = ge.BitwiseNot(%a0) : (tensor<2x?xi32>) -> tensor<2x?xi32>
  // CHECK-NEXT: %invert = ge.Invert(%a0) : (tensor<2x?xi32>) -> tensor<2x?xi32>
  %invert = ge.Invert(%a0) : (tensor<2x?xi32>) -> tensor<2x?xi32>
  // CHECK-NEXT: %invert_v2 = ge.InvertV2(%a1) : (tensor<3xi32>) -> tensor<3xi32>
  %invert_v2 = ge.InvertV2(%a1) : (tensor<3xi32>) -> tensor<3xi32>
  // CHECK-NEXT: %left_shift = ge.LeftShift(%a0, %a1) : (tensor<2x?xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  %left_shift = ge.LeftShift(%a0, %a1) : (tensor<2x?xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  // CHECK-NEXT: %right_shift = ge.RightShift(%a0, %a1) : (tensor<2x?xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  %right_shift = ge.RightShift(%a0, %a1) : (tensor<2x?xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  // CHECK-NEXT: %population_count = ge.PopulationCount(%a0) : (tensor<2x?xi32>) -> tensor<2x?xui8>
  %population_count = ge.PopulationCount(%a0) : (tensor<2x?xi32>) -> tensor<2x?xui8>
  // CHECK-NEXT: %signbit = ge.Signbit(%a3) : (tensor<16xf32>) -> tensor<16xi1>
  %signbit = ge.Signbit(%a3) : (tensor<16xf32>) -> tensor<16xi1>
  // CHECK-NEXT: %sign_bits_pack = ge.SignBitsPack(%a3) {size = 2} : (tensor<16xf32>) -> tensor<2x1xui8>
  %sign_bits_pack = ge.SignBitsPack(%a3) {size = 2} : (tensor<16xf32>) -> tensor<2x1xui8>
  // CHECK-NEXT: %sign_bits_unpack = ge.SignBitsUnpack(%a4) {size = 2, dtype = DT_FLOAT} : (tensor<?xui8>) -> tensor<2x?xf32>
  %sign_bits_unpack = ge.SignBitsUnpack(%a4) {size = 2, dtype = DT_FLOAT} : (tensor<?xui8>) -> tensor<2x?xf32>
  // CHECK-NEXT: %compare_and_bitpack = ge.CompareAndBitpack(%a3, %a5) : (tensor<16xf32>, tensor<f32>) -> tensor<2xui8>
  %compare_and_bitpack = ge.CompareAndBitpack(%a3, %a5) : (tensor<16xf32>, tensor<f32>) -> tensor<2xui8>
  // CHECK-NEXT: %bitcast = ge.Bitcast(%a3) {type = DT_INT8} : (tensor<16xf32>) -> tensor<16x4xi8>
  %bitcast = ge.Bitcast(%a3) {type = DT_INT8} : (tensor<16xf32>) -> tensor<16x4xi8>
  func.return
}
