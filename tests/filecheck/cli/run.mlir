// RUN: ge-run %s --random-inputs=1 --compare ge -p ge-cse | filecheck %s
// RUN: ge-run %s --random-inputs=1 --shape x=4x16 --level aicore --compare ge | filecheck %s --check-prefix=KERNELS
// RUN: ge-run %s --random-inputs=1 --shape x=4x16 --cycles --target Ascend910B3 | filecheck %s --check-prefix=CYCLES
// RUN: not ge-run %s --shape x=4x17 --random-inputs 2>&1 | filecheck %s --check-prefix=WRONG

// Without --shape an unknown dimension is 1.
// CHECK: output 'y': 1x16 float32 {{[0-9a-f]+$}}
// CHECK-NEXT: compare 'y' with ge: max |diff| 0, 0 of max |ref| {{.*}}: ok

// KERNELS: output 'y': 4x16 float32
// KERNELS-NEXT: compare 'y' with ge: {{.*}}: ok

// CYCLES: output 'y': 4x16 float32
// CYCLES-NEXT: target Ascend910B3
// CYCLES: total {{[0-9.]+}} us in 1 launch{{$}}

// WRONG: error: graph input 'x': array is 4x17, expected ?x16
func.func @main(%x: tensor<?x16xf32>) -> tensor<?x16xf32> attributes {ge.output_names = ["y"]} {
  %a = ge.Relu(%x) : (tensor<?x16xf32>) -> tensor<?x16xf32>
  %b = ge.Relu(%x) : (tensor<?x16xf32>) -> tensor<?x16xf32>
  %y = ge.Add(%a, %b) : (tensor<?x16xf32>, tensor<?x16xf32>) -> tensor<?x16xf32>
  func.return %y : tensor<?x16xf32>
}
