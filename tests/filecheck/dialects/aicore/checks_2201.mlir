// RUN: ge-opt %s --split-input-file --verify-diagnostics -p aicore-check --target Ascend910B1

// What Ascend910B1 has and has not, broken once.

// RULE check_kernel K3
aicore.kernel @k(%x : !aicore.tile<64x64xf16, gm>) writes (%y : !aicore.tile<64x64xf16, gm>) on vector * 1 {
  aicore.for (%r : %vr) in [64] by [64] over cores {
    %u = aicore.alloc : !aicore.tile<64x64xbf16, ub>
    // expected-error @+1 {{in bf16 is of arch 3510, expected one that Ascend910B1 (arch 2201) has}}
    aicore.vbinary %u, %u, %u, [64, 64] {kind = add} : !aicore.tile<64x64xbf16, ub>, !aicore.tile<64x64xbf16, ub>, !aicore.tile<64x64xbf16, ub>
  }
}

// -----

// RULE check_kernel K3
aicore.kernel @k(%x : !aicore.tile<64x64xf16, gm>) writes (%y : !aicore.tile<64x64xf16, gm>) on vector * 1 {
  aicore.for (%r : %vr) in [64] by [64] over cores {
    %u = aicore.alloc : !aicore.tile<64x64xbf16, ub>
    // expected-error @+1 {{in bf16 is of arch 3510, expected one that Ascend910B1 (arch 2201) has}}
    aicore.vscalar %u, %u, [64, 64] {kind = muls, value = 2.0} : !aicore.tile<64x64xbf16, ub>, !aicore.tile<64x64xbf16, ub>
  }
}

// -----

// RULE check_kernel K3
aicore.kernel @k(%x : !aicore.tile<64x64xf16, gm>) writes (%y : !aicore.tile<64x64xf16, gm>) on cube * 1 {
  aicore.for (%r : %vr) in [64] by [64] over cores {
    %l = aicore.alloc : !aicore.tile<64x64xf16, l1, nz>
    %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
    // expected-error @+1 {{is of arch 100 and 200 and 3510, expected one that Ascend910B1 (arch 2201) has}}
    aicore.copy_l1_ub %l[0, 0], %u, [64, 64] : !aicore.tile<64x64xf16, l1, nz>, !aicore.tile<64x64xf16, ub>
  }
}

// -----

// RULE check_kernel K3
aicore.kernel @k(%x : !aicore.tile<64x64xf16, gm>) writes (%y : !aicore.tile<64x64xf16, gm>) on cube * 1 {
  aicore.for (%r : %vr) in [64] by [64] over cores {
    %c = aicore.alloc : !aicore.tile<64x64xf32, l0c, nz>
    %u = aicore.alloc : !aicore.tile<64x64xf32, ub>
    // expected-error @+1 {{is of arch 100 and 200, expected one that Ascend910B1 (arch 2201) has}}
    aicore.copy_l0c_ub %c[0, 0], %u, [64, 64] : !aicore.tile<64x64xf32, l0c, nz>, !aicore.tile<64x64xf32, ub>
  }
}

// -----

// RULE check_kernel K5
// expected-error @+1 {{takes 2048 bytes of bt (t 2048), expected at most 1024 on Ascend910B1}}
aicore.kernel @k(%x : !aicore.tile<64x64xf16, gm>) writes (%y : !aicore.tile<64x64xf16, gm>) on cube * 1 {
  aicore.for (%r : %vr) in [64] by [64] over cores {
    %t = aicore.alloc : !aicore.tile<1x512xf32, bt>
  }
}

// -----

// RULE check_kernel K5
// expected-error @+1 {{takes 262144 bytes of l0c (t 262144), expected at most 131072 on Ascend910B1}}
aicore.kernel @k(%x : !aicore.tile<64x64xf16, gm>) writes (%y : !aicore.tile<64x64xf16, gm>) on cube * 1 {
  aicore.for (%r : %vr) in [64] by [64] over cores {
    %t = aicore.alloc : !aicore.tile<256x256xf32, l0c, nz>
  }
}

// -----

// RULE check_kernel K5
// expected-error @+1 {{takes 1048576 bytes of l1 (t 1048576), expected at most 524032 on Ascend910B1}}
aicore.kernel @k(%x : !aicore.tile<64x64xf16, gm>) writes (%y : !aicore.tile<64x64xf16, gm>) on cube * 1 {
  aicore.for (%r : %vr) in [64] by [64] over cores {
    %t = aicore.alloc : !aicore.tile<512x1024xf16, l1, nz>
  }
}

// -----

// RULE check_kernel K5
// expected-error @+1 {{takes 16384 bytes of fb (t 16384), expected at most 7168 on Ascend910B1}}
aicore.kernel @k(%x : !aicore.tile<64x64xf16, gm>) writes (%y : !aicore.tile<64x64xf16, gm>) on cube * 1 {
  aicore.for (%r : %vr) in [64] by [64] over cores {
    %t = aicore.alloc : !aicore.tile<1x4096xf32, fb>
  }
}
