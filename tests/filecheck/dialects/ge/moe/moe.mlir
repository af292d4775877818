// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Mixtures of experts.
// CHECK-LABEL: func.func @main
func.func @main(%a1: tensor<5x8xf32>, %a2: tensor<5x2xi32>, %a3: tensor<9xi32>, %a4: tensor<10x8xf32>, %a5: tensor<4x8xf32>, %a6: tensor<5x2xf32>, %a7: tensor<10xi32>) {
  // CHECK-NEXT: %moe_gating_top_k_softmax:3 = ge.MoeGatingTopKSoftmax(%a1) {k = 2} : (tensor<5x8xf32>) -> (tensor<5x2xf32>, tensor<5x2xi32>, tensor<5x2xi32>)
  %moe_gating_top_k_softmax:3 = ge.MoeGatingTopKSoftmax(%a1) {k = 2} : (tensor<5x8xf32>) -> (tensor<5x2xf32>, tensor<5x2xi32>, tensor<5x2xi32>)
  // CHECK-NEXT: %moe_gating_top_k_softmax_v2:3 = ge.MoeGatingTopKSoftmaxV2(%a1) {k = 2} : (tensor<5x8xf32>) -> (tensor<5x2xf32>, tensor<5x2xi32>, tensor<5x8xf32>)
  %moe_gating_top_k_softmax_v2:3 = ge.MoeGatingTopKSoftmaxV2(%a1) {k = 2} : (tensor<5x8xf32>) -> (tensor<5x2xf32>, tensor<5x2xi32>, tensor<5x8xf32>)
  // CHECK-NEXT: %moe_gating_top_k:3 = ge.MoeGatingTopK(%a1) {k = 2, k_group = 2, group_count = 4} : (tensor<5x8xf32>) -> (tensor<5x2xf32>, tensor<5x2xi32>, tensor<5x8xf32>)
  %moe_gating_top_k:3 = ge.MoeGatingTopK(%a1) {k = 2, k_group = 2, group_count = 4} : (tensor<5x8xf32>) -> (tensor<5x2xf32>, tensor<5x2xi32>, tensor<5x8xf32>)
  // CHECK-NEXT: %moe_init_routing:3 = ge.MoeInitRouting(%a1, %a2, %a2) {active_num = 5} : (tensor<5x8xf32>, tensor<5x2xi32>, tensor<5x2xi32>) -> (tensor<10x8xf32>, tensor<10xi32>, tensor<10xi32>)
  %moe_init_routing:3 = ge.MoeInitRouting(%a1, %a2, %a2) {active_num = 5} : (tensor<5x8xf32>, tensor<5x2xi32>, tensor<5x2xi32>) -> (tensor<10x8xf32>, tensor<10xi32>, tensor<10xi32>)
  // CHECK-NEXT: %moe_init_routing_quant:3 = ge.MoeInitRoutingQuant(%a1, %a2, %a2) {active_num = 5, scale = 0.5, offset = 0.0} : (tensor<5x8xf32>, tensor<5x2xi32>, tensor<5x2xi32>) -> (tensor<10x8xi8>, tensor<10xi32>, tensor<10xi32>)
  %moe_init_routing_quant:3 = ge.MoeInitRoutingQuant(%a1, %a2, %a2) {active_num = 5, scale = 0.5, offset = 0.0} : (tensor<5x8xf32>, tensor<5x2xi32>, tensor<5x2xi32>) -> (tensor<10x8xi8>, tensor<10xi32>, tensor<10xi32>)
  // CHECK-NEXT: %moe_compute_expert_tokens = ge.MoeComputeExpertTokens(%a3) {num_experts = 4} : (tensor<9xi32>) -> tensor<4xi32>
  %moe_compute_expert_tokens = ge.MoeComputeExpertTokens(%a3) {num_experts = 4} : (tensor<9xi32>) -> tensor<4xi32>
  // CHECK-NEXT: %moe_finalize_routing = ge.MoeFinalizeRouting(%a4, %a1, %a5, %a6, %a7, %a2) : (tensor<10x8xf32>, tensor<5x8xf32>, tensor<4x8xf32>, tensor<5x2xf32>, tensor<10xi32>, tensor<5x2xi32>) -> tensor<5x8xf32>
  %moe_finalize_routing = ge.MoeFinalizeRouting(%a4, %a1, %a5, %a6, %a7, %a2) : (tensor<10x8xf32>, tensor<5x8xf32>, tensor<4x8xf32>, tensor<5x2xf32>, tensor<10xi32>, tensor<5x2xi32>) -> tensor<5x8xf32>
  // CHECK-NEXT: %moe_finalize_routing_v2 = ge.MoeFinalizeRoutingV2(%a4, %a7, scales = %a6) : (tensor<10x8xf32>, tensor<10xi32>, tensor<5x2xf32>) -> tensor<5x8xf32>
  %moe_finalize_routing_v2 = ge.MoeFinalizeRoutingV2(%a4, %a7, scales = %a6) : (tensor<10x8xf32>, tensor<10xi32>, tensor<5x2xf32>) -> tensor<5x8xf32>
  // CHECK-NEXT: func.return
  func.return
}
