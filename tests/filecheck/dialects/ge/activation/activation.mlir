// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Activations and softmax.
// CHECK-LABEL: func.func @main
func.func @main(%a: tensor<2x3xf32>, %h: tensor<2x3xf16>, %w: tensor<3xf32>, %u: tensor<*xf32>) {
  // CHECK-NEXT: %relu = ge.Relu(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %relu = ge.Relu(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %relu6 = ge.Relu6(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %relu6 = ge.Relu6(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %leaky_relu = ge.LeakyRelu(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %leaky_relu = ge.LeakyRelu(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %elu = ge.Elu(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %elu = ge.Elu(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %celu = ge.Celu(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %celu = ge.Celu(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %selu = ge.Selu(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %selu = ge.Selu(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %hard_sigmoid = ge.HardSigmoid(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %hard_sigmoid = ge.HardSigmoid(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %hard_swish = ge.HardSwish(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %hard_swish = ge.HardSwish(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %sigmoid = ge.Sigmoid(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %sigmoid = ge.Sigmoid(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %tanh = ge.Tanh(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %tanh = ge.Tanh(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %swish = ge.Swish(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %swish = ge.Swish(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %softplus = ge.Softplus(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %softplus = ge.Softplus(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %softsign = ge.Softsign(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %softsign = ge.Softsign(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %mish = ge.Mish(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %mish = ge.Mish(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %fast_gelu = ge.FastGelu(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %fast_gelu = ge.FastGelu(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %gelu = ge.Gelu(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %gelu = ge.Gelu(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %gelu_v2 = ge.GeluV2(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %gelu_v2 = ge.GeluV2(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %softmax_v2 = ge.SoftmaxV2(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %softmax_v2 = ge.SoftmaxV2(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %log_softmax_v2 = ge.LogSoftmaxV2(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %log_softmax_v2 = ge.LogSoftmaxV2(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %prelu = ge.PRelu(%a, %w) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %prelu = ge.PRelu(%a, %w) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %leaky = ge.LeakyRelu(%a) {negative_slope = 0.01} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %leaky = ge.LeakyRelu(%a) {negative_slope = 0.01} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %elu_2 = ge.Elu(%a) {alpha = 0.5, scale = 2.0, input_scale = 3.0} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %elu_2 = ge.Elu(%a) {alpha = 0.5, scale = 2.0, input_scale = 3.0} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %celu_2 = ge.Celu(%a) {alpha1 = 0.5, alpha2 = 0.5, alpha3 = 2.0} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %celu_2 = ge.Celu(%a) {alpha1 = 0.5, alpha2 = 0.5, alpha3 = 2.0} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %hard = ge.HardSigmoid(%a) {alpha = 0.2, beta = 0.25} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %hard = ge.HardSigmoid(%a) {alpha = 0.2, beta = 0.25} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %swish_2 = ge.Swish(%a) {scale = 1.5} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %swish_2 = ge.Swish(%a) {scale = 1.5} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %gelu_tanh = ge.GeluV2(%a) {approximate = "tanh"} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %gelu_tanh = ge.GeluV2(%a) {approximate = "tanh"} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %softmax_wide = ge.SoftmaxV2(%h) {axes = [0, -1], half_to_float = true} : (tensor<2x3xf16>) -> tensor<2x3xf32>
  %softmax_wide = ge.SoftmaxV2(%h) {axes = [0, -1], half_to_float = true} : (tensor<2x3xf16>) -> tensor<2x3xf32>
  // CHECK-NEXT: %softmax_rank = ge.SoftmaxV2(%u) : (tensor<*xf32>) -> tensor<*xf32>
  %softmax_rank = ge.SoftmaxV2(%u) : (tensor<*xf32>) -> tensor<*xf32>
  // CHECK-NEXT: %log_softmax_0 = ge.LogSoftmaxV2(%a) {axes = [0]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %log_softmax_0 = ge.LogSoftmaxV2(%a) {axes = [0]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: func.return
  func.return
}
