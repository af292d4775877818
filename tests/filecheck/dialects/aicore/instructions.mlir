// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s | ge-opt - | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Every instruction prints as it is read, from its own text and from the generic one.

// CHECK-LABEL: aicore.kernel @copy_gm_l1(
// CHECK: aicore.copy_gm_l1 %x[0, 0], %l1, [64, 64] {l2_hint = bypass} :
aicore.kernel @copy_gm_l1(%x : !aicore.tile<64x64xf16, gm>) writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %l1 = aicore.alloc : !aicore.tile<64x64xf16, l1, nz>
  aicore.copy_gm_l1 %x[0, 0], %l1, [64, 64] {l2_hint = bypass} : !aicore.tile<64x64xf16, gm>, !aicore.tile<64x64xf16, l1, nz>
}

// CHECK-LABEL: aicore.kernel @copy_gm_l1_2(
// CHECK: aicore.copy_gm_l1 %wz[0, 0], %l1z, [64, 64] :
aicore.kernel @copy_gm_l1_2(%wz : !aicore.tile<64x64xf16, gm, zn>) writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %l1z = aicore.alloc : !aicore.tile<64x64xf16, l1, zn>
  aicore.copy_gm_l1 %wz[0, 0], %l1z, [64, 64] : !aicore.tile<64x64xf16, gm, zn>, !aicore.tile<64x64xf16, l1, zn>
}

// CHECK-LABEL: aicore.kernel @copy_gm_ub(
// CHECK: aicore.copy_gm_ub %x[0, 0], %u, [64, 64] :
aicore.kernel @copy_gm_ub(%x : !aicore.tile<64x64xf16, gm>) writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  aicore.copy_gm_ub %x[0, 0], %u, [64, 64] : !aicore.tile<64x64xf16, gm>, !aicore.tile<64x64xf16, ub>
}

// CHECK-LABEL: aicore.kernel @copy_ub_gm(
// CHECK: aicore.copy_ub_gm %uf, %yf[0, 0], [64, 64] {atomic = add} :
aicore.kernel @copy_ub_gm() writes (%yf : !aicore.tile<64x64xf32, gm>) on vector * 1 {
  %uf = aicore.alloc : !aicore.tile<64x64xf32, ub>
  aicore.copy_ub_gm %uf, %yf[0, 0], [64, 64] {atomic = add} : !aicore.tile<64x64xf32, ub>, !aicore.tile<64x64xf32, gm>
}

// CHECK-LABEL: aicore.kernel @copy_rows(
// CHECK: aicore.copy_rows %x[0, 0], %idx, %u, [64, 64] {wraps} :
aicore.kernel @copy_rows(%x : !aicore.tile<64x64xf16, gm>) writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %idx = aicore.alloc : !aicore.tile<1x64xi32, ub>
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  aicore.copy_rows %x[0, 0], %idx, %u, [64, 64] {wraps} : !aicore.tile<64x64xf16, gm>, !aicore.tile<1x64xi32, ub>, !aicore.tile<64x64xf16, ub>
}

// CHECK-LABEL: aicore.kernel @copy_ub_ub(
// CHECK: aicore.copy_ub_ub %u[0, 16], %u, [64, 48] :
aicore.kernel @copy_ub_ub() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  aicore.copy_ub_ub %u[0, 16], %u, [64, 48] : !aicore.tile<64x64xf16, ub>, !aicore.tile<64x64xf16, ub>
}

// CHECK-LABEL: aicore.kernel @copy_l1_gm(
// CHECK: aicore.copy_l1_gm %l1, %y[0, 0], [64, 64] :
aicore.kernel @copy_l1_gm() writes (%y : !aicore.tile<64x64xf16, gm>) on vector * 1 {
  %l1 = aicore.alloc : !aicore.tile<64x64xf16, l1, nz>
  aicore.copy_l1_gm %l1, %y[0, 0], [64, 64] : !aicore.tile<64x64xf16, l1, nz>, !aicore.tile<64x64xf16, gm>
}

