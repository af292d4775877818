"""ATen resampling of planes."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ge_xdsl.importers.torch.builder import TorchBuilder
from ge_xdsl.importers.torch.call import Call
from ge_xdsl.importers.torch.elementwise import base_of
from ge_xdsl.importers.torch.table import Converter


def resize(call: Call, g: TorchBuilder) -> SSAValue:
    """Resize to the size of the result; by the factors where they are not the quotient of the
    sizes, as they move the sampled points a little"""
    x = call.value("input") if call.raw("input") is not None else call.value("self")
    after_sizes = g.static_dims(call.shape[2:], "resampling")
    before_sizes = g.static_dims((g.shape(x) or ())[2:], "resampling")
    factors = [float(v) for v in call.raw("scale_factors") or () if v]
    whole = all(
        abs(factor * before - after) <= 1e-6
        for factor, before, after in zip(factors, before_sizes, after_sizes, strict=False)
    )
    corners = call.flag("align_corners")
    if base_of(call) == "upsample_nearest2d":
        attrs = {
            "mode": "nearest", "nearest_mode": "floor",
            "coordinate_transformation_mode": "asymmetric",
        }  # fmt: skip
    else:
        how = "align_corners" if corners else "pytorch_half_pixel"
        attrs = {"mode": "linear", "coordinate_transformation_mode": how}
    if not whole and not corners:
        return g.op("Resize", x, None, g.floats([1.0, 1.0, *factors]), None, **attrs)
    sizes = g.sizes([g.known_dim(x, 0), g.known_dim(x, 1), *after_sizes])
    return g.op("Resize", x, None, None, sizes, **attrs)


SAMPLINGS = ("bilinear", "nearest", "bicubic")
PADDINGS = ("zeros", "border", "reflection")
"""The names of torch's numbers for how a grid is sampled, and outside of the planes."""


def grid_sample(call: Call, g: TorchBuilder) -> SSAValue:
    """GridSampler2D"""
    return g.op(
        "GridSampler2D", call.value("input"), call.value("grid"),
        interpolation_mode=SAMPLINGS[call.integer("interpolation_mode")],
        padding_mode=PADDINGS[call.integer("padding_mode")],
        align_corners=call.flag("align_corners"),
    )  # fmt: skip


TABLE: dict[str, Converter] = {
    "grid_sampler_2d": grid_sample,
    "upsample_bilinear2d": resize,
    "upsample_nearest2d": resize,
}
