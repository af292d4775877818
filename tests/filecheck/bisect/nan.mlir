// RUN: mkdir -p %t && not ge-opt %s --load %S/Inputs/not_less.py -p 'ge-simplify,ge-custom-passes{only=Any}' --bisect -o %t/small.mlir | filecheck %s
// RUN: ge-opt %t/small.mlir | filecheck %s --check-prefix=REDUCED
// RUN: ge-opt %s --load %S/Inputs/not_less.py -p 'ge-simplify,ge-custom-passes{only=Finite}' --bisect 2>&1 | filecheck %s --check-prefix=FINITE

// Whole graphs see NaN too, unless a rule that fired is right for finite numbers only.
// CHECK: pass: Any (ge-custom-passes), number 2 of 2
// CHECK-NEXT: rule: NotLess_not_less_pattern
// CHECK-NEXT: site: ge.LogicalNot 'y' at {{.*}}nan.mlir:[[# @LINE + 11]]:3
// CHECK-NEXT: max error: output 0 differs in {{[0-9]+}} of 4 elements {{.*}} on NaN and infinite values
// CHECK-NEXT: file: {{.*}}small.mlir

// REDUCED: func.func @main(%e: tensor<4xf32>, %z: tensor<4xf32>) -> tensor<4xi1> {
// REDUCED-NEXT: ge.Less
// REDUCED-NEXT: ge.LogicalNot
// FINITE: note: no pass is wrong, 2 checked by numbers
func.func @main(%x: tensor<4xf32>, %z: tensor<4xf32>) -> tensor<4xi1> {
  %e = ge.Exp(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %l = ge.Less(%e, %z) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %y = ge.LogicalNot(%l) : (tensor<4xi1>) -> tensor<4xi1>
  func.return %y : tensor<4xi1>
}
