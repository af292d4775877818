// RUN: ge-opt %s --print-debuginfo -p ge-fuse --split-input-file | filecheck %s

// The walk-through case: convolution, bias, activation; the activation is read twice.
// CHECK-LABEL: @main
func.func @main(%x: tensor<1x3x8x8xf32>, %f: tensor<4x3x3x3xf32>, %b: tensor<4xf32>) -> (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) {
  // CHECK-NEXT: %relu = ge.FusedConv2D_BiasAdd_ReLU(%x, %f, %b) {strides = [1, 1, 1, 1], pads = [1, 1, 1, 1], data_format = "NCHW", activation = "ReLU", _datadump_original_op_names = ["conv", "bias", "relu"], _datadump_original_op_types = ["Conv2D", "BiasAdd", "Relu"], ge.pass_name = ["FuseConv2DBiasRelu"]} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>) -> tensor<1x4x8x8xf32>
  // CHECK-NEXT: %next = ge.Neg(%relu)
  // CHECK-NEXT: func.return %relu, %next
  %conv = ge.Conv2D(%x, %f) {strides = [1, 1, 1, 1], pads = [1, 1, 1, 1], data_format = "NCHW"} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x8x8xf32>
  %bias = ge.BiasAdd(%conv, %b) {data_format = "NCHW"} : (tensor<1x4x8x8xf32>, tensor<4xf32>) -> tensor<1x4x8x8xf32>
  %relu = ge.Relu(%bias) : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %next = ge.Neg(%relu) : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  func.return %relu, %next : tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>
}

// -----

// A second reader of the convolution forbids it.
// CHECK-LABEL: @read_twice
func.func @read_twice(%x: tensor<1x3x8x8xf32>, %f: tensor<4x3x1x1xf32>, %b: tensor<4x1x1xf32>) -> (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) {
  // CHECK: %conv = ge.Conv2D(%x, %f)
  // CHECK: %bias = ge.Add(%conv, %b)
  // CHECK: %relu = ge.Relu(%bias)
  %conv = ge.Conv2D(%x, %f) {strides = [1, 1, 1, 1], pads = [0, 0, 0, 0], data_format = "NCHW"} : (tensor<1x3x8x8xf32>, tensor<4x3x1x1xf32>) -> tensor<1x4x8x8xf32>
  %bias = ge.Add(%conv, %b) : (tensor<1x4x8x8xf32>, tensor<4x1x1xf32>) -> tensor<1x4x8x8xf32>
  %relu = ge.Relu(%bias) : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  func.return %relu, %conv : tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>
}

// -----

// Attributes of the convolution move on, and an Add of one value per channel is a bias.
// CHECK-LABEL: @grouped
func.func @grouped(%x: tensor<1x7x7x4xf16>, %f: tensor<3x3x2x6xf16>) -> tensor<1x3x3x6xf16> {
  // CHECK: %b = ge.Const()
  // CHECK-NEXT: %relu = ge.FusedConv2D_BiasAdd_ReLU(%x, %f, %b) {strides = [1, 2, 2, 1], pads = [0, 0, 0, 0], groups = 2, activation = "ReLU", _user_stream_label = "s"
  // CHECK-NEXT: func.return %relu
  %b = ge.Const() {value = dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]> : tensor<6xf16>} : () -> tensor<6xf16>
  %conv = ge.Conv2D(%x, %f) {strides = [1, 2, 2, 1], pads = [0, 0, 0, 0], groups = 2, _user_stream_label = "s"} : (tensor<1x7x7x4xf16>, tensor<3x3x2x6xf16>) -> tensor<1x3x3x6xf16>
  %bias = ge.Add(%b, %conv) : (tensor<6xf16>, tensor<1x3x3x6xf16>) -> tensor<1x3x3x6xf16>
  %relu = ge.Relu(%bias) : (tensor<1x3x3x6xf16>) -> tensor<1x3x3x6xf16>
  func.return %relu : tensor<1x3x3x6xf16>
}
