// RUN: ge-opt %s -p convert-ge-to-aicore,aicore-sync,aicore-check --tile 64,32,48 --split-input-file | filecheck %s
// RUN: ge-opt %s -p 'aicore-tile{tile=64,32,48},convert-ge-to-aicore' --split-input-file | filecheck %s
// RUN: ge-opt %s -p 'convert-ge-to-aicore{tile=64,32,48}' --split-input-file | filecheck %s

// The tile that was asked for, in groups that share a panel; an op's own stands.

// CHECK-LABEL: aicore.kernel @MatMul(
// CHECK: aicore.for (%n : %vn, %m : %vm) in [300, 500] by [32, 256] over cores
// CHECK: aicore.for (%m_1 : %vm_1) in [%vm] from [%m] by [64]
// CHECK: aicore.load_l0a {{.*}} !aicore.tile<64x48xf16, l0a, zz>
// CHECK: aicore.mmad %a0, %b0, %c
// CHECK-LABEL: aicore.kernel @MatMul_1(
// CHECK: by [128, 96] over cores
// CHECK: aicore.load_l0b {{.*}} !aicore.tile<32x96xf16, l0b, zn>
func.func @main(%x : tensor<500x200xf16>, %w : tensor<200x300xf16>) -> (tensor<500x300xf16>, tensor<500x300xf16>) {
  %y = ge.MatMul(%x, %w) : (tensor<500x200xf16>, tensor<200x300xf16>) -> tensor<500x300xf16>
  %z = ge.MatMul(%x, %w) {aicore.tile = [128, 96, 32]} : (tensor<500x200xf16>, tensor<200x300xf16>) -> tensor<500x300xf16>
  func.return %y, %z : tensor<500x300xf16>, tensor<500x300xf16>
}

// -----

// A tile larger than the product is cut to it.

// CHECK-LABEL: aicore.kernel @BatchMatMul(
// CHECK: aicore.for (%p : %vp, %m : %vm, %n : %vn) in [4, 20, 24] by [1, 32, 32] over cores
// CHECK: !aicore.tile<32x16xf32, l0a, zz>
func.func @main(%x : tensor<4x20x16xf32>, %w : tensor<4x16x24xf32>) -> tensor<4x20x24xf32> {
  %y = ge.BatchMatMul(%x, %w) : (tensor<4x20x16xf32>, tensor<4x16x24xf32>) -> tensor<4x20x24xf32>
  func.return %y : tensor<4x20x24xf32>
}

// -----

// Pixels by channels of a convolution.

// CHECK-LABEL: aicore.kernel @Conv2D(
// CHECK: in [1, 1, 900, 40] by [1, 1, 64, 32] over cores
// CHECK: aicore.load3d {{.*}} !aicore.tile<64x48xf16, l0a, zz>
func.func @main(%x : tensor<1x16x30x30xf16>) -> tensor<1x40x30x30xf16> {
  %w = ge.Const() {value = dense<0.5> : tensor<40x16x3x3xf16>} : () -> tensor<40x16x3x3xf16>
  %y = ge.Conv2D(%x, %w) {strides = [1, 1, 1, 1], pads = [1, 1, 1, 1], data_format = "NCHW"} : (tensor<1x16x30x30xf16>, tensor<40x16x3x3xf16>) -> tensor<1x40x30x30xf16>
  func.return %y : tensor<1x40x30x30xf16>
}
