// RUN: ge-opt %s --load %S/Inputs/add_layer_norm.py -p ge-custom-passes --verify-each --verify-rewrites=pass --stats --expect-matches=FuseAddLayerNorm:2 -o %t.mlir | filecheck %s
// RUN: filecheck %s --input-file %t.mlir --check-prefix=GRAPH
// RUN: ge-opt %s --load %S/Inputs/add_layer_norm.py -p ge-custom-passes --explain=FuseAddLayerNorm@z3 -o %t.mlir | filecheck %s --check-prefix=MISS

// One site gives the sum away as well, the other does not.
// CHECK: FuseAddLayerNorm  {{.*}} 3 {{ *}} 2 {{ *}} 2

// GRAPH-COUNT-2: ge.AddLayerNorm
// GRAPH-NOT: ge.Add(

// MISS: 0 of 1 site rewritten
// MISS-NEXT: operand 0: is Mul, expected Add
func.func @main(%x: tensor<2x8xf32>, %skip: tensor<2x8xf32>, %g: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>) {
  %s1 = ge.Add(%x, %skip) : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %z1:3 = ge.LayerNorm(%s1, %g, %b) {begin_norm_axis = -1, begin_params_axis = -1, epsilon = 1.000000e-05} : (tensor<2x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<2x8xf32>, tensor<2x1xf32>, tensor<2x1xf32>)
  %s2 = ge.Add(%s1, %skip) : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %z2:3 = ge.LayerNorm(%s2, %g, %b) {begin_norm_axis = -1, begin_params_axis = -1, epsilon = 1.000000e-05} : (tensor<2x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<2x8xf32>, tensor<2x1xf32>, tensor<2x1xf32>)
  %m = ge.Mul(%x, %skip) : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %z3:3 = ge.LayerNorm(%m, %g, %b) {begin_norm_axis = -1, begin_params_axis = -1, epsilon = 1.000000e-05} : (tensor<2x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<2x8xf32>, tensor<2x1xf32>, tensor<2x1xf32>)
  func.return %z1#0, %s1, %z2#0, %z3#0 : tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>
}
