// RUN: ge-opt %s --split-input-file --verify-diagnostics -p aicore-check

// What a chip and the order between pipes and cores ask for, broken once.

// RULE check_kernel K7
aicore.kernel @k() writes (%y : !aicore.tile<64x64xf16, gm>) on vector * 1 {
  // expected-error @+1 {{aicore.for in @k: runs 1000000000000 tiles, expected at most 16777216}}
  aicore.for (%r : %vr) in [1000000000000] by [1] over cores {
  }
}

// -----

// RULE check_kernel K7
aicore.kernel @k() writes (%y : !aicore.tile<64x64xf16, gm>) on vector * 1 {
  aicore.for (%r : %vr) in [65536] by [1] over cores {
    aicore.for (%q : %vq) in [65536] by [16] {
      // expected-error @+1 {{runs 33554432 iterations per tile, expected at most 16777216}}
      aicore.for (%s : %vs) in [65536] by [8] {
      }
    }
  }
}

// -----

// RULE check_kernel K1
// expected-error @+1 {{runs on 49 vector cores, expected at most 48}}
aicore.kernel @k(%x : !aicore.tile<64x64xf16, gm>) writes (%y : !aicore.tile<64x64xf16, gm>) on vector * 49 synced {
  aicore.set_flag MTE3 -> MTE2, 0
  aicore.for (%r : %vr) in [64] by [16] over cores {
    %t = aicore.alloc : !aicore.tile<16x64xf16, ub>
    aicore.wait_flag MTE3 -> MTE2, 0
    aicore.copy_gm_ub %x[%r, 0], %t, [%vr, 64] : !aicore.tile<64x64xf16, gm>, !aicore.tile<16x64xf16, ub>
    aicore.set_flag MTE2 -> V, 0
    aicore.wait_flag MTE2 -> V, 0
    aicore.vunary %t, %t, [%vr, 64] {kind = relu} : !aicore.tile<16x64xf16, ub>, !aicore.tile<16x64xf16, ub>
    aicore.set_flag V -> MTE3, 0
    aicore.wait_flag V -> MTE3, 0
    aicore.copy_ub_gm %t, %y[%r, 0], [%vr, 64] : !aicore.tile<16x64xf16, ub>, !aicore.tile<64x64xf16, gm>
    aicore.set_flag MTE3 -> MTE2, 0
  }
  aicore.wait_flag MTE3 -> MTE2, 0
}

// -----

// RULE check_kernel K2
aicore.kernel @k(%x : !aicore.tile<64x64xf16, gm>) writes (%y : !aicore.tile<64x64xf16, gm>) on cube * 2 synced {
  aicore.set_flag MTE3 -> MTE2, 0
  aicore.for (%r : %vr) in [64] by [16] over cores {
    %t = aicore.alloc : !aicore.tile<16x64xf16, ub>
    aicore.wait_flag MTE3 -> MTE2, 0
    aicore.copy_gm_ub %x[%r, 0], %t, [%vr, 64] : !aicore.tile<64x64xf16, gm>, !aicore.tile<16x64xf16, ub>
    aicore.set_flag MTE2 -> V, 0
    aicore.wait_flag MTE2 -> V, 0
// expected-error @+1 {{runs on pipe V, expected one of a cube core}}
    aicore.vunary %t, %t, [%vr, 64] {kind = relu} : !aicore.tile<16x64xf16, ub>, !aicore.tile<16x64xf16, ub>
    aicore.set_flag V -> MTE3, 0
    aicore.wait_flag V -> MTE3, 0
    aicore.copy_ub_gm %t, %y[%r, 0], [%vr, 64] : !aicore.tile<16x64xf16, ub>, !aicore.tile<64x64xf16, gm>
    aicore.set_flag MTE3 -> MTE2, 0
  }
  aicore.wait_flag MTE3 -> MTE2, 0
}

// -----

// RULE check_kernel K3
aicore.kernel @k(%x : !aicore.tile<64x64xf16, gm>) writes (%y : !aicore.tile<64x64xf16, gm>) on vector * 2 {
  aicore.for (%r : %vr) in [64] by [16] over cores {
    %t = aicore.alloc : !aicore.tile<16x64xf16, ub>
    %l = aicore.alloc : !aicore.tile<16x64xf16, l1, nz>
// expected-error @+1 {{is of arch 100 and 200 and 3510, expected one that Ascend910B1 (arch 2201) has}}
    aicore.copy_ub_l1 %t[0, 0], %l, [16, 64] : !aicore.tile<16x64xf16, ub>, !aicore.tile<16x64xf16, l1, nz>
  }
}

// -----

