// RUN: ge-opt %s -p convert-ge-to-aicore,aicore-check --split-input-file | filecheck %s

// A chain is one kernel: load, compute, store. %a is used outside too, so it is stored as well.

// CHECK-LABEL: aicore.kernel @Add_Relu(%x0 : !aicore.tile<64x96xf16, gm>, %x1 : !aicore.tile<1x96xf16, gm>)
// CHECK-SAME: writes (%y0 : !aicore.tile<64x96xf16, gm>, %y1 : !aicore.tile<64x96xf16, gm>) on vector *
// CHECK-NEXT: aicore.for (%r : %vr, %c : %vc) in [64, 96] by [
// CHECK: aicore.copy_gm_ub %x0[%r, %c], %t0, [%vr, %vc]
// CHECK: aicore.copy_gm_ub %x1[0, %c], %t1, [1, %vc]
// CHECK: aicore.vbrc %t1, %t4, [%vr, %vc]
// CHECK: aicore.vbinary %t0, %t4, %t2, [%vr, %vc] {kind = add}
// CHECK: aicore.vunary %t2, %t3, [%vr, %vc] {kind = relu}
// CHECK: aicore.copy_ub_gm %t2, %y0[%r, %c], [%vr, %vc]
// CHECK: aicore.copy_ub_gm %t3, %y1[%r, %c], [%vr, %vc]
// CHECK: %a, %y = aicore.launch @Add_Relu(%x, %b) for ["a", "y"]
// CHECK: ge.Bitcast(%a) {type = DT_FLOAT16, aicore.reason = "no lowering: no instruction gives the bytes of an element another type
func.func @main(%x : tensor<64x96xf16>, %b : tensor<96xf16>) -> (tensor<64x96xf16>, tensor<64x96xf16>) {
  %a = ge.Add(%x, %b) : (tensor<64x96xf16>, tensor<96xf16>) -> tensor<64x96xf16>
  %y = ge.Relu(%a) : (tensor<64x96xf16>) -> tensor<64x96xf16>
  %s = ge.Bitcast(%a) {type = DT_FLOAT16} : (tensor<64x96xf16>) -> tensor<64x96xf16>
  func.return %y, %s : tensor<64x96xf16>, tensor<64x96xf16>
}

// -----

// bf16 is computed in f32.

// CHECK-LABEL: aicore.kernel @Mul(
// CHECK: aicore.vcast %t0, %t2, [%vr, %vc] : !aicore.tile<1x512xbf16, ub>, !aicore.tile<1x512xf32, ub>
// CHECK-NEXT: aicore.vbinary %t2, %t2, %t2, [%vr, %vc] {kind = mul} : !aicore.tile<1x512xf32, ub>
// CHECK-NEXT: aicore.vcast %t2, %t1, [%vr, %vc] : !aicore.tile<1x512xf32, ub>, !aicore.tile<1x512xbf16, ub>
func.func @main(%x : tensor<8x64xbf16>) -> tensor<8x64xbf16> {
  %y = ge.Mul(%x, %x) : (tensor<8x64xbf16>, tensor<8x64xbf16>) -> tensor<8x64xbf16>
  func.return %y : tensor<8x64xbf16>
}

// -----

// Equal kernels are made once.

// CHECK: aicore.kernel @Exp(
// CHECK-NOT: aicore.kernel
// CHECK: %y = aicore.launch @Exp(%x) for ["y"]
// CHECK: %z = aicore.launch @Exp(%s) for ["z"]
func.func @main(%x : tensor<8x64xf32>) -> tensor<8x64xf32> {
  %y = ge.Exp(%x) : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %s = ge.Bitcast(%y) {type = DT_FLOAT} : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %z = ge.Exp(%s) : (tensor<8x64xf32>) -> tensor<8x64xf32>
  func.return %z : tensor<8x64xf32>
}
