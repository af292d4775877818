// RUN: ge-opt %s --split-input-file --verify-diagnostics | filecheck %s
// RUN: ge-opt %s --split-input-file --verify-diagnostics -p 'builtin.module(func.func(ge-dce))' --verify-each | filecheck %s --check-prefix=DCE
// RUN: not ge-opt %s --split-input-file 2>&1 | filecheck %s --check-prefix=ERRORS

// CHECK-LABEL: @good
// CHECK: %unused = ge.Relu
// DCE-LABEL: @good
// DCE-NOT: %unused
func.func @good(%x: tensor<2xf32>) -> tensor<2xf32> {
  %unused = ge.Relu(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %x : tensor<2xf32>
}

// -----

// ERRORS: opt.mlir:19:3: error: ge.Relu 'y': result #0 is tensor<3xf32>, infer gives tensor<2xf32>
func.func @wrong_type(%x: tensor<2xf32>) -> tensor<3xf32> {
  // expected-error@+1 {{result #0 is tensor<3xf32>, infer gives tensor<2xf32>}}
  %y = ge.Relu(%x) : (tensor<2xf32>) -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}

// -----

func.func @unknown(%x: tensor<2xf32>) -> tensor<2xf32> {
  // ERRORS: error: ge.Rleu: is no known op, expected a GE op type, did you mean 'Relu'?
  // expected-error@+1 {{ge.Rleu: is no known op}}
  %y = ge.Rleu(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}
