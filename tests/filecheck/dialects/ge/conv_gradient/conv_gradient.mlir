// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Gradients in the filter.
// CHECK-LABEL: func.func @main
func.func @main(%a0: tensor<1x4x5x5xf32>, %a1: tensor<1x6x3x3xf32>, %a2: tensor<1x4x5x5xf32>, %a3: tensor<1x6x3x3xf32>, %a4: tensor<1x4x5x5x5xf32>, %a5: tensor<1x6x3x3x3xf32>, %a6: tensor<1x4x5x5x5xf32>, %a7: tensor<1x6x3x3x3xf32>, %a8: tensor<1x4x5x5x5xf32>, %a9: tensor<1x6x3x3x3xf32>, %a10: tensor<1x4x5x5xf32>, %a11: tensor<1x8x3x3xf32>, %a12: tensor<1x4x5x5xf32>, %a13: tensor<1x8x3x3xf32>) {
  // CHECK-NEXT: %c0_v1 = ge.Const() {value = dense<[6, 4, 3, 3]> : tensor<4xi32>} : () -> tensor<4xi32>
  %c0_v1 = ge.Const() {value = dense<[6, 4, 3, 3]> : tensor<4xi32>} : () -> tensor<4xi32>
  // CHECK-NEXT: %conv2_dbackprop_filter = ge.Conv2DBackpropFilter(%a0, %c0_v1, %a1) {strides = [1, 1, 1, 1], pads = [0, 0, 0, 0], data_format = "NCHW"} : (tensor<1x4x5x5xf32>, tensor<4xi32>, tensor<1x6x3x3xf32>) -> tensor<6x4x3x3xf32>
  %conv2_dbackprop_filter = ge.Conv2DBackpropFilter(%a0, %c0_v1, %a1) {strides = [1, 1, 1, 1], pads = [0, 0, 0, 0], data_format = "NCHW"} : (tensor<1x4x5x5xf32>, tensor<4xi32>, tensor<1x6x3x3xf32>) -> tensor<6x4x3x3xf32>
  // CHECK-NEXT: %conv2_dbackprop_filter_d = ge.Conv2DBackpropFilterD(%a2, %a3) {filter_size = [6, 4, 3, 3], strides = [1, 1, 1, 1], pads = [0, 0, 0, 0], data_format = "NCHW"} : (tensor<1x4x5x5xf32>, tensor<1x6x3x3xf32>) -> tensor<6x4x3x3xf32>
  %conv2_dbackprop_filter_d = ge.Conv2DBackpropFilterD(%a2, %a3) {filter_size = [6, 4, 3, 3], strides = [1, 1, 1, 1], pads = [0, 0, 0, 0], data_format = "NCHW"} : (tensor<1x4x5x5xf32>, tensor<1x6x3x3xf32>) -> tensor<6x4x3x3xf32>
  // CHECK-NEXT: %c3_v1 = ge.Const() {value = dense<[6, 4, 3, 3, 3]> : tensor<5xi32>} : () -> tensor<5xi32>
  %c3_v1 = ge.Const() {value = dense<[6, 4, 3, 3, 3]> : tensor<5xi32>} : () -> tensor<5xi32>
  // CHECK-NEXT: %conv3_dbackprop_filter = ge.Conv3DBackpropFilter(%a4, %c3_v1, %a5) {strides = [1, 1, 1, 1, 1], pads = [0, 0, 0, 0, 0, 0], data_format = "NCDHW"} : (tensor<1x4x5x5x5xf32>, tensor<5xi32>, tensor<1x6x3x3x3xf32>) -> tensor<6x4x3x3x3xf32>
  %conv3_dbackprop_filter = ge.Conv3DBackpropFilter(%a4, %c3_v1, %a5) {strides = [1, 1, 1, 1, 1], pads = [0, 0, 0, 0, 0, 0], data_format = "NCDHW"} : (tensor<1x4x5x5x5xf32>, tensor<5xi32>, tensor<1x6x3x3x3xf32>) -> tensor<6x4x3x3x3xf32>
  // CHECK-NEXT: %conv3_dbackprop_filter_d = ge.Conv3DBackpropFilterD(%a6, %a7) {filter_size = [6, 4, 3, 3, 3], strides = [1, 1, 1, 1, 1], pads = [0, 0, 0, 0, 0, 0], data_format = "NCDHW"} : (tensor<1x4x5x5x5xf32>, tensor<1x6x3x3x3xf32>) -> tensor<6x4x3x3x3xf32>
  %conv3_dbackprop_filter_d = ge.Conv3DBackpropFilterD(%a6, %a7) {filter_size = [6, 4, 3, 3, 3], strides = [1, 1, 1, 1, 1], pads = [0, 0, 0, 0, 0, 0], data_format = "NCDHW"} : (tensor<1x4x5x5x5xf32>, tensor<1x6x3x3x3xf32>) -> tensor<6x4x3x3x3xf32>
  // CHECK-NEXT: %c6_v1 = ge.Const() {value = dense<[6, 4, 3, 3, 3]> : tensor<5xi32>} : () -> tensor<5xi32>
  %c6_v1 = ge.Const() {value = dense<[6, 4, 3, 3, 3]> : tensor<5xi32>} : () -> tensor<5xi32>
  // CHECK-NEXT: %conv3_dbackprop_filter_v2 = ge.Conv3DBackpropFilterV2(%a8, %c6_v1, %a9) {strides = [1, 1, 1, 1, 1], pads = [0, 0, 0, 0, 0, 0], data_format = "NCDHW"} : (tensor<1x4x5x5x5xf32>, tensor<5xi32>, tensor<1x6x3x3x3xf32>) -> tensor<6x4x3x3x3xf32>
  %conv3_dbackprop_filter_v2 = ge.Conv3DBackpropFilterV2(%a8, %c6_v1, %a9) {strides = [1, 1, 1, 1, 1], pads = [0, 0, 0, 0, 0, 0], data_format = "NCDHW"} : (tensor<1x4x5x5x5xf32>, tensor<5xi32>, tensor<1x6x3x3x3xf32>) -> tensor<6x4x3x3x3xf32>
  // CHECK-NEXT: %c8_v1 = ge.Const() {value = dense<[3, 3, 4, 2]> : tensor<4xi32>} : () -> tensor<4xi32>
  %c8_v1 = ge.Const() {value = dense<[3, 3, 4, 2]> : tensor<4xi32>} : () -> tensor<4xi32>
  // CHECK-NEXT: %depthwise_conv2_dbackprop_filter = ge.DepthwiseConv2DBackpropFilter(%a10, %c8_v1, %a11) {strides = [1, 1, 1, 1], pads = [0, 0, 0, 0], data_format = "NCHW"} : (tensor<1x4x5x5xf32>, tensor<4xi32>, tensor<1x8x3x3xf32>) -> tensor<3x3x4x2xf32>
  %depthwise_conv2_dbackprop_filter = ge.DepthwiseConv2DBackpropFilter(%a10, %c8_v1, %a11) {strides = [1, 1, 1, 1], pads = [0, 0, 0, 0], data_format = "NCHW"} : (tensor<1x4x5x5xf32>, tensor<4xi32>, tensor<1x8x3x3xf32>) -> tensor<3x3x4x2xf32>
  // CHECK-NEXT: %depthwise_conv2_dbackprop_filter_d = ge.DepthwiseConv2DBackpropFilterD(%a12, %a13) {filter_size = [3, 3, 4, 2], strides = [1, 1, 1, 1], pads = [0, 0, 0, 0], data_format = "NCHW"} : (tensor<1x4x5x5xf32>, tensor<1x8x3x3xf32>) -> tensor<3x3x4x2xf32>
  %depthwise_conv2_dbackprop_filter_d = ge.DepthwiseConv2DBackpropFilterD(%a12, %a13) {filter_size = [3, 3, 4, 2], strides = [1, 1, 1, 1], pads = [0, 0, 0, 0], data_format = "NCHW"} : (tensor<1x4x5x5xf32>, tensor<1x8x3x3xf32>) -> tensor<3x3x4x2xf32>
  // CHECK-NEXT: func.return
  func.return
}