// CHECK-LABEL: aicore.kernel @copy_ub_l1(
// CHECK: aicore.copy_ub_l1 %u[0, 0], %l1, [64, 64] :
aicore.kernel @copy_ub_l1() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  %l1 = aicore.alloc : !aicore.tile<64x64xf16, l1, nz>
  aicore.copy_ub_l1 %u[0, 0], %l1, [64, 64] : !aicore.tile<64x64xf16, ub>, !aicore.tile<64x64xf16, l1, nz>
}

// CHECK-LABEL: aicore.kernel @copy_l1_ub(
// CHECK: aicore.copy_l1_ub %l1[0, 0], %u, [64, 64] :
aicore.kernel @copy_l1_ub() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %l1 = aicore.alloc : !aicore.tile<64x64xf16, l1, nz>
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  aicore.copy_l1_ub %l1[0, 0], %u, [64, 64] : !aicore.tile<64x64xf16, l1, nz>, !aicore.tile<64x64xf16, ub>
}

// CHECK-LABEL: aicore.kernel @copy_l0c_ub(
// CHECK: aicore.copy_l0c_ub %c[0, 0], %u, [64, 64] :
aicore.kernel @copy_l0c_ub() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %c = aicore.alloc : !aicore.tile<64x64xf32, l0c, nz>
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  aicore.copy_l0c_ub %c[0, 0], %u, [64, 64] : !aicore.tile<64x64xf32, l0c, nz>, !aicore.tile<64x64xf16, ub>
}

// CHECK-LABEL: aicore.kernel @load_l0a(
// CHECK: aicore.load_l0a %l1[0, 16], %a, [64, 48] {transpose} :
aicore.kernel @load_l0a() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %l1 = aicore.alloc : !aicore.tile<64x64xf16, l1, nz>
  %a = aicore.alloc : !aicore.tile<64x64xf16, l0a, zz>
  aicore.load_l0a %l1[0, 16], %a, [64, 48] {transpose} : !aicore.tile<64x64xf16, l1, nz>, !aicore.tile<64x64xf16, l0a, zz>
}

// CHECK-LABEL: aicore.kernel @load_l0b(
// CHECK: aicore.load_l0b %l1[16, 0], %b, [48, 64] :
aicore.kernel @load_l0b() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %l1 = aicore.alloc : !aicore.tile<64x64xf16, l1, nz>
  %b = aicore.alloc : !aicore.tile<64x64xf16, l0b, zn>
  aicore.load_l0b %l1[16, 0], %b, [48, 64] : !aicore.tile<64x64xf16, l1, nz>, !aicore.tile<64x64xf16, l0b, zn>
}

// CHECK-LABEL: aicore.kernel @load_bias(
// CHECK: aicore.load_bias %row[0, 0], %bt, [1, 64] :
aicore.kernel @load_bias() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %row = aicore.alloc : !aicore.tile<1x64xf16, l1>
  %bt = aicore.alloc : !aicore.tile<1x64xf32, bt>
  aicore.load_bias %row[0, 0], %bt, [1, 64] : !aicore.tile<1x64xf16, l1>, !aicore.tile<1x64xf32, bt>
}

// CHECK-LABEL: aicore.kernel @load_quant(
// CHECK: aicore.load_quant %rowf[0, 0], %fb, [1, 64] :
aicore.kernel @load_quant() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %rowf = aicore.alloc : !aicore.tile<1x64xf32, l1>
  %fb = aicore.alloc : !aicore.tile<1x64xf32, fb>
  aicore.load_quant %rowf[0, 0], %fb, [1, 64] : !aicore.tile<1x64xf32, l1>, !aicore.tile<1x64xf32, fb>
}

// CHECK-LABEL: aicore.kernel @fill(
// CHECK: aicore.fill %l1, [64, 64] {value = 0.0} :
aicore.kernel @fill() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %l1 = aicore.alloc : !aicore.tile<64x64xf16, l1, nz>
  aicore.fill %l1, [64, 64] {value = 0.0} : !aicore.tile<64x64xf16, l1, nz>
}

