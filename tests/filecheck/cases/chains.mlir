// RUN: python %S/Inputs/chain.py 100 101 > %t.mlir && ge-opt %t.mlir --load %S/Inputs/relu_relu.py -p ge-custom-passes,ge-simplify,ge-dce --verify-each --verify-rewrites=pass --expect-matches=ReluRelu:99 | filecheck %s
// RUN: ge-opt %s --load %S/Inputs/nested_concat.py -p ge-custom-passes,ge-dce --verify-each --verify-rewrites=pass --expect-matches=NestedConcat:1 | filecheck %s --check-prefix=CONCAT

// 99 rewrites leave one Relu; an odd number of transpositions is one of them.
// CHECK: func.func @main
// CHECK-DAG: ge.Relu(%x)
// CHECK-DAG: value = dense<[1, 0, 2]>
// CHECK: ge.Transpose(%x,
// CHECK-NEXT: func.return

// CONCAT: ge.ConcatV2([%a, %b, %c], %{{.*}}) {N = 3}
// CONCAT-NEXT: func.return
func.func @main(%a: tensor<1x2xf32>, %b: tensor<3x2xf32>, %c: tensor<2x2xf32>) -> tensor<6x2xf32> {
  %axis1 = ge.Const() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
  %ab = ge.ConcatV2([%a, %b], %axis1) {N = 2} : (tensor<1x2xf32>, tensor<3x2xf32>, tensor<i32>) -> tensor<4x2xf32>
  %axis2 = ge.Const() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
  %abc = ge.ConcatV2([%ab, %c], %axis2) {N = 2} : (tensor<4x2xf32>, tensor<2x2xf32>, tensor<i32>) -> tensor<6x2xf32>
  func.return %abc : tensor<6x2xf32>
}
