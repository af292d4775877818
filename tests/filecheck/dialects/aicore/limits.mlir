// RUN: ge-opt %s --split-input-file --verify-diagnostics

// What the fields of an instruction hold, and where its windows may start, broken once.

// RULE _Load C4
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %l = aicore.alloc : !aicore.tile<512x4096xf16, l1, nz>
  %a = aicore.alloc : !aicore.tile<512x4096xf16, l0a, zz>
  // expected-error @+1 {{loads up to 8192 blocks, expected at most 255}}
  aicore.load_l0a %l[0, 0], %a, [16, 64] : !aicore.tile<512x4096xf16, l1, nz>, !aicore.tile<512x4096xf16, l0a, zz>
}

// -----

// RULE aicore.load_bias C3
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %r = aicore.alloc : !aicore.tile<1x128xf16, l1>
  %b = aicore.alloc : !aicore.tile<1x64xf32, bt>
  // expected-error @+1 {{window starts at a multiple of 16 bytes in 'src', expected one of 32}}
  aicore.load_bias %r[0, 8], %b, [1, 64] : !aicore.tile<1x128xf16, l1>, !aicore.tile<1x64xf32, bt>
}

// -----

// RULE aicore.load_quant C3
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %r = aicore.alloc : !aicore.tile<1x128xf32, l1>
  %b = aicore.alloc : !aicore.tile<1x64xf32, fb>
  // expected-error @+1 {{window starts at a multiple of 4 bytes in 'src', expected one of 32}}
  aicore.load_quant %r[0, 1], %b, [1, 64] : !aicore.tile<1x128xf32, l1>, !aicore.tile<1x64xf32, fb>
}

// -----

// RULE aicore.copy_ub_l1 C3
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  %l = aicore.alloc : !aicore.tile<64x64xf16, l1, nz>
  // expected-error @+1 {{window starts at a multiple of 16 bytes in 'src', expected one of 32}}
  aicore.copy_ub_l1 %u[3, 8], %l, [16, 16] : !aicore.tile<64x64xf16, ub>, !aicore.tile<64x64xf16, l1, nz>
}

// -----

// RULE aicore.copy_l1_ub C3
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %l = aicore.alloc : !aicore.tile<64x64xf16, l1, nz>
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  // expected-error @+1 {{offset is 8 in 'src', expected a multiple of 16: whole blocks}}
  aicore.copy_l1_ub %l[0, 8], %u, [16, 16] : !aicore.tile<64x64xf16, l1, nz>, !aicore.tile<64x64xf16, ub>
}

// -----

// RULE aicore.copy_l1_ub C3
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %l = aicore.alloc : !aicore.tile<3x24xf16, l1>
  %u = aicore.alloc : !aicore.tile<3x24xf16, ub>
  // expected-error @+1 {{window starts at a multiple of 48 bytes in 'src', expected one of 32}}
  aicore.copy_l1_ub %l[1, 0], %u, [1, 24] : !aicore.tile<3x24xf16, l1>, !aicore.tile<3x24xf16, ub>
}

// -----

// RULE aicore.copy_l0c_ub C3
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %c = aicore.alloc : !aicore.tile<64x64xf32, l0c, nz>
  %u = aicore.alloc : !aicore.tile<64x64xf32, ub>
  // expected-error @+1 {{offset is 8 in 'src', expected a multiple of 16: whole blocks}}
  aicore.copy_l0c_ub %c[8, 0], %u, [16, 64] : !aicore.tile<64x64xf32, l0c, nz>, !aicore.tile<64x64xf32, ub>
}

// -----

// RULE aicore.fixpipe C7
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %c = aicore.alloc : !aicore.tile<64x64xf32, l0c, nz>
  %u = aicore.alloc : !aicore.tile<64x128xf32, ub>
  // expected-error @+1 {{window starts at a multiple of 4 bytes in 'dst', expected one of 32}}
  aicore.fixpipe %c, %u[0, 1], [64, 64] : !aicore.tile<64x64xf32, l0c, nz>, !aicore.tile<64x128xf32, ub>
}

// -----

// RULE aicore.fixpipe C8
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %c = aicore.alloc : !aicore.tile<64x64xf32, l0c, nz>
  %l = aicore.alloc : !aicore.tile<64x64xf16, l1, nz>
  // expected-error @+1 {{n is 24 in blocks, expected a multiple of 16}}
  aicore.fixpipe %c, %l[0, 0], [64, 24] : !aicore.tile<64x64xf32, l0c, nz>, !aicore.tile<64x64xf16, l1, nz>
}