// CHECK-LABEL: aicore.kernel @fill_l0(
// CHECK: aicore.fill_l0 %a, [64, 64] {value = 1.5} :
aicore.kernel @fill_l0() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %a = aicore.alloc : !aicore.tile<64x64xf16, l0a, zz>
  aicore.fill_l0 %a, [64, 64] {value = 1.5} : !aicore.tile<64x64xf16, l0a, zz>
}

// CHECK-LABEL: aicore.kernel @mmad(
// CHECK: aicore.mmad %a, %b, %bt, %c, [64, 64, 64] {init = bias} :
aicore.kernel @mmad() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %a = aicore.alloc : !aicore.tile<64x64xf16, l0a, zz>
  %b = aicore.alloc : !aicore.tile<64x64xf16, l0b, zn>
  %bt = aicore.alloc : !aicore.tile<1x64xf32, bt>
  %c = aicore.alloc : !aicore.tile<64x64xf32, l0c, nz>
  aicore.mmad %a, %b, %bt, %c, [64, 64, 64] {init = bias} : !aicore.tile<64x64xf16, l0a, zz>, !aicore.tile<64x64xf16, l0b, zn>, !aicore.tile<1x64xf32, bt>, !aicore.tile<64x64xf32, l0c, nz>
}

// CHECK-LABEL: aicore.kernel @mmad_2(
// CHECK: aicore.mmad %af, %bf, %c, [64, 64, 64] {init = acc, hf32, unit_flag} :
aicore.kernel @mmad_2() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %af = aicore.alloc : !aicore.tile<64x64xf32, l0a, zz>
  %bf = aicore.alloc : !aicore.tile<64x64xf32, l0b, zn>
  %c = aicore.alloc : !aicore.tile<64x64xf32, l0c, nz>
  aicore.mmad %af, %bf, %c, [64, 64, 64] {init = acc, hf32, unit_flag} : !aicore.tile<64x64xf32, l0a, zz>, !aicore.tile<64x64xf32, l0b, zn>, !aicore.tile<64x64xf32, l0c, nz>
}

// CHECK-LABEL: aicore.kernel @mmad_3(
// CHECK: aicore.mmad %a8, %b8, %ci, [64, 64, 64] :
aicore.kernel @mmad_3() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %a8 = aicore.alloc : !aicore.tile<64x64xi8, l0a, zz>
  %b8 = aicore.alloc : !aicore.tile<64x64xi8, l0b, zn>
  %ci = aicore.alloc : !aicore.tile<64x64xi32, l0c, nz>
  aicore.mmad %a8, %b8, %ci, [64, 64, 64] : !aicore.tile<64x64xi8, l0a, zz>, !aicore.tile<64x64xi8, l0b, zn>, !aicore.tile<64x64xi32, l0c, nz>
}

// CHECK-LABEL: aicore.kernel @fixpipe(
// CHECK: aicore.fixpipe %c, %y[0, 0], [64, 64] {relu, unit_flag} :
aicore.kernel @fixpipe() writes (%y : !aicore.tile<64x64xf16, gm>) on vector * 1 {
  %c = aicore.alloc : !aicore.tile<64x64xf32, l0c, nz>
  aicore.fixpipe %c, %y[0, 0], [64, 64] {relu, unit_flag} : !aicore.tile<64x64xf32, l0c, nz>, !aicore.tile<64x64xf16, gm>
}

// CHECK-LABEL: aicore.kernel @fixpipe_2(
// CHECK: aicore.fixpipe %ci, %fb, %y[0, 0], [64, 64] {quant = vdeq_f16} :
aicore.kernel @fixpipe_2() writes (%y : !aicore.tile<64x64xf16, gm>) on vector * 1 {
  %ci = aicore.alloc : !aicore.tile<64x64xi32, l0c, nz>
  %fb = aicore.alloc : !aicore.tile<1x64xf32, fb>
  aicore.fixpipe %ci, %fb, %y[0, 0], [64, 64] {quant = vdeq_f16} : !aicore.tile<64x64xi32, l0c, nz>, !aicore.tile<1x64xf32, fb>, !aicore.tile<64x64xf16, gm>
}

