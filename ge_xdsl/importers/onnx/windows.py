"""Kernel, strides, dilations and pads of ONNX convolutions and pools, in GE's order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from ge_xdsl.dialects.ge.types import DYNAMIC
from ge_xdsl.importers.onnx.builder import Builder
from ge_xdsl.importers.onnx.node import Node

AUTO_PADS = ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")


@dataclass(frozen=True, slots=True)
class Window:
    """What a window op says of its spatial dimensions (`pads`: all befores, then all afters)."""

    strides: list[int]
    dilations: list[int]
    pads: list[int]
    auto_pad: str

    def widened(self) -> Window:
        """A window over one dimension as one over two, the first of which has length 1."""
        return Window(
            [1, *self.strides],
            [1, *self.dilations],
            [0, self.pads[0], 0, self.pads[1]],
            self.auto_pad,
        )

    def ge_pads(self) -> list[int]:
        """Before and after of each dimension in turn: GE's [top, bottom, left, right]."""
        half = len(self.pads) // 2
        return [p for i in range(half) for p in (self.pads[i], self.pads[half + i])]


def window_of(node: Node, rank: int) -> Window:
    """Read a node's window attributes; `rank` counts the spatial dimensions."""
    strides = _checked(node, "strides", [1] * rank, 1)
    dilations = _checked(node, "dilations", [1] * rank, 1)
    auto_pad = node.string("auto_pad", "NOTSET")
    if auto_pad not in AUTO_PADS:
        node.fail(f"attribute 'auto_pad' is '{auto_pad}', expected one of {', '.join(AUTO_PADS)}")
    pads = _checked(node, "pads", [0] * (2 * rank), 0)
    return Window(strides, dilations, pads if auto_pad == "NOTSET" else [0] * (2 * rank), auto_pad)


def kernel_of(node: Node) -> list[int]:
    """The required kernel shape of a pool."""
    kernel = node.integers("kernel_shape")
    if not kernel:
        node.fail("attribute 'kernel_shape' is missing, it is required")
    if min(kernel) < 1:
        node.fail(f"attribute 'kernel_shape' is {kernel}, expected positive integers")
    return kernel


def _checked(node: Node, name: str, default: Sequence[int], least: int) -> list[int]:
    values = node.integers(name)
    if values is None:
        return list(default)
    if len(values) != len(default) or min(values) < least:
        node.fail(
            f"attribute '{name}' is {values}, expected {len(default)} integers of at least {least}"
        )
    return values


def spatial(node: Node, rank: int) -> int:
    """The number of spatial dimensions of an input of `rank`; 1 to 3 are supported."""
    if rank not in (3, 4, 5):
        node.fail(f"the input has rank {rank}, expected 3 to 5 (1-D to 3-D)")
    return rank - 2


def spans(kernel: Sequence[int], window: Window) -> list[int]:
    """The lengths that dilated kernels cover: (kernel - 1)*dilation + 1."""
    return [(k - 1) * d + 1 for k, d in zip(kernel, window.dilations, strict=True)]


def same_pads(sizes: Sequence[int], kernel: Sequence[int], window: Window) -> list[int]:
    """The explicit pads that SAME_UPPER and SAME_LOWER stand for on known sizes.

    The total is (ceil(size/stride) - 1)*stride + span - size; an odd one goes after for UPPER.
    """
    before: list[int] = []
    after: list[int] = []
    lengths = spans(kernel, window)
    for size, length, stride in zip(sizes, lengths, window.strides, strict=True):
        whole = max((-(-size // stride) - 1) * stride + length - size, 0)
        small, large = whole // 2, whole - whole // 2
        before.append(small if window.auto_pad == "SAME_UPPER" else large)
        after.append(large if window.auto_pad == "SAME_UPPER" else small)
    return [*before, *after]


def explicit_pads(
    node: Node, g: Builder, x: SSAValue, kernel: Sequence[int], window: Window
) -> list[int]:
    """The pads as numbers, all befores then all afters; SAME needs known sizes."""
    if not window.auto_pad.startswith("SAME"):
        return window.pads
    dims = (g.shape(x) or ())[2:] or (DYNAMIC,)
    sizes = g.static_dims(dims, f"auto_pad {window.auto_pad}")
    return same_pads(sizes, kernel, window)
