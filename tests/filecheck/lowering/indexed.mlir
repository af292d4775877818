// RUN: ge-opt %s -p convert-ge-to-aicore,aicore-sync,aicore-check --split-input-file | filecheck %s

// A gather from the last dimension: whole rows, then elements by one row of indices.

// CHECK-LABEL: aicore.kernel @GatherV2(
// CHECK: aicore.copy_gm_ub %x[%r, 0], %rows, [%vr, 40]
// CHECK: aicore.copy_gm_ub %index[0, %c], %index_1, [1, %vc]
// CHECK: aicore.vgather %rows, %index_1, %taken, [%vr, %vc]
func.func @main(%x : tensor<6x40xf16>, %i : tensor<7xi32>) -> tensor<6x7xf16> {
  %a = ge.Const() {value = dense<1> : tensor<i32>} : () -> tensor<i32>
  %y = ge.GatherV2(%x, %i, %a) : (tensor<6x40xf16>, tensor<7xi32>, tensor<i32>) -> tensor<6x7xf16>
  func.return %y : tensor<6x7xf16>
}

// -----

// A scatter: a tile of y stays, the updates pass by.

// CHECK-LABEL: aicore.kernel @ScatterAdd(
// CHECK: aicore.copy_gm_ub %x[%p, %r, %c], %held, [%vr, %vc]
// CHECK: aicore.for (%j : %vj) in [5] by [5] {
// CHECK: aicore.vscatter %updates_1, %index_1, %held, [%vj, %vc] at (%r) {kind = add}
// CHECK: aicore.copy_ub_gm %held, %y[%p, %r, %c], [%vr, %vc]
func.func @main(%x : tensor<9x16xf32>, %i : tensor<5xi32>, %u : tensor<5x16xf32>) -> tensor<9x16xf32> {
  %y = ge.ScatterAdd(%x, %i, %u) : (tensor<9x16xf32>, tensor<5xi32>, tensor<5x16xf32>) -> tensor<9x16xf32>
  func.return %y : tensor<9x16xf32>
}

// -----

// Sorted rows: their order, then the elements by it.

// CHECK-LABEL: aicore.kernel @Sort(
// CHECK: aicore.vsort %t0, [[ORDER:%\w+]], [%vr, %vc] {descending}
// CHECK: aicore.vgather %t0, [[ORDER]],
func.func @main(%x : tensor<6x40xf32>) -> (tensor<6x40xf32>, tensor<6x40xi32>) {
  %y, %o = ge.Sort(%x) {descending = true} : (tensor<6x40xf32>) -> (tensor<6x40xf32>, tensor<6x40xi32>)
  func.return %y, %o : tensor<6x40xf32>, tensor<6x40xi32>
}

// -----

// 64-bit integers are added by the scalar unit; the comparison gives truth values at once.

// CHECK-LABEL: aicore.kernel @Add_Less(
// CHECK: aicore.scalar %t0, %t1, [[SUM:%\w+]], [%vr, %vc] {kind = add} : !aicore.tile<1x32xi64, ub>
// CHECK: aicore.scalar [[SUM]], %t0, %t2, [%vr, %vc] {kind = lt} : !aicore.tile<1x32xi64, ub>, !aicore.tile<1x32xi64, ub>, !aicore.tile<1x32xi1, ub>
func.func @main(%a : tensor<32xi64>, %b : tensor<32xi64>) -> tensor<32xi1> {
  %s = ge.Add(%a, %b) : (tensor<32xi64>, tensor<32xi64>) -> tensor<32xi64>
  %y = ge.Less(%s, %a) : (tensor<32xi64>, tensor<32xi64>) -> tensor<32xi1>
  func.return %y : tensor<32xi1>
}
