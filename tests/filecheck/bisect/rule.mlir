// RUN: mkdir -p %t && cd %t && not ge-opt %s --load %S/Inputs/relu_to_sigmoid.py -p 'ge-simplify{only=RemoveIdentity},ge-custom-passes,ge-cse' --bisect | filecheck %s
// RUN: mkdir -p %t && cd %t && ge-opt rule.bisect.mlir | filecheck %s --check-prefix=REDUCED
// RUN: mkdir -p %t && cd %t && not ge-opt rule.bisect.mlir --load %S/Inputs/relu_to_sigmoid.py -p ge-custom-passes --verify-rewrites 2>&1 | filecheck %s --check-prefix=AGAIN

// The right rule runs first, then the wrong one; the constant of the cone is kept.
// CHECK: pass: ToSigmoid (ge-custom-passes), number 3 of 4
// CHECK-NEXT: rule: ToSigmoid_relu_pattern
// CHECK-NEXT: site: ge.Relu '{{.*}}r2{{.*}}' at {{.*}}rule.mlir:[[# @LINE + 15]]:3
// CHECK-NEXT: max error: output 0 is off by up to {{.*}} where the largest value is {{.*}} on random values
// CHECK-NEXT: file: rule.bisect.mlir

// REDUCED: func.func @main(%{{.*}}: tensor<4xf32>) -> tensor<4xf32> {
// REDUCED-NEXT: ge.Relu
// REDUCED-NEXT: func.return

// AGAIN: changes the result on random values
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %c = ge.Const() {value = dense<2.0> : tensor<f32>} : () -> tensor<f32>
  %a = ge.Exp(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %n = ge.Neg(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %m = ge.Mul(%n, %c) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %r1 = ge.Relu(%m) : (tensor<4xf32>) -> tensor<4xf32>
  %r2 = ge.Relu(%r1) : (tensor<4xf32>) -> tensor<4xf32>
  %y = ge.Abs(%r2) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y, %a : tensor<4xf32>, tensor<4xf32>
}
