"""Regions, warps and gradients of image networks whose shapes are known and values are not."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.elements import INDICES, require
from ge_xdsl.dialects.ge.extents import bounded, checked_shape, count_of, merge_shapes, of_rank
from ge_xdsl.dialects.ge.fields import (
    boolean,
    booleans,
    floating,
    floats,
    integer,
    integers,
    operand,
    optional,
    result,
    string,
    variadic,
)
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.operands import check_length, with_layout
from ge_xdsl.dialects.ge.recurrent import dims, expect, part_of
from ge_xdsl.dialects.ge.rounding import chosen
from ge_xdsl.dialects.ge.shapes import merge_dim, multiply_dims
from ge_xdsl.dialects.ge.suffix import check_floats
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor


class DeformableOffsetsGradOp(GeOp):
    """grad_x and grad_offsets, the gradients of DeformableOffsets, in the shapes of x and offsets

    Half floats stay f16 (f32 for bf16). The values are unconfirmed. C1: the operands are
    floating-point tensors of rank 4. C2: strides, pads and dilations have 4 entries, ksize 2. C3:
    data_format is NCHW or NHWC.
    """

    name = "ge.DeformableOffsetsGrad"

    grad = operand()
    x = operand()
    offsets = operand()
    grad_x = result()
    grad_offsets = result()
    strides = integers()
    pads = integers()
    ksize = integers()
    dilations = integers((1, 1, 1, 1))
    data_format = string("NCHW")
    deformable_groups = integer(1)
    modulated = boolean(True)

    def infer(self, grad: Tensor, x: Tensor, offsets: Tensor) -> tuple[Tensor, Tensor]:
        check_floats(grad=grad, x=x, offsets=offsets)  # C1
        for name, tensor in (("grad", grad), ("x", x), ("offsets", offsets)):
            of_rank(tensor, 4, name)  # C1
        for name, count in (("strides", 4), ("pads", 4), ("dilations", 4), ("ksize", 2)):
            check_length(self.get_attr(name), count, name)  # C2
        chosen(self.data_format, "data_format", ("NCHW", "NHWC"))  # C3
        half = x.dtype is DataType.DT_FLOAT16
        dtype = DataType.DT_FLOAT16 if half else DataType.DT_FLOAT
        return x.with_dtype(dtype), offsets.with_dtype(dtype)


class MaxPool3DGradGradOp(GeOp):
    """y = grads at the largest place of each window, in the shape of orig_y; unconfirmed values

    C1: orig_x and grads have one shape, of rank 5. C2: orig_y has rank 5.
    """

    name = "ge.MaxPool3DGradGrad"

    orig_x = operand()
    orig_y = operand()
    grads = operand()
    y = result()
    ksize = integers()
    strides = integers()
    pads = integers()
    data_format = string("NDHWC")

    def infer(self, orig_x: Tensor, orig_y: Tensor, grads: Tensor) -> Tensor:
        merge_shapes(orig_x.shape, grads.shape, "shapes of orig_x and grads")  # C1
        of_rank(orig_x, 5, "orig_x")  # C1
        of_rank(grads, 5, "grads")  # C1
        of_rank(orig_y, 5, "orig_y")  # C2
        return orig_y


class AvgPoolGradDOp(GeOp):
    """out_grad = the gradient of AvgPool in orig_input_shape; the matrices are the kernel's helpers

    Their contents decide the values, which are not modelled. C1: input_grad has rank 4. C2:
    orig_input_shape has 4 entries, none negative. C3: padding is SAME or VALID.
    """

    name = "ge.AvgPoolGradD"

    input_grad = operand()
    mean_matrix = operand()
    kernel_matrix = operand()
    out_grad = result()
    orig_input_shape = integers()
    ksize = integers()
    strides = integers()
    padding = string()
    data_format = string("NHWC")

    def infer(self, input_grad: Tensor, mean_matrix: Tensor, kernel_matrix: Tensor) -> Tensor:
        of_rank(input_grad, 4, "input_grad")  # C1
        check_length(self.orig_input_shape, 4, "orig_input_shape")  # C2
        chosen(self.padding, "padding", ("SAME", "VALID"))  # C3
        return with_layout(input_grad, input_grad.dtype, checked_shape(self.orig_input_shape))  # C2


class RoiAlignRotatedOp(GeOp):
    """y [R, C, pooled_h, pooled_w] of rois [R, 6] (batch, x, y, width, height, angle)

    The values are unconfirmed. C1: x has rank 4 and rois are [R, 6]. C2: pooled_h and pooled_w are
    at least 1.
    """

    name = "ge.RoiAlignRotated"

    x = operand()
    rois = operand()
    y = result()
    pooled_h = integer()
    pooled_w = integer()
    spatial_scale = floating()
    sampling_ratio = integer(0)
    aligned = boolean(True)
    clockwise = boolean(False)

    def infer(self, x: Tensor, rois: Tensor) -> Tensor:
        channels = dims(x, 4, "x")[1]  # C1
        expect(rois, (DYNAMIC, 6), "rois")  # C1
        high, wide = count_of(self.pooled_h, "pooled_h", 1), count_of(self.pooled_w, "pooled_w", 1)
        rows = dims(rois, 2, "rois")[0]
        return x.with_shape(bounded((rows, channels, high, wide)))  # C2


class RoiExtractorOp(GeOp):
    """y [R, C, pooled_height, pooled_width] of rois [R, 5], each from the level that fits its size

    The values are unconfirmed. C1: features are one tensor of rank 4 or more, of as many channels.
    C2: rois are [R, 5]. C3: pooled_height and pooled_width are at least 1. C4: spatial_scale has an
    entry per feature.
    """

    name = "ge.RoiExtractor"

    features = variadic()
    rois = operand()
    index = optional()
    y = result()
    finest_scale = integer(56)
    roi_scale_factor = floating(0.0)
    spatial_scale = floats((0.25, 0.125, 0.0625, 0.03125))
    pooled_height = integer(7)
    pooled_width = integer(7)
    sample_num = integer(0)
    pool_mode = string("avg")
    aligned = boolean(True)

    def infer(self, features: Sequence[Tensor], rois: Tensor, index: Tensor | None) -> Tensor:
        if not features:  # C1
            raise VerifyException("has no features, expected at least one")
        check_length(self.spatial_scale, len(features), "spatial_scale")  # C4
        channels = DYNAMIC
        for tensor in features:
            mine = dims(tensor, 4, "features")[1]  # C1
            channels = merge_dim(channels, mine, "channels of the features")  # C1
        expect(rois, (DYNAMIC, 5), "rois")  # C2
        sizes = (
            count_of(self.pooled_height, "pooled_height", 1),  # C3
            count_of(self.pooled_width, "pooled_width", 1),  # C3
        )
        return features[0].with_shape(bounded((dims(rois, 2, "rois")[0], channels, *sizes)))


class PSROIPoolingV2Op(GeOp):
    """y [N * R, output_dim, group_size, group_size] of rois [N, 5, R]; the values are unconfirmed

    Bin (i, j) of channel c averages channel (c * group_size + i) * group_size + j of x. C1: x has
    rank 4. C2: rois are [N, 5, R]. C3: group_size is 1 to 127. C4: x has output_dim * group_size^2
    channels.
    """

    name = "ge.PSROIPoolingV2"

    x = operand()
    rois = operand()
    y = result()
    spatial_scale = floating()
    output_dim = integer()
    group_size = integer()

    def infer(self, x: Tensor, rois: Tensor) -> Tensor:
        if not 0 < self.group_size < 128:  # C3
            raise VerifyException(f"group_size is {self.group_size}, expected 1 to 127")
        channels = dims(x, 4, "x")[1]  # C1
        size, depth = self.group_size, count_of(self.output_dim, "output_dim")
        merge_dim(channels, depth * size * size, "channels of x and of the bins")  # C4
        expect(rois, (DYNAMIC, 5, DYNAMIC), "rois")  # C2
        batch, _, rows = dims(rois, 3, "rois")
        return x.with_shape(bounded((multiply_dims(batch, rows), depth, size, size)))


class CTCLossOp(GeOp):
    """loss [B] and gradient [T, B, C] of inputs [T, B, C] and sparse labels; the last is blank

    The values are not modelled. C1: inputs is f32 or f64, of rank 3. C2: labels_indices is i64 [L,
    2] and labels_values i32 [L]. C3: sequence_length is i32 [B].
    """

    name = "ge.CTCLoss"

    inputs = operand()
    labels_indices = operand()
    labels_values = operand()
    sequence_length = operand()
    loss = result()
    gradient = result()
    preprocess_collapse_repeated = boolean(False)
    ctc_merge_repeated = boolean(True)
    ignore_longer_outputs_than_inputs = boolean(False)

    def infer(self, inputs: Tensor, *rest: Tensor) -> tuple[Tensor, Tensor]:
        wide = (DataType.DT_FLOAT, DataType.DT_DOUBLE)
        require(inputs, "inputs", wide, "DT_FLOAT or DT_DOUBLE")  # C1
        time, batch, classes = dims(inputs, 3, "inputs")  # C1
        indices, values, lengths = rest
        require(indices, "labels_indices", (DataType.DT_INT64,), "DT_INT64")  # C2
        expect(indices, (DYNAMIC, 2), "labels_indices")  # C2
        expect(values, dims(indices, 2, "labels_indices")[:1], "labels_values")  # C2
        require(lengths, "sequence_length", (DataType.DT_INT32,), "DT_INT32")  # C3
        expect(lengths, (batch,), "sequence_length")  # C3
        return inputs.with_shape((batch,)), inputs.with_shape((time, batch, classes))


class ResizeNearestNeighborV2GradDOp(GeOp):
    """y = the gradient of a nearest resize from `size` (height, width); the values are unconfirmed

    Its layout is that of grads. C1: grads is f32, of rank 4. C2: size has 2 entries, at least 1.
    """

    name = "ge.ResizeNearestNeighborV2GradD"

    grads = operand()
    y = result()
    size = integers()
    align_corners = boolean(False)
    half_pixel_centers = boolean(False)

    def infer(self, grads: Tensor) -> Tensor:
        require(grads, "grads", (DataType.DT_FLOAT,), "DT_FLOAT")  # C1
        shape = dims(grads, 4, "grads")  # C1
        check_length(self.size, 2, "size")  # C2
        high, wide = (count_of(n, "size", 1) for n in self.size)  # C2
        last = str(grads.layout.format.name).endswith("NHWC")
        kept = (shape[0], high, wide, shape[3]) if last else (*shape[:2], high, wide)
        return with_layout(grads, grads.dtype, bounded(kept))


class IMGWarpOp(GeOp):
    """warp_img [N, C, H', W'] = img [N, C, H, W] at the places that warp_offset [N, 2, H', W'] adds

    The values are unconfirmed. C1: img has rank 4. C2: warp_offset is [N, 2, H', W'].
    """

    name = "ge.IMGWarp"

    img = operand()
    warp_offset = operand()
    warp_img = result()

    def infer(self, img: Tensor, warp_offset: Tensor) -> Tensor:
        n, c, _, _ = dims(img, 4, "img")  # C1
        expect(warp_offset, (n, 2, DYNAMIC, DYNAMIC), "warp_offset")  # C2
        high, wide = dims(warp_offset, 4, "warp_offset")[2:]
        return img.with_shape(bounded((n, c, high, wide)))


class RemapOp(GeOp):
    """map_img [N, H', W', C] = img [N, H, W, C] at the places of map_offset [N, H', W', 2]

    The values are unconfirmed. C1: img has rank 4. C2: map_offset is [N, H', W', 2].
    """

    name = "ge.Remap"

    img = operand()
    map_offset = operand()
    map_img = result()

    def infer(self, img: Tensor, map_offset: Tensor) -> Tensor:
        n, _, _, c = dims(img, 4, "img")  # C1
        expect(map_offset, (n, DYNAMIC, DYNAMIC, 2), "map_offset")  # C2
        high, wide = dims(map_offset, 4, "map_offset")[1:3]
        return img.with_shape(bounded((n, high, wide, c)))


class SpatialTransformerDOp(GeOp):
    """y [N, C, h, w] = x through the affine maps theta [N, 6]; the values are unconfirmed

    An output_size of -1 keeps that of x. C1: x has rank 4. C2: output_size has 2 entries, -1 or at
    least 1. C3: theta is floating-point.
    """

    name = "ge.SpatialTransformerD"

    x = operand()
    theta = optional()
    y = result()
    output_size = integers((-1, -1))
    default_theta = floats(())
    align_corners = boolean(False)
    use_default_theta = booleans(())

    def infer(self, x: Tensor, theta: Tensor | None) -> Tensor:
        n, c, *sizes = dims(x, 4, "x")  # C1
        check_length(self.output_size, 2, "output_size")  # C2
        check_floats(theta=theta)  # C3
        wanted = [
            size if given == -1 else count_of(given, "output_size", 1)  # C2
            for given, size in zip(self.output_size, sizes, strict=True)
        ]
        return x.with_shape(bounded((n, c, *wanted)))


class PassThroughOp(GeOp):
    """y = blocks of stride x stride places as channels, or back under reverse

    The format of x tells which dimension the channels are. Their order inside a block is
    unconfirmed. C1: x has rank 4. C2: stride is at least 1 and divides height and width (its square
    the channels under reverse).
    """

    name = "ge.PassThrough"

    x = operand()
    y = result()
    stride = integer(2)
    reverse = boolean(False)

    def infer(self, x: Tensor) -> Tensor:
        shape = dims(x, 4, "x")  # C1
        s = count_of(self.stride, "stride", 1)  # C2
        first = x.layout.format.name.endswith("NCHW")
        n, c, h, w = shape if first else (shape[0], shape[3], shape[1], shape[2])
        if self.reverse:
            c, h, w = part_of(c, s * s, "x"), multiply_dims(h, s), multiply_dims(w, s)  # C2
        else:
            c, h, w = multiply_dims(c, s, s), part_of(h, s, "x"), part_of(w, s, "x")  # C2
        return with_layout(x, x.dtype, bounded((n, c, h, w) if first else (n, h, w, c)))


class TopKPQDistanceOp(GeOp):
    """The k best of the distances in all splits, their ivf and index; the values are unconfirmed

    C1: the lists have one length, at least 1. C2: order is ASC or DESC. C3: k is at least 1.
    """

    name = "ge.TopKPQDistance"

    actual_count = variadic()
    pq_distance = variadic()
    grouped_extreme_distance = variadic()
    pq_ivf = variadic()
    pq_index = variadic()
    topk_distance = result()
    topk_ivf = result()
    topk_index = result()
    order = string("ASC")
    k = integer()
    group_size = integer()

    def infer(self, *lists: Sequence[Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        counts = [len(tensors) for tensors in lists]
        if len(set(counts)) > 1 or not counts[0]:  # C1
            raise VerifyException(f"lists have {counts} tensors, expected as many, 1 or more")
        chosen(self.order, "order", ("ASC", "DESC"))  # C2
        shape = bounded((count_of(self.k, "k", 1),))  # C3
        places = Tensor(DataType.DT_INT32, shape)
        return lists[1][0].with_shape(shape), places, places


class ScanPQCodesOp(GeOp):
    """Distances of product-quantised codes, their extremes per group, and where they are from

    L = total_limit / split_count + 1024 * buckets distances. The values are unconfirmed. C1:
    bucket_list is i32 or i64 of rank 1. C2: split_count and group_size are at least 1. C3:
    total_limit is 0 or more.
    """

    name = "ge.ScanPQCodes"

    ivf = operand()
    bucket_list = operand()
    bucket_base_distance = operand()
    bucket_limits = operand()
    bucket_offsets = operand()
    adc_tables = operand()
    actual_count = result()
    pq_distance = result()
    grouped_extreme_distance = result()
    pq_ivf = result()
    pq_index = result()
    total_limit = integer()
    group_size = integer(64)
    extreme_mode = integer(0)
    split_count = integer(1)
    split_index = integer(0)

    def infer(self, ivf: Tensor, bucket_list: Tensor, *rest: Tensor) -> tuple[Tensor, ...]:
        require(bucket_list, "bucket_list", INDICES, "DT_INT32 or DT_INT64")  # C1
        buckets = dims(bucket_list, 1, "bucket_list")[0]  # C1
        splits = count_of(self.split_count, "split_count", 1)  # C2
        group = count_of(self.group_size, "group_size", 1)  # C2
        limit = count_of(self.total_limit, "total_limit") // splits  # C3
        length = DYNAMIC if buckets == DYNAMIC else limit + 1024 * buckets
        groups = DYNAMIC if length == DYNAMIC else length // group
        places = Tensor(DataType.DT_INT32, bounded((length,)))
        return (
            Tensor(DataType.DT_INT32, (1,)),
            Tensor(DataType.DT_FLOAT16, (length,)),
            Tensor(DataType.DT_FLOAT16, (groups,)),
            places,
            places,
        )
