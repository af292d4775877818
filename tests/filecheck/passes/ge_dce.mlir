// RUN: ge-opt %s -p ge-dce --split-input-file | filecheck %s

// A dead chain goes as a whole, also where an op reads a value twice.
// CHECK-LABEL: @chain
func.func @chain(%x: tensor<2xf32>) -> tensor<2xf32> {
  // CHECK-NEXT: %live = ge.Relu(%x)
  // CHECK-NEXT: func.return %live
  %live = ge.Relu(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %a = ge.Add(%live, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %b = ge.Add(%a, %a) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %c = ge.Add(%b, %b) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %live : tensor<2xf32>
}

// -----

// A control edge keeps the op it comes from while the op it leads to is needed.
// CHECK-LABEL: @edges
func.func @edges(%x: tensor<2xf32>) -> tensor<2xf32> {
  // CHECK-NEXT: %first = ge.Relu(%x)
  // CHECK-NEXT: %y = ge.Add(%x, %x)
  // CHECK-NEXT: ge.control_edge(%first, %y)
  // CHECK-NEXT: func.return %y
  %first = ge.Relu(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %y = ge.Add(%x, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %dead = ge.Mul(%x, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  ge.control_edge(%first, %y) : (tensor<2xf32>, tensor<2xf32>) -> ()
  ge.control_edge(%y, %dead) : (tensor<2xf32>, tensor<2xf32>) -> ()
  func.return %y : tensor<2xf32>
}

// -----

// An unused constant goes; the graph's inputs stay, used or not.
// CHECK-LABEL: @constant
// CHECK-SAME: (%x: tensor<2xf32>, %unused: tensor<2xf32>)
func.func @constant(%x: tensor<2xf32>, %unused: tensor<2xf32>) -> tensor<2xf32> {
  // CHECK-NEXT: func.return %x
  %c = ge.Const() {value = dense<[1.0, 2.0]> : tensor<2xf32>} : () -> tensor<2xf32>
  func.return %x : tensor<2xf32>
}
