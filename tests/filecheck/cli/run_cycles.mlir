// RUN: ge-run %s --random-inputs --cycles --trace %t.json | filecheck %s
// RUN: python -m json.tool %t.json > %t.txt
// RUN: ge-run %s --random-inputs --cycles=diff -p ge-fuse | filecheck %s --check-prefix=DIFF
// RUN: ge-run %s --random-inputs --trace %t.json | filecheck %s --check-prefix=TRACE
// RUN: ge-run %s --estimate | filecheck %s --check-prefix=ESTIMATE
// RUN: ge-run --describe-target Ascend910B4 | filecheck %s --check-prefix=CHIP
// RUN: ge-opt --describe-target Ascend310P3 | filecheck %s --check-prefix=P3

// CHECK: output 'output_0'
// CHECK: target Ascend910B1
// CHECK: kernel {{.*}} bound {{.*}} roof % {{.*}} HBM MB {{.*}} L2 MB
// CHECK: total {{.*}} us in 2 launches

// DIFF: total {{.*}} us in
// DIFF: gone: 1 x
// DIFF: new: 1 x
// DIFF: launches: 2 before
// DIFF: us: {{.*}} before, {{.*}} after, {{.*}} % saved

// TRACE: output 'output_0'
// TRACE-NOT: target

// ESTIMATE-NOT: output
// ESTIMATE: target Ascend910B1
// ESTIMATE: total {{.*}} us in 2 launches

// CHIP: Ascend910B4: arch 2201, kernels for cube and vector cores
// CHIP: cube_cores {{.*}} 20 cores {{.*}} [INI-8.1]
// CHIP: launch_us {{.*}} us {{.*}} [FITTED] fitted to published measurements on arch 2201
// CHIP: exp {{.*}} 32 {{.*}} 32

// P3: Ascend310P3: arch 200, kernels for cube and vector cores

func.func @main(%x : tensor<1024x512xf16>, %w : tensor<512x768xf16>, %b : tensor<768xf16>) -> tensor<1024x768xf16> {
  %a = ge.MatMul(%x, %w) : (tensor<1024x512xf16>, tensor<512x768xf16>) -> tensor<1024x768xf16>
  %c = ge.BiasAdd(%a, %b) : (tensor<1024x768xf16>, tensor<768xf16>) -> tensor<1024x768xf16>
  %e = ge.SoftmaxV2(%c) {axes = [-1]} : (tensor<1024x768xf16>) -> tensor<1024x768xf16>
  func.return %e : tensor<1024x768xf16>
}
