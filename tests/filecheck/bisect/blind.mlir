// RUN: not ge-opt %s -p ge-dce --bisect 2>&1 | filecheck %s

// Where nothing could be run nothing is known: that is no success.

// CHECK: error: no pass is checked by numbers, expected a graph that runs before and after;
// CHECK-SAME: 1 not checked: graph input 'x' has unknown rank, expected --shape x=...

func.func @main(%x: tensor<*xf32>) -> tensor<*xf32> {
  %y = ge.Exp(%x) : (tensor<*xf32>) -> tensor<*xf32>
  func.return %y : tensor<*xf32>
}
