// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Rolling, reversing, repeating, and blocks as channels.
// CHECK-LABEL: func.func @main
func.func @main(%a0: tensor<2x?x4x8xf32>, %a1: tensor<2xi64>) {
  // CHECK-NEXT: %c0 = ge.Const() {value = dense<1> : tensor<1xi32>} : () -> tensor<1xi32>
  %c0 = ge.Const() {value = dense<1> : tensor<1xi32>} : () -> tensor<1xi32>
  // CHECK-NEXT: %roll = ge.Roll(%a0) {shifts = [1], dims = [0]} : (tensor<2x?x4x8xf32>) -> tensor<2x?x4x8xf32>
  %roll = ge.Roll(%a0) {shifts = [1], dims = [0]} : (tensor<2x?x4x8xf32>) -> tensor<2x?x4x8xf32>
  // CHECK-NEXT: %reverse_v2 = ge.ReverseV2(%a0, %c0) : (tensor<2x?x4x8xf32>, tensor<1xi32>) -> tensor<2x?x4x8xf32>
  %reverse_v2 = ge.ReverseV2(%a0, %c0) : (tensor<2x?x4x8xf32>, tensor<1xi32>) -> tensor<2x?x4x8xf32>
  // CHECK-NEXT: %reverse_v2_d = ge.ReverseV2D(%a0) {axis = [-1]} : (tensor<2x?x4x8xf32>) -> tensor<2x?x4x8xf32>
  %reverse_v2_d = ge.ReverseV2D(%a0) {axis = [-1]} : (tensor<2x?x4x8xf32>) -> tensor<2x?x4x8xf32>
  // CHECK-NEXT: %reverse_sequence = ge.ReverseSequence(%a0, %a1) {seq_dim = 1} : (tensor<2x?x4x8xf32>, tensor<2xi64>) -> tensor<2x?x4x8xf32>
  %reverse_sequence = ge.ReverseSequence(%a0, %a1) {seq_dim = 1} : (tensor<2x?x4x8xf32>, tensor<2xi64>) -> tensor<2x?x4x8xf32>
  // CHECK-NEXT: %repeat_interleave = ge.RepeatInterleave(%a0, %a1) {axis = 0} : (tensor<2x?x4x8xf32>, tensor<2xi64>) -> tensor<?x?x4x8xf32>
  %repeat_interleave = ge.RepeatInterleave(%a0, %a1) {axis = 0} : (tensor<2x?x4x8xf32>, tensor<2xi64>) -> tensor<?x?x4x8xf32>
  // CHECK-NEXT: %space_to_depth = ge.SpaceToDepth(%a0) {block_size = 2} : (tensor<2x?x4x8xf32>) -> tensor<2x?x2x32xf32>
  %space_to_depth = ge.SpaceToDepth(%a0) {block_size = 2} : (tensor<2x?x4x8xf32>) -> tensor<2x?x2x32xf32>
  // CHECK-NEXT: %depth_to_space = ge.DepthToSpace(%a0) {block_size = 2, mode = "CRD"} : (tensor<2x?x4x8xf32>) -> tensor<2x?x8x2xf32>
  %depth_to_space = ge.DepthToSpace(%a0) {block_size = 2, mode = "CRD"} : (tensor<2x?x4x8xf32>) -> tensor<2x?x8x2xf32>
  func.return
}
