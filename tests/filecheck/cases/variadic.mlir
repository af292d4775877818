// RUN: ge-opt %s --load %S/Inputs/concat_transpose.py -p ge-custom-passes --verify-each --verify-rewrites=pass --stats --expect-matches=SinkTranspose:3 -o %t.mlir | filecheck %s
// RUN: ge-opt %t.mlir | filecheck %s --check-prefix=GRAPH

// Three, one and nine tensors: a pattern has no dynamic inputs, so the pass walks the graph.
// CHECK: SinkTranspose  SinkTranspose {{ *}} 3 {{ *}} 3 {{ *}} 3

// GRAPH-COUNT-3: ge.Transpose
// GRAPH: ge.ConcatV2([{{%[^,]*, %[^,]*, %[^,]*}}], {{.*}} -> tensor<2x4x9xf32>
// GRAPH: ge.Transpose
// GRAPH: ge.ConcatV2([{{%[^,]*}}], {{.*}} -> tensor<2x4x3xf32>
// GRAPH-COUNT-9: ge.Transpose
// GRAPH: -> tensor<2x4x27xf32>
// GRAPH-NOT: ge.Transpose
func.func @main(%x0: tensor<2x3x4xf32>, %x1: tensor<2x3x4xf32>, %x2: tensor<2x3x4xf32>, %x3: tensor<2x3x4xf32>, %x4: tensor<2x3x4xf32>, %x5: tensor<2x3x4xf32>, %x6: tensor<2x3x4xf32>, %x7: tensor<2x3x4xf32>, %x8: tensor<2x3x4xf32>) -> (tensor<2x4x9xf32>, tensor<2x4x3xf32>, tensor<2x4x27xf32>) {
  %axis1 = ge.Const() {value = dense<1> : tensor<i32>} : () -> tensor<i32>
  %perm1 = ge.Const() {value = dense<[0, 2, 1]> : tensor<3xi64>} : () -> tensor<3xi64>
  %c1 = ge.ConcatV2([%x0, %x1, %x2], %axis1) {N = 3} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<i32>) -> tensor<2x9x4xf32>
  %y1 = ge.Transpose(%c1, %perm1) : (tensor<2x9x4xf32>, tensor<3xi64>) -> tensor<2x4x9xf32>
  %axis2 = ge.Const() {value = dense<1> : tensor<i32>} : () -> tensor<i32>
  %perm2 = ge.Const() {value = dense<[0, 2, 1]> : tensor<3xi64>} : () -> tensor<3xi64>
  %c2 = ge.ConcatV2([%x0], %axis2) {N = 1} : (tensor<2x3x4xf32>, tensor<i32>) -> tensor<2x3x4xf32>
  %y2 = ge.Transpose(%c2, %perm2) : (tensor<2x3x4xf32>, tensor<3xi64>) -> tensor<2x4x3xf32>
  %axis3 = ge.Const() {value = dense<1> : tensor<i32>} : () -> tensor<i32>
  %perm3 = ge.Const() {value = dense<[0, 2, 1]> : tensor<3xi64>} : () -> tensor<3xi64>
  %c3 = ge.ConcatV2([%x0, %x1, %x2, %x3, %x4, %x5, %x6, %x7, %x8], %axis3) {N = 9} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<i32>) -> tensor<2x27x4xf32>
  %y3 = ge.Transpose(%c3, %perm3) : (tensor<2x27x4xf32>, tensor<3xi64>) -> tensor<2x4x27xf32>
  func.return %y1, %y2, %y3 : tensor<2x4x9xf32>, tensor<2x4x3xf32>, tensor<2x4x27xf32>
}
