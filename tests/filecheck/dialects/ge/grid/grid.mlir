// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Grids.
// CHECK-LABEL: func.func @main
func.func @main(%a0: tensor<1x2x4x4xf32>, %a1: tensor<1x3x3x2xf32>, %a2: tensor<1x2x4x4xf32>, %a3: tensor<1x3x3x2xf32>, %a4: tensor<1x2x4x4x4xf32>, %a5: tensor<1x3x3x3x3xf32>, %a6: tensor<1x2x3xf32>) {
  // CHECK-NEXT: %grid_sample = ge.GridSample(%a0, %a1) : (tensor<1x2x4x4xf32>, tensor<1x3x3x2xf32>) -> tensor<1x2x3x3xf32>
  %grid_sample = ge.GridSample(%a0, %a1) : (tensor<1x2x4x4xf32>, tensor<1x3x3x2xf32>) -> tensor<1x2x3x3xf32>
  // CHECK-NEXT: %grid_sampler2_d = ge.GridSampler2D(%a2, %a3) : (tensor<1x2x4x4xf32>, tensor<1x3x3x2xf32>) -> tensor<1x2x3x3xf32>
  %grid_sampler2_d = ge.GridSampler2D(%a2, %a3) : (tensor<1x2x4x4xf32>, tensor<1x3x3x2xf32>) -> tensor<1x2x3x3xf32>
  // CHECK-NEXT: %grid_sampler3_d = ge.GridSampler3D(%a4, %a5) : (tensor<1x2x4x4x4xf32>, tensor<1x3x3x3x3xf32>) -> tensor<1x2x3x3x3xf32>
  %grid_sampler3_d = ge.GridSampler3D(%a4, %a5) : (tensor<1x2x4x4x4xf32>, tensor<1x3x3x3x3xf32>) -> tensor<1x2x3x3x3xf32>
  // CHECK-NEXT: %c3_v1 = ge.Const() {value = dense<[1, 2, 4, 4]> : tensor<4xi32>} : () -> tensor<4xi32>
  %c3_v1 = ge.Const() {value = dense<[1, 2, 4, 4]> : tensor<4xi32>} : () -> tensor<4xi32>
  // CHECK-NEXT: %affine_grid = ge.AffineGrid(%a6, %c3_v1) : (tensor<1x2x3xf32>, tensor<4xi32>) -> tensor<1x16x2xf32>
  %affine_grid = ge.AffineGrid(%a6, %c3_v1) : (tensor<1x2x3xf32>, tensor<4xi32>) -> tensor<1x16x2xf32>
  // CHECK-NEXT: func.return
  func.return
}
