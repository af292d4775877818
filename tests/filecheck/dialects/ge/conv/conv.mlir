// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Convolutions.
// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<?x3x8x8xf16>, %w: tensor<4x3x3x3xf16>, %b: tensor<4xf16>, %h: tensor<1x8x8x3xf32, #ge.layout<NHWC>>, %v: tensor<3x3x3x4xf32>, %d: tensor<3x3x3x2xf16>, %u: tensor<*xf16>) {
  // CHECK-NEXT: %conv = ge.Conv2D(%x, %w, bias = %b) {strides = [1, 1, 2, 2], pads = [1, 1, 1, 1], dilations = [1, 1, 1, 1], groups = 1, data_format = "NCHW"} : (tensor<?x3x8x8xf16>, tensor<4x3x3x3xf16>, tensor<4xf16>) -> tensor<?x4x4x4xf16>
  %conv = ge.Conv2D(%x, %w, bias = %b) {strides = [1, 1, 2, 2], pads = [1, 1, 1, 1], dilations = [1, 1, 1, 1], groups = 1, data_format = "NCHW"} : (tensor<?x3x8x8xf16>, tensor<4x3x3x3xf16>, tensor<4xf16>) -> tensor<?x4x4x4xf16>
  // CHECK-NEXT: %nhwc = ge.Conv2D(%h, %v) {strides = [1, 1, 1, 1], pads = [0, 0, 0, 0]} : (tensor<1x8x8x3xf32, #ge.layout<NHWC>>, tensor<3x3x3x4xf32>) -> tensor<1x6x6x4xf32, #ge.layout<NHWC>>
  %nhwc = ge.Conv2D(%h, %v) {strides = [1, 1, 1, 1], pads = [0, 0, 0, 0]} : (tensor<1x8x8x3xf32, #ge.layout<NHWC>>, tensor<3x3x3x4xf32>) -> tensor<1x6x6x4xf32, #ge.layout<NHWC>>
  // CHECK-NEXT: %rank = ge.Conv2D(%u, %w) {strides = [1, 1, 1, 1], pads = [0, 0, 0, 0], data_format = "NCHW"} : (tensor<*xf16>, tensor<4x3x3x3xf16>) -> tensor<?x4x?x?xf16>
  %rank = ge.Conv2D(%u, %w) {strides = [1, 1, 1, 1], pads = [0, 0, 0, 0], data_format = "NCHW"} : (tensor<*xf16>, tensor<4x3x3x3xf16>) -> tensor<?x4x?x?xf16>
  // CHECK-NEXT: %same = ge.Conv2D(%x, %w) {strides = [1, 1, 2, 2], pads = [0, 0, 0, 0], data_format = "NCHW", ge.auto_pad = "SAME_UPPER"} : (tensor<?x3x8x8xf16>, tensor<4x3x3x3xf16>) -> tensor<?x4x4x4xf16>
  %same = ge.Conv2D(%x, %w) {strides = [1, 1, 2, 2], pads = [0, 0, 0, 0], data_format = "NCHW", ge.auto_pad = "SAME_UPPER"} : (tensor<?x3x8x8xf16>, tensor<4x3x3x3xf16>) -> tensor<?x4x4x4xf16>
  // CHECK-NEXT: %fused = ge.FusedConv2D_BiasAdd_ReLU(%x, %w, %b) {strides = [1, 1, 1, 1], pads = [0, 0, 0, 0], data_format = "NCHW", activation = "ReLU"} : (tensor<?x3x8x8xf16>, tensor<4x3x3x3xf16>, tensor<4xf16>) -> tensor<?x4x6x6xf16>
  %fused = ge.FusedConv2D_BiasAdd_ReLU(%x, %w, %b) {strides = [1, 1, 1, 1], pads = [0, 0, 0, 0], data_format = "NCHW", activation = "ReLU"} : (tensor<?x3x8x8xf16>, tensor<4x3x3x3xf16>, tensor<4xf16>) -> tensor<?x4x6x6xf16>
  // CHECK-NEXT: %depthwise = ge.DepthwiseConv2D(%x, %d) {strides = [1, 1, 1, 1], pads = [0, 0, 0, 0], data_format = "NCHW"} : (tensor<?x3x8x8xf16>, tensor<3x3x3x2xf16>) -> tensor<?x6x6x6xf16>
  %depthwise = ge.DepthwiseConv2D(%x, %d) {strides = [1, 1, 1, 1], pads = [0, 0, 0, 0], data_format = "NCHW"} : (tensor<?x3x8x8xf16>, tensor<3x3x3x2xf16>) -> tensor<?x6x6x6xf16>
  // CHECK-NEXT: func.return
  func.return
}
