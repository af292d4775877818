// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Comparison, logic and selection.
// CHECK-LABEL: func.func @main
func.func @main(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>, %p: tensor<2x3xi1>, %q: tensor<2xi1>, %s: tensor<f32>, %d: tensor<?xf32>) {
  // CHECK-NEXT: %equal = ge.Equal(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
  %equal = ge.Equal(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
  // CHECK-NEXT: %not_equal = ge.NotEqual(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
  %not_equal = ge.NotEqual(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
  // CHECK-NEXT: %less = ge.Less(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
  %less = ge.Less(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
  // CHECK-NEXT: %less_equal = ge.LessEqual(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
  %less_equal = ge.LessEqual(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
  // CHECK-NEXT: %greater = ge.Greater(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
  %greater = ge.Greater(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
  // CHECK-NEXT: %greater_equal = ge.GreaterEqual(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
  %greater_equal = ge.GreaterEqual(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
  // CHECK-NEXT: %logical_or = ge.LogicalOr(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
  %logical_or = ge.LogicalOr(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
  // CHECK-NEXT: %equal_open = ge.Equal(%d, %s) : (tensor<?xf32>, tensor<f32>) -> tensor<?xi1>
  %equal_open = ge.Equal(%d, %s) : (tensor<?xf32>, tensor<f32>) -> tensor<?xi1>
  // CHECK-NEXT: %and = ge.LogicalAnd(%p, %p) : (tensor<2x3xi1>, tensor<2x3xi1>) -> tensor<2x3xi1>
  %and = ge.LogicalAnd(%p, %p) : (tensor<2x3xi1>, tensor<2x3xi1>) -> tensor<2x3xi1>
  // CHECK-NEXT: %logical_not = ge.LogicalNot(%p) : (tensor<2x3xi1>) -> tensor<2x3xi1>
  %logical_not = ge.LogicalNot(%p) : (tensor<2x3xi1>) -> tensor<2x3xi1>
  // CHECK-NEXT: %select = ge.Select(%q, %a, %b) : (tensor<2xi1>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %select = ge.Select(%q, %a, %b) : (tensor<2xi1>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %select_v2 = ge.SelectV2(%p, %a, %s) : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %select_v2 = ge.SelectV2(%p, %a, %s) : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %masked = ge.MaskedFill(%a, %p, %s) : (tensor<2x3xf32>, tensor<2x3xi1>, tensor<f32>) -> tensor<2x3xf32>
  %masked = ge.MaskedFill(%a, %p, %s) : (tensor<2x3xf32>, tensor<2x3xi1>, tensor<f32>) -> tensor<2x3xf32>
  // CHECK-NEXT: func.return
  func.return
}
