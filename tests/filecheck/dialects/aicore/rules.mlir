// RUN: ge-opt %s --split-input-file --verify-diagnostics

// Every rule of an op, broken once.
// RULE Instruction I1
aicore.kernel @k() writes (%y : !aicore.tile<64x64xf16, gm>) on vector * 1 {
  %zero = aicore.affine 0 : index
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  // expected-error @+1 {{operand 'src' is index, expected a tile}}
  aicore.vunary %zero, %u, [64, 64] {kind = exp} : index, !aicore.tile<64x64xf16, ub>
}

// -----

// RULE Instruction I3
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  %l1 = aicore.alloc : !aicore.tile<64x64xf16, l1, nz>
  // expected-error @+1 {{'src' is in ub in layout nd, expected gm:nd or gm:zn}}
  aicore.copy_gm_l1 %u[0, 0], %l1, [64, 64] : !aicore.tile<64x64xf16, ub>, !aicore.tile<64x64xf16, l1, nz>
}

// -----

// RULE Instruction I3
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %l1nd = aicore.alloc : !aicore.tile<64x64xf16, l1>
  %a = aicore.alloc : !aicore.tile<64x64xf16, l0a, zz>
  // expected-error @+1 {{'src' is in l1 in layout nd, expected l1:nz}}
  aicore.load_l0a %l1nd[0, 0], %a, [64, 64] : !aicore.tile<64x64xf16, l1>, !aicore.tile<64x64xf16, l0a, zz>
}

// -----

// RULE Instruction I4
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  // expected-error @+1 {{option 'kind' is sin, expected one of abs, relu, exp, ln, sqrt, rsqrt, rec, copy, not}}
  aicore.vunary %u, %u, [64, 64] {kind = sin} : !aicore.tile<64x64xf16, ub>, !aicore.tile<64x64xf16, ub>
}

// -----

// RULE Instruction I5
aicore.kernel @k(%x : !aicore.tile<64x64xf16, gm>) writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  // expected-error @+1 {{has 1 sizes, expected 2}}
  aicore.copy_gm_ub %x[0, 0], %u, [64] : !aicore.tile<64x64xf16, gm>, !aicore.tile<64x64xf16, ub>
}

// -----

// RULE Instruction I6
aicore.kernel @k(%x : !aicore.tile<64x64xf16, gm>) writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  // expected-error @+1 {{has 1 offsets, expected 2}}
  aicore.copy_gm_ub %x[0], %u, [64, 64] : !aicore.tile<64x64xf16, gm>, !aicore.tile<64x64xf16, ub>
}

// -----

// RULE Instruction I7
aicore.kernel @k(%x : !aicore.tile<64x64xf16, gm>) writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  // expected-error @+1 {{size is 0 in 'dst', expected 1 to 64}}
  aicore.copy_gm_ub %x[0, 0], %u, [64, 0] : !aicore.tile<64x64xf16, gm>, !aicore.tile<64x64xf16, ub>
}

// -----

// RULE Copy C1
aicore.kernel @k(%x : !aicore.tile<64x64xf16, gm>) writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %uf = aicore.alloc : !aicore.tile<64x64xf32, ub>
  // expected-error @+1 {{elements are f16 and f32, expected one element type}}
  aicore.copy_gm_ub %x[0, 0], %uf, [64, 64] : !aicore.tile<64x64xf16, gm>, !aicore.tile<64x64xf32, ub>
}

// -----

// RULE Copy C2
aicore.kernel @k(%x : !aicore.tile<64x64xf16, gm>) writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  // expected-error @+1 {{size is 65 in 'dst', expected 1 to 64}}
  aicore.copy_gm_ub %x[0, 0], %u, [65, 64] : !aicore.tile<64x64xf16, gm>, !aicore.tile<64x64xf16, ub>
}

// -----

// RULE aicore.copy_gm_l1 C3
aicore.kernel @k(%wz : !aicore.tile<64x64xf16, gm, zn>) writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %l1 = aicore.alloc : !aicore.tile<64x64xf16, l1, nz>
  // expected-error @+1 {{layouts are zn and nz, expected zn for both or neither}}
  aicore.copy_gm_l1 %wz[0, 0], %l1, [64, 64] : !aicore.tile<64x64xf16, gm, zn>, !aicore.tile<64x64xf16, l1, nz>
}

// -----

// RULE aicore.copy_gm_l1 C4
aicore.kernel @k(%x : !aicore.tile<64x64xf16, gm>) writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %l1big = aicore.alloc : !aicore.tile<16400x16xf16, l1>
  // expected-error @+1 {{copies up to 16400 at once, expected at most 16384}}
  aicore.copy_gm_l1 %x[0, 0], %l1big, [64, 16] : !aicore.tile<64x64xf16, gm>, !aicore.tile<16400x16xf16, l1>
}

// -----

// RULE aicore.copy_ub_gm C3
aicore.kernel @k() writes (%yl : !aicore.tile<64x64xi64, gm>) on vector * 1 {
  %ul = aicore.alloc : !aicore.tile<64x64xi64, ub>
  // expected-error @+1 {{joins i64 in gm, expected one of f32, f16, bf16, i32, i16, i8}}
  aicore.copy_ub_gm %ul, %yl[0, 0], [64, 64] {atomic = add} : !aicore.tile<64x64xi64, ub>, !aicore.tile<64x64xi64, gm>
}

// -----

// RULE aicore.copy_rows C1
aicore.kernel @k(%x : !aicore.tile<64x64xf16, gm>) writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  // expected-error @+1 {{elements are f16 and f16 by f16, expected one element type by i32 or i64}}
  aicore.copy_rows %x[0, 0], %u, %u, [64, 64] : !aicore.tile<64x64xf16, gm>, !aicore.tile<64x64xf16, ub>, !aicore.tile<64x64xf16, ub>
}

// -----

// RULE aicore.copy_rows C2
aicore.kernel @k(%x : !aicore.tile<64x64xf16, gm>) writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %idx = aicore.alloc : !aicore.tile<1x64xi32, ub>
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  // expected-error @+1 {{size is 65 in 'dst', expected 1 to 64}}
  aicore.copy_rows %x[0, 0], %idx, %u, [65, 64] : !aicore.tile<64x64xf16, gm>, !aicore.tile<1x64xi32, ub>, !aicore.tile<64x64xf16, ub>
}

// -----

// RULE aicore.copy_rows C3
aicore.kernel @k(%x3 : !aicore.tile<2x64x64xf16, gm>) writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %idx = aicore.alloc : !aicore.tile<1x64xi32, ub>
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  // expected-error @+1 {{'src' has rank 3, expected 2}}
  aicore.copy_rows %x3[0, 0, 0], %idx, %u, [64, 64] : !aicore.tile<2x64x64xf16, gm>, !aicore.tile<1x64xi32, ub>, !aicore.tile<64x64xf16, ub>
}

// -----

// RULE _Load C1
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %l1 = aicore.alloc : !aicore.tile<64x64xf16, l1, nz>
  %bf = aicore.alloc : !aicore.tile<64x64xf32, l0b, zn>
  // expected-error @+1 {{elements are f16 and f32, expected one element type}}
  aicore.load_l0b %l1[0, 0], %bf, [64, 64] : !aicore.tile<64x64xf16, l1, nz>, !aicore.tile<64x64xf32, l0b, zn>
}

// -----

// RULE _Load C2
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %l1 = aicore.alloc : !aicore.tile<64x64xf16, l1, nz>
  %b = aicore.alloc : !aicore.tile<64x64xf16, l0b, zn>
  // expected-error @+1 {{size is 80 in 'dst', expected 1 to 64}}
  aicore.load_l0b %l1[0, 0], %b, [80, 64] : !aicore.tile<64x64xf16, l1, nz>, !aicore.tile<64x64xf16, l0b, zn>
}

// -----

