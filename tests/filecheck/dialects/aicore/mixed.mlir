// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s | ge-opt - | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// A mixed kernel: the cube cores hand tiles to the vector cores through a workspace.

// CHECK-LABEL: aicore.kernel @mix(%x : !aicore.tile<64x64xf16, gm>, %w : !aicore.tile<64x64xf16, gm>) writes (%y : !aicore.tile<64x64xf16, gm>) on mix * 2 {
// CHECK-NEXT: %ws = aicore.workspace buffers 2 : !aicore.tile<32x64xf32, gm>
// CHECK-NEXT: aicore.section cube {
// CHECK-NEXT: aicore.for (%m : %vm) in [64] by [32] over cores {
// CHECK-NEXT: %a1 = aicore.alloc at 1024 : !aicore.tile<32x64xf16, l1, nz>
// CHECK-NEXT: aicore.copy_gm_l1 %x[%m, 0], %a1, [%vm, 64] : !aicore.tile<64x64xf16, gm>, !aicore.tile<32x64xf16, l1, nz>
// CHECK-NEXT: %b1 = aicore.alloc : !aicore.tile<64x64xf16, l1, nz>
// CHECK-NEXT: aicore.copy_gm_l1 %w[0, 0], %b1, [64, 64] : !aicore.tile<64x64xf16, gm>, !aicore.tile<64x64xf16, l1, nz>
// CHECK-NEXT: %a0 = aicore.alloc : !aicore.tile<32x64xf16, l0a, zz>
// CHECK-NEXT: aicore.load_l0a %a1[0, 0], %a0, [%vm, 64] : !aicore.tile<32x64xf16, l1, nz>, !aicore.tile<32x64xf16, l0a, zz>
// CHECK-NEXT: %b0 = aicore.alloc : !aicore.tile<64x64xf16, l0b, zn>
// CHECK-NEXT: aicore.load_l0b %b1[0, 0], %b0, [64, 64] : !aicore.tile<64x64xf16, l1, nz>, !aicore.tile<64x64xf16, l0b, zn>
// CHECK-NEXT: %c = aicore.alloc : !aicore.tile<32x64xf32, l0c, nz>
// CHECK-NEXT: aicore.mmad %a0, %b0, %c, [%vm, 64, 64] : !aicore.tile<32x64xf16, l0a, zz>, !aicore.tile<64x64xf16, l0b, zn>, !aicore.tile<32x64xf32, l0c, nz>
// CHECK-NEXT: %s = aicore.take %ws : !aicore.tile<32x64xf32, gm>
// CHECK-NEXT: aicore.fixpipe %c, %s[0, 0], [%vm, 64] : !aicore.tile<32x64xf32, l0c, nz>, !aicore.tile<32x64xf32, gm>
// CHECK-NEXT: aicore.cross_set FIX, 0 of 2
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: aicore.section vector {
// CHECK-NEXT: aicore.for (%m_1 : %vm_1) in [64] by [32] over cores {
// CHECK-NEXT: %s_1 = aicore.take %ws : !aicore.tile<32x64xf32, gm>
// CHECK-NEXT: aicore.cross_wait MTE2, 0 of 2
// CHECK-NEXT: aicore.for (%r : %vr) in [%vm_1] by [16] over subcores {
// CHECK-NEXT: %t = aicore.alloc : !aicore.tile<16x64xf32, ub>
// CHECK-NEXT: aicore.copy_gm_ub %s_1[%r, 0], %t, [%vr, 64] : !aicore.tile<32x64xf32, gm>, !aicore.tile<16x64xf32, ub>
// CHECK-NEXT: aicore.vunary %t, %t, [%vr, 64] {kind = relu} : !aicore.tile<16x64xf32, ub>, !aicore.tile<16x64xf32, ub>
// CHECK-NEXT: %h = aicore.alloc : !aicore.tile<16x64xf16, ub>
// CHECK-NEXT: aicore.vcast %t, %h, [%vr, 64] : !aicore.tile<16x64xf32, ub>, !aicore.tile<16x64xf16, ub>
// CHECK-NEXT: %row = aicore.affine %m_1 + %r : index
// CHECK-NEXT: aicore.copy_ub_gm %h, %y[%row, 0], [%vr, 64] : !aicore.tile<16x64xf16, ub>, !aicore.tile<64x64xf16, gm>
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: }
aicore.kernel @mix(%x : !aicore.tile<64x64xf16, gm>, %w : !aicore.tile<64x64xf16, gm>) writes (%y : !aicore.tile<64x64xf16, gm>) on mix * 2 {
  %ws = aicore.workspace buffers 2 : !aicore.tile<32x64xf32, gm>
  aicore.section cube {
    aicore.for (%m : %vm) in [64] by [32] over cores {
      %a1 = aicore.alloc at 1024 : !aicore.tile<32x64xf16, l1, nz>
      aicore.copy_gm_l1 %x[%m, 0], %a1, [%vm, 64] : !aicore.tile<64x64xf16, gm>, !aicore.tile<32x64xf16, l1, nz>
      %b1 = aicore.alloc : !aicore.tile<64x64xf16, l1, nz>
      aicore.copy_gm_l1 %w[0, 0], %b1, [64, 64] : !aicore.tile<64x64xf16, gm>, !aicore.tile<64x64xf16, l1, nz>
      %a0 = aicore.alloc : !aicore.tile<32x64xf16, l0a, zz>
      aicore.load_l0a %a1[0, 0], %a0, [%vm, 64] : !aicore.tile<32x64xf16, l1, nz>, !aicore.tile<32x64xf16, l0a, zz>
      %b0 = aicore.alloc : !aicore.tile<64x64xf16, l0b, zn>
      aicore.load_l0b %b1[0, 0], %b0, [64, 64] : !aicore.tile<64x64xf16, l1, nz>, !aicore.tile<64x64xf16, l0b, zn>
      %c = aicore.alloc : !aicore.tile<32x64xf32, l0c, nz>
      aicore.mmad %a0, %b0, %c, [%vm, 64, 64] : !aicore.tile<32x64xf16, l0a, zz>, !aicore.tile<64x64xf16, l0b, zn>, !aicore.tile<32x64xf32, l0c, nz>
      %s = aicore.take %ws : !aicore.tile<32x64xf32, gm>
      aicore.fixpipe %c, %s[0, 0], [%vm, 64] : !aicore.tile<32x64xf32, l0c, nz>, !aicore.tile<32x64xf32, gm>
      aicore.cross_set FIX, 0 of 2
    }
  }
  aicore.section vector {
    aicore.for (%m_1 : %vm_1) in [64] by [32] over cores {
      %s_1 = aicore.take %ws : !aicore.tile<32x64xf32, gm>
      aicore.cross_wait MTE2, 0 of 2
      aicore.for (%r : %vr) in [%vm_1] by [16] over subcores {
        %t = aicore.alloc : !aicore.tile<16x64xf32, ub>
        aicore.copy_gm_ub %s_1[%r, 0], %t, [%vr, 64] : !aicore.tile<32x64xf32, gm>, !aicore.tile<16x64xf32, ub>
        aicore.vunary %t, %t, [%vr, 64] {kind = relu} : !aicore.tile<16x64xf32, ub>, !aicore.tile<16x64xf32, ub>
        %h = aicore.alloc : !aicore.tile<16x64xf16, ub>
        aicore.vcast %t, %h, [%vr, 64] : !aicore.tile<16x64xf32, ub>, !aicore.tile<16x64xf16, ub>
        %row = aicore.affine %m_1 + %r : index
        aicore.copy_ub_gm %h, %y[%row, 0], [%vr, 64] : !aicore.tile<16x64xf16, ub>, !aicore.tile<64x64xf16, gm>
      }
    }
  }
}

