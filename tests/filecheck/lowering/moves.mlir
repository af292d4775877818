// RUN: ge-opt %s -p convert-ge-to-aicore,aicore-check --split-input-file | filecheck %s

// The runs of x and y lie along different dimensions: tiles are turned on the way.

// CHECK-LABEL: aicore.kernel @TransposeD(%x0 : !aicore.tile<1980xf16, gm>) writes (%y0 : !aicore.tile<1980xf16, gm>)
// CHECK-NEXT: %x0_view = aicore.strided %x0, 0, [660, 33, 1] : !aicore.tile<1980xf16, gm>, !aicore.tile<3x20x33xf16, gm>
// CHECK-NEXT: %y0_view = aicore.strided %y0, 0, [660, 20, 1] : !aicore.tile<1980xf16, gm>, !aicore.tile<3x33x20xf16, gm>
// CHECK: aicore.copy_gm_ub %x0_view[%d0, %r, %c], %t0, [%vr, %vc]
// CHECK-NEXT: aicore.vtranspose %t0, %t1, [%vr, %vc]
// CHECK-NEXT: aicore.copy_ub_gm %t1, %y0_view[%d0, %c, %r], [%vc, %vr]
func.func @main(%x : tensor<3x20x33xf16>) -> tensor<3x33x20xf16> {
  %y = ge.TransposeD(%x) {perm = [0, 2, 1]} : (tensor<3x20x33xf16>) -> tensor<3x33x20xf16>
  func.return %y : tensor<3x33x20xf16>
}

// -----

// One strided copy per operand.

// CHECK-LABEL: aicore.kernel @ConcatD(
// CHECK: aicore.strided %y0, 0, [12, 1] : !aicore.tile<48xf32, gm>, !aicore.tile<4x8xf32, gm>
// CHECK: aicore.strided %y0, 8, [12, 1] : !aicore.tile<48xf32, gm>, !aicore.tile<4x4xf32, gm>
func.func @main(%a : tensor<4x8xf32>, %b : tensor<4x4xf32>) -> tensor<4x12xf32> {
  %y = ge.ConcatD([%a, %b]) {concat_dim = 1 : i64, N = 2 : i64} : (tensor<4x8xf32>, tensor<4x4xf32>) -> tensor<4x12xf32>
  func.return %y : tensor<4x12xf32>
}

// -----

// Rows by index, one DMA each.

// CHECK-LABEL: aicore.kernel @GatherV2(
// CHECK: aicore.copy_gm_ub %index[0, %r], %places, [1, %vr]
// CHECK-NEXT: aicore.copy_rows %x[0, %c], %places, %t0, [%vr, %vc]
func.func @main(%x : tensor<50x64xf16>, %i : tensor<7xi32>) -> tensor<7x64xf16> {
  %a = ge.Const() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
  %y = ge.GatherV2(%x, %i, %a) : (tensor<50x64xf16>, tensor<7xi32>, tensor<i32>) -> tensor<7x64xf16>
  func.return %y : tensor<7x64xf16>
}
