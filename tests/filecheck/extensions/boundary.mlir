// RUN: ge-opt %s --load %S/Inputs/boundary.py -p ge-custom-passes --verify-each --verify-rewrites --stats --expect-matches=Gemm:3 --expect-matches=Square:2 -o %t.mlir 2>&1 | filecheck %s
// RUN: ge-opt %t.mlir | filecheck %s --check-prefix=GRAPH

// Each product that something else reads stays and is computed twice; the report says so.
// CHECK-DAG: warning: pass 'Gemm': ge.MatMul 'a1' stays for other readers beside what replaces ge.Add 'y1', 1 node computed twice
// CHECK-DAG: warning: pass 'Gemm': ge.MatMul 'a2' stays for other readers beside what replaces ge.Add 'y2', 1 node computed twice
// CHECK-NOT: 'a3' stays
// CHECK: Gemm  {{ *}} Gemm_product_pattern {{ *}} 3 {{ *}} 3 {{ *}} 3
// CHECK: note: checked 5 rewrites by numbers, 0 wrong

// GRAPH: %a1 = ge.MatMul
// GRAPH: ge.GEMM
// GRAPH: %a2 = ge.MatMul
// GRAPH: ge.GEMM
// GRAPH-NOT: ge.MatMul
// GRAPH: ge.Relu(%a2)
// GRAPH: ge.GEMM

// The negative goes out of the replacement where it is read, and is not made where it is not.
// GRAPH: %[[S:.*]] = ge.Square(%b)
// GRAPH: %[[N:.*]] = ge.Neg(%b)
// GRAPH: ge.Exp(%[[N]])
// GRAPH: ge.Square(%x)
// GRAPH-NOT: ge.Neg
func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>, %b: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %a1 = ge.MatMul(%x, %w) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %y1 = ge.Add(%a1, %b) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %a2 = ge.MatMul(%x, %w) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %y2 = ge.Add(%a2, %b) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %r = ge.Relu(%a2) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %a3 = ge.MatMul(%x, %w) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %y3 = ge.Add(%a3, %b) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %n1 = ge.Neg(%b) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %s1 = ge.Square(%n1) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %e1 = ge.Exp(%n1) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %n2 = ge.Neg(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %s2 = ge.Square(%n2) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return %a1, %y1, %y2, %r, %y3, %s1, %e1, %s2 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}
