// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Bisection, bins and counts.
// CHECK-LABEL: func.func @main
func.func @main(%a0: tensor<5xf32>, %a1: tensor<2x?xf32>, %a2: tensor<2x5xf32>, %a3: tensor<f32>, %a4: tensor<2xf32>, %a5: tensor<2x?xi32>, %a6: tensor<0xf32>, %a7: tensor<i32>, %a8: tensor<4xi32>) {
  // CHECK-NEXT: %c0 = ge.Const() {value = dense<7> : tensor<i32>} : () -> tensor<i32>
  %c0 = ge.Const() {value = dense<7> : tensor<i32>} : () -> tensor<i32>
  // CHECK-NEXT: %search_sorted = ge.SearchSorted(%a0, %a1) {right = true} : (tensor<5xf32>, tensor<2x?xf32>) -> tensor<2x?xi64>
  %search_sorted = ge.SearchSorted(%a0, %a1) {right = true} : (tensor<5xf32>, tensor<2x?xf32>) -> tensor<2x?xi64>
  // CHECK-NEXT: %lower_bound = ge.LowerBound(%a2, %a1) : (tensor<2x5xf32>, tensor<2x?xf32>) -> tensor<2x?xi32>
  %lower_bound = ge.LowerBound(%a2, %a1) : (tensor<2x5xf32>, tensor<2x?xf32>) -> tensor<2x?xi32>
  // CHECK-NEXT: %upper_bound = ge.UpperBound(%a2, %a1) {out_type = DT_INT64} : (tensor<2x5xf32>, tensor<2x?xf32>) -> tensor<2x?xi64>
  %upper_bound = ge.UpperBound(%a2, %a1) {out_type = DT_INT64} : (tensor<2x5xf32>, tensor<2x?xf32>) -> tensor<2x?xi64>
  // CHECK-NEXT: %bucketize = ge.Bucketize(%a1) {boundaries = [0.0, 1.5]} : (tensor<2x?xf32>) -> tensor<2x?xi32>
  %bucketize = ge.Bucketize(%a1) {boundaries = [0.0, 1.5]} : (tensor<2x?xf32>) -> tensor<2x?xi32>
  // CHECK-NEXT: %bucketize_v2 = ge.BucketizeV2(%a1, %a0) {out_int32 = true} : (tensor<2x?xf32>, tensor<5xf32>) -> tensor<2x?xi32>
  %bucketize_v2 = ge.BucketizeV2(%a1, %a0) {out_int32 = true} : (tensor<2x?xf32>, tensor<5xf32>) -> tensor<2x?xi32>
  // CHECK-NEXT: %histogram = ge.Histogram(%a1) {bins = 7} : (tensor<2x?xf32>) -> tensor<7xf32>
  %histogram = ge.Histogram(%a1) {bins = 7} : (tensor<2x?xf32>) -> tensor<7xf32>
  // CHECK-NEXT: %histogram_v2 = ge.HistogramV2(%a1, %a3, %a3) : (tensor<2x?xf32>, tensor<f32>, tensor<f32>) -> tensor<100xi32>
  %histogram_v2 = ge.HistogramV2(%a1, %a3, %a3) : (tensor<2x?xf32>, tensor<f32>, tensor<f32>) -> tensor<100xi32>
  // CHECK-NEXT: %histogram_fixed_width = ge.HistogramFixedWidth(%a1, %a4, %c0) : (tensor<2x?xf32>, tensor<2xf32>, tensor<i32>) -> tensor<7xi32>
  %histogram_fixed_width = ge.HistogramFixedWidth(%a1, %a4, %c0) : (tensor<2x?xf32>, tensor<2xf32>, tensor<i32>) -> tensor<7xi32>
  // CHECK-NEXT: %histogram_fixed_width_d = ge.HistogramFixedWidthD(%a1, %a4) {nbins = 9} : (tensor<2x?xf32>, tensor<2xf32>) -> tensor<9xi32>
  %histogram_fixed_width_d = ge.HistogramFixedWidthD(%a1, %a4) {nbins = 9} : (tensor<2x?xf32>, tensor<2xf32>) -> tensor<9xi32>
  // CHECK-NEXT: %bincount = ge.Bincount(%a5, %c0, %a6) : (tensor<2x?xi32>, tensor<i32>, tensor<0xf32>) -> tensor<7xf32>
  %bincount = ge.Bincount(%a5, %c0, %a6) : (tensor<2x?xi32>, tensor<i32>, tensor<0xf32>) -> tensor<7xf32>
  // CHECK-NEXT: %dense_bincount = ge.DenseBincount(%a5, %a7, %a6) {binary_output = true} : (tensor<2x?xi32>, tensor<i32>, tensor<0xf32>) -> tensor<2x?xf32>
  %dense_bincount = ge.DenseBincount(%a5, %a7, %a6) {binary_output = true} : (tensor<2x?xi32>, tensor<i32>, tensor<0xf32>) -> tensor<2x?xf32>
  // CHECK-NEXT: %confusion_matrix = ge.ConfusionMatrix(%a8, %a8) {num_classes = 3, dtype = "float32"} : (tensor<4xi32>, tensor<4xi32>) -> tensor<3x3xf32>
  %confusion_matrix = ge.ConfusionMatrix(%a8, %a8) {num_classes = 3, dtype = "float32"} : (tensor<4xi32>, tensor<4xi32>) -> tensor<3x3xf32>
  func.return
}
