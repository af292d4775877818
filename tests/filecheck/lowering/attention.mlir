// RUN: ge-opt %s -p convert-ge-to-aicore,aicore-sync,aicore-check | filecheck %s

// One mixed kernel: scores a tile of keys ahead of parts, softmax on the vector cores between them.

// CHECK-LABEL: aicore.kernel @FlashAttentionScore(
// CHECK-SAME: on mix * 6
// CHECK: %scores = aicore.workspace buffers 2 : !aicore.tile<128x128xf32, gm>
// CHECK: %weights = aicore.workspace buffers 2 : !aicore.tile<128x128xf16, gm>
// CHECK: %parts = aicore.workspace buffers 2 : !aicore.tile<128x64xf32, gm>
// CHECK: aicore.section cube {
// CHECK: aicore.for (%b : %vb, %n : %vn, %g : %vg, %m : %vm) in [1, 3, 1, 200] by [1, 1, 1, 128] over cores {
// CHECK: aicore.mmad %q0, %k0, %s, [%vm, 128, 64]
// CHECK: aicore.for (%j : %vj) in [172] from [128] by [128] {
// CHECK: aicore.mmad %q0, %k0, %s, [%vm, %vj, 64]
// CHECK: aicore.affine %j + -128 : index
// CHECK: aicore.mmad %p0, %v0, %o, [%vm, 64, 128]
// CHECK: aicore.section vector {
// CHECK: over subcores {
// CHECK: aicore.vreduce %x, %now, [%vr, %vj{{.*}}] {kind = max, axis = cols}
// CHECK: %y = aicore.launch @FlashAttentionScore(%q, %k, %v) for ["y"]
func.func @main(%q : tensor<1x3x200x64xf16>, %k : tensor<1x3x300x64xf16>, %v : tensor<1x3x300x64xf16>) -> tensor<1x3x200x64xf16> {
  %y = ge.PromptFlashAttention(%q, %k, %v) {num_heads = 3 : i64, num_key_value_heads = 3 : i64, input_layout = "BNSD", scale_value = 0.125 : f32} : (tensor<1x3x200x64xf16>, tensor<1x3x300x64xf16>, tensor<1x3x300x64xf16>) -> tensor<1x3x200x64xf16>
  func.return %y : tensor<1x3x200x64xf16>
}
