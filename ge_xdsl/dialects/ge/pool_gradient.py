"""Gradients of average pooling: each grad is spread evenly over the elements it averaged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.extents import bounded, ints_of, merge_shapes
from ge_xdsl.dialects.ge.op import boolean, integer, integers, operand, optional, result, string
from ge_xdsl.dialects.ge.operands import check_length, known_ints, vector_length, with_layout
from ge_xdsl.dialects.ge.pool import AverageGeometry, PoolGeometry, divisors
from ge_xdsl.dialects.ge.pool_3d import Average3DGeometry
from ge_xdsl.dialects.ge.types import DYNAMIC, Tensor
from ge_xdsl.dialects.ge.windows import Window, channels_as, channels_first, spatial_axes, taps

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

Geometry = PoolGeometry | Average3DGeometry


def infer_gradient(op: Geometry, grad: Tensor, name: str, shape: Sequence[int] | None) -> Tensor:
    """The gradient in x of `shape`, whose pooled shape is the one of the operand `name`."""
    rank = len(op.data_format)
    if shape is None:
        return with_layout(grad, grad.dtype, (DYNAMIC,) * rank)
    check_length(shape, rank, "orig_input_shape")  # C7
    if min(shape) < 0:
        raise VerifyException(f"orig_input_shape is {list(shape)}, expected none negative")
    pooled = op.pooled(Tensor(grad.dtype, bounded(shape)), "orig_input_shape")
    merge_shapes(pooled, grad.shape, f"shapes of the pooled x and {name}")  # C8
    return with_layout(grad, grad.dtype, tuple(shape))


def shape_operand(op: Geometry, tensor: Tensor) -> Sequence[int] | None:
    """orig_input_shape of an op that has it as an operand, None while its values are unknown."""
    op.check_attributes()
    length = vector_length(tensor, "orig_input_shape")
    if length not in (DYNAMIC, len(op.data_format)):
        raise VerifyException(
            f"orig_input_shape has {length} entries, expected {len(op.data_format)}"
        )
    return known_ints(op, "orig_input_shape")


def spread_mean(
    op: Geometry, grad: Array, shape: Sequence[int], padding_counts: bool, divisor: int
) -> Array:
    """grad over its divisor, added to each element of its window."""
    import numpy as np

    windows: Sequence[Window] = op.windows(shape)
    planes = channels_first(grad, op.data_format)
    sizes = [shape[axis] for axis in spatial_axes(op.data_format)]
    counts = divisors(windows, sizes, padding_counts)
    share = planes / planes.dtype.type(divisor) if divisor else planes / counts.astype(grad.dtype)
    room = [
        max((w.count - 1) * w.stride + w.span, w.before + size)
        for w, size in zip(windows, sizes, strict=True)
    ]
    dx = np.zeros((*planes.shape[:2], *room), grad.dtype)
    for _, places in taps(windows):
        dx[(slice(None), slice(None), *places)] += share
    inside = (slice(w.before, w.before + size) for w, size in zip(windows, sizes, strict=True))
    return channels_as(dx[(slice(None), slice(None), *inside)], op.data_format)


class AvgPoolGradOp(PoolGeometry):
    """The gradient of AvgPool: out_grad adds input_grad / (elements in the image) per window.

    out_grad has the shape that orig_input_shape holds. C1: data_format is NCHW or NHWC. C2: ksize
    and strides have 4 entries, positive, 1 for N and C. C3: padding is SAME or VALID. C5: a
    window fits. C7: orig_input_shape has 4 entries, none negative. C8: pooling it gives the shape
    of input_grad.
    """

    name = "ge.AvgPoolGrad"

    orig_input_shape = operand()
    input_grad = operand()
    out_grad = result()
    ksize = integers()
    strides = integers()
    padding = string()
    data_format = string("NHWC")

    def mode(self) -> str:
        return self.padding

    def infer(self, orig_input_shape: Tensor, input_grad: Tensor) -> Tensor:
        shape = shape_operand(self, orig_input_shape)
        return infer_gradient(self, input_grad, "input_grad", shape)

    def evaluate(self, orig_input_shape: Array, input_grad: Array) -> Array:
        return spread_mean(self, input_grad, ints_of(orig_input_shape), False, 0)


class AvgPoolV2GradOp(AverageGeometry):
    """The gradient of AvgPoolV2, with its windows and divisors.

    out_grad has the shape that orig_input_shape holds. C1: data_format is NCHW or NHWC. C2: ksize
    and strides have 4 entries, positive, 1 for N and C. C3: padding_mode is CALCULATED, SAME or
    VALID. C5: a window fits. C6: 4 pads, none negative. C7: orig_input_shape has 4 entries, none
    negative. C8: pooling it gives the shape of input_grad.
    """

    name = "ge.AvgPoolV2Grad"

    orig_input_shape = operand()
    input_grad = operand()
    out_grad = result()
    ksize = integers()
    strides = integers()
    padding_mode = string("CALCULATED")
    pads = integers((0, 0, 0, 0))
    data_format = string("NCHW")
    global_pooling = boolean(False)
    ceil_mode = boolean(False)
    exclusive = boolean(True)
    divisor_override = integer(0)

    def infer(self, orig_input_shape: Tensor, input_grad: Tensor) -> Tensor:
        shape = shape_operand(self, orig_input_shape)
        return infer_gradient(self, input_grad, "input_grad", shape)

    def evaluate(self, orig_input_shape: Array, input_grad: Array) -> Array:
        shape = ints_of(orig_input_shape)
        return spread_mean(self, input_grad, shape, not self.exclusive, self.divisor_override)


class AvgPoolV2GradDOp(AverageGeometry):
    """AvgPoolV2Grad with orig_input_shape as an attribute and no divisor_override.

    C1, C2, C3, C5 and C6 are those of AvgPoolV2Grad. C7: orig_input_shape has 4 entries, none
    negative. C8: pooling it gives the shape of input_grad. C9: no mean_matrix and no
    kernel_matrix, the constants that a chip prepares.
    """

    name = "ge.AvgPoolV2GradD"

    input_grad = operand()
    mean_matrix = optional()
    kernel_matrix = optional()
    out_grad = result()
    orig_input_shape = integers()
    ksize = integers()
    strides = integers()
    padding_mode = string("CALCULATED")
    pads = integers((0, 0, 0, 0))
    data_format = string("NCHW")
    global_pooling = boolean(False)
    ceil_mode = boolean(False)
    exclusive = boolean(True)

    def infer(
        self, input_grad: Tensor, mean_matrix: Tensor | None, kernel_matrix: Tensor | None
    ) -> Tensor:
        if mean_matrix is not None or kernel_matrix is not None:  # C9
            raise VerifyException("mean_matrix or kernel_matrix is given, expected neither")
        self.check_attributes()
        return infer_gradient(self, input_grad, "input_grad", self.orig_input_shape)

    def evaluate(
        self, input_grad: Array, mean_matrix: Array | None, kernel_matrix: Array | None
    ) -> Array:
        return spread_mean(self, input_grad, self.orig_input_shape, not self.exclusive, 0)


class AvgPool3DGradOp(Average3DGeometry):
    """The gradient of AvgPool3D, with its windows and divisors.

    output has the shape that orig_input_shape holds. C1: data_format is NDHWC or NCDHW. C2: ksize
    and strides have 1, 3 or 5 entries, positive, 1 for N and C. C3: pads have 1, 3 or 6 entries,
    none negative. C5: a window fits. C7: orig_input_shape has 5 entries, none negative. C8:
    pooling it gives the shape of grads.
    """

    name = "ge.AvgPool3DGrad"

    orig_input_shape = operand()
    grads = operand()
    output = result()
    ksize = integers()
    strides = integers()
    pads = integers()
    ceil_mode = boolean(False)
    count_include_pad = boolean(True)
    divisor_override = integer(0)
    data_format = string("NDHWC")

    def infer(self, orig_input_shape: Tensor, grads: Tensor) -> Tensor:
        return infer_gradient(self, grads, "grads", shape_operand(self, orig_input_shape))

    def evaluate(self, orig_input_shape: Array, grads: Array) -> Array:
        shape = ints_of(orig_input_shape)
        return spread_mean(self, grads, shape, self.padding_counts, self.divisor_override)


class AvgPool3DGradDOp(Average3DGeometry):
    """AvgPool3DGrad with orig_input_shape as an attribute.

    C1, C2, C3 and C5 are those of AvgPool3DGrad. C7: orig_input_shape has 5 entries, none
    negative. C8: pooling it gives the shape of grads. C9: no filter and no multiplier.
    """

    name = "ge.AvgPool3DGradD"

    grads = operand()
    filter = optional()
    multiplier = optional()
    output = result()
    orig_input_shape = integers()
    ksize = integers()
    strides = integers()
    pads = integers()
    ceil_mode = boolean(False)
    count_include_pad = boolean(True)
    divisor_override = integer(0)
    data_format = string("NDHWC")

    def infer(self, grads: Tensor, filter: Tensor | None, multiplier: Tensor | None) -> Tensor:
        if filter is not None or multiplier is not None:  # C9
            raise VerifyException("filter or multiplier is given, expected neither")
        self.check_attributes()
        return infer_gradient(self, grads, "grads", self.orig_input_shape)

    def evaluate(self, grads: Array, filter: Array | None, multiplier: Array | None) -> Array:
        shape = self.orig_input_shape
        return spread_mean(self, grads, shape, self.padding_counts, self.divisor_override)
