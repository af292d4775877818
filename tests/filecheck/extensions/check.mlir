// RUN: ge-check %S/Inputs/where.py | filecheck %s

// The graphs that are made from a pattern have the attributes that it asks for; a test that only
// Python knows stays open.
// CHECK: warning: C_Steep: pattern 'steep' never fired on {{[0-9]+}} graphs, expected it to
// CHECK: A_Halves: {{.*}} bf16{{.*}} 4 rewritten, 0 wrong
// CHECK: B_Slope: {{.*}} 3 rewritten, 0 wrong
// CHECK-NEXT: 'zero' fired 3 times
// CHECK: C_Steep: {{.*}} 0 rewritten, 0 wrong
