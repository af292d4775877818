// RUN: ge-opt %s --load %S/Inputs/gemm.py -p ge-custom-passes --explain -o /dev/null --expect-matches=Gemm:0 | filecheck %s
// RUN: python %S/Inputs/sites.py 30 > %t.mlir && ge-opt %t.mlir --load %S/Inputs/gemm.py -p ge-custom-passes --explain -o /dev/null | filecheck %s --check-prefix=MANY
// RUN: ge-opt %s --load %S/Inputs/gemm.py -p ge-custom-passes --explain --explain-format=json -o /dev/null | filecheck %s --check-prefix=JSON

// CHECK: Gemm/Gemm_matmul_add_pattern: 0 of 1 site rewritten
// CHECK-NEXT: operand 0: is Mul, expected MatMul (MatMul is one step further) [1 of 2 nodes matched] at 'y'

// MANY: Gemm/Gemm_matmul_add_pattern: 0 of 30 sites rewritten
// MANY-NEXT: 30 sites: operand 0: is Mul, expected MatMul (MatMul is one step further) [1 of 2 nodes matched] at 'y0', 'y1', 'y2' and 27 more
// MANY-NOT: {{.}}

// JSON: "reason": "operand 0: is Mul, expected MatMul (MatMul is one step further)",
// JSON-NEXT: "count": 1,
// JSON-NEXT: "progress": 1,
// JSON-NEXT: "nodes": 2,
func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>, %s: tensor<f32>, %bias: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %a = ge.MatMul(%x, %w) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %b = ge.Mul(%a, %s) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %y = ge.Add(%b, %bias) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return %y : tensor<4x8xf32>
}
