// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Normalisation.
// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<2x3x8x9xf16>, %s: tensor<3xf32>, %m: tensor<1xf16>, %t: tensor<3xf16>, %h: tensor<?x5x8xf32>, %g: tensor<8xf32>) {
  // CHECK-NEXT: %bn:6 = ge.BatchNorm(%x, %s, %s, mean = %s, variance = %s) {epsilon = 0.001, data_format = "NCHW", is_training = false} : (tensor<2x3x8x9xf16>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x8x9xf16>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<1xf32>)
  %bn:6 = ge.BatchNorm(%x, %s, %s, mean = %s, variance = %s) {epsilon = 0.001, data_format = "NCHW", is_training = false} : (tensor<2x3x8x9xf16>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x8x9xf16>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<1xf32>)
  // CHECK-NEXT: %train:6 = ge.BatchNorm(%x, %s, %s) {data_format = "NCHW"} : (tensor<2x3x8x9xf16>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x8x9xf16>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<1xf32>)
  %train:6 = ge.BatchNorm(%x, %s, %s) {data_format = "NCHW"} : (tensor<2x3x8x9xf16>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x8x9xf16>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<1xf32>)
  // CHECK-NEXT: %caffe = ge.BNInference(%x, %t, %t, %m, scale = %t, offset = %t) {epsilon = 0.001} : (tensor<2x3x8x9xf16>, tensor<3xf16>, tensor<3xf16>, tensor<1xf16>, tensor<3xf16>, tensor<3xf16>) -> tensor<2x3x8x9xf16>
  %caffe = ge.BNInference(%x, %t, %t, %m, scale = %t, offset = %t) {epsilon = 0.001} : (tensor<2x3x8x9xf16>, tensor<3xf16>, tensor<3xf16>, tensor<1xf16>, tensor<3xf16>, tensor<3xf16>) -> tensor<2x3x8x9xf16>
  // CHECK-NEXT: %ln:3 = ge.LayerNorm(%h, %g, %g) {begin_norm_axis = -1, begin_params_axis = -1, epsilon = 0.25} : (tensor<?x5x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<?x5x8xf32>, tensor<?x5x1xf32>, tensor<?x5x1xf32>)
  %ln:3 = ge.LayerNorm(%h, %g, %g) {begin_norm_axis = -1, begin_params_axis = -1, epsilon = 0.25} : (tensor<?x5x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<?x5x8xf32>, tensor<?x5x1xf32>, tensor<?x5x1xf32>)
  // CHECK-NEXT: %ln_v3:3 = ge.LayerNormV3(%h, %g, %g) {begin_norm_axis = 2} : (tensor<?x5x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<?x5x8xf32>, tensor<?x5x1xf32>, tensor<?x5x1xf32>)
  %ln_v3:3 = ge.LayerNormV3(%h, %g, %g) {begin_norm_axis = 2} : (tensor<?x5x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<?x5x8xf32>, tensor<?x5x1xf32>, tensor<?x5x1xf32>)
  // CHECK-NEXT: %in:3 = ge.InstanceNorm(%x, %t, %t) {data_format = "NCHW", epsilon = 0.001} : (tensor<2x3x8x9xf16>, tensor<3xf16>, tensor<3xf16>) -> (tensor<2x3x8x9xf16>, tensor<2x3x1x1xf16>, tensor<2x3x1x1xf16>)
  %in:3 = ge.InstanceNorm(%x, %t, %t) {data_format = "NCHW", epsilon = 0.001} : (tensor<2x3x8x9xf16>, tensor<3xf16>, tensor<3xf16>) -> (tensor<2x3x8x9xf16>, tensor<2x3x1x1xf16>, tensor<2x3x1x1xf16>)
  // CHECK-NEXT: func.return
  func.return
}
