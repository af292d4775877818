// RUN: not ge-opt %s --load %S/Inputs/loops.py -p 'ge-custom-passes{only=Swap}' 2>&1 | filecheck %s --check-prefix=SWAP
// RUN: not ge-opt %s --load %S/Inputs/loops.py -p 'ge-custom-passes{only=Grow}' 2>&1 | filecheck %s --check-prefix=GROW
// RUN: ge-opt %s --load %S/Inputs/loops.py -p 'ge-custom-passes{only=PingPong}' --expect-matches=PingPong:3 | filecheck %s --check-prefix=PING

// SWAP: error: pass 'Swap': replacement of rule 'Swap_add_pattern': rewrites its own result without end ({{[0-9]+}} rewrites), expected a fixed point: Add '{{.*}}' -> Add '
// SWAP-NOT: func.func
// GROW: error: pass 'Grow': replacement of rule 'Grow_relu_pattern': rewrites its own result without end ({{[0-9]+}} rewrites), expected a fixed point: Relu '{{.*}}' -> Relu '

// GE sweeps each rule once, so two that undo each other end: every Mul becomes an Add, then all
// three sums become products.
// PING-NOT: ge.Add(%{{.*}}, %{{.*}}) : (tensor<4xf32>, tensor<4xf32>)
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %two = ge.Const() {value = dense<2.0> : tensor<f32>} : () -> tensor<f32>
  %m = ge.Mul(%x, %two) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %r = ge.Relu(%m) : (tensor<4xf32>) -> tensor<4xf32>
  %y = ge.Add(%r, %r) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
