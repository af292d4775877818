// RUN: ge-opt %s -p convert-ge-to-aicore,aicore-buffers,aicore-sync,aicore-check --split-input-file | filecheck %s

// Copies run beside the vector unit, so what they touch keeps its bytes; two sources of one
// instruction lie 256 bytes apart modulo 512.

// CHECK-LABEL: aicore.kernel @Add(
// CHECK: %t0 = aicore.alloc buffers 2 at 0 : !aicore.tile<1x4096xf16, ub>
// CHECK-NEXT: %t1 = aicore.alloc buffers 2 at 16640 : !aicore.tile<1x4096xf16, ub>
// CHECK-NEXT: %t2 = aicore.alloc buffers 2 at 33024 : !aicore.tile<1x4096xf16, ub>
func.func @main(%x : tensor<196608xf16>, %z : tensor<196608xf16>) -> tensor<196608xf16> {
  %y = ge.Add(%x, %z) : (tensor<196608xf16>, tensor<196608xf16>) -> tensor<196608xf16>
  func.return %y : tensor<196608xf16>
}

// -----

// The cube's memories, one after the other in each.

// CHECK-LABEL: aicore.kernel @MatMul(
// CHECK: %c = aicore.alloc {{.*}}at 0 : {{.*}}l0c, nz>
// CHECK-DAG: aicore.alloc {{.*}}at 0 : {{.*}}l1, nz>
// CHECK-DAG: aicore.alloc {{.*}}at {{[1-9][0-9]*}} : {{.*}}l1, nz>
// CHECK-DAG: %a0 = aicore.alloc {{.*}}at 0 : {{.*}}l0a, zz>
// CHECK-DAG: %b0 = aicore.alloc {{.*}}at 0 : {{.*}}l0b, zn>
func.func @main(%x : tensor<100x40000xf16>, %w : tensor<40000x1536xf16>) -> tensor<100x1536xf16> {
  %y = ge.MatMul(%x, %w) : (tensor<100x40000xf16>, tensor<40000x1536xf16>) -> tensor<100x1536xf16>
  func.return %y : tensor<100x1536xf16>
}
