// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Blocks of space as batch entries.
// CHECK-LABEL: func.func @main
func.func @main(%a0: tensor<?x4x6x3xf32>, %a1: tensor<2x4x6x3xf32>, %a2: tensor<2x2xi32>, %a3: tensor<4x2x3x1xf32>, %a4: tensor<2xi32>) {
  // CHECK-NEXT: %c0 = ge.Const() {value = dense<{{\[\[}}1, 1], [0, 0]]> : tensor<2x2xi32>} : () -> tensor<2x2xi32>
  %c0 = ge.Const() {value = dense<[[1, 1], [0, 0]]> : tensor<2x2xi32>} : () -> tensor<2x2xi32>
  // CHECK-NEXT: %c1 = ge.Const() {value = dense<[2, 3]> : tensor<2xi32>} : () -> tensor<2xi32>
  %c1 = ge.Const() {value = dense<[2, 3]> : tensor<2xi32>} : () -> tensor<2xi32>
  // CHECK-NEXT: %space_to_batch = ge.SpaceToBatch(%a0, %c0) {block_size = 2} : (tensor<?x4x6x3xf32>, tensor<2x2xi32>) -> tensor<?x3x3x3xf32>
  %space_to_batch = ge.SpaceToBatch(%a0, %c0) {block_size = 2} : (tensor<?x4x6x3xf32>, tensor<2x2xi32>) -> tensor<?x3x3x3xf32>
  // CHECK-NEXT: %space_to_batch_d = ge.SpaceToBatchD(%a0) {block_size = 2, paddings = [0, 0, 0, 0]} : (tensor<?x4x6x3xf32>) -> tensor<?x2x3x3xf32>
  %space_to_batch_d = ge.SpaceToBatchD(%a0) {block_size = 2, paddings = [0, 0, 0, 0]} : (tensor<?x4x6x3xf32>) -> tensor<?x2x3x3xf32>
  // CHECK-NEXT: %space_to_batch_nd = ge.SpaceToBatchND(%a1, %c1, %a2) : (tensor<2x4x6x3xf32>, tensor<2xi32>, tensor<2x2xi32>) -> tensor<12x?x?x3xf32>
  %space_to_batch_nd = ge.SpaceToBatchND(%a1, %c1, %a2) : (tensor<2x4x6x3xf32>, tensor<2xi32>, tensor<2x2xi32>) -> tensor<12x?x?x3xf32>
  // CHECK-NEXT: %space_to_batch_ndd = ge.SpaceToBatchNDD(%a1) {block_shape = [4], paddings = [1, 3]} : (tensor<2x4x6x3xf32>) -> tensor<8x2x6x3xf32>
  %space_to_batch_ndd = ge.SpaceToBatchNDD(%a1) {block_shape = [4], paddings = [1, 3]} : (tensor<2x4x6x3xf32>) -> tensor<8x2x6x3xf32>
  // CHECK-NEXT: %batch_to_space = ge.BatchToSpace(%a3, %c0) {block_size = 2} : (tensor<4x2x3x1xf32>, tensor<2x2xi32>) -> tensor<1x2x6x1xf32>
  %batch_to_space = ge.BatchToSpace(%a3, %c0) {block_size = 2} : (tensor<4x2x3x1xf32>, tensor<2x2xi32>) -> tensor<1x2x6x1xf32>
  // CHECK-NEXT: %batch_to_space_d = ge.BatchToSpaceD(%a3) {block_size = 2, crops = [0, 1, 0, 0]} : (tensor<4x2x3x1xf32>) -> tensor<1x3x6x1xf32>
  %batch_to_space_d = ge.BatchToSpaceD(%a3) {block_size = 2, crops = [0, 1, 0, 0]} : (tensor<4x2x3x1xf32>) -> tensor<1x3x6x1xf32>
  // CHECK-NEXT: %batch_to_space_nd = ge.BatchToSpaceND(%a3, %a4, %a2) : (tensor<4x2x3x1xf32>, tensor<2xi32>, tensor<2x2xi32>) -> tensor<?x?x?x?xf32>
  %batch_to_space_nd = ge.BatchToSpaceND(%a3, %a4, %a2) : (tensor<4x2x3x1xf32>, tensor<2xi32>, tensor<2x2xi32>) -> tensor<?x?x?x?xf32>
  // CHECK-NEXT: %batch_to_space_ndd = ge.BatchToSpaceNDD(%a3) {block_shape = [2], crops = [0, 0]} : (tensor<4x2x3x1xf32>) -> tensor<2x4x3x1xf32>
  %batch_to_space_ndd = ge.BatchToSpaceNDD(%a3) {block_shape = [2], crops = [0, 0]} : (tensor<4x2x3x1xf32>) -> tensor<2x4x3x1xf32>
  func.return
}
