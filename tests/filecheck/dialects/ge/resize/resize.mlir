// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Resizing.
// CHECK-LABEL: func.func @main
func.func @main(%a0: tensor<1x2x4x4xf32>, %a1: tensor<1x2x4x4xf32>, %a2: tensor<1x2x4x4xf32>, %a3: tensor<1x2x4x4xf32>, %a4: tensor<1x2x4x4xf32>, %a5: tensor<1x2x4x4xf32>, %a6: tensor<1x2x4x4xf32>, %a7: tensor<1x2x4x4xf32>) {
  // CHECK-NEXT: %c0_v1 = ge.Const() {value = dense<[1, 2, 8, 8]> : tensor<4xi64>} : () -> tensor<4xi64>
  %c0_v1 = ge.Const() {value = dense<[1, 2, 8, 8]> : tensor<4xi64>} : () -> tensor<4xi64>
  // CHECK-NEXT: %resize = ge.Resize(%a0, sizes = %c0_v1) : (tensor<1x2x4x4xf32>, tensor<4xi64>) -> tensor<1x2x8x8xf32>
  %resize = ge.Resize(%a0, sizes = %c0_v1) : (tensor<1x2x4x4xf32>, tensor<4xi64>) -> tensor<1x2x8x8xf32>
  // CHECK-NEXT: %c2_v1 = ge.Const() {value = dense<8> : tensor<2xi32>} : () -> tensor<2xi32>
  %c2_v1 = ge.Const() {value = dense<8> : tensor<2xi32>} : () -> tensor<2xi32>
  // CHECK-NEXT: %resize_bilinear_v2 = ge.ResizeBilinearV2(%a1, %c2_v1) : (tensor<1x2x4x4xf32>, tensor<2xi32>) -> tensor<1x2x8x8xf32>
  %resize_bilinear_v2 = ge.ResizeBilinearV2(%a1, %c2_v1) : (tensor<1x2x4x4xf32>, tensor<2xi32>) -> tensor<1x2x8x8xf32>
  // CHECK-NEXT: %resize_bilinear_v2_d = ge.ResizeBilinearV2D(%a2) {size = [8, 8]} : (tensor<1x2x4x4xf32>) -> tensor<1x2x8x8xf32>
  %resize_bilinear_v2_d = ge.ResizeBilinearV2D(%a2) {size = [8, 8]} : (tensor<1x2x4x4xf32>) -> tensor<1x2x8x8xf32>
  // CHECK-NEXT: %c5_v1 = ge.Const() {value = dense<8> : tensor<2xi32>} : () -> tensor<2xi32>
  %c5_v1 = ge.Const() {value = dense<8> : tensor<2xi32>} : () -> tensor<2xi32>
  // CHECK-NEXT: %resize_nearest_neighbor_v2 = ge.ResizeNearestNeighborV2(%a3, %c5_v1) : (tensor<1x2x4x4xf32>, tensor<2xi32>) -> tensor<1x2x8x8xf32>
  %resize_nearest_neighbor_v2 = ge.ResizeNearestNeighborV2(%a3, %c5_v1) : (tensor<1x2x4x4xf32>, tensor<2xi32>) -> tensor<1x2x8x8xf32>
  // CHECK-NEXT: %resize_nearest_neighbor_v2_d = ge.ResizeNearestNeighborV2D(%a4) {size = [8, 8]} : (tensor<1x2x4x4xf32>) -> tensor<1x2x8x8xf32>
  %resize_nearest_neighbor_v2_d = ge.ResizeNearestNeighborV2D(%a4) {size = [8, 8]} : (tensor<1x2x4x4xf32>) -> tensor<1x2x8x8xf32>
  // CHECK-NEXT: %c8_v1 = ge.Const() {value = dense<8> : tensor<2xi32>} : () -> tensor<2xi32>
  %c8_v1 = ge.Const() {value = dense<8> : tensor<2xi32>} : () -> tensor<2xi32>
  // CHECK-NEXT: %resize_nearest_neighbor_v2_grad = ge.ResizeNearestNeighborV2Grad(%a5, %c8_v1) : (tensor<1x2x4x4xf32>, tensor<2xi32>) -> tensor<1x2x8x8xf32>
  %resize_nearest_neighbor_v2_grad = ge.ResizeNearestNeighborV2Grad(%a5, %c8_v1) : (tensor<1x2x4x4xf32>, tensor<2xi32>) -> tensor<1x2x8x8xf32>
  // CHECK-NEXT: %keep_ratio_resize_bilinear = ge.KeepRatioResizeBilinear(%a6) {min_dimension = 8, max_dimension = 16} : (tensor<1x2x4x4xf32>) -> tensor<1x2x8x8xf32>
  %keep_ratio_resize_bilinear = ge.KeepRatioResizeBilinear(%a6) {min_dimension = 8, max_dimension = 16} : (tensor<1x2x4x4xf32>) -> tensor<1x2x8x8xf32>
  // CHECK-NEXT: %c11_v1 = ge.Const() {value = dense<8> : tensor<2xi32>} : () -> tensor<2xi32>
  %c11_v1 = ge.Const() {value = dense<8> : tensor<2xi32>} : () -> tensor<2xi32>
  // CHECK-NEXT: %resize_bicubic = ge.ResizeBicubic(%a7, %c11_v1) : (tensor<1x2x4x4xf32>, tensor<2xi32>) -> tensor<1x2x8x8xf32>
  %resize_bicubic = ge.ResizeBicubic(%a7, %c11_v1) : (tensor<1x2x4x4xf32>, tensor<2xi32>) -> tensor<1x2x8x8xf32>
  // CHECK-NEXT: func.return
  func.return
}
