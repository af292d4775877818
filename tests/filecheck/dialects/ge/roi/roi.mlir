// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Regions of interest.
// CHECK-LABEL: func.func @main
func.func @main(%a0: tensor<1x2x4x4xf32>, %a1: tensor<3x5xf32>, %a2: tensor<1x2x4x4xf32>, %a3: tensor<3x5xf32>) {
  // CHECK-NEXT: %roialign = ge.ROIAlign(%a0, %a1) {spatial_scale = 1.0, pooled_height = 2, pooled_width = 2} : (tensor<1x2x4x4xf32>, tensor<3x5xf32>) -> tensor<3x2x2x2xf32>
  %roialign = ge.ROIAlign(%a0, %a1) {spatial_scale = 1.0, pooled_height = 2, pooled_width = 2} : (tensor<1x2x4x4xf32>, tensor<3x5xf32>) -> tensor<3x2x2x2xf32>
  // CHECK-NEXT: %roipooling = ge.ROIPooling(%a2, %a3) {pooled_h = 2, pooled_w = 2, spatial_scale_h = 1.0, spatial_scale_w = 1.0} : (tensor<1x2x4x4xf32>, tensor<3x5xf32>) -> tensor<3x2x2x2xf32>
  %roipooling = ge.ROIPooling(%a2, %a3) {pooled_h = 2, pooled_w = 2, spatial_scale_h = 1.0, spatial_scale_w = 1.0} : (tensor<1x2x4x4xf32>, tensor<3x5xf32>) -> tensor<3x2x2x2xf32>
  // CHECK-NEXT: func.return
  func.return
}
