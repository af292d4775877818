// RUN: ge-opt %s -p convert-ge-to-aicore,aicore-sync,aicore-check | filecheck %s

// One mixed kernel: scores two steps of keys ahead of parts on both kinds of cores, softmax on the
// vector cores between them; the last step comes first and has fewer keys.

// CHECK-LABEL: aicore.kernel @FlashAttentionScore(
// CHECK-SAME: on mix * 6
// CHECK: %scores = aicore.workspace buffers 3 : !aicore.tile<128x256xf32, gm>
// CHECK: %weights = aicore.workspace buffers 3 : !aicore.tile<128x256xf16, gm>
// CHECK: %parts = aicore.workspace buffers 3 : !aicore.tile<128x64xf32, gm>
// CHECK: aicore.section cube {
// CHECK: aicore.for (%b : %vb, %n : %vn, %g : %vg, %m : %vm) in [1, 3, 1, 200] by [1, 1, 1, 128] over cores {
// CHECK: aicore.for (%t : %vt) in [512] by [256] {
// CHECK: aicore.affine -1 * %t + 768 : index
// CHECK: aicore.bound %{{.*}} in [32, 256] : index
// CHECK: aicore.mmad %q0, %k0, %s, [%vm, %{{vh.*}}, 64] {init = zero, unit_flag}
// CHECK: aicore.for (%{{.*}} : %{{.*}}) in [512] by [256] {
// CHECK: aicore.mmad %q0, %k0, %s, [%vm, %{{vh.*}}, 64] {init = zero, unit_flag}
// CHECK: aicore.affine %{{.*}} + 512 : index
// CHECK: aicore.mmad %p0, %v0, %o, [%vm, 64, %{{vh.*}}] at (%{{h.*}}) {init = zero, unit_flag}
// CHECK: aicore.for (%{{.*}} : %{{.*}}) in [512] by [256] {
// CHECK: aicore.mmad %p0, %v0, %o,
// CHECK: aicore.section vector {
// CHECK: over subcores {
// CHECK: aicore.copy_gm_ub %{{.*}}, %x0, [%{{vr.*}}, 32]
// CHECK: aicore.vscalar %x0, %wide, [%{{vr.*}}, 32] {kind = axpy, value = 0.125}
// CHECK: aicore.for (%{{.*}} : %{{.*}}) in [256] by [256] {
// CHECK: aicore.vreduce %wide, %now, [%{{vr.*}}, 64] {kind = max, axis = cols}
// CHECK: aicore.vscalar %x3, %wide, [%{{vr.*}}, 64] {kind = axpy, value = 0.125}
// CHECK: aicore.vreduce %x0, %now, [%{{vr.*}}, 64] {kind = sum, axis = cols}
// CHECK: aicore.for (%{{.*}} : %{{.*}}) in [512] by [256] {
// CHECK: aicore.vbinary %out, %part0, %out, [%{{vr.*}}, 64] {kind = add}
// CHECK: %y = aicore.launch @FlashAttentionScore(%q, %k, %v) for ["y"]
func.func @main(%q : tensor<1x3x200x64xf16>, %k : tensor<1x3x800x64xf16>, %v : tensor<1x3x800x64xf16>) -> tensor<1x3x200x64xf16> {
  %y = ge.PromptFlashAttention(%q, %k, %v) {num_heads = 3 : i64, num_key_value_heads = 3 : i64, input_layout = "BNSD", scale_value = 0.125 : f32} : (tensor<1x3x200x64xf16>, tensor<1x3x800x64xf16>, tensor<1x3x800x64xf16>) -> tensor<1x3x200x64xf16>
  func.return %y : tensor<1x3x200x64xf16>
}
