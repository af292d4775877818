// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Masks and sets: the number of results depends on values.
// CHECK-LABEL: func.func @main
func.func @main(%a0: tensor<2x?xf32>, %a1: tensor<2x?xi1>, %a2: tensor<5xf32>, %a3: tensor<1xi32>, %a4: tensor<?xf32>, %a5: tensor<?xi64>) {
  // CHECK-NEXT: %c0 = ge.Const() {value = dense<1> : tensor<i32>} : () -> tensor<i32>
  %c0 = ge.Const() {value = dense<1> : tensor<i32>} : () -> tensor<i32>
  // CHECK-NEXT: %masked_select = ge.MaskedSelect(%a0, %a1) : (tensor<2x?xf32>, tensor<2x?xi1>) -> tensor<?xf32>
  %masked_select = ge.MaskedSelect(%a0, %a1) : (tensor<2x?xf32>, tensor<2x?xi1>) -> tensor<?xf32>
  // CHECK-NEXT: %masked_select_v2 = ge.MaskedSelectV2(%a0, %a1) : (tensor<2x?xf32>, tensor<2x?xi1>) -> tensor<?xf32>
  %masked_select_v2 = ge.MaskedSelectV2(%a0, %a1) : (tensor<2x?xf32>, tensor<2x?xi1>) -> tensor<?xf32>
  // CHECK-NEXT: %unique:2 = ge.Unique(%a2) : (tensor<5xf32>) -> (tensor<?xf32>, tensor<5xi32>)
  %unique:2 = ge.Unique(%a2) : (tensor<5xf32>) -> (tensor<?xf32>, tensor<5xi32>)
  // CHECK-NEXT: %unique_with_counts:3 = ge.UniqueWithCounts(%a2) {out_idx = DT_INT64} : (tensor<5xf32>) -> (tensor<?xf32>, tensor<5xi64>, tensor<?xi64>)
  %unique_with_counts:3 = ge.UniqueWithCounts(%a2) {out_idx = DT_INT64} : (tensor<5xf32>) -> (tensor<?xf32>, tensor<5xi64>, tensor<?xi64>)
  // CHECK-NEXT: %unique_ext2:2 = ge.UniqueExt2(%a0, %c0) : (tensor<2x?xf32>, tensor<i32>) -> (tensor<2x?xf32>, tensor<?xi32>)
  %unique_ext2:2 = ge.UniqueExt2(%a0, %c0) : (tensor<2x?xf32>, tensor<i32>) -> (tensor<2x?xf32>, tensor<?xi32>)
  // CHECK-NEXT: %unique_with_counts_ext2:3 = ge.UniqueWithCountsExt2(%a0, %a3) {out_idx = DT_INT32} : (tensor<2x?xf32>, tensor<1xi32>) -> (tensor<?x?xf32>, tensor<?xi32>, tensor<?xi32>)
  %unique_with_counts_ext2:3 = ge.UniqueWithCountsExt2(%a0, %a3) {out_idx = DT_INT32} : (tensor<2x?xf32>, tensor<1xi32>) -> (tensor<?x?xf32>, tensor<?xi32>, tensor<?xi32>)
  // CHECK-NEXT: %unique_consecutive:3 = ge.UniqueConsecutive(%a0) {return_idx = true} : (tensor<2x?xf32>) -> (tensor<?xf32>, tensor<2x?xi64>, tensor<?xi64>)
  %unique_consecutive:3 = ge.UniqueConsecutive(%a0) {return_idx = true} : (tensor<2x?xf32>) -> (tensor<?xf32>, tensor<2x?xi64>, tensor<?xi64>)
  // CHECK-NEXT: %unique_with_counts_and_sorting:3 = ge.UniqueWithCountsAndSorting(%a0) {return_inverse = true} : (tensor<2x?xf32>) -> (tensor<?xf32>, tensor<2x?xi64>, tensor<?xi64>)
  %unique_with_counts_and_sorting:3 = ge.UniqueWithCountsAndSorting(%a0) {return_inverse = true} : (tensor<2x?xf32>) -> (tensor<?xf32>, tensor<2x?xi64>, tensor<?xi64>)
  // CHECK-NEXT: %list_diff:2 = ge.ListDiff(%a2, %a4) : (tensor<5xf32>, tensor<?xf32>) -> (tensor<?xf32>, tensor<?xi32>)
  %list_diff:2 = ge.ListDiff(%a2, %a4) : (tensor<5xf32>, tensor<?xf32>) -> (tensor<?xf32>, tensor<?xi32>)
  // CHECK-NEXT: %invert_permutation = ge.InvertPermutation(%a5) : (tensor<?xi64>) -> tensor<?xi64>
  %invert_permutation = ge.InvertPermutation(%a5) : (tensor<?xi64>) -> tensor<?xi64>
  func.return
}
