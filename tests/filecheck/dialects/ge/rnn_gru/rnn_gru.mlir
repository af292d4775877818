// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// GRU layers.
// CHECK-LABEL: func.func @main
func.func @main(%a0: tensor<5x3x4xf32>, %a1: tensor<4x18xf32>, %a2: tensor<6x18xf32>, %a3: tensor<5x3x4xf32>, %a4: tensor<4x18xf32>, %a5: tensor<6x18xf32>, %a6: tensor<5x3xf32>) {
  // CHECK-NEXT: %dynamic_gruv2:6 = ge.DynamicGRUV2(%a0, %a1, %a2) : (tensor<5x3x4xf32>, tensor<4x18xf32>, tensor<6x18xf32>) -> (tensor<5x3x6xf32>, tensor<5x3x6xf32>, tensor<5x3x6xf32>, tensor<5x3x6xf32>, tensor<5x3x6xf32>, tensor<5x3x6xf32>)
  %dynamic_gruv2:6 = ge.DynamicGRUV2(%a0, %a1, %a2) : (tensor<5x3x4xf32>, tensor<4x18xf32>, tensor<6x18xf32>) -> (tensor<5x3x6xf32>, tensor<5x3x6xf32>, tensor<5x3x6xf32>, tensor<5x3x6xf32>, tensor<5x3x6xf32>, tensor<5x3x6xf32>)
  // CHECK-NEXT: %dynamic_augru:7 = ge.DynamicAUGRU(%a3, %a4, %a5, %a6) : (tensor<5x3x4xf32>, tensor<4x18xf32>, tensor<6x18xf32>, tensor<5x3xf32>) -> (tensor<5x3x6xf32>, tensor<5x3x6xf32>, tensor<5x3x6xf32>, tensor<5x3x6xf32>, tensor<5x3x6xf32>, tensor<5x3x6xf32>, tensor<5x3x6xf32>)
  %dynamic_augru:7 = ge.DynamicAUGRU(%a3, %a4, %a5, %a6) : (tensor<5x3x4xf32>, tensor<4x18xf32>, tensor<6x18xf32>, tensor<5x3xf32>) -> (tensor<5x3x6xf32>, tensor<5x3x6xf32>, tensor<5x3x6xf32>, tensor<5x3x6xf32>, tensor<5x3x6xf32>, tensor<5x3x6xf32>, tensor<5x3x6xf32>)
  // CHECK-NEXT: func.return
  func.return
}
