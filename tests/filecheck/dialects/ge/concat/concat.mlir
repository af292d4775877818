// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Joining and splitting.
// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<2x3xf32>, %d: tensor<?x3xf32>, %s: tensor<f32>, %n: tensor<i32>) {
  // CHECK-NEXT: %axis = ge.Const() {value = dense<1> : tensor<i32>} : () -> tensor<i32>
  %axis = ge.Const() {value = dense<1> : tensor<i32>} : () -> tensor<i32>
  // CHECK-NEXT: %sizes = ge.Const() {value = dense<[1, -1]> : tensor<2xi64>} : () -> tensor<2xi64>
  %sizes = ge.Const() {value = dense<[1, -1]> : tensor<2xi64>} : () -> tensor<2xi64>
  // CHECK-NEXT: %concat = ge.Concat(%axis, [%x, %x]) {N = 2} : (tensor<i32>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x6xf32>
  %concat = ge.Concat(%axis, [%x, %x]) {N = 2} : (tensor<i32>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x6xf32>
  // CHECK-NEXT: %concat_later = ge.Concat(%n, [%x, %d]) : (tensor<i32>, tensor<2x3xf32>, tensor<?x3xf32>) -> tensor<?x?xf32>
  %concat_later = ge.Concat(%n, [%x, %d]) : (tensor<i32>, tensor<2x3xf32>, tensor<?x3xf32>) -> tensor<?x?xf32>
  // CHECK-NEXT: %concat_v2 = ge.ConcatV2([%x, %x, %x], %axis) : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<i32>) -> tensor<2x9xf32>
  %concat_v2 = ge.ConcatV2([%x, %x, %x], %axis) : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<i32>) -> tensor<2x9xf32>
  // CHECK-NEXT: %concat_d = ge.ConcatD([%x, %d]) {concat_dim = 0, N = 2} : (tensor<2x3xf32>, tensor<?x3xf32>) -> tensor<?x3xf32>
  %concat_d = ge.ConcatD([%x, %d]) {concat_dim = 0, N = 2} : (tensor<2x3xf32>, tensor<?x3xf32>) -> tensor<?x3xf32>
  // CHECK-NEXT: %concat_v2d = ge.ConcatV2D([%s, %s]) {concat_dim = 0} : (tensor<f32>, tensor<f32>) -> tensor<2xf32>
  %concat_v2d = ge.ConcatV2D([%s, %s]) {concat_dim = 0} : (tensor<f32>, tensor<f32>) -> tensor<2xf32>
  // CHECK-NEXT: %split:3 = ge.Split(%axis, %x) {num_split = 3} : (tensor<i32>, tensor<2x3xf32>) -> (tensor<2x1xf32>, tensor<2x1xf32>, tensor<2x1xf32>)
  %split:3 = ge.Split(%axis, %x) {num_split = 3} : (tensor<i32>, tensor<2x3xf32>) -> (tensor<2x1xf32>, tensor<2x1xf32>, tensor<2x1xf32>)
  // CHECK-NEXT: %split_d:2 = ge.SplitD(%x) {split_dim = 0, num_split = 2} : (tensor<2x3xf32>) -> (tensor<1x3xf32>, tensor<1x3xf32>)
  %split_d:2 = ge.SplitD(%x) {split_dim = 0, num_split = 2} : (tensor<2x3xf32>) -> (tensor<1x3xf32>, tensor<1x3xf32>)
  // CHECK-NEXT: %split_v:2 = ge.SplitV(%d, %sizes, %axis) {num_split = 2} : (tensor<?x3xf32>, tensor<2xi64>, tensor<i32>) -> (tensor<?x1xf32>, tensor<?x2xf32>)
  %split_v:2 = ge.SplitV(%d, %sizes, %axis) {num_split = 2} : (tensor<?x3xf32>, tensor<2xi64>, tensor<i32>) -> (tensor<?x1xf32>, tensor<?x2xf32>)
  // CHECK-NEXT: %pack = ge.Pack([%x, %x]) {axis = -1, N = 2} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3x2xf32>
  %pack = ge.Pack([%x, %x]) {axis = -1, N = 2} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3x2xf32>
  // CHECK-NEXT: %unpack:3 = ge.Unpack(%d) {num = 3, axis = 1} : (tensor<?x3xf32>) -> (tensor<?xf32>, tensor<?xf32>, tensor<?xf32>)
  %unpack:3 = ge.Unpack(%d) {num = 3, axis = 1} : (tensor<?x3xf32>) -> (tensor<?xf32>, tensor<?xf32>, tensor<?xf32>)
  // CHECK-NEXT: func.return
  func.return
}
