// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s | ge-opt - | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s
// RUN: ge-opt %s -p aicore-check | filecheck %s

// A product of two tiles with every kind of operand: windows, valid lengths, options, buffers.

// CHECK-LABEL: aicore.kernel @product(%a : !aicore.tile<64x40xf16, gm>, %b : !aicore.tile<40x64xf16, gm>)
// CHECK-SAME: writes (%y : !aicore.tile<64x64xf16, gm>) on cube * 2 {
aicore.kernel @product(%a : !aicore.tile<64x40xf16, gm>, %b : !aicore.tile<40x64xf16, gm>) writes (%y : !aicore.tile<64x64xf16, gm>) on cube * 2 {
  // CHECK-NEXT: aicore.for (%m : %vm, %n : %vn) in [64, 64] by [32, 64] over cores strips of 2 {
  aicore.for (%m : %vm, %n : %vn) in [64, 64] by [32, 64] over cores strips of 2 {
    // CHECK-NEXT: %c = aicore.alloc buffers 2 : !aicore.tile<32x64xf32, l0c, nz>
    %c = aicore.alloc buffers 2 : !aicore.tile<32x64xf32, l0c, nz>
    %a1 = aicore.alloc : !aicore.tile<32x48xf16, l1, nz>
    // CHECK: aicore.copy_gm_l1 %a[%m, 0], %a1, [%vm, 40] :
    aicore.copy_gm_l1 %a[%m, 0], %a1, [%vm, 40] : !aicore.tile<64x40xf16, gm>, !aicore.tile<32x48xf16, l1, nz>
    %b1 = aicore.alloc : !aicore.tile<48x64xf16, l1, nz>
    aicore.copy_gm_l1 %b[0, %n], %b1, [40, %vn] : !aicore.tile<40x64xf16, gm>, !aicore.tile<48x64xf16, l1, nz>
    // CHECK: aicore.for (%k : %vk) in [40] by [16] {
    aicore.for (%k : %vk) in [40] by [16] {
      %a0 = aicore.alloc buffers 2 : !aicore.tile<32x16xf16, l0a, zz>
      // CHECK: aicore.load_l0a %a1[0, %k], %a0, [%vm, %vk] :
      aicore.load_l0a %a1[0, %k], %a0, [%vm, %vk] : !aicore.tile<32x48xf16, l1, nz>, !aicore.tile<32x16xf16, l0a, zz>
      %b0 = aicore.alloc buffers 2 : !aicore.tile<16x64xf16, l0b, zn>
      aicore.load_l0b %b1[%k, 0], %b0, [%vk, %vn] : !aicore.tile<48x64xf16, l1, nz>, !aicore.tile<16x64xf16, l0b, zn>
      // CHECK: aicore.mmad %a0, %b0, %c, [%vm, %vn, %vk] at (%k) {init = zero} :
      aicore.mmad %a0, %b0, %c, [%vm, %vn, %vk] at (%k) {init = zero} : !aicore.tile<32x16xf16, l0a, zz>, !aicore.tile<16x64xf16, l0b, zn>, !aicore.tile<32x64xf32, l0c, nz>
    }
    // CHECK: aicore.fixpipe %c, %y[%m, %n], [%vm, %vn] {relu} : !aicore.tile<32x64xf32, l0c, nz>, !aicore.tile<64x64xf16, gm>
    aicore.fixpipe %c, %y[%m, %n], [%vm, %vn] {relu} : !aicore.tile<32x64xf32, l0c, nz>, !aicore.tile<64x64xf16, gm>
  }
}

// CHECK-LABEL: func.func @main
func.func @main(%x : tensor<64x40xf16>, %w : tensor<40x64xf16>) -> tensor<64x64xf16> {
  // CHECK: %y = aicore.launch @product(%x, %w) for ["fc", "relu"] : (tensor<64x40xf16>, tensor<40x64xf16>) -> tensor<64x64xf16>
  %y = aicore.launch @product(%x, %w) for ["fc", "relu"] : (tensor<64x40xf16>, tensor<40x64xf16>) -> tensor<64x64xf16>
  func.return %y : tensor<64x64xf16>
}