// RULE check_kernel K3
aicore.kernel @k(%x : !aicore.tile<64x64xf16, gm>) writes (%y : !aicore.tile<64x64xf16, gm>) on cube * 2 {
  aicore.for (%r : %vr) in [64] by [16] over cores {
    %c = aicore.alloc : !aicore.tile<16x64xf32, l0c, nz>
    %t = aicore.alloc : !aicore.tile<16x64xf16, ub>
// expected-error @+1 {{to ub is of arch 3510, expected one that Ascend910B1 (arch 2201) has}}
    aicore.fixpipe %c, %t[0, 0], [16, 64] : !aicore.tile<16x64xf32, l0c, nz>, !aicore.tile<16x64xf16, ub>
  }
}

// -----

// RULE check_kernel K4
aicore.kernel @k(%x : !aicore.tile<64x64xf16, gm>) writes (%y : !aicore.tile<64x64xf16, gm>) on cube * 2 {
  aicore.for (%r : %vr) in [64] by [16] over cores {
    %l = aicore.alloc : !aicore.tile<16x64xf16, l1, nz>
// expected-error @+1 {{l0a is in layout nz, expected zz on Ascend910B1}}
    %a = aicore.alloc : !aicore.tile<16x64xf16, l0a, nz>
    aicore.load_l0a %l[0, 0], %a, [16, 64] : !aicore.tile<16x64xf16, l1, nz>, !aicore.tile<16x64xf16, l0a, nz>
  }
}

// -----

// RULE check_kernel K5
// expected-error @+1 {{takes 204800 bytes of ub (t 204800), expected at most 188416 on Ascend910B1}}
aicore.kernel @k(%x : !aicore.tile<64x64xf16, gm>) writes (%y : !aicore.tile<64x64xf16, gm>) on vector * 2 synced {
  aicore.set_flag MTE3 -> MTE2, 0
  aicore.for (%r : %vr) in [64] by [16] over cores {
    %t = aicore.alloc : !aicore.tile<16x6400xf16, ub>
    aicore.wait_flag MTE3 -> MTE2, 0
    aicore.copy_gm_ub %x[%r, 0], %t, [%vr, 64] : !aicore.tile<64x64xf16, gm>, !aicore.tile<16x6400xf16, ub>
    aicore.set_flag MTE2 -> V, 0
    aicore.wait_flag MTE2 -> V, 0
    aicore.vunary %t, %t, [%vr, 64] {kind = relu} : !aicore.tile<16x6400xf16, ub>, !aicore.tile<16x6400xf16, ub>
    aicore.set_flag V -> MTE3, 0
    aicore.wait_flag V -> MTE3, 0
    aicore.copy_ub_gm %t, %y[%r, 0], [%vr, 64] : !aicore.tile<16x6400xf16, ub>, !aicore.tile<64x64xf16, gm>
    aicore.set_flag MTE3 -> MTE2, 0
  }
  aicore.wait_flag MTE3 -> MTE2, 0
}

// -----

// RULE check_kernel K6
aicore.kernel @k(%x : !aicore.tile<64x64xf16, gm>) writes (%y : !aicore.tile<64x64xf16, gm>) on vector * 2 synced {
  aicore.for (%r : %vr) in [64] by [16] over cores {
    %t = aicore.alloc : !aicore.tile<16x64xf16, ub>
    aicore.copy_gm_ub %x[%r, 0], %t, [%vr, 64] : !aicore.tile<64x64xf16, gm>, !aicore.tile<16x64xf16, ub>
// expected-error @+1 {{aicore.copy_ub_gm on MTE3 reads 't' while aicore.copy_gm_ub on MTE2 may still be at it (writes), expected a flag between them}}
    aicore.copy_ub_gm %t, %y[%r, 0], [%vr, 64] : !aicore.tile<16x64xf16, ub>, !aicore.tile<64x64xf16, gm>
  }
}

// -----

// RULE check_order O1
aicore.kernel @k(%x : !aicore.tile<64x64xf16, gm>) writes (%y : !aicore.tile<64x64xf16, gm>) on vector * 2 synced {
  aicore.set_flag MTE3 -> MTE2, 0
  aicore.for (%r : %vr) in [64] by [16] over cores {
    %t = aicore.alloc : !aicore.tile<16x64xf16, ub>
    aicore.wait_flag MTE3 -> MTE2, 0
    aicore.copy_gm_ub %x[%r, 0], %t, [%vr, 64] : !aicore.tile<64x64xf16, gm>, !aicore.tile<16x64xf16, ub>
// expected-error @+1 {{aicore.vunary on V reads 't' while aicore.copy_gm_ub on MTE2 may still be at it (writes), expected a flag between them}}
    aicore.vunary %t, %t, [%vr, 64] {kind = relu} : !aicore.tile<16x64xf16, ub>, !aicore.tile<16x64xf16, ub>
    aicore.set_flag V -> MTE3, 0
    aicore.wait_flag V -> MTE3, 0
    aicore.copy_ub_gm %t, %y[%r, 0], [%vr, 64] : !aicore.tile<16x64xf16, ub>, !aicore.tile<64x64xf16, gm>
    aicore.set_flag MTE3 -> MTE2, 0
  }
  aicore.wait_flag MTE3 -> MTE2, 0
}