// RULE _Load C3
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %l1 = aicore.alloc : !aicore.tile<64x64xf16, l1, nz>
  %a = aicore.alloc : !aicore.tile<64x64xf16, l0a, zz>
  // expected-error @+1 {{offset is 8 in 'src', expected a multiple of 16: whole blocks}}
  aicore.load_l0a %l1[8, 0], %a, [16, 64] : !aicore.tile<64x64xf16, l1, nz>, !aicore.tile<64x64xf16, l0a, zz>
}

// -----

// RULE aicore.load_bias C1
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %rowi = aicore.alloc : !aicore.tile<1x64xi32, l1>
  %bt = aicore.alloc : !aicore.tile<1x64xf32, bt>
  // expected-error @+1 {{elements are i32 and f32, expected f16 or f32, and f32}}
  aicore.load_bias %rowi[0, 0], %bt, [1, 64] : !aicore.tile<1x64xi32, l1>, !aicore.tile<1x64xf32, bt>
}

// -----

// RULE aicore.load_bias C2
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %row = aicore.alloc : !aicore.tile<1x64xf16, l1>
  %bt = aicore.alloc : !aicore.tile<1x64xf32, bt>
  // expected-error @+1 {{size is 65 in 'dst', expected 1 to 64}}
  aicore.load_bias %row[0, 0], %bt, [1, 65] : !aicore.tile<1x64xf16, l1>, !aicore.tile<1x64xf32, bt>
}

// -----

// RULE aicore.copy_ub_ub C1
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  %uf = aicore.alloc : !aicore.tile<64x64xf32, ub>
  // expected-error @+1 {{elements are f16 and f32, expected one element type}}
  aicore.copy_ub_ub %u[0, 0], %uf, [64, 64] : !aicore.tile<64x64xf16, ub>, !aicore.tile<64x64xf32, ub>
}

// -----

// RULE aicore.copy_ub_ub C2
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  // expected-error @+1 {{size is 65 in 'dst', expected 1 to 64}}
  aicore.copy_ub_ub %u[0, 0], %u, [65, 64] : !aicore.tile<64x64xf16, ub>, !aicore.tile<64x64xf16, ub>
}

// -----

// RULE aicore.copy_ub_ub C3
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  // expected-error @+1 {{window starts at a multiple of 16 bytes in 'src', expected one of 32}}
  aicore.copy_ub_ub %u[0, 8], %u, [64, 8] : !aicore.tile<64x64xf16, ub>, !aicore.tile<64x64xf16, ub>
}

// -----

// RULE aicore.copy_l1_gm C1
aicore.kernel @k() writes (%y : !aicore.tile<64x64xf16, gm>) on vector * 1 {
  %l1f = aicore.alloc : !aicore.tile<64x64xf32, l1, nz>
  // expected-error @+1 {{elements are f32 and f16, expected one element type}}
  aicore.copy_l1_gm %l1f, %y[0, 0], [64, 64] : !aicore.tile<64x64xf32, l1, nz>, !aicore.tile<64x64xf16, gm>
}

// -----

// RULE aicore.copy_l1_gm C2
aicore.kernel @k() writes (%y : !aicore.tile<64x64xf16, gm>) on vector * 1 {
  %l1 = aicore.alloc : !aicore.tile<64x64xf16, l1, nz>
  // expected-error @+1 {{size is 65 in 'src', expected 1 to 64}}
  aicore.copy_l1_gm %l1, %y[0, 0], [65, 64] : !aicore.tile<64x64xf16, l1, nz>, !aicore.tile<64x64xf16, gm>
}

// -----

// RULE aicore.copy_ub_l1 C1
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %uf = aicore.alloc : !aicore.tile<64x64xf32, ub>
  %l1 = aicore.alloc : !aicore.tile<64x64xf16, l1, nz>
  // expected-error @+1 {{elements are f32 and f16, expected one element type}}
  aicore.copy_ub_l1 %uf[0, 0], %l1, [64, 64] : !aicore.tile<64x64xf32, ub>, !aicore.tile<64x64xf16, l1, nz>
}

// -----

// RULE aicore.copy_ub_l1 C2
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  %l1 = aicore.alloc : !aicore.tile<64x64xf16, l1, nz>
  // expected-error @+1 {{size is 65 in 'dst', expected 1 to 64}}
  aicore.copy_ub_l1 %u[0, 0], %l1, [64, 65] : !aicore.tile<64x64xf16, ub>, !aicore.tile<64x64xf16, l1, nz>
}

// -----

// RULE aicore.copy_l1_ub C1
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %l1f = aicore.alloc : !aicore.tile<64x64xf32, l1, nz>
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  // expected-error @+1 {{elements are f32 and f16, expected one element type}}
  aicore.copy_l1_ub %l1f[0, 0], %u, [64, 64] : !aicore.tile<64x64xf32, l1, nz>, !aicore.tile<64x64xf16, ub>
}

// -----

// RULE aicore.copy_l1_ub C2
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %l1 = aicore.alloc : !aicore.tile<64x64xf16, l1, nz>
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  // expected-error @+1 {{size is 65 in 'dst', expected 1 to 64}}
  aicore.copy_l1_ub %l1[0, 0], %u, [64, 65] : !aicore.tile<64x64xf16, l1, nz>, !aicore.tile<64x64xf16, ub>
}

// -----

// RULE aicore.copy_l0c_ub C1
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %c = aicore.alloc : !aicore.tile<64x64xf32, l0c, nz>
  %ub16 = aicore.alloc : !aicore.tile<64x64xbf16, ub>
  // expected-error @+1 {{elements are f32 and bf16, expected f32 to f32 or f16, or i32 to i32}}
  aicore.copy_l0c_ub %c[0, 0], %ub16, [64, 64] : !aicore.tile<64x64xf32, l0c, nz>, !aicore.tile<64x64xbf16, ub>
}

// -----

// RULE aicore.copy_l0c_ub C2
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %c = aicore.alloc : !aicore.tile<64x64xf32, l0c, nz>
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  // expected-error @+1 {{size is 65 in 'dst', expected 1 to 64}}
  aicore.copy_l0c_ub %c[0, 0], %u, [64, 65] : !aicore.tile<64x64xf32, l0c, nz>, !aicore.tile<64x64xf16, ub>
}

// -----

// RULE aicore.load_quant C1
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %row = aicore.alloc : !aicore.tile<1x64xf16, l1>
  %fb = aicore.alloc : !aicore.tile<1x64xf32, fb>
  // expected-error @+1 {{elements are f16 and f32, expected f32}}
  aicore.load_quant %row[0, 0], %fb, [1, 64] : !aicore.tile<1x64xf16, l1>, !aicore.tile<1x64xf32, fb>
}

// -----

// RULE aicore.load_quant C2
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %rowf = aicore.alloc : !aicore.tile<1x64xf32, l1>
  %fb = aicore.alloc : !aicore.tile<1x64xf32, fb>
  // expected-error @+1 {{size is 65 in 'dst', expected 1 to 64}}
  aicore.load_quant %rowf[0, 0], %fb, [1, 65] : !aicore.tile<1x64xf32, l1>, !aicore.tile<1x64xf32, fb>
}

// -----

// RULE aicore.fill C1
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %l1l = aicore.alloc : !aicore.tile<64x64xi64, l1, nz>
  // expected-error @+1 {{fills i64, expected a number of up to 4 bytes}}
  aicore.fill %l1l, [64, 64] {value = 0.0} : !aicore.tile<64x64xi64, l1, nz>
}

// -----

// RULE aicore.fill C2
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %l1 = aicore.alloc : !aicore.tile<64x64xf16, l1, nz>
  // expected-error @+1 {{size is 65 in 'dst', expected 1 to 64}}
  aicore.fill %l1, [65, 64] {value = 0.0} : !aicore.tile<64x64xf16, l1, nz>
}

// -----

