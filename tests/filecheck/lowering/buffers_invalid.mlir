// RUN: not ge-opt %s -p aicore-buffers --split-input-file 2>&1 | filecheck %s
// RUN: not ge-opt %s -p aicore-check --split-input-file 2>&1 | filecheck %s --check-prefix=OPEN

// CHECK: error: aicore.kernel @k: takes 262144 bytes of ub (a 2 x 65536, b 2 x 65536), expected at most 188416 on Ascend910B1
// OPEN: error: aicore.kernel @k: takes 262144 bytes of ub (
aicore.kernel @k(%x : !aicore.tile<64x1024xf32, gm>) writes (%y : !aicore.tile<64x1024xf32, gm>) on vector * 1 {
  aicore.for (%r : %vr) in [64] by [16] over cores {
    %a = aicore.alloc buffers 2 : !aicore.tile<16x1024xf32, ub>
    %b = aicore.alloc buffers 2 : !aicore.tile<16x1024xf32, ub>
    aicore.copy_gm_ub %x[%r, 0], %a, [%vr, 1024] : !aicore.tile<64x1024xf32, gm>, !aicore.tile<16x1024xf32, ub>
    aicore.vunary %a, %b, [%vr, 1024] {kind = abs} : !aicore.tile<16x1024xf32, ub>, !aicore.tile<16x1024xf32, ub>
    aicore.copy_ub_gm %b, %y[%r, 0], [%vr, 1024] : !aicore.tile<16x1024xf32, ub>, !aicore.tile<64x1024xf32, gm>
  }
}
