// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Random numbers of known and unknown shapes.
// CHECK-LABEL: func.func @main
func.func @main(%a0: tensor<2xi64>, %a1: tensor<?xi32>, %a2: tensor<i32>, %a3: tensor<2x?xf32>, %a4: tensor<f32>, %a5: tensor<i64>, %a6: tensor<1xui64>, %a7: tensor<2xui64>) {
  // CHECK-NEXT: %c0 = ge.Const() {value = dense<[2, 3]> : tensor<2xi32>} : () -> tensor<2xi32>
  %c0 = ge.Const() {value = dense<[2, 3]> : tensor<2xi32>} : () -> tensor<2xi32>
  // CHECK-NEXT: %c1 = ge.Const() {value = dense<7> : tensor<i32>} : () -> tensor<i32>
  %c1 = ge.Const() {value = dense<7> : tensor<i32>} : () -> tensor<i32>
  // CHECK-NEXT: %random_uniform = ge.RandomUniform(%c0) {dtype = DT_FLOAT16, seed = 1} : (tensor<2xi32>) -> tensor<2x3xf16>
  %random_uniform = ge.RandomUniform(%c0) {dtype = DT_FLOAT16, seed = 1} : (tensor<2xi32>) -> tensor<2x3xf16>
  // CHECK-NEXT: %random_standard_normal = ge.RandomStandardNormal(%a0) {dtype = DT_FLOAT} : (tensor<2xi64>) -> tensor<?x?xf32>
  %random_standard_normal = ge.RandomStandardNormal(%a0) {dtype = DT_FLOAT} : (tensor<2xi64>) -> tensor<?x?xf32>
  // CHECK-NEXT: %truncated_normal = ge.TruncatedNormal(%a1) : (tensor<?xi32>) -> tensor<*xf32>
  %truncated_normal = ge.TruncatedNormal(%a1) : (tensor<?xi32>) -> tensor<*xf32>
  // CHECK-NEXT: %random_uniform_int = ge.RandomUniformInt(%c0, %a2, %a2) {seed2 = 5} : (tensor<2xi32>, tensor<i32>, tensor<i32>) -> tensor<2x3xi32>
  %random_uniform_int = ge.RandomUniformInt(%c0, %a2, %a2) {seed2 = 5} : (tensor<2xi32>, tensor<i32>, tensor<i32>) -> tensor<2x3xi32>
  // CHECK-NEXT: %random_shuffle = ge.RandomShuffle(%a3) : (tensor<2x?xf32>) -> tensor<2x?xf32>
  %random_shuffle = ge.RandomShuffle(%a3) : (tensor<2x?xf32>) -> tensor<2x?xf32>
  // CHECK-NEXT: %multinomial = ge.Multinomial(%a3, %c1) : (tensor<2x?xf32>, tensor<i32>) -> tensor<2x7xi64>
  %multinomial = ge.Multinomial(%a3, %c1) : (tensor<2x?xf32>, tensor<i32>) -> tensor<2x7xi64>
  // CHECK-NEXT: %drop_out_gen_mask = ge.DropOutGenMask(%c0, %a4) : (tensor<2xi32>, tensor<f32>) -> tensor<16xui8>
  %drop_out_gen_mask = ge.DropOutGenMask(%c0, %a4) : (tensor<2xi32>, tensor<f32>) -> tensor<16xui8>
  // CHECK-NEXT: %stateless_drop_out_gen_mask = ge.StatelessDropOutGenMask(%a0, %a4, %a5, %a5, offset = %a0) : (tensor<2xi64>, tensor<f32>, tensor<i64>, tensor<i64>, tensor<2xi64>) -> tensor<?xui8>
  %stateless_drop_out_gen_mask = ge.StatelessDropOutGenMask(%a0, %a4, %a5, %a5, offset = %a0) : (tensor<2xi64>, tensor<f32>, tensor<i64>, tensor<i64>, tensor<2xi64>) -> tensor<?xui8>
  // CHECK-NEXT: %stateless_random_uniform_v2 = ge.StatelessRandomUniformV2(%c0, %a6, %a7, %a2) : (tensor<2xi32>, tensor<1xui64>, tensor<2xui64>, tensor<i32>) -> tensor<2x3xf32>
  %stateless_random_uniform_v2 = ge.StatelessRandomUniformV2(%c0, %a6, %a7, %a2) : (tensor<2xi32>, tensor<1xui64>, tensor<2xui64>, tensor<i32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %stateless_random_normal_v2 = ge.StatelessRandomNormalV2(%c0, %a6, %a7, %a2) : (tensor<2xi32>, tensor<1xui64>, tensor<2xui64>, tensor<i32>) -> tensor<2x3xf32>
  %stateless_random_normal_v2 = ge.StatelessRandomNormalV2(%c0, %a6, %a7, %a2) : (tensor<2xi32>, tensor<1xui64>, tensor<2xui64>, tensor<i32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %stateless_bernoulli = ge.StatelessBernoulli(%c0, %a4, %a5, %a5) {dtype = DT_BOOL} : (tensor<2xi32>, tensor<f32>, tensor<i64>, tensor<i64>) -> tensor<2x3xi1>
  %stateless_bernoulli = ge.StatelessBernoulli(%c0, %a4, %a5, %a5) {dtype = DT_BOOL} : (tensor<2xi32>, tensor<f32>, tensor<i64>, tensor<i64>) -> tensor<2x3xi1>
  func.return
}
