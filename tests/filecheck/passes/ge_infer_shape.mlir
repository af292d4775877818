// RUN: ge-opt %s -p 'ge-infer-shape{input-shapes="x:2x8"},ge-dce' | filecheck %s
// RUN: ge-opt %s -p 'ge-infer-shape{input-shapes=x:2,-1},ge-dce' | filecheck %s --check-prefix=PART
// RUN: not ge-opt %s -p 'ge-infer-shape{input-shapes=x:2x9x1}' 2>&1 | filecheck %s --check-prefix=RANK
// RUN: not ge-opt %s -p 'ge-infer-shape{input-shapes=X:2x9}' 2>&1 | filecheck %s --check-prefix=WHO
// RUN: not ge-opt %s -p 'ge-infer-shape{input-shapes=2x9}' 2>&1 | filecheck %s --check-prefix=TEXT

// A reshape to a computed shape: fixing the input makes everything static, and the ops that only
// computed the shape become one constant.
// CHECK-LABEL: @main
// CHECK-SAME: (%x: tensor<2x8xf32>) -> tensor<2x8xf32>
// CHECK-NEXT: %shape = ge.Const() {value = dense<[2, 8]> : tensor<2xi32>}
// CHECK-NEXT: %flat = ge.Reshape(%x, %shape)
// CHECK-SAME: -> tensor<2x8xf32>
// CHECK-NEXT: %y = ge.Relu(%flat) : (tensor<2x8xf32>) -> tensor<2x8xf32>
// CHECK-NEXT: func.return %y : tensor<2x8xf32>

// PART: (%x: tensor<2x?xf32>) -> tensor<?x?xf32>
// PART: ge.Shape(%x)

// RANK: ge_infer_shape.mlir: error: graph input 'x': shape is 2x9x1, expected one that fits ?x?
// RANK-NEXT: ge_infer_shape.mlir: note: in pass ge-infer-shape, the first one
// WHO: error: no graph input 'X', expected one of: x
// TEXT: ge-opt: error: pass ge-infer-shape: input shape is '2x9', expected NAME:1x3x224x224
func.func @main(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %shape = ge.Shape(%x) : (tensor<?x?xf32>) -> tensor<2xi32>
  %flat = ge.Reshape(%x, %shape) : (tensor<?x?xf32>, tensor<2xi32>) -> tensor<?x?xf32>
  %y = ge.Relu(%flat) : (tensor<?x?xf32>) -> tensor<?x?xf32>
  func.return %y : tensor<?x?xf32>
}
