// RUN: ge-opt %s --load %S/../../../examples/passes/add_zero.py --load %S/../../../examples/passes/matmul_add_gemm.py -p "ge-custom-passes{stage=BeforeInferShape},ge-custom-passes{stage=AfterInferShape}" | filecheck %s
// RUN: ge-opt %s --load %S/../../../examples/passes/add_zero.py --load %S/../../../examples/passes/matmul_add_gemm.py -p "ge-custom-passes{stage=AfterInferShape only=PythonMatMulAddToGemmPass}" | filecheck %s --check-prefix ONLY

// CHECK-LABEL: func.func @main
// CHECK-NOT: ge.Add
// CHECK: [[ALPHA:%.*]] = ge.Const() {value = dense<1.000000e+00>
// CHECK: [[BETA:%.*]] = ge.Const() {value = dense<1.000000e+00>
// CHECK: ge.GEMM(%x, %w, %c, [[ALPHA]], [[BETA]])
// CHECK-NOT: ge.Add
// ONLY-LABEL: func.func @main
// ONLY: ge.Add(%x
// ONLY: ge.GEMM(%a, %w, %c
func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %c: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %z = ge.Const() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %a = ge.Add(%x, %z) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %p = ge.MatMul(%a, %w) : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %y = ge.Add(%p, %c) : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  func.return %y : tensor<4x16xf32>
}