// CHECK-LABEL: aicore.kernel @indices
aicore.kernel @indices(%x : !aicore.tile<4x64xf16, gm>) writes (%y : !aicore.tile<4x64xf16, gm>) on mix * 2 {
  aicore.section cube {
    // CHECK: aicore.cross_set FIX, 3 mode 0
    aicore.cross_set FIX, 3 mode 0
    // CHECK-NEXT: aicore.cross_wait MTE2, 3 mode 0
    aicore.cross_wait MTE2, 3 mode 0
    // CHECK-NEXT: aicore.sync_all all
    aicore.sync_all all
  }
  aicore.section vector {
    // CHECK: %b = aicore.block_idx : index
    %b = aicore.block_idx : index
    // CHECK-NEXT: %h = aicore.sub_block_idx : index
    %h = aicore.sub_block_idx : index
    // CHECK-NEXT: %r = aicore.affine 2 * %b + %h + 3 : index
    %r = aicore.affine 2 * %b + %h + 3 : index
    // CHECK-NEXT: %e = aicore.bound %r by 16 in [0, 64] : index
    %e = aicore.bound %r by 16 in [0, 64] : index
    // CHECK-NEXT: %f = aicore.bound %r in [2, 5] : index
    %f = aicore.bound %r in [2, 5] : index
    // CHECK-NEXT: aicore.cross_set MTE3, 1 of 2 mode 1
    aicore.cross_set MTE3, 1 of 2 mode 1
    aicore.cross_wait MTE2, 1 of 2 mode 1
    aicore.sync_all all
  }
}

// CHECK-LABEL: aicore.kernel @order
aicore.kernel @order(%x : !aicore.tile<4x64xf16, gm>) writes (%y : !aicore.tile<4x64xf16, gm>) on vector * 2 {
  // CHECK: %t = aicore.strided %x, 64, [1, 1] : !aicore.tile<4x64xf16, gm>, !aicore.tile<2x8xf16, gm>
  %t = aicore.strided %x, 64, [1, 1] : !aicore.tile<4x64xf16, gm>, !aicore.tile<2x8xf16, gm>
  // CHECK-NEXT: aicore.set_flag MTE2 -> V, 0 of 2
  aicore.set_flag MTE2 -> V, 0 of 2
  // CHECK-NEXT: aicore.wait_flag MTE2 -> V, 0 of 2
  aicore.wait_flag MTE2 -> V, 0 of 2
  // CHECK-NEXT: aicore.pipe_barrier ALL
  aicore.pipe_barrier ALL
}

// CHECK-LABEL: func.func @main
func.func @main(%x : tensor<2x3xf16>) -> tensor<6xf16> {
  // CHECK-NEXT: %y = aicore.view %x for ["reshape"] : (tensor<2x3xf16>) -> tensor<6xf16>
  %y = aicore.view %x for ["reshape"] : (tensor<2x3xf16>) -> tensor<6xf16>
  func.return %y : tensor<6xf16>
}
