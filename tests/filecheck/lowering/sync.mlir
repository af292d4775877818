// RUN: ge-opt %s -p convert-ge-to-aicore,aicore-sync,aicore-check | filecheck %s

// Data there and buffer free, one flag each way between the pipes, an id per buffer.

// CHECK: aicore.kernel @Relu({{.*}}) on vector * {{[0-9]+}} synced {
// CHECK-NEXT: aicore.set_flag V -> MTE2, 0{{$}}
// CHECK-NEXT: aicore.set_flag V -> MTE2, 1{{$}}
// CHECK-NEXT: aicore.set_flag MTE3 -> V, 0{{$}}
// CHECK-NEXT: aicore.set_flag MTE3 -> V, 1{{$}}
// CHECK-NEXT: aicore.for
// CHECK: aicore.wait_flag V -> MTE2, 0 of 2
// CHECK-NEXT: aicore.copy_gm_ub
// CHECK-NEXT: aicore.set_flag MTE2 -> V, 0 of 2
// CHECK-NEXT: aicore.wait_flag MTE2 -> V, 0 of 2
// CHECK-NEXT: aicore.wait_flag MTE3 -> V, 0 of 2
// CHECK-NEXT: aicore.vunary
// CHECK-NEXT: aicore.set_flag V -> MTE3, 0 of 2
// CHECK-NEXT: aicore.set_flag V -> MTE2, 0 of 2
// CHECK-NEXT: aicore.wait_flag V -> MTE3, 0 of 2
// CHECK-NEXT: aicore.copy_ub_gm
// CHECK-NEXT: aicore.set_flag MTE3 -> V, 0 of 2
// CHECK-NEXT: }
// CHECK-NEXT: aicore.wait_flag
func.func @main(%x : tensor<640x96xf16>) -> tensor<640x96xf16> {
  %y = ge.Relu(%x) : (tensor<640x96xf16>) -> tensor<640x96xf16>
  func.return %y : tensor<640x96xf16>
}