// -----

// RULE check_order O2
aicore.kernel @k(%x : !aicore.tile<64x64xf16, gm>) writes (%y : !aicore.tile<64x64xf16, gm>) on vector * 2 synced {
  aicore.set_flag MTE3 -> MTE2, 0
  aicore.for (%r : %vr) in [64] by [16] over cores {
    %t = aicore.alloc : !aicore.tile<16x64xf16, ub>
    aicore.wait_flag MTE3 -> MTE2, 0
    aicore.copy_gm_ub %x[%r, 0], %t, [%vr, 64] : !aicore.tile<64x64xf16, gm>, !aicore.tile<16x64xf16, ub>
// expected-error @+1 {{aicore.copy_gm_ub on MTE2 writes 't' while aicore.copy_gm_ub on MTE2 may still be at it (writes), expected a barrier between them}}
    aicore.copy_gm_ub %x[%r, 0], %t, [%vr, 64] : !aicore.tile<64x64xf16, gm>, !aicore.tile<16x64xf16, ub>
    aicore.set_flag MTE2 -> V, 0
    aicore.wait_flag MTE2 -> V, 0
    aicore.vunary %t, %t, [%vr, 64] {kind = relu} : !aicore.tile<16x64xf16, ub>, !aicore.tile<16x64xf16, ub>
    aicore.set_flag V -> MTE3, 0
    aicore.wait_flag V -> MTE3, 0
    aicore.copy_ub_gm %t, %y[%r, 0], [%vr, 64] : !aicore.tile<16x64xf16, ub>, !aicore.tile<64x64xf16, gm>
    aicore.set_flag MTE3 -> MTE2, 0
  }
  aicore.wait_flag MTE3 -> MTE2, 0
}

// -----

// RULE check_order O3
// expected-error @+1 {{flag MTE2 -> V, 0 may be set again before it is waited for, expected sets and waits in turn}}
aicore.kernel @k(%x : !aicore.tile<64x64xf16, gm>) writes (%y : !aicore.tile<64x64xf16, gm>) on vector * 2 synced {
  aicore.set_flag MTE3 -> MTE2, 0
  aicore.for (%r : %vr) in [64] by [16] over cores {
    %t = aicore.alloc : !aicore.tile<16x64xf16, ub>
    aicore.wait_flag MTE3 -> MTE2, 0
    aicore.copy_gm_ub %x[%r, 0], %t, [%vr, 64] : !aicore.tile<64x64xf16, gm>, !aicore.tile<16x64xf16, ub>
    aicore.set_flag MTE2 -> V, 0
    aicore.set_flag MTE2 -> V, 0
    aicore.wait_flag MTE2 -> V, 0
    aicore.vunary %t, %t, [%vr, 64] {kind = relu} : !aicore.tile<16x64xf16, ub>, !aicore.tile<16x64xf16, ub>
    aicore.set_flag V -> MTE3, 0
    aicore.wait_flag V -> MTE3, 0
    aicore.copy_ub_gm %t, %y[%r, 0], [%vr, 64] : !aicore.tile<16x64xf16, ub>, !aicore.tile<64x64xf16, gm>
    aicore.set_flag MTE3 -> MTE2, 0
  }
  aicore.wait_flag MTE3 -> MTE2, 0
}

// -----

// RULE check_order O4
// expected-error @+1 {{flag MTE3 -> MTE2, 0 is waited for but not set, expected sets and waits in turn}}
aicore.kernel @k(%x : !aicore.tile<64x64xf16, gm>) writes (%y : !aicore.tile<64x64xf16, gm>) on vector * 2 synced {
  aicore.for (%r : %vr) in [64] by [16] over cores {
    %t = aicore.alloc : !aicore.tile<16x64xf16, ub>
    aicore.wait_flag MTE3 -> MTE2, 0
    aicore.copy_gm_ub %x[%r, 0], %t, [%vr, 64] : !aicore.tile<64x64xf16, gm>, !aicore.tile<16x64xf16, ub>
    aicore.set_flag MTE2 -> V, 0
    aicore.wait_flag MTE2 -> V, 0
    aicore.vunary %t, %t, [%vr, 64] {kind = relu} : !aicore.tile<16x64xf16, ub>, !aicore.tile<16x64xf16, ub>
    aicore.set_flag V -> MTE3, 0
    aicore.wait_flag V -> MTE3, 0
    aicore.copy_ub_gm %t, %y[%r, 0], [%vr, 64] : !aicore.tile<16x64xf16, ub>, !aicore.tile<64x64xf16, gm>
    aicore.set_flag MTE3 -> MTE2, 0
  }
  aicore.wait_flag MTE3 -> MTE2, 0
}

// -----

