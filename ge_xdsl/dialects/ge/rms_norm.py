"""Normalisation by the root mean square, alone and fused with a sum or a quantisation.

rms(x) = x / sqrt(mean(x^2) + epsilon), the mean being that over the dimensions of gamma, which
are the last ones of x.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.elements import one_element_type
from ge_xdsl.dialects.ge.fields import (
    boolean,
    booleans,
    floating,
    integer,
    operand,
    optional,
    result,
    variadic,
)
from ge_xdsl.dialects.ge.layer_norm import check_rows
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.rounding import CODES, SMALL_FLOATS, chosen_type, symmetric, to_codes
from ge_xdsl.dialects.ge.suffix import (
    check_floats,
    check_suffix,
    last_axes,
    moment,
    one_shape,
    over_rows,
    root_mean_square,
)
from ge_xdsl.dialects.ge.types import DataType, Tensor

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array


class RmsNormOp(GeOp):
    """y = rms(x) * gamma, rstd = 1 / sqrt(mean(x^2) + epsilon) in f32.

    C1: x and gamma are floating-point tensors. C2: gamma has the last dimensions of x.
    """

    name = "ge.RmsNorm"

    x = operand()
    gamma = operand()
    epsilon = floating(1e-06)
    y = result()
    rstd = result()

    widens = True

    def infer(self, x: Tensor, gamma: Tensor) -> tuple[Tensor, Tensor]:
        check_floats(x=x, gamma=gamma)  # C1
        check_suffix(x.shape, gamma, "gamma")  # C2
        return x, moment(x.shape, gamma.shape)

    def evaluate(self, x: Array, gamma: Array) -> tuple[Array, Array]:
        rstd = root_mean_square(x, gamma.ndim, self.epsilon)
        return (x * rstd * gamma).astype(x.dtype), rstd.astype("float32")


class RmsNormGradOp(GeOp):
    """dx = rstd * (g - x * rstd^2 * mean(g * x)), g = dy * gamma; dgamma = sum of dy * x * rstd.

    The mean is over the dimensions of gamma, the sum (in f32) over the others. C1: dy, x and gamma
    are floating-point tensors. C2: dy and x have one shape. C3: gamma has the last dimensions of
    x. C4: rstd has a number per row.
    """

    name = "ge.RmsNormGrad"

    dy = operand()
    x = operand()
    rstd = operand()
    gamma = operand()
    dx = result()
    dgamma = result()

    widens = True

    def infer(self, dy: Tensor, x: Tensor, rstd: Tensor, gamma: Tensor) -> tuple[Tensor, Tensor]:
        check_floats(dy=dy, x=x, gamma=gamma)  # C1
        shape = one_shape(dy=dy, x=x)  # C2
        check_suffix(shape, gamma, "gamma")  # C3
        check_rows(shape, gamma.shape, rstd=rstd)  # C4
        return dy.with_shape(shape), Tensor(DataType.DT_FLOAT, gamma.shape)

    def evaluate(self, dy: Array, x: Array, rstd: Array, gamma: Array) -> tuple[Array, Array]:
        import numpy as np

        shape = (*x.shape[: x.ndim - gamma.ndim], *(1,) * gamma.ndim)
        rstd = rstd.reshape(shape)
        g = dy * gamma
        mean = np.mean(g * x, axis=last_axes(gamma.ndim), keepdims=True, dtype=x.dtype)
        rows = tuple(range(x.ndim - gamma.ndim))
        dgamma = np.asarray(np.sum(dy * x * rstd, axis=rows, dtype=np.float32))
        return (rstd * (g - x * rstd * rstd * mean)).astype(dy.dtype), dgamma


def infer_sum(x1: Tensor, x2: Tensor, gamma: Tensor) -> Tensor:
    """x1 + x2, normalised over the dimensions of gamma: the three constraints of the fused ops."""
    check_floats(x1=x1, x2=x2, gamma=gamma)  # C1
    shape = one_shape(x1=x1, x2=x2)  # C2
    check_suffix(shape, gamma, "gamma")  # C3
    return x1.with_shape(shape)


class AddRmsNormOp(GeOp):
    """x = x1 + x2, y = rms(x) * gamma, rstd = 1 / sqrt(mean(x^2) + epsilon) in f32.

    C1: all operands are floating-point tensors. C2: x1 and x2 have one shape. C3: gamma has their
    last dimensions.
    """

    name = "ge.AddRmsNorm"

    x1 = operand()
    x2 = operand()
    gamma = operand()
    epsilon = floating(1e-06)
    y = result()
    rstd = result()
    x = result()

    widens = True

    def infer(self, x1: Tensor, x2: Tensor, gamma: Tensor) -> tuple[Tensor, ...]:
        x = infer_sum(x1, x2, gamma)  # C1 C2 C3
        return x, moment(x.shape, gamma.shape), x

    def evaluate(self, x1: Array, x2: Array, gamma: Array) -> tuple[Array, ...]:
        x = x1 + x2
        rstd = root_mean_square(x, gamma.ndim, self.epsilon)
        return x * rstd * gamma, rstd.astype("float32"), x


class InplaceAddRmsNormOp(GeOp):
    """The results x2 = x1 + x2, x1 = rms(x2) * gamma and rstd take the place of the operands.

    C1: all operands are floating-point tensors. C2: x1 and x2 have one shape. C3: gamma has their
    last dimensions.
    """

    name = "ge.InplaceAddRmsNorm"

    x1 = operand()
    x2 = operand()
    gamma = operand()
    epsilon = floating(1e-06)
    new_x1 = result("x1")
    rstd = result()
    new_x2 = result("x2")

    widens = True

    def infer(self, x1: Tensor, x2: Tensor, gamma: Tensor) -> tuple[Tensor, ...]:
        x = infer_sum(x1, x2, gamma)  # C1 C2 C3
        return x, moment(x.shape, gamma.shape), x

    def evaluate(self, x1: Array, x2: Array, gamma: Array) -> tuple[Array, ...]:
        x = x1 + x2
        rstd = root_mean_square(x, gamma.ndim, self.epsilon)
        return x * rstd * gamma, rstd.astype("float32"), x


class FusedAddRmsNormOp(GeOp):
    """x = x1 * scale + x2, y = rms(x) * gamma, rstd = 1 / sqrt(mean(x^2) + epsilon) in f32.

    C1: all operands are floating-point tensors. C2: x1 and x2 have one shape. C3: gamma has their
    last dimensions.
    """

    name = "ge.FusedAddRmsNorm"

    x1 = operand()
    x2 = operand()
    gamma = operand()
    epsilon = floating(1e-06)
    scale = floating(1.0)
    y = result()
    rstd = result()
    x = result()

    widens = True

    def infer(self, x1: Tensor, x2: Tensor, gamma: Tensor) -> tuple[Tensor, ...]:
        x = infer_sum(x1, x2, gamma)  # C1 C2 C3
        return x, moment(x.shape, gamma.shape), x

    def evaluate(self, x1: Array, x2: Array, gamma: Array) -> tuple[Array, ...]:
        x = x1 * x1.dtype.type(self.scale) + x2
        rstd = root_mean_square(x, gamma.ndim, self.epsilon)
        return x * rstd * gamma, rstd.astype("float32"), x


class AddRmsNormCastOp(GeOp):
    """x = x1 + x2, y1 and y2 = rms(x) * gamma in f32 and in the type of x1, rstd in f32.

    The value semantics is unconfirmed. C1: all operands are floating-point tensors. C2: x1 and x2
    have one shape. C3: gamma has their last dimensions.
    """

    name = "ge.AddRmsNormCast"

    x1 = operand()
    x2 = operand()
    gamma = operand()
    epsilon = floating(1e-06)
    y1 = result()
    y2 = result()
    rstd = result()
    x = result()

    def infer(self, x1: Tensor, x2: Tensor, gamma: Tensor) -> tuple[Tensor, ...]:
        x = infer_sum(x1, x2, gamma)  # C1 C2 C3
        return x.with_dtype(DataType.DT_FLOAT), x, moment(x.shape, gamma.shape), x


class AddRmsNormQuantOp(GeOp):
    """x = x1 + x2, n = rms(x) * gamma (+ beta), y_i = rint(n / scales_i + zero_points_i), clipped.

    With div_mode false the scale multiplies. y2 is zeros in the shape of x without scales2.
    C1: x1, x2 and gamma are floating-point tensors. C2: x1 and x2 have one shape. C3: gamma and
    beta have their last dimensions. C4: scales and zero points have the last dimensions too.
    C5: dst_type is i8 or an f8. C6: axis, along which a scale would apply, is -1.
    """

    name = "ge.AddRmsNormQuant"

    x1 = operand()
    x2 = operand()
    gamma = operand()
    scales1 = operand()
    scales2 = optional()
    zero_points1 = optional()
    zero_points2 = optional()
    beta = optional()
    axis = integer(-1)
    epsilon = floating(1e-06)
    div_mode = boolean(True)
    dst_type = integer(2)
    y1 = result()
    y2 = result()
    x = result()

    widens = True

    def infer(self, x1: Tensor, x2: Tensor, gamma: Tensor, *rest: Tensor | None) -> Any:
        if self.axis != -1:  # C6
            raise VerifyException(f"axis is {self.axis}, expected -1")
        x = infer_sum(x1, x2, gamma)  # C1 C2 C3
        check_suffix(x.shape, rest[4], "beta")  # C3
        names = ("scales1", "scales2", "zero_points1", "zero_points2")
        for name, tensor in zip(names, rest[:4], strict=True):  # C4
            check_suffix(x.shape, tensor, name)
        allowed = {DataType.DT_INT8, *SMALL_FLOATS}
        y = Tensor(chosen_type(self.dst_type, "dst_type", allowed), x.shape)  # C5
        return y, y, x

    def evaluate(self, x1: Array, x2: Array, gamma: Array, *rest: Array | None) -> Any:
        scales1, scales2, zeros1, zeros2, beta = rest
        x = x1 + x2
        n = x * root_mean_square(x, gamma.ndim, self.epsilon) * gamma
        n = n if beta is None else n + beta
        return (*(self._codes(n, s, z) for s, z in ((scales1, zeros1), (scales2, zeros2))), x)

    def _codes(self, n: Array, scales: Array | None, zeros: Array | None) -> Array:
        import numpy as np

        dtype = DataType(self.dst_type)
        if scales is None:
            return to_codes(np.zeros_like(n), dtype)
        t = n / scales if self.div_mode else n * scales
        return to_codes(t if zeros is None else t + zeros.astype(np.float32), dtype)


def _selected(mask: Sequence[bool], count: int) -> None:
    if len(mask) not in (0, count):
        raise VerifyException(f"output_mask has {len(mask)} entries, expected 0 or {count}")


class _DynamicQuant(GeOp):
    """What the sums with a dynamic quantisation share."""

    epsilon = floating(1e-06)

    widens = True

    def quantised(self, x: Tensor, gamma: Tensor, present: Sequence[bool], dtype: DataType) -> Any:
        """Types of y1, y2, scale1 and scale2; the absent ones have one element."""
        rows = over_rows(x.shape, gamma.shape)
        codes = [Tensor(dtype, x.shape if there else (1,)) for there in present]
        scales = [Tensor(DataType.DT_FLOAT, rows if there else (1,)) for there in present]
        return (*codes, *scales)

    def codes_of(
        self,
        n: Array,
        rank: int,
        smooth: Sequence[Array | None],
        present: Sequence[bool],
        dtype: DataType,
        least: float = 0.0,
    ) -> Any:
        """Values of y1, y2, scale1 and scale2."""
        import numpy as np

        codes: list[Array] = []
        scales: list[Array] = []
        for factors, there in zip(smooth, present, strict=True):
            if there:
                t = n if factors is None else n * factors
                y, scale = symmetric(t, last_axes(rank), dtype, least)
            else:
                y, scale = to_codes(np.zeros(1), dtype), np.zeros(1, np.float32)
            codes.append(y)
            scales.append(scale)
        return (*codes, *scales)


def check_smooth(shape: Any, smooth_scale1: Tensor | None, smooth_scale2: Tensor | None) -> None:
    """smooth_scale2 comes with smooth_scale1, and both have the last dimensions."""
    check_suffix(shape, smooth_scale1, "smooth_scale1")
    check_suffix(shape, smooth_scale2, "smooth_scale2")
    if smooth_scale2 is not None and smooth_scale1 is None:
        raise VerifyException("smooth_scale1 is missing, expected it with smooth_scale2")


class AddRmsNormDynamicQuantOp(_DynamicQuant):
    """x = x1 + x2, t_i = (rms(x) * gamma + beta) * smooth_scale_i,
    scale_i = max|t_i| / Q, y_i = rint(t_i / scale_i)

    The maximum is over the dimensions of gamma; Q is 127 for i8 and 7 for i4. y2 and scale2 have
    one element, 0, unless output_mask (y1, y2) or, without it, smooth_scale2 asks for them.
    C1: x1, x2 and gamma are floating-point tensors. C2: x1 and x2 have one shape. C3: gamma and
    beta have their last dimensions. C4: the smooth scales do too, the second comes with the first.
    C5: dst_type is i8 or i4. C6: output_mask has 0 or 2 entries.
    """

    name = "ge.AddRmsNormDynamicQuant"

    x1 = operand()
    x2 = operand()
    gamma = operand()
    smooth_scale1 = optional()
    smooth_scale2 = optional()
    beta = optional()
    output_mask = booleans(())
    dst_type = integer(2)
    y1 = result()
    y2 = result()
    x = result()
    scale1 = result()
    scale2 = result()

    def _present(self, second: object) -> tuple[bool, bool]:
        mask = self.output_mask
        return (mask[0], mask[1]) if mask else (True, second is not None)

    def infer(self, x1: Tensor, x2: Tensor, gamma: Tensor, *rest: Tensor | None) -> Any:
        x = infer_sum(x1, x2, gamma)  # C1 C2 C3
        check_suffix(x.shape, rest[2], "beta")  # C3
        check_smooth(x.shape, rest[0], rest[1])  # C4
        dtype = chosen_type(self.dst_type, "dst_type", CODES)  # C5
        _selected(self.output_mask, 2)  # C6
        y1, y2, scale1, scale2 = self.quantised(x, gamma, self._present(rest[1]), dtype)
        return y1, y2, x, scale1, scale2

    def evaluate(self, x1: Array, x2: Array, gamma: Array, *rest: Array | None) -> Any:
        x = x1 + x2
        n = x * root_mean_square(x, gamma.ndim, self.epsilon) * gamma
        n = n if rest[2] is None else n + rest[2]
        y1, y2, scale1, scale2 = self.codes_of(
            n, gamma.ndim, rest[:2], self._present(rest[1]), DataType(self.dst_type)
        )
        return y1, y2, x, scale1, scale2


class AddRmsNormDynamicQuantV2Op(_DynamicQuant):
    """x = x1 + x2, n = rms(x) * gamma, y3 = n in f32, y4 = n, t_i = (n + beta) * smooth_scale_i,
    scale_i = max|t_i| / Q, y_i = rint(t_i / scale_i)

    The maximum is over the dimensions of gamma; Q is 127 for i8 and 7 for i4. output_mask says
    which of y1, y2, y3 and y4 there are, without it all but y2, which needs smooth_scale2; the
    others have one element, 0. C1: x1, x2 and gamma are floating-point tensors. C2: x1 and x2 have
    one shape. C3: gamma and beta have their last dimensions. C4: the smooth scales do too, the
    second comes with the first. C5: dst_type is i8 or i4. C6: output_mask has 0 or 4 entries.
    """

    name = "ge.AddRmsNormDynamicQuantV2"

    x1 = operand()
    x2 = operand()
    gamma = operand()
    smooth_scale1 = optional()
    smooth_scale2 = optional()
    beta = optional()
    output_mask = booleans(())
    dst_type = integer(2)
    y1 = result()
    y2 = result()
    y3 = result()
    y4 = result()
    x = result()
    scale1 = result()
    scale2 = result()

    def _present(self, second: object) -> tuple[bool, ...]:
        return tuple(self.output_mask) or (True, second is not None, True, True)

    def infer(self, x1: Tensor, x2: Tensor, gamma: Tensor, *rest: Tensor | None) -> Any:
        x = infer_sum(x1, x2, gamma)  # C1 C2 C3
        check_suffix(x.shape, rest[2], "beta")  # C3
        check_smooth(x.shape, rest[0], rest[1])  # C4
        dtype = chosen_type(self.dst_type, "dst_type", CODES)  # C5
        _selected(self.output_mask, 4)  # C6
        there = self._present(rest[1])
        y1, y2, scale1, scale2 = self.quantised(x, gamma, there[:2], dtype)
        y3 = Tensor(DataType.DT_FLOAT, x.shape if there[2] else (1,))
        return y1, y2, y3, x if there[3] else x.with_shape((1,)), x, scale1, scale2

    def evaluate(self, x1: Array, x2: Array, gamma: Array, *rest: Array | None) -> Any:
        import numpy as np

        x = x1 + x2
        n = x * root_mean_square(x, gamma.ndim, self.epsilon) * gamma
        t = n if rest[2] is None else n + rest[2]
        there = self._present(rest[1])
        dtype = DataType(self.dst_type)
        y1, y2, scale1, scale2 = self.codes_of(t, gamma.ndim, rest[:2], there[:2], dtype)
        y3 = n.astype(np.float32) if there[2] else np.zeros(1, np.float32)
        return y1, y2, y3, n if there[3] else np.zeros(1, n.dtype), x, scale1, scale2


class MultiAddRmsNormDynamicQuantOp(_DynamicQuant):
    """x = sum of x1 + x2, y = rms(x) * gamma, t_i = y * smooth_scale_i,
    scale_i = max(|t_i|, 1e-8) / 127, y_i = rint(t_i / scale_i) in i8

    The maximum is over the dimensions of gamma. y2 and scale2 have one element, 0, without
    smooth_scale2. C1: x1 holds 1 to 5 tensors. C2: all operands are floating-point tensors of one
    element type. C3: x1 and x2 have one shape. C4: gamma has their last dimensions. C5: the smooth
    scales do too, the second comes with the first.
    """

    name = "ge.MultiAddRmsNormDynamicQuant"

    x1 = variadic()
    x2 = operand()
    gamma = operand()
    smooth_scale1 = optional()
    smooth_scale2 = optional()
    y1 = result()
    y2 = result()
    x = result()
    y = result()
    scale1 = result()
    scale2 = result()

    def infer(self, x1: Sequence[Tensor], x2: Tensor, gamma: Tensor, *rest: Tensor | None) -> Any:
        if not 1 <= len(x1) <= 5:  # C1
            raise VerifyException(f"x1 holds {len(x1)} tensors, expected 1 to 5")
        given = {f"x1[{i}]": tensor for i, tensor in enumerate(x1)}
        check_floats(**given, x2=x2, gamma=gamma)  # C2
        one_element_type(*x1, x2, gamma, *rest)  # C2
        x = x2.with_shape(one_shape(**given, x2=x2))  # C3
        check_suffix(x.shape, gamma, "gamma")  # C4
        check_smooth(x.shape, rest[0], rest[1])  # C5
        there = (True, rest[1] is not None)
        y1, y2, scale1, scale2 = self.quantised(x, gamma, there, DataType.DT_INT8)
        return y1, y2, x, x, scale1, scale2

    def evaluate(self, x1: list[Array], x2: Array, gamma: Array, *rest: Array | None) -> Any:
        x = sum(x1[1:], x1[0]) + x2
        y = x * root_mean_square(x, gamma.ndim, self.epsilon) * gamma
        y1, y2, scale1, scale2 = self.codes_of(
            y, gamma.ndim, rest, (True, rest[1] is not None), DataType.DT_INT8, 1e-8
        )
        return y1, y2, x, y, scale1, scale2


class RmsNormDynamicQuantOp(GeOp):
    """t = (rms(x) * gamma + beta) * smooth_scales, scale = max|t| / Q, y = rint(t / scale)

    The maximum is over the dimensions of gamma; Q is 127 for i8. C1: x and gamma are
    floating-point tensors. C2: gamma, smooth_scales and beta have the last dimensions of x.
    C3: dst_type is i8.
    """

    name = "ge.RmsNormDynamicQuant"

    x = operand()
    gamma = operand()
    smooth_scales = optional()
    beta = optional()
    epsilon = floating(1e-06)
    dst_type = integer(2)
    y = result()
    scale = result()

    widens = True

    def infer(self, x: Tensor, gamma: Tensor, smooth: Tensor | None, beta: Tensor | None) -> Any:
        check_floats(x=x, gamma=gamma)  # C1
        for name, tensor in (("gamma", gamma), ("smooth_scales", smooth), ("beta", beta)):
            check_suffix(x.shape, tensor, name)  # C2
        dtype = chosen_type(self.dst_type, "dst_type", (DataType.DT_INT8,))  # C3
        rows = over_rows(x.shape, gamma.shape)
        return Tensor(dtype, x.shape), Tensor(DataType.DT_FLOAT, rows)

    def evaluate(self, x: Array, gamma: Array, smooth: Array | None, beta: Array | None) -> Any:
        n = x * root_mean_square(x, gamma.ndim, self.epsilon) * gamma
        n = n if beta is None else n + beta
        t = n if smooth is None else n * smooth
        return symmetric(t, last_axes(gamma.ndim), DataType(self.dst_type))
