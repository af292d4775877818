// RUN: ge-opt %s --emit=dot | filecheck %s
// RUN: ge-opt %s -o %t.gv && filecheck %s --input-file %t.gv

// A graph for Graphviz: inputs, ops and outputs as boxes, constants small, ports other than the
// first at the ends of edges.
// CHECK:      digraph "main" {
// CHECK-NEXT:   node [shape=box, fontname=monospace, fontsize=10];
// CHECK-NEXT:   n0 [label="Data\nx\nFLOAT 4x?", style=rounded];
// CHECK-NEXT:   n1 [label="axis\nINT32 scalar\n[0]", shape=plaintext
// CHECK-NEXT:   n2 [label="Split\ns\nFLOAT 2x?\nFLOAT 2x?"];
// CHECK-NEXT:   n3 [label="Sub\ny\nFLOAT 2x?"];
// CHECK-NEXT:   n4 [label="NetOutput\nNetOutput", style=rounded];
// CHECK-NEXT:   n1 -> n2;
// CHECK-NEXT:   n0 -> n2 [headlabel="1"];
// CHECK-NEXT:   n2 -> n3;
// CHECK-NEXT:   n2 -> n3 [taillabel="1", headlabel="1"];
// CHECK-NEXT:   n3 -> n4;
// CHECK-NEXT: }
func.func @main(%x: tensor<4x?xf32>) -> tensor<2x?xf32> {
  %axis = ge.Const() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
  %s:2 = ge.Split(%axis, %x) {num_split = 2} : (tensor<i32>, tensor<4x?xf32>) -> (tensor<2x?xf32>, tensor<2x?xf32>)
  %y = ge.Sub(%s#0, %s#1) : (tensor<2x?xf32>, tensor<2x?xf32>) -> tensor<2x?xf32>
  func.return %y : tensor<2x?xf32>
}
