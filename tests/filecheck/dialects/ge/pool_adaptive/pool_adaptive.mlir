// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Adaptive pooling.
// CHECK-LABEL: func.func @main
func.func @main(%a0: tensor<1x2x4x4xf32>, %a1: tensor<1x2x4x4x4xf32>, %a2: tensor<1x2x4x4xf32>, %a3: tensor<1x2x4x4x4xf32>, %a4: tensor<1x2x2x2xf32>) {
  // CHECK-NEXT: %adaptive_avg_pool2d = ge.AdaptiveAvgPool2d(%a0) {output_size = [2, 2]} : (tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32>
  %adaptive_avg_pool2d = ge.AdaptiveAvgPool2d(%a0) {output_size = [2, 2]} : (tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32>
  // CHECK-NEXT: %adaptive_avg_pool3d = ge.AdaptiveAvgPool3d(%a1) {output_size = [2, 2, 2], data_format = "NCDHW"} : (tensor<1x2x4x4x4xf32>) -> tensor<1x2x2x2x2xf32>
  %adaptive_avg_pool3d = ge.AdaptiveAvgPool3d(%a1) {output_size = [2, 2, 2], data_format = "NCDHW"} : (tensor<1x2x4x4x4xf32>) -> tensor<1x2x2x2x2xf32>
  // CHECK-NEXT: %adaptive_max_pool2d:2 = ge.AdaptiveMaxPool2d(%a2) {output_size = [2, 2]} : (tensor<1x2x4x4xf32>) -> (tensor<1x2x2x2xf32>, tensor<1x2x2x2xi32>)
  %adaptive_max_pool2d:2 = ge.AdaptiveMaxPool2d(%a2) {output_size = [2, 2]} : (tensor<1x2x4x4xf32>) -> (tensor<1x2x2x2xf32>, tensor<1x2x2x2xi32>)
  // CHECK-NEXT: %adaptive_max_pool3d:2 = ge.AdaptiveMaxPool3d(%a3) {output_size = [2, 2, 2]} : (tensor<1x2x4x4x4xf32>) -> (tensor<1x2x2x2x2xf32>, tensor<1x2x2x2x2xi32>)
  %adaptive_max_pool3d:2 = ge.AdaptiveMaxPool3d(%a3) {output_size = [2, 2, 2]} : (tensor<1x2x4x4x4xf32>) -> (tensor<1x2x2x2x2xf32>, tensor<1x2x2x2x2xi32>)
  // CHECK-NEXT: %adaptive_avg_pool2d_grad = ge.AdaptiveAvgPool2dGrad(%a4) {orig_input_shape = [1, 2, 4, 4]} : (tensor<1x2x2x2xf32>) -> tensor<1x2x4x4xf32>
  %adaptive_avg_pool2d_grad = ge.AdaptiveAvgPool2dGrad(%a4) {orig_input_shape = [1, 2, 4, 4]} : (tensor<1x2x2x2xf32>) -> tensor<1x2x4x4xf32>
  // CHECK-NEXT: func.return
  func.return
}