// RULE aicore.fill C3
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %l1 = aicore.alloc : !aicore.tile<64x64xf16, l1, nz>
  // expected-error @+1 {{option 'value' is missing, it is required}}
  aicore.fill %l1, [64, 64] : !aicore.tile<64x64xf16, l1, nz>
}

// -----

// RULE aicore.mmad C1
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %a = aicore.alloc : !aicore.tile<64x64xf16, l0a, zz>
  %bf = aicore.alloc : !aicore.tile<64x64xf32, l0b, zn>
  %c = aicore.alloc : !aicore.tile<64x64xf32, l0c, nz>
  // expected-error @+1 {{factors are f16 and f32, expected both f16, bf16 or f32, or i8}}
  aicore.mmad %a, %bf, %c, [64, 64, 64] : !aicore.tile<64x64xf16, l0a, zz>, !aicore.tile<64x64xf32, l0b, zn>, !aicore.tile<64x64xf32, l0c, nz>
}

// -----

// RULE aicore.mmad C1
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %a = aicore.alloc : !aicore.tile<64x64xf16, l0a, zz>
  %b = aicore.alloc : !aicore.tile<64x64xf16, l0b, zn>
  %ci = aicore.alloc : !aicore.tile<64x64xi32, l0c, nz>
  // expected-error @+1 {{'c' is i32, expected f32}}
  aicore.mmad %a, %b, %ci, [64, 64, 64] : !aicore.tile<64x64xf16, l0a, zz>, !aicore.tile<64x64xf16, l0b, zn>, !aicore.tile<64x64xi32, l0c, nz>
}

// -----

// RULE aicore.mmad C2
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %a = aicore.alloc : !aicore.tile<64x64xf16, l0a, zz>
  %b = aicore.alloc : !aicore.tile<64x64xf16, l0b, zn>
  %c = aicore.alloc : !aicore.tile<64x64xf32, l0c, nz>
  // expected-error @+1 {{size is 65 in 'b', expected 1 to 64}}
  aicore.mmad %a, %b, %c, [64, 65, 64] : !aicore.tile<64x64xf16, l0a, zz>, !aicore.tile<64x64xf16, l0b, zn>, !aicore.tile<64x64xf32, l0c, nz>
}

// -----

// RULE aicore.mmad C3
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %abig = aicore.alloc : !aicore.tile<4112x16xf16, l0a, zz>
  %bbig = aicore.alloc : !aicore.tile<16x16xf16, l0b, zn>
  %cbig = aicore.alloc : !aicore.tile<4112x16xf32, l0c, nz>
  // expected-error @+1 {{m is up to 4112, expected at most 4095}}
  aicore.mmad %abig, %bbig, %cbig, [16, 16, 16] : !aicore.tile<4112x16xf16, l0a, zz>, !aicore.tile<16x16xf16, l0b, zn>, !aicore.tile<4112x16xf32, l0c, nz>
}

// -----

// RULE aicore.mmad C4
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %a = aicore.alloc : !aicore.tile<64x64xf16, l0a, zz>
  %b = aicore.alloc : !aicore.tile<64x64xf16, l0b, zn>
  %c = aicore.alloc : !aicore.tile<64x64xf32, l0c, nz>
  // expected-error @+1 {{rounds f16 to hf32, expected f32}}
  aicore.mmad %a, %b, %c, [64, 64, 64] {hf32} : !aicore.tile<64x64xf16, l0a, zz>, !aicore.tile<64x64xf16, l0b, zn>, !aicore.tile<64x64xf32, l0c, nz>
}

// -----

// RULE aicore.fixpipe C1
aicore.kernel @k() writes (%y : !aicore.tile<64x64xf16, gm>) on vector * 1 {
  %ci = aicore.alloc : !aicore.tile<64x64xi32, l0c, nz>
  // expected-error @+1 {{elements are i32 and f16, expected f32 to f32, f32 to f16, f32 to bf16, i32 to i32 for none}}
  aicore.fixpipe %ci, %y[0, 0], [64, 64] : !aicore.tile<64x64xi32, l0c, nz>, !aicore.tile<64x64xf16, gm>
}

// -----

// RULE aicore.fixpipe C2
aicore.kernel @k() writes (%y : !aicore.tile<64x64xf16, gm>) on vector * 1 {
  %c = aicore.alloc : !aicore.tile<64x64xf32, l0c, nz>
  // expected-error @+1 {{size is 65 in 'src', expected 1 to 64}}
  aicore.fixpipe %c, %y[0, 0], [65, 64] : !aicore.tile<64x64xf32, l0c, nz>, !aicore.tile<64x64xf16, gm>
}

// -----

// RULE aicore.fixpipe C3
aicore.kernel @k() writes (%y : !aicore.tile<64x64xf16, gm>) on vector * 1 {
  %c = aicore.alloc : !aicore.tile<64x64xf32, l0c, nz>
  // expected-error @+1 {{activates by relu and slope, expected one of them}}
  aicore.fixpipe %c, %y[0, 0], [64, 64] {relu, slope = 0.5} : !aicore.tile<64x64xf32, l0c, nz>, !aicore.tile<64x64xf16, gm>
}

// -----

// RULE aicore.fixpipe C4
aicore.kernel @k() writes (%y : !aicore.tile<64x64xf16, gm>) on vector * 1 {
  %ci = aicore.alloc : !aicore.tile<64x64xi32, l0c, nz>
  // expected-error @+1 {{option 'scale' is missing, deq_f16 requires it}}
  aicore.fixpipe %ci, %y[0, 0], [64, 64] {quant = deq_f16} : !aicore.tile<64x64xi32, l0c, nz>, !aicore.tile<64x64xf16, gm>
}

// -----

// RULE aicore.fixpipe C5
aicore.kernel @k() writes (%y : !aicore.tile<64x64xf16, gm>) on vector * 1 {
  %cbig = aicore.alloc : !aicore.tile<4112x16xf32, l0c, nz>
  // expected-error @+1 {{m is up to 4112, expected at most 4095}}
  aicore.fixpipe %cbig, %y[0, 0], [16, 16] : !aicore.tile<4112x16xf32, l0c, nz>, !aicore.tile<64x64xf16, gm>
}

// -----

// RULE aicore.fixpipe C6
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %c = aicore.alloc : !aicore.tile<64x64xf32, l0c, nz>
  %l1 = aicore.alloc : !aicore.tile<64x64xf16, l1, nz>
  // expected-error @+1 {{joins elements in l1, expected gm}}
  aicore.fixpipe %c, %l1[0, 0], [64, 64] {atomic = add} : !aicore.tile<64x64xf32, l0c, nz>, !aicore.tile<64x64xf16, l1, nz>
}

// -----

// RULE aicore.fixpipe C7
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %c = aicore.alloc : !aicore.tile<64x64xf32, l0c, nz>
  %l1 = aicore.alloc : !aicore.tile<64x64xf16, l1, nz>
  // expected-error @+1 {{offset is 8 in 'dst', expected a multiple of 16: whole blocks}}
  aicore.fixpipe %c, %l1[8, 0], [16, 64] : !aicore.tile<64x64xf32, l0c, nz>, !aicore.tile<64x64xf16, l1, nz>
}

// -----

// RULE Vector C1
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %ub16 = aicore.alloc : !aicore.tile<64x64xbf16, ub>
  // expected-error @+1 {{computes in bf16, expected one of f16, f32}}
  aicore.vunary %ub16, %ub16, [64, 64] {kind = exp} : !aicore.tile<64x64xbf16, ub>, !aicore.tile<64x64xbf16, ub>
}

// -----

// RULE Vector C1
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %ui = aicore.alloc : !aicore.tile<64x64xi32, ub>
  // expected-error @+1 {{divides in i32, expected f16 or f32}}
  aicore.vbinary %ui, %ui, %ui, [64, 64] {kind = div} : !aicore.tile<64x64xi32, ub>, !aicore.tile<64x64xi32, ub>, !aicore.tile<64x64xi32, ub>
}

// -----

