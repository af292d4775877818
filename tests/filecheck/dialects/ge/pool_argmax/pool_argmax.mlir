// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Max pooling with positions.
// CHECK-LABEL: func.func @main
func.func @main(%a0: tensor<1x2x4x4xf32>, %a1: tensor<1x2x4x4xf32>, %a2: tensor<1x2x4x4xf32>, %a3: tensor<1x2x3x3xf32>, %a4: tensor<1x2x3x3xi32>) {
  // CHECK-NEXT: %max_pool_with_argmax:2 = ge.MaxPoolWithArgmax(%a0) {ksize = [1, 1, 2, 2], strides = [1, 1, 1, 1], padding = "VALID", data_format = "NCHW"} : (tensor<1x2x4x4xf32>) -> (tensor<1x2x3x3xf32>, tensor<1x2x3x3xi64>)
  %max_pool_with_argmax:2 = ge.MaxPoolWithArgmax(%a0) {ksize = [1, 1, 2, 2], strides = [1, 1, 1, 1], padding = "VALID", data_format = "NCHW"} : (tensor<1x2x4x4xf32>) -> (tensor<1x2x3x3xf32>, tensor<1x2x3x3xi64>)
  // CHECK-NEXT: %max_pool_with_argmax_v3:2 = ge.MaxPoolWithArgmaxV3(%a1) {ksize = [2, 2], strides = [1, 1], pads = [0, 0]} : (tensor<1x2x4x4xf32>) -> (tensor<1x2x3x3xf32>, tensor<1x2x3x3xi32>)
  %max_pool_with_argmax_v3:2 = ge.MaxPoolWithArgmaxV3(%a1) {ksize = [2, 2], strides = [1, 1], pads = [0, 0]} : (tensor<1x2x4x4xf32>) -> (tensor<1x2x3x3xf32>, tensor<1x2x3x3xi32>)
  // CHECK-NEXT: %max_pool_grad_with_argmax_v3 = ge.MaxPoolGradWithArgmaxV3(%a2, %a3, %a4) {ksize = [2, 2], strides = [1, 1], pads = [0, 0]} : (tensor<1x2x4x4xf32>, tensor<1x2x3x3xf32>, tensor<1x2x3x3xi32>) -> tensor<1x2x4x4xf32>
  %max_pool_grad_with_argmax_v3 = ge.MaxPoolGradWithArgmaxV3(%a2, %a3, %a4) {ksize = [2, 2], strides = [1, 1], pads = [0, 0]} : (tensor<1x2x4x4xf32>, tensor<1x2x3x3xf32>, tensor<1x2x3x3xi32>) -> tensor<1x2x4x4xf32>
  // CHECK-NEXT: func.return
  func.return
}
