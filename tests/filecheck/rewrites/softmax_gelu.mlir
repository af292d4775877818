// RUN: ge-opt %s -p ge-decompose | filecheck %s

// CHECK-LABEL: @main
func.func @main(%x: tensor<2x8xf32>) -> (tensor<2x8xf32>, tensor<2x8xf32>) {
  // CHECK: %s_axes = ge.Const() {value = dense<1> : tensor<1xi64>}
  // CHECK-NEXT: %s_ReduceMax = ge.ReduceMax(%x, %s_axes) {keep_dims = true}
  // CHECK-NEXT: %s_Sub = ge.Sub(%x, %s_ReduceMax)
  // CHECK-NEXT: %s_Exp = ge.Exp(%s_Sub)
  // CHECK-NEXT: %s_ReduceSum = ge.ReduceSum(%s_Exp, %s_axes) {keep_dims = true}
  // CHECK-NEXT: %s = ge.RealDiv(%s_Exp, %s_ReduceSum)
  // CHECK-NEXT: %g_Muls = ge.Muls(%x)
  // CHECK-NEXT: %g_Erf = ge.Erf(%g_Muls)
  // CHECK-NEXT: %g_Muls_0 = ge.Muls(%x) {value = 0.5}
  // CHECK-NEXT: %g_Adds = ge.Adds(%g_Erf) {value = 1.0}
  // CHECK-NEXT: %g = ge.Mul(%g_Muls_0, %g_Adds)
  // CHECK-NEXT: func.return %s, %g
  %s = ge.SoftmaxV2(%x) : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %g = ge.GeluV2(%x) : (tensor<2x8xf32>) -> tensor<2x8xf32>
  func.return %s, %g : tensor<2x8xf32>, tensor<2x8xf32>
}
