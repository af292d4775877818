// RUN: mkdir -p %t && cd %t && not ge-opt %s --load %S/Inputs/by_hand.py -p ge-custom-passes --bisect | filecheck %s
// RUN: ge-opt %t/by_hand.bisect.mlir | filecheck %s --check-prefix=REDUCED
// RUN: not ge-opt %s --load %S/Inputs/by_hand.py -p ge-custom-passes --verify-rewrites 2>&1 | filecheck %s --check-prefix=VERIFY

// The first replacement is right, the second wrong; the rule is the pass itself.
// CHECK: pass: ByHand (ge-custom-passes), number 1 of 1
// CHECK-NEXT: rule: ByHand
// CHECK-NEXT: site: ge.Neg 'n' at {{.*}}by_hand.mlir:[[# @LINE + 12]]:3
// CHECK-NEXT: max error: output 0 is off by up to

// REDUCED: func.func @main(%{{.*}}: tensor<4xf32>) -> tensor<4xf32> {
// REDUCED-NEXT: ge.Neg
// REDUCED-NEXT: func.return

// VERIFY: rule 'ByHand' of pass 'ByHand' changes the result on random values
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r1 = ge.Relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %r2 = ge.Relu(%r1) : (tensor<4xf32>) -> tensor<4xf32>
  %e = ge.Exp(%r2) : (tensor<4xf32>) -> tensor<4xf32>
  %n = ge.Neg(%e) : (tensor<4xf32>) -> tensor<4xf32>
  %q = ge.Sigmoid(%n) : (tensor<4xf32>) -> tensor<4xf32>
  %y = ge.Add(%q, %e) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