// RULE Vector C1
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  // expected-error @+1 {{computes in f16, expected one of i16}}
  aicore.vbinary %u, %u, %u, [64, 64] {kind = and} : !aicore.tile<64x64xf16, ub>, !aicore.tile<64x64xf16, ub>, !aicore.tile<64x64xf16, ub>
}

// -----

// RULE Vector C2
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  %uf = aicore.alloc : !aicore.tile<64x64xf32, ub>
  // expected-error @+1 {{elements are f16, f32, f16, expected one element type}}
  aicore.vbinary %u, %uf, %u, [64, 64] {kind = add} : !aicore.tile<64x64xf16, ub>, !aicore.tile<64x64xf32, ub>, !aicore.tile<64x64xf16, ub>
}

// -----

// RULE Vector C3
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  // expected-error @+1 {{size is 65 in 'a', expected 1 to 64}}
  aicore.vbinary %u, %u, %u, [64, 65] {kind = add} : !aicore.tile<64x64xf16, ub>, !aicore.tile<64x64xf16, ub>, !aicore.tile<64x64xf16, ub>
}

// -----

// RULE aicore.vcast C1
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  %ub16 = aicore.alloc : !aicore.tile<64x64xbf16, ub>
  // expected-error @+1 {{casts f16 to bf16, expected one of bf16 to f32, bf16 to i32, f16 to f32, f16 to i1, f16 to i16, f16 }}
  aicore.vcast %u, %ub16, [64, 64] : !aicore.tile<64x64xf16, ub>, !aicore.tile<64x64xbf16, ub>
}

// -----

// RULE aicore.vcast C3
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  %uf = aicore.alloc : !aicore.tile<64x64xf32, ub>
  // expected-error @+1 {{size is 65 in 'src', expected 1 to 64}}
  aicore.vcast %u, %uf, [65, 64] : !aicore.tile<64x64xf16, ub>, !aicore.tile<64x64xf32, ub>
}

// -----

// RULE aicore.vcast C4
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %uf = aicore.alloc : !aicore.tile<64x64xf32, ub>
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  // expected-error @+1 {{rounds f32 to f16, expected it to an integer}}
  aicore.vcast %uf, %u, [64, 64] {round = floor} : !aicore.tile<64x64xf32, ub>, !aicore.tile<64x64xf16, ub>
}

// -----

// RULE aicore.vbrc C2
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %col = aicore.alloc : !aicore.tile<64x1xf16, ub>
  %uf = aicore.alloc : !aicore.tile<64x64xf32, ub>
  // expected-error @+1 {{elements are f16 and f32, expected one element type}}
  aicore.vbrc %col, %uf, [64, 64] : !aicore.tile<64x1xf16, ub>, !aicore.tile<64x64xf32, ub>
}

// -----

// RULE aicore.vbrc C3
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %col = aicore.alloc : !aicore.tile<64x1xf16, ub>
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  // expected-error @+1 {{size is 65 in 'dst', expected 1 to 64}}
  aicore.vbrc %col, %u, [65, 64] : !aicore.tile<64x1xf16, ub>, !aicore.tile<64x64xf16, ub>
}

// -----

// RULE aicore.vbrc C4
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  // expected-error @+1 {{shapes are 64x64 and 64x64, expected a first with a dimension of 1}}
  aicore.vbrc %u, %u, [64, 64] : !aicore.tile<64x64xf16, ub>, !aicore.tile<64x64xf16, ub>
}

// -----

// RULE aicore.vcmp C1
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  %uf = aicore.alloc : !aicore.tile<64x64xf32, ub>
  %bits = aicore.alloc : !aicore.tile<64x64xbit, ub>
  // expected-error @+1 {{compares f16 and f32 to bit, expected f16 or f32 to bit}}
  aicore.vcmp %u, %uf, %bits, [64, 64] {kind = eq} : !aicore.tile<64x64xf16, ub>, !aicore.tile<64x64xf32, ub>, !aicore.tile<64x64xbit, ub>
}

// -----

// RULE aicore.vcmp C3
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  %bits = aicore.alloc : !aicore.tile<64x64xbit, ub>
  // expected-error @+1 {{size is 65 in 'a', expected 1 to 64}}
  aicore.vcmp %u, %u, %bits, [64, 65] {kind = eq} : !aicore.tile<64x64xf16, ub>, !aicore.tile<64x64xf16, ub>, !aicore.tile<64x64xbit, ub>
}

// -----

// RULE aicore.vcmps C1
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %ui = aicore.alloc : !aicore.tile<64x64xi32, ub>
  %bits = aicore.alloc : !aicore.tile<64x64xbit, ub>
  // expected-error @+1 {{compares i32 to bit, expected f16 or f32 to bit}}
  aicore.vcmps %ui, %bits, [64, 64] {kind = eq, value = 0.0} : !aicore.tile<64x64xi32, ub>, !aicore.tile<64x64xbit, ub>
}

// -----

// RULE aicore.vcmps C3
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  %bits = aicore.alloc : !aicore.tile<64x64xbit, ub>
  // expected-error @+1 {{size is 65 in 'src', expected 1 to 64}}
  aicore.vcmps %u, %bits, [65, 64] {kind = eq, value = 0.0} : !aicore.tile<64x64xf16, ub>, !aicore.tile<64x64xbit, ub>
}

// -----

// RULE aicore.vcmps C4
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  %bits = aicore.alloc : !aicore.tile<64x64xbit, ub>
  // expected-error @+1 {{option 'value' is missing, it is required}}
  aicore.vcmps %u, %bits, [64, 64] {kind = eq} : !aicore.tile<64x64xf16, ub>, !aicore.tile<64x64xbit, ub>
}

// -----

// RULE aicore.vsel C1
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  // expected-error @+1 {{selects f16, f16, f16 by f16, expected one element type of 2 or 4 bytes by bit}}
  aicore.vsel %u, %u, %u, %u, [64, 64] : !aicore.tile<64x64xf16, ub>, !aicore.tile<64x64xf16, ub>, !aicore.tile<64x64xf16, ub>, !aicore.tile<64x64xf16, ub>
}

// -----

// RULE aicore.vsel C3
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %bits = aicore.alloc : !aicore.tile<64x64xbit, ub>
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  // expected-error @+1 {{size is 65 in 'mask', expected 1 to 64}}
  aicore.vsel %bits, %u, %u, %u, [65, 64] : !aicore.tile<64x64xbit, ub>, !aicore.tile<64x64xf16, ub>, !aicore.tile<64x64xf16, ub>, !aicore.tile<64x64xf16, ub>
}

// -----

// RULE aicore.vsels C1
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %bits = aicore.alloc : !aicore.tile<64x64xbit, ub>
  %ui = aicore.alloc : !aicore.tile<64x64xi32, ub>
  // expected-error @+1 {{selects i32 to i32 by bit, expected f16 or f32 by bit}}
  aicore.vsels %bits, %ui, %ui, [64, 64] {value = 0.0} : !aicore.tile<64x64xbit, ub>, !aicore.tile<64x64xi32, ub>, !aicore.tile<64x64xi32, ub>
}

// -----

// RULE aicore.vsels C3
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %bits = aicore.alloc : !aicore.tile<64x64xbit, ub>
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  // expected-error @+1 {{size is 65 in 'mask', expected 1 to 64}}
  aicore.vsels %bits, %u, %u, [65, 64] {value = 0.0} : !aicore.tile<64x64xbit, ub>, !aicore.tile<64x64xf16, ub>, !aicore.tile<64x64xf16, ub>
}

// -----

// RULE aicore.vsels C4
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %bits = aicore.alloc : !aicore.tile<64x64xbit, ub>
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  // expected-error @+1 {{option 'value' is missing, it is required}}
  aicore.vsels %bits, %u, %u, [64, 64] : !aicore.tile<64x64xbit, ub>, !aicore.tile<64x64xf16, ub>, !aicore.tile<64x64xf16, ub>
}

