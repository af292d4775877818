// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Reductions by segment.
// CHECK-LABEL: func.func @main
func.func @main(%a0: tensor<4x?xf32>, %a1: tensor<4xi32>, %a2: tensor<i32>, %a3: tensor<*xf32>) {
  // CHECK-NEXT: %c0 = ge.Const() {value = dense<5> : tensor<i32>} : () -> tensor<i32>
  %c0 = ge.Const() {value = dense<5> : tensor<i32>} : () -> tensor<i32>
  // CHECK-NEXT: %unsorted_segment_sum = ge.UnsortedSegmentSum(%a0, %a1, %c0) {check_ids = true} : (tensor<4x?xf32>, tensor<4xi32>, tensor<i32>) -> tensor<5x?xf32>
  %unsorted_segment_sum = ge.UnsortedSegmentSum(%a0, %a1, %c0) {check_ids = true} : (tensor<4x?xf32>, tensor<4xi32>, tensor<i32>) -> tensor<5x?xf32>
  // CHECK-NEXT: %unsorted_segment_prod = ge.UnsortedSegmentProd(%a0, %a1, %a2) : (tensor<4x?xf32>, tensor<4xi32>, tensor<i32>) -> tensor<?x?xf32>
  %unsorted_segment_prod = ge.UnsortedSegmentProd(%a0, %a1, %a2) : (tensor<4x?xf32>, tensor<4xi32>, tensor<i32>) -> tensor<?x?xf32>
  // CHECK-NEXT: %unsorted_segment_max = ge.UnsortedSegmentMax(%a0, %a1, %c0) : (tensor<4x?xf32>, tensor<4xi32>, tensor<i32>) -> tensor<5x?xf32>
  %unsorted_segment_max = ge.UnsortedSegmentMax(%a0, %a1, %c0) : (tensor<4x?xf32>, tensor<4xi32>, tensor<i32>) -> tensor<5x?xf32>
  // CHECK-NEXT: %unsorted_segment_min = ge.UnsortedSegmentMin(%a3, %a1, %c0) : (tensor<*xf32>, tensor<4xi32>, tensor<i32>) -> tensor<*xf32>
  %unsorted_segment_min = ge.UnsortedSegmentMin(%a3, %a1, %c0) : (tensor<*xf32>, tensor<4xi32>, tensor<i32>) -> tensor<*xf32>
  // CHECK-NEXT: %unsorted_segment_sum_d = ge.UnsortedSegmentSumD(%a0, %a1) {num_segments = 6} : (tensor<4x?xf32>, tensor<4xi32>) -> tensor<6x?xf32>
  %unsorted_segment_sum_d = ge.UnsortedSegmentSumD(%a0, %a1) {num_segments = 6} : (tensor<4x?xf32>, tensor<4xi32>) -> tensor<6x?xf32>
  // CHECK-NEXT: %unsorted_segment_prod_d = ge.UnsortedSegmentProdD(%a0, %a1) {num_segments = 6} : (tensor<4x?xf32>, tensor<4xi32>) -> tensor<6x?xf32>
  %unsorted_segment_prod_d = ge.UnsortedSegmentProdD(%a0, %a1) {num_segments = 6} : (tensor<4x?xf32>, tensor<4xi32>) -> tensor<6x?xf32>
  // CHECK-NEXT: %unsorted_segment_max_d = ge.UnsortedSegmentMaxD(%a0, %a1) {num_segments = 6} : (tensor<4x?xf32>, tensor<4xi32>) -> tensor<6x?xf32>
  %unsorted_segment_max_d = ge.UnsortedSegmentMaxD(%a0, %a1) {num_segments = 6} : (tensor<4x?xf32>, tensor<4xi32>) -> tensor<6x?xf32>
  // CHECK-NEXT: %unsorted_segment_min_d = ge.UnsortedSegmentMinD(%a0, %a1) {num_segments = 6} : (tensor<4x?xf32>, tensor<4xi32>) -> tensor<6x?xf32>
  %unsorted_segment_min_d = ge.UnsortedSegmentMinD(%a0, %a1) {num_segments = 6} : (tensor<4x?xf32>, tensor<4xi32>) -> tensor<6x?xf32>
  // CHECK-NEXT: %segment_sum = ge.SegmentSum(%a0, %a1) : (tensor<4x?xf32>, tensor<4xi32>) -> tensor<?x?xf32>
  %segment_sum = ge.SegmentSum(%a0, %a1) : (tensor<4x?xf32>, tensor<4xi32>) -> tensor<?x?xf32>
  // CHECK-NEXT: %segment_max = ge.SegmentMax(%a0, %a1) : (tensor<4x?xf32>, tensor<4xi32>) -> tensor<?x?xf32>
  %segment_max = ge.SegmentMax(%a0, %a1) : (tensor<4x?xf32>, tensor<4xi32>) -> tensor<?x?xf32>
  func.return
}
