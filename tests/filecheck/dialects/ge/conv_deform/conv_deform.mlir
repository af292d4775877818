// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Deformable convolution.
// CHECK-LABEL: func.func @main
func.func @main(%a0: tensor<1x4x5x5xf32>, %a1: tensor<1x27x5x5xf32>, %a2: tensor<1x4x5x5xf32>, %a3: tensor<6x4x3x3xf32>, %a4: tensor<1x27x5x5xf32>) {
  // CHECK-NEXT: %deformable_offsets = ge.DeformableOffsets(%a0, %a1) {strides = [1, 1, 1, 1], pads = [1, 1, 1, 1], ksize = [3, 3], data_format = "NCHW"} : (tensor<1x4x5x5xf32>, tensor<1x27x5x5xf32>) -> tensor<1x4x15x15xf32>
  %deformable_offsets = ge.DeformableOffsets(%a0, %a1) {strides = [1, 1, 1, 1], pads = [1, 1, 1, 1], ksize = [3, 3], data_format = "NCHW"} : (tensor<1x4x5x5xf32>, tensor<1x27x5x5xf32>) -> tensor<1x4x15x15xf32>
  // CHECK-NEXT: %deformable_conv2_d = ge.DeformableConv2D(%a2, %a3, %a4) {strides = [1, 1, 1, 1], pads = [1, 1, 1, 1], data_format = "NCHW"} : (tensor<1x4x5x5xf32>, tensor<6x4x3x3xf32>, tensor<1x27x5x5xf32>) -> tensor<1x6x5x5xf32>
  %deformable_conv2_d = ge.DeformableConv2D(%a2, %a3, %a4) {strides = [1, 1, 1, 1], pads = [1, 1, 1, 1], data_format = "NCHW"} : (tensor<1x4x5x5xf32>, tensor<6x4x3x3xf32>, tensor<1x27x5x5xf32>) -> tensor<1x6x5x5xf32>
  // CHECK-NEXT: func.return
  func.return
}
