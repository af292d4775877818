// RUN: mkdir -p %t && cd %t && not ge-opt %s --load %S/Inputs/raises.py -p ge-custom-passes -o %t/fails.bisect.mlir --bisect 2>&1 | filecheck %s
// RUN: ge-opt %t/fails.bisect.mlir | filecheck %s --check-prefix=REDUCED

// CHECK: pass: Raises (ge-custom-passes), number 1 of 1
// CHECK-NEXT: rule: unknown, no rewrite of the pass was told apart
// CHECK-NEXT: site: pass 'Raises'
// CHECK-NEXT: error: replacement at ge.Relu 'y' raised ValueError: no replacement for this, at {{.*}}raises.py:14:1
// CHECK-NEXT: file: {{.*}}fails.mlir.tmp/fails.bisect.mlir

// REDUCED: func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
// REDUCED-NEXT: ge.Neg
// REDUCED-NEXT: ge.Relu
// REDUCED-NEXT: func.return
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = ge.Exp(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %e = ge.Neg(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %y = ge.Relu(%e) : (tensor<4xf32>) -> tensor<4xf32>
  %q = ge.Abs(%y) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %q : tensor<4xf32>
}
