// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt - | filecheck %s

// Boxes.
// CHECK-LABEL: func.func @main
func.func @main(%a0: tensor<5x4xf32>, %a1: tensor<3x4xf32>, %a2: tensor<5x4xf32>, %a3: tensor<5x4xf32>, %a4: tensor<5x4xf32>, %a5: tensor<5x4xf32>, %a6: tensor<5x4xf32>, %a7: tensor<5x4xf32>, %a8: tensor<5x4xf32>, %a9: tensor<5x4xf32>, %a10: tensor<5xi32>, %a11: tensor<5x4xf32>) {
  // CHECK-NEXT: %iou = ge.Iou(%a0, %a1) : (tensor<5x4xf32>, tensor<3x4xf32>) -> tensor<3x5xf32>
  %iou = ge.Iou(%a0, %a1) : (tensor<5x4xf32>, tensor<3x4xf32>) -> tensor<3x5xf32>
  // CHECK-NEXT: %bounding_box_encode = ge.BoundingBoxEncode(%a2, %a3) : (tensor<5x4xf32>, tensor<5x4xf32>) -> tensor<5x4xf32>
  %bounding_box_encode = ge.BoundingBoxEncode(%a2, %a3) : (tensor<5x4xf32>, tensor<5x4xf32>) -> tensor<5x4xf32>
  // CHECK-NEXT: %bounding_box_decode = ge.BoundingBoxDecode(%a4, %a5) {max_shape = [9, 9]} : (tensor<5x4xf32>, tensor<5x4xf32>) -> tensor<5x4xf32>
  %bounding_box_decode = ge.BoundingBoxDecode(%a4, %a5) {max_shape = [9, 9]} : (tensor<5x4xf32>, tensor<5x4xf32>) -> tensor<5x4xf32>
  // CHECK-NEXT: %decode_bbox_v2 = ge.DecodeBboxV2(%a6, %a7) : (tensor<5x4xf32>, tensor<5x4xf32>) -> tensor<5x4xf32>
  %decode_bbox_v2 = ge.DecodeBboxV2(%a6, %a7) : (tensor<5x4xf32>, tensor<5x4xf32>) -> tensor<5x4xf32>
  // CHECK-NEXT: %yolo_boxes_encode = ge.YoloBoxesEncode(%a8, %a9, %a10) : (tensor<5x4xf32>, tensor<5x4xf32>, tensor<5xi32>) -> tensor<5x4xf32>
  %yolo_boxes_encode = ge.YoloBoxesEncode(%a8, %a9, %a10) : (tensor<5x4xf32>, tensor<5x4xf32>, tensor<5xi32>) -> tensor<5x4xf32>
  // CHECK-NEXT: %anchor_response_flags = ge.AnchorResponseFlags(%a11) {featmap_size = [3, 5], strides = [4, 2], num_base_anchors = 2} : (tensor<5x4xf32>) -> tensor<30xui8>
  %anchor_response_flags = ge.AnchorResponseFlags(%a11) {featmap_size = [3, 5], strides = [4, 2], num_base_anchors = 2} : (tensor<5x4xf32>) -> tensor<30xui8>
  // CHECK-NEXT: func.return
  func.return
}
