// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Slices and pads.
// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<4x5x6xf32>, %d: tensor<?x5xf32>, %n: tensor<1xi64>, %f: tensor<f32>) {
  // CHECK-NEXT: %begin = ge.Const() {value = dense<[1, 0, 2]> : tensor<3xi64>} : () -> tensor<3xi64>
  %begin = ge.Const() {value = dense<[1, 0, 2]> : tensor<3xi64>} : () -> tensor<3xi64>
  // CHECK-NEXT: %end = ge.Const() {value = dense<[3, -1, 100]> : tensor<3xi64>} : () -> tensor<3xi64>
  %end = ge.Const() {value = dense<[3, -1, 100]> : tensor<3xi64>} : () -> tensor<3xi64>
  // CHECK-NEXT: %steps = ge.Const() {value = dense<[1, 2, 3]> : tensor<3xi64>} : () -> tensor<3xi64>
  %steps = ge.Const() {value = dense<[1, 2, 3]> : tensor<3xi64>} : () -> tensor<3xi64>
  // CHECK-NEXT: %last = ge.Const() {value = dense<1> : tensor<1xi64>} : () -> tensor<1xi64>
  %last = ge.Const() {value = dense<1> : tensor<1xi64>} : () -> tensor<1xi64>
  // CHECK-NEXT: %stop = ge.Const() {value = dense<9223372036854775807> : tensor<1xi64>} : () -> tensor<1xi64>
  %stop = ge.Const() {value = dense<9223372036854775807> : tensor<1xi64>} : () -> tensor<1xi64>
  // CHECK-NEXT: %borders = ge.Const() {value = dense<[0, 1, 2, 0]> : tensor<4xi32>} : () -> tensor<4xi32>
  %borders = ge.Const() {value = dense<[0, 1, 2, 0]> : tensor<4xi32>} : () -> tensor<4xi32>
  // CHECK-NEXT: %slice = ge.Slice(%x, %begin, %steps) : (tensor<4x5x6xf32>, tensor<3xi64>, tensor<3xi64>) -> tensor<1x2x3xf32>
  %slice = ge.Slice(%x, %begin, %steps) : (tensor<4x5x6xf32>, tensor<3xi64>, tensor<3xi64>) -> tensor<1x2x3xf32>
  // CHECK-NEXT: %slice_d = ge.SliceD(%d) {offsets = [0, 1], size = [-1, 2]} : (tensor<?x5xf32>) -> tensor<?x2xf32>
  %slice_d = ge.SliceD(%d) {offsets = [0, 1], size = [-1, 2]} : (tensor<?x5xf32>) -> tensor<?x2xf32>
  // CHECK-NEXT: %strided = ge.StridedSlice(%x, %begin, %end, %steps) {begin_mask = 1, end_mask = 2, shrink_axis_mask = 4} : (tensor<4x5x6xf32>, tensor<3xi64>, tensor<3xi64>, tensor<3xi64>) -> tensor<3x3xf32>
  %strided = ge.StridedSlice(%x, %begin, %end, %steps) {begin_mask = 1, end_mask = 2, shrink_axis_mask = 4} : (tensor<4x5x6xf32>, tensor<3xi64>, tensor<3xi64>, tensor<3xi64>) -> tensor<3x3xf32>
  // CHECK-NEXT: %strided_v2 = ge.StridedSliceV2(%x, %last, %stop, axes = %last) : (tensor<4x5x6xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<4x4x6xf32>
  %strided_v2 = ge.StridedSliceV2(%x, %last, %stop, axes = %last) : (tensor<4x5x6xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<4x4x6xf32>
  // CHECK-NEXT: %strided_later = ge.StridedSliceV2(%x, %n, %n) : (tensor<4x5x6xf32>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x5x6xf32>
  %strided_later = ge.StridedSliceV2(%x, %n, %n) : (tensor<4x5x6xf32>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x5x6xf32>
  // CHECK-NEXT: %steps_only = ge.StridedSliceV2(%x, %begin, %end, strides = %steps) : (tensor<4x5x6xf32>, tensor<3xi64>, tensor<3xi64>, tensor<3xi64>) -> tensor<2x2x2xf32>
  %steps_only = ge.StridedSliceV2(%x, %begin, %end, strides = %steps) : (tensor<4x5x6xf32>, tensor<3xi64>, tensor<3xi64>, tensor<3xi64>) -> tensor<2x2x2xf32>
  // CHECK-NEXT: %pad = ge.Pad(%d, %borders) : (tensor<?x5xf32>, tensor<4xi32>) -> tensor<?x7xf32>
  %pad = ge.Pad(%d, %borders) : (tensor<?x5xf32>, tensor<4xi32>) -> tensor<?x7xf32>
  // CHECK-NEXT: %pad_v3 = ge.PadV3(%d, %borders, constant_values = %f) {mode = "constant", paddings_contiguous = false} : (tensor<?x5xf32>, tensor<4xi32>, tensor<f32>) -> tensor<?x6xf32>
  %pad_v3 = ge.PadV3(%d, %borders, constant_values = %f) {mode = "constant", paddings_contiguous = false} : (tensor<?x5xf32>, tensor<4xi32>, tensor<f32>) -> tensor<?x6xf32>
  // CHECK-NEXT: %reflect = ge.PadV3(%d, %borders) {mode = "reflect"} : (tensor<?x5xf32>, tensor<4xi32>) -> tensor<?x7xf32>
  %reflect = ge.PadV3(%d, %borders) {mode = "reflect"} : (tensor<?x5xf32>, tensor<4xi32>) -> tensor<?x7xf32>
  // CHECK-NEXT: func.return
  func.return
}
