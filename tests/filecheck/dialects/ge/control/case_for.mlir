// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Ops with a list of subgraphs, and a counted loop.
// CHECK-LABEL: func.func @main
func.func @main(%k: tensor<i32>, %n: tensor<i32>, %x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  // CHECK-NEXT: %y = ge.Case(%k, [%x]) branches0 {
  %y = ge.Case(%k, [%x]) branches0 {
  ^bb0(%p: tensor<3xf32>):
    ge.yield([%p]) : (tensor<3xf32>) -> ()
  // CHECK: } branches1 {
  } branches1 {
  ^bb0(%p: tensor<3xf32>):
    // CHECK: %s = ge.Neg(%{{.*}}) : (tensor<3xf32>) -> tensor<3xf32>
    %s = ge.Neg(%p) : (tensor<3xf32>) -> tensor<3xf32>
    ge.yield([%s]) : (tensor<3xf32>) -> ()
  // CHECK: } : (tensor<i32>, tensor<3xf32>) -> tensor<3xf32>
  } : (tensor<i32>, tensor<3xf32>) -> tensor<3xf32>
  // CHECK-NEXT: %r = ge.For(%k, %n, %k, [%y]) body {
  %r = ge.For(%k, %n, %k, [%y]) body {
  ^bb0(%i: tensor<i32>, %v: tensor<3xf32>):
    // CHECK: %w = ge.Add(%{{.*}}, %{{.*}}) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %w = ge.Add(%v, %v) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    ge.yield([%w]) : (tensor<3xf32>) -> ()
  // CHECK: } : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<3xf32>) -> tensor<3xf32>
  } : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<3xf32>) -> tensor<3xf32>
  func.return %y, %r : tensor<3xf32>, tensor<3xf32>
}
