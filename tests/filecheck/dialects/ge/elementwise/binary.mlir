// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Two operands broadcast together.
// CHECK-LABEL: func.func @main
func.func @main(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>, %n: tensor<3xi32>, %d: tensor<?x1xf32>, %u: tensor<*xf32>) {
  // CHECK-NEXT: %sub = ge.Sub(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %sub = ge.Sub(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %mul = ge.Mul(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %mul = ge.Mul(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %pow = ge.Pow(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %pow = ge.Pow(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %real_div = ge.RealDiv(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %real_div = ge.RealDiv(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %div = ge.Div(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %div = ge.Div(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %floor_div = ge.FloorDiv(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %floor_div = ge.FloorDiv(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %truncate_div = ge.TruncateDiv(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %truncate_div = ge.TruncateDiv(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %div_no_nan = ge.DivNoNan(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %div_no_nan = ge.DivNoNan(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %mod = ge.Mod(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %mod = ge.Mod(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %floor_mod = ge.FloorMod(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %floor_mod = ge.FloorMod(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %maximum = ge.Maximum(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %maximum = ge.Maximum(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %minimum = ge.Minimum(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %minimum = ge.Minimum(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %squared_difference = ge.SquaredDifference(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %squared_difference = ge.SquaredDifference(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // Broadcasting, unknown dimensions, unknown rank, promotion.
  // CHECK-NEXT: %add = ge.Add(%a, %d) : (tensor<2x3xf32>, tensor<?x1xf32>) -> tensor<2x3xf32>
  %add = ge.Add(%a, %d) : (tensor<2x3xf32>, tensor<?x1xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %open = ge.Add(%d, %d) : (tensor<?x1xf32>, tensor<?x1xf32>) -> tensor<?x1xf32>
  %open = ge.Add(%d, %d) : (tensor<?x1xf32>, tensor<?x1xf32>) -> tensor<?x1xf32>
  // CHECK-NEXT: %rank = ge.Add(%a, %u) : (tensor<2x3xf32>, tensor<*xf32>) -> tensor<*xf32>
  %rank = ge.Add(%a, %u) : (tensor<2x3xf32>, tensor<*xf32>) -> tensor<*xf32>
  // CHECK-NEXT: %mixed = ge.Mul(%n, %a) : (tensor<3xi32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %mixed = ge.Mul(%n, %a) : (tensor<3xi32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // The generic form is read too.
  // CHECK-NEXT: %generic = ge.Add(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %generic = "ge.Add"(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: func.return
  func.return
}