// CHECK-LABEL: aicore.kernel @fixpipe_3(
// CHECK: aicore.fixpipe %c, %fb, %fb, %yi8[0, 0], [64, 64] {quant = vq8, prelu} :
aicore.kernel @fixpipe_3() writes (%yi8 : !aicore.tile<64x64xi8, gm>) on vector * 1 {
  %c = aicore.alloc : !aicore.tile<64x64xf32, l0c, nz>
  %fb = aicore.alloc : !aicore.tile<1x64xf32, fb>
  aicore.fixpipe %c, %fb, %fb, %yi8[0, 0], [64, 64] {quant = vq8, prelu} : !aicore.tile<64x64xf32, l0c, nz>, !aicore.tile<1x64xf32, fb>, !aicore.tile<1x64xf32, fb>, !aicore.tile<64x64xi8, gm>
}

// CHECK-LABEL: aicore.kernel @fixpipe_4(
// CHECK: aicore.fixpipe %c, %yi8[0, 0], [64, 64] {quant = q8, scale = 0.5, slope = 0.25} :
aicore.kernel @fixpipe_4() writes (%yi8 : !aicore.tile<64x64xi8, gm>) on vector * 1 {
  %c = aicore.alloc : !aicore.tile<64x64xf32, l0c, nz>
  aicore.fixpipe %c, %yi8[0, 0], [64, 64] {quant = q8, scale = 0.5, slope = 0.25} : !aicore.tile<64x64xf32, l0c, nz>, !aicore.tile<64x64xi8, gm>
}

// CHECK-LABEL: aicore.kernel @fixpipe_5(
// CHECK: aicore.fixpipe %c, %yf[0, 0], [64, 64] {atomic = add} :
aicore.kernel @fixpipe_5() writes (%yf : !aicore.tile<64x64xf32, gm>) on vector * 1 {
  %c = aicore.alloc : !aicore.tile<64x64xf32, l0c, nz>
  aicore.fixpipe %c, %yf[0, 0], [64, 64] {atomic = add} : !aicore.tile<64x64xf32, l0c, nz>, !aicore.tile<64x64xf32, gm>
}

// CHECK-LABEL: aicore.kernel @fixpipe_6(
// CHECK: aicore.fixpipe %c, %l1[0, 0], [64, 64] :
aicore.kernel @fixpipe_6() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %c = aicore.alloc : !aicore.tile<64x64xf32, l0c, nz>
  %l1 = aicore.alloc : !aicore.tile<64x64xf16, l1, nz>
  aicore.fixpipe %c, %l1[0, 0], [64, 64] : !aicore.tile<64x64xf32, l0c, nz>, !aicore.tile<64x64xf16, l1, nz>
}

// CHECK-LABEL: aicore.kernel @vunary(
// CHECK: aicore.vunary %u, %u, [64, 64] {kind = exp} :
aicore.kernel @vunary() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  aicore.vunary %u, %u, [64, 64] {kind = exp} : !aicore.tile<64x64xf16, ub>, !aicore.tile<64x64xf16, ub>
}

// CHECK-LABEL: aicore.kernel @vunary_2(
// CHECK: aicore.vunary %us, %us, [64, 64] {kind = not} :
aicore.kernel @vunary_2() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %us = aicore.alloc : !aicore.tile<64x64xi16, ub>
  aicore.vunary %us, %us, [64, 64] {kind = not} : !aicore.tile<64x64xi16, ub>, !aicore.tile<64x64xi16, ub>
}

