// RUN: ge-opt %s --emit=readable | filecheck %s
// RUN: ge-opt %s -p ge-fuse --emit=readable | filecheck %s --check-prefix=FUSED

// GE's readable dump, before and after passes.
// CHECK:      graph("main"):
// CHECK-NEXT:   %x : [#users=1] = Node[type=Data] (attrs = {index: 0})
// CHECK-NEXT:   %w : [#users=1] = Node[type=Data] (attrs = {index: 1})
// CHECK-NEXT:   %b : [#users=1] = Node[type=Data] (attrs = {index: 2})
// CHECK-NEXT:   %mm : [#users=1] = Node[type=MatMul] (inputs = (x1=%x, x2=%w))
// CHECK-NEXT:   %y : [#users=1] = Node[type=Add] (inputs = (x1=%mm, x2=%b))
// CHECK-EMPTY:
// CHECK-NEXT:   return (%y)
// FUSED:      Node[type=MatMul] (inputs = (x1=%x, x2=%w, bias=%b))
// FUSED-NOT:  type=Add
func.func @main(%x: tensor<4x8xf16>, %w: tensor<8x2xf16>, %b: tensor<2xf16>) -> tensor<4x2xf16> {
  %mm = ge.MatMul(%x, %w) : (tensor<4x8xf16>, tensor<8x2xf16>) -> tensor<4x2xf16>
  %y = ge.Add(%mm, %b) : (tensor<4x2xf16>, tensor<2xf16>) -> tensor<4x2xf16>
  func.return %y : tensor<4x2xf16>
}
