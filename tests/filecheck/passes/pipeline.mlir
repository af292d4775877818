// RUN: ge-opt %s -p ge-compile --print-ir-before=convert-ge-to-aicore 2>&1 | filecheck %s
// RUN: ge-opt %s --pass-pipeline='builtin.module(ge-optimize,convert-ge-to-aicore)' | filecheck %s --check-prefix=KERNEL

// The whole pipeline: one kernel does the matrix product with its bias.
// CHECK: IR Dump Before convert-ge-to-aicore
// CHECK: ge.MatMul(%x, %w, bias = %b)
// CHECK-NEXT: func.return

// KERNEL: aicore.kernel @
// KERNEL: aicore.mmad
// KERNEL: func.func @main
// KERNEL: aicore.launch
// KERNEL-NEXT: func.return
func.func @main(%x: tensor<16x64xf16>, %w: tensor<64x32xf16>, %b: tensor<32xf16>) -> tensor<16x32xf16> {
  %mm = ge.MatMul(%x, %w) : (tensor<16x64xf16>, tensor<64x32xf16>) -> tensor<16x32xf16>
  %y = ge.Add(%mm, %b) : (tensor<16x32xf16>, tensor<32xf16>) -> tensor<16x32xf16>
  func.return %y : tensor<16x32xf16>
}
