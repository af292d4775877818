// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Reductions over axes in an operand and in an attribute.
// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<2x?x4xf32>, %p: tensor<2x3xi1>, %axes: tensor<2xi64>, %some: tensor<?xi32>, %u: tensor<*xf32>) {
  // CHECK-NEXT: %last = ge.Const() {value = dense<-1> : tensor<i32>} : () -> tensor<i32>
  %last = ge.Const() {value = dense<-1> : tensor<i32>} : () -> tensor<i32>
  // CHECK-NEXT: %outer = ge.Const() {value = dense<[0, 2]> : tensor<2xi64>} : () -> tensor<2xi64>
  %outer = ge.Const() {value = dense<[0, 2]> : tensor<2xi64>} : () -> tensor<2xi64>
  // CHECK-NEXT: %reduce_sum = ge.ReduceSum(%x, %last) : (tensor<2x?x4xf32>, tensor<i32>) -> tensor<2x?xf32>
  %reduce_sum = ge.ReduceSum(%x, %last) : (tensor<2x?x4xf32>, tensor<i32>) -> tensor<2x?xf32>
  // CHECK-NEXT: %reduce_mean = ge.ReduceMean(%x, %last) : (tensor<2x?x4xf32>, tensor<i32>) -> tensor<2x?xf32>
  %reduce_mean = ge.ReduceMean(%x, %last) : (tensor<2x?x4xf32>, tensor<i32>) -> tensor<2x?xf32>
  // CHECK-NEXT: %reduce_max = ge.ReduceMax(%x, %last) : (tensor<2x?x4xf32>, tensor<i32>) -> tensor<2x?xf32>
  %reduce_max = ge.ReduceMax(%x, %last) : (tensor<2x?x4xf32>, tensor<i32>) -> tensor<2x?xf32>
  // CHECK-NEXT: %reduce_min = ge.ReduceMin(%x, %last) : (tensor<2x?x4xf32>, tensor<i32>) -> tensor<2x?xf32>
  %reduce_min = ge.ReduceMin(%x, %last) : (tensor<2x?x4xf32>, tensor<i32>) -> tensor<2x?xf32>
  // CHECK-NEXT: %reduce_prod = ge.ReduceProd(%x, %last) : (tensor<2x?x4xf32>, tensor<i32>) -> tensor<2x?xf32>
  %reduce_prod = ge.ReduceProd(%x, %last) : (tensor<2x?x4xf32>, tensor<i32>) -> tensor<2x?xf32>
  // CHECK-NEXT: %reduce_all = ge.ReduceAll(%p, %last) : (tensor<2x3xi1>, tensor<i32>) -> tensor<2xi1>
  %reduce_all = ge.ReduceAll(%p, %last) : (tensor<2x3xi1>, tensor<i32>) -> tensor<2xi1>
  // CHECK-NEXT: %reduce_any = ge.ReduceAny(%p, %last) : (tensor<2x3xi1>, tensor<i32>) -> tensor<2xi1>
  %reduce_any = ge.ReduceAny(%p, %last) : (tensor<2x3xi1>, tensor<i32>) -> tensor<2xi1>
  // CHECK-NEXT: %reduce_sum_d = ge.ReduceSumD(%x) {axes = [0, -1]} : (tensor<2x?x4xf32>) -> tensor<?xf32>
  %reduce_sum_d = ge.ReduceSumD(%x) {axes = [0, -1]} : (tensor<2x?x4xf32>) -> tensor<?xf32>
  // CHECK-NEXT: %reduce_mean_d = ge.ReduceMeanD(%x) {axes = [0, -1]} : (tensor<2x?x4xf32>) -> tensor<?xf32>
  %reduce_mean_d = ge.ReduceMeanD(%x) {axes = [0, -1]} : (tensor<2x?x4xf32>) -> tensor<?xf32>
  // CHECK-NEXT: %reduce_max_d = ge.ReduceMaxD(%x) {axes = [0, -1]} : (tensor<2x?x4xf32>) -> tensor<?xf32>
  %reduce_max_d = ge.ReduceMaxD(%x) {axes = [0, -1]} : (tensor<2x?x4xf32>) -> tensor<?xf32>
  // CHECK-NEXT: %reduce_min_d = ge.ReduceMinD(%x) {axes = [0, -1]} : (tensor<2x?x4xf32>) -> tensor<?xf32>
  %reduce_min_d = ge.ReduceMinD(%x) {axes = [0, -1]} : (tensor<2x?x4xf32>) -> tensor<?xf32>
  // CHECK-NEXT: %reduce_prod_d = ge.ReduceProdD(%x) {axes = [0, -1]} : (tensor<2x?x4xf32>) -> tensor<?xf32>
  %reduce_prod_d = ge.ReduceProdD(%x) {axes = [0, -1]} : (tensor<2x?x4xf32>) -> tensor<?xf32>
  // CHECK-NEXT: %reduce_all_d = ge.ReduceAllD(%p) {axes = [0], keep_dims = true} : (tensor<2x3xi1>) -> tensor<1x3xi1>
  %reduce_all_d = ge.ReduceAllD(%p) {axes = [0], keep_dims = true} : (tensor<2x3xi1>) -> tensor<1x3xi1>
  // CHECK-NEXT: %reduce_any_d = ge.ReduceAnyD(%p) {axes = [0], keep_dims = true} : (tensor<2x3xi1>) -> tensor<1x3xi1>
  %reduce_any_d = ge.ReduceAnyD(%p) {axes = [0], keep_dims = true} : (tensor<2x3xi1>) -> tensor<1x3xi1>
  // Kept dimensions, no axes, axes that are not known.
  // CHECK-NEXT: %kept = ge.ReduceSum(%x, %outer) {keep_dims = true} : (tensor<2x?x4xf32>, tensor<2xi64>) -> tensor<1x?x1xf32>
  %kept = ge.ReduceSum(%x, %outer) {keep_dims = true} : (tensor<2x?x4xf32>, tensor<2xi64>) -> tensor<1x?x1xf32>
  // CHECK-NEXT: %all = ge.ReduceSumD(%x) {axes = []} : (tensor<2x?x4xf32>) -> tensor<f32>
  %all = ge.ReduceSumD(%x) {axes = []} : (tensor<2x?x4xf32>) -> tensor<f32>
  // CHECK-NEXT: %none = ge.ReduceMeanD(%x) {axes = [], noop_with_empty_axes = true} : (tensor<2x?x4xf32>) -> tensor<2x?x4xf32>
  %none = ge.ReduceMeanD(%x) {axes = [], noop_with_empty_axes = true} : (tensor<2x?x4xf32>) -> tensor<2x?x4xf32>
  // CHECK-NEXT: %two = ge.ReduceMax(%x, %axes) {noop_with_empty_axes = false} : (tensor<2x?x4xf32>, tensor<2xi64>) -> tensor<?xf32>
  %two = ge.ReduceMax(%x, %axes) {noop_with_empty_axes = false} : (tensor<2x?x4xf32>, tensor<2xi64>) -> tensor<?xf32>
  // CHECK-NEXT: %open = ge.ReduceMax(%x, %some) : (tensor<2x?x4xf32>, tensor<?xi32>) -> tensor<*xf32>
  %open = ge.ReduceMax(%x, %some) : (tensor<2x?x4xf32>, tensor<?xi32>) -> tensor<*xf32>
  // CHECK-NEXT: %open_kept = ge.ReduceMax(%x, %some) {keep_dims = true} : (tensor<2x?x4xf32>, tensor<?xi32>) -> tensor<?x?x?xf32>
  %open_kept = ge.ReduceMax(%x, %some) {keep_dims = true} : (tensor<2x?x4xf32>, tensor<?xi32>) -> tensor<?x?x?xf32>
  // CHECK-NEXT: %rank = ge.ReduceMinD(%u) {axes = [1]} : (tensor<*xf32>) -> tensor<*xf32>
  %rank = ge.ReduceMinD(%u) {axes = [1]} : (tensor<*xf32>) -> tensor<*xf32>
  // CHECK-NEXT: func.return
  func.return
}
