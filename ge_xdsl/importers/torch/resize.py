"""ATen resampling of planes."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ge_xdsl.importers.torch.builder import TorchBuilder
from ge_xdsl.importers.torch.call import Call
from ge_xdsl.importers.torch.elementwise import base_of
from ge_xdsl.importers.torch.table import Converter


def resize(call: Call, g: TorchBuilder) -> SSAValue:
    """Resize to the size of the result, which torch knows: factors that are not the quotient of
    the sizes move the sampled points a little, and are refused"""
    x = call.value("input") if call.raw("input") is not None else call.value("self")
    after_sizes = g.static_dims(call.shape[2:], "resampling")
    before_sizes = g.static_dims((g.shape(x) or ())[2:], "resampling")
    given = [v for v in call.raw("scale_factors") or () if v]
    for factor, before, after in zip(given, before_sizes, after_sizes, strict=False):
        if abs(factor * before - after) > 1e-6:
            call.fail(f"factor is {factor} for {before} elements, expected a whole size")
    corners = call.flag("align_corners")
    if base_of(call) == "upsample_nearest2d":
        attrs = {
            "mode": "nearest", "nearest_mode": "floor",
            "coordinate_transformation_mode": "asymmetric",
        }  # fmt: skip
    else:
        how = "align_corners" if corners else "pytorch_half_pixel"
        attrs = {"mode": "linear", "coordinate_transformation_mode": how}
    sizes = g.sizes([g.known_dim(x, 0), g.known_dim(x, 1), *after_sizes])
    return g.op("Resize", x, None, None, sizes, **attrs)


TABLE: dict[str, Converter] = dict.fromkeys(("upsample_bilinear2d", "upsample_nearest2d"), resize)
