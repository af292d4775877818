// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s
// RUN: ge-opt %s -p aicore-check | filecheck %s
// RUN: ge-run %s --random-inputs --level aicore

// A core's own block of the tensor, gone through in tiles; reads that do not stay in L2.

// CHECK-LABEL: aicore.kernel @blocks
aicore.kernel @blocks(%x : !aicore.tile<40x96xf16, gm>) writes (%y : !aicore.tile<40x96xf16, gm>) on vector * 4 {
  aicore.for (%gr : %vgr, %gc : %vgc) in [40, 96] by [20, 64] over cores {
    // CHECK: aicore.for (%r : %vr, %c : %vc) in [%vgr, %vgc] from [%gr, %gc] by [16, 32] {
    aicore.for (%r : %vr, %c : %vc) in [%vgr, %vgc] from [%gr, %gc] by [16, 32] {
      %t = aicore.alloc buffers 2 : !aicore.tile<16x32xf16, ub>
      // CHECK: aicore.copy_gm_ub %x[%r, %c], %t, [%vr, %vc] {l2_hint = bypass} :
      aicore.copy_gm_ub %x[%r, %c], %t, [%vr, %vc] {l2_hint = bypass} : !aicore.tile<40x96xf16, gm>, !aicore.tile<16x32xf16, ub>
      aicore.copy_ub_gm %t, %y[%r, %c], [%vr, %vc] : !aicore.tile<16x32xf16, ub>, !aicore.tile<40x96xf16, gm>
    }
  }
}

func.func @main(%x : tensor<40x96xf16>) -> tensor<40x96xf16> {
  %y = aicore.launch @blocks(%x) : (tensor<40x96xf16>) -> tensor<40x96xf16>
  func.return %y : tensor<40x96xf16>
}

// CHECK-LABEL: aicore.kernel @unit_flag
aicore.kernel @unit_flag() writes () on cube * 1 {
  %a = aicore.alloc : !aicore.tile<16x16xf16, l0a, zz>
  %b = aicore.alloc : !aicore.tile<16x16xf16, l0b, zn>
  %c = aicore.alloc : !aicore.tile<16x16xf32, l0c, nz>
  // CHECK: aicore.mmad %a, %b, %c, [16, 16, 16] {unit_flag} :
  aicore.mmad %a, %b, %c, [16, 16, 16] {unit_flag} : !aicore.tile<16x16xf16, l0a, zz>, !aicore.tile<16x16xf16, l0b, zn>, !aicore.tile<16x16xf32, l0c, nz>
}
