// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Reshapes, transposes, broadcasts, and what tells a shape.
// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<2x3x4xf32>, %d: tensor<?x3x4xf32>, %u: tensor<*xf32>, %one: tensor<1x3x1xi64>, %n: tensor<2xi64>) {
  // CHECK-NEXT: %to = ge.Const() {value = dense<[6, -1]> : tensor<2xi64>} : () -> tensor<2xi64>
  %to = ge.Const() {value = dense<[6, -1]> : tensor<2xi64>} : () -> tensor<2xi64>
  // CHECK-NEXT: %axis = ge.Const() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
  %axis = ge.Const() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
  // CHECK-NEXT: %axes = ge.Const() {value = dense<[0, 2]> : tensor<2xi64>} : () -> tensor<2xi64>
  %axes = ge.Const() {value = dense<[0, 2]> : tensor<2xi64>} : () -> tensor<2xi64>
  // CHECK-NEXT: %perm = ge.Const() {value = dense<[2, 0, 1]> : tensor<3xi32>} : () -> tensor<3xi32>
  %perm = ge.Const() {value = dense<[2, 0, 1]> : tensor<3xi32>} : () -> tensor<3xi32>
  // CHECK-NEXT: %wide = ge.Const() {value = dense<[5, 1, 1, 4]> : tensor<4xi64>} : () -> tensor<4xi64>
  %wide = ge.Const() {value = dense<[5, 1, 1, 4]> : tensor<4xi64>} : () -> tensor<4xi64>
  // CHECK-NEXT: %reshape = ge.Reshape(%x, %to) : (tensor<2x3x4xf32>, tensor<2xi64>) -> tensor<6x4xf32>
  %reshape = ge.Reshape(%x, %to) : (tensor<2x3x4xf32>, tensor<2xi64>) -> tensor<6x4xf32>
  // CHECK-NEXT: %reshape_part = ge.Reshape(%x, %to) {axis = 1, num_axes = 2} : (tensor<2x3x4xf32>, tensor<2xi64>) -> tensor<2x6x2xf32>
  %reshape_part = ge.Reshape(%x, %to) {axis = 1, num_axes = 2} : (tensor<2x3x4xf32>, tensor<2xi64>) -> tensor<2x6x2xf32>
  // CHECK-NEXT: %reshape_later = ge.Reshape(%x, %n) : (tensor<2x3x4xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  %reshape_later = ge.Reshape(%x, %n) : (tensor<2x3x4xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  // CHECK-NEXT: %flatten = ge.Flatten(%d) {axis = 1} : (tensor<?x3x4xf32>) -> tensor<?x12xf32>
  %flatten = ge.Flatten(%d) {axis = 1} : (tensor<?x3x4xf32>) -> tensor<?x12xf32>
  // CHECK-NEXT: %flatten_v2 = ge.FlattenV2(%d) {axis = 1, end_axis = -1} : (tensor<?x3x4xf32>) -> tensor<?x12xf32>
  %flatten_v2 = ge.FlattenV2(%d) {axis = 1, end_axis = -1} : (tensor<?x3x4xf32>) -> tensor<?x12xf32>
  // CHECK-NEXT: %squeeze = ge.Squeeze(%one) {axis = [0]} : (tensor<1x3x1xi64>) -> tensor<3x1xi64>
  %squeeze = ge.Squeeze(%one) {axis = [0]} : (tensor<1x3x1xi64>) -> tensor<3x1xi64>
  // CHECK-NEXT: %squeeze_v3 = ge.SqueezeV3(%one, axes = %axes) : (tensor<1x3x1xi64>, tensor<2xi64>) -> tensor<3xi64>
  %squeeze_v3 = ge.SqueezeV3(%one, axes = %axes) : (tensor<1x3x1xi64>, tensor<2xi64>) -> tensor<3xi64>
  // CHECK-NEXT: %squeeze_all = ge.SqueezeV3(%one) : (tensor<1x3x1xi64>) -> tensor<3xi64>
  %squeeze_all = ge.SqueezeV3(%one) : (tensor<1x3x1xi64>) -> tensor<3xi64>
  // CHECK-NEXT: %unsqueeze = ge.Unsqueeze(%x) {axes = [0, -1]} : (tensor<2x3x4xf32>) -> tensor<1x2x3x4x1xf32>
  %unsqueeze = ge.Unsqueeze(%x) {axes = [0, -1]} : (tensor<2x3x4xf32>) -> tensor<1x2x3x4x1xf32>
  // CHECK-NEXT: %unsqueeze_v3 = ge.UnsqueezeV3(%d, %axes) : (tensor<?x3x4xf32>, tensor<2xi64>) -> tensor<1x?x1x3x4xf32>
  %unsqueeze_v3 = ge.UnsqueezeV3(%d, %axes) : (tensor<?x3x4xf32>, tensor<2xi64>) -> tensor<1x?x1x3x4xf32>
  // CHECK-NEXT: %expand_dims = ge.ExpandDims(%x, %axis) : (tensor<2x3x4xf32>, tensor<i32>) -> tensor<1x2x3x4xf32>
  %expand_dims = ge.ExpandDims(%x, %axis) : (tensor<2x3x4xf32>, tensor<i32>) -> tensor<1x2x3x4xf32>
  // CHECK-NEXT: %transpose = ge.Transpose(%d, %perm) : (tensor<?x3x4xf32>, tensor<3xi32>) -> tensor<4x?x3xf32>
  %transpose = ge.Transpose(%d, %perm) : (tensor<?x3x4xf32>, tensor<3xi32>) -> tensor<4x?x3xf32>
  // CHECK-NEXT: %transpose_rank = ge.Transpose(%u, %perm) : (tensor<*xf32>, tensor<3xi32>) -> tensor<?x?x?xf32>
  %transpose_rank = ge.Transpose(%u, %perm) : (tensor<*xf32>, tensor<3xi32>) -> tensor<?x?x?xf32>
  // CHECK-NEXT: %transpose_d = ge.TransposeD(%x) {perm = [0, 2, 1]} : (tensor<2x3x4xf32>) -> tensor<2x4x3xf32>
  %transpose_d = ge.TransposeD(%x) {perm = [0, 2, 1]} : (tensor<2x3x4xf32>) -> tensor<2x4x3xf32>
  // CHECK-NEXT: %shape = ge.Shape(%u) {dtype = 9} : (tensor<*xf32>) -> tensor<?xi64>
  %shape = ge.Shape(%u) {dtype = 9} : (tensor<*xf32>) -> tensor<?xi64>
  // CHECK-NEXT: %size = ge.Size(%x) {dtype = 3} : (tensor<2x3x4xf32>) -> tensor<i32>
  %size = ge.Size(%x) {dtype = 3} : (tensor<2x3x4xf32>) -> tensor<i32>
  // CHECK-NEXT: %rank = ge.Rank(%x) : (tensor<2x3x4xf32>) -> tensor<i32>
  %rank = ge.Rank(%x) : (tensor<2x3x4xf32>) -> tensor<i32>
  // CHECK-NEXT: %expand = ge.Expand(%x, %wide) : (tensor<2x3x4xf32>, tensor<4xi64>) -> tensor<5x2x3x4xf32>
  %expand = ge.Expand(%x, %wide) : (tensor<2x3x4xf32>, tensor<4xi64>) -> tensor<5x2x3x4xf32>
  // CHECK-NEXT: %full = ge.Const() {value = dense<[2, 3, 4]> : tensor<3xi64>} : () -> tensor<3xi64>
  %full = ge.Const() {value = dense<[2, 3, 4]> : tensor<3xi64>} : () -> tensor<3xi64>
  // CHECK-NEXT: %broadcast_to = ge.BroadcastTo(%one, %full) : (tensor<1x3x1xi64>, tensor<3xi64>) -> tensor<2x3x4xi64>
  %broadcast_to = ge.BroadcastTo(%one, %full) : (tensor<1x3x1xi64>, tensor<3xi64>) -> tensor<2x3x4xi64>
  // CHECK-NEXT: %tile = ge.Tile(%d, %perm) : (tensor<?x3x4xf32>, tensor<3xi32>) -> tensor<?x0x4xf32>
  %tile = ge.Tile(%d, %perm) : (tensor<?x3x4xf32>, tensor<3xi32>) -> tensor<?x0x4xf32>
  // CHECK-NEXT: func.return
  func.return
}