// CHECK-LABEL: aicore.kernel @vbinary(
// CHECK: aicore.vbinary %ui, %ui, %ui, [64, 64] {kind = max} :
aicore.kernel @vbinary() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %ui = aicore.alloc : !aicore.tile<64x64xi32, ub>
  aicore.vbinary %ui, %ui, %ui, [64, 64] {kind = max} : !aicore.tile<64x64xi32, ub>, !aicore.tile<64x64xi32, ub>, !aicore.tile<64x64xi32, ub>
}

// CHECK-LABEL: aicore.kernel @vscalar(
// CHECK: aicore.vscalar %uf, %uf, [64, 64] {kind = axpy, value = 2.0} :
aicore.kernel @vscalar() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %uf = aicore.alloc : !aicore.tile<64x64xf32, ub>
  aicore.vscalar %uf, %uf, [64, 64] {kind = axpy, value = 2.0} : !aicore.tile<64x64xf32, ub>, !aicore.tile<64x64xf32, ub>
}

// CHECK-LABEL: aicore.kernel @vfma(
// CHECK: aicore.vfma %uf, %uf, %uf, [64, 64] {kind = muladdrelu} :
aicore.kernel @vfma() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %uf = aicore.alloc : !aicore.tile<64x64xf32, ub>
  aicore.vfma %uf, %uf, %uf, [64, 64] {kind = muladdrelu} : !aicore.tile<64x64xf32, ub>, !aicore.tile<64x64xf32, ub>, !aicore.tile<64x64xf32, ub>
}

// CHECK-LABEL: aicore.kernel @vcast(
// CHECK: aicore.vcast %ub16, %uf, [64, 64] :
aicore.kernel @vcast() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %ub16 = aicore.alloc : !aicore.tile<64x64xbf16, ub>
  %uf = aicore.alloc : !aicore.tile<64x64xf32, ub>
  aicore.vcast %ub16, %uf, [64, 64] : !aicore.tile<64x64xbf16, ub>, !aicore.tile<64x64xf32, ub>
}

// CHECK-LABEL: aicore.kernel @vcast_2(
// CHECK: aicore.vcast %uf, %ui, [64, 64] {round = floor} :
aicore.kernel @vcast_2() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %uf = aicore.alloc : !aicore.tile<64x64xf32, ub>
  %ui = aicore.alloc : !aicore.tile<64x64xi32, ub>
  aicore.vcast %uf, %ui, [64, 64] {round = floor} : !aicore.tile<64x64xf32, ub>, !aicore.tile<64x64xi32, ub>
}

// CHECK-LABEL: aicore.kernel @vdup(
// CHECK: aicore.vdup %uf, [64, 64] {value = 2.0} :
aicore.kernel @vdup() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %uf = aicore.alloc : !aicore.tile<64x64xf32, ub>
  aicore.vdup %uf, [64, 64] {value = 2.0} : !aicore.tile<64x64xf32, ub>
}

// CHECK-LABEL: aicore.kernel @vbrc(
// CHECK: aicore.vbrc %col, %u, [64, 64] :
aicore.kernel @vbrc() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %col = aicore.alloc : !aicore.tile<64x1xf16, ub>
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  aicore.vbrc %col, %u, [64, 64] : !aicore.tile<64x1xf16, ub>, !aicore.tile<64x64xf16, ub>
}

// CHECK-LABEL: aicore.kernel @vcmp(
// CHECK: aicore.vcmp %u, %u, %bits, [64, 64] {kind = le} :
aicore.kernel @vcmp() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  %bits = aicore.alloc : !aicore.tile<64x64xbit, ub>
  aicore.vcmp %u, %u, %bits, [64, 64] {kind = le} : !aicore.tile<64x64xf16, ub>, !aicore.tile<64x64xf16, ub>, !aicore.tile<64x64xbit, ub>
}

// CHECK-LABEL: aicore.kernel @vcmps(
// CHECK: aicore.vcmps %u, %bits, [64, 64] {kind = gt, value = 0.0} :
aicore.kernel @vcmps() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  %bits = aicore.alloc : !aicore.tile<64x64xbit, ub>
  aicore.vcmps %u, %bits, [64, 64] {kind = gt, value = 0.0} : !aicore.tile<64x64xf16, ub>, !aicore.tile<64x64xbit, ub>
}

