// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Further convolutions.
// CHECK-LABEL: func.func @main
func.func @main(%a0: tensor<1x4x5x5x5xf32>, %a1: tensor<6x4x3x3x3xf32>, %a2: tensor<1x4x5x5xf32>, %a3: tensor<6x4x3x3xf32>, %a4: tensor<1x4x5x5x5xf32>, %a5: tensor<6x4x3x3x3xf32>, %a6: tensor<1x4x5x5xf32>, %a7: tensor<6x4x3x3xf32>, %a8: tensor<1x4x3x3xf32>, %a9: tensor<1x4x5x5xf32>) {
  // CHECK-NEXT: %conv3_d = ge.Conv3D(%a0, %a1) {strides = [1, 1, 1, 1, 1], pads = [0, 0, 0, 0, 0, 0], data_format = "NCDHW"} : (tensor<1x4x5x5x5xf32>, tensor<6x4x3x3x3xf32>) -> tensor<1x6x3x3x3xf32>
  %conv3_d = ge.Conv3D(%a0, %a1) {strides = [1, 1, 1, 1, 1], pads = [0, 0, 0, 0, 0, 0], data_format = "NCDHW"} : (tensor<1x4x5x5x5xf32>, tensor<6x4x3x3x3xf32>) -> tensor<1x6x3x3x3xf32>
  // CHECK-NEXT: %conv2_dv2 = ge.Conv2DV2(%a2, %a3) {strides = [1, 1, 1, 1], pads = [0, 0, 0, 0], data_format = "NCHW"} : (tensor<1x4x5x5xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x3x3xf32>
  %conv2_dv2 = ge.Conv2DV2(%a2, %a3) {strides = [1, 1, 1, 1], pads = [0, 0, 0, 0], data_format = "NCHW"} : (tensor<1x4x5x5xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x3x3xf32>
  // CHECK-NEXT: %conv3_dv2 = ge.Conv3DV2(%a4, %a5) {strides = [1, 1, 1, 1, 1], pads = [0, 0, 0, 0, 0, 0], data_format = "NCDHW"} : (tensor<1x4x5x5x5xf32>, tensor<6x4x3x3x3xf32>) -> tensor<1x6x3x3x3xf32>
  %conv3_dv2 = ge.Conv3DV2(%a4, %a5) {strides = [1, 1, 1, 1, 1], pads = [0, 0, 0, 0, 0, 0], data_format = "NCDHW"} : (tensor<1x4x5x5x5xf32>, tensor<6x4x3x3x3xf32>) -> tensor<1x6x3x3x3xf32>
  // CHECK-NEXT: %extend_conv2_d:2 = ge.ExtendConv2D(%a6, %a7) {strides = [1, 1, 1, 1], pads = [0, 0, 0, 0], data_format = "NCHW"} : (tensor<1x4x5x5xf32>, tensor<6x4x3x3xf32>) -> (tensor<1x6x3x3xf32>, tensor<1x6x3x3xf32>)
  %extend_conv2_d:2 = ge.ExtendConv2D(%a6, %a7) {strides = [1, 1, 1, 1], pads = [0, 0, 0, 0], data_format = "NCHW"} : (tensor<1x4x5x5xf32>, tensor<6x4x3x3xf32>) -> (tensor<1x6x3x3xf32>, tensor<1x6x3x3xf32>)
  // CHECK-NEXT: %correlation = ge.Correlation(%a8, %a9) : (tensor<1x4x3x3xf32>, tensor<1x4x5x5xf32>) -> tensor<1x1x3x3xf32>
  %correlation = ge.Correlation(%a8, %a9) : (tensor<1x4x3x3xf32>, tensor<1x4x5x5xf32>) -> tensor<1x1x3x3xf32>
  // CHECK-NEXT: func.return
  func.return
}