// -----

// RULE aicore.vreduce C1
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %ul = aicore.alloc : !aicore.tile<64x64xi64, ub>
  // expected-error @+1 {{reduces i64 to i64, expected f16, f32 or i32 to itself}}
  aicore.vreduce %ul, %ul, [64, 64] {kind = sum} : !aicore.tile<64x64xi64, ub>, !aicore.tile<64x64xi64, ub>
}

// -----

// RULE aicore.vreduce C2
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  %colf = aicore.alloc : !aicore.tile<64x1xf32, ub>
  // expected-error @+1 {{reduces f16 to f32, expected f16, f32 or i32 to itself}}
  aicore.vreduce %u, %colf, [64, 64] {kind = sum} : !aicore.tile<64x64xf16, ub>, !aicore.tile<64x1xf32, ub>
}

// -----

// RULE aicore.vreduce C3
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  %col = aicore.alloc : !aicore.tile<64x1xf16, ub>
  // expected-error @+1 {{size is 65 in 'src', expected 1 to 64}}
  aicore.vreduce %u, %col, [65, 64] {kind = sum} : !aicore.tile<64x64xf16, ub>, !aicore.tile<64x1xf16, ub>
}

// -----

// RULE aicore.vtranspose C1
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %ul = aicore.alloc : !aicore.tile<64x64xi64, ub>
  // expected-error @+1 {{turns i64 to i64, expected one element type of 1, 2 or 4 bytes}}
  aicore.vtranspose %ul, %ul, [64, 64] : !aicore.tile<64x64xi64, ub>, !aicore.tile<64x64xi64, ub>
}

// -----

// RULE aicore.vtranspose C2
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  %uf = aicore.alloc : !aicore.tile<64x64xf32, ub>
  // expected-error @+1 {{turns f16 to f32, expected one element type of 1, 2 or 4 bytes}}
  aicore.vtranspose %u, %uf, [64, 64] : !aicore.tile<64x64xf16, ub>, !aicore.tile<64x64xf32, ub>
}

// -----

// RULE aicore.vtranspose C3
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  // expected-error @+1 {{size is 65 in 'src', expected 1 to 64}}
  aicore.vtranspose %u, %u, [64, 65] : !aicore.tile<64x64xf16, ub>, !aicore.tile<64x64xf16, ub>
}

// -----

// RULE aicore.viota C1
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %ul = aicore.alloc : !aicore.tile<64x64xi64, ub>
  // expected-error @+1 {{computes in i64, expected one of f16, f32, i32, i16}}
  aicore.viota %ul, [64, 64] : !aicore.tile<64x64xi64, ub>
}

// -----

// RULE aicore.viota C3
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  // expected-error @+1 {{size is 65 in 'dst', expected 1 to 64}}
  aicore.viota %u, [64, 65] : !aicore.tile<64x64xf16, ub>
}

// -----

// RULE aicore.vcompact C1
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  // expected-error @+1 {{picks f16 to f16 by f16, expected one type of 2 or 4 bytes by bit}}
  aicore.vcompact %u, %u, %u, [64, 64] : !aicore.tile<64x64xf16, ub>, !aicore.tile<64x64xf16, ub>, !aicore.tile<64x64xf16, ub>
}

// -----

// RULE aicore.vcompact C3
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  %bits = aicore.alloc : !aicore.tile<64x64xbit, ub>
  // expected-error @+1 {{size is 65 in 'src', expected 1 to 64}}
  aicore.vcompact %u, %bits, %u, [64, 65] : !aicore.tile<64x64xf16, ub>, !aicore.tile<64x64xbit, ub>, !aicore.tile<64x64xf16, ub>
}

// -----

// RULE aicore.vgather C1
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  // expected-error @+1 {{gathers f16 to f16 by f16, expected one element type by i32}}
  aicore.vgather %u, %u, %u, [64, 64] : !aicore.tile<64x64xf16, ub>, !aicore.tile<64x64xf16, ub>, !aicore.tile<64x64xf16, ub>
}

// -----

// RULE aicore.vgather C2
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  %tall = aicore.alloc : !aicore.tile<3x64xi32, ub>
  // expected-error @+1 {{index has 3 rows, expected 1 or 64 as 'dst' has}}
  aicore.vgather %u, %tall, %u, [64, 64] : !aicore.tile<64x64xf16, ub>, !aicore.tile<3x64xi32, ub>, !aicore.tile<64x64xf16, ub>
}

// -----

// RULE aicore.vgather C3
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  %ui = aicore.alloc : !aicore.tile<64x64xi32, ub>
  // expected-error @+1 {{size is 65 in 'dst', expected 1 to 64}}
  aicore.vgather %u, %ui, %u, [65, 64] : !aicore.tile<64x64xf16, ub>, !aicore.tile<64x64xi32, ub>, !aicore.tile<64x64xf16, ub>
}

// -----

// RULE aicore.vsort C1
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %ui = aicore.alloc : !aicore.tile<64x64xi32, ub>
  // expected-error @+1 {{sorts i32 to i32, expected f16 or f32 to i32}}
  aicore.vsort %ui, %ui, [64, 64] : !aicore.tile<64x64xi32, ub>, !aicore.tile<64x64xi32, ub>
}

// -----

// RULE aicore.vsort C2
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  %ui = aicore.alloc : !aicore.tile<64x64xi32, ub>
  // expected-error @+1 {{size is 65 in 'src', expected 1 to 64}}
  aicore.vsort %u, %ui, [65, 64] : !aicore.tile<64x64xf16, ub>, !aicore.tile<64x64xi32, ub>
}

// -----

// RULE aicore.vargreduce C1
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  %col = aicore.alloc : !aicore.tile<64x1xf16, ub>
  // expected-error @+1 {{reduces f16 to f16, expected f16 or f32 to i32}}
  aicore.vargreduce %u, %col, [64, 64] : !aicore.tile<64x64xf16, ub>, !aicore.tile<64x1xf16, ub>
}

// -----

// RULE aicore.vargreduce C2
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  %coli = aicore.alloc : !aicore.tile<64x1xi32, ub>
  // expected-error @+1 {{size is 65 in 'src', expected 1 to 64}}
  aicore.vargreduce %u, %coli, [64, 65] : !aicore.tile<64x64xf16, ub>, !aicore.tile<64x1xi32, ub>
}

// -----

// RULE aicore.vscan C1
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %ul = aicore.alloc : !aicore.tile<64x64xi64, ub>
  // expected-error @+1 {{scans i64 to i64, expected one of f16, f32, i32 for both}}
  aicore.vscan %ul, %ul, [64, 64] {kind = add} : !aicore.tile<64x64xi64, ub>, !aicore.tile<64x64xi64, ub>
}

// -----

// RULE aicore.vscan C2
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  // expected-error @+1 {{size is 65 in 'src', expected 1 to 64}}
  aicore.vscan %u, %u, [65, 64] {kind = add} : !aicore.tile<64x64xf16, ub>, !aicore.tile<64x64xf16, ub>
}

// -----

// RULE aicore.vscatter C1
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  %zero = aicore.affine 0 : index
  // expected-error @+1 {{scatters f16 to f16 by f16, expected one element type by i32}}
  aicore.vscatter %u, %u, %u, [64, 64] at (%zero) {kind = update} : !aicore.tile<64x64xf16, ub>, !aicore.tile<64x64xf16, ub>, !aicore.tile<64x64xf16, ub>
}

// -----

// RULE aicore.vscatter C2
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  %ui = aicore.alloc : !aicore.tile<64x64xi32, ub>
  // expected-error @+1 {{has 0 indices, expected that of the first row}}
  aicore.vscatter %u, %ui, %u, [64, 64] {kind = update} : !aicore.tile<64x64xf16, ub>, !aicore.tile<64x64xi32, ub>, !aicore.tile<64x64xf16, ub>
}

// -----