// CHECK-LABEL: aicore.kernel @vsel(
// CHECK: aicore.vsel %bits, %ui, %ui, %ui, [64, 64] :
aicore.kernel @vsel() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %bits = aicore.alloc : !aicore.tile<64x64xbit, ub>
  %ui = aicore.alloc : !aicore.tile<64x64xi32, ub>
  aicore.vsel %bits, %ui, %ui, %ui, [64, 64] : !aicore.tile<64x64xbit, ub>, !aicore.tile<64x64xi32, ub>, !aicore.tile<64x64xi32, ub>, !aicore.tile<64x64xi32, ub>
}

// CHECK-LABEL: aicore.kernel @vsels(
// CHECK: aicore.vsels %bits, %u, %u, [64, 64] {value = -1.0} :
aicore.kernel @vsels() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %bits = aicore.alloc : !aicore.tile<64x64xbit, ub>
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  aicore.vsels %bits, %u, %u, [64, 64] {value = -1.0} : !aicore.tile<64x64xbit, ub>, !aicore.tile<64x64xf16, ub>, !aicore.tile<64x64xf16, ub>
}

// CHECK-LABEL: aicore.kernel @vreduce(
// CHECK: aicore.vreduce %uf, %colf, [64, 64] {kind = max, axis = cols} :
aicore.kernel @vreduce() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %uf = aicore.alloc : !aicore.tile<64x64xf32, ub>
  %colf = aicore.alloc : !aicore.tile<64x1xf32, ub>
  aicore.vreduce %uf, %colf, [64, 64] {kind = max, axis = cols} : !aicore.tile<64x64xf32, ub>, !aicore.tile<64x1xf32, ub>
}

// CHECK-LABEL: aicore.kernel @vreduce_2(
// CHECK: aicore.vreduce %uf, %one, [64, 64] {kind = sum, axis = all} :
aicore.kernel @vreduce_2() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %uf = aicore.alloc : !aicore.tile<64x64xf32, ub>
  %one = aicore.alloc : !aicore.tile<1x1xf32, ub>
  aicore.vreduce %uf, %one, [64, 64] {kind = sum, axis = all} : !aicore.tile<64x64xf32, ub>, !aicore.tile<1x1xf32, ub>
}

// CHECK-LABEL: aicore.kernel @vtranspose(
// CHECK: aicore.vtranspose %u, %u, [64, 64] :
aicore.kernel @vtranspose() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  aicore.vtranspose %u, %u, [64, 64] : !aicore.tile<64x64xf16, ub>, !aicore.tile<64x64xf16, ub>
}

// CHECK-LABEL: aicore.kernel @viota(
// CHECK: aicore.viota %ui, [64, 64] {start = 1.0, step = 2.0} :
aicore.kernel @viota() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %ui = aicore.alloc : !aicore.tile<64x64xi32, ub>
  aicore.viota %ui, [64, 64] {start = 1.0, step = 2.0} : !aicore.tile<64x64xi32, ub>
}

// CHECK-LABEL: aicore.kernel @vcompact(
// CHECK: aicore.vcompact %u, %bits, %u, [64, 64] :
aicore.kernel @vcompact() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  %bits = aicore.alloc : !aicore.tile<64x64xbit, ub>
  aicore.vcompact %u, %bits, %u, [64, 64] : !aicore.tile<64x64xf16, ub>, !aicore.tile<64x64xbit, ub>, !aicore.tile<64x64xf16, ub>
}

// CHECK-LABEL: aicore.kernel @vgather(
// CHECK: aicore.vgather %u, %ui, %u, [64, 64] :
aicore.kernel @vgather() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  %ui = aicore.alloc : !aicore.tile<64x64xi32, ub>
  aicore.vgather %u, %ui, %u, [64, 64] : !aicore.tile<64x64xf16, ub>, !aicore.tile<64x64xi32, ub>, !aicore.tile<64x64xf16, ub>
}

