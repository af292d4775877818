"""Dropout with a given mask, and softmax fused with it or with an attention mask."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.elements import one_element_type, require
from ge_xdsl.dialects.ge.fields import (
    boolean,
    floating,
    integer,
    integers,
    operand,
    optional,
    result,
)
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.operands import check_scalar
from ge_xdsl.dialects.ge.shapes import Shape, broadcast, normalize_axes, shape_text
from ge_xdsl.dialects.ge.suffix import check_floats, one_shape
from ge_xdsl.dialects.ge.types import DYNAMIC, DataType, Tensor
from ge_xdsl.dialects.ge.unary import FloatUnary

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

MASKS = frozenset({DataType.DT_UINT8, DataType.DT_INT8, DataType.DT_BOOL, DataType.DT_UINT1})
"""The element types of masks."""


def softmax(x: Array, axes: tuple[int, ...]) -> Array:
    """e^(x - m) / sum of e^(x - m) over axes, m the maximum."""
    import numpy as np

    largest = np.max(x, axis=axes, keepdims=True, initial=-np.inf)
    powers: Array = np.exp(x - largest)
    return powers / np.sum(powers, axis=axes, keepdims=True)


def check_mask(tensor: Tensor, name: str = "mask") -> None:
    require(tensor, name, MASKS, "an 8-bit integer or DT_BOOL")


class DropoutOp(FloatUnary):
    """y = x: what dropout is at inference.

    The attributes dropout_ratio, scale_train, alpha and beta are for training and have no effect.
    """

    name = "ge.Dropout"

    dropout_ratio = floating(0.5)
    scale_train = boolean(True)
    alpha = floating(1.0)
    beta = floating(0.0)

    def evaluate(self, x: Array) -> Array:
        return x


def _check_bytes(x: Tensor, mask: Tensor) -> None:
    """The mask has a byte for each element of x."""
    have, want = mask.size(), x.size()
    if have is not None and want is not None and have < want:
        raise VerifyException(f"mask has {have} elements, expected {want} or more")


class DropOutDoMaskOp(GeOp):
    """y = x / keep_prob where the bit of mask is 1, else 0.

    Bit i of the mask belongs to element i of flat x, lowest bit of each byte first. A keep_prob of
    0 gives zeros. C1: x and keep_prob are floating-point tensors of one element type. C2: keep_prob
    is one number. C3: mask is u8 of rank 1. C4: it has a bit for each element of x.
    """

    name = "ge.DropOutDoMask"

    x = operand()
    mask = operand()
    keep_prob = operand()
    y = result()

    widens = True

    def infer(self, x: Tensor, mask: Tensor, keep_prob: Tensor) -> Tensor:
        check_floats(x=x, keep_prob=keep_prob)  # C1
        one_element_type(x, keep_prob)  # C1
        check_scalar(keep_prob, "keep_prob")  # C2
        require(mask, "mask", (DataType.DT_UINT8,), "DT_UINT8")  # C3
        if mask.rank not in (None, 1):  # C3
            raise VerifyException(f"mask is {shape_text(mask.shape)}, expected rank 1")
        have, want = mask.size(), x.size()
        if have is not None and want is not None and 8 * have < want:  # C4
            raise VerifyException(f"mask has {8 * have} bits, expected {want} or more")
        return x

    def evaluate(self, x: Array, mask: Array, keep_prob: Array) -> Array:
        import numpy as np

        bits: Array = np.unpackbits(mask, bitorder="little", count=x.size)
        return kept(x, bits.reshape(x.shape), keep_prob.reshape(()))


def kept(x: Array, mask: Array, keep_prob: Any) -> Array:
    """x / keep_prob where mask is not 0, else 0; zeros for a keep_prob of 0."""
    import numpy as np

    if keep_prob == 0:
        return np.zeros_like(x)
    scaled: Array = x / x.dtype.type(keep_prob)
    return np.where(mask != 0, scaled, x.dtype.type(0))


class DropOutDoMaskV3Op(GeOp):
    """y = x / keep_prob where the byte of mask is not 0, else 0.

    Byte i of the mask belongs to element i of flat x; the rest of the mask is padding. C1: x and
    keep_prob are floating-point tensors of one element type. C2: keep_prob is one number. C3: mask
    is an 8-bit integer or bool tensor. C4: it has an element for each of x.
    """

    name = "ge.DropOutDoMaskV3"

    x = operand()
    mask = operand()
    keep_prob = operand()
    y = result()

    widens = True

    def infer(self, x: Tensor, mask: Tensor, keep_prob: Tensor) -> Tensor:
        check_floats(x=x, keep_prob=keep_prob)  # C1
        one_element_type(x, keep_prob)  # C1
        check_scalar(keep_prob, "keep_prob")  # C2
        check_mask(mask)  # C3
        _check_bytes(x, mask)  # C4
        return x

    def evaluate(self, x: Array, mask: Array, keep_prob: Array) -> Array:
        return kept(x, mask.reshape(-1)[: x.size].reshape(x.shape), keep_prob.reshape(()))


class DropOutDoMaskV3DOp(GeOp):
    """y = x / keep_prob where the byte of mask is not 0, else 0.

    Byte i of the mask belongs to element i of flat x; the rest of the mask is padding. C1: x is a
    floating-point tensor. C2: mask is an 8-bit integer or bool tensor. C3: it has an element for
    each of x.
    """

    name = "ge.DropOutDoMaskV3D"

    x = operand()
    mask = operand()
    keep_prob = floating()
    y = result()

    widens = True

    def infer(self, x: Tensor, mask: Tensor) -> Tensor:
        check_floats(x=x)  # C1
        check_mask(mask)  # C2
        _check_bytes(x, mask)  # C3
        return x

    def evaluate(self, x: Array, mask: Array) -> Array:
        return kept(x, mask.reshape(-1)[: x.size].reshape(x.shape), self.keep_prob)


class SoftmaxV2WithDropOutDoMaskV3DOp(GeOp):
    """y1 = softmax of x over axes, y2 = y1 / keep_prob where the byte of mask is not 0, else 0.

    C1: x is a floating-point tensor. C2: axes are dimensions of x, none twice. C3: mask is an 8-bit
    integer or bool tensor. C4: it has an element for each of x.
    """

    name = "ge.SoftmaxV2WithDropOutDoMaskV3D"

    x = operand()
    mask = operand()
    y1 = result()
    y2 = result()
    keep_prob = floating()
    axes = integers((-1,))

    widens = True

    def infer(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        check_floats(x=x)  # C1
        if x.shape is not None:
            normalize_axes(self.axes, len(x.shape))  # C2
        check_mask(mask)  # C3
        _check_bytes(x, mask)  # C4
        return x, x

    def evaluate(self, x: Array, mask: Array) -> tuple[Array, Array]:
        y = softmax(x, normalize_axes(self.axes, x.ndim) if x.ndim else ())
        return y, kept(y, mask.reshape(-1)[: x.size].reshape(x.shape), self.keep_prob)


class AxpyWithSoftmaxAndDropOutDoMaskOp(GeOp):
    """y1 = softmax of x1 + alpha * x2 over axis, y2 = y1 / input_keep_prob where mask, else 0.

    Byte i of the mask belongs to element i of flat x1. C1: x1 and x2 are floating-point tensors of
    one element type. C2: they have one shape. C3: axis lists its dimensions, none twice. C4: mask
    is an 8-bit integer or bool tensor. C5: it has an element for each of x1.
    """

    name = "ge.AxpyWithSoftmaxAndDropOutDoMask"

    x1 = operand()
    x2 = operand()
    mask = operand()
    y1 = result()
    y2 = result()
    alpha = floating()
    input_keep_prob = floating()
    axis = integers((-1,))

    widens = True

    def infer(self, x1: Tensor, x2: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        check_floats(x1=x1, x2=x2)  # C1
        one_element_type(x1, x2)  # C1
        y = x1.with_shape(one_shape(x1=x1, x2=x2))  # C2
        if y.shape is not None:
            normalize_axes(self.axis, len(y.shape), "axis")  # C3
        check_mask(mask)  # C4
        _check_bytes(y, mask)  # C5
        return y, y

    def evaluate(self, x1: Array, x2: Array, mask: Array) -> tuple[Array, Array]:
        y = softmax(x1 + x2 * self.alpha, tuple(self.axis))
        return y, kept(y, mask.reshape(-1)[: y.size].reshape(y.shape), self.input_keep_prob)


def _wide_mask(x: Tensor, mask: Tensor | None) -> None:
    """x has rank 4 and the mask broadcasts to it."""
    if x.rank not in (None, 4):
        raise VerifyException(f"x is {shape_text(x.shape)}, expected rank 4")
    if mask is not None:
        within(x.shape, mask.shape, "mask")


def within(shape: Shape, given: Shape, name: str) -> None:
    """An operand broadcasts to `shape`."""
    wide = broadcast(shape, given)
    if shape is None or wide is None:
        return
    pairs = zip(wide, shape, strict=False)
    if len(wide) != len(shape) or any(a != b and DYNAMIC not in (a, b) for a, b in pairs):
        raise VerifyException(
            f"{name} is {shape_text(given)}, expected one that broadcasts to {shape_text(shape)}"
        )


class ScaledMaskedSoftmaxOp(GeOp):
    """y = softmax over the last dimension of t, t = -10000 where mask is true, else scale * x

    With fixed_triu_mask the mask is what lies above the diagonal, and none is given. C1: x is a
    floating-point tensor. C2: x has rank 4, mask broadcasts to it. C3: mask is bool. C4: mask is
    given when fixed_triu_mask is not set, and only then.
    """

    name = "ge.ScaledMaskedSoftmax"

    x = operand()
    mask = optional()
    y = result()
    scale = floating(1.0)
    fixed_triu_mask = boolean(False)

    widens = True

    def infer(self, x: Tensor, mask: Tensor | None) -> Tensor:
        check_floats(x=x)  # C1
        _wide_mask(x, mask)  # C2
        if mask is not None:
            require(mask, "mask", (DataType.DT_BOOL, DataType.DT_UINT1), "DT_BOOL")  # C3
        if (mask is not None) == self.fixed_triu_mask:  # C4
            text = "missing, expected it without" if mask is None else "given, expected none with"
            raise VerifyException(f"mask is {text} fixed_triu_mask")
        return x

    def evaluate(self, x: Array, mask: Array | None) -> Array:
        import numpy as np

        hidden = np.triu(np.ones(x.shape[-2:], bool), 1) if mask is None else mask
        scaled = x * x.dtype.type(self.scale)
        filled = np.where(hidden, np.float32(-10000), scaled).astype(x.dtype)
        return softmax(filled, (-1,))


class MaskedScaleOp(GeOp):
    """y = x * mask * value

    C1: x is a floating-point tensor. C2: mask has the shape of x.
    """

    name = "ge.MaskedScale"

    x = operand()
    mask = operand()
    y = result()
    value = floating()

    widens = True

    def infer(self, x: Tensor, mask: Tensor) -> Tensor:
        check_floats(x=x)  # C1
        return x.with_shape(one_shape(x=x, mask=mask))  # C2

    def evaluate(self, x: Array, mask: Array) -> Array:
        return x * mask.astype(x.dtype) * x.dtype.type(self.value)


class MaskedSoftmaxWithRelPosBiasOp(GeOp):
    """y = softmax over the last dimension of x * scale_value + atten_mask + relative_pos_bias

    x is [B, W, N, S1, S2] or [B * W, N, S1, S2], atten_mask [W, S1, S2] and relative_pos_bias [N,
    S1, S2], both with dimensions of 1 anywhere before S1. inner_precision_mode has no effect: sums
    are in f32. C1: all operands are floating-point tensors of one element type. C2: x has rank 4 or
    5. C3: the dimensions of atten_mask but 1 are W, S1 and S2. C4: those of relative_pos_bias are
    N, S1 and S2.
    """

    name = "ge.MaskedSoftmaxWithRelPosBias"

    x = operand()
    atten_mask = optional()
    relative_pos_bias = operand()
    y = result()
    scale_value = floating(1.0)
    inner_precision_mode = integer(0)

    widens = True

    def infer(self, x: Tensor, atten_mask: Tensor | None, relative_pos_bias: Tensor) -> Tensor:
        check_floats(x=x, relative_pos_bias=relative_pos_bias, atten_mask=atten_mask)  # C1
        one_element_type(x, atten_mask, relative_pos_bias)  # C1
        if x.rank not in (None, 4, 5):  # C2
            raise VerifyException(f"x is {shape_text(x.shape)}, expected rank 4 or 5")
        if x.shape is not None:
            rank5 = len(x.shape) == 5
            windows = x.shape[1] if rank5 else DYNAMIC
            _check_planes(atten_mask, "atten_mask", (windows, *x.shape[-2:]))  # C3
            _check_planes(relative_pos_bias, "relative_pos_bias", x.shape[-3:])  # C4
        return x

    def evaluate(self, x: Array, atten_mask: Array | None, relative_pos_bias: Array) -> Array:
        places = x.shape[-2:]
        t = x * x.dtype.type(self.scale_value) + relative_pos_bias.reshape(x.shape[-3:])
        if atten_mask is not None:
            count = prod(atten_mask.shape[:-2])
            planes = atten_mask.reshape(count, 1, *places)
            batch = prod(x.shape[:-3]) // count if count else 0
            windows = t.reshape(batch, count, *x.shape[-3:])
            t = (windows + planes).reshape(x.shape)
        return softmax(t, (-1,))


def _check_planes(tensor: Tensor | None, name: str, want: tuple[int, ...]) -> None:
    """[..., A, ..., S1, S2] with dimensions of 1 among the leading ones."""
    if tensor is None or tensor.shape is None:
        return
    lead = [d for d in tensor.shape[:-2] if d not in (1, DYNAMIC)]
    first = lead[0] if lead else DYNAMIC if DYNAMIC in tensor.shape[:-2] else 1
    have = (first, *tensor.shape[-2:])
    pairs = zip(have, want, strict=False)
    differs = len(lead) > 1 or len(tensor.shape) < 2
    if differs or any(a != b and DYNAMIC not in (a, b) for a, b in pairs):
        raise VerifyException(f"{name} is {shape_text(tensor.shape)}, expected {shape_text(want)}")
