"""The geometry of convolutions in two and three dimensions, and their sums over kernel elements.

A convolution y = conv(x, filter), its adjoint in x and its gradient in filter read the same
windows: `correlate`, `spread` and `filter_gradient` are the three products, one matrix product
per kernel element, so that no unfolded copy of x is ever made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar

from xdsl.dialects.builtin import StringAttr
from xdsl.utils.exceptions import VerifyException

from ge_xdsl.dialects.ge.extents import bounded
from ge_xdsl.dialects.ge.fields import AttrField
from ge_xdsl.dialects.ge.matmul import contract
from ge_xdsl.dialects.ge.op import GeOp
from ge_xdsl.dialects.ge.operands import check_length
from ge_xdsl.dialects.ge.shapes import multiply_dims
from ge_xdsl.dialects.ge.types import DYNAMIC, Format, Tensor
from ge_xdsl.dialects.ge.windows import (
    Window,
    check_format,
    pad_planes,
    same_pads,
    spatial_axes,
    taps,
    window_count,
)

if TYPE_CHECKING:
    from ge_xdsl.dialects.ge.types import Array

_PADDING_MODES = {
    "EXPLICIT": "EXPLICIT",
    "NOTSET": "EXPLICIT",
    "SPECIFIC": "EXPLICIT",
    "SAME": "SAME_UPPER",
    "SAME_UPPER": "SAME_UPPER",
    "SAME_LOWER": "SAME_LOWER",
    "VALID": "VALID",
}

_FILTER_AXES: dict[str, tuple[int, ...]] = {
    "NCHW": (0, 1, 2, 3),
    "NHWC": (0, 3, 1, 2),
    "HWCN": (3, 2, 0, 1),
    "NCDHW": (0, 1, 2, 3, 4),
    "NDHWC": (0, 4, 1, 2, 3),
    "DHWCN": (4, 3, 0, 1, 2),
}
"""Filter layout -> positions of Cout, Cin/groups and the kernel's spatial dimensions."""


class ConvolutionGeometry(GeOp):
    """Windows from strides, pads, dilations and data_format, in two or three dimensions.

    `strides` and `dilations` have one entry per dimension in data_format order, `pads` are
    [top, bottom, left, right] after [front, back] in three dimensions. The node attributes
    `padding` (SAME, VALID, EXPLICIT) and, without it, `auto_pad` (NOTSET, SAME_UPPER, SAME_LOWER,
    VALID) replace `pads`, as in GE.
    """

    widens = True

    formats: ClassVar[tuple[str, ...]] = ("NCHW", "NHWC")

    # Declared by the subclasses, in the order of their prototypes.
    strides: ClassVar[AttrField[Sequence[int]]]
    pads: ClassVar[AttrField[Sequence[int]]]
    dilations: ClassVar[AttrField[Sequence[int]]]
    data_format: ClassVar[AttrField[str]]

    def check_attributes(self) -> None:
        """Counts and signs of strides, dilations and pads, and the data format."""
        check_format(self.data_format, self.formats)  # C1
        rank = len(self.data_format)
        strides = self.full_strides()
        check_length(strides, rank, "strides")  # C2
        check_length(self.dilations, rank, "dilations")
        check_length(self.pads, 2 * rank - 4, "pads")
        if min(*strides, *self.dilations) < 1 or min(self.pads) < 0:  # C3
            raise VerifyException(
                f"strides are {list(strides)}, dilations {list(self.dilations)}, pads "
                f"{list(self.pads)}, expected strides and dilations >= 1 and pads >= 0"
            )
        for values, name in ((strides, "strides"), (self.dilations, "dilations")):  # C3
            if values[0] != 1 or values[self.data_format.index("C")] != 1:
                raise VerifyException(f"{name} are {list(values)}, expected 1 for N and C")

    def full_strides(self) -> Sequence[int]:
        """One stride per dimension of data_format."""
        return self.strides

    def padding_mode(self) -> str:
        """EXPLICIT, SAME_UPPER, SAME_LOWER or VALID, from the undeclared node attributes."""
        for key in ("ge.padding", "ge.auto_pad"):
            attr = self.attributes.get(key)
            if isinstance(attr, StringAttr):
                return known_mode(attr.data, key.removeprefix("ge."))
        return "EXPLICIT"

    def windows(self, shape: Sequence[int], kernel: Sequence[int]) -> tuple[Window, ...]:
        """The windows over the spatial dimensions of an x of `shape` (in data_format order)."""
        mode = self.padding_mode()
        axes = spatial_axes(self.data_format)
        return tuple(
            self.window(shape[axis], kernel[i], axis, self.pads[2 * i : 2 * i + 2], mode)
            for i, axis in enumerate(axes)
        )

    def window(self, size: int, kernel: int, axis: int, pads: Sequence[int], mode: str) -> Window:
        """The windows over the dimension at `axis`; `pads` count when mode is EXPLICIT."""
        before, after = pads if mode == "EXPLICIT" else (0, 0)
        window = Window(kernel, self.full_strides()[axis], self.dilations[axis], before, after)
        return _counted(window, size, mode)

    def in_format(self, batch: int, channels: int, spatial: Sequence[int]) -> tuple[int, ...]:
        """A shape in data_format order, refused beyond the limit of elements."""
        letters = [letter for letter in self.data_format if letter in "DHW"]
        dims = {"N": batch, "C": channels, **dict(zip(letters, spatial, strict=True))}
        return bounded([dims[letter] for letter in self.data_format])

    def channels_of(self, shape: Sequence[int]) -> int:
        """The channels of a shape in data_format order."""
        return shape[self.data_format.index("C")]

    def filter_axes(self, filter: Tensor) -> tuple[int, ...]:
        """Positions of Cout, Cin and the kernel in filter: the filter's own format decides.

        A filter without one is NCHW in an NCHW convolution and HWCN in an NHWC one.
        """
        default = self.data_format if self.data_format[1] == "C" else self.data_format[1:] + "N"
        if filter.layout.origin_format == Format.FORMAT_ND:
            return _FILTER_AXES[default]
        name = filter.layout.origin_format.name
        axes = _FILTER_AXES.get(name.removeprefix("FORMAT_"))
        if axes is None or len(axes) != len(default):
            known = [key for key in _FILTER_AXES if len(key) == len(default)]
            raise VerifyException(f"filter format is {name}, expected one of {', '.join(known)}")
        return axes