// CHECK-LABEL: aicore.kernel @vsort(
// CHECK: aicore.vsort %u, %ui, [64, 64] {descending} :
aicore.kernel @vsort() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  %ui = aicore.alloc : !aicore.tile<64x64xi32, ub>
  aicore.vsort %u, %ui, [64, 64] {descending} : !aicore.tile<64x64xf16, ub>, !aicore.tile<64x64xi32, ub>
}

// CHECK-LABEL: aicore.kernel @vargreduce(
// CHECK: aicore.vargreduce %u, %coli, [64, 64] {kind = min, axis = cols} :
aicore.kernel @vargreduce() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  %coli = aicore.alloc : !aicore.tile<64x1xi32, ub>
  aicore.vargreduce %u, %coli, [64, 64] {kind = min, axis = cols} : !aicore.tile<64x64xf16, ub>, !aicore.tile<64x1xi32, ub>
}

// CHECK-LABEL: aicore.kernel @copy_map_l1(
// CHECK: aicore.copy_map_l1 %m1[0, 0, 0], %ml1, [256, 144] {size = [16, 16], kernel = [3, 3], stride = [1, 1], dilation = [1, 1], pad = [1, 1], out = [16, 16]} :
aicore.kernel @copy_map_l1(%m1 : !aicore.tile<1x1x4096xf16, gm>) writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %ml1 = aicore.alloc : !aicore.tile<1x4096xf16, l1>
  aicore.copy_map_l1 %m1[0, 0, 0], %ml1, [256, 144] {size = [16, 16], kernel = [3, 3], stride = [1, 1], dilation = [1, 1], pad = [1, 1], out = [16, 16]} : !aicore.tile<1x1x4096xf16, gm>, !aicore.tile<1x4096xf16, l1>
}

// CHECK-LABEL: aicore.kernel @load3d(
// CHECK: aicore.load3d %ml1[0, 0], %a, [64, 64] {size = [16, 16], kernel = [3, 3], stride = [1, 1], dilation = [1, 1], pad = [1, 1], out = [16, 16]} :
aicore.kernel @load3d() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %ml1 = aicore.alloc : !aicore.tile<1x4096xf16, l1>
  %a = aicore.alloc : !aicore.tile<64x64xf16, l0a, zz>
  aicore.load3d %ml1[0, 0], %a, [64, 64] {size = [16, 16], kernel = [3, 3], stride = [1, 1], dilation = [1, 1], pad = [1, 1], out = [16, 16]} : !aicore.tile<1x4096xf16, l1>, !aicore.tile<64x64xf16, l0a, zz>
}

// CHECK-LABEL: aicore.kernel @copy_map_ub(
// CHECK: aicore.copy_map_ub %mg[0, 0, 0], %mub, [8, 256] {size = [16, 16], kernel = [3, 3], stride = [1, 1], dilation = [1, 1], pad = [1, 1], out = [16, 16]} :
aicore.kernel @copy_map_ub(%mg : !aicore.tile<1x8x256xf32, gm>) writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %mub = aicore.alloc : !aicore.tile<144x16xf32, ub>
  aicore.copy_map_ub %mg[0, 0, 0], %mub, [8, 256] {size = [16, 16], kernel = [3, 3], stride = [1, 1], dilation = [1, 1], pad = [1, 1], out = [16, 16]} : !aicore.tile<1x8x256xf32, gm>, !aicore.tile<144x16xf32, ub>
}

