// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Sorting and the largest elements.
// CHECK-LABEL: func.func @main
func.func @main(%a0: tensor<2x?xf32>, %a1: tensor<2x3xi64>, %a2: tensor<i32>, %a3: tensor<4xf16>, %a4: tensor<*xf32>, %a5: tensor<?xi32>) {
  // CHECK-NEXT: %c0 = ge.Const() {value = dense<3> : tensor<i32>} : () -> tensor<i32>
  %c0 = ge.Const() {value = dense<3> : tensor<i32>} : () -> tensor<i32>
  // CHECK-NEXT: %sort:2 = ge.Sort(%a0) {descending = true} : (tensor<2x?xf32>) -> (tensor<2x?xf32>, tensor<2x?xi32>)
  %sort:2 = ge.Sort(%a0) {descending = true} : (tensor<2x?xf32>) -> (tensor<2x?xf32>, tensor<2x?xi32>)
  // CHECK-NEXT: %sort_v2 = ge.SortV2(%a0) {axis = 0} : (tensor<2x?xf32>) -> tensor<2x?xf32>
  %sort_v2 = ge.SortV2(%a0) {axis = 0} : (tensor<2x?xf32>) -> tensor<2x?xf32>
  // CHECK-NEXT: %sort_with_index:2 = ge.SortWithIndex(%a0, %a1) : (tensor<2x?xf32>, tensor<2x3xi64>) -> (tensor<2x3xf32>, tensor<2x3xi64>)
  %sort_with_index:2 = ge.SortWithIndex(%a0, %a1) : (tensor<2x?xf32>, tensor<2x3xi64>) -> (tensor<2x3xf32>, tensor<2x3xi64>)
  // CHECK-NEXT: %top_k:2 = ge.TopK(%a0, %c0) : (tensor<2x?xf32>, tensor<i32>) -> (tensor<2x3xf32>, tensor<2x3xi32>)
  %top_k:2 = ge.TopK(%a0, %c0) : (tensor<2x?xf32>, tensor<i32>) -> (tensor<2x3xf32>, tensor<2x3xi32>)
  // CHECK-NEXT: %top_k_v2:2 = ge.TopKV2(%a0, %a2) {dim = 0, indices_dtype = 9} : (tensor<2x?xf32>, tensor<i32>) -> (tensor<?x?xf32>, tensor<?x?xi64>)
  %top_k_v2:2 = ge.TopKV2(%a0, %a2) {dim = 0, indices_dtype = 9} : (tensor<2x?xf32>, tensor<i32>) -> (tensor<?x?xf32>, tensor<?x?xi64>)
  // CHECK-NEXT: %top_kd:2 = ge.TopKD(%a0, %a3) {k = 1, largest = false} : (tensor<2x?xf32>, tensor<4xf16>) -> (tensor<2x1xf32>, tensor<2x1xi32>)
  %top_kd:2 = ge.TopKD(%a0, %a3) {k = 1, largest = false} : (tensor<2x?xf32>, tensor<4xf16>) -> (tensor<2x1xf32>, tensor<2x1xi32>)
  // CHECK-NEXT: %top_k_v2_d:2 = ge.TopKV2D(%a4, %c0, %a3) : (tensor<*xf32>, tensor<i32>, tensor<4xf16>) -> (tensor<*xf32>, tensor<*xi32>)
  %top_k_v2_d:2 = ge.TopKV2D(%a4, %c0, %a3) : (tensor<*xf32>, tensor<i32>, tensor<4xf16>) -> (tensor<*xf32>, tensor<*xi32>)
  // CHECK-NEXT: %nth_element = ge.NthElement(%a0, %c0) {reverse = true} : (tensor<2x?xf32>, tensor<i32>) -> tensor<2xf32>
  %nth_element = ge.NthElement(%a0, %c0) {reverse = true} : (tensor<2x?xf32>, tensor<i32>) -> tensor<2xf32>
  // CHECK-NEXT: %in_top_k = ge.InTopK(%a0, %a5, %a2) : (tensor<2x?xf32>, tensor<?xi32>, tensor<i32>) -> tensor<2xi1>
  %in_top_k = ge.InTopK(%a0, %a5, %a2) : (tensor<2x?xf32>, tensor<?xi32>, tensor<i32>) -> tensor<2xi1>
  // CHECK-NEXT: %in_top_kd = ge.InTopKD(%a0, %a5) {k = 2} : (tensor<2x?xf32>, tensor<?xi32>) -> tensor<2xi1>
  %in_top_kd = ge.InTopKD(%a0, %a5) {k = 2} : (tensor<2x?xf32>, tensor<?xi32>) -> tensor<2xi1>
  // CHECK-NEXT: %in_top_k_v2 = ge.InTopKV2(%a4, %a5, %a2) : (tensor<*xf32>, tensor<?xi32>, tensor<i32>) -> tensor<?xi1>
  %in_top_k_v2 = ge.InTopKV2(%a4, %a5, %a2) : (tensor<*xf32>, tensor<?xi32>, tensor<i32>) -> tensor<?xi1>
  func.return
}