@lru_cache(maxsize=4096)
def _counted(window: Window, size: int, mode: str) -> Window:
    """The window with its count and, in the SAME modes, its padding, over `size` elements."""
    kernel, stride, dilation = window.kernel, window.stride, window.dilation
    if kernel == 0:
        raise VerifyException("kernel has size 0, expected at least 1")
    if mode.startswith("SAME"):
        if DYNAMIC in (size, kernel):
            count = size if stride == 1 else DYNAMIC
            return Window(kernel, stride, dilation, 0, 0, count)
        before, after = same_pads(size, window.span, stride, lower=mode == "SAME_LOWER")
        window = Window(kernel, stride, dilation, before, after)
    return replace(window, count=window_count(size, window))


def known_mode(mode: str, name: str) -> str:
    """EXPLICIT, SAME_UPPER, SAME_LOWER or VALID for any of their names."""
    found = _PADDING_MODES.get(mode)
    if found is None:
        known = ", ".join(key for key in _PADDING_MODES if key != "SPECIFIC")
        raise VerifyException(f"{name} is '{mode}', expected one of {known}")
    return found


def check_groups(inputs: int, depth: int, out: int, groups: int) -> None:
    """Channels against filter depth and groups: inputs = depth * groups, groups divide out."""
    wanted = multiply_dims(depth, groups)
    if DYNAMIC not in (inputs, wanted) and inputs != wanted:
        raise VerifyException(
            f"x has {inputs} channels, expected {wanted} for a filter depth of {depth} in "
            f"{groups} groups"
        )
    if groups < 1 or (out != DYNAMIC and out % groups):
        raise VerifyException(
            f"{out} output channels in {groups} groups, expected a multiple of the groups"
        )


def result_name(x: Array) -> str:
    """The numpy dtype that a product of `x` is summed in: int32 for bytes, else its own."""
    return "int32" if x.dtype.itemsize == 1 else x.dtype.name


def _grouped(planes: Array, groups: int) -> Array:
    """[N, C, spatial...] -> [N, groups, C/groups, elements], a copy where it must be one."""
    n, c, *spatial = planes.shape
    return planes.reshape(n, groups, c // groups, prod(spatial))


def correlate(
    planes: Array, weight: Array, windows: Sequence[Window], groups: int, fill: Any = 0
) -> Array:
    """x [N, Cin, spatial...], weight [Cout, Cin/groups, kernel...] -> y [N, Cout, counts...]."""
    import numpy as np

    padded = pad_planes(planes, windows, fill)
    counts = [w.count for w in windows]
    n, out = planes.shape[0], weight.shape[0]
    y = np.zeros((n, groups, out // groups, prod(counts)), result_name(planes))
    for tap, places in taps(windows):
        columns = _grouped(padded[(slice(None), slice(None), *places)], groups)
        matrix = weight[(slice(None), slice(None), *tap)]
        matrix = matrix.reshape(groups, out // groups, weight.shape[1])
        y += contract(matrix, columns)
    return y.reshape(n, out, *counts)


def spread(
    dy: Array, weight: Array, windows: Sequence[Window], groups: int, sizes: Sequence[int]
) -> Array:
    """The adjoint of `correlate` in x: dy [N, Cout, counts...] -> dx [N, Cin, sizes...]."""
    import numpy as np

    n, out = dy.shape[:2]
    depth = weight.shape[1]
    room = [
        max((w.count - 1) * w.stride + w.span, w.before + size)
        for w, size in zip(windows, sizes, strict=True)
    ]
    dx = np.zeros((n, groups * depth, *room), result_name(dy))
    columns = _grouped(dy, groups)
    for tap, places in taps(windows):
        matrix = weight[(slice(None), slice(None), *tap)].reshape(groups, out // groups, depth)
        part = contract(matrix.swapaxes(1, 2), columns)
        dx[(slice(None), slice(None), *places)] += part.reshape(n, groups * depth, *dy.shape[2:])
    inside = (slice(w.before, w.before + size) for w, size in zip(windows, sizes, strict=True))
    return dx[(slice(None), slice(None), *inside)]


def filter_gradient(planes: Array, dy: Array, windows: Sequence[Window], groups: int) -> Array:
    """x [N, Cin, spatial...], dy [N, Cout, counts...] -> dW [Cout, Cin/groups, kernel...]."""
    import numpy as np

    padded = pad_planes(planes, windows, 0)
    out, depth = dy.shape[1], planes.shape[1] // groups
    dw = np.zeros((out, depth, *(w.kernel for w in windows)), dy.dtype)
    rows = _grouped(dy, groups)
    for tap, places in taps(windows):
        columns = _grouped(padded[(slice(None), slice(None), *places)], groups)
        part = (rows @ columns.swapaxes(2, 3)).sum(axis=0)
        dw[(slice(None), slice(None), *tap)] = part.reshape(out, depth)
    return dw
