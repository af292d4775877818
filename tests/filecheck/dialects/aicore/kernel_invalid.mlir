// RUN: ge-opt %s --split-input-file --verify-diagnostics

aicore.kernel @space() writes (%y : !aicore.tile<16x16xf16, gm>) on cube * 1 {
  %a = aicore.alloc : !aicore.tile<16x16xf16, l1, nz>
  %b = aicore.alloc : !aicore.tile<16x16xf16, l0b, zn>
  // expected-error @+1 {{'dst' is in l0b in layout zn, expected l0a:zz or l0a:nz}}
  aicore.load_l0a %a[0, 0], %b, [16, 16] : !aicore.tile<16x16xf16, l1, nz>, !aicore.tile<16x16xf16, l0b, zn>
}

// -----

aicore.kernel @bf16() writes (%y : !aicore.tile<16x16xf16, gm>) on vector * 1 {
  %a = aicore.alloc : !aicore.tile<16x16xbf16, ub>
  // expected-error @+1 {{computes in bf16, expected one of f16, f32, i32, i16}}
  aicore.vbinary %a, %a, %a, [16, 16] {kind = add} : !aicore.tile<16x16xbf16, ub>, !aicore.tile<16x16xbf16, ub>, !aicore.tile<16x16xbf16, ub>
}
