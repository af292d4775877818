// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Ops with subgraphs.
// CHECK-LABEL: func.func @main
func.func @main(%c: tensor<i1>, %x: tensor<?xf32>) {
  // CHECK-NEXT: %choice = ge.If(%c, [%x]) then_branch {
  %choice = ge.If(%c, [%x]) then_branch {
  // CHECK-NEXT: ^bb0(%t: tensor<?xf32>):
  ^bb0(%t: tensor<?xf32>):
  // CHECK-NEXT: ge.yield([%t]) : (tensor<?xf32>) -> ()
    ge.yield([%t]) : (tensor<?xf32>) -> ()
  // CHECK-NEXT: } else_branch {
  } else_branch {
  // CHECK-NEXT: ^bb0(%e: tensor<?xf32>):
  ^bb0(%e: tensor<?xf32>):
  // CHECK-NEXT: %twice = ge.Add(%e, %e) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    %twice = ge.Add(%e, %e) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  // CHECK-NEXT: ge.yield([%twice]) : (tensor<?xf32>) -> ()
    ge.yield([%twice]) : (tensor<?xf32>) -> ()
  // CHECK-NEXT: } : (tensor<i1>, tensor<?xf32>) -> tensor<?xf32>
  } : (tensor<i1>, tensor<?xf32>) -> tensor<?xf32>
  // CHECK-NEXT: %loop:2 = ge.While([%c, %x]) cond {
  %loop:2 = ge.While([%c, %x]) cond {
  // CHECK-NEXT: ^bb0(%go: tensor<i1>, %v: tensor<?xf32>):
  ^bb0(%go: tensor<i1>, %v: tensor<?xf32>):
  // CHECK-NEXT: ge.yield([%go]) : (tensor<i1>) -> ()
    ge.yield([%go]) : (tensor<i1>) -> ()
  // CHECK-NEXT: } body {
  } body {
  // CHECK-NEXT: ^bb0(%go_1: tensor<i1>, %v_1: tensor<?xf32>):
  ^bb0(%go_1: tensor<i1>, %v_1: tensor<?xf32>):
  // CHECK-NEXT: %stop = ge.LogicalNot(%go_1) : (tensor<i1>) -> tensor<i1>
    %stop = ge.LogicalNot(%go_1) : (tensor<i1>) -> tensor<i1>
  // CHECK-NEXT: ge.yield([%stop, %v_1]) : (tensor<i1>, tensor<?xf32>) -> ()
    ge.yield([%stop, %v_1]) : (tensor<i1>, tensor<?xf32>) -> ()
  // CHECK-NEXT: } {parallel_iterations = 4} : (tensor<i1>, tensor<?xf32>) -> (tensor<i1>, tensor<?xf32>)
  } {parallel_iterations = 4} : (tensor<i1>, tensor<?xf32>) -> (tensor<i1>, tensor<?xf32>)
  // CHECK-NEXT: %called = ge.PartitionedCall([%x]) f {
  %called = ge.PartitionedCall([%x]) f {
  // CHECK-NEXT: ^bb0(%a: tensor<?xf32>):
  ^bb0(%a: tensor<?xf32>):
  // CHECK-NEXT: %absolute = ge.Abs(%a) : (tensor<?xf32>) -> tensor<?xf32>
    %absolute = ge.Abs(%a) : (tensor<?xf32>) -> tensor<?xf32>
  // CHECK-NEXT: ge.yield([%absolute]) : (tensor<?xf32>) -> ()
    ge.yield([%absolute]) : (tensor<?xf32>) -> ()
  // CHECK-NEXT: } {executor_type = "sync"} : (tensor<?xf32>) -> tensor<?xf32>
  } {executor_type = "sync"} : (tensor<?xf32>) -> tensor<?xf32>
  // CHECK-NEXT: func.return
  func.return
}