// RULE aicore.vscatter C3
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  %ui = aicore.alloc : !aicore.tile<64x64xi32, ub>
  %zero = aicore.affine 0 : index
  // expected-error @+1 {{size is 65 in 'updates', expected 1 to 64}}
  aicore.vscatter %u, %ui, %u, [65, 64] at (%zero) {kind = update} : !aicore.tile<64x64xf16, ub>, !aicore.tile<64x64xi32, ub>, !aicore.tile<64x64xf16, ub>
}

// -----

// RULE aicore.scalar C1
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %ui = aicore.alloc : !aicore.tile<64x64xi32, ub>
  %ul = aicore.alloc : !aicore.tile<64x64xi64, ub>
  // expected-error @+1 {{elements are i32, i64, i32, expected one element type}}
  aicore.scalar %ui, %ul, %ui, [64, 64] {kind = add} : !aicore.tile<64x64xi32, ub>, !aicore.tile<64x64xi64, ub>, !aicore.tile<64x64xi32, ub>
}

// -----

// RULE aicore.scalar C2
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %ui = aicore.alloc : !aicore.tile<64x64xi32, ub>
  // expected-error @+1 {{size is 65 in 'a', expected 1 to 64}}
  aicore.scalar %ui, %ui, %ui, [65, 64] {kind = add} : !aicore.tile<64x64xi32, ub>, !aicore.tile<64x64xi32, ub>, !aicore.tile<64x64xi32, ub>
}

// -----

// RULE MapInstruction G1
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %ml1 = aicore.alloc : !aicore.tile<1x4096xf16, l1>
  %a = aicore.alloc : !aicore.tile<64x64xf16, l0a, zz>
  // expected-error @+1 {{option 'kernel' is [3, 3, 3], expected two numbers in range}}
  aicore.load3d %ml1[0, 0], %a, [64, 64] {size = [16, 16], kernel = [3, 3, 3], stride = [1, 1], dilation = [1, 1], pad = [1, 1], out = [16, 16]} : !aicore.tile<1x4096xf16, l1>, !aicore.tile<64x64xf16, l0a, zz>
}

// -----

// RULE MapInstruction G2
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %ml1 = aicore.alloc : !aicore.tile<1x4096xf16, l1>
  %a = aicore.alloc : !aicore.tile<64x64xf16, l0a, zz>
  // expected-error @+1 {{option 'stride' is [0, 1], expected two numbers in range}}
  aicore.load3d %ml1[0, 0], %a, [64, 64] {size = [16, 16], kernel = [3, 3], stride = [0, 1], dilation = [1, 1], pad = [1, 1], out = [16, 16]} : !aicore.tile<1x4096xf16, l1>, !aicore.tile<64x64xf16, l0a, zz>
}

// -----

// RULE aicore.load3d C1
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %ml1 = aicore.alloc : !aicore.tile<1x4096xf16, l1>
  %af = aicore.alloc : !aicore.tile<64x64xf32, l0a, zz>
  // expected-error @+1 {{elements are f16 and f32, expected one element type}}
  aicore.load3d %ml1[0, 0], %af, [64, 64] {size = [16, 16], kernel = [3, 3], stride = [1, 1], dilation = [1, 1], pad = [1, 1], out = [16, 16]} : !aicore.tile<1x4096xf16, l1>, !aicore.tile<64x64xf32, l0a, zz>
}

// -----

// RULE aicore.load3d C2
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %ml1 = aicore.alloc : !aicore.tile<1x4096xf16, l1>
  %a = aicore.alloc : !aicore.tile<64x64xf16, l0a, zz>
  // expected-error @+1 {{size is 80 in 'dst', expected 1 to 64}}
  aicore.load3d %ml1[0, 0], %a, [80, 64] {size = [16, 16], kernel = [3, 3], stride = [1, 1], dilation = [1, 1], pad = [1, 1], out = [16, 16]} : !aicore.tile<1x4096xf16, l1>, !aicore.tile<64x64xf16, l0a, zz>
}

// -----

// RULE aicore.load3d C3
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %ml1 = aicore.alloc : !aicore.tile<1x4096xf16, l1>
  %a = aicore.alloc : !aicore.tile<64x64xf16, l0a, zz>
  // expected-error @+1 {{stride is [64, 1], expected at most 63}}
  aicore.load3d %ml1[0, 0], %a, [64, 64] {size = [16, 16], kernel = [3, 3], stride = [64, 1], dilation = [1, 1], pad = [1, 1], out = [16, 16]} : !aicore.tile<1x4096xf16, l1>, !aicore.tile<64x64xf16, l0a, zz>
}

// -----

// RULE aicore.copy_map_l1 C1
aicore.kernel @k(%mg : !aicore.tile<1x8x256xf32, gm>) writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %ml1 = aicore.alloc : !aicore.tile<1x4096xf16, l1>
  // expected-error @+1 {{copies !aicore.tile<1x8x256xf32, gm> to !aicore.tile<1x4096xf16, l1>, expected maps of one element t}}
  aicore.copy_map_l1 %mg[0, 0, 0], %ml1, [256, 144] {size = [16, 16], kernel = [3, 3], stride = [1, 1], dilation = [1, 1], pad = [1, 1], out = [16, 16]} : !aicore.tile<1x8x256xf32, gm>, !aicore.tile<1x4096xf16, l1>
}

// -----

// RULE aicore.copy_map_ub C1
aicore.kernel @k(%mg : !aicore.tile<1x8x256xf32, gm>) writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  // expected-error @+1 {{copies !aicore.tile<1x8x256xf32, gm> to !aicore.tile<64x64xf16, ub>, expected 16x16 columns to 16 of}}
  aicore.copy_map_ub %mg[0, 0, 0], %u, [8, 256] {size = [16, 16], kernel = [3, 3], stride = [1, 1], dilation = [1, 1], pad = [1, 1], out = [16, 16]} : !aicore.tile<1x8x256xf32, gm>, !aicore.tile<64x64xf16, ub>
}

// -----

// RULE aicore.vspread C1
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %mub = aicore.alloc : !aicore.tile<144x16xf32, ub>
  %uf = aicore.alloc : !aicore.tile<64x64xf32, ub>
  %zero = aicore.affine 0 : index
  // expected-error @+1 {{spreads !aicore.tile<144x16xf32, ub> to !aicore.tile<64x64xf32, ub>, expected f32 to pixels of 8 f32}}
  aicore.vspread %mub, %uf, [8, 256] at (%zero) {size = [16, 16], kernel = [3, 3], stride = [1, 1], dilation = [1, 1], pad = [1, 1], out = [16, 16], value = 0.0} : !aicore.tile<144x16xf32, ub>, !aicore.tile<64x64xf32, ub>
}

// -----

// RULE aicore.vtap C1
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %uf = aicore.alloc : !aicore.tile<64x64xf32, ub>
  %msum = aicore.alloc : !aicore.tile<256x8xf32, ub>
  // expected-error @+1 {{'src' is !aicore.tile<64x64xf32, ub>, expected pixels of 8 f32}}
  aicore.vtap %uf, %msum, [8, 256] {size = [16, 16], kernel = [3, 3], stride = [1, 1], dilation = [1, 1], pad = [1, 1], out = [16, 16], kind = max, tap = [0, 1], first} : !aicore.tile<64x64xf32, ub>, !aicore.tile<256x8xf32, ub>
}

// -----

// RULE aicore.vtap C2
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %mpx = aicore.alloc : !aicore.tile<324x8xf32, ub>
  %msum = aicore.alloc : !aicore.tile<256x8xf32, ub>
  // expected-error @+1 {{tap is [0, 3], expected one in a kernel of [3, 3]}}
  aicore.vtap %mpx, %msum, [8, 256] {size = [16, 16], kernel = [3, 3], stride = [1, 1], dilation = [1, 1], pad = [1, 1], out = [16, 16], kind = max, tap = [0, 3], first} : !aicore.tile<324x8xf32, ub>, !aicore.tile<256x8xf32, ub>
}

