// RUN: ge-opt %s -p convert-ge-to-aicore,aicore-check --split-input-file | filecheck %s

// A product with bias and its Relu: one kernel, tails by valid lengths, the sum starts at the bias.

// CHECK-LABEL: aicore.kernel @MatMul_Relu(%a : !aicore.tile<100x40000xf16, gm>, %b : !aicore.tile<40000x1536xf16, gm>, %bias : !aicore.tile<1x1536xf32, gm>)
// CHECK-SAME: on cube * 24 {
// CHECK-NEXT: aicore.for (%m : %vm, %n : %vn) in [100, 1536] by [
// CHECK: aicore.load_bias %bias_l1[0, 0], %bias_bt, [1, %vn]
// CHECK: aicore.for (%k1 : %vk1) in [40000] by [
// CHECK: aicore.copy_gm_l1 %a[%m, %k1], %a1, [%vm, %vk1]
// CHECK: aicore.copy_gm_l1 %b[%k1, %n], %b1, [%vk1, %vn]
// CHECK: aicore.for (%k0 : %vk0) in [%vk1] by [
// CHECK: aicore.load_l0a %a1[0, %k0], %a0, [%vm, %vk0] :
// CHECK: aicore.load_l0b %b1[%k0, 0], %b0, [%vk0, %vn] :
// CHECK: aicore.mmad %a0, %b0, %bias_bt, %c, [%vm, %vn, %vk0] at (%k1, %k0) {init = bias}
// CHECK: aicore.fixpipe %c, %y[%m, %n], [%vm, %vn] {relu}
// CHECK: %relu = aicore.launch @MatMul_Relu(%x, %w, %b) for ["fc", "relu"]
func.func @main(%x : tensor<100x40000xf16>, %w : tensor<40000x1536xf16>, %b : tensor<1536xf32>) -> tensor<100x1536xf16> {
  %fc = ge.MatMul(%x, %w, bias = %b) : (tensor<100x40000xf16>, tensor<40000x1536xf16>, tensor<1536xf32>) -> tensor<100x1536xf16>
  %relu = ge.Relu(%fc) : (tensor<100x1536xf16>) -> tensor<100x1536xf16>
  func.return %relu : tensor<100x1536xf16>
}

// -----

// Transposed factors are turned on the way from L1 to L0; the batch is a loop.

// CHECK-LABEL: aicore.kernel @BatchMatMul(
// CHECK: aicore.for (%p : %vp, %m : %vm, %n : %vn) in [4, 64, 64] by [1,
// CHECK: aicore.copy_gm_l1 %a[%p, %k1, %m], %a1, [%vk1, %vm]
// CHECK: aicore.copy_gm_l1 %b[%p, %n, %k1], %b1, [%vn, %vk1]
// CHECK: aicore.load_l0a %a1[%k0, 0], %a0, [%vm, %vk0] {transpose}
// CHECK: aicore.load_l0b %b1[0, %k0], %b0, [%vk0, %vn] {transpose}
func.func @main(%x : tensor<4x40000x64xf32>, %w : tensor<4x64x40000xf32>) -> tensor<4x64x64xf32> {
  %y = ge.BatchMatMul(%x, %w) {adj_x1 = true, adj_x2 = true} : (tensor<4x40000x64xf32>, tensor<4x64x40000xf32>) -> tensor<4x64x64xf32>
  func.return %y : tensor<4x64x64xf32>
}

// -----

// What has no lowering stays and says why.

// CHECK-NOT: aicore.kernel
// CHECK: ge.MatMul(%x, %x) {aicore.reason = "no lowering for an unknown shape, expected --shape NAME=1x3x224x224 for the inputs"}
func.func @main(%x : tensor<?x8xf16>) -> tensor<?x8xf16> {
  %y = ge.MatMul(%x, %x) : (tensor<?x8xf16>, tensor<?x8xf16>) -> tensor<?x8xf16>
  func.return %y : tensor<?x8xf16>
}
