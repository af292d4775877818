// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Transposed convolutions and gradients in x.
// CHECK-LABEL: func.func @main
func.func @main(%a0: tensor<1x6x3x3xf32>, %a1: tensor<6x4x3x3xf32>, %a2: tensor<1x6x3x3xf32>, %a3: tensor<6x4x3x3xf32>, %a4: tensor<1x6x3x3x3xf32>, %a5: tensor<6x4x3x3x3xf32>, %a6: tensor<1x6x3x3x3xf32>, %a7: tensor<6x4x3x3x3xf32>, %a8: tensor<1x6x3x3x3xf32>, %a9: tensor<6x4x3x3x3xf32>, %a10: tensor<1x6x3x3xf32>, %a11: tensor<6x4x3x3xf32>, %a12: tensor<6x4x3x3xf32>, %a13: tensor<1x6x3x3xf32>, %a14: tensor<6x4x3x3xf32>, %a15: tensor<1x6x3x3xf32>, %a16: tensor<6x4x3x3x3xf32>, %a17: tensor<1x6x3x3x3xf32>, %a18: tensor<6x4x3x3x3xf32>, %a19: tensor<1x6x3x3x3xf32>, %a20: tensor<6x4x3x3x3xf32>, %a21: tensor<1x6x3x3x3xf32>, %a22: tensor<3x3x4x2xf32>, %a23: tensor<1x8x3x3xf32>, %a24: tensor<3x3x4x2xf32>, %a25: tensor<1x8x3x3xf32>) {
  // CHECK-NEXT: %c0_v0 = ge.Const() {value = dense<0> : tensor<4xi32>} : () -> tensor<4xi32>
  %c0_v0 = ge.Const() {value = dense<0> : tensor<4xi32>} : () -> tensor<4xi32>
  // CHECK-NEXT: %conv2_dtranspose = ge.Conv2DTranspose(%c0_v0, %a0, %a1) {strides = [1, 1, 1, 1], pads = [0, 0, 0, 0], data_format = "NCHW"} : (tensor<4xi32>, tensor<1x6x3x3xf32>, tensor<6x4x3x3xf32>) -> tensor<1x4x5x5xf32>
  %conv2_dtranspose = ge.Conv2DTranspose(%c0_v0, %a0, %a1) {strides = [1, 1, 1, 1], pads = [0, 0, 0, 0], data_format = "NCHW"} : (tensor<4xi32>, tensor<1x6x3x3xf32>, tensor<6x4x3x3xf32>) -> tensor<1x4x5x5xf32>
  // CHECK-NEXT: %conv2_dtranspose_d = ge.Conv2DTransposeD(%a2, %a3) {input_size = [1, 4, 5, 5], strides = [1, 1, 1, 1], pads = [0, 0, 0, 0], data_format = "NCHW"} : (tensor<1x6x3x3xf32>, tensor<6x4x3x3xf32>) -> tensor<1x4x5x5xf32>
  %conv2_dtranspose_d = ge.Conv2DTransposeD(%a2, %a3) {input_size = [1, 4, 5, 5], strides = [1, 1, 1, 1], pads = [0, 0, 0, 0], data_format = "NCHW"} : (tensor<1x6x3x3xf32>, tensor<6x4x3x3xf32>) -> tensor<1x4x5x5xf32>
  // CHECK-NEXT: %c3_v0 = ge.Const() {value = dense<0> : tensor<5xi32>} : () -> tensor<5xi32>
  %c3_v0 = ge.Const() {value = dense<0> : tensor<5xi32>} : () -> tensor<5xi32>
  // CHECK-NEXT: %conv3_dtranspose = ge.Conv3DTranspose(%c3_v0, %a4, %a5) {strides = [1, 1, 1, 1, 1], pads = [0, 0, 0, 0, 0, 0], data_format = "NCDHW"} : (tensor<5xi32>, tensor<1x6x3x3x3xf32>, tensor<6x4x3x3x3xf32>) -> tensor<1x4x5x5x5xf32>
  %conv3_dtranspose = ge.Conv3DTranspose(%c3_v0, %a4, %a5) {strides = [1, 1, 1, 1, 1], pads = [0, 0, 0, 0, 0, 0], data_format = "NCDHW"} : (tensor<5xi32>, tensor<1x6x3x3x3xf32>, tensor<6x4x3x3x3xf32>) -> tensor<1x4x5x5x5xf32>
  // CHECK-NEXT: %conv3_dtranspose_d = ge.Conv3DTransposeD(%a6, %a7) {input_size = [1, 4, 5, 5, 5], strides = [1, 1, 1, 1, 1], pads = [0, 0, 0, 0, 0, 0], data_format = "NCDHW"} : (tensor<1x6x3x3x3xf32>, tensor<6x4x3x3x3xf32>) -> tensor<1x4x5x5x5xf32>
  %conv3_dtranspose_d = ge.Conv3DTransposeD(%a6, %a7) {input_size = [1, 4, 5, 5, 5], strides = [1, 1, 1, 1, 1], pads = [0, 0, 0, 0, 0, 0], data_format = "NCDHW"} : (tensor<1x6x3x3x3xf32>, tensor<6x4x3x3x3xf32>) -> tensor<1x4x5x5x5xf32>
  // CHECK-NEXT: %c6_v0 = ge.Const() {value = dense<0> : tensor<5xi32>} : () -> tensor<5xi32>
  %c6_v0 = ge.Const() {value = dense<0> : tensor<5xi32>} : () -> tensor<5xi32>
  // CHECK-NEXT: %conv3_dtranspose_v2 = ge.Conv3DTransposeV2(%c6_v0, %a8, %a9) {strides = [1, 1, 1, 1, 1], pads = [0, 0, 0, 0, 0, 0], data_format = "NCDHW"} : (tensor<5xi32>, tensor<1x6x3x3x3xf32>, tensor<6x4x3x3x3xf32>) -> tensor<1x4x5x5x5xf32>
  %conv3_dtranspose_v2 = ge.Conv3DTransposeV2(%c6_v0, %a8, %a9) {strides = [1, 1, 1, 1, 1], pads = [0, 0, 0, 0, 0, 0], data_format = "NCDHW"} : (tensor<5xi32>, tensor<1x6x3x3x3xf32>, tensor<6x4x3x3x3xf32>) -> tensor<1x4x5x5x5xf32>
  // CHECK-NEXT: %deconvolution = ge.Deconvolution(%a10, %a11) : (tensor<1x6x3x3xf32>, tensor<6x4x3x3xf32>) -> tensor<1x4x5x5xf32>
  %deconvolution = ge.Deconvolution(%a10, %a11) : (tensor<1x6x3x3xf32>, tensor<6x4x3x3xf32>) -> tensor<1x4x5x5xf32>
  // CHECK-NEXT: %c9_v0 = ge.Const() {value = dense<[1, 4, 5, 5]> : tensor<4xi32>} : () -> tensor<4xi32>
  %c9_v0 = ge.Const() {value = dense<[1, 4, 5, 5]> : tensor<4xi32>} : () -> tensor<4xi32>
  // CHECK-NEXT: %conv2_dbackprop_input = ge.Conv2DBackpropInput(%c9_v0, %a12, %a13) {strides = [1, 1, 1, 1], pads = [0, 0, 0, 0], data_format = "NCHW"} : (tensor<4xi32>, tensor<6x4x3x3xf32>, tensor<1x6x3x3xf32>) -> tensor<1x4x5x5xf32>
  %conv2_dbackprop_input = ge.Conv2DBackpropInput(%c9_v0, %a12, %a13) {strides = [1, 1, 1, 1], pads = [0, 0, 0, 0], data_format = "NCHW"} : (tensor<4xi32>, tensor<6x4x3x3xf32>, tensor<1x6x3x3xf32>) -> tensor<1x4x5x5xf32>
  // CHECK-NEXT: %conv2_dbackprop_input_d = ge.Conv2DBackpropInputD(%a14, %a15) {input_size = [1, 4, 5, 5], strides = [1, 1, 1, 1], pads = [0, 0, 0, 0], data_format = "NCHW"} : (tensor<6x4x3x3xf32>, tensor<1x6x3x3xf32>) -> tensor<1x4x5x5xf32>
  %conv2_dbackprop_input_d = ge.Conv2DBackpropInputD(%a14, %a15) {input_size = [1, 4, 5, 5], strides = [1, 1, 1, 1], pads = [0, 0, 0, 0], data_format = "NCHW"} : (tensor<6x4x3x3xf32>, tensor<1x6x3x3xf32>) -> tensor<1x4x5x5xf32>
  // CHECK-NEXT: %c12_v0 = ge.Const() {value = dense<[1, 4, 5, 5, 5]> : tensor<5xi32>} : () -> tensor<5xi32>
  %c12_v0 = ge.Const() {value = dense<[1, 4, 5, 5, 5]> : tensor<5xi32>} : () -> tensor<5xi32>
  // CHECK-NEXT: %conv3_dbackprop_input = ge.Conv3DBackpropInput(%c12_v0, %a16, %a17) {strides = [1, 1, 1, 1, 1], pads = [0, 0, 0, 0, 0, 0], data_format = "NCDHW"} : (tensor<5xi32>, tensor<6x4x3x3x3xf32>, tensor<1x6x3x3x3xf32>) -> tensor<1x4x5x5x5xf32>
  %conv3_dbackprop_input = ge.Conv3DBackpropInput(%c12_v0, %a16, %a17) {strides = [1, 1, 1, 1, 1], pads = [0, 0, 0, 0, 0, 0], data_format = "NCDHW"} : (tensor<5xi32>, tensor<6x4x3x3x3xf32>, tensor<1x6x3x3x3xf32>) -> tensor<1x4x5x5x5xf32>
  // CHECK-NEXT: %conv3_dbackprop_input_d = ge.Conv3DBackpropInputD(%a18, %a19) {input_size = [1, 4, 5, 5, 5], strides = [1, 1, 1, 1, 1], pads = [0, 0, 0, 0, 0, 0], data_format = "NCDHW"} : (tensor<6x4x3x3x3xf32>, tensor<1x6x3x3x3xf32>) -> tensor<1x4x5x5x5xf32>
  %conv3_dbackprop_input_d = ge.Conv3DBackpropInputD(%a18, %a19) {input_size = [1, 4, 5, 5, 5], strides = [1, 1, 1, 1, 1], pads = [0, 0, 0, 0, 0, 0], data_format = "NCDHW"} : (tensor<6x4x3x3x3xf32>, tensor<1x6x3x3x3xf32>) -> tensor<1x4x5x5x5xf32>
  // CHECK-NEXT: %c15_v0 = ge.Const() {value = dense<[1, 4, 5, 5, 5]> : tensor<5xi32>} : () -> tensor<5xi32>
  %c15_v0 = ge.Const() {value = dense<[1, 4, 5, 5, 5]> : tensor<5xi32>} : () -> tensor<5xi32>
  // CHECK-NEXT: %conv3_dbackprop_input_v2 = ge.Conv3DBackpropInputV2(%c15_v0, %a20, %a21) {strides = [1, 1, 1, 1, 1], pads = [0, 0, 0, 0, 0, 0], data_format = "NCDHW"} : (tensor<5xi32>, tensor<6x4x3x3x3xf32>, tensor<1x6x3x3x3xf32>) -> tensor<1x4x5x5x5xf32>
  %conv3_dbackprop_input_v2 = ge.Conv3DBackpropInputV2(%c15_v0, %a20, %a21) {strides = [1, 1, 1, 1, 1], pads = [0, 0, 0, 0, 0, 0], data_format = "NCDHW"} : (tensor<5xi32>, tensor<6x4x3x3x3xf32>, tensor<1x6x3x3x3xf32>) -> tensor<1x4x5x5x5xf32>
  // CHECK-NEXT: %c17_v0 = ge.Const() {value = dense<[1, 4, 5, 5]> : tensor<4xi32>} : () -> tensor<4xi32>
  %c17_v0 = ge.Const() {value = dense<[1, 4, 5, 5]> : tensor<4xi32>} : () -> tensor<4xi32>
  // CHECK-NEXT: %depthwise_conv2_dbackprop_input = ge.DepthwiseConv2DBackpropInput(%c17_v0, %a22, %a23) {strides = [1, 1, 1, 1], pads = [0, 0, 0, 0], data_format = "NCHW"} : (tensor<4xi32>, tensor<3x3x4x2xf32>, tensor<1x8x3x3xf32>) -> tensor<1x4x5x5xf32>
  %depthwise_conv2_dbackprop_input = ge.DepthwiseConv2DBackpropInput(%c17_v0, %a22, %a23) {strides = [1, 1, 1, 1], pads = [0, 0, 0, 0], data_format = "NCHW"} : (tensor<4xi32>, tensor<3x3x4x2xf32>, tensor<1x8x3x3xf32>) -> tensor<1x4x5x5xf32>
  // CHECK-NEXT: %depthwise_conv2_dbackprop_input_d = ge.DepthwiseConv2DBackpropInputD(%a24, %a25) {input_size = [1, 4, 5, 5], strides = [1, 1, 1, 1], pads = [0, 0, 0, 0], data_format = "NCHW"} : (tensor<3x3x4x2xf32>, tensor<1x8x3x3xf32>) -> tensor<1x4x5x5xf32>
  %depthwise_conv2_dbackprop_input_d = ge.DepthwiseConv2DBackpropInputD(%a24, %a25) {input_size = [1, 4, 5, 5], strides = [1, 1, 1, 1], pads = [0, 0, 0, 0], data_format = "NCHW"} : (tensor<3x3x4x2xf32>, tensor<1x8x3x3xf32>) -> tensor<1x4x5x5xf32>
  // CHECK-NEXT: func.return
  func.return
}