// -----

// RULE aicore.scalar_load C1
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  // expected-error @+1 {{loads f16, expected i32 or i64}}
  %n = aicore.scalar_load %u[0, 0], [1, 1] : !aicore.tile<64x64xf16, ub>
}

// -----

// RULE aicore.scalar_load C2
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %idx = aicore.alloc : !aicore.tile<1x64xi32, ub>
  // expected-error @+1 {{loads [1, 2], expected one element}}
  %n = aicore.scalar_load %idx[0, 0], [1, 2] : !aicore.tile<1x64xi32, ub>
}

// -----

// RULE aicore.scalar_store C1
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  %zero = aicore.affine 0 : index
  // expected-error @+1 {{stores f16, expected i32 or i64}}
  aicore.scalar_store %u, [1, 1] at (%zero) : !aicore.tile<64x64xf16, ub>
}

// -----

// RULE aicore.scalar_store C2
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %idx = aicore.alloc : !aicore.tile<1x64xi32, ub>
  %zero = aicore.affine 0 : index
  // expected-error @+1 {{stores [1, 2], expected one element}}
  aicore.scalar_store %idx, [1, 2] at (%zero) : !aicore.tile<1x64xi32, ub>
}

// -----

// RULE aicore.scalar_store C3
aicore.kernel @k() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %idx = aicore.alloc : !aicore.tile<1x64xi32, ub>
  // expected-error @+1 {{stores 0 indices, expected one}}
  aicore.scalar_store %idx, [1, 1] : !aicore.tile<1x64xi32, ub>
}

// -----

// RULE aicore.alloc C1
aicore.kernel @k() writes (%y : !aicore.tile<64x64xf16, gm>) on vector * 1 {
  // expected-error @+1 {{allocates in gm, expected a memory space of the core}}
  %t = aicore.alloc : !aicore.tile<64x64xf16, gm>
}

// -----

// RULE aicore.alloc C2
aicore.kernel @k() writes (%y : !aicore.tile<64x64xf16, gm>) on vector * 1 {
  // expected-error @+1 {{has 5 buffers, expected 1 to 4}}
  %t = aicore.alloc buffers 5 : !aicore.tile<64x64xf16, ub>
}

// -----

// RULE aicore.alloc C3
aicore.kernel @k() writes (%y : !aicore.tile<64x64xf16, gm>) on vector * 1 {
  // expected-error @+1 {{is at address 48 of ub, expected a multiple of 32}}
  %t = aicore.alloc at 48 : !aicore.tile<64x64xf16, ub>
}

// -----

// RULE aicore.alloc C3
aicore.kernel @k() writes (%y : !aicore.tile<64x64xf16, gm>) on vector * 1 {
  // expected-error @+1 {{is at address 256 of l0a, expected a multiple of 512}}
  %t = aicore.alloc at 256 : !aicore.tile<64x64xf16, l0a, zz>
}

// -----

// RULE Instruction I2
aicore.kernel @k() writes (%y : !aicore.tile<64x64xf16, gm>) on vector * 1 {
  %t = aicore.alloc : !aicore.tile<2x64x64xf16, ub>
  // expected-error @+1 {{'dst' has rank 3, expected 2 (or more in gm)}}
  aicore.vdup %t, [64, 64] {value = 0.0} : !aicore.tile<2x64x64xf16, ub>
}

// -----

// RULE aicore.scalar_load C3
aicore.kernel @k() writes (%y : !aicore.tile<64x64xf16, gm>) on vector * 1 {
  %t = aicore.alloc : !aicore.tile<1x8xi32, ub>
  // expected-error @+1 {{has 0 results, expected one}}
  "aicore.scalar_load"(%t) <{offsets = array<i64: 0, 0>, sizes = array<i64: 1, 1>}> : (!aicore.tile<1x8xi32, ub>) -> ()
}

// -----

// RULE aicore.section C1
aicore.kernel @k() writes (%y : !aicore.tile<64x64xf16, gm>) on mix * 1 {
  // expected-error @+1 {{is of 'tensor', expected cube or vector}}
  aicore.section tensor {
  }
  aicore.section vector {
  }
}

// -----

// RULE aicore.section C2
aicore.kernel @k() writes (%y : !aicore.tile<64x64xf16, gm>) on vector * 1 {
  // expected-error @+1 {{is not at the top level of a mix kernel, expected to be}}
  aicore.section cube {
  }
}

// -----

// RULE aicore.kernel C1
  // expected-error @+1 {{argument is !aicore.tile<64x64xf16, ub>, expected a tile in gm}}
aicore.kernel @k() writes (%y : !aicore.tile<64x64xf16, ub>) on vector * 1 {

}

// -----

// RULE aicore.kernel C2
  // expected-error @+1 {{core kind is 'tensor', expected cube, vector or mix}}
aicore.kernel @k() writes (%y : !aicore.tile<64x64xf16, gm>) on tensor * 1 {

}

// -----

// RULE aicore.kernel C3
  // expected-error @+1 {{runs on 0 cores, expected at least 1}}
aicore.kernel @k() writes (%y : !aicore.tile<64x64xf16, gm>) on vector * 0 {

}

// -----

// RULE aicore.kernel C4
// expected-error @+1 {{writes 2 arguments, expected 0 to 1}}
"aicore.kernel"() <{sym_name = "k", core = "vector", blocks = 1 : i64, outputs = 2 : i64}> ({
^bb0(%y : !aicore.tile<64x64xf16, gm>):
}) : () -> ()

// -----

// RULE aicore.kernel C5
  // expected-error @+1 {{has sections cube, expected one cube and one vector}}
aicore.kernel @k() writes (%y : !aicore.tile<64x64xf16, gm>) on mix * 1 {
  aicore.section cube {
  }
}

// -----

// RULE aicore.kernel C6
// expected-error @+1 {{aicore.vunary uses 't', expected it to be defined before, in the same block or around it}}
aicore.kernel @k() writes (%y : !aicore.tile<64x64xf16, gm>) on vector * 1 {
  aicore.vunary %t, %t, [1, 64] {kind = exp} : !aicore.tile<1x64xf16, ub>, !aicore.tile<1x64xf16, ub>
  %t = aicore.alloc : !aicore.tile<1x64xf16, ub>
}

// -----

// RULE aicore.kernel C6
// expected-error @+1 {{aicore.copy_ub_gm uses 't', expected it to be defined before, in the same block or around it}}
aicore.kernel @k() writes (%y : !aicore.tile<64x64xf16, gm>) on vector * 1 {
  aicore.copy_ub_gm %t, %y[0, 0], [1, 64] : !aicore.tile<1x64xf16, ub>, !aicore.tile<64x64xf16, gm>
  aicore.for (%r : %vr) in [64] by [1] {
    %t = aicore.alloc : !aicore.tile<1x64xf16, ub>
  }
}

// -----

// RULE aicore.for C1
aicore.kernel @k() writes (%y : !aicore.tile<64x64xf16, gm>) on vector * 1 {
  // expected-error @+1 {{has 2 extents and 1 steps}}
  aicore.for (%r : %vr) in [64, 64] by [16] {
  }
}

// -----

// RULE aicore.for C2
aicore.kernel @k() writes (%y : !aicore.tile<64x64xf16, gm>) on vector * 1 {
  aicore.for (%r : %vr) in [64] by [16] {
    // expected-error @+1 {{runs over cores inside a loop, expected the kernel's top level}}
  aicore.for (%q : %vq) in [64] by [16] over cores {
  }
  }
}

// -----

// RULE aicore.for C3
aicore.kernel @k() writes (%y : !aicore.tile<64x64xf16, gm>) on vector * 1 {
  // expected-error @+1 {{goes by strips, expected two dimensions over cores}}
  aicore.for (%r : %vr) in [64] by [16] over cores strips of 2 {
  }
}

// -----

