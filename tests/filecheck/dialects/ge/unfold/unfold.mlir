// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Windows as columns.
// CHECK-LABEL: func.func @main
func.func @main(%a0: tensor<1x2x4x4xf32>, %a1: tensor<1x2x4x9xf32>, %a2: tensor<1x8x9xf32>) {
  // CHECK-NEXT: %im2col = ge.Im2col(%a0) {ksizes = [2, 2]} : (tensor<1x2x4x4xf32>) -> tensor<1x8x3x3xf32>
  %im2col = ge.Im2col(%a0) {ksizes = [2, 2]} : (tensor<1x2x4x4xf32>) -> tensor<1x8x3x3xf32>
  // CHECK-NEXT: %c1_v1 = ge.Const() {value = dense<4> : tensor<2xi32>} : () -> tensor<2xi32>
  %c1_v1 = ge.Const() {value = dense<4> : tensor<2xi32>} : () -> tensor<2xi32>
  // CHECK-NEXT: %col2im = ge.Col2im(%a1, %c1_v1) {kernel_size = [2, 2], dilation = [1, 1], padding = [0, 0], stride = [1, 1]} : (tensor<1x2x4x9xf32>, tensor<2xi32>) -> tensor<1x2x4x4xf32>
  %col2im = ge.Col2im(%a1, %c1_v1) {kernel_size = [2, 2], dilation = [1, 1], padding = [0, 0], stride = [1, 1]} : (tensor<1x2x4x9xf32>, tensor<2xi32>) -> tensor<1x2x4x4xf32>
  // CHECK-NEXT: %c3_v1 = ge.Const() {value = dense<4> : tensor<2xi32>} : () -> tensor<2xi32>
  %c3_v1 = ge.Const() {value = dense<4> : tensor<2xi32>} : () -> tensor<2xi32>
  // CHECK-NEXT: %c3_v2 = ge.Const() {value = dense<2> : tensor<2xi32>} : () -> tensor<2xi32>
  %c3_v2 = ge.Const() {value = dense<2> : tensor<2xi32>} : () -> tensor<2xi32>
  // CHECK-NEXT: %col2_im_v2 = ge.Col2ImV2(%a2, %c3_v1, %c3_v2) {dilation = [1, 1], padding = [0, 0], stride = [1, 1]} : (tensor<1x8x9xf32>, tensor<2xi32>, tensor<2xi32>) -> tensor<1x2x4x4xf32>
  %col2_im_v2 = ge.Col2ImV2(%a2, %c3_v1, %c3_v2) {dilation = [1, 1], padding = [0, 0], stride = [1, 1]} : (tensor<1x8x9xf32>, tensor<2xi32>, tensor<2xi32>) -> tensor<1x2x4x4xf32>
  // CHECK-NEXT: func.return
  func.return
}
