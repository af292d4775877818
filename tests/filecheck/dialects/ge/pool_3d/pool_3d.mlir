// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Pooling over one and three dimensions.
// CHECK-LABEL: func.func @main
func.func @main(%a0: tensor<1x2x4x4x4xf32>, %a1: tensor<1x2x4x4x4xf32>, %a2: tensor<1x2x4x4x4xf32>, %a3: tensor<2x5xf32>, %a4: tensor<2x5xf32>, %a5: tensor<2x4xf32>, %a6: tensor<1x2x4x4xf32>, %a7: tensor<1x2x4x4xf32>, %a8: tensor<1x2x4x4xf32>) {
  // CHECK-NEXT: %max_pool3_d = ge.MaxPool3D(%a0) {ksize = [2, 2, 2], strides = [1], padding = "CALCULATED", pads = [0], data_format = "NCDHW"} : (tensor<1x2x4x4x4xf32>) -> tensor<1x2x3x3x3xf32>
  %max_pool3_d = ge.MaxPool3D(%a0) {ksize = [2, 2, 2], strides = [1], padding = "CALCULATED", pads = [0], data_format = "NCDHW"} : (tensor<1x2x4x4x4xf32>) -> tensor<1x2x3x3x3xf32>
  // CHECK-NEXT: %avg_pool3_d = ge.AvgPool3D(%a1) {ksize = [2, 2, 2], strides = [1], pads = [0], data_format = "NCDHW"} : (tensor<1x2x4x4x4xf32>) -> tensor<1x2x3x3x3xf32>
  %avg_pool3_d = ge.AvgPool3D(%a1) {ksize = [2, 2, 2], strides = [1], pads = [0], data_format = "NCDHW"} : (tensor<1x2x4x4x4xf32>) -> tensor<1x2x3x3x3xf32>
  // CHECK-NEXT: %avg_pool3_dd = ge.AvgPool3DD(%a2) {ksize = [2, 2, 2], strides = [1], pads = [0], data_format = "NCDHW"} : (tensor<1x2x4x4x4xf32>) -> tensor<1x2x3x3x3xf32>
  %avg_pool3_dd = ge.AvgPool3DD(%a2) {ksize = [2, 2, 2], strides = [1], pads = [0], data_format = "NCDHW"} : (tensor<1x2x4x4x4xf32>) -> tensor<1x2x3x3x3xf32>
  // CHECK-NEXT: %avg_pool1_d = ge.AvgPool1D(%a3) {ksize = 2, strides = 1, pads = [0, 0]} : (tensor<2x5xf32>) -> tensor<2x4xf32>
  %avg_pool1_d = ge.AvgPool1D(%a3) {ksize = 2, strides = 1, pads = [0, 0]} : (tensor<2x5xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: %avg_pool1_dd = ge.AvgPool1DD(%a4, %a5) {ksize = 2, strides = 1, pads = [0, 0]} : (tensor<2x5xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %avg_pool1_dd = ge.AvgPool1DD(%a4, %a5) {ksize = 2, strides = 1, pads = [0, 0]} : (tensor<2x5xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: %pooling = ge.Pooling(%a6) {window = [2, 2]} : (tensor<1x2x4x4xf32>) -> tensor<1x2x3x3xf32>
  %pooling = ge.Pooling(%a6) {window = [2, 2]} : (tensor<1x2x4x4xf32>) -> tensor<1x2x3x3xf32>
  // CHECK-NEXT: %global_lp_pool = ge.GlobalLpPool(%a7) : (tensor<1x2x4x4xf32>) -> tensor<1x2x1x1xf32>
  %global_lp_pool = ge.GlobalLpPool(%a7) : (tensor<1x2x4x4xf32>) -> tensor<1x2x1x1xf32>
  // CHECK-NEXT: %spp = ge.SPP(%a8) {pyramid_height = 2} : (tensor<1x2x4x4xf32>) -> tensor<1x10x1x1xf32>
  %spp = ge.SPP(%a8) {pyramid_height = 2} : (tensor<1x2x4x4xf32>) -> tensor<1x10x1x1xf32>
  // CHECK-NEXT: func.return
  func.return
}
