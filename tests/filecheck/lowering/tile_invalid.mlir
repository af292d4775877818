// RUN: not ge-opt %s -p convert-ge-to-aicore --tile 256,512,128 2>&1 | filecheck %s
// RUN: not ge-opt %s -p convert-ge-to-aicore --tile 256,512 2>&1 | filecheck %s --check-prefix=TWO
// RUN: not ge-opt %s -p 'aicore-tile{tile=64,64,64 only=nobody}' 2>&1 | filecheck %s --check-prefix=NAME
// RUN: not ge-opt %s -p 'convert-ge-to-aicore,aicore-tile{tile=64,64,64}' 2>&1 | filecheck %s --check-prefix=ORDER

// CHECK: tile_invalid.mlir:[[# @LINE + 7]]:3: error: ge.MatMul 'fc': tile 256,512,128 takes
// CHECK-SAME: 131072 of 65536 bytes of l0b (b0 131072), 524288 of 131072 bytes of l0c (c 524288),
// CHECK-SAME: expected no more than Ascend910B1 has: 128,256,128 is the largest that fits
// TWO: ge-opt: error: tile is '256,512', expected M,N,K, multiples of 16 such as 128,256,64
// NAME: error: aicore-tile: no matrix product or convolution without a tile is called 'nobody', expected one
// ORDER: error: aicore-tile: the graph is lowered, expected this pass before convert-ge-to-aicore: aicore-tile{tile=64,64,64},convert-ge-to-aicore
func.func @main(%x : tensor<1000x384xf16>, %w : tensor<384x1536xf16>) -> tensor<1000x1536xf16> {
  %fc = ge.MatMul(%x, %w) : (tensor<1000x384xf16>, tensor<384x1536xf16>) -> tensor<1000x1536xf16>
  func.return %fc : tensor<1000x1536xf16>
}
