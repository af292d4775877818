// RUN: ge-opt %s -p convert-ge-to-aicore,aicore-check --split-input-file | filecheck %s

// The general one: planes to channel blocks, im2col products on the cube, pixels back to planes.

// CHECK-LABEL: aicore.kernel @TransData(
// CHECK: aicore.vdup %t0, [16, %vm] {value = 0.0}
// CHECK-NEXT: aicore.copy_gm_ub %{{.*}}[%p, %b, 0, %m], %t0, [3, %vm]
// CHECK-NEXT: aicore.vtranspose %t0, %t1, [16, %vm]
// CHECK: aicore.kernel @Conv2D_Relu(%x : !aicore.tile<1x1x1x1024xf16, gm>, %w : !aicore.tile<1x144x8xf16, gm, zn>, %bias : !aicore.tile<1x8xf16, gm>) writes (%y : !aicore.tile<1x1x16x8xf16, gm>) on cube * 1
// CHECK: aicore.copy_map_l1 %x[%p, %g, %m, %k1], %a1, [%vm, %vk1] {size = [8, 8], kernel = [3, 3], stride = [2, 2], dilation = [1, 1], pad = [1, 1], out = [4, 4]}
// CHECK: aicore.copy_gm_l1 %w[%g, %k1, %n], %b1, [%vk1, %vn] : !aicore.tile<1x144x8xf16, gm, zn>
// CHECK: aicore.load3d %a1[%m, %k0], %a0, [%vm, %vk0]
// CHECK: aicore.mmad %a0, %b0, %bias_bt, %c, [%vm, %vn, %vk0] at (%k1, %k0) {init = bias}
// CHECK: aicore.fixpipe %c, %y[%p, %g, %m, %n], [%vm, %vn] {relu}
// CHECK: aicore.kernel @TransData_1(
// CHECK: aicore.launch @TransData(%x)
// CHECK: aicore.launch @Conv2D_Relu({{.*}}) for ["y", "z"]
// CHECK: aicore.launch @TransData_1(
func.func @main(%x : tensor<1x3x8x8xf16>, %b : tensor<8xf16>) -> tensor<1x8x4x4xf16> {
  %w = ge.Const() {value = dense<0.5> : tensor<8x3x3x3xf16>} : () -> tensor<8x3x3x3xf16>
  %y = ge.Conv2D(%x, %w, bias = %b) {strides = [1, 1, 2, 2], pads = [1, 1, 1, 1], data_format = "NCHW"} : (tensor<1x3x8x8xf16>, tensor<8x3x3x3xf16>, tensor<8xf16>) -> tensor<1x8x4x4xf16>
  %z = ge.Relu(%y) : (tensor<1x8x4x4xf16>) -> tensor<1x8x4x4xf16>
  func.return %z : tensor<1x8x4x4xf16>
}

// -----

// 1x1: the filter times the planes.

// CHECK-LABEL: aicore.kernel @Conv2D(%a : !aicore.tile<40x24xf16, gm>, %b : !aicore.tile<24x63xf16, gm>) writes (%y : !aicore.tile<40x63xf16, gm>) on cube
func.func @main(%x : tensor<1x24x7x9xf16>, %w : tensor<40x24x1x1xf16>) -> tensor<1x40x7x9xf16> {
  %y = ge.Conv2D(%x, %w) {strides = [1, 1, 1, 1], pads = [0, 0, 0, 0], data_format = "NCHW"} : (tensor<1x24x7x9xf16>, tensor<40x24x1x1xf16>) -> tensor<1x40x7x9xf16>
  func.return %y : tensor<1x40x7x9xf16>
}

// -----

// A pool by kernel taps.

// CHECK-LABEL: aicore.kernel @MaxPoolV3(
// CHECK: aicore.copy_map_ub %x[%p, %c, %m], %rows, [%vc, %vm]
// CHECK: aicore.vspread %rows, %pixels, [%vc, %vm] at (%m) {{.*}} value = -1{{.*}}e+39
// CHECK-NEXT: %sums = aicore.alloc
// CHECK-NEXT: aicore.vtap %pixels, %sums, [%vc, %vm] {{.*}} kind = max, tap = [0, 0], first}
// CHECK-NEXT: aicore.vtap %pixels, %sums, [%vc, %vm] {{.*}} kind = max, tap = [0, 1]}
// CHECK: aicore.vtranspose %sums, %turned, [%vm, %vc]
func.func @main(%x : tensor<1x8x6x6xf32>) -> tensor<1x8x3x3xf32> {
  %y = ge.MaxPoolV3(%x) {ksize = [1, 1, 2, 2], strides = [1, 1, 2, 2]} : (tensor<1x8x6x6xf32>) -> tensor<1x8x3x3xf32>
  func.return %y : tensor<1x8x3x3xf32>
}
