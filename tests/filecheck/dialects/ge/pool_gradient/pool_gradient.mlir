// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Gradients of means.
// CHECK-LABEL: func.func @main
func.func @main(%a0: tensor<1x2x3x3xf32>, %a1: tensor<1x2x3x3xf32>, %a2: tensor<1x2x3x3xf32>, %a3: tensor<1x2x3x3x3xf32>, %a4: tensor<1x2x3x3x3xf32>) {
  // CHECK-NEXT: %c0_v0 = ge.Const() {value = dense<[1, 2, 4, 4]> : tensor<4xi32>} : () -> tensor<4xi32>
  %c0_v0 = ge.Const() {value = dense<[1, 2, 4, 4]> : tensor<4xi32>} : () -> tensor<4xi32>
  // CHECK-NEXT: %avg_pool_grad = ge.AvgPoolGrad(%c0_v0, %a0) {ksize = [1, 1, 2, 2], strides = [1, 1, 1, 1], padding = "VALID", data_format = "NCHW"} : (tensor<4xi32>, tensor<1x2x3x3xf32>) -> tensor<1x2x4x4xf32>
  %avg_pool_grad = ge.AvgPoolGrad(%c0_v0, %a0) {ksize = [1, 1, 2, 2], strides = [1, 1, 1, 1], padding = "VALID", data_format = "NCHW"} : (tensor<4xi32>, tensor<1x2x3x3xf32>) -> tensor<1x2x4x4xf32>
  // CHECK-NEXT: %c2_v0 = ge.Const() {value = dense<[1, 2, 4, 4]> : tensor<4xi32>} : () -> tensor<4xi32>
  %c2_v0 = ge.Const() {value = dense<[1, 2, 4, 4]> : tensor<4xi32>} : () -> tensor<4xi32>
  // CHECK-NEXT: %avg_pool_v2_grad = ge.AvgPoolV2Grad(%c2_v0, %a1) {ksize = [1, 1, 2, 2], strides = [1, 1, 1, 1], data_format = "NCHW"} : (tensor<4xi32>, tensor<1x2x3x3xf32>) -> tensor<1x2x4x4xf32>
  %avg_pool_v2_grad = ge.AvgPoolV2Grad(%c2_v0, %a1) {ksize = [1, 1, 2, 2], strides = [1, 1, 1, 1], data_format = "NCHW"} : (tensor<4xi32>, tensor<1x2x3x3xf32>) -> tensor<1x2x4x4xf32>
  // CHECK-NEXT: %avg_pool_v2_grad_d = ge.AvgPoolV2GradD(%a2) {orig_input_shape = [1, 2, 4, 4], ksize = [1, 1, 2, 2], strides = [1, 1, 1, 1], data_format = "NCHW"} : (tensor<1x2x3x3xf32>) -> tensor<1x2x4x4xf32>
  %avg_pool_v2_grad_d = ge.AvgPoolV2GradD(%a2) {orig_input_shape = [1, 2, 4, 4], ksize = [1, 1, 2, 2], strides = [1, 1, 1, 1], data_format = "NCHW"} : (tensor<1x2x3x3xf32>) -> tensor<1x2x4x4xf32>
  // CHECK-NEXT: %c5_v0 = ge.Const() {value = dense<[1, 2, 4, 4, 4]> : tensor<5xi32>} : () -> tensor<5xi32>
  %c5_v0 = ge.Const() {value = dense<[1, 2, 4, 4, 4]> : tensor<5xi32>} : () -> tensor<5xi32>
  // CHECK-NEXT: %avg_pool3_dgrad = ge.AvgPool3DGrad(%c5_v0, %a3) {ksize = [2, 2, 2], strides = [1], pads = [0], data_format = "NCDHW"} : (tensor<5xi32>, tensor<1x2x3x3x3xf32>) -> tensor<1x2x4x4x4xf32>
  %avg_pool3_dgrad = ge.AvgPool3DGrad(%c5_v0, %a3) {ksize = [2, 2, 2], strides = [1], pads = [0], data_format = "NCDHW"} : (tensor<5xi32>, tensor<1x2x3x3x3xf32>) -> tensor<1x2x4x4x4xf32>
  // CHECK-NEXT: %avg_pool3_dgrad_d = ge.AvgPool3DGradD(%a4) {orig_input_shape = [1, 2, 4, 4, 4], ksize = [2, 2, 2], strides = [1], pads = [0], data_format = "NCDHW"} : (tensor<1x2x3x3x3xf32>) -> tensor<1x2x4x4x4xf32>
  %avg_pool3_dgrad_d = ge.AvgPool3DGradD(%a4) {orig_input_shape = [1, 2, 4, 4, 4], ksize = [2, 2, 2], strides = [1], pads = [0], data_format = "NCDHW"} : (tensor<1x2x3x3x3xf32>) -> tensor<1x2x4x4x4xf32>
  // CHECK-NEXT: func.return
  func.return
}
