// RUN: ge-opt %s --load %S/../../../examples/passes/add_zero_const_match.py -p ge-custom-passes --verify-each --verify-rewrites=pass --expect-matches=PythonAddZeroConstValueMatchPass:1 | filecheck %s

// The output keeps its name and its type.
// CHECK: func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {ge.output_names = ["y"]} {
// CHECK-NEXT: %[[A:.*]] = ge.Exp(%x) : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: func.return %[[A]] : tensor<4xf32>
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {ge.output_names = ["y"]} {
  %zero = ge.Const() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %a = ge.Exp(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %y = ge.Add(%a, %zero) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
