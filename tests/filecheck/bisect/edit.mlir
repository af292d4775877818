// RUN: mkdir -p %t && cd %t && not ge-opt %s --load %S/Inputs/edit_edges.py -p ge-infer-shape,ge-custom-passes --bisect | filecheck %s
// RUN: mkdir -p %t && cd %t && ge-opt edit.bisect.mlir | filecheck %s --check-prefix=REDUCED
// RUN: ge-opt %s -p ge-simplify,ge-cse --bisect 2>&1 | filecheck %s --check-prefix=RIGHT

// CHECK: pass: EditEdges (ge-custom-passes), number 2 of 2
// CHECK-NEXT: rule: unknown, no rewrite of the pass was told apart
// CHECK-NEXT: site: ge.Mul 'm'
// CHECK-NEXT: max error: is off by up to
// CHECK-NEXT: file: edit.bisect.mlir

// REDUCED: func.func @main(%e: tensor<4xf32>, %c: tensor<4xf32>) -> tensor<4xf32> {
// REDUCED-NEXT: ge.Mul
// REDUCED-NEXT: func.return

// RIGHT: note: no pass is wrong, 2 checked by numbers
// RIGHT-NOT: file:
func.func @main(%x: tensor<4xf32>, %z: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %a = ge.Exp(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %e = ge.Neg(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %c = ge.Cos(%z) : (tensor<4xf32>) -> tensor<4xf32>
  %m = ge.Mul(%e, %c) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %y = ge.Relu(%m) : (tensor<4xf32>) -> tensor<4xf32>
  %q = ge.Abs(%y) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %a, %q : tensor<4xf32>, tensor<4xf32>
}