// RULE check_order O5
// expected-error @+1 {{flag MTE3 -> MTE2, 0 is set but not waited for, expected a wait}}
aicore.kernel @k(%x : !aicore.tile<64x64xf16, gm>) writes (%y : !aicore.tile<64x64xf16, gm>) on vector * 2 synced {
  aicore.set_flag MTE3 -> MTE2, 0
  aicore.for (%r : %vr) in [64] by [16] over cores {
    %t = aicore.alloc : !aicore.tile<16x64xf16, ub>
    aicore.wait_flag MTE3 -> MTE2, 0
    aicore.copy_gm_ub %x[%r, 0], %t, [%vr, 64] : !aicore.tile<64x64xf16, gm>, !aicore.tile<16x64xf16, ub>
    aicore.set_flag MTE2 -> V, 0
    aicore.wait_flag MTE2 -> V, 0
    aicore.vunary %t, %t, [%vr, 64] {kind = relu} : !aicore.tile<16x64xf16, ub>, !aicore.tile<16x64xf16, ub>
    aicore.set_flag V -> MTE3, 0
    aicore.wait_flag V -> MTE3, 0
    aicore.copy_ub_gm %t, %y[%r, 0], [%vr, 64] : !aicore.tile<16x64xf16, ub>, !aicore.tile<64x64xf16, gm>
    aicore.set_flag MTE3 -> MTE2, 0
  }
}

// -----

// RULE check_cross_order X1
aicore.kernel @mix(%x : !aicore.tile<64x64xf16, gm>, %w : !aicore.tile<64x64xf16, gm>) writes (%y : !aicore.tile<64x64xf16, gm>) on mix * 2 synced {
  %ws = aicore.workspace buffers 2 : !aicore.tile<32x64xf32, gm>
  aicore.section cube {
    aicore.set_flag MTE1 -> MTE2, 0
    aicore.set_flag MTE1 -> MTE2, 1
    aicore.set_flag M -> MTE1, 0
    aicore.set_flag FIX -> M, 0
    aicore.for (%m : %vm) in [64] by [32] over cores {
      %a1 = aicore.alloc at 1024 : !aicore.tile<32x64xf16, l1, nz>
      aicore.wait_flag MTE1 -> MTE2, 0
      aicore.copy_gm_l1 %x[%m, 0], %a1, [%vm, 64] : !aicore.tile<64x64xf16, gm>, !aicore.tile<32x64xf16, l1, nz>
      aicore.set_flag MTE2 -> MTE1, 0
      %b1 = aicore.alloc : !aicore.tile<64x64xf16, l1, nz>
      aicore.wait_flag MTE1 -> MTE2, 1
      aicore.copy_gm_l1 %w[0, 0], %b1, [64, 64] : !aicore.tile<64x64xf16, gm>, !aicore.tile<64x64xf16, l1, nz>
      aicore.set_flag MTE2 -> MTE1, 1
      %a0 = aicore.alloc : !aicore.tile<32x64xf16, l0a, zz>
      aicore.wait_flag MTE2 -> MTE1, 0
      aicore.wait_flag M -> MTE1, 0
      aicore.load_l0a %a1[0, 0], %a0, [%vm, 64] : !aicore.tile<32x64xf16, l1, nz>, !aicore.tile<32x64xf16, l0a, zz>
      aicore.set_flag MTE1 -> MTE2, 0
      %b0 = aicore.alloc : !aicore.tile<64x64xf16, l0b, zn>
      aicore.wait_flag MTE2 -> MTE1, 1
      aicore.load_l0b %b1[0, 0], %b0, [64, 64] : !aicore.tile<64x64xf16, l1, nz>, !aicore.tile<64x64xf16, l0b, zn>
      aicore.set_flag MTE1 -> M, 0
      aicore.set_flag MTE1 -> MTE2, 1
      %c = aicore.alloc : !aicore.tile<32x64xf32, l0c, nz>
      aicore.wait_flag MTE1 -> M, 0
      aicore.wait_flag FIX -> M, 0
      aicore.mmad %a0, %b0, %c, [%vm, 64, 64] : !aicore.tile<32x64xf16, l0a, zz>, !aicore.tile<64x64xf16, l0b, zn>, !aicore.tile<32x64xf32, l0c, nz>
      aicore.set_flag M -> FIX, 0
      aicore.set_flag M -> MTE1, 0
      %s = aicore.take %ws : !aicore.tile<32x64xf32, gm>
      aicore.wait_flag M -> FIX, 0
      aicore.fixpipe %c, %s[0, 0], [%vm, 64] : !aicore.tile<32x64xf32, l0c, nz>, !aicore.tile<32x64xf32, gm>
      aicore.set_flag FIX -> M, 0
      aicore.cross_set FIX, 0 of 2
    }
    aicore.wait_flag FIX -> M, 0
    aicore.wait_flag M -> MTE1, 0
    aicore.wait_flag MTE1 -> MTE2, 1
    aicore.wait_flag MTE1 -> MTE2, 0
  }
  aicore.section vector {
    aicore.set_flag V -> MTE2, 0
    aicore.set_flag MTE3 -> V, 0
    aicore.for (%m_1 : %vm_1) in [64] by [32] over cores {
      %s_1 = aicore.take %ws : !aicore.tile<32x64xf32, gm>
      aicore.for (%r : %vr) in [%vm_1] by [16] over subcores {
        %t = aicore.alloc : !aicore.tile<16x64xf32, ub>
        aicore.wait_flag V -> MTE2, 0
// expected-error @+1 {{aicore.copy_gm_ub on MTE2 of vector core 0 reads workspace 'ws' while aicore.fixpipe on FIX of the cube core may still be at it (writes), expected a f}}
        aicore.copy_gm_ub %s_1[%r, 0], %t, [%vr, 64] : !aicore.tile<32x64xf32, gm>, !aicore.tile<16x64xf32, ub>
        aicore.set_flag MTE2 -> V, 0
        aicore.wait_flag MTE2 -> V, 0
        aicore.vunary %t, %t, [%vr, 64] {kind = relu} : !aicore.tile<16x64xf32, ub>, !aicore.tile<16x64xf32, ub>
        %h = aicore.alloc : !aicore.tile<16x64xf16, ub>
        aicore.wait_flag MTE3 -> V, 0
        aicore.vcast %t, %h, [%vr, 64] : !aicore.tile<16x64xf32, ub>, !aicore.tile<16x64xf16, ub>
        aicore.set_flag V -> MTE3, 0
        aicore.set_flag V -> MTE2, 0
        %row = aicore.affine %m_1 + %r : index
        aicore.wait_flag V -> MTE3, 0
        aicore.copy_ub_gm %h, %y[%row, 0], [%vr, 64] : !aicore.tile<16x64xf16, ub>, !aicore.tile<64x64xf16, gm>
        aicore.set_flag MTE3 -> V, 0
      }
    }
    aicore.wait_flag MTE3 -> V, 0
    aicore.wait_flag V -> MTE2, 0
  }
}

