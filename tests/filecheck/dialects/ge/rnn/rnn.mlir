// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// LSTM layers.
// CHECK-LABEL: func.func @main
func.func @main(%a0: tensor<5x3x4xf32>, %a1: tensor<10x24xf32>, %a2: tensor<24xf32>, %a3: tensor<5x3x4xf32>, %a4: tensor<4x24xf32>, %a5: tensor<6x24xf32>, %a6: tensor<5x3x4xf32>, %a7: tensor<6x24xf32>, %a8: tensor<24xf32>, %a9: tensor<6x2xf32>, %a10: tensor<3x4xf32>, %a11: tensor<3x6xf32>, %a12: tensor<3x6xf32>, %a13: tensor<10x24xf32>, %a14: tensor<24xf32>, %a15: tensor<3x5x4xf32>, %a16: tensor<24x4xf32>, %a17: tensor<24xf32>, %a18: tensor<24x2xf32>, %a19: tensor<2x6xf32>) {
  // CHECK-NEXT: %dynamic_rnn:8 = ge.DynamicRNN(%a0, %a1, %a2) : (tensor<5x3x4xf32>, tensor<10x24xf32>, tensor<24xf32>) -> (tensor<5x3x6xf32>, tensor<5x3x6xf32>, tensor<5x3x6xf32>, tensor<5x3x6xf32>, tensor<5x3x6xf32>, tensor<5x3x6xf32>, tensor<5x3x6xf32>, tensor<5x3x6xf32>)
  %dynamic_rnn:8 = ge.DynamicRNN(%a0, %a1, %a2) : (tensor<5x3x4xf32>, tensor<10x24xf32>, tensor<24xf32>) -> (tensor<5x3x6xf32>, tensor<5x3x6xf32>, tensor<5x3x6xf32>, tensor<5x3x6xf32>, tensor<5x3x6xf32>, tensor<5x3x6xf32>, tensor<5x3x6xf32>, tensor<5x3x6xf32>)
  // CHECK-NEXT: %dynamic_rnnv2:8 = ge.DynamicRNNV2(%a3, %a4, %a5) : (tensor<5x3x4xf32>, tensor<4x24xf32>, tensor<6x24xf32>) -> (tensor<5x3x6xf32>, tensor<1x3x6xf32>, tensor<1x3x6xf32>, tensor<5x3x6xf32>, tensor<5x3x6xf32>, tensor<5x3x6xf32>, tensor<5x3x6xf32>, tensor<5x3x6xf32>)
  %dynamic_rnnv2:8 = ge.DynamicRNNV2(%a3, %a4, %a5) : (tensor<5x3x4xf32>, tensor<4x24xf32>, tensor<6x24xf32>) -> (tensor<5x3x6xf32>, tensor<1x3x6xf32>, tensor<1x3x6xf32>, tensor<5x3x6xf32>, tensor<5x3x6xf32>, tensor<5x3x6xf32>, tensor<5x3x6xf32>, tensor<5x3x6xf32>)
  // CHECK-NEXT: %dynamic_rnnv3:8 = ge.DynamicRNNV3(%a6, %a7, %a8, project = %a9) : (tensor<5x3x4xf32>, tensor<6x24xf32>, tensor<24xf32>, tensor<6x2xf32>) -> (tensor<5x3x2xf32>, tensor<5x3x2xf32>, tensor<5x3x6xf32>, tensor<5x3x6xf32>, tensor<5x3x6xf32>, tensor<5x3x6xf32>, tensor<5x3x6xf32>, tensor<5x3x6xf32>)
  %dynamic_rnnv3:8 = ge.DynamicRNNV3(%a6, %a7, %a8, project = %a9) : (tensor<5x3x4xf32>, tensor<6x24xf32>, tensor<24xf32>, tensor<6x2xf32>) -> (tensor<5x3x2xf32>, tensor<5x3x2xf32>, tensor<5x3x6xf32>, tensor<5x3x6xf32>, tensor<5x3x6xf32>, tensor<5x3x6xf32>, tensor<5x3x6xf32>, tensor<5x3x6xf32>)
  // CHECK-NEXT: %basic_lstmcell:7 = ge.BasicLSTMCell(%a10, %a11, %a12, %a13, %a14) : (tensor<3x4xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<10x24xf32>, tensor<24xf32>) -> (tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>)
  %basic_lstmcell:7 = ge.BasicLSTMCell(%a10, %a11, %a12, %a13, %a14) : (tensor<3x4xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<10x24xf32>, tensor<24xf32>) -> (tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>)
  // CHECK-NEXT: %lstmp:3 = ge.LSTMP(%a15, %a16, %a17, %a18, %a19) : (tensor<3x5x4xf32>, tensor<24x4xf32>, tensor<24xf32>, tensor<24x2xf32>, tensor<2x6xf32>) -> (tensor<3x5x2xf32>, tensor<1x3x2xf32>, tensor<1x3x6xf32>)
  %lstmp:3 = ge.LSTMP(%a15, %a16, %a17, %a18, %a19) : (tensor<3x5x4xf32>, tensor<24x4xf32>, tensor<24xf32>, tensor<24x2xf32>, tensor<2x6xf32>) -> (tensor<3x5x2xf32>, tensor<1x3x2xf32>, tensor<1x3x6xf32>)
  // CHECK-NEXT: func.return
  func.return
}
