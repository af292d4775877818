// RUN: ge-opt %s -p 'ge-decompose{to=primitive}' --split-input-file | filecheck %s

// CHECK-LABEL: @half
func.func @half(%x: tensor<2x8xf16>, %g: tensor<8xf16>, %b: tensor<8xf16>) -> tensor<2x8xf16> {
  // CHECK-NEXT: %n_Cast = ge.Cast(%x) {dst_type = 0} : (tensor<2x8xf16>) -> tensor<2x8xf32>
  // CHECK-NEXT: %n_Cast_0 = ge.Cast(%g)
  // CHECK-NEXT: %n_Cast_1 = ge.Cast(%b)
  // CHECK-NEXT: %n_axes = ge.Const() {value = dense<1> : tensor<1xi64>}
  // CHECK-NEXT: %n_ReduceMean = ge.ReduceMean(%n_Cast, %n_axes) {keep_dims = true} : (tensor<2x8xf32>, tensor<1xi64>) -> tensor<2x1xf32>
  // CHECK-NEXT: %n_Sub = ge.Sub(%n_Cast, %n_ReduceMean)
  // CHECK-NEXT: %n_Square = ge.Square(%n_Sub)
  // CHECK-NEXT: %n_ReduceMean_0 = ge.ReduceMean(%n_Square, %n_axes)
  // CHECK-NEXT: %n_Adds = ge.Adds(%n_ReduceMean_0) {value = 1.0e-07}
  // CHECK-NEXT: %n_Rsqrt = ge.Rsqrt(%n_Adds)
  // CHECK-NEXT: %n_Mul = ge.Mul(%n_Sub, %n_Rsqrt)
  // CHECK-NEXT: %n_Mul_0 = ge.Mul(%n_Mul, %n_Cast_0)
  // CHECK-NEXT: %n_Add = ge.Add(%n_Mul_0, %n_Cast_1)
  // CHECK-NEXT: %n = ge.Cast(%n_Add) {dst_type = 1} : (tensor<2x8xf32>) -> tensor<2x8xf16>
  // CHECK-NEXT: func.return %n
  %n:3 = ge.LayerNorm(%x, %g, %b) {begin_norm_axis = -1, begin_params_axis = -1} : (tensor<2x8xf16>, tensor<8xf16>, tensor<8xf16>) -> (tensor<2x8xf16>, tensor<2x1xf16>, tensor<2x1xf16>)
  func.return %n#0 : tensor<2x8xf16>
}

// -----

// CHECK-LABEL: @unknown
func.func @unknown(%x: tensor<*xf32>, %g: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<*xf32> {
  // CHECK-NEXT: %n:3 = ge.LayerNorm(%x, %g, %b)
  %n:3 = ge.LayerNorm(%x, %g, %b) : (tensor<*xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>)
  func.return %n#0 : tensor<*xf32>
}
