// RUN: ge-opt %s --load %S/Inputs/matmul_bias.py -p ge-custom-passes | filecheck %s
// RUN: env ASCEND_GE_PY_PASS_PATH=%S/Inputs ge-opt %s -p 'ge-custom-passes{stage=BeforeInferShape}' | filecheck %s
// RUN: ge-opt %s --load %S/Inputs/matmul_bias.py -p ge-custom-passes --stats --explain -o /dev/null | filecheck %s --check-prefix=REPORT
// RUN: ge-opt %s --load %S/Inputs/matmul_bias.py -p ge-custom-passes -o /dev/null --expect-matches MatMulBias:1
// RUN: not ge-opt %s --load %S/Inputs/matmul_bias.py -p ge-custom-passes -o /dev/null --expect-matches MatMulBias:2 2>&1 | filecheck %s --check-prefix=COUNT
// RUN: ge-opt %s --load %S/Inputs/matmul_bias.py -p ge-custom-passes -o /dev/null --option ge.optimizationSwitch=MatMulBias:off --expect-matches MatMulBias:0

// CHECK: ge.MatMul(%x, %w, bias = %b)
// CHECK-NEXT: %other = ge.Add(%b, %
// CHECK-NEXT: func.return

// The explanation comes first: one site is rewritten, at the other the operands are swapped.
// REPORT: MatMulBias
// REPORT-SAME: 1 of 2 sites rewritten
// REPORT-NEXT: rewrote 'sum'
// REPORT-NEXT: [1 of 2 nodes matched] at 'other'
// REPORT: pass {{ *}} rule {{ *}} tried {{ *}} matched {{ *}} applied
// REPORT-NEXT: MatMulBias {{.*}} 2 {{ *}} 1 {{ *}} 1

// COUNT: error: MatMulBias: rewrote 1 site, expected 2
// COUNT-NEXT: note: {{.*}}1 of 2 sites rewritten
// COUNT-NEXT: note: rewrote 'sum'
// COUNT-NEXT: note: {{.*}} at 'other'
func.func @main(%x: tensor<2x3xf16>, %w: tensor<3x4xf16>, %b: tensor<4xf16>) -> tensor<2x4xf16> {
  %mm = ge.MatMul(%x, %w) : (tensor<2x3xf16>, tensor<3x4xf16>) -> tensor<2x4xf16>
  %sum = ge.Add(%mm, %b) : (tensor<2x4xf16>, tensor<4xf16>) -> tensor<2x4xf16>
  %other = ge.Add(%b, %sum) : (tensor<4xf16>, tensor<2x4xf16>) -> tensor<2x4xf16>
  func.return %other : tensor<2x4xf16>
}
