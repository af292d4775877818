// RUN: ge-opt %s --load %S/Inputs/variadic.py -p ge-custom-passes,ge-dce --verify-each --verify-rewrites --stats --explain --expect-matches=Sink:2 -o %t.mlir 2>&1 | filecheck %s
// RUN: ge-opt %t.mlir | filecheck %s --check-prefix=GRAPH

// RUN: ge-opt --load %S/Inputs/variadic.py --emit=patterns | filecheck %s --check-prefix=TEXT

// TEXT: // not expressible in PDL: input 2 stands for one or more tensors
// TEXT-NEXT: // beyond the graph: input 2: one or more tensors
// TEXT-NEXT: // pattern(%in0, %in1, %in2) {
// TEXT-NEXT: //   %ConcatV2_0 = ge.ConcatV2(%in2, %in0)

// The pattern's one tensor stands for three and for one; their order is kept.
// CHECK: Sink/Sink_joined_pattern: 2 of 7 sites rewritten
// CHECK-NEXT: rewrote 'y1', 'y2'
// CHECK-NEXT: 5 sites: operand 0: is graph input {{.*}}, expected ConcatV2 [1 of 2 nodes matched]
// CHECK: Sink  Sink_joined_pattern {{ *}} 7 {{ *}} 2 {{ *}} 2
// CHECK: note: checked 2 rewrites by numbers, 0 wrong; 2 equal without rounding

// GRAPH: %[[A:.*]] = ge.Transpose(%a,
// GRAPH: %[[B:.*]] = ge.Transpose(%b,
// GRAPH: %[[C:.*]] = ge.Transpose(%c,
// GRAPH: ge.ConcatV2([%[[A]], %[[B]], %[[C]]], {{.*}} -> tensor<2x4x6xf32>
// GRAPH: ge.ConcatV2([%{{[^,]*}}], {{.*}} -> tensor<2x4x1xf32>
func.func @main(%a: tensor<2x1x4xf32>, %b: tensor<2x2x4xf32>, %c: tensor<2x3x4xf32>) -> (tensor<2x4x6xf32>, tensor<2x4x1xf32>, tensor<4x2x3xf32>) {
  %axis1 = ge.Const() {value = dense<1> : tensor<i32>} : () -> tensor<i32>
  %perm1 = ge.Const() {value = dense<[0, 2, 1]> : tensor<3xi64>} : () -> tensor<3xi64>
  %c1 = ge.ConcatV2([%a, %b, %c], %axis1) {N = 3} : (tensor<2x1x4xf32>, tensor<2x2x4xf32>, tensor<2x3x4xf32>, tensor<i32>) -> tensor<2x6x4xf32>
  %y1 = ge.Transpose(%c1, %perm1) : (tensor<2x6x4xf32>, tensor<3xi64>) -> tensor<2x4x6xf32>
  %axis2 = ge.Const() {value = dense<1> : tensor<i32>} : () -> tensor<i32>
  %perm2 = ge.Const() {value = dense<[0, 2, 1]> : tensor<3xi64>} : () -> tensor<3xi64>
  %c2 = ge.ConcatV2([%a], %axis2) {N = 1} : (tensor<2x1x4xf32>, tensor<i32>) -> tensor<2x1x4xf32>
  %y2 = ge.Transpose(%c2, %perm2) : (tensor<2x1x4xf32>, tensor<3xi64>) -> tensor<2x4x1xf32>
  %perm3 = ge.Const() {value = dense<[2, 0, 1]> : tensor<3xi64>} : () -> tensor<3xi64>
  %y3 = ge.Transpose(%c, %perm3) : (tensor<2x3x4xf32>, tensor<3xi64>) -> tensor<4x2x3xf32>
  func.return %y1, %y2, %y3 : tensor<2x4x6xf32>, tensor<2x4x1xf32>, tensor<4x2x3xf32>
}
