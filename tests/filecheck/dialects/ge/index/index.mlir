// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Gathering, finding, and tensors made from numbers.
// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<4x5xf32>, %i: tensor<2x3xi64>, %f: tensor<f32>, %n: tensor<2xi64>) {
  // CHECK-NEXT: %axis = ge.Const() {value = dense<-1> : tensor<i32>} : () -> tensor<i32>
  %axis = ge.Const() {value = dense<-1> : tensor<i32>} : () -> tensor<i32>
  // CHECK-NEXT: %depth = ge.Const() {value = dense<7> : tensor<i32>} : () -> tensor<i32>
  %depth = ge.Const() {value = dense<7> : tensor<i32>} : () -> tensor<i32>
  // CHECK-NEXT: %dims = ge.Const() {value = dense<[2, 0]> : tensor<2xi64>} : () -> tensor<2xi64>
  %dims = ge.Const() {value = dense<[2, 0]> : tensor<2xi64>} : () -> tensor<2xi64>
  // CHECK-NEXT: %zero = ge.Const() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
  %zero = ge.Const() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
  // CHECK-NEXT: %gather = ge.GatherV2(%x, %i, %axis) {negative_index_support = true} : (tensor<4x5xf32>, tensor<2x3xi64>, tensor<i32>) -> tensor<4x2x3xf32>
  %gather = ge.GatherV2(%x, %i, %axis) {negative_index_support = true} : (tensor<4x5xf32>, tensor<2x3xi64>, tensor<i32>) -> tensor<4x2x3xf32>
  // CHECK-NEXT: %elements = ge.GatherElements(%x, %i) {dim = 0} : (tensor<4x5xf32>, tensor<2x3xi64>) -> tensor<2x3xf32>
  %elements = ge.GatherElements(%x, %i) {dim = 0} : (tensor<4x5xf32>, tensor<2x3xi64>) -> tensor<2x3xf32>
  // CHECK-NEXT: %one_hot = ge.OneHot(%i, %depth, %f, %f) {axis = 0} : (tensor<2x3xi64>, tensor<i32>, tensor<f32>, tensor<f32>) -> tensor<7x2x3xf32>
  %one_hot = ge.OneHot(%i, %depth, %f, %f) {axis = 0} : (tensor<2x3xi64>, tensor<i32>, tensor<f32>, tensor<f32>) -> tensor<7x2x3xf32>
  // CHECK-NEXT: %where = ge.Where(%x) : (tensor<4x5xf32>) -> tensor<?x2xi64>
  %where = ge.Where(%x) : (tensor<4x5xf32>) -> tensor<?x2xi64>
  // CHECK-NEXT: %non_zero = ge.NonZero(%x) {transpose = true, dtype = DT_INT32} : (tensor<4x5xf32>) -> tensor<2x?xi32>
  %non_zero = ge.NonZero(%x) {transpose = true, dtype = DT_INT32} : (tensor<4x5xf32>) -> tensor<2x?xi32>
  // CHECK-NEXT: %fill = ge.Fill(%dims, %f) : (tensor<2xi64>, tensor<f32>) -> tensor<2x0xf32>
  %fill = ge.Fill(%dims, %f) : (tensor<2xi64>, tensor<f32>) -> tensor<2x0xf32>
  // CHECK-NEXT: %fill_later = ge.Fill(%n, %f) : (tensor<2xi64>, tensor<f32>) -> tensor<?x?xf32>
  %fill_later = ge.Fill(%n, %f) : (tensor<2xi64>, tensor<f32>) -> tensor<?x?xf32>
  // CHECK-NEXT: %range = ge.Range(%zero, %depth, %depth) {is_closed = true} : (tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2xi32>
  %range = ge.Range(%zero, %depth, %depth) {is_closed = true} : (tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2xi32>
  // CHECK-NEXT: func.return
  func.return
}
