// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Conversion of the element type, and copies.
// CHECK-LABEL: func.func @main
func.func @main(%a: tensor<2x3xf32>, %n: tensor<?x4xi32>, %u: tensor<*xf32>) {
  // CHECK-NEXT: %to_half = ge.Cast(%a) {dst_type = 1} : (tensor<2x3xf32>) -> tensor<2x3xf16>
  %to_half = ge.Cast(%a) {dst_type = 1} : (tensor<2x3xf32>) -> tensor<2x3xf16>
  // CHECK-NEXT: %to_bool = ge.Cast(%n) {dst_type = 12} : (tensor<?x4xi32>) -> tensor<?x4xi1>
  %to_bool = ge.Cast(%n) {dst_type = 12} : (tensor<?x4xi32>) -> tensor<?x4xi1>
  // CHECK-NEXT: %to_bf16 = ge.Cast(%u) {dst_type = 27} : (tensor<*xf32>) -> tensor<*xbf16>
  %to_bf16 = ge.Cast(%u) {dst_type = 27} : (tensor<*xf32>) -> tensor<*xbf16>
  // CHECK-NEXT: %to_hifloat = ge.Cast(%a) {dst_type = 34} : (tensor<2x3xf32>) -> tensor<2x3x!ge.element<DT_HIFLOAT8>>
  %to_hifloat = ge.Cast(%a) {dst_type = 34} : (tensor<2x3xf32>) -> tensor<2x3x!ge.element<DT_HIFLOAT8>>
  // CHECK-NEXT: %like = ge.CastLike(%a, %n) : (tensor<2x3xf32>, tensor<?x4xi32>) -> tensor<2x3xi32>
  %like = ge.CastLike(%a, %n) : (tensor<2x3xf32>, tensor<?x4xi32>) -> tensor<2x3xi32>
  // CHECK-NEXT: %identity = ge.Identity(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %identity = ge.Identity(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %tensor_move = ge.TensorMove(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %tensor_move = ge.TensorMove(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %zeros_like = ge.ZerosLike(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %zeros_like = ge.ZerosLike(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %ones_like = ge.OnesLike(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %ones_like = ge.OnesLike(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %two:2 = ge.IdentityN([%a, %n]) : (tensor<2x3xf32>, tensor<?x4xi32>) -> (tensor<2x3xf32>, tensor<?x4xi32>)
  %two:2 = ge.IdentityN([%a, %n]) : (tensor<2x3xf32>, tensor<?x4xi32>) -> (tensor<2x3xf32>, tensor<?x4xi32>)
  // CHECK-NEXT: %second = ge.Neg(%two#1) : (tensor<?x4xi32>) -> tensor<?x4xi32>
  %second = ge.Neg(%two#1) : (tensor<?x4xi32>) -> tensor<?x4xi32>
  // CHECK-NEXT: func.return
  func.return
}
