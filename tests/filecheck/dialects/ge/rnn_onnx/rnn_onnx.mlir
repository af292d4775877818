// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// The LSTM and GRU of ONNX.
// CHECK-LABEL: func.func @main
func.func @main(%a0: tensor<5x3x4xf32>, %a1: tensor<1x24x4xf32>, %a2: tensor<1x24x6xf32>, %a3: tensor<5x3x4xf32>, %a4: tensor<1x18x4xf32>, %a5: tensor<1x18x6xf32>) {
  // CHECK-NEXT: %common_lstm:3 = ge.CommonLSTM(%a0, %a1, %a2) {hidden_size = 6} : (tensor<5x3x4xf32>, tensor<1x24x4xf32>, tensor<1x24x6xf32>) -> (tensor<5x1x3x6xf32>, tensor<1x3x6xf32>, tensor<1x3x6xf32>)
  %common_lstm:3 = ge.CommonLSTM(%a0, %a1, %a2) {hidden_size = 6} : (tensor<5x3x4xf32>, tensor<1x24x4xf32>, tensor<1x24x6xf32>) -> (tensor<5x1x3x6xf32>, tensor<1x3x6xf32>, tensor<1x3x6xf32>)
  // CHECK-NEXT: %common_gru:2 = ge.CommonGRU(%a3, %a4, %a5) {hidden_size = 6} : (tensor<5x3x4xf32>, tensor<1x18x4xf32>, tensor<1x18x6xf32>) -> (tensor<5x1x3x6xf32>, tensor<1x3x6xf32>)
  %common_gru:2 = ge.CommonGRU(%a3, %a4, %a5) {hidden_size = 6} : (tensor<5x3x4xf32>, tensor<1x18x4xf32>, tensor<1x18x6xf32>) -> (tensor<5x1x3x6xf32>, tensor<1x3x6xf32>)
  // CHECK-NEXT: func.return
  func.return
}