// RULE aicore.for C4
aicore.kernel @k() writes (%y : !aicore.tile<64x64xf16, gm>) on vector * 1 {
  // expected-error @+1 {{runs over subcores, expected it in a vector section}}
  aicore.for (%r : %vr) in [64] by [16] over subcores {
  }
}

// -----

// RULE aicore.launch C1
// expected-error @+1 {{names no kernel, expected a symbol}}
"aicore.launch"() : () -> ()

// -----

// RULE aicore.workspace C1
aicore.kernel @k() writes (%y : !aicore.tile<64x64xf16, gm>) on vector * 1 {
  // expected-error @+1 {{is !aicore.tile<64x64xf16, ub>, expected a row-major tile in gm}}
  %w = aicore.workspace : !aicore.tile<64x64xf16, ub>
}

// -----

// RULE aicore.workspace C2
aicore.kernel @k() writes (%y : !aicore.tile<64x64xf16, gm>) on vector * 1 {
  // expected-error @+1 {{has 5 buffers, expected 1 to 4}}
  %w = aicore.workspace buffers 5 : !aicore.tile<64x64xf16, gm>
}

// -----

// RULE aicore.workspace C3
aicore.kernel @k() writes (%y : !aicore.tile<64x64xf16, gm>) on vector * 1 {
  aicore.for (%r : %vr) in [64] by [16] {
    // expected-error @+1 {{is inside a loop or section, expected the kernel's top level}}
    %w = aicore.workspace : !aicore.tile<64x64xf16, gm>
  }
}

// -----

// RULE aicore.take C1
aicore.kernel @k() writes (%y : !aicore.tile<64x64xf16, gm>) on vector * 1 {
  %t = aicore.alloc : !aicore.tile<64x64xf16, ub>
  // expected-error @+1 {{takes from no workspace, expected one}}
  %s = aicore.take %t : !aicore.tile<64x64xf16, ub>
}

// -----

// RULE CrossFlag C1
aicore.kernel @k() writes (%y : !aicore.tile<64x64xf16, gm>) on vector * 1 {
  // expected-error @+1 {{is of DMA, expected one of S, MTE2, MTE1, M, FIX, V, MTE3}}
  aicore.cross_set DMA, 0 mode 0
}

// -----

// RULE CrossFlag C2
aicore.kernel @k() writes (%y : !aicore.tile<64x64xf16, gm>) on vector * 1 {
  // expected-error @+1 {{has ids 15 to 16, expected 0 to 15}}
  aicore.cross_set MTE3, 15 of 2 mode 0
}

// -----

// RULE CrossFlag C3
aicore.kernel @k() writes (%y : !aicore.tile<64x64xf16, gm>) on vector * 1 {
  // expected-error @+1 {{has mode 3, expected one of 0, 1, 2}}
  aicore.cross_set MTE3, 0 mode 3
}

// -----

// RULE CrossFlag C4
aicore.kernel @k() writes (%y : !aicore.tile<64x64xf16, gm>) on vector * 1 {
  // expected-error @+1 {{has mode 2 outside a section, expected it in a mix kernel}}
  aicore.cross_wait MTE2, 0
}

// -----

// RULE aicore.sync_all C1
aicore.kernel @k() writes (%y : !aicore.tile<64x64xf16, gm>) on vector * 1 {
  // expected-error @+1 {{holds cube cores, expected all or vector}}
  aicore.sync_all cube
}

// -----

// RULE aicore.bound C1
aicore.kernel @k() writes (%y : !aicore.tile<64x64xf16, gm>) on vector * 1 {
  // expected-error @+1 {{is not of an index, expected one and an index result}}
  %b = "aicore.bound"(%y) <{by = 1 : i64, low = 0 : i64, high = 2 : i64}> : (!aicore.tile<64x64xf16, gm>) -> index
}

// -----

// RULE aicore.bound C2
aicore.kernel @k() writes (%y : !aicore.tile<64x64xf16, gm>) on vector * 1 {
  %z = aicore.affine 0 : index
  // expected-error @+1 {{is by 0, expected at least 1}}
  %b = aicore.bound %z by 0 in [0, 2] : index
}

// -----

// RULE aicore.bound C3
aicore.kernel @k() writes (%y : !aicore.tile<64x64xf16, gm>) on vector * 1 {
  %z = aicore.affine 0 : index
  // expected-error @+1 {{is in [16, 8], expected bounds in order}}
  %b = aicore.bound %z by 8 in [16, 8] : index
}

// -----

// RULE aicore.sub_block_idx C1
aicore.kernel @k() writes (%y : !aicore.tile<64x64xf16, gm>) on vector * 1 {
  // expected-error @+1 {{tells vector cores apart, expected it in a vector section}}
  %i = aicore.sub_block_idx : index
}

// -----

// RULE Flag C1
aicore.kernel @k() writes (%y : !aicore.tile<64x64xf16, gm>) on vector * 1 {
  // expected-error @+1 {{is from V to V, expected two of S, MTE2, MTE1, M, FIX, V, MTE3}}
  aicore.set_flag V -> V, 0
}

// -----

// RULE Flag C2
aicore.kernel @k() writes (%y : !aicore.tile<64x64xf16, gm>) on vector * 1 {
  // expected-error @+1 {{has ids 7 to 8, expected 0 to 7}}
  aicore.wait_flag MTE2 -> V, 7 of 2
}

// -----

// RULE aicore.pipe_barrier C1
aicore.kernel @k() writes (%y : !aicore.tile<64x64xf16, gm>) on vector * 1 {
  // expected-error @+1 {{is of DMA, expected ALL or one of S, MTE2, MTE1, M, FIX, V, MTE3}}
  aicore.pipe_barrier DMA
}

// -----

// RULE aicore.view C1
func.func @main(%x : tensor<2x3xf16>) -> tensor<5xf16> {
  // expected-error @+1 {{is tensor<2x3xf16> to tensor<5xf16>, expected the same elements}}
  %y = aicore.view %x : (tensor<2x3xf16>) -> tensor<5xf16>
  func.return %y : tensor<5xf16>
}

// -----

// RULE aicore.strided C1
aicore.kernel @k(%x : !aicore.tile<64x64xf16, gm>) writes (%y : !aicore.tile<64x64xf16, gm>) on vector * 1 {
  // expected-error @+1 {{is !aicore.tile<64x64xf16, gm> as !aicore.tile<64x64xf32, gm>, expected row-major tiles of one eleme}}
  %t = aicore.strided %x, 0, [64, 1] : !aicore.tile<64x64xf16, gm>, !aicore.tile<64x64xf32, gm>
}

// -----

// RULE aicore.strided C2
aicore.kernel @k(%x : !aicore.tile<64x64xf16, gm>) writes (%y : !aicore.tile<64x64xf16, gm>) on vector * 1 {
  // expected-error @+1 {{offset is 0, strides are [64], expected 2 strides and none negative}}
  %t = aicore.strided %x, 0, [64] : !aicore.tile<64x64xf16, gm>, !aicore.tile<64x64xf16, gm>
}

// -----

// RULE aicore.strided C3
aicore.kernel @k(%x : !aicore.tile<64x64xf16, gm>) writes (%y : !aicore.tile<64x64xf16, gm>) on vector * 1 {
  // expected-error @+1 {{last stride is 64, expected 1}}
  %t = aicore.strided %x, 0, [1, 64] : !aicore.tile<64x64xf16, gm>, !aicore.tile<64x64xf16, gm>
}

// -----

// RULE aicore.strided C4
aicore.kernel @k(%x : !aicore.tile<64x64xf16, gm>) writes (%y : !aicore.tile<64x64xf16, gm>) on vector * 1 {
  // expected-error @+1 {{reaches element 4096 of 4096, expected all to lie in the tile}}
  %t = aicore.strided %x, 1, [64, 1] : !aicore.tile<64x64xf16, gm>, !aicore.tile<64x64xf16, gm>
}