// CHECK-LABEL: aicore.kernel @vspread(
// CHECK: aicore.vspread %mub, %mpx, [8, 256] at (%zero) {size = [16, 16], kernel = [3, 3], stride = [1, 1], dilation = [1, 1], pad = [1, 1], out = [16, 16], value = 0.0} :
aicore.kernel @vspread() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %mub = aicore.alloc : !aicore.tile<144x16xf32, ub>
  %mpx = aicore.alloc : !aicore.tile<324x8xf32, ub>
  %zero = aicore.affine 0 : index
  aicore.vspread %mub, %mpx, [8, 256] at (%zero) {size = [16, 16], kernel = [3, 3], stride = [1, 1], dilation = [1, 1], pad = [1, 1], out = [16, 16], value = 0.0} : !aicore.tile<144x16xf32, ub>, !aicore.tile<324x8xf32, ub>
}

// CHECK-LABEL: aicore.kernel @vtap(
// CHECK: aicore.vtap %mpx, %mw, %msum, [8, 256] {size = [16, 16], kernel = [3, 3], stride = [1, 1], dilation = [1, 1], pad = [1, 1], out = [16, 16], kind = muladd, tap = [0, 1], first} :
aicore.kernel @vtap() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %mpx = aicore.alloc : !aicore.tile<324x8xf32, ub>
  %mw = aicore.alloc : !aicore.tile<9x8xf32, ub>
  %msum = aicore.alloc : !aicore.tile<256x8xf32, ub>
  aicore.vtap %mpx, %mw, %msum, [8, 256] {size = [16, 16], kernel = [3, 3], stride = [1, 1], dilation = [1, 1], pad = [1, 1], out = [16, 16], kind = muladd, tap = [0, 1], first} : !aicore.tile<324x8xf32, ub>, !aicore.tile<9x8xf32, ub>, !aicore.tile<256x8xf32, ub>
}

// CHECK-LABEL: aicore.kernel @vscan(
// CHECK: aicore.vscan %u, %u, [64, 64] {kind = add, exclusive} :
aicore.kernel @vscan() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  aicore.vscan %u, %u, [64, 64] {kind = add, exclusive} : !aicore.tile<64x64xf16, ub>, !aicore.tile<64x64xf16, ub>
}

// CHECK-LABEL: aicore.kernel @vscatter(
// CHECK: aicore.vscatter %u, %ui, %u, [64, 64] at (%zero) {kind = update} :
aicore.kernel @vscatter() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %u = aicore.alloc : !aicore.tile<64x64xf16, ub>
  %ui = aicore.alloc : !aicore.tile<64x64xi32, ub>
  %zero = aicore.affine 0 : index
  aicore.vscatter %u, %ui, %u, [64, 64] at (%zero) {kind = update} : !aicore.tile<64x64xf16, ub>, !aicore.tile<64x64xi32, ub>, !aicore.tile<64x64xf16, ub>
}

// CHECK-LABEL: aicore.kernel @scalar(
// CHECK: aicore.scalar %ui, %ui, %ui, [64, 64] {kind = add} :
aicore.kernel @scalar() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %ui = aicore.alloc : !aicore.tile<64x64xi32, ub>
  aicore.scalar %ui, %ui, %ui, [64, 64] {kind = add} : !aicore.tile<64x64xi32, ub>, !aicore.tile<64x64xi32, ub>, !aicore.tile<64x64xi32, ub>
}

// CHECK-LABEL: aicore.kernel @scalar_store(
// CHECK: aicore.scalar_store %idx, [1, 1] at (%zero) :
aicore.kernel @scalar_store() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %idx = aicore.alloc : !aicore.tile<1x64xi32, ub>
  %zero = aicore.affine 0 : index
  aicore.scalar_store %idx, [1, 1] at (%zero) : !aicore.tile<1x64xi32, ub>
}

// CHECK-LABEL: aicore.kernel @scalar_load(
// CHECK: %n = aicore.scalar_load %idx[0, 3], [1, 1] :
aicore.kernel @scalar_load() writes (%out : !aicore.tile<1x1xf16, gm>) on vector * 1 {
  %idx = aicore.alloc : !aicore.tile<1x64xi32, ub>
  %n = aicore.scalar_load %idx[0, 3], [1, 1] : !aicore.tile<1x64xi32, ub>
}
