// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Storage formats, and the origin shapes that tell blocks' contents.
// CHECK-LABEL: func.func @main
func.func @main(%a0: tensor<2x35x4x?xf16>) {
  // CHECK-NEXT: %trans_data = ge.TransData(%a0) {src_format = "NCHW", dst_format = "NC1HWC0"} : (tensor<2x35x4x?xf16>) -> tensor<2x3x4x?x16xf16, #ge.layout<NC1HWC0, NCHW, [2, 35, 4, ?]>>
  %trans_data = ge.TransData(%a0) {src_format = "NCHW", dst_format = "NC1HWC0"} : (tensor<2x35x4x?xf16>) -> tensor<2x3x4x?x16xf16, #ge.layout<NC1HWC0, NCHW, [2, 35, 4, ?]>>
  func.return
}
