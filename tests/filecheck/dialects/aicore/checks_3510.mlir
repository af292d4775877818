// RUN: ge-opt %s --split-input-file --verify-diagnostics -p aicore-check --target Ascend950PR_958x

// What Ascend950PR_958x has and has not, broken once.

// RULE check_kernel K3
aicore.kernel @k(%x : !aicore.tile<64x64xf16, gm>) writes (%y : !aicore.tile<64x64xf16, gm>) on cube * 1 {
  aicore.for (%r : %vr) in [64] by [64] over cores {
    %l = aicore.alloc : !aicore.tile<64x64xf16, l1, nz>
    // expected-error @+1 {{is of arch 100 and 200 and 2201, expected one that Ascend950PR_958x (arch 3510) has}}
    aicore.copy_l1_gm %l, %y[0, 0], [64, 64] : !aicore.tile<64x64xf16, l1, nz>, !aicore.tile<64x64xf16, gm>
  }
}

// -----

// RULE check_kernel K3
aicore.kernel @k(%x : !aicore.tile<64x64xf16, gm>) writes (%y : !aicore.tile<64x64xf16, gm>) on cube * 1 {
  aicore.for (%r : %vr) in [64] by [64] over cores {
    %c = aicore.alloc : !aicore.tile<64x64xf32, l0c, nz>
    %u = aicore.alloc : !aicore.tile<64x64xf32, ub>
    // expected-error @+1 {{is of arch 100 and 200, expected one that Ascend950PR_958x (arch 3510) has}}
    aicore.copy_l0c_ub %c[0, 0], %u, [64, 64] : !aicore.tile<64x64xf32, l0c, nz>, !aicore.tile<64x64xf32, ub>
  }
}

// -----

// RULE check_kernel K4
aicore.kernel @k(%x : !aicore.tile<64x64xf16, gm>) writes (%y : !aicore.tile<64x64xf16, gm>) on cube * 1 {
  aicore.for (%r : %vr) in [64] by [64] over cores {
    // expected-error @+1 {{l0a is in layout zz, expected nz on Ascend950PR_958x}}
    %a = aicore.alloc : !aicore.tile<64x64xf16, l0a, zz>
  }
}

// -----

// RULE check_kernel K5
// expected-error @+1 {{takes 524288 bytes of ub (t 524288), expected at most 245760 on Ascend950PR_958x}}
aicore.kernel @k(%x : !aicore.tile<64x64xf16, gm>) writes (%y : !aicore.tile<64x64xf16, gm>) on vector * 1 {
  aicore.for (%r : %vr) in [64] by [64] over cores {
    %t = aicore.alloc : !aicore.tile<512x256xf32, ub>
  }
}

// -----

// RULE check_kernel K5
// expected-error @+1 {{takes 8192 bytes of bt (t 8192), expected at most 4096 on Ascend950PR_958x}}
aicore.kernel @k(%x : !aicore.tile<64x64xf16, gm>) writes (%y : !aicore.tile<64x64xf16, gm>) on cube * 1 {
  aicore.for (%r : %vr) in [64] by [64] over cores {
    %t = aicore.alloc : !aicore.tile<1x2048xf32, bt>
  }
}

// -----

// RULE check_kernel K5
// expected-error @+1 {{takes 524288 bytes of l0c (t 524288), expected at most 262144 on Ascend950PR_958x}}
aicore.kernel @k(%x : !aicore.tile<64x64xf16, gm>) writes (%y : !aicore.tile<64x64xf16, gm>) on cube * 1 {
  aicore.for (%r : %vr) in [64] by [64] over cores {
    %t = aicore.alloc : !aicore.tile<256x512xf32, l0c, nz>
  }
}
