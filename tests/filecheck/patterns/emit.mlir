// RUN: ge-opt --load %S/Inputs/rules.py --emit=patterns | filecheck %s
// RUN: ge-opt --load %S/Inputs/rules.py --emit=patterns -o %t.mlir && xdsl-opt %t.mlir | filecheck %s --check-prefix=AGAIN
// RUN: ge-opt --load %S/../cases/Inputs/matching.py --emit=patterns | filecheck %s --check-prefix=COMMUTED
// RUN: not ge-opt %s --load %S/Inputs/rules.py --emit=patterns 2>&1 | filecheck %s --check-prefix=INPUT
// RUN: not ge-opt --load %S/Inputs/rules.py -p ge-dce --emit=patterns 2>&1 | filecheck %s --check-prefix=PASSES
// RUN: not ge-opt --emit=patterns 2>&1 | filecheck %s --check-prefix=NONE

// CHECK: // A_Bias: pattern_fusion, BeforeInferShape
// CHECK: // beyond PDL: nothing else reads an inner node
// CHECK-NEXT: // the replacement is the one for the pattern's own graph
// CHECK-NEXT: pdl.pattern @Bias_matmul_add_pattern : benefit(1) {
// CHECK-NEXT: %in0 = pdl.operand
// CHECK-NEXT: %in1 = pdl.operand
// CHECK-NEXT: %in2 = pdl.operand
// CHECK-NEXT: %type = pdl.type
// CHECK-NEXT: [[MM:%.*]] = pdl.operation "ge.MatMul" (%in0, %in1 : !pdl.value, !pdl.value) -> (%type : !pdl.type)
// CHECK-NEXT: [[VALUE:%.*]] = pdl.result 0 of [[MM]]
// CHECK-NEXT: %type_1 = pdl.type
// CHECK-NEXT: [[ROOT:%.*]] = pdl.operation "ge.Add" ([[VALUE]], %in2 : !pdl.value, !pdl.value) -> (%type_1 : !pdl.type)
// CHECK-NEXT: pdl.rewrite [[ROOT]] {
// CHECK-NEXT: %transpose_x2 = pdl.attribute = true
// CHECK-NEXT: [[NEW:%.*]] = pdl.operation "ge.MatMul" (%in0, %in1, %in2 : !pdl.value, !pdl.value, !pdl.value) {"transpose_x2" = %transpose_x2}
// CHECK-NEXT: [[OUT:%.*]] = pdl.result 0 of [[NEW]]
// CHECK-NEXT: pdl.replace [[ROOT]] with ([[OUT]] : !pdl.value)

// CHECK: // TwoOutputs_both_pattern
// CHECK-NEXT: // not expressible in PDL: the nodes of several outputs are searched for, with backtracking
// CHECK-NEXT: // pattern(%in0, %in1) {
// CHECK-NEXT: //   %Add_0 = ge.Add(%in0, %in1)
// CHECK-NEXT: //   %Relu_1 = ge.Relu(%Add_0)
// CHECK-NEXT: //   %Exp_2 = ge.Exp(%Add_0)
// CHECK-NEXT: //   return %Relu_1, %Exp_2
// CHECK-NEXT: // }
// CHECK-NEXT: // replacement(%in0, %in1) {
// CHECK-NEXT: //   %Add_0 = ge.Add(%in1, %in0)

// CHECK: // not expressible in PDL: attributes of ge.MatMul '{{.*}}' are compared with their defaults filled in
// CHECK-NEXT: // pattern(%in0, %in1) {
// CHECK-NEXT: //   [[T:%.*]] = ge.MatMul(%in0, %in1) {transpose_x1 = true}

// CHECK: // beyond PDL: two nodes stand for two ops
// CHECK-NEXT: // beyond PDL: Const and Constant stand for each other
// CHECK-NEXT: pdl.pattern @Values_halves_pattern
// CHECK: pdl.attribute = dense<5.000000e-01> : tensor<f32>
// CHECK: pdl.rewrite {{.*}} with "D_Values.replacement"(%in0 : !pdl.value)

// CHECK: // E_Swish: decompose, AfterInferShape
// CHECK: // each node of type Swish is replaced, in the order of the graph
// CHECK: // F_Run: fusion_base, AfterInferShape
// CHECK: // run() edits the graph itself, there is no pattern

// AGAIN: builtin.module
// AGAIN: pdl.pattern @Bias_matmul_add_pattern
// AGAIN: pdl.pattern @Values_halves_pattern

// COMMUTED: // beyond PDL: operands of commutative ops match in either order

// INPUT: ge-opt: error: --emit=patterns with input '{{.*}}emit.mlir', expected only --load and -o
// PASSES: ge-opt: error: --emit=patterns with -p, expected only --load and -o
// NONE: ge-opt: error: --emit=patterns without passes, expected --load FILE with some