// -----

// RULE check_cross_order X2
// expected-error @+1 {{vector core 0 and vector core 1 wait for flags that no core sets}}
aicore.kernel @mix(%x : !aicore.tile<64x64xf16, gm>, %w : !aicore.tile<64x64xf16, gm>) writes (%y : !aicore.tile<64x64xf16, gm>) on mix * 2 synced {
  %ws = aicore.workspace buffers 2 : !aicore.tile<32x64xf32, gm>
  aicore.section cube {
    aicore.set_flag MTE1 -> MTE2, 0
    aicore.set_flag MTE1 -> MTE2, 1
    aicore.set_flag M -> MTE1, 0
    aicore.set_flag FIX -> M, 0
    aicore.for (%m : %vm) in [64] by [32] over cores {
      %a1 = aicore.alloc at 1024 : !aicore.tile<32x64xf16, l1, nz>
      aicore.wait_flag MTE1 -> MTE2, 0
      aicore.copy_gm_l1 %x[%m, 0], %a1, [%vm, 64] : !aicore.tile<64x64xf16, gm>, !aicore.tile<32x64xf16, l1, nz>
      aicore.set_flag MTE2 -> MTE1, 0
      %b1 = aicore.alloc : !aicore.tile<64x64xf16, l1, nz>
      aicore.wait_flag MTE1 -> MTE2, 1
      aicore.copy_gm_l1 %w[0, 0], %b1, [64, 64] : !aicore.tile<64x64xf16, gm>, !aicore.tile<64x64xf16, l1, nz>
      aicore.set_flag MTE2 -> MTE1, 1
      %a0 = aicore.alloc : !aicore.tile<32x64xf16, l0a, zz>
      aicore.wait_flag MTE2 -> MTE1, 0
      aicore.wait_flag M -> MTE1, 0
      aicore.load_l0a %a1[0, 0], %a0, [%vm, 64] : !aicore.tile<32x64xf16, l1, nz>, !aicore.tile<32x64xf16, l0a, zz>
      aicore.set_flag MTE1 -> MTE2, 0
      %b0 = aicore.alloc : !aicore.tile<64x64xf16, l0b, zn>
      aicore.wait_flag MTE2 -> MTE1, 1
      aicore.load_l0b %b1[0, 0], %b0, [64, 64] : !aicore.tile<64x64xf16, l1, nz>, !aicore.tile<64x64xf16, l0b, zn>
      aicore.set_flag MTE1 -> M, 0
      aicore.set_flag MTE1 -> MTE2, 1
      %c = aicore.alloc : !aicore.tile<32x64xf32, l0c, nz>
      aicore.wait_flag MTE1 -> M, 0
      aicore.wait_flag FIX -> M, 0
      aicore.mmad %a0, %b0, %c, [%vm, 64, 64] : !aicore.tile<32x64xf16, l0a, zz>, !aicore.tile<64x64xf16, l0b, zn>, !aicore.tile<32x64xf32, l0c, nz>
      aicore.set_flag M -> FIX, 0
      aicore.set_flag M -> MTE1, 0
      %s = aicore.take %ws : !aicore.tile<32x64xf32, gm>
      aicore.wait_flag M -> FIX, 0
      aicore.fixpipe %c, %s[0, 0], [%vm, 64] : !aicore.tile<32x64xf32, l0c, nz>, !aicore.tile<32x64xf32, gm>
      aicore.set_flag FIX -> M, 0
    }
    aicore.wait_flag FIX -> M, 0
    aicore.wait_flag M -> MTE1, 0
    aicore.wait_flag MTE1 -> MTE2, 1
    aicore.wait_flag MTE1 -> MTE2, 0
  }
  aicore.section vector {
    aicore.set_flag V -> MTE2, 0
    aicore.set_flag MTE3 -> V, 0
    aicore.for (%m_1 : %vm_1) in [64] by [32] over cores {
      %s_1 = aicore.take %ws : !aicore.tile<32x64xf32, gm>
      aicore.cross_wait MTE2, 0 of 2
      aicore.for (%r : %vr) in [%vm_1] by [16] over subcores {
        %t = aicore.alloc : !aicore.tile<16x64xf32, ub>
        aicore.wait_flag V -> MTE2, 0
        aicore.copy_gm_ub %s_1[%r, 0], %t, [%vr, 64] : !aicore.tile<32x64xf32, gm>, !aicore.tile<16x64xf32, ub>
        aicore.set_flag MTE2 -> V, 0
        aicore.wait_flag MTE2 -> V, 0
        aicore.vunary %t, %t, [%vr, 64] {kind = relu} : !aicore.tile<16x64xf32, ub>, !aicore.tile<16x64xf32, ub>
        %h = aicore.alloc : !aicore.tile<16x64xf16, ub>
        aicore.wait_flag MTE3 -> V, 0
        aicore.vcast %t, %h, [%vr, 64] : !aicore.tile<16x64xf32, ub>, !aicore.tile<16x64xf16, ub>
        aicore.set_flag V -> MTE3, 0
        aicore.set_flag V -> MTE2, 0
        %row = aicore.affine %m_1 + %r : index
        aicore.wait_flag V -> MTE3, 0
        aicore.copy_ub_gm %h, %y[%row, 0], [%vr, 64] : !aicore.tile<16x64xf16, ub>, !aicore.tile<64x64xf16, gm>
        aicore.set_flag MTE3 -> V, 0
      }
    }
    aicore.wait_flag MTE3 -> V, 0
    aicore.wait_flag V -> MTE2, 0
  }
}

