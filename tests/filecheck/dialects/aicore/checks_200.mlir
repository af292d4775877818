// RUN: ge-opt %s --split-input-file --verify-diagnostics -p aicore-check --target Ascend310P3

// What Ascend310P3 has and has not, broken once.

// RULE check_kernel K3
aicore.kernel @k(%x : !aicore.tile<64x64xf16, gm>) writes (%y : !aicore.tile<64x64xf16, gm>) on cube * 1 {
  aicore.for (%r : %vr) in [64] by [64] over cores {
    %c = aicore.alloc : !aicore.tile<64x64xf32, l0c, nz>
    // expected-error @+1 {{is of arch 2201 and 3510, expected one that Ascend310P3 (arch 200) has}}
    aicore.fixpipe %c, %y[0, 0], [64, 64] : !aicore.tile<64x64xf32, l0c, nz>, !aicore.tile<64x64xf16, gm>
  }
}

// -----

// RULE check_kernel K3
aicore.kernel @k(%x : !aicore.tile<64x64xf16, gm>) writes (%y : !aicore.tile<64x64xf16, gm>) on cube * 1 {
  aicore.for (%r : %vr) in [64] by [64] over cores {
    %c = aicore.alloc : !aicore.tile<64x64xf32, l0c, nz>
    %u = aicore.alloc : !aicore.tile<64x64xf32, ub>
    // expected-error @+1 {{to ub is of arch 3510, expected one that Ascend310P3 (arch 200) has}}
    aicore.fixpipe %c, %u[0, 0], [64, 64] : !aicore.tile<64x64xf32, l0c, nz>, !aicore.tile<64x64xf32, ub>
  }
}

// -----

// RULE check_kernel K3
aicore.kernel @k(%x : !aicore.tile<64x64xf16, gm>) writes (%y : !aicore.tile<64x64xf16, gm>) on cube * 1 {
  aicore.for (%r : %vr) in [64] by [64] over cores {
    %a = aicore.alloc : !aicore.tile<64x64xbf16, l0a, zz>
    %b = aicore.alloc : !aicore.tile<64x64xbf16, l0b, zn>
    %c = aicore.alloc : !aicore.tile<64x64xf32, l0c, nz>
    // expected-error @+1 {{of bf16 factors is of arch 2201 and 3510, expected one that Ascend310P3 (arch 200) has}}
    aicore.mmad %a, %b, %c, [64, 64, 64] : !aicore.tile<64x64xbf16, l0a, zz>, !aicore.tile<64x64xbf16, l0b, zn>, !aicore.tile<64x64xf32, l0c, nz>
  }
}

// -----

// RULE check_kernel K3
aicore.kernel @k(%x : !aicore.tile<64x64xf16, gm>) writes (%y : !aicore.tile<64x64xf16, gm>) on cube * 1 {
  aicore.for (%r : %vr) in [64] by [64] over cores {
    %a = aicore.alloc : !aicore.tile<64x64xf32, l0a, zz>
    %b = aicore.alloc : !aicore.tile<64x64xf32, l0b, zn>
    %c = aicore.alloc : !aicore.tile<64x64xf32, l0c, nz>
    // expected-error @+1 {{of f32 factors is of arch 2201 and 3510, expected one that Ascend310P3 (arch 200) has}}
    aicore.mmad %a, %b, %c, [64, 64, 64] : !aicore.tile<64x64xf32, l0a, zz>, !aicore.tile<64x64xf32, l0b, zn>, !aicore.tile<64x64xf32, l0c, nz>
  }
}

// -----

// RULE check_kernel K3
aicore.kernel @k(%x : !aicore.tile<64x64xf16, gm>) writes (%y : !aicore.tile<64x64xf16, gm>) on vector * 1 {
  aicore.for (%r : %vr) in [64] by [64] over cores {
    %u = aicore.alloc : !aicore.tile<64x64xbf16, ub>
    // expected-error @+1 {{in bf16 is of arch 3510, expected one that Ascend310P3 (arch 200) has}}
    aicore.vbinary %u, %u, %u, [64, 64] {kind = add} : !aicore.tile<64x64xbf16, ub>, !aicore.tile<64x64xbf16, ub>, !aicore.tile<64x64xbf16, ub>
  }
}

// -----

// RULE check_kernel K3
aicore.kernel @k(%x : !aicore.tile<64x64xf16, gm>) writes (%y : !aicore.tile<64x64xf16, gm>) on cube * 1 {
  aicore.for (%r : %vr) in [64] by [64] over cores {
    // expected-error @+1 {{is in fb, expected a memory that Ascend310P3 has: l1, l0a, l0b, l0c, ub}}
    %f = aicore.alloc : !aicore.tile<1x64xf32, fb>
  }
}

// -----

// RULE check_kernel K2
aicore.kernel @k(%x : !aicore.tile<64x64xf16, gm>) writes (%y : !aicore.tile<64x64xf16, gm>) on vector * 1 {
  aicore.for (%r : %vr) in [64] by [64] over cores {
    %l = aicore.alloc : !aicore.tile<64x64xf16, l1, nz>
    %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
    // expected-error @+1 {{runs on pipe MTE1, expected one of a vector core}}
    aicore.copy_l1_ub %l[0, 0], %u, [64, 64] : !aicore.tile<64x64xf16, l1, nz>, !aicore.tile<64x64xf16, ub>
  }
}

// -----

// RULE check_kernel K4
aicore.kernel @k(%x : !aicore.tile<64x64xf16, gm>) writes (%y : !aicore.tile<64x64xf16, gm>) on cube * 1 {
  aicore.for (%r : %vr) in [64] by [64] over cores {
    // expected-error @+1 {{l0a is in layout nz, expected zz on Ascend310P3}}
    %a = aicore.alloc : !aicore.tile<64x64xf16, l0a, nz>
  }
}

// -----

// RULE check_kernel K3
aicore.kernel @k(%x : !aicore.tile<64x64xf16, gm>) writes (%y : !aicore.tile<64x64xf16, gm>) on cube * 1 {
  aicore.for (%r : %vr) in [64] by [64] over cores {
    // expected-error @+1 {{is in bt, expected a memory that Ascend310P3 has: l1, l0a, l0b, l0c, ub}}
    %t = aicore.alloc : !aicore.tile<1x64xf32, bt>
  }
}

// -----

// RULE check_kernel K5
// expected-error @+1 {{takes 524288 bytes of ub (t 524288), expected at most 253952 on Ascend310P3}}
aicore.kernel @k(%x : !aicore.tile<64x64xf16, gm>) writes (%y : !aicore.tile<64x64xf16, gm>) on vector * 1 {
  aicore.for (%r : %vr) in [64] by [64] over cores {
    %t = aicore.alloc : !aicore.tile<512x256xf32, ub>
  }
}

// -----

// RULE check_kernel K5
// expected-error @+1 {{takes 2097152 bytes of l1 (t 2097152), expected at most 1048320 on Ascend310P3}}
aicore.kernel @k(%x : !aicore.tile<64x64xf16, gm>) writes (%y : !aicore.tile<64x64xf16, gm>) on cube * 1 {
  aicore.for (%r : %vr) in [64] by [64] over cores {
    %t = aicore.alloc : !aicore.tile<1024x1024xf16, l1, nz>
  }
}
