// RUN: ge-opt %s -p convert-ge-to-aicore,aicore-check --split-input-file | filecheck %s

// A softmax with the sum before it: a tile has whole rows, what is one per row is computed once.

// CHECK-LABEL: aicore.kernel @Add_SoftmaxV2(
// CHECK: aicore.for (%r : %vr, %c : %vc) in [96, 80] by [2, 80] over cores {
// CHECK: %t4 = aicore.alloc : !aicore.tile<2x1xf32, ub>
// CHECK: aicore.vbinary %t0, %t1, %t3, [%vr, %vc] {kind = add}
// CHECK-NEXT: aicore.vreduce %t3, %t4, [%vr, %vc] {kind = max, axis = cols}
// CHECK-NEXT: aicore.vbrc %t4, %t5, [%vr, %vc]
// CHECK-NEXT: aicore.vbinary %t3, %t5, %t5, [%vr, %vc] {kind = sub}
// CHECK-NEXT: aicore.vunary %t5, %t5, [%vr, %vc] {kind = exp}
// CHECK-NEXT: aicore.vreduce %t5, %t4, [%vr, %vc] {kind = sum, axis = cols}
// CHECK: {kind = div}
// CHECK: aicore.launch @Add_SoftmaxV2(%x, %m) for ["s", "y"]
func.func @main(%x : tensor<96x80xf32>, %m : tensor<96x80xf32>) -> tensor<96x80xf32> {
  %s = ge.Add(%x, %m) : (tensor<96x80xf32>, tensor<96x80xf32>) -> tensor<96x80xf32>
  %y = ge.SoftmaxV2(%s) : (tensor<96x80xf32>) -> tensor<96x80xf32>
  func.return %y : tensor<96x80xf32>
}

// -----

// A reduction of a middle dimension adds rows; the result has one element per column.

// CHECK-LABEL: aicore.kernel @ReduceSumD(%x0 : !aicore.tile<4x50x40xf32, gm>) writes (%y0 : !aicore.tile<4x1x40xf32, gm>)
// CHECK: aicore.vreduce %t0, %t1, [%vr, %vc] {kind = sum, axis = rows}
// CHECK-NEXT: aicore.copy_ub_gm %t1, %y0[%d0, 0, %c], [1, %vc]
func.func @main(%x : tensor<4x50x40xf32>) -> tensor<4x40xf32> {
  %y = ge.ReduceSumD(%x) {axes = [1]} : (tensor<4x50x40xf32>) -> tensor<4x40xf32>
  func.return %y : tensor<4x40xf32>
}

// -----

// Nothing is moved for a view.

// CHECK-NOT: aicore.kernel
// CHECK: %y = aicore.view %x for ["y"] : (tensor<2x3x4xf16>) -> tensor<2x12xf16>
func.func @main(%x : tensor<2x3x4xf16>) -> tensor<2x12xf16> {
  %y = ge.Flatten(%x) : (tensor<2x3x4xf16>) -> tensor<2x12xf16>
  func.return %y : tensor<2x12xf16>
}
