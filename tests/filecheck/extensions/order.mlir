// RUN: ge-opt --load %S/Inputs/order.py --order-report | filecheck %s
// RUN: ge-opt --load %S/Inputs/order.py --order-report=json | filecheck %s --check-prefix=JSON
// RUN: ge-opt %s -p ge-simplify --order-report | filecheck %s --check-prefix=INPUT
// RUN: ge-opt %s --load %S/Inputs/order.py -p 'ge-custom-passes{only=A_NegNeg},ge-custom-passes{only=B_AbsNeg}' --order-report | filecheck %s --check-prefix=LOADED

// CHECK: 6 rules, 15 pairs, 6 interact
// CHECK-NEXT: D_AbsNegExp/chain never fires: B_AbsNeg/inner stands before it and takes all its matches
// CHECK-NEXT: A_NegNeg/twice and B_AbsNeg/inner: 'B_AbsNeg/inner' takes 1 match of 'A_NegNeg/twice', 'A_NegNeg/twice' takes 2 matches of 'B_AbsNeg/inner', the results differ by order
// CHECK-NEXT: func.func @main(%in0: {{.*}}
// CHECK-NEXT: %Neg_0 = ge.Neg(%in0)
// CHECK-NEXT: %Neg_1 = ge.Neg(%Neg_0)
// CHECK-NEXT: %Abs_0 = ge.Abs(%Neg_1)
// CHECK-NEXT: func.return %Abs_0
// CHECK: B_AbsNeg/inner and D_AbsNegExp/chain: {{.*}} the results differ by order
// CHECK: E_Sum/same and F_ReluAbs/outer: 'E_Sum/same' makes 1 match of 'F_ReluAbs/outer', the results differ by order
// CHECK-NEXT: func.func
// CHECK-NEXT: ge.Add(%in0, %in0)
// CHECK-NEXT: ge.Relu

// JSON: "shadowed": [
// JSON: "rule": "D_AbsNegExp/chain",
// JSON-NEXT: "by": "B_AbsNeg/inner"
// JSON: "results_differ": true,

// The builtin rules help each other, and their order changes nothing.
// INPUT: 9 rules, 36 pairs, 1 interact
// INPUT-NEXT: ge-simplify/RemoveIdentity and ge-simplify/RemoveIdempotent: 'ge-simplify/RemoveIdentity' makes 1 match of 'ge-simplify/RemoveIdempotent'
// INPUT-NOT: differ

// LOADED: 2 rules, 1 pair, 1 interact
// LOADED-NEXT: A_NegNeg/twice and B_AbsNeg/inner: {{.*}}the results differ by order
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %r = ge.Relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %i = ge.Identity(%r) : (tensor<4xf32>) -> tensor<4xf32>
  %s = ge.Relu(%i) : (tensor<4xf32>) -> tensor<4xf32>
  %a = ge.Neg(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %b = ge.Neg(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %c = ge.Abs(%b) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %s, %c : tensor<4xf32>, tensor<4xf32>
}