// -----

// RULE check_cross_order X3
// expected-error @+1 {{flag 3 from the cube core to vector core 0 is set but not waited for}}
aicore.kernel @mix(%x : !aicore.tile<64x64xf16, gm>, %w : !aicore.tile<64x64xf16, gm>) writes (%y : !aicore.tile<64x64xf16, gm>) on mix * 2 synced {
  %ws = aicore.workspace buffers 2 : !aicore.tile<32x64xf32, gm>
  aicore.section cube {
    aicore.set_flag MTE1 -> MTE2, 0
    aicore.set_flag MTE1 -> MTE2, 1
    aicore.set_flag M -> MTE1, 0
    aicore.set_flag FIX -> M, 0
    aicore.for (%m : %vm) in [64] by [32] over cores {
      %a1 = aicore.alloc at 1024 : !aicore.tile<32x64xf16, l1, nz>
      aicore.wait_flag MTE1 -> MTE2, 0
      aicore.copy_gm_l1 %x[%m, 0], %a1, [%vm, 64] : !aicore.tile<64x64xf16, gm>, !aicore.tile<32x64xf16, l1, nz>
      aicore.set_flag MTE2 -> MTE1, 0
      %b1 = aicore.alloc : !aicore.tile<64x64xf16, l1, nz>
      aicore.wait_flag MTE1 -> MTE2, 1
      aicore.copy_gm_l1 %w[0, 0], %b1, [64, 64] : !aicore.tile<64x64xf16, gm>, !aicore.tile<64x64xf16, l1, nz>
      aicore.set_flag MTE2 -> MTE1, 1
      %a0 = aicore.alloc : !aicore.tile<32x64xf16, l0a, zz>
      aicore.wait_flag MTE2 -> MTE1, 0
      aicore.wait_flag M -> MTE1, 0
      aicore.load_l0a %a1[0, 0], %a0, [%vm, 64] : !aicore.tile<32x64xf16, l1, nz>, !aicore.tile<32x64xf16, l0a, zz>
      aicore.set_flag MTE1 -> MTE2, 0
      %b0 = aicore.alloc : !aicore.tile<64x64xf16, l0b, zn>
      aicore.wait_flag MTE2 -> MTE1, 1
      aicore.load_l0b %b1[0, 0], %b0, [64, 64] : !aicore.tile<64x64xf16, l1, nz>, !aicore.tile<64x64xf16, l0b, zn>
      aicore.set_flag MTE1 -> M, 0
      aicore.set_flag MTE1 -> MTE2, 1
      %c = aicore.alloc : !aicore.tile<32x64xf32, l0c, nz>
      aicore.wait_flag MTE1 -> M, 0
      aicore.wait_flag FIX -> M, 0
      aicore.mmad %a0, %b0, %c, [%vm, 64, 64] : !aicore.tile<32x64xf16, l0a, zz>, !aicore.tile<64x64xf16, l0b, zn>, !aicore.tile<32x64xf32, l0c, nz>
      aicore.set_flag M -> FIX, 0
      aicore.set_flag M -> MTE1, 0
      %s = aicore.take %ws : !aicore.tile<32x64xf32, gm>
      aicore.wait_flag M -> FIX, 0
      aicore.fixpipe %c, %s[0, 0], [%vm, 64] : !aicore.tile<32x64xf32, l0c, nz>, !aicore.tile<32x64xf32, gm>
      aicore.set_flag FIX -> M, 0
      aicore.cross_set FIX, 0
      aicore.cross_set FIX, 3
    }
    aicore.wait_flag FIX -> M, 0
    aicore.wait_flag M -> MTE1, 0
    aicore.wait_flag MTE1 -> MTE2, 1
    aicore.wait_flag MTE1 -> MTE2, 0
  }
  aicore.section vector {
    aicore.set_flag V -> MTE2, 0
    aicore.set_flag MTE3 -> V, 0
    aicore.for (%m_1 : %vm_1) in [64] by [32] over cores {
      %s_1 = aicore.take %ws : !aicore.tile<32x64xf32, gm>
      aicore.cross_wait MTE2, 0
      aicore.for (%r : %vr) in [%vm_1] by [16] over subcores {
        %t = aicore.alloc : !aicore.tile<16x64xf32, ub>
        aicore.wait_flag V -> MTE2, 0
        aicore.copy_gm_ub %s_1[%r, 0], %t, [%vr, 64] : !aicore.tile<32x64xf32, gm>, !aicore.tile<16x64xf32, ub>
        aicore.set_flag MTE2 -> V, 0
        aicore.wait_flag MTE2 -> V, 0
        aicore.vunary %t, %t, [%vr, 64] {kind = relu} : !aicore.tile<16x64xf32, ub>, !aicore.tile<16x64xf32, ub>
        %h = aicore.alloc : !aicore.tile<16x64xf16, ub>
        aicore.wait_flag MTE3 -> V, 0
        aicore.vcast %t, %h, [%vr, 64] : !aicore.tile<16x64xf32, ub>, !aicore.tile<16x64xf16, ub>
        aicore.set_flag V -> MTE3, 0
        aicore.set_flag V -> MTE2, 0
        %row = aicore.affine %m_1 + %r : index
        aicore.wait_flag V -> MTE3, 0
        aicore.copy_ub_gm %h, %y[%row, 0], [%vr, 64] : !aicore.tile<16x64xf16, ub>, !aicore.tile<64x64xf16, gm>
        aicore.set_flag MTE3 -> V, 0
      }
    }
    aicore.wait_flag MTE3 -> V, 0
    aicore.wait_flag V -> MTE2, 0
  }
}

