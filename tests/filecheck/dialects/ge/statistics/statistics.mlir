// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Logarithms of sums, norms and variances.
// CHECK-LABEL: func.func @main
func.func @main(%a0: tensor<2x?x4xf32>, %a1: tensor<i32>, %a2: tensor<2xi64>, %a3: tensor<*xf32>) {
  // CHECK-NEXT: %c0 = ge.Const() {value = dense<1> : tensor<i32>} : () -> tensor<i32>
  %c0 = ge.Const() {value = dense<1> : tensor<i32>} : () -> tensor<i32>
  // CHECK-NEXT: %reduce_log_sum = ge.ReduceLogSum(%a0, %c0) : (tensor<2x?x4xf32>, tensor<i32>) -> tensor<2x4xf32>
  %reduce_log_sum = ge.ReduceLogSum(%a0, %c0) : (tensor<2x?x4xf32>, tensor<i32>) -> tensor<2x4xf32>
  // CHECK-NEXT: %reduce_log_sum_exp = ge.ReduceLogSumExp(%a0, %a1) {keep_dims = true} : (tensor<2x?x4xf32>, tensor<i32>) -> tensor<?x?x?xf32>
  %reduce_log_sum_exp = ge.ReduceLogSumExp(%a0, %a1) {keep_dims = true} : (tensor<2x?x4xf32>, tensor<i32>) -> tensor<?x?x?xf32>
  // CHECK-NEXT: %euclidean_norm = ge.EuclideanNorm(%a0, %a2) : (tensor<2x?x4xf32>, tensor<2xi64>) -> tensor<?xf32>
  %euclidean_norm = ge.EuclideanNorm(%a0, %a2) : (tensor<2x?x4xf32>, tensor<2xi64>) -> tensor<?xf32>
  // CHECK-NEXT: %euclidean_norm_d = ge.EuclideanNormD(%a0) {axes = [-1]} : (tensor<2x?x4xf32>) -> tensor<2x?xf32>
  %euclidean_norm_d = ge.EuclideanNormD(%a0) {axes = [-1]} : (tensor<2x?x4xf32>) -> tensor<2x?xf32>
  // CHECK-NEXT: %reduce_mean_with_cast = ge.ReduceMeanWithCast(%a0, %c0) {dtype = DT_FLOAT16} : (tensor<2x?x4xf32>, tensor<i32>) -> tensor<2x4xf16>
  %reduce_mean_with_cast = ge.ReduceMeanWithCast(%a0, %c0) {dtype = DT_FLOAT16} : (tensor<2x?x4xf32>, tensor<i32>) -> tensor<2x4xf16>
  // CHECK-NEXT: %square_sum_v1 = ge.SquareSumV1(%a0) {axis = [0]} : (tensor<2x?x4xf32>) -> tensor<?x4xf32>
  %square_sum_v1 = ge.SquareSumV1(%a0) {axis = [0]} : (tensor<2x?x4xf32>) -> tensor<?x4xf32>
  // CHECK-NEXT: %square_sum_v2:2 = ge.SquareSumV2(%a0) {axis = [1], keep_dims = true} : (tensor<2x?x4xf32>) -> (tensor<2x1x4xf32>, tensor<2x?x4xf32>)
  %square_sum_v2:2 = ge.SquareSumV2(%a0) {axis = [1], keep_dims = true} : (tensor<2x?x4xf32>) -> (tensor<2x1x4xf32>, tensor<2x?x4xf32>)
  // CHECK-NEXT: %square_sum_all:2 = ge.SquareSumAll(%a0, %a0) : (tensor<2x?x4xf32>, tensor<2x?x4xf32>) -> (tensor<f32>, tensor<f32>)
  %square_sum_all:2 = ge.SquareSumAll(%a0, %a0) : (tensor<2x?x4xf32>, tensor<2x?x4xf32>) -> (tensor<f32>, tensor<f32>)
  // CHECK-NEXT: %reduce_mean_variance:2 = ge.ReduceMeanVariance(%a0) {axes = [0, 2]} : (tensor<2x?x4xf32>) -> (tensor<1x?x1xf32>, tensor<1x?x1xf32>)
  %reduce_mean_variance:2 = ge.ReduceMeanVariance(%a0) {axes = [0, 2]} : (tensor<2x?x4xf32>) -> (tensor<1x?x1xf32>, tensor<1x?x1xf32>)
  // CHECK-NEXT: %reduce_std:2 = ge.ReduceStd(%a0) {dim = [0], unbiased = false} : (tensor<2x?x4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>)
  %reduce_std:2 = ge.ReduceStd(%a0) {dim = [0], unbiased = false} : (tensor<2x?x4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>)
  // CHECK-NEXT: %reduce_std_v2:2 = ge.ReduceStdV2(%a0) {dim = [0], correction = 2} : (tensor<2x?x4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>)
  %reduce_std_v2:2 = ge.ReduceStdV2(%a0) {dim = [0], correction = 2} : (tensor<2x?x4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>)
  // CHECK-NEXT: %reduce_var:2 = ge.ReduceVar(%a3) : (tensor<*xf32>) -> (tensor<f32>, tensor<f32>)
  %reduce_var:2 = ge.ReduceVar(%a3) : (tensor<*xf32>) -> (tensor<f32>, tensor<f32>)
  func.return
}
