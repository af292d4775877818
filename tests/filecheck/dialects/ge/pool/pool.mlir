// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Pooling.
// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<1x3x8x9xf32>, %h: tensor<?x8x9x3xf32>, %u: tensor<*xf32>) {
  // CHECK-NEXT: %max = ge.MaxPool(%h) {ksize = [1, 3, 3, 1], strides = [1, 2, 2, 1], padding = "SAME"} : (tensor<?x8x9x3xf32>) -> tensor<?x4x5x3xf32>
  %max = ge.MaxPool(%h) {ksize = [1, 3, 3, 1], strides = [1, 2, 2, 1], padding = "SAME"} : (tensor<?x8x9x3xf32>) -> tensor<?x4x5x3xf32>
  // CHECK-NEXT: %avg = ge.AvgPool(%h) {ksize = [1, 3, 3, 1], strides = [1, 2, 2, 1], padding = "VALID", data_format = "NHWC"} : (tensor<?x8x9x3xf32>) -> tensor<?x3x4x3xf32>
  %avg = ge.AvgPool(%h) {ksize = [1, 3, 3, 1], strides = [1, 2, 2, 1], padding = "VALID", data_format = "NHWC"} : (tensor<?x8x9x3xf32>) -> tensor<?x3x4x3xf32>
  // CHECK-NEXT: %max_v3 = ge.MaxPoolV3(%x) {ksize = [1, 1, 3, 3], strides = [1, 1, 2, 2], padding_mode = "CALCULATED", pads = [1, 1, 1, 1], ceil_mode = true} : (tensor<1x3x8x9xf32>) -> tensor<1x3x5x5xf32>
  %max_v3 = ge.MaxPoolV3(%x) {ksize = [1, 1, 3, 3], strides = [1, 1, 2, 2], padding_mode = "CALCULATED", pads = [1, 1, 1, 1], ceil_mode = true} : (tensor<1x3x8x9xf32>) -> tensor<1x3x5x5xf32>
  // CHECK-NEXT: %avg_v2 = ge.AvgPoolV2(%x) {ksize = [1, 1, 2, 2], strides = [1, 1, 2, 2], exclusive = false, divisor_override = 3} : (tensor<1x3x8x9xf32>) -> tensor<1x3x4x4xf32>
  %avg_v2 = ge.AvgPoolV2(%x) {ksize = [1, 1, 2, 2], strides = [1, 1, 2, 2], exclusive = false, divisor_override = 3} : (tensor<1x3x8x9xf32>) -> tensor<1x3x4x4xf32>
  // CHECK-NEXT: %all = ge.AvgPoolV2(%x) {ksize = [1, 1, 1, 1], strides = [1, 1, 1, 1], global_pooling = true} : (tensor<1x3x8x9xf32>) -> tensor<1x3x1x1xf32>
  %all = ge.AvgPoolV2(%x) {ksize = [1, 1, 1, 1], strides = [1, 1, 1, 1], global_pooling = true} : (tensor<1x3x8x9xf32>) -> tensor<1x3x1x1xf32>
  // CHECK-NEXT: %global = ge.GlobalAveragePool(%x) : (tensor<1x3x8x9xf32>) -> tensor<1x3x1x1xf32>
  %global = ge.GlobalAveragePool(%x) : (tensor<1x3x8x9xf32>) -> tensor<1x3x1x1xf32>
  // CHECK-NEXT: %rank = ge.GlobalAveragePool(%u) : (tensor<*xf32>) -> tensor<*xf32>
  %rank = ge.GlobalAveragePool(%u) : (tensor<*xf32>) -> tensor<*xf32>
  // CHECK-NEXT: func.return
  func.return
}