// -----

// RULE check_cross_order X4
aicore.kernel @mix(%x : !aicore.tile<64x64xf16, gm>, %w : !aicore.tile<64x64xf16, gm>) writes (%y : !aicore.tile<64x64xf16, gm>) on mix * 2 synced {
  %ws = aicore.workspace buffers 2 : !aicore.tile<32x64xf32, gm>
  aicore.section cube {
    aicore.set_flag MTE1 -> MTE2, 0
    aicore.set_flag MTE1 -> MTE2, 1
    aicore.set_flag M -> MTE1, 0
    aicore.set_flag FIX -> M, 0
    aicore.for (%m : %vm) in [64] by [32] over cores {
      %a1 = aicore.alloc at 1024 : !aicore.tile<32x64xf16, l1, nz>
      aicore.wait_flag MTE1 -> MTE2, 0
      aicore.copy_gm_l1 %x[%m, 0], %a1, [%vm, 64] : !aicore.tile<64x64xf16, gm>, !aicore.tile<32x64xf16, l1, nz>
      aicore.set_flag MTE2 -> MTE1, 0
      %b1 = aicore.alloc : !aicore.tile<64x64xf16, l1, nz>
      aicore.wait_flag MTE1 -> MTE2, 1
      aicore.copy_gm_l1 %w[0, 0], %b1, [64, 64] : !aicore.tile<64x64xf16, gm>, !aicore.tile<64x64xf16, l1, nz>
      aicore.set_flag MTE2 -> MTE1, 1
      %a0 = aicore.alloc : !aicore.tile<32x64xf16, l0a, zz>
      aicore.wait_flag MTE2 -> MTE1, 0
      aicore.wait_flag M -> MTE1, 0
      aicore.load_l0a %a1[0, 0], %a0, [%vm, 64] : !aicore.tile<32x64xf16, l1, nz>, !aicore.tile<32x64xf16, l0a, zz>
      aicore.set_flag MTE1 -> MTE2, 0
      %b0 = aicore.alloc : !aicore.tile<64x64xf16, l0b, zn>
      aicore.wait_flag MTE2 -> MTE1, 1
      aicore.load_l0b %b1[0, 0], %b0, [64, 64] : !aicore.tile<64x64xf16, l1, nz>, !aicore.tile<64x64xf16, l0b, zn>
      aicore.set_flag MTE1 -> M, 0
      aicore.set_flag MTE1 -> MTE2, 1
      %c = aicore.alloc : !aicore.tile<32x64xf32, l0c, nz>
      aicore.wait_flag MTE1 -> M, 0
      aicore.wait_flag FIX -> M, 0
      aicore.mmad %a0, %b0, %c, [%vm, 64, 64] : !aicore.tile<32x64xf16, l0a, zz>, !aicore.tile<64x64xf16, l0b, zn>, !aicore.tile<32x64xf32, l0c, nz>
      aicore.set_flag M -> FIX, 0
      aicore.set_flag M -> MTE1, 0
      %s = aicore.take %ws : !aicore.tile<32x64xf32, gm>
      aicore.wait_flag M -> FIX, 0
      aicore.fixpipe %c, %s[0, 0], [%vm, 64] : !aicore.tile<32x64xf32, l0c, nz>, !aicore.tile<32x64xf32, gm>
      aicore.set_flag FIX -> M, 0
      aicore.cross_set FIX, 0 of 2
      aicore.cross_set FIX, 9
      aicore.cross_set FIX, 9
      aicore.cross_set FIX, 9
      aicore.cross_set FIX, 9
      aicore.cross_set FIX, 9
      aicore.cross_set FIX, 9
      aicore.cross_set FIX, 9
      aicore.cross_set FIX, 9
      aicore.cross_set FIX, 9
      aicore.cross_set FIX, 9
      aicore.cross_set FIX, 9
      aicore.cross_set FIX, 9
      aicore.cross_set FIX, 9
      aicore.cross_set FIX, 9
      aicore.cross_set FIX, 9
// expected-error @+1 {{flag 9 from the cube core to vector core 0 is set 16 times before it is waited for, expected at most 15}}
      aicore.cross_set FIX, 9
    }
    aicore.wait_flag FIX -> M, 0
    aicore.wait_flag M -> MTE1, 0
    aicore.wait_flag MTE1 -> MTE2, 1
    aicore.wait_flag MTE1 -> MTE2, 0
  }
  aicore.section vector {
    aicore.set_flag V -> MTE2, 0
    aicore.set_flag MTE3 -> V, 0
    aicore.for (%m_1 : %vm_1) in [64] by [32] over cores {
      %s_1 = aicore.take %ws : !aicore.tile<32x64xf32, gm>
      aicore.cross_wait MTE2, 0 of 2
      aicore.for (%r : %vr) in [%vm_1] by [16] over subcores {
        %t = aicore.alloc : !aicore.tile<16x64xf32, ub>
        aicore.wait_flag V -> MTE2, 0
        aicore.copy_gm_ub %s_1[%r, 0], %t, [%vr, 64] : !aicore.tile<32x64xf32, gm>, !aicore.tile<16x64xf32, ub>
        aicore.set_flag MTE2 -> V, 0
        aicore.wait_flag MTE2 -> V, 0
        aicore.vunary %t, %t, [%vr, 64] {kind = relu} : !aicore.tile<16x64xf32, ub>, !aicore.tile<16x64xf32, ub>
        %h = aicore.alloc : !aicore.tile<16x64xf16, ub>
        aicore.wait_flag MTE3 -> V, 0
        aicore.vcast %t, %h, [%vr, 64] : !aicore.tile<16x64xf32, ub>, !aicore.tile<16x64xf16, ub>
        aicore.set_flag V -> MTE3, 0
        aicore.set_flag V -> MTE2, 0
        %row = aicore.affine %m_1 + %r : index
        aicore.wait_flag V -> MTE3, 0
        aicore.copy_ub_gm %h, %y[%row, 0], [%vr, 64] : !aicore.tile<16x64xf16, ub>, !aicore.tile<64x64xf16, gm>
        aicore.set_flag MTE3 -> V, 0
      }
    }
    aicore.wait_flag MTE3 -> V, 0
    aicore.wait_flag V -> MTE2, 0
  }
}
