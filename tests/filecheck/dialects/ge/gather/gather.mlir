// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Slices and elements picked by index.
// CHECK-LABEL: func.func @main
func.func @main(%a0: tensor<5x3x?xf32>, %a1: tensor<4x2xi32>, %a2: tensor<4x2x3xf32>, %a3: tensor<3xi64>, %a4: tensor<2xi32>, %a5: tensor<f32>, %a6: tensor<?x3xi64>, %a7: tensor<?xf32>, %a8: tensor<5xi32>) {
  // CHECK-NEXT: %c0 = ge.Const() {value = dense<[1, 0, 1]> : tensor<3xi64>} : () -> tensor<3xi64>
  %c0 = ge.Const() {value = dense<[1, 0, 1]> : tensor<3xi64>} : () -> tensor<3xi64>
  // CHECK-NEXT: %c1 = ge.Const() {value = dense<[0, 1, 1]> : tensor<3xi64>} : () -> tensor<3xi64>
  %c1 = ge.Const() {value = dense<[0, 1, 1]> : tensor<3xi64>} : () -> tensor<3xi64>
  // CHECK-NEXT: %c2 = ge.Const() {value = dense<9> : tensor<1xi64>} : () -> tensor<1xi64>
  %c2 = ge.Const() {value = dense<9> : tensor<1xi64>} : () -> tensor<1xi64>
  // CHECK-NEXT: %gather_nd = ge.GatherNd(%a0, %a1) : (tensor<5x3x?xf32>, tensor<4x2xi32>) -> tensor<4x?xf32>
  %gather_nd = ge.GatherNd(%a0, %a1) : (tensor<5x3x?xf32>, tensor<4x2xi32>) -> tensor<4x?xf32>
  // CHECK-NEXT: %gather_v2_d = ge.GatherV2D(%a0, %a1) {axis = 1} : (tensor<5x3x?xf32>, tensor<4x2xi32>) -> tensor<5x4x2x?xf32>
  %gather_v2_d = ge.GatherV2D(%a0, %a1) {axis = 1} : (tensor<5x3x?xf32>, tensor<4x2xi32>) -> tensor<5x4x2x?xf32>
  // CHECK-NEXT: %gather = ge.Gather(%a0, %a1) {negative_index_support = true} : (tensor<5x3x?xf32>, tensor<4x2xi32>) -> tensor<4x2x3x?xf32>
  %gather = ge.Gather(%a0, %a1) {negative_index_support = true} : (tensor<5x3x?xf32>, tensor<4x2xi32>) -> tensor<4x2x3x?xf32>
  // CHECK-NEXT: %embedding = ge.Embedding(%a0, %a1) : (tensor<5x3x?xf32>, tensor<4x2xi32>) -> tensor<4x2x3x?xf32>
  %embedding = ge.Embedding(%a0, %a1) : (tensor<5x3x?xf32>, tensor<4x2xi32>) -> tensor<4x2x3x?xf32>
  // CHECK-NEXT: %embedding_dense_grad = ge.EmbeddingDenseGrad(%a2, %a1) {num_weights = 5} : (tensor<4x2x3xf32>, tensor<4x2xi32>) -> tensor<5x3xf32>
  %embedding_dense_grad = ge.EmbeddingDenseGrad(%a2, %a1) {num_weights = 5} : (tensor<4x2x3xf32>, tensor<4x2xi32>) -> tensor<5x3xf32>
  // CHECK-NEXT: %gather_shapes = ge.GatherShapes([%a0]) {axes = {{\[\[}}0, 2], [0, 0]]} : (tensor<5x3x?xf32>) -> tensor<2xi32>
  %gather_shapes = ge.GatherShapes([%a0]) {axes = [[0, 2], [0, 0]]} : (tensor<5x3x?xf32>) -> tensor<2xi32>
  // CHECK-NEXT: %index = ge.Index(%a0, %c0, %a3, [%a1, %a4]) : (tensor<5x3x?xf32>, tensor<3xi64>, tensor<3xi64>, tensor<4x2xi32>, tensor<2xi32>) -> tensor<4x2x3xf32>
  %index = ge.Index(%a0, %c0, %a3, [%a1, %a4]) : (tensor<5x3x?xf32>, tensor<3xi64>, tensor<3xi64>, tensor<4x2xi32>, tensor<2xi32>) -> tensor<4x2x3xf32>
  // CHECK-NEXT: %index_put_v2 = ge.IndexPutV2(%a0, %a5, %c1, %a3, [%a1, %a4]) {accumulate = true} : (tensor<5x3x?xf32>, tensor<f32>, tensor<3xi64>, tensor<3xi64>, tensor<4x2xi32>, tensor<2xi32>) -> tensor<5x3x?xf32>
  %index_put_v2 = ge.IndexPutV2(%a0, %a5, %c1, %a3, [%a1, %a4]) {accumulate = true} : (tensor<5x3x?xf32>, tensor<f32>, tensor<3xi64>, tensor<3xi64>, tensor<4x2xi32>, tensor<2xi32>) -> tensor<5x3x?xf32>
  // CHECK-NEXT: %sparse_to_dense = ge.SparseToDense(%a4, %c2, %a5, %a5) : (tensor<2xi32>, tensor<1xi64>, tensor<f32>, tensor<f32>) -> tensor<9xf32>
  %sparse_to_dense = ge.SparseToDense(%a4, %c2, %a5, %a5) : (tensor<2xi32>, tensor<1xi64>, tensor<f32>, tensor<f32>) -> tensor<9xf32>
  // CHECK-NEXT: %sparse_tensor_dense_add = ge.SparseTensorDenseAdd(%a6, %a7, %a3, %a0) : (tensor<?x3xi64>, tensor<?xf32>, tensor<3xi64>, tensor<5x3x?xf32>) -> tensor<5x3x?xf32>
  %sparse_tensor_dense_add = ge.SparseTensorDenseAdd(%a6, %a7, %a3, %a0) : (tensor<?x3xi64>, tensor<?xf32>, tensor<3xi64>, tensor<5x3x?xf32>) -> tensor<5x3x?xf32>
  // CHECK-NEXT: %dynamic_partition = ge.DynamicPartition(%a0, %a8) : (tensor<5x3x?xf32>, tensor<5xi32>) -> tensor<?x3x?xf32>
  %dynamic_partition = ge.DynamicPartition(%a0, %a8) : (tensor<5x3x?xf32>, tensor<5xi32>) -> tensor<?x3x?xf32>
  func.return
}
